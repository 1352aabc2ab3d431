#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test MPA start-up byte by byte (RFC 5044 section 7.1, RFC 6581)."""

import contextlib
import threading
import time

from lib.wire import (CM, FLUSHED, PATIENCE, PEER, QPS_ERR, Peer, Refused,
                      case, check, mpa, rdmap, run, same)
from lib.wire_kernel import wait_no_connections

RESERVED = 0x0F
ENHANCED = mpa.C | mpa.S
REQUEST_DEADLINE = 10       # seconds that a responder waits for a Request
HANDED_UP = 255             # bytes of Private Data that iw_cm passes to a program


def check_request_is_refused(w, octets, then=None):
    """Check that after this input a responder closes the connection, without sending a byte and
    without reporting a CONNECT_REQUEST."""
    # wait until the events of earlier connections have arrived
    w.wait_until_data_processed()
    with w.connect_tcp() as peer:
        peer.send_bytes(octets)
        if then:
            then(peer)
        same("bytes before the end", peer.wait_end()[1], b"")
    w.expect_nothing(CM, event="CONNECT_REQUEST")


def send_request(w, request, *places):
    """Let the raw peer send a Request, cut at places. Return the link and the event."""
    link = w.add_link(w.connect_tcp())
    link.peer.send_split(request.pack(), *places)
    event = w.expect_request()
    link.conn = event.conn
    return link, event


def start_connect(w, sock, port):
    """Let raw_server connect. Its Request is not read yet."""
    link = w.add_link(None, int(w.server.do("open", PEER, port)[0]))
    w.server.do("connect", link.conn, 1, 1)
    link.peer = Peer(sock.accept()[0])
    return link


def check_reply_fails_connect(w, reply, close=False, **fields):
    """Check that an initiator closes after this reply and reports one failure."""
    with w.listening() as (sock, port):
        link = start_connect(w, sock, port)
        link.peer.receive_frame()
        link.peer.send_bytes(reply)
        if close:
            link.peer.send_fin()
        same("bytes before the end", link.peer.wait_end()[1], b"")
        event = w.server.expect_event(CM, conn=link.conn, **fields)
        check(f"{event} reports a failure",
              event.event in ("REJECTED", "CONNECT_ERROR") and event.status < 0)
        w.expect_nothing(CM, conn=link.conn)
    return event


# Slow cases are started first and checked last


class Slow:
    """A connection for which the time until its end is measured."""

    def __init__(self, w, drip=b""):
        self.began = time.monotonic()
        self.peer = w.connect_tcp()
        self.drip = drip
        self.took, self.before = None, b""
        self.thread = threading.Thread(target=self._drip_bytes_until_end, daemon=True)
        self.thread.start()

    def _drip_bytes_until_end(self):
        for octet in self.drip:
            try:
                self.peer.send_bytes(bytes([octet]))
            except OSError:
                break
            if not self.peer.stays_silent(1):
                break
        _, self.before = self.peer.wait_end(3 * REQUEST_DEADLINE)
        self.took = time.monotonic() - self.began

    def check_deadline(self):
        self.thread.join(2 * REQUEST_DEADLINE)
        self.peer.close()
        same("bytes from the responder", self.before, b"")
        check(f"the responder closes in time, after {self.took} s",
              self.took and REQUEST_DEADLINE - 2 < self.took <
              REQUEST_DEADLINE + 15)


def ensure_slow_initiators(w):
    """Return the slow initiators by name. The first call lets them connect."""
    if not hasattr(w, "slow"):
        w.aside = "end_timeout"
        w.slow = {"silent": Slow(w),
                  "dripping": Slow(w, mpa.make_request(pd=bytes(20)).pack())}
    return w.slow


@case("slow initiators connect")
def test_slow_initiators_connect(w):
    ensure_slow_initiators(w)


# Responder ------------------------------------------------------------------


@case("responder: plain in, plain out",
      "MPA-2 MPA-41 MPA-81 MPA-90 MPA-92 MPA-98 MPA-107 MPA2-5 MPA2-8 "
      "MPA2-61 MPA2-63")
