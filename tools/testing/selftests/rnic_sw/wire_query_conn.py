#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test rnic_sw_dv_query_conn() over TCP: a program gets all of the peer's Private Data (RFC 5044
section 7.1.1), the peer's IRD and ORD (RFC 6581 section 9.1) and the MPA revision, and whether CRC
and markers are in use. wire_sctp_startup.py tests the same over SCTP."""

import errno
import itertools

from lib.wire import (CM, CRC, DEPTHS, LLP_TCP, PEER, REJECTED, RX_MARKERS, TX_MARKERS, Peer,
                      PeerSent, Refused, case, check, mpa, run, same)

ENHANCED = mpa.C | mpa.S
MOST = mpa.PD_MAX
WORD = mpa.pack_enhanced_word(0x1234, 0x3FFE)         # IRD and ORD that need more than 8 bits


def make_private_data(size):
    return bytes(i * 7 & 0xFF for i in range(size))


def check_query_result(link, flags, revision, depths, data):
    """Check that the query returns these fields of the peer's start-up message."""
    same("message of the peer", link.query_peer_startup_message(),
         PeerSent(flags, LLP_TCP, revision, *depths, data))


def check_query_finds_nothing(link):
    """Check that the query fails with ENOTCONN."""
    try:
        got = link.query_peer_startup_message()
    except Refused as why:
        same("errno", str(why).split(": ")[1].split()[0], str(errno.ENOTCONN))
    else:
        raise AssertionError(f"there should be no message of the peer: {got}")


def start_connect(w, sock, port):
    """Let raw_server connect, and read its Request. Return the link."""
    link = w.add_link(None, int(w.server.do("open", PEER, port)[0]))
    check_query_finds_nothing(link)
    w.server.do("connect", link.conn, 1, 1)
    link.peer = Peer(sock.accept()[0])
    link.peer.receive_frame()
    check_query_finds_nothing(link)
    return link


@case("responder: a Request with 512 bytes of Private Data, and with depths",
      "MPA-95 MPA-121 MPA-122 MPA-123 MPA2-18 MPA2-26")
def test_query_returns_request(w):
    for request, *sent in (
            (mpa.make_request(pd=make_private_data(MOST)), CRC, 1, (0, 0), make_private_data(MOST)),
            (mpa.make_request(), CRC, 1, (0, 0), b""),
            (mpa.make_request(rev=2, pd=make_private_data(MOST)), CRC, 2, (0, 0), make_private_data(MOST)),
            (mpa.make_request(rev=2, flags=ENHANCED, pd=WORD + make_private_data(MOST - 4)),
             CRC | DEPTHS, 2, (0x1234, 0x3FFE), make_private_data(MOST - 4)),
            (mpa.make_request(rev=2, flags=ENHANCED, pd=WORD + make_private_data(256)),
             CRC | DEPTHS, 2, (0x1234, 0x3FFE), make_private_data(256))):
        link = w.add_link(w.connect_tcp())
        link.peer.send_bytes(request.pack())
        link.conn = w.expect_request().conn
        check_query_finds_nothing(link)
        w.server.do("accept", link.conn, 4, 4)
        link.expect_cm("ESTABLISHED", status=0)
        check_query_result(link, *sent)
        # a program can query the message after the end of the connection, too
        link.peer.close()
        link.expect_cm("DISCONNECTED")
        check_query_result(link, *sent)


@case("initiator: a Reply with Private Data, and with depths",
      "MPA-95 MPA-121 MPA-122 MPA-123 MPA2-18 MPA2-26 MPA2-35")
def test_query_returns_reply(w):
    for size in 0, 255, 256, MOST - 4:
        link = w.respond(lambda request, size=size: mpa.make_reply(
            rev=2, flags=ENHANCED, pd=mpa.pack_enhanced_word(0x3FFE, 128, request.rtr) + make_private_data(size)))
        check_query_result(link, CRC | DEPTHS, 2, (0x3FFE, 128), make_private_data(size))
        link.peer.close()
        link.expect_cm("DISCONNECTED")
        check_query_result(link, CRC | DEPTHS, 2, (0x3FFE, 128), make_private_data(size))
    with w.change_policy(revision=1):
        link = w.respond(lambda _: mpa.make_reply(pd=make_private_data(MOST)))
        check_query_result(link, CRC, 1, (0, 0), make_private_data(MOST))


@case("both: CRC and markers in each direction", "MPA-83 MPA-84 MPA-86")
def test_query_returns_crc_and_markers(w):
    for crc, markers in itertools.product((0, 1), repeat=2):
        with w.change_policy(revision=1, crc=crc, markers=markers) as port:
            for flags in 0, mpa.C, mpa.M, mpa.C | mpa.M:
                agreed = (CRC * bool(crc or flags & mpa.C) | RX_MARKERS * markers |
                          TX_MARKERS * bool(flags & mpa.M))
                link = w.initiate(mpa.make_request(flags=flags), peer=w.connect_tcp(port),
                                  opened=False)
                check_query_result(link, agreed, 1, (0, 0), b"")
                link = w.respond(lambda _, flags=flags: mpa.make_reply(flags=flags))
                check_query_result(link, agreed, 1, (0, 0), b"")


@case("initiator: a reject with Private Data, and with depths",
      "MPA-95 MPA-121 MPA-122 MPA-123 MPA2-18 MPA2-35")
def test_query_returns_reject(w):
    for reply, *sent in (
            (mpa.make_reply(rev=2, flags=ENHANCED | mpa.R, pd=WORD + make_private_data(MOST - 4)),
             DEPTHS | REJECTED, 2, (0x1234, 0x3FFE), make_private_data(MOST - 4)),
            (mpa.make_reply(rev=2, flags=mpa.C | mpa.R, pd=make_private_data(MOST)),
             REJECTED, 2, (0, 0), make_private_data(MOST))):
        with w.listening() as (sock, port):
            link = start_connect(w, sock, port)
            link.peer.send_bytes(reply.pack())
        link.expect_cm("REJECTED")
        check_query_result(link, *sent)


@case("initiator: revision 1 after the peer has closed on revision 2", "MPA-95")
def test_query_returns_reply_of_revision_1(w):
    with w.listening() as (sock, port):
        link = start_connect(w, sock, port)
        link.peer.close()
        link.peer = Peer(sock.accept()[0])
        same("revision of the second Request", link.peer.receive_frame().rev, 1)
        link.peer.send_bytes(mpa.make_reply(pd=make_private_data(300)).pack())
    link.expect_cm("ESTABLISHED", status=0)
    check_query_result(link, CRC, 1, (0, 0), make_private_data(300))


@case("initiator: no message if the peer has sent no Reply")
def test_query_without_reply_finds_nothing(w):
    with w.change_policy(revision=1), w.listening() as (sock, port):
        link = start_connect(w, sock, port)
        link.peer.reset()
        check("the event reports an error", w.server.expect_event(CM, conn=link.conn).status < 0)
        check_query_finds_nothing(link)


run()
