# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""DDP over SCTP (RFC 5043, RFC 6581 section 7), with the kernel's SCTP sockets."""

import socket
import struct
import time
from collections import deque
from dataclasses import dataclass

from . import ddp, mpa
from .talk import PATIENCE, SILENCE, Closed, Talk, delay_step

PROTOCOL = 132
ADAPTATION = 1
SEGMENT, CONTROL = 16, 17       # payload protocol identifiers
(INITIATE, ACCEPT, REJECT, TERMINATE,
 E_INITIATE, E_ACCEPT, E_REJECT) = range(1, 8)
PD_MAX = 512
SSNS = 1 << 16
STREAMS = 16

# linux/sctp.h: socket options, ancillary data, notifications
INITMSG, NODELAY, ADAPTATION_LAYER, EVENTS, RECVRCVINFO = 2, 3, 7, 11, 32
SNDINFO, RCVINFO = 2, 3
UNORDERED, ABORT = 1, 4
MSG_NOTIFICATION = 0x8000
NOTE_ASSOC, NOTE_SHUTDOWN, NOTE_ADAPTATION = 0x8001, 0x8005, 0x8007
COMM_UP, COMM_LOST, RESTART, SHUTDOWN_COMP = range(4)


class Malformed(Exception):
    """The other side violated RFC 5043."""


# Chunks ----------------------------------------------------------------------


@dataclass
class Control(mpa.Offer):
    """A session control message; pd includes the enhanced word, if the message has
    one."""
    code: int
    pd: bytes = b""

    @property
    def enhanced(self):
        return self.code in (E_INITIATE, E_ACCEPT, E_REJECT)

    def pack(self):
        return struct.pack(">H", self.code) + self.pd

    @classmethod
    def parse(cls, body):
        out = cls(struct.unpack(">H", body[:2])[0], body[2:])
        if not INITIATE <= out.code <= E_REJECT:
            raise Malformed(f"invalid function code {out.code}")
        if len(out.pd) > PD_MAX or out.code == TERMINATE and out.pd:
            raise Malformed(f"{len(out.pd)} bytes of Private Data in {out}")
        return out


@dataclass
class Chunk:
    """One user message as received."""
    sid: int
    ppid: int
    unordered: bool
    octets: bytes
    tsn: int = None

    @property
    def ssn(self):
        """The DDP-SSN, which is the first field of each chunk."""
        return struct.unpack(">H", self.octets[:2])[0]

    @property
    def contents(self):
        """The parsed chunk: a Control or a DDP segment."""
        body = self.octets[2:]
        return Control.parse(body) if self.ppid == CONTROL else ddp.parse(body)

    def check(self):
        if self.ppid not in (SEGMENT, CONTROL):
            raise Malformed(f"invalid payload protocol identifier {self.ppid}")
        if not self.unordered:
            raise Malformed("a chunk should be unordered")
        if len(self.octets) < 4:
            raise Malformed(f"a chunk of {len(self.octets)} bytes is too short")


# Streams ---------------------------------------------------------------------


