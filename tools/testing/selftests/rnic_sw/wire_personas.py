#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Connect with a raw peer that behaves like other iWARP stacks during start-up (see
Documentation/interop.rst and rawpeer/personas.py)."""

from lib.wire import (CM, PEER, SUCCESS, Peer, add, case, check, mpa, rdmap, run, same)
from rawpeer import personas
from rawpeer.personas import READ, TYPES, WRITE, Stack

LIMIT = 128                 # IRD and ORD that the device reports for revision 1
OPCODES = {0x40: WRITE, 0x41: READ}


def check_program_receives(link):
    """Let the peer send, and raw_server receive."""
    link.peer.send(b"to you")
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 6)


def check_program_sends(w, link):
    """Let raw_server send, and the peer receive."""
    link.post("send", w.shared(4096), 4, 2)
    got = link.peer.receive_segment()
    same("Send", (got.ulp, got.payload), (0x43, bytes([0x5A]) * 4))


def test_stack_can_connect(w, stack):
    """Let the stack connect. If the stack sends the first message, the passive program can send
    afterwards."""
    link = w.add_link(w.connect_tcp())
    request = stack.make_request(4, 4)
    link.peer.send_bytes(request.pack())
    event = w.expect_request()
    link.conn = event.conn
    depth = 4 if request.enhanced else LIMIT
    same("Private Data, ORD, IRD", (event.pd, event.ord, event.ird),
         (stack.data, depth, depth))
    link.post_recv(w.shared(1024, "l"), 64, 1)
    w.server.do("accept", link.conn, 4, 4, b"yes")
    reply = link.peer.receive_frame()
    same("Rev, data of the Reply", (reply.rev, reply.data), (stack.rev, b"yes"))
    kind = stack.choose_first_message(reply)
    check("the stack takes the Reply", kind is not None)
    link.peer.enter_full_operation(request, reply)
    link.expect_cm("ESTABLISHED", status=0)
    if not kind:
        check_program_receives(link)
        check_program_sends(w, link)
        return
    stack.send_first_message(link.peer, kind)
    if kind == READ:
        got = link.peer.receive_segment()
        same("Read Response", (got.ulp, got.payload), (0x42, b""))
    check_program_sends(w, link)
    check_program_receives(link)


def receive_and_answer_rtr(link, request, reply):
    """Receive the device's ready-to-receive message, and respond to it if it is a Read."""
    got = link.peer.receive_segment()
    kind = OPCODES[got.ulp]
    check("both have named the type", kind & request.rtr & reply.rtr & TYPES)
    if kind == WRITE:
        check("STag is not 0", got.stag)
        return
    read = rdmap.ReadRequest.parse(got.payload)
    check("STags are not 0", read.sink_stag and read.src_stag)
    same("size", read.size, 0)
    link.peer.send_segments(rdmap.make_read_response(read.sink_stag, read.sink_to))


def connect_until_request_is_accepted(w, stack, sock, port, answer=Stack.make_reply):
    """Let raw_server connect. The stack closes those connections whose Request it does not accept.
    Return the link with the accepted connection, its Request, the Reply to send and the number of
    attempts."""
    link = w.add_link(None, int(w.server.do("open", PEER, port)[0]))
    link.post_recv(w.shared(1024, "l"), 64, 1)
    w.server.do("connect", link.conn, 4, 4, b"hello")
    for attempt in 1, 2, 3:
        peer = Peer(sock.accept()[0])
        request = peer.receive_frame()
        reply = answer(stack, request)
        if reply:
            link.peer = peer
            return link, request, reply, attempt
        if stack.resets:
            peer.reset()
        peer.close()
    raise AssertionError("the stack takes no Request")


def test_stack_can_accept(w, stack, rev, attempts, **words):
    """Check that the stack accepts a connection, in this attempt and with this revision."""
    with w.change_settings(**words), w.listening() as (sock, port):
        link, request, reply, attempt = connect_until_request_is_accepted(w, stack, sock, port)
        same("Rev, attempts", (reply.rev, attempt), (rev, attempts))
        same("Private Data", request.data, b"hello")
        link.peer.send_bytes(reply.pack())
        link.peer.enter_full_operation(reply, request)
        link.expect_cm("ESTABLISHED", status=0)
    if reply.enhanced and reply.rtr & mpa.A:
        receive_and_answer_rtr(link, request, reply)
    check_program_sends(w, link)
    check_program_receives(link)


def test_stack_can_reject(w, stack):
    """The program of the stack rejects, and the stack closes in the same TCP segment."""
    with w.listening() as (sock, port):
        link, _, reply, _ = connect_until_request_is_accepted(w, stack, sock, port,
                                                              lambda who, request: who.make_reject(request, b"no"))
        link.peer.send_with_fin(reply.pack())
        event = w.server.expect_event(CM, conn=link.conn)
    same("event, Private Data", (event.event, event.pd), ("REJECTED", b"no"))


for who in personas.ALL:
    add(f"{who.name} connects", "", test_stack_can_connect, stack=who)

for who in personas.CXGB4, personas.IRDMA, personas.QEDR, personas.SIW, personas.NES_2:
    add(f"{who.name} accepts", "", test_stack_can_accept, stack=who, rev=2, attempts=1)
    for setting in "read", "write read", "send write read":
        add(f"{who.name} accepts, setting rtr is {setting}", "", test_stack_can_accept, stack=who,
            rev=2,
            attempts=1, rtr=setting)
for who in personas.IRDMA, personas.NES_2:
    for setting in "none", "send":
        add(f"{who.name} accepts revision 1 only, setting rtr is {setting}", "",
            test_stack_can_accept,
            stack=who, rev=1, attempts=2, rtr=setting)
for who in personas.IW_CXGBE, personas.CXGB3, personas.NES:
    add(f"{who.name} accepts the second attempt", "", test_stack_can_accept, stack=who, rev=1,
        attempts=2)
add("softiwarp accepts the second attempt, without CRC", "", test_stack_can_accept,
    stack=personas.SOFTIWARP, rev=1, attempts=2, crc=0)
for who in personas.CXGB4, personas.CXGB3, personas.IRDMA, personas.NES, personas.NES_2:
    add(f"{who.name} rejects", "", test_stack_can_reject, stack=who)


@case("softiwarp rejects flag C")
def test_softiwarp_refuses_crc(w):
    with w.listening() as (sock, port):
        link, _, reply, _ = connect_until_request_is_accepted(w, personas.SOFTIWARP, sock, port)
        link.peer.send_bytes(reply.pack())
        event = w.server.expect_event(CM, conn=link.conn)
        same("event", event.event, "REJECTED")


@case("cxgb4 names Read although only Write was offered")
def test_cxgb4_rtr_read_is_refused(w):
    with w.change_settings(rtr="write"), w.listening() as (sock, port):
        link, request, reply, _ = connect_until_request_is_accepted(w, personas.CXGB4, sock, port)
        link.peer.send_bytes(reply.pack())
        link.peer.enter_full_operation(reply, request)
        said = link.peer.receive_terminate()
        same("Terminate", said.what, (2, 0, 7))
        event = w.server.expect_event(CM, conn=link.conn)
        check(f"{event} reports a failure", event.status < 0)


run()
