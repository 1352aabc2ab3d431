#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test the raw peer: compare its bytes with the figures of the RFCs, and parse what it
builds."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                ".."))
# pylint: disable=wrong-import-position
from rawpeer import ddp, mpa, rdmap, sctp, sctp_packet     # noqa: E402


def check_fpdu_of_rfc5044_figure_5():
    """Build the FPDU of RFC 5044 figure 5 (MPA-33, MPA-48)."""
    out = mpa.Writer(markers=True).build_fpdu(rdmap.make_send(1, bytes(24)).pack())
    assert out[:8] == bytes.fromhex("00000000002a4143"), out.hex()
    assert out[-4:] == bytes.fromhex("52239983"), out.hex()


def check_fpdu_of_rfc5044_figure_6():
    """Build the FPDU of RFC 5044 figure 6 (MPA-49)."""
    writer = mpa.Writer(markers=True)
    first = writer.build_fpdu(rdmap.make_send(1, bytes(492 - 4 - 6 - 18)).pack())
    assert len(first) == 492, len(first)
    out = writer.build_fpdu(rdmap.make_send(2, bytes(24)).pack())
    assert out[20:24] == bytes.fromhex("00000014"), out.hex()
    assert out[-4:] == bytes.fromhex("84925898"), out.hex()


def check_reader_reads_written_fpdus():
    rand = random.Random(5044)
    for markers in (False, True):
        writer, reader = mpa.Writer(markers), mpa.Reader(markers)
        for _ in range(300):
            segment = rdmap.make_write(7, 9, rand.randbytes(rand.randrange(1400)))
            octets = writer.build_fpdu(segment.pack())
            cut = rand.randrange(len(octets) + 1)
            got = reader.feed(octets[:cut]) + reader.feed(octets[cut:])
            assert len(got) == 1 and ddp.parse(got[0].ulpdu) == segment
            assert writer.pos == reader.pos


def check_terminate_encoding():
    rreq = rdmap.ReadRequest(1, 2, 3, 4, 5)
    term = rdmap.Terminate(0, 1, 4, 46, rreq.segment(1).header(), rreq.pack())
    assert rdmap.Terminate.parse(term.pack()) == term
    assert term.pack()[:4] == bytes.fromhex("0104e000")


def check_atomic_headers():
    """Build the headers of RFC 7306 figures 4 and 6, and compare each byte."""
    octets = bytes.fromhex(
        "00000002" "01020304" "11121314" "2122232425262728"
        "3132333435363738" "4142434445464748" "5152535455565758"
        "6162636465666768")
    request = rdmap.AtomicRequest(
        rdmap.CMP_SWAP, 0x01020304, 0x11121314, 0x2122232425262728,
        0x3132333435363738, 0x4142434445464748, 0x5152535455565758,
        0x6162636465666768)
    assert request.pack() == octets, request.pack().hex()
    assert rdmap.AtomicRequest.parse(octets) == request
    request.rsvd = 0xFFFFFFF
    assert request.pack()[:4] == bytes.fromhex("fffffff2")
    assert rdmap.AtomicRequest.parse(request.pack()) == request
    assert request.segment(7).header() == bytes.fromhex(
        "414a" "00000000" "00000001" "00000007" "00000000")
    octets = bytes.fromhex("01020304" "1112131415161718")
    response = rdmap.AtomicResponse(0x01020304, 0x1112131415161718)
    assert response.pack() == octets
    assert rdmap.AtomicResponse.parse(octets) == response
    assert response.segment(7).header() == bytes.fromhex(
        "414b" "00000000" "00000003" "00000007" "00000000")


def check_immediate_encoding():
    """Build the messages of RFC 7306 figures 1, 2 and 7."""
    segment = rdmap.make_immediate(3, b"immediat")
    assert segment.pack() == bytes.fromhex(
        "4148" "00000000" "00000000" "00000003" "00000000") + b"immediat"
    assert rdmap.make_immediate(3, opcode=rdmap.IMMEDIATE_SE).ulp == 0x49


