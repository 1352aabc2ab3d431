# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Run cases for protocol errors: each row describes one error and the expected reaction."""

from dataclasses import dataclass, replace
from typing import Callable

from lib.wire import (ACCESS_ERR, FLUSHED, QPS_ERR, QP_FATAL, Async, connect_with_device_as,
                      add_case_for_both_roles, rdmap, same)

BASE = 0x7FFFFFFFF123       # start of every region, as remote peers address it
SIZE = 1000
RECV = 256
TOP = 1 << 64


class Scene:
    """A connection, and memory with each combination of access rights."""

    def __init__(self, w, role, row):
        self.w = w
        self.target = w.shared(SIZE, "lw", 0, BASE)
        self.source = w.shared(SIZE, "r", 0, BASE)
        self.local = w.shared(SIZE, "l", 0, BASE)
        self.foreign = w.shared(SIZE, "lrw", 1, BASE)
        self.inbox = w.shared(4096, "l")
        recvs = [(self.inbox, RECV)] * row.recvs
        self.link = connect_with_device_as(w, role, recvs=recvs)
        self.peer = self.link.peer
        if row.rights is not None:
            w.server.do("rights", self.link.conn, row.rights)

    @property
    def regions(self):
        return (self.target, self.source, self.local, self.foreign,
                self.inbox)

    def make_deregistered_stag(self, rights="lw"):
        """Return an STag that was valid but is deregistered."""
        region = self.w.register_region(SIZE, rights, 0, BASE)
        region.deregister()
        return region.rkey

    def make_write(self, stag=None, to=BASE, length=16, **fields):
        stag = self.target.rkey if stag is None else stag
        return replace(rdmap.make_write(stag, to, b"w" * length), **fields)

    def make_valid_write_segment(self, **fields):
        """Return a valid segment of a Write that is not the last one. It leaves memory
        unchanged."""
        return self.make_write(payload=b"\x5A" * 16, last=False, **fields)

    def make_valid_write(self):
        """Return a Write of one segment that leaves memory unchanged."""
        return replace(self.make_valid_write_segment(), last=True)

    def make_read(self, stag=None, to=BASE, size=16, msn=1, extra=b"", cut=None,
             **fields):
        stag = self.source.rkey if stag is None else stag
        out = rdmap.ReadRequest(0x1234, 0x5678, size, stag, to).segment(msn)
        return replace(out, payload=(out.payload + extra)[:cut], **fields)

    def make_send(self, length=16, opcode=rdmap.SEND, **fields):
        return replace(rdmap.make_send(1, b"s" * length, opcode), **fields)

    def make_valid_send_segment(self, **fields):
        """Return a valid segment of a Send that is not the last one. It leaves memory
        unchanged."""
        return self.make_send(payload=b"\x5A" * 16, last=False, **fields)


@dataclass
class Row:
    """One protocol error. The last segment that bad() returns is the invalid one."""
    name: str
    rows: str
    what: tuple                     # expected layer, type and code of the Terminate
    end: str                        # name of the expected counter, without end_
    bad: Callable
    recvs: int = 2
    rights: str = None              # access rights of the queue pair
    quoted: bool = None             # whether the Terminate quotes the DDP header; None: as
                                    # in RFC 5040 figure 10
    placed: bool = False            # whether the segments before the error are placed
    flushed: int = 2                # number of receives that are flushed,
                                    # counted from the last
    status: int = FLUSHED           # status of the first flushed receive

    @property
    def quotes_ddp_header(self):
        if self.quoted is not None:
            return self.quoted
        return self.what[:2] in ((0, 1), (0, 2), (1, 1), (1, 2))

    @property
    def event(self):
        layer, etype, code = self.what
        if (layer, etype) == (0, 1) or (layer, etype) == (1, 1) and code < 4:
            return ACCESS_ERR
        return QP_FATAL


def make_control_field(opcode, rv=rdmap.RV):
    return rdmap.pack_control(opcode, rv)


def check_terminate(term, row, bad):
    same("layer, type, code", term.what, row.what)
    same("reserved bits", term.rsvd, 0)
    if not row.quotes_ddp_header:
        same("quoted headers", (term.length, term.ddp, term.rdma),
             (None, None, None))
        return
    same("DDP Segment Length", term.length, len(bad.pack()))
    same("Terminated DDP Header", term.ddp.hex(), bad.header().hex())
    rdma = bad.payload if row.what[:2] == (0, 1) and bad.ulp & 15 == 1 \
        else None
    same("Terminated RDMA Header", term.rdma, rdma)


def check_flushed_receives(link, count, first):
    for number in range(1, count + 1):
        link.expect_wc(wr=number, status=first if number == 1 else FLUSHED)


def make_later_segments(scene):
    """Return segments to send after the error. The device must ignore all of them."""
    return [scene.make_write(), scene.make_send(), scene.make_write(0), scene.make_send(dv=3)]


def check_protocol_error(w, role, row, scene_type):
    scene = scene_type(w, role, row)
    link = scene.link
    with w.expect_counts(**{"end_" + row.end: 1, "tx_terminates": 1}):
        segments = row.bad(scene)
        link.peer.send_segments(*segments, *make_later_segments(scene))
        check_terminate(link.peer.receive_terminate(), row, segments[-1])
        link.expect_end()
        check_flushed_receives(link, row.flushed, row.status)
    w.server.expect_event(Async, conn=link.conn, event=row.event)
    w.server.expect_no_event(Async, conn=link.conn)
    for region in scene.regions:
        # Delivery detects an STag that must not be invalidated, and at delivery the data is already
        # placed
        if region is not scene.inbox or row.what[2] != 9 and not row.placed:
            region.check_untouched()
    same("state", w.server.do("state", link.conn)[0], str(QPS_ERR))
    # by now all events of the end have arrived
    w.check_counter_rises_again()


def add_error_cases(rows, scene_type=Scene):
    """Add two cases for each row: with the device as responder, and as initiator."""
    for row in rows:
        add_case_for_both_roles(row.name, row.rows, check_protocol_error, row=row,
                                scene_type=scene_type)
