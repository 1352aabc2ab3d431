# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""For the wire tests: measure how much CPU time and memory the kernel uses, and inject
allocation failures."""

import contextlib
import functools
import glob
import os
import time

from lib.ktap import skip_all
from lib.wire import KIB, PATIENCE, Skip, read, shell, write


def read_cpu_time():
    """Return the seconds of CPU time that were used since boot."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:8]]
    return (sum(ticks) - ticks[3] - ticks[4]) / 100


def read_kernel_cpu_time():
    """Return the seconds of CPU time that the kernel has used. User time is left out, because
    the work of the test programs must not count."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:8]]
    return (ticks[2] + ticks[5] + ticks[6]) / 100


def read_busy_time():
    """Return the seconds for which the machine's only CPU was not idle. This value is exact,
    because the kernel measures idle time, while it only samples user and system time."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:8]]
    return time.monotonic() - (ticks[3] + ticks[4]) / 100


def skip_all_without_instruction_clock():
    """Skip all cases unless the clock counts instructions: with any other clock, other work on the
    host would count."""
    if not os.environ.get("T_CLOCK"):
        skip_all("costs need time that counts instructions: run --bed clock")


def read_kernel_memory():
    """Return the kernel's memory use in bytes, by slab cache, and "all" for the total. Free
    objects in slab pages are not counted. The caches are shrunk first, which empties KASAN's
    quarantine."""
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
    # kmemleak's own records do not count
    used["all"] -= used.pop("kmemleak_object", 0)
    return used


def measure_memory_growth(before):
    """Return how much memory use has grown, in KiB, and a text with the caches that grew most."""
    now = read_kernel_memory()
    rise = {name: (now[name] - before.get(name, 0)) // KIB for name in now}
    whole = rise.pop("all")
    most = sorted(rise, key=rise.get)[:-6:-1]
    return whole, ", ".join(f"{name} {rise[name]}" for name in most)


def wait_no_connections(port):
    """Wait until this host has no TCP connection to a peer with that port."""
    end = time.monotonic() + PATIENCE
    while shell(f"ss -Htn dport = :{port}"):
        if time.monotonic() > end:
            raise AssertionError(f"port {port} should not be connected")
        time.sleep(0.02)


@functools.cache
def read_symbols(module):
    """Return the functions of a module, by start address. The module may be built in. In the
    kernel's own tree the lower layers ddp and mpa are parts of rnic_sw."""
    if not os.path.exists(f"/sys/module/{module}") and module in ("iw_ddp", "iw_mpa"):
        module = "rnic_sw"
    with open("/proc/kallsyms", encoding="ascii") as file:
        words = [line.split() for line in file]
    code = [each for each in words if each[1] in "tT"]
    ours = [each for each in code if each[-1] == f"[{module}]"]
    return {int(at, 16): name for at, _, name, *_ in
            ours or [each for each in code if len(each) == 3]}


def find_code_range(function, module):
    """Return the start and the end address of a function of the module."""
    ours = read_symbols(module)
    start = next((at for at, name in ours.items() if name == function), 0)
    return start, min((at for at in ours if at > start), default=0)


@contextlib.contextmanager
def _inject_slab_failures(times, callers, by_cache="N"):
    """Inject slab allocation failures. callers: a range of addresses; an allocation fails only if
    its call chain has an address in this range. None: any allocation fails."""
    debug = "/sys/kernel/debug/failslab/"
    shell("mount -t debugfs none /sys/kernel/debug", True)
    if not os.path.exists(debug):
        raise Skip("no failslab")
    words = {"task-filter": "N", "cache-filter": by_cache, "interval": "1",
             "ignore-gfp-wait": "N", "space": "0", "verbose": "0",
             "times": str(times)}
    if os.path.exists(debug + "require-start"):
        start, end = callers or (0, 2 ** 64 - 1)
        words |= {"require-start": hex(start), "require-end": hex(end),
                  "stacktrace-depth": "32"}
    elif callers:
        raise Skip("this kernel has no fault injection by caller (failslab)")
    for name, word in words.items():
        write(debug + name, word)
    write(debug + "probability", "100")
    try:
        yield lambda: int(read(debug + "times")) == 0
    finally:
        write(debug + "probability", "0")
        write(debug + "cache-filter", "N")


@contextlib.contextmanager
def fail_cache_allocations(cache, times=-1, module=None):
    """Context manager: let allocations from that slab cache fail, all or the given number. With
    module, only allocations with code of the module in the call chain fail."""
    mark = f"/sys/kernel/slab/{cache}/failslab"
    if not os.path.exists(mark):
        raise Skip("no failslab")
    ours = module and read_symbols(module)
    write(mark, "1")
    try:
        with _inject_slab_failures(times, ours and (min(ours), max(ours)), "Y") as over:
            yield over
    finally:
        write(mark, "0")


def fail_allocations_of(function, module, times=-1):
    """Context manager: let slab allocations of that function and its callees fail, all or the
    given number."""
    start, end = find_code_range(function, module)
    if not start or not end:
        raise Skip(f"cannot find the function {function}")
    return _inject_slab_failures(times, (start, end))
