# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""One connection of the raw peer, as initiator or as responder."""

import contextlib
import socket
import struct
import time

from . import mpa
from .talk import PATIENCE, SILENCE, Closed, Talk, dawdle


class Peer(Talk):
    """A TCP connection on which anything may be sent."""

    def __init__(self, sock):
        super().__init__()
        self.sock = sock
        self.early = bytearray()        # read, not yet asked for
        self.refused = False            # reset while it was being written
        self.tx = mpa.Writer()
        self.rx = mpa.Reader()
        self.fpdus = []                 # read, not yet asked for
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    # octets ---------------------------------------------------------------

    def put(self, octets):
        """Who ends it meanwhile is noticed by who reads."""
        dawdle()
        try:
            self.sock.sendall(octets)
        except ConnectionResetError:
            self.refused = True
        except BrokenPipeError:
            pass

    def put_split(self, octets, *places, pause=0.002):
        """In several TCP segments, cut at places."""
        edges = [0, *places, len(octets)]
        for start, end in zip(edges, edges[1:]):
            if start == end:
                continue
            self.put(octets[start:end])
            time.sleep(pause)

    def get(self, count, timeout=PATIENCE):
        """Exactly count octets, or Closed."""
        end = time.monotonic() + timeout
        while len(self.early) < count:
            self.early += self._recv(end - time.monotonic())
        octets = bytes(self.early[:count])
        del self.early[:count]
        return octets

    def _recv(self, timeout):
        dawdle()
        self.sock.settimeout(max(timeout, 0.001))
        try:
            octets = self.sock.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            raise Closed(True) from None
        finally:
            self.sock.settimeout(None)
        if not octets:
            raise Closed(self.refused)
        return octets

    def silent(self, timeout=SILENCE):
        """Does nothing come, not even the end?"""
        try:
            self.early += self._recv(timeout)
        except TimeoutError:
            return True
        except Closed:
            pass
        return False

    def wait_end(self, timeout=PATIENCE):
        """Waits for the end; returns "fin" or "rst", and what came before."""
        end = time.monotonic() + timeout
        before = bytes(self.early)
        self.early.clear()
        while True:
            try:
                before += self._recv(end - time.monotonic())
            except Closed as closed:
                return "rst" if closed.reset else "fin", before

    # start-up -------------------------------------------------------------

    def get_frame(self, timeout=PATIENCE):
        frame = mpa.parse_header(self.get(mpa.HEADER, timeout))
        frame.pd = self.get(frame.pd_length, timeout)
        return frame

    def full(self, mine, theirs):
        """Full Operation as the two frames agree."""
        crc = bool((mine.flags | theirs.flags) & mpa.C)
        self.tx = mpa.Writer(bool(theirs.flags & mpa.M), crc)
        self.rx = mpa.Reader(bool(mine.flags & mpa.M), crc)

    def initiate(self, request):
        """Request out, accepting Reply in, Full Operation."""
        self.put(request.pack())
        reply = self.get_frame()
        self.full(request, reply)
        return reply

    def respond(self, reply):
        """Request in, Reply out (reply may be a function of it)."""
        request = self.get_frame()
        if callable(reply):
            reply = reply(request)
        self.put(reply.pack())
        self.full(reply, request)
        return request

    # full operation -------------------------------------------------------

    def fpdu(self, segment, **wrong):
        """The octets of the next FPDU; segment may be bare octets."""
        ulpdu = segment if isinstance(segment, bytes) else segment.pack()
        return self.tx.fpdu(ulpdu, **wrong)

    def put_segment(self, *segments, **wrong):
        """Each as an FPDU, in one write."""
        self.put(b"".join(self.fpdu(each, **wrong) for each in segments))

    def get_fpdu(self, timeout=PATIENCE):
        end = time.monotonic() + timeout
        if self.early:
            self.fpdus += self.rx.feed(bytes(self.early))
            self.early.clear()
        while not self.fpdus:
            self.fpdus += self.rx.feed(self._recv(end - time.monotonic()))
        return self.fpdus.pop(0)

    def get_octets(self, timeout=PATIENCE):
        return self.get_fpdu(timeout).ulpdu

    def unread(self):
        """FPDUs that have come and nobody asked for; never waits long."""
        try:
            while True:
                self.fpdus += self.rx.feed(self._recv(0.01))
        except (TimeoutError, Closed):
            pass
        left, self.fpdus = self.fpdus, []
        return left

    # the end --------------------------------------------------------------

    def half_close(self):
        """Who has ended all of it meanwhile: see put()."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()
