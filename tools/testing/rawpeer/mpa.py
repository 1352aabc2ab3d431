# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""MPA: start-up frames, and FPDUs with markers and CRC (RFC 5044, 6581)."""

import struct
from dataclasses import dataclass, field

from . import crc32c

KEY_REQUEST = b"MPA ID Req Frame"
KEY_REPLY = b"MPA ID Rep Frame"
HEADER = 20
PD_MAX = 512

M, C, R, S = 0x80, 0x40, 0x20, 0x10

# flags of the enhanced word, which precedes the Private Data (RFC 6581 section 9)
A, B = 0x80000000, 0x40000000
CC, D = 0x8000, 0x4000
NOT_NEGOTIATED = 0x3FFF

INTERVAL = 512
MARKER = 4


def pack_enhanced_word(ird, ord_, flags=0):
    """Return the enhanced word: IRD, ORD, and any of the flags A, B, CC, D."""
    return struct.pack(">I", ird << 16 | ord_ | flags)


class Offer:
    """Fields of a start-up message; a subclass must have .pd and .enhanced."""

    @property
    def word(self):
        return struct.unpack(">I", self.pd[:4])[0]

    @property
    def ird(self):
        return self.word >> 16 & 0x3FFF

    @property
    def ord(self):
        return self.word & 0x3FFF

    @property
    def rtr(self):
        """The flags A, B, CC and D that are set."""
        return self.word & (A | B | CC | D)

    @property
    def data(self):
        """Private Data without the enhanced word."""
        return self.pd[4:] if self.enhanced else self.pd


@dataclass
class Frame(Offer):
    """A Request or a Reply."""
    key: bytes
    flags: int = C
    rev: int = 1
    pd: bytes = b""
    pd_length: int = None       # value of PD_Length; None: the length of pd

    def pack(self):
        length = len(self.pd) if self.pd_length is None else self.pd_length
        return (self.key + struct.pack(">BBH", self.flags, self.rev, length) +
                self.pd)

    @property
    def enhanced(self):
        return self.rev >= 2 and bool(self.flags & S)


def make_request(**fields):
    return Frame(KEY_REQUEST, **fields)


def make_reply(**fields):
    return Frame(KEY_REPLY, **fields)


def parse_header(octets):
    """Parse the first HEADER bytes of a frame. Return a Frame without Private Data."""
    flags, rev, length = struct.unpack(">BBH", octets[16:HEADER])
    return Frame(octets[:16], flags, rev, b"", length)


class Writer:
    """Makes the FPDUs of one direction, and counts their bytes to place markers."""

    def __init__(self, markers=False, crc=True):
        self.markers = markers
        self.crc = crc
        self.pos = 0

    def _append_bytes(self, out, octets, start, change):
        """Append the bytes, and a marker at each position where one is due."""
        for octet in octets:
            self._append_due_marker(out, start, change)
            out.append(octet)
            self.pos += 1

    def _append_due_marker(self, out, start, change):
        if not self.markers or self.pos % INTERVAL:
            return
        pointer = 0 if start is None else self.pos - start
        marker = struct.pack(">HH", 0, pointer)
        out += change(marker) if change else marker
        self.pos += MARKER

    def build_fpdu(self, ulpdu, pad=None, crc=None, length=None, marker=None):
        """Return one FPDU.

        The arguments make the FPDU invalid. pad: bytes to send instead of zeros;
        crc: bytes to send instead of the correct CRC, or a function that is given
        the correct CRC and returns them; length: value of the length field;
        marker: a function that is given each correct marker and returns the
        marker to send.
        """
        out = bytearray()
        self._append_due_marker(out, None, marker)
        start = self.pos
        length = len(ulpdu) if length is None else length
        self._append_bytes(out, struct.pack(">H", length), start, marker)
        self._append_bytes(out, ulpdu, start, marker)
        missing = -(2 + len(ulpdu)) % 4
        self._append_bytes(out, (pad or bytes(3))[:missing], start, marker)
        self._append_due_marker(out, start, marker)
        right = crc32c.encode_crc(out) if self.crc else bytes(4)
        if callable(crc):
            crc = crc(right)
        out += right if crc is None else crc
        self.pos += 4
        return bytes(out)


class Malformed(Exception):
    """The other side violated MPA."""


@dataclass
class Fpdu:
    """One FPDU as received."""
    ulpdu: bytes
    start: int                          # stream position of the first byte
    size: int                           # bytes, markers included
    crc: bytes
    markers: list = field(default_factory=list)     # (position, bytes)


class Reader:
    """Parses the bytes of one direction, and checks PAD, CRC and markers."""

    def __init__(self, markers=False, crc=True):
        self.markers = markers
        self.crc = crc
        self.pos = 0            # stream position of buf[0], where an FPDU
                                # begins
        self.buf = bytearray()

    def feed(self, octets):
        """Add received bytes. Return the FPDUs that are complete now."""
        self.buf += octets
        whole = []
        while (fpdu := self._pop_fpdu()):
            whole.append(fpdu)
        return whole

    def _pop_fpdu(self):
        walk = _Walk(self.buf, self.pos, self.markers)
        head = walk.read_bytes(2)
        if head is None:
            return None
        length = struct.unpack(">H", head)[0]
        ulpdu = walk.read_bytes(length)
        pad = None if ulpdu is None else walk.read_bytes(-(2 + length) % 4)
        if pad is None:
            return None
        covered = walk.skip_marker()
        crc = walk.read_bytes(4) if covered is not None else None
        if crc is None:
            return None
        fpdu = Fpdu(bytes(ulpdu), self.pos, walk.at, bytes(crc), walk.seen)
        self._check_fpdu(fpdu, pad, bytes(self.buf[:covered]), walk.start)
        del self.buf[:walk.at]
        self.pos += walk.at
        return fpdu

    def _check_fpdu(self, fpdu, pad, covered, start):
        if any(pad):
            raise Malformed(f"PAD should be zero, is {pad.hex()}")
        if self.crc and fpdu.crc != crc32c.encode_crc(covered):
            raise Malformed(f"wrong CRC of the FPDU at {fpdu.start}")
        for position, octets in fpdu.markers:
            want = max(position - start, 0)
            if octets != struct.pack(">HH", 0, want):
                raise Malformed(f"marker at {position} should be a pointer of "
                                f"{want}, is {octets.hex()}")


class _Walk:
    """Reads bytes of an FPDU, and records and skips the markers between them."""

    def __init__(self, buf, pos, markers):
        self.buf, self.pos, self.markers = buf, pos, markers
        self.at = 0
        self.start = None       # stream position of the length field
        self.seen = []

    def skip_marker(self):
        """Skip a marker, if one is due. Return the offset, or None if bytes are missing."""
        if self.markers and not (self.pos + self.at) % INTERVAL:
            if len(self.buf) < self.at + MARKER:
                return None
            self.seen.append((self.pos + self.at,
                              bytes(self.buf[self.at:self.at + MARKER])))
            self.at += MARKER
        return self.at

    def read_bytes(self, count):
        out = bytearray()
        while len(out) < count:
            if self.skip_marker() is None:
                return None
            if self.start is None:
                self.start = self.pos + self.at
            run = count - len(out)
            if self.markers:
                run = min(run, INTERVAL - (self.pos + self.at) % INTERVAL)
            if len(self.buf) < self.at + run:
                return None
            out += self.buf[self.at:self.at + run]
            self.at += run
        return out
