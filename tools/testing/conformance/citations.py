# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Find which tests cite which requirements, their results, and which did not run."""

import re
import subprocess
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

ROW = re.compile(r"\b(SCTPDDP|DDP|MPA2|MPA|RDMAP|EXT|SEC)-(\d+)"
                 r"(?:\s+to\s+(?:\1-)?(\d+)\b)?")
RESULT = re.compile(r"^[#\s]*(not )?ok\b(?: (\d+))?(?: -)?\s+(.*?)\s*$")
DIRECTIVE = re.compile(r"\s#\s*(skip|todo|xfail)\b.*$", re.I)
IN_BRACKETS = re.compile(r"^(.*?)\s*\[([^][]*)\]$")
SCRIPT = re.compile(r"^[#\s]*# selftests: rnic_sw: (\S+)$")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
UNIT_CASE = re.compile(r"\bKUNIT_CASE(?:_PARAM)?\((\w+)")
SUITE = re.compile(r"struct kunit_suite \w+ = \{.*?\.name\s*=\s*\"([^\"]+)\"",
                   re.S)
UNIT_TESTS = "drivers/*/tests/*_kunit.c", "tools/testing/host/unit/*_kunit.c"
PROOFS = "tools/testing/proofs/*.c"
PROVES = re.compile(r"^void prove_(\w+)\(void\)$", re.M)
MUST = re.compile(r"\bMUST\(\s*\"([^\"]*)\"")
SLOW = re.compile(r"^ \* prove_(\w+):.*\bSlow\b", re.M)
SELFTESTS = "tools/testing/selftests/rnic_sw"
SYSTEM_TESTS = f"{SELFTESTS}/**/*"
OTHER_SCRIPT = re.compile(r"\bwire_\w+")


class Case:
    """A test case: its script ("unit test" or "proof" for these), name, requirement IDs and
    result."""

    def __init__(self, script, name, rows, result):
        self.script, self.name = script, name
        self.rows, self.result = rows, result


def find_requirement_ids(text):
    """Return the IDs in a text; "DDP-10 to DDP-14" and "DDP-10 to 14" are five."""
    found = []
    for match in ROW.finditer(text):
        first = int(match[2])
        last = int(match[3] or first)
        found += [f"{match[1]}-{n}" for n in range(first, last + 1)]
    return list(dict.fromkeys(found))


# System tests ----------------------------------------------------------------


def parse_result(line):
    """Return name and result of a result line, or None for any other line."""
    match = RESULT.match(line)
    if not match or not (match[1] or match[2]):
        return None
    directive = DIRECTIVE.search(match[3])
    name = match[3][:directive.start() if directive else None].rstrip()
    if match[1]:
        return name, FAILED
    return name, SKIPPED if directive else PASSED


def read_ktap_cases(lines, script):
    """Yield the cases of a log that cite requirements."""
    for line in lines:
        told = SCRIPT.match(line)
        if told:
            script = told[1]
        found = parse_result(line)
        cited = found and IN_BRACKETS.match(found[0])
        rows = find_requirement_ids(cited[2]) if cited else []
        if rows:
            yield Case(script, cited[1], rows, found[1])


# Unit tests ------------------------------------------------------------------


def find_comments_before_function_end(text, name, start):
    """Return the comments from offset @start to the end of the function @name, and the offset of
    that end."""
    head = re.search(rf"^static void {name}\(struct kunit \*\w+\)$", text, re.M)
    if not head:
        return "", start
    end = text.find("\n}", head.start())
    return " ".join(COMMENT.findall(text[start:end])), end


def read_unit_test_cases(text):
    """Yield (suite.case, IDs) of each case; a comment belongs to the case that follows the
    comment."""
    suite = SUITE.search(text)
    names = UNIT_CASE.findall(text)
    places = {name: text.find(f"void {name}(struct kunit") for name in names}
    start = 0
    for name in sorted(names, key=places.get):
        said, start = find_comments_before_function_end(text, name, start)
        yield f"{suite[1] if suite else '?'}.{name}", find_requirement_ids(said)


def list_unit_tests(tree):
    """Return the files of the unit tests."""
    return sorted(path for where in UNIT_TESTS for path in Path(tree).glob(where))


def read_unit_test_citations(tree):
    found = {}
    for path in list_unit_tests(tree):
        found.update(read_unit_test_cases(path.read_text(encoding="utf-8")))
    return found


def read_host_log_cases(lines, units):
    """Yield the cases of the host tests, which print "ok 1 - suite.case"."""
    for line in lines:
        found = parse_result(line)
        if found and units.get(found[0]):
            yield Case("unit test", found[0], units[found[0]], found[1])


# Proofs ----------------------------------------------------------------------


