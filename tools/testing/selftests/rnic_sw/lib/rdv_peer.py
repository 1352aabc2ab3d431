# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Queue pairs that raw_server connects by ibv_modify_qp(), and the raw peer of such a queue pair:
see Documentation/rendezvous.rst."""

import contextlib
import glob
import ipaddress
import os
import struct
import time
from dataclasses import dataclass, replace

from lib.wire import (DEVICE, PATIENCE, PEER, SERVER, SUCCESS, Closed, check, mpa, rdmap, same)

RDV_PORT = 291
OWN_PSN, PEER_PSN = 0x123456, 0xABCDEF      # first PSNs: raw_server's, and the raw peer's
IRD, ORD = 3, 5
# attributes of the QP; with this timeout and retry count, posted requests wait for the peer for
# about half a minute
TIMEOUT, RETRIES, RNR_RETRIES = 18, 7, 6
HAS_SQ_PSN = 1


@dataclass
class Message:
    """The message in the Private Data of the Request and of the Reply."""
    qpn: int
    dest_qpn: int
    rq_psn: int
    sq_psn: int = 0
    rnr_retry: int = 0
    flags: int = HAS_SQ_PSN
    magic: bytes = b"iWQP"
    version: int = 1
    zero: int = 0

    def pack(self):
        return struct.pack(">4sBBBBIIII", self.magic, self.version, self.flags, self.rnr_retry,
                           self.zero, self.qpn, self.dest_qpn, self.rq_psn, self.sq_psn)


def wait_gid_index(address):
    """Wait until the device has a GID for the address. Return the index."""
    want = ipaddress.ip_address(f"::ffff:{address}")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for path in glob.glob(f"/sys/class/infiniband/{DEVICE}/ports/1/gids/*"):
            with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as file:
                if ipaddress.ip_address(file.read().strip()) == want:
                    return int(os.path.basename(path))
        time.sleep(0.02)
    raise AssertionError(f"the device should have a GID for {address}")


class Program:
    """A queue pair of raw_server, in INIT, and the numbers that its peer must know."""

    def __init__(self, w, connects=False, at=SERVER, to=PEER):
        conn, qpn = map(int, w.server.do("open-qp", "lrw"))
        self.w, self.conn, self.qpn, self.at, self.to = w, conn, qpn, at, to
        self.link = w.add_link(None, conn)
        # the queue pair with the smaller number connects
        self.peer_qpn = qpn + 1 if connects else qpn - 1
        self.in_rts = False

    def enter_rtr(self):
        self.w.server.do("rtr", self.conn, wait_gid_index(self.at), self.to, self.peer_qpn,
                         PEER_PSN,
                         IRD)
        return self

    def enter_rts(self, psn=OWN_PSN):
        self.w.server.do("rts", self.conn, psn, TIMEOUT, RETRIES, RNR_RETRIES, ORD)
        self.in_rts = True
        return self

    @property
    def own_message(self):
        """The message that the queue pair sends in its present state."""
        out = Message(self.qpn, self.peer_qpn, PEER_PSN, OWN_PSN, RNR_RETRIES)
        return out if self.in_rts else replace(out, sq_psn=0, rnr_retry=0, flags=0)

    @property
    def right(self):
        """The valid message of its peer."""
        return Message(self.peer_qpn, self.qpn, OWN_PSN, PEER_PSN, 7)

    def destroy(self):
        self.link.close()


def open_waiting_program(w):
    """Return a queue pair in RTS that waits for the Request of its peer."""
    return Program(w).enter_rtr().enter_rts()


def connect(w, program, data=None):
    """Let the raw peer connect to the queue pair. Return the Reply."""
    program.link.peer = peer = w.connect_to_rdv_port()
    w.send_request(peer, program.right.pack() if data is None else data)
    reply = w.receive_reply(peer)
    same("message in the Reply", reply.data.hex(), program.own_message.pack().hex())
    # the passive side must not send before it has received a message
    peer.send_segments(rdmap.make_write(0, 0))
    return reply


def wait_request(w, sock, program):
    """Wait for a Request with the queue pair's present message. Return it, and the peer."""
    want = program.own_message.pack()
    while True:
        request, peer = w.accept_request(sock)
        if request.data == want or not program.in_rts:
            return request, peer
        # sent before the queue pair has entered RTS
        same("message before RTS", request.data.hex(),
             replace(program.own_message, sq_psn=0, rnr_retry=0, flags=0).pack().hex())
        w.abort_peer_connection(peer)


def check_first_message_is_write(peer):
    """Check that the queue pair that has connected sends a Write of length 0."""
    first = peer.receive_segment()
    same("opcode, payload", (first.ulp, first.payload), (rdmap.pack_control(rdmap.WRITE), b""))


def respond(w, sock, program, rtr=mpa.A | mpa.CC):
    """Let the raw peer accept the Request of the queue pair, and name these ready-to-receive
    messages if the Request names any. Return the Request."""
    request, program.link.peer = wait_request(w, sock, program)
    same("message in the Request", request.data.hex(), program.own_message.pack().hex())
    w.send_accept(program.link.peer, request, program.right.pack(), request.rtr and rtr)
    return request


def accept_and_check_first_write(w, sock, program):
    """Like respond(), and read the ready-to-receive message, a Write of length 0."""
    request = respond(w, sock, program)
    check_first_message_is_write(program.link.peer)
    return request


def check_data_transfer(w, program):
    """Check that data passes in both directions."""
    link, inbox, target = program.link, w.shared(64, "l"), w.shared(64, "lw")
    link.post_recv(inbox, 64, 1)
    link.peer.send(b"from the peer")
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 13)
    same("received", inbox.read_bytes(0, 13), b"from the peer")
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"written"))
    link.round_trip()
    same("written", target.read_bytes(0, 7), b"written")
    if program.in_rts:
        link.post("send", target, 7, 2)
        same("sent", link.peer.receive_segment().payload, b"written")
        link.expect_wc(wr=2, status=SUCCESS)


def check_request_is_refused(w, data, **how):
    """Check that a Request with this Private Data is refused, and that the connection ends as
    w.refusal says: every refused Request must look the same to the peer."""
    with w.connect_to_rdv_port(**how) as peer:
        w.send_request(peer, data)
        same("end, and bytes before it", peer.wait_end(), w.refusal)


def is_port_open(w, port=RDV_PORT):
    try:
        w.connect_to_rdv_port(port).close()
    except ConnectionRefusedError:
        return False
    return True


def wait_port_closed(w, port=RDV_PORT):
    end = time.monotonic() + PATIENCE
    while is_port_open(w, port):
        check("the port should be closed", time.monotonic() < end)
        time.sleep(0.02)


def is_request_accepted(w, peer):
    """Return True if the Request is accepted, False if it is refused."""
    try:
        return w.is_accept(w.receive_reply(peer))
    except Closed as why:
        check("the refusal is a reset", why.reset)
        return False
