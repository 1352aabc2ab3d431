#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""report: list which tests show which requirements of the RFCs.

    report.py [--out FILE] [--page FILE] LOGS...
    report.py --check          check the tables and citations, without logs

LOGS are directories as `make check` (CHECK_LOG) and `run --out` leave them. The rows are those
of requirements.tsv. A system test cites them in brackets after its name, in its KTAP. A unit
test cites them in the comments above and inside it; its result is that of the host tests. A
proof cites them in its MUST(). Requirements that no test shows are in reasons.tsv. The exit
status is 1 if a MUST that concerns the modules is open or fails.
"""
import argparse
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import citations
from citations import FAILED, PASSED, SKIPPED

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[2]
BEGIN, END = "<!-- conformance: begin -->", "<!-- conformance: end -->"

SHOWN, FAILING, OPEN, UNASKED = "shown", "failing", "open", "unasked"
ABSENT, DESIGN, DEPARTED = "not applicable", "by design", "departed"
BROKEN = "departed from a MUST"
DEPARTURES = (DEPARTED, BROKEN)
REASONS = (ABSENT, DESIGN, *DEPARTURES)
# The kind of evidence by script; the first match counts. Those in FOREIGN are independent of
# this project, so they can reveal its misunderstandings.
WITNESSES = (
    ("proof", re.compile(r"proof$")),
    ("unit", re.compile(r"unit test$")),
    ("raw peer", re.compile(r"wire_")),
    ("tshark", re.compile(r"capture\.")),
    ("siw", re.compile(r"interop")),
    ("other programs", re.compile(
        r"(sctp_)?(rdmacm|perftest|pyverbs|storage|paths)\b|(sctp|basics|smoke|ipsec)\.|"
        r"consumers/")),
    ("own program", re.compile(r"")),
)
FOREIGN = {"tshark", "siw", "other programs"}
TITLES = {
    "5041": "DDP",
    "5043": "DDP over SCTP",
    "5044": "MPA over TCP",
    "5040": "RDMAP",
    "6581": "enhanced connection set-up",
    "7306": "atomics, immediate data",
    "5042": "security",
    "7146": "IPsec profile",
}


class Row:
    """A requirement, its test cases and its verdict."""

    def __init__(self, words):
        (self.id, self.rfc, self.section, self.level, self.who, self.needs,
         self.text) = words
        self.cases = []
        self.verdict, self.words = None, ""

    @property
    def must(self):
        return self.level.startswith("MUST") or self.level == "REQ"

    @property
    def asks(self):
        """Whether it must be shown or explained."""
        return self.must or self.level.startswith(("SHOULD", "REC"))

    @property
    def witnesses(self):
        """The kinds of evidence of the tests that passed."""
        kinds = {witness(case.script) for case in self.cases if case.result == PASSED}
        return [kind for kind, _ in WITNESSES if kind in kinds]

    @property
    def bad(self):
        return (self.must and self.who in "NTP" and
                self.verdict in (OPEN, FAILING))


def witness(script):
    return next(kind for kind, fits in WITNESSES if fits.match(script))


def table(path):
    """Return the rows of a file with columns separated by tabs, without the head line."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines()
             if line and not line.startswith("#")]
    return [line.split("\t") for line in lines[1:]]


def read_rows(path=HERE / "requirements.tsv"):
    rows = [Row(words) for words in table(path)]
    return {row.id: row for row in rows}


def read_reasons(path=HERE / "reasons.tsv"):
    return {words[0]: words[1:] for words in table(path)}


def have(needs):
    """Check whether the lower layer of a row is in this tree."""
    return needs == "-" or (TREE / "drivers" / f"{needs}_ddp").is_dir()


# Verdicts --------------------------------------------------------------------


def outcome(row):
    results = {case.result for case in row.cases}
    if FAILED in results:
        return FAILING
    return SHOWN if PASSED in results else None


def judge(row, reason):
    """Decide the verdict. A failed test always counts; a departure is reported even if tests
    pass."""
    seen = outcome(row)
    if reason:
        row.words = reason[1]
    if seen == FAILING:
        row.verdict = FAILING
    elif reason and reason[0] in DEPARTURES:
        row.verdict = reason[0]
    elif seen:
        row.verdict = seen
    elif reason:
        row.verdict = reason[0]
    elif not have(row.needs):
        row.verdict = ABSENT
        row.words = f"about {row.needs.upper()}, which is not a lower layer yet"
    else:
        row.verdict = OPEN if row.asks else UNASKED


