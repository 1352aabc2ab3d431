# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The kernel's tracepoints."""

import contextlib
import os
import re
import time

from lib.wire import Skip, read, shell, write

TRACE = "/sys/kernel/tracing/"


def event(system, name=""):
    """The folder of a tracepoint, or of all of a system."""
    path = f"{TRACE}events/{system}"
    if not os.path.exists(path):
        shell(f"mount -t tracefs none {TRACE}", True)
    if not os.path.exists(path):
        raise Skip("no tracepoints")
    return f"{path}/{name}"


@contextlib.contextmanager
def passes(system, name):
    """Inside, it is on; a function that says how often it was passed."""
    path = event(system, name)
    try:
        write(path + "/enable", "1")
        yield lambda: read(TRACE + "trace").count(name + ":")
    finally:
        write(path + "/enable", "0")
        write(TRACE + "trace", "")


@contextlib.contextmanager
def traced(system, name):
    """Inside, it is on; a function that waits until it was passed."""
    with passes(system, name) as times:
        def passed(timeout):
            end = time.monotonic() + timeout
            while not times():
                if time.monotonic() > end:
                    return False
                time.sleep(0.05)
            return True

        yield passed


@contextlib.contextmanager
def told_of(*events):
    """Inside, these (SYSTEM/NAME) are on; a function that gives what has been told since
    the last time: (NAME, TEXT), in order, of this machine's only user."""
    paths = [event(*e.split("/")) for e in events]

    def told():
        lines = re.findall(r"^.*?: (\w+): (.*)$", read(TRACE + "trace"), re.M)
        write(TRACE + "trace", "")
        return lines

    try:
        for path in paths:
            write(path + "/enable", "1")
        told()
        yield told
    finally:
        for path in paths:
            write(path + "/enable", "0")
        write(TRACE + "trace", "")
