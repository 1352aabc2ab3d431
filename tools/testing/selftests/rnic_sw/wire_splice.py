#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""A sender on this machine that goes on writing the pages that it has sent.

splicer.c has TCP take its pages by reference, so what stands in the receive
queue changes while the kernel looks at it.  Whatever comes of the sender's own
messages, nothing else may be hurt.  With one CPU the octets change between two
looks at the queue, with several within one.

T_SECONDS=N     so long for each case, about (5)
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

# Two lengths that both make sense: what a small FPDU is the first of is a
# large one, and behind it the next small one begins
SMALL, LARGE = 32, 64000
AT = PAGE                       # where in the region they are written


def ulpdu_length(octets):
    """Of an FPDU of so many octets."""
    return octets - 2 - 4


class Splicer:
    """Runs while inside; count: how often the octets went out."""

    def __init__(self, link, first, other, seconds):
        same("lengths of the versions", len(first), len(other))
        number = link.peer.sock.fileno()
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [wire.find_program("splicer"), str(number), str(seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[number])
        self.process.stdin.write(first + other)
        self.process.stdin.close()

    def running(self):
        return self.process.poll() is None

    def count(self):
        got = int(self.process.stdout.read())
        same("the splicer's end", self.process.wait(), 0)
        return got


class Honest:
    """A connection beside it, on which everything has to go on."""

    def __init__(self, w):
        self.target, self.rounds = w.region(PAGE, "lrw"), 0
        self.link = w.initiate(peer=w.dial())

    def use(self):
        peer, data = self.link.peer, os.urandom(512)
        peer.put_segment(rdmap.write(self.target.rkey, self.target.addr, data))
        peer.read(rdmap.ReadRequest(0, 0, len(data), self.target.rkey,
                                    self.target.addr))
        same("what the honest one reads", peer.get_segment().payload, data)
        self.rounds += 1


def beside(honest, splicer):
    while splicer.running():
        honest.use()
        time.sleep(0.01)
    return splicer.count()


def around(region, start, end):
    """What nobody wrote is as it was."""
    same("in front of what was sent", region.get(0, start), FILL * start)
    left = region.size - end
    same("behind what was sent", region.get(end, left), FILL * left)


def with_length(fpdu, length):
    return struct.pack(">H", length) + fpdu[2:]


@case("lengths that change while they are looked at")
def lengths(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")
    with w.policy(crc=0) as port:
        link = w.initiate(mpa.request(flags=0), peer=w.dial(port))
        first = link.peer.fpdu(rdmap.write(target.rkey, target.addr + AT,
                                           b"m" * (SMALL - HEAD - 4)))
        same("octets of the small one", len(first), SMALL)
        other = with_length(first, ulpdu_length(LARGE))
        count = beside(honest, Splicer(link, first * (PAGE // SMALL),
                                       other * (PAGE // SMALL), SECONDS))
        print(f"# {count} pages sent, {honest.rounds} rounds beside")
        check("it was sent", count)
        # either length is a right one, so not even this stream has ended
        link.round_trip()
        around(target, AT, AT + LARGE - HEAD - 4)
        honest.use()


def again_and_again(w, honest, port, request, make):
    """Connections, each to its end; make() gives the versions to send."""
    end = time.monotonic() + SECONDS
    links = count = 0
    while time.monotonic() < end:
        link = w.initiate(request, peer=w.dial(port), opened=False)
        splicer = Splicer(link, *make(link), 2)
        count += beside(honest, splicer)
        links += 1
        w.links.remove(link)
        with contextlib.suppress(wire.Refused):
            link.close()
    print(f"# {count} times sent in {links} connections")
    check("it was sent", count)


def two_payloads(place, target, size):
    """A Write that has a right CRC for one of its payloads only."""
    def make(link):
        good = b"g" * size
        bad = good[:place] + b"BBBB" + good[place + 4:]
        segment = rdmap.write(target.rkey, target.addr + AT, good)
        first = link.peer.fpdu(segment)
        start = len(first) - 4 - -(2 + 14 + size) % 4 - size
        return first, first[:start] + bad + first[start + size:]
    return make


def summed(w, place, size):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")
    with w.policy(crc=1) as port:
        again_and_again(w, honest, port, mpa.request(),
                        two_payloads(place, target, size))
        got = target.get(AT, size)
        around(target, AT, AT + size)
        check("octets were placed that no digest was over", b"B" not in got)
        honest.use()


add("what is placed is what was summed, at the front", "MPA-54 MPA-69",
    summed, place=0, size=40000)
add("what is placed is what was summed, further behind", "MPA-54 MPA-69",
    summed, place=30000, size=40000)


@case("segments that go on, each with a digest for one of its payloads",
      "MPA-54 MPA-69")
def summed_together(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")
    cut, many = 1000, 16

    def make(link):
        good = b"g" * cut
        first = b"".join(
            link.peer.fpdu(rdmap.write(target.rkey, target.addr + AT + at, good, last=False))
            for at in range(0, many * cut, cut))
        # each further behind in its own
        other, wire = bytearray(first), len(first) // many
        for nth in range(many):
            place = nth * wire + HEAD + nth * (cut // many)
            other[place:place + 4] = b"BBBB"
        return first, bytes(other)

    with w.policy(crc=1) as port:
        again_and_again(w, honest, port, mpa.request(), make)
        got = target.get(AT, many * cut)
        around(target, AT, AT + many * cut)
        check("octets were placed that no digest was over", b"B" not in got)
        check("some were placed", b"g" in got)
        honest.use()


@case("lengths that change, with a CRC")
def lengths_summed(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")

    def make(link):
        first = link.peer.fpdu(rdmap.write(target.rkey, target.addr + AT,
                                           b"m" * (SMALL - HEAD - 4)))
        other = with_length(first, ulpdu_length(LARGE))
        return first * (PAGE // SMALL), other * (PAGE // SMALL)

    with w.policy(crc=1) as port:
        again_and_again(w, honest, port, mpa.request(), make)
        around(target, AT, AT + SMALL - HEAD - 4)
        honest.use()


@case("lengths and markers that change")
def markers(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")
    content = mpa.INTERVAL - mpa.MARKER

    def make(link):
        # led by a marker, and ends where the next one is due
        link.peer.tx.pos = 0
        first = link.peer.fpdu(rdmap.write(target.rkey, target.addr + AT,
                                           b"m" * (content - HEAD - 4)))
        same("octets of one", len(first), mpa.INTERVAL)
        length = ulpdu_length(127 * content)
        other = struct.pack(">IH", 0xFFFC, length) + first[6:]
        return first, other

    with w.policy(crc=0, markers=1) as port:
        again_and_again(w, honest, port, mpa.request(flags=0), make)
        around(target, AT, AT + content - HEAD - 4)
        honest.use()


@case("headers that change while they are looked at")
def headers(w):
    honest = Honest(w)
    target = w.shared(1 << 17, "lw")

    def make(link):
        write = rdmap.write(target.rkey, target.addr + AT, b"m" * 12)
        first = link.peer.fpdu(write)
        # an STag that is none, an offset outside, untagged, other octets
        other = first[:2] + bytes(b ^ 0xFF for b in first[2:16]) + b"o" * 12
        return first, other + first[len(other):]

    with w.policy(crc=0) as port:
        again_and_again(w, honest, port, mpa.request(flags=0), make)
        around(target, AT, AT + 12)
        honest.use()


if __name__ == "__main__":
    run()
