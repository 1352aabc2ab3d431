# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Draw where the instructions of a message are executed: a bar for each run, divided into
parts; a panel with one scale for each size and MTU."""
import math
import re
from collections import namedtuple

import rows
from svg import draw_box, draw_line, draw_text, wrap_svg

SHEET, LEFT, WIDTH, LINE, BAR = 900, 262, 515, 17, 13
# (name in the key, colour, parts of profile_parts.PARTS that it includes)
KEY = [
    ("copies", "#bccbe0", ["copies"]),
    ("CRC", "#f3bd5c", ["CRC"]),
    ("TCP/IP", "#86b4e0", ["TCP/IP"]),
    ("SCTP", "#a79fe0", ["SCTP"]),
    ("iw_mpa", "#c5e39a", ["iw_mpa"]),
    ("iw_sctp_ddp", "#a5dcc4", ["iw_sctp_ddp"]),
    ("iw_ddp", "#86c96f", ["iw_ddp"]),
    ("rnic_sw", "#4aab7d", ["rnic_sw"]),
    ("siw", "#ee8673", ["siw"]),
    ("RDMA core", "#d7a3d6", ["RDMA core"]),
    ("locks and work", "#c8ad85", ["locks and work"]),
    ("memory", "#ecdcae", ["memory"]),
    ("clearing", "#d9c3bb", ["clearing"]),
    ("system calls", "#b3b3b3", ["system calls"]),
    ("all else", "#dadada", ["waiting", "other", "programs"]),
]
KEY_ACROSS, KEY_EACH = 5, 160
# A bar of siw that is more than TOO_LONG times as long as the longest of the others is not to
# scale: it is drawn shorter by a whole factor, with a break, and labelled with the factor
TOO_LONG = 3
# The figure of a part is shown only if the part is wide enough for it: width of a letter, and
# margin
LETTER, MARGIN = 7, 8
SIZE = re.compile(r" (\d+ (?:B|KiB|MiB))")

# label: name of the row without the size; size, sctp, mtu: the panel to which the bar belongs;
# parts: [(name, colour, thousands of instructions)]
Bar = namedtuple("Bar", "label size sctp mtu who parts")


def format_figure(value):
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def get_bar_total(bar):
    return sum(value for _, _, value in bar.parts)


def make_bar(run, profile):
    size = SIZE.search(run["row"])
    sctp = run["crc"] == "sctp"
    label = SIZE.sub("", run["row"]).removeprefix("SCTP ")
    if not sctp and run["who"] != "tcp":
        label += f", CRC {run['crc']}"
    parts = [(name, colour, sum(profile["parts"].get(part, 0) for part in of))
             for name, colour, of in KEY]
    return Bar(label, size[1] if size else "", sctp, run["mtu"], run["who"],
               [part for part in parts if part[2] > 0])


def make_panels(bars):
    """Yield [[the bars of a row, rnic_sw first], ...] for each panel, plain TCP last."""
    sizes = list(dict.fromkeys(bar.size for bar in bars))
    found = {}
    for bar in bars:
        where = bar.sctp, sizes.index(bar.size), -bar.mtu
        found.setdefault(where, {}).setdefault(bar.label, []).append(bar)
    for _, groups in sorted(found.items()):
        ordered = [sorted(group, key=lambda bar: bar.who != "rnic_sw")
                   for group in groups.values()]
        yield sorted(ordered, key=lambda group: group[0].who == "tcp")


def get_longest_total(groups):
    """Return the total of the longest bar of a panel that is drawn to scale."""
    bars = [bar for group in groups for bar in group]
    others = [get_bar_total(bar) for bar in bars if bar.who != "siw"]
    limit = TOO_LONG * max(others or map(get_bar_total, bars))
    return max(get_bar_total(bar) for bar in bars if get_bar_total(bar) <= limit)


def choose_scale_step(most):
    """Return the distance of the scale's lines: 1, 2 or 5 times a power of ten."""
    for n in range(10):
        for digit in (1, 2, 5):
            if most / (digit * 10 ** n) <= 7:
                return digit * 10 ** n
    return most


def draw_scale(most, top, bottom):
    value = 0
    while value <= most:
        x = LEFT + WIDTH * value / most
        yield draw_line(x, top, x, bottom, "#888" if value == 0 else "#ddd")
        yield draw_text(x, top - 4, str(value), "middle")
        value += choose_scale_step(most)


def draw_break(x, y):
    for at in (x - 4, x + 1):
        yield draw_line(at - 3, y + BAR + 1, at + 3, y - 1, "white", 2)


def draw_bar(bar, most, y):
    """Yield the parts of a bar, and its total at the end."""
    times, x = math.ceil(get_bar_total(bar) / most), LEFT
    for name, colour, value in bar.parts:
        width = WIDTH * value / most / times
        yield draw_box(x, y, width, BAR, colour, f"{name} {format_figure(value)}")
        if width >= LETTER * len(format_figure(value)) + MARGIN:
            yield draw_text(x + 4, y + BAR - 2.5, format_figure(value))
        x += width
    if times > 1:
        yield from draw_break(x, y)
    yield draw_text(x + 7, y + BAR - 2, format_figure(get_bar_total(bar)) +
                    (f" = {times} x this" if times > 1 else ""), weight="bold")


OTHERS = {"tcp": "", "sctp": "bare SCTP"}


def draw_panel(groups, y):
    """Return the elements of a panel, and its lower end."""
    first, most = groups[0][0], get_longest_total(groups)
    end = y + 40 + sum(LINE * len(group) + 7 for group in groups)
    parts = [draw_text(10, y + 18, f"{first.size}{' over SCTP' if first.sctp else ''}, "
                       f"MTU {first.mtu}", weight="bold"), *draw_scale(most, y + 36, end - 5)]
    y += 41
    for group in groups:
        parts.append(draw_text(10, y + BAR - 2, group[0].label))
        for bar in group:
            parts.append(draw_text(LEFT - 8, y + BAR - 2, OTHERS.get(bar.who, bar.who), "end"))
            parts += draw_bar(bar, most, y)
            y += LINE
        y += 7
    return parts, end


def draw_key(bars, y):
    """Return the elements of the key of the colours, and its lower end."""
    present = {name for bar in bars for name, _, _ in bar.parts}
    shown = [(name, colour) for name, colour, _ in KEY if name in present]
    parts = []
    for n, (name, colour) in enumerate(shown):
        x = 10 + KEY_EACH * (n % KEY_ACROSS)
        at = y + 20 * (n // KEY_ACROSS)
        parts += [draw_box(x, at, 14, BAR, colour), draw_text(x + 19, at + BAR - 2, name)]
    return parts, y + 20 * -(-len(shown) // KEY_ACROSS)


def draw(measured, profiles):
    """Return the picture, or "" if there is nothing to draw. Rows of rnic_sw only are left out."""
    beside_none = {row.name for row in rows.OURS}
    bars = [make_bar(run, profile) for run, profile in zip(measured["runs"], profiles)
            if run["row"] not in beside_none]
    if not bars:
        return ""
    head = ("Thousands of instructions per message, both ends: kernel "
            f"{measured['kernel']}, one CPU")
    parts, y = draw_key(bars, 36)
    parts.insert(0, draw_text(10, 22, head, weight="bold"))
    for groups in make_panels(bars):
        drawn, y = draw_panel(groups, y + 6)
        parts += drawn
    return wrap_svg(SHEET, y + 6, parts)