class Stream(Talk):
    """A pair of SCTP streams with the same number, and the session on it."""

    def __init__(self, assoc, sid):
        super().__init__()
        self.assoc, self.sid = assoc, sid
        self.arrived = []       # all chunks in the order of arrival
        self.start_session()

    def start_session(self):
        """Prepare for another session on these streams: restart DDP-SSNs and MSNs."""
        Talk.__init__(self)
        self.ssn = self.due = 0
        self.early = {}         # out-of-order chunks by DDP-SSN
        self.came = deque()     # chunks in order, not yet consumed

    def check_and_order_chunk(self, chunk):
        """Check a received chunk, and put it in order by DDP-SSN (SCTPDDP-23,
        SCTPDDP-65)."""
        self.arrived.append(chunk)
        chunk.check()
        if chunk.ssn in self.early or (chunk.ssn - self.due) % SSNS > SSNS / 2:
            raise Malformed(f"DDP-SSN {chunk.ssn} twice on {self.sid}, "
                            f"{self.due} is due")
        self.early[chunk.ssn] = chunk
        while self.due in self.early:
            self.came.append(self.early.pop(self.due))
            self.due = (self.due + 1) % SSNS

    # sending --------------------------------------------------------------

    def take_next_ssn(self):
        ssn = self.ssn
        self.ssn = (ssn + 1) % SSNS
        return ssn

    def send_chunk(self, body, ppid=CONTROL, ssn=None, **wrong):
        """Send a chunk: a DDP-SSN and any body. ssn: the DDP-SSN, None: the next one."""
        ssn = self.take_next_ssn() if ssn is None else ssn
        self.assoc.send_message(self.sid, struct.pack(">H", ssn) + body, ppid, **wrong)

    def send_control(self, code, pd=b"", **wrong):
        self.send_chunk(Control(code, pd).pack(), **wrong)

    def send_segments(self, *segments, **wrong):
        """Send each segment as a chunk, bundled if possible.

        segments: DDP segments, or bytes."""
        for number, each in enumerate(segments, 1):
            body = each if isinstance(each, bytes) else each.pack()
            more = {"more": True} if number < len(segments) else {}
            self.send_chunk(body, SEGMENT, **more, **wrong)

    def send_reordered(self, order, *segments):
        """Send segments like send_segments(), but out of order: the nth chunk sent is
        segments[order[n]], with the DDP-SSN that belongs to that segment."""
        first = self.ssn
        for place in order:
            self.send_segments(segments[place], ssn=(first + place) % SSNS)
        self.ssn = (first + len(segments)) % SSNS

    # receiving ------------------------------------------------------------

    def receive_chunk(self, timeout=PATIENCE):
        """Return the next chunk in DDP-SSN order."""
        self.assoc.wait_until(lambda: self.came, timeout)
        return self.came.popleft()

    def receive_control(self, timeout=PATIENCE):
        got = self.receive_chunk(timeout).contents
        if not isinstance(got, Control):
            raise Malformed(f"should be a control message: {got}")
        return got

    def receive_segment_bytes(self, timeout=PATIENCE):
        chunk = self.receive_chunk(timeout)
        if chunk.ppid == SEGMENT:
            return chunk.octets[2:]
        if chunk.contents.code == TERMINATE:
            raise Closed(False)
        raise Malformed(f"should be a segment: {chunk}")

    def stays_silent(self, timeout=SILENCE):
        """Check that neither a chunk nor the end of the association arrives in this
        time."""
        try:
            self.assoc.wait_until(lambda: self.came, timeout)
        except TimeoutError:
            return True
        except Closed:
            pass
        return False

    def wait_end(self, timeout=PATIENCE):
        """Wait for the end of the session.

        Return "terminate", or "shutdown" or "abort" if the association has ended; and
        the messages received before."""
        before = []
        end = time.monotonic() + timeout
        try:
            while True:
                got = self.receive_chunk(end - time.monotonic()).contents
                if isinstance(got, Control) and got.code == TERMINATE:
                    return "terminate", before
                before.append(got)
        except Closed:
            return self.assoc.ended, before

    def pop_unread(self):
        """Return the chunks that are received and not consumed, without waiting for
        more."""
        self.stays_silent(0.01)
        left, self.came = list(self.came), deque()
        return left

    # sessions -------------------------------------------------------------

    def initiate(self, code=INITIATE, pd=b""):
        """Send an Initiate. Return the reply."""
        self.send_control(code, pd)
        return self.receive_control()

    def terminate(self):
        self.send_control(TERMINATE)

    def reset(self):
        self.assoc.abort()

    def close(self):
        self.assoc.close()


# Associations ----------------------------------------------------------------


class Carrier:
    """An association, independent of the SCTP implementation used."""

    def __init__(self):
        self.streams = {}
        self.adaptation = None      # value of the peer's Adaptation Indication
        self.ended = None           # "shutdown" or "abort"
        self.ready = False
        self.restarts = 0

    def stream(self, sid):
        if sid not in self.streams:
            self.streams[sid] = Stream(self, sid)
        return self.streams[sid]

    def receive_input(self, timeout):
        """Wait for input and process it, or raise TimeoutError."""
        raise NotImplementedError

    def send_message(self, sid, octets, ppid, unordered=True, more=False):
        """Send a message. more: another message follows, with which SCTP may bundle
        this one."""
        raise NotImplementedError

    def wait_until(self, what, timeout=PATIENCE):
        """Wait until what() is true; raise Closed if the association ends
        first."""
        end = time.monotonic() + timeout
        while not what():
            if self.ended:
                raise Closed(self.ended == "abort")
            self.receive_input(max(end - time.monotonic(), 0.001))

    def wait_end(self, timeout=PATIENCE):
        try:
            self.wait_until(lambda: False, timeout)
        except Closed:
            return self.ended
        raise AssertionError

    def process_input_until_quiet(self, timeout=SILENCE):
        """Process input until the timeout, or until the association ends."""
        try:
            self.wait_until(lambda: False, timeout)
        except (TimeoutError, Closed):
            pass

    def chunks(self):
        """Return all chunks received, stream by stream."""
        return [c for s in self.streams.values() for c in s.arrived]

    def abort(self):
        raise NotImplementedError

    def close(self):
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def set_socket_options(sock, streams=STREAMS, adaptation=ADAPTATION, inbound=None):
    """Set the options of a socket before it connects or listens.

    adaptation: value of the Adaptation Indication to send; 0: send none."""
    def set_option(option, value):
        sock.setsockopt(PROTOCOL, option, value)

    set_option(INITMSG, struct.pack("=HHHH", streams, inbound or streams, 0, 0))
    set_option(NODELAY, struct.pack("=i", 1))
    set_option(ADAPTATION_LAYER, struct.pack("=I", adaptation))
    set_option(RECVRCVINFO, struct.pack("=i", 1))
    set_option(EVENTS, bytes([1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0]))
    return sock


