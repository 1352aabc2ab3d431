#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test how judge.py judges the runs of a program."""
import sys
import unittest

sys.dont_write_bytecode = True
import judge
from rows import BY_HAND, ROWS, Row

ROW = Row("program", BY_HAND, "server", "client", ("^all data is right",), quiet="data mismatch",
          partial=("Failed to deallocate PD", "the data passes"))
GOOD = "some words\nall data is right\n"


def make_run(client, server="", statuses=(0, 0), kernel=()):
    return {"client": {"status": statuses[0], "log": client}, "server": {"status": statuses[1], "log": server},
            "kernel": list(kernel)}


class Verdict(unittest.TestCase):
    def assert_verdict(self, runs, word, *parts):
        found, why = judge.judge_runs(ROW, runs)
        self.assertEqual(found, word)
        for part in parts:
            self.assertIn(part, why)

    def test_good_run_gives_yes(self):
        self.assert_verdict([make_run(GOOD)], "yes")
        self.assert_verdict([make_run("", statuses=(1, 0)), make_run(GOOD)], "yes",
                            "only in 1 of 2 runs")

    def test_status_alone_is_not_enough(self):
        self.assert_verdict([make_run("some words\n")], "no", "does not show", "``some words``")

    def test_output_alone_is_not_enough(self):
        self.assert_verdict([make_run(GOOD, statuses=(3, 0))], "no",
                            "the client ends with status 3")
        self.assert_verdict([make_run(GOOD, statuses=(0, 4))], "no",
                            "the server ends with status 4")
        self.assert_verdict([make_run(GOOD, statuses=(0, None))], "no",
                            "the server does not end within 60 s")

    def test_hidden_errors_give_no(self):
        self.assert_verdict([make_run(GOOD + "data mismatch")], "no", "the data is wrong")
        self.assert_verdict([make_run(GOOD, kernel=["BUG: KASAN: `x`"])], "no", "the kernel reports", "``BUG: KASAN: 'x'``")

    def test_known_fault_gives_partial(self):
        self.assert_verdict([make_run(GOOD + "Failed to deallocate PD - busy", statuses=(1, 1))], "partly", "the data passes")
        self.assert_verdict([make_run("Failed to deallocate PD", statuses=(1, 1))], "no", "the program reports an error")

    def test_known_error_precedes_time_limit(self):
        self.assert_verdict([make_run("x\nnumbers Failed to modify QP to RTR\n",
                                      statuses=(1, None))], "no",
                            "refuses to connect",
                            "``Failed to modify QP to RTR``; no end within 60 s")

    def test_missing_run_is_reported(self):
        self.assert_verdict([], "not run")

    def test_long_line_search_ends(self):
        judge.find_failure_class("x" * 200000 + " error")


class Rows(unittest.TestCase):
    def test_commands_have_known_placeholders(self):
        words = {name: "1" for name in ("dev", "net", "addr", "gid", "port", "dir", "lib", "valkey")}
        for row in ROWS:
            self.assertTrue(row.client.format(**words) and isinstance(row.proofs, tuple), row.name)
            row.server.format(**words)
        self.assertEqual(len({row.name for row in ROWS}), len(ROWS))


unittest.main()
