#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What chunks cost that come before their turn: as much where many wait as where
few do.  Wants a bed whose time is instructions."""

from lib.wire import case, check, rdmap
from lib.wire_kernel import by_the_clock, not_idle
from lib.wire_sctp import go

EARLY, PART = 24000, 2000
DONE = 1                # seconds after which nobody has to do anything with them
WARM = 2                # parts that are not counted
DEARER = 1.3            # 1.0 seen; 6 in a list


def send_early(link, empty, last):
    """A part of what comes before its turn, the latest first. Return: how long it took"""
    began = not_idle()
    for ssn in range(last, last - PART, -1):
        link.peer.put_segment(empty, ssn=ssn, more=ssn % 50 > 0)
    link.assoc.settle(DONE)
    return not_idle() - began


def turn_comes(link, empty, ssn, behind):
    link.peer.put_segment(empty, ssn=ssn)
    link.peer.ssn = ssn + behind + 1
    # all the others come before
    link.round_trip(60)


@case("what an early chunk costs does not depend on how many there are")
def early(w):
    target = w.shared(4096, "lw")
    link, other = w.initiate(), w.initiate()
    first = link.peer.next_ssn()
    empty = rdmap.write(target.rkey, target.addr, b"").pack()
    took = []
    for last in range(first + EARLY, first, -PART):
        turn = other.peer.next_ssn()
        few = send_early(other, empty, turn + PART)
        turn_comes(other, empty, turn, PART)
        took.append((send_early(link, empty, last), few))
    turn_comes(link, empty, first, EARLY)
    many, few = (sum(part) for part in zip(*took[WARM:]))
    print(f"# where many wait {many:.2f} s, where few do {few:.2f} s; each {PART}:",
          *(f"{m:.2f}/{f:.2f}" for m, f in took), flush=True)
    check(f"{many / few:.2f} times as long, {DEARER} at most",
          many <= DEARER * few)


by_the_clock()
go()
