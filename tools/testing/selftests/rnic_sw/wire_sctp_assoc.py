#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test associations with many sessions, and how an association is set up and ends (RFC
5043 5.1, 7, 8 and 11)."""

import contextlib

from lib.wire import CM, FLUSHED, SERVER, QPS_ERR, SUCCESS, WC, case, check, rdmap, same
from rawpeer import sctp, sctp_packet
from rawpeer.sctp import INITIATE, Control
from rawpeer.talk import Closed
from lib.wire_sctp import (GHOST, make_accept, run_sctp_cases, filter_by_association,
                           set_requested_streams, check_data_transfer)

NAMES = {"abort": sctp.Association.abort, "shutdown": sctp.Association.shutdown}
OTHERS = 0, 2, 0x01000000, 0x80000001
MOST, BATCH = 32767, 32
CLOSE = 10      # seconds in which a peer must send its Terminate
SOME = 1000     # minimum number of chunks in flight when sending stops
STOPPED = 3     # seconds without a completion which show that SCTP accepts no more


def open_sessions(w, count, **options):
    """Return this number of sessions on one association."""
    assoc = w.associate(**options)
    memory = w.shared(4096, "lrw")
    return memory, [w.initiate(peer=assoc.stream(sid), recvs=[(memory, 64)] * 2)
                    for sid in range(count)]


# Many sessions -----------------------------------------------------------------


@case("several sessions on one association", "SCTPDDP-2 SCTPDDP-24 SCTPDDP-26")
def test_several_sessions_share_association(w):
    memory, links = open_sessions(w, 8)
    for turn in range(3):
        for number, link in enumerate(links):
            check_data_transfer(link, memory, b"%d of %d" % (turn, number))
    for number, link in enumerate(links):
        link.post("send", memory, 10 + number, 9)
    for number, link in enumerate(links):
        same("bytes", len(link.peer.receive_segment().payload), 10 + number)
        link.expect_wc(wr=9, status=SUCCESS)


@case("a protection error ends one session",
      "SCTPDDP-82 SCTPDDP-83 SCTPDDP-25")
def test_protection_error_ends_one_session(w):
    memory, links = open_sessions(w, 4)
    foreign = w.shared(4096, "lrw", 1)
    bad = rdmap.make_write(foreign.rkey, foreign.addr, b"bad")
    links[1].peer.send_segments(bad)
    term = links[1].peer.receive_terminate()
    same("Terminate", (term.what, term.ddp), ((1, 1, 2), bad.header()))
    links[1].expect_end()
    links[1].expect_wc(wr=1, status=FLUSHED)
    for link in links[:1] + links[2:]:
        check_data_transfer(link, memory)
        check("other sessions receive nothing", not link.peer.pop_unread())
    foreign.check_untouched()


@case("a protocol violation ends one session, and its stream can be used again",
      "SCTPDDP-28 SCTPDDP-83 SCTPDDP-22")
def test_protocol_violation_ends_one_session(w):
    memory, links = open_sessions(w, 3)
    stream = links[1].peer
    links[1].send_reply(Control(INITIATE))
    links[1].expect_end()
    links[1].expect_cm("DISCONNECTED")
    stream.terminate()
    for link in links[0], links[2]:
        check_data_transfer(link, memory)
    link.assoc.process_input_until_quiet(0.05)
    stream.start_session()
    check_data_transfer(w.initiate(peer=stream), memory)


@case("the end of a session leaves the others",
      "SCTPDDP-83 SCTPDDP-31")
def test_session_end_leaves_others(w):
    memory, links = open_sessions(w, 3)
    w.server.do("disconnect", links[0].conn)
    links[0].expect_end()
    links[1].peer.terminate()
    links[1].expect_cm("DISCONNECTED")
    check_data_transfer(links[2], memory)


def test_association_end_ends_sessions(w, how):
    memory, links = open_sessions(w, 5)
    with w.capture_packets() as sniffer:
        for link in links:
            link.post("read", memory, 16, 7, 1, 2)
            link.peer.receive_segment()
        # chunks that were sent before may be retransmitted
        known = {c.data[0] for p in sniffer.pop_packets()
                 for c in p.get_chunks(sctp_packet.DATA)}
        NAMES[how](links[0].assoc)
        for link in links:
            link.expect_cm("DISCONNECTED")
            for wr in 1, 2, 7:
                link.expect_wc(wr=wr, status=FLUSHED)
            same("state", w.server.do("state", link.conn)[0], str(QPS_ERR))
        segments = [c for p in sniffer.pop_packets() for c in
                    p.get_chunks(sctp_packet.DATA) if c.data[3] == sctp.SEGMENT and
                    c.data[0] not in known]
    w.expect_nothing(CM, event="DISCONNECTED")
    same("segments sent after the end, such as a Terminate", segments, [])


case("the peer aborts: every session is notified once",
     "SCTPDDP-81 DDP-78", how="abort")(test_association_end_ends_sessions)
case("the peer shuts down: every session is notified once",
     "SCTPDDP-81", how="shutdown")(test_association_end_ends_sessions)


def accept_requested_session(w, assoc, link):
    """Let the peer accept the first session on assoc, and return the link."""
    request, link.peer = w.wait_first_initiate(assoc)
    link.accept(request)
    return link


def destroy_connection(w, link):
    """Destroy the program's end of the connection, which frees its port."""
    w.server.do("destroy", link.conn)
    link.expect_end()
    link.peer.terminate()
    w.server.drop_events(link.conn)
    link.conn = None


