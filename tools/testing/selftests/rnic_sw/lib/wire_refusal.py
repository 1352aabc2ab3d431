# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test every way in which a connection can fail to be set up, and which event and error the
calling program gets.

The table in Documentation/troubleshooting.rst describes these failures; these cases run over
both lower layers.
"""

import contextlib
import errno
import re
import signal
import socket
import struct
import time

from lib.wire import (CM, DEVICE, SERVER, SERVER_IF, PATIENCE, PEER, PEER_IF, RawServer,
                      Refused, case, check, find_program, same, shell)

REJECTED, ERROR, UNREACHABLE = "REJECTED", "CONNECT_ERROR", "UNREACHABLE"
ABSENT, VANISHED, ELSEWHERE = "10.9.2.77", "10.9.2.78", "10.9.4.1"
USED = 7709             # a port that a program without RDMA uses
NOBODY = "02:00:00:00:00:4d"
ETH_P_IP, DEST_UNREACH = 0x0800, 3
NO_NET, NO_HOST, NO_PROTOCOL, NO_PORT, FORBIDDEN = 0, 1, 2, 3, 13
SOON = 8                    # maximum seconds until the program is notified of a refusal
# maximum seconds until the program is notified of an ICMP error; less than the timeout
NO_ANSWER = 25
BACKLOG = 64                # backlog of raw_server's listeners


def get_errno_name(status):
    return errno.errorcode.get(-status, str(status))


def start_server_connect(w, host, port):
    """Let raw_server connect. Return the number of the connection in raw_server."""
    conn = int(w.server.do("open", host, port)[0])
    w.add_link(None, conn)
    w.server.do("connect", conn, 4, 4)
    return conn


def expect_only_event(w, conn, event, error, timeout=PATIENCE, data=b""):
    got = w.server.expect_event(CM, timeout, conn=conn)
    same("event, error and data that the program "
         "gets", (got.event, get_errno_name(got.status), got.pd),
         (event, error, data))
    w.expect_nothing(CM, conn=conn)


def check_fails_at_once(w, error, *words):
    try:
        w.server.do(*words)
    except Refused as why:
        check(f"{why} should be {error}", f": {getattr(errno, error)} " in
              str(why))
    else:
        raise AssertionError(f"{words} should fail")


@contextlib.contextmanager
def add_static_neighbour(address):
    """Context manager: make address resolution of this address succeed."""
    shell(f"ip neigh replace {address} lladdr {NOBODY} dev {SERVER_IF} "
          "nud permanent")
    try:
        yield
    finally:
        shell(f"ip neigh del {address} dev {SERVER_IF}", True)


# Connections that get no reply: they are started first and checked last


class Silent:
    """A connect of raw_server that gets no reply until it times out."""

    def __init__(self, w, host, port):
        self.w, self.began = w, time.monotonic()
        self.conn = start_server_connect(w, host, port)
        w.links.pop()           # so that the end of the case does not close it

    def check_end_after(self, seconds):
        expect_only_event(self.w, self.conn, UNREACHABLE, "ETIMEDOUT", 2 * seconds)
        took = time.monotonic() - self.began
        check(f"the timeout is not too early: {took:.1f} s", took > seconds - 2)
        self.w.server.do("destroy", self.conn)


class Ignored:
    """A connection to raw_server that raw_server neither accepts nor rejects."""

    def __init__(self, w):
        self.w, self.began = w, time.monotonic()
        self.peer = w.connect_and_send_request()
        w.expect_request()

    def check_end_after(self, seconds):
        """Check that the device ends the connection about this number of seconds after its start:
        at most two seconds earlier and, on a busy machine, at most half as much later."""
        left = self.began + 1.5 * seconds - time.monotonic()
        same("end of the connection", self.peer.wait_end(max(left, 1))[0], self.w.hangs_up)
        took = time.monotonic() - self.began
        check(f"the end is not too early: {took:.1f} s", took > seconds - 2)
        self.peer.close()


@case("connections without a reply begin")
def test_unanswered_connects_begin(w):
    w.ignored = Ignored(w)
    w.mute = contextlib.ExitStack()
    sock, port = w.mute.enter_context(w.listening())
    w.unanswered = Silent(w, PEER, port)
    w.mute.callback(sock.accept()[0].close)
    w.mute.enter_context(add_static_neighbour(ABSENT))
    w.dropped = Silent(w, ABSENT, 7)


# Connections that are refused -----------------------------------------------


@case("no listener: a reset, different from a program's reject", "MPA-132")
def test_no_listener_gives_reset(w):
    with w.expect_counts(end_peer_refused=1):
        expect_only_event(w, start_server_connect(w, PEER, 9), REJECTED, "ECONNRESET")


@case("the listener has been closed")
def test_closed_listener_gives_reset(w):
    with w.listening() as (_, port):
        pass
    expect_only_event(w, start_server_connect(w, PEER, port), REJECTED, "ECONNRESET")


@case("the remote program rejects, with its private data", "MPA-116")
def test_reject_has_private_data(w):
    for data in b"", b"not today":
        conn = start_server_connect(w, SERVER, w.own_port)
        asked = w.expect_request()
        w.add_link(None, asked.conn)
        w.server.do("reject", asked.conn, data)
        expect_only_event(w, conn, REJECTED, "ECONNREFUSED", data=data)


@contextlib.contextmanager
def run_suspended_listener(w, port):
    """Context manager: run another program that listens, and stop it at the end."""
    server = RawServer(find_program(w.program), DEVICE)
    try:
        server.do("listen", SERVER, port)
        server.process.send_signal(signal.SIGSTOP)
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def wait_requests(port, number):
    """Wait until rdma_cm has this number of connection requests for the listener at this port.

    A request passes through two workqueues on its way to rdma_cm, so no other connection's
    traffic shows that it has arrived.
    """
    arrived = re.compile(rf" state CONNECT .*src-addr \S+:{port} ")
    deadline = time.monotonic() + PATIENCE
    while True:
        shown = shell(f"rdma resource show cm_id link {DEVICE}/1")
        if len(arrived.findall(shown)) == number:
            return
        check(f"{number} requests arrive at port {port}: {shown}", time.monotonic() < deadline)
        time.sleep(0.01)


@case("the remote program exits before it has accepted")
def test_exit_before_accept_is_reported(w):
    with run_suspended_listener(w, 7600) as server:
        conn = start_server_connect(w, SERVER, 7600)
        # if the listener closed before the request has arrived, it would reset the connection
        wait_requests(7600, 1)
        server.process.kill()
        expect_only_event(w, conn, REJECTED, "ECONNREFUSED")


@case("the backlog of the remote program is full")
def test_full_backlog_refuses(w):
    with run_suspended_listener(w, 7601):
        conns = [start_server_connect(w, SERVER, 7601) for _ in range(BACKLOG)]
        wait_requests(7601, BACKLOG)
        expect_only_event(w, start_server_connect(w, SERVER, 7601), REJECTED, w.enough)
        for conn in conns:
            w.server.expect_no_event_within(CM, timeout=0, conn=conn)


# Network errors -------------------------------------------------------------


def compute_checksum(octets):
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def make_icmp_error(packet, code):
    """Return an ICMP error about an IP packet, as a router sends it."""
    head = struct.pack(">BBHI", DEST_UNREACH, code, 0, 0)
    quoted = packet[:128 & ~1]
    total = compute_checksum(head + quoted)
    return head[:2] + struct.pack(">H", total) + head[4:] + quoted


def receive_first_packet(sock, port):
    """Return the first packet to the address ABSENT and this port, or None if none arrives within
    a second."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            packet = sock.recv(4096)[14:]
        except TimeoutError:
            return None
        # the headers of TCP and SCTP both begin with the ports
        if packet[16:24] == socket.inet_aton(ABSENT) + packet[20:22] + \
                port.to_bytes(2, "big"):
            return packet
    return None


