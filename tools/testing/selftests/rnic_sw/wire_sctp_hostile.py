#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test hostile peers over SCTP: how much memory and time they can use, and whether others are
served at the same time. The limits are those of Documentation/security.rst."""

import contextlib
import errno
import itertools
import os
import time

from lib.wire import (CM, KIB, SERVER, PATIENCE, SUCCESS, Refused, Skip, case,
                      check, rdmap, same, write)
from lib.wire_kernel import read_cpu_time, measure_memory_growth, read_kernel_memory
from rawpeer import sctp, sctp_packet
from rawpeer.sctp import INITIATE, TERMINATE, Control
from lib.wire_sctp import GHOST, SERVER_IF, NS, PEER_IF, PORT, run_sctp_cases, read_hardware_addr

STREAMS = 255           # streams of an unaccepted peer
FROM_ONE_ADDRESS = 64   # maximum of unaccepted peers at one local address and port
MANY = FROM_ONE_ADDRESS + FROM_ONE_ADDRESS // 2
PASSING = 4             # further associations that are being set up or ended
FEW = FROM_ONE_ADDRESS // 2     # with fewer associations a test shows nothing
# maximum KiB of kernel memory for an association; debug options make objects larger
EACH = 96
EACH_ASKED = 160        # with a pending connection request
EACH_HELD = 384         # with fragments that SCTP reassembles
WINDOW = 64 * KIB       # bytes announced to an unaccepted peer
ACCEPTED_WINDOW = 1 << 20
STRAYS = 32             # chunks outside a session that an unaccepted peer may send
BUNDLE = 30             # chunks in a packet
BIG = 1 << 20
CALLS = 40              # connects that get no reply
STAYS_ACCEPTED = 10     # seconds that a peer stays accepted after its last session
IDLE = 60               # seconds that an accepted peer's association may be without a session
SOON = 8                # seconds in which another peer must be served
DEEP = 8                # sessions with much data to send
N = 300                 # maximum number of other sessions' chunks that delay a message
ADDRESSES = 16          # maximum number of addresses of a peer
TIMEOUTS = 8            # consecutive timeouts until an association with one path
                        # fails
ASCONF = 0xC1
SUPPORTED_EXTENSIONS = 0x8008


# Measuring ---------------------------------------------------------------------


def count_associations():
    """Return the number of SCTP associations in this namespace."""
    with open("/proc/net/sctp/assocs", encoding="ascii") as file:
        return len(file.readlines()) - 1


# Hostile peers -----------------------------------------------------------------


def yield_connected_ghosts(w, count):
    """Set up count associations with raw packets, so that they use no memory of this kernel's
    SCTP at the peer's end."""
    frame = read_hardware_addr("", SERVER_IF) + read_hardware_addr(NS, PEER_IF)
    place = sctp_packet.Place(w.open_packet_socket(), frame, GHOST, SERVER)
    w.closing.callback(place.sock.close)
    for port in itertools.islice(w.ports, count):
        ghost = sctp_packet.Association(place, port, PORT, streams=STREAMS)
        w.closing.callback(ghost.close)
        yield ghost.connect()


def send_bundled_chunks(ghost, chunks):
    chunks = list(chunks)
    for at in range(0, len(chunks), BUNDLE):
        ghost.send(*chunks[at:at + BUNDLE])


def make_orphan_segment(ghost, sid):
    """Return a segment outside any session."""
    return ghost.make_next_data_chunk(sid, b"\0\0" + rdmap.make_write(1, 2).pack(), sctp.SEGMENT)


def send_orphan_segments(ghost):
    send_bundled_chunks(ghost, (make_orphan_segment(ghost, sid) for sid in range(STREAMS)))


def send_early_orphan_segments(ghost, last=1):
    for n in range(last + 39, last - 1, -1):
        ghost.send(ghost.make_next_data_chunk(0, bytes([0, n]) + bytes(1300), sctp.SEGMENT))


def send_chunks_before_accept(ghost):
    """Send an Initiate, and then chunks that may not follow before the Accept, out of order.
    The device must not queue them, and must end the session."""
    ghost.send_message(0, b"\0\0" + Control(INITIATE).pack(), sctp.CONTROL)
    send_early_orphan_segments(ghost, 2)
    same("code of the reply", ghost.stream(0).receive_control().code, TERMINATE)


def send_refused_initiates(ghost):
    """Send Initiates that the device refuses without a connection request."""
    for sid in range(8):
        ghost.send_message(sid, b"\0\0" + Control(INITIATE, bytes(513)).pack(),
                           sctp.CONTROL)


