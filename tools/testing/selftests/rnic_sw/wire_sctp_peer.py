#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test the raw SCTP peer against itself, without the modules of rnic_sw."""

import random
import socket

from lib import wire_sctp
from lib.ktap import case, check, run, same
from rawpeer import rdmap, sctp, sctp_packet
from rawpeer.talk import Closed
from lib.wire_sctp import GHOST, SERVER, SctpWire

PORT = 9000


class Bare(SctpWire):
    """The network of the wire tests, with a plain listener instead of raw_server."""

    def _set_up(self):
        wire_sctp.load_sctp_or_skip_all()
        self._create_veth_pair()
        self.open_listener(adaptation=sctp.ADAPTATION)

    def open_listener(self, **options):
        self.sock = sctp.set_socket_options(socket.socket(
            socket.AF_INET, socket.SOCK_STREAM, sctp.PROTOCOL), **options)
        self.sock.bind((SERVER, PORT))
        self.sock.listen()

    def connect_pair(self, **options):
        """Return both ends of an association, as sockets."""
        here = self.associate(PORT, **options)
        return here, self.accept_association_of_peer()

    def accept_association_of_peer(self):
        there = sctp.Association.wait_established(self.sock.accept()[0])
        self.closing.callback(there.close)
        return there

    def connect_ghost_pair(self, **options):
        here = self.create_ghost(peer_port=PORT, **options).connect()
        self.closing.callback(here.close)
        return here, self.accept_association_of_peer()


def exchange_chunks(here, there):
    """Exchange chunks of both payload protocol identifiers in both directions."""
    rand = random.Random(5043)
    for sid in 0, 3:
        one, two = here.stream(sid), there.stream(sid)
        one.send_control(sctp.INITIATE, b"hello")
        same("Initiate", two.receive_control(),
             sctp.Control(sctp.INITIATE, b"hello"))
        two.send_control(sctp.ACCEPT)
        same("Accept", one.receive_control(), sctp.Control(sctp.ACCEPT))
        for size in 0, 1, 1000:
            segment = rdmap.make_write(7, 9, rand.randbytes(size))
            one.send_segments(segment)
            same("segment", two.receive_segment(), segment)
            two.send_segments(segment)
            same("segment", one.receive_segment(), segment)
        two.terminate()
        same("end of the session", one.wait_end(), ("terminate", []))
        same("DDP-SSNs", [c.ssn for c in one.arrived], [0, 1, 2, 3, 4])


@case("two sockets")
def test_two_sockets_exchange_chunks(w):
    here, there = w.connect_pair()
    same("indications", (here.adaptation, there.adaptation), (1, 1))
    same("streams", (here.outbound, here.inbound),
         (sctp.STREAMS, sctp.STREAMS))
    exchange_chunks(here, there)
    here.close()
    same("end of the association", there.wait_end(), "shutdown")


@case("a socket and SCTP from raw packets")
def test_socket_and_ghost_exchange_chunks(w):
    here, there = w.connect_ghost_pair()
    same("indications", (here.init.adaptations, there.adaptation),
         (["00000001"], 1))
    exchange_chunks(here, there)
    there.shutdown()
    same("end of the association", here.wait_end(), "shutdown")


@case("SCTP from raw packets listens")
def test_ghost_can_listen(w):
    ghost = w.create_ghost(port=7000, peer_port=0)
    sock = sctp.set_socket_options(socket.socket(socket.AF_INET, socket.SOCK_STREAM,
                                                 sctp.PROTOCOL))
    sock.setblocking(False)
    sock.connect_ex((GHOST, 7000))
    ghost.accept()
    sock.settimeout(1)
    there = sctp.Association.wait_established(sock)
    w.closing.callback(there.close)
    exchange_chunks(there, ghost)
    ghost.abort()
    same("end of the association", there.wait_end(), "abort")


