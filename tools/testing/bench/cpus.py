#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""cpus.py MEASURED...: print the results of one or several runs of measure.py with several CPUs as a
table: the medians of each row, and the ratios of rnic_sw to siw in its pairs of measurements. Half
of the ratios lie between the two quartiles, whatever a few disturbed runs show."""
import collections
import json
import statistics
import sys


def format_rate(rate, ping):
    """Format a rate: microseconds for a ping, thousands of messages a second otherwise."""
    return f"{1e6 / rate:.1f} us" if ping else f"{rate / 1e3:.2f} k/s"


def read_rates(paths):
    """Return the rates by row, driver and pair, and a line about all runs."""
    found, failed = collections.defaultdict(lambda: collections.defaultdict(dict)), 0
    for path in paths:
        with open(path, encoding="ascii") as f:
            measured = json.load(f)
        for run in measured["cpus"]:
            rate = run["result"].get("messages_per_s")
            if rate:
                found[run["row"]][run["who"]][path, run["pair"]] = rate
            failed += not rate
    return found, f"Kernel {measured['kernel']}, {measured['seconds']:g} s a run; {failed} failed."


def format_ratios(by):
    """Format the median and the quartiles of the ratios, if there are at least two."""
    ratios = [rate / by["siw"][pair] for pair, rate in by["rnic_sw"].items()
              if pair in by["siw"]]
    if len(ratios) < 2:
        return ""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"  {middle:.2f} ({low:.2f}-{high:.2f}), {len(ratios)} pairs"


def main():
    found, about = read_rates(sys.argv[1:])
    print(f"{'':<28} {'siw':>12} {'rnic_sw':>12}  rnic_sw / siw (quartiles)")
    for row, by in found.items():
        cells = [format_rate(statistics.median(by[who].values()), row.startswith("ping"))
                 for who in ("siw", "rnic_sw") if by[who]]
        print(f"{row:<28} " + " ".join(f"{cell:>12}" for cell in cells) + format_ratios(by))
    print(about)


main()
