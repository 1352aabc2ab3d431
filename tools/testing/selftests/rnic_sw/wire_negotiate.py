#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test IRD, ORD and the ready-to-receive message (RFC 6581 section 9)."""

from lib.wire import (CM, CRC, DEPTHS, PEER, SUCCESS, WC, Peer, add, case, check, mpa,
                      rdmap, run, same, setting)
from lib.wire_kernel import fail_allocations_of

NONE = mpa.NOT_NEGOTIATED
LIMIT = 128                         # largest IRD and ORD of the device
TOLD = 255                          # largest value that iw_cm can report
FLAGS = mpa.C | mpa.S
A, B, C, D = mpa.A, mpa.B, mpa.CC, mpa.D
NAMES = {B: "Send", C: "Write", D: "Read"}
WORDS = {B: "send", C: "write", D: "read"}


def make_request(ird, ord_, flags=0, data=b""):
    return mpa.make_request(rev=2, flags=FLAGS, pd=mpa.pack_enhanced_word(ird, ord_, flags) +
                            data)


def make_reply(ird, ord_, flags=0):
    return mpa.make_reply(rev=2, flags=FLAGS, pd=mpa.pack_enhanced_word(ird, ord_, flags))


# Responder ------------------------------------------------------------------

# columns: the initiator's IRD and ORD; ORD and IRD that the responder's program requests; IRD
# and ORD of the Reply
RESPONDER = [
    ("both as requested", (4, 4), (4, 4), (4, 4), "MPA2-25"),
    ("a small IRD lowers ORD", (2, 9), (4, 5), (5, 2),
     "MPA2-27 MPA2-29"),
    ("IRD 0 lowers ORD to 0", (0, 3), (4, 5), (5, 0), "MPA2-27 MPA2-29"),
    ("depths beyond the device's limit change nothing", (LIMIT + 1, TOLD), (3, 7),
     (7, 3), "MPA2-68"),
    ("large depths change nothing", (0x1234, 0x2345), (3, 7), (7, 3),
     "MPA2-25 MPA2-68"),
    ("the largest depths", (NONE - 1, NONE - 1), (3, 7), (7, 3),
     "MPA2-25 MPA2-36 MPA2-68"),
    ("the program requests 0", (5, 6), (0, 0), (0, 0), "MPA2-25"),
    ("ORD not negotiated", (4, NONE), (3, 5), (NONE, 3), "MPA2-36 MPA2-37"),
    ("IRD not negotiated", (NONE, 4), (3, 5), (5, NONE), "MPA2-36 MPA2-39"),
    ("neither negotiated", (NONE, NONE), (3, 5), (NONE, NONE),
     "MPA2-36 MPA2-37 MPA2-39"),
    ("its program requests more than the limit", (NONE - 1, NONE - 1), (TOLD, TOLD),
     (LIMIT, LIMIT), "SEC-40"),
]


def query_depths(w, link):
    """Return IRD and ORD of raw_server's queue pair."""
    _, ord_, ird = map(int, w.server.do("state", link.conn))
    return ird, ord_


def check_queried_peer_depths(link, ird, ord_):
    """Check that the program's direct verb returns the depths that the peer has sent."""
    got = link.query_peer_startup_message()
    same("flags, IRD, ORD of the peer", (got.flags, got.ird, got.ord), (CRC | DEPTHS, ird, ord_))


def compute_reported_limits(ird, ord_):
    """Return the limits for the program's ORD and IRD that an event reports if the peer has
    these depths."""
    return min(ird, TOLD), min(ord_, TOLD)


def test_responder_answers_with_its_depths(w, asked, wants, answer):
    link = w.add_link(w.connect_tcp())
    link.peer.send_bytes(make_request(*asked).pack())
    event = w.expect_request()
    link.conn = event.conn
    same("event", (event.ord, event.ird), compute_reported_limits(*asked))
    w.server.do("accept", link.conn, *wants)
    got = link.peer.receive_frame()
    same("Reply's IRD, ORD", (got.ird, got.ord), answer)
    same("Reply's RTR flags", got.rtr, 0)
    link.expect_cm("ESTABLISHED", status=0)
    ird = min(wants[1], LIMIT)
    ord_ = min(wants[0], LIMIT)
    if asked[0] != NONE:
        ord_ = min(ord_, asked[0])
    same("IRD, ORD of the queue pair", query_depths(w, link), (ird, ord_))
    check_queried_peer_depths(link, *asked)


