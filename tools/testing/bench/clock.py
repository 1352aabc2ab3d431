#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""clock.py MEASURED BUDGET [--budget] [--profile]: what measure.py found where time is
instructions, as a table. With --budget the exit status is 1 if a row takes more than
its budget, or failed, or a ping beside a neighbour too long; with --profile the table
says, and clock.svg beside MEASURED shows, where they go."""
import json
import os
import sys

import profile_parts
import rows
import stacks

WHO = ("rnic_sw", "siw", "bare")
MOST_SHOWN = 60


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


def slack(path, kernel):
    """A figure may move by 2 % from run to run, and with the kernel: what another one's
    TCP costs is no fault of ours."""
    with open(path, encoding="ascii") as f:
        return 1.02 if f"# Kernel {kernel}\n" in f else 1.1


def verdict(most, value, more):
    if value is None:
        return "FAILED"
    if most and value > more * most:
        return "MORE"
    return "less" if most and value < 0.95 * most else ""


def pinned(key, found):
    """What an on-demand row may take at most, by what its pinned one takes."""
    row, *where = key
    row = row.removesuffix(rows.DEMAND)
    cost = found.get((row, *where), {}).get("rnic_sw")
    return rows.DEMAND_MOST * cost if cost else None


def judged(key, found, most, more):
    """A row's budget and verdict."""
    value = found[key].get("rnic_sw")
    if key[0].endswith(rows.DEMAND):
        most = pinned(key, found)
        return most, "FAILED" if value is None else "MORE" if most and value > more * most else ""
    # rows without us are what others cost
    how = verdict(most.get(key), value, more) if "rnic_sw" in found[key] else ""
    return most.get(key), how


def print_profile(measured, profiles):
    """Of each run: how much each part takes, and the functions that take most; and what
    is fetched anew by caches as cache.h has them."""
    for run, profile in zip(measured["runs"], profiles):
        parts = profile["parts"]
        print(f"\n{run['row']}, CRC {run['crc']}, MTU {run['mtu']}, {run['who']}: "
              f"{sum(parts.values()):.1f}")
        print("  " + ", ".join(f"{part} {parts[part]:.2f}" for part in
                               profile_parts.PARTS if parts[part] >= 0.005))
        print("  lines of 64 octets fetched anew: code {:.0f}, data {:.0f}".format(*profile["lines"]))
        for thousands_of, function, part in profile["functions"][:MOST_SHOWN]:
            print(f"  {thousands_of:9.3f}  {part:<14} {function}")


def show_profile(measured, folder):
    """Drawn, and printed: whoever reads that may stop early."""
    profiles = list(profile_parts.profiles(measured, os.path.join(folder, "instructions"),
                                           os.path.join(folder, "kallsyms")))
    picture = stacks.draw(measured, profiles)
    if picture:
        with open(os.path.join(folder, "clock.svg"), "w", encoding="ascii") as f:
            f.write(picture)
    print_profile(measured, profiles)


def print_many(measured):
    """What a connection takes to come about, at both ends."""
    for made in measured.get("many", ()):
        result = made["result"]
        if "per_s" not in result:
            print(f"connections, {made['who']}: {result['error']}")
            continue
        print(f"{result['connections']} connections at once, {made['who']}: "
              f"{1e6 / result['per_s']:.0f} each, {result['kib_each']:.1f} KiB")


def share(found, alone):
    """What a ping makes of the rounds that it makes alone."""
    return found["result"].get("messages_per_s", 0) / alone if alone else 0


def waits_too_long(found, alone):
    """A ping of ours that failed, or that a neighbour keeps waiting."""
    took = found["result"].get("round_us")
    return found["who"] == "rnic_sw" and (
        not took or share(found, alone) < rows.LEAST_SHARE or took[2] > rows.ALL_WITHIN)


def print_beside(measured):
    """How long a round takes, alone and beside a neighbour; how many pings wait too long."""
    waits, alone = 0, {}
    for found in measured.get("beside", ()):
        pair = found["who"], found["llp"]
        if not found["busy"]:
            alone[pair] = found["result"].get("messages_per_s")
        too_long = waits_too_long(found, alone[pair])
        waits += too_long
        how = "beside a busy pair" if found["busy"] else "alone"
        took = found["result"].get("round_us")
        print(f"ping {how}, {', '.join(pair)}: " +
              (f"{took[0]:.0f} us, 95 of 100 within {took[1]:.0f}, all within {took[2]:.0f}; "
               f"{share(found, alone[pair]):.2f} of its rounds" if took else "failed") +
              (" TOO LONG" if too_long else ""))
    return waits


def main():
    with open(sys.argv[1], encoding="ascii") as f:
        measured = json.load(f)
    most = budgets(sys.argv[2])
    more = slack(sys.argv[2], measured["kernel"])
    verdicts = []
    print(f"Kernel {measured['kernel']}, one CPU: thousands of instructions for a "
          "message, both ends.")
    print(f"{'':<33} {'CRC':>4} {'MTU':>6}" + "".join(f" {w:>8}" for w in WHO) +
          f" {'budget':>8}")
    found = table(measured)
    for key, costs in found.items():
        allowed, how = judged(key, found, most, more)
        verdicts.append(how)
        cells = [figure(costs[w]) if w in costs else "" for w in WHO]
        cells.append(figure(allowed) if allowed else "")
        line = f"{key[0]:<33} {key[1].replace('sctp', ''):>4} {key[2]:>6}" + \
            "".join(f" {c:>8}" for c in cells) + f" {how}"
        print(line.rstrip())
    missed = verdicts.count("MORE") + verdicts.count("FAILED")
    below = verdicts.count("less")
    print(f"Rows that take more than their budget, or failed: {missed}."
          f"{f' So much less that it is to go down: {below}.' if below else ''}")
    missed += print_beside(measured)
    print_many(measured)
    if "--profile" in sys.argv:
        show_profile(measured, os.path.dirname(sys.argv[1]))
    return int("--budget" in sys.argv and missed > 0)


sys.exit(main())
