#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test queue pairs that programs connect by ibv_modify_qp(), over TCP: see wire_rdv.py."""

import contextlib

from lib import ktap
from lib.rdv_peer import RDV_PORT, Program, check_data_transfer, check_first_message_is_write
from lib.wire import Peer, Wire, case, mpa, same
from lib import wire_rdv        # noqa: F401    # pylint: disable=unused-import

ENHANCED = mpa.C | mpa.S


class TcpWire(Wire):
    """Connections use TCP."""
    refusal = "rst", b""
    must_wait = True

    def connect_to_rdv_port(self, port=RDV_PORT, **how):
        """Connect to the rendezvous port of the device, and send nothing."""
        return self.connect_tcp(port, **how)

    @staticmethod
    def _send_request_frame(peer, frame):
        peer.request = frame
        peer.send_bytes(frame.pack())

    def send_request(self, peer, data):
        self._send_request_frame(peer,
                                 mpa.make_request(rev=2, flags=ENHANCED, pd=mpa.pack_enhanced_word(4, 4) +
                                                  data))

    def send_plain_request(self, peer, data):
        self._send_request_frame(peer, mpa.make_request(pd=data))

    @staticmethod
    def receive_reply(peer):
        reply = peer.receive_frame()
        peer.enter_full_operation(peer.request, reply)
        return reply

    @staticmethod
    def is_accept(reply):
        return not reply.flags & mpa.R

    @contextlib.contextmanager
    def listening_on_rdv_port(self, port=RDV_PORT):
        """Context manager: listen on the rendezvous port of the raw peer."""
        with self.listening(port=port) as (sock, _):
            yield sock

    @staticmethod
    def accept_request(sock):
        """Accept a connection of the device. Return its Request, and the peer."""
        peer = Peer(sock.accept()[0])
        request = peer.receive_frame()
        return request, peer

    @staticmethod
    def _send_reply_frame(peer, request, flags, data, rtr):
        reply = mpa.make_reply(rev=2, flags=flags, pd=mpa.pack_enhanced_word(request.ord, request.ird, rtr) +
                               data)
        peer.send_bytes(reply.pack())
        peer.enter_full_operation(reply, request)

    def send_accept(self, peer, request, data, rtr=0):
        self._send_reply_frame(peer, request, ENHANCED, data, rtr)

    def send_reject(self, peer, request, data):
        self._send_reply_frame(peer, request, ENHANCED | mpa.R, data, request.rtr)
        peer.wait_end()

    @staticmethod
    def abort_peer_connection(peer):
        peer.reset()


@case("the Request byte by byte", "MPA2-4 MPA2-9 MPA-98")
def test_request_has_right_bytes(w):
    program = Program(w, connects=True)
    with w.listening_on_rdv_port() as sock:
        program.enter_rtr()
        request, peer = w.accept_request(sock)
        w.abort_peer_connection(peer)
    same("Request", request.pack().hex(), mpa.make_request(
        rev=2, flags=ENHANCED, pd=request.pd[:4] + b"iWQP\x01\0\0\0" +
        program.qpn.to_bytes(4, "big") + program.peer_qpn.to_bytes(4, "big") +
        bytes.fromhex("00abcdef" "00000000")).pack().hex())


@case("a device set to revision 1 sends a plain Request", "MPA2-62")
def test_revision_1_sends_plain_request(w):
    with w.change_settings(revision=1):
        program = Program(w, connects=True)
        with w.listening_on_rdv_port() as sock:
            program.enter_rtr()
            request, peer = w.accept_request(sock)
        same("Request", request.pack().hex(), mpa.make_request(
            flags=mpa.C, rev=1, pd=program.own_message.pack()).pack().hex())
        reply = mpa.make_reply(pd=program.right.pack())
        peer.send_bytes(reply.pack())
        peer.enter_full_operation(reply, request)
        program.link.peer = peer
        check_first_message_is_write(peer)
        check_data_transfer(w, program)
        program.enter_rts()
        check_data_transfer(w, program)


@case("a malformed Request is refused in the same way", "MPA-103 MPA-114")
def test_malformed_request_is_refused(w):
    program = wire_rdv.open_waiting_program(w)
    for octets in (b"GET / HTTP/1.1\r\n\r\n\r\n\r\n", mpa.make_reply().pack(),
                   mpa.make_request(rev=3).pack()):
        with w.connect_to_rdv_port() as peer:
            peer.send_bytes(octets)
            same("bytes before the end", peer.wait_end()[1], b"")
    wire_rdv.connect(w, program)
    check_data_transfer(w, program)


if __name__ == "__main__":
    ktap.run(TcpWire)
