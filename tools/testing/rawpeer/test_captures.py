#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test pcap-check with generated captures, valid and invalid ones.

The first line names the interpreter for which Debian installs python3-dpkt.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

from dpkt.ethernet import Ethernet
from dpkt.tcp import TCP, TH_ACK, TH_SYN
import dpkt

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
# pylint: disable=wrong-import-position
from rawpeer import mpa, pcap, rdmap                # noqa: E402

A, B = (bytes([10, 0, 0, 1]), 40000), (bytes([10, 0, 0, 2]), 7471)
MSS = 1448


def build_frame(source, target, seq, octets=b"", flags=TH_ACK):
    tcp = TCP(sport=source[1], dport=target[1], seq=seq % pcap.WRAP,
              flags=flags, data=octets)
    ip = dpkt.ip.IP(src=source[0], dst=target[0], p=6, data=tcp)
    ip.len = len(ip)
    return Ethernet(data=ip)


class Wire:
    """A connection that records its frames."""

    def __init__(self, first=1000, initiator=A, responder=B):
        self.ends = initiator, responder
        self.next = [first, first + 5000]
        self.frames = []
        for side, flags in enumerate((TH_SYN, TH_SYN | TH_ACK)):
            self.add_segment(side, b"", flags)
            self.next[side] += 1

    def add_segment(self, side, octets, flags=TH_ACK):
        """Send the next bytes of a side in a TCP segment."""
        self.add_repeated_segment(side, 0, octets, flags)
        self.next[side] += len(octets)

    def add_repeated_segment(self, side, back, octets, flags=TH_ACK):
        """Send bytes again, beginning "back" bytes before the next new byte."""
        self.frames.append(build_frame(self.ends[side], self.ends[not side],
                                       self.next[side] - back, octets, flags))

    def add_startup(self, flags=mpa.C, reply=0):
        self.add_segment(0, mpa.make_request(flags=flags).pack())
        self.add_segment(1, mpa.make_reply(flags=flags | reply, pd=b"hello").pack())


def make_send_fpdus(writer, count, **wrong):
    """Yield this many Sends of random sizes as FPDUs; wrong: more arguments of build_fpdu() for the
    last one."""
    rand = random.Random(count)
    for msn in range(1, count + 1):
        size = rand.randrange(MSS - 60)
        segment = rdmap.make_send(msn, rand.randbytes(size)).pack()
        yield writer.build_fpdu(segment, **(wrong if msn == count else {}))


def make_usual_capture(flags=mpa.C, first=1000, **wrong):
    wire = Wire(first)
    wire.add_startup(flags)
    for side in 0, 1:
        writer = mpa.Writer(bool(flags & mpa.M), bool(flags & mpa.C))
        for octets in make_send_fpdus(writer, 200, **wrong):
            wire.add_segment(side, octets)
    return wire


def read_connections_of(*wires):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        pcap.write_capture(file.name, [one for wire in wires for one in wire.frames])
        return pcap.read_connections(file.name)


