#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test report.py and citations.py with generated logs, sources and tables."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import citations                                    # noqa: E402
import report                                       # noqa: E402
from citations import Case, FAILED, PASSED, SKIPPED  # noqa: E402

KTAP = """\
run: starting the bed
# selftests: rnic_sw: wire_x.py
# TAP version 13
# ok 1 a good one [DDP-1 DDP-10 to DDP-12 the ABI]
# not ok 2 ok, a bad one [MPA2-3]
# ok 3 left out [DDP-2] # SKIP no netem (here)
# ok 4 cites nothing
# not ok 5 says it is to do [DDP-3] # TODO later
not ok 1 selftests: rnic_sw: wire_x.py # exit=1
# selftests: rnic_sw: next.sh
# ok 1 another one [DDP-2]
ok 99999 prose in a program's output, DDP-9
"""

UNIT = """
/* DDP-4: of the first test, and so is its helper's, DDP-5 */
static int helper(void)
{
	return 0;
}

static void first(struct kunit *test)
{
	/* RDMAP-50 to 52 */
}

/* MPA-7 */
static void second(struct kunit *test)
{
}

static struct kunit_case cases[] = {
	KUNIT_CASE(first),
	KUNIT_CASE_PARAM(second, gen),
	{}
};

static struct kunit_suite some_suite = {
	.name = "some",
	.test_cases = cases,
};
"""

PROOF = """
/* DDP-9: what it is about */
static void asked(void)
{
	MUST("DDP-1, DDP-2: first", x);
}

void prove_one(void)
{
	asked();
	MUST("no overflow", y);
}

void prove_other(void)
{
	MUST(
		"SEC-3: never", z);
}
"""


def make_row(ident, level="MUST", who="N", needs="-", rfc="5041"):
    return report.Row([ident, rfc, "1", level, who, needs, "something"])


def judge_row_with_results(line, results=(), reason=None):
    line.cases = [Case("s", str(n), [], r) for n, r in enumerate(results)]
    report.judge_row(line, reason)
    return line


class Citations(unittest.TestCase):
    def test_ranges_are_expanded(self):
        self.assertEqual(citations.find_requirement_ids("DDP-9 to DDP-11, MPA2-4, MPA-1 to 2"),
                         ["DDP-9", "DDP-10", "DDP-11", "MPA2-4", "MPA-1",
                          "MPA-2"])
        self.assertEqual(citations.find_requirement_ids("N-8, SCTPDDP-1 to MPA-3"),
                         ["SCTPDDP-1", "MPA-3"])

    def test_ktap_cases_are_read(self):
        found = {(c.script, c.name): c
                 for c in citations.read_ktap_cases(KTAP.splitlines(), "stem")}
        self.assertEqual(len(found), 5)
        good = found["wire_x.py", "a good one"]
        self.assertEqual(good.rows, ["DDP-1", "DDP-10", "DDP-11", "DDP-12"])
        self.assertEqual(good.result, PASSED)
        self.assertEqual(found["wire_x.py", "ok, a bad one"].result, FAILED)
        self.assertEqual(found["wire_x.py", "left out"].result, SKIPPED)
        self.assertEqual(found["wire_x.py", "says it is to do"].result, FAILED)
        self.assertEqual(found["next.sh", "another one"].rows, ["DDP-2"])

    def test_unit_test_comments_are_read(self):
        found = dict(citations.read_unit_test_cases(UNIT))
        self.assertEqual(found, {
            "some.first": ["DDP-4", "DDP-5", "RDMAP-50", "RDMAP-51",
                           "RDMAP-52"],
            "some.second": ["MPA-7"]})
        cases = list(citations.read_host_log_cases(
            ["ok 1 - some.first", "not ok 2 - some.second", "ok 3 - other.x"],
            found))
        self.assertEqual([c.result for c in cases], [PASSED, FAILED])

    def test_proof_assertions_are_read(self):
        found = dict(citations.read_proof_cases(PROOF, "file"))
        self.assertEqual(found, {"file.one": ["DDP-1", "DDP-2"],
                                 "file.other": ["SEC-3"]})
        cases = list(citations.read_proof_log_cases(
            ["ok 1 file.one: 7 properties, as before", "not ok 2 file.other: 1 property",
             "ok 3 file.third: 2"], found))
        self.assertEqual([(c.name, c.result) for c in cases],
                         [("file.one", PASSED), ("file.other", FAILED)])

    def test_worst_result_counts(self):
        with tempfile.TemporaryDirectory() as name:
            logs = Path(name)
            (logs / "a.log").write_text("ok 1 x [DDP-1]\n", encoding="utf-8")
            (logs / "sub").mkdir()
            (logs / "sub" / "ktap.log").write_text(
                "# selftests: rnic_sw: a\nnot ok 1 x [DDP-1]\n",
                encoding="utf-8")
            found = citations.read_logs([logs], logs)
        self.assertEqual([(c.script, c.result) for c in found],
                         [("a", FAILED)])


