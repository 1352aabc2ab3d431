#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test that bars.py draws the costs to scale, and marks those that were not measured."""
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
import bars

PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../Documentation/figures.md")
TABLE = """* The kernel is Debian's 9.1.7 in QEMU.

| operation | CRC | MTU | rnic_sw | siw | rxe | plain |
|---|---|---|---|---|---|---|
| Write 64 KiB | off | 65536 | 1 | 100 | 2 | |
| Write 64 KiB | off | 1500 | 1 | 1000 | 2 | |
| TCP 64 KiB | | 65536 | | | | 3 |
| Write 64 KiB | on | 65536 | 1 | 200 | 2 | |
| Write 64 KiB | on | 1500 | 1 | 460 | 2 | |

| other | table |
"""


def make_measured(failed=""):
    """Return the output of measure.py; the measurements over the implementation `failed` fail."""
    costs = {("write 64 KiB", "on", "rnic_sw"): 80, ("write 64 KiB", "off", "rnic_sw"): 50,
             ("write 64 KiB", "on", "rxe"): 250, ("TCP 64 KiB", "off", "tcp"): 60.04}
    return {"kernel": "9.1.0-amd64", "runs": [
        {"row": row, "crc": crc, "mtu": mtu, "who": who,
         "result": {"error": "x"} if who == failed else {"messages_per_s": 1e6 / cost}}
        for mtu in bars.MTUS for (row, crc, who), cost in costs.items()]}


def draw(**how):
    return bars.draw(make_measured(**how), *bars.read_published_costs(TABLE))


def find_bars(lines):
    """Return {(MTU, label): (cost as printed, bar)}."""
    found, mtu = {}, None
    for line in lines:
        mtu = int(line.split()[1]) if line.startswith("MTU") else mtu
        m = re.fullmatch(r"  (\w[\w ,]*?) +([\d.]+|failed) ?([#.]*)", line)
        if m:
            found[mtu, m[1]] = m[2], m[3]
    return found


class Bars(unittest.TestCase):
    def test_bars_of_one_mtu_have_one_scale(self):
        found = find_bars(draw())
        self.assertEqual(len(found), 2 * len(bars.BARS))
        for (mtu, _), (cost, bar) in found.items():
            most = 250 if mtu > 9000 else 1000
            self.assertEqual(len(bar), max(1, round(bars.WIDTH * float(cost) / most)))
        self.assertEqual(found[65536, "plain TCP"][0], "60.0")
        self.assertEqual(found[65536, "siw, CRC on"][0], "200")

    def test_only_figures_of_siw_are_marked_as_published(self):
        for (_, label), (_, bar) in find_bars(draw()).items():
            self.assertEqual(set(bar), {"." if label.startswith("siw") else "#"})
        text = "\n".join(draw())
        self.assertIn("Linux 9.1.0-amd64", text)
        self.assertIn("Linux 9.1.", text)
        self.assertIn("make clock", text)

    def test_failed_measurement_has_no_bar(self):
        self.assertEqual(find_bars(draw(failed="rxe"))[1500, "rxe, CRC always"], ("failed", ""))

    def test_output_fits_any_terminal(self):
        for line in draw():
            self.assertTrue(line.isascii())
            self.assertLessEqual(len(line), 77)

    def test_page_has_all_figures(self):
        with open(PAGE, encoding="utf-8") as f:
            published, kernel = bars.read_published_costs(f.read())
        self.assertTrue(kernel.startswith("6."))
        for _, row, crc, who in bars.BARS:
            for mtu in bars.MTUS if who == "siw" else ():
                self.assertIn((row, crc, mtu, who), published)


if __name__ == "__main__":
    unittest.main()
