# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Every way that a connection can fail to come about, and what who calls hears.

The table in Documentation/troubleshooting.rst says the same; the cases here are for
both lower layers.
"""

import contextlib
import errno
import signal
import socket
import struct
import time

from lib.wire import (CM, DEVICE, MATE, MATE_IF, PATIENCE, PEER, PEER_IF, Mate,
                      Refused, case, check, find_program, same, shell)

REJECTED, ERROR, UNREACHABLE = "REJECTED", "CONNECT_ERROR", "UNREACHABLE"
ABSENT, VANISHED, ELSEWHERE = "10.9.2.77", "10.9.2.78", "10.9.4.1"
USED = 7709             # a port
NOBODY = "02:00:00:00:00:4d"
ETH_P_IP, DEST_UNREACH = 0x0800, 3
NO_NET, NO_HOST, NO_PROTOCOL, NO_PORT, FORBIDDEN = 0, 1, 2, 3, 13
SOON = 8                    # seconds, where somebody says no
NO_ANSWER = 25              # ... and less than where nobody does
BACKLOG = 64                # of rawmate's listeners


def name(status):
    return errno.errorcode.get(-status, str(status))


def call(w, host, port):
    """rawmate calls; its number for that."""
    conn = int(w.mate.do("open", host, port)[0])
    w.add_link(None, conn)
    w.mate.do("connect", conn, 4, 4)
    return conn


def hears(w, conn, event, error, timeout=PATIENCE, data=b""):
    got = w.mate.need(CM, timeout, conn=conn)
    same("what the program hears", (got.event, name(got.status), got.pd),
         (event, error, data))
    w.nothing(CM, conn=conn)


def fails_at_once(w, error, *words):
    try:
        w.mate.do(*words)
    except Refused as why:
        check(f"{why}, should be {error}", f": {getattr(errno, error)} " in
              str(why))
    else:
        raise AssertionError(f"{words} works")


@contextlib.contextmanager
def neighbour(address):
    """Inside there is no need to ask who has it."""
    shell(f"ip neigh replace {address} lladdr {NOBODY} dev {MATE_IF} "
          "nud permanent")
    try:
        yield
    finally:
        shell(f"ip neigh del {address} dev {MATE_IF}", True)


# Nobody says anything: these begin first and are looked at last


class Silent:
    """A call that nobody answers, until its time is up."""

    def __init__(self, w, host, port):
        self.w, self.began = w, time.monotonic()
        self.conn = call(w, host, port)
        w.links.pop()           # not to end with the case

    def ends(self, seconds):
        hears(self.w, self.conn, UNREACHABLE, "ETIMEDOUT", 2 * seconds)
        took = time.monotonic() - self.began
        check(f"in time, after {took:.1f} s", took > seconds - 2)
        self.w.mate.do("destroy", self.conn)


class Ignored:
    """A call to rawmate, which its program does not answer."""

    def __init__(self, w):
        self.w, self.began = w, time.monotonic()
        self.peer = w.calls_in()
        w.asked()

    def ends(self, seconds):
        """Within that time; a busy machine may take half as long again."""
        left = self.began + 1.5 * seconds - time.monotonic()
        same("the end", self.peer.wait_end(max(left, 1))[0], self.w.hangs_up)
        took = time.monotonic() - self.began
        check(f"in time, after {took:.1f} s", took > seconds - 2)
        self.peer.close()


@case("calls that nobody answers begin")
def silent_begin(w):
    w.ignored = Ignored(w)
    w.mute = contextlib.ExitStack()
    sock, port = w.mute.enter_context(w.listening())
    w.unanswered = Silent(w, PEER, port)
    w.mute.callback(sock.accept()[0].close)
    w.mute.enter_context(neighbour(ABSENT))
    w.dropped = Silent(w, ABSENT, 7)


# Somebody says no -----------------------------------------------------------


@case("nobody listens: reset, and not the program's no", "MPA-132")
def nobody_listens(w):
    with w.counted(end_peer_refused=1):
        hears(w, call(w, PEER, 9), REJECTED, "ECONNRESET")


@case("nobody listens any more")
def listener_closed(w):
    with w.listening() as (_, port):
        pass
    hears(w, call(w, PEER, port), REJECTED, "ECONNRESET")


@case("the program at the other end says no, in its words", "MPA-116")
def says_no(w):
    for data in b"", b"not today":
        conn = call(w, MATE, w.own_port)
        asked = w.asked()
        w.add_link(None, asked.conn)
        w.mate.do("reject", asked.conn, data)
        hears(w, conn, REJECTED, "ECONNREFUSED", data=data)


@contextlib.contextmanager
def another(w, port):
    """A program besides that listens and hears nothing, until it goes."""
    mate = Mate(find_program(w.program), DEVICE)
    try:
        mate.do("listen", MATE, port)
        mate.process.send_signal(signal.SIGSTOP)
        yield mate
    finally:
        mate.process.kill()
        mate.process.wait()


@case("the program at the other end goes before it has answered")
def program_goes(w):
    with another(w, 7600) as mate:
        conn = call(w, MATE, 7600)
        w.later()
        mate.process.kill()
        hears(w, conn, REJECTED, "ECONNREFUSED")


@case("the program at the other end has calls enough")
def backlog_full(w):
    with another(w, 7601):
        conns = [call(w, MATE, 7601) for _ in range(BACKLOG)]
        # all of them have come before the one more
        w.later()
        hears(w, call(w, MATE, 7601), REJECTED, w.enough)
        for conn in conns:
            w.mate.none(CM, timeout=0, conn=conn)


# The way there --------------------------------------------------------------


def checksum(octets):
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def from_router(packet, code):
    """What a router says of an IP packet."""
    head = struct.pack(">BBHI", DEST_UNREACH, code, 0, 0)
    quoted = packet[:128 & ~1]
    total = checksum(head + quoted)
    return head[:2] + struct.pack(">H", total) + head[4:] + quoted


def first_packet(sock, port):
    """To the address that nobody has; or None, if none comes for a second."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            packet = sock.recv(4096)[14:]
        except TimeoutError:
            return None
        # TCP and SCTP begin alike
        if packet[16:24] == socket.inet_aton(ABSENT) + packet[20:22] + \
                port.to_bytes(2, "big"):
            return packet
    return None


