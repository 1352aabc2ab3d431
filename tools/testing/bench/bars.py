#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""bars.py MEASURED PAGE: print the costs of a 64 KiB Write, measured by measure.py, as bars.

The kernels of Debian have no siw, so `make demo` cannot measure it: the figures of siw are those of
the table in PAGE (Documentation/figures.md), and are marked as such. Prints only ASCII, because the
output may be a pipe or a terminal without other characters."""
import json
import re
import sys

WIDTH = 46          # characters of the longest bar
MTUS = (65536, 1500)
# label, row, CRC and implementation of each bar; siw comes from the page
BARS = (("rnic_sw, CRC on", "write 64 KiB", "on", "rnic_sw"),
        ("rnic_sw, CRC off", "write 64 KiB", "off", "rnic_sw"),
        ("siw, CRC on", "Write 64 KiB", "on", "siw"),
        ("siw, CRC off", "Write 64 KiB", "off", "siw"),
        ("rxe, CRC always", "write 64 KiB", "on", "rxe"),
        ("plain TCP", "TCP 64 KiB", "off", "tcp"))


def read_measured_costs(measured):
    """Return {(row, CRC, MTU, implementation): thousands of instructions, or None if the
    measurement failed}."""
    return {(run["row"], run["crc"], run["mtu"], run["who"]):
            1e6 / run["result"]["messages_per_s"] if run["result"].get("messages_per_s") else None
            for run in measured["runs"]}


def read_published_costs(text):
    """Return {(row, CRC, MTU, "siw"): thousands of instructions} of the table of costs, and the
    version of its kernel."""
    kernel = re.search(r"kernel is Debian's (\d+\.\d+)", text)
    found = {}
    for line in text[text.index("| operation | CRC"):].split("\n\n", 1)[0].splitlines():
        row, crc, mtu, _, siw = [cell.strip() for cell in line.strip("|").split("|")][:5]
        if mtu.isdigit() and siw:
            found[row, crc, int(mtu), "siw"] = float(siw)
    return found, kernel[1]


def format_cost(cost):
    return "failed" if cost is None else f"{cost:.1f}" if cost < 100 else f"{cost:.0f}"


def draw_bar(cost, most, mark):
    return mark * max(1, round(WIDTH * cost / most)) if cost else ""


def draw(measured, published, published_kernel):
    """Return the lines of the picture. The bars of each MTU have a scale of their own."""
    costs = {**read_measured_costs(measured), **published}
    lines = [
        "Thousands of CPU instructions per message, both ends of the connection and",
        "the kernel between them together; lower is better. A message is a Write of",
        "64 KiB, and over plain TCP the same number of bytes. rnic_sw has the CRC on",
        "by default. The two groups of bars have different scales.", ""]
    for mtu in MTUS:
        shown = [(label, costs[row, crc, mtu, who], who) for label, row, crc, who in BARS]
        most = max(cost or 0 for _, cost, _ in shown)
        lines.append(f"MTU {mtu}{' (rxe: 9000, its maximum here)' if mtu > 9000 else ''}")
        for label, cost, who in shown:
            bar = draw_bar(cost, most, "." if who == "siw" else "#")
            lines.append(f"  {label:<17}{format_cost(cost):>7} {bar}".rstrip())
        lines.append("")
    return lines + [
        f"### measured in this run, on Linux {measured['kernel']}: an emulated",
        "    CPU counts the instructions, so a busy or slow machine changes a figure",
        "    by only about 1 %.",
        "... siw is not measured, because Debian's kernels do not have it. These are",
        f"    published figures of this project, measured on Linux {published_kernel}. To",
        "    measure all of these, siw too: make clock"]


def main():
    with open(sys.argv[1], encoding="ascii") as f:
        measured = json.load(f)
    with open(sys.argv[2], encoding="utf-8") as f:
        published = read_published_costs(f.read())
    print("\n".join(draw(measured, *published)))


if __name__ == "__main__":
    main()
