#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test chunks that arrive in any order (RFC 5043 sections 5.2.1, 6.1 and 10)."""

import itertools
import os
import random

from lib.wire import (ACCESS_ERR, FLUSHED, SUCCESS, Skip, WC, Async, connect_with_device_as,
                      case, check, add_case_for_both_roles, rdmap, same)
from lib.wire_kernel import fail_allocations_of
from rawpeer import sctp
from rawpeer.sctp import TERMINATE, Control
from rawpeer.talk import no_delays
from lib.wire_sctp import run_sctp_cases

MANY = 70000            # chunks: more than there are DDP-SSNs
PIECE = 1000
MANY_KEPT = 10000       # segments of 1400 bytes: more than the device queues


def make_pattern(length, seed):
    return random.Random(seed).randbytes(length)


def make_segments(data, make, last=True):
    """Cut data into pieces of PIECE bytes. Return the segments that make() makes of these."""
    ends = range(0, len(data), PIECE)
    return [make(at, data[at:at + PIECE], last and at + PIECE >= len(data))
            for at in ends]


def make_write_segments(region, data, offset=0):
    return make_segments(data, lambda at, octets, last: rdmap.make_write(
        region.rkey, region.addr + offset + at, octets, last=last))


def make_send_segments(msn, data):
    return make_segments(data, lambda at, octets, last: rdmap.make_send(
        msn, octets, mo=at, last=last))


def make_shuffled_order(count, seed):
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order


def test_segments_in_any_order_are_delivered(w, role):
    target, inbox = w.shared(4096, "lw"), w.shared(4096, "l")
    link = connect_with_device_as(w, role)
    for turn, order in enumerate(itertools.permutations(range(4))):
        data = make_pattern(64, turn)
        msn = link.peer.msn[0]
        link.peer.msn[0] += 2
        for number in 0, 1:
            link.post_recv(inbox, 64, msn + number, 64 * number)
        link.peer.send_reordered(
            order, rdmap.make_send(msn, data[:10]),
            rdmap.make_write(target.rkey, target.addr + 64 * turn, data[:32],
                             last=False),
            rdmap.make_write(target.rkey, target.addr + 64 * turn + 32, data[32:]),
            rdmap.make_send(msn + 1, data[10:30]))
        same("first", link.expect_wc(wr=msn, status=SUCCESS).length, 10)
        same("second", link.expect_wc(wr=msn + 1, status=SUCCESS).length, 20)
        same("data of the Sends", (inbox.read_bytes(0, 10), inbox.read_bytes(64, 20)),
             (data[:10], data[10:30]))
        same("data of the Write", target.read_bytes(64 * turn, 64), data)


add_case_for_both_roles("four segments in all 24 orders",
                        "SCTPDDP-65 SCTPDDP-27 SCTPDDP-66",
                        test_segments_in_any_order_are_delivered)


def test_early_write_is_placed_immediately(w, role):
    """A Write that arrives early is placed immediately; its message is delivered in order."""
    target, inbox = w.shared(4096, "lw"), w.shared(4096, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)] * 2)
    data = make_pattern(1000, 1)
    first = link.peer.take_next_ssn()
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, data))
    link.peer.send_segments(rdmap.make_send(2, b"behind"))
    # the data must be placed before the preceding chunk has arrived
    target.wait_placed(0, data)
    w.expect_nothing(WC, conn=link.conn)
    link.peer.send_segments(rdmap.make_send(1, b"the first"), ssn=first)
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 9)
    same("length", link.expect_wc(wr=2, status=SUCCESS).length, 6)


add_case_for_both_roles("an early Write is placed, an early Send waits",
                        "SCTPDDP-66 SCTPDDP-65 RDMAP-116 DDP-21",
                        test_early_write_is_placed_immediately)


def test_send_waits_for_missing_write(w, role):
    """A Send and Immediate Data have arrived, but the Write before them is missing."""
    target, inbox = w.shared(4096, "lw"), w.shared(4096, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)] * 2)
    data = make_pattern(1000, 2)
    first = link.peer.take_next_ssn()
    link.peer.send_segments(rdmap.make_send(1, b"behind"))
    link.peer.send_segments(rdmap.make_immediate(2))
    w.expect_nothing(WC, conn=link.conn)
    target.check_untouched()
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, data), ssn=first)
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 6)
    same("data of the Write", target.read_bytes(0, 1000), data)
    link.expect_wc(wr=2, status=SUCCESS)


