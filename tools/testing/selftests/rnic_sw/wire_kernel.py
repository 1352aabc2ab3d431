# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""How the kernel fares, and how to make it fare worse, for the wire tests."""

import contextlib
import functools
import glob
import os
import time

from wire import KIB, PATIENCE, Skip, read, shell, write


def busy():
    """Seconds of CPU time used since boot."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:8]]
    return (sum(ticks) - ticks[3] - ticks[4]) / 100


def kernel_memory():
    """What the kernel uses for itself: octets by cache, and of all together,
    what is free in the caches' pages not counted.  To shrink a cache takes out
    what KASAN still keeps of it."""
    write("/proc/sys/vm/drop_caches", "3")
    for name in glob.glob("/sys/kernel/slab/*/shrink"):
        with contextlib.suppress(OSError):
            write(name, "1")
    rows = [line.split() for line in read("/proc/slabinfo").splitlines()[2:]]
    used = {row[0]: int(row[1]) * int(row[3]) for row in rows}
    words = dict(line.split(":") for line in
                 read("/proc/meminfo").splitlines())
    free = sum((int(row[2]) - int(row[1])) * int(row[3]) for row in rows)
    used["all"] = sum(int(words[name].split()[0]) * KIB for name in
                      ("SReclaimable", "SUnreclaim", "VmallocUsed",
                       "Percpu")) - free
    # what the search for leaks keeps of each piece is nobody's
    used["all"] -= used.pop("kmemleak_object", 0)
    return used


def grown_since(before):
    """KiB, and in words where most of them are."""
    now = kernel_memory()
    rise = {name: (now[name] - before.get(name, 0)) // KIB for name in now}
    whole = rise.pop("all")
    most = sorted(rise, key=rise.get)[:-6:-1]
    return whole, ", ".join(f"{name} {rise[name]}" for name in most)


def nobody_from(port):
    """Waits until whoever came from that port is connected here no more."""
    end = time.monotonic() + PATIENCE
    while shell(f"ss -Htn dport = :{port}"):
        if time.monotonic() > end:
            raise AssertionError(f"port {port} is connected")
        time.sleep(0.02)


@contextlib.contextmanager
def failing(cache, times=-1):
    """Inside, no object of that cache can be had, or so many times not."""
    debug = "/sys/kernel/debug/failslab/"
    mark = f"/sys/kernel/slab/{cache}/failslab"
    shell("mount -t debugfs none /sys/kernel/debug", True)
    if not os.path.exists(debug) or not os.path.exists(mark):
        raise Skip("no failslab")
    words = {"task-filter": "N", "cache-filter": "Y", "ignore-gfp-wait": "N",
             "interval": "1", "space": "0", "verbose": "0",
             "times": str(times)}
    if os.path.exists(debug + "require-start"):
        words |= {"require-start": "0", "require-end": hex(2 ** 64 - 1)}
    write(mark, "1")
    for name, word in words.items():
        write(debug + name, word)
    write(debug + "probability", "100")
    try:
        yield lambda: int(read(debug + "times")) == 0
    finally:
        write(debug + "probability", "0")
        write(debug + "cache-filter", "N")
        write(mark, "0")


@functools.cache
def code_of(function, module):
    """Where a function of the module begins and ends."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        words = [line.split() for line in file]
    ours = {int(each[0], 16): each[2] for each in words
            if each[-1] == f"[{module}]" and each[1] in "tT"}
    start = next((at for at, name in ours.items() if name == function), 0)
    return start, min((at for at in ours if at > start), default=0)


@contextlib.contextmanager
def starved(function, module):
    """That function, and whoever it calls, gets no memory from the caches."""
    debug = "/sys/kernel/debug/failslab/"
    shell("mount -t debugfs none /sys/kernel/debug", True)
    if not os.path.exists(debug + "require-start"):
        raise Skip("no fault injection by caller in this kernel (failslab)")
    start, end = code_of(function, module)
    if not start or not end:
        raise Skip(f"{function} is not to be found")
    words = {"require-start": hex(start), "require-end": hex(end),
             "stacktrace-depth": "32", "ignore-gfp-wait": "N", "verbose": "0",
             "task-filter": "N", "interval": "1", "times": "-1"}
    for name, word in words.items():
        write(debug + name, word)
    write(debug + "probability", "100")
    try:
        yield
    finally:
        write(debug + "probability", "0")