def send_first_fragments(ghost):
    """Send first fragments of messages that are never completed."""
    for sid in range(200):
        ghost.send(ghost.make_next_data_chunk(sid, bytes(1400), sctp.SEGMENT,
                                              flags=sctp_packet.BEGIN |
                                              sctp_packet.UNORDERED))


def send_nothing(_):
    pass


class Peak:
    """The maximum number of unaccepted peers and the maximum memory use. Both are sampled during
    the attack, because the associations end after a while."""

    def __init__(self):
        self.before, self.there = read_kernel_memory(), count_associations()
        self.most, self.grown, self.where = 0, 0, ""

    def _count_new_associations(self):
        """Count the associations; wait for those that are ending."""
        end = time.monotonic() + PATIENCE
        while (here := count_associations() - self.there) > \
                FROM_ONE_ADDRESS + PASSING and time.monotonic() < end:
            time.sleep(0.01)
        return here

    def record_peak(self, memory=True):
        self.most = max(self.most, self._count_new_associations())
        grown, where = measure_memory_growth(self.before) if memory else (0, "")
        if grown > self.grown:
            self.grown, self.where = grown, where

    def __str__(self):
        return f"at most {self.most} at once, {self.grown} KiB: {self.where}"


def test_attack_by_many_is_bounded(w, attack, each=EACH, stay=False):
    """Run an attack from many unaccepted peers; an honest peer must be served at the same time.

    stay: the associations live long enough to be counted.
    """
    check_honest_peer_is_served(w)
    peak = Peak()
    for number, ghost in enumerate(yield_connected_ghosts(w, MANY), 1):
        attack(ghost)
        # read the replies, because otherwise the peer's own socket would be full
        ghost.process_input_until_quiet(0.01)
        peak.record_peak(memory=number in (FROM_ONE_ADDRESS, MANY))
    reject_pending_requests(w)
    print(f"# {attack.__name__}: {MANY} associations, {peak}", flush=True)
    check(f"not too many unaccepted peers at once: {peak.most}",
          peak.most <= FROM_ONE_ADDRESS + PASSING)
    check(f"limited kernel memory: {peak.grown} KiB",
          peak.grown <= FROM_ONE_ADDRESS * each)
    check_honest_peer_is_served(w)
    if stay and peak.most < FEW:
        raise Skip(f"too slow: only {peak.most} associations at once")


def reject_pending_requests(w):
    """Reject the connection requests of the attack."""
    while (event := w.server.pop_event(CM, 1, event="CONNECT_REQUEST")):
        with contextlib.suppress(Refused):
            w.server.do("destroy", event.conn)
        w.server.drop_events(event.conn)


def check_honest_peer_is_served(w):
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)])
    link.peer.send(b"hello")
    link.expect_wc(wr=1, status=SUCCESS)


for what, words, rows, more in (
        (send_nothing, "send nothing", "", {"stay": True}),
        (send_orphan_segments, "a stray chunk on each stream", "", {}),
        (send_early_orphan_segments, "out-of-order chunks, the last ones first", "", {}),
        (send_chunks_before_accept, "more chunks after an Initiate", "SCTPDDP-28",
         {"each": EACH_ASKED}),
        (send_refused_initiates, "Initiates that are refused", "", {"stay": True}),
        (send_first_fragments, "fragments of messages", "", {"each": EACH_HELD, "stay": True})):
    case(f"unaccepted peers: {words}", rows, attack=what, **more)(test_attack_by_many_is_bounded)


def test_repeated_violations_evict_peer(w, sids):
    for ghost in yield_connected_ghosts(w, 1):
        for sid in sids:
            ghost.send(make_orphan_segment(ghost, sid))
            ghost.process_input_until_quiet(0.001)
            if ghost.ended:
                break
        same("end of the association", ghost.wait_end(), "abort")
        answers = [c for c in ghost.chunks()]
        check(f"there are replies, and all {len(answers)} are Terminates",
              answers and all(c.contents.code == TERMINATE for c in answers))


case("unaccepted peers: one that keeps violating the protocol is evicted",
     "SCTPDDP-28", sids=range(STREAMS))(test_repeated_violations_evict_peer)
case("unaccepted peers: one that violates it on a single stream is evicted, too",
     "SCTPDDP-28", sids=[0] * STREAMS)(test_repeated_violations_evict_peer)


