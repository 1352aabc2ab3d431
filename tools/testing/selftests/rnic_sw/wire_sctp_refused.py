#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test connections that fail to be set up, over SCTP: see wire_refusal.py."""

from lib.wire import PEER, PORT, case
from lib.wire_sctp import SctpWire
from rawpeer.sctp import INITIATE
from lib.wire_refusal import (ERROR, REJECTED, start_server_connect, add_last_cases, expect_only_event,
                              prepare_connect_without_route)

from lib import ktap


class Calls(SctpWire):
    """Connections use SCTP. own_port is the port of raw_server's listener."""
    own_port = PORT
    enough = "ECONNRESET"
    hangs_up = "terminate"

    def connect_and_send_request(self):
        assoc = self.associate()
        self.closing.pop_all()      # leave the association open at the end of the case
        stream = assoc.stream(0)
        stream.send_control(INITIATE)
        return stream


@case("the peer uses SCTP without DDP")
def test_other_protocol_fails_connect(w):
    with w.listening(adaptation=0) as (sock, port):
        conn = start_server_connect(w, PEER, port)
        expect_only_event(w, conn, ERROR, "EPROTO")
        sock.accept()[0].close()


@case("the peer ends the association without a reply")
def test_end_without_reply_fails_connect(w):
    for how in "abort", "shutdown":
        with w.listening() as (sock, port):
            conn = start_server_connect(w, PEER, port)
            assoc = w.accept_association(sock)
            w.wait_first_initiate(assoc)
            getattr(assoc, how)()
            expect_only_event(w, conn, REJECTED, "ECONNRESET")


@case("the route is removed before connecting")
def test_removed_route_fails_connect(w):
    conn = prepare_connect_without_route(w)
    w.server.do("connect", conn, 4, 4)
    expect_only_event(w, conn, ERROR, "EHOSTUNREACH")


add_last_cases()

if __name__ == "__main__":
    ktap.run(Calls)
