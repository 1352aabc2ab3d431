#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Every way for a peer to be wrong (RFC 5041 7, RFC 5040 7, RFC 5044 8).

Each case sends one wrong segment and, behind it, good ones and another wrong
one.  Then there is exactly one Terminate, with the layer, type, code and
quoted headers that the RFCs demand, and a FIN; nothing has been placed; one
counter has risen; the queue pair told of it and flushed its work.
"""

from dataclasses import dataclass, replace
from typing import Callable

from wire import (ACCESS_ERR, FLUSHED, LEN_ERR, QPS_ERR, QP_FATAL, Async, add,
                  rdmap, run, same)

BASE = 0x7FFFFFFFF123       # where every region begins, for its users
SIZE = 1000
RECV = 256
TOP = 1 << 64
# shown by every case here, told of the first
ALWAYS = "DDP-80 DDP-82 DDP-84 DDP-101 DDP-102 DDP-103 DDP-104 DDP-105 " \
         "RDMAP-36 RDMAP-37 RDMAP-40 RDMAP-112 RDMAP-144 RDMAP-145 " \
         "RDMAP-147 RDMAP-151 RDMAP-153 RDMAP-156 DDP-10 RDMAP-5 RDMAP-105 RDMAP-106 " \
         "RDMAP-148 RDMAP-149 RDMAP-150"


class Scene:
    """A connection, and memory with every kind of rights."""

    def __init__(self, w, role, row):
        self.w = w
        self.target = w.shared(SIZE, "lw", 0, BASE)
        self.source = w.shared(SIZE, "r", 0, BASE)
        self.local = w.shared(SIZE, "l", 0, BASE)
        self.foreign = w.shared(SIZE, "lrw", 1, BASE)
        self.inbox = w.shared(4096, "l")
        recvs = [(self.inbox, RECV)] * row.recvs
        call = w.initiate if role == "responder" else w.respond
        self.link = call(recvs=recvs)
        self.peer = self.link.peer
        if row.rights is not None:
            w.mate.do("rights", self.link.conn, row.rights)

    @property
    def regions(self):
        return (self.target, self.source, self.local, self.foreign,
                self.inbox)

    def gone(self):
        """An STag that was valid once."""
        region = self.w.region(SIZE, "lw", 0, BASE)
        region.dereg()
        return region.rkey

    def write(self, stag=None, to=BASE, length=16, **fields):
        stag = self.target.rkey if stag is None else stag
        return replace(rdmap.write(stag, to, b"w" * length), **fields)

    def read(self, stag=None, to=BASE, size=16, msn=1, extra=b"", cut=None,
             **fields):
        stag = self.source.rkey if stag is None else stag
        out = rdmap.ReadRequest(0x1234, 0x5678, size, stag, to).segment(msn)
        return replace(out, payload=(out.payload + extra)[:cut], **fields)

    def send(self, length=16, opcode=rdmap.SEND, **fields):
        return replace(rdmap.send(1, b"s" * length, opcode), **fields)


@dataclass
class Row:
    """One way to be wrong; the last segment that bad() makes is the one."""
    name: str
    rows: str
    what: tuple                     # layer, type, code
    end: str                        # the counter, without end_
    bad: Callable
    recvs: int = 2
    rights: str = None              # of the queue pair
    quoted: bool = None             # None: as RFC 5040 figure 10 has it
    flushed: int = 2                # how many receives are, from the last
    status: int = FLUSHED           # of the first of them

    @property
    def with_ddp(self):
        if self.quoted is not None:
            return self.quoted
        return self.what[:2] in ((0, 1), (0, 2), (1, 1), (1, 2))

    @property
    def event(self):
        layer, etype, code = self.what
        if (layer, etype) == (0, 1) or (layer, etype) == (1, 1) and code < 4:
            return ACCESS_ERR
        return QP_FATAL


def op(opcode, rv=rdmap.RV):
    return rdmap.control(opcode, rv)


TAGGED = [
    Row("unknown STag", "DDP-30 DDP-96 DDP-107 " + ALWAYS, (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.write(s.target.rkey ^ 0x5A5A5A00)]),
    Row("STag with another key", "DDP-96", (1, 1, 0), "ddp_tagged_stag",
        lambda s: [s.write(s.target.rkey ^ 1)]),
    Row("STag that is no more", "DDP-96 DDP-117", (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.write(s.gone())]),
    Row("STag 0", "DDP-96", (1, 1, 0), "ddp_tagged_stag",
        lambda s: [s.write(0)]),
    Row("region without the right", "DDP-97 DDP-127", (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.write(s.source.rkey)]),
    Row("region for local use only", "DDP-97", (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.write(s.local.rkey)]),
    Row("queue pair without the right", "DDP-97", (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.write()], rights="r"),
    Row("TO one below the region", "DDP-98 DDP-116", (1, 1, 1),
        "ddp_tagged_bounds", lambda s: [s.write(to=BASE - 1)]),
    Row("TO at the region's end", "DDP-98", (1, 1, 1), "ddp_tagged_bounds",
        lambda s: [s.write(to=BASE + SIZE, length=1)]),
    Row("TO far beyond", "DDP-98", (1, 1, 1), "ddp_tagged_bounds",
        lambda s: [s.write(to=BASE + (1 << 32))]),
    Row("one octet past the end", "DDP-99 DDP-116 DDP-125", (1, 1, 1),
        "ddp_tagged_bounds",
        lambda s: [s.write(to=BASE + SIZE - 15)]),
    Row("another protection domain", "DDP-109 DDP-111 DDP-123", (1, 1, 2),
        "ddp_tagged_assoc", lambda s: [s.write(s.foreign.rkey)]),
    Row("TO wraps", "DDP-100", (1, 1, 3), "ddp_tagged_wrap",
        lambda s: [s.write(to=TOP - 1, length=2)]),
    *[Row(f"DV {dv}", "DDP-25 MPA-151", (1, 1, 4), "ddp_tagged_version",
          lambda s, dv=dv: [s.write(dv=dv)]) for dv in (0, 2, 3)],
    Row("second segment of a message is wrong", "DDP-99", (1, 1, 1),
        "ddp_tagged_bounds",
        lambda s: [s.write(length=0, last=False),
                   s.write(to=BASE + SIZE - 1, length=2)]),
]

UNTAGGED = [
    Row("QN 4", "DDP-86 DDP-108", (1, 2, 1), "ddp_untagged_qn",
        lambda s: [s.send(qn=4)]),
    Row("QN 0xFFFFFFFF", "DDP-86", (1, 2, 1), "ddp_untagged_qn",
        lambda s: [s.send(qn=0xFFFFFFFF)]),
    Row("no receive posted", "DDP-87 DDP-88 DDP-91", (1, 2, 2),
        "ddp_untagged_no_buffer", lambda s: [s.send()], recvs=0, flushed=0),
    Row("no receive posted for an empty Send", "RDMAP-100 DDP-87", (1, 2, 2),
        "ddp_untagged_no_buffer", lambda s: [s.send(0)], recvs=0, flushed=0),
    Row("MSN 0", "DDP-94", (1, 2, 3), "ddp_untagged_msn_range",
        lambda s: [s.send(msn=0)]),
    Row("MSN skips one", "DDP-94", (1, 2, 3), "ddp_untagged_msn_range",
        lambda s: [s.send(msn=2)]),
    Row("MSN far off", "DDP-94", (1, 2, 3), "ddp_untagged_msn_range",
        lambda s: [s.send(msn=0x80000001)]),
    Row("MO beyond the buffer", "DDP-92", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [s.send(mo=RECV)]),
    Row("MO 1 in a first segment", "DDP-92 DDP-57", (1, 2, 4),
        "ddp_untagged_mo", lambda s: [s.send(mo=1)]),
    Row("MO 0xFFFFFFFF", "DDP-92", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [s.send(mo=0xFFFFFFFF)]),
    Row("one octet too long", "DDP-93 RDMAP-93", (1, 2, 5),
        "ddp_untagged_too_long", lambda s: [s.send(RECV + 1)],
        status=LEN_ERR),
    *[Row(f"DV {dv}, untagged", "DDP-25", (1, 2, 6), "ddp_untagged_version",
          lambda s, dv=dv: [s.send(dv=dv)]) for dv in (0, 2, 3)],
]

# each field of either header has its row
for each in TAGGED + UNTAGGED:
    each.rows += " RDMAP-157"

SHORT = [
    Row(f"segment of {length} octets", "DDP-46", (1, 0, 0), "ddp_short",
        lambda s, octets=octets: [octets])
    for length, octets in ((0, b""), (1, b"\xC1"),
                           (13, bytes.fromhex("C140") + bytes(11)),
                           (17, bytes.fromhex("4143") + bytes(15)))
]

RDMAP = [
    *[Row(f"RV {rv >> 6} in a Send", "RDMAP-22 RDMAP-159", (0, 2, 5),
          "rdmap_version", lambda s, rv=rv: [s.send(ulp=op(3, rv))])
      for rv in (0x00, 0x80, 0xC0)],
    *[Row(f"RV {rv >> 6} in a Write", "RDMAP-22 RDMAP-159", (0, 2, 5),
          "rdmap_version", lambda s, rv=rv: [s.write(ulp=op(0, rv))])
      for rv in (0x00, 0x80, 0xC0)],
    *[Row(f"opcode {code}", "RDMAP-27 RDMAP-158", (0, 2, 6), "rdmap_opcode",
          lambda s, code=code: [s.send(ulp=op(code))])
      for code in range(8, 16)],
    *[Row(f"opcode {code}, tagged", "RDMAP-27 RDMAP-158", (0, 2, 6),
          "rdmap_opcode", lambda s, code=code: [s.write(ulp=op(code))])
      for code in (1, 3, 4, 7, 8, 15)],
    Row("Write, untagged", "RDMAP-158", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.send(ulp=op(0))]),
    Row("Read Response, untagged", "RDMAP-158", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.send(ulp=op(2))]),
    Row("Read Response that nobody asked for", "RDMAP-84 RDMAP-158 DDP-28",
        (0, 2, 6), "rdmap_opcode", lambda s: [s.write(ulp=op(2))]),
    Row("Read Request on QN 0", "RDMAP-158 RDMAP-70", (0, 2, 6),
        "rdmap_opcode", lambda s: [s.read(qn=0)]),
    Row("Send on QN 1", "RDMAP-163 RDMAP-97", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.send(qn=1)]),
    Row("Send on QN 2", "RDMAP-158", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.send(qn=2)]),
    Row("Send on QN 3", "RDMAP-158", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.send(qn=3)]),
    Row("Terminate on QN 0", "RDMAP-110", (0, 2, 6), "rdmap_opcode",
        lambda s: [rdmap.Terminate(0, 2, 6).segment(qn=0)]),
    Row("Terminate with MSN 2", "RDMAP-110", (1, 2, 3),
        "ddp_untagged_msn_range",
        lambda s: [rdmap.Terminate(0, 2, 6).segment(msn=2)]),
    Row("Terminate with MO 4", "RDMAP-110", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [rdmap.Terminate(0, 2, 6).segment(mo=4)]),
    Row("Invalidate STag unknown", "RDMAP-104 RDMAP-160", (0, 2, 9),
        "rdmap_invalidate",
        lambda s: [s.send(opcode=rdmap.SEND_INV,
                          ulp32=s.target.rkey ^ 0x5A5A5A00)]),
    Row("Invalidate STag of another protection domain",
        "RDMAP-102 RDMAP-104 RDMAP-161", (0, 1, 9),
        "rdmap_invalidate_assoc",
        lambda s: [s.send(opcode=rdmap.SEND_SE_INV, ulp32=s.foreign.rkey)]),
    Row("Invalidate STag of an ordinary region", "RDMAP-104 RDMAP-178",
        (0, 2, 9), "rdmap_invalidate",
        lambda s: [s.send(opcode=rdmap.SEND_INV, ulp32=s.target.rkey)]),
]

READ = [
    Row("Read: unknown STag", "RDMAP-165 RDMAP-77 RDMAP-48 RDMAP-155",
        (0, 1, 0), "rdmap_stag",
        lambda s: [s.read(s.source.rkey ^ 0x5A5A5A00)]),
    Row("Read: STag that is no more", "RDMAP-165", (0, 1, 0), "rdmap_stag",
        lambda s: [s.read(s.gone())]),
    Row("Read: TO one below the region", "RDMAP-167", (0, 1, 1),
        "rdmap_bounds", lambda s: [s.read(to=BASE - 1)]),
    Row("Read: TO at the region's end", "RDMAP-167", (0, 1, 1),
        "rdmap_bounds", lambda s: [s.read(to=BASE + SIZE, size=1)]),
    Row("Read: one octet past the end", "RDMAP-168 RDMAP-174", (0, 1, 1),
        "rdmap_bounds", lambda s: [s.read(size=SIZE + 1)]),
    Row("Read: 4 GiB less one", "RDMAP-168", (0, 1, 1), "rdmap_bounds",
        lambda s: [s.read(size=0xFFFFFFFF)]),
    Row("Read: region without the right", "RDMAP-170 RDMAP-176", (0, 1, 2),
        "rdmap_access", lambda s: [s.read(s.target.rkey)]),
    Row("Read: queue pair without the right", "RDMAP-170", (0, 1, 2),
        "rdmap_access", lambda s: [s.read()], rights="w"),
    Row("Read: another protection domain", "RDMAP-166 RDMAP-172", (0, 1, 3),
        "rdmap_assoc", lambda s: [s.read(s.foreign.rkey)]),
    Row("Read: TO wraps", "RDMAP-169", (0, 1, 4), "rdmap_wrap",
        lambda s: [s.read(to=TOP - 1, size=2)]),
    *[Row(f"Read: RV {rv >> 6}", "RDMAP-164", (0, 2, 5), "rdmap_version",
          lambda s, rv=rv: [s.read(ulp=op(1, rv))])
      for rv in (0x00, 0x80, 0xC0)],
    Row("Read: MSN 2", "RDMAP-162 DDP-94", (1, 2, 3),
        "ddp_untagged_msn_range", lambda s: [s.read(msn=2)]),
    Row("Read: MO 28", "RDMAP-162 DDP-92", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [s.read(mo=28)]),
    Row("Read: with data behind it", "RDMAP-29 RDMAP-162", (1, 2, 5),
        "ddp_untagged_too_long", lambda s: [s.read(extra=b"more")]),
    Row("Read: header cut short", "RDMAP-30", (0, 2, 0xFF),
        "rdmap_operation", lambda s: [s.read(cut=27)]),
    Row("Read: without a header", "RDMAP-30", (0, 2, 0xFF),
        "rdmap_operation", lambda s: [s.read(cut=0)]),
]


def check_terminate(term, row, bad):
    same("layer, type, code", term.what, row.what)
    same("reserved bits", term.rsvd, 0)
    if not row.with_ddp:
        same("no headers", (term.length, term.ddp, term.rdma),
             (None, None, None))
        return
    same("DDP Segment Length", term.length, len(bad.pack()))
    same("Terminated DDP Header", term.ddp.hex(), bad.header().hex())
    rdma = bad.payload if row.what[:2] == (0, 1) and bad.ulp & 15 == 1 \
        else None
    same("Terminated RDMA Header", term.rdma, rdma)


def check_flushed(link, count, first):
    for number in range(1, count + 1):
        link.wc(wr=number, status=first if number == 1 else FLUSHED)


def behind(scene):
    """What comes after an error, and must come to nothing."""
    return [scene.write(), scene.send(), scene.write(0), scene.send(dv=3)]


def run_row(w, role, row):
    scene = Scene(w, role, row)
    link = scene.link
    with w.counted(**{"end_" + row.end: 1, "tx_terminates": 1}):
        segments = row.bad(scene)
        link.peer.put_segment(*segments, *behind(scene))
        check_terminate(link.peer.get_terminate(), row, segments[-1])
        link.ended("fin")
        check_flushed(link, row.flushed, row.status)
    w.mate.need(Async, conn=link.conn, event=row.event)
    w.mate.none(Async, timeout=0, conn=link.conn)
    for region in scene.regions:
        # an STag is invalidated at delivery: the data has been placed
        if region is not scene.inbox or row.what[2] != 9:
            region.untouched()
    same("state", w.mate.do("state", link.conn)[0], str(QPS_ERR))


for each in TAGGED + UNTAGGED + SHORT + RDMAP + READ:
    for side in "responder", "initiator":
        add(f"{side}: {each.name}", each.rows, run_row, role=side, row=each)


run()