@case("two connections to one address have their own source ports", "SCTPDDP-83")
def test_connections_have_own_source_ports(w):
    """The first association keeps the source port of a program that has closed its connection, so a
    second association needs another port."""
    memory, mine = w.shared(4096, "lrw"), next(w.ports)
    with w.listening() as (sock, port):
        first = w.start_server_connect(port, source=(SERVER, mine, 0))
        assoc = w.accept_association(sock)
        same("source port of the first association", assoc.sock.getpeername()[1], mine)
        accept_requested_session(w, assoc, first)
        stays = accept_requested_session(w, assoc, w.start_server_connect(port))
        destroy_connection(w, first)
        other = w.start_server_connect(port, source=(SERVER, mine, 0x20))
        accept_requested_session(w, w.accept_association(sock), other)
    for link in stays, other:
        check_data_transfer(link, memory)
    check("the second association has another "
          "port", other.assoc.sock.getpeername()[1] != mine)
    # the port of the second connection must be free for a listener
    destroy_connection(w, other)
    listener = int(w.server.do("listen", SERVER, mine)[0])
    check_data_transfer(w.initiate(peer=w.associate(port=mine).stream(0), listener=listener),
                        memory)
    check_data_transfer(stays, memory)
    w.server.do("destroy", listener)


@case("an abort before the Initiates are accepted", "SCTPDDP-81")
def test_abort_before_accept_is_reported(w):
    assoc = w.associate()
    links = [w.request_session(peer=assoc.stream(sid)) for sid in range(3)]
    for link in links:
        link.conn = w.expect_request().conn
    assoc.abort()
    check_data_transfer(w.initiate(), w.shared(4096, "lrw"))
    for link in links:
        w.server.do("accept", link.conn, 1, 1)
        link.expect_cm("ESTABLISHED", status=0)
        link.expect_cm("DISCONNECTED")


# Association setup -----------------------------------------------------------------


def find_chunks_of_device(packets, *kinds):
    """Return the chunks of these kinds that the device's host has sent."""
    return [chunk for packet in packets if packet.source[0] == SERVER
            for kind in kinds for chunk in packet.get_chunks(kind)]


def filter_first_association(packets):
    """Return the packets of the first association that is set up in packets."""
    return filter_by_association(packets,
                                 next(p for p in packets if p.get_chunks(sctp_packet.INIT)))


@case("the indication is in INIT-ACK and in INIT, and nowhere else",
      "SCTPDDP-4 SCTPDDP-5 SCTPDDP-72 SCTPDDP-84")
def test_indication_is_in_init_and_init_ack(w):
    for connect, kind in ((w.initiate, sctp_packet.INIT_ACK),
                          (w.respond, sctp_packet.INIT)):
        with w.capture_packets() as sniffer:
            link = connect()
            same("indication reported by the socket", link.assoc.adaptation, 1)
            link.close()
            packets = sniffer.pop_packets()
        # the chunk may have been retransmitted
        init, *_ = find_chunks_of_device(packets, kind)
        same("indications", init.adaptations, ["00000001"])
        rest = [c.body for p in packets for c in p.chunks
                if c.kind not in (sctp_packet.INIT, sctp_packet.INIT_ACK,
                                  sctp_packet.COOKIE_ECHO)]
        check("no other chunk has an "
              "indication", not any(b"\xc0\x06\0\x08\0\0\0\1" in body
                                        for body in rest))


