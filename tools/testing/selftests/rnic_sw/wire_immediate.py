#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test Immediate Data, alone and after a Write (RFC 7306 section 6).

A message of Immediate Data has eight bytes. The first four are the immediate data of the verbs.
"""

import random
import struct
from dataclasses import replace

from lib.wire import SUCCESS, WC, connect_with_device_as, case, add_case_for_both_roles, rdmap, run, same

BIG = 1 << 20
WC_WRITE, WC_RECV, WC_RECV_IMM = 1, 128, 129
WITH_IMM = 2
IMM = 0xD00DFEED
# target address and STag of the device's own Writes, which the raw peer does not check
THERE, KEY = 0x1122334455667788, 0xABCDEF01


def make_pattern(length, seed):
    return random.Random(seed).randbytes(length)


# Immediate Data from the peer -------------------------------------------------


def make_immediate(link, value=IMM, opcode=rdmap.IMMEDIATE, rest=b"\1\2\3\4"):
    return rdmap.make_immediate(link.peer.take_next_msn(0),
                                struct.pack(">I", value) + rest, opcode)


def check_immediate_wc(link, wr, value=IMM, length=0):
    got = link.expect_wc(wr=wr, status=SUCCESS)
    same("opcode, length, flags, immediate", (got.opcode, got.length, got.flags, got.imm),
         (WC_RECV_IMM, length, WITH_IMM, value))


def test_immediate_consumes_receive(w, role):
    inbox = w.shared(1024, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64), (inbox, 0), (inbox, 64)])
    with w.expect_counts(rx_immediates=3):
        for wr, rest in enumerate((b"\0" * 4, b"\xFF" * 4, b"\1\2\3\4"), 1):
            seg = make_immediate(link, IMM + wr, rest=rest)
            link.peer.send_segments(replace(
                seg, rsvd=0x3C, ulp=seg.ulp | 0x30, ulp32=0x55AA55AA))
            check_immediate_wc(link, wr, IMM + wr)
    # each message has consumed a receive, but not written to its memory
    w.server.expect_no_event(WC, conn=link.conn)
    inbox.check_untouched()


add_case_for_both_roles("Immediate Data completes a receive",
                        "EXT-4 EXT-5 EXT-6 EXT-7 EXT-68 EXT-70 EXT-71 EXT-72 EXT-93",
                        test_immediate_consumes_receive)


@case("Immediate Data in several segments", "EXT-70 EXT-77")
def test_split_immediate_is_delivered(w):
    inbox = w.shared(1024, "l")
    cuts = [(0, 4, 8), (0, 0, 8), (0, 8, 8), (0, 1, 7, 8), tuple(range(9))]
    link = w.initiate(recvs=[(inbox, 64)] * len(cuts))
    for wr, edges in enumerate(cuts, 1):
        whole = make_immediate(link, IMM + wr)
        parts = [replace(whole, payload=whole.payload[start:end], mo=start,
                         last=False) for start, end in zip(edges, edges[1:])]
        link.peer.send_segments(*parts[:-1])
        link.round_trip()
        w.server.expect_no_event(WC, conn=link.conn)
        link.peer.send_segments(replace(parts[-1], last=True))
        check_immediate_wc(link, wr, IMM + wr)
    inbox.check_untouched()


@case("Immediate Data with Solicited Event raises a solicited event",
      "EXT-5 EXT-7 EXT-68")
def test_solicited_immediate_raises_event(w):
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)] * 3)
    w.server.do("solicited", 1)
    try:
        link.peer.send()
        link.expect_wc(wr=1, status=SUCCESS)
        link.peer.send_segments(make_immediate(link))
        link.round_trip()
        w.server.expect_no_event(WC, conn=link.conn)
    finally:
        w.server.do("solicited", 0)
        link.peer.send_segments(make_immediate(link, 5, rdmap.IMMEDIATE_SE))
    check_immediate_wc(link, 2)
    check_immediate_wc(link, 3, 5)


@case("Sends and Immediate Data complete in the order they were sent",
      "EXT-73 EXT-74 EXT-78")
def test_sends_and_immediates_complete_in_order(w):
    inbox = w.shared(1024, "l")
    link = w.initiate(recvs=[(inbox, 64)] * 12)
    for wr in range(1, 13):
        if wr % 3 == 0:
            link.peer.send(b"abc")
        else:
            link.peer.send_segments(make_immediate(link, wr))
    for wr in range(1, 13):
        if wr % 3:
            check_immediate_wc(link, wr, wr)
        else:
            same("status, opcode, length and flags of a "
                 "Send", link.expect_wc(wr=wr)[2:6], (SUCCESS, WC_RECV, 3, 0))


@case("a Write, then Immediate Data: data is placed by then, the length is the "
      "Write's",
      "EXT-68 EXT-78 EXT-80")
def test_immediate_follows_placed_write(w):
    target, inbox = w.shared(1 << 16, "lw"), w.shared(1024, "l")
    sizes = [1, 30001, 0, 777, 1554]
    link = w.initiate(recvs=[(inbox, 64)] * (3 * len(sizes)))
    for turn, size in enumerate(sizes):
        data = make_pattern(size, turn)
        link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"x"), *(
            rdmap.make_write(target.rkey, target.addr + at, data[at:at + 777],
                             last=at + 777 >= size)
            for at in range(0, size or 1, 777)), make_immediate(link, turn))
        check_immediate_wc(link, 3 * turn + 1, turn, size)
        same("memory", target.read_bytes(0, size), data)
        # if two equal Writes precede, the reported length is that of the second
        link.peer.send_segments(*[rdmap.make_write(target.rkey, target.addr, data[:9])] * 2,
                                make_immediate(link, turn))
        check_immediate_wc(link, 3 * turn + 2, turn, min(size, 9))
        # if no Write precedes, the length is 0
        link.peer.send_segments(make_immediate(link, turn))
        check_immediate_wc(link, 3 * turn + 3, turn, 0)
    inbox.check_untouched()


# Immediate Data from the device -----------------------------------------------


def test_write_with_immediate_sends_two_messages(w, role):
    memory = w.shared(8192, "l")
    memory.write_bytes(0, make_pattern(8192, 7))
    link = connect_with_device_as(w, role)
    turns = [(0, "-"), (1, "s"), (5000, "-"), (5000, "s"), (0, "s")]
    for turn, (size, flags) in enumerate(turns):
        link.post("writeimm", memory, size, 1, THERE, KEY, flags, IMM + turn)
        data = b"".join(
            seg.payload for seg in link.peer.receive_message()
            if (seg.ulp, seg.rsvd, seg.stag) == (0x40, 0, KEY))
        same("written", data, memory.read_bytes(0, size))
        opcode = "49" if flags == "s" else "48"
        same("Immediate Data", link.peer.receive_segment_bytes().hex(),
             f"41{opcode}{0:08x}{0:08x}{2 * turn + 1:08x}{0:08x}"
             f"{IMM + turn:08x}{0:08x}")
        got = link.expect_wc(wr=1, status=SUCCESS)
        same("completion", (got.opcode, got.length), (WC_WRITE, size))
        # Immediate Data and Sends use one sequence of MSNs
        link.post("send", memory, 4, 2)
        same("MSN", link.peer.receive_segment().msn, 2 * turn + 2)
        link.expect_wc(wr=2, status=SUCCESS)


add_case_for_both_roles("a Write with Immediate is a Write and Immediate Data",
                        "EXT-4 EXT-5 EXT-6 EXT-7 EXT-8 EXT-68 EXT-70 EXT-71 EXT-74 "
                        "EXT-75 EXT-76 EXT-93", test_write_with_immediate_sends_two_messages)


@case("Writes with Immediate are sent in the order of posting", "EXT-73 EXT-76")
def test_writes_with_immediate_are_sent_in_order(w):
    memory = w.shared(8192, "l")
    link = w.initiate()
    for wr in range(30):
        link.post("writeimm", memory, wr % 3 * 1000, wr, THERE + wr, KEY,
                  "-", wr)
    for wr in range(30):
        write = link.peer.receive_message()
        same("Write", (write[0].ulp, write[0].to), (0x40, THERE + wr))
        same("Immediate Data", link.peer.receive_segment().payload,
             struct.pack(">II", wr, 0))
        link.expect_wc(wr=wr, status=SUCCESS)


def test_disconnect_sends_both_messages(w, role):
    """A Write with Immediate is one work request, so a graceful end sends both of its messages
    or none."""
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role)
    link.round_trip()
    with w.expect_counts(tx_immediates=3, tx_writes=3, end_local_close=1):
        for wr in range(3):
            link.post("writeimm", memory, BIG, wr, THERE, KEY, "-", wr)
        w.server.do("disconnect", link.conn)
        for wr in range(3):
            octets = sum(len(s.payload) for s in link.peer.receive_message())
            same("bytes", octets, BIG)
            same("Immediate Data", link.peer.receive_segment().payload,
                 struct.pack(">II", wr, 0))
        link.expect_end()
        link.peer.close()
        for wr in range(3):
            link.expect_wc(wr=wr, status=SUCCESS)


add_case_for_both_roles("disconnect after Writes with Immediate: all are sent",
                        "EXT-76 DDP-72", test_disconnect_sends_both_messages)


if __name__ == "__main__":
    run()