def test_plain_request_gets_plain_reply(w):
    for flags in 0, mpa.C:
        w.initiate(mpa.make_request(flags=flags, pd=b"hello"),
                   accept=(4, 4, b"yes"))
        same("Reply", w.reply.pack(),
             mpa.make_reply(flags=mpa.C, rev=1, pd=b"yes").pack())


@case("responder: Private Data of the Request is delivered", "MPA-98")
def test_private_data_of_request_is_delivered(w):
    for data in b"", b"1", b"some", bytes(range(200)):
        _, event = send_request(w, mpa.make_request(pd=data))
        same("Private Data", event.pd, data)


@case("responder: accepted after the peer has closed", "MPA-132")
def test_accept_after_peer_close_is_reported(w):
    """The program gets both events: first established, and immediately disconnected."""
    for how in "reset", "close", "send_fin":
        for seen in False, True:
            link, _ = send_request(w, mpa.make_request())
            link.post_recv(w.shared(64, "l"), 64, 1)
            port = link.peer.sock.getsockname()[1]
            getattr(link.peer, how)()
            if seen:
                wait_no_connections(port)
            w.server.do("accept", link.conn, 4, 4)
            link.expect_cm("ESTABLISHED", status=0)
            link.expect_cm("DISCONNECTED")
            link.expect_wc(wr=1, status=FLUSHED)
            w.expect_nothing(CM, conn=link.conn)
            same("state", w.server.do("state", link.conn)[0], str(QPS_ERR))
            link.close()


@case("responder: Private Data of the Reply", "MPA-96")
def test_private_data_of_reply_is_sent(w):
    for data in b"", b"1", bytes(range(255)):
        w.initiate(accept=(1, 1, data))
        same("Private Data", w.reply.pd, data)


@case("responder: enhanced in, enhanced out",
      "MPA2-4 MPA2-9 MPA2-10 MPA2-60 MPA2-64")
def test_enhanced_request_gets_enhanced_reply(w):
    link, event = send_request(w, mpa.make_request(rev=2, flags=ENHANCED,
                                                   pd=mpa.pack_enhanced_word(3, 2) + b"hi"))
    same("data, ORD, IRD", (event.pd, event.ord, event.ird), (b"hi", 3, 2))
    w.server.do("accept", link.conn, 4, 4, b"there")
    got = link.peer.receive_frame()
    same("Rev, flags", (got.rev, got.flags), (2, ENHANCED))
    same("data", got.data, b"there")
    same("ORD, RTR flags", (got.ord, got.rtr), (3, 0))


@case("responder: revision 2 without the enhanced word is plain", "MPA2-65")
def test_revision_2_without_word_is_plain(w):
    w.initiate(mpa.make_request(rev=2, flags=mpa.C, pd=b"plain"))
    same("flags", w.reply.flags, mpa.C)
    same("Private Data", w.reply.pd, b"")
    check("Rev is not above that of the Request", w.reply.rev in (1, 2))


@case("responder: reserved bits, and R, of a Request are ignored",
      "MPA-88 MPA-91")
def test_reserved_bits_of_request_are_ignored(w):
    w.initiate(mpa.make_request(flags=mpa.C | RESERVED | mpa.R | mpa.S))
    same("Reply's flags, Rev", (w.reply.flags, w.reply.rev), (mpa.C, 1))
    w.initiate(mpa.make_request(rev=2, flags=ENHANCED | RESERVED | mpa.R,
                                pd=mpa.pack_enhanced_word(1, 1)))
    same("Reply's flags", w.reply.flags, ENHANCED)


@case("responder: a key with one wrong byte is refused",
      "MPA-80 MPA-103 MPA-114 MPA-138 MPA-139")
def test_wrong_key_of_request_is_refused(w):
    right = mpa.make_request().pack()
    with w.expect_counts(end_mpa_startup=16):
        for place in range(16):
            wrong = bytearray(right)
            wrong[place] ^= 1
            check_request_is_refused(w, bytes(wrong))