def check_stream_counts(sniffer, assoc, kind, count):
    """Check the stream counts that a chunk of that kind requests, and those agreed upon."""
    init, *_ = find_chunks_of_device(sniffer.pop_packets(), kind)
    same("streams out, in", init.init[2:4], (count, count))
    same("agreed streams out, in", (assoc.outbound, assoc.inbound), (count, count))


@case("as many streams as the device is configured for, in both directions",
      "SCTPDDP-56 SCTPDDP-57")
def test_configured_streams_are_requested(w):
    for count in 3, 100:
        with set_requested_streams(count), w.capture_packets() as sniffer:
            link = w.respond(streams=200)
            check_stream_counts(sniffer, link.assoc, sctp_packet.INIT, count)
            # a listener uses the value that the setting had when it started to listen
            port = next(w.ports)
            listener = int(w.server.do("listen", SERVER, port)[0])
            check_stream_counts(sniffer, w.associate(port, streams=200),
                                sctp_packet.INIT_ACK, count)
            w.server.do("destroy", listener)


@case("fewer streams in one direction: only stream pairs are used",
      "SCTPDDP-57 SCTPDDP-2")
def test_only_stream_pairs_are_used(w):
    memory = w.shared(4096, "lrw")
    assoc = w.associate(streams=8, inbound=2)
    check_data_transfer(w.initiate(peer=assoc.stream(1)), memory)
    assoc.stream(5).send_control(INITIATE)
    w.expect_nothing(CM, event="CONNECT_REQUEST")
    with contextlib.suppress(Closed, OSError):
        check_data_transfer(w.initiate(peer=assoc.stream(0)), memory)


def test_wrong_indication_is_refused(w, value):
    """Passive side: check that an association with that indication carries no session."""
    with w.expect_counts(end_sctp_adaptation=1), w.capture_packets() as sniffer:
        # the association may end before associate() returns
        with contextlib.suppress(OSError):
            assoc = w.associate(adaptation=value)
            assoc.stream(0).send_control(INITIATE)
            assoc.wait_end()
        packets = filter_first_association(sniffer.pop_packets())
    check("the device ends the association",
          find_chunks_of_device(packets, sctp_packet.ABORT, sctp_packet.SHUTDOWN))
    w.expect_nothing(CM, event="CONNECT_REQUEST")
    same("DATA chunks from the device", find_chunks_of_device(packets, sctp_packet.DATA), [])


def test_wrong_indication_fails_connect(w, value):
    """Active side: check that the program gets an error and that no session is started."""
    with w.capture_packets() as sniffer, w.listening(adaptation=value) as (sock, port):
        with w.expect_counts(end_sctp_adaptation=1):
            link = w.start_server_connect(port)
            event = w.server.expect_event(CM, conn=link.conn)
        # The program may be notified before the device ends the association. Wait for this end:
        # if the peer ended the association first, the device would only reply.
        packets = filter_first_association(sniffer.pop_packets(until=lambda p: (
            p.target[1] == port and find_chunks_of_device([p], sctp_packet.ABORT, sctp_packet.SHUTDOWN))))
        sock.accept()[0].close()
    check("the device ends the association",
          find_chunks_of_device(packets, sctp_packet.ABORT, sctp_packet.SHUTDOWN))
    check(f"{event} reports an error", event.event in ("REJECTED", "CONNECT_ERROR",
                                                "UNREACHABLE"))
    w.expect_nothing(CM, conn=link.conn)
    same("DATA chunks from the device", find_chunks_of_device(packets, sctp_packet.DATA), [])


for number in OTHERS:
    words = f"indication {number:#x}" if number else "no indication"
    rows = ("SCTPDDP-49 SCTPDDP-73 SCTPDDP-87 " +
            ("SCTPDDP-75" if number else "SCTPDDP-74"))
    case(f"responder: {words}", rows, value=number)(test_wrong_indication_is_refused)
    case(f"initiator: {words}", rows, value=number)(test_wrong_indication_fails_connect)


@case("a valid association after an invalid one", "SCTPDDP-73")
def test_valid_association_follows_invalid(w):
    test_wrong_indication_is_refused(w, 2)
    check_data_transfer(w.initiate(), w.shared(4096, "lrw"))


