#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test how a stream ends (RFC 5041 section 6.2, RFC 5040 sections 5.4 and 6.2)."""

import contextlib
import random
import time

from lib.wire import (CM, FLUSHED, LOC_PROT_ERR, SERVER_IF, PATIENCE, QP_FATAL,
                      QPS_ERR, REQ_ERR, SUCCESS, Async, Refused, connect_with_device_as, case,
                      check, add_case_for_both_roles, rdmap, read, run, same, write)
from lib.tracing import record_tracepoints
from lib.wire_kernel import fail_cache_allocations

BIG = 1 << 20
CLOSE = 10                  # seconds in which a peer must send its FIN after the device's FIN
STUFF = 24 << 10            # number of bytes that TCP of this host accepts, but that do not
                            # fit into the receive window of w.connect_with_small_rcvbuf()
PEER_TERMINATE = 35         # the reason in the lower 16 bits of a vendor error


def make_pattern(length, seed):
    return random.Random(seed).randbytes(length)


# Terminate ------------------------------------------------------------------


def make_valid_send():
    return rdmap.make_send(1, b"quoted")


TERMINATES = [
    ("with headers", (1, 2, 5), lambda: rdmap.Terminate(
        1, 2, 5, 24, make_valid_send().header()).segment()),
    ("without headers", (0, 0, 0), lambda: rdmap.Terminate(0, 0, 0).segment()),
    ("with all reserved bits set", (2, 0, 2), lambda: rdmap.Terminate(
        2, 0, 2, rsvd=0x1FFF).segment()),
    ("about a Read Request", (0, 1, 0), lambda: rdmap.Terminate(
        0, 1, 0, 46, rdmap.ReadRequest(1, 2, 3, 4, 5).segment(1).header(),
        rdmap.ReadRequest(1, 2, 3, 4, 5).pack()).segment()),
    ("with more than its header bits announce", (0, 2, 5), lambda: rdmap.Terminate(
        0, 2, 5).segment(payload=rdmap.Terminate(0, 2, 5).pack() +
                         bytes(46))),
    ("with unknown codes", (9, 10, 0x9B), lambda: rdmap.Terminate(
        9, 10, 0x9B).segment()),
]


def test_received_terminate_ends_stream(w, role, make, what):
    target, inbox = w.shared(4096, "lw"), w.shared(1024, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)] * 2)
    with (w.expect_counts(end_peer_terminate=1, rx_terminates=1, tx_terminates=0),
          record_tracepoints("rnic_sw/rnic_peer_terminate") as events):
        link.peer.send_segments(
            make(), rdmap.make_write(target.rkey, target.addr, b"behind"),
            rdmap.make_send(1, b"behind"))
        link.expect_end("fin")
        # the program gets the Terminate's layer, type and code in the vendor error
        layer, kind, code = what
        for wr in 1, 2:
            same("vendor error", f"{link.expect_wc(wr=wr, status=FLUSHED).vendor:08x}",
                 f"{layer:x}{kind:x}{code:02x}{PEER_TERMINATE:04x}")
        same("trace events", [text.split(" ", 1)[1] for _, text in events()],
             [f"layer={layer} type={kind} code=0x{code:02x}"])
    w.server.expect_event(Async, conn=link.conn, event=REQ_ERR)
    w.server.expect_no_event(Async, conn=link.conn)
    same("state", w.server.do("state", link.conn)[0], str(QPS_ERR))
    w.check_counter_rises_again()
    target.check_untouched()
    inbox.check_untouched()


for words, fields, maker in TERMINATES:
    add_case_for_both_roles(f"a Terminate {words}",
                            "RDMAP-41 RDMAP-107 RDMAP-108 RDMAP-109 RDMAP-145 RDMAP-146 "
                            "DDP-104", test_received_terminate_ends_stream, make=maker, what=fields)


