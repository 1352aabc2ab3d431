#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""A peer that calls, shuts its window and answers probes of it: what a program
says to its calls does not leave, and nobody waits for that longer than we like."""

import os
import subprocess
import time

from lib.tracing import passes
from lib.wire import CM, DEVICE, KIB, Skip, case, check, same
from rawpeer.sctp import INITIATE
from lib.wire_sctp import go

SAY = 30                    # seconds for an answer to be with SCTP
MARGIN = 4                  # ... and until all have been looked at
SOON = 15                   # seconds in which a program and a device go
CALLS = 100                 # more than SCTP holds answers to
WINDOW = 16 * KIB
BIG = 1 << 20


def calls(w):
    ghost = w.ghost(window=WINDOW, streams=CALLS).connect()
    w.closing.callback(ghost.close)
    return ghost


def refused(w):
    """A peer that is told no more often than it takes."""
    ghost = calls(w)
    ghost.shut()
    for sid in range(CALLS):
        ghost.stream(sid).put_control(INITIATE)
        conn = w.asked().conn
        w.mate.do("destroy", conn)
        w.mate.forget(conn)
        ghost.settle(0.001)
    same("answers", len(ghost.chunks()), 0)
    return ghost


def behind(w):
    """A peer that is told yes, behind a segment of another session that it
    does not take."""
    ghost = calls(w)
    link = w.initiate(peer=ghost.stream(0))
    late = w.calling(peer=ghost.stream(1))
    late.conn = w.asked().conn
    ghost.shut()
    link.post("write", w.shared(BIG, "l"), BIG, 1, 0x1000, 0x22)
    ghost.settle(2)
    w.mate.do("accept", late.conn, 4, 4)
    return ghost, late


def until(words, condition, seconds, *ghosts):
    """The peers answer meanwhile."""
    end = time.monotonic() + seconds
    while not condition():
        check(words, time.monotonic() < end)
        for ghost in ghosts:
            ghost.settle(0.05)


@case("a no that is not taken has an end")
def no(w):
    with passes("iw_sctp_ddp", "sddp_session_end") as ended:
        # each has its own time, but those that SCTP took at once
        first = time.monotonic()
        ghost = refused(w)
        early, took = ended(), time.monotonic() - first
        check("some wait", early < CALLS)
        ghost.settle(max(first + SAY - MARGIN - time.monotonic(), 0))
        late = time.monotonic() > first + SAY - MARGIN / 2
        if ended() > early and late:
            raise Skip("so slow that the first one's time is up")
        same("ends before", ended(), early)
        until("not all end", lambda: ended() >= CALLS, took + 2 * MARGIN, ghost)
    same("the association", ghost.ended, None)


@case("who says yes is told so at once, and that it is over when it is not taken")
def yes(w):
    with w.counted(end_timeout=1):
        ghost, late = behind(w)
        late.cm("ESTABLISHED", status=0)
        same("answers", len(late.peer.arrived), 0)
        until("it does not end",
              lambda: w.mate.event(CM, 0, conn=late.conn,
                                   event="DISCONNECTED"), SAY + MARGIN, ghost)
    same("answers", len(late.peer.arrived), 0)
    same("the association", ghost.ended, None)


@case("neither a program nor a device waits for such a peer")
def all_go(w):
    """In processes of their own: nothing ends one that the kernel holds."""
    ghost, late = behind(w)
    late.cm("ESTABLISHED", status=0)
    ghosts = ghost, refused(w)
    # nobody is left to close them
    w.links.clear()
    w.mate.process.kill()
    until("the program does not go",
          lambda: w.mate.process.poll() is not None, SOON, *ghosts)
    with subprocess.Popen(["rdma", "link", "del", DEVICE]) as remove:
        until("the device does not go", lambda: remove.poll() is not None,
              SOON, *ghosts)
    check("it is there", not os.path.exists(f"/sys/class/infiniband/{DEVICE}"))


go()