for name, *row, ids in RESPONDER:
    add(f"responder: {name}", ids + " MPA2-26", test_responder_answers_with_its_depths,
        asked=row[0],
        wants=row[1], answer=row[2])


@case("responder: an enhanced Request is rejected by an enhanced Reply",
      "MPA2-64")
def test_enhanced_request_gets_enhanced_reject(w):
    link = w.add_link(w.connect_tcp())
    link.peer.send_bytes(make_request(1, 1).pack())
    link.conn = w.expect_request().conn
    w.server.do("reject", link.conn, b"no")
    got = link.peer.receive_frame()
    same("flags", got.flags, FLAGS | mpa.R)
    same("data", got.data, b"no")


@case("responder: A=0 in, A=0 out, whatever other bits are set",
      "MPA2-53 MPA2-54 MPA2-55")
def test_reply_keeps_client_server_model(w):
    for flags in B, C, D, B | C | D:
        link = w.initiate(make_request(4, 4, flags), opened=False)
        same("RTR flags", w.reply.rtr, 0)
        w.expect_quiet(link.peer)
        w.clean_up_after_case()


def test_responder_chooses_rtr_types(w, policy, asked, answer):
    with w.change_policy(rtr=policy) as port:
        w.initiate(make_request(4, 4, asked), peer=w.connect_tcp(port), opened=False)
        same("RTR flags", w.reply.rtr, answer)


# columns: setting rtr, types that the initiator offers, flags of the Reply
FLAG_TABLE = [
    ("write read", C, A | C, "MPA2-45"),
    ("write read", D, A | D, "MPA2-45"),
    ("write read", C | D, A | C | D, "MPA2-45 MPA2-46"),
    ("write read", B | C | D, A | C | D, "MPA2-45 MPA2-46"),
    ("send write read", B, A | B, "MPA2-45"),
    ("send write read", B | C | D, A | B | C | D, "MPA2-45"),
    ("send", B, A | B, "MPA2-43 MPA2-45"),
    ("send", C, A | B, "MPA2-48"),
    ("write", B | D, A | C, "MPA2-48"),
    ("read", B | C, A | D, "MPA2-48"),
    ("write read", 0, A | C | D, "MPA2-48 MPA2-44"),
    ("none", B, A | C, "MPA2-43 MPA2-48"),
]


def format_flag_names(flags):
    return " ".join(n for bit, n in NAMES.items() if flags & bit) or "nothing"


for words, types, want, ids in FLAG_TABLE:
    add(f"responder with {words}: {format_flag_names(types)} offered",
        ids + " MPA2-44", test_responder_chooses_rtr_types, policy=words, asked=A | types,
        answer=want)


# Receiving the ready-to-receive message -------------------------------------


def send_first_message(link, kind):
    """Send the peer's first message, of that kind."""
    if kind == B:
        link.peer.send()
    elif kind == C:
        link.peer.send_segments(rdmap.make_write(0, 0))
    else:
        link.peer.read(rdmap.ReadRequest(1, 2, 0, 3, 4))


def test_received_rtr_allows_responder_to_send(w, kind):
    """The ready-to-receive message allows the responder to send, consumes no receive and causes
    no completion."""
    memory = w.shared(1024, "l")
    with w.change_policy(rtr="send write read") as port:
        link = w.initiate(make_request(4, 4, A | kind), peer=w.connect_tcp(port),
                          recvs=[(memory, 64)], opened=False)
        same("RTR flags", w.reply.rtr, A | kind)
        link.post("send", memory, 8, 9)
        w.expect_quiet(link.peer)
        send_first_message(link, kind)
        got = link.peer.receive_segment()
        if kind == D:
            same("Read Response", (got.ulp, got.payload), (0x42, b""))
            got = link.peer.receive_segment()
        same("Send", (got.ulp, got.msn), (0x43, 1))
        link.expect_wc(wr=9, status=SUCCESS)
        link.peer.send(b"first")
        same("length", link.expect_wc(wr=1, status=SUCCESS).length, 5)