def check_atomic_arithmetic():
    """Compare compute_masked_add() and compute_masked_swap() with results that are computed
    without the pseudocode of RFC 7306."""
    rand = random.Random(7306)
    for _ in range(200):
        old, add = rand.getrandbits(64), rand.getrandbits(64)
        assert rdmap.compute_masked_add(old, add, 0) == old + add & rdmap.ALL
        assert rdmap.compute_masked_add(old, add, rdmap.ALL) == old ^ add
        octets = bytes(a + b & 255 for a, b in zip(
            old.to_bytes(8, "big"), add.to_bytes(8, "big")))
        assert rdmap.compute_masked_add(old, add, 0x8080808080808080) == \
            int.from_bytes(octets, "big")
    assert rdmap.compute_masked_swap(0x1234, 0xABCD, 0xFF, 0x34, 0xFF) == 0x12CD
    assert rdmap.compute_masked_swap(0x1234, 0xABCD, 0xFF, 0x35, 0xFF) == 0x1234


class Loop(sctp.Carrier):
    """A carrier that receives what it sends."""

    def send_message(self, sid, octets, ppid, unordered=True, more=False):
        self.last = octets
        self.stream(sid).check_and_order_chunk(sctp.Chunk(sid, ppid, unordered, octets))


def check_sctp_chunks():
    """Build the chunks of RFC 5043 sections 5.2.2 and 5.2.3, RFC 6581 section 7."""
    loop = Loop()
    stream = loop.stream(3)
    stream.send_control(sctp.INITIATE, b"pd")
    assert loop.last == bytes.fromhex("0000" "0001") + b"pd"
    assert stream.receive_control() == sctp.Control(sctp.INITIATE, b"pd")
    stream.send_segments(rdmap.make_write(7, 9, b"data"))
    assert loop.last == bytes.fromhex(
        "0001" "c140" "00000007" "0000000000000009") + b"data"
    assert stream.receive_segment() == rdmap.make_write(7, 9, b"data")
    word = mpa.pack_enhanced_word(3, 0x1234, mpa.A | mpa.CC)
    stream.send_control(sctp.E_ACCEPT, word + b"pd")
    assert loop.last == bytes.fromhex("0002" "0006" "80039234") + b"pd"
    got = stream.receive_control()
    assert (got.ird, got.ord, got.rtr, got.data) == \
        (3, 0x1234, mpa.A | mpa.CC, b"pd")
    stream.terminate()
    assert loop.last == bytes.fromhex("0003" "0004")


def check_sctp_packets():
    """Build the chunks of RFC 9260 sections 3.3.1 and 3.3.2, RFC 5061 section 4.2.6."""
    init = sctp_packet.Chunk(
        sctp_packet.INIT, 0, bytes.fromhex(
            "01020304" "00100000" "0010" "0020" "11121314") +
        sctp_packet.pack_adaptation(1))
    assert init.pack() == bytes.fromhex(
        "0100001c" "01020304" "00100000" "00100020"
        "11121314" "c006000800000001"), init.pack().hex()
    assert init.init == (0x01020304, 1 << 20, 16, 32, 0x11121314)
    assert init.adaptations == ["00000001"]
    data = sctp_packet.make_data_chunk(3, b"12345", 16, 0x01020304)
    assert data.pack() == bytes.fromhex(
        "00070015" "01020304" "00030000" "00000010") + b"12345\0\0\0"
    packet = sctp_packet.Packet(("10.9.2.3", 1), ("10.9.2.1", 2), 9,
                                [init, data])
    again = sctp_packet.parse_ip_packet(sctp_packet.build_ip_packet("10.9.2.3", "10.9.2.1",
                                                                    packet.pack()))
    assert (again.source, again.target, again.tag, again.chunks) == \
        (packet.source, packet.target, 9, [init, data])


for test in (check_fpdu_of_rfc5044_figure_5, check_fpdu_of_rfc5044_figure_6,
             check_reader_reads_written_fpdus, check_terminate_encoding,
             check_atomic_headers,
             check_immediate_encoding, check_atomic_arithmetic, check_sctp_chunks, check_sctp_packets):
    test()
    print("ok", test.__name__)