@case("responder: a Reply is no Request", "MPA-118")
def test_reply_is_no_request(w):
    check_request_is_refused(w, mpa.make_reply().pack())


@case("responder: other revisions are refused", "MPA-93 MPA-94 MPA-153")
def test_other_revisions_of_request_are_refused(w):
    with w.expect_counts(end_mpa_startup=3):
        for rev in 0, 3, 255:
            check_request_is_refused(w, mpa.make_request(rev=rev).pack())


@case("responder: 512 bytes of Private Data are accepted, 513 are not",
      "MPA-97 MPA-99 MPA-120")
def test_length_of_private_data_is_limited(w):
    with w.expect_counts(end_mpa_startup=3):
        for length in 513, 1024, 65535:
            check_request_is_refused(w, mpa.make_request(pd=bytes(length)).pack())
    data = bytes(i & 0xFF for i in range(mpa.PD_MAX))
    _, event = send_request(w, mpa.make_request(pd=data))
    same("Private Data, as much as iw_cm can carry", event.pd, data[:HANDED_UP])
    w.initiate(mpa.make_request(rev=2, flags=ENHANCED,
                                pd=mpa.pack_enhanced_word(1, 1) + data[:508]))


@case("responder: an enhanced Request without the enhanced word is "
      "refused", "MPA2-9")
def test_enhanced_request_without_word_is_refused(w):
    for length in range(4):
        check_request_is_refused(w, mpa.make_request(rev=2, flags=ENHANCED,
                                                     pd=bytes(length)).pack())


@case("responder: a truncated Request is refused", "MPA-97 MPA-103")
def test_truncated_request_is_refused(w):
    with w.expect_counts(end_mpa_startup=3):
        for frame in (mpa.make_request(pd=b"four", pd_length=8),
                      mpa.make_request(pd=b"", pd_length=1)):
            check_request_is_refused(w, frame.pack(), then=Peer.send_fin)
        check_request_is_refused(w, mpa.make_request().pack()[:19], then=Peer.send_fin)


@case("responder: bytes after a Request are refused", "MPA-97 MPA-102")
def test_bytes_after_request_are_refused(w):
    link = w.add_link(w.connect_tcp())
    link.peer.send_bytes(mpa.make_request().pack() + bytes(4))
    # the device refuses this immediately or at accept, depending on timing
    end, event = time.monotonic() + PATIENCE, None
    while not event and link.peer.stays_silent(0.05) and time.monotonic() < end:
        event = w.server.pop_event(CM, timeout=0.05, event="CONNECT_REQUEST")
    if event:
        link.conn = event.conn
        with contextlib.suppress(Refused):
            w.server.do("accept", link.conn, 1, 1)
    same("bytes before the end", link.peer.wait_end()[1], b"")


@case("responder: an FPDU is no Request", "MPA-102 MPA-103")
def test_fpdu_is_no_request(w):
    check_request_is_refused(w, mpa.Writer().build_fpdu(rdmap.make_send(1, bytes(40)).pack()))


@case("responder: a Request split at every byte", "MPA-128")
def test_request_may_be_split_anywhere(w):
    frame = mpa.make_request(rev=2, flags=ENHANCED, pd=mpa.pack_enhanced_word(1, 1) + b"ab")
    for place in range(1, len(frame.pack())):
        _, event = send_request(w, frame, place)
        same("Private Data", event.pd, b"ab")
        w.clean_up_after_case()


@case("responder: a Request byte by byte", "MPA-128")
def test_request_may_arrive_byte_by_byte(w):
    frame = mpa.make_request(pd=b"slowly")
    _, event = send_request(w, frame, *range(1, len(frame.pack())))
    same("Private Data", event.pd, b"slowly")


def reject_request(w, request, data):
    link, _ = send_request(w, request)
    w.server.do("reject", link.conn, data)
    reply = link.peer.receive_frame()
    same("key", reply.key, mpa.KEY_REPLY)
    link.expect_end("fin")
    return reply


