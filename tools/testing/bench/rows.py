# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What is measured, and the bars that it has to reach."""
import re
from collections import namedtuple

# name, arguments of rate, CRC settings and MTUs to measure it with, the least
# ratio to the rival by MTU, who that is ("siw" or "sctp": bare messages of the
# same size)
Row = namedtuple("Row", "name args crcs mtus bars rival", defaults=("siw",))

BOTH = ("off", "on")
MTUS = (65536, 1500)
NOT_SLOWER = {65536: 1.0, 1500: 1.0}
MOST_OF_IT = {65536: 0.7, 1500: 0.7}
THREE_TIMES = {65536: 1.0, 1500: 3.0}

ROWS = [
    Row("write 64 KiB", ["-s", "65536", "write"], BOTH, MTUS, THREE_TIMES),
    Row("send 64 KiB", ["-s", "65536", "send"], BOTH, MTUS, THREE_TIMES),
    Row("read 64 KiB", ["-s", "65536", "read"], BOTH, MTUS, THREE_TIMES),
    Row("read 1 MiB", ["-s", "1048576", "-d", "16", "read"], BOTH, MTUS,
        NOT_SLOWER),
    Row("write 64 B, lists of 16", ["-s", "64", "-l", "16", "-d", "256", "write"],
        BOTH, (65536,), NOT_SLOWER),
    Row("write 64 B, one by one", ["-s", "64", "-d", "256", "write"],
        BOTH, (65536,), NOT_SLOWER),
    Row("write 64 B, two under way", ["-s", "64", "-d", "2", "write"],
        ("off",), (65536,), NOT_SLOWER),
    Row("ping 64 B, by events", ["-s", "64", "ping"], ("off",), (65536,), NOT_SLOWER),
    Row("connect, ping 64 B, close", ["-s", "64", "call"], ("off",), (65536,), NOT_SLOWER),
]
TCP = Row("TCP 64 KiB", ["-s", "65536", "tcp"], ("off",), MTUS, {}, None)
# SCTP has a checksum of its own, which the loopback interface does without
SCTP = [
    Row(f"SCTP {op} 64 KiB", ["-s", "65536", op], ("sctp",), MTUS, MOST_OF_IT,
        "sctp")
    for op in ("write", "send", "read")
]
CRCS = (*BOTH, "sctp")
# Regions on demand whose pages are there, for `make clock`: beside the same row with
# pinned ones, which may be so much cheaper: looking for a page takes what it does, however
# short the message is
DEMAND = ", on demand"
DEMAND_MOST = 1.2
ON_DEMAND = [row._replace(name=row.name + DEMAND, args=["-o", *row.args], crcs=("off",),
                          bars={}, rival=None)
             for row in ROWS
             if row.name in ("write 64 KiB", "read 64 KiB", "write 64 B, lists of 16")]
# A page that its Read finds away, beside one that is there
PAGES = [Row(f"read 4 KiB, page {where}", [how, "-s", "4096", "-d", depth, "read"],
             ("off",), (65536,), {}, None)
         for depth, where, how in (("1", "there", "-o"), ("1", "away", "-f"))]
UNPINNED = [*ON_DEMAND, *PAGES]
# Whole pages are copied faster, but only where they lie alike: as much to where they do not
ASKEW = [row._replace(name=row.name + ", askew", args=["-k", "1000", *row.args],
                      mtus=(65536,), bars={}, rival=None)
         for row in ROWS if row.name == "write 64 KiB"]
# There is nobody beside them
OURS = [*UNPINNED, *ASKEW]
# What grows with CPUs, for `scripts/cpus`: who waits for a ping looks again and again, on a
# CPU of its own; programs that move messages at the same time, each by a pair of its own
PINGS = [Row("ping 64 B, spinning", ["-s", "64", "-p", "ping"], ("off",), (65536,), {}),
         Row("ping 64 B, by events", ["-s", "64", "ping"], ("off",), (65536,), {})]
# Who has a neighbour that takes all there is, asked by the latter of these pings. On one CPU
# half of the time is its share: so much of the rounds that it makes alone, and a bit less, it
# is to make; and none may take longer than this many microseconds. A few rounds wait while
# the neighbour has its turn. How many do is no measure: the shorter turns are, the more
NEIGHBOURS = (("rnic_sw", "tcp"), ("siw", "tcp"), ("rnic_sw", "sctp"))
LEAST_SHARE = 0.4
ALL_WITHIN = 20000
STREAMS = [Row(f"write {size}{how}", [*args, "write"], ("off",), (65536,), {})
           for size, args in (("64 KiB", ["-s", "65536"]), ("64 B", ["-s", "64", "-d", "256"]))
           for how in ("", ", two at once", ", four at once")]
AT_ONCE = {"two at once": 2, "four at once": 4}
# Connections made at once, over each lower layer
LLPS = ("tcp", "sctp")
MANY = 1000

# With CRC on both spend most of their time in the same table CRC (User-Mode
# Linux has no other): no factor can be asked for there, only not to be slower.


def at_once(row):
    """How many programs a row has."""
    return AT_ONCE.get(row.name.rpartition(", ")[2], 1)


def bar(row, crc, mtu):
    """The least ratio to the rival that is good enough."""
    return 1.0 if crc == "on" else row.bars[mtu]


def planned(pairs, pattern="", more=()):
    """(crc, mtu, row, pair) in the order of measuring, of the rows, and of more, whose
    name, CRC and MTU (as in "write 64 KiB, CRC off, MTU 1500") match the pattern."""
    for crc in CRCS:
        for mtu in MTUS:
            for row in [*ROWS, TCP, *SCTP, *more]:
                whole = f"{row.name}, CRC {crc}, MTU {mtu}"
                if crc in row.crcs and mtu in row.mtus and re.search(pattern, whole):
                    for pair in range(pairs):
                        yield crc, mtu, row, pair
