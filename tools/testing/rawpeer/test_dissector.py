#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test tools/wireshark/ddp_sctp.lua with generated captures, valid and invalid ones.

The first line names the interpreter for which Debian installs python3-dpkt.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from dpkt.ethernet import Ethernet
import dpkt

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
# pylint: disable=wrong-import-position
from rawpeer import dissector, mpa, rdmap, sctp, sctp_packet  # noqa: E402
from rawpeer.sctp import Control                    # noqa: E402

A, B = ("10.0.0.1", 40000), ("10.0.0.2", 7471)
ALL_FLAGS = mpa.A | mpa.B | mpa.CC | mpa.D
BIG = 0xFEDCBA9876543210
READ = rdmap.ReadRequest(0x11111111, BIG, 0x22222222, 0x33333333, BIG + 1)
TAGGED = rdmap.make_write(1, 2).header()
UNTAGGED = rdmap.make_send(1).header()

MESSAGES = (
    *(Control(code, pd) for code in (sctp.INITIATE, sctp.ACCEPT, sctp.REJECT)
      for pd in (b"", b"x", bytes(range(256)) * 2)),
    Control(sctp.TERMINATE),
    *(Control(code, mpa.pack_enhanced_word(ird, ord_, flags) + pd)
      for code in (sctp.E_INITIATE, sctp.E_ACCEPT, sctp.E_REJECT)
      for ird, ord_, flags, pd in (
          (4, 5, mpa.A, b""), (mpa.NOT_NEGOTIATED, 0, mpa.B, b"hello"),
          (0, mpa.NOT_NEGOTIATED, mpa.CC, bytes(508)), (1, 2, mpa.D, b"x"),
          (3, 3, ALL_FLAGS, b""), (3, 3, 0, b""))),
    *(rdmap.make_send(7, payload, opcode, mo=mo, last=last)
      for opcode in (rdmap.SEND, rdmap.SEND_SE)
      for payload, mo, last in ((b"", 0, True), (b"a", 0, False),
                                (bytes(1400), BIG & 0xFFFFFFFF, True))),
    *(rdmap.make_send(1, b"abc", opcode, ulp32=0x12345678)
      for opcode in (rdmap.SEND_INV, rdmap.SEND_SE_INV)),
    rdmap.make_write(0x12345678, BIG, b"written"), rdmap.make_write(0, 0),
    rdmap.make_write(1, 2, b"w", last=False),
    rdmap.make_read_response(0x12345678, BIG, b"read"), READ.segment(3),
    *(rdmap.make_immediate(9, struct.pack(">Q", BIG), opcode)
      for opcode in (rdmap.IMMEDIATE, rdmap.IMMEDIATE_SE)),
    *(rdmap.AtomicRequest(code, 0x44444444, 0x55555555, BIG, BIG + 2, BIG + 3,
                          BIG + 4, BIG + 5).segment(4)
      for code in (rdmap.FETCH_ADD, rdmap.CMP_SWAP)),
    rdmap.AtomicResponse(0x44444444, BIG).segment(2),
    *(rdmap.Terminate(*what, **quoted).segment()
      for what, quoted in (
          ((0, 1, 8), {"length": 46, "ddp": UNTAGGED, "rdma": READ.pack()}),
          ((0, 2, 9), {"length": 46, "ddp": UNTAGGED, "rdma": READ.pack()}),
          ((0, 2, 5), {"length": 18, "ddp": UNTAGGED}),
          ((1, 1, 2), {"length": 14, "ddp": TAGGED}),
          ((1, 2, 3), {"length": 18, "ddp": UNTAGGED}),
          ((2, 0, 1), {}))),
)


def build_frame(packet):
    return Ethernet(data=sctp_packet.build_ip_packet(packet.source[0], packet.target[0],
                                                     packet.pack()))


class Wire:
    """An association that records its frames."""

    def __init__(self):
        self.frames, self.tsn, self.ssns = [], 1000, {}

    def make_chunk(self, message, sid=0, flags=7):
        """Return a DATA chunk.

        message: a Control, a DDP segment, or a pair of bytes and their PPID."""
        if isinstance(message, tuple):
            octets, ppid = message
        else:
            ssn = self.ssns.setdefault(sid, 0)
            self.ssns[sid] = ssn + 1
            octets = struct.pack(">H", ssn) + message.pack()
            ppid = sctp.CONTROL if isinstance(message, Control) \
                else sctp.SEGMENT
        self.tsn += 1
        return sctp_packet.make_data_chunk(sid, octets, ppid, self.tsn, flags)

    def add_packet(self, *chunks):
        self.frames.append(build_frame(sctp_packet.Packet(A, B, 7, list(chunks))))
        return self

    def add_message(self, message, sid=0):
        return self.add_packet(self.make_chunk(message, sid))