for bit in NAMES:
    add(f"responder: an empty {NAMES[bit]} as first message",
        "MPA2-3 MPA2-49 MPA2-58 MPA2-59", test_received_rtr_allows_responder_to_send, kind=bit)


@case("responder: only the first empty Send is not delivered",
      "MPA2-58")
def test_only_first_empty_send_is_rtr(w):
    memory = w.shared(1024, "l")
    with w.change_policy(rtr="send") as port:
        link = w.initiate(make_request(4, 4, A | B), peer=w.connect_tcp(port),
                          recvs=[(memory, 64)], opened=False)
        link.peer.send()
        link.peer.send()
        same("length", link.expect_wc(wr=1, status=SUCCESS).length, 0)


@case("responder: an empty Send after another first message is delivered",
      "MPA2-58")
def test_empty_send_after_other_rtr_is_delivered(w):
    """All types are agreed upon, and the first message is no Send."""
    memory = w.shared(1024, "l")
    with w.change_policy(rtr="send write read") as port:
        for kind in C, D:
            link = w.initiate(make_request(4, 4, A | B | C | D), peer=w.connect_tcp(port),
                              recvs=[(memory, 64)], opened=False)
            same("RTR flags", w.reply.rtr, A | B | C | D)
            send_first_message(link, kind)
            link.peer.send()
            same("length", link.expect_wc(wr=1, status=SUCCESS).length, 0)


@case("responder: an empty Send is delivered if nothing was agreed",
      "MPA2-58")
def test_empty_send_without_rtr_is_delivered(w):
    link = w.initiate(recvs=[(w.shared(1024, "l"), 64)], opened=False)
    link.peer.send()
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 0)


@case("responder: an IRD of 1 for a Read as first message", "MPA2-28 MPA2-59")
def test_reply_has_ird_for_rtr_read(w):
    with w.change_policy(rtr="read") as port:
        link = w.initiate(make_request(4, 0, A | D), accept=(4, 0, b""),
                          peer=w.connect_tcp(port), opened=False)
        check("IRD of the Reply", w.reply.ird >= 1)
        link.peer.read(rdmap.ReadRequest(1, 2, 0, 3, 4))
        same("Response", link.peer.receive_segment().ulp, 0x42)


# Initiator ------------------------------------------------------------------


# columns: ORD and IRD that raw_server requests; IRD and ORD of the Reply; IRD and ORD of the
# queue pair afterwards
INITIATOR = [
    ("both as requested", (4, 4), (4, 4), (4, 4), "MPA2-25"),
    ("a small IRD lowers ORD", (9, 4), (2, 3), (4, 2), "MPA2-32"),
    ("IRD 0 lowers ORD to 0", (9, 4), (0, 3), (4, 0), "MPA2-32"),
    ("a larger ORD raises IRD", (4, 2), (4, 7), (7, 4), "MPA2-32"),
    ("IRD not negotiated", (5, 4), (NONE, 3), (4, 5), "MPA2-36 MPA2-38"),
    ("ORD not negotiated", (5, 4), (3, NONE), (4, 3), "MPA2-36 MPA2-40"),
    ("neither negotiated", (5, 4), (NONE, NONE), (4, 5),
     "MPA2-36 MPA2-38 MPA2-40"),
    ("a large IRD changes nothing", (3, 4), (0x1234, 4), (4, 3),
     "MPA2-25 MPA2-68"),
    ("its program requests more than the limit", (TOLD, TOLD), (NONE - 1, LIMIT),
     (LIMIT, LIMIT), "SEC-40"),
]