def test_truncated_terminate_ends_stream(w, role, length):
    link = connect_with_device_as(w, role)
    full = rdmap.Terminate(1, 2, 5, 24, make_valid_send().header())
    bad = full.segment(payload=full.pack()[:length])
    with w.expect_counts(end_rdmap_operation=1, rx_terminates=1, tx_terminates=1):
        link.peer.send_segments(bad)
        term = link.peer.receive_terminate()
        same("Terminate", (term.what, term.ddp), ((0, 2, 0xFF), bad.header()))
        link.expect_end("fin")
    w.server.expect_event(Async, conn=link.conn, event=QP_FATAL)
    same("state", w.server.do("state", link.conn)[0], str(QPS_ERR))


for octets in (0, 1, 3, 4, 5, 6, 23):
    add_case_for_both_roles(f"a Terminate truncated after {octets} bytes", "RDMAP-110",
                            test_truncated_terminate_ends_stream, length=octets)


def test_terminate_flushes_full_queues(w, role):
    """The Terminate arrives when all queues are full and no work request has completed."""
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role, recvs=[(memory, 64)] * 64)
    for wr in range(100, 164):
        link.post("write", memory, BIG, wr, 1, 2)
    link.peer.send_segments(rdmap.Terminate(0, 2, 6).segment())
    w.server.expect_event(Async, conn=link.conn, event=REQ_ERR)
    for wr in range(1, 65):
        link.expect_wc(wr=wr, status=FLUSHED)
    statuses = [link.expect_wc(wr=wr).status for wr in range(100, 164)]
    same("status of the last", statuses[-1], FLUSHED)
    same("successful completions come before flushed ones", statuses,
         sorted(statuses, key=lambda status: status != SUCCESS))
    _, before = link.peer.wait_end()
    check(f"peer receives only {len(before)} more bytes", len(before) < 32 * BIG)


add_case_for_both_roles("a Terminate to a busy queue pair",
                        "RDMAP-108 RDMAP-111 RDMAP-113 RDMAP-145",
                        test_terminate_flushes_full_queues)


def test_terminate_flushes_requests_after_read(w, role):
    """The peer sends a Terminate without responding to the Read. The requests after the Read
    may not have been executed either, so they must not succeed."""
    memory = w.shared(4096, "l")
    link = connect_with_device_as(w, role)
    for wr, verb in enumerate(("read", "send", "read"), 1):
        link.post(verb, memory, 64, wr, 1, 2)
        link.peer.receive_message()
    # the Terminate reports a DDP error, so it does not contain the header of one of the device's
    # requests
    link.peer.send_segments(rdmap.Terminate(1, 2, 5).segment())
    link.expect_end("fin")
    for wr in 1, 2, 3:
        same("vendor error", link.expect_wc(wr=wr, status=FLUSHED).vendor,
             0x12050000 | PEER_TERMINATE)
    memory.check_untouched()


add_case_for_both_roles("a Terminate while Reads are unanswered", "RDMAP-109 RDMAP-145",
                        test_terminate_flushes_requests_after_read)


@case("a Terminate does not wait for posted work",
      "RDMAP-154 RDMAP-112 DDP-83 RDMAP-111 RDMAP-145")
def test_terminate_does_not_wait_for_posted_work(w):
    memory = w.shared(BIG, "l")
    link = w.initiate(peer=w.connect_with_small_rcvbuf())
    for wr in range(32):
        link.post("write", memory, BIG, wr, 1, 2)
    link.peer.receive_segment()
    link.peer.send_segments(rdmap.make_send(1, b"", dv=3))
    octets = 0
    while (seg := link.peer.receive_segment()).ulp & 15 == rdmap.WRITE:
        octets += len(seg.payload)
    same("Terminate", rdmap.Terminate.parse(seg.payload).what, (1, 2, 6))
    check(f"Terminate overtakes posted work: {octets} bytes before it", octets < 16 * BIG)
    link.expect_end("fin")
    statuses = [link.expect_wc(wr=wr).status for wr in range(32)]
    check("the last requests are flushed", statuses[-1] == FLUSHED)
    same("successful completions come before flushed ones", statuses,
         sorted(statuses, key=lambda status: status != SUCCESS))


# The peer ends the connection -----------------------------------------------