@case("responder: a reject is a complete Reply, and no reset",
      "MPA-89 MPA-104 MPA-105 MPA-116")
def test_reject_is_complete_reply(w):
    for data in b"", b"no", bytes(255):
        reply = reject_request(w, mpa.make_request(), data)
        same("Reply", reply.pack(),
             mpa.make_reply(flags=mpa.C | mpa.R, pd=data).pack())


@case("responder: a reject of an enhanced Request is enhanced",
      "MPA2-64 MPA2-53")
def test_enhanced_request_gets_enhanced_reject(w):
    reply = reject_request(w, mpa.make_request(rev=2, flags=ENHANCED, pd=mpa.pack_enhanced_word(1, 1)),
                           b"sorry")
    same("flags", reply.flags, ENHANCED | mpa.R)
    same("Rev", reply.rev, 2)
    same("data", reply.data, b"sorry")


@case("responder: revision 1 by policy closes on an enhanced Request",
      "MPA2-66")
def test_revision_1_policy_closes_on_enhanced_request(w):
    with w.change_policy(revision=1) as port:
        with w.connect_tcp(port) as peer:
            peer.send_bytes(mpa.make_request(rev=2, flags=ENHANCED,
                                             pd=mpa.pack_enhanced_word(1, 1)).pack())
            same("bytes before the end", peer.wait_end()[1], b"")
        w.initiate(mpa.make_request(), peer=w.connect_tcp(port))


# Which side may send first --------------------------------------------------


def open_waiting_sender(w):
    """Return a link of a responder that has posted a Send, but has received nothing yet."""
    memory = w.shared(4096)
    link = w.initiate(recvs=[(memory, 64)], opened=False)
    link.post("send", memory, 32, 9)
    w.expect_quiet(link.peer)
    return link


@case("responder: silent until a valid FPDU arrives", "MPA-113 DDP-69")
def test_responder_is_silent_before_valid_fpdu(w):
    for first in (rdmap.make_write(0, 0), rdmap.make_send(1, bytes([0x5A]))):
        link = open_waiting_sender(w)
        link.peer.send_segments(first)
        same("payload of the "
             "Send", link.peer.receive_segment().payload, bytes([0x5A]) * 32)
        link.expect_wc(wr=9, status=0)


@case("responder: may send once all pieces of an FPDU have arrived",
      "MPA-113 MPA-73")
def test_responder_may_send_after_complete_fpdu(w):
    link = open_waiting_sender(w)
    octets = link.peer.build_fpdu(rdmap.make_write(0, 0))
    link.peer.send_bytes(octets[:-1])
    w.expect_quiet(link.peer)
    link.peer.send_bytes(octets[-1:])
    link.peer.receive_segment()


@case("responder: may not send after an invalid FPDU", "MPA-113 MPA-142")
def test_responder_may_not_send_after_invalid_fpdu(w):
    link = open_waiting_sender(w)
    link.peer.send_segments(rdmap.make_write(0, 0), crc=bytes(4))
    same("bytes before the end", link.peer.wait_end()[1], b"")
    link.expect_wc(wr=9, status=5)


@case("responder: a Terminate as first FPDU only ends the stream", "MPA-113")
def test_terminate_as_first_fpdu_ends_stream(w):
    link = open_waiting_sender(w)
    link.peer.send_segments(rdmap.Terminate(2, 0, 6).segment())
    same("bytes before the end", link.peer.wait_end()[1], b"")
    link.expect_wc(wr=9, status=5)


@case("responder: ready for an FPDU once the Reply is sent",
      "MPA-78 MPA-108 DDP-69")
def test_responder_is_ready_after_reply(w):
    memory = w.shared(4096)
    link = w.initiate(recvs=[(memory, 64)], wait=False, opened=False)
    link.peer.send(b"at once")
    same("length", link.expect_wc(wr=1, status=0).length, 7)


# Initiator ------------------------------------------------------------------


@case("initiator: the Request",
      "MPA-41 MPA-79 MPA-88 MPA-90 MPA-96 MPA-100 MPA-101 MPA2-4 MPA2-6 "
      "MPA2-10")
