# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Read the counts of instructions.c: attribute the instructions of a message to functions and
parts of the system, and get the cache lines that a message would have fetched."""
import bisect
import re
from collections import Counter

# (part, pattern of names) for functions of the kernel itself; the first match counts
KERNEL = [
    ("copies", r"^(__)?(memcpy|memmove)|copy_user|_copy_(to|from)_iter|copy_page|rep_movs|csum_partial"),
    ("CRC", "crc32|crc_pcl"),
    ("clearing", "clear_page|memset|clear_user"),
    ("waiting", "idle|halt"),
    ("TCP/IP", "tcp|inet|sock|skb|^_*ip_|ip6?_|netif|net_rx|loopback|qdisc|^_*dev_|napi|"
               "page_frag|neigh|dst_|fib_|nf_"),
    ("locks and work", "lock|mutex|rcu|queue_work|work|wake|sched|softirq|irq|timer|tick|"
                       "enqueue|dequeue|switch|pick|update_|bh_"),
    ("memory", "alloc|free|slab|page|folio|kmem"),
    ("system calls", "entry|syscall|do_sys|vfs_|fd|write|read|exit"),
]
MODULES = {"iw_ddp": "iw_ddp", "iw_mpa": "iw_mpa", "iw_sctp_ddp": "iw_sctp_ddp",
           "rnic_sw": "rnic_sw", "siw": "siw", "sctp": "SCTP", "ib_core": "RDMA core",
           "ib_uverbs": "RDMA core", "rdma_cm": "RDMA core", "iw_cm": "RDMA core",
           "rdma_ucm": "RDMA core"}
PARTS = ("copies", "CRC", "TCP/IP", "SCTP", "iw_mpa", "iw_sctp_ddp", "iw_ddp", "rnic_sw",
         "siw", "RDMA core", "locks and work", "memory", "system calls", "clearing",
         "waiting", "other", "programs")
USER = 1 << 63


class Symbols:
    """/proc/kallsyms of the guest."""

    def __init__(self, path):
        found = []
        with open(path, encoding="ascii") as f:
            for line in f:
                fields = line.split()
                if fields[1] in "tTwW":
                    module = fields[3].strip("[]") if len(fields) > 3 else ""
                    found.append((int(fields[0], 16), fields[2], module))
        found.sort(key=lambda symbol: symbol[0])
        self.addresses = [symbol[0] for symbol in found]
        self.symbols = found

    def find_symbol(self, addr):
        """Return (function, module) of an address, or ("", "programs") for one in user space."""
        if addr < USER:
            return "", "programs"
        n = bisect.bisect_right(self.addresses, addr) - 1
        return self.symbols[n][1:] if n >= 0 else ("?", "")


def get_part(function, module):
    if module == "programs":
        return module
    if module in MODULES:
        return MODULES[module]
    for part, pattern in KERNEL:
        if re.search(pattern, function):
            return part
    return "other"


def read_marker_intervals(path):
    """Yield for each interval between two markers {address: instructions}, and the numbers of
    cache lines fetched for code and for data."""
    window, lines = Counter(), []
    with open(path, encoding="ascii") as f:
        for line in f:
            if line == "\n":
                yield window, lines
                window, lines = Counter(), []
            elif line.startswith("lines "):
                lines = [int(n) for n in line.split()[1:]]
            else:
                addr, count = line.split()
                window[int(addr, 16)] += int(count)


def sum_by_function(window, symbols):
    """Return {(function, module): instructions}."""
    found = Counter()
    for addr, count in window.items():
        found[symbols.find_symbol(addr)] += count
    return found


def compute_profiles(measured, counts, kallsyms):
    """Yield for each run, per message: {"parts": {part: thousands}, "functions": [[thousands,
    function, part]], "lines": [of code, of data]}."""
    symbols = Symbols(kallsyms)
    # each run executes the marker twice, so every second interval is a measurement
    measured_windows = list(read_marker_intervals(counts))[1::2]
    if len(measured_windows) != len(measured["runs"]):
        raise SystemExit("profile: a run failed, so the counts cannot be assigned to runs")
    for run, (window, lines) in zip(measured["runs"], measured_windows):
        messages = run["result"]["messages"]
        each = 1000 * messages
        parts, functions = Counter(), []
        for (function, module), count in sum_by_function(window, symbols).most_common():
            part = get_part(function, module)
            parts[part] += count / each
            functions.append([count / each, function, part])
        yield {"parts": parts, "functions": functions, "lines": [n / messages for n in lines]}
