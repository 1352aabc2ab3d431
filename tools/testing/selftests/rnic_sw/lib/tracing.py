# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Use the kernel's tracepoints."""

import contextlib
import os
import re
import time

from lib.wire import Skip, read, shell, write

TRACE = "/sys/kernel/tracing/"


def find_event_dir_or_skip(system, name=""):
    """Return the directory of a tracepoint, or of all tracepoints of a system."""
    path = f"{TRACE}events/{system}"
    if not os.path.exists(path):
        shell(f"mount -t tracefs none {TRACE}", True)
    if not os.path.exists(path):
        raise Skip("no tracepoints")
    return f"{path}/{name}"


@contextlib.contextmanager
def count_tracepoint_events(system, name):
    """Context manager: enable the tracepoint. Yields a function that returns the number of events
    since the tracepoint was enabled."""
    path = find_event_dir_or_skip(system, name)
    try:
        write(path + "/enable", "1")
        yield lambda: read(TRACE + "trace").count(name + ":")
    finally:
        write(path + "/enable", "0")
        write(TRACE + "trace", "")


@contextlib.contextmanager
def watch_tracepoint(system, name):
    """Context manager: enable the tracepoint. Yields a function that waits for an event."""
    with count_tracepoint_events(system, name) as times:
        def has_event_within(timeout):
            end = time.monotonic() + timeout
            while not times():
                if time.monotonic() > end:
                    return False
                time.sleep(0.05)
            return True

        yield has_event_within


@contextlib.contextmanager
def record_tracepoints(*events):
    """Context manager: enable these tracepoints (SYSTEM/NAME). Yields a function that returns
    the events since its last call, in order: (NAME, TEXT). Contexts must not overlap, because
    there is only one trace buffer."""
    paths = [find_event_dir_or_skip(*e.split("/")) for e in events]

    def read_new_events():
        lines = re.findall(r"^.*?: (\w+): (.*)$", read(TRACE + "trace"), re.M)
        write(TRACE + "trace", "")
        return lines

    try:
        for path in paths:
            write(path + "/enable", "1")
        read_new_events()
        yield read_new_events
    finally:
        for path in paths:
            write(path + "/enable", "0")
        write(TRACE + "trace", "")
