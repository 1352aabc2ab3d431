# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Read captures: TCP connections, and the MPA frames on them.

FPDUs are found with the help of their length fields. This module checks markers and PAD; tshark
checks the CRCs. dpkt (Debian: python3-dpkt) parses Ethernet frames.
"""

import socket
from collections import Counter
from dataclasses import dataclass, field

import dpkt
from dpkt.ethernet import ETH_TYPE_IP, ETH_TYPE_IP6, Ethernet
from dpkt.tcp import TCP, TH_ACK, TH_SYN

from . import mpa

WRAP = 1 << 32


class Unreadable(Exception):
    """The file is not a capture, or the capture is incomplete."""


# TCP -------------------------------------------------------------------------


@dataclass
class Direction:
    """The bytes that one end of a TCP connection sent: each byte once, in order.

    Positions count from the first byte after the SYN, which is 0.
    """
    sender: tuple               # address, port
    receiver: tuple
    first: int = None           # sequence number of position 0
    octets: bytearray = field(default_factory=bytearray)
    segments: list = field(default_factory=list)    # positions at which segments
                                                    # begin

    def append_new_bytes(self, number, tcp):
        """Append those bytes of a TCP segment that were not received before; number: the frame's
        number."""
        if self.first is None:
            raise Unreadable(f"frame {number}: the beginning of the connection "
                             "was not captured")
        ahead = (tcp.seq - self.first - len(self.octets)) % WRAP
        if ahead >= WRAP // 2:
            ahead -= WRAP
        if ahead > 0:
            raise Unreadable(f"frame {number}: {ahead} bytes before it were not "
                             "captured")
        if ahead == 0:
            self.segments.append(len(self.octets))
        self.octets += tcp.data[-ahead:]


def read_segments(path):
    """Yield frame number, IP header and TCP segment of each TCP packet."""
    with open(path, "rb") as file:
        try:
            capture = dpkt.pcap.Reader(file)
        except (ValueError, dpkt.UnpackError) as why:
            raise Unreadable(f"not a capture in tcpdump's format: {why}") from why
        if capture.datalink() != dpkt.pcap.DLT_EN10MB:
            raise Unreadable("not a capture of Ethernet frames")
        for number, (_, octets) in enumerate(capture, 1):
            ip = Ethernet(octets).data
            if not isinstance(getattr(ip, "data", None), TCP):
                continue
            if len(ip) < get_declared_len(ip):
                raise Unreadable(f"frame {number} was not captured completely")
            yield number, ip, ip.data


def get_declared_len(ip):
    """Return the length of the whole packet, according to its header."""
    return ip.len if isinstance(ip, dpkt.ip.IP) else 40 + ip.plen


def read_connections(path):
    """Return the connections of a capture, each as a pair of Directions: that of the
    initiator and that of the responder."""
    found, live = [], {}
    for number, ip, tcp in read_segments(path):
        ends = (ip.src, tcp.sport), (ip.dst, tcp.dport)
        if tcp.flags & (TH_SYN | TH_ACK) == TH_SYN and \
                not is_repeated_syn(live.get(ends), tcp):
            pair = Direction(*ends), Direction(*ends[::-1])
            live[ends], live[ends[::-1]] = pair
            found.append(pair)
        direction = live.setdefault(ends, Direction(*ends))
        if tcp.flags & TH_SYN:
            direction.first = (tcp.seq + 1) % WRAP
        elif tcp.data:
            direction.append_new_bytes(number, tcp)
    return found


def is_repeated_syn(direction, syn):
    return direction is not None and direction.first == (syn.seq + 1) % WRAP


# MPA -------------------------------------------------------------------------


class Reader(mpa.Reader):
    """Parses like mpa.Reader, but records faults and continues instead of raising an exception."""

    def __init__(self, markers):
        super().__init__(markers, crc=False)
        self.faults = []

    def _check_fpdu(self, *parts):
        try:
            super()._check_fpdu(*parts)
        except mpa.Malformed as fault:
            self.faults.append(str(fault))


class Half:
    """MPA in one direction: a start-up frame, followed by FPDUs."""

    def __init__(self, direction, key):
        self.direction = direction
        self.frame = find_startup_frame(direction.octets, key)
        self.start = mpa.HEADER + self.frame.pd_length if self.frame else 0
        self.markers = False
        self.fpdus, self.faults = [], []
        self.left = len(direction.octets) - self.start

    def divide_into_fpdus(self, markers):
        """Divide the bytes after the start-up frame into FPDUs."""
        self.markers = markers
        reader = Reader(markers)
        self.fpdus = reader.feed(self.direction.octets[self.start:])
        self.faults = reader.faults
        self.left = len(reader.buf)

    def get_position(self, fpdu):
        return self.start + fpdu.start

    def get_fpdu_bytes(self, fpdu):
        """Return all bytes of an FPDU, as they were on the wire."""
        place = self.get_position(fpdu)
        return bytes(self.direction.octets[place:place + fpdu.size])

    def list_fpdu_segments(self):
        """Return the positions of TCP segments that carry FPDUs."""
        return [place for place in self.direction.segments
                if place >= self.start]

    def find_unaligned_segments(self):
        """Return the positions of TCP segments at which no FPDU begins."""
        return set(self.list_fpdu_segments()) - {self.get_position(one) for one in self.fpdus}

    def find_largest_distance(self):
        """Return the largest distance in bytes between segments that begin with
        an FPDU."""
        begin = sorted(set(self.list_fpdu_segments()) - self.find_unaligned_segments())
        begin.append(len(self.direction.octets))
        return max((b - a for a, b in zip(begin, begin[1:])), default=0)


def find_startup_frame(octets, key):
    """Return the Request or Reply with this key at the beginning of the data, or None
    if there is none."""
    if len(octets) < mpa.HEADER or octets[:len(key)] != key:
        return None
    frame = mpa.parse_header(bytes(octets[:mpa.HEADER]))
    frame.pd = bytes(octets[mpa.HEADER:mpa.HEADER + frame.pd_length])
    return frame if len(frame.pd) == frame.pd_length else None


class Session:
    """MPA on a connection: start-up and FPDUs of both directions."""

    def __init__(self, initiator, responder):
        self.halves = (Half(initiator, mpa.KEY_REQUEST),
                       Half(responder, mpa.KEY_REPLY))
        self.rejected = bool(self._get_flags(mpa.R)[1])
        self.agreed = all(half.frame for half in self.halves) and \
            not self.rejected
        self.crc = self.agreed and any(self._get_flags(mpa.C))
        if self.agreed:
            # each end requests markers for the data that it receives
            for half, wanted in zip(self.halves, self._get_flags(mpa.M)[::-1]):
                half.divide_into_fpdus(bool(wanted))

    def _get_flags(self, mask):
        return [half.frame.flags & mask if half.frame else 0
                for half in self.halves]

    @property
    def markers(self):
        return any(half.markers for half in self.halves)


def find_sessions(pairs):
    """Return the MPA sessions of these connections, and the number of other
    connections with data."""
    every = [Session(*pair) for pair in pairs if any(one.octets for one in pair)]
    mine = [one for one in every if one.halves[0].frame]
    return mine, len(every) - len(mine)


def get_opcode(fpdu):
    """Return the RDMAP opcode, or None if the FPDU is too short."""
    return fpdu.ulpdu[1] & 15 if len(fpdu.ulpdu) > 1 else None


def count_facts(mine):
    """Return the counters of these Sessions, by name."""
    halves = [half for one in mine for half in one.halves]
    fpdus = [fpdu for half in halves for fpdu in half.fpdus]
    numbers = Counter(f"opcode_{get_opcode(fpdu)}" for fpdu in fpdus)
    return numbers + Counter({
        "connections": len(mine),
        "rejected": sum(one.rejected for one in mine),
        "start_up_frames": sum(bool(half.frame) for half in halves),
        "fpdus": len(fpdus),
        "fpdus_with_crc": sum(len(half.fpdus) for one in mine if one.crc
                              for half in one.halves),
        "longest_fpdu": max((fpdu.size for fpdu in fpdus), default=0),
        "markers": sum(len(fpdu.markers) for fpdu in fpdus),
        "segments": sum(len(half.list_fpdu_segments()) for half in halves),
        "unaligned": sum(len(half.find_unaligned_segments()) for half in halves),
        "apart": max((half.find_largest_distance() for half in halves), default=0),
        "against_the_rfc": sum(len(half.faults) for half in halves),
        "octets_left": sum(half.left for half in halves)})


# Writing a capture -------------------------------------------------------------


def build_frame(half, place, octets, flags=TH_ACK):
    """Return an Ethernet frame with bytes of one direction; place: their position in it."""
    source, target = half.direction.sender, half.direction.receiver
    tcp = TCP(sport=source[1], dport=target[1], flags=flags, data=octets,
              seq=(half.direction.first + place) % WRAP)
    if len(source[0]) == 4:
        ip = dpkt.ip.IP(src=source[0], dst=target[0], p=socket.IPPROTO_TCP,
                        data=tcp)
        ip.len = len(ip)
        return Ethernet(type=ETH_TYPE_IP, data=ip)
    ip = dpkt.ip6.IP6(src=source[0], dst=target[0], nxt=socket.IPPROTO_TCP,
                      hlim=64, plen=len(tcp), data=tcp)
    return Ethernet(type=ETH_TYPE_IP6, data=ip)


def build_separate_frames(session, wanted):
    """Yield Ethernet frames of the connection in which each FPDU has its own TCP segment.

    Only FPDUs for which wanted(half, fpdu) is true are included.
    """
    for half, flags in zip(session.halves, (TH_SYN, TH_SYN | TH_ACK)):
        yield build_frame(half, -1, b"", flags)
    for half in session.halves:
        yield build_frame(half, 0, bytes(half.direction.octets[:half.start]))
    for half in session.halves:
        for fpdu in half.fpdus:
            if wanted(half, fpdu):
                yield build_frame(half, half.get_position(fpdu), half.get_fpdu_bytes(fpdu))


def write_capture(path, frames):
    """Write a capture of these frames; all time stamps are 0."""
    with open(path, "wb") as file:
        capture = dpkt.pcap.Writer(file)
        for one in frames:
            capture.writepkt(bytes(one), ts=0)
