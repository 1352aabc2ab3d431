#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""clock.py MEASURED BUDGET [--budget]: what measure.py found where time is
instructions, as a table. With --budget the exit status is 1 if a row takes more than
its budget, or failed."""
import json
import sys

WHO = ("rnic_sw", "siw", "bare")


def thousands(result):
    """Of instructions for a message, None if it failed."""
    per_s = result.get("messages_per_s")
    return 1e6 / per_s if per_s else None


def budgets(path):
    """By (row, CRC, MTU)."""
    with open(path, encoding="ascii") as f:
        lines = [line.split("\t") for line in f.read().splitlines()
                 if line and not line.startswith("#")]
    return {(row, crc, int(mtu)): float(most) for row, crc, mtu, most in lines}


def table(measured):
    """Who needs how much, by (row, CRC, MTU), in the order of measuring."""
    found = {}
    for run in measured["runs"]:
        who = "bare" if run["who"] in ("tcp", "sctp") else run["who"]
        key = run["row"], run["crc"], run["mtu"]
        found.setdefault(key, {})[who] = thousands(run["result"])
    return found


def figure(value):
    if value is None:
        return "failed"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def verdict(most, value):
    """A figure may move by 2 % from run to run."""
    if value is None:
        return "FAILED"
    return "MORE" if most and value > 1.02 * most else ""


def main():
    with open(sys.argv[1], encoding="ascii") as f:
        measured = json.load(f)
    most = budgets(sys.argv[2])
    missed = 0
    print(f"Kernel {measured['kernel']}, one CPU: thousands of instructions for a "
          "message, both ends.")
    print(f"{'':<24} {'CRC':>4} {'MTU':>6}" + "".join(f" {w:>8}" for w in WHO) +
          f" {'budget':>8}")
    for key, costs in table(measured).items():
        # rows without us are what others cost
        how = verdict(most.get(key), costs["rnic_sw"]) if "rnic_sw" in costs else ""
        missed += how != ""
        cells = [figure(costs[w]) if w in costs else "" for w in WHO]
        cells.append(figure(most[key]) if key in most else "")
        line = f"{key[0]:<24} {key[1].replace('sctp', ''):>4} {key[2]:>6}" + \
            "".join(f" {c:>8}" for c in cells) + f" {how}"
        print(line.rstrip())
    print(f"Rows that take more than their budget, or failed: {missed}.")
    return int("--budget" in sys.argv and missed > 0)


sys.exit(main())
