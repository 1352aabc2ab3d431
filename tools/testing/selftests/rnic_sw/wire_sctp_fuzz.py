#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Like wire_fuzz.py, over SCTP: an association has several sessions, each on a different
stream. Some sessions are valid to the end and some are not.

The messages of a valid session are sent in any order, and the session must end gracefully,
whatever the other sessions do. wire_fuzz.py describes T_SEED and the other variables.
T_FIRST counts parties: a party is a listener, its associations and their sessions.
"""

import collections
import contextlib
import random
import select
import socket
import struct
import time

from lib import ktap
import wire_fuzz
from lib import wire_sctp
from lib.fuzz_session import Bad, Ended, PATIENCE, PAUSE, PORT, Session
from lib.fuzzing import Spoiler, flip_random_bits
from rawpeer import ddp, mpa, sctp
from rawpeer.sctp import (ACCEPT, CONTROL, E_ACCEPT, E_INITIATE, INITIATE,
                          TERMINATE, Control)
from lib.wire import SERVER, PEER, setting
from lib.wire_sctp import make_accept, make_enhanced_control

STREAMS = 8

# A peer that sends many chunks out of order may reach the limit of queued chunks
wire_fuzz.NEVER.discard("end_no_memory")


def has_function_code(chunk, *codes):
    """Check whether the chunk is a control message with one of these function codes."""
    return chunk.ppid == CONTROL and \
        int.from_bytes(chunk.octets[2:4], "big") in codes


def is_initiate(chunk):
    return chunk.ssn == 0 and has_function_code(chunk, INITIATE, E_INITIATE)


class Stream(sctp.Stream):
    """A stream, and the session that owns it. DDP-SSN 0 starts a new session, because the peer
    may have ended the previous one for an error sent by this side."""

    owner = None
    terminated = False      # the owner has sent a Terminate, or a message that may
                            # look like one
    strays = False          # chunks were sent outside a session, which the next
                            # session may receive

    def send_chunk(self, body, ppid=CONTROL, **how):
        self.strays |= self.terminated or not self.owner
        self.terminated |= ppid == CONTROL and \
            body[:2] == struct.pack(">H", TERMINATE)
        super().send_chunk(body, ppid, **how)

    def send_raw_message(self, octets, ppid):
        """Send a message without any header, not even a DDP-SSN."""
        self.strays |= self.terminated
        self.assoc.send_message(self.sid, octets, ppid)

    def assign_to_session(self, session):
        """Give the stream to a session. Return true if chunks that were sent before may end
        the session immediately."""
        strays, self.owner, self.ssn = self.strays, session, 0
        self.strays = self.terminated = False
        return strays

    def check_and_order_chunk(self, chunk):
        if chunk.ssn == 0:
            self.due = 0
        super().check_and_order_chunk(chunk)

    def has_chunk_of_ended_session(self):
        """Check whether the first received chunk belongs to a session that has already
        ended."""
        nobody = not self.owner or self.owner.done
        return nobody and self.came and not is_initiate(self.came[0])


class Association(sctp.Association):
    """An association whose streams have owners: sessions."""

    def __init__(self, sock):
        super().__init__(sock)
        self.unused = list(range(STREAMS))

    def stream(self, sid):
        if sid not in self.streams:
            self.streams[sid] = Stream(self, sid)
        return self.streams[sid]


class SctpSession(Session):
    """A session on one stream. run_session() yields pairs: a condition to wait for, and the time
    limit in seconds."""

    SPOILER = Spoiler

    def __init__(self, party, number):
        super().__init__(party.w, number, party.seed)
        self.party, self.stream, self.over = party, None, False
        self.private_data, self.done = b"", False
        self.disturbed = False  # chunks that preceded the session may have ended it
        self.request = None
        self.todo = collections.deque()

    def build_fpdu(self, ulpdu, **_):
        """Prefix the ULPDU with its length, so that joined segments can be separated
        again."""
        return struct.pack(">I", len(ulpdu)) + ulpdu

    @staticmethod
    def split_segments(octets):
        while octets:
            size, = struct.unpack(">I", octets[:4])
            yield octets[4:4 + size]
            octets = octets[4 + size:]

    # waiting --------------------------------------------------------------

    def wait_until(self, condition, seconds=PATIENCE):
        assoc = self.stream and self.stream.assoc
        return (yield lambda: condition() or assoc and assoc.ended, seconds)

    def receive_chunk(self, seconds=PATIENCE):
        yield from self.wait_until(lambda: self.stream.came, seconds)
        if not self.stream.came:
            raise Ended
        return self.stream.came.popleft()

    # sending --------------------------------------------------------------

    def is_stream_owner(self):
        """Check whether the stream still belongs to this session, and not to the next one."""
        return self.stream.owner is self

    def call_if_owner(self, call, *arguments, **fields):
        if not self.is_stream_owner():
            raise Ended
        try:
            call(*arguments, **fields)
        except OSError:
            raise Ended from None

    def send_valid_segments(self, segments):
        order = list(range(len(segments)))
        if self.rand.random() < 0.5:
            self.rand.shuffle(order)
        self.call_if_owner(self.stream.send_reordered, order, *segments)

    def send_invalid_segment(self, segment):
        self.spoilt += 1
        if self.rand.random() < 0.5:
            way, octets = self.spoiler.spoil(segment)
            self.ways.append(way)
            for body in self.split_segments(octets):
                self.call_if_owner(self.stream.send_segments, body)
            return
        way = self.rand.choice(self.WAYS)
        self.ways.append(way.__name__)
        way(self, segment.pack())

    def send_body(self, body, *more, **fields):
        self.call_if_owner(self.stream.send_chunk, body, *more, **fields)

    # methods that send invalid chunks

    def send_with_other_ssn(self, body):
        ssn = self.stream.ssn + self.rand.choice(
            (1, 2, 100, -1, -100, 32766, 32767, 32768, -32768,
             self.rand.getrandbits(16)))
        self.send_body(body, sctp.SEGMENT, ssn=ssn % sctp.SSNS)

    def send_ssn_twice(self, body):
        ssn = self.stream.ssn
        self.send_body(body, sctp.SEGMENT)
        self.send_body(flip_random_bits(self.rand, body), sctp.SEGMENT, ssn=ssn)

    def send_after_gap(self, body):
        self.stream.take_next_ssn()
        self.send_body(body, sctp.SEGMENT)

    def send_with_other_ppid(self, body):
        self.send_body(body, self.rand.choice((0, 15, 17, 18,
                                               self.rand.getrandbits(32))))

    def send_ordered(self, body):
        self.send_body(body, sctp.SEGMENT, unordered=False)

    def send_on_other_stream(self, body):
        assoc = self.stream.assoc
        stream = assoc.unused and assoc.stream(assoc.unused.pop())
        if stream and not stream.owner:
            self.call_if_owner(stream.send_segments, body)

    def send_random_control(self, _):
        code = self.rand.choice((*range(9), self.rand.getrandbits(16)))
        self.send_body(Control(code, self.rand.randbytes(
            self.rand.choice((0, 3, 4, 100, 512, 513, 1500)))).pack())

    def send_random_message(self, _):
        self.call_if_owner(self.stream.send_raw_message,
                           self.rand.randbytes(self.rand.choice((1, 2, 3, 4, 50))),
                           self.rand.choice((16, 17)))

    def send_long_segment(self, body):
        self.send_body(body + bytes(self.rand.choice((1500, 20000, 60000))),
                       sctp.SEGMENT)

    def terminate_and_maybe_send_segment(self, body):
        self.call_if_owner(self.stream.terminate)
        if self.rand.random() < 0.5:
            self.send_body(body, sctp.SEGMENT)

    WAYS = (send_with_other_ssn, send_with_other_ssn, send_ssn_twice, send_after_gap,
            send_with_other_ppid, send_ordered,
            send_on_other_stream, send_random_control, send_random_control, send_random_message,
            send_long_segment, terminate_and_maybe_send_segment)

    # start-up -------------------------------------------------------------

    def pack_control_maybe_invalid(self, control):
        body, rand = control.pack(), self.rand
        if self.right or rand.random() < 0.8:
            return body
        self.spoilt += 1
        return rand.choice((
            lambda: flip_random_bits(rand, body[:6]) + body[6:],
            lambda: body[:rand.randrange(len(body))],
            lambda: body + rand.randbytes(rand.randrange(1, 600)),
            lambda: struct.pack(">H", rand.randrange(10)) + body[2:],
            lambda: rand.randbytes(rand.randrange(60)),
        ))()

    def initiate(self):
        rand = self.rand
        assoc = self.party.choose_or_open_association()
        self.stream = assoc.stream(assoc.unused.pop())
        self.stream.assign_to_session(self)
        pd = bytes([self.choose_actions()]) + rand.randbytes(rand.randrange(9))
        request = rand.choice((
            Control(INITIATE, pd), make_enhanced_control(E_INITIATE, pd),
            make_enhanced_control(E_INITIATE, pd, 4, 4, mpa.A | mpa.CC)))
        self.send_body(self.pack_control_maybe_invalid(request))
        reply = (yield from self.receive_chunk(
            10 * PAUSE if self.spoilt else PATIENCE)).contents
        if self.right and reply.code not in (ACCEPT, E_ACCEPT):
            raise Bad(f"Initiate should be accepted, got {reply}")
        if reply.code not in (ACCEPT, E_ACCEPT):
            self.over = reply.code == TERMINATE
            raise Ended
        self.send_valid_segments(self.messages.make_write())

    def respond(self):
        actions, number = self.choose_actions(), self.number % (1 << 16)
        self.private_data = struct.pack(">BH", actions, number)
        self.w.server.do("call", PEER, self.party.port, actions, number)
        if not (yield from self.wait_until(self.claim_stream)):
            raise Bad("an Initiate should arrive") if self.right else Ended
        if self.request.code != E_INITIATE:
            raise Bad(f"Initiate should be enhanced: {self.request}")
        self.send_body(self.pack_control_maybe_invalid(make_accept(self.request)))

    def is_requested_initiate(self, chunk):
        """Check whether the chunk is the Initiate that this session has requested: its Private Data
        after the enhanced word is the session's."""
        return is_initiate(chunk) and chunk.contents.pd[4:] == self.private_data

    def claim_stream(self):
        """Find the stream on which the requested Initiate has arrived."""
        for assoc in self.party.called:
            for stream in assoc.streams.values():
                while stream.has_chunk_of_ended_session():
                    stream.came.popleft()
                if stream.came and self.is_requested_initiate(stream.came[0]):
                    self.stream = stream
                    self.disturbed = stream.assign_to_session(self)
                    self.request = stream.came.popleft().contents
                    return True
        return False

    # messages -------------------------------------------------------------

    def parse_received_segments(self):
        while self.stream.came and not self.over:
            if not self.is_stream_owner() or is_initiate(self.stream.came[0]):
                # the chunk belongs to the next session, so this one has ended
                self.over = True
                return
            chunk = self.stream.came.popleft()
            if chunk.ppid == sctp.SEGMENT:
                self.process_segment_bytes(chunk.octets[2:])
            elif chunk.contents.code == TERMINATE:
                self.over = True
            elif not self.spoilt:
                raise Bad(f"control message in a session: {chunk.contents}")

    def process_segment_bytes(self, octets):
        try:
            self.check_and_record_segment(ddp.parse(octets))
        except (ValueError, struct.error, IndexError) as why:
            raise Bad(f"kernel sent malformed data: {why}") from why

    def respond_to_all(self, chance):
        self.parse_received_segments()
        while self.todo:
            self.send_segments_maybe_invalid(self.make_response_segments(self.todo.popleft()), chance)

    def send_segments_maybe_invalid(self, segments, chance):
        if self.rand.random() >= chance:
            self.send_valid_segments(segments)
            return
        for segment in segments:
            self.send_invalid_segment(segment)

    def exchange_messages(self):
        rand = self.rand
        for _ in range(rand.randrange(6)):
            batch = self.messages.make_random_message()
            if rand.random() < 0.3:
                batch += self.messages.make_random_message()
            self.send_segments_maybe_invalid(batch, 0)
            self.respond_to_all(0)
            yield from self.wait_until(lambda: True, 0)
        if self.right:
            yield from self.end_gracefully()
            return
        for _ in range(rand.randint(1, 4)):
            self.send_segments_maybe_invalid(self.messages.make_random_message(), 0.8)
            yield from self.wait_until(lambda: self.stream.came,
                                       rand.choice((0, PAUSE)))
            self.respond_to_all(0.3)

    def raise_failure(self, why):
        if self.disturbed:
            raise Ended
        raise Bad(f"{why}, Terminate {self.terminated}")

    def end_gracefully(self):
        messages, end = self.messages, time.monotonic() + PATIENCE
        while (self.got, self.got_atomics) != (messages.due,
                                               messages.atomics):
            if self.over:
                self.raise_failure("ended by the peer")
            yield from self.wait_until(lambda: self.stream.came,
                                       end - time.monotonic())
            if not self.stream.came:
                self.raise_failure(f"{self.got} of {messages.due} bytes read, "
                                   f"{self.got_atomics} of {messages.atomics} atomics, "
                                   f"then {self.stream.assoc.ended or 'nothing'}")
            self.respond_to_all(0)
        yield from self.wait_until(lambda: self.stream.came, PAUSE)
        self.respond_to_all(0)
        self.call_if_owner(self.stream.terminate)
        while not self.over:
            yield from self.wait_until(lambda: self.stream.came)
            if not self.stream.came:
                self.raise_failure("no Terminate in reply to ours, association "
                                   f"{self.stream.assoc.ended}")
            self.parse_received_segments()
        if self.terminated:
            self.raise_failure("a Terminate in a valid session")

    def run_session(self):
        try:
            yield from self.rand.choice((self.initiate, self.respond))()
            yield from self.exchange_messages()
            yield from self.wait_until(lambda: self.over,
                                       self.rand.choice((0, PAUSE)))
            self.parse_received_segments()
        except Ended:
            if self.right and not self.disturbed:
                raise Bad("ended in the middle, Terminate "
                          f"{self.terminated}") from None