@case("SCTP without DDP works on the same host", "SCTPDDP-86 SCTPDDP-87")
def test_plain_sctp_works_on_same_host(w):
    listener = sctp.set_socket_options(sctp.socket.socket(
        sctp.socket.AF_INET, sctp.socket.SOCK_STREAM, sctp.PROTOCOL),
        adaptation=2)
    with listener:
        listener.bind((SERVER, 6999))
        listener.listen()
        here = w.associate(6999, adaptation=3)
        there = sctp.Association.wait_established(listener.accept()[0])
        same("indications, as chosen at either end",
             (here.adaptation, there.adaptation), (2, 3))
        same("indication of the device", w.associate().adaptation, sctp.ADAPTATION)
        here.stream(0).send_chunk(b"anything", ppid=46)
        there.close()


@case("the indication is ignored in other chunks",
      "SCTPDDP-85 SCTPDDP-73")
def test_indication_in_other_chunks_is_ignored(w):
    ghost = w.create_ghost()
    ghost.connect()
    link = w.initiate(peer=ghost.stream(0))
    ghost.send(sctp_packet.Chunk(
        sctp_packet.HEARTBEAT, 0, sctp_packet.pack_parameter(1, b"12345678") +
        sctp_packet.pack_adaptation(2)))
    ghost.send(sctp_packet.Chunk(sctp_packet.COOKIE_ACK, 0,
                                 sctp_packet.pack_adaptation(2)))
    check_data_transfer(link, w.shared(4096, "lrw"))
    link.close()


# Association in use ----------------------------------------------------------------


def connect_from_ghost(w, recvs=()):
    ghost = w.create_ghost().connect()
    w.closing.callback(ghost.close)
    return ghost, w.initiate(peer=ghost.stream(0), recvs=recvs)


@case("the COOKIE-ACK is lost", "")
def test_lost_cookie_ack_is_recovered(w):
    ghost, link = connect_from_ghost(w)
    ghost.packets.clear()
    cookie = dict(ghost.init.parameters)[sctp_packet.COOKIE]
    ghost.send(sctp_packet.Chunk(sctp_packet.COOKIE_ECHO, 0, cookie))
    ghost.wait_until(lambda: any(p.get_chunks(sctp_packet.COOKIE_ACK)
                                 for p in ghost.packets))
    check_data_transfer(link, w.shared(4096, "lrw"))


@case("TSNs in another order than DDP-SSNs", "SCTPDDP-65 SCTPDDP-66")
def test_tsn_order_may_differ_from_ssn_order(w):
    memory, inbox = w.shared(4096, "lrw"), w.shared(1024, "l")
    ghost, link = connect_from_ghost(w, recvs=[(inbox, 64)] * 2)
    first = link.peer.ssn

    def make_chunk(ssn, segment):
        octets = (first + ssn).to_bytes(2, "big") + segment.pack()
        return ghost.make_next_data_chunk(0, octets, sctp.SEGMENT)

    chunks = [make_chunk(1, rdmap.make_write(memory.rkey, memory.addr, b"second")),
              make_chunk(2, rdmap.make_send(2, b"third")),
              make_chunk(0, rdmap.make_send(1, b"1st"))]
    ghost.send(chunks[2], chunks[0], chunks[1])
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 3)
    same("length", link.expect_wc(wr=2, status=SUCCESS).length, 5)
    same("written", memory.read_bytes(0, 6), b"second")


@case("a TSN is acknowledged while its DDP-SSN waits", "SCTPDDP-66")
def test_early_chunk_is_acked_while_it_waits(w):
    inbox = w.shared(1024, "l")
    ghost, link = connect_from_ghost(w, recvs=[(inbox, 64)])
    link.peer.send_segments(rdmap.make_send(1, b"wait"), ssn=link.peer.ssn + 1)
    ghost.wait_until(lambda: ghost.acked == ghost.tsn - 1)
    w.server.expect_no_event_within(WC, timeout=0, conn=link.conn)
    link.peer.send_segments(rdmap.make_write(0, 0))
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 4)


@case("no Terminate that could overtake the Initiate",
      "SCTPDDP-43 SCTPDDP-45")
def test_terminate_waits_for_initiate_ack(w):
    ghost, link = w.let_server_connect_to_ghost()
    ghost.sacking = False
    request, link.peer = w.wait_first_initiate(ghost)
    w.server.do("destroy", link.conn)
    w.server.drop_events(link.conn)
    link.conn = None
    w.expect_quiet(link.peer)
    ghost.sacking = True
    link.send_reply(make_accept(request))
    same("end after the Accept", link.peer.wait_end(), ("terminate", []))