def test_peer_close_is_reported(w, role):
    link = connect_with_device_as(w, role, recvs=[(w.shared(1024, "l"), 64)] * 2)
    link.peer.send(b"last")
    with w.expect_counts(end_peer_closed=1, tx_terminates=0):
        link.peer.send_fin()
        same("length", link.expect_wc(wr=1, status=SUCCESS).length, 4)
        link.expect_cm("DISCONNECTED", status=0)
        link.expect_end("fin")
        link.expect_wc(wr=2, status=FLUSHED)
    w.server.expect_no_event(CM, conn=link.conn)
    w.server.expect_no_event(Async, conn=link.conn)
    w.check_counter_rises_again()


add_case_for_both_roles("the peer closes gracefully",
                        "DDP-11 DDP-12 MPA-130 MPA-131 DDP-76 DDP-82", test_peer_close_is_reported)


def test_peer_reset_is_reported(w, role):
    link = connect_with_device_as(w, role, recvs=[(w.shared(1024, "l"), 64)] * 2)
    with w.expect_counts(end_peer_reset=1, tx_terminates=0):
        link.peer.reset()
        link.expect_cm("DISCONNECTED")
        for wr in 1, 2:
            link.expect_wc(wr=wr, status=FLUSHED)
    w.server.expect_no_event(CM, conn=link.conn)
    same("state", w.server.do("state", link.conn)[0], str(QPS_ERR))
    w.check_counter_rises_again()


add_case_for_both_roles("the peer resets", "DDP-78 MPA-132 MPA-140 DDP-82 DDP-85",
                        test_peer_reset_is_reported)


@case("the peer is silent: TCP gives up", "MPA-132 MPA-140 DDP-78")
def test_silent_peer_times_out(w):
    with limit_tcp_retransmissions(1):
        link = w.initiate(recvs=[(w.shared(1024, "l"), 64)])
        link.round_trip()
        with w.expect_counts(end_timeout=1, tx_terminates=0), w.drop_packets(SERVER_IF):
            link.post("send", w.shared(4096, "l"), 8, 2)
            link.expect_cm("DISCONNECTED")
            link.expect_wc(wr=1, status=FLUSHED)
    same("state", w.server.do("state", link.conn)[0], str(QPS_ERR))


@contextlib.contextmanager
def limit_tcp_retransmissions(retries):
    """Context manager: limit TCP's retransmissions."""
    name = "/proc/sys/net/ipv4/tcp_retries2"
    before = read(name)
    try:
        write(name, str(retries))
        yield
    finally:
        write(name, before)


def test_reset_flushes_posted_work(w, role):
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role, recvs=[(memory, 64)] * 3)
    for wr in range(100, 120):
        link.post("write", memory, BIG, wr, 1, 2)
    link.post("read", memory, 64, 120, 1, 2)
    link.peer.receive_segment()
    link.peer.reset()
    link.expect_cm("DISCONNECTED")
    for wr in 1, 2, 3:
        link.expect_wc(wr=wr, status=FLUSHED)
    statuses = [link.expect_wc(wr=wr).status for wr in range(100, 121)]
    check("neither the Read nor the last Write has succeeded",
          SUCCESS not in statuses[-2:])
    same("successful completions come before flushed ones", statuses,
         sorted(statuses, key=lambda status: status != SUCCESS))


add_case_for_both_roles("the peer resets during work",
                        "DDP-3 DDP-82 RDMAP-126", test_reset_flushes_posted_work)


def test_truncated_fpdu_ends_stream(w, role):
    target, inbox = w.shared(4096, "lw"), w.shared(1024, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)])
    octets = link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr, b"half"))
    with w.expect_counts(end_mpa_lost=1, end_peer_closed=0, tx_terminates=0):
        link.peer.send_bytes(octets[:-3])
        link.peer.send_fin()
        link.expect_cm("DISCONNECTED")
        link.expect_wc(wr=1, status=FLUSHED)
    target.check_untouched()
    w.check_counter_rises_again()


add_case_for_both_roles("FIN inside an FPDU", "MPA-132 MPA-73", test_truncated_fpdu_ends_stream)


