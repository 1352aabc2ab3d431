# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The rows to measure, and the ratios that they must reach."""
import re
from collections import namedtuple

# args: arguments of the program rate; bars: the required ratio to the rival, by MTU; rival:
# "siw"; "sctp", plain SCTP messages of the same size; or None
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
# SCTP has its own checksum, which the loopback interface does not compute
SCTP = [
    Row(f"SCTP {op} 64 KiB", ["-s", "65536", op], ("sctp",), MTUS, MOST_OF_IT,
        "sctp")
    for op in ("write", "send", "read")
]
# Messages of about the length of a segment: each segment is a message of SCTP (RFC 5043)
SHORT_SCTP = Row("SCTP 1 KiB", ["-s", "1024", "sctp"], ("sctp",), (1500,), {}, None)
CRCS = (*BOTH, "sctp")
# ODP MRs whose pages are present, for `make clock`. Such a row may cost DEMAND_MOST times as much
# as the same row with pinned memory, because the lookup of the pages costs as much for a short
# message as for a long one.
DEMAND = ", on demand"
DEMAND_MOST = 1.25
ON_DEMAND = [row._replace(name=row.name + DEMAND, args=["-o", *row.args], crcs=("off",),
                          bars={}, rival=None)
             for row in ROWS
             if row.name in ("write 64 KiB", "read 64 KiB", "write 64 B, lists of 16")]
# A Read whose page is present, and one that faults its page in
PAGES = [Row(f"read 4 KiB, page {where}", [how, "-s", "4096", "-d", depth, "read"],
             ("off",), (65536,), {}, None)
         for depth, where, how in (("1", "there", "-o"), ("1", "away", "-f"))]
UNPINNED = [*ON_DEMAND, *PAGES]
# Queue pairs connected with ibv_modify_qp(): each row may cost BY_HAND_MOST times as much as the
# same row with rdma_cm, because figures of equal code differ by about 1 %
BY_HAND = ", by hand"
BY_HAND_MOST = 1.02
WITHOUT_CM = [row._replace(name=row.name + BY_HAND, args=["-m", *row.args], crcs=("off",),
                           mtus=(65536,), bars={}, rival=None)
              for row in ROWS
              if row.name in ("write 64 KiB", "send 64 KiB", "write 64 B, one by one",
                              "ping 64 B, by events")]
# suffixes of rows whose maximum is a multiple of the cost of the row without the suffix
RELATIVE = {DEMAND: DEMAND_MOST, BY_HAND: BY_HAND_MOST}
# Source and sink with different page offsets: in all other rows the offsets are equal, so that
# whole pages are copied, which is faster
ASKEW = [row._replace(name=row.name + ", askew", args=["-k", "1000", *row.args],
                      mtus=(65536,), bars={}, rival=None)
         for row in ROWS if row.name == "write 64 KiB"]
# Paths as long as those between sites, on the loopback interface: delay each way in ms, rate in
# Mbit/s, loss of packets in percent. The rate over a device is compared with that of plain TCP. rxe
# is not measured, because it does not send packets to its own address through an interface.
Path = namedtuple("Path", "delay rate loss")
PATHS = [Path(10, 200, 0.05), Path(20, 300, 0)]
PATH_ROUNDS = 3
PATH_PORTS = 0x5000     # the first of 256 ports; a run listens at one of these
PATH_SECONDS = 4
PATH_ROWS = [Row(f"{op} 64 KiB", ["-s", "65536", "-d", "128", "-r", "128", op], ("off",), (1500,),
                 {})
             for op in ("write", "read")]
# rows that measure rnic_sw only
OURS = [*UNPINNED, *WITHOUT_CM, *ASKEW]
# Scaling with CPUs, for `scripts/cpus`: PINGS poll or wait for events, and in STREAMS one or
# more programs, each with its own QP, write at the same time
PINGS = [Row("ping 64 B, spinning", ["-s", "64", "-p", "ping"], ("off",), (65536,), {}),
         Row("ping 64 B, by events", ["-s", "64", "ping"], ("off",), (65536,), {})]
# The last of PINGS, while another pair of programs (the neighbour) uses all CPU time. On one CPU
# the ping gets half of the time, so it must reach LEAST_SHARE, a bit less than half, of its rate
# without a neighbour. No round may take longer than ALL_WITHIN microseconds. How many rounds wait
# for the neighbour's time slice is not limited, because that depends on the length of the slices.
NEIGHBOURS = (("rnic_sw", "tcp"), ("siw", "tcp"), ("rnic_sw", "sctp"))
LEAST_SHARE = 0.4
ALL_WITHIN = 20000
STREAMS = [Row(f"write {size}{how}", [*args, "write"], ("off",), (65536,), {})
           for size, args in (("64 KiB", ["-s", "65536"]), ("64 B", ["-s", "64", "-d", "256"]))
           for how in ("", ", two at once", ", four at once")]
AT_ONCE = {"two at once": 2, "four at once": 4}
# Connections set up at once, over each lower layer
LLPS = ("tcp", "sctp")
MANY = 1000


def count_programs_at_once(row):
    """Return the number of programs that a row runs at the same time."""
    return AT_ONCE.get(row.name.rpartition(", ")[2], 1)


def get_required_ratio(row, crc, mtu):
    """Return the required ratio to the rival. With CRC on it is 1: both implementations spend
    most of their time in the same table-driven CRC, the only one of User-Mode Linux."""
    return 1.0 if crc == "on" else row.bars[mtu]


def plan_runs(pairs, pattern="", more=()):
    """Yield (crc, mtu, row, pair) in the order of measuring, for the rows of this module and of
    more whose text, as in "write 64 KiB, CRC off, MTU 1500", matches the pattern."""
    for crc in CRCS:
        for mtu in MTUS:
            for row in [*ROWS, TCP, *SCTP, SHORT_SCTP, *more]:
                whole = f"{row.name}, CRC {crc}, MTU {mtu}"
                if crc in row.crcs and mtu in row.mtus and re.search(pattern, whole):
                    for pair in range(pairs):
                        yield crc, mtu, row, pair