def judge_all(rows, cases, reasons):
    unknown = set()
    for case in cases:
        for ident in case.rows:
            if ident in rows:
                rows[ident].cases.append(case)
            else:
                unknown.add(ident)
    for row in rows.values():
        judge(row, reasons.get(row.id))
    return unknown


def by_rfc(rows):
    """Return the rows of each RFC; an RFC about an absent lower layer is left out."""
    found = defaultdict(list)
    for row in rows.values():
        found[row.rfc].append(row)
    return {rfc: each for rfc, each in found.items()
            if any(have(row.needs) for row in each)}


# Text ------------------------------------------------------------------------

COLUMNS = (("shown by tests", SHOWN), ("by design", DESIGN),
           ("departed", DEPARTED), (BROKEN, BROKEN),
           ("optional, untested", UNASKED), ("failing", FAILING), ("open", OPEN))


def summary(rows):
    """Return the short table: a line for each RFC."""
    heads = ["RFC", "rows", ABSENT, "applicable"] + [c[0] for c in COLUMNS]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    total = Counter()
    for rfc, each in by_rfc(rows).items():
        count = Counter(row.verdict for row in each)
        count["rows"] = len(each)
        total += count
        lines.append(summary_line(f"{rfc}, {TITLES[rfc]}", count))
    lines.append(summary_line("all", total))
    return "\n".join(lines)


def summary_line(name, count):
    numbers = [count["rows"], count[ABSENT], count["rows"] - count[ABSENT]]
    numbers += [count[verdict] for _, verdict in COLUMNS]
    return f"| {name} | " + " | ".join(map(str, numbers)) + " |"


def evidence(rows):
    """Return a sentence with the kinds of evidence of shown rows; a row may have several."""
    shown = [row for row in rows.values() if row.verdict == SHOWN]
    count = Counter(kind for row in shown for kind in row.witnesses)
    foreign = sum(bool(FOREIGN & set(row.witnesses)) for row in shown)
    alone = sum(row.witnesses in (["unit"], ["proof"], ["proof", "unit"]) for row in shown)
    kinds = ", ".join(f"{kind} {count[kind]}" for kind, _ in WITNESSES if count[kind])
    return (f"Rows that are shown, by witness: {kinds}. {foreign} have a witness that is "
            f"independent of this project; {alone} are about decisions that only unit tests "
            "and proofs check.")


def cell(text):
    return text.replace("|", "\\|")


def shown_by(row):
    """Return the cases of a row, grouped by script."""
    groups = defaultdict(dict)
    for case in row.cases:
        mark = "" if case.result == PASSED else f" ({case.result})"
        groups[case.script][case.name + mark] = True
    said = [f"{script}: {'; '.join(names)}" for script, names in groups.items()]
    if row.words:
        said.insert(0, row.words)
    return cell(". ".join(said))


def section(rfc, rows):
    lines = [f"## RFC {rfc}: {TITLES[rfc]}", "",
             "| ID | section | level | requirement | verdict | witnesses | shown by, or reason |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row.id} | {row.section} | {row.level} | "
                     f"{cell(row.text)} | {row.verdict} | "
                     f"{', '.join(row.witnesses)} | {shown_by(row)} |")
    return "\n".join(lines)


PREFACE = """# Conformance

Each row is a requirement of an RFC for an RNIC, paraphrased. *shown*: the tests
named passed; skipped tests are marked. *by design*: no test can show it, the reason
does. *departed*: a recommendation is not followed, for the reason given. *departed
from a MUST*: the requirement is not met; the reason says why, and what it would take.
*not applicable*: does not concern this RNIC. *unasked*: a permission or a definition
without a test of its own. *open*: neither shown nor explained.

Witnesses: *proof* (CBMC, for every input), *unit*, *raw peer* (part of this project,
builds each byte itself), *tshark* (checks captures), *siw* (the kernel's other iWARP as
peer), *other programs* (those of librdmacm and rdma-core, perftest, tcpdump, the
kernel's consumers), *own program* (verbs and their completions at both ends).
"""


