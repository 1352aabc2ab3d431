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
        wire_sctp.need_kernel()
        self._veth()
        self.open_listener(adaptation=sctp.ADAPTATION)

    def open_listener(self, **options):
        self.sock = sctp.prepare(socket.socket(
            socket.AF_INET, socket.SOCK_STREAM, sctp.PROTOCOL), **options)
        self.sock.bind((SERVER, PORT))
        self.sock.listen()

    def pair(self, **options):
        """Return both ends of an association, as sockets."""
        here = self.associate(PORT, **options)
        return here, self.accepted()

    def accepted(self):
        there = sctp.Association.wait_established(self.sock.accept()[0])
        self.closing.callback(there.close)
        return there

    def ghost_pair(self, **options):
        here = self.ghost(peer_port=PORT, **options).connect()
        self.closing.callback(here.close)
        return here, self.accepted()


def talk(here, there):
    """Exchange chunks of both payload protocol identifiers in both directions."""
    rand = random.Random(5043)
    for sid in 0, 3:
        one, two = here.stream(sid), there.stream(sid)
        one.put_control(sctp.INITIATE, b"hello")
        same("Initiate", two.get_control(),
             sctp.Control(sctp.INITIATE, b"hello"))
        two.put_control(sctp.ACCEPT)
        same("Accept", one.get_control(), sctp.Control(sctp.ACCEPT))
        for size in 0, 1, 1000:
            segment = rdmap.write(7, 9, rand.randbytes(size))
            one.put_segment(segment)
            same("segment", two.get_segment(), segment)
            two.put_segment(segment)
            same("segment", one.get_segment(), segment)
        two.terminate()
        same("end of the session", one.wait_end(), ("terminate", []))
        same("DDP-SSNs", [c.ssn for c in one.arrived], [0, 1, 2, 3, 4])


@case("two sockets")
def test_sockets(w):
    here, there = w.pair()
    same("indications", (here.adaptation, there.adaptation), (1, 1))
    same("streams", (here.outbound, here.inbound),
         (sctp.STREAMS, sctp.STREAMS))
    talk(here, there)
    here.close()
    same("end of the association", there.wait_end(), "shutdown")


@case("a socket and SCTP from raw packets")
def test_octets(w):
    here, there = w.ghost_pair()
    same("indications", (here.init.adaptations, there.adaptation),
         (["00000001"], 1))
    talk(here, there)
    there.shutdown()
    same("end of the association", here.wait_end(), "shutdown")


@case("SCTP from raw packets listens")
def test_ghost_listens(w):
    ghost = w.ghost(port=7000, peer_port=0)
    sock = sctp.prepare(socket.socket(socket.AF_INET, socket.SOCK_STREAM,
                                      sctp.PROTOCOL))
    sock.setblocking(False)
    sock.connect_ex((GHOST, 7000))
    ghost.accept()
    sock.settimeout(1)
    there = sctp.Association.wait_established(sock)
    w.closing.callback(there.close)
    talk(there, ghost)
    ghost.abort()
    same("end of the association", there.wait_end(), "abort")


@case("indications of all kinds")
def test_indications(w):
    for value in 0, 2, 0x12345678:
        _, there = w.pair(adaptation=value)
        same("indication", there.adaptation, value or None)
    for parameters in b"", sctp_packet.adaptation(2):
        _, there = w.ghost_pair(parameters=parameters)
        same("indication", there.adaptation, 2 if parameters else None)


@case("DDP-SSNs out of order, and wrapping")
def test_order(w):
    here, there = w.pair()
    one, two = here.stream(1), there.stream(1)
    one.ssn = two.due = sctp.SSNS - 2
    segments = [rdmap.write(1, n, b"x") for n in range(5)]
    one.put_in_order((4, 2, 0, 3, 1), *segments)
    for segment in segments:
        same("segment", two.get_segment(), segment)
    same("arrived", [c.ssn for c in two.arrived], [2, 0, 65534, 1, 65535])


@case("protocol violations are detected")
def test_malformed(w):
    here, there = w.pair()
    wrong = [({"ppid": 0}, b"\0\1"), ({"unordered": False}, b"\0\1"),
             ({}, b""), ({"ssn": 65535}, b"\0\1")]
    for sid, (how, body) in enumerate(wrong):
        here.stream(sid).put_chunk(body, **how)
        try:
            there.stream(sid).get_chunk()
        except sctp.Malformed:
            continue
        raise AssertionError(f"{how} should be detected")
    for body in b"\0\0", b"\0\4x", b"\0\1" + bytes(513):
        here.stream(9).put_chunk(body)
        try:
            there.stream(9).get_control()
        except sctp.Malformed:
            continue
        raise AssertionError(f"{body} should be detected")


@case("the end of an association")
def test_ends(w):
    for end, how in ((sctp.Association.abort, "abort"),
                     (sctp.Association.shutdown, "shutdown")):
        here, there = w.pair()
        here.stream(2).put_control(sctp.INITIATE)
        end(here)
        there.stream(2).get_control()
        try:
            there.stream(2).get_chunk()
        except Closed:
            pass
        same("end of the association", there.ended, how)


@case("packets on the wire")
def test_on_the_wire(w):
    with w.watching() as sniffer:
        here, there = w.pair()
        here.stream(4).put_control(sctp.INITIATE)
        there.stream(4).get_control()
        here.stream(4).put_segment(bytes(3000))
        there.stream(4).get_chunk()
        here.close()
        there.wait_end()
        packets = sniffer.packets(
            until=lambda p: p.of(sctp_packet.SHUTDOWN_COMPLETE))
    inits = [c for p in packets for kind in (sctp_packet.INIT,
                                             sctp_packet.INIT_ACK)
             for c in p.of(kind)]
    same("indications", [c.adaptations for c in inits], [["00000001"]] * 2)
    data = [c for p in packets for c in p.of(sctp_packet.DATA)]
    same("flags", [c.flags for c in data], [7, 6, 4, 5])
    same("PPIDs", [c.data[3] for c in data], [17, 16, 16, 16])
    check("the last packet is a SHUTDOWN "
          "COMPLETE", packets[-1].of(sctp_packet.SHUTDOWN_COMPLETE))


@case("acknowledgements withheld")
def test_no_sack(w):
    here, there = w.ghost_pair()
    here.sacking = False
    there.stream(0).put_control(sctp.INITIATE)
    here.stream(0).get_control()

    def tsns():
        return [c.data[0] for p in here.packets
                for c in p.of(sctp_packet.DATA)]

    here.wait(lambda: len(tsns()) > 1)      # takes longer than RTO.Initial
    check(f"the same chunk is retransmitted: {tsns()}", len(set(tsns())) == 1)
    here.sack()
    here.stream(0).put_control(sctp.ACCEPT)
    there.stream(0).get_control()
    here.wait(lambda: here.acked == here.tsn - 1)


run(Bare)
