#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test queue pairs that programs connect by ibv_modify_qp(), over SCTP: see wire_rdv.py."""

import contextlib

from lib import ktap
from lib.rdv_peer import RDV_PORT
from lib.wire import PEER, SERVER, Closed, mpa
from lib.wire_sctp import SctpWire, make_enhanced_control
from lib import wire_rdv        # noqa: F401    # pylint: disable=unused-import
from rawpeer import sctp
from rawpeer.sctp import ACCEPT, E_ACCEPT, E_INITIATE, E_REJECT, INITIATE


class Rendezvous(SctpWire):
    """Connections use SCTP. Each attempt of the raw peer uses another association."""
    refusal = "terminate", []
    must_wait = False

    def connect_to_rdv_port(self, port=RDV_PORT, source=None, at=SERVER):
        """Set up an association to the rendezvous port of the device, and send nothing."""
        sock = self.create_sctp_socket()
        if source:
            sock.bind((source, 0))
        assoc = sctp.Association.connect(sock, (at, port))
        self.closing.callback(assoc.close)
        return assoc.stream(0)

    @staticmethod
    def send_request(peer, data):
        peer.send_control(E_INITIATE, mpa.pack_enhanced_word(4, 4) + data)

    @staticmethod
    def send_plain_request(peer, data):
        peer.send_control(INITIATE, data)

    @staticmethod
    def receive_reply(peer):
        return peer.receive_control()

    @staticmethod
    def is_accept(reply):
        return reply.code in (ACCEPT, E_ACCEPT)

    @contextlib.contextmanager
    def listening_on_rdv_port(self, port=RDV_PORT):
        """Context manager: listen on the rendezvous port of the raw peer."""
        with self.listening_at(PEER, port) as (sock, _):
            yield sock

    def accept_request(self, sock):
        """Accept an association of the device. Return its Initiate, and the stream."""
        while True:
            with contextlib.suppress(Closed):
                return self.wait_first_initiate(self.accept_association(sock))

    @staticmethod
    def send_accept(peer, request, data, rtr=0):
        control = make_enhanced_control(E_ACCEPT, data, request.ord, request.ird, rtr)
        peer.send_control(control.code, control.pd)

    def send_reject(self, peer, request, data):
        control = make_enhanced_control(E_REJECT, data, request.ord, request.ird, request.rtr)
        peer.send_control(control.code, control.pd)
        self.abort_peer_connection(peer)

    @staticmethod
    def abort_peer_connection(peer):
        peer.assoc.abort()


if __name__ == "__main__":
    ktap.run(Rendezvous)
