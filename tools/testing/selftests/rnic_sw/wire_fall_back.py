#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test when and how an initiator connects again after its first Request (RFC 6581 section 10)."""

import contextlib
import ctypes
import socket
import struct
import time

from lib.tracing import record_tracepoints
from lib.wire import (CM, PATIENCE, PEER, Peer, case, check, mpa, run, same, shell)

RETRIES = "iw_mpa/mpa_startup_retry"
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27

# a classic BPF program that drops each TCP segment with payload: (code, jt, jf, k)
NO_PAYLOAD = (
    (0x30, 0, 0, 12),           # A = byte 12 of the TCP header
    (0x74, 0, 0, 2),            # A >>= 2
    (0x54, 0, 0, 0x3C),         # A &= 0x3C, the length of the TCP header
    (0x07, 0, 0, 0),            # X = A
    (0x80, 0, 0, 0),            # A = length of the segment
    (0x1D, 0, 1, 0),            # if A != X, skip the next instruction
    (0x06, 0, 0, 0xFFFFFFFF),   # accept
    (0x06, 0, 0, 0),            # drop
)


def drop_payload_of_new_connections(sock):
    """Let new connections of this listener receive no payload, and so acknowledge none."""
    octets = b"".join(struct.pack("HBBI", *step) for step in NO_PAYLOAD)
    program = ctypes.create_string_buffer(octets)
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                    struct.pack("HP", len(NO_PAYLOAD), ctypes.addressof(program)))


def accept_payload_of_new_connections(sock):
    """Undo drop_payload_of_new_connections() for connections that are accepted from now on."""
    sock.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


def wait_for_unacked_data(port):
    """Wait until TCP has sent something to that port which the peer has not acknowledged."""
    end = time.monotonic() + PATIENCE
    while not any(int(line.split()[1]) for line in
                  shell(f"ss -Htn state established dport = :{port}").splitlines()):
        check("the Request is sent", time.monotonic() < end)
        time.sleep(0.02)


@contextlib.contextmanager
def start_connect(w, deaf=False):
    """Context manager: let raw_server connect. Yields the link, and the raw peer's listening
    socket and port. deaf: apply drop_payload_of_new_connections() to the listener."""
    with w.listening() as (sock, port):
        if deaf:
            drop_payload_of_new_connections(sock)
        link = w.add_link(None, int(w.server.do("open", PEER, port)[0]))
        w.server.do("connect", link.conn, 1, 1, b"once more")
        yield link, sock, port


@contextlib.contextmanager
def accept_without_reading(sock, port):
    """Context manager: accept a connection of a deaf listener, and wait until its Request was
    sent, which stays unacknowledged. Reset the connection at the end."""
    with Peer(sock.accept()[0]) as peer:
        wait_for_unacked_data(port)
        yield
        peer.reset()


def expect_plain_connection(w, link, sock):
    """Check that the next connection uses revision 1, and that it works."""
    link.peer = Peer(sock.accept()[0])
    request = link.peer.respond(mpa.make_reply())
    same("Request", request.pack(), mpa.make_request(flags=mpa.C, pd=b"once more").pack())
    link.expect_cm("ESTABLISHED", status=0)
    link.post("send", w.shared(4096), 4, 1)
    same("payload of the Send", link.peer.receive_segment().payload, bytes([0x5A]) * 4)


def check_initiator_falls_back(w, first):
    """Call first(peer) after the Request of revision 2: the initiator must then connect again,
    with revision 1. Return the trace event of the retry."""
    before = w.read_counters()["connects_plain"]
    with record_tracepoints(RETRIES) as events, start_connect(w) as (link, sock, _):
        with Peer(sock.accept()[0]) as peer:
            same("Rev", peer.receive_frame().rev, 2)
            first(peer)
            expect_plain_connection(w, link, sock)
        retries = events()
        same("retries, next revision", (len(retries), retries[0][1].split()[-1]),
             (1, "next-revision=1"))
    same("connections that fell back", w.read_counters()["connects_plain"] - before, 1)
    return retries[0][1]


@case("falls back if the responder closes", "MPA2-67")
def test_falls_back_on_close(w):
    check_initiator_falls_back(w, Peer.close)


@case("falls back if the responder resets", "MPA2-67")
def test_falls_back_on_reset(w):
    check("reason", "why=mpa-lost" in check_initiator_falls_back(w, Peer.reset))


@case("falls back on a plain Reply, and does not use its connection", "MPA2-67 MPA2-5")
def test_falls_back_on_plain_reply(w):
    def send_plain_reply(peer):
        peer.send_bytes(mpa.make_reply().pack())
        same("end, bytes before it", peer.wait_end(), ("rst", b""))

    check("reason", "why=mpa-startup" in check_initiator_falls_back(w, send_plain_reply))


@case("repeats a Request that was reset unacknowledged, with revision 2", "MPA2-67")
def test_unacked_request_is_repeated(w):
    plain = w.read_counters()["connects_plain"]
    with start_connect(w, deaf=True) as (link, sock, port):
        with accept_without_reading(sock, port):
            accept_payload_of_new_connections(sock)
        link.peer = Peer(sock.accept()[0])
        request = link.peer.respond(lambda request: mpa.make_reply(
            rev=2, flags=mpa.C | mpa.S, pd=mpa.pack_enhanced_word(1, 1, request.rtr)))
        same("Rev, data", (request.rev, request.data), (2, b"once more"))
        link.expect_cm("ESTABLISHED", status=0)
    same("connections that fell back", w.read_counters()["connects_plain"], plain)


@case("falls back if the repeated Request is acknowledged and reset", "MPA2-67")
def test_falls_back_if_repeated_request_is_acked(w):
    with start_connect(w, deaf=True) as (link, sock, port):
        with accept_without_reading(sock, port):
            accept_payload_of_new_connections(sock)
        with Peer(sock.accept()[0]) as peer:
            same("Rev", peer.receive_frame().rev, 2)
            peer.reset()
        expect_plain_connection(w, link, sock)


@case("falls back if the repeated Request is reset unacknowledged, too", "MPA2-67")
def test_request_is_repeated_once(w):
    with start_connect(w, deaf=True) as (link, sock, port):
        with accept_without_reading(sock, port):
            pass
        with accept_without_reading(sock, port):
            accept_payload_of_new_connections(sock)
        expect_plain_connection(w, link, sock)


@case("revision 2 by policy does not fall back", "MPA2-67")
def test_revision_2_policy_does_not_fall_back(w):
    with w.change_policy(revision=2), w.listening() as (sock, port):
        conn = int(w.server.do("open", PEER, port)[0])
        w.add_link(Peer(w.create_peer_socket()), conn)
        w.server.do("connect", conn, 1, 1)
        with Peer(sock.accept()[0]) as peer:
            peer.receive_frame()
        event = w.server.expect_event(CM, conn=conn)
        check(f"{event} reports an error", event.status < 0)
        sock.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            sock.accept()
            raise AssertionError("no second connection attempt")


run()
