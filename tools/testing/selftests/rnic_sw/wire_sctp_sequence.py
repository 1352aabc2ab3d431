#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test sessions over SCTP while they are in use, when they end, and after protocol violations
(RFC 5043 section 6)."""

from lib.wire import (CM, FLUSHED, LOC_PROT_ERR, QPS_ERR, SUCCESS, Async, add,
                      connect_with_device_as, case, check, add_case_for_both_roles, rdmap, same)
from rawpeer import ddp, sctp
from rawpeer.sctp import (ACCEPT, E_ACCEPT, E_INITIATE, E_REJECT, INITIATE,
                          REJECT, TERMINATE, Control)
from lib.wire_sctp import make_enhanced_control, run_sctp_cases

BIG = 1 << 20


def check_session_has_ended(w, link, recvs):
    """Check that the program is notified and that its queue pair is in the error state."""
    link.expect_cm("DISCONNECTED")
    for wr in range(1, recvs + 1):
        link.expect_wc(wr=wr, status=FLUSHED)
    w.expect_nothing(CM, conn=link.conn)
    same("state", w.server.do("state", link.conn)[0], str(QPS_ERR))


# Protocol violations ------------------------------------------------------------

ILLEGAL = [
    ("a second Initiate", "SCTPDDP-27", Control(INITIATE)),
    ("a second Accept", "SCTPDDP-27", Control(ACCEPT)),
    ("a Reject", "SCTPDDP-27", Control(REJECT, b"no")),
    ("an enhanced Initiate", "MPA2-21", make_enhanced_control(E_INITIATE)),
    ("an enhanced Accept", "MPA2-21", make_enhanced_control(E_ACCEPT)),
    ("an enhanced Reject", "MPA2-21", make_enhanced_control(E_REJECT)),
    ("function code 0", "SCTPDDP-13", Control(0)),
    ("function code 9", "SCTPDDP-13", Control(9, b"x")),
    ("function code 65535", "SCTPDDP-13", Control(0xFFFF)),
    ("Private Data too long", "SCTPDDP-16", Control(INITIATE, bytes(513))),
]


def test_illegal_message_ends_session(w, role, control):
    target, inbox = w.shared(4096, "lw"), w.shared(4096, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)] * 2)
    link.send_reply(control)
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"behind"))
    link.peer.send(b"behind")
    link.expect_end()
    check_session_has_ended(w, link, 2)
    target.check_untouched()
    inbox.check_untouched()


for words, rows, wrong in ILLEGAL:
    add_case_for_both_roles(f"{words} ends a session", f"{rows} SCTPDDP-28",
                            test_illegal_message_ends_session, control=wrong)


def test_early_violation_waits_for_earlier_messages(w, role):
    """A message that violates the protocol ends the session only when all messages with lower
    DDP-SSNs have been delivered."""
    target = w.shared(4096, "lw")
    link = connect_with_device_as(w, role, recvs=[(w.shared(1024, "l"), 64)])
    first = link.peer.take_next_ssn()
    link.send_reply(Control(INITIATE))
    w.expect_quiet(link.peer)
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"before"),
                            ssn=first)
    link.expect_end()
    link.expect_cm("DISCONNECTED")
    same("data of the message before it", target.read_bytes(0, 6), b"before")


add_case_for_both_roles("a violation takes effect in DDP-SSN order", "SCTPDDP-27",
                        test_early_violation_waits_for_earlier_messages)


def test_chunk_after_terminate_ends_session(w, role):
    target = w.shared(4096, "lw")
    link = connect_with_device_as(w, role, recvs=[(w.shared(1024, "l"), 64)])
    link.peer.terminate()
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"late"))
    link.expect_end()
    check_session_has_ended(w, link, 1)
    target.check_untouched()


add_case_for_both_roles("a segment after the peer's Terminate",
                        "SCTPDDP-27 SCTPDDP-28 SCTPDDP-30", test_chunk_after_terminate_ends_session)


def test_violation_drops_unsent_data(w, role):
    """Like test_chunk_after_terminate_ends_session(), but the device has much data to send. The end
    is not graceful, so data that has not been sent is dropped."""
    memory, target = w.shared(BIG, "l"), w.shared(4096, "lw")
    link = connect_with_device_as(w, role)
    for wr in range(4):
        link.post("write", memory, BIG, wr, 0x1000, 0x22)
    link.peer.receive_segment()
    with w.expect_counts(end_sctp_sequence=1):
        link.peer.terminate()
        link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"late"))
        link.expect_cm("DISCONNECTED")
    statuses = [link.expect_wc(wr=wr).status for wr in range(4)]
    same("status of the last Write", statuses[-1], FLUSHED)
    target.check_untouched()
    link.peer.wait_end()


add_case_for_both_roles("a segment after the peer's Terminate, during work",
                        "SCTPDDP-28 SCTPDDP-30 DDP-74", test_violation_drops_unsent_data)


def test_late_segment_precedes_terminate(w, role):
    """The Terminate arrives before a segment with a lower DDP-SSN. The device must process the
    segment first."""
    inbox = w.shared(4096, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)])
    first = link.peer.take_next_ssn()
    link.peer.terminate()
    w.expect_nothing(CM, conn=link.conn)
    link.peer.send_segments(rdmap.make_send(1, b"last word"), ssn=first)
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 9)
    link.expect_cm("DISCONNECTED")


add_case_for_both_roles("a Terminate is processed in DDP-SSN order", "SCTPDDP-27 SCTPDDP-65",
                        test_late_segment_precedes_terminate)


def test_terminate_with_data_ends_session(w, role):
    link = connect_with_device_as(w, role, recvs=[(w.shared(1024, "l"), 64)])
    link.send_reply(Control(TERMINATE, b"why not"))
    check_session_has_ended(w, link, 1)


add_case_for_both_roles("a Terminate with Private Data ends the session, too", "SCTPDDP-17",
                        test_terminate_with_data_ends_session)


# Graceful ends -------------------------------------------------------------------


def test_peer_terminate_is_reported(w, role, **call):
    link = connect_with_device_as(w, role, recvs=[(w.shared(1024, "l"), 64)] * 2, **call)
    link.peer.send(b"last")
    with w.expect_counts(end_peer_closed=1, tx_terminates=0):
        link.peer.terminate()
        same("length", link.expect_wc(wr=1, status=SUCCESS).length, 4)
        link.expect_cm("DISCONNECTED", status=0)
        link.expect_end()
        link.expect_wc(wr=2, status=FLUSHED)
    w.expect_nothing(CM, conn=link.conn)
    w.server.expect_no_event_within(Async, timeout=0, conn=link.conn)
    same("association", link.assoc.ended, None)


def add_cases_for_plain_and_enhanced(name, rows, function):
    """Add cases for plain and enhanced sessions. As initiator the device always uses enhanced
    sessions, as responder only if the peer requests them."""
    add_case_for_both_roles(name, rows, function)
    add(f"responder, enhanced: {name}", "MPA2-20", function, role="responder",
        request=make_enhanced_control(E_INITIATE))


add_cases_for_plain_and_enhanced("the peer ends the session, the association stays",
                                 "SCTPDDP-30 SCTPDDP-31 SCTPDDP-83 DDP-11 DDP-82",
                                 test_peer_terminate_is_reported)


def test_peer_gets_posted_data_after_terminate(w, role):
    """The peer sends a Terminate, but must still receive all posted data."""
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role)
    for wr in range(4):
        link.post("write", memory, BIG, wr, 0x1000, 0x22)
    with w.expect_counts(end_peer_closed=1):
        link.peer.terminate()
        for wr in range(4):
            same("bytes", sum(len(seg.payload)
                              for seg in link.peer.receive_message()), BIG)
        for wr in range(4):
            link.expect_wc(wr=wr, status=SUCCESS)
        link.expect_end()
        link.expect_cm("DISCONNECTED", status=0)


add_case_for_both_roles("the peer ends the session: posted work is still sent",
                        "SCTPDDP-31 DDP-75 DDP-76", test_peer_gets_posted_data_after_terminate)


def test_disconnect_sends_posted_work_first(w, role, **call):
    """The program disconnects: all work posted before is sent, and then the Terminate."""
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role, recvs=[(memory, 64)], **call)
    for wr in range(2, 6):
        link.post("send", memory, 3000, wr)
    w.server.do("disconnect", link.conn)
    for wr in range(2, 6):
        same("bytes", sum(len(seg.payload)
                          for seg in link.peer.receive_message()), 3000)
    link.expect_end()
    same("body of the Terminate", link.peer.arrived[-1].octets[2:], b"\0\4")
    link.peer.terminate()
    for wr in range(2, 6):
        link.expect_wc(wr=wr, status=SUCCESS)
    link.expect_wc(wr=1, status=FLUSHED)
    link.expect_cm("DISCONNECTED", status=0)
    w.expect_nothing(CM, conn=link.conn)
    w.expect_quiet(link.peer)
    same("association", link.assoc.ended, None)


add_cases_for_plain_and_enhanced("we end the session: all is sent, then the Terminate",
                                 "SCTPDDP-17 SCTPDDP-31 SCTPDDP-83 MPA2-16 DDP-72",
                                 test_disconnect_sends_posted_work_first)


def test_data_is_received_after_terminate(w, role):
    inbox = w.shared(1024, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)])
    w.server.do("disconnect", link.conn)
    link.expect_end()
    link.peer.send(b"heard")
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 5)
    link.peer.terminate()
    link.expect_cm("DISCONNECTED", status=0)


add_case_for_both_roles("after our Terminate data is received", "SCTPDDP-30 DDP-77",
                        test_data_is_received_after_terminate)


def test_disconnect_ends_with_association(w, role):
    """The Terminate of one side is sufficient to end a session."""
    link = connect_with_device_as(w, role)
    w.server.do("disconnect", link.conn)
    link.expect_end()
    link.assoc.shutdown()
    link.expect_cm("DISCONNECTED")


add_case_for_both_roles("we end the session, the peer ends the association", "SCTPDDP-31",
                        test_disconnect_ends_with_association)


def test_destroyed_qp_ends_session(w, role):
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role)
    for wr in range(8):
        link.post("write", memory, BIG, wr, 0x1000, 0x22)
    w.server.do("destroy", link.conn)
    w.server.drop_events(link.conn)
    link.conn = None
    how, _ = link.peer.wait_end()
    same("end of the session", how, "terminate")


add_case_for_both_roles("our program destroys the queue pair during work", "SCTPDDP-31",
                        test_destroyed_qp_ends_session)


# RDMAP's Terminate ------------------------------------------------------------------


def test_received_rdmap_terminate_ends_session(w, role):
    target, inbox = w.shared(4096, "lw"), w.shared(1024, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)] * 2)
    with w.expect_counts(end_peer_terminate=1, rx_terminates=1, tx_terminates=0):
        link.peer.send_segments(
            rdmap.Terminate(0, 2, 6).segment(),
            rdmap.make_write(target.rkey, target.addr, b"behind"),
            rdmap.make_send(1, b"behind"))
        link.expect_end()
        for wr in 1, 2:
            link.expect_wc(wr=wr, status=FLUSHED)
    w.server.expect_event(Async, conn=link.conn)
    target.check_untouched()
    inbox.check_untouched()


add_case_for_both_roles("the peer's RDMAP Terminate",
                        "SCTPDDP-32 SCTPDDP-82 RDMAP-108",
                        test_received_rdmap_terminate_ends_session)


def test_local_fault_sends_both_terminates(w, role):
    """The device sends RDMAP's Terminate, and then that of the session, with the next DDP-SSN."""
    memory = w.register_region(4096, "l")
    link = connect_with_device_as(w, role, recvs=[(w.shared(1024, "l"), 64)])
    memory.deregister()
    with w.expect_counts(end_local_protection=1, tx_terminates=1):
        link.post("send", memory, 16, 8)
        same("Terminate", link.peer.receive_terminate().pack().hex(), "00000000")
        link.expect_end()
        same("status", link.expect_wc(wr=8).status, LOC_PROT_ERR)
        link.expect_wc(wr=1, status=FLUSHED)
    last, end = link.peer.arrived[-2:]
    same("PPIDs", (last.ppid, end.ppid), (sctp.SEGMENT, sctp.CONTROL))
    same("DDP-SSNs", end.ssn, last.ssn + 1)


