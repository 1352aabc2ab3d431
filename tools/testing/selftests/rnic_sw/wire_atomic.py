#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test atomic operations in boundary cases (RFC 7306 section 5).

The expected values are computed by the pseudocode of the RFC (rawpeer/rdmap.py).
"""

import random
import struct
import sys
import time
from dataclasses import replace

from lib.wire import (ACCESS_ERR, PATIENCE, SUCCESS, WC, Async, connect_with_device_as, case,
                      check, add_case_for_both_roles, rdmap, run, same)

BIG = 1 << 20
WC_CMP_SWAP, WC_FETCH_ADD = 3, 4
# target address and STag of the device's own atomics, which the raw peer does not check
THERE, KEY = 0x1122334455667788, 0xABCDEF01


def make_pattern(length, seed):
    return random.Random(seed).randbytes(length)


def pack_in_memory_order(value):
    """Return the bytes of a value in this machine's byte order."""
    return value.to_bytes(8, sys.byteorder)


def read_value(region, offset=0):
    return int.from_bytes(region.read_bytes(offset, 8), sys.byteorder)


def send_empty_message_and_wait(link, wr=1):
    """Check that an empty Send completes the receive wr. All messages before the Send are then
    delivered, and have consumed no receive."""
    link.peer.send()
    same("length of the Send", link.expect_wc(wr=wr, status=SUCCESS).length, 0)


def make_read_request(region, size, offset=0):
    return rdmap.ReadRequest(0x1234, 0x5678, size, region.rkey,
                             region.addr + offset)


def make_fetch_add(region, add=1, mask=0, offset=0, ident=0x5EED):
    return rdmap.AtomicRequest(rdmap.FETCH_ADD, ident, region.rkey,
                               region.addr + offset, add, mask)


def make_cmp_swap(region, compare, swap, offset=0, ident=0x5EED):
    return rdmap.AtomicRequest(rdmap.CMP_SWAP, ident, region.rkey,
                               region.addr + offset, swap, rdmap.ALL,
                               compare)


def receive_atomic_response(link, msn):
    """Receive the next message, which must be the Atomic Response with that MSN. Return its
    contents."""
    seg = link.peer.receive_segment()
    same("header", seg.header().hex(),
         struct.pack(">BBIIII", 0x41, 0x4B, 0, 3, msn, 0).hex())
    return rdmap.AtomicResponse.parse(seg.payload)


def receive_read_response(link):
    """Receive the next message, which must be a Read Response. Return its data."""
    segments = link.peer.receive_message()
    check("the message is a Read Response", all(s.ulp == 0x42 for s in segments))
    return b"".join(s.payload for s in segments)


# Atomics from the peer --------------------------------------------------------


@case("an Atomic Response byte by byte; reserved fields are ignored",
      "EXT-3 EXT-4 EXT-5 EXT-6 EXT-7 EXT-8 EXT-13 EXT-21 EXT-22 EXT-25 "
      "EXT-26 EXT-33 EXT-35 EXT-37 EXT-39 EXT-42 EXT-43 EXT-48 EXT-49 "
      "EXT-50 EXT-51 EXT-52 EXT-93 DDP-42")
def test_atomic_response_has_right_bytes(w):
    word = w.shared(64, "lwa")
    word.write_bytes(8, pack_in_memory_order(0x0102030405060708))
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)])
    requests = [make_fetch_add(word, 0, 0, 8, 0xFEDCBA98),
                make_cmp_swap(word, 0x0102030405060709, 5, 8, 0)]
    # set fields that FetchAdd does not use: the device must ignore them
    requests[0].compare, requests[0].compare_mask = 1, 0x5A
    with w.expect_counts(rx_atomic_requests=2, tx_atomic_responses=2):
        for msn, request in enumerate(requests, 1):
            request.rsvd = 0xFFFFFFF
            seg = request.segment(link.peer.take_next_msn(1), ulp32=word.rkey,
                                  rsvd=0x3C)
            link.peer.send_segments(replace(seg, ulp=seg.ulp | 0x30))
            same("Response", link.peer.receive_segment_bytes().hex(),
                 f"414b{0:08x}{3:08x}{msn:08x}{0:08x}"
                 f"{request.ident:08x}0102030405060708")
    word.check_untouched()
    # the atomics must not have invalidated the STag in the DDP header
    link.peer.send_segments(rdmap.make_write(word.rkey, word.addr, b"alive"))
    send_empty_message_and_wait(link)
    same("memory", word.read_bytes(0, 5), b"alive")


