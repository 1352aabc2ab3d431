#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""report.py MEASURED OUT: what measure.py found, as a table on the standard
output, and as OUT.json and OUT.svg. The exit status says whether every bar is
reached (0) or not (1)."""
import json
import statistics
import sys

import rows
from picture import draw


def of(runs, who, key):
    """That value of each pair's run, None for one that failed."""
    return [r["result"].get(key) for r in sorted(runs, key=lambda r: r["pair"])
            if r["who"] == who]


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def summary(row, crc, mtu, runs):
    """Medians, and the ratios of the pairs."""
    key = "octets_per_s"
    ratios = sorted(a / b for a, b in zip(of(runs, "rnic_sw", key),
                                          of(runs, "siw", key)) if a and b)
    whole = len(ratios) == len(of(runs, "rnic_sw", key)) > 0
    line = {"row": row.name, "mtu": mtu, "crc": crc, "bar": rows.bar(row, crc, mtu),
            "ratio": median(ratios), "ratios": ratios,
            "failed": len(of(runs, "siw", key)) - len(ratios)}
    for who in ("siw", "rnic_sw"):
        line[who] = {k: median(of(runs, who, k)) for k in
                     (key, "messages_per_s", "busy_us_per_message",
                      "switches_per_message", "frames_per_message",
                      "segments_per_message")}
    line["reached"] = whole and line["ratio"] >= line["bar"]
    return line


def summaries(measured):
    for crc, mtu, row, pair in rows.planned(1):
        runs = [r for r in measured["runs"] if
                (r["row"], r["mtu"], r["crc"]) == (row.name, mtu, crc)]
        if row is rows.TCP:
            yield {"row": row.name, "mtu": mtu, "crc": crc,
                   "tcp": median(of(runs, "tcp", "octets_per_s"))}
        else:
            yield summary(row, crc, mtu, runs)


def amount(value, small):
    if value is None:
        return "failed"
    return f"{value / 1e3:.0f} k/s" if small else f"{value / 1e6:.0f} MB/s"


def row_text(line):
    small = "64 B" in line["row"]
    key = "messages_per_s" if small else "octets_per_s"
    head = f"{line['row']:<24} {line['mtu']:>6} {line['crc']:>4}"
    if "tcp" in line:
        return f"{head} {amount(line['tcp'], False):>11}"
    text = f"{head} {amount(line['siw'][key], small):>11}" \
           f" {amount(line['rnic_sw'][key], small):>11}"
    if line["ratio"] is None:
        return f"{text}  no pair succeeded: bar missed"
    frames = "{:.2f}/{:.2f}".format(line["siw"]["frames_per_message"],
                                    line["rnic_sw"]["frames_per_message"])
    verdict = "reached" if line["reached"] else "MISSED"
    if line["failed"]:
        verdict += f", {line['failed']} pairs failed"
    return (f"{text} {line['ratio']:6.2f}x ({line['ratios'][0]:.2f}-"
            f"{line['ratios'][-1]:.2f}) {frames:>14}  {line['bar']:g}x {verdict}")


def print_table(measured, lines):
    print(f"Kernel {measured['kernel']} (User-Mode Linux, one CPU), "
          f"{measured['pairs']} pairs of {measured['seconds']:g} s; medians; the ratio "
          "is that of rnic_sw to siw, with its range.")
    print("Frames are what passed the interface for one message, acknowledgements "
          "included: siw's / rnic_sw's.")
    print(f"{'':<24} {'MTU':>6} {'CRC':>4} {'siw':>11} {'rnic_sw':>11}"
          f" {'ratio':>7} {'(range)':<12} {'frames':>13}  bar")
    for line in lines:
        print(row_text(line))


def main():
    with open(sys.argv[1], encoding="ascii") as f:
        measured = json.load(f)
    lines = list(summaries(measured))
    print_table(measured, lines)
    with open(sys.argv[2] + ".json", "w", encoding="ascii") as f:
        json.dump({"kernel": measured["kernel"], "pairs": measured["pairs"],
                   "seconds": measured["seconds"], "rows": lines}, f, indent=1)
    with open(sys.argv[2] + ".svg", "w", encoding="ascii") as f:
        f.write(draw([l for l in lines if "tcp" not in l]))
    missed = [l for l in lines if not l.get("reached", True)]
    print("Every bar is reached." if not missed else
          f"{len(missed)} of {len(lines)} rows miss their bar.")
    return 1 if missed else 0


sys.exit(main())