def test_request_has_right_fields(w):
    for data in b"", b"1", bytes(range(200)):
        w.respond(connect=(3, 5, data))
        frame = w.request
        same("key", frame.key, mpa.KEY_REQUEST)
        same("Rev, flags", (frame.rev, frame.flags), (2, ENHANCED))
        same("data", frame.data, data)
        same("IRD, ORD", (frame.ird, frame.ord), (5, 3))


@case("initiator: revision 1 by policy", "MPA2-7 MPA2-62 MPA-92")
def test_revision_1_policy_sends_plain_request(w):
    with w.change_policy(revision=1):
        w.respond(connect=(3, 5, b"plain"))
        same("Request", w.request.pack(),
             mpa.make_request(flags=mpa.C, pd=b"plain").pack())


@case("initiator: silent before the Reply", "MPA-109")
def test_initiator_is_silent_before_reply(w):
    def late(request):
        w.expect_quiet(link.peer)
        return mpa.make_reply(rev=2, flags=ENHANCED, pd=mpa.pack_enhanced_word(1, 1,
                                                                               request.rtr))
    with w.listening() as (sock, port):
        link = start_connect(w, sock, port)
        link.peer.respond(late)
        link.expect_cm("ESTABLISHED", status=0)


@case("initiator: Private Data of the Reply is delivered",
      "MPA-99 MPA-115")
def test_private_data_of_reply_is_delivered(w):
    """After each connection the program disconnects."""
    for size in 0, 1, 100, 508:
        data = bytes(i & 0xFF for i in range(size))
        link = w.respond(lambda request, data=data: mpa.make_reply(
            rev=2, flags=ENHANCED, pd=mpa.pack_enhanced_word(1, 1, request.rtr) + data),
            status=None)
        event = link.expect_cm("ESTABLISHED", status=0)
        same("Private Data", event.pd, data[:HANDED_UP])
        w.server.do("disconnect", link.conn)
        link.expect_end("fin")


@case("initiator: reserved bits of a Reply are ignored", "MPA-91")
def test_reserved_bits_of_reply_are_ignored(w):
    w.respond(lambda request: mpa.make_reply(
        rev=2, flags=ENHANCED | RESERVED, pd=mpa.pack_enhanced_word(1, 1, request.rtr)))


def make_enhanced_reply():
    return mpa.make_reply(rev=2, flags=ENHANCED, pd=mpa.pack_enhanced_word(1, 1))


@case("initiator: a key with one wrong byte ends the connection",
      "MPA-82 MPA-110 MPA-114 MPA-138 MPA-139 MPA-140")
def test_wrong_key_of_reply_ends_connection(w):
    right = make_enhanced_reply().pack()
    with w.expect_counts(end_mpa_startup=16):
        for place in range(16):
            wrong = bytearray(right)
            wrong[place] ^= 1
            check_reply_fails_connect(w, bytes(wrong))


@case("initiator: a Request is no Reply", "MPA-118")
def test_request_is_no_reply(w):
    check_reply_fails_connect(w,
                              mpa.make_request(rev=2, flags=ENHANCED,
                                               pd=mpa.pack_enhanced_word(1, 1)).pack())


@case("initiator: other revisions end the connection", "MPA-93 MPA-94 MPA-153")
def test_other_revisions_of_reply_end_connection(w):
    for rev in 0, 3, 255:
        check_reply_fails_connect(w, mpa.make_reply(rev=rev).pack())


@case("initiator: wrong lengths end the connection", "MPA-97 MPA-110")
def test_wrong_lengths_of_reply_end_connection(w):
    check_reply_fails_connect(w, mpa.make_reply(rev=2, flags=ENHANCED, pd=bytes(513)).pack())
    check_reply_fails_connect(w, mpa.make_reply(rev=2, flags=ENHANCED, pd=bytes(3)).pack())
    check_reply_fails_connect(w, mpa.make_reply(rev=2, flags=ENHANCED, pd=bytes(8),
                                                pd_length=9).pack(), close=True)