add_case_for_both_roles("our RDMAP Terminate, then the session's",
                        "SCTPDDP-32 SCTPDDP-82", test_local_fault_sends_both_terminates)


# Content of segment chunks ------------------------------------------------------------


def test_short_segment_ends_session(w, role, length):
    """The peer sends a segment that is empty or shorter than its DDP header."""
    target = w.shared(4096, "lw")
    link = connect_with_device_as(w, role, recvs=[(w.shared(1024, "l"), 64)])
    whole = rdmap.make_write(target.rkey, target.addr, b"").pack()
    link.peer.send_segments(whole[:length])
    term = link.peer.receive_terminate()
    same("Terminate", term.what, (1, 0, 0))
    link.expect_end()
    link.expect_wc(wr=1, status=FLUSHED)
    target.check_untouched()


for size in 0, 1, 13:
    add_case_for_both_roles(f"a segment of {size} bytes", "SCTPDDP-11 SCTPDDP-82",
                            test_short_segment_ends_session, length=size)


def test_sent_chunks_have_right_layout(w, role):
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role)
    # messages that have arrived: one, or two if the device has sent a ready-to-receive message
    before = len(link.peer.arrived)
    link.post("send", memory, 5, 1)
    link.post("write", memory, 3000, 2, 0x1122334455667788, 0x99AABBCC)
    link.post("read", memory, 100, 3, 1, 2)
    for _ in range(3):
        link.peer.receive_message()
    w.server.do("disconnect", link.conn)
    link.expect_end()
    came = link.peer.arrived
    same("DDP-SSNs", [c.ssn for c in came], list(range(len(came))))
    same("PPIDs", [c.ppid for c in came],
         [sctp.CONTROL] + [sctp.SEGMENT] * (len(came) - 2) + [sctp.CONTROL])
    check("all chunks are unordered", all(c.unordered for c in came))
    same("bytes of the "
         "Send", came[before].octets.hex(), f"{before:04x}" "4143" "00000000"
         "00000000" "00000001" "00000000" + "5a" * 5)
    writes = [c.contents for c in came if c.octets[2] & ddp.T]
    same("bytes written", sum(len(seg.payload) for seg in writes), 3000)


add_case_for_both_roles("a segment chunk is the DDP-SSN and one segment", "SCTPDDP-3 SCTPDDP-7 "
                        "SCTPDDP-10 SCTPDDP-11 SCTPDDP-9 SCTPDDP-23 SCTPDDP-64 SCTPDDP-58 "
                        "SCTPDDP-41 SCTPDDP-6", test_sent_chunks_have_right_layout)


run_sctp_cases()