def test_half_closed_peer_gets_posted_data(w, role):
    """The peer sends a FIN, but still receives all posted data."""
    memory = w.shared(BIG, "l")
    data = make_pattern(BIG, 2)[:4096]
    memory.write_bytes(0, data)
    link = connect_with_device_as(w, role)
    for wr in range(8):
        link.post("write", memory, BIG, wr, 0x1000, 0x22)
    link.peer.send_fin()
    for wr in range(8):
        octets = sum(len(seg.payload) for seg in link.peer.receive_message())
        same("bytes", octets, BIG)
    for wr in range(8):
        link.expect_wc(wr=wr, status=SUCCESS)
    link.expect_end("fin")
    link.expect_cm("DISCONNECTED", status=0)


add_case_for_both_roles("the peer closes its half: posted work is still sent",
                        "DDP-75 DDP-76 MPA-130 MPA-131", test_half_closed_peer_gets_posted_data)


def test_destroyed_qp_ends_connection(w, role):
    """The program destroys the queue pair while the peer does not read. The connection must
    end nevertheless."""
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role)
    for wr in range(8):
        link.post("write", memory, BIG, wr, 0x1000, 0x22)
    w.server.do("destroy", link.conn)
    w.server.drop_events(link.conn)
    link.conn = None
    link.peer.wait_end()


add_case_for_both_roles("our program destroys the queue pair during work", "",
                        test_destroyed_qp_ends_connection)


# Local errors -----------------------------------------------------------------


def test_local_fault_sends_terminate(w, role, opcode):
    """A work request uses deregistered memory. The device does not send its message, but Terminate
    0/0/00."""
    memory = w.register_region(4096, "l")
    link = connect_with_device_as(w, role, recvs=[(w.shared(1024, "l"), 64)])
    link.post("send", memory, 16, 7)
    link.peer.receive_message()
    link.expect_wc(wr=7, status=SUCCESS)
    memory.deregister()
    with w.expect_counts(end_local_protection=1, tx_terminates=1):
        link.post(opcode, memory, 16, 8, 1, 2)
        same("Terminate", link.peer.receive_terminate().pack().hex(), "00000000")
        link.expect_end("fin")
        same("status", link.expect_wc(wr=8).status, LOC_PROT_ERR)
        link.expect_wc(wr=1, status=FLUSHED)


for verb in "send", "write", "read":
    add_case_for_both_roles(f"a {verb} from deregistered memory",
                            "RDMAP-152 RDMAP-45 RDMAP-50 RDMAP-144 RDMAP-151",
                            test_local_fault_sends_terminate, opcode=verb)


@case("the FIN never overtakes the Terminate", "RDMAP-152 DDP-83")
def test_fin_follows_terminate(w):
    """The transmit path finds an invalid work request, makes a Terminate pending and requests
    the end of the stream. The FIN must not be sent before the Terminate."""
    for turn in range(20):
        memory = w.register_region(4096, "l")
        link = connect_with_device_as(w, "initiator" if turn % 2 else "responder")
        memory.deregister()
        # the sink of the Read is checked before the message is built
        link.post("read", memory, 16, 8, 1, 2)
        same("Terminate", link.peer.receive_terminate().pack().hex(), "00000000")
        link.expect_end("fin")
        link.expect_wc(wr=8)


# The device ends the connection ---------------------------------------------


def test_disconnect_sends_posted_work_first(w, role):
    """The program disconnects: all work posted before is sent, and then a FIN."""
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role, recvs=[(memory, 64)])
    link.round_trip()
    for wr in range(2, 6):
        link.post("send", memory, 3000, wr)
    w.server.do("disconnect", link.conn)
    for wr in range(2, 6):
        same("bytes", sum(len(seg.payload)
                          for seg in link.peer.receive_message()), 3000)
    link.expect_end("fin")
    link.peer.close()
    for wr in range(2, 6):
        link.expect_wc(wr=wr, status=SUCCESS)
    link.expect_wc(wr=1, status=FLUSHED)
    link.expect_cm("DISCONNECTED", status=0)
    w.server.expect_no_event(CM, conn=link.conn)


add_case_for_both_roles("disconnect: all posted work is sent, then FIN",
                        "DDP-72 MPA-130 DDP-13", test_disconnect_sends_posted_work_first)


def receive_read_request(link):
    seg = link.peer.receive_segment()
    same("opcode of a Read Request", seg.ulp & 15, rdmap.READ_REQUEST)
    return rdmap.ReadRequest.parse(seg.payload)