@case("unaccepted peers: refused Initiates do not extend the time limit")
def test_refused_initiates_extend_no_limit(w):
    for ghost in yield_connected_ghosts(w, 1):
        for sid in range(12):
            ghost.send_message(sid, b"\0\0" + Control(INITIATE, bytes(513)).pack(),
                               sctp.CONTROL)
            ghost.process_input_until_quiet(2)
            if ghost.ended:
                break
        same("end of the association", ghost.ended, "abort")


def send_initiate(ghost, sid=0):
    ghost.send_message(sid, b"\0\0" + Control(INITIATE).pack(), sctp.CONTROL)


def violate_protocol(ghost, sid=0):
    """Send a second message before the Accept, which violates the protocol."""
    ghost.send_message(sid, b"\0\1" + Control(INITIATE).pack(), sctp.CONTROL)


@case("unaccepted peers: those with a connection request add a limited number")
def test_peers_with_requests_are_limited(w):
    check_honest_peer_is_served(w)
    there = count_associations()
    asking = []
    for ghost in yield_connected_ghosts(w, FROM_ONE_ADDRESS - 4):
        send_initiate(ghost)
        w.expect_request()
        asking.append(ghost)
    for _ in yield_connected_ghosts(w, FROM_ONE_ADDRESS):
        pass
    most = count_associations() - there
    for ghost in asking:
        violate_protocol(ghost)
    # wait for less than the 10 s after which the device ends unaccepted peers in any case
    end = time.monotonic() + 8
    while (left := count_associations() - there) > FROM_ONE_ADDRESS and \
            time.monotonic() < end:
        time.sleep(0.05)
    reject_pending_requests(w)
    print(f"# {most} associations, {left} once no request is pending", flush=True)
    check(f"not too many unaccepted peers: {left}", left <= FROM_ONE_ADDRESS)
    check_honest_peer_is_served(w)
    if most < FROM_ONE_ADDRESS + FEW:
        raise Skip(f"too slow: only {most} associations at once")


@case("unaccepted peers: one that violates the protocol after an Initiate is evicted")
def test_violator_after_initiate_is_evicted(w):
    for ghost in yield_connected_ghosts(w, 1):
        for sid in range(STRAYS + 8):
            send_initiate(ghost, sid)
            violate_protocol(ghost, sid)
            ghost.process_input_until_quiet(0.01)
            if ghost.ended:
                break
        same("end of the association", ghost.wait_end(), "abort")
        reject_pending_requests(w)
        check("not evicted too early", sid >= STRAYS)


@case("connects to peers that do not reply delay no others")
def test_unanswered_connects_delay_no_others(w):
    for number in range(CALLS):
        w.start_server_connect(PORT + number, host=GHOST)
    began = time.monotonic()
    w.respond()
    check_honest_peer_is_served(w)
    listener = int(w.server.do("listen", SERVER, PORT + 1)[0])
    link = w.initiate(peer=w.associate(port=PORT + 1).stream(0),
                      listener=listener)
    took = time.monotonic() - began
    link.close()
    w.server.do("destroy", listener)
    check(f"others are served in {took:.1f} s", took < SOON)


def get_last_window(ghost):
    *_, sack = (c for p in ghost.packets for c in p.get_chunks(sctp_packet.SACK))
    return int.from_bytes(sack.body[4:8], "big")


def check_accepted_peer_gets_large_window(w, ghost):
    """Accept a session, and check that the peer gets the window of an accepted peer."""
    link = w.initiate(peer=ghost.stream(0),
                      recvs=[(w.shared(1024, "l"), 64)] * 8)
    for number in range(1, 5):
        link.peer.send(b"more")
        link.expect_wc(wr=number, status=SUCCESS)
    ghost.wait_until(lambda: ghost.acked == ghost.tsn - 1)
    window = get_last_window(ghost)
    check(f"window of an accepted peer: {window} bytes", window >= ACCEPTED_WINDOW)


@case("an unaccepted peer gets a small window, an accepted one a large one")
def test_unaccepted_peer_gets_small_window(w):
    for ghost in yield_connected_ghosts(w, 1):
        announced = ghost.init.init[1]
        check(f"window of an unaccepted peer: {announced} bytes", announced <= WINDOW)
        check_accepted_peer_gets_large_window(w, ghost)


def accept_and_end_session(w, ghost):
    """Let a program accept and end a session that the peer has requested."""
    link = w.initiate(peer=ghost.stream(0))
    w.server.do("destroy", link.conn)
    link.expect_end()
    link.peer.terminate()
    w.server.drop_events(link.conn)
    link.conn = None


