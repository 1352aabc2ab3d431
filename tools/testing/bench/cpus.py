#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""cpus.py MEASURED: print the results of measure.py with several CPUs as a table: the medians of
each row, and the ratios of rnic_sw to siw in its pairs of measurements."""
import collections
import json
import statistics
import sys


def format_rate(rate, ping):
    """Format a rate: microseconds for a ping, thousands of messages a second otherwise."""
    return f"{1e6 / rate:.1f} us" if ping else f"{rate / 1e3:.2f} k/s"


def main():
    with open(sys.argv[1], encoding="ascii") as f:
        measured = json.load(f)
    found, failed = collections.defaultdict(lambda: collections.defaultdict(dict)), 0
    for run in measured["cpus"]:
        rate = run["result"].get("messages_per_s")
        if rate:
            found[run["row"]][run["who"]][run["pair"]] = rate
        failed += not rate
    print(f"{'':<28} {'siw':>12} {'rnic_sw':>12}  rnic_sw / siw (range)")
    for row, by in found.items():
        ratios = sorted(rate / by["siw"][pair] for pair, rate in by["rnic_sw"].items()
                        if pair in by["siw"])
        cells = [format_rate(statistics.median(by[who].values()), row.startswith("ping"))
                 for who in ("siw", "rnic_sw") if by[who]]
        print(f"{row:<28} " + " ".join(f"{cell:>12}" for cell in cells) +
              (f"  {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
               if ratios else ""))
    print(f"Kernel {measured['kernel']}, {measured['pairs']} pairs of "
          f"{measured['seconds']:g} s; {failed} runs failed.")


main()