def test_initiator_adjusts_its_depths(w, wants, answer, has):
    link = w.respond(lambda req: make_reply(*answer, req.rtr),
                     connect=(*wants, b""), status=None)
    same("Request's IRD, ORD", (w.request.ird, w.request.ord),
         (min(wants[1], LIMIT), min(wants[0], LIMIT)))
    event = link.expect_cm("ESTABLISHED", status=0)
    same("event", (event.ord, event.ird), compute_reported_limits(*answer))
    same("IRD, ORD of the queue pair", query_depths(w, link), has)
    check_queried_peer_depths(link, *answer)


for name, *row, ids in INITIATOR:
    add(f"initiator: {name}", ids + " MPA2-26 MPA2-35", test_initiator_adjusts_its_depths,
        wants=row[0],
        answer=row[1], has=row[2])


def check_reply_is_refused(w, answer, code, end, policy=None, wants=(4, 4)):
    """Check that the only FPDU is Terminate 2/0/code, and that the stream then ends."""
    with w.change_policy(**(policy or {})), w.expect_counts(**{end: 1}):
        with w.listening() as (sock, port):
            conn = int(w.server.do("open", PEER, port)[0])
            link = w.add_link(None, conn)
            w.server.do("connect", conn, *wants)
            link.peer = Peer(sock.accept()[0])
        link.peer.respond(answer)
        same("Terminate", link.peer.receive_terminate().pack().hex(),
             f"20{code:02x}0000")
        link.expect_end("fin")
        event = w.server.expect_event(CM, conn=conn)
        check(f"{event} reports an error", event.status < 0)


@case("initiator: an ORD beyond the device's IRD limit",
      "MPA2-23 MPA2-24 MPA2-33 MPA2-34")
def test_ord_beyond_ird_limit_is_refused(w):
    for ord_ in NONE - 1, LIMIT + 1:
        check_reply_is_refused(w, lambda req, ord_=ord_: make_reply(4, ord_, req.rtr), 6,
                               "end_mpa_ird")


@case("initiator: no type that both support",
      "MPA2-23 MPA2-24 MPA2-50 MPA2-51")
def test_no_common_rtr_type_is_refused(w):
    for policy, answer in (("write read", A | B), ("write", A | D | B),
                           ("read", A | C), ("send", A | C | D),
                           ("write", A), ("write", 0), ("write", C)):
        check_reply_is_refused(w, lambda req, answer=answer: make_reply(4, 4, answer), 7,
                               "end_mpa_rtr", {"rtr": policy})


@case("initiator: no memory for the agreed depths", "MPA2-24 MPA2-56")
def test_initiator_without_memory_terminates(w):
    with fail_allocations_of("rdmap_set_depths", "rnic_sw"):
        check_reply_is_refused(w, lambda req: make_reply(4, 4, req.rtr), 5, "end_mpa_local")


@case("responder: no memory for the agreed depths", "MPA-113")
def test_responder_without_memory_closes(w):
    """No FPDU has arrived, so the device may not send a Terminate: RFC 5044 7.1.2 (4) takes
    precedence."""
    with fail_allocations_of("rdmap_set_depths", "rnic_sw"), w.expect_counts(end_mpa_local=1):
        link = w.initiate(make_request(4, 4), wait=False, opened=False)
        link.expect_end("fin")


@case("initiator: a Read cannot be the first message with an ORD of 0",
      "MPA2-50")
def test_rtr_read_with_ord_of_0_is_refused(w):
    check_reply_is_refused(w, lambda req: make_reply(0, 0, A | D), 7, "end_mpa_rtr",
                           {"rtr": "read"}, wants=(0, 0))


def test_request_offers_rtr_types(w, policy, want):
    with w.change_policy(rtr=policy):
        w.respond()
        same("RTR flags", w.request.rtr, want)


for words, want in (("send", A | B), ("write", A | C), ("read", A | D),
                    ("write read", A | C | D), ("none", 0),
                    ("send write read", A | B | C | D)):
    add(f"initiator with {words}: its RTR flags",
        "MPA2-1 MPA2-41 MPA2-42 MPA2-52 MPA2-54", test_request_offers_rtr_types, policy=words,
        want=want)