@case("unaccepted peers: a peer whose session has ended counts as unaccepted, and can "
      "start the next session")
def test_session_may_follow_ended_one(w):
    for ghost in yield_connected_ghosts(w, 1):
        accept_and_end_session(w, ghost)
        ghost.process_input_until_quiet(STAYS_ACCEPTED + 1)
        ghost.stream(0).start_session()
        check_accepted_peer_gets_large_window(w, ghost)


@case("unaccepted peers: a peer whose session has ended has the same limit of "
      "violations",
      "SCTPDDP-28")
def test_violation_limit_applies_after_session(w):
    for ghost in yield_connected_ghosts(w, 1):
        accept_and_end_session(w, ghost)
        ghost.process_input_until_quiet(STAYS_ACCEPTED + 1)
        ghost.send(make_orphan_segment(ghost, 9))
        ghost.wait_until(lambda: ghost.acked == ghost.tsn - 1)
        check(f"window of an unaccepted peer: {get_last_window(ghost)} bytes",
              get_last_window(ghost) <= WINDOW)
        for _ in range(STRAYS):
            ghost.send(make_orphan_segment(ghost, 9))
            ghost.process_input_until_quiet(0.001)
        same("end of the association", ghost.wait_end(), "abort")


@case("unaccepted peers: after a session refused Initiates do not extend the time "
      "limit")