class Values(unittest.TestCase):
    """The text of a value differs between releases of tshark."""

    def test_flags_of_each_release_are_parsed(self):
        for release, clear, set_ in (("4.0.17", "0", "1"),
                                     ("4.4.19", "False", "True"),
                                     ("4.6.9", "False", "True")):
            with self.subTest(release=release):
                self.assertTrue(dissector.is_same_value(0, clear))
                self.assertTrue(dissector.is_same_value(1, set_))
                self.assertFalse(dissector.is_same_value(0, set_))
                self.assertFalse(dissector.is_same_value(1, clear))

    def test_numbers_are_compared(self):
        self.assertTrue(dissector.is_same_value(16, "0x00000010"))
        self.assertTrue(dissector.is_same_value(16, "16"))
        self.assertFalse(dissector.is_same_value(16, "17"))
        self.assertFalse(dissector.is_same_value(16, None))


class Privileges(unittest.TestCase):
    """tshark 4.4 and later ignore the dissector if root starts them."""

    def test_tshark_as_other_user_reads_dissector(self):
        with tempfile.TemporaryDirectory() as there:
            os.chmod(there, 0o755)
            stub = os.path.join(there, "tshark")
            with open(stub, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\nid -u; id -g; echo \"$3\"\n"
                           "cat \"${2#lua_script:}\"\n")
            os.chmod(stub, 0o755)
            done = subprocess.run(
                [dissector.TSHARK, "-V"], capture_output=True, text=True,
                check=True,
                env={**os.environ, "PATH": there + ":" + os.environ["PATH"]})
        user, group, option, script = done.stdout.split("\n", 3)
        self.assertNotIn("0", (user, group))
        self.assertEqual(option, "-V")
        self.assertIn('Proto("ddp_sctp"', script)


