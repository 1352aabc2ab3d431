#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test the packets of SCTP: sizes, fragments and flags (RFC 5043 sections 8 to 11)."""

import contextlib

from lib.wire import (SERVER, SERVER_IF, NS, PEER, PEER_IF, SUCCESS, case, check,
                      rdmap, same, shell)
from rawpeer import sctp_packet
from rawpeer.sctp import E_INITIATE, INITIATE, Control
from lib.wire_sctp import make_accept, make_enhanced_control, run_sctp_cases, filter_by_association

BIG = 1 << 20
WHOLE = sctp_packet.BEGIN | sctp_packet.END
LEAST = 516             # bytes of a user message that the device can always send
# bytes of: IPv4 header, SCTP's common header, header of a DATA chunk
HEADERS = 20 + 12 + 16


@contextlib.contextmanager
def set_mtu(size):
    """Context manager: set the MTU of both ends."""
    try:
        for prefix, name in ("ip", SERVER_IF), (f"ip -n {NS}", PEER_IF):
            shell(f"{prefix} link set {name} mtu {size}")
        yield
    finally:
        for prefix, name in ("ip", SERVER_IF), (f"ip -n {NS}", PEER_IF):
            shell(f"{prefix} link set {name} mtu 1500")


def filter_packets_of_device(packets):
    """Return the packets that the device's host has sent, and their DATA chunks."""
    packets = [p for p in packets if p.source[0] == SERVER]
    return packets, [c for p in packets for c in p.get_chunks(sctp_packet.DATA)]


def send_messages_of_many_lengths(w, connect):
    """Make a connection and send messages of many lengths over it."""
    memory = w.shared(BIG, "l")
    link = connect()
    for wr, (opcode, size) in enumerate((
            ("send", 0), ("write", 1), ("send", 3000), ("write", 100_000),
            ("read", 64), ("write", 65536), ("send", 20))):
        link.post(opcode, memory, size, wr, 0x10, 0x20)
        octets = sum(len(seg.payload) for seg in link.peer.receive_message())
        same("bytes", octets, size if opcode != "read" else 28)
    w.server.do("disconnect", link.conn)
    link.expect_end()
    return link


def test_chunks_are_whole_and_fill_mtu(w, size):
    for connect in w.initiate, w.respond:
        with set_mtu(size), w.capture_packets() as sniffer:
            send_messages_of_many_lengths(w, connect)
            packets, data = filter_packets_of_device(sniffer.pop_packets())
            w.clean_up_after_case()
        same("flags: all unordered and not "
             "fragmented", {c.flags & 7 for c in data},
             {WHOLE | sctp_packet.UNORDERED})
        same("PPIDs", {c.data[3] for c in data}, {16, 17})
        same("number of streams", len({c.data[1] for c in data}), 1)
        check("packets are no longer than the path "
              "MTU", max(p.size for p in packets) <= size)
        longest = max(len(c.body) - 12 for c in data if c.data[3] == 16)
        check(f"the longest segment chunk, {longest} bytes, fills the path MTU",
              size - HEADERS - 64 <= longest <= size - HEADERS)
        # chunks may have been retransmitted, so count each TSN once
        ssns = list({c.data[0]: c.body[12:14] for c in data}.values())
        same("DDP-SSNs", [int.from_bytes(ssn, "big") for ssn in ssns],
             list(range(len(ssns))))


for octets in 1500, 9000, 1280:
    case(f"MTU {octets}: each chunk whole, unordered, as long as fits",
         "SCTPDDP-3 SCTPDDP-6 SCTPDDP-7 SCTPDDP-8 SCTPDDP-9 SCTPDDP-10 "
         "SCTPDDP-23 SCTPDDP-58 SCTPDDP-59 SCTPDDP-60 SCTPDDP-61 SCTPDDP-64",
         size=octets)(test_chunks_are_whole_and_fill_mtu)


@case("MTU 576: 512 bytes of Private Data, and segments of 516",
      "SCTPDDP-60 SCTPDDP-61 SCTPDDP-16")
def test_mtu_576_allows_512_bytes_of_private_data(w):
    with set_mtu(576), w.capture_packets() as sniffer:
        link = w.initiate(Control(INITIATE, bytes(512)))
        memory = w.shared(4096, "l")
        link.post("write", memory, 4000, 1, 0x10, 0x20)
        segments = link.peer.receive_message()
        w.respond(lambda r: make_accept(r, bytes(508)))
        _, data = filter_packets_of_device(sniffer.pop_packets())
    same("whole", {c.flags & WHOLE for c in data}, {WHOLE})
    longest = max(len(seg.pack()) + 2 for seg in segments)
    check(f"the longest segment has at least {LEAST} bytes, not "
          f"{longest}", longest >= LEAST)


@case("MTU 552: shorter than the least message: SCTP fragments, IP does not",
      "SCTPDDP-60 SCTPDDP-61")
def test_sctp_fragments_below_least_mtu(w):
    with set_mtu(552), w.capture_packets() as sniffer:
        link = w.initiate(make_enhanced_control(E_INITIATE, bytes(508)))
        memory = w.shared(4096, "l")
        link.post("send", memory, 4000, 1)
        segments = link.peer.receive_message()
        packets, data = filter_packets_of_device(sniffer.pop_packets())
    same("bytes", sum(len(seg.payload) for seg in segments), 4000)
    same("length of the longest "
         "segment", max(len(seg.pack()) + 2 for seg in segments), LEAST)
    check("SCTP fragments a "
          "message", any(c.flags & WHOLE != WHOLE for c in data))
    check("packets are no longer than the path "
          "MTU", max(p.size for p in packets) <= 552)