def send_read_response(link, request):
    link.peer.send_segments(rdmap.make_read_response(
        request.sink_stag, request.sink_to, bytes(request.size)))


def test_end_waits_for_blocked_requests(w, role):
    """Requests that wait for a free Read slot, or because of a fence, are sent before the
    FIN."""
    memory = w.shared(4096, "l")
    link = connect_with_device_as(w, role)
    link.round_trip()
    for wr in range(5):
        link.post("read", memory, 16, wr, 1, 2)
    link.post("send", memory, 100, 5, 0, 0, "f")
    w.server.do("disconnect", link.conn)
    asked = [receive_read_request(link) for _ in range(4)]
    w.expect_quiet(link.peer)
    send_read_response(link, asked[0])
    asked.append(receive_read_request(link))
    for request in asked[1:4]:
        send_read_response(link, request)
    w.expect_quiet(link.peer)
    send_read_response(link, asked[4])
    same("length of the Send", len(link.peer.receive_message()[0].payload), 100)
    link.expect_end("fin")
    link.peer.close()
    for wr in range(6):
        link.expect_wc(wr=wr, status=SUCCESS)
    link.expect_cm("DISCONNECTED", status=0)


add_case_for_both_roles("disconnect: work that waits for responses is sent, then FIN", "DDP-72",
                        test_end_waits_for_blocked_requests)


def test_end_waits_for_no_response_of_closed_peer(w, role, first):
    """The peer closes before its response, or has closed already. The device must not wait
    for the response."""
    memory = w.shared(4096, "l")
    link = connect_with_device_as(w, role)
    link.round_trip()
    link.post("read", memory, 16, 1, 1, 2)
    link.post("send", memory, 100, 2, 0, 0, "f")
    receive_read_request(link)
    if not first:
        w.server.do("disconnect", link.conn)
        w.expect_quiet(link.peer)
    link.peer.send_fin()
    link.expect_end("fin")
    for wr in 1, 2:
        link.expect_wc(wr=wr, status=FLUSHED)
    link.expect_cm("DISCONNECTED", status=0)


add_case_for_both_roles("disconnect, and the peer closes without a response", "DDP-72",
                        test_end_waits_for_no_response_of_closed_peer, first=False)
add_case_for_both_roles("the peer closes without a response", "DDP-76 MPA-131",
                        test_end_waits_for_no_response_of_closed_peer, first=True)


def test_post_after_disconnect_is_not_sent(w, role):
    """The program posts a request after the disconnect, while earlier requests cannot be sent yet.
    The device must refuse or flush this request."""
    memory = w.shared(BIG, "l")
    link = connect_with_device_as(w, role)
    link.round_trip()
    for wr in range(4):
        link.post("write", memory, BIG, wr, 1, 2)
    w.server.do("disconnect", link.conn)
    posted = True
    try:
        link.post("send", memory, 16, 7)
    except Refused:
        posted = False
    for wr in range(4):
        same("bytes", sum(len(seg.payload)
                          for seg in link.peer.receive_message()), BIG)
    link.expect_end("fin")
    link.peer.close()
    if posted:
        link.expect_wc(wr=7, status=FLUSHED)


@case("a disconnect before the peer has sent anything", "DDP-72 MPA-113")
def test_disconnect_waits_for_first_fpdu(w):
    """A responder may not send yet, so posted work waits for the peer's first message."""
    memory = w.shared(4096, "l")
    link = w.initiate(opened=False)
    for number in range(8):
        link.post("send", memory, 100, number)
    w.server.do("disconnect", link.conn)
    w.expect_quiet(link.peer)
    link.peer.send_segments(rdmap.make_write(0, 0))
    for number in range(8):
        same("length of a message", len(link.peer.receive_message()[0].payload), 100)
    link.expect_end("fin")


@case("a disconnect, and the peer never sends anything")
def test_disconnect_ends_without_first_fpdu(w):
    link = w.initiate(opened=False)
    w.server.do("disconnect", link.conn)
    link.expect_end("fin")
    memory = w.shared(4096, "l")
    for posts in 1, 60:
        link = w.initiate(opened=False)
        for number in range(posts):
            link.post("send", memory, 100, number)
        w.server.do("disconnect", link.conn)
        link.peer.send_fin()
        link.expect_end("fin")


