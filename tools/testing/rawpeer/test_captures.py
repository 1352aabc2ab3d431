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


def frame(source, target, seq, octets=b"", flags=TH_ACK):
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
            self.put(side, b"", flags)
            self.next[side] += 1

    def put(self, side, octets, flags=TH_ACK):
        """Send the next bytes of a side in a TCP segment."""
        self.again(side, 0, octets, flags)
        self.next[side] += len(octets)

    def again(self, side, back, octets, flags=TH_ACK):
        """Send bytes again, beginning "back" bytes before the next new byte."""
        self.frames.append(frame(self.ends[side], self.ends[not side],
                                 self.next[side] - back, octets, flags))

    def start_up(self, flags=mpa.C, reply=0):
        self.put(0, mpa.request(flags=flags).pack())
        self.put(1, mpa.reply(flags=flags | reply, pd=b"hello").pack())


def messages(writer, count, **wrong):
    """Yield this many Sends of random sizes as FPDUs; "wrong" has arguments of fpdu() for the last
    one."""
    rand = random.Random(count)
    for msn in range(1, count + 1):
        size = rand.randrange(MSS - 60)
        segment = rdmap.send(msn, rand.randbytes(size)).pack()
        yield writer.fpdu(segment, **(wrong if msn == count else {}))


def usual(flags=mpa.C, first=1000, **wrong):
    wire = Wire(first)
    wire.start_up(flags)
    for side in 0, 1:
        writer = mpa.Writer(bool(flags & mpa.M), bool(flags & mpa.C))
        for octets in messages(writer, 200, **wrong):
            wire.put(side, octets)
    return wire


def connections(*wires):
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        pcap.write(file.name, [one for wire in wires for one in wire.frames])
        return pcap.connections(file.name)


class Captures(unittest.TestCase):
    """Each test writes a capture and checks the result of pcap-check for it."""

    def verdict(self, wires, status):
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            pcap.write(file.name, [one for wire in wires
                                   for one in wire.frames])
            done = subprocess.run(
                [os.path.join(HERE, "pcap-check"), "--facts", file.name],
                capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout.splitlines(), done.stderr

    def good(self, *wires):
        return self.verdict(wires, 0)[0]

    def bad(self, words, *wires):
        self.assertIn(words, self.verdict(wires, 1)[1])

    def test_usual(self):
        facts = self.good(usual())
        self.assertIn("fpdus 400", facts)
        self.assertIn("tshark_good_crcs 400", facts)
        self.assertNotIn("unaligned", " ".join(facts))
        longest = max(map(len, messages(mpa.Writer(), 200)))
        self.assertIn(f"apart {longest}", facts)

    def test_no_crc(self):
        self.assertIn("tshark_unused_crcs 400", self.good(usual(flags=0)))

    def test_markers(self):
        facts = self.good(usual(mpa.C | mpa.M))
        self.assertIn("tshark_fpdus 400", facts)
        self.assertTrue(any(one.startswith("tshark_left_out")
                            for one in facts), facts)

    def test_unaligned(self):
        wire = Wire()
        wire.start_up()
        octets = b"".join(messages(mpa.Writer(), 50))
        for place in range(0, len(octets), MSS):
            wire.put(0, octets[place:place + MSS])
        facts = self.good(wire)
        self.assertIn("fpdus 50", facts)
        self.assertTrue(any(one.startswith("unaligned") for one in facts))
        # only the first and the last segment begin with an FPDU
        self.assertIn(f"apart {len(octets) // MSS * MSS}", facts)

    def test_sent_again(self):
        wire = Wire()
        wire.start_up()
        for octets in messages(mpa.Writer(), 20):
            wire.put(0, octets)
            wire.again(0, len(octets), octets)      # a complete retransmission
            wire.again(0, 1, b"")                   # a keep-alive probe
            wire.again(0, 10, octets[-10:])
        self.assertIn("fpdus 20", self.good(wire))

    def test_sent_again_with_more(self):
        # tshark cannot decode this capture, so only pcap.py is tested
        wire = Wire()
        wire.put(0, b"one two thr")
        wire.again(0, 3, b"three")
        wire.next[0] += 2
        wire.put(0, b" four")
        there, back = connections(wire)[0]
        self.assertEqual(there.octets, b"one two three four")
        self.assertEqual(there.segments, [0, 13])
        self.assertFalse(back.octets)

    def test_sequence_numbers_wrap(self):
        wire = Wire(first=pcap.WRAP - 3000)
        wire.start_up()
        for octets in messages(mpa.Writer(), 20):
            wire.put(0, octets)
        self.assertIn("fpdus 20", self.good(wire))

    def test_port_used_again(self):
        # tshark mistakes the second connection for a part of the first one, so only pcap.py is
        # tested
        pairs = connections(usual(), usual(first=77))
        mine, others = pcap.sessions(pairs)
        self.assertEqual((len(mine), others), (2, 0))
        self.assertEqual(pcap.facts(mine)["fpdus"], 800)

    def test_rejected(self):
        wire = Wire(initiator=(A[0], 40001))
        wire.start_up(reply=mpa.R)
        facts = self.good(usual(), wire)
        self.assertIn("rejected 1", facts)
        wire.put(0, b"all the same")
        self.bad("12 bytes that belong to no FPDU", usual(), wire)

    def test_another_protocol(self):
        wire = Wire(initiator=(A[0], 40001))
        wire.put(0, b"GET / HTTP/1.1\r\n\r\n")
        self.assertIn("other_connections 1", self.good(usual(), wire))

    def test_bad_crc(self):
        self.bad("2 bad CRCs", usual(crc=b"none"))

    def test_bad_crc_where_tshark_is_blind(self):
        # the FPDU ends where a marker follows, so tshark would misread it
        wire = Wire()
        wire.start_up(mpa.C | mpa.M)
        writer = mpa.Writer(markers=True)
        octets = writer.fpdu(rdmap.send(1, bytes(512 - 4 - 2 - 18 - 4)).pack(),
                             crc=b"none")
        self.assertEqual(len(octets), 512)
        wire.put(0, octets)
        self.bad("1 bad CRCs", wire)

    def test_bad_pad(self):
        wire = Wire()
        wire.start_up()
        wire.put(0, mpa.Writer().fpdu(rdmap.send(1, b"x").pack(), pad=b"xyz"))
        facts, said = self.verdict([wire], 1)
        self.assertIn("PAD should be zero", said)
        self.assertIn("against_the_rfc 1", facts)

    def test_bad_marker(self):
        self.bad("should be a pointer of", usual(
            mpa.C | mpa.M, marker=lambda right: right[:3] + b"\xff"))

    def test_half_an_fpdu(self):
        wire = usual()
        wire.put(0, next(messages(mpa.Writer(), 1))[:-1])
        self.bad("bytes that belong to no FPDU", wire)

    def test_rdmap_that_is_none(self):
        wire = Wire()
        wire.start_up()
        wire.put(0, mpa.Writer().fpdu(b"\x41\x43" + bytes(9)))
        self.bad("tshark", wire)

    def test_nothing(self):
        wire = Wire()
        self.bad("the capture contains no FPDU", wire)

    def test_missing_frame(self):
        wire = usual()
        del wire.frames[50]
        self.bad("were not captured", wire)

    def test_missing_beginning(self):
        wire = usual()
        del wire.frames[1]
        self.bad("the beginning of the connection was not captured", wire)

    def test_no_capture(self):
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
