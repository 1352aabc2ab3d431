# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Messages on a stream of the raw peer, whatever lies below it."""

import contextlib
import os
import random
import time

from . import ddp, rdmap

PATIENCE = 10.0         # seconds for what has to come
SILENCE = 0.25          # seconds in which what must not come would have come

_late = random.Random(os.environ["T_LATE"]) if "T_LATE" in os.environ else None
_in_time = []


def dawdle():
    """Stands before each step.  T_LATE=SEED: some come late, as on a busy machine."""
    if _late and not _in_time and _late.random() < 1 / 8:
        time.sleep(_late.uniform(0, 0.3))


@contextlib.contextmanager
def punctual():
    """So many steps that they would take longer than their end may."""
    _in_time.append(True)
    try:
        yield
    finally:
        _in_time.pop()


class Closed(Exception):
    """The other side ended the stream, or all below it if reset."""

    def __init__(self, reset):
        super().__init__("reset" if reset else "closed")
        self.reset = reset


class Talk:
    """Sends and reads messages; put_segment() and get_octets() are below."""

    def __init__(self):
        self.msn = {0: 1, 1: 1, 2: 1, 3: 1}

    def put_segment(self, *segments):
        raise NotImplementedError

    def get_octets(self, timeout=PATIENCE):
        """Those of the next segment."""
        raise NotImplementedError

    def get_segment(self, timeout=PATIENCE):
        return ddp.parse(self.get_octets(timeout))

    def next_msn(self, queue):
        msn = self.msn[queue]
        self.msn[queue] = msn + 1 & 0xFFFFFFFF
        return msn

    def send(self, payload=b"", opcode=rdmap.SEND, **fields):
        """A whole Send in one segment."""
        self.put_segment(rdmap.send(self.next_msn(0), payload, opcode,
                                    **fields))

    def read(self, request, **fields):
        self.put_segment(request.segment(self.next_msn(1), **fields))

    def atomic(self, request, **fields):
        self.put_segment(request.segment(self.next_msn(1), **fields))

    def get_message(self, timeout=PATIENCE):
        """All segments of the next message."""
        segments = [self.get_segment(timeout)]
        while not segments[-1].last:
            segments.append(self.get_segment(timeout))
        return segments

    def get_terminate(self, timeout=PATIENCE):
        """The next message must be a Terminate (RDMAP-36): its contents."""
        seg = self.get_segment(timeout)
        head = (seg.tagged, seg.ulp, seg.last, seg.dv, seg.rsvd)
        if head != (False, rdmap.control(rdmap.TERMINATE), True, 1, 0):
            raise ValueError(f"not a Terminate: {seg}")
        if (seg.qn, seg.msn, seg.mo, seg.ulp32) != (2, 1, 0, 0):
            raise ValueError(f"a Terminate in the wrong place: {seg}")
        return rdmap.Terminate.parse(seg.payload)

    def drain(self):
        """Reads on to the Terminate, whatever comes before it."""
        while (seg := self.get_segment()).ulp & 15 != rdmap.TERMINATE:
            pass
        return rdmap.Terminate.parse(seg.payload)

    def close(self):
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