@case("a session is not begun on a stream with unacknowledged chunks",
      "SCTPDDP-46")
def test_stream_with_unacked_chunks_is_not_reused(w):
    ghost, link = w.let_server_connect_to_ghost()
    request, link.peer = w.wait_first_initiate(ghost)
    link.accept(request)
    ghost.sacking = False
    w.server.do("disconnect", link.conn)
    same("end of the session", link.peer.wait_end()[0], "terminate")
    link.peer.terminate()
    again = w.start_server_connect(ghost.ports[0], host=GHOST)
    # wait long enough for an Initiate to arrive if the device sent one at once
    w.wait_until_data_processed()
    ghost.process_input_until_quiet(0.3)
    others = [s for s in ghost.streams.values() if s.came]
    check("the next session uses another stream", link.peer not in others)
    for stream in others:
        again.peer = stream
    ghost.send_sack()
    ghost.sacking = True
    link.expect_cm("DISCONNECTED")
    if not others:
        link.peer.start_session()
        ghost.wait_until(lambda: link.peer.came)


@case("an end is graceful once the peer has acknowledged it",
      "SCTPDDP-31")
def test_acked_end_is_graceful(w):
    ghost, link = connect_from_ghost(w)
    ghost.sacking = False
    with w.expect_counts(end_peer_closed=1):
        link.peer.terminate()
        same("end of the session", link.peer.wait_end()[0], "terminate")
        w.expect_nothing(CM, event="DISCONNECTED")
        ghost.send_sack()
        link.expect_cm("DISCONNECTED")


@case("an end is graceful once the peer has begun the next "
      "session", "SCTPDDP-22 SCTPDDP-31")
def test_next_session_makes_end_graceful(w):
    ghost, link = connect_from_ghost(w)
    ghost.sacking = False
    link.peer.terminate()
    same("end of the session", link.peer.wait_end()[0], "terminate")
    link.peer.start_session()
    check_data_transfer(w.initiate(peer=link.peer), w.shared(4096, "lrw"))
    link.expect_cm("DISCONNECTED")


@case("an end is not timed out while data is unacknowledged", "SCTPDDP-31")
def test_end_waits_for_slow_acks(w):
    ghost, link = connect_from_ghost(w)
    ghost.sacking = False
    with w.expect_counts(end_local_close=1, end_timeout=0):
        w.server.do("disconnect", link.conn)
        # The time limit CLOSE begins when the peer acknowledges the device's Terminate. The peer
        # has not done so yet, so the session must still exist after CLOSE seconds.
        ghost.process_input_until_quiet(CLOSE + 2)
        ghost.send_sack()
        ghost.sacking = True
        same("end of the session", link.peer.wait_end()[0], "terminate")
        link.peer.terminate()
        link.expect_cm("DISCONNECTED")


@case("a short message is not delayed for others", "SCTPDDP-78")
def test_short_message_is_not_delayed(w):
    ghost, link = connect_from_ghost(w)
    memory = w.shared(4096, "l")
    ghost.sacking = False
    for wr in 1, 2, 3:
        link.post("send", memory, 8, wr)
        same("bytes", len(link.peer.receive_segment().payload), 8)


@case("the end of a long message is not delayed", "SCTPDDP-78")
def test_end_of_long_message_is_not_delayed(w):
    ghost, link = connect_from_ghost(w)
    memory = w.shared(4096, "l")
    ghost.sacking = False
    link.post("send", memory, 4000, 1)
    octets = sum(len(each.payload) for each in link.peer.receive_message())
    same("bytes", octets, 4000)


def post_until_sctp_is_full(w, link, memory, most):
    """Post empty Writes until SCTP accepts no more. Return how many were accepted, and how many
    are pending."""
    count, batch = 0, BATCH
    words = "write", link.conn, memory.number, 0, 0, 1, 1, 2
    while batch == BATCH and count < most:
        w.server.run_commands(*[words] * BATCH)
        batch = 0
        while batch < BATCH and w.server.pop_event(WC, STOPPED, conn=link.conn):
            batch += 1
        count += batch
    return count, BATCH - batch


@case("never more than 32767 unacknowledged chunks",
      "SCTPDDP-67 SCTPDDP-68")
