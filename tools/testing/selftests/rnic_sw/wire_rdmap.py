#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test what a peer is allowed to do, in boundary cases, and what the device sends (RFC 5041,
RFC 5040)."""

import random
import struct
from dataclasses import replace

from lib.tracing import record_tracepoints
from lib.wire import (ACCESS_ERR, SUCCESS, WC, Async, add, case, check, rdmap,
                      run, same)

BIG = 1 << 20
RECV_OPCODE = 128


def make_pattern(length, seed):
    return random.Random(seed).randbytes(length)


def send_empty_message_and_wait(link, wr=1):
    """Send an empty Send and check that it completes the receive wr. All messages before the Send
    have then been placed, and have consumed no receive."""
    link.peer.send()
    same("length of the Send", link.expect_wc(wr=wr, status=SUCCESS).length, 0)


def make_read_request(region, size, offset=0, stag=0x1234, to=0x5678):
    return rdmap.ReadRequest(stag, to, size, region.rkey,
                             region.addr + offset)


def check_headers_and_get_payload(segments, stag, to):
    """Check the headers of a tagged message and return its payload."""
    out = b""
    for seg in segments:
        check("tagged", seg.tagged)
        same("STag, TO", (seg.stag, seg.to), (stag, to + len(out)))
        same("DV, reserved bits", (seg.dv, seg.rsvd), (1, 0))
        out += seg.payload
    check("L is set in the last segment only",
          [s.last for s in segments] == [False] * (len(segments) - 1) + [True])
    return out


# Inbound --------------------------------------------------------------------


@case("reserved bits of DDP and RDMAP are ignored", "DDP-23 RDMAP-24 DDP-15")
def test_reserved_bits_are_ignored(w):
    target, inbox = w.shared(4096, "lw"), w.shared(1024, "l")
    link = w.initiate(recvs=[(inbox, 64)] * 2)
    link.peer.send_segments(
        rdmap.make_write(target.rkey, target.addr, b"written", rsvd=0x3C))
    seg = rdmap.make_send(link.peer.take_next_msn(0), b"sent", rsvd=0x3C)
    seg.ulp |= 0x30
    link.peer.send_segments(seg)
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 4)
    same("memory", target.read_bytes(0, 7), b"written")
    seg = rdmap.make_write(target.rkey, target.addr, b"again")
    seg.ulp |= 0x30
    link.peer.send_segments(seg)
    send_empty_message_and_wait(link, 2)
    same("memory", target.read_bytes(0, 7), b"againen")


@case("the Invalidate STag is ignored in other messages",
      "RDMAP-26 DDP-39 RDMAP-57")
def test_invalidate_stag_is_ignored_elsewhere(w):
    target, inbox = w.shared(4096, "lrw"), w.shared(1024, "l")
    link = w.initiate(recvs=[(inbox, 64)] * 3)
    first = rdmap.make_send(1, b"one ", last=False, ulp32=target.rkey)
    second = rdmap.make_send(1, b"two", mo=4, ulp32=0x55AA55AA)
    link.peer.send_segments(first, second)
    link.peer.msn[0] = 2
    done = link.expect_wc(wr=1, status=SUCCESS)
    same("length, flags", (done.length, done.flags), (7, 0))
    same("data", inbox.read_bytes(0, 7), b"one two")
    link.peer.send(b"solicited", rdmap.SEND_SE, ulp32=target.rkey)
    done = link.expect_wc(wr=2, status=SUCCESS)
    same("length, flags", (done.length, done.flags), (9, 0))
    for ulp32 in target.rkey, 0x55AA55AA:
        link.peer.read(make_read_request(target, 8), ulp32=ulp32)
        same("read", check_headers_and_get_payload(link.peer.receive_message(), 0x1234, 0x5678), b"\x5A" * 8)
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"alive"))
    send_empty_message_and_wait(link, 3)
    same("memory", target.read_bytes(0, 5), b"alive")


@case("an empty Write with any STag and TO", "DDP-56 RDMAP-63 DDP-55")
def test_empty_write_needs_no_valid_stag(w):
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)])
    for stag, to in (0, 0), (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF), (1, 1 << 63):
        link.peer.send_segments(rdmap.make_write(stag, to))
    send_empty_message_and_wait(link)


@case("an empty Send consumes a receive", "RDMAP-99 RDMAP-100 RDMAP-90 RDMAP-92")
def test_empty_send_consumes_receive(w):
    inbox = w.shared(1024, "l")
    link = w.initiate(recvs=[(inbox, 0), (inbox, 64)])
    link.peer.send()
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 0)
    link.peer.send(b"next")
    same("length", link.expect_wc(wr=2, status=SUCCESS).length, 4)


@case("Writes to odd addresses, up to the last byte",
      "DDP-34 DDP-116 RDMAP-59")
def test_writes_to_odd_addresses_are_placed(w):
    target = w.register_region(8193, "lw", iova=0x10001)
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)])
    want = bytearray(b"\x5A" * target.size)
    for at, size in (0, 1), (1, 3), (4095, 2), (8192, 1), (4097, 4095):
        want[at:at + size] = data = make_pattern(size, at)
        link.peer.send_segments(rdmap.make_write(target.rkey, target.addr + at,
                                                 data))
    send_empty_message_and_wait(link)
    same("memory", target.read_bytes(0, target.size), want)
    same("guards", target.read_bytes(-16, 16) + target.read_bytes(target.size, 16),
         b"\x5A" * 32)
    target.deregister()


@case("messages of many segments",
      "DDP-67 DDP-66 DDP-50 DDP-16 RDMAP-61 DDP-64")
def test_messages_of_many_segments_arrive(w):
    target, inbox = w.shared(1 << 16, "lw"), w.shared(1 << 16, "l")
    data, cut = make_pattern(30001, 1), 777
    link = w.initiate(recvs=[(inbox, 40000)])
    edges = range(0, len(data), cut)
    link.peer.send_segments(*(
        rdmap.make_write(target.rkey, target.addr + at, data[at:at + cut],
                         last=at + cut >= len(data)) for at in edges))
    link.peer.send_segments(*(
        rdmap.make_send(1, data[at:at + cut], mo=at, last=at + cut >= len(data))
        for at in edges))
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, len(data))
    same("sent", inbox.read_bytes(0, len(data)), data)
    same("written", target.read_bytes(0, len(data)), data)


@case("no completion before the last segment", "DDP-66 DDP-21 RDMAP-120 RDMAP-127")
def test_incomplete_message_completes_nothing(w):
    inbox = w.shared(1024, "l")
    link = w.initiate(recvs=[(inbox, 64)])
    link.peer.send_segments(rdmap.make_send(1, b"ab", last=False))
    inbox.wait_placed(0, b"ab")
    w.server.expect_no_event(WC, conn=link.conn)
    link.peer.send_segments(rdmap.make_send(1, b"", mo=2))
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 2)


def check_write_stops(w, take):
    """Call take(region, link), which withdraws the peer's right to the region, in the middle of a
    Write. Check that nothing more of the Write is placed once take() has returned."""
    target, inbox = w.register_region(4096, "lw"), w.shared(1024, "l")
    link = w.initiate(recvs=[(inbox, 64)])
    link.peer.send_segments(*(
        rdmap.make_write(target.rkey, target.addr + at, b"half", last=False)
        for at in range(0, 400, 4)))
    target.wait_placed(396, b"half")
    # take() must return although the Write is incomplete
    take(target, link)
    was = target.read_hash()
    rest = rdmap.make_write(target.rkey, target.addr + 400, b"rest")
    with w.expect_counts(end_ddp_tagged_stag=1):
        link.peer.send_segments(rest)
        term = link.peer.receive_terminate()
        same("Terminate", term.what, (1, 1, 0))
        same("header", term.ddp, rest.header())
        link.expect_end()
    same("hash of memory that must not be written any more", target.read_hash(), was)


@case("a region is deregistered during a Write to it", "DDP-117 DDP-128 RDMAP-177")
def test_deregistration_stops_write(w):
    check_write_stops(w, lambda region, link: region.deregister())


@case("the queue pair loses the access right during a Write", "RDMAP-176")
def test_revoked_right_stops_write(w):
    check_write_stops(w, lambda region, link: w.server.do("rights", link.conn, "ra"))


# Read Requests from the peer ------------------------------------------------


@case("Read Responses are as requested, in order",
      "RDMAP-31 RDMAP-32 RDMAP-33 RDMAP-35 RDMAP-64 RDMAP-67 RDMAP-68 "
      "RDMAP-72 RDMAP-74 RDMAP-75 RDMAP-81 RDMAP-86 RDMAP-88 RDMAP-131 "
      "RDMAP-19 RDMAP-21 RDMAP-1 RDMAP-4 RDMAP-12 RDMAP-80 RDMAP-136 DDP-122")
def test_read_responses_are_as_requested(w):
    source = w.shared(1 << 16, "r")
    data = make_pattern(1 << 16, 2)
    source.write_bytes(0, data)
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)])
    asked = [(0, 1), (1, 3), (4095, 2), (7, 10000), (0, 1 << 16), (65535, 1)]
    for start in range(0, len(asked), 3):
        link.peer.send_segments(*(
            make_read_request(source, size, at, stag=at ^ 0xDEADBEEF,
                              to=(1 << 64) - 70000 + at).segment(link.peer.take_next_msn(1))
            for at, size in asked[start:start + 3]))
        for at, size in asked[start:start + 3]:
            got = link.peer.receive_message()
            check("all segments are Read Responses", all(s.ulp == 0x42 for s in got))
            same("data", check_headers_and_get_payload(got, at ^ 0xDEADBEEF,
                                                       (1 << 64) - 70000 + at), data[at:at + size])
    send_empty_message_and_wait(link)


@case("an empty Read Request: STag and TO are ignored",
      "RDMAP-76 RDMAP-78 RDMAP-79 DDP-54 DDP-55")
def test_empty_read_ignores_stag_and_to(w):
    link = w.initiate()
    for stag, to in (0, 0), (0xFFFFFFFF, (1 << 64) - 1):
        link.peer.read(rdmap.ReadRequest(3, 5, 0, stag, to))
        same("Response", link.peer.receive_segment_bytes().hex(),
             "c142" + "00000003" + "0000000000000005")


@case("a Read sees the Write before it", "RDMAP-122 RDMAP-135 RDMAP-128")
def test_read_sees_write_before_it(w):
    memory = w.shared(4096, "lrw")
    link = w.initiate()
    for turn in range(50):
        data = make_pattern(100, turn)
        link.peer.send_segments(
            rdmap.make_write(memory.rkey, memory.addr, data),
            make_read_request(memory, 100).segment(link.peer.take_next_msn(1)))
        same("data", check_headers_and_get_payload(link.peer.receive_message(), 0x1234, 0x5678), data)


@case("a Read Request in two segments is executed once it is complete",
      "RDMAP-122 RDMAP-128 RDMAP-66")
def test_incomplete_read_request_is_not_executed(w):
    memory = w.shared(4096, "lrw")
    link = w.initiate()
    for turn in range(6):
        whole = make_read_request(memory, turn % 2 * 100).segment(link.peer.take_next_msn(1))
        cut = turn * 28 // 5
        # the segment is cut in the header or after it; in the last turn it is complete, and only
        # the L flag is missing
        link.peer.send_segments(replace(whole, payload=whole.payload[:cut], last=False))
        w.expect_quiet(link.peer)
        link.peer.send_segments(
            rdmap.make_write(memory.rkey, memory.addr, bytes([turn]) * 100),
            replace(whole, payload=whole.payload[cut:], mo=cut))
        same("data", check_headers_and_get_payload(link.peer.receive_message(), 0x1234, 0x5678),
             bytes([turn]) * (turn % 2 * 100))


@case("as many Read Requests as agreed, and not one more",
      "RDMAP-82 RDMAP-143 RDMAP-66 RDMAP-140 RDMAP-182 SEC-33 DDP-87")
def test_ird_limits_read_requests(w):
    source = w.shared(BIG, "r")
    request = w.make_request(0, 9)
    for depth in 1, 3:
        link = w.initiate(request, accept=(0, depth, b""),
                          peer=w.connect_with_small_rcvbuf())
        same("IRD of the Reply", w.reply.ird, depth)
        for _ in range(depth):
            link.peer.read(make_read_request(source, BIG // 4))
        for _ in range(depth):
            same("bytes", len(check_headers_and_get_payload(link.peer.receive_message(), 0x1234,
                                                            0x5678)), BIG // 4)
        with w.expect_counts(end_ddp_untagged_no_buffer=1):
            requests = [make_read_request(source, BIG).segment(link.peer.take_next_msn(1))
                        for _ in range(depth + 1)]
            link.peer.send_segments(*requests)
            term = link.peer.receive_until_terminate()
            same("Terminate", term.what, (1, 2, 2))
            same("header", term.ddp, requests[-1].header())
            link.expect_end()


@case("too many Read Requests end one connection, not others",
      "RDMAP-190 RDMAP-114 SEC-32 SEC-34")
def test_excess_read_requests_end_one_stream(w):
    source = w.shared(BIG, "r")
    request = w.make_request(0, 9)
    greedy, modest = (w.initiate(request, accept=(0, 1, b""),
                                 peer=w.connect_with_small_rcvbuf()) for _ in range(2))
    # send as many requests as were negotiated; the peers do not read the responses
    greedy.peer.read(make_read_request(source, BIG))
    modest.peer.read(make_read_request(source, BIG))
    same("bytes", len(check_headers_and_get_payload(modest.peer.receive_message(), 0x1234, 0x5678)),
         BIG)
    second = make_read_request(source, BIG).segment(greedy.peer.take_next_msn(1))
    greedy.peer.send_segments(second)
    term = greedy.peer.receive_until_terminate()
    same("Terminate", term.what, (1, 2, 2))
    same("header", term.ddp, second.header())
    modest.peer.read(make_read_request(source, 16))
    same("bytes", len(check_headers_and_get_payload(modest.peer.receive_message(), 0x1234, 0x5678)), 16)


def check_read_stops(w, take, what):
    """Call take(region, link), which withdraws the peer's right to the region, during a Read
    Response. Check that the device sends neither the rest of it nor the next Read Response."""
    source = w.register_region(BIG, "r")
    link = w.initiate(peer=w.connect_with_small_rcvbuf(), recvs=[(w.shared(1024, "l"), 64)])
    request = make_read_request(source, BIG)
    link.peer.read(request)
    link.peer.read(request)
    # so that no request arrives after take(), which would be refused at once
    send_empty_message_and_wait(link)
    done = len(link.peer.receive_segment().payload)
    take(source, link)
    while (seg := link.peer.receive_segment()).ulp & 15 == rdmap.READ_RESPONSE:
        done += len(seg.payload)
    term = rdmap.Terminate.parse(seg.payload)
    same("Terminate", term.what, what)
    check("the Terminate quotes an RDMA header", term.rdma is not None)
    got = rdmap.ReadRequest.parse(term.rdma)
    same("header", got, rdmap.ReadRequest(0x1234, 0x5678 + done, BIG - done,
                                          source.rkey, source.addr + done))
    check("the Read stops early", done < BIG)
    link.expect_end()


@case("memory is deregistered while it is read: Terminate reports how far it was",
      "RDMAP-49 RDMAP-155 DDP-117")
def test_deregistration_ends_read_response(w):
    check_read_stops(w, lambda region, link: region.deregister(), (0, 1, 0))


@case("the queue pair loses the access right while memory is read",
      "RDMAP-49 RDMAP-155 RDMAP-170 RDMAP-176")
def test_revoked_right_ends_read_response(w):
    with w.expect_counts(end_rdmap_access=1, tx_terminates=1):
        check_read_stops(w, lambda region, link: w.server.do("rights", link.conn, "wa"),
                         (0, 1, 2))


# Outbound -------------------------------------------------------------------


@case("Sends of each kind",
      "DDP-36 DDP-38 DDP-40 DDP-41 DDP-44 DDP-51 RDMAP-16 RDMAP-17 RDMAP-18 "
      "RDMAP-20 RDMAP-21 RDMAP-22 RDMAP-23 RDMAP-25 RDMAP-89 RDMAP-90 RDMAP-97 "
      "RDMAP-98 RDMAP-101 DDP-59 DDP-122 RDMAP-1 RDMAP-2 RDMAP-3 RDMAP-4 RDMAP-7")
def test_each_kind_of_send_is_sent(w):
    memory = w.shared(8192, "l")
    memory.write_bytes(0, make_pattern(8192, 3))
    link = w.initiate()
    kinds = [("send", "-", 0x43, 0), ("send", "s", 0x45, 0),
             ("sendinv", "-", 0x44, 0x11223344),
             ("sendinv", "s", 0x46, 0x11223344), ("send", "-", 0x43, 0)]
    for msn, (opcode, flags, ulp, inv) in enumerate(kinds, 1):
        link.post(opcode, memory, 5000, msn, 0, inv, flags)
        mo = 0
        for seg in link.peer.receive_message():
            same("RsvdULP", (seg.ulp, seg.ulp32), (ulp, inv))
            same("QN, MSN, MO", (seg.qn, seg.msn, seg.mo), (0, msn, mo))
            same("DV, reserved bits", (seg.dv, seg.rsvd), (1, 0))
            mo += len(seg.payload)
        same("bytes", mo, 5000)
        link.expect_wc(wr=msn, status=SUCCESS)


@case("empty messages are one segment", "DDP-54 DDP-55 RDMAP-63 RDMAP-99")
def test_empty_messages_have_one_segment(w):
    memory = w.shared(8192, "l")
    link = w.initiate()
    link.post("send", memory, 0, 1)
    same("Send", link.peer.receive_segment_bytes().hex(),
         "4143" + "00000000" * 2 + "00000001" + "00000000")
    link.post("write", memory, 0, 2, 0x99, 0x88)
    same("Write", link.peer.receive_segment_bytes()[:2].hex(), "c140")
    link.post("read", memory, 0, 3, 0x99, 0x88)
    seg = link.peer.receive_segment()
    asked = rdmap.ReadRequest.parse(seg.payload)
    same("size", asked.size, 0)
    link.peer.send_segments(rdmap.make_read_response(asked.sink_stag, asked.sink_to))
    for wr in 1, 2, 3:
        link.expect_wc(wr=wr, status=SUCCESS)


# each kind of message follows each kind, including itself
ORDER = ("write", "write", "send", "send", "read", "read", "write", "read", "send") * 2


def check_message_of_request(message, wr):
    """Check the message of work request number wr, of the kind that ORDER gives."""
    first = message[0]
    if ORDER[wr] == "write":
        same("Write to", (first.ulp, first.to), (0x40, 0x1000 + wr))
        size = 3000
    elif ORDER[wr] == "send":
        same("Send", (first.ulp, first.qn), (0x43, 0))
        size = 100 + wr
    else:
        asked = rdmap.ReadRequest.parse(first.payload)
        same("Read", (first.ulp, asked.size, asked.src_to),
             (0x41, wr, 0x1000 + wr))
        size = 28
    same("bytes", sum(len(seg.payload) for seg in message), size)


@case("work of every kind is sent in the order of posting",
      "RDMAP-7 RDMAP-28 RDMAP-29 RDMAP-60 RDMAP-71 RDMAP-98 RDMAP-124 DDP-58 "
      "DDP-59")
def test_work_is_sent_in_order(w):
    memory = w.shared(8192, "l")
    link = w.initiate(accept=(8, 8, b""))
    for wr, verb in enumerate(ORDER):
        size = {"write": 3000, "send": 100 + wr, "read": wr}[verb]
        where = () if verb == "send" else (0x1000 + wr, 0xABCDEF01)
        link.post(verb, memory, size, wr, *where)
    for wr in range(len(ORDER)):
        check_message_of_request(link.peer.receive_message(), wr)


def post_read_and_receive_request(link, memory, size, wr=1, offset=0):
    """Post a Read of the device. Return the Read Request that arrives."""
    link.post("read", memory, size, wr, 0x77665544332211, 0xABCDEF01,
              offset=offset)
    return link.peer.receive_segment()


@case("Read Requests",
      "RDMAP-2 RDMAP-21 RDMAP-25 RDMAP-30 RDMAP-65 RDMAP-70 RDMAP-71 DDP-40 "
      "DDP-41 DDP-42 RDMAP-83 RDMAP-121 RDMAP-130 RDMAP-133 RDMAP-73 DDP-28")
def test_read_requests_have_right_fields(w):
    memory = w.shared(8192, "l")
    link = w.initiate(accept=(2, 2, b""))
    for msn in 1, 2, 3:
        seg = post_read_and_receive_request(link, memory, 100 * msn, msn, offset=1000 * msn)
        same("header", seg.header().hex(),
             struct.pack(">BBIIII", 0x41, 0x41, 0, 1, msn, 0).hex())
        got = rdmap.ReadRequest.parse(seg.payload)
        same("size, source", (got.size, got.src_stag, got.src_to),
             (100 * msn, 0xABCDEF01, 0x77665544332211))
        data = make_pattern(100 * msn, msn)
        cut = 33 * msn
        link.peer.send_segments(rdmap.make_read_response(
            got.sink_stag, got.sink_to, data[:cut], last=False))
        memory.wait_placed(1000 * msn, data[:cut])
        w.server.expect_no_event(WC, conn=link.conn)
        link.peer.send_segments(rdmap.make_read_response(
            got.sink_stag, got.sink_to + cut, data[cut:]))
        link.expect_wc(wr=msn, status=SUCCESS)
        same("data", memory.read_bytes(1000 * msn, 100 * msn), data)


@case("never more Reads outstanding than agreed",
      "RDMAP-142 RDMAP-141 RDMAP-182 RDMAP-139 SEC-33 MPA2-29 MPA2-32")
def test_ord_limits_read_requests(w):
    memory = w.shared(8192, "l")
    request = w.make_request(2, 1)
    links = [w.initiate(request, accept=(9, 1, b"")),
             w.respond(w.make_reply_builder(2, 1), connect=(9, 1, b""))]
    for link in links:
        for wr in range(8):
            link.post("read", memory, 8, wr, 0x10, 0x20)
        open_reads = [link.peer.receive_segment(), link.peer.receive_segment()]
        for wr in range(8):
            # the device must not send a third request before it gets a response
            link.round_trip()
            got = rdmap.ReadRequest.parse(open_reads.pop(0).payload)
            link.peer.send_segments(rdmap.make_read_response(
                got.sink_stag, got.sink_to, bytes(8)))
            link.expect_wc(wr=wr, status=SUCCESS)
            if wr < 6:
                open_reads.append(link.peer.receive_segment())


@case("completions in the order of posting, Reads included", "RDMAP-126")
def test_completions_follow_order_of_posts(w):
    memory = w.shared(8192, "l")
    link = w.initiate()
    got = rdmap.ReadRequest.parse(post_read_and_receive_request(link, memory, 64).payload)
    link.post("send", memory, 16, 2)
    link.peer.receive_segment()
    w.server.expect_no_event(WC, conn=link.conn)
    link.peer.send_segments(rdmap.make_read_response(got.sink_stag, got.sink_to,
                                                     bytes(64)))
    same("order", [w.server.expect_event(WC, conn=link.conn).wr for _ in range(2)],
         [1, 2])


RESPONSES = [
    ("with another STag", (1, 1, 0), "ddp_tagged_stag", ACCESS_ERR,
     lambda q, s: (q.sink_stag ^ 0x100, q.sink_to, s, True)),
    ("into another region that may be written", (1, 1, 0),
     "ddp_tagged_stag", ACCESS_ERR, lambda q, s: (None, 0, s, True)),
    ("one byte off", (1, 1, 1), "ddp_tagged_bounds", ACCESS_ERR,
     lambda q, s: (q.sink_stag, q.sink_to + 1, s, True)),
    ("one byte too long", (1, 1, 1), "ddp_tagged_bounds", ACCESS_ERR,
     lambda q, s: (q.sink_stag, q.sink_to, s + 1, True)),
    ("one byte too short", (1, 1, 1), "ddp_tagged_bounds", ACCESS_ERR,
     lambda q, s: (q.sink_stag, q.sink_to, s - 1, True)),
    ("empty", (1, 1, 1), "ddp_tagged_bounds", ACCESS_ERR,
     lambda q, s: (q.sink_stag, q.sink_to, 0, True)),
    ("complete but without L", (1, 1, 1), "ddp_tagged_bounds", ACCESS_ERR,
     lambda q, s: (q.sink_stag, q.sink_to, s, False)),
    # The number at the end of a row is the length of a valid segment that precedes the invalid one.
    ("whose second segment is one byte too long", (1, 1, 1), "ddp_tagged_bounds", ACCESS_ERR,
     lambda q, s: (q.sink_stag, q.sink_to + 32, s - 31, True), 32),
    ("whose second segment is one byte too long, without L", (1, 1, 1), "ddp_tagged_bounds",
     ACCESS_ERR, lambda q, s: (q.sink_stag, q.sink_to + 32, s - 31, False), 32),
]


def test_wrong_read_response_ends_stream(w, what, end, event, make, head):
    memory, other = w.shared(8192, "l"), w.shared(8192, "lw")
    link = w.initiate()
    asked = rdmap.ReadRequest.parse(post_read_and_receive_request(link, memory, 64).payload)
    stag, to, size, last = make(asked, 64)
    if stag is None:
        stag, to = other.rkey, other.addr
    seg = rdmap.make_read_response(stag, to, b"r" * size, last=last)
    with w.expect_counts(**{"end_" + end: 1}):
        if head:
            link.peer.send_segments(rdmap.make_read_response(asked.sink_stag, asked.sink_to,
                                                             b"\x5A" * head, last=False))
        link.peer.send_segments(seg)
        term = link.peer.receive_terminate()
        same("Terminate", term.what, what)
        same("length, headers", (term.length, term.ddp, term.rdma),
             (len(seg.pack()), seg.header(), None))
        link.expect_end()
    check("the Read fails", link.expect_wc(wr=1).status != SUCCESS)
    w.server.expect_event(Async, conn=link.conn, event=event)
    w.check_counter_rises_again()
    memory.check_untouched()
    other.check_untouched()


@case("a Write during a Read Response needs its own access right", "DDP-97 DDP-127 RDMAP-52")
def test_write_during_response_needs_right(w):
    memory = w.shared(8192, "l")
    link = w.initiate()
    asked = rdmap.ReadRequest.parse(post_read_and_receive_request(link, memory, 64).payload)
    bad = rdmap.make_write(asked.sink_stag, asked.sink_to, b"w" * 64)
    with w.expect_counts(end_ddp_tagged_stag=1):
        link.peer.send_segments(
            rdmap.make_read_response(asked.sink_stag, asked.sink_to, b"\x5A" * 32, last=False),
            bad)
        term = link.peer.receive_terminate()
        same("Terminate", term.what, (1, 1, 0))
        same("header", term.ddp, bad.header())
        link.expect_end()
    check("the Read fails", link.expect_wc(wr=1).status != SUCCESS)
    w.server.expect_event(Async, conn=link.conn, event=ACCESS_ERR)
    memory.check_untouched()


for words, *row in RESPONSES:
    add(f"a Read Response {words}", "RDMAP-84 RDMAP-87 RDMAP-52 RDMAP-153",
        test_wrong_read_response_ends_stream, what=row[0], end=row[1], event=row[2], make=row[3],
        head=sum(row[4:]))


# Tracepoints ----------------------------------------------------------------


@case("tracepoints report segments and messages", "DDP-25")
def test_tracepoints_report_segments_and_messages(w):
    target, source = w.shared(4096, "lw"), w.shared(4096, "lr")
    link = w.initiate(recvs=[(w.shared(64, "l"), 64)] * 2)
    parts = [*(rdmap.make_write(target.rkey, target.addr + 9 * nth, b"a" * 9, last=False)
               for nth in range(4)),
             *[rdmap.make_write(target.rkey, target.addr + 36, b"b" * 7)] * 2]
    with record_tracepoints("iw_ddp/ddp_segment_received", "iw_ddp/ddp_segment_pulled",
                            "iw_ddp/ddp_stream_failed", "rnic_sw/rnic_message") as take_events:
        link.peer.send_segments(*parts)
        send_empty_message_and_wait(link)
        heard = [(name, text.split(" ", 1)[1]) for name, text in take_events()]
        at = target.addr
        same("events of the received segments", heard, [
            *(("ddp_segment_received", f"stag=0x{target.rkey:x} msn=0 to=0x{at + 9 * nth:x} "
               "payload=9 rsvdulp=0x40") for nth in range(4)),
            *(("ddp_segment_received", f"stag=0x{target.rkey:x} msn=0 to=0x{at + 36:x} "
               "payload=7 rsvdulp=0x40 last"),
              ("rnic_message", "delivers write")) * 2,
            ("ddp_segment_received", "qn=0x0 msn=1 mo=0x0 payload=0 rsvdulp=0x43 last"),
            ("rnic_message", "delivers send")])
        link.peer.read(make_read_request(source, 5))
        same("answer", check_headers_and_get_payload(link.peer.receive_message(), 0x1234, 0x5678),
             source.read_bytes(0, 5))
        heard = [name for name, _ in take_events()]
        same("events of a Read", heard, [
            "ddp_segment_received", "rnic_message", "rnic_message", "ddp_segment_pulled"])
        link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"c", dv=2))
        same("Terminate", link.peer.receive_terminate().what, (1, 1, 4))
        link.expect_end()
        heard = [(name, text.split(" ", 1)[1]) for name, text in take_events()]
        same("events of an invalid segment", heard, [
            ("ddp_stream_failed", "why=ddp-tagged-version (RFC 5041 4.1) segment=15"),
            ("ddp_segment_pulled", "qn=0x2 msn=1 mo=0x0 payload=20 rsvdulp=0x47 last"),
            ("rnic_message", "sends terminate")])


if __name__ == "__main__":
    run()
