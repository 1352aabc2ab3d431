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


def refused(w, octets, then=None):
    """Check that after this input a responder closes the connection, without sending a byte and
    without reporting a CONNECT_REQUEST."""
    # wait until the events of earlier connections have arrived
    w.wait_quiet()
    with w.dial() as peer:
        peer.put(octets)
        if then:
            then(peer)
        same("bytes before the end", peer.wait_end()[1], b"")
    w.expect_nothing(CM, event="CONNECT_REQUEST")


def asking(w, request, *places):
    """Let the raw peer send a Request, cut at places. Return the link and the event."""
    link = w.add_link(w.dial())
    link.peer.put_split(request.pack(), *places)
    event = w.expect_request()
    link.conn = event.conn
    return link, event


def calling(w, sock, port):
    """Let raw_server connect. Its Request is not read yet."""
    link = w.add_link(None, int(w.server.do("open", PEER, port)[0]))
    w.server.do("connect", link.conn, 1, 1)
    link.peer = Peer(sock.accept()[0])
    return link


def failed(w, reply, close=False, **fields):
    """Check that an initiator closes after this reply and reports one failure."""
    with w.listening() as (sock, port):
        link = calling(w, sock, port)
        link.peer.get_frame()
        link.peer.put(reply)
        if close:
            link.peer.half_close()
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
        self.peer = w.dial()
        self.drip = drip
        self.took, self.before = None, b""
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        for octet in self.drip:
            try:
                self.peer.put(bytes([octet]))
            except OSError:
                break
            if not self.peer.stays_silent(1):
                break
        _, self.before = self.peer.wait_end(3 * REQUEST_DEADLINE)
        self.took = time.monotonic() - self.began

    def check(self):
        self.thread.join(2 * REQUEST_DEADLINE)
        self.peer.close()
        same("bytes from the responder", self.before, b"")
        check(f"the responder closes in time, after {self.took} s",
              self.took and REQUEST_DEADLINE - 2 < self.took <
              REQUEST_DEADLINE + 15)


def slow(w):
    """Return the slow initiators by name. The first call lets them connect."""
    if not hasattr(w, "slow"):
        w.aside = "end_timeout"
        w.slow = {"silent": Slow(w),
                  "dripping": Slow(w, mpa.request(pd=bytes(20)).pack())}
    return w.slow


@case("slow initiators connect")
def test_slow_begin(w):
    slow(w)


# Responder ------------------------------------------------------------------


@case("responder: plain in, plain out",
      "MPA-2 MPA-41 MPA-81 MPA-90 MPA-92 MPA-98 MPA-107 MPA2-5 MPA2-8 "
      "MPA2-61 MPA2-63")
def test_plain(w):
    for flags in 0, mpa.C:
        w.initiate(mpa.request(flags=flags, pd=b"hello"),
                   accept=(4, 4, b"yes"))
        same("Reply", w.reply.pack(),
             mpa.reply(flags=mpa.C, rev=1, pd=b"yes").pack())


@case("responder: Private Data of the Request is delivered", "MPA-98")
def test_data_up(w):
    for data in b"", b"1", b"some", bytes(range(200)):
        _, event = asking(w, mpa.request(pd=data))
        same("Private Data", event.pd, data)


@case("responder: accepted after the peer has closed", "MPA-132")
def test_accepted_late(w):
    """The program gets both events: first established, and immediately disconnected."""
    for how in "reset", "close", "half_close":
        for seen in False, True:
            link, _ = asking(w, mpa.request())
            link.recv(w.shared(64, "l"), 64, 1)
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
def test_data_down(w):
    for data in b"", b"1", bytes(range(255)):
        w.initiate(accept=(1, 1, data))
        same("Private Data", w.reply.pd, data)


@case("responder: enhanced in, enhanced out",
      "MPA2-4 MPA2-9 MPA2-10 MPA2-60 MPA2-64")
def test_enhanced(w):
    link, event = asking(w, mpa.request(rev=2, flags=ENHANCED,
                                        pd=mpa.word(3, 2) + b"hi"))
    same("data, ORD, IRD", (event.pd, event.ord, event.ird), (b"hi", 3, 2))
    w.server.do("accept", link.conn, 4, 4, b"there")
    got = link.peer.get_frame()
    same("Rev, flags", (got.rev, got.flags), (2, ENHANCED))
    same("data", got.data, b"there")
    same("ORD, RTR flags", (got.ord, got.rtr), (3, 0))


@case("responder: revision 2 without the enhanced word is plain", "MPA2-65")
def test_rev_2_plain(w):
    w.initiate(mpa.request(rev=2, flags=mpa.C, pd=b"plain"))
    same("flags", w.reply.flags, mpa.C)
    same("Private Data", w.reply.pd, b"")
    check("Rev is not above that of the Request", w.reply.rev in (1, 2))