def test_icmp_error_ends_connect(w, code, event, error):
    began = time.monotonic()
    with w.create_peer_socket(socket.AF_PACKET, socket.SOCK_RAW,
                              socket.htons(ETH_P_IP)) as seen, \
            w.create_peer_socket(socket.AF_INET, socket.SOCK_RAW,
                                 socket.IPPROTO_ICMP) as router:
        seen.bind((PEER_IF, ETH_P_IP))
        seen.settimeout(1)
        conn = start_server_connect(w, ABSENT, 11)
        # The kernel drops the ICMP error while the socket is locked, so repeat the error until the
        # event arrives. Once the kernel has processed the error, it sends no more packets, so
        # receive_first_packet() may return None before the event arrives.
        event_arrived = False
        while not event_arrived and time.monotonic() < began + NO_ANSWER:
            packet = receive_first_packet(seen, 11)
            if packet:
                router.sendto(make_icmp_error(packet, code), (SERVER, 0))
            event_arrived = w.server.find_event(CM, 1, conn=conn)
        expect_only_event(w, conn, event, error, 0)
    took = time.monotonic() - began
    check(f"the error is reported soon, after {took:.1f} s", took < NO_ANSWER)


for words, which, result in (
        ("a router has no route to that network", NO_NET,
         (ERROR, "EHOSTUNREACH")),
        ("a router cannot reach the host", NO_HOST, (ERROR, "EHOSTUNREACH")),
        ("the host does not support the protocol", NO_PROTOCOL,
         (REJECTED, "ECONNRESET")),
        ("a firewall reports a closed port", NO_PORT,
         (REJECTED, "ECONNRESET")),
        ("a firewall reports a prohibited destination", FORBIDDEN,
         (ERROR, "EHOSTUNREACH"))):
    case(words, code=which, event=result[0], error=result[1])(test_icmp_error_ends_connect)


