#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test every error of RFC 7306 that a peer can make, like wire_errors.py for the other
RFCs.

First come errors in the peer's requests, then errors in its responses to the device's
atomics, then local errors.
"""

from dataclasses import dataclass, replace
from typing import Callable

from lib.wire import (FLUSHED, LEN_ERR, LOC_PROT_ERR, LOC_QP_OP_ERR, QP_FATAL,
                      REM_ACCESS_ERR, REM_OP_ERR, REQ_ERR, SUCCESS, Async,
                      connect_with_device_as, check, ddp, add_case_for_both_roles, rdmap, run, same)
from lib.wire_scene import BASE, SIZE, TOP, Row, Scene, add_error_cases, make_control_field

WORD = BASE + 5             # first multiple of 8 in a region
OVER = BASE + SIZE - 3      # first address whose 8 bytes are not all in the
                            # region
OPERATION = (0, 2, 0xFF), "rdmap_operation"
TOO_LONG = (1, 2, 5), "ddp_untagged_too_long"
OPCODE = (0, 2, 6), "rdmap_opcode"
MISALIGNED = (0, 2, 7), "rdmap_stream"


class ExtendScene(Scene):
    """A scene with memory for atomics."""

    def __init__(self, w, role, row):
        self.word = w.shared(SIZE, "lrwa", 0, BASE)
        self.plain = w.shared(SIZE, "lrw", 0, BASE)
        super().__init__(w, role, row)
        self.foreign = w.shared(SIZE, "lrwa", 1, BASE)

    @property
    def regions(self):
        return (*super().regions, self.word, self.plain)

    def make_atomic(self, stag=None, to=WORD, code=rdmap.FETCH_ADD, msn=1,
               octets=slice(None), extra=b"", **fields):
        """Return an atomic request that would change the memory if the device executed
        it."""
        request = rdmap.AtomicRequest(
            code, 0x12345678, self.word.rkey if stag is None else stag, to,
            1, rdmap.ALL, compare_mask=0)
        payload = (request.pack() + extra)[octets]
        return replace(request.segment(msn, payload=payload), **fields)

    def make_response(self, **fields):
        return replace(rdmap.AtomicResponse(1, 2).segment(1), **fields)

    def make_immediate(self, length=8, opcode=rdmap.IMMEDIATE, **fields):
        return replace(rdmap.make_immediate(1, b"i" * length, opcode), **fields)

    def make_tagged(self, opcode):
        return self.make_write(self.word.rkey, WORD, 8, ulp=make_control_field(opcode))


ATOMIC = [
    *[Row(f"atomic: code {code}", "EXT-44 EXT-86", *OPCODE,
          lambda s, code=code: [s.make_atomic(code=code)])
      for code in (1, 3, 4, 8, 15)],
    *[Row(f"FetchAdd {off} above a multiple of 8",
          "EXT-16 EXT-17 EXT-18 EXT-90 EXT-91 EXT-86", *MISALIGNED,
          lambda s, off=off: [s.make_atomic(to=WORD + off)])
      for off in range(1, 8)],
    *[Row(f"CmpSwap {off} above a multiple of 8",
          "EXT-29 EXT-30 EXT-31 EXT-90 EXT-91 EXT-86", *MISALIGNED,
          lambda s, off=off: [s.make_atomic(to=WORD + off, code=rdmap.CMP_SWAP)])
      for off in (1, 2, 4, 7)],
    Row("atomic: at the odd base of its region", "EXT-38", *MISALIGNED,
        lambda s: [s.make_atomic(to=BASE)]),
    Row("atomic: unknown STag", "EXT-92", (0, 1, 0), "rdmap_stag",
        lambda s: [s.make_atomic(s.word.rkey ^ 0x5A5A5A00)]),
    Row("atomic: STag with another key", "EXT-92", (0, 1, 0), "rdmap_stag",
        lambda s: [s.make_atomic(s.word.rkey ^ 1)]),
    Row("atomic: STag that was deregistered", "EXT-92", (0, 1, 0), "rdmap_stag",
        lambda s: [s.make_atomic(s.make_deregistered_stag("lrwa"))]),
    Row("atomic: STag 0", "EXT-92", (0, 1, 0), "rdmap_stag",
        lambda s: [s.make_atomic(0)]),
    Row("atomic: partly below the region", "EXT-92", (0, 1, 1),
        "rdmap_bounds", lambda s: [s.make_atomic(to=WORD - 8)]),
    Row("atomic: partly past the end", "EXT-92", (0, 1, 1),
        "rdmap_bounds", lambda s: [s.make_atomic(to=OVER)]),
    Row("atomic: all of it past the end", "EXT-92", (0, 1, 1),
        "rdmap_bounds", lambda s: [s.make_atomic(to=OVER + 8)]),
    Row("atomic: far beyond the region", "EXT-92", (0, 1, 1), "rdmap_bounds",
        lambda s: [s.make_atomic(to=WORD + (1 << 32))]),
    Row("atomic: region without the access right", "EXT-92", (0, 1, 2),
        "rdmap_access", lambda s: [s.make_atomic(s.plain.rkey)]),
    Row("CmpSwap: region without the access right", "EXT-92", (0, 1, 2),
        "rdmap_access",
        lambda s: [s.make_atomic(s.plain.rkey, code=rdmap.CMP_SWAP)]),
    Row("atomic: region for local use only", "EXT-92", (0, 1, 2),
        "rdmap_access", lambda s: [s.make_atomic(s.local.rkey)]),
    Row("atomic: queue pair without the access right", "EXT-92", (0, 1, 2),
        "rdmap_access", lambda s: [s.make_atomic()], rights="rw"),
    Row("atomic: another protection domain", "EXT-92", (0, 1, 3),
        "rdmap_assoc", lambda s: [s.make_atomic(s.foreign.rkey)]),
    Row("atomic: TO wraps", "EXT-92", (0, 1, 4), "rdmap_wrap",
        lambda s: [s.make_atomic(to=TOP - 8)]),
    *[Row(f"atomic: header of {cut} bytes", "EXT-87 EXT-34", *OPERATION,
          lambda s, cut=cut: [s.make_atomic(octets=slice(cut))])
      for cut in (0, 28, 51)],
    Row("atomic: header of 53 bytes", "EXT-87 EXT-34 EXT-8", *TOO_LONG,
        lambda s: [s.make_atomic(extra=b"x")]),
    *[Row(f"atomic: RV {rv >> 6}", "EXT-89", (0, 2, 5), "rdmap_version",
          lambda s, rv=rv: [s.make_atomic(ulp=make_control_field(rdmap.ATOMIC_REQUEST, rv))])
      for rv in (0x00, 0x80, 0xC0)],
    *[Row(f"atomic: DV {dv}", "EXT-87", (1, 2, 6), "ddp_untagged_version",
          lambda s, dv=dv: [s.make_atomic(dv=dv)]) for dv in (0, 2, 3)],
    Row("atomic: MSN 2", "EXT-87", (1, 2, 3), "ddp_untagged_msn_range",
        lambda s: [s.make_atomic(msn=2)]),
    Row("atomic: MO 52", "EXT-87", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [s.make_atomic(mo=52)]),
    *[Row(f"atomic: on QN {qn}", "EXT-88 EXT-32 EXT-45", *OPCODE,
          lambda s, qn=qn: [s.make_atomic(qn=qn)]) for qn in (0, 2, 3)],
    Row("atomic: on QN 4", "EXT-87", (1, 2, 1), "ddp_untagged_qn",
        lambda s: [s.make_atomic(qn=4)]),
    Row("Atomic Response without a request", "EXT-56 DDP-87", (1, 2, 2),
        "ddp_untagged_no_buffer", lambda s: [s.make_response()]),
    *[Row(f"Atomic Response on QN {qn}", "EXT-88 EXT-33 EXT-52", *OPCODE,
          lambda s, qn=qn: [s.make_response(qn=qn)]) for qn in (0, 1, 2)],
]

# EXT-86: the Terminate quotes the RDMA header of Read Requests only, not that of an Atomic Request
for each in ATOMIC:
    if each.what[:2] == (0, 1):
        each.rows += " EXT-86"

IMMEDIATE = [
    *[Row(f"Immediate Data of {length} bytes", "EXT-77 EXT-69 EXT-86",
          *OPERATION, lambda s, length=length: [s.make_immediate(length)])
      for length in (0, 1, 4, 7)],
    *[Row(f"Immediate Data of {length} bytes", "EXT-77 EXT-69 EXT-8",
          *TOO_LONG, lambda s, length=length: [s.make_immediate(length)],
          status=LEN_ERR) for length in (9, 16)],
    Row("Immediate Data with Solicited Event of 7 bytes", "EXT-77", *OPERATION,
        lambda s: [s.make_immediate(7, rdmap.IMMEDIATE_SE)]),
    Row("Immediate Data with Solicited Event of 9 bytes", "EXT-77",
        *TOO_LONG, lambda s: [s.make_immediate(9, rdmap.IMMEDIATE_SE)],
        status=LEN_ERR),
    Row("Immediate Data of 4 and 5 bytes", "EXT-77", *TOO_LONG,
        lambda s: [s.make_immediate(4, last=False), s.make_immediate(5, mo=4)],
        status=LEN_ERR),
    Row("Immediate Data of 4 and 3 bytes", "EXT-77", *OPERATION,
        lambda s: [s.make_immediate(4, last=False), s.make_immediate(3, mo=4)]),
    Row("Immediate Data without a receive", "EXT-72", (1, 2, 2),
        "ddp_untagged_no_buffer", lambda s: [s.make_immediate()], recvs=0,
        flushed=0),
    Row("Immediate Data after a Send has consumed the only receive", "EXT-72",
        (1, 2, 2), "ddp_untagged_no_buffer",
        lambda s: [s.make_send(0), s.make_immediate(msn=2)], recvs=1, flushed=0),
    *[Row(f"Immediate Data: on QN {qn}", "EXT-88 EXT-74", *OPCODE,
          lambda s, qn=qn: [s.make_immediate(qn=qn)]) for qn in (1, 2, 3)],
    *[Row(f"Immediate Data: RV {rv >> 6}", "EXT-89", (0, 2, 5),
          "rdmap_version",
          lambda s, rv=rv: [s.make_immediate(ulp=make_control_field(rdmap.IMMEDIATE, rv))])
      for rv in (0x00, 0x80, 0xC0)],
    Row("Immediate Data: DV 3", "EXT-87", (1, 2, 6), "ddp_untagged_version",
        lambda s: [s.make_immediate(dv=3)]),
    Row("Immediate Data: MSN 2", "EXT-87", (1, 2, 3),
        "ddp_untagged_msn_range", lambda s: [s.make_immediate(msn=2)]),
    Row("Immediate Data: MO 8", "EXT-87", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [s.make_immediate(mo=8)]),
]

# The opcode must not change between the segments of a message, because the first segment
# selects the buffer.
CHANGES = [
    *[Row(f"opcode {code}, with the T bit", "EXT-88 EXT-71 EXT-40", *OPCODE,
          lambda s, code=code: [s.make_tagged(code)]) for code in range(8, 12)],
    Row("Immediate Data that becomes a Send", "EXT-88 EXT-70", *OPCODE,
        lambda s: [s.make_immediate(4, last=False), s.make_send(200, mo=4)]),
    Row("Immediate Data that becomes a Send, after 8 bytes", "EXT-88",
        *OPCODE, lambda s: [s.make_immediate(8, last=False), s.make_send(4, mo=8)]),
    Row("Immediate Data that becomes a Send, after 0 bytes", "EXT-88", *OPCODE,
        lambda s: [s.make_immediate(0, last=False), s.make_send(200)]),
    Row("a Send that becomes Immediate Data", "EXT-88", *OPCODE,
        lambda s: [s.make_send(4, last=False), s.make_immediate(4, mo=4)],
        placed=True),
    Row("a Send of 64 bytes that becomes Immediate Data", "EXT-88", *OPCODE,
        lambda s: [s.make_send(64, last=False), s.make_immediate(8, mo=64)],
        placed=True),
    Row("Immediate Data that becomes one with Solicited Event", "EXT-88",
        *OPCODE, lambda s: [s.make_immediate(4, last=False), s.make_immediate(
            4, rdmap.IMMEDIATE_SE, mo=4)]),
    Row("a Read Request that becomes an atomic", "EXT-88 EXT-87", *OPCODE,
        lambda s: [s.make_read(last=False),
                   s.make_atomic(octets=slice(28, 52), mo=28)]),
    Row("a Read Request that becomes an atomic, after 0 bytes", "EXT-88",
        *OPCODE, lambda s: [s.make_read(cut=0, last=False), s.make_atomic()]),
    Row("an atomic that becomes a Read Request", "EXT-88 EXT-87", *OPCODE,
        lambda s: [s.make_atomic(octets=slice(8), last=False),
                   replace(s.make_read(), payload=s.make_read().payload[8:], mo=8)]),
    Row("an atomic that becomes a Read Request, beyond the end of a Read Request",
        "EXT-88 EXT-87", *OPCODE,
        lambda s: [s.make_atomic(octets=slice(40), last=False),
                   s.make_read(cut=12, mo=40)]),
]


# Responses to the device's atomics --------------------------------------------


@dataclass
class Answer:
    """An invalid response: the last segment that make() returns is the invalid one."""
    name: str
    rows: str                       # in addition to EXT-56 and EXT-86
    what: tuple                     # expected layer, type and code of the Terminate
    end: str                        # name of the expected counter, without end_
    make: Callable                  # makes the segments from the request
    right: bool = False             # whether the segments before the invalid one complete the
                                    # request


def make_atomic_response(q, ident=0, msn=1, octets=slice(None), extra=b"", **fields):
    payload = (rdmap.AtomicResponse(q.ident ^ ident, 77).pack() + extra)
    return rdmap.AtomicResponse(0, 0).segment(msn, payload=payload[octets],
                                              **fields)


def replace_ulp(seg, ulp):
    return replace(seg, ulp=ulp)


ANSWERS = [
    Answer("with another identifier", "EXT-37", *OPERATION,
           lambda q: [make_atomic_response(q, 1)]),
    Answer("with identifier 0xFFFFFFFF off", "EXT-37", *OPERATION,
           lambda q: [make_atomic_response(q, 0xFFFFFFFF)]),
    *[Answer(f"of {cut} bytes", "EXT-49", *OPERATION,
             lambda q, cut=cut: [make_atomic_response(q, octets=slice(cut))])
      for cut in (0, 4, 11)],
    Answer("of 13 bytes", "EXT-8 EXT-87", *TOO_LONG,
           lambda q: [make_atomic_response(q, extra=b"x")]),
    Answer("of 6 and 7 bytes", "EXT-8 EXT-87", *TOO_LONG,
           lambda q: [make_atomic_response(q, octets=slice(6), last=False),
                      make_atomic_response(q, octets=slice(6, 13), extra=b"x", mo=6)]),
    *[Answer(f"with MSN {msn}", "EXT-14 EXT-87", (1, 2, 3),
             "ddp_untagged_msn_range",
             lambda q, msn=msn: [make_atomic_response(q, msn=msn)]) for msn in (0, 2)],
    Answer("with MO 12", "EXT-87", (1, 2, 4), "ddp_untagged_mo",
           lambda q: [make_atomic_response(q, mo=12)]),
    Answer("with DV 3", "EXT-87", (1, 2, 6), "ddp_untagged_version",
           lambda q: [make_atomic_response(q, dv=3)]),
    *[Answer(f"on QN {qn}", "EXT-88", *OPCODE,
             lambda q, qn=qn: [make_atomic_response(q, qn=qn)]) for qn in (0, 1, 2)],
    Answer("with RV 0", "EXT-89", (0, 2, 5), "rdmap_version", lambda q: [replace_ulp(
        make_atomic_response(q), make_control_field(rdmap.ATOMIC_RESPONSE, 0))]),
    Answer("with the T bit", "EXT-88", *OPCODE, lambda q: [ddp.Tagged(
        make_control_field(rdmap.ATOMIC_RESPONSE), q.stag, q.to, bytes(12))]),
    Answer("that is a Read Response", "EXT-81", *OPCODE,
           lambda q: [rdmap.make_read_response(q.stag, q.to, bytes(8))]),
    Answer("that is an empty Read Response", "EXT-81", *OPCODE,
           lambda q: [rdmap.make_read_response(0, 0)]),
    Answer("that is sent twice", "EXT-51", (1, 2, 2), "ddp_untagged_no_buffer",
           lambda q: [make_atomic_response(q), make_atomic_response(q, msn=2)], right=True),
]


def check_end_of_stream(w, link, row, bad):
    term = link.peer.receive_terminate()
    same("Terminate", term.what, row.what)
    same("length, headers", (term.length, term.ddp, term.rdma),
         (len(bad.pack()), bad.header(), None))
    link.expect_end()
    w.server.expect_event(Async, conn=link.conn, event=QP_FATAL)
    w.server.expect_no_event(Async, conn=link.conn)


def test_wrong_atomic_response_ends_stream(w, role, row):
    sink = w.shared(SIZE, "l", 0, BASE)
    link = connect_with_device_as(w, role)
    with w.expect_counts(**{"end_" + row.end: 1, "tx_terminates": 1}):
        link.post("fetchadd", sink, 8, 1, WORD, 0x77665544, "-", 1, offset=5)
        asked = rdmap.AtomicRequest.parse(link.peer.receive_segment().payload)
        segments = row.make(asked)
        link.peer.send_segments(*segments, make_atomic_response(asked))
        check_end_of_stream(w, link, row, segments[-1])
        link.expect_wc(wr=1, status=SUCCESS if row.right else FLUSHED)
    w.check_counter_rises_again()
    if not row.right:
        sink.check_untouched()


for each in ANSWERS:
    add_case_for_both_roles(f"an Atomic Response {each.name}",
                            f"{each.rows} EXT-56 EXT-86", test_wrong_atomic_response_ends_stream,
                            row=each)


def test_early_atomic_response_ends_stream(w, role):
    """The peer sends an Atomic Response although the preceding Read has not got its response yet.
    """
    sink = w.shared(SIZE, "l", 0, BASE)
    row = Answer("out of order", "", *OPCODE, make_atomic_response)
    link = connect_with_device_as(w, role)
    with w.expect_counts(end_rdmap_opcode=1, tx_terminates=1):
        link.post("read", sink, 8, 1, WORD, 0x77665544)
        link.post("fetchadd", sink, 8, 2, WORD, 0x77665544, "-", 1)
        link.peer.receive_segment()
        asked = rdmap.AtomicRequest.parse(link.peer.receive_segment().payload)
        link.peer.send_segments(make_atomic_response(asked))
        check_end_of_stream(w, link, row, make_atomic_response(asked))
        for wr in 1, 2:
            link.expect_wc(wr=wr, status=FLUSHED)
    sink.check_untouched()


add_case_for_both_roles("an Atomic Response before the preceding Read Response",
                        "EXT-56 EXT-57 EXT-81", test_early_atomic_response_ends_stream)


REPORTED = [
    ("misaligned", (0, 2, 7), REM_OP_ERR, "EXT-16 EXT-30 RDMAP-15"),
    ("not allowed", (0, 1, 2), REM_ACCESS_ERR, "EXT-92 RDMAP-15"),
    ("unknown", (0, 2, 6), REM_OP_ERR, "EXT-44"),
]


def test_terminate_fails_only_its_request(w, role, what, status):
    """The requests before the failed one have got responses. Only the failed request
    completes with the error status."""
    sink = w.shared(SIZE, "l", 0, BASE)
    link = connect_with_device_as(w, role)
    for wr in 1, 2, 3:
        link.post("fetchadd", sink, 8, wr, WORD, 0x77665544, "-", 1)
    requests = [link.peer.receive_segment() for _ in range(3)]
    first, bad = rdmap.AtomicRequest.parse(requests[0].payload), requests[1]
    with w.expect_counts(end_peer_terminate=1, rx_terminates=1, tx_terminates=0):
        link.peer.send_segments(
            rdmap.AtomicResponse(first.ident, 5).segment(1),
            rdmap.Terminate(*what, len(bad.pack()), bad.header()).segment())
        link.expect_end()
        for wr, want in (1, SUCCESS), (2, status), (3, FLUSHED):
            link.expect_wc(wr=wr, status=want)
    w.server.expect_event(Async, conn=link.conn, event=REQ_ERR)
    w.check_counter_rises_again()
    check("the failed request leaves memory "
          "unchanged", sink.read_bytes(8, 8) == b"\x5A" * 8)


for word, code, reported, shown in REPORTED:
    add_case_for_both_roles(f"a Terminate reports that our atomic was {word}", shown,
                            test_terminate_fails_only_its_request,
                            what=code, status=reported)


# Local errors -----------------------------------------------------------------


def test_local_fault_sends_terminate(w, role, verb, gone, status):
    """The device does not send the request: it sends Terminate 0/0/00 instead."""
    memory = w.register_region(4096, "l")
    if role == "responder":
        link = w.initiate(accept=(4 if gone else 0, 4, b""))
    else:
        link = w.respond(connect=(4 if gone else 0, 4, b""))
    if gone:
        memory.deregister()
    with w.expect_counts(end_local_protection=1, tx_terminates=1):
        link.post(verb, memory, 8, 8, WORD, 0x77665544, "-", 1, 2)
        same("Terminate", link.peer.receive_terminate().pack().hex(), "00000000")
        link.expect_end()
        link.expect_wc(wr=8, status=status)
    memory.check_untouched()


for name in "fetchadd", "cmpswap", "writeimm":
    add_case_for_both_roles(f"a {name} with deregistered memory", "EXT-85",
                            test_local_fault_sends_terminate,
                            verb=name, gone=True, status=LOC_PROT_ERR)
for name in "fetchadd", "cmpswap":
    add_case_for_both_roles(f"a {name} where no atomics were agreed", "EXT-54",
                            test_local_fault_sends_terminate, verb=name, gone=False,
                            status=LOC_QP_OP_ERR)


add_error_cases(ATOMIC + IMMEDIATE + CHANGES, ExtendScene)

if __name__ == "__main__":
    run()