def check_results_of_atomics(w, word, requests):
    """Send the requests one after the other. Check that each request returns the previous value,
    and that memory then has the value that the RFC defines."""
    link = w.initiate()
    value = read_value(word)
    for msn, request in enumerate(requests, 1):
        request.ident = msn * 0x01030507 & 0xFFFFFFFF
        link.peer.atomic(request)
        same("Response", receive_atomic_response(link, msn),
             rdmap.AtomicResponse(request.ident, value))
        value = request.compute_result(value)
        same(f"memory after {request}", hex(read_value(word)), hex(value))
    same("memory after the word", word.read_bytes(8, 56), b"\x5A" * 56)


TOPS = [0, rdmap.ALL, 1, 1 << 63, 0x8000000080000000, 0x8080808080808080,
        0x8888888888888888, 1 << 32, 0x8000000000000001]


@case("FetchAdd in fields of any length", "EXT-19 EXT-20 EXT-21 EXT-22 EXT-36")
def test_fetch_add_is_right_with_any_fields(w):
    word, rand = w.shared(64, "la"), random.Random(19)
    word.write_bytes(0, pack_in_memory_order(rdmap.ALL))
    # additions to the full word: the carry of one addition must not change the result of the next
    plain = [make_fetch_add(word, 1), make_fetch_add(word, 0xFFFFFFFF),
             make_fetch_add(word, 1), make_fetch_add(word, rdmap.ALL)]
    check_results_of_atomics(w, word, plain + [
        make_fetch_add(word, rand.getrandbits(64),
                       TOPS[i % len(TOPS)] if i & 1 else rand.getrandbits(64))
        for i in range(90)])