def test_refused_initiates_after_session_extend_no_limit(w):
    for ghost in yield_connected_ghosts(w, 1):
        accept_and_end_session(w, ghost)
        for sid in range(1, IDLE // 2 + 5):
            ghost.send_message(sid, b"\0\0" + Control(INITIATE, bytes(513)).pack(),
                               sctp.CONTROL)
            ghost.process_input_until_quiet(2)
            if ghost.ended:
                break
        same("end of the association", ghost.ended, "abort")


# Peers with many addresses ----------------------------------------------------------


def make_address_parameters(count):
    """Return INIT parameters with further addresses, which do not exist."""
    return sctp_packet.pack_adaptation(1) + b"".join(
        sctp_packet.pack_parameter(sctp_packet.IPV4_ADDRESS,
                                   sctp_packet.pack_address(f"10.77.0.{number}"))
        for number in range(1, count + 1))


def read_max_timeouts(ghost):
    """Return the number of consecutive timeouts after which SCTP fails the
    association."""
    with open("/proc/net/sctp/assocs", encoding="ascii") as file:
        names, *lines = (line.split() for line in file)
    port, at = names.index("RPORT"), names.index("MAXRT") - len(names)
    rows = [row for row in lines if row[port] == str(ghost.ports[0])]
    same("associations", len(rows), 1)
    return int(rows[0][at])


@case("addresses: unreachable ones do not extend the time limit")
def test_unreachable_addresses_extend_no_limit(w):
    ghost = w.create_ghost(parameters=make_address_parameters(ADDRESSES - 1)).connect()
    w.closing.callback(ghost.close)
    link = w.initiate(peer=ghost.stream(0), recvs=[(w.shared(1024, "l"), 64)])
    link.peer.send(b"hello")
    link.expect_wc(wr=1, status=SUCCESS)
    same("timeouts", read_max_timeouts(ghost), TIMEOUTS)


@case("addresses: a peer with too many is refused")
def test_peer_with_too_many_addresses_is_refused(w):
    ghost = w.create_ghost(parameters=make_address_parameters(ADDRESSES))
    with w.expect_counts(end_sctp_addresses=1):
        ghost.connect()
        same("end of the association", ghost.wait_end(), "abort")
    check_honest_peer_is_served(w)


@case("addresses: a peer with too many is refused by the initiator, too")
def test_initiator_refuses_too_many_addresses(w):
    with w.expect_counts(end_sctp_addresses=1):
        ghost, link = w.let_server_connect_to_ghost(parameters=make_address_parameters(ADDRESSES))
        same("end of the association", ghost.wait_end(), "abort")
        link.expect_cm("CONNECT_ERROR", status=-errno.EPROTO)


@case("addresses: support for adding addresses is not announced")
def test_adding_addresses_is_not_announced(w):
    name = "/proc/sys/net/sctp/addip_enable"
    with open(name, encoding="ascii") as file:
        before = file.read().strip()
    write(name, "1")
    try:
        ghost, _ = w.let_server_connect_to_ghost()
    finally:
        write(name, before)
    extensions = dict(ghost.init.parameters).get(SUPPORTED_EXTENSIONS, b"")
    check("no ASCONF in the supported extensions: "
          f"{extensions.hex()}", ASCONF not in extensions)


# Waiting sessions ------------------------------------------------------------------


@case("deep queues do not starve the Send or the end of another session")
def test_deep_queues_starve_no_session(w):
    assoc = w.associate(rcvbuf=64 * KIB)
    other = w.initiate(peer=assoc.stream(9))
    memory = w.shared(BIG, "l")
    deep = [w.initiate(peer=assoc.stream(sid)) for sid in range(DEEP)]
    for link, wr in itertools.product(deep, range(4)):
        link.post("write", memory, BIG, wr, 0x1000, 0x22)

    def count_chunks_before(what):
        """Return how many chunks of the other sessions arrive before what() is true."""
        def count_arrived():
            return sum(len(link.peer.arrived) for link in deep)

        begin = count_arrived()
        assoc.wait_until(lambda: what(count_arrived() - begin), 60)
        return count_arrived() - begin

    count_chunks_before(lambda n: n > 200)
    other.post("send", memory, 100, 9)
    waited = [count_chunks_before(lambda _: other.peer.came)]
    same("bytes", len(other.peer.receive_segment().payload), 100)
    w.server.do("disconnect", other.conn)
    waited.append(count_chunks_before(lambda _: other.peer.came))
    same("control message at the end", other.peer.receive_control().code, TERMINATE)
    late = w.request_session(peer=assoc.stream(10))
    late.conn = w.expect_request().conn
    w.server.do("accept", late.conn, 1, 1)
    waited.append(count_chunks_before(lambda _: late.peer.came))
    print("# chunks of others before a Send, a Terminate, an Accept:",
          *waited, flush=True)
    check(f"at most {N} chunks of others are sent first, not "
          f"{waited}", max(waited) <= N)


@case("a session that waits for space in the send buffer uses no CPU")
def test_session_waiting_for_sndbuf_uses_no_cpu(w):
    assoc = w.associate(rcvbuf=64 * KIB)
    memory = w.shared(BIG, "l")
    link = w.initiate(peer=assoc.stream(0))
    for wr in range(4):
        link.post("write", memory, BIG, wr, 0x1000, 0x22)
    time.sleep(1)
    began = read_cpu_time()
    time.sleep(2)
    used = read_cpu_time() - began
    print(f"# {used:.2f} s of CPU in 2 s", flush=True)
    check(f"at most 1 s of CPU time in 2 s, not {used} s", used < 1)


def fill_sctp_memory():
    """Context manager: let plain sockets use more memory than the 1 MiB per CPU that SCTP does
    not account."""
    with contextlib.ExitStack() as stack:
        def open_plain_socket():
            return stack.enter_context(sctp.set_socket_options(sctp.socket.socket(
                sctp.socket.AF_INET, sctp.socket.SOCK_STREAM, sctp.PROTOCOL),
                adaptation=0))

        listener = open_plain_socket()
        listener.bind((SERVER, 6998))
        listener.listen()
        for _ in range(4 + 8 * os.cpu_count()):
            caller = open_plain_socket()
            caller.connect((SERVER, 6998))
            stack.enter_context(listener.accept()[0])
            caller.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    caller.send(bytes(8 * KIB))
        return stack.pop_all()


@contextlib.contextmanager
def limit_sctp_memory():
    """Context manager: set SCTP's memory limit to one page while it uses much more."""
    name = "/proc/sys/net/sctp/sctp_mem"
    with open(name, encoding="ascii") as file:
        before = file.read().strip()
    with fill_sctp_memory():
        write(name, "1 1 1")
        try:
            yield
        finally:
            write(name, before)


@case("SCTP gets no memory for a while, and nothing is in flight")
def test_sending_recovers_from_memory_shortage(w):
    ghost, = yield_connected_ghosts(w, 1)
    memory = w.shared(BIG, "l")
    link = w.initiate(peer=ghost.stream(0))
    ghost.process_input_until_quiet(0.3)
    with limit_sctp_memory():
        link.post("write", memory, 20 * KIB, 1, 0x1000, 0x22)
        ghost.process_input_until_quiet(2)
        same("chunks sent meanwhile", len(link.peer.came), 0)
    ghost.process_input_until_quiet(2)
    link.expect_wc(wr=1, status=SUCCESS)


run_sctp_cases()