def test_unacked_chunks_are_limited(w):
    """The number of chunks in flight is limited, whatever the peer's receive window is. Further
    chunks wait for acknowledgements."""
    ghost, link = w.let_server_connect_to_ghost(window=1 << 28)
    request, link.peer = w.wait_first_initiate(ghost)
    link.accept(request)
    ghost.sacking = False
    count, left = post_until_sctp_is_full(w, link, w.shared(4096, "l"), MOST + 1)
    print(f"# {count} chunks in flight")
    check(f"{SOME} to {MOST} chunks are accepted, not {count}", SOME <= count <= MOST)
    ghost.sacking = True
    ghost.send_sack()
    for _ in range(500):
        ghost.process_input_until_quiet(0.02)
        while left and w.server.pop_event(WC, 0, conn=link.conn):
            left -= 1
        if not left:
            return
    raise AssertionError(f"after the acknowledgement {left} requests should complete")


def check_restart_ends_session(w, ghost, link):
    """Check that a restart of the association ends the session, and that nothing of the session
    is sent on the new association."""
    again = w.create_ghost(port=ghost.ports[0])
    again.tag, again.tsn = 0x2EAF0002, 0x20000000
    with w.expect_counts(end_peer_reset=1, tx_terminates=0):
        again.connect()
        w.closing.callback(again.close)
        link.expect_cm("DISCONNECTED")
    ghost.ended = "restart"
    same("end, and messages before it", (again.wait_end(), again.chunks()),
         ("abort", []))


@case("an association restarted by the peer ends its sessions",
      "SCTPDDP-80 SCTPDDP-81")
def test_restart_ends_sessions(w):
    ghost, link = connect_from_ghost(w, recvs=[(w.shared(1024, "l"), 64)])
    check_restart_ends_session(w, ghost, link)
    link.expect_wc(wr=1, status=FLUSHED)
    check_data_transfer(w.initiate(), w.shared(4096, "lrw"))


@case("a restart ends sessions that wait for send buffer "
      "space", "SCTPDDP-80 SCTPDDP-81")
def test_restart_ends_sessions_with_full_sndbuf(w):
    """When SCTP drops the chunks in flight it signals free space, which must not start sending."""
    ghost, link = connect_from_ghost(w)
    ghost.sacking = False
    post_until_sctp_is_full(w, link, w.shared(4096, "l"), MOST)
    check_restart_ends_session(w, ghost, link)


def check_bundled_data_is_dropped(w, *last):
    """The peer restarts, and bundles a segment that is valid for the previous session with its
    COOKIE-ECHO. last: chunks that follow in the same packet."""
    ghost, link = connect_from_ghost(w)
    memory = w.shared(4096, "lrw")
    again = w.create_ghost(port=ghost.ports[0])
    w.closing.callback(again.close)
    again.tag, again.tsn = 0x2EAF0002, 0x20000000
    segment = rdmap.make_write(memory.rkey, memory.addr, b"not mine")
    octets = link.peer.ssn.to_bytes(2, "big") + segment.pack()
    again.bundled = lambda: [again.make_next_data_chunk(0, octets, sctp.SEGMENT), *last]
    again.start_connect()
    link.expect_cm("DISCONNECTED")
    ghost.ended = "restart"
    memory.check_untouched()


@case("data after a restart is not delivered to the previous session",
      "SCTPDDP-81")
def test_data_after_restart_is_not_delivered(w):
    check_bundled_data_is_dropped(w)


@case("data after a restart is dropped, even if the new association ends "
      "immediately", "SCTPDDP-81")
def test_data_of_aborted_restart_is_dropped(w):
    check_bundled_data_is_dropped(w, sctp_packet.Chunk(sctp_packet.ABORT))


@case("data, the end of the session and that of the association arrive together", "DDP-12")
def test_data_and_ends_may_arrive_together(w):
    inbox = w.shared(1024, "l")
    for _ in range(50):
        link = w.initiate(recvs=[(inbox, 64)])
        link.peer.send(b"last")
        link.peer.terminate()
        link.assoc.shutdown()
        same("length", link.expect_wc(wr=1, status=SUCCESS).length, 4)
        link.expect_cm("DISCONNECTED", status=0)
        w.clean_up_after_case()


@case("an association without sessions is shut down after a while", "DDP-13")
def test_idle_association_is_shut_down(w):
    link = w.respond()
    w.server.do("disconnect", link.conn)
    link.expect_end()
    link.peer.terminate()
    link.expect_cm("DISCONNECTED")
    same("end of the association", link.assoc.wait_end(30), "shutdown")


run_sctp_cases()