@case("CmpSwap with any masks", "EXT-23 EXT-24 EXT-25 EXT-26 EXT-27 EXT-36")
def test_cmp_swap_is_right_with_any_masks(w):
    word, rand = w.shared(64, "la"), random.Random(23)
    word.write_bytes(0, pack_in_memory_order(rand.getrandbits(64)))
    value, requests, hits = read_value(word), [], 0
    for i in range(90):
        mask = [0, rdmap.ALL, rand.getrandbits(64)][i % 3]
        compare = value ^ (rand.getrandbits(64) & ~mask)
        if i % 4 == 3:
            # flip one of the compared bits
            compare ^= mask & -mask
        request = make_cmp_swap(word, compare, rand.getrandbits(64))
        request.compare_mask = mask
        request.mask = [rand.getrandbits(64), rdmap.ALL, 0][i // 3 % 3]
        hits += (compare ^ value) & mask == 0
        value = request.compute_result(value)
        requests.append(request)
    check("some requests match and some do not", 10 < hits < 80)
    check_results_of_atomics(w, word, requests)


@case("atomics at every multiple of 8, at any base address of the region",
      "EXT-15 EXT-28 EXT-38")
def test_words_at_boundaries_are_accessible(w):
    region = w.register_region(8200, "la", iova=0x7FFFF0003)
    data = bytearray(make_pattern(region.size, 3))
    region.write_bytes(0, bytes(data))
    link = w.initiate()
    # test the first word, words on both sides of page boundaries, and the last word
    for msn, at in enumerate((5, 13, 4085, 4093, 8181, 8189), 1):
        old = int.from_bytes(data[at:at + 8], sys.byteorder)
        link.peer.atomic(make_fetch_add(region, 0x0102030405060708, 0, at) if msn & 1
                         else make_cmp_swap(region, old, ~old & rdmap.ALL, at))
        same("old value", hex(receive_atomic_response(link, msn).old), hex(old))
        new = old + 0x0102030405060708 if msn & 1 else ~old
        data[at:at + 8] = pack_in_memory_order(new & rdmap.ALL)
        same("memory", region.read_bytes(0, region.size), bytes(data))
    same("guards", region.read_bytes(-16, 16) + region.read_bytes(region.size, 16),
         b"\x5A" * 32)
    region.deregister()


@case("responses arrive in the order of the requests, Reads included",
      "EXT-32 EXT-47 EXT-57 EXT-66 EXT-67 EXT-81 EXT-82")
def test_responses_follow_order_of_requests(w):
    memory = w.shared(8192, "lra")
    link = w.initiate(accept=(4, 4, b""))
    value = 0xFFFFFFFFFFFFFFF0
    memory.write_bytes(0, pack_in_memory_order(value))
    for turn in range(20):
        asked = [make_read_request(memory, 8), make_fetch_add(memory, 3, ident=turn),
                 make_read_request(memory, 5000 if turn & 1 else 8),
                 make_fetch_add(memory, 4, ident=~turn & 0xFFFFFFFF)]
        link.peer.send_segments(*(q.segment(link.peer.take_next_msn(1))
                                  for q in asked))
        same("before", receive_read_response(link)[:8], pack_in_memory_order(value))
        same("first", receive_atomic_response(link, 2 * turn + 1),
             rdmap.AtomicResponse(turn, value))
        value = value + 3 & rdmap.ALL
        same("between", receive_read_response(link)[:8], pack_in_memory_order(value))
        same("second", receive_atomic_response(link, 2 * turn + 2),
             rdmap.AtomicResponse(~turn & 0xFFFFFFFF, value))
        value = value + 4 & rdmap.ALL
    same("memory", read_value(memory), value)


@case("a chain of CmpSwaps, all in flight at once", "EXT-47 EXT-66 EXT-82")
def test_cmp_swaps_in_flight_run_in_order(w):
    word = w.shared(64, "la")
    word.write_bytes(0, bytes(8))
    link = w.initiate(accept=(4, 4, b""))
    steps = [(0, 1), (1, 2), (7, 8), (2, 3)]
    link.peer.send_segments(*(
        make_cmp_swap(word, *step).segment(link.peer.take_next_msn(1))
        for step in steps))
    same("found", [receive_atomic_response(link, msn).old for msn in (1, 2, 3, 4)],
         [0, 1, 2, 2])
    same("memory", read_value(word), 3)


@case("an atomic sees the Write before it", "EXT-61 EXT-84")
def test_atomic_sees_write_before_it(w):
    memory = w.shared(4096, "lwa")
    link = w.initiate()
    for turn in range(1, 40):
        data = make_pattern(2000, turn)
        link.peer.send_segments(
            rdmap.make_write(memory.rkey, memory.addr, data),
            make_fetch_add(memory, 1, 0, 1992).segment(link.peer.take_next_msn(1)))
        old = int.from_bytes(data[1992:], sys.byteorder)
        same("found", hex(receive_atomic_response(link, turn).old), hex(old))
    same("memory", read_value(memory, 1992), old + 1 & rdmap.ALL)


@case("an atomic is executed once all of it has arrived", "EXT-61 EXT-63")
def test_incomplete_atomic_is_not_executed(w):
    word = w.shared(64, "la")
    word.write_bytes(0, bytes(8))
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)] * 3)
    octets = make_fetch_add(word, 7).pack()
    for msn, cuts in enumerate(((0, 20, 52), (0, 52, 52), (0, 0, 52)), 1):
        first, second = (
            make_fetch_add(word).segment(msn, payload=octets[start:end], mo=start,
                                         last=start == cuts[1])
            for start, end in zip(cuts, cuts[1:]))
        link.peer.send_segments(replace(first, last=False))
        send_empty_message_and_wait(link, msn)
        same("memory", read_value(word), 7 * (msn - 1))
        link.peer.send_segments(replace(second, last=True))
        same("found", receive_atomic_response(link, msn).old, 7 * (msn - 1))
    same("memory", read_value(word), 21)