class Association(Carrier):
    """An association on a kernel socket that set_socket_options() has set up."""

    def __init__(self, sock):
        super().__init__()
        self.sock = sock
        self.outbound = self.inbound = None

    @classmethod
    def connect(cls, sock, address, timeout=PATIENCE):
        """Connect, and wait for COMM_UP and for the notification of the peer's
        Adaptation Indication, if it sends one."""
        sock.settimeout(timeout)
        sock.connect(address)
        return cls.wait_established(sock)

    @classmethod
    def wait_established(cls, sock):
        out = cls(sock)
        out.wait_until(lambda: out.ready)
        # the notification of the Adaptation Indication arrives after COMM_UP
        out.process_input_until_quiet(0.02)
        return out

    def receive_input(self, timeout):
        delay_step()
        self.sock.settimeout(timeout)
        try:
            octets, extra, flags, _ = self.sock.recvmsg(1 << 18, 256)
        except (ConnectionResetError, BrokenPipeError):
            self.ended = "abort"
            return
        except OSError as why:
            if isinstance(why, TimeoutError):
                raise
            self.ended = self.ended or "abort"
            return
        if flags & MSG_NOTIFICATION:
            self._record_notification(octets)
        elif not octets and not extra:
            self.ended = self.ended or "shutdown"
        else:
            self._deliver_message(octets, extra, flags)

    def _deliver_message(self, octets, extra, flags):
        if not flags & socket.MSG_EOR:
            raise Malformed("a message is longer than allowed")
        info = [data for level, kind, data in extra
                if (level, kind) == (PROTOCOL, RCVINFO)]
        sid, _, how = struct.unpack("=HHH", info[0][:6])
        ppid, = struct.unpack(">I", info[0][8:12])
        tsn, = struct.unpack("=I", info[0][12:16])
        self.stream(sid).check_and_order_chunk(Chunk(sid, ppid, bool(how & UNORDERED), octets,
                                                     tsn))

    def _record_notification(self, octets):
        kind, = struct.unpack("=H", octets[:2])
        if kind == NOTE_ADAPTATION:
            self.adaptation, = struct.unpack("=I", octets[8:12])
        elif kind == NOTE_SHUTDOWN:
            self.ended = "shutdown"
        elif kind == NOTE_ASSOC:
            self._record_association_change(*struct.unpack("=HHHH", octets[8:16]))

    def _record_association_change(self, state, _, outbound, inbound):
        if state == COMM_UP:
            self.ready = True
            self.outbound, self.inbound = outbound, inbound
        elif state == COMM_LOST:
            self.ended = "abort"
        elif state == SHUTDOWN_COMP:
            self.ended = self.ended or "shutdown"
        elif state == RESTART:
            self.restarts += 1

    def send_message(self, sid, octets, ppid, unordered=True, more=False):
        delay_step()
        info = (struct.pack("=HH", sid, UNORDERED if unordered else 0) +
                struct.pack(">I", ppid) + struct.pack("=Ii", 0, 0))
        self.sock.settimeout(PATIENCE)
        self.sock.sendmsg([octets], [(PROTOCOL, SNDINFO, info)],
                          socket.MSG_MORE if more else 0)

    def shutdown(self):
        self.sock.shutdown(socket.SHUT_WR)

    def abort(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()
