# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Small captures of valid iWARP and SCTP packets, for the scripts of this directory."""

import struct

REQUEST, REPLY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
CLIENT, SERVER = 0, 1
CRC_BIT, MARKER_BIT = 0x40, 0x80


def compute_crc32c(data):
    """The CRC32C of RFC 3720, computed bit by bit."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def build_startup_frame(key, flags=CRC_BIT, revision=1, private=b""):
    """A Request or Reply frame of MPA."""
    return key + struct.pack(">BBH", flags, revision, len(private)) + private


def build_fpdu(ulpdu):
    """MPA's frame around a DDP segment: length, PAD, CRC."""
    frame = struct.pack(">H", len(ulpdu)) + ulpdu
    frame += bytes(-len(frame) % 4)
    return frame + struct.pack("<I", compute_crc32c(frame))


def build_untagged_segment(opcode, payload, queue=0, msn=1, extra=0):
    """The only segment of an untagged message; RDMAP version 1."""
    return struct.pack(">BBIIII", 0x41, 0x40 | opcode, extra, queue, msn, 0) + payload


def build_tagged_segment(opcode, payload, stag=0x1234, offset=0x1000):
    """The only segment of a tagged message."""
    return struct.pack(">BBIQ", 0xc1, 0x40 | opcode, stag, offset) + payload


def compute_checksum(data):
    """The checksum of RFC 1071, for IPv4 and TCP."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def build_ipv4_packet(protocol, payload, source=b"\x0a\0\0\1", target=b"\x0a\0\0\2"):
    """An IPv4 packet."""
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0x4000, 64, protocol, 0)
    head += source + target
    return head[:10] + struct.pack(">H", compute_checksum(head)) + head[12:] + payload


class Tcp:
    """The packets of one TCP connection, handshake included."""

    def __init__(self, port, client=40000):
        self.ports, self.next, self.packets = (client, port), [1000, 2000], []
        self.add_segment(CLIENT, 0x02)
        self.add_segment(SERVER, 0x12)
        self.add_segment(CLIENT, 0x10)

    def add_segment(self, side, flags=0x18, payload=b""):
        """Add a segment from that side."""
        ends = [b"\x0a\0\0\1", b"\x0a\0\0\2"]
        head = struct.pack(">HHIIBBHHH", self.ports[side], self.ports[1 - side], self.next[side],
                           self.next[1 - side] if flags & 0x10 else 0, 0x50, flags, 0xffff, 0, 0)
        pseudo = ends[side] + ends[1 - side] + struct.pack(">HH", 6, len(head) + len(payload))
        head = head[:16] + struct.pack(">H", compute_checksum(pseudo + head + payload)) + head[18:]
        self.packets.append(build_ipv4_packet(6, head + payload, ends[side], ends[1 - side]))
        self.next[side] += len(payload) + (flags >> 1 & 1)

    def add_startup(self, request=build_startup_frame(REQUEST), reply=build_startup_frame(REPLY)):
        """Add the two frames of MPA's start-up."""
        self.add_segment(CLIENT, payload=request)
        self.add_segment(SERVER, payload=reply)
        return self


def write_pcap(path, packets):
    """Write a pcap file of IP packets."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        for number, packet in enumerate(packets):
            out.write(struct.pack("<IIII", 1, number * 1000, len(packet), len(packet)) + packet)