@case("responder: reserved bits, and R, of a Request are ignored",
      "MPA-88 MPA-91")
def test_reserved_bits(w):
    w.initiate(mpa.request(flags=mpa.C | RESERVED | mpa.R | mpa.S))
    same("Reply's flags, Rev", (w.reply.flags, w.reply.rev), (mpa.C, 1))
    w.initiate(mpa.request(rev=2, flags=ENHANCED | RESERVED | mpa.R,
                           pd=mpa.word(1, 1)))
    same("Reply's flags", w.reply.flags, ENHANCED)


@case("responder: a key with one wrong byte is refused",
      "MPA-80 MPA-103 MPA-114 MPA-138 MPA-139")
def test_request_key(w):
    right = mpa.request().pack()
    with w.expect_counts(end_mpa_startup=16):
        for place in range(16):
            wrong = bytearray(right)
            wrong[place] ^= 1
            refused(w, bytes(wrong))


@case("responder: a Reply is no Request", "MPA-118")
def test_reply_as_request(w):
    refused(w, mpa.reply().pack())


@case("responder: other revisions are refused", "MPA-93 MPA-94 MPA-153")
def test_request_revisions(w):
    with w.expect_counts(end_mpa_startup=3):
        for rev in 0, 3, 255:
            refused(w, mpa.request(rev=rev).pack())


@case("responder: 512 bytes of Private Data are accepted, 513 are not",
      "MPA-97 MPA-99 MPA-120")
def test_request_lengths(w):
    with w.expect_counts(end_mpa_startup=3):
        for length in 513, 1024, 65535:
            refused(w, mpa.request(pd=bytes(length)).pack())
    data = bytes(i & 0xFF for i in range(mpa.PD_MAX))
    _, event = asking(w, mpa.request(pd=data))
    same("Private Data, as much as iw_cm can carry", event.pd, data[:HANDED_UP])
    w.initiate(mpa.request(rev=2, flags=ENHANCED,
                           pd=mpa.word(1, 1) + data[:508]))


@case("responder: an enhanced Request without the enhanced word is "
      "refused", "MPA2-9")
def test_request_no_word(w):
    for length in range(4):
        refused(w, mpa.request(rev=2, flags=ENHANCED,
                               pd=bytes(length)).pack())


@case("responder: a truncated Request is refused", "MPA-97 MPA-103")
def test_request_short(w):
    with w.expect_counts(end_mpa_startup=3):
        for frame in (mpa.request(pd=b"four", pd_length=8),
                      mpa.request(pd=b"", pd_length=1)):
            refused(w, frame.pack(), then=Peer.half_close)
        refused(w, mpa.request().pack()[:19], then=Peer.half_close)


@case("responder: bytes after a Request are refused", "MPA-97 MPA-102")
def test_request_long(w):
    link = w.add_link(w.dial())
    link.peer.put(mpa.request().pack() + bytes(4))
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
def test_fpdu_first(w):
    refused(w, mpa.Writer().fpdu(rdmap.send(1, bytes(40)).pack()))


@case("responder: a Request split at every byte", "MPA-128")
def test_request_split(w):
    frame = mpa.request(rev=2, flags=ENHANCED, pd=mpa.word(1, 1) + b"ab")
    for place in range(1, len(frame.pack())):
        _, event = asking(w, frame, place)
        same("Private Data", event.pd, b"ab")
        w.after_case()


@case("responder: a Request byte by byte", "MPA-128")
def test_request_drip(w):
    frame = mpa.request(pd=b"slowly")
    _, event = asking(w, frame, *range(1, len(frame.pack())))
    same("Private Data", event.pd, b"slowly")


def say_no(w, request, data):
    link, _ = asking(w, request)
    w.server.do("reject", link.conn, data)
    reply = link.peer.get_frame()
    same("key", reply.key, mpa.KEY_REPLY)
    link.expect_end("fin")
    return reply


@case("responder: a reject is a complete Reply, and no reset",
      "MPA-89 MPA-104 MPA-105 MPA-116")
def test_reject(w):
    for data in b"", b"no", bytes(255):
        reply = say_no(w, mpa.request(), data)
        same("Reply", reply.pack(),
             mpa.reply(flags=mpa.C | mpa.R, pd=data).pack())


@case("responder: a reject of an enhanced Request is enhanced",
      "MPA2-64 MPA2-53")
def test_reject_enhanced(w):
    reply = say_no(w, mpa.request(rev=2, flags=ENHANCED, pd=mpa.word(1, 1)),
                   b"sorry")
    same("flags", reply.flags, ENHANCED | mpa.R)
    same("Rev", reply.rev, 2)
    same("data", reply.data, b"sorry")


@case("responder: revision 1 by policy closes on an enhanced Request",
      "MPA2-66")
