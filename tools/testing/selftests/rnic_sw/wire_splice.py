#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test a local sender that keeps writing to pages that it has sent.

splicer.c lets TCP take its pages by reference, so the content of the receive queue changes
while the kernel reads it. The sender's own messages may be damaged, but nothing else. With
one CPU the bytes change between two reads of the queue, with several CPUs also during a read.

T_SECONDS=N     duration of each case, about (5)
"""

import contextlib
import os
import struct
import subprocess
import time

from lib import wire
from lib.wire import add, case, check, mpa, rdmap, run, same

SECONDS = int(os.environ.get("T_SECONDS", 5))
PAGE = 4096
HEAD = 2 + 14                   # length field and header of a Write
FILL = b"\x5A"

# Both lengths are valid. A small FPDU is also the beginning of a large one, and the large one
# ends where a small one begins.
SMALL, LARGE = 32, 64000
AT = PAGE                       # offset in the region of the Writes


def compute_ulpdu_length(octets):
    """Return the ULPDU_Length of an FPDU with this number of bytes."""
    return octets - 2 - 4


class Splicer:
    """A running splicer. count() returns how often it has sent the data."""

    def __init__(self, link, first, other, seconds):
        same("length of both versions", len(first), len(other))
        number = link.peer.sock.fileno()
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [wire.find_program("splicer"), str(number), str(seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[number])
        self.process.stdin.write(first + other)
        self.process.stdin.close()

    def is_running(self):
        return self.process.poll() is None

    def wait_count(self):
        got = int(self.process.stdout.read())
        same("exit status of the splicer", self.process.wait(), 0)
        return got


class Honest:
    """A connection that must keep working while the splicer sends."""

    def __init__(self, w):
        self.target, self.rounds = w.register_region(PAGE, "lrw"), 0
        self.link = w.initiate(peer=w.connect_tcp())

    def transfer_data(self):
        peer, data = self.link.peer, os.urandom(512)
        peer.send_segments(rdmap.make_write(self.target.rkey, self.target.addr, data))
        peer.read(rdmap.ReadRequest(0, 0, len(data), self.target.rkey,
                                    self.target.addr))
        same("data that the honest connection reads", peer.receive_segment().payload, data)
        self.rounds += 1


def transfer_until_splicer_ends(honest, splicer):
    while splicer.is_running():
        honest.transfer_data()
        time.sleep(0.01)
    return splicer.wait_count()


def check_memory_around_write(region, start, end):
    """Check that the bytes outside the Write are unchanged."""
    same("memory before the Write", region.read_bytes(0, start), FILL * start)
    left = region.size - end
    same("memory after the Write", region.read_bytes(end, left), FILL * left)


def replace_length(fpdu, length):
    return struct.pack(">H", length) + fpdu[2:]


@case("lengths that change while they are read")
def test_changing_lengths_do_no_harm(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")
    with w.change_policy(crc=0) as port:
        link = w.initiate(mpa.make_request(flags=0), peer=w.connect_tcp(port))
        first = link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr + AT,
                                                      b"m" * (SMALL - HEAD - 4)))
        same("bytes of the small FPDU", len(first), SMALL)
        other = replace_length(first, compute_ulpdu_length(LARGE))
        count = transfer_until_splicer_ends(honest, Splicer(link, first * (PAGE // SMALL),
                                                   other * (PAGE // SMALL), SECONDS))
        print(f"# {count} pages sent, {honest.rounds} rounds beside")
        check("some data is sent", count)
        # both lengths are valid, so even the splicer's stream stays open
        link.round_trip()
        check_memory_around_write(target, AT, AT + LARGE - HEAD - 4)
        honest.transfer_data()


def run_connections_in_turn(w, honest, port, request, make_data_versions):
    """Open connections one after the other; each is used until it ends. make_data_versions() returns
    the two versions of the data that the splicer sends."""
    end = time.monotonic() + SECONDS
    links = count = 0
    while time.monotonic() < end:
        link = w.initiate(request, peer=w.connect_tcp(port), opened=False)
        splicer = Splicer(link, *make_data_versions(link), 2)
        count += transfer_until_splicer_ends(honest, splicer)
        links += 1
        w.links.remove(link)
        with contextlib.suppress(wire.Refused):
            link.close()
    print(f"# {count} times sent in {links} connections")
    check("some data is sent", count)


def make_payload_versions_function(place, target, size):
    """Return a make_data_versions() for Writes whose CRC matches only one of two payloads."""
    def make_data_versions(link):
        good = b"g" * size
        bad = good[:place] + b"BBBB" + good[place + 4:]
        segment = rdmap.make_write(target.rkey, target.addr + AT, good)
        first = link.peer.build_fpdu(segment)
        start = len(first) - 4 - -(2 + 14 + size) % 4 - size
        return first, first[:start] + bad + first[start + size:]
    return make_data_versions


def test_crc_covers_placed_payload(w, place, size):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")
    with w.change_policy(crc=1) as port:
        run_connections_in_turn(w, honest, port, mpa.make_request(),
                                make_payload_versions_function(place, target, size))
        got = target.read_bytes(AT, size)
        check_memory_around_write(target, AT, AT + size)
        check("no bytes are placed that the CRC does not cover", b"B" not in got)
        honest.transfer_data()


add("only verified bytes are placed, changed at the front", "MPA-54 MPA-69",
    test_crc_covers_placed_payload, place=0, size=40000)
add("only verified bytes are placed, changed further back", "MPA-54 MPA-69",
    test_crc_covers_placed_payload, place=30000, size=40000)


@case("consecutive segments, each with a CRC for one of its payloads",
      "MPA-54 MPA-69")
def test_crc_covers_payloads_of_batch(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")
    cut, many = 1000, 16

    def make_data_versions(link):
        good = b"g" * cut
        first = b"".join(
            link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr + AT + at, good,
                                                  last=False))
            for at in range(0, many * cut, cut))
        # the changing byte is at a larger offset in each segment
        other, wire = bytearray(first), len(first) // many
        for nth in range(many):
            place = nth * wire + HEAD + nth * (cut // many)
            other[place:place + 4] = b"BBBB"
        return first, bytes(other)

    with w.change_policy(crc=1) as port:
        run_connections_in_turn(w, honest, port, mpa.make_request(), make_data_versions)
        got = target.read_bytes(AT, many * cut)
        check_memory_around_write(target, AT, AT + many * cut)
        check("no bytes are placed that the CRC does not cover", b"B" not in got)
        check("some bytes are placed", b"g" in got)
        honest.transfer_data()


@case("lengths that change, with a CRC")
def test_changing_lengths_with_crc_do_no_harm(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")

    def make_data_versions(link):
        first = link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr + AT,
                                                      b"m" * (SMALL - HEAD - 4)))
        other = replace_length(first, compute_ulpdu_length(LARGE))
        return first * (PAGE // SMALL), other * (PAGE // SMALL)

    with w.change_policy(crc=1) as port:
        run_connections_in_turn(w, honest, port, mpa.make_request(), make_data_versions)
        check_memory_around_write(target, AT, AT + SMALL - HEAD - 4)
        honest.transfer_data()


@case("lengths and markers that change")
def test_changing_markers_do_no_harm(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")
    content = mpa.INTERVAL - mpa.MARKER

    def make_data_versions(link):
        # this FPDU begins with a marker, and ends where the next marker must be
        link.peer.tx.pos = 0
        first = link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr + AT,
                                                      b"m" * (content - HEAD - 4)))
        same("bytes of one FPDU", len(first), mpa.INTERVAL)
        length = compute_ulpdu_length(127 * content)
        other = struct.pack(">IH", 0xFFFC, length) + first[6:]
        return first, other

    with w.change_policy(crc=0, markers=1) as port:
        run_connections_in_turn(w, honest, port, mpa.make_request(flags=0), make_data_versions)
        check_memory_around_write(target, AT, AT + content - HEAD - 4)
        honest.transfer_data()


@case("headers that change while they are read")
def test_changing_headers_do_no_harm(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")

    def make_data_versions(link):
        write = rdmap.make_write(target.rkey, target.addr + AT, b"m" * 12)
        first = link.peer.build_fpdu(write)
        # the other version of the FPDU is untagged; its STag and its offset would be invalid, and
        # its payload differs
        other = first[:2] + bytes(b ^ 0xFF for b in first[2:16]) + b"o" * 12
        return first, other + first[len(other):]

    with w.change_policy(crc=0) as port:
        run_connections_in_turn(w, honest, port, mpa.make_request(flags=0), make_data_versions)
        check_memory_around_write(target, AT, AT + 12)
        honest.transfer_data()


if __name__ == "__main__":
    run()
