#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""clock.py MEASURED BUDGET [--budget] [--profile]: print the results of measure.py, run in the
test environment that counts time in instructions, as a table. With --budget the exit status
is 1 if a row exceeds its budget or failed, or if a ping with a busy neighbour takes too long.
With --profile also print which functions execute the instructions, and draw them in clock.svg
in the directory of MEASURED."""
import json
import os
import statistics
import subprocess
import sys

import profile_parts
import rows
import stacks

WHO = ("rnic_sw", "siw", "rxe", "bare")
MOST_SHOWN = 60


def compute_cost_per_message(result):
    """Return thousands of instructions per message, or None after a failure."""
    per_s = result.get("messages_per_s")
    return 1e6 / per_s if per_s else None


def read_budgets(path):
    """Return the budgets by (row, CRC, MTU)."""
    with open(path, encoding="ascii") as f:
        lines = [line.split("\t") for line in f.read().splitlines()
                 if line and not line.startswith("#")]
    return {(row, crc, int(mtu)): float(most) for row, crc, mtu, most in lines}


def group_costs(measured):
    """Return {(row, CRC, MTU): {implementation: cost}}, in the order of measuring."""
    found = {}
    for run in measured["runs"]:
        who = "bare" if run["who"] in ("tcp", "sctp") else run["who"]
        key = run["row"], run["crc"], run["mtu"]
        found.setdefault(key, {})[who] = compute_cost_per_message(run["result"])
    return found


def format_figure(value):
    if value is None:
        return "failed"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def get_qemu_version():
    """Return QEMU's major and minor version, such as "7.2"."""
    said = subprocess.run(["qemu-system-x86_64", "--version"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return ".".join(said.split()[3].split(".")[:2])


def get_budget_tolerance(path, kernel):
    """Return the factor by which a figure may exceed its budget: figures vary by 2 % between
    runs. They vary more on another kernel than that of the budget: its TCP may cost more. On
    another QEMU the budgets are not checked, because it counts differently: with QEMU 10.0 a Write
    of 64 KiB costs 81 thousand instead of 53."""
    with open(path, encoding="ascii") as f:
        lines = f.read().splitlines()
    qemu = get_qemu_version()
    if f"# QEMU {qemu}" not in lines:
        print(f"QEMU {qemu} counts instructions in another way than the QEMU of the budgets, so "
              "no budget is checked.")
        return float("inf")
    return 1.02 if f"# Kernel {kernel}" in lines else 1.1


def compare_with_budget(most, value, more):
    if value is None:
        return "FAILED"
    if most and value > more * most:
        return "MORE"
    return "less" if most and value < 0.95 * most else ""


def get_relative_suffix(name):
    """Return the suffix that makes the maximum of a row a multiple of another row's cost."""
    return next((suffix for suffix in rows.RELATIVE if name.endswith(suffix)), None)


def compute_maximum_from_other(key, suffix, found):
    """Return the maximum for a row with this suffix, derived from the row without it."""
    row, *where = key
    cost = found.get((row.removesuffix(suffix), *where), {}).get("rnic_sw")
    return rows.RELATIVE[suffix] * cost if cost else None


def judge_row(key, found, most, more):
    """Return the budget of a row, and the verdict: "", "less", "MORE" or "FAILED"."""
    value = found[key].get("rnic_sw")
    suffix = get_relative_suffix(key[0])
    if suffix:
        most = compute_maximum_from_other(key, suffix, found)
        return most, "FAILED" if value is None else "MORE" if most and value > more * most else ""
    # rows without rnic_sw measure other implementations
    how = compare_with_budget(most.get(key), value, more) if "rnic_sw" in found[key] else ""
    return most.get(key), how


def print_profile(measured, profiles):
    """Print for each run the cost of each part, the most expensive functions, and the cache
    lines fetched according to the model of cache.h."""
    for run, profile in zip(measured["runs"], profiles):
        parts = profile["parts"]
        print(f"\n{run['row']}, CRC {run['crc']}, MTU {run['mtu']}, {run['who']}: "
              f"{sum(parts.values()):.1f}")
        print("  " + ", ".join(f"{part} {parts[part]:.2f}" for part in
                               profile_parts.PARTS if parts[part] >= 0.005))
        print("  64-byte lines fetched: code {:.0f}, data {:.0f}".format(*profile["lines"]))
        for thousands_of, function, part in profile["functions"][:MOST_SHOWN]:
            print(f"  {thousands_of:9.3f}  {part:<14} {function}")


def draw_and_print_profile(measured, folder):
    """Draw the profile before printing it, because the reader of the output may close the pipe
    early."""
    profiles = list(profile_parts.compute_profiles(measured, os.path.join(folder, "instructions"),
                                                   os.path.join(folder, "kallsyms")))
    picture = stacks.draw(measured, profiles)
    if picture:
        with open(os.path.join(folder, "clock.svg"), "w", encoding="ascii") as f:
            f.write(picture)
    print_profile(measured, profiles)


def print_connection_costs(measured):
    """Print the cost of setting up a connection, for both ends together."""
    for made in measured.get("many", ()):
        result = made["result"]
        if "per_s" not in result:
            print(f"connections, {made['who']}: {result['error']}")
            continue
        print(f"{result['connections']} connections at once, {made['who']}: "
              f"{1e6 / result['per_s']:.0f} each, {result['kib_each']:.1f} KiB")


def get_relative_rate(found, alone):
    """Return the rate of a ping relative to its rate without a neighbour."""
    return found["result"].get("messages_per_s", 0) / alone if alone else 0


def is_delayed_too_much(found, alone):
    """Check whether a ping over rnic_sw failed, or its neighbour delays it too much."""
    took = found["result"].get("round_us")
    return found["who"] == "rnic_sw" and (
        not took or get_relative_rate(found, alone) < rows.LEAST_SHARE or took[2] > rows.ALL_WITHIN)


def print_pings_and_count_delayed(measured):
    """Print the round-trip times of pings without and with a busy neighbour. Return how many
    pings are delayed too much."""
    waits, alone = 0, {}
    for found in measured.get("beside", ()):
        pair = found["who"], found["llp"]
        if not found["busy"]:
            alone[pair] = found["result"].get("messages_per_s")
        too_long = is_delayed_too_much(found, alone[pair])
        waits += too_long
        how = "beside a busy pair" if found["busy"] else "alone"
        took = found["result"].get("round_us")
        print(f"ping {how}, {', '.join(pair)}: " +
              (f"{took[0]:.0f} us, 95 % within {took[1]:.0f}, all within {took[2]:.0f}; "
               f"{get_relative_rate(found, alone[pair]):.2f} of its rounds" if took else "failed") +
              (" TOO LONG" if too_long else ""))
    return waits


def print_path_rates(measured):
    """Print the rates over slow paths, and their ratios to that of TCP in the same turn."""
    rates = {}
    for run in measured.get("paths", ()):
        key = rows.Path(*run["path"]), run["row"], run["who"]
        rates.setdefault(key, {})[run["turn"]] = run["result"].get("octets_per_s", 0) / 1e6
    for (path, row, who), by_turn in rates.items():
        tcp = rates[path, rows.TCP.name, "tcp"]
        ratios = [rate / tcp[turn] for turn, rate in by_turn.items() if tcp[turn]]
        print(f"{path.delay} ms each way, {path.rate} Mbit/s, {path.loss} % lost: {row}, {who}: "
              f"{statistics.median(by_turn.values()):.1f} MB/s" +
              (f", {statistics.median(ratios):.2f} of TCP's ({min(ratios):.2f} to "
               f"{max(ratios):.2f})" if who != "tcp" and ratios else ""))


def main():
    with open(sys.argv[1], encoding="ascii") as f:
        measured = json.load(f)
    most = read_budgets(sys.argv[2])
    more = get_budget_tolerance(sys.argv[2], measured["kernel"])
    verdicts = []
    print(f"Kernel {measured['kernel']}, one CPU: thousands of instructions per message, both "
          "ends.")
    print(f"{'':<33} {'CRC':>4} {'MTU':>6}" + "".join(f" {w:>8}" for w in WHO) +
          f" {'budget':>8}")
    found = group_costs(measured)
    for key, costs in found.items():
        allowed, how = judge_row(key, found, most, more)
        verdicts.append(how)
        cells = [format_figure(costs[w]) if w in costs else "" for w in WHO]
        cells.append(format_figure(allowed) if allowed else "")
        line = f"{key[0]:<33} {key[1].replace('sctp', ''):>4} {key[2]:>6}" + \
            "".join(f" {c:>8}" for c in cells) + f" {how}"
        print(line.rstrip())
    missed = verdicts.count("MORE") + verdicts.count("FAILED")
    below = verdicts.count("less")
    print("Rows that exceed their budget or failed: "
          f"{missed}.{f' Rows far enough below to lower their budget: {below}.' if below else ''}")
    missed += print_pings_and_count_delayed(measured)
    print_connection_costs(measured)
    print_path_rates(measured)
    if "--profile" in sys.argv:
        draw_and_print_profile(measured, os.path.dirname(sys.argv[1]))
    return int("--budget" in sys.argv and missed > 0)


sys.exit(main())