def full_report(rows):
    parts = [PREFACE.rstrip(), summary(rows), evidence(rows), left_out(rows)]
    parts += [section(rfc, each) for rfc, each in by_rfc(rows).items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def left_out(rows):
    names = {row.rfc for row in rows.values()} - set(by_rfc(rows))
    return "\n".join(f"RFC {rfc} ({TITLES[rfc]}) is left out: its lower layer does not exist "
                     "yet." for rfc in sorted(names))


def between_marks(text, new):
    """Return the text with its part between the marks replaced."""
    head, mark, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"no {BEGIN} and {END} in the page")
    return f"{head}{BEGIN}\n{new}\n{END}{tail}"


# Without logs ----------------------------------------------------------------

PATH = re.compile(r"\b(?:drivers|include|scripts|tools|Documentation|providers)"
                  r"/[\w./-]*\w")


def about_departure(row, verdict, why):
    """Yield what is wrong with the kind of a departure."""
    if (verdict == BROKEN) != row.must:
        yield f"verdict of a {row.level} must be: {BROKEN if row.must else DEPARTED}"
    if verdict == BROKEN and "It would take" not in why:
        yield "the reason must say what it would take"


def about_reason(row, words, cited):
    """Yield what is wrong with one line of reasons.tsv."""
    if len(words) != 2 or words[0] not in REASONS:
        yield f"must have a verdict, one of {', '.join(REASONS)}, and a reason"
        return
    verdict, why = words
    if verdict in DEPARTURES:
        yield from about_departure(row, verdict, why)
    elif cited:
        yield f"is also cited by a test: {cited}"
    if len(why.split()) < 5:
        yield "the reason must be a sentence"
    for path in PATH.findall(why):
        if not (TREE / path).exists():
            yield f"no such file: {path}"


def check_reasons(rows, reasons, cited):
    for ident, words in reasons.items():
        if ident not in rows:
            yield f"reasons.tsv: {ident} is not a requirement"
            continue
        for wrong in about_reason(rows[ident], words, cited.get(ident)):
            yield f"reasons.tsv: {ident}: {wrong}"


def check():
    rows, reasons = read_rows(), read_reasons()
    if len(table(HERE / "reasons.tsv")) != len(reasons):
        yield "reasons.tsv: an ID is defined twice"
    cited = citations.in_sources(TREE)
    for ident, where in cited.items():
        if ident not in rows:
            yield f"{where}: {ident} is not a requirement"
    yield from check_reasons(rows, reasons, cited)
    broken = sum(words[0] == BROKEN for words in reasons.values())
    if f" {broken} MUSTs do not hold" not in " ".join((TREE / "README.md").read_text().split()):
        yield f"README.md must say that {broken} MUSTs do not hold"


def run_check():
    bad = list(check())
    for line in bad:
        print(line)
    print(f"conformance: {len(read_rows())} requirements, "
          f"{len(read_reasons())} reasons, {len(bad)} findings")
    return 1 if bad else 0


# With logs -------------------------------------------------------------------


def tell(rows, unknown):
    print(summary(rows))
    print(evidence(rows))
    for verdict in FAILING, OPEN:
        for row in rows.values():
            if row.verdict == verdict and have(row.needs):
                mark = "" if row.bad else " (does not fail the report)"
                print(f"{verdict}: {row.id} {row.level}: {row.text}{mark}")
    for ident in sorted(unknown):
        print(f"cited, but not a requirement: {ident}")


def run_report(args):
    rows = read_rows()
    cases = citations.in_logs(args.logs, TREE)
    if not cases:
        print("report: no result in these logs cites a requirement")
        return 1
    unknown = judge_all(rows, cases, read_reasons())
    if args.out:
        args.out.write_text(full_report(rows), encoding="utf-8")
    if args.page:
        text = args.page.read_text(encoding="utf-8")
        new = f"{summary(rows)}\n\n{evidence(rows)}"
        args.page.write_text(between_marks(text, new), encoding="utf-8")
    tell(rows, unknown)
    bad = sum(row.bad for row in rows.values())
    known = [row for row in rows.values() if row.bad or have(row.needs)]
    print(f"conformance: {len(known)} requirements, {bad} MUSTs are open or failing")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, metavar="FILE")
    parser.add_argument("--page", type=Path, metavar="FILE")
    parser.add_argument("logs", nargs="*", type=Path)
    args = parser.parse_args()
    if args.check:
        return run_check()
    if not args.logs:
        parser.error("missing argument: directories with logs")
    return run_report(args)


if __name__ == "__main__":
    sys.exit(main())
