# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Control raw_server, the test program that uses the device: send commands, receive
replies and events."""

import collections
import subprocess
import threading
import time

from lib.ktap import same
from rawpeer.talk import PATIENCE, delay_step


class Refused(Exception):
    """raw_server replied "err"."""


WC = collections.namedtuple("WC", "conn wr status opcode length flags imm vendor")
CM = collections.namedtuple("CM", "conn event status ord ird pd listener")
Async = collections.namedtuple("Async", "conn event name")
# the peer's start-up message, see the command "peer"
PeerSent = collections.namedtuple("PeerSent", "flags llp revision ird ord pd")


def decode_hex(word):
    return b"" if word == "-" else bytes.fromhex(word)


def parse_event(words):
    kind, words = words[0], words[1:]
    if kind == "wc":
        return WC(*map(int, words[:5]), *(int(w, 16) for w in words[5:8]))
    if kind == "async":
        return Async(int(words[0]), int(words[1]), " ".join(words[2:]))
    return CM(int(words[0]), words[1], *map(int, words[2:5]),
              decode_hex(words[5]), int(words[6]))


class RawServer:
    """A running raw_server, and the events that it has reported."""

    def __init__(self, program, device):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [program, device], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1)
        self.connect_streams(self.process.stdin, self.process.stdout)

    def connect_streams(self, commands, lines):
        """Use commands to write commands, and lines to read replies and events."""
        self.commands, self.lines = commands, lines
        self.lock = threading.Condition()
        self.answers = collections.deque()
        self.events = []
        self.ended = False
        threading.Thread(target=self._read_lines, daemon=True).start()
        self._read_reply("start")

    def _read_lines(self):
        for line in self.lines:
            words = line.split()
            with self.lock:
                if words[0] in ("ok", "err"):
                    self.answers.append(words)
                else:
                    self.events.append(parse_event(words))
                self.lock.notify_all()
        with self.lock:
            self.ended = True
            self.lock.notify_all()

    def _read_reply(self, command):
        with self.lock:
            self.lock.wait_for(lambda: self.answers or self.ended, 30)
            if not self.answers:
                raise RuntimeError("raw_server should reply to the command: "
                                   f"{command}")
            words = self.answers.popleft()
        if words[0] == "err":
            raise Refused(f"{command}: {' '.join(words[1:])}")
        return words[1:]

    @staticmethod
    def _format_command(words):
        return " ".join(w.hex() or "-" if isinstance(w, bytes) else str(w)
                        for w in words) + "\n"

    def do(self, *words):
        """Run one command. Return the words of its reply, or raise Refused."""
        return self.run_commands(words)[0]

    def run_commands(self, *commands):
        """Send several commands together, before the replies are read."""
        delay_step()
        lines = [self._format_command(words) for words in commands]
        self.commands.write("".join(lines))
        return [self._read_reply(line.strip()) for line in lines]

    def find_event(self, kind, timeout=PATIENCE, **fields):
        """Return the next event of that kind with these fields, or None if there is none
        before the timeout. The event stays pending."""
        def find_matching():
            for event in self.events:
                if isinstance(event, kind) and all(
                        getattr(event, k) == v for k, v in fields.items()):
                    return event
            return None

        with self.lock:
            self.lock.wait_for(find_matching, timeout)
            return find_matching()

    def pop_event(self, kind, timeout=PATIENCE, **fields):
        """Like find_event(), but remove the event."""
        with self.lock:
            event = self.find_event(kind, timeout, **fields)
            if event:
                self.events.remove(event)
            return event

    def expect_event(self, kind, timeout=PATIENCE, **fields):
        event = self.pop_event(kind, timeout, **fields)
        if event is None:
            raise AssertionError(
                f"expected {kind.__name__} {fields}; pending events: {self.events}")
        return event

    def expect_no_event_within(self, kind, timeout=0.2, **fields):
        event = self.pop_event(kind, timeout, **fields)
        if event is not None:
            raise AssertionError(f"there should be no {event}")

    def expect_no_event(self, kind, **fields):
        """Check that no such event has been reported until now."""
        # each sync lets raw_server report at most one asynchronous event and one connection
        # manager event
        for _ in range(3):
            self.do("sync")
        self.expect_no_event_within(kind, timeout=0, **fields)

    def drop_events(self, conn):
        """Drop the pending events of a connection."""
        with self.lock:
            self.events = [e for e in self.events if e.conn != conn]

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Region:
    """Memory that raw_server has registered, between guard bytes, filled with 0x5a."""

    def __init__(self, server, size, rights, pd=0, iova=0):
        self.server, self.size = server, size
        words = server.do("mr", size, rights or "-", pd, iova)
        self.number, self.addr, self.rkey, self.lkey = map(int, words)
        self.before = self.read_hash()

    def read_hash(self):
        return self.server.do("hash", self.number)[0]

    def read_bytes(self, offset, length):
        return decode_hex(self.server.do("get", self.number, offset, length)[0])

    def write_bytes(self, offset, octets):
        for at in range(0, len(octets), 4096):
            self.server.do("put", self.number, offset + at,
                           octets[at:at + 4096])
        self.before = self.read_hash()

    def deregister(self):
        self.server.do("dereg", self.number)

    def wait_placed(self, offset, octets):
        """Wait until these bytes have been placed at the offset."""
        end = time.monotonic() + PATIENCE
        while self.read_bytes(offset, len(octets)) != octets:
            if time.monotonic() > end:
                raise AssertionError(f"{octets!r} should be placed")

    def check_untouched(self):
        same("hash of memory that must not change", self.read_hash(), self.before)
