#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test the start-up of sessions over SCTP (RFC 5043 section 6, RFC 6581 section
7)."""

import time

from lib.wire import (CM, DEPTHS, FLUSHED, LLP_SCTP, PATIENCE, REJECTED, PeerSent, Refused,
                      case, check, mpa, same)
from rawpeer import rdmap, sctp
from rawpeer.sctp import (ACCEPT, E_ACCEPT, E_INITIATE, E_REJECT, INITIATE,
                          REJECT, TERMINATE, Control)
from lib.wire_sctp import make_accept, make_enhanced_control, run_sctp_cases

HANDED_UP = 255             # bytes of Private Data that iw_cm passes to a program
BACKLOG = 64                # backlog of raw_server
LIMIT = 128                 # largest IRD and ORD of the device
BOTH_KINDS = Control(INITIATE), make_enhanced_control(E_INITIATE)


def make_private_data(size):
    return bytes(i & 0xFF for i in range(size))


def expect_no_request(w):
    w.expect_nothing(CM, event="CONNECT_REQUEST")


def check_first_chunk_is_refused(w, assoc, sid, body, **how):
    """Check that a responder replies with a Terminate and reports no event."""
    stream = assoc.stream(sid)
    stream.send_chunk(body, **how)
    same(f"reply to {body[:8].hex()}", stream.receive_control(),
         Control(TERMINATE))
    expect_no_request(w)


# Responder --------------------------------------------------------------------


@case("responder: plain in, plain out, on the same stream",
      "SCTPDDP-2 SCTPDDP-8 SCTPDDP-10 SCTPDDP-12 SCTPDDP-13 SCTPDDP-24 "
      "SCTPDDP-26 SCTPDDP-29 SCTPDDP-37 MPA2-61 MPA2-63")
def test_plain_initiate_gets_plain_accept(w):
    assoc = w.associate()
    for sid in 0, 5, 15:
        w.initiate(Control(INITIATE, b"hello"), accept=(4, 4, b"yes"),
                   peer=assoc.stream(sid))
        same("answer", w.reply, Control(ACCEPT, b"yes"))
    for sid in 0, 5, 15:
        same("DDP-SSNs", [c.ssn for c in assoc.stream(sid).arrived], [0])
    same("streams used", sorted(assoc.streams), [0, 5, 15])


@case("responder: enhanced in, enhanced out",
      "MPA2-11 MPA2-13 MPA2-14 MPA2-60 MPA2-64")
def test_enhanced_initiate_gets_enhanced_accept(w):
    link = w.request_session(make_enhanced_control(E_INITIATE, b"hi", 3, 2))
    event = w.expect_request()
    same("data, IRD, ORD", (event.pd, event.ord, event.ird), (b"hi", 3, 2))
    link.conn = event.conn
    w.server.do("accept", link.conn, 3, 2, b"there")
    got = link.peer.receive_control()
    same("code, data", (got.code, got.data), (E_ACCEPT, b"there"))
    same("IRD, ORD, RTR flags", (got.ird, got.ord, got.rtr), (2, 3, 0))
    link.expect_cm("ESTABLISHED", status=0)


@case("responder: Private Data of the Initiate is delivered",
      "SCTPDDP-14 SCTPDDP-15 SCTPDDP-18 MPA2-17")
def test_private_data_of_initiate_is_delivered(w):
    assoc = w.associate(streams=32)
    for sid, size in enumerate((0, 1, 4, 200, 255)):
        for code, way in (INITIATE, 0), (E_INITIATE, 16):
            data = make_private_data(size)
            request = Control(code, data) if code == INITIATE \
                else make_enhanced_control(code, data)
            link = w.request_session(request, assoc.stream(sid + way))
            event = w.expect_request()
            link.conn = event.conn
            same("Private Data", event.pd, data)


@case("responder: Private Data of the Accept",
      "SCTPDDP-14 SCTPDDP-15 MPA2-13 MPA2-14")
def test_private_data_of_accept_is_sent(w):
    for request in BOTH_KINDS:
        for data in b"", b"1", make_private_data(255):
            w.initiate(request, accept=(1, 1, data))
            same("Private Data", w.reply.data, data)


@case("responder: 512 bytes of Private Data, the enhanced word included",
      "SCTPDDP-16 MPA2-15")
def test_512_bytes_of_private_data_are_accepted(w):
    assoc = w.associate(streams=8)
    for sid, request in enumerate((Control(INITIATE, make_private_data(512)),
                                   make_enhanced_control(E_INITIATE, make_private_data(508)))):
        link = w.request_session(request, assoc.stream(sid))
        event = w.expect_request()
        link.conn = event.conn
        same("Private Data, as much as iw_cm can "
             "carry", event.pd, make_private_data(HANDED_UP))


def check_query_result(link, control, flags=0):
    """Check what the program's direct verb returns of the peer's control message."""
    depths = control.enhanced
    same("message of the peer", link.query_peer_startup_message(), PeerSent(
        flags | DEPTHS * depths, LLP_SCTP, 0, control.ird if depths else 0,
        control.ord if depths else 0, control.data if depths else control.pd))


@case("responder: a direct verb returns 512 bytes of Private Data, and the depths",
      "SCTPDDP-19 MPA2-18 MPA2-26")
def test_query_returns_initiate(w):
    assoc = w.associate(streams=8)
    for sid, request in enumerate((Control(INITIATE, make_private_data(512)), Control(INITIATE),
                                   make_enhanced_control(E_INITIATE, make_private_data(508), 0x1234, 0x3FFE))):
        link = w.initiate(request, peer=assoc.stream(sid))
        check_query_result(link, request)
        link.peer.terminate()
        link.expect_cm("DISCONNECTED")
        check_query_result(link, request)


@case("responder: 513 bytes of Private Data are "
      "refused", "SCTPDDP-16 SCTPDDP-28 MPA2-15")
def test_513_bytes_of_private_data_are_refused(w):
    assoc = w.associate()
    for sid, request in enumerate((Control(INITIATE, make_private_data(513)),
                                   make_enhanced_control(E_INITIATE, make_private_data(509)),
                                   Control(INITIATE, make_private_data(1300)),
                                   Control(INITIATE, make_private_data(20000)))):
        check_first_chunk_is_refused(w, assoc, sid, request.pack())


@case("responder: an enhanced Initiate without the enhanced word is refused",
      "MPA2-13 SCTPDDP-28")
def test_enhanced_initiate_without_word_is_refused(w):
    assoc = w.associate()
    for size in range(4):
        check_first_chunk_is_refused(w, assoc, size, Control(E_INITIATE, make_private_data(size)).pack())


@case("responder: invalid and unexpected function codes",
      "SCTPDDP-13 SCTPDDP-27 SCTPDDP-28")
def test_wrong_function_codes_are_refused(w):
    assoc = w.associate(streams=32)
    for sid, code in enumerate((0, 8, 9, 0x0100, 0xFFFF, ACCEPT, REJECT,
                                E_ACCEPT, E_REJECT)):
        body = Control(code, make_private_data(20)).pack()
        check_first_chunk_is_refused(w, assoc, sid, body)


@case("invalid function codes in a session", "SCTPDDP-13")
def test_wrong_function_codes_end_session(w):
    assoc = w.associate()
    for sid, code in enumerate((0, 8, 9, 0x0100, 0xFFFF)):
        link = w.initiate(Control(INITIATE), peer=assoc.stream(sid))
        # the session does not count as ended gracefully
        with w.expect_counts(end_sctp_control=1):
            link.peer.send_control(code)
            link.expect_end()


@case("responder: a Terminate outside a session gets no reply")
def test_terminate_outside_session_gets_no_reply(w):
    stream = w.associate().stream(0)
    stream.terminate()
    w.expect_quiet(stream)
    expect_no_request(w)


@case("responder: a control message without a complete header", "SCTPDDP-12")
def test_short_control_message_is_refused(w):
    assoc = w.associate()
    for sid, body in enumerate((b"", b"\0")):
        check_first_chunk_is_refused(w, assoc, sid, body)


@case("responder: a segment before any Initiate",
      "SCTPDDP-1 SCTPDDP-27 SCTPDDP-28")
def test_segment_before_initiate_is_refused(w):
    target = w.shared(4096, "lw")
    check_first_chunk_is_refused(w, w.associate(), 3,
                                 rdmap.make_write(target.rkey, target.addr, b"early").pack(),
                                 ppid=sctp.SEGMENT)
    target.check_untouched()


@case("responder: another payload protocol identifier", "SCTPDDP-6 SCTPDDP-28")
def test_other_ppid_is_refused(w):
    assoc = w.associate()
    body = Control(INITIATE).pack()
    for sid, ppid in enumerate((0, 15, 18, 0x11000000, 0xFFFFFFFF)):
        check_first_chunk_is_refused(w, assoc, sid, body, ppid=ppid)


@case("responder: an ordered chunk", "SCTPDDP-58 SCTPDDP-28")
def test_ordered_chunk_is_refused(w):
    check_first_chunk_is_refused(w, w.associate(), 2, Control(INITIATE).pack(), unordered=False)


@case("responder: other payload in a session ends only that session",
      "SCTPDDP-6 SCTPDDP-28")
def test_other_ppid_ends_one_session(w):
    assoc = w.associate()
    links = [w.initiate(peer=assoc.stream(sid)) for sid in (0, 1)]
    target = w.shared(4096, "lw")
    segment = rdmap.make_write(target.rkey, target.addr, b"something")
    links[0].peer.send_chunk(segment.pack(), ppid=0)
    links[0].expect_end()
    links[0].expect_cm("DISCONNECTED")
    target.check_untouched()
    links[1].round_trip()


@case("responder: no reply before the program has decided",
      "SCTPDDP-36 SCTPDDP-33")
def test_no_reply_before_decision(w):
    for request in Control(INITIATE, b"why"), make_enhanced_control(E_INITIATE, b"why", 3, 2):
        link = w.request_session(request)
        event = w.expect_request()
        link.conn = event.conn
        same("Private Data of the event", event.pd, b"why")
        if request.enhanced:
            same("ORD, IRD", (event.ord, event.ird), (3, 2))
        w.expect_quiet(link.peer)
        w.server.do("accept", link.conn, 2, 1)
        got = link.peer.receive_control()
        same("code of the "
             "reply", got.code, E_ACCEPT if request.enhanced else ACCEPT)
        if request.enhanced:
            same("IRD, ORD", (got.ird, got.ord), (1, 2))


@case("responder: a reject", "SCTPDDP-34 SCTPDDP-14 SCTPDDP-35")
def test_reject_is_sent(w):
    assoc = w.associate()
    for sid, data in enumerate((b"", b"no", make_private_data(255))):
        link = w.request_session(peer=assoc.stream(sid))
        link.conn = w.expect_request().conn
        w.server.do("reject", link.conn, data)
        same("answer", link.peer.receive_control(), Control(REJECT, data))
        w.expect_quiet(link.peer)


@case("responder: a reject of an enhanced Initiate is enhanced",
      "MPA2-12 MPA2-13 MPA2-64 MPA2-11")
def test_enhanced_initiate_gets_enhanced_reject(w):
    link = w.request_session(make_enhanced_control(E_INITIATE, b"", 5, 6))
    link.conn = w.expect_request().conn
    w.server.do("reject", link.conn, b"sorry")
    got = link.peer.receive_control()
    same("code, data", (got.code, got.data), (E_REJECT, b"sorry"))
    w.expect_quiet(link.peer)


@case("responder: a stream is reused, after a reject and after a session",
      "SCTPDDP-22 SCTPDDP-26")
def test_stream_is_reused(w):
    stream = w.associate().stream(4)
    for turn in range(3):
        link = w.request_session(peer=stream)
        link.conn = w.expect_request().conn
        w.server.do("reject", link.conn, b"")
        same("answer", stream.receive_control().code, REJECT)
        stream.start_session()
        link = w.initiate(peer=stream, recvs=[(w.shared(4096), 64)])
        stream.send(b"turn %d" % turn)
        link.expect_wc(wr=1, status=0)
        w.server.do("disconnect", link.conn)
        same("end of the session", stream.wait_end(), ("terminate", []))
        stream.terminate()
        link.expect_cm("DISCONNECTED")
        stream.assoc.process_input_until_quiet(0.05)
        stream.start_session()


@case("responder: more Initiates than may wait get a Terminate",
      "SCTPDDP-20 SCTPDDP-21 SCTPDDP-35 SCTPDDP-38 SCTPDDP-39")
def test_excess_initiates_get_terminate(w):
    more, asked = 20, 0
    assoc = w.associate(streams=BACKLOG + more)
    for sid in range(BACKLOG + more):
        assoc.stream(sid).send_control(INITIATE)
    came, end = 0, time.monotonic() + PATIENCE
    while came < BACKLOG + more and time.monotonic() < end:
        assoc.process_input_until_quiet(0.05)
        while (event := w.server.pop_event(CM, 0, event="CONNECT_REQUEST")):
            asked += 1
            w.add_link(assoc.stream(0), event.conn)
        if asked + len(assoc.chunks()) > came:
            came, end = asked + len(assoc.chunks()), time.monotonic() + PATIENCE
    assoc.process_input_until_quiet()
    w.server.expect_no_event(CM, event="CONNECT_REQUEST")
    answers = [s.receive_control().code for s in assoc.streams.values()
               if s.came]
    check(f"{BACKLOG // 2} to {BACKLOG} requests are reported, not {asked}",
          BACKLOG / 2 <= asked <= BACKLOG)
    same("replies to the others", answers, [TERMINATE] * (BACKLOG + more - asked))


@case("responder: the initiator ends the session before it is "
      "accepted", "SCTPDDP-28")
def test_end_before_accept_is_reported(w):
    """The program gets both events: first established, and immediately disconnected."""
    link = w.request_session()
    link.conn = w.expect_request().conn
    link.post_recv(w.shared(64, "l"), 64, 1)
    link.peer.terminate()
    # by now the Terminate has arrived
    w.wait_until_data_processed()
    w.server.do("accept", link.conn, 1, 1)
    w.expect_quiet(link.peer)
    link.expect_cm("ESTABLISHED", status=0)
    link.expect_cm("DISCONNECTED")
    link.expect_wc(wr=1, status=FLUSHED)
    w.expect_nothing(CM, conn=link.conn)


@case("responder: the association ends before the session is accepted")
def test_association_end_before_accept_is_reported(w):
    for how in "close", "abort":
        link = w.request_session()
        link.conn = w.expect_request().conn
        getattr(link.assoc, how)()
        w.server.do("accept", link.conn, 1, 1)
        link.expect_cm("ESTABLISHED", status=0)
        link.expect_cm("DISCONNECTED")
        w.expect_nothing(CM, conn=link.conn)


@case("responder: a segment before the Accept ends the session",
      "SCTPDDP-27 SCTPDDP-28")
def test_segment_before_accept_ends_session(w):
    target = w.shared(4096, "lw")
    link = w.request_session()
    link.conn = w.expect_request().conn
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"early"))
    same("answer", link.peer.receive_control(), Control(TERMINATE))
    target.check_untouched()


# Initiator --------------------------------------------------------------------


@case("initiator: the Initiate",
      "MPA2-11 MPA2-13 MPA2-14 SCTPDDP-14 SCTPDDP-26 SCTPDDP-10")
def test_initiate_has_right_fields(w):
    for data in b"", b"1", make_private_data(200):
        link = w.respond(connect=(3, 5, data))
        got = w.request
        same("code, data", (got.code, got.data), (E_INITIATE, data))
        same("IRD, ORD", (got.ird, got.ord), (5, 3))
        same("DDP-SSN of the Initiate", link.peer.arrived[0].ssn, 0)
        same("streams used", list(link.assoc.streams), [link.peer.sid])


@case("initiator: Private Data of the Accept is delivered",
      "SCTPDDP-18 MPA2-17 MPA2-15 MPA2-26 MPA2-35")
def test_private_data_of_accept_is_delivered(w):
    for size in 0, 1, 100, 508:
        link = w.respond(lambda r, size=size: make_enhanced_control(
            E_ACCEPT, make_private_data(size), 3, 2, r.rtr), status=None)
        event = link.expect_cm("ESTABLISHED", status=0)
        same("Private Data", event.pd, make_private_data(size)[:HANDED_UP])
        same("ORD, IRD", (event.ord, event.ird), (3, 2))


@case("initiator: a direct verb returns all that an Accept contains",
      "SCTPDDP-19 MPA2-18 MPA2-26 MPA2-35")
def test_query_returns_accept(w):
    for size in 0, 256, 508:
        accepts = []
        link = w.respond(lambda r, size=size, accepts=accepts: accepts.append(make_enhanced_control(
            E_ACCEPT, make_private_data(size), 0x3FFE, 128, r.rtr)) or accepts[0])
        check_query_result(link, accepts[0])
    with w.change_policy(revision=1):
        accept = Control(ACCEPT, make_private_data(512))
        check_query_result(w.respond(lambda _: accept), accept)


def start_connect(w, **options):
    """Let raw_server connect. Return the link, with the Initiate received."""
    with w.listening(**options) as (sock, port):
        link = w.start_server_connect(port)
        assoc = w.accept_association(sock)
    w.request, link.peer = w.wait_first_initiate(assoc)
    return link


def expect_failure_event(w, link, **fields):
    """Check that raw_server reports one event for a failure. Return the event."""
    event = w.server.expect_event(CM, conn=link.conn, **fields)
    check(f"{event} reports an error", event.event in ("REJECTED", "CONNECT_ERROR",
                                                "UNREACHABLE"))
    w.expect_nothing(CM, conn=link.conn)
    return event


@case("initiator: a reject with its Private Data",
      "SCTPDDP-18 MPA2-13 MPA2-17")
def test_reject_delivers_private_data(w):
    for size in 0, 5, 508:
        link = start_connect(w)
        with w.expect_counts(end_peer_reject=1):
            link.send_reply(make_enhanced_control(E_REJECT, make_private_data(size), 1, 1))
            event = expect_failure_event(w, link, event="REJECTED")
        same("Private Data", event.pd, make_private_data(size)[:HANDED_UP])
        w.expect_quiet(link.peer)


@case("initiator: a direct verb returns all that a reject contains",
      "SCTPDDP-19 MPA2-18 MPA2-35")
def test_query_returns_reject(w):
    for control in (make_enhanced_control(E_REJECT, make_private_data(508), 0x2345, 300),
                    Control(REJECT, make_private_data(512))):
        link = start_connect(w)
        link.send_reply(control)
        link.expect_cm("REJECTED")
        check_query_result(link, control, REJECTED)


@case("initiator: a reject without the enhanced word, and a plain "
      "one", "SCTPDDP-18")
def test_plain_reject_is_reported(w):
    for control in (*(Control(E_REJECT, make_private_data(size)) for size in range(4)),
                    Control(REJECT, b"plain")):
        link = start_connect(w)
        link.send_reply(control)
        event = expect_failure_event(w, link, event="REJECTED")
        same("Private Data", event.pd, control.pd)


@case("initiator: plain, if the device is configured so", "MPA2-62 SCTPDDP-13")
def test_revision_1_sends_plain_initiate(w):
    with w.change_policy(revision=1):
        link = w.respond(lambda _: Control(ACCEPT, b"yes"), (4, 4, b"hello"))
        same("Initiate", w.request, Control(INITIATE, b"hello"))
        link.round_trip()


@case("initiator: the peer replies with a Terminate", "SCTPDDP-18")
def test_terminate_as_reply_fails_connect(w):
    link = start_connect(w)
    link.send_reply(Control(TERMINATE))
    expect_failure_event(w, link)
    w.expect_quiet(link.peer)


WRONG_ANSWERS = [
    ("an Initiate", "SCTPDDP-27", Control(INITIATE)),
    ("a plain Accept", "SCTPDDP-27 MPA2-21", Control(ACCEPT)),
    ("an Accept without the enhanced word", "MPA2-13", Control(E_ACCEPT, b"123")),
    ("an Accept that is too long", "SCTPDDP-16 MPA2-15",
     make_enhanced_control(E_ACCEPT, make_private_data(509))),
    ("function code 0", "SCTPDDP-13", Control(0)),
    ("function code 9", "SCTPDDP-13", Control(9)),
]


def test_wrong_reply_fails_connect(w, control):
    link = start_connect(w)
    link.send_reply(control)
    link.expect_end()
    expect_failure_event(w, link)


for words, rows, wrong in WRONG_ANSWERS:
    case(f"initiator: {words} is no valid reply", f"{rows} SCTPDDP-28",
         control=wrong)(test_wrong_reply_fails_connect)


def check_accept_is_refused(w, code, end, ord_=4, flags=0):
    """Check that the device sends only RDMAP's Terminate 2/0/code and the session's
    Terminate."""
    link = start_connect(w)
    with w.expect_counts(**{end: 1}):
        link.send_reply(make_enhanced_control(E_ACCEPT, b"", 4, ord_, flags or w.request.rtr))
        same("Terminate", link.peer.receive_terminate().pack().hex(),
             f"20{code:02x}0000")
        link.expect_end()
        expect_failure_event(w, link)


@case("initiator: an Accept with an ORD beyond the device's IRD limit",
      "MPA2-23 MPA2-24 MPA2-33 MPA2-34")
def test_ord_beyond_ird_limit_is_refused(w):
    for ord_ in mpa.NOT_NEGOTIATED - 1, LIMIT + 1:
        check_accept_is_refused(w, 6, "end_mpa_ird", ord_=ord_)


@case("initiator: an Accept with no type that both support",
      "MPA2-23 MPA2-24 MPA2-50 MPA2-51")
def test_no_common_rtr_type_is_refused(w):
    for flags in mpa.A | mpa.B, mpa.A, mpa.CC:
        check_accept_is_refused(w, 7, "end_mpa_rtr", flags=flags)


@case("initiator: a segment is no valid reply", "SCTPDDP-27 SCTPDDP-28")
def test_segment_as_reply_fails_connect(w):
    link = start_connect(w)
    link.peer.send_segments(rdmap.make_send(1, b"too soon"))
    link.expect_end()
    expect_failure_event(w, link)


@case("initiator: a segment overtakes the Accept", "SCTPDDP-65")
def test_segment_may_overtake_accept(w):
    inbox = w.shared(4096, "l")
    with w.listening() as (sock, port):
        link = w.start_server_connect(port, recvs=[(inbox, 64)])
        assoc = w.accept_association(sock)
    w.request, link.peer = w.wait_first_initiate(assoc)
    link.peer.send_segments(rdmap.make_send(1, b"first"), ssn=1)
    w.expect_nothing(CM, conn=link.conn)
    link.send_reply(make_accept(w.request))
    link.peer.take_next_ssn()
    link.expect_cm("ESTABLISHED", status=0)
    same("length", link.expect_wc(wr=1, status=0).length, 5)


@case("initiator: as many segments as a peer may send at once overtake its Accept",
      "SCTPDDP-65")
def test_many_segments_may_overtake_accept(w):
    """The peer sends segments after its Accept, but the Accept is lost."""
    inbox = w.shared(1 << 16, "l")
    with w.listening() as (sock, port):
        link = w.start_server_connect(port, recvs=[(inbox, 1 << 16)])
        assoc = w.accept_association(sock)
    w.request, link.peer = w.wait_first_initiate(assoc)
    for n in range(20):
        link.peer.send_segments(rdmap.make_send(1, bytes(1400), mo=1400 * n,
                                                last=n == 19), ssn=n + 1)
    w.expect_nothing(CM, conn=link.conn)
    link.send_reply(make_accept(w.request))
    link.expect_cm("ESTABLISHED", status=0)
    same("length", link.expect_wc(wr=1, status=0).length, 20 * 1400)


@case("initiator: silent before the Accept", "SCTPDDP-44")
def test_initiator_is_silent_before_accept(w):
    """Work is posted, but the initiator sends nothing before the Accept."""
    link = start_connect(w)
    link.post("send", w.shared(64, "l"), 8, 1)
    w.expect_quiet(link.peer)
    link.accept(w.request)
    same("bytes of the Send", len(link.peer.receive_segment().payload), 8)
    link.expect_wc(wr=1, status=0)


@case("initiator: no listener there")
def test_missing_listener_fails_connect(w):
    with w.listening() as (_, port):
        pass
    try:
        link = w.start_server_connect(port)
    except Refused:
        return                      # the connect was refused before the call returned
    expect_failure_event(w, link)


@case("initiator: the responder may send first", "MPA2-22")
def test_responder_may_send_first(w):
    memory = w.shared(4096)
    link = w.initiate()
    link.post("send", memory, 16, 5)
    same("bytes", len(link.peer.receive_segment().payload), 16)
    link = w.respond(recvs=[(memory, 64)])
    link.peer.send(b"first")
    link.expect_wc(wr=1, status=0)


@case("responder: the model is client-server unless requested otherwise",
      "MPA2-53 MPA2-54 MPA2-55")
def test_model_is_client_server_by_default(w):
    for flags in mpa.B, mpa.CC, mpa.D, mpa.B | mpa.CC | mpa.D:
        w.initiate(make_enhanced_control(E_INITIATE, flags=flags))
        same("RTR flags", w.reply.rtr, 0)


run_sctp_cases()