def read_proof_cases(text, stem):
    """Yield (file.proof, IDs) of each proof: the MUST()s in it and in the helpers
    before it."""
    start = 0
    for head in PROVES.finditer(text):
        end = text.find("\n}", head.start())
        yield f"{stem}.{head[1]}", find_requirement_ids(" ".join(MUST.findall(text[start:end])))
        start = end


def read_proof_citations(tree):
    found = {}
    for path in sorted(Path(tree).glob(PROOFS)):
        found.update(read_proof_cases(path.read_text(encoding="utf-8"), path.stem))
    return found


def list_slow_proofs(tree):
    """Return the proofs that scripts/prove --quick, and so make check, leaves out."""
    return {f"{path.stem}.{name}" for path in Path(tree).glob(PROOFS)
            for name in SLOW.findall(path.read_text(encoding="utf-8"))}


def read_proof_log_cases(lines, proofs):
    """Yield the results of scripts/prove, which prints "ok 1 file.proof: result"."""
    for line in lines:
        found = parse_result(line)
        name = found and found[0].partition(":")[0]
        if proofs.get(name):
            yield Case("proof", name, proofs[name], found[1])


# Which tests did not run -----------------------------------------------------


def read_text(path):
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def has_citing_cases(tests, script):
    """Check whether the cases of a script cite requirements: in the script, in the script
    of the same cases over TCP, in the C program of either, or in a script that it imports."""
    cases = script.removeprefix("sctp_")
    own = read_text(tests / script) + read_text(tests / cases)
    paths = list((tests / "src" / Path(cases).stem).glob("*.c"))
    for name in set(OTHER_SCRIPT.findall(own)):
        paths += [tests / f"{name}.py", tests / "lib" / f"{name}.py"]
    return bool(find_requirement_ids(own + "".join(map(read_text, paths))))


def list_citing_suites(tree):
    """Return the system tests that cite requirements and that make check runs. Other system tests,
    such as those in consumers/, have their own commands and are not in this list."""
    tests = Path(tree) / SELFTESTS
    listed = subprocess.run(["make", "-s", "-C", str(tests), "list"], check=True,
                            capture_output=True, text=True).stdout.split()
    return [script for script in listed
            if (tests / script).is_file() and has_citing_cases(tests, script)]


def find_completed_suites(lines):
    """Yield the suites that, according to a log, ran to their end and were not skipped."""
    for line in lines:
        found = parse_result(line)
        if found and found[1] != SKIPPED:
            name = found[0].partition("#")[0].strip()
            if name.startswith("selftests: rnic_sw: "):
                yield name.rpartition(" ")[2]


def find_tests_without_result(directories, tree, cases):
    """Return the suites, unit tests and proofs that cite requirements and that make check runs, but
    that have no result in these logs."""
    ended = set()
    for directory in directories:
        for path in list_log_files(directory):
            ended.update(find_completed_suites(path.read_text("utf-8", "replace").splitlines()))
    told = {(case.script, case.name) for case in cases if case.result != SKIPPED}
    units = [name for name, rows in read_unit_test_citations(tree).items() if rows]
    proofs = [name for name, rows in read_proof_citations(tree).items()
              if rows and name not in list_slow_proofs(tree)]
    return [*(name for name in list_citing_suites(tree) if name not in ended),
            *find_names_without_result("unit test", units, told), *find_names_without_result("proof", proofs, told)]


def find_names_without_result(kind, names, told):
    """Return the names of this kind of test that have no result. If no test of this kind has a
    result, return only the kind."""
    missing = [name for name in names if (kind, name) not in told]
    if names and len(missing) == len(names):
        return [f"all {kind}s"]
    return [f"{kind} {name}" for name in missing]


# All sources and logs --------------------------------------------------------


def list_log_files(directory):
    return sorted(directory.glob("*.log")) + sorted(directory.glob("*/ktap.log"))


def read_logs(directories, tree):
    """Return every case in these logs once, with the worst of its results."""
    order = (FAILED, PASSED, SKIPPED)
    units, proofs = read_unit_test_citations(tree), read_proof_citations(tree)
    found = {}
    for directory in directories:
        for path in list_log_files(directory):
            lines = path.read_text("utf-8", "replace").splitlines()
            for case in [*read_ktap_cases(lines, path.stem), *read_host_log_cases(lines, units),
                         *read_proof_log_cases(lines, proofs)]:
                key = case.script, case.name
                old = found.get(key)
                if not old or order.index(case.result) < order.index(old.result):
                    found[key] = case
    return list(found.values())


def find_citing_files(tree):
    """Return for each ID one file that cites it."""
    found = {}
    paths = [*sorted(Path(tree).glob(SYSTEM_TESTS)), *list_unit_tests(tree),
             *sorted(Path(tree).glob(PROOFS))]
    for path in paths:
        if path.suffix not in (".c", ".h", ".py", ".sh"):
            continue
        for ident in find_requirement_ids(path.read_text(encoding="utf-8")):
            found.setdefault(ident, path.relative_to(tree))
    return found