add_case_for_both_roles("a Send and Immediate Data wait for a missing Write",
                        "SCTPDDP-65 DDP-21 RDMAP-120 EXT-80", test_send_waits_for_missing_write)


@case("long messages thoroughly shuffled", "SCTPDDP-65 SCTPDDP-66")
def test_shuffled_long_messages_are_delivered(w):
    target, inbox = w.shared(1 << 18, "lw"), w.shared(1 << 18, "l")
    for turn in range(5):
        link = w.initiate(recvs=[(inbox, 1 << 17)] * 2)
        written, sent = make_pattern(100_000, turn), make_pattern(60_000, turn + 100)
        segments = (make_write_segments(target, written) + make_send_segments(1, sent) +
                    make_send_segments(2, b"end"))
        link.peer.send_reordered(make_shuffled_order(len(segments), turn), *segments)
        same("length", link.expect_wc(wr=1, status=SUCCESS).length, len(sent))
        link.expect_wc(wr=2, status=SUCCESS)
        # both receives use the same memory, so the short Send overwrites the beginning
        same("data of the Send", inbox.read_bytes(3, 4096), sent[3:4099])
        same("correct data of the Write", target.read_bytes(0, 100_000) == written, True)
        w.clean_up_after_case()


@case("Read Requests in any order get responses in the order of their DDP-SSNs",
      "SCTPDDP-65 SCTPDDP-27")
def test_read_responses_follow_ssn_order(w):
    source = w.shared(4096, "r")
    link = w.initiate(accept=(8, 8, b""))
    requests = [rdmap.ReadRequest(0x1000 + n, n, 16, source.rkey, source.addr)
                for n in range(4)]
    link.peer.send_reordered((2, 0, 3, 1), *(
        request.segment(msn) for msn, request in enumerate(requests, 1)))
    for request in requests:
        same("sink", link.peer.receive_segment().stag, request.sink_stag)


@case("an early Read Request waits, even one of zero bytes",
      "SCTPDDP-66 RDMAP-122 RDMAP-128 RDMAP-135")
def test_early_read_request_waits(w):
    memory = w.shared(4096, "lrw")
    link = w.initiate()
    for turn, size in enumerate((16, 0, 4096, 0)):
        data = make_pattern(size, turn)
        first = link.peer.take_next_ssn()
        link.peer.read(rdmap.ReadRequest(0x1000, turn, size, memory.rkey,
                                         memory.addr))
        w.expect_quiet(link.peer)
        link.peer.send_segments(
            rdmap.make_write(memory.rkey, memory.addr, data[:1000]), ssn=first)
        got = link.peer.receive_message()
        same("headers of the Response", [(seg.ulp, seg.stag) for seg in got],
             [(0x42, 0x1000)] * len(got))
        same("data", b"".join(seg.payload for seg in got)[:1000], data[:1000])


@case("a Read Response in any order", "SCTPDDP-65 SCTPDDP-66")
def test_read_response_in_any_order_is_placed(w):
    memory = w.shared(1 << 16, "l")
    link = w.initiate()
    for turn in range(4):
        data = make_pattern(20_000, turn)
        link.post("read", memory, len(data), turn, 0x10, 0x20)
        asked = rdmap.ReadRequest.parse(link.peer.receive_segment().payload)
        segments = make_segments(data, lambda at, octets, last, a=asked:
                                 rdmap.make_read_response(a.sink_stag, a.sink_to + at,
                                                          octets, last=last))
        order = make_shuffled_order(len(segments), turn)
        gap = order.pop()
        first = link.peer.ssn
        for place in order:
            link.peer.send_segments(segments[place], ssn=first + place)
        w.expect_nothing(WC, conn=link.conn)
        link.peer.send_segments(segments[gap], ssn=first + gap)
        link.peer.ssn = first + len(segments)
        link.expect_wc(wr=turn, status=SUCCESS)
        same("data", memory.read_bytes(0, len(data)) == data, True)