def told_by_router(w, code, event, error):
    began = time.monotonic()
    with w.socket(socket.AF_PACKET, socket.SOCK_RAW,
                  socket.htons(ETH_P_IP)) as seen, \
            w.socket(socket.AF_INET, socket.SOCK_RAW,
                     socket.IPPROTO_ICMP) as router:
        seen.bind((PEER_IF, ETH_P_IP))
        seen.settimeout(1)
        conn = call(w, ABSENT, 11)
        # who has its socket in hand just then does not hear it; who has heard it sends
        # no more, and what he says may be on its way
        told = False
        while not told and time.monotonic() < began + NO_ANSWER:
            packet = first_packet(seen, 11)
            if packet:
                router.sendto(from_router(packet, code), (MATE, 0))
            told = w.mate.peek(CM, 1, conn=conn)
        hears(w, conn, event, error, 0)
    took = time.monotonic() - began
    check(f"soon, after {took:.1f} s", took < NO_ANSWER)


for words, which, result in (
        ("a router knows no way to that network", NO_NET,
         (ERROR, "EHOSTUNREACH")),
        ("a router finds no such host", NO_HOST, (ERROR, "EHOSTUNREACH")),
        ("the host does not speak that protocol", NO_PROTOCOL,
         (REJECTED, "ECONNRESET")),
        ("a firewall says that the port is closed", NO_PORT,
         (REJECTED, "ECONNRESET")),
        ("a firewall says that it is forbidden", FORBIDDEN,
         (ERROR, "EHOSTUNREACH"))):
    case(words, code=which, event=result[0], error=result[1])(told_by_router)


@case("no host has that address")
def no_such_host(w):
    """Known when it is looked up, and not any more when it is called."""
    with neighbour(VANISHED):
        conn = int(w.mate.do("open", VANISHED, 7)[0])
    w.add_link(None, conn)
    w.mate.do("connect", conn, 4, 4)
    hears(w, conn, ERROR, "EHOSTUNREACH", 2 * SOON)


@case("no host has that address, and it is found out before")
def not_resolved(w):
    fails_at_once(w, "EHOSTUNREACH", "open", VANISHED, 7)


@case("there is no route")
def no_route(w):
    fails_at_once(w, "ENETUNREACH", "open", ELSEWHERE, 7)


def without_route(w):
    """rawmate's number for a call that is prepared; the route is gone then."""
    shell(f"ip route add {ELSEWHERE}/32 via {PEER} dev {MATE_IF}")
    try:
        conn = int(w.mate.do("open", ELSEWHERE, 7)[0])
    finally:
        shell(f"ip route del {ELSEWHERE}/32")
    w.add_link(None, conn)
    return conn


# This end -------------------------------------------------------------------


@case("a listener where there is one already")
def address_in_use(w):
    fails_at_once(w, "EADDRINUSE", "listen", MATE, w.own_port)


@case("a listener at all addresses, where a program without RDMA is")
def port_in_use(w):
    w.mate.do("destroy", w.mate.do("listen", "0.0.0.0", USED)[0])
    with socket.create_server(("", USED)):
        fails_at_once(w, "EADDRINUSE", "listen", "0.0.0.0", USED)


@case("a listener at an address that is not here")
def no_such_address(w):
    fails_at_once(w, "EADDRNOTAVAIL", "listen", ELSEWHERE, 7700)


def ends():
    """What is registered last: the slow ones, and the end of the device."""

    @case("calls that nobody answers have timed out")
    def silent_end(w):
        w.dropped.ends(30)
        w.unanswered.ends(60)
        w.ignored.ends(120)
        w.mute.close()

    @case("the device goes")
    def device_gone(w):
        with w.listening() as (_, port):
            conn = call(w, PEER, port)
            shell(f"rdma link del {DEVICE}")
            got = w.mate.need(CM, conn=conn)
            # of a device that it knows is gone rdma_cm tells nothing more
            if got.event != "DEVICE_REMOVAL":
                same("what the program hears", (got.event, name(got.status)),
                     (ERROR, "ECONNABORTED"))
                w.mate.need(CM, conn=conn, event="DEVICE_REMOVAL")
        w.links.clear()
        w.mate.process.kill()