class NotRun(unittest.TestCase):
    """A suite, unit test or proof that cites requirements must have a result in the logs."""

    def setUp(self):
        with_files = tempfile.TemporaryDirectory()
        self.addCleanup(with_files.cleanup)
        self.tree = Path(with_files.name)
        tests = self.tree / citations.SELFTESTS
        self.write_file(tests / "Makefile", "list:\n\t@echo verbs.sh sctp_verbs.sh wire_x.py "
                        "wire_sctp_x.py plain.sh\n")
        self.write_file(tests / "src" / "verbs" / "a.c", 'CASE("a", a, "DDP-1")\n')
        self.write_file(tests / "verbs.sh", "")
        self.write_file(tests / "sctp_verbs.sh", ". verbs.sh\n")
        self.write_file(tests / "plain.sh", "")
        self.write_file(tests / "wire_x.py", '@case("x", "MPA-1")\n')
        self.write_file(tests / "wire_sctp_x.py", "import wire_x\n")
        self.write_file(tests / "consumers" / "nfs.sh", 't_case "x" "DDP-1"\n')
        self.write_file(self.tree / "drivers/ddp/tests/some_kunit.c", UNIT)
        self.write_file(self.tree / "tools/testing/proofs/file.c",
                        "/*\n * prove_other: Slow\n */\n" + PROOF)
        self.logs = self.tree / "logs"
        for script in "verbs.sh", "sctp_verbs.sh", "wire_x.py", "wire_sctp_x.py":
            self.write_file(self.logs / f"{script}.log",
                            f"# selftests: rnic_sw: {script}\n# ok 1 x [DDP-1]\n"
                            f"ok 1 selftests: rnic_sw: {script}\n")
        self.write_file(self.logs / "host.log", "ok 1 - some.first\nok 2 - some.second\n")
        self.write_file(self.logs / "prove.log", "ok 1 file.one: 7 properties\n")

    @staticmethod
    def write_file(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def assert_not_run(self, *names):
        cases = citations.read_logs([self.logs], self.tree)
        self.assertEqual(citations.find_tests_without_result([self.logs], self.tree, cases),
                         list(names))

    def test_complete_run_misses_nothing(self):
        self.assertEqual(citations.list_citing_suites(self.tree),
                         ["verbs.sh", "sctp_verbs.sh", "wire_x.py", "wire_sctp_x.py"])
        self.assert_not_run()

    def test_missing_suite_is_found(self):
        (self.logs / "sctp_verbs.sh.log").unlink()
        self.assert_not_run("sctp_verbs.sh")

    def test_incomplete_suite_is_found(self):
        self.write_file(self.logs / "wire_x.py.log",
                        "# selftests: rnic_sw: wire_x.py\n# ok 1 x [DDP-1]\n")
        self.assert_not_run("wire_x.py")

    def test_skipped_suite_is_found(self):
        self.write_file(self.logs / "wire_x.py.log", "# selftests: rnic_sw: wire_x.py\n"
                        "ok 1 selftests: rnic_sw: wire_x.py # SKIP no scapy\n")
        self.assert_not_run("wire_x.py")

    def test_failed_suite_ran(self):
        self.write_file(self.logs / "wire_x.py.log",
                        "not ok 1 selftests: rnic_sw: wire_x.py # exit=1\n")
        self.assert_not_run()

    def test_missing_unit_tests_are_found(self):
        self.write_file(self.logs / "host.log", "ok 1 - some.first\n")
        self.assert_not_run("unit test some.second")
        (self.logs / "host.log").unlink()
        (self.logs / "prove.log").unlink()
        self.assert_not_run("all unit tests", "all proofs")


class Claims(unittest.TestCase):
    def test_unconfirmed_claims_are_found(self):
        rows = {name: make_row(name) for name in ("DDP-1", "DDP-2", "DDP-3")}
        report.assign_cases_and_judge_rows(rows, [Case("verbs.sh", "x", ["DDP-1", "DDP-2"], PASSED),
                                     Case("wire_x.py", "y", ["DDP-3"], SKIPPED)], {})
        claims = {"DDP-1": ["own program"], "DDP-2": ["raw peer", "own program"],
                  "DDP-3": ["raw peer"], "DDP-4": ["unit"]}
        self.assertEqual([line.split()[0] for line in report.find_unconfirmed_claims(rows, claims)],
                         ["DDP-2", "DDP-3", "DDP-4"])
        self.assertEqual(report.count_new_claims(rows, {"DDP-2": ["own program"]}), 1)

    def test_wrong_claims_are_found(self):
        rows = {name: make_row(name) for name in ("DDP-1", "DDP-2", "DDP-3", "DDP-4")}
        rows["DDP-5"] = make_row("DDP-5", "MAY")
        found = report.check_claims(
            rows, {"DDP-1": ["unit"], "DDP-2": ["hearsay"], "DDP-9": ["unit"]},
            {"DDP-3": [report.BROKEN, "why"]},
            {"DDP-1": "a", "DDP-3": "a", "DDP-5": "a"})
        self.assertEqual(list(found), [
            "shown.tsv: DDP-2: no test cites it",
            "shown.tsv: DDP-9 is not a requirement",
            "a cites DDP-5, but shown.tsv does not claim it",
            "DDP-4, a MUST, is neither in shown.tsv nor in reasons.tsv",
            "shown.tsv: DDP-2: no such kind of witness: hearsay"])

    def test_written_claims_are_read_back(self):
        rows = {name: make_row(name) for name in ("DDP-1", "DDP-2")}
        report.assign_cases_and_judge_rows(rows, [Case("wire_x.py", "x", ["DDP-1"], PASSED),
                                     Case("unit test", "y", ["DDP-1"], PASSED)], {})
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "shown.tsv"
            report.write_claims(rows, path)
            self.assertEqual(report.read_claims(path), {"DDP-1": ["unit", "raw peer"]})

    def test_page(self):
        rows = {"DDP-1": make_row("DDP-1")}
        report.assign_cases_and_judge_rows(rows, [], {})
        good = f"a\n{report.BEGIN}\n{report.format_page_part(rows)}\n{report.END}\nb"
        self.assertEqual(list(report.check_page(good, rows)), [])
        wrong = good.replace("DDP | 1 |", "DDP | 2 |")
        self.assertNotEqual(wrong, good)
        self.assertEqual(len(list(report.check_page(wrong, rows))), 1)


class Verdicts(unittest.TestCase):
    def assert_verdict(self, line, verdict, bad):
        self.assertEqual((line.verdict, line.is_bad), (verdict, bad))

    def test_results_determine_verdict(self):
        self.assert_verdict(judge_row_with_results(make_row("A"), [PASSED, SKIPPED]), report.SHOWN, False)
        self.assert_verdict(judge_row_with_results(make_row("A"), [PASSED, FAILED]), report.FAILING, True)
        self.assert_verdict(judge_row_with_results(make_row("A"), [SKIPPED]), report.OPEN, True)

    def test_row_without_test_is_open(self):
        self.assert_verdict(judge_row_with_results(make_row("A", "MUST NOT", "P")), report.OPEN, True)
        self.assert_verdict(judge_row_with_results(make_row("A", "MUST", "H")), report.OPEN, False)
        self.assert_verdict(judge_row_with_results(make_row("A", "SHOULD")), report.OPEN, False)
        self.assert_verdict(judge_row_with_results(make_row("A", "DEF")), report.UNASKED, False)
        self.assert_verdict(judge_row_with_results(make_row("A", needs="pigeon")), report.ABSENT, False)

    def test_reasons_determine_verdict(self):
        design = [report.DESIGN, "because"]
        self.assert_verdict(judge_row_with_results(make_row("A"), reason=design), report.DESIGN, False)
        self.assert_verdict(judge_row_with_results(make_row("A"), [FAILED], design), report.FAILING, True)
        self.assert_verdict(judge_row_with_results(make_row("A"), [PASSED], [report.DEPARTED, "because"]),
                            report.DEPARTED, False)
        self.assert_verdict(judge_row_with_results(make_row("A"), [PASSED], [report.BROKEN, "because"]),
                            report.BROKEN, False)
        self.assert_verdict(judge_row_with_results(make_row("A"), [FAILED], [report.BROKEN, "because"]),
                            report.FAILING, True)

    def test_wrong_departures_are_found(self):
        why = "the kernel has no place for it. It would take a patch"

        def find_faults_of(level, *words):
            return list(report.check_reason(make_row("A", level), words, None))

        self.assertEqual(find_faults_of("MUST NOT", report.BROKEN, why), [])
        self.assertEqual(find_faults_of("SHOULD", report.DEPARTED, why), [])
        self.assertEqual(find_faults_of("MUST", report.DEPARTED, why),
                         ["verdict of a MUST must be: departed from a MUST"])
        self.assertEqual(find_faults_of("SHOULD", report.BROKEN, why),
                         ["verdict of a SHOULD must be: departed"])
        self.assertEqual(find_faults_of("REQ", report.BROKEN, "of no use to any program here"),
                         ["the reason must say what it would take"])

    def test_summary_counts_verdicts(self):
        rows = {name: make_row(name) for name in ("DDP-1", "DDP-2", "DDP-3")}
        rows["X"] = make_row("X", needs="pigeon", rfc="5043")
        cases = [Case("s", "n", ["DDP-1", "DDP-9"], PASSED)]
        unknown = report.assign_cases_and_judge_rows(
            rows, cases, {"DDP-2": [report.ABSENT, "because"]})
        self.assertEqual(unknown, {"DDP-9"})
        text = report.format_summary(rows)
        self.assertIn("| 5041, DDP | 3 | 1 | 2 | 1 | 0 | 0 | 0 | 0 | 0 | 1 |", text)
        self.assertNotIn("5043", text)
        self.assertIn("RFC 5043", report.format_omitted_rfcs(rows))

    def test_scripts_determine_witnesses(self):
        one = make_row("A")
        one.cases = [Case(script, "x", [], result) for script, result in (
            ("wire_x.py", PASSED), ("sctp_pyverbs.sh", PASSED), ("verbs.sh", SKIPPED),
            ("sctp.sh", PASSED), ("proof", PASSED))]
        self.assertEqual(one.witnesses, ["proof", "raw peer", "other programs"])
        report.judge_row(one, None)
        self.assertIn("1 have a witness that is independent of this project; 0 "
                      "are", report.format_evidence({"A": one}))
        for script, kind in (("sctp_verbs.sh", "own program"), ("capture.sh", "tshark"),
                             ("unit test", "unit"), ("stress.sh", "own program"),
                             ("interop.sh", "siw"), ("sctp_paths.sh", "other programs")):
            self.assertEqual(report.get_witness_kind(Case(script, "x", [], PASSED)), kind, script)
        for script, name, kind in (
                ("capture.sh", "MTU 1500: no markers", "tshark"),
                ("capture.sh", "MTU 1500, IPv4: markers are in the right places",
                 "pcap reader"),
                ("capture.sh", "IPv6, CRC: the longest FPDU fills a segment", "pcap reader"),
                ("interop.sh", "PAD sent to siw is zero", "pcap reader"),
                ("interop.sh", "Terminate sent to siw", "siw"),
                (report.CLAIM, "siw", "siw")):
            self.assertEqual(report.get_witness_kind(Case(script, name, [], PASSED)), kind, name)

    def test_page(self):
        text = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
        self.assertEqual(report.replace_between_marks(text, "new"),
                         text.replace("old", "new"))
        with self.assertRaises(ValueError):
            report.replace_between_marks("no marks", "new")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"])