def check_session_continues(link, memory):
    """Check that the session still transfers data."""
    link.peer.send_segments(rdmap.make_write(memory.rkey, memory.addr, b"on"))
    link.round_trip()
    same("written", memory.read_bytes(0, 2), b"on")


def test_duplicate_ssn_ends_session(w, role, ahead):
    """SCTP delivers each chunk once, so a DDP-SSN that arrives twice violates the protocol."""
    target, inbox = w.shared(4096, "lw"), w.shared(4096, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)] * 2)
    ssn = link.peer.ssn + ahead
    link.peer.send_segments(
        rdmap.make_write(target.rkey, target.addr, b"first"), ssn=ssn)
    link.peer.send_segments(
        rdmap.make_write(target.rkey, target.addr, b"again"), ssn=ssn)
    link.peer.send_segments(rdmap.make_send(1, b"behind"), ssn=ssn + 1)
    link.expect_end()
    link.expect_cm("DISCONNECTED")
    for wr in 1, 2:
        link.expect_wc(wr=wr, status=FLUSHED)
    same("data of the first", target.read_bytes(0, 5), b"first")


for place, words in (0, "after delivery"), (2, "while it is early"):
    add_case_for_both_roles(f"a DDP-SSN twice, {words}", "SCTPDDP-71 DDP-14",
                            test_duplicate_ssn_ends_session, ahead=place)


def test_ssn_too_far_ahead_ends_session(w, ahead):
    """The peer sends a DDP-SSN that is further ahead than chunks can be in flight."""
    target = w.shared(4096, "lw")
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)])
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"far"),
                            ssn=link.peer.ssn + ahead)
    link.expect_end()
    link.expect_cm("DISCONNECTED")
    target.check_untouched()


case("an impossible DDP-SSN ends the session",
     "SCTPDDP-69 SCTPDDP-71", ahead=32767)(test_ssn_too_far_ahead_ends_session)


def check_early_chunk_without_memory(w, ahead, **end):
    """Send a chunk that is ahead while allocations for received chunks fail."""
    link = w.initiate()
    with fail_allocations_of("sddp_rx_process_chunk", "iw_sctp_ddp"), w.expect_counts(**end):
        link.peer.send_segments(rdmap.make_send(2, b"ahead"),
                                ssn=link.peer.ssn + ahead)
        link.expect_end()
        link.expect_cm("DISCONNECTED")


@case("nothing is allocated for an impossible DDP-SSN",
      "SCTPDDP-70")
def test_impossible_ssn_allocates_nothing(w):
    """If there is no memory for a chunk that arrives early, the session ends for that reason only
    if the DDP-SSN is possible. An impossible DDP-SSN ends the session before any memory is
    allocated."""
    check_early_chunk_without_memory(w, 32766, end_no_memory=1)
    check_early_chunk_without_memory(w, 32767, end_sctp_ssn=1)


@case("a limited number of chunks is queued after a gap", "SCTPDDP-22")
def test_chunks_after_gap_are_limited(w):
    """The first chunk is missing, and the messages are Sends for which there are no receives, so
    the device has to queue the chunks. At its limit it must end the session."""
    link = w.initiate()
    first = link.peer.ssn
    segment = rdmap.make_send(2, bytes(1400))
    with no_delays():
        for n in range(1, MANY_KEPT):
            link.peer.send_segments(segment, ssn=first + n)
    link.expect_end()
    link.expect_cm("DISCONNECTED")
    check_new_session_works(w)
    # Send the missing chunk and the Terminate, which frees the stream for the next
    # session.
    link.peer.send_segments(segment, ssn=first)
    link.peer.send_chunk(Control(TERMINATE).pack(), ssn=first + MANY_KEPT)
    link.assoc.process_input_until_quiet(0.05)
    link.peer.start_session()
    check_send_arrives(w.initiate(peer=link.peer, recvs=[(w.shared(1024, "l"), 64)]))


@case("chunks without an Initiate are not queued, nor waited for",
      "SCTPDDP-28")
