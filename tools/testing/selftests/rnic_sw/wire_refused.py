#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test connections that fail to be set up, over TCP: see wire_refusal.py."""

import socket
import struct

from lib.wire import (SERVER, PEER, PORT, Peer, Wire, case, check, mpa, same,
                      disable_timestamps)
from lib.wire_refusal import (ERROR, REJECTED, start_server_connect, add_last_cases, check_fails_at_once,
                              expect_only_event, prepare_connect_without_route)

from lib import ktap


SOURCE = 7821               # a port from which raw_server connects


class TcpWire(Wire):
    """Connections use TCP. own_port is the port of raw_server's listener."""
    own_port = PORT
    enough = "ECONNREFUSED"
    hangs_up = "rst"

    def connect_and_send_request(self):
        peer = self.connect_tcp()
        peer.send_bytes(mpa.make_request().pack())
        return peer


def check_reply_fails_connect(w, octets, event, error, tries=1):
    """Let the peer send these bytes after the device's Request, and then close; tries: number of
    connections that the device makes. Check that the program gets this event and error."""
    with w.listening() as (sock, port):
        conn = start_server_connect(w, PEER, port)
        for _ in range(tries):
            with Peer(sock.accept()[0]) as peer:
                peer.receive_frame()
                if octets:
                    peer.send_bytes(octets)
        expect_only_event(w, conn, event, error)


@case("the peer speaks another protocol", "MPA-138 MPA-140")
def test_other_protocol_fails_connect(w):
    check_reply_fails_connect(w, b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", ERROR, "EPROTO")


@case("the peer replies with an unknown revision", "MPA-93")
def test_unknown_revision_fails_connect(w):
    check_reply_fails_connect(w, mpa.make_reply(rev=3).pack(), ERROR, "EPROTO")


@case("the peer closes without a reply, whatever the revision")
def test_close_without_reply_fails_connect(w):
    check_reply_fails_connect(w, b"", REJECTED, "ECONNRESET", tries=2)


@case("the peer resets without a reply, whatever the revision")
def test_reset_without_reply_fails_connect(w):
    with w.listening() as (sock, port):
        conn = start_server_connect(w, PEER, port)
        for _ in "enhanced", "plain":
            peer = sock.accept()[0]
            peer.recv(1)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                            struct.pack("ii", 1, 0))
            peer.close()
        expect_only_event(w, conn, REJECTED, "ECONNRESET")


@case("the route is removed before connecting")
def test_removed_route_fails_connect(w):
    check_fails_at_once(w, "ENETUNREACH", "connect", prepare_connect_without_route(w), 4, 4)


def connect_from_port(w, listening, source):
    """Let raw_server connect from the port source, if TCP can use it, and send a message. Return
    the link and the port from which it has connected."""
    sock, port = listening
    conn = int(w.server.do("open", PEER, port, SERVER, source, 0)[0])
    link = w.add_link(None, conn)
    w.server.do("connect", conn, 1, 1)
    raw, where = sock.accept()
    link.peer = Peer(raw)
    link.peer.respond(mpa.make_reply())
    link.expect_cm("ESTABLISHED", status=0)
    link.post("send", w.shared(4096), 4, 1)
    link.peer.receive_segment()
    return link, where[1]


@case("connecting from a port in FIN-WAIT-2, to the same address")
def test_port_in_fin_wait_is_not_reused(w):
    # with timestamps TCP would reuse a port in FIN-WAIT-2, where the peer has acknowledged the FIN
    with w.change_policy(revision=1), w.listening() as listening, disable_timestamps():
        first, port = connect_from_port(w, listening, SOURCE)
        same("from", port, SOURCE)
        w.server.do("destroy", first.conn)
        first.conn = None
        # the peer does not close, so TCP waits for its FIN in FIN-WAIT-2
        same("end of the connection", first.peer.wait_end()[0], "fin")
        _, port = connect_from_port(w, listening, SOURCE)
        check(f"TCP uses another port, not {port}", port != SOURCE)


@case("the peer accepts and requests an ORD beyond the limit", "MPA2-33")
def test_too_large_ord_fails_connect(w):
    link = w.respond(w.make_reply_builder(4, 4096), status=None, rtr=False)
    expect_only_event(w, link.conn, ERROR, "EPROTO")


add_last_cases()

if __name__ == "__main__":
    ktap.run(TcpWire)
