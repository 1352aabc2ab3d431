# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Elements of a picture: text, lines, boxes and the sheet."""
from html import escape

SHEET = ('<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" '
         'viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="12">\n'
         '<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause -->\n'
         '<rect width="100%" height="100%" fill="white"/>\n{2}\n</svg>\n')


def draw_text(x, y, words, anchor="start", weight="normal"):
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    how = "" if weight == "normal" else f' font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{where}{how}>{escape(words)}</text>'


def draw_line(x1, y1, x2, y2, colour, width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width}"/>')


def draw_box(x, y, width, height, colour, words=""):
    """Return a box; the words are shown as its tooltip."""
    title = f"<title>{escape(words)}</title>" if words else ""
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" '
            f'fill="{colour}">{title}</rect>')


def wrap_svg(width, height, parts):
    """Return the picture, on a white background."""
    return SHEET.format(width, height, "\n".join(parts))