class Party:
    """A listener, associations in both directions, and their sessions."""

    def __init__(self, w, number, seed):
        self.w, self.seed = w, seed
        self.rand = random.Random(f"{seed} {number}")
        self.sessions = [SctpSession(self, 16 * number + n)
                         for n in range(self.rand.randint(1, 6))]
        self.own, self.called = [], []
        self.listener = self.socket()
        self.listener.bind((PEER, 0))
        self.listener.listen()
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]

    @staticmethod
    def socket():
        return sctp.set_socket_options(socket.socket(
            socket.AF_INET, socket.SOCK_STREAM, sctp.PROTOCOL),
            streams=STREAMS)

    def choose_or_open_association(self):
        """Return an association with a free stream. With a certain probability use an existing
        one."""
        for assoc in self.own:
            if assoc.unused and not assoc.ended and self.rand.random() < 0.8:
                return assoc
        self.own.append(Association.connect(self.socket(), (SERVER, PORT)))
        return self.own[-1]

    def do_pending_io(self, seconds):
        files = {assoc.sock.fileno(): assoc for assoc in self.own + self.called
                 if not assoc.ended}
        poll = select.poll()
        for number in (*files, self.listener.fileno()):
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(seconds * 1000):
            if number in files:
                self.receive(files[number])
            else:
                with contextlib.suppress(OSError):
                    self.called.append(Association(self.listener.accept()[0]))

    @staticmethod
    def receive(assoc):
        with contextlib.suppress(TimeoutError):
            try:
                assoc.receive_input(0.001)
            except sctp.Malformed as why:
                raise Bad(f"kernel sent malformed data: {why}") from why

    def run(self):
        active = {s: s.run_session() for s in self.sessions}
        waits = {s: (lambda: True, 0) for s in active}
        first = set(active)
        while active:
            now, moved = time.monotonic(), False
            for session in list(active):
                condition, end = waits[session]
                true = bool(condition())
                if not true and now < end:
                    continue
                moved = True
                try:
                    condition, seconds = active[session].send(
                        None if session in first else true)
                    first.discard(session)
                    waits[session] = condition, now + seconds
                except StopIteration:
                    session.done = True
                    del active[session]
                except Bad as why:
                    raise Bad(f"session {session.number}: {why}; "
                              f"{session.ways}") from why
            self.do_pending_io(0 if moved else 0.01)

    def close(self):
        for assoc in self.own + self.called:
            if self.rand.random() < 0.3:
                assoc.abort()
            else:
                assoc.close()
        self.listener.close()


class Parties:
    """Runs parties one after the other. Has the interface of wire_fuzz.Crowd."""

    def __init__(self, w, numbers, seed):
        self.w, self.numbers, self.seed = w, numbers, seed
        self.count = self.good = self.spoilt = 0
        self.bad = []

    def run(self):
        for number in self.numbers:
            party = Party(self.w, number, self.seed)
            try:
                party.run()
            except Bad as why:
                self.bad.append(f"party {number}: {why}")
            self.count += len(party.sessions)
            self.good += sum(s.right for s in party.sessions)
            self.spoilt += sum(s.spoilt for s in party.sessions)
            party.close()
            if self.bad:
                return


class SctpFuzzWire(wire_fuzz.FuzzWire):
    """The topology of the wire tests, with fuzz_server over SCTP."""

    crowd = Parties

    def _set_up(self):
        wire_sctp.load_sctp_modules_or_skip_all()
        super()._set_up()
        setting("connect", "sctp")

    def _create_topology(self):
        super()._create_topology()
        setting("listen", "both")


if __name__ == "__main__":
    ktap.run(SctpFuzzWire)
