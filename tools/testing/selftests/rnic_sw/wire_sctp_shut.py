#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test a peer that requests sessions, closes its receive window and acknowledges SCTP's probes of
the window. The device then cannot send replies to the requests. It must not wait without limit."""

import os
import subprocess
import time

from lib.tracing import count_tracepoint_events
from lib.wire import CM, DEVICE, KIB, Skip, case, check, same
from rawpeer.sctp import INITIATE
from lib.wire_sctp import run_sctp_cases

SAY = 30                    # seconds in which SCTP must accept a reply
MARGIN = 4                  # further seconds until all sessions have been checked
SOON = 15                   # seconds in which a program must exit and a device be
                            # removed
CALLS = 100                 # connects: more than SCTP can queue replies for
WINDOW = 16 * KIB
BIG = 1 << 20


def open_peer_with_small_window(w):
    ghost = w.create_ghost(window=WINDOW, streams=CALLS).connect()
    w.closing.callback(ghost.close)
    return ghost


def open_peer_with_pending_rejects(w):
    """Return a peer that receives no more rejects than its window holds."""
    ghost = open_peer_with_small_window(w)
    ghost.close_window()
    for sid in range(CALLS):
        ghost.stream(sid).send_control(INITIATE)
        conn = w.expect_request().conn
        w.server.do("destroy", conn)
        w.server.drop_events(conn)
        ghost.process_input_until_quiet(0.001)
    same("answers", len(ghost.chunks()), 0)
    return ghost


def accept_with_queued_segment(w):
    """Return a peer, and the link of an accepted session. A segment of another session, which
    the peer does not read, is queued before the Accept."""
    ghost = open_peer_with_small_window(w)
    link = w.initiate(peer=ghost.stream(0))
    late = w.request_session(peer=ghost.stream(1))
    late.conn = w.expect_request().conn
    ghost.close_window()
    link.post("write", w.shared(BIG, "l"), BIG, 1, 0x1000, 0x22)
    ghost.process_input_until_quiet(2)
    w.server.do("accept", late.conn, 4, 4)
    return ghost, late


def wait_until(words, condition, seconds, *ghosts):
    """Wait until the condition is true, at most so many seconds. Let the peers acknowledge what they
    receive meanwhile."""
    end = time.monotonic() + seconds
    while not condition():
        check(words, time.monotonic() < end)
        for ghost in ghosts:
            ghost.process_input_until_quiet(0.05)


@case("a reject that cannot be sent times out")
def test_unsent_reject_times_out(w):
    with count_tracepoint_events("iw_sctp_ddp", "sddp_session_end") as ended:
        # each session has a separate timeout, except for sessions whose reply SCTP has accepted
        # immediately
        first = time.monotonic()
        ghost = open_peer_with_pending_rejects(w)
        early, took = ended(), time.monotonic() - first
        check("some rejects wait", early < CALLS)
        ghost.process_input_until_quiet(max(first + SAY - MARGIN - time.monotonic(), 0))
        late = time.monotonic() > first + SAY - MARGIN / 2
        if ended() > early and late:
            raise Skip("too slow: the first timeout has expired")
        same("sessions ended before the timeout", ended(), early)
        wait_until("all sessions "
                   "end", lambda: ended() >= CALLS, took + 2 * MARGIN, ghost)
    same("end of the association", ghost.ended, None)


@case("an accept is reported immediately, and the session times out if the Accept "
      "cannot be sent")
def test_unsent_accept_times_out(w):
    with w.expect_counts(end_timeout=1):
        ghost, late = accept_with_queued_segment(w)
        late.expect_cm("ESTABLISHED", status=0)
        same("answers", len(late.peer.arrived), 0)
        wait_until("the session ends",
                   lambda: w.server.pop_event(CM, 0, conn=late.conn,
                                              event="DISCONNECTED"), SAY + MARGIN, ghost)
    same("answers", len(late.peer.arrived), 0)
    same("end of the association", ghost.ended, None)


@case("neither the exit of a program nor the removal of a device waits for a peer "
      "with a closed window")
def test_exit_does_not_wait_for_peer(w):
    """Let other processes exit and remove the device, because a process that hangs in the kernel
    cannot be killed."""
    ghost, late = accept_with_queued_segment(w)
    late.expect_cm("ESTABLISHED", status=0)
    ghosts = ghost, open_peer_with_pending_rejects(w)
    # the program is killed, so it cannot close the connections at the end of the case
    w.links.clear()
    w.server.process.kill()
    wait_until("the program exits",
               lambda: w.server.process.poll() is not None, SOON, *ghosts)
    with subprocess.Popen(["rdma", "link", "del", DEVICE]) as remove:
        wait_until("the device is removed", lambda: remove.poll() is not None,
                   SOON, *ghosts)
    check("the device does not exist "
          "afterwards", not os.path.exists(f"/sys/class/infiniband/{DEVICE}"))


run_sctp_cases()