def send_requests(w, link, segments, under_way):
    """Send all segments together or, if under_way is true, the remaining ones only when the first
    response has begun."""
    if under_way:
        name = "tx_read_responses"
        before, end = w.read_counters()[name], time.monotonic() + PATIENCE
        link.peer.send_segments(segments.pop(0))
        while w.read_counters()[name] == before:
            check("a response is being sent", time.monotonic() < end)
    link.peer.send_segments(*segments)


@case("as many atomics and Reads as agreed, and not one more",
      "EXT-41 EXT-53")
def test_ird_limits_atomics_and_reads(w):
    memory = w.shared(BIG, "lra")
    request = w.make_request(0, 9)
    # if under_way is true, the device is sending a long response, of which the peer has read
    # little, when further requests arrive
    for depth, under_way in (1, False), (3, False), (1, True), (3, True):
        link = w.initiate(request, accept=(0, depth, b""),
                          peer=w.connect_with_small_rcvbuf())
        for _ in range(depth):
            link.peer.atomic(make_fetch_add(memory))
        for msn in range(1, depth + 1):
            receive_atomic_response(link, msn)
        memory.before = memory.read_hash()
        requests = [make_read_request(memory, BIG)] + [make_fetch_add(memory)] * depth
        with w.expect_counts(end_ddp_untagged_no_buffer=1):
            segments = [q.segment(link.peer.take_next_msn(1)) for q in requests]
            send_requests(w, link, segments, under_way)
            term = link.peer.receive_until_terminate()
            same("Terminate", term.what, (1, 2, 2))
            same("header", term.ddp, segments[-1].header())
            link.expect_end()
        # the device must not execute the requests after the Read
        memory.check_untouched()


def check_lost_right_fails_waiting_atomic(w, take, code, end):
    """Call take(word, link), which withdraws the peer's right to the word, while an atomic waits
    for an earlier Read. Check that the atomic fails, although a later Send has been delivered."""
    source, word = w.shared(BIG, "r"), w.register_region(64, "la")
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)],
                      peer=w.connect_with_small_rcvbuf())
    with w.expect_counts(**{end: 1}, tx_terminates=1):
        link.peer.read(make_read_request(source, BIG))
        link.peer.atomic(make_fetch_add(word))
        send_empty_message_and_wait(link)
        take(word, link)
        term = link.peer.receive_until_terminate()
        same("Terminate", term, rdmap.Terminate(0, 1, code))
        link.expect_end()
    w.server.expect_event(Async, conn=link.conn, event=ACCESS_ERR)
    word.check_untouched()


@case("memory is deregistered while an atomic waits; a Send overtakes it",
      "EXT-62 EXT-64 EXT-85 EXT-92 RDMAP-115 RDMAP-123 RDMAP-129")
def test_deregistration_fails_waiting_atomic(w):
    check_lost_right_fails_waiting_atomic(w, lambda word, link: word.deregister(), 0, "end_rdmap_stag")


@case("the queue pair loses the access right while an atomic "
      "waits", "EXT-92 RDMAP-176")
def test_revoked_right_fails_waiting_atomic(w):
    check_lost_right_fails_waiting_atomic(w, lambda word, link: w.server.do("rights", link.conn, "rw"), 2,
                                          "end_rdmap_access")


@case("Immediate Data or a Send, then an atomic and a Read: delivery before the "
      "response",
      "EXT-79 EXT-83 RDMAP-134")
def test_delivery_precedes_responses(w):
    memory = w.shared(4096, "lra")
    link = w.initiate(recvs=[(memory, 64)] * 20)
    for turn in range(10):
        link.peer.send_segments(
            rdmap.make_immediate(link.peer.take_next_msn(0)),
            make_fetch_add(memory, 0, 0, 128).segment(link.peer.take_next_msn(1)),
            rdmap.make_send(link.peer.take_next_msn(0), pack_in_memory_order(turn)),
            make_read_request(memory, 8).segment(link.peer.take_next_msn(1)))
        receive_atomic_response(link, turn + 1)
        w.server.do("sync")
        link.expect_wc(wr=2 * turn + 1, status=SUCCESS, timeout=0)
        same("data of the Send", receive_read_response(link), pack_in_memory_order(turn))
        w.server.do("sync")
        link.expect_wc(wr=2 * turn + 2, status=SUCCESS, timeout=0)