def test_segments_follow_path_mtu(w, before, after):
    memory = w.shared(BIG, "l")
    with set_mtu(before):
        link = w.initiate()
        for _ in range(2):
            link.post("write", memory, 20000, 1, 0x10, 0x20)
            link.peer.receive_message()
            link.expect_wc(wr=1, status=SUCCESS)
    with set_mtu(after), w.capture_packets() as sniffer:
        for _ in range(5):
            link.post("write", memory, 20000, 1, 0x10, 0x20)
            segments = link.peer.receive_message()
            same("bytes", sum(len(s.payload) for s in segments), 20000)
            link.expect_wc(wr=1, status=SUCCESS)
        packets, data = filter_packets_of_device(sniffer.pop_packets())
    longest = max(p.size for p in packets)
    check(f"the longest packet, {longest} bytes, fills the path "
          "MTU", after - 64 <= longest <= after)
    same("no later chunk is fragmented by SCTP",
         {c.flags & WHOLE for c in data[-10:]}, {WHOLE})


case("the path MTU falls", "SCTPDDP-59 SCTPDDP-61 DDP-1",
     before=9000, after=1500)(test_segments_follow_path_mtu)
case("the path MTU rises", "SCTPDDP-59", before=1500,
     after=9000)(test_segments_follow_path_mtu)


@case("a SACK has room beside a full-sized chunk", "SCTPDDP-62")
def test_sack_fits_beside_full_chunk(w):
    memory, target = w.shared(BIG, "l"), w.shared(4096, "lw")
    link = w.initiate()
    octet = rdmap.make_write(target.rkey, target.addr, b"x")
    together = 0
    with w.capture_packets() as sniffer:
        for wr in range(20):
            # SCTP does not acknowledge the first of two packets immediately (RFC 9260
            # 6.2)
            link.peer.send_segments(octet)
            link.post("write", memory, 1400, wr, 0x10, 0x20)
            link.peer.receive_message()
        link.post("write", memory, 3000, 20, 0x10, 0x20)
        link.peer.receive_message()
        packets, _ = filter_packets_of_device(sniffer.pop_packets())
    for packet in packets:
        if packet.get_chunks(sctp_packet.SACK) and packet.get_chunks(sctp_packet.DATA):
            together += 1
            check("packet is no longer than the path MTU", packet.size <= 1500)
    full = max(p.size for p in packets if not p.get_chunks(sctp_packet.SACK))
    check(f"a full-sized packet, {full} bytes, leaves room for a SACK",
          1500 - 64 < full <= 1500 - 16)
    print(f"# {together} SACKs bundled with data")


@contextlib.contextmanager
def add_second_address(address="10.9.2.77"):
    """Context manager: give the device's interface a second address."""
    shell(f"ip addr add {address}/24 dev {SERVER_IF}")
    try:
        yield address
    finally:
        shell(f"ip addr del {address}/24 dev {SERVER_IF}")


def check_only_address_used(packets, address, kind):
    """Check that only that address is used, and that the INIT or INIT-ACK lists no other one."""
    (packet, init), *_ = [(p, c) for p in packets if p.source[0] == address
                          for c in p.get_chunks(kind)]
    same("addresses", [kind for kind, _ in init.parameters if kind in
                       (sctp_packet.IPV4_ADDRESS, 6, 11)], [])
    same("addresses in use",
         {p.source[0] for p in filter_by_association(packets, packet)}, {address, PEER})


@case("only one address, whatever the interface has",
      "SCTPDDP-51 SCTPDDP-52")
def test_only_one_address_is_used(w):
    with add_second_address():
        for connect, kind in ((w.initiate, sctp_packet.INIT_ACK),
                              (w.respond, sctp_packet.INIT)):
            with w.capture_packets() as sniffer:
                connect()
                packets = sniffer.pop_packets()
            check_only_address_used(packets, SERVER, kind)


@case("only one address, though the listener has a wildcard address",
      "SCTPDDP-51 SCTPDDP-52")
def test_wildcard_listener_uses_called_address(w):
    before, port = w.listener, next(w.ports)
    w.listener = int(w.server.do("listen", "0.0.0.0", port)[0])
    try:
        with add_second_address() as second:
            for address in SERVER, second:
                with w.capture_packets() as sniffer:
                    assoc = w.associate(port, at=address)
                    w.initiate(peer=assoc.stream(0)).round_trip()
                    packets = sniffer.pop_packets()
                check_only_address_used(packets, address, sctp_packet.INIT_ACK)
            w.clean_up_after_case()
    finally:
        w.server.do("destroy", w.listener)
        w.listener = before


@case("only the primary path")
def test_only_primary_path_is_used(w):
    with w.capture_packets() as sniffer:
        send_messages_of_many_lengths(w, w.initiate)
        packets = sniffer.pop_packets()
    first, *_ = [p for p in packets if p.get_chunks(sctp_packet.INIT)]
    same("paths", {frozenset((p.source, p.target))
                   for p in filter_by_association(packets, first)},
         {frozenset((first.source, first.target))})


run_sctp_cases()
