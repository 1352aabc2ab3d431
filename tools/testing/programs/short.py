#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""short.py PAGE README [--check]: write the short table of programs in README.md from the tables of
Documentation/program-table.rst. With --check, write nothing, and fail if README.md has another
table."""
import re
import sys

DRIVERS = ("rnic_sw", "siw", "rxe")
BEGIN = "<!-- scripts/program-table writes this table -->\n"
HEAD = "[programs](Documentation/supported-programs.rst)", "[connected by](Documentation/program-table.rst)", *DRIVERS
BY_CM = "rdma_cm"
BY_HAND = "`ibv_modify_qp()`"
TESTS = "tests that"

# Each row of the table: the text of its first two cells, and the rows of the page that it sums up
GROUPS = (
    ("rping, ucmatose, rsockets", BY_CM, ("rping", "ucmatose", "rstream")),
    ("perftest with `-R`", BY_CM, ("ib_write_bw -R", "ib_read_bw -R", "ib_send_bw -R", "ib_write_lat -R",
                                   "ib_send_lat -R")),
    ("atomics: `ib_atomic_bw -R`", BY_CM, ("ib_atomic_bw -R",)),
    ("fio", BY_CM, ("fio --verb=write", "fio --verb=read")),
    ("qperf with `-cm 1`", BY_CM, ("qperf -cm 1 rc_bw", "qperf -cm 1 rc_compare_swap_mr")),
    ("libfabric", BY_CM, ("fi_pingpong, connected", "fi_pingpong, connectionless")),
    ("Open MPI over libfabric", BY_CM, ("Open MPI, libfabric",)),
    ("UD: udaddy", BY_CM, ("udaddy",)),
    ("ibv_rc_pingpong, ibv_srq_pingpong", BY_HAND, ("ibv_rc_pingpong", "ibv_srq_pingpong")),
    ("perftest without `-R`", BY_HAND, ("ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw", "ib_write_lat",
                                        "ib_send_lat")),
    ("UC and UD: ibv_uc_pingpong, ibv_ud_pingpong", BY_HAND, ("ibv_uc_pingpong", "ibv_ud_pingpong")),
    ("Open MPI over UCX", BY_HAND, ("Open MPI, UCX",)),
)


def read_tables(text):
    """Return a dictionary from the first cell of each row to the words for the drivers."""
    found = {}
    for line in text.splitlines():
        cells = re.split(r" {2,}", re.sub(r" \[\d+\]_", "", line.strip()))
        if len(cells) in (4, 5):
            found[cells[0]] = cells[1:4]
    return found


def join_verdicts(names, words):
    """Return one cell for several rows of the page: the word that most have, then the others."""
    most = max(("yes", "no", "partly"), key=words.count)
    others = [f"{name}: {word}" for name, word in zip(names, words) if word != most]
    return most + (f" ({', '.join(others)})" if others else "")


def format_table(rows):
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for words, connects, names in GROUPS:
        cells = [join_verdicts(names, [rows[name][i] for name in names]) for i in range(len(DRIVERS))]
        lines.append(f"| {words} | {connects} | {' | '.join(cells)} |")
    if TESTS in rows:
        lines.append("| rdma-core's Python tests: number that pass | both | " + " | ".join(rows["pass"]) + " |")
    return "\n".join(lines) + "\n"


def replace_table(text, table):
    """Replace the table that follows BEGIN; it ends at the first line that is not part of a table."""
    before, rest = text.split(BEGIN)
    lines = rest.splitlines(keepends=True)
    while lines and lines[0].startswith("|"):
        del lines[0]
    return before + BEGIN + table + "".join(lines)


def main():
    page, readme, *options = sys.argv[1:]
    with open(page, encoding="utf-8") as f:
        table = format_table(read_tables(f.read()))
    with open(readme, encoding="utf-8") as f:
        old = f.read()
    new = replace_table(old, table)
    if options == ["--check"]:
        if new != old:
            print(f"{readme}: the table of programs is not that of {page}: run scripts/program-table --short")
        return int(new != old)
    with open(readme, "w", encoding="utf-8") as f:
        f.write(new)
    return 0


sys.exit(main())
