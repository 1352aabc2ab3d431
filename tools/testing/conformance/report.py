#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""report: which requirement of which RFC is shown by which test.

    report.py [--out FILE] [--page FILE] LOGS...
    report.py --check          what needs no logs: are the tables and citations sound?

LOGS are directories as `make check` (CHECK_LOG) and `run --out` leave them.
The rows are those of requirements.tsv.  A system test cites them in brackets
behind its name, in its KTAP; a unit test in the comments above and inside it,
its result is that of the host tests; a proof in its MUST().  What no test shows
stands in reasons.tsv.  The exit status is 1 if a MUST that concerns the modules is open
or fails.
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
# Where a script's evidence comes from; the first that fits.  FOREIGN are those that
# can contradict us: none of them was written here.
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
    """A requirement, and what there is to say of it."""

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
        """Something that has to be shown or explained."""
        return self.must or self.level.startswith(("SHOULD", "REC"))

    @property
    def witnesses(self):
        """The kinds of what passed."""
        kinds = {witness(case.script) for case in self.cases if case.result == PASSED}
        return [kind for kind, _ in WITNESSES if kind in kinds]

    @property
    def bad(self):
        return (self.must and self.who in "NTP" and
                self.verdict in (OPEN, FAILING))


def witness(script):
    return next(kind for kind, fits in WITNESSES if fits.match(script))


def table(path):
    """The rows of a file of words between tabs, its head line left out."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines()
             if line and not line.startswith("#")]
    return [line.split("\t") for line in lines[1:]]


def read_rows(path=HERE / "requirements.tsv"):
    rows = [Row(words) for words in table(path)]
    return {row.id: row for row in rows}


def read_reasons(path=HERE / "reasons.tsv"):
    return {words[0]: words[1:] for words in table(path)}


def have(needs):
    """Is the lower layer that a row is about in this tree?"""
    return needs == "-" or (TREE / "drivers" / f"{needs}_ddp").is_dir()


# Verdicts --------------------------------------------------------------------


def outcome(row):
    results = {case.result for case in row.cases}
    if FAILED in results:
        return FAILING
    return SHOWN if PASSED in results else None


def judge(row, reason):
    """A failure is one, whatever is said; a departure is told though tests pass."""
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
        row.words = f"about {row.needs.upper()}, which is no lower layer yet"
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
    """Of each RFC its rows; an RFC about an absent lower layer is left out."""
    found = defaultdict(list)
    for row in rows.values():
        found[row.rfc].append(row)
    return {rfc: each for rfc, each in found.items()
            if any(have(row.needs) for row in each)}


# Words -----------------------------------------------------------------------

COLUMNS = (("shown by tests", SHOWN), ("by design", DESIGN),
           ("departed", DEPARTED), (BROKEN, BROKEN),
           ("optional, untested", UNASKED), ("failing", FAILING), ("open", OPEN))


def summary(rows):
    """The short table: a line for each RFC."""
    heads = ["RFC", "rows", ABSENT, "concern us"] + [c[0] for c in COLUMNS]
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
    """What stands behind "shown", in numbers; a row may have several."""
    shown = [row for row in rows.values() if row.verdict == SHOWN]
    count = Counter(kind for row in shown for kind in row.witnesses)
    foreign = sum(bool(FOREIGN & set(row.witnesses)) for row in shown)
    alone = sum(row.witnesses in (["unit"], ["proof"], ["proof", "unit"]) for row in shown)
    kinds = ", ".join(f"{kind} {count[kind]}" for kind, _ in WITNESSES if count[kind])
    return (f"Rows that are shown, by witness: {kinds}. {foreign} have one that is not "
            f"ours; {alone} are about decisions that nothing but unit tests and proofs "
            "looks at.")


def cell(text):
    return text.replace("|", "\\|")


def shown_by(row):
    """The cases of a row, those of a script together."""
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
             "| ID | section | level | requirement | verdict | witnesses | shown by, or why |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row.id} | {row.section} | {row.level} | "
                     f"{cell(row.text)} | {row.verdict} | "
                     f"{', '.join(row.witnesses)} | {shown_by(row)} |")
    return "\n".join(lines)


PREFACE = """# Conformance

