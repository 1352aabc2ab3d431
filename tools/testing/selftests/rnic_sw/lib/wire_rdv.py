# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test queue pairs that programs connect by ibv_modify_qp(), with the raw peer as either side.
These cases run over both lower layers; see Documentation/rendezvous.rst."""

import contextlib
import errno
import time
from dataclasses import replace

from lib.rdv_peer import (IRD, ORD, OWN_PSN, PEER_PSN, Program, wait_request, check_data_transfer, connect,
                          is_port_open, is_request_accepted, open_waiting_program,
                          check_request_is_refused, respond, accept_and_check_first_write,
                          wait_port_closed)
from lib.wire import (CM, NEIGHBOUR, SERVER_IF, WC, Async, Refused, add, case, check, mpa, rdmap, same,
                      shell)

OTHER_PORT = 5791
OWN_NEIGHBOUR = "10.9.2.98"     # another address of the device's host
ABOVE = 1 << 24                 # a bit that no QP number or PSN has
PAUSES = 1, 2, 4, 8, 16, 32, 64, 128, 250, 250      # ms between the device's connects
JIFFY = 10                                          # ms by which a pause may be shorter


def check_fails(want, call, *args):
    try:
        call(*args)
    except Refused as why:
        check(f"{why} should be {errno.errorcode[want]}", f": {want} " in str(why))
    else:
        raise AssertionError(f"the call should fail with {errno.errorcode[want]}")


# Passive side ---------------------------------------------------------------


@case("passive: a right Request is accepted, and data passes", "MPA-98 MPA-113 MPA2-60")
def test_valid_request_is_accepted(w):
    program = open_waiting_program(w)
    with w.expect_counts(peers_refused=0, accepts=1):
        reply = connect(w, program)
        check_data_transfer(w, program)
    same("IRD of the Reply", reply.ird, IRD)
    w.expect_nothing(Async, conn=program.conn)
    w.expect_nothing(CM)


@case("passive: silent until a first message arrives", "MPA-113")
def test_passive_qp_is_silent_before_first_message(w):
    program = open_waiting_program(w)
    program.link.post("send", w.shared(64), 8, 3)
    peer = program.link.peer = w.connect_to_rdv_port()
    w.send_request(peer, program.right.pack())
    w.receive_reply(peer)
    if w.must_wait:
        w.expect_quiet(peer)
    peer.send_segments(rdmap.make_write(0, 0))
    same("sent", peer.receive_segment().payload, b"\x5A" * 8)
    program.link.expect_wc(wr=3, status=0)


@case("passive: in RTR it receives, and compares the PSN when it enters RTS")
def test_psn_is_compared_at_rts(w):
    program = Program(w).enter_rtr()
    connect(w, program, replace(program.right, rq_psn=OWN_PSN + 1).pack())
    check_data_transfer(w, program)
    check_fails(errno.EINVAL, program.enter_rts, OWN_PSN)
    check_fails(errno.EINVAL, program.enter_rts, OWN_PSN + 2)
    program.enter_rts(OWN_PSN + 1)
    check_data_transfer(w, program)


@case("passive: a peer that is not in RTS names no PSN")
def test_request_without_psn_is_accepted(w):
    program = open_waiting_program(w)
    connect(w, program, replace(program.right, flags=0, sq_psn=0, rnr_retry=0).pack())
    check_data_transfer(w, program)


@case("passive: what follows the message is ignored, and so are reserved bits")
def test_extra_data_and_reserved_bits_are_ignored(w):
    for data in (lambda m: m.pack() + b"\xff" * (mpa.PD_MAX - 4 - 24),
                 lambda m: replace(m, flags=0xFF, zero=0xFF, rnr_retry=0xFF).pack()):
        program = open_waiting_program(w)
        connect(w, program, data(program.right))
        check_data_transfer(w, program)


@case("passive: a plain Request with the message is accepted", "MPA2-63 MPA2-61")
def test_plain_request_is_accepted(w):
    program = open_waiting_program(w)
    peer = program.link.peer = w.connect_to_rdv_port()
    w.send_plain_request(peer, program.right.pack())
    reply = w.receive_reply(peer)
    same("enhanced, message", (reply.enhanced, reply.pd.hex()), (False, program.own_message.pack().hex()))
    peer.send_segments(rdmap.make_write(0, 0))
    check_data_transfer(w, program)


def expect_refusal_counts(w, count, **rises):
    """Context manager: check that this number of Requests is refused, that the other counters rise
    as given, and that nothing else is counted."""
    return w.expect_counts(peers_refused=count, end_local_abort=count, **rises)


# Invalid messages: each function gets the valid message, and returns the bytes to send
WRONG = {
    "version 0": lambda m: replace(m, version=0).pack(),
    "version 2": lambda m: replace(m, version=2).pack(),
    "another key": lambda m: replace(m, magic=b"iWQp").pack(),
    "the QP number of another sender": lambda m: replace(m, qpn=m.qpn - 2).pack(),
    "the QP number of no receiver": lambda m: replace(m, dest_qpn=m.dest_qpn ^ 0x800000).pack(),
    "the two QP numbers exchanged": lambda m: replace(m, qpn=m.dest_qpn, dest_qpn=m.qpn).pack(),
    "a QP number of 25 bits": lambda m: replace(m, dest_qpn=m.dest_qpn | ABOVE).pack(),
    "another rq_psn": lambda m: replace(m, rq_psn=OWN_PSN + 1).pack(),
    "another sq_psn": lambda m: replace(m, sq_psn=PEER_PSN - 1).pack(),
    "the two PSNs exchanged": lambda m: replace(m, sq_psn=m.rq_psn, rq_psn=m.sq_psn).pack(),
    "a PSN of 25 bits": lambda m: replace(m, sq_psn=m.sq_psn | ABOVE).pack(),
    "one byte less": lambda m: m.pack()[:-1],
    "no message": lambda m: b"",
    "data of another program": lambda m: b"hello" * 10,
}


def test_wrong_request_is_refused(w, wrong):
    program = open_waiting_program(w)
    with expect_refusal_counts(w, 1):
        check_request_is_refused(w, wrong(program.right))
    connect(w, program)
    check_data_transfer(w, program)


for words, function in WRONG.items():
    add(f"passive: refuses {words}", "", test_wrong_request_is_refused, wrong=function)


@case("passive: refuses a plain Request without a message")
def test_plain_request_without_message_is_refused(w):
    program = open_waiting_program(w)
    with expect_refusal_counts(w,
                               2), w.connect_to_rdv_port() as one, w.connect_to_rdv_port() as two:
        for peer, data in (one, b""), (two, b"hello"):
            w.send_plain_request(peer, data)
            same("end, and bytes before it", peer.wait_end(), w.refusal)
    connect(w, program)
    check_data_transfer(w, program)


@case("passive: refuses another host")
def test_other_host_is_refused(w):
    program = open_waiting_program(w)
    with w.add_second_peer_address():
        with expect_refusal_counts(w, 1):
            check_request_is_refused(w, program.right.pack(), source=NEIGHBOUR)
        connect(w, program)
        check_data_transfer(w, program)


@contextlib.contextmanager
def add_second_device_address():
    shell(f"ip addr add {OWN_NEIGHBOUR}/24 dev {SERVER_IF}")
    try:
        yield
    finally:
        shell(f"ip addr del {OWN_NEIGHBOUR}/24 dev {SERVER_IF}", True)


@case("passive: refuses a Request to another address of its host")
def test_other_address_of_host_is_refused(w):
    with add_second_device_address():
        program, other = open_waiting_program(w), Program(w,
                                                          at=OWN_NEIGHBOUR).enter_rtr().enter_rts()
        with expect_refusal_counts(w, 2):
            check_request_is_refused(w, program.right.pack(), at=OWN_NEIGHBOUR)
            check_request_is_refused(w, other.right.pack())
        connect(w, program)
        check_data_transfer(w, program)
        other.destroy()


@case("passive: refuses the peer of another QP")
def test_peer_of_other_qp_is_refused(w):
    program, other = open_waiting_program(w), open_waiting_program(w)
    with expect_refusal_counts(w, 2):
        check_request_is_refused(w, replace(program.right, dest_qpn=other.qpn).pack())
        check_request_is_refused(w, replace(program.right, qpn=other.peer_qpn).pack())
    for each in program, other:
        connect(w, each)
        check_data_transfer(w, each)


@case("passive: refuses a Request before RTR")
def test_request_before_rtr_is_refused(w):
    program = Program(w)
    check("no port is open", not is_port_open(w))
    other = open_waiting_program(w)        # opens the port
    with expect_refusal_counts(w, 2):
        check_request_is_refused(w, program.right.pack())
        check_request_is_refused(w, program.right.pack())
    program.enter_rtr().enter_rts()
    connect(w, program)
    check_data_transfer(w, program)
    other.destroy()


@case("passive: of two right Requests one is accepted")
def test_one_of_two_requests_is_accepted(w):
    program, other = open_waiting_program(w), open_waiting_program(w)
    with expect_refusal_counts(w, 1, accepts=1):
        peers = [w.connect_to_rdv_port() for _ in range(2)]
        for peer in peers:
            w.send_request(peer, program.right.pack())
        accepted = [peer for peer in peers if is_request_accepted(w, peer)]
        same("number of accepted Requests", len(accepted), 1)
    program.link.peer = accepted[0]
    accepted[0].send_segments(rdmap.make_write(0, 0))
    check_data_transfer(w, program)
    with expect_refusal_counts(w, 1):
        check_request_is_refused(w, program.right.pack())
    check_data_transfer(w, program)
    other.destroy()


@case("passive: refuses if its QP connects itself, has failed, or is destroyed")
def test_qp_that_does_not_wait_refuses(w):
    failed, gone, active, other = open_waiting_program(w), open_waiting_program(w), Program(w, connects=True).enter_rtr().enter_rts(), open_waiting_program(w)
    w.server.do("error", failed.conn)
    gone.destroy()
    with expect_refusal_counts(w, 3):
        for program in failed, gone, active:
            check_request_is_refused(w, program.right.pack())
    connect(w, other)
    check_data_transfer(w, other)


@case("the port is open while a QP waits")
def test_port_is_open_while_qp_waits(w):
    check("the port is closed at first", not is_port_open(w))
    first, second, third = Program(w).enter_rtr(), Program(w).enter_rtr(), Program(w).enter_rtr()
    first.destroy()
    check("the port is open for the others", is_port_open(w))
    w.server.do("error", second.conn)
    check("the port is open for the last one", is_port_open(w))
    connect(w, third)
    wait_port_closed(w)
    check_data_transfer(w, third)
    program = open_waiting_program(w)
    check("the port is open again", is_port_open(w))
    program.destroy()
    check("the port is closed after the last QP", not is_port_open(w))


@case("the setting rendezvous chooses the port, or forbids")
def test_setting_chooses_port(w):
    with w.change_settings(rendezvous=0):
        check_fails(errno.EOPNOTSUPP, Program(w).enter_rtr)
        check_fails(errno.EOPNOTSUPP, Program(w, connects=True).enter_rtr)
    with w.change_settings(rendezvous=OTHER_PORT):
        program, active = Program(w).enter_rtr(), Program(w, connects=True).enter_rtr()
        check("the other port is open", is_port_open(w, OTHER_PORT))
        check("the usual port is closed", not is_port_open(w))
        with w.listening_on_rdv_port(OTHER_PORT) as sock:
            accept_and_check_first_write(w, sock, active)
        check_data_transfer(w, active)
        check_request_is_refused(w, b"", port=OTHER_PORT)
        program.destroy()
    check("the other port is closed", not is_port_open(w, OTHER_PORT))


# Active side ----------------------------------------------------------------


@case("active: the Request, and a Write as first message", "MPA2-4 MPA2-9 MPA2-41 MPA2-49")
def test_request_is_followed_by_write(w):
    program = Program(w, connects=True).enter_rtr().enter_rts()
    with w.listening_on_rdv_port() as sock:
        request = accept_and_check_first_write(w, sock, program)
    same("IRD, ORD", (request.ird, request.ord), (IRD, ORD))
    check("peer-to-peer", request.rtr & mpa.A)
    check_data_transfer(w, program)
    w.expect_nothing(Async, conn=program.conn)


@case("active: a Read as first message", "MPA2-49 MPA2-59")
def test_first_message_is_read(w):
    with w.change_settings(rtr="read"):
        program = Program(w, connects=True).enter_rtr().enter_rts()
        with w.listening_on_rdv_port() as sock:
            respond(w, sock, program, mpa.A | mpa.D)
        first = program.link.peer.receive_segment()
    read = rdmap.ReadRequest.parse(first.payload)
    same("opcode, size", (first.ulp, read.size), (rdmap.pack_control(rdmap.READ_REQUEST), 0))
    program.link.peer.send_segments(rdmap.make_read_response(read.sink_stag, read.sink_to))
    check_data_transfer(w, program)


@case("active: a Write as first message if none is negotiated", "MPA-113")
def test_first_message_is_write_without_rtr(w):
    with w.change_settings(rtr="none"):
        program = Program(w, connects=True).enter_rtr().enter_rts()
        with w.listening_on_rdv_port() as sock:
            request = accept_and_check_first_write(w, sock, program)
    same("ready-to-receive messages in the Request", request.rtr, 0)
    check_data_transfer(w, program)


@case("active: in RTR it receives, and compares the PSN when it enters RTS")
def test_active_psn_is_compared_at_rts(w):
    program = Program(w, connects=True)
    with w.listening_on_rdv_port() as sock:
        program.enter_rtr()
        accept_and_check_first_write(w, sock, program)
    check_data_transfer(w, program)
    check_fails(errno.EINVAL, program.enter_rts, OWN_PSN + 1)
    program.enter_rts()
    check_data_transfer(w, program)


@case("active: posted requests are sent when the stream starts")
def test_early_posts_are_sent_at_start(w):
    program = Program(w, connects=True).enter_rtr().enter_rts()
    for wr in 11, 12, 13:
        program.link.post("send", w.shared(64), wr, wr)
    w.server.expect_no_event_within(WC, conn=program.conn)
    with w.listening_on_rdv_port() as sock:
        accept_and_check_first_write(w, sock, program)
    for wr in 11, 12, 13:
        same("length", len(program.link.peer.receive_segment().payload), wr)
        program.link.expect_wc(wr=wr, status=0)


@case("active: tries again after each wrong Reply")
def test_wrong_reply_is_retried(w):
    program = Program(w, connects=True).enter_rtr().enter_rts()
    with w.listening_on_rdv_port() as sock:
        for name, wrong in WRONG.items():
            request, peer = wait_request(w, sock, program)
            w.send_accept(peer, request, wrong(program.right))
            same(f"end after {name}, and bytes before it", peer.wait_end(), w.refusal)
            w.abort_peer_connection(peer)
        accept_and_check_first_write(w, sock, program)
    check_data_transfer(w, program)
    w.expect_nothing(Async, conn=program.conn)


@case("active: tries again after a rejection")
def test_rejection_is_retried(w):
    program = Program(w, connects=True).enter_rtr().enter_rts()
    with w.listening_on_rdv_port() as sock:
        for _ in range(3):
            request, peer = wait_request(w, sock, program)
            w.send_reject(peer, request, program.right.pack())
        accept_and_check_first_write(w, sock, program)
    check_data_transfer(w, program)


@case("active: the pauses after a reset grow up to 250 ms")
def test_pauses_grow_up_to_250_ms(w):
    times = []
    with w.listening_on_rdv_port() as sock:
        program = Program(w, connects=True).enter_rtr()
        for _ in range(len(PAUSES) + 1):
            _, peer = w.accept_request(sock)
            times.append(time.monotonic())
            w.abort_peer_connection(peer)
        accept_and_check_first_write(w, sock, program)
    took = [1000 * (after - before) for before, after in zip(times, times[1:])]
    for pause, ms in zip(PAUSES, took):
        check(f"a pause of {pause} ms, not of {took} ms", pause - JIFFY <= ms < pause + 1500)
    check_data_transfer(w, program)


@case("active: refused while nobody listens, until the peer waits")
def test_connects_once_peer_waits(w):
    program = Program(w, connects=True).enter_rtr().enter_rts()
    time.sleep(0.5)
    same("state of the QP", w.server.do("state", program.conn)[0], "3")
    with w.listening_on_rdv_port() as sock:
        accept_and_check_first_write(w, sock, program)
    check_data_transfer(w, program)
    check("the side that connects does not listen", not is_port_open(w))
