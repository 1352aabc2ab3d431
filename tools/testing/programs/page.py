#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""page.py RESULTS PAGE [NAME VERSION]...: write the tables of Documentation/program-table.rst from
the results of run_rows.py. The text of the page is before the line that begins the tables; page.py
replaces what follows. Exit status 1 if a program that has to work on rnic_sw does not."""
import json
import sys

import core_tests
import judge
from rows import BY_CM, BY_HAND, DATA, END, RATE, ROWS

DRIVERS = ("rnic_sw", "siw", "rxe")
BEGIN = ".. The rest of this page is written by scripts/program-table.\n"
SHOWS = {DATA: "data", RATE: "rate", END: "end"}
HEADINGS = {BY_HAND: "Connected by ibv_modify_qp()", BY_CM: "Connected by rdma_cm"}
WIDTH = 100


class Notes:
    """Footnotes: equal reasons have one number."""
    def __init__(self):
        self.words = []

    def add_note(self, words):
        if not words:
            return ""
        if words not in self.words:
            self.words.append(words)
        return f" [{self.words.index(words) + 1}]_"

    def format_lines(self):
        for number, words in enumerate(self.words, 1):
            yield from wrap_paragraph(f".. [{number}] ", words[0].upper() + words[1:])


def wrap_paragraph(first, words):
    """Yield the lines of a paragraph, without breaking a literal."""
    pieces, literal = [], False
    for piece in words.split("``"):
        pieces += [f"``{piece}``"] if literal else piece.split()
        literal = not literal
    line = first.rstrip()
    for piece in pieces:
        glue = "" if not line or piece[0] in ";:.," else " "
        if len(line) + len(glue + piece) > WIDTH:
            yield line
            line, glue = " " * len(first), ""
        line += glue + piece
    yield line


def format_cell(results, driver, row, notes):
    runs = results["drivers"].get(driver, {}).get(row.name)
    word, why = judge.judge_runs(row, runs or [])
    return word + notes.add_note(why)


def format_simple_table(head, body):
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in (head, *body)]
    return [rule, lines[0], rule, *lines[1:], rule]


def format_results(results, connects, notes):
    body = [[row.name, *(format_cell(results, driver, row, notes) for driver in DRIVERS),
             SHOWS[row.shows]]
            for row in ROWS if row.connects == connects and
            any(row.name in cells for cells in results["drivers"].values())]
    return format_simple_table(["program", *DRIVERS, "checked"], body)


def format_test_counts(results):
    """Return the table of rdma-core's tests, or nothing if they were not run."""
    found = {driver: cells[core_tests.NAME] for driver, cells in results["drivers"].items()
             if cells.get(core_tests.NAME)}
    body = [[what, *(str(found[driver][key]) if driver in found else "-" for driver in DRIVERS)]
            for what, key in (("pass", "pass"), ("are skipped", "skip"), ("fail", "fail"))]
    if not found:
        return []
    late = [f"On {driver} the tests did not end within {core_tests.LIMIT} s." for driver in found
            if not found[driver]["complete"]]
    return ["", *format_heading("rdma-core's Python tests"),
            *format_simple_table(["tests that", *DRIVERS], body),
            *(["", *late] if late else [])]


def format_heading(text):
    return [text, "=" * len(text), ""]


def list_broken_rows(results):
    """Return the rows that have to work on rnic_sw and do not."""
    cells = results["drivers"].get("rnic_sw", {})
    return [row.name for row in ROWS if row.must and row.name in cells and
            judge.judge_runs(row, cells[row.name])[0] not in ("yes", "partly")]


def main():
    path, page, *versions = sys.argv[1:]
    with open(path, encoding="utf-8") as f:
        results = json.load(f)
    with open(page, encoding="utf-8") as f:
        text = f.read().split(BEGIN)[0] + BEGIN
    notes, lines = Notes(), []
    for connects in (BY_HAND, BY_CM):
        lines += ["", *format_heading(HEADINGS[connects]),
                  *format_results(results, connects, notes)]
    lines += [*format_test_counts(results), "", *format_heading("Reasons"), *notes.format_lines()]
    known = [f"Linux {results['kernel']}", *(f"{a} {b}" for a, b in zip(versions[::2], versions[1::2]))]
    if "valkey" in results:
        known.append(f"valkey {results['valkey']}")
    lines += ["", *format_heading("Versions"), *wrap_paragraph("", ", ".join(known) + ".")]
    with open(page, "w", encoding="utf-8") as f:
        f.write(text + "\n".join(line.rstrip() for line in lines) + "\n")
    bad = list_broken_rows(results)
    for name in bad:
        print(f"page: on rnic_sw this program has to work, and does not: {name}", file=sys.stderr)
    return 1 if bad else 0


sys.exit(main())