def test_rtr_is_first_fpdu(w, kind, offered):
    """The device's ready-to-receive message is its first FPDU and causes no completion."""
    memory = w.shared(1024, "l")
    with w.change_policy(rtr="send write read"):
        link = w.respond(lambda req: make_reply(4, 4, A | offered), rtr=False)
        link.post("send", memory, 8, 1)
        first = link.peer.receive_segment()
        if kind == B:
            same("Send", first.pack().hex(), rdmap.make_send(1).pack().hex())
        elif kind == C:
            same("Write", (first.ulp, first.last, first.payload),
                 (0x40, True, b""))
            check("its STag is not 0, which some adapters refuse", first.stag)
        else:
            same("Read Request", (first.ulp, first.qn, first.msn),
                 (0x41, 1, 1))
            asked = rdmap.ReadRequest.parse(first.payload)
            same("size", asked.size, 0)
            check("its STags are not 0", asked.sink_stag and asked.src_stag)
            link.peer.send_segments(rdmap.make_read_response(asked.sink_stag,
                                                             asked.sink_to))
        seg = link.peer.receive_segment()
        same("Send", (seg.ulp, seg.msn), (0x43, 2 if kind == B else 1))
        link.expect_wc(wr=1, status=SUCCESS)
        w.server.expect_no_event(WC, conn=link.conn)
        w.server.expect_no_event(CM, conn=link.conn)


for kinds, chosen in ((B, B), (C, C), (D, D), (B | C | D, C), (B | D, D),
                      (C | D, C)):
    add(f"initiator: {format_flag_names(kinds)} agreed, {format_flag_names(chosen)} sent",
        "MPA2-3 MPA2-49 MPA2-59", test_rtr_is_first_fpdu, kind=chosen,
        offered=kinds)


@case("initiator: a Read as first message requires an ORD of 1")
def test_rtr_read_is_sent_despite_ord_of_0(w):
    with w.change_policy(rtr="read"):
        link = w.respond(lambda req: make_reply(4, 4, A | D), connect=(0, 4, b""),
                         rtr=False)
        seg = link.peer.receive_segment()
        same("Read Request", (seg.ulp, seg.qn), (0x41, 1))


def test_depths_apply_before_first_message(w, kind):
    """The agreed depths must be in effect when the peer receives the first message."""
    with w.change_policy(rtr=NAMES[kind].lower()):
        link = w.respond(lambda req: make_reply(3, 7, A | kind), connect=(9, 2, b""),
                         rtr=False, status=None)
        link.peer.receive_segment()
        same("IRD, ORD of the queue pair", query_depths(w, link), (7, 3))
        link.expect_cm("ESTABLISHED", status=0)


for bit in NAMES:
    add(f"initiator: agreed depths are in effect when its {NAMES[bit]} arrives",
        "MPA2-49 MPA2-57", test_depths_apply_before_first_message, kind=bit)


@case("initiator: no ready-to-receive message if A=0", "MPA2-52 MPA2-54")
def test_no_rtr_in_client_server_model(w):
    memory = w.shared(1024, "l")
    with w.change_policy(rtr="none"):
        link = w.respond(lambda req: make_reply(4, 4), rtr=False)
        w.expect_quiet(link.peer)
        link.post("send", memory, 8, 1)
        same("Send", link.peer.receive_segment().ulp, 0x43)


@case("a listener applies changed settings to the next connection")
def test_listener_follows_settings(w):
    plain = mpa.make_request(rev=1, flags=0)
    with w.change_settings(revision=1, crc=0, markers=1):
        w.initiate(plain)
        same("revision, flags", (w.reply.rev, w.reply.flags), (1, mpa.M))
    w.initiate(plain)
    same("flags", w.reply.flags, mpa.C)
    w.initiate(w.make_request(4, 4))
    same("revision", w.reply.rev, 2)


@case("a setting that is refused changes nothing")
def test_refused_setting_changes_nothing(w):
    before = setting("rtr")
    try:
        with w.change_policy(rtr="none", revision=9):
            pass
    except OSError:
        same("setting after the refusal", setting("rtr"), before)
        w.initiate()
    else:
        raise AssertionError("revision 9 should be refused")


run()