@case("indications of all kinds")
def test_indications_are_reported(w):
    for value in 0, 2, 0x12345678:
        _, there = w.connect_pair(adaptation=value)
        same("indication", there.adaptation, value or None)
    for parameters in b"", sctp_packet.pack_adaptation(2):
        _, there = w.connect_ghost_pair(parameters=parameters)
        same("indication", there.adaptation, 2 if parameters else None)


@case("DDP-SSNs out of order, and wrapping")
def test_early_and_wrapping_ssns_are_delivered(w):
    here, there = w.connect_pair()
    one, two = here.stream(1), there.stream(1)
    one.ssn = two.due = sctp.SSNS - 2
    segments = [rdmap.make_write(1, n, b"x") for n in range(5)]
    one.send_reordered((4, 2, 0, 3, 1), *segments)
    for segment in segments:
        same("segment", two.receive_segment(), segment)
    same("arrived", [c.ssn for c in two.arrived], [2, 0, 65534, 1, 65535])


@case("protocol violations are detected")
def test_violations_are_detected(w):
    here, there = w.connect_pair()
    wrong = [({"ppid": 0}, b"\0\1"), ({"unordered": False}, b"\0\1"),
             ({}, b""), ({"ssn": 65535}, b"\0\1")]
    for sid, (how, body) in enumerate(wrong):
        here.stream(sid).send_chunk(body, **how)
        try:
            there.stream(sid).receive_chunk()
        except sctp.Malformed:
            continue
        raise AssertionError(f"{how} should be detected")
    for body in b"\0\0", b"\0\4x", b"\0\1" + bytes(513):
        here.stream(9).send_chunk(body)
        try:
            there.stream(9).receive_control()
        except sctp.Malformed:
            continue
        raise AssertionError(f"{body} should be detected")


@case("the end of an association")
def test_association_ends_are_reported(w):
    for end, how in ((sctp.Association.abort, "abort"),
                     (sctp.Association.shutdown, "shutdown")):
        here, there = w.connect_pair()
        here.stream(2).send_control(sctp.INITIATE)
        end(here)
        there.stream(2).receive_control()
        try:
            there.stream(2).receive_chunk()
        except Closed:
            pass
        same("end of the association", there.ended, how)


@case("packets on the wire")
def test_packets_have_right_chunks(w):
    with w.capture_packets() as sniffer:
        here, there = w.connect_pair()
        here.stream(4).send_control(sctp.INITIATE)
        there.stream(4).receive_control()
        here.stream(4).send_segments(bytes(3000))
        there.stream(4).receive_chunk()
        here.close()
        there.wait_end()
        packets = sniffer.pop_packets(
            until=lambda p: p.get_chunks(sctp_packet.SHUTDOWN_COMPLETE))
    inits = [c for p in packets for kind in (sctp_packet.INIT,
                                             sctp_packet.INIT_ACK)
             for c in p.get_chunks(kind)]
    same("indications", [c.adaptations for c in inits], [["00000001"]] * 2)
    data = [c for p in packets for c in p.get_chunks(sctp_packet.DATA)]
    same("flags", [c.flags for c in data], [7, 6, 4, 5])
    same("PPIDs", [c.data[3] for c in data], [17, 16, 16, 16])
    check("the last packet is a SHUTDOWN "
          "COMPLETE", packets[-1].get_chunks(sctp_packet.SHUTDOWN_COMPLETE))


@case("acknowledgements withheld")
def test_withheld_sacks_cause_retransmission(w):
    here, there = w.connect_ghost_pair()
    here.sacking = False
    there.stream(0).send_control(sctp.INITIATE)
    here.stream(0).receive_control()

    def list_received_tsns():
        return [c.data[0] for p in here.packets
                for c in p.get_chunks(sctp_packet.DATA)]

    here.wait_until(lambda: len(list_received_tsns()) > 1)      # takes longer than RTO.Initial
    check(f"the same chunk is retransmitted: {list_received_tsns()}",
          len(set(list_received_tsns())) == 1)
    here.send_sack()
    here.stream(0).send_control(sctp.ACCEPT)
    there.stream(0).receive_control()
    here.wait_until(lambda: here.acked == here.tsn - 1)


run(Bare)