def test_chunks_without_initiate_are_dropped(w):
    """A peer may not send anything between its Initiate and the Accept."""
    assoc = w.associate(streams=2)
    # accept a session on another stream, because an unaccepted peer would be evicted
    w.initiate(peer=assoc.stream(1))
    lonely = assoc.stream(0)
    for turn in range(3):
        segment = rdmap.make_send(1, bytes(1400))
        for ssn in make_shuffled_order(20, turn)[:10]:
            lonely.send_segments(segment, ssn=ssn + 1)
        same("code of the reply", lonely.receive_control().code, TERMINATE)
        w.expect_quiet(lonely)
        # send all missing chunks and the Terminate
        for ssn in [0] + [n + 1 for n in make_shuffled_order(20, turn)[10:]]:
            lonely.send_segments(segment, ssn=ssn)
        lonely.send_chunk(Control(TERMINATE).pack(), ssn=21)
        assoc.process_input_until_quiet(0.05)
        lonely.start_session()
        link = w.initiate(peer=lonely, recvs=[(w.shared(1024, "l"), 64)])
        link.peer.send(b"on")
        link.expect_wc(wr=1, status=SUCCESS)
        link.peer.terminate()
        link.expect_cm("DISCONNECTED")
        link.expect_end()
        assoc.process_input_until_quiet(0.05)
        lonely.start_session()


def check_send_arrives(link):
    link.peer.send(b"on")
    link.expect_wc(wr=1, status=SUCCESS)


def check_new_session_works(w):
    check_send_arrives(w.initiate(recvs=[(w.shared(1024, "l"), 64)]))


def test_early_error_waits_for_earlier_messages(w, role):
    """An early segment is invalid. The messages before it must still be delivered."""
    target, inbox = w.shared(4096, "lw"), w.shared(4096, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)] * 2)
    first = link.peer.take_next_ssn()
    bad = rdmap.make_write(target.rkey ^ 0x5A5A5A00, target.addr, b"bad")
    link.peer.send_segments(bad)
    link.peer.send_segments(rdmap.make_send(2, b"behind it"))
    with w.expect_counts(end_ddp_tagged_stag=1, tx_terminates=1):
        link.peer.send_segments(rdmap.make_send(1, b"before"), ssn=first)
        same("length", link.expect_wc(wr=1, status=SUCCESS).length, 6)
        term = link.peer.receive_terminate()
        same("Terminate", (term.what, term.ddp), ((1, 1, 0), bad.header()))
        link.expect_end()
    check("the message after it is not delivered", link.expect_wc(wr=2).status != SUCCESS)
    w.server.expect_event(Async, conn=link.conn, event=ACCESS_ERR)
    target.check_untouched()


add_case_for_both_roles("an invalid segment that arrives early",
                        "SCTPDDP-82 SCTPDDP-27", test_early_error_waits_for_earlier_messages)


def skip_without_long_run():
    if not os.environ.get("T_LONG"):
        raise Skip("takes minutes with all debug options: T_LONG=1")


@case("DDP-SSNs wrap around: received chunks", "SCTPDDP-9 SCTPDDP-65")
def test_received_ssns_wrap(w):
    skip_without_long_run()
    target = w.shared(4096, "lw")
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)])
    octet = rdmap.make_write(target.rkey, target.addr, b"x").pack()
    for first in range(link.peer.ssn, MANY, 10):
        for place in 3, 1, 0, 2, 4, 9, 7, 5, 8, 6:
            link.peer.send_segments(octet, ssn=(first + place) % sctp.SSNS,
                                    more=place != 6)
    link.peer.ssn = (first + 10) % sctp.SSNS
    link.peer.send(b"end")
    link.expect_wc(wr=1, status=SUCCESS, timeout=60)
    check_session_continues(link, target)


@case("DDP-SSNs wrap around: sent chunks", "SCTPDDP-9 SCTPDDP-23")
def test_sent_ssns_wrap(w):
    skip_without_long_run()
    size = 1 << 20
    memory = w.shared(size, "l")
    link = w.initiate()
    chunks, wr = 0, 0
    while chunks < sctp.SSNS + 100:
        link.post("write", memory, size, wr, 0x10, 0x20)
        wr += 1
        chunks += len(link.peer.receive_message(60))
        link.expect_wc(wr=wr - 1, status=SUCCESS)
    came = [c.ssn for c in link.peer.arrived]
    same("number of chunks, the Accept included", len(came), chunks + 1)
    check("DDP-SSNs have no gaps", came == [n % sctp.SSNS for n in range(chunks + 1)])


run_sctp_cases()