# Atomics from the device ------------------------------------------------------


def send_atomic_response(link, seg, msn, old):
    """Send the response to an Atomic Request of the device, with this old value."""
    asked = rdmap.AtomicRequest.parse(seg.payload)
    link.peer.send_segments(
        rdmap.AtomicResponse(asked.ident, old).segment(msn))


def test_atomic_request_has_right_bytes(w, role):
    sink = w.shared(64, "l")
    link = connect_with_device_as(w, role)
    kinds = [("fetchadd", [0x0102030405060708], WC_FETCH_ADD, 0,
              [0x0102030405060708, 0, 0, rdmap.ALL]),
             ("cmpswap", [0xC1C2C3C4C5C6C7C8, 0x5152535455565758],
              WC_CMP_SWAP, 2, [0x5152535455565758, rdmap.ALL,
                               0xC1C2C3C4C5C6C7C8, rdmap.ALL])]
    for number, (verb, values, wc, code, fields) in enumerate(kinds, 1):
        link.post(verb, sink, 8, number, THERE, KEY, "-", *values, offset=24)
        seg = link.peer.receive_segment()
        same("header", seg.header().hex(),
             f"414a{0:08x}{1:08x}{number:08x}{0:08x}")
        same("fields before the identifier", seg.payload[:4].hex(), f"{code:08x}")
        same("fields after the identifier", seg.payload[8:].hex(),
             f"{KEY:08x}{THERE:016x}" + "".join(f"{f:016x}" for f in fields))
        sink.check_untouched()
        send_atomic_response(link, seg, number, 0xA1A2A3A4A5A6A708)
        done = link.expect_wc(wr=number, status=SUCCESS)
        same("completion", (done.opcode, done.length), (wc, 8))
        same("memory", sink.read_bytes(0, 64), b"\x5A" * 24 +
             pack_in_memory_order(0xA1A2A3A4A5A6A708) + b"\x5A" * 32)
        sink.write_bytes(24, b"\x5A" * 8)


add_case_for_both_roles("an Atomic Request byte by byte",
                        "EXT-4 EXT-5 EXT-6 EXT-7 EXT-8 EXT-10 EXT-14 EXT-21 EXT-32 "
                        "EXT-34 EXT-35 EXT-36 EXT-39 EXT-40 EXT-45 EXT-55 EXT-93",
                        test_atomic_request_has_right_bytes)


@case("Reads and atomics share one MSN sequence, Atomic Responses have another",
      "EXT-14 EXT-32 EXT-37 EXT-46 EXT-54 EXT-81")
def test_atomics_and_reads_share_msns(w):
    sink = w.shared(64, "l")
    before = w.read_counters()
    link = w.initiate(accept=(4, 4, b""))
    verbs = [("fetchadd", 1), ("read",), ("cmpswap", 2, 3), ("fetchadd", 4)]
    for wr, (verb, *values) in enumerate(verbs):
        link.post(verb, sink, 8, wr, THERE + wr, KEY, "-", *values,
                  offset=16 * wr)
    segments = [link.peer.receive_segment() for _ in verbs]
    same("opcodes", [s.ulp for s in segments], [0x4A, 0x41, 0x4A, 0x4A])
    same("QN, MSN", [(s.qn, s.msn) for s in segments],
         [(1, msn) for msn in (1, 2, 3, 4)])
    asked = [rdmap.AtomicRequest.parse(segments[i].payload)
             for i in (0, 2, 3)]
    same("order", [q.to - THERE for q in asked], [0, 2, 3])
    same("identifiers", len({q.ident for q in asked}), 3)
    w.server.expect_no_event(WC, conn=link.conn)
    send_atomic_response(link, segments[0], 1, 0x10)
    got = rdmap.ReadRequest.parse(segments[1].payload)
    link.peer.send_segments(rdmap.make_read_response(got.sink_stag, got.sink_to,
                                                     pack_in_memory_order(0x11)))
    send_atomic_response(link, segments[2], 2, 0x12)
    send_atomic_response(link, segments[3], 3, 0x13)
    for wr in range(4):
        link.expect_wc(wr=wr, status=SUCCESS, length=8)
        same("memory", read_value(sink, 16 * wr), 0x10 + wr)
    after = w.read_counters()
    same("counted", [after[name] - before[name] for name in (
        "tx_atomic_requests", "rx_atomic_responses", "tx_read_requests")],
         [3, 3, 1])


