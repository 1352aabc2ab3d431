#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""report: list which tests show which requirements of the RFCs.

    report.py [--out FILE] [--update] LOGS...
    report.py --check          check the tables, citations and numbers, without logs
    report.py --page           write the numbers of the tables to protocols.md
    report.py --suites         print the system tests that cite requirements

LOGS are directories as `make check` (CHECK_LOG) and `run --out` leave them. The rows are those
of requirements.tsv. A system test cites them in brackets after its name, in its KTAP. A unit
test cites them in the comments above and inside it; its result is that of the host tests. A
proof cites them in its MUST(). Requirements that no test shows are in reasons.tsv.

shown.tsv claims which requirements tests show, and with which kinds of witnesses. The numbers in
protocols.md are counted from these three tables. A run with LOGS fails if it does not confirm
each claim, if a test that cites requirements did not run, or if a MUST that concerns the modules
is open or fails. --update instead writes the claims that the run confirms, and the page. It
writes nothing if a test did not run.
"""
import argparse
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import citations
from citations import Case, FAILED, PASSED, SKIPPED

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[2]
PAGE = TREE / "Documentation" / "protocols.md"
CLAIMS = HERE / "shown.tsv"
BEGIN, END = "<!-- conformance: begin -->", "<!-- conformance: end -->"

# Name of the script in a Case that comes from a line of shown.tsv and not from a log
CLAIM = "claim"
SHOWN, FAILING, OPEN, UNASKED = "shown", "failing", "open", "unasked"
ABSENT, DESIGN, DEPARTED = "not applicable", "by design", "departed"
BROKEN = "departed from a MUST"
DEPARTURES = (DEPARTED, BROKEN)
REASONS = (ABSENT, DESIGN, *DEPARTURES)
# The kind of evidence by "SCRIPT: CASE"; the first match counts. Those in FOREIGN are independent
# of this project, so they can reveal its misunderstandings. A case that only the project's own
# reader of captures (tools/testing/rawpeer/pcap.py) checks is not independent.
WITNESSES = (
    ("proof", re.compile(r"proof:")),
    ("unit", re.compile(r"unit test:")),
    ("raw peer", re.compile(r"wire_")),
    ("pcap reader", re.compile(
        r"capture\.sh: .*: (the longest FPDU fills a segment|each segment begins with an FPDU|"
        r"most segments begin with an FPDU|markers are in the right places)$|"
        r"interop\.sh: PAD sent to siw is zero$")),
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
    def is_must(self):
        return self.level.startswith("MUST") or self.level == "REQ"

    @property
    def needs_evidence(self):
        """Return true if a test must show this requirement or an explanation must exist."""
        return self.is_must or self.level.startswith(("SHOULD", "REC"))

    @property
    def witnesses(self):
        """Return the kinds of evidence of the tests that passed."""
        kinds = {get_witness_kind(case) for case in self.cases if case.result == PASSED}
        return [kind for kind, _ in WITNESSES if kind in kinds]

    @property
    def is_bad(self):
        return (self.is_must and self.who in "NTP" and
                self.verdict in (OPEN, FAILING))


def get_witness_kind(case):
    if case.script == CLAIM:
        return case.name
    return next(kind for kind, fits in WITNESSES
                if fits.match(f"{case.script}: {case.name}"))


def read_table(path):
    """Return the rows of a file with columns separated by tabs, without its heading and comments."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines()
             if line and not line.startswith("#")]
    return [line.split("\t") for line in lines[1:]]


def read_rows(path=HERE / "requirements.tsv"):
    rows = [Row(words) for words in read_table(path)]
    return {row.id: row for row in rows}


def read_reasons(path=HERE / "reasons.tsv"):
    return {words[0]: words[1:] for words in read_table(path)}


def read_claims(path=CLAIMS):
    """Return the kinds of witnesses of each row that the table claims as shown."""
    return {words[0]: words[1].split(", ") for words in read_table(path)}


CLAIMS_HEAD = """# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Requirements that tests show to be met, and the kinds of tests; `make conformance` writes this
# table, and every run of `make check` has to confirm each line.
ID\twitnesses
"""


def write_claims(rows, path=CLAIMS):
    path.write_text(CLAIMS_HEAD + "".join(
        f"{row.id}\t{', '.join(row.witnesses)}\n"
        for row in rows.values() if row.verdict == SHOWN), encoding="utf-8")


