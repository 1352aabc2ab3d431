# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Captures: the TCP connections in them, and these connections' FPDUs.

FPDUs are found by their length fields, and markers, PAD and reserved bits
looked at; CRCs are left to tshark.  Octets that TCP sent again are left out.
Octets that are not in the capture are an error, so it wants a network without
loss.
"""

import collections
import struct
from dataclasses import dataclass, field

from . import mpa

ETHERNET = 1
TCP = 6
SYN = 0x02
WRAP = 1 << 32
KEYS = mpa.KEY_REQUEST, mpa.KEY_REPLY


class Broken(Exception):
    """A capture that cannot be read, or a connection that makes no sense."""


# Frames ---------------------------------------------------------------------


@dataclass
class Segment:
    """A TCP segment, and the frame that it came in."""
    number: int             # of the frame, from 1
    stamp: bytes            # seconds and microseconds, as in the capture
    header: bytes           # Ethernet, IP and TCP
    source: tuple           # address, port
    target: tuple
    seq: int
    flags: int
    payload: bytes


def frames(path):
    """(file header, None), then (time, octets) of each frame."""
    with open(path, "rb") as capture:
        octets = capture.read()
    if octets[:4] != b"\xd4\xc3\xb2\xa1" or octets[20] != ETHERNET:
        raise Broken("not a capture of Ethernet frames by tcpdump")
    yield octets[:24], None
    at = 24
    while at + 16 <= len(octets):
        size, real = struct.unpack("<II", octets[at + 8:at + 16])
        if size != real:
            raise Broken("frames were not captured whole")
        yield octets[at:at + 8], octets[at + 16:at + 16 + size]
        at += 16 + size


def parse(number, stamp, frame):
    """A Segment, or None if there is none in the frame."""
    if frame[12:14] == b"\x08\x00" and frame[23] == TCP:
        start = 14 + (frame[14] & 15) * 4
        end = 14 + struct.unpack(">H", frame[16:18])[0]
        addresses = frame[26:30], frame[30:34]
    elif frame[12:14] == b"\x86\xdd" and frame[20] == TCP:
        start = 54
        end = start + struct.unpack(">H", frame[18:20])[0]
        addresses = frame[22:38], frame[38:54]
    else:
        return None
    ports = struct.unpack(">HH", frame[start:start + 4])
    seq = struct.unpack(">I", frame[start + 4:start + 8])[0]
    payload = start + (frame[start + 12] >> 4) * 4
    return Segment(number, stamp, frame[:payload], (addresses[0], ports[0]),
                   (addresses[1], ports[1]), seq, frame[start + 13],
                   frame[payload:end])


def with_payload(segment, seq, payload):
    """The segment's frame, for other octets at another place."""
    out = bytearray(segment.header)
    start = 54 if out[12:14] == b"\x86\xdd" else 14 + (out[14] & 15) * 4
    size = len(out) - 14 + len(payload)
    if start == 54:
        struct.pack_into(">H", out, 18, size - 40)
    else:
        struct.pack_into(">H", out, 16, size)
    struct.pack_into(">I", out, start + 4, seq % WRAP)
    return bytes(out) + payload


# Connections ----------------------------------------------------------------


@dataclass
class Fpdu:
    """One that is whole."""
    pos: int
    octets: bytes
    opcode: int
    crc: bool               # is it of use in this connection?


class Reader(mpa.Reader):
    """Collects what is wrong, and goes on."""

    def __init__(self, markers):
        super().__init__(markers, False)
        self.faults = []

    def _check(self, *parts):
        try:
            super()._check(*parts)
        except mpa.Malformed as fault:
            self.faults.append(str(fault))


