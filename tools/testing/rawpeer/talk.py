# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Messages on a stream of the raw peer, independent of the lower layer."""

import contextlib
import os
import random
import time

from . import ddp, rdmap

PATIENCE = 10.0         # seconds to wait for required input
SILENCE = 0.25          # seconds without input that count as silence

_late = random.Random(os.environ["T_LATE"]) if "T_LATE" in os.environ else None
_in_time = []


def delay_step():
    """Delay some steps at random if T_LATE=SEED is set, to imitate a busy machine.

    Called before each step of a test."""
    if _late and not _in_time and _late.random() < 1 / 8:
        time.sleep(_late.uniform(0, 0.3))


@contextlib.contextmanager
def no_delays():
    """Suppress the delays of delay_step() during a with block, whose steps have a time limit."""
    _in_time.append(True)
    try:
        yield
    finally:
        _in_time.pop()


class Closed(Exception):
    """The other side ended the stream (reset false) or reset the connection (reset true)."""

    def __init__(self, reset):
        super().__init__("reset" if reset else "closed")
        self.reset = reset


class Talk:
    """Sends and receives messages; a subclass has send_segments() and receive_segment_bytes()."""

    def __init__(self):
        self.msn = {0: 1, 1: 1, 2: 1, 3: 1}

    def send_segments(self, *segments):
        raise NotImplementedError

    def receive_segment_bytes(self, timeout=PATIENCE):
        """Return the bytes of the next segment."""
        raise NotImplementedError

    def receive_segment(self, timeout=PATIENCE):
        return ddp.parse(self.receive_segment_bytes(timeout))

    def take_next_msn(self, queue):
        msn = self.msn[queue]
        self.msn[queue] = msn + 1 & 0xFFFFFFFF
        return msn

    def send(self, payload=b"", opcode=rdmap.SEND, **fields):
        """Send a complete Send message in one segment."""
        self.send_segments(rdmap.make_send(self.take_next_msn(0), payload, opcode,
                                           **fields))

    def write(self, stag, to, payload=b"", **fields):
        """Send a complete Write message in one segment."""
        self.send_segments(rdmap.make_write(stag, to, payload, **fields))

    def read(self, request, **fields):
        self.send_segments(request.segment(self.take_next_msn(1), **fields))

    def atomic(self, request, **fields):
        self.send_segments(request.segment(self.take_next_msn(1), **fields))

    def receive_message(self, timeout=PATIENCE):
        """Return all segments of the next message."""
        segments = [self.receive_segment(timeout)]
        while not segments[-1].last:
            segments.append(self.receive_segment(timeout))
        return segments

    def receive_terminate(self, timeout=PATIENCE):
        """Return the contents of the next message, which must be a Terminate
        (RDMAP-36)."""
        seg = self.receive_segment(timeout)
        head = (seg.tagged, seg.ulp, seg.last, seg.dv, seg.rsvd)
        if head != (False, rdmap.pack_control(rdmap.TERMINATE), True, 1, 0):
            raise ValueError(f"should be a Terminate: {seg}")
        if (seg.qn, seg.msn, seg.mo, seg.ulp32) != (2, 1, 0, 0):
            raise ValueError(f"a Terminate on the wrong queue or position: {seg}")
        return rdmap.Terminate.parse(seg.payload)

    def receive_until_terminate(self):
        """Receive and ignore segments up to the Terminate. Return the Terminate."""
        while (seg := self.receive_segment()).ulp & 15 != rdmap.TERMINATE:
            pass
        return rdmap.Terminate.parse(seg.payload)

    def close(self):
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