def judge_rows_by_claims(claims):
    """Return the rows with the verdicts of the tables, without logs."""
    rows = read_rows()
    assign_cases_and_judge_rows(rows, [Case(CLAIM, kind, [ident], PASSED)
                          for ident, kinds in claims.items() for kind in kinds], read_reasons())
    return rows


def has_lower_layer(needs):
    """Check whether the lower layer of a row is in this tree."""
    return needs == "-" or (TREE / "drivers" / f"{needs}_ddp").is_dir()


# Verdicts --------------------------------------------------------------------


def get_outcome(row):
    results = {case.result for case in row.cases}
    if FAILED in results:
        return FAILING
    return SHOWN if PASSED in results else None


def judge_row(row, reason):
    """Decide the verdict. A failed test always counts; a departure is reported even if tests
    pass."""
    seen = get_outcome(row)
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
    elif not has_lower_layer(row.needs):
        row.verdict = ABSENT
        row.words = f"about {row.needs.upper()}, which is not a lower layer yet"
    else:
        row.verdict = OPEN if row.needs_evidence else UNASKED


def assign_cases_and_judge_rows(rows, cases, reasons):
    unknown = set()
    for case in cases:
        for ident in case.rows:
            if ident in rows:
                rows[ident].cases.append(case)
            else:
                unknown.add(ident)
    for row in rows.values():
        judge_row(row, reasons.get(row.id))
    return unknown


def group_by_rfc(rows):
    """Return {RFC: its rows}, without RFCs about a lower layer that is not in this tree."""
    found = defaultdict(list)
    for row in rows.values():
        found[row.rfc].append(row)
    return {rfc: each for rfc, each in found.items()
            if any(has_lower_layer(row.needs) for row in each)}


# Text ------------------------------------------------------------------------

COLUMNS = (("shown by tests", SHOWN), ("by design", DESIGN),
           ("departed", DEPARTED), (BROKEN, BROKEN),
           ("optional, untested", UNASKED), ("failing", FAILING), ("open", OPEN))


def format_summary(rows):
    """Return the short table: a line for each RFC."""
    heads = ["RFC", "rows", ABSENT, "applicable"] + [c[0] for c in COLUMNS]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    total = Counter()
    for rfc, each in group_by_rfc(rows).items():
        count = Counter(row.verdict for row in each)
        count["rows"] = len(each)
        total += count
        lines.append(format_summary_line(f"{rfc}, {TITLES[rfc]}", count))
    lines.append(format_summary_line("all", total))
    return "\n".join(lines)


def format_summary_line(name, count):
    numbers = [count["rows"], count[ABSENT], count["rows"] - count[ABSENT]]
    numbers += [count[verdict] for _, verdict in COLUMNS]
    return f"| {name} | " + " | ".join(map(str, numbers)) + " |"


def format_evidence(rows):
    """Return a sentence with the kinds of evidence of shown rows; a row may have several."""
    shown = [row for row in rows.values() if row.verdict == SHOWN]
    count = Counter(kind for row in shown for kind in row.witnesses)
    foreign = sum(bool(FOREIGN & set(row.witnesses)) for row in shown)
    alone = sum(row.witnesses in (["unit"], ["proof"], ["proof", "unit"]) for row in shown)
    kinds = ", ".join(f"{kind} {count[kind]}" for kind, _ in WITNESSES if count[kind])
    return (f"Rows that are shown, by witness: {kinds}. {foreign} have a witness that is "
            f"independent of this project; {alone} are about decisions that only unit tests "
            "and proofs check.")


def escape_cell(text):
    return text.replace("|", "\\|")


def format_cases(row):
    """Return the cases of a row, grouped by script."""
    groups = defaultdict(dict)
    for case in row.cases:
        mark = "" if case.result == PASSED else f" ({case.result})"
        groups[case.script][case.name + mark] = True
    said = [f"{script}: {'; '.join(names)}" for script, names in groups.items()]
    if row.words:
        said.insert(0, row.words)
    return escape_cell(". ".join(said))


