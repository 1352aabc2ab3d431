# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""One session of wire_fuzz.py: start-up, messages, errors, end."""

import collections
import contextlib
import errno
import random
import socket
import struct
import time

from lib import wire
from lib.wire import SERVER, PEER, mpa

# pylint: disable=wrong-import-order
from lib import fuzzing
from rawpeer import ddp, rdmap

PORT = 7480
PATIENCE = 60           # seconds to wait for required input on a slow machine
PAUSE = 0.05            # seconds to wait for optional input

# settings of the device: CRC, markers, revision
POLICIES = ((1, 0, "auto"), (0, 0, "auto"), (1, 1, "auto"), (0, 1, "auto"),
            (1, 0, "1"))


class Ended(Exception):
    """The other side has ended the connection, or does not send what the session waits for."""


class Bad(Exception):
    """The kernel violated the protocol."""


class Session:
    """One session. run_session() is a generator that yields what the session waits for:

        ("octets", N, seconds)  N bytes to read
        ("any", 0, seconds)     some data to read
        ("out", 0, seconds)     all output is written
        ("call", 0, seconds)    a connection arrives at self.listener
    The caller resumes the generator with True, or with False after the timeout.
    """

    SPOILER = fuzzing.MpaSpoiler

    def __init__(self, w, number, seed):
        self.w, self.number = w, number
        self.rand = random.Random(seed << 32 | number)
        self.right = self.rand.random() < 0.125     # true: the session sends no errors
        self.asked = None               # value of self.w.ones (see FuzzWire.set_policy())
                                        # when a request for revision 2 was sent
        self.sock = self.listener = None
        self.buf, self.out = bytearray(), bytearray()
        self.ended = None               # "fin" or "rst"
        self.waits, self.deadline = ("any", 0), 0
        self.fresh = True               # poll_resume_value() has not been called since the
                                        # session began to wait
        self.reader = self.writer = None
        self.messages = fuzzing.Messages(self.rand, w.areas)
        self.spoiler = self.SPOILER(self.rand, self.messages, self.build_fpdu)
        self.got = self.got_atomics = self.spoilt = 0
        self.terminated = False
        self.ways = []                  # names of the errors sent, for the log

    def build_fpdu(self, ulpdu, **wrong):
        return self.writer.build_fpdu(ulpdu, **wrong)

    # bytes -------------------------------------------------------------------

    def wait_for(self, what, count=0, seconds=PATIENCE):
        return (yield what, count, seconds)

    def send_in_pieces(self, octets):
        """Send the bytes in a random number of pieces, until the connection ends."""
        cuts = []
        if octets and self.rand.random() < 0.3:
            cuts = sorted(self.rand.randrange(len(octets))
                          for _ in range(self.rand.randint(1, 4)))
        for start, end in zip([0, *cuts], [*cuts, len(octets)]):
            self.out += octets[start:end]
            if not (yield from self.wait_for("out")):
                raise Ended

    def receive_bytes(self, count, seconds=PATIENCE):
        if count and not (yield from self.wait_for("octets", count, seconds)):
            raise Ended
        octets = bytes(self.buf[:count])
        del self.buf[:count]
        return octets

    def receive_frame(self, key, seconds=PATIENCE):
        frame = mpa.parse_header((yield from self.receive_bytes(mpa.HEADER, seconds)))
        if frame.key != key or frame.pd_length > mpa.PD_MAX:
            raise Bad(f"valid start-up frame expected, got {frame}")
        frame.pd = yield from self.receive_bytes(frame.pd_length)
        return frame

    # start-up ----------------------------------------------------------------

    def choose_actions(self):
        if self.right or self.rand.random() < 0.7:
            return self.rand.getrandbits(4)
        return self.rand.getrandbits(8)

    def enter_full_operation(self, sent, got):
        """Set up reader and writer for Full Operation, from the flags in the start-up
        frames that were sent and received."""
        crc = bool((sent | got.flags) & mpa.C)
        self.writer = fuzzing.Writer(bool(got.flags & mpa.M), crc)
        self.reader = mpa.Reader(bool(sent & mpa.M), crc)

    def pack_or_spoil_frame(self, frame):
        if self.right or self.rand.random() < 0.8:
            return frame.pack()
        self.spoilt += 1
        return fuzzing.spoil_frame(self.rand, frame)

    def initiate(self):
        rand = self.rand
        if rand.random() < 0.3:
            # the new settings apply to the next connection
            self.w.set_policy(*rand.choice(POLICIES))
        ones = self.w.ones - (self.w.revision == "1")
        self.start_connect(PORT)
        pd = bytes([self.choose_actions()]) + rand.randbytes(rand.randrange(9))
        request = mpa.make_request(flags=rand.choice((mpa.C, 0, mpa.M | mpa.C)),
                                   pd=pd)
        if rand.random() < 0.5:
            request.rev = 2
            self.asked = ones
            request.flags |= mpa.S
            request.pd = mpa.pack_enhanced_word(4, 4, rand.choice(
                (0, mpa.A | mpa.CC, mpa.A | mpa.D,
                 mpa.A | mpa.B | mpa.CC | mpa.D))) + pd
        octets = self.pack_or_spoil_frame(request)
        yield from self.send_in_pieces(octets)
        if self.spoilt and rand.random() < 0.4:
            self.close_socket()
            return
        if len(octets) < mpa.HEADER + len(request.pd):
            yield from self.receive_until_end(PAUSE)
            raise Ended
        reply = yield from self.receive_frame(
            mpa.KEY_REPLY, 10 * PAUSE if self.spoilt else PATIENCE)
        self.asked = None
        if self.right and reply.flags & mpa.R:
            raise Bad(f"Request should be accepted, got {reply}")
        self.enter_full_operation(octets[16], reply)
        yield from self.send_in_pieces(self.make_first_message(request, reply))

    def make_first_message(self, request, reply):
        """Return the first message, which the initiator has to send."""
        if not (reply.enhanced and reply.pd_length >= 4 and
                request.enhanced and reply.rtr & mpa.A):
            return self.build_fpdu(rdmap.make_write(0, 0).pack())
        both = request.rtr & reply.rtr
        if both & mpa.CC:
            return self.build_fpdu(rdmap.make_write(0, 0).pack())
        if both & mpa.D:
            self.messages.requests += 1
            read = rdmap.ReadRequest(0, 0, 0, 0, 0)
            return self.build_fpdu(read.segment(self.messages.take_next_msn(1)).pack())
        return self.build_fpdu(rdmap.make_send(self.messages.take_next_msn(0)).pack())

    def respond(self):
        self.listen()
        if self.rand.random() < 0.3:
            # the new settings apply to the next connection of any session
            self.w.set_policy(*self.rand.choice(POLICIES))
        self.w.server.do("call", PEER, self.listener.getsockname()[1],
                         self.choose_actions())
        while True:
            if not (yield from self.wait_for("call")):
                raise Ended
            request = yield from self.receive_frame(mpa.KEY_REQUEST)
            reply = wire.make_accepting_reply(request)
            reply.flags |= self.rand.choice((0, mpa.M))
            reply.flags &= ~self.rand.choice((0, mpa.C))
            octets = self.pack_or_spoil_frame(reply)
            self.enter_full_operation(octets[16] if len(octets) > 16 else 0, request)
            yield from self.send_in_pieces(octets)
            if not self.spoilt or self.rand.random() < 0.5:
                return
            # raw_server may connect again, with revision 1
            self.close_socket()
            if not (yield from self.wait_for("call", 0, PAUSE)):
                raise Ended
            self.spoilt = 0

    # full operation ----------------------------------------------------------

    def parse_received_segments(self):
        """Parse what the kernel sent, which must always be valid."""
        if not self.reader:
            return
        octets = bytes(self.buf)
        self.buf.clear()
        try:
            for fpdu in self.reader.feed(octets):
                self.check_and_record_segment(ddp.parse(fpdu.ulpdu))
        except (mpa.Malformed, ValueError, struct.error, IndexError) as why:
            if self.spoilt_start:
                # after an invalid start-up frame the agreed parameters are unknown
                raise Ended from why
            raise Bad(f"kernel sent malformed data: {why}") from why

    def check_and_record_segment(self, seg):
        code = seg.ulp & 15
        if seg.dv != 1 or seg.rsvd or seg.ulp & 0xF0 != rdmap.RV:
            raise ValueError(f"invalid header of segment {seg}")
        if seg.tagged and code == rdmap.READ_RESPONSE:
            self.got += len(seg.payload)
        elif not seg.tagged and code == fuzzing.ATOMIC_ANSWER:
            self.got_atomics += 1
        elif not seg.tagged and code == rdmap.TERMINATE:
            self.terminated = str(rdmap.Terminate.parse(seg.payload))
        elif not seg.tagged and code == rdmap.READ_REQUEST:
            self.todo.append(rdmap.ReadRequest.parse(seg.payload))
        elif not seg.tagged and code == fuzzing.ATOMIC:
            self.todo.append(struct.unpack(">I", seg.payload[4:8])[0])
        elif not (seg.tagged and code == rdmap.WRITE or
                  not seg.tagged and code == rdmap.SEND):
            raise ValueError(f"unexpected segment {seg}")

    def make_response_segments(self, request):
        """Return the segments that respond to a Read or atomic request of the kernel."""
        if isinstance(request, int):
            return [fuzzing.make_atomic_response(self.messages.take_next_msn(3), request)]
        octets = self.rand.randbytes(request.size)
        cut = self.rand.randrange(len(octets) + 1)
        if self.rand.random() < 0.7 or not 0 < cut < len(octets):
            return [rdmap.make_read_response(request.sink_stag, request.sink_to,
                                             octets)]
        return [rdmap.make_read_response(request.sink_stag, request.sink_to,
                                         octets[:cut], last=False),
                rdmap.make_read_response(request.sink_stag, request.sink_to + cut,
                                         octets[cut:])]

    def send_or_spoil_segments(self, segments, chance):
        for segment in segments:
            if self.rand.random() < chance:
                self.spoilt += 1
                way, octets = self.spoiler.spoil(segment)
                self.ways.append(way)
            else:
                octets = self.build_fpdu(segment.pack())
            yield from self.send_in_pieces(octets)

    def respond_to_all(self, chance):
        self.parse_received_segments()
        while self.todo:
            yield from self.send_or_spoil_segments(self.make_response_segments(self.todo.popleft()),
                                                   chance)
            self.parse_received_segments()

    def exchange_messages(self):
        rand = self.rand
        for _ in range(rand.randrange(6)):
            yield from self.send_or_spoil_segments(self.messages.make_random_message(), 0)
            yield from self.respond_to_all(0)
        if self.right:
            yield from self.end_gracefully()
            return
        if rand.random() < 0.5:
            # wait, so that the other side is in the middle of an operation
            yield from self.wait_for("any", 0, PAUSE)
            yield from self.respond_to_all(0.5)
        for _ in range(rand.randint(1, 4)):
            yield from self.send_or_spoil_segments(self.messages.make_random_message(), 0.8)
            yield from self.respond_to_all(0.3)

    def end_gracefully(self):
        """Wait until all requests have responses, then exchange FINs."""
        messages = self.messages
        end = time.monotonic() + PATIENCE
        while (self.got, self.got_atomics) != (messages.due,
                                               messages.atomics):
            if not (yield from self.wait_for("any", 0, end - time.monotonic())):
                raise Bad(f"{self.got} of {messages.due} bytes read, "
                          f"{self.got_atomics} of {messages.atomics} atomics, then "
                          f"{self.ended or 'nothing'}, Terminate {self.terminated}")
            yield from self.respond_to_all(0)
        yield from self.wait_for("any", 0, PAUSE)
        yield from self.respond_to_all(0)
        self.sock.shutdown(socket.SHUT_WR)
        while not self.ended:
            if not (yield from self.wait_for("any")) and not self.ended:
                raise Bad("peer should reply to a FIN")
            self.parse_received_segments()
        if self.ended != "fin" or self.terminated:
            raise Bad(f"should end with a FIN and no Terminate: {self.ended}, "
                      f"Terminate {self.terminated}")

    def run_session(self):
        """Run the whole session."""
        self.todo, self.spoilt_start = collections.deque(), False
        try:
            yield from self.rand.choice((self.initiate, self.respond))()
            if self.sock is None:
                return
            self.spoilt_start = bool(self.spoilt)
            yield from self.exchange_messages()
            yield from self.receive_until_end(self.rand.choice((0, PAUSE, 4 * PAUSE)))
        except Ended:
            # A request for revision 2 may fail if the device has been set to revision 1 since
            # the request was sent.
            if self.right and self.asked in (None, self.w.ones):
                raise Bad(f"ended by {self.ended} in the middle, Terminate "
                          f"{self.terminated}") from None

    def receive_until_end(self, seconds):
        """Receive what still arrives: a Terminate, or the end of the connection."""
        end = time.monotonic() + seconds
        while not self.ended and (left := end - time.monotonic()) > 0:
            yield from self.wait_for("any", 0, left)
            self.parse_received_segments()

    # sockets -----------------------------------------------------------------

    def start_connect(self, port):
        self.set_socket(socket.socket())
        self.sock.connect_ex((SERVER, port))

    def listen(self):
        self.listener = socket.socket()
        self.listener.setblocking(False)
        self.listener.bind((PEER, 0))
        self.listener.listen()

    def set_socket(self, sock):
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock, self.ended = sock, None
        self.buf.clear()
        self.out.clear()

    def close_socket(self):
        """Close with a FIN or a RST."""
        if self.sock:
            if self.rand.random() < 0.4:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                     struct.pack("ii", 1, 0))
            self.sock.close()
        self.sock = None

    def close(self):
        self.close_socket()
        if self.listener:
            self.listener.close()

    def do_pending_io(self):
        """Do all I/O that is possible without blocking."""
        if self.sock is None:
            self.accept()
            return
        try:
            if self.out:
                del self.out[:self.sock.send(self.out)]
        except BlockingIOError:
            pass
        except OSError as why:
            if why.errno != errno.ENOTCONN:      # not connected yet
                self.record_reset()
        try:
            if not self.ended:
                octets = self.sock.recv(1 << 16)
                self.buf += octets
                self.ended = None if octets else "fin"
        except BlockingIOError:
            pass
        except OSError as why:
            if why.errno != errno.ENOTCONN:
                self.record_reset()

    def record_reset(self):
        self.ended = "rst"
        self.out.clear()

    def accept(self):
        with contextlib.suppress(BlockingIOError):
            if self.listener:
                self.set_socket(self.listener.accept()[0])

    def poll_resume_value(self):
        """Return the value with which run_session() is resumed, or None if the session must still
        wait."""
        self.do_pending_io()
        what, count = self.waits
        if what == "call":
            return True if self.sock else self.get_timeout_resume_value()
        if what == "out":
            return True if not self.out and self.ended != "rst" \
                else False if self.ended == "rst" else self.get_timeout_resume_value()
        if self.buf and len(self.buf) >= count:
            return True
        return False if self.ended else self.get_timeout_resume_value()

    def get_timeout_resume_value(self):
        return False if time.monotonic() >= self.deadline else None

    @property
    def file(self):
        return self.sock or self.listener
