#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The raw peer against the hex dumps of the RFC and against itself."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                ".."))
# pylint: disable=wrong-import-position
from rawpeer import ddp, mpa, rdmap             # noqa: E402


def figure_5():
    """RFC 5044 figure 5 (MPA-33, MPA-48)."""
    out = mpa.Writer(markers=True).fpdu(rdmap.send(1, bytes(24)).pack())
    assert out[:8] == bytes.fromhex("00000000002a4143"), out.hex()
    assert out[-4:] == bytes.fromhex("52239983"), out.hex()


def figure_6():
    """RFC 5044 figure 6 (MPA-49)."""
    writer = mpa.Writer(markers=True)
    first = writer.fpdu(rdmap.send(1, bytes(492 - 4 - 6 - 18)).pack())
    assert len(first) == 492, len(first)
    out = writer.fpdu(rdmap.send(2, bytes(24)).pack())
    assert out[20:24] == bytes.fromhex("00000014"), out.hex()
    assert out[-4:] == bytes.fromhex("84925898"), out.hex()


def there_and_back():
    rand = random.Random(5044)
    for markers in (False, True):
        writer, reader = mpa.Writer(markers), mpa.Reader(markers)
        for _ in range(300):
            segment = rdmap.write(7, 9, rand.randbytes(rand.randrange(1400)))
            octets = writer.fpdu(segment.pack())
            cut = rand.randrange(len(octets) + 1)
            got = reader.feed(octets[:cut]) + reader.feed(octets[cut:])
            assert len(got) == 1 and ddp.parse(got[0].ulpdu) == segment
            assert writer.pos == reader.pos


def terminates():
    rreq = rdmap.ReadRequest(1, 2, 3, 4, 5)
    term = rdmap.Terminate(0, 1, 4, 46, rreq.segment(1).header(), rreq.pack())
    assert rdmap.Terminate.parse(term.pack()) == term
    assert term.pack()[:4] == bytes.fromhex("0104e000")


for test in (figure_5, figure_6, there_and_back, terminates):
    test()
    print("ok", test.__name__)