@case("never more atomics and Reads in flight than agreed", "EXT-54")
def test_ord_limits_atomics_and_reads(w):
    sink = w.shared(64, "l")
    link = w.initiate(w.make_request(2, 1), accept=(9, 1, b""))
    for wr in range(9):
        verb = ("read",) if wr % 3 == 1 else ("fetchadd", "-", wr)
        link.post(verb[0], sink, 8, wr, THERE, KEY, *verb[1:])
    waiting, msn = [link.peer.receive_segment(), link.peer.receive_segment()], 1
    for wr in range(9):
        # the device must not send a third request before it gets a response
        link.round_trip()
        seg = waiting.pop(0)
        if seg.ulp == 0x41:
            got = rdmap.ReadRequest.parse(seg.payload)
            link.peer.send_segments(rdmap.make_read_response(
                got.sink_stag, got.sink_to, bytes(8)))
        else:
            send_atomic_response(link, seg, msn, wr)
            msn += 1
        link.expect_wc(wr=wr, status=SUCCESS)
        if wr < 7:
            waiting.append(link.peer.receive_segment())


@case("an atomic completes in order, once all of its response has arrived",
      "EXT-56 EXT-59 EXT-65")
def test_incomplete_response_completes_nothing(w):
    sink = w.shared(64, "l")
    link = w.initiate()
    link.post("fetchadd", sink, 8, 1, THERE, KEY, "-", 1)
    asked = rdmap.AtomicRequest.parse(link.peer.receive_segment().payload)
    link.post("send", sink, 4, 2, offset=32)
    link.peer.receive_segment()
    w.server.expect_no_event(WC, conn=link.conn)
    octets = rdmap.AtomicResponse(asked.ident, 0x77).pack()
    parts = [rdmap.AtomicResponse(0, 0).segment(
        1, payload=octets[start:end], mo=start, last=end == 12)
        for start, end in ((0, 0), (0, 5), (5, 12))]
    link.peer.send_segments(*parts[:2])
    link.round_trip()
    w.server.expect_no_event(WC, conn=link.conn)
    sink.check_untouched()
    link.peer.send_segments(parts[2])
    same("first", link.server.expect_event(WC, conn=link.conn).wr, 1)
    same("then", link.server.expect_event(WC, conn=link.conn).wr, 2)
    same("memory", read_value(sink), 0x77)


@case("a fenced request waits for atomics", "EXT-59 EXT-65")
def test_fenced_request_waits_for_atomics(w):
    sink = w.shared(64, "l")
    link = w.initiate()
    link.post("cmpswap", sink, 8, 1, THERE, KEY, "-", 1, 2)
    seg = link.peer.receive_segment()
    link.post("send", sink, 8, 2, 0, 0, "f")
    # The device must not send the fenced Send before it receives the Atomic Response. So the Read
    # Response of round_trip() must be the first segment that arrives.
    link.round_trip()
    send_atomic_response(link, seg, 1, 0x0102030405060708)
    same("payload of the fenced Send", link.peer.receive_segment().payload,
         pack_in_memory_order(0x0102030405060708))
    for wr in 1, 2:
        link.expect_wc(wr=wr, status=SUCCESS)


if __name__ == "__main__":
    run()