def test_policy_1(w):
    with w.policy(revision=1) as port:
        with w.dial(port) as peer:
            peer.put(mpa.request(rev=2, flags=ENHANCED,
                                 pd=mpa.word(1, 1)).pack())
            same("bytes before the end", peer.wait_end()[1], b"")
        w.initiate(mpa.request(), peer=w.dial(port))


# Which side may send first --------------------------------------------------


def waiting_sender(w):
    """Return a link of a responder that has posted a Send, but has received nothing yet."""
    memory = w.shared(4096)
    link = w.initiate(recvs=[(memory, 64)], opened=False)
    link.post("send", memory, 32, 9)
    w.expect_quiet(link.peer)
    return link


@case("responder: silent until a valid FPDU arrives", "MPA-113 DDP-69")
def test_gate(w):
    for first in (rdmap.write(0, 0), rdmap.send(1, bytes([0x5A]))):
        link = waiting_sender(w)
        link.peer.put_segment(first)
        same("payload of the "
             "Send", link.peer.get_segment().payload, bytes([0x5A]) * 32)
        link.expect_wc(wr=9, status=0)


@case("responder: may send once all pieces of an FPDU have arrived",
      "MPA-113 MPA-73")
def test_gate_pieces(w):
    link = waiting_sender(w)
    octets = link.peer.fpdu(rdmap.write(0, 0))
    link.peer.put(octets[:-1])
    w.expect_quiet(link.peer)
    link.peer.put(octets[-1:])
    link.peer.get_segment()


@case("responder: may not send after an invalid FPDU", "MPA-113 MPA-142")
def test_gate_invalid(w):
    link = waiting_sender(w)
    link.peer.put_segment(rdmap.write(0, 0), crc=bytes(4))
    same("bytes before the end", link.peer.wait_end()[1], b"")
    link.expect_wc(wr=9, status=5)


@case("responder: a Terminate as first FPDU only ends the stream", "MPA-113")
def test_gate_terminate(w):
    link = waiting_sender(w)
    link.peer.put_segment(rdmap.Terminate(2, 0, 6).segment())
    same("bytes before the end", link.peer.wait_end()[1], b"")
    link.expect_wc(wr=9, status=5)


@case("responder: ready for an FPDU once the Reply is sent",
      "MPA-78 MPA-108 DDP-69")
def test_ready(w):
    memory = w.shared(4096)
    link = w.initiate(recvs=[(memory, 64)], wait=False, opened=False)
    link.peer.send(b"at once")
    same("length", link.expect_wc(wr=1, status=0).length, 7)


# Initiator ------------------------------------------------------------------


@case("initiator: the Request",
      "MPA-41 MPA-79 MPA-88 MPA-90 MPA-96 MPA-100 MPA-101 MPA2-4 MPA2-6 "
      "MPA2-10")
def test_initiator_request(w):
    for data in b"", b"1", bytes(range(200)):
        w.respond(connect=(3, 5, data))
        frame = w.request
        same("key", frame.key, mpa.KEY_REQUEST)
        same("Rev, flags", (frame.rev, frame.flags), (2, ENHANCED))
        same("data", frame.data, data)
        same("IRD, ORD", (frame.ird, frame.ord), (5, 3))


@case("initiator: revision 1 by policy", "MPA2-7 MPA2-62 MPA-92")
def test_initiator_plain(w):
    with w.policy(revision=1):
        w.respond(connect=(3, 5, b"plain"))
        same("Request", w.request.pack(),
             mpa.request(flags=mpa.C, pd=b"plain").pack())


@case("initiator: silent before the Reply", "MPA-109")
def test_initiator_waits(w):
    def late(request):
        w.expect_quiet(link.peer)
        return mpa.reply(rev=2, flags=ENHANCED, pd=mpa.word(1, 1,
                                                            request.rtr))
    with w.listening() as (sock, port):
        link = calling(w, sock, port)
        link.peer.respond(late)
        link.expect_cm("ESTABLISHED", status=0)


@case("initiator: Private Data of the Reply is delivered",
      "MPA-99 MPA-115")
def test_reply_data(w):
    """After each connection the program disconnects."""
    for size in 0, 1, 100, 508:
        data = bytes(i & 0xFF for i in range(size))
        link = w.respond(lambda request, data=data: mpa.reply(
            rev=2, flags=ENHANCED, pd=mpa.word(1, 1, request.rtr) + data),
            status=None)
        event = link.expect_cm("ESTABLISHED", status=0)
        same("Private Data", event.pd, data[:HANDED_UP])
        w.server.do("disconnect", link.conn)
        link.expect_end("fin")


@case("initiator: reserved bits of a Reply are ignored", "MPA-91")
def test_reply_reserved(w):
    w.respond(lambda request: mpa.reply(
        rev=2, flags=ENHANCED | RESERVED, pd=mpa.word(1, 1, request.rtr)))


