# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""SCTP (RFC 9260) from raw packets, over Ethernet and IPv4.

It can do what kernel sockets cannot: send any INIT, withhold acknowledgements, choose
TSNs and flags. It never retransmits, so it needs a network without loss. No host may have the
address that it uses, because the kernel of that host would reply to the packets, too.
"""

import contextlib
import struct
import time
from dataclasses import dataclass, field

from . import crc32c, sctp

(DATA, INIT, INIT_ACK, SACK, HEARTBEAT, HEARTBEAT_ACK, ABORT, SHUTDOWN,
 SHUTDOWN_ACK, ERROR, COOKIE_ECHO, COOKIE_ACK) = range(12)
SHUTDOWN_COMPLETE = 14
END, BEGIN, UNORDERED = 1, 2, 4         # flags of DATA
IPV4_ADDRESS, COOKIE, ADAPTATION = 5, 7, 0xC006     # parameters
ETH_P_IP = 0x0800
WINDOW = 1 << 20
TSNS = 1 << 32


@dataclass
class Chunk:
    """Any SCTP chunk."""
    kind: int
    flags: int = 0
    body: bytes = b""

    def pack(self):
        head = struct.pack(">BBH", self.kind, self.flags, 4 + len(self.body))
        return head + self.body + bytes(-len(self.body) % 4)

    @property
    def data(self):
        """Fields of a DATA chunk: TSN, stream, SSN, payload protocol identifier."""
        return struct.unpack(">IHHI", self.body[:12])

    @property
    def init(self):
        """Fields of an INIT or INIT-ACK: tag, window, streams out and in, TSN."""
        return struct.unpack(">IIHHI", self.body[:16])

    @property
    def parameters(self):
        """Parameters of an INIT or INIT-ACK: a list of pairs (type, bytes)."""
        found, rest = [], self.body[16:]
        while len(rest) >= 4:
            kind, size = struct.unpack(">HH", rest[:4])
            found.append((kind, rest[4:size]))
            rest = rest[max(4, size + -size % 4):]
        return found

    @property
    def adaptations(self):
        """The values of all Adaptation Indication parameters."""
        return [octets.hex() for kind, octets in self.parameters
                if kind == ADAPTATION]


def pack_parameter(kind, octets):
    size = 4 + len(octets)
    return struct.pack(">HH", kind, size) + octets + bytes(-size % 4)


def pack_adaptation(value):
    return pack_parameter(ADAPTATION, struct.pack(">I", value))


def make_data_chunk(sid, octets, ppid, tsn, flags=BEGIN | END | UNORDERED, ssn=0):
    return Chunk(DATA, flags,
                 struct.pack(">IHHI", tsn, sid, ssn, ppid) + octets)


@dataclass
class Packet:
    """An SCTP packet with its addresses."""
    source: tuple           # address, port
    target: tuple
    tag: int
    chunks: list = field(default_factory=list)
    size: int = 0           # bytes of the IP packet
    may_fragment: bool = False

    def pack(self):
        head = struct.pack(">HHI", self.source[1], self.target[1], self.tag)
        rest = b"".join(chunk.pack() for chunk in self.chunks)
        return head + crc32c.encode_crc(head + bytes(4) + rest) + rest

    def get_chunks(self, kind):
        return [chunk for chunk in self.chunks if chunk.kind == kind]


def parse_ip_header(ip):
    """Parse the header of an IPv4 packet, or of an IPv6 packet without extension headers.

    Return source, target, offset of the SCTP packet and total length; or None if the
    packet does not contain SCTP."""
    if len(ip) >= 20 and ip[0] >> 4 == 4 and ip[9] == sctp.PROTOCOL:
        size, = struct.unpack(">H", ip[2:4])
        return format_address(ip[12:16]), format_address(ip[16:20]), (ip[0] & 15) * 4, size
    if len(ip) >= 40 and ip[0] >> 4 == 6 and ip[6] == sctp.PROTOCOL:
        size, = struct.unpack(">H", ip[4:6])
        return ip[8:24].hex(), ip[24:40].hex(), 40, 40 + size
    return None


def parse_ip_packet(ip):
    """Parse an IP packet. Return a Packet, or None if it does not contain SCTP."""
    found = parse_ip_header(ip)
    if not found:
        return None
    source, target, begin, size = found
    octets = ip[begin:size]
    sport, dport, tag = struct.unpack(">HHI", octets[:8])
    may_fragment = ip[0] >> 4 == 4 and not ip[6] & 0x40
    out = Packet((source, sport), (target, dport), tag, size=size,
                 may_fragment=may_fragment)
    rest = octets[12:]
    while len(rest) >= 4:
        kind, flags, length = struct.unpack(">BBH", rest[:4])
        out.chunks.append(Chunk(kind, flags, rest[4:length]))
        rest = rest[max(4, length + -length % 4):]
    return out


def format_address(octets):
    return ".".join(map(str, octets))


def pack_address(text):
    return bytes(map(int, text.split(".")))


def build_ip_packet(source, target, octets):
    """Return an IPv4 packet with this SCTP packet as payload."""
    def build_ip_header(total):
        return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(octets), 0, 0x4000,
                           64, sctp.PROTOCOL, total) + both
    both = pack_address(source) + pack_address(target)
    total = sum(struct.unpack(">10H", build_ip_header(0)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return build_ip_header(total ^ 0xFFFF) + octets


class Sniffer:
    """Captures the SCTP packets of an interface, in both directions."""

    def __init__(self, sock):
        self.sock, self.seen = sock, []

    def _receive_next(self, timeout):
        self.sock.settimeout(timeout)
        packet = parse_ip_packet(self.sock.recv(1 << 17)[14:])
        if packet:
            self.seen.append(packet)
        return packet

    def pop_packets(self, wait=0.05, until=None):
        """Return all packets since the last call.

        wait: time in seconds; return when no packet has arrived for this time.
        until: a function; if given, first wait for a packet for which it returns true."""
        end = time.monotonic() + sctp.PATIENCE
        with contextlib.suppress(TimeoutError):
            while until:
                packet = self._receive_next(max(end - time.monotonic(), 0.001))
                if packet and until(packet):
                    break
            while True:
                self._receive_next(wait)
        seen, self.seen = self.seen, []
        return seen

    def close(self):
        self.sock.close()


@dataclass
class Place:
    """The environment of a raw association: a packet socket, and the addresses of both
    sides."""
    sock: object
    frame: bytes            # both hardware addresses, the peer's first
    mine: str
    theirs: str

    def send_packet(self, octets):
        frame = self.frame + struct.pack(">H", ETH_P_IP)
        self.sock.send(frame + build_ip_packet(self.mine, self.theirs, octets))

    def receive_packet(self, timeout):
        """Return the next packet that is addressed to this side."""
        end = time.monotonic() + timeout
        while True:
            self.sock.settimeout(max(end - time.monotonic(), 0.001))
            packet = parse_ip_packet(self.sock.recv(1 << 17)[14:])
            if packet and packet.target[0] == self.mine:
                return packet


class Association(sctp.Carrier):
    """An association whose every byte a test can control, by these attributes.

    sacking: acknowledge each DATA chunk as it arrives; taking: accept DATA chunks (False: discard
    them); parameters: parameters of the INIT or INIT-ACK to send; window:
    window to announce, in bytes; bundled(): return chunks to bundle with COOKIE ECHO.
    """

    def __init__(self, place, port, peer_port=0, streams=sctp.STREAMS,
                 parameters=None, window=WINDOW):
        super().__init__()
        self.place, self.ports = place, [port, peer_port]
        self.sizes, self.window = (streams, streams), window
        self.tag, self.peer_tag = 0x1EAF0001, 0
        self.tsn, self.highest = 0x10000000, None
        self.got, self.gaps, self.fragments = None, set(), []
        self.acked = (self.tsn - 1) % TSNS
        self.sacking, self.taking, self.bundled = True, True, list
        self.parameters = pack_adaptation(1) if parameters is None else parameters
        self.init = None            # the peer's INIT or INIT-ACK
        self.packets = []           # all packets received

    def send(self, *chunks, tag=None):
        tag = self.peer_tag if tag is None else tag
        self.place.send_packet(Packet((self.place.mine, self.ports[0]),
                                      (self.place.theirs, self.ports[1]), tag,
                                      list(chunks)).pack())

    def _make_init(self, kind, more=b""):
        head = struct.pack(">IIHHI", self.tag, self.window, *self.sizes,
                           self.tsn)
        return Chunk(kind, 0, head + self.parameters + more)

    # set-up ---------------------------------------------------------------

    def start_connect(self, timeout=sctp.PATIENCE):
        """Send INIT, and wait until COOKIE ECHO has been sent, with the chunks that
        bundled() returns."""
        self.send(self._make_init(INIT), tag=0)
        self.wait_until(lambda: self.init, timeout)

    def connect(self, timeout=sctp.PATIENCE):
        self.start_connect(timeout)
        self.wait_until(lambda: self.ready, timeout)
        return self

    def accept(self, timeout=sctp.PATIENCE):
        """Wait for the peer to connect."""
        self.wait_until(lambda: self.ready, timeout)
        return self

    def _record_peer_init(self, chunk):
        self.init = chunk
        self.peer_tag, _, _, _, first = chunk.init
        self.got, self.gaps = (first - 1) % TSNS, set()

    def _on_init(self, chunk):
        self._record_peer_init(chunk)
        self.send(self._make_init(INIT_ACK, pack_parameter(COOKIE, b"raw!")))

    def _on_init_ack(self, chunk):
        self._record_peer_init(chunk)
        self.send(Chunk(COOKIE_ECHO, 0, dict(chunk.parameters)[COOKIE]),
                  *self.bundled())

    def _on_cookie_echo(self, _):
        self.send(Chunk(COOKIE_ACK))
        self.ready = True

    def _on_cookie_ack(self, _):
        self.ready = True

    # data -----------------------------------------------------------------

    def make_next_data_chunk(self, sid, octets, ppid, **fields):
        """Return a DATA chunk with the next TSN."""
        chunk = make_data_chunk(sid, octets, ppid, self.tsn, **fields)
        self.tsn = (self.tsn + 1) % TSNS
        return chunk

    def send_message(self, sid, octets, ppid, unordered=True, more=False):
        flags = BEGIN | END | (UNORDERED if unordered else 0)
        self.send(self.make_next_data_chunk(sid, octets, ppid, flags=flags))

    def _on_data(self, chunk):
        tsn, sid, _, ppid = chunk.data
        if not self.taking or tsn in self.gaps or (self.got - tsn) % TSNS < TSNS >> 1:
            return
        self.gaps.add(tsn)
        while (self.got + 1) % TSNS in self.gaps:
            self.got = (self.got + 1) % TSNS
            self.gaps.discard(self.got)
        self.fragments.append(chunk)
        if not chunk.flags & END:
            return
        octets = b"".join(each.body[12:] for each in self.fragments)
        self.fragments.clear()
        self.stream(sid).check_and_order_chunk(sctp.Chunk(
            sid, ppid, bool(chunk.flags & UNORDERED), octets, tsn))

    def send_sack(self):
        """Acknowledge all chunks received in order."""
        self.send(Chunk(SACK, 0, struct.pack(">IIHH", self.got, self.window,
                                          0, 0)))

    def close_window(self):
        """Announce a window of 0, and discard data from now on. Probes of the window are
        still acknowledged."""
        self.window, self.taking = 0, False
        self.send_sack()

    def _on_sack(self, chunk):
        self.acked, = struct.unpack(">I", chunk.body[:4])

    # other ----------------------------------------------------------------

    def _on_heartbeat(self, chunk):
        self.send(Chunk(HEARTBEAT_ACK, 0, chunk.body))

    def _on_abort(self, _):
        self.ended = "abort"

    def _on_shutdown(self, _):
        self.ended = "shutdown"
        self.send(Chunk(SHUTDOWN_ACK))

    def _on_shutdown_ack(self, _):
        self.ended = self.ended or "shutdown"
        self.send(Chunk(SHUTDOWN_COMPLETE))

    HANDLERS = {
        DATA: _on_data, INIT: _on_init, INIT_ACK: _on_init_ack, SACK: _on_sack,
        HEARTBEAT: _on_heartbeat, ABORT: _on_abort, SHUTDOWN: _on_shutdown,
        SHUTDOWN_ACK: _on_shutdown_ack, COOKIE_ECHO: _on_cookie_echo,
        COOKIE_ACK: _on_cookie_ack,
    }

    def _has_valid_tag(self, packet):
        """Check the verification tag (RFC 9260 8.5), because a previous association with the same
        ports may still retransmit. An INIT has no tag, and an ABORT may contain the peer's."""
        return packet.tag == self.tag or packet.get_chunks(INIT) or packet.get_chunks(ABORT)

    def _match_packet_and_learn_port(self, packet):
        """Check whether the packet belongs to this association, by its ports and its tag. A
        listener takes the peer's port from the first INIT."""
        if packet.target[1] != self.ports[0]:
            return False
        if not self.ports[1] and packet.get_chunks(INIT):
            self.ports[1] = packet.source[1]
        return packet.source[1] == self.ports[1] and self._has_valid_tag(packet)

    def receive_input(self, timeout):
        packet = self.place.receive_packet(timeout)
        if not self._match_packet_and_learn_port(packet):
            return
        self.packets.append(packet)
        for chunk in packet.chunks:
            if chunk.kind in self.HANDLERS:
                self.HANDLERS[chunk.kind](self, chunk)
        if self.sacking and packet.get_chunks(DATA) and not self.ended:
            self.send_sack()

    def shutdown(self):
        self.send(Chunk(SHUTDOWN, 0, struct.pack(">I", self.got)))

    def abort(self):
        self.send(Chunk(ABORT))
        self.ended = "abort"

    def close(self):
        if self.ready and not self.ended:
            self.abort()