def format_section(rfc, rows):
    lines = [f"## RFC {rfc}: {TITLES[rfc]}", "",
             "| ID | section | level | requirement | verdict | witnesses | shown by, or reason |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row.id} | {row.section} | {row.level} | "
                     f"{escape_cell(row.text)} | {row.verdict} | "
                     f"{', '.join(row.witnesses)} | {format_cases(row)} |")
    return "\n".join(lines)


PREFACE = """# Conformance

Each row is a requirement of an RFC for an RNIC, paraphrased. *shown*: the tests
named passed; skipped tests are marked. *by design*: no test can show it, the reason
does. *departed*: a recommendation is not followed, for the reason given. *departed
from a MUST*: the requirement is not met; the reason says why, and what it would take.
*not applicable*: does not concern this RNIC. *unasked*: a permission or a definition
without a test of its own. *open*: neither shown nor explained.

Witnesses: *proof* (CBMC, for every input), *unit*, *raw peer* (part of this project,
builds each byte itself), *pcap reader* (part of this project, reads captures),
*tshark* (checks captures), *siw* (the kernel's other iWARP as peer), *other programs*
(those of librdmacm and rdma-core, perftest, tcpdump, the kernel's consumers), *own
program* (verbs and their completions at both ends).
"""


def format_report(rows):
    parts = [PREFACE.rstrip(), format_summary(rows), format_evidence(rows), format_omitted_rfcs(rows)]
    parts += [format_section(rfc, each) for rfc, each in group_by_rfc(rows).items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def format_page_part(rows):
    """Return the text that the page must have between its marks."""
    return f"{format_summary(rows)}\n\n{format_evidence(rows)}"


def write_page(rows):
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replace_between_marks(text, format_page_part(rows)), encoding="utf-8")


def format_omitted_rfcs(rows):
    names = {row.rfc for row in rows.values()} - set(group_by_rfc(rows))
    return "\n".join(f"RFC {rfc} ({TITLES[rfc]}) is left out: its lower layer does not exist "
                     "yet." for rfc in sorted(names))


def replace_between_marks(text, new):
    """Return the text with its part between the marks replaced."""
    head, mark, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"no {BEGIN} and {END} in the page")
    return f"{head}{BEGIN}\n{new}\n{END}{tail}"


# Without logs ----------------------------------------------------------------

PATH = re.compile(r"\b(?:drivers|include|scripts|tools|Documentation|providers)"
                  r"/[\w./-]*\w")


def check_departure(row, verdict, why):
    """Yield a message if the verdict does not fit the level of the requirement: a MUST that is not
    followed is BROKEN, any other requirement DEPARTED."""
    if (verdict == BROKEN) != row.is_must:
        yield f"verdict of a {row.level} must be: {BROKEN if row.is_must else DEPARTED}"
    if verdict == BROKEN and "It would take" not in why:
        yield "the reason must say what it would take"


def check_reason(row, words, cited):
    """Yield what is wrong with one line of reasons.tsv."""
    if len(words) != 2 or words[0] not in REASONS:
        yield f"must have a verdict, one of {', '.join(REASONS)}, and a reason"
        return
    verdict, why = words
    if verdict in DEPARTURES:
        yield from check_departure(row, verdict, why)
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
        for wrong in check_reason(rows[ident], words, cited.get(ident)):
            yield f"reasons.tsv: {ident}: {wrong}"


def check_claims(rows, claims, reasons, cited):
    """Yield claims without a test, and tests without a claim."""
    for ident in claims:
        if ident not in rows:
            yield f"shown.tsv: {ident} is not a requirement"
        elif ident not in cited:
            yield f"shown.tsv: {ident}: no test cites it"
        elif ident in reasons:
            yield f"shown.tsv: {ident} is also in reasons.tsv"
    for ident, where in cited.items():
        if ident in rows and ident not in claims and ident not in reasons:
            yield f"{where} cites {ident}, but shown.tsv does not claim it"
    for row in rows.values():
        if row.is_must and row.who in "NTP" and has_lower_layer(row.needs) and \
                row.id not in claims and row.id not in reasons:
            yield f"{row.id}, a {row.level}, is neither in shown.tsv nor in reasons.tsv"
    for ident, kinds in claims.items():
        for kind in set(kinds) - {kind for kind, _ in WITNESSES}:
            yield f"shown.tsv: {ident}: no such kind of witness: {kind}"