@case("no host has that address")
def test_unresolved_address_fails_connect(w):
    """Address resolution first succeeds, but fails when raw_server connects."""
    with add_static_neighbour(VANISHED):
        conn = int(w.server.do("open", VANISHED, 7)[0])
    w.add_link(None, conn)
    w.server.do("connect", conn, 4, 4)
    expect_only_event(w, conn, ERROR, "EHOSTUNREACH", 2 * SOON)


@case("no host has that address, and resolving it fails")
def test_unresolved_address_fails_at_once(w):
    check_fails_at_once(w, "EHOSTUNREACH", "open", VANISHED, 7)


@case("there is no route")
def test_missing_route_fails_at_once(w):
    check_fails_at_once(w, "ENETUNREACH", "open", ELSEWHERE, 7)


def prepare_connect_without_route(w):
    """Prepare a connection and then remove its route. Return its number in raw_server."""
    shell(f"ip route add {ELSEWHERE}/32 via {PEER} dev {SERVER_IF}")
    try:
        conn = int(w.server.do("open", ELSEWHERE, 7)[0])
    finally:
        shell(f"ip route del {ELSEWHERE}/32")
    w.add_link(None, conn)
    return conn


# This end -------------------------------------------------------------------


@case("a second listener on the same port")
def test_second_listener_fails(w):
    check_fails_at_once(w, "EADDRINUSE", "listen", SERVER, w.own_port)


@case("a wildcard listener on a port in use by a program without RDMA")
def test_listen_on_used_port_fails(w):
    w.server.do("destroy", w.server.do("listen", "0.0.0.0", USED)[0])
    with socket.create_server(("", USED)):
        check_fails_at_once(w, "EADDRINUSE", "listen", "0.0.0.0", USED)


@case("a listener on a foreign address")
def test_listen_on_foreign_address_fails(w):
    check_fails_at_once(w, "EADDRNOTAVAIL", "listen", ELSEWHERE, 7700)


def add_last_cases():
    """Register the last cases: the slow ones, and the removal of the device."""

    @case("connections without a reply have timed out")
    def test_unanswered_connects_time_out(w):
        w.dropped.check_end_after(30)
        w.unanswered.check_end_after(60)
        w.ignored.check_end_after(120)
        w.mute.close()

    @case("the device is removed")
    def test_device_removal_ends_connects(w):
        with w.listening() as (_, port):
            conn = start_server_connect(w, PEER, port)
            shell(f"rdma link del {DEVICE}")
            got = w.server.expect_event(CM, conn=conn)
            # once rdma_cm knows of the removal, DEVICE_REMOVAL is the only event that it reports
            if got.event != "DEVICE_REMOVAL":
                same("event and error that the program "
                     "gets", (got.event, get_errno_name(got.status)),
                     (ERROR, "ECONNABORTED"))
                w.server.expect_event(CM, conn=conn, event="DEVICE_REMOVAL")
        w.links.clear()
        w.server.process.kill()