class Captures(unittest.TestCase):
    """Each test writes a capture and checks the result of pcap-check for it."""

    def check_captures(self, wires, status):
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            pcap.write_capture(file.name, [one for wire in wires
                                           for one in wire.frames])
            done = subprocess.run(
                [os.path.join(HERE, "pcap-check"), "--facts", file.name],
                capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout.splitlines(), done.stderr

    def assert_good(self, *wires):
        return self.check_captures(wires, 0)[0]

    def assert_bad(self, words, *wires):
        self.assertIn(words, self.check_captures(wires, 1)[1])

    def test_correct_capture_is_good(self):
        facts = self.assert_good(make_usual_capture())
        self.assertIn("fpdus 400", facts)
        self.assertIn("tshark_good_crcs 400", facts)
        self.assertNotIn("unaligned", " ".join(facts))
        longest = max(map(len, make_send_fpdus(mpa.Writer(), 200)))
        self.assertIn(f"apart {longest}", facts)

    def test_unused_crc_is_ignored(self):
        self.assertIn("tshark_unused_crcs 400", self.assert_good(make_usual_capture(flags=0)))

    def test_markers_are_decoded(self):
        facts = self.assert_good(make_usual_capture(mpa.C | mpa.M))
        self.assertIn("tshark_fpdus 400", facts)
        self.assertTrue(any(one.startswith("tshark_left_out")
                            for one in facts), facts)

    def test_unaligned_segments_are_counted(self):
        wire = Wire()
        wire.add_startup()
        octets = b"".join(make_send_fpdus(mpa.Writer(), 50))
        for place in range(0, len(octets), MSS):
            wire.add_segment(0, octets[place:place + MSS])
        facts = self.assert_good(wire)
        self.assertIn("fpdus 50", facts)
        self.assertTrue(any(one.startswith("unaligned") for one in facts))
        # only the first and the last segment begin with an FPDU
        self.assertIn(f"apart {len(octets) // MSS * MSS}", facts)

    def test_retransmission_is_good(self):
        wire = Wire()
        wire.add_startup()
        for octets in make_send_fpdus(mpa.Writer(), 20):
            wire.add_segment(0, octets)
            wire.add_repeated_segment(0, len(octets), octets)      # a complete retransmission
            wire.add_repeated_segment(0, 1, b"")                   # a keep-alive probe
            wire.add_repeated_segment(0, 10, octets[-10:])
        self.assertIn("fpdus 20", self.assert_good(wire))

    def test_longer_retransmission_is_good(self):
        # tshark cannot decode this capture, so only pcap.py is tested
        wire = Wire()
        wire.add_segment(0, b"one two thr")
        wire.add_repeated_segment(0, 3, b"three")
        wire.next[0] += 2
        wire.add_segment(0, b" four")
        there, back = read_connections_of(wire)[0]
        self.assertEqual(there.octets, b"one two three four")
        self.assertEqual(there.segments, [0, 13])
        self.assertFalse(back.octets)

    def test_sequence_numbers_may_wrap(self):
        wire = Wire(first=pcap.WRAP - 3000)
        wire.add_startup()
        for octets in make_send_fpdus(mpa.Writer(), 20):
            wire.add_segment(0, octets)
        self.assertIn("fpdus 20", self.assert_good(wire))

    def test_reused_port_is_good(self):
        # tshark mistakes the second connection for a part of the first one, so only pcap.py is
        # tested
        pairs = read_connections_of(make_usual_capture(), make_usual_capture(first=77))
        mine, others = pcap.find_sessions(pairs)
        self.assertEqual((len(mine), others), (2, 0))
        self.assertEqual(pcap.count_facts(mine)["fpdus"], 800)

    def test_reject_is_good(self):
        wire = Wire(initiator=(A[0], 40001))
        wire.add_startup(reply=mpa.R)
        facts = self.assert_good(make_usual_capture(), wire)
        self.assertIn("rejected 1", facts)
        wire.add_segment(0, b"all the same")
        self.assert_bad("12 bytes that belong to no FPDU", make_usual_capture(), wire)

    def test_other_protocol_is_counted(self):
        wire = Wire(initiator=(A[0], 40001))
        wire.add_segment(0, b"GET / HTTP/1.1\r\n\r\n")
        self.assertIn("other_connections 1", self.assert_good(make_usual_capture(), wire))

    def test_wrong_crc_is_found(self):
        self.assert_bad("2 bad CRCs", make_usual_capture(crc=b"none"))

    def test_wrong_crc_that_tshark_misses_is_found(self):
        # the FPDU ends where a marker follows, so tshark would misread it
        wire = Wire()
        wire.add_startup(mpa.C | mpa.M)
        writer = mpa.Writer(markers=True)
        octets = writer.build_fpdu(rdmap.make_send(1, bytes(512 - 4 - 2 - 18 - 4)).pack(),
                                   crc=b"none")
        self.assertEqual(len(octets), 512)
        wire.add_segment(0, octets)
        self.assert_bad("1 bad CRCs", wire)

    def test_wrong_pad_is_found(self):
        wire = Wire()
        wire.add_startup()
        wire.add_segment(0, mpa.Writer().build_fpdu(rdmap.make_send(1, b"x").pack(), pad=b"xyz"))
        facts, said = self.check_captures([wire], 1)
        self.assertIn("PAD should be zero", said)
        self.assertIn("against_the_rfc 1", facts)

    def test_wrong_marker_is_found(self):
        self.assert_bad("should be a pointer of", make_usual_capture(
            mpa.C | mpa.M, marker=lambda right: right[:3] + b"\xff"))

    def test_incomplete_fpdu_is_found(self):
        wire = make_usual_capture()
        wire.add_segment(0, next(make_send_fpdus(mpa.Writer(), 1))[:-1])
        self.assert_bad("bytes that belong to no FPDU", wire)

    def test_wrong_rdmap_is_found(self):
        wire = Wire()
        wire.add_startup()
        wire.add_segment(0, mpa.Writer().build_fpdu(b"\x41\x43" + bytes(9)))
        self.assert_bad("tshark", wire)

    def test_empty_capture_is_bad(self):
        wire = Wire()
        self.assert_bad("the capture contains no FPDU", wire)

    def test_missing_frame_is_found(self):
        wire = make_usual_capture()
        del wire.frames[50]
        self.assert_bad("were not captured", wire)

    def test_missing_beginning_is_found(self):
        wire = make_usual_capture()
        del wire.frames[1]
        self.assert_bad("the beginning of the connection was not captured", wire)

    def test_file_without_capture_is_reported(self):
        done = subprocess.run(
            [os.path.join(HERE, "pcap-check"), __file__, os.devnull,
             os.path.join(HERE, "nowhere")],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 3, done.stderr)


if __name__ == "__main__":
    if not shutil.which("tshark"):
        sys.exit("test_captures: needs tshark: apt-get install tshark")
    unittest.main()
