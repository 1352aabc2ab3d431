# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""A connection of the raw peer, as initiator or as responder."""

import contextlib
import socket
import struct
import time

from . import mpa
from .talk import PATIENCE, SILENCE, Closed, Talk, delay_step


class Peer(Talk):
    """A TCP connection on which any data can be sent."""

    def __init__(self, sock):
        super().__init__()
        self.sock = sock
        self.early = bytearray()        # received, not yet consumed
        self.refused = False            # a write failed because of a reset
        self.tx = mpa.Writer()
        self.rx = mpa.Reader()
        self.fpdus = []                 # received, not yet consumed
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    # bytes ----------------------------------------------------------------

    def send_bytes(self, octets):
        """Send bytes. If the other side has ended the connection, ignore the error: the next
        receive raises Closed."""
        delay_step()
        try:
            self.sock.sendall(octets)
        except ConnectionResetError:
            self.refused = True
        except BrokenPipeError:
            pass

    def send_split(self, octets, *places, pause=0.002):
        """Send bytes in several TCP segments, divided at the given offsets."""
        edges = [0, *places, len(octets)]
        for start, end in zip(edges, edges[1:]):
            if start == end:
                continue
            self.send_bytes(octets[start:end])
            time.sleep(pause)

    def receive_bytes(self, count, timeout=PATIENCE):
        """Return exactly count bytes, or raise Closed."""
        end = time.monotonic() + timeout
        while len(self.early) < count:
            self.early += self._receive_available(end - time.monotonic())
        octets = bytes(self.early[:count])
        del self.early[:count]
        return octets

    def _receive_available(self, timeout):
        delay_step()
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

    def stays_silent(self, timeout=SILENCE):
        """Check that neither bytes nor the end of the connection arrive in this time."""
        try:
            self.early += self._receive_available(timeout)
        except TimeoutError:
            return True
        except Closed:
            pass
        return False

    def wait_end(self, timeout=PATIENCE):
        """Wait for the end of the connection. Return "fin" or "rst", and the bytes
        received before."""
        end = time.monotonic() + timeout
        before = bytes(self.early)
        self.early.clear()
        while True:
            try:
                before += self._receive_available(end - time.monotonic())
            except Closed as closed:
                return "rst" if closed.reset else "fin", before

    # start-up -------------------------------------------------------------

    def receive_frame(self, timeout=PATIENCE):
        frame = mpa.parse_header(self.receive_bytes(mpa.HEADER, timeout))
        frame.pd = self.receive_bytes(frame.pd_length, timeout)
        return frame

    def enter_full_operation(self, mine, theirs):
        """Enter Full Operation, with CRC and markers as the two frames request."""
        crc = bool((mine.flags | theirs.flags) & mpa.C)
        self.tx = mpa.Writer(bool(theirs.flags & mpa.M), crc)
        self.rx = mpa.Reader(bool(mine.flags & mpa.M), crc)

    def initiate(self, request):
        """Send the Request, receive an accepting Reply, enter Full Operation."""
        self.send_bytes(request.pack())
        reply = self.receive_frame()
        self.enter_full_operation(request, reply)
        return reply

    def respond(self, reply):
        """Receive the Request, send the Reply, enter Full Operation.

        reply: a frame, or a function that is given the Request and returns one."""
        request = self.receive_frame()
        if callable(reply):
            reply = reply(request)
        self.send_bytes(reply.pack())
        self.enter_full_operation(reply, request)
        return request

    # full operation -------------------------------------------------------

    def build_fpdu(self, segment, **wrong):
        """Return the bytes of the next FPDU; segment: a segment, or a ULPDU as bytes."""
        ulpdu = segment if isinstance(segment, bytes) else segment.pack()
        return self.tx.build_fpdu(ulpdu, **wrong)

    def send_segments(self, *segments, **wrong):
        """Send each segment as an FPDU, all in one write."""
        self.send_bytes(b"".join(self.build_fpdu(each, **wrong) for each in segments))

    def receive_fpdu(self, timeout=PATIENCE):
        end = time.monotonic() + timeout
        if self.early:
            self.fpdus += self.rx.feed(bytes(self.early))
            self.early.clear()
        while not self.fpdus:
            self.fpdus += self.rx.feed(self._receive_available(end - time.monotonic()))
        return self.fpdus.pop(0)

    def receive_segment_bytes(self, timeout=PATIENCE):
        return self.receive_fpdu(timeout).ulpdu

    def pop_unread(self):
        """Return the FPDUs that are received and not consumed, without waiting for more."""
        try:
            while True:
                self.fpdus += self.rx.feed(self._receive_available(0.01))
        except (TimeoutError, Closed):
            pass
        left, self.fpdus = self.fpdus, []
        return left

    # end ------------------------------------------------------------------

    def send_fin(self):
        """Send a FIN. Do nothing if the connection has ended: the next receive
        raises Closed."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)

    def send_with_fin(self, octets):
        """Send bytes and a FIN in the same TCP segment."""
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        self.send_bytes(octets)
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Send a RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()