class Dissector(unittest.TestCase):
    """Each test generates a capture and checks what tshark decodes."""

    def setUp(self):
        self.file = tempfile.NamedTemporaryFile(suffix=".pcap")
        self.addCleanup(self.file.close)

    def write_capture(self, wire):
        with open(self.file.name, "wb") as file:
            capture = dpkt.pcap.Writer(file)
            for one in wire.frames:
                capture.writepkt(bytes(one), ts=0)

    def run_sctp_check(self, wire):
        self.write_capture(wire)
        return subprocess.run(
            [os.path.join(HERE, "sctp-check"), "--facts", self.file.name],
            capture_output=True, text=True, check=False)

    def assert_good(self, wire, chunks):
        done = self.run_sctp_check(wire)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"chunks {chunks}", done.stdout.splitlines())

    def decode_with_tshark(self, wire, *options):
        self.write_capture(wire)
        return list(dissector.decode_by_tshark(self.file.name, *options))

    def assert_remarks(self, words, *messages):
        """Check that tshark's remark about each of these chunks contains these words."""
        wire = Wire()
        for message in messages:
            wire.add_message(message)
        seen = self.decode_with_tshark(wire)
        self.assertEqual(len(seen), len(messages))
        for one in seen:
            self.assertIn(words, one[dissector.REMARK])

    def read_info_column(self, wire):
        """Return tshark's Info column of each packet."""
        self.write_capture(wire)
        with open(self.file.name, "rb") as file:
            done = subprocess.run(
                [dissector.TSHARK, "-n", "-r", "-", "-T", "fields",
                 "-e", "_ws.col.Info"],
                stdin=file, capture_output=True, text=True, check=True)
        return [line.strip() for line in done.stdout.splitlines()]

    def test_every_message_is_decoded(self):
        wire = Wire()
        for message in MESSAGES:
            wire.add_message(message, sid=3)
        self.assert_good(wire, len(MESSAGES))

    def test_bundled_chunks_are_decoded(self):
        wire = Wire()
        for i in range(0, len(MESSAGES), 3):
            wire.add_packet(*(wire.make_chunk(message, sid=i)
                              for message in MESSAGES[i:i + 3]))
        self.assert_good(wire, len(MESSAGES))

    def test_retransmitted_chunk_is_decoded(self):
        wire = Wire()
        chunk = wire.make_chunk(rdmap.make_write(1, 2, b"abc"))
        self.assert_good(wire.add_packet(chunk).add_packet(chunk), 1)

    def test_fragmented_chunk_is_reassembled(self):
        wire, octets = Wire(), b"\0\0" + rdmap.make_write(1, 2, b"abcdef").pack()
        begin, end = (wire.make_chunk((part, sctp.SEGMENT), flags=4 | flag)
                      for part, flag in ((octets[:9], sctp_packet.BEGIN),
                                         (octets[9:], sctp_packet.END)))
        one, = self.decode_with_tshark(wire.add_packet(begin).add_packet(end))
        self.assertEqual(one["iwarp_ddp.tagged_offset"], "0x0000000000000002")
        self.assertEqual(one["data.data"], b"abcdef".hex(":"))

    def test_sends_of_two_streams_are_reassembled_separately(self):
        wire = Wire()
        for mo, last in (0, False), (8, True):
            for sid in 0, 1:
                wire.add_message(rdmap.make_send(1, b"stream %d" % sid, mo=mo, last=last),
                                 sid)
        whole = self.decode_with_tshark(wire, "-o",
                                        "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:TRUE")
        self.assertEqual(
            [dissector.parse_hex_bytes(one["data.data"]) for one in whole
             if "data.data" in one], [b"stream 0" * 2, b"stream 1" * 2])

    def test_other_payload_is_not_decoded(self):
        wire = Wire()
        wire.add_message((b"\0\0\0\1", 18)).add_message((b"\0\0\0\1", 0))
        wire.add_message(Control(sctp.TERMINATE))
        self.assert_good(wire, 1)

    def test_short_chunks_get_remark(self):
        self.assert_remarks("Too short", *(
            (octets, ppid) for octets in (b"\0", b"\0\0", b"\0\0\0")
            for ppid in (sctp.SEGMENT, sctp.CONTROL)), *(
            (b"\0\0" + header[:-1], sctp.SEGMENT)
            for header in (TAGGED, UNTAGGED)), *(
            (struct.pack(">HH", 0, code) + bytes(3), sctp.CONTROL)
            for code in (sctp.E_INITIATE, sctp.E_ACCEPT)))

    def test_long_private_data_get_remark(self):
        self.assert_remarks("More Private Data", Control(sctp.TERMINATE, b"x"),
                            Control(sctp.INITIATE, bytes(513)),
                            Control(sctp.E_REJECT, bytes(513)))

    def test_unknown_functions_get_remark(self):
        self.assert_remarks("No such", *(Control(code) for code in (0, 8, 0xFFFF)))

    def test_short_read_request_does_not_hide_next_chunk(self):
        wire = Wire()
        half = READ.segment(1)
        half.payload = half.payload[:10]
        wire.add_packet(wire.make_chunk(half), wire.make_chunk(rdmap.make_write(5, 6, b"x")))
        first, second = self.decode_with_tshark(wire)
        self.assertEqual(first[dissector.REMARK],
                         "Malformed Packet (Exception occurred)")
        self.assertEqual(second["iwarp_ddp.stag"], "0x00000005")

    def test_info_column_names_message(self):
        wire = Wire()
        wire.add_message(Control(sctp.E_INITIATE, mpa.pack_enhanced_word(1, 1)), 4)
        wire.add_packet(wire.make_chunk(rdmap.make_write(1, 2, b"x"), 1),
                        wire.make_chunk(rdmap.make_immediate(1), 2))
        self.assertEqual(self.read_info_column(wire), [
            "stream 4: Enhanced Initiate",
            "stream 1: Write [last DDP segment] "
            "stream 2: Immediate Data [last DDP segment]"])

    def test_difference_from_tshark_is_found(self):
        # test the comparison itself: the bytes and the decoding differ in one field
        want = dissector.decode_by_parser(sctp.Chunk(
            0, sctp.SEGMENT, True, b"\0\0" + rdmap.make_write(1, 2, b"y").pack()))
        got, = self.decode_with_tshark(Wire().add_message(rdmap.make_write(1, 2, b"x")))
        self.assertEqual(len(list(dissector.find_differences(want, got))), 1)


if __name__ == "__main__":
    if not shutil.which("tshark"):
        sys.exit("test_dissector: needs tshark: apt-get install tshark")
    unittest.main()