def check_page(text, rows):
    """Yield a line if the page does not have the numbers of the tables."""
    if replace_between_marks(text, format_page_part(rows)) != text:
        yield ("protocols.md does not have the numbers of the tables; "
               "tools/testing/conformance/report.py --page writes them")


def find_faults():
    rows, reasons, claims = read_rows(), read_reasons(), read_claims()
    if len(read_table(HERE / "reasons.tsv")) != len(reasons):
        yield "reasons.tsv: an ID is defined twice"
    cited = citations.find_citing_files(TREE)
    for ident, where in cited.items():
        if ident not in rows:
            yield f"{where}: {ident} is not a requirement"
    yield from check_reasons(rows, reasons, cited)
    yield from check_claims(rows, claims, reasons, cited)
    yield from check_page(PAGE.read_text(encoding="utf-8"), judge_rows_by_claims(claims))
    broken = sum(words[0] == BROKEN for words in reasons.values())
    if f" {broken} MUSTs do not hold" not in " ".join((TREE / "README.md").read_text().split()):
        yield f"README.md must say that {broken} MUSTs do not hold"


def run_check():
    bad = list(find_faults())
    for line in bad:
        print(line)
    print(f"conformance: {len(read_rows())} requirements, {len(read_claims())} claims, "
          f"{len(read_reasons())} reasons, {len(bad)} findings")
    return 1 if bad else 0


# With logs -------------------------------------------------------------------


def find_unconfirmed_claims(rows, claims):
    """Yield the claims that this run does not confirm."""
    for ident, kinds in claims.items():
        row = rows.get(ident)
        if not row or row.verdict != SHOWN:
            yield f"{ident} is claimed as shown; no test that cites it has passed"
            continue
        lost = [kind for kind in kinds if kind not in row.witnesses]
        if lost:
            yield f"{ident} is claimed as shown by: {', '.join(lost)}; none passed in this run"


def count_new_claims(rows, claims):
    """Return the number of rows for which the run shows more than the table claims."""
    return sum(row.verdict == SHOWN and not set(row.witnesses) <= set(claims.get(row.id, ()))
               for row in rows.values())


def print_findings(rows, unknown):
    print(format_summary(rows))
    print(format_evidence(rows))
    for verdict in FAILING, OPEN:
        for row in rows.values():
            if row.verdict == verdict and has_lower_layer(row.needs):
                mark = "" if row.is_bad else " (does not fail the report)"
                print(f"{verdict}: {row.id} {row.level}: {row.text}{mark}")
    for ident in sorted(unknown):
        print(f"cited, but not a requirement: {ident}")


def run_report(args):
    rows = read_rows()
    cases = citations.read_logs(args.logs, TREE)
    if not cases:
        print("report: no result in these logs cites a requirement")
        return 1
    unknown = assign_cases_and_judge_rows(rows, cases, read_reasons())
    if args.out:
        args.out.write_text(format_report(rows), encoding="utf-8")
    print_findings(rows, unknown)
    silent = citations.find_tests_without_result(args.logs, TREE, cases)
    lost = [] if args.update else list(find_unconfirmed_claims(rows, read_claims()))
    for line in [*(f"did not run: {name}" for name in silent), *lost]:
        print(line)
    if args.update and not silent:
        write_claims(rows)
        write_page(rows)
    elif args.update:
        print("shown.tsv and protocols.md are unchanged, because tests did not run")
    elif more := count_new_claims(rows, read_claims()):
        print(f"{more} rows have witnesses that shown.tsv does not claim; "
              "make conformance adds them")
    bad = sum(row.is_bad for row in rows.values())
    known = [row for row in rows.values() if row.is_bad or has_lower_layer(row.needs)]
    print(f"conformance: {len(known)} requirements, {bad} MUSTs are open or failing, "
          f"{len(silent)} tests did not run, {len(lost)} claims are not confirmed")
    return 1 if bad or silent or lost else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--suites", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--out", type=Path, metavar="FILE")
    parser.add_argument("logs", nargs="*", type=Path)
    args = parser.parse_args()
    if args.check:
        return run_check()
    if args.suites:
        print("\n".join(citations.list_citing_suites(TREE)))
        return 0
    if args.page:
        write_page(judge_rows_by_claims(read_claims()))
        return 0
    if not args.logs:
        parser.error("missing argument: directories with logs")
    return run_report(args)


if __name__ == "__main__":
    sys.exit(main())
