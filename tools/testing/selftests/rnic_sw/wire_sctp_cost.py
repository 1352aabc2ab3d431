#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test that the cost of out-of-order chunks does not depend on how many chunks are queued. This
needs a test environment that counts time in instructions."""

from lib.wire import case, check, rdmap
from lib.wire_kernel import skip_all_without_instruction_clock, read_busy_time
from lib.wire_sctp import run_sctp_cases

EARLY, PART = 24000, 2000   # number of out-of-order chunks, and of those sent in one part
DONE = 1                # seconds after which all chunks of a part have been processed
WARM = 2                # number of parts at the beginning that are not counted
# limit of the cost with many queued chunks, relative to few; the present code costs 1.0 times as
# much, and a linear list would cost 6 times as much
DEARER = 1.3


def measure_sending_early_chunks(link, empty, last):
    """Send a part of the out-of-order chunks, the last one first. Return how much CPU time that
    took."""
    began = read_busy_time()
    for ssn in range(last, last - PART, -1):
        link.peer.send_segments(empty, ssn=ssn, more=ssn % 50 > 0)
    link.assoc.process_input_until_quiet(DONE)
    return read_busy_time() - began


def send_missing_chunk(link, empty, ssn, following):
    """Send the missing chunk, and wait until the device has delivered the following chunks."""
    link.peer.send_segments(empty, ssn=ssn)
    link.peer.ssn = ssn + following + 1
    # the response to a Read arrives after all these chunks have been delivered
    link.round_trip(60)


@case("out-of-order chunks cost the same however many are queued")
def test_early_chunk_cost_is_independent_of_queue(w):
    target = w.shared(4096, "lw")
    link, other = w.initiate(), w.initiate()
    first = link.peer.take_next_ssn()
    empty = rdmap.make_write(target.rkey, target.addr, b"").pack()
    took = []
    for last in range(first + EARLY, first, -PART):
        turn = other.peer.take_next_ssn()
        few = measure_sending_early_chunks(other, empty, turn + PART)
        send_missing_chunk(other, empty, turn, PART)
        took.append((measure_sending_early_chunks(link, empty, last), few))
    send_missing_chunk(link, empty, first, EARLY)
    many, few = (sum(part) for part in zip(*took[WARM:]))
    print(f"# with many queued {many:.2f} s, with few {few:.2f} s; parts of {PART}:",
          *(f"{m:.2f}/{f:.2f}" for m, f in took), flush=True)
    check(f"with many queued it takes {many / few:.2f} times as long, at most {DEARER}",
          many <= DEARER * few)


skip_all_without_instruction_clock()
run_sctp_cases()
