#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test that `clock.py --profile` draws each counted part to scale, and prints the cache lines
fetched."""
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

sys.dont_write_bytecode = True
import profile_parts
import stacks

HERE = os.path.dirname(os.path.realpath(__file__))
SVG = "{http://www.w3.org/2000/svg}"
# one function for each part of the system that the tests use: {function: its module}
SYMBOLS = {"memcpy_orig": "", "tcp_ack": "", "crc_pcl": "[crc32c_intel]",
           "siw_run": "[siw]", "rnic_run": "[rnic_sw]", "sctp_rcv": "[sctp]"}
ADDRESSES = {name: 0xffffffff81000000 + 0x1000 * n for n, name in enumerate(SYMBOLS)}
MESSAGES = 10


def make_run(row, who, counts, crc="off", mtu=65536):
    """Return a run as measure.py prints it; counts: {function: thousands per message}"""
    return {"row": row, "crc": crc, "mtu": mtu, "pair": 0, "who": who, "counts": counts,
            "result": {"messages": MESSAGES, "messages_per_s": 1e6 / sum(counts.values())}}


def draw_picture(runs):
    """Return the root of clock.svg, or None without one."""
    return draw_and_print(runs)[0]


def draw_and_print(runs):
    """Return the root of clock.svg, and the text printed."""
    with tempfile.TemporaryDirectory() as folder:
        def write(name, content):
            with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                f.write(content)
        write("measured.json", json.dumps({"kernel": "6.1 <&>", "runs": runs}))
        write("kallsyms", "".join(f"{ADDRESSES[name]:x} t {name} {module}\n"
                                  for name, module in SYMBOLS.items()))
        # instructions before the measurement must not be shown
        write("instructions", "".join(
            f"{ADDRESSES['siw_run']:x} 999999\nlines 99 99\n\n" +
            "".join(f"{ADDRESSES[name]:x} {1000 * MESSAGES * value:.0f}\n"
                    for name, value in r["counts"].items()) +
            f"lines {1200 * MESSAGES} {50 * MESSAGES}\n\n" for r in runs))
        done = subprocess.run([f"{HERE}/clock.py", f"{folder}/measured.json",
                               f"{HERE}/budget", "--profile"], check=True, text=True,
                              stdout=subprocess.PIPE)
        path = os.path.join(folder, "clock.svg")
        return ET.parse(path).getroot() if os.path.exists(path) else None, done.stdout


def load_cache_model(folder):
    """Return a Python function that runs the cache model of cache.c: it returns the number of lines
    fetched for some addresses."""
    path = os.path.join(folder, "cache.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, f"{HERE}/cache.c"], check=True)
    lib = ctypes.CDLL(path)
    lib.cache_take_fetch_count.restype = ctypes.c_uint64
    here = ctypes.create_string_buffer(8 * 64 * 8 + 8)

    def count_fetched_lines(*addresses, octets=1):
        for addr in addresses:
            lib.cache_access(here, ctypes.c_uint64(addr), ctypes.c_uint64(octets))
        return lib.cache_take_fetch_count(here)
    return count_fetched_lines


def find_bars(root):
    """Return {label of the part: width} for each bar, from the top."""
    found = {}
    for box in root.iter(SVG + "rect"):
        title = box.find(SVG + "title")
        if title is not None:
            found.setdefault(float(box.get("y")), {})[title.text] = float(box.get("width"))
    return [found[y] for y in sorted(found)]


def find_texts(root):
    """Return all texts, sorted from top to bottom, then from left to right."""
    texts = sorted(root.iter(SVG + "text"),
                   key=lambda t: (float(t.get("y")), float(t.get("x"))))
    return [t.text or "" for t in texts]


class Stacks(unittest.TestCase):
    def assert_widths(self, bar, thousands, most):
        self.assertEqual(set(bar), set(thousands))
        for part, value in thousands.items():
            self.assertAlmostEqual(bar[part], stacks.WIDTH * value / most, delta=0.06)

    def test_key_lists_each_part_once(self):
        of = [part for _, _, parts in stacks.KEY for part in parts]
        self.assertEqual(sorted(of), sorted(profile_parts.PARTS))
        colours = [colour for _, colour, _ in stacks.KEY]
        self.assertEqual(len(set(colours)), len(colours))

    def test_part_width_is_proportional_to_cost(self):
        root = draw_picture([make_run("write 64 KiB", "siw", {"memcpy_orig": 30, "siw_run": 170}),
                             make_run("write 64 KiB", "rnic_sw",
                                      {"memcpy_orig": 50, "rnic_run": 25})])
        ours, siw = find_bars(root)
        self.assert_widths(ours, {"copies 50.0": 50, "rnic_sw 25.0": 25}, 200)
        self.assert_widths(siw, {"copies 30.0": 30, "siw 170": 170}, 200)
        self.assertNotIn("200 = 1 x this", find_texts(root))

    def test_key_lists_only_present_parts(self):
        root = draw_picture([make_run("write 64 KiB", "rnic_sw", {"crc_pcl": 5, "rnic_run": 25},
                                      "on")])
        said = find_texts(root)
        for name, _, _ in stacks.KEY:
            (self.assertIn if name in ("CRC", "rnic_sw") else self.assertNotIn)(name, said)
        self.assertIn("write, CRC on", said)
        self.assertIn("kernel 6.1 <&>", said[0])

    def test_too_long_bar_is_shortened(self):
        root = draw_picture([make_run("write 64 KiB", "siw", {"tcp_ack": 900, "siw_run": 110}),
                             make_run("write 64 KiB", "rnic_sw",
                                      {"memcpy_orig": 75, "rnic_run": 25})])
        ours, siw = find_bars(root)
        self.assert_widths(ours, {"copies 75.0": 75, "rnic_sw 25.0": 25}, 100)
        # siw's bar is eleven times as long, so it is drawn at 1/11 of its length
        self.assert_widths(siw, {"TCP/IP 900": 900 / 11, "siw 110": 10}, 100)
        self.assertIn("1010 = 11 x this", find_texts(root))
        for text in root.iter(SVG + "text"):
            self.assertLess(float(text.get("x")), stacks.SHEET)

    def test_panels_have_separate_scales(self):
        root = draw_picture([make_run("TCP 64 KiB", "tcp", {"tcp_ack": 60}),
                             make_run("send 64 KiB", "rnic_sw", {"rnic_run": 90}),
                             make_run("ping 64 B", "rnic_sw", {"rnic_run": 4}),
                             make_run("send 64 KiB", "rnic_sw", {"rnic_run": 120}, mtu=1500),
                             make_run("SCTP send 64 KiB", "sctp", {"sctp_rcv": 800}, "sctp"),
                             make_run("SCTP send 64 KiB", "rnic_sw", {"rnic_run": 900}, "sctp")])
        self.assertEqual([w for w in find_texts(root) if "MTU" in w],
                         ["64 KiB, MTU 65536", "64 KiB, MTU 1500", "64 B, MTU 65536",
                          "64 KiB over SCTP, MTU 65536"])
        # the bars of TCP are below those of RDMA, and plain SCTP is below rnic_sw
        wanted = [("rnic_sw 90.0", 90, 90), ("TCP/IP 60.0", 60, 90), ("rnic_sw 120", 1, 1),
                  ("rnic_sw 4.0", 1, 1), ("rnic_sw 900", 1, 1), ("SCTP 800", 800, 900)]
        for bar, (part, value, most) in zip(find_bars(root), wanted, strict=True):
            self.assert_widths(bar, {part: value}, most)

    def test_fetched_lines_are_printed(self):
        _, said = draw_and_print([make_run("write 64 KiB", "rnic_sw", {"rnic_run": 25})])
        self.assertIn("lines fetched: code 1200, data 50\n", said)

    def test_cache_evicts_least_recently_used_line(self):
        with tempfile.TemporaryDirectory() as folder:
            count_fetched_lines = load_cache_model(folder)
        self.assertEqual(count_fetched_lines(0, 63, 0), 1)
        self.assertEqual(count_fetched_lines(60, octets=8), 1)      # ends in the next cache line
        self.assertEqual(count_fetched_lines(*range(0, 32768, 64)), 510)
        self.assertEqual(count_fetched_lines(*range(0, 32768, 64)), 0)
        self.assertEqual(count_fetched_lines(32768, 4096, 0, 4096), 2)      # evicts 0
        self.assertEqual(count_fetched_lines(12288, 8192), 1)       # 8192 was evicted by 0

    def test_odp_rows_are_left_out(self):
        demand = make_run("write 64 KiB, on demand", "rnic_sw", {"rnic_run": 90})
        self.assertIsNone(draw_picture([demand]))
        self.assertEqual(len(find_bars(draw_picture([demand, make_run("send 64 KiB", "rnic_sw",
                                                                      {"rnic_run": 90})]))), 1)


if __name__ == "__main__":
    unittest.main()