@case("initiator: an enhanced Reply to a plain Request ends the "
      "connection", "MPA2-64")
def test_enhanced_reply_to_plain_request_is_refused(w):
    with w.change_policy(revision=1):
        check_reply_fails_connect(w, make_enhanced_reply().pack())


@case("initiator: a reject with its Private Data, and nothing follows",
      "MPA-89")
def test_reject_delivers_private_data(w):
    for size in 0, 5, 508:
        data = bytes(i & 0xFF for i in range(size))
        with w.expect_counts(end_peer_reject=1):
            event = check_reply_fails_connect(w, mpa.make_reply(rev=2, flags=ENHANCED | mpa.R,
                                                                pd=mpa.pack_enhanced_word(1, 1) +
                                                                data).pack(),
                                              event="REJECTED")
        same("Private Data", event.pd, data[:HANDED_UP])


@case("initiator: a Reply split at every byte", "MPA-128")
def test_reply_may_be_split_anywhere(w):
    octets = mpa.make_reply(rev=2, flags=ENHANCED, pd=mpa.pack_enhanced_word(1, 1) + b"ab").pack()
    with w.change_policy(rtr="none"):
        for place in range(1, len(octets)):
            link = connect_with_split_reply(w, octets, place)
            same("data", link.expect_cm("ESTABLISHED", status=0).pd, b"ab")
            w.clean_up_after_case()


@case("initiator: a Reply byte by byte", "MPA-128 MPA-112 DDP-69")
def test_reply_may_arrive_byte_by_byte(w):
    octets = mpa.make_reply(rev=2, flags=ENHANCED, pd=mpa.pack_enhanced_word(1, 1) + b"ab").pack()
    with w.change_policy(rtr="none"):
        link = connect_with_split_reply(w, octets, *range(1, len(octets)))
        same("data", link.expect_cm("ESTABLISHED", status=0).pd, b"ab")
        link.peer.enter_full_operation(mpa.make_reply(), mpa.make_request())
        link.post("send", w.shared(4096), 4, 1)
        same("payload of the "
             "Send", link.peer.receive_segment().payload, bytes([0x5A]) * 4)


def connect_with_split_reply(w, octets, *places):
    with w.listening() as (sock, port):
        link = start_connect(w, sock, port)
        link.peer.receive_frame()
        link.peer.send_split(octets, *places)
    return link


@case("initiator: a refused TCP connection is reported", "MPA-132")
def test_refused_connection_is_reported(w):
    with w.expect_counts(end_peer_refused=1):
        conn = int(w.server.do("open", PEER, 9)[0])
        w.add_link(Peer(w.create_peer_socket()), conn)
        w.server.do("connect", conn, 1, 1)
        check("the event reports an error", w.server.expect_event(CM, conn=conn).status < 0)


@case("responder: no state is left of an initiator that closes during start-up", "MPA-132")
def test_closed_initiator_leaves_no_state(w):
    with w.expect_counts(end_mpa_startup=2):
        for how in Peer.reset, Peer.close:
            with w.connect_tcp() as peer:
                peer.send_bytes(mpa.make_request().pack()[:10])
                how(peer)
    peer = w.connect_tcp()
    peer.send_bytes(mpa.make_request().pack())
    conn = w.expect_request().conn
    with w.expect_counts(end_peer_reset=1):
        peer.reset()
        w.wait_until_data_processed()
        link = w.add_link(peer, conn)
        with contextlib.suppress(Refused):
            w.server.do("accept", conn, 1, 1)
        link.close()
        w.links.remove(link)


# Slow cases -----------------------------------------------------------------


@case("responder: a silent initiator is closed after the time limit", "MPA-119 MPA-102")
def test_silent_initiator_times_out(w):
    ensure_slow_initiators(w)["silent"].check_deadline()


@case("responder: one byte a second is too slow", "MPA-124")
def test_slow_initiator_times_out(w):
    ensure_slow_initiators(w)["dripping"].check_deadline()


run()