def good_reply():
    return mpa.reply(rev=2, flags=ENHANCED, pd=mpa.word(1, 1))


@case("initiator: a key with one wrong byte ends the connection",
      "MPA-82 MPA-110 MPA-114 MPA-138 MPA-139 MPA-140")
def test_reply_key(w):
    right = good_reply().pack()
    with w.expect_counts(end_mpa_startup=16):
        for place in range(16):
            wrong = bytearray(right)
            wrong[place] ^= 1
            failed(w, bytes(wrong))


@case("initiator: a Request is no Reply", "MPA-118")
def test_request_as_reply(w):
    failed(w, mpa.request(rev=2, flags=ENHANCED, pd=mpa.word(1, 1)).pack())


@case("initiator: other revisions end the connection", "MPA-93 MPA-94 MPA-153")
def test_reply_revisions(w):
    for rev in 0, 3, 255:
        failed(w, mpa.reply(rev=rev).pack())


@case("initiator: wrong lengths end the connection", "MPA-97 MPA-110")
def test_reply_lengths(w):
    failed(w, mpa.reply(rev=2, flags=ENHANCED, pd=bytes(513)).pack())
    failed(w, mpa.reply(rev=2, flags=ENHANCED, pd=bytes(3)).pack())
    failed(w, mpa.reply(rev=2, flags=ENHANCED, pd=bytes(8),
                        pd_length=9).pack(), close=True)


@case("initiator: an enhanced Reply to a plain Request ends the "
      "connection", "MPA2-64")
def test_reply_unasked(w):
    with w.policy(revision=1):
        failed(w, good_reply().pack())


@case("initiator: a reject with its Private Data, and nothing follows",
      "MPA-89")
def test_rejected(w):
    for size in 0, 5, 508:
        data = bytes(i & 0xFF for i in range(size))
        with w.expect_counts(end_peer_reject=1):
            event = failed(w, mpa.reply(rev=2, flags=ENHANCED | mpa.R,
                                        pd=mpa.word(1, 1) + data).pack(),
                           event="REJECTED")
        same("Private Data", event.pd, data[:HANDED_UP])


@case("initiator: a Reply split at every byte", "MPA-128")
def test_reply_split(w):
    octets = mpa.reply(rev=2, flags=ENHANCED, pd=mpa.word(1, 1) + b"ab").pack()
    with w.policy(rtr="none"):
        for place in range(1, len(octets)):
            link = answered(w, octets, place)
            same("data", link.expect_cm("ESTABLISHED", status=0).pd, b"ab")
            w.after_case()


@case("initiator: a Reply byte by byte", "MPA-128 MPA-112 DDP-69")
def test_reply_drip(w):
    octets = mpa.reply(rev=2, flags=ENHANCED, pd=mpa.word(1, 1) + b"ab").pack()
    with w.policy(rtr="none"):
        link = answered(w, octets, *range(1, len(octets)))
        same("data", link.expect_cm("ESTABLISHED", status=0).pd, b"ab")
        link.peer.enter_full_operation(mpa.reply(), mpa.request())
        link.post("send", w.shared(4096), 4, 1)
        same("payload of the "
             "Send", link.peer.get_segment().payload, bytes([0x5A]) * 4)


def answered(w, octets, *places):
    with w.listening() as (sock, port):
        link = calling(w, sock, port)
        link.peer.get_frame()
        link.peer.put_split(octets, *places)
    return link


@case("initiator: a refused TCP connection is reported", "MPA-132")
def test_nobody_listens(w):
    with w.expect_counts(end_peer_refused=1):
        conn = int(w.server.do("open", PEER, 9)[0])
        w.add_link(Peer(w.socket()), conn)
        w.server.do("connect", conn, 1, 1)
        check("the event reports an error", w.server.expect_event(CM, conn=conn).status < 0)


@case("responder: no state is left of an initiator that closes during start-up", "MPA-132")
def test_gone_early(w):
    with w.expect_counts(end_mpa_startup=2):
        for how in Peer.reset, Peer.close:
            with w.dial() as peer:
                peer.put(mpa.request().pack()[:10])
                how(peer)
    peer = w.dial()
    peer.put(mpa.request().pack())
    conn = w.expect_request().conn
    with w.expect_counts(end_peer_reset=1):
        peer.reset()
        w.wait_quiet()
        link = w.add_link(peer, conn)
        with contextlib.suppress(Refused):
            w.server.do("accept", conn, 1, 1)
        link.close()
        w.links.remove(link)


# Slow cases -----------------------------------------------------------------
@case("responder: a silent initiator is closed after the time limit", "MPA-119 MPA-102")
def test_slow_silent(w):
    slow(w)["silent"].check()


@case("responder: one byte a second is too slow", "MPA-124")
def test_slow_drip(w):
    slow(w)["dripping"].check()


run()
