#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""report.py MEASURED OUT: print the results of measure.py as a table, and write
OUT.json and OUT.svg. Exit status: 0 if every required ratio is reached, 1 if not."""
import json
import statistics
import sys

import rows
from picture import draw


def list_values(runs, who, key):
    """Return the value of an implementation in each pair, None if its run failed."""
    return [r["result"].get(key) for r in sorted(runs, key=lambda r: r["pair"])
            if r["who"] == who]


def get_median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


# A median of at least LEVEL times the required ratio counts as "level" if a pair has reached the
# required ratio: in another run the median might reach it.
LEVEL = 0.98


def judge_ratios(ratios, bar, whole):
    """Return "reached", "level" (see LEVEL) or "MISSED". whole: no pair has failed."""
    if not whole:
        return "MISSED"
    if get_median(ratios) >= bar:
        return "reached"
    level = get_median(ratios) >= LEVEL * bar and ratios[-1] >= bar
    return "level" if level else "MISSED"


def summarize_row(row, crc, mtu, runs):
    """Return the medians of a row for both implementations, and the ratios of its pairs."""
    key = "octets_per_s"
    bar = rows.get_required_ratio(row, crc, mtu)
    ratios = sorted(a / b for a, b in zip(list_values(runs, "rnic_sw", key),
                                          list_values(runs, row.rival, key)) if a and b)
    whole = len(ratios) == len(list_values(runs, "rnic_sw", key)) > 0
    line = {"row": row.name, "mtu": mtu, "crc": crc, "bar": bar,
            "rival": row.rival, "ratio": get_median(ratios), "ratios": ratios,
            "failed": len(list_values(runs, row.rival, key)) - len(ratios),
            "verdict": judge_ratios(ratios, bar, whole)}
    for who in (row.rival, "rnic_sw"):
        line[who] = {k: get_median(list_values(runs, who, k)) for k in
                     (key, "messages_per_s", "busy_us_per_message",
                      "switches_per_message", "frames_per_message",
                      "segments_per_message")}
    return line


def summarize_rows(measured):
    for crc, mtu, row, pair in rows.plan_runs(1):
        runs = [r for r in measured["runs"] if
                (r["row"], r["mtu"], r["crc"]) == (row.name, mtu, crc)]
        if not row.rival:
            yield {"row": row.name, "mtu": mtu, "crc": crc,
                   "tcp": get_median(list_values(runs, "tcp", "octets_per_s"))}
        else:
            yield summarize_row(row, crc, mtu, runs)


def format_amount(value, small):
    if value is None:
        return "failed"
    return f"{value / 1e3:.0f} k/s" if small else f"{value / 1e6:.0f} MB/s"


def format_row(line):
    small = "64 B" in line["row"]
    key = "messages_per_s" if small else "octets_per_s"
    head = f"{line['row']:<24} {line['mtu']:>6} {line['crc']:>4}"
    if "tcp" in line:
        return f"{head} {format_amount(line['tcp'], False):>11}"
    rival = line[line["rival"]]
    text = f"{head} {format_amount(rival[key], small):>11}" \
           f" {format_amount(line['rnic_sw'][key], small):>11}"
    if line["ratio"] is None:
        return f"{text}  no pair succeeded: ratio missed"
    frames = "{:.2f}/{:.2f}".format(rival["frames_per_message"],
                                    line["rnic_sw"]["frames_per_message"])
    how = line["verdict"]
    if line["failed"]:
        how += f", {line['failed']} pairs failed"
    return (f"{text} {line['ratio']:6.2f}x ({line['ratios'][0]:.2f}-"
            f"{line['ratios'][-1]:.2f}) {frames:>14}  {line['bar']:g}x {how}")


def print_table(measured, lines):
    print(f"Kernel {measured['kernel']} (User-Mode Linux, one CPU), {measured['pairs']} "
          f"pairs of {measured['seconds']:g} s; medians; the ratio is that of rnic_sw "
          "to siw (over SCTP: to plain messages of the same size), with its range; "
          "level: the range includes the required ratio.")
    print("Frames are those that pass the interface per message, acknowledgements "
          "included: of the other implementation / of rnic_sw.")
    print(f"{'':<24} {'MTU':>6} {'CRC':>4} {'siw or SCTP':>11} {'rnic_sw':>11}"
          f" {'ratio':>7} {'(range)':<12} {'frames':>13}  required")
    for line in lines:
        print(format_row(line))


def summarize_connection_rates(measured):
    """Yield the sorted results of each lower layer."""
    for llp in rows.LLPS:
        results = [m["result"] for m in measured["many"] if m["who"] == llp]
        yield {"llp": llp, **{key: sorted(r[key] for r in results if key in r)
                              for key in ("per_s", "kib_each")}}


def print_connection_rates(measured):
    print(f"{rows.MANY} connections requested at once: connections set up per second, "
          "memory of both ends (medians, with their range)")
    for line in summarize_connection_rates(measured):
        if not line["per_s"]:
            print(f"{line['llp']:<6} failed")
            continue
        rate, kib = line["per_s"], line["kib_each"]
        print(f"{line['llp']:<6} {get_median(rate):6.0f}/s ({rate[0]:.0f}-{rate[-1]:.0f}) "
              f"{get_median(kib):6.1f} KiB each ({kib[0]:.1f}-{kib[-1]:.1f})")


def main():
    with open(sys.argv[1], encoding="ascii") as f:
        measured = json.load(f)
    lines = list(summarize_rows(measured))
    print_table(measured, lines)
    print_connection_rates(measured)
    with open(sys.argv[2] + ".json", "w", encoding="ascii") as f:
        json.dump({"kernel": measured["kernel"], "pairs": measured["pairs"],
                   "seconds": measured["seconds"], "rows": lines,
                   "many": list(summarize_connection_rates(measured))}, f, indent=1)
    with open(sys.argv[2] + ".svg", "w", encoding="ascii") as f:
        f.write(draw([l for l in lines if "tcp" not in l]))
    missed = [l for l in lines if l.get("verdict") == "MISSED"]
    print("No required ratio is missed." if not missed else
          f"{len(missed)} of {len(lines)} rows miss the required ratio.")
    return 1 if missed else 0


sys.exit(main())