@dataclass
class Half:
    """One direction of a connection. Positions count from the SYN, which is 0.
    """
    isn: int
    expected: int = 1       # position of the next octet
    octets: bytearray = field(default_factory=bytearray)    # not used up yet
    frame: mpa.Frame = None             # Request or Reply
    reader: Reader = None
    start: int = None                   # position of the first FPDU
    fpdus: list = field(default_factory=list)       # positions
    sizes: set = field(default_factory=set)
    opcodes: collections.Counter = field(default_factory=collections.Counter)
    markers: int = 0
    segments: list = field(default_factory=list)    # frame, position of FPDUs'

    def new_octets(self, segment):
        """Takes in what was not seen before."""
        if not segment.payload:
            return
        pos = (segment.seq - self.isn) % WRAP
        old = (self.expected - pos + WRAP // 2) % WRAP - WRAP // 2
        if old < 0:
            raise Broken(f"frame {segment.number}: {-old} octets before it "
                         "were not captured")
        if old >= len(segment.payload):
            return
        if self.frame and not old:
            self.segments.append((segment.number, pos))
        self.octets += segment.payload[old:]
        self.expected = pos + len(segment.payload)

    def start_up(self):
        """Takes the Request or Reply, if it is whole."""
        if len(self.octets) < mpa.HEADER or self.octets[:16] not in KEYS:
            return
        head = mpa.parse_header(bytes(self.octets[:mpa.HEADER]))
        size = mpa.HEADER + head.pd_length
        if len(self.octets) >= size:
            head.pd = bytes(self.octets[mpa.HEADER:size])
            del self.octets[:size]
            self.frame, self.start = head, 1 + size

    def cut(self, crc):
        """The Fpdus that are whole now."""
        whole = []
        unread = bytes(self.octets[len(self.reader.buf):])
        for one in self.reader.feed(unread):
            opcode = one.ulpdu[1] & 15 if len(one.ulpdu) > 1 else None
            whole.append(Fpdu(self.start + one.start,
                              bytes(self.octets[:one.size]), opcode, crc))
            del self.octets[:one.size]
            self.fpdus.append(whole[-1].pos)
            self.sizes.add(one.size)
            self.opcodes[opcode] += 1
            self.markers += len(one.markers)
        return whole

    def unaligned(self):
        """Frames that bring octets of FPDUs, but begin with none."""
        begins = set(self.fpdus)
        return [number for number, pos in self.segments
                if pos not in begins]


class Connection:
    """The initiator's Half, then the responder's."""

    def __init__(self, initiator):
        self.initiator = initiator
        self.halves = [None, None]

    def half_of(self, segment):
        return self.halves[segment.source != self.initiator]

    @property
    def is_mpa(self):
        return all(self.halves) and bool(self.halves[0].frame)

    @property
    def rejected(self):
        reply = self.halves[1].frame
        return bool(reply and reply.flags & mpa.R)

    @property
    def agreed(self):
        return all(half and half.frame for half in self.halves) and \
            not self.rejected

    @property
    def crc(self):
        return self.agreed and any(half.frame.flags & mpa.C
                                   for half in self.halves)

    @property
    def markers(self):
        return self.agreed and any(half.frame.flags & mpa.M
                                   for half in self.halves)

    def take(self, segment):
        """The Fpdus that a segment completes."""
        side = int(segment.source != self.initiator)
        if segment.flags & SYN:
            self.halves[side] = Half(segment.seq)
        half = self.halves[side]
        if half is None and not segment.payload:
            return []
        if half is None:
            raise Broken(f"frame {segment.number}: its SYN was not captured")
        half.new_octets(segment)
        if not half.frame:
            half.start_up()
        if not self.agreed:
            return []
        for one, other in zip(self.halves, self.halves[::-1]):
            if not one.reader:
                one.reader = Reader(bool(other.frame.flags & mpa.M))
        return half.cut(self.crc)


class Capture:
    """What is in a file."""

    def __init__(self, path):
        self.path = path
        self.connections = []
        self.live = {}

    def read(self):
        """Reads it all; yields segment, its connection, Fpdus it completes."""
        whole = frames(self.path)
        next(whole)
        for number, (stamp, octets) in enumerate(whole, 1):
            segment = parse(number, stamp, octets)
            if segment:
                yield segment, *self._take(segment)

    def _take(self, segment):
        ends = frozenset((segment.source, segment.target))
        if segment.flags & SYN and ends not in self.live or \
                segment.flags == SYN:
            self.live[ends] = Connection(segment.source)
            self.connections.append(self.live[ends])
        if ends not in self.live:
            return None, []
        return self.live[ends], self.live[ends].take(segment)

    def facts(self):
        """Numbers, by name."""
        mine = [one for one in self.connections if one.is_mpa]
        halves = [half for one in mine for half in one.halves]
        return {
            "connections": len(mine),
            "rejected": sum(one.rejected for one in mine),
            "start_up_frames": sum(bool(half.frame) for half in halves),
            "fpdus": sum(len(half.fpdus) for half in halves),
            "fpdus_with_crc": sum(len(half.fpdus) for one in mine if one.crc
                                  for half in one.halves),
            "markers": sum(half.markers for half in halves),
            "segments": sum(len(half.segments) for half in halves),
            "unaligned": sum(len(half.unaligned()) for half in halves),
            "longest_fpdu": max((size for half in halves
                                 for size in half.sizes), default=0),
            "against_the_rfc": sum(len(half.reader.faults) for half in halves
                                   if half.reader),
            "octets_left": sum(len(half.octets) for half in halves)}

    def opcodes(self):
        """How many FPDUs have which."""
        return sum((half.opcodes for one in self.connections
                    for half in one.halves if half), collections.Counter())


def tshark_miscounts(half, fpdu):
    """It takes a marker just behind an FPDU for one of that FPDU's."""
    return half.reader.markers and not \
        (fpdu.pos - half.start + len(fpdu.octets)) % mpa.INTERVAL


def one_fpdu_a_frame(capture, out):
    """Reads the capture and writes it again, each FPDU being a TCP segment.

    tshark finds no other FPDUs, if there are markers. A few it would misread
    even so; they are left out, and returned.
    """
    left_out = []
    with open(out, "wb") as copy:
        copy.write(next(frames(capture.path))[0])
        for segment, connection, fpdus in capture.read():
            pieces = []
            half = connection and connection.half_of(segment)
            if segment.flags & SYN or half and half.frame \
                    and not half.segments and segment.payload:
                pieces = [segment.header + segment.payload]
            for fpdu in fpdus:
                if tshark_miscounts(half, fpdu):
                    left_out.append(fpdu)
                else:
                    pieces.append(with_payload(segment, half.isn + fpdu.pos,
                                               fpdu.octets))
            for piece in pieces:
                copy.write(segment.stamp + struct.pack(
                    "<II", len(piece), len(piece)) + piece)
    return left_out
