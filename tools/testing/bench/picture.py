# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Draw the ratios of report.py: one bar for each row, on a logarithmic scale, with the range of
the row as a line."""
import math

from svg import draw_box, draw_line, draw_text, wrap_svg

LEFT, WIDTH, LINE, TOP = 300, 520, 22, 60
LEAST, MOST = 0.5, 32.0
COLOURS = {"reached": "#2a7f62", "level": "#8a8a2f", "MISSED": "#b5402f"}


def scale_ratio(ratio):
    part = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + WIDTH * part


def draw_scale(bottom):
    """Yield the lines of the scale at powers of two; the line at 1 is darker."""
    ratio = LEAST
    while ratio <= MOST:
        x = scale_ratio(ratio)
        yield draw_line(x, TOP - 8, x, bottom, "#555" if ratio == 1 else "#ddd")
        yield draw_text(x, TOP - 12, f"{ratio:g}x", "middle")
        ratio *= 2


def draw_bar(row, y):
    """Yield the parts of one row: a box from 1 to the median, a line for the range, and a mark at
    the required ratio."""
    how = "" if row["rival"] == "sctp" else f", CRC {row['crc']}"
    yield draw_text(LEFT - 10, y + 12, f"{row['row']}, MTU {row['mtu']}{how}", "end")
    if row["ratio"] is None:
        yield draw_text(LEFT + 4, y + 12, "failed")
        return
    ends = sorted((scale_ratio(1), scale_ratio(row["ratio"])))
    yield draw_box(ends[0], y + 2, ends[1] - ends[0], 12, COLOURS[row["verdict"]])
    yield draw_line(scale_ratio(row["ratios"][0]), y + 8, scale_ratio(row["ratios"][-1]), y + 8,
                    "#222", 2)
    aim = scale_ratio(row["bar"])
    yield draw_line(aim, y, aim, y + 16, "#d08a00", 3)
    yield draw_text(LEFT + WIDTH + 8, y + 12, f"{row['ratio']:.2f}")


def draw(lines):
    bottom = TOP + LINE * len(lines)
    parts = [draw_text(10, 24, "rnic_sw relative to siw (SCTP: to plain messages): bytes a "
                          "second, median and range of the pairs; orange: the required "
                          "ratio", weight="bold")]
    parts += draw_scale(bottom)
    for n, row in enumerate(lines):
        parts += draw_bar(row, TOP + LINE * n)
    return wrap_svg(LEFT + WIDTH + 70, bottom + 15, parts)