def test_fin_is_sent_after_memory_shortage(w, role, end):
    """An allocation fails when the FIN must be sent; the next one succeeds."""
    link = connect_with_device_as(w, role)
    link.round_trip()
    with fail_cache_allocations("skbuff_fclone_cache", 1, "iw_mpa") as over:
        end(w, link)
        patience = time.monotonic() + 10
        while not over():
            check("an allocation fails", time.monotonic() < patience)
            time.sleep(0.01)
    link.expect_end("fin")


add_case_for_both_roles("a FIN is retried after a memory shortage", "MPA-130",
                        test_fin_is_sent_after_memory_shortage,
                        end=lambda w, link: w.server.do("disconnect", link.conn))
add_case_for_both_roles("a FIN is retried after a memory shortage, the peer's FIN has "
                        "arrived", "DDP-76 MPA-131",
                        test_fin_is_sent_after_memory_shortage, end=lambda w,
                        link: link.peer.send_fin())


add_case_for_both_roles("no new work after a disconnect", "DDP-73",
                        test_post_after_disconnect_is_not_sent)


def test_data_is_received_after_fin(w, role):
    inbox = w.shared(1024, "l")
    link = connect_with_device_as(w, role, recvs=[(inbox, 64)])
    w.server.do("disconnect", link.conn)
    link.expect_end("fin")
    link.peer.send(b"heard")
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 5)
    link.peer.send_fin()
    link.expect_cm("DISCONNECTED", status=0)


add_case_for_both_roles("data is received after our FIN", "DDP-77 MPA-130",
                        test_data_is_received_after_fin)


# Completed work must arrive, even if a pause exceeds the time in which the peer must send its FIN.


def open_link_with_unsent_data(w):
    """Return a link with a completed Write, most of whose data is still in the local socket."""
    link = w.initiate(peer=w.connect_with_small_rcvbuf())
    link.post("write", w.shared(BIG, "l"), STUFF, 1, 1, 2)
    link.expect_wc(wr=1, status=SUCCESS)
    return link


def check_all_data_arrives(link, timeout=PATIENCE):
    got = sum(len(seg.payload) for seg in link.peer.receive_message(timeout))
    same("bytes", got, STUFF)


@case("an end is not timed out while data is unacknowledged", "DDP-3 DDP-72 DDP-76 RDMAP-152")
def test_end_waits_for_slow_acks(w):
    ours, broken, theirs = links = [open_link_with_unsent_data(w) for _ in range(3)]
    with w.expect_counts(end_local_close=1, end_ddp_untagged_version=1,
                         end_peer_closed=1):
        w.server.do("disconnect", ours.conn)
        broken.peer.send_segments(rdmap.make_send(1, b"", dv=3))
        theirs.peer.send_fin()
        time.sleep(CLOSE + 2)
        # there is no DISCONNECTED event yet, because the peer has not received all data
        for link in links:
            w.server.expect_no_event(CM, conn=link.conn)
        for link in links:
            check_all_data_arrives(link)
        same("Terminate", broken.peer.receive_terminate().what, (1, 2, 6))
        for link in links:
            link.expect_end("fin")
            link.peer.close()
            link.expect_cm("DISCONNECTED")


@case("an end is not timed out while the path is down", "DDP-3 DDP-72")
def test_end_waits_while_path_is_down(w):
    link = w.initiate()
    link.round_trip()
    with w.expect_counts(end_local_close=1):
        with w.drop_packets(SERVER_IF):
            link.post("write", w.shared(BIG, "l"), STUFF, 1, 1, 2)
            link.expect_wc(wr=1, status=SUCCESS)
            w.server.do("disconnect", link.conn)
            time.sleep(CLOSE + 2)
        # the interval between two retransmissions may be as long as the time since the first one
        check_all_data_arrives(link, 2 * PATIENCE)
        link.expect_end("fin")
        link.peer.close()
        link.expect_cm("DISCONNECTED", status=0)


run()