Each row is something that an RFC asks of an RNIC, in our words. *shown*: the
tests named passed; one that did not run says so. *by design*: no test can show
it, the reason can. *departed*: done otherwise than recommended, for the reason
given. *departed from a MUST*: it does not hold; the reason says why not and what
it would take. *not applicable*: does not concern this RNIC. *unasked*: a
permission or a definition without a test of its own. *open*: neither shown nor
explained.

Witnesses: *proof* (CBMC, for every input), *unit*, *raw peer* (ours, it builds each
octet itself), *tshark* (what it says of captures), *siw* (the kernel's other iWARP at
the other end), *other programs* (librdmacm's and rdma-core's, perftest, tcpdump, the kernel's
consumers), *own program* (verbs and their completions at both ends).
"""


def full_report(rows):
    parts = [PREFACE.rstrip(), summary(rows), evidence(rows), left_out(rows)]
    parts += [section(rfc, each) for rfc, each in by_rfc(rows).items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def left_out(rows):
    names = {row.rfc for row in rows.values()} - set(by_rfc(rows))
    return "\n".join(f"RFC {rfc} ({TITLES[rfc]}) is left out: there is no such "
                     "lower layer yet." for rfc in sorted(names))


def between_marks(text, new):
    """The text with its part between the marks replaced."""
    head, mark, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"no {BEGIN} and {END}")
    return f"{head}{BEGIN}\n{new}\n{END}{tail}"


# Without logs ----------------------------------------------------------------

PATH = re.compile(r"\b(?:drivers|include|scripts|tools|Documentation|providers)"
                  r"/[\w./-]*\w")


def about_departure(row, verdict, why):
    """What is wrong with calling this a departure of this kind."""
    if (verdict == BROKEN) != row.must:
        yield f"a {row.level} is {BROKEN if row.must else DEPARTED}"
    if verdict == BROKEN and "It would take" not in why:
        yield "say what it would take"


def about_reason(row, words, cited):
    """What is wrong with one line of reasons.tsv."""
    if len(words) != 2 or words[0] not in REASONS:
        yield f"one of {', '.join(REASONS)}, and why"
        return
    verdict, why = words
    if verdict in DEPARTURES:
        yield from about_departure(row, verdict, why)
    elif cited:
        yield f"a test cites it, too: {cited}"
    if len(why.split()) < 5:
        yield "say why, in words"
    for path in PATH.findall(why):
        if not (TREE / path).exists():
            yield f"there is no {path}"


def check_reasons(rows, reasons, cited):
    for ident, words in reasons.items():
        if ident not in rows:
            yield f"reasons.tsv: {ident} is no requirement"
            continue
        for wrong in about_reason(rows[ident], words, cited.get(ident)):
            yield f"reasons.tsv: {ident}: {wrong}"


def check():
    rows, reasons = read_rows(), read_reasons()
    if len(table(HERE / "reasons.tsv")) != len(reasons):
        yield "reasons.tsv: an ID stands there twice"
    cited = citations.in_sources(TREE)
    for ident, where in cited.items():
        if ident not in rows:
            yield f"{where}: {ident} is no requirement"
    yield from check_reasons(rows, reasons, cited)
    broken = sum(words[0] == BROKEN for words in reasons.values())
    if f" {broken} MUSTs do not hold" not in " ".join((TREE / "README.md").read_text().split()):
        yield f"README.md does not say that {broken} MUSTs do not hold"


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
        print(f"cited, and no requirement: {ident}")


def run_report(args):
    rows = read_rows()
    cases = citations.in_logs(args.logs, TREE)
    if not cases:
        print("report: no result of a test that cites a requirement in these logs")
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
    print(f"conformance: {len(known)} requirements, {bad} of those that are a "
          "MUST are open or failing")
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
        parser.error("which logs?")
    return run_report(args)


if __name__ == "__main__":
    sys.exit(main())
