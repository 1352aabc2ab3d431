#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test every error that a peer can make (RFC 5041 7, RFC 5040 7, RFC 5044 8).

Each case sends one invalid segment, followed by valid ones and another invalid one. The device
must send exactly one Terminate, with the layer, type, code and quoted headers that the RFCs
require, and then a FIN. It must place no data and count one error; the queue pair must report
an event and flush its work requests.
"""

from lib.wire import LEN_ERR, rdmap, run
from lib.wire_scene import BASE, RECV, SIZE, TOP, Row, add_error_cases, make_control_field

# requirements that every case of this script shows; cited at the first case
ALWAYS = "DDP-80 DDP-82 DDP-101 DDP-102 DDP-103 DDP-104 DDP-105 " \
         "RDMAP-36 RDMAP-37 RDMAP-40 RDMAP-112 RDMAP-144 RDMAP-145 " \
         "RDMAP-147 RDMAP-151 RDMAP-153 RDMAP-156 DDP-10 RDMAP-5 RDMAP-105 RDMAP-106 " \
         "RDMAP-149 RDMAP-150 RDMAP-39 RDMAP-42 RDMAP-43 RDMAP-44 " \
         "RDMAP-54 RDMAP-2 RDMAP-21 RDMAP-25 DDP-42"

TAGGED = [
    Row("unknown STag", "DDP-30 DDP-96 DDP-107 " + ALWAYS, (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.make_write(s.target.rkey ^ 0x5A5A5A00)]),
    Row("STag with another key", "DDP-96", (1, 1, 0), "ddp_tagged_stag",
        lambda s: [s.make_write(s.target.rkey ^ 1)]),
    Row("STag that was deregistered", "DDP-96 DDP-117", (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.make_write(s.make_deregistered_stag())]),
    Row("STag 0", "DDP-96", (1, 1, 0), "ddp_tagged_stag",
        lambda s: [s.make_write(0)]),
    Row("region without the access right", "DDP-97 DDP-127", (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.make_write(s.source.rkey)]),
    Row("region for local use only", "DDP-97", (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.make_write(s.local.rkey)]),
    Row("queue pair without the access right", "DDP-97", (1, 1, 0),
        "ddp_tagged_stag", lambda s: [s.make_write()], rights="r"),
    Row("TO one below the region", "DDP-98 DDP-116 RDMAP-174", (1, 1, 1),
        "ddp_tagged_bounds", lambda s: [s.make_write(to=BASE - 1)]),
    Row("TO at the region's end", "DDP-98", (1, 1, 1), "ddp_tagged_bounds",
        lambda s: [s.make_write(to=BASE + SIZE, length=1)]),
    Row("TO far beyond the region", "DDP-98", (1, 1, 1), "ddp_tagged_bounds",
        lambda s: [s.make_write(to=BASE + (1 << 32))]),
    Row("one byte past the end", "DDP-99 DDP-116 DDP-125 RDMAP-174", (1, 1, 1),
        "ddp_tagged_bounds",
        lambda s: [s.make_write(to=BASE + SIZE - 15)]),
    Row("another protection domain", "DDP-109 DDP-111 DDP-123 RDMAP-172",
        (1, 1, 2), "ddp_tagged_assoc", lambda s: [s.make_write(s.foreign.rkey)]),
    Row("TO wraps", "DDP-100", (1, 1, 3), "ddp_tagged_wrap",
        lambda s: [s.make_write(to=TOP - 1, length=2)]),
    *[Row(f"DV {dv}", "DDP-25 MPA-151", (1, 1, 4), "ddp_tagged_version",
          lambda s, dv=dv: [s.make_write(dv=dv)]) for dv in (0, 2, 3)],
    Row("second segment of a message is wrong", "DDP-99", (1, 1, 1),
        "ddp_tagged_bounds",
        lambda s: [s.make_write(length=0, last=False),
                   s.make_write(to=BASE + SIZE - 1, length=2)]),
    # The device checks each segment against its region, whatever it has allowed for the previous
    # segment.
    *[Row(f"directly after a valid segment: {name}", rows, what, end,
          lambda s, bad=bad: [s.make_valid_write_segment(), bad(s)])
      for name, rows, what, end, bad in (
          ("past the region's end", "DDP-99", (1, 1, 1), "ddp_tagged_bounds",
           lambda s: s.make_write(to=BASE + SIZE - 1, length=2)),
          ("below the region", "DDP-98", (1, 1, 1), "ddp_tagged_bounds",
           lambda s: s.make_write(to=BASE - 1)),
          ("STag with another key", "DDP-96", (1, 1, 0), "ddp_tagged_stag",
           lambda s: s.make_write(s.target.rkey ^ 1)),
          ("region without the access right", "DDP-97", (1, 1, 0), "ddp_tagged_stag",
           lambda s: s.make_write(s.source.rkey)),
          ("another protection domain", "DDP-109", (1, 1, 2), "ddp_tagged_assoc",
           lambda s: s.make_write(s.foreign.rkey)))],
    # The device also checks a segment that continues the previous one and has the same length.
    *[Row(f"continuing a valid segment: {name}", rows, what, end,
          lambda s, at=at, fields=fields: [
              s.make_valid_write_segment(to=BASE + at),
              s.make_valid_write_segment(to=BASE + at + 16, **fields(s))])
      for name, rows, what, end, at, fields in (
          ("past the region's end", "DDP-99", (1, 1, 1), "ddp_tagged_bounds", SIZE - 24,
           lambda s: {}),
          ("STag with another key", "DDP-96", (1, 1, 0), "ddp_tagged_stag", 0,
           lambda s: {"stag": s.target.rkey ^ 1}),
          ("region without the access right", "DDP-97", (1, 1, 0), "ddp_tagged_stag", 0,
           lambda s: {"stag": s.source.rkey}),
          ("DV 2", "DDP-25", (1, 1, 4), "ddp_tagged_version", 0, lambda s: {"dv": 2}))],
    # A Write that differs from the valid Write before it only in its TO and at most one other
    # header field must be checked, too.
    *[Row(f"a Write like a valid one before it: {name}", rows, what, end,
          lambda s, to=to, fields=fields: [
              s.make_valid_write(), s.make_write(to=BASE + to, **fields(s))])
      for name, rows, what, end, to, fields in (
          ("past the region's end", "DDP-99", (1, 1, 1), "ddp_tagged_bounds", SIZE - 15,
           lambda s: {}),
          ("STag with another key", "DDP-96", (1, 1, 0), "ddp_tagged_stag", 16,
           lambda s: {"stag": s.target.rkey ^ 1}),
          ("region without the access right", "DDP-97", (1, 1, 0), "ddp_tagged_stag", 16,
           lambda s: {"stag": s.source.rkey}),
          ("DV 2", "DDP-25", (1, 1, 4), "ddp_tagged_version", 16, lambda s: {"dv": 2}))],
    Row("continuing two valid segments: past the region's end", "DDP-99",
        (1, 1, 1), "ddp_tagged_bounds",
        lambda s: [s.make_valid_write_segment(to=BASE + SIZE - 40 + at) for at in (0, 16, 32)]),
]

UNTAGGED = [
    Row("QN 4", "DDP-86 DDP-108", (1, 2, 1), "ddp_untagged_qn",
        lambda s: [s.make_send(qn=4)]),
    Row("QN 0xFFFFFFFF", "DDP-86", (1, 2, 1), "ddp_untagged_qn",
        lambda s: [s.make_send(qn=0xFFFFFFFF)]),
    Row("no receive posted", "DDP-87 DDP-88 DDP-91", (1, 2, 2),
        "ddp_untagged_no_buffer", lambda s: [s.make_send()], recvs=0, flushed=0),
    Row("no receive posted for an empty Send", "RDMAP-100 DDP-87", (1, 2, 2),
        "ddp_untagged_no_buffer", lambda s: [s.make_send(0)], recvs=0, flushed=0),
    Row("MSN 0", "DDP-94", (1, 2, 3), "ddp_untagged_msn_range",
        lambda s: [s.make_send(msn=0)]),
    Row("MSN skips one", "DDP-94", (1, 2, 3), "ddp_untagged_msn_range",
        lambda s: [s.make_send(msn=2)]),
    Row("MSN far out of range", "DDP-94", (1, 2, 3), "ddp_untagged_msn_range",
        lambda s: [s.make_send(msn=0x80000001)]),
    Row("MO beyond the buffer", "DDP-92", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [s.make_send(mo=RECV)]),
    Row("MO 1 in a first segment", "DDP-92", (1, 2, 4),
        "ddp_untagged_mo", lambda s: [s.make_send(mo=1)]),
    Row("MO 0xFFFFFFFF", "DDP-92", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [s.make_send(mo=0xFFFFFFFF)]),
    Row("one byte too long", "DDP-93 RDMAP-93 RDMAP-44 RDMAP-153", (1, 2, 5),
        "ddp_untagged_too_long", lambda s: [s.make_send(RECV + 1)],
        status=LEN_ERR),
    # The device checks each further segment of a message against the expected MSN and MO, even
    # if its header equals the previous one.
    *[Row(f"continuing a Send: {name}", rows, what, end,
          lambda s,
          fields=fields: [s.make_valid_send_segment(),
                          s.make_valid_send_segment(**{"mo": 16, **fields})])
      for name, rows, what, end, fields in (
          ("bytes are missing", "DDP-92", (1, 2, 4), "ddp_untagged_mo", {"mo": 17}),
          ("bytes are repeated", "DDP-92", (1, 2, 4), "ddp_untagged_mo", {"mo": 0}),
          ("another MSN", "DDP-94", (1, 2, 3), "ddp_untagged_msn_range", {"msn": 2}),
          ("another QN", "DDP-86", (1, 2, 1), "ddp_untagged_qn", {"qn": 4}),
          ("DV 2", "DDP-25", (1, 2, 6), "ddp_untagged_version", {"dv": 2}))],
    Row("continuing a Send: past the receive's end", "DDP-93", (1, 2, 5),
        "ddp_untagged_too_long",
        lambda s: [s.make_valid_send_segment(mo=at) for at in range(0, RECV + 1, 16)],
        status=LEN_ERR),
    *[Row(f"DV {dv}, untagged", "DDP-25", (1, 2, 6), "ddp_untagged_version",
          lambda s, dv=dv: [s.make_send(dv=dv)]) for dv in (0, 2, 3)],
]

# each header field has an entry in these tables
for each in TAGGED + UNTAGGED:
    each.rows += " RDMAP-157"

SHORT = [
    Row(f"segment of {length} bytes", "DDP-46 DDP-106", (1, 0, 0), "ddp_short",
        lambda s, octets=octets: [octets])
    for length, octets in ((0, b""), (1, b"\xC1"),
                           (13, bytes.fromhex("C140") + bytes(11)),
                           (17, bytes.fromhex("4143") + bytes(15)))
]

RDMAP = [
    *[Row(f"RV {rv >> 6} in a Send", "RDMAP-22 RDMAP-53 RDMAP-159 MPA-151",
          (0, 2, 5), "rdmap_version",
          lambda s, rv=rv: [s.make_send(ulp=make_control_field(3, rv))])
      for rv in (0x00, 0x80, 0xC0)],
    *[Row(f"RV {rv >> 6} in a Write", "RDMAP-22 RDMAP-159", (0, 2, 5),
          "rdmap_version", lambda s, rv=rv: [s.make_write(ulp=make_control_field(0, rv))])
      for rv in (0x00, 0x80, 0xC0)],
    *[Row(f"opcode {code}", "RDMAP-27 RDMAP-158", (0, 2, 6), "rdmap_opcode",
          lambda s, code=code: [s.make_send(ulp=make_control_field(code))])
      for code in range(10, 16)],
    *[Row(f"opcode {code}, tagged", "RDMAP-27 RDMAP-158", (0, 2, 6),
          "rdmap_opcode", lambda s, code=code: [s.make_write(ulp=make_control_field(code))])
      for code in (1, 3, 4, 7, 8, 15)],
    Row("Write, untagged", "RDMAP-158", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.make_send(ulp=make_control_field(0))]),
    Row("Read Response, untagged", "RDMAP-158", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.make_send(ulp=make_control_field(2))]),
    Row("Read Response without a Read Request", "RDMAP-84 RDMAP-158 DDP-28",
        (0, 2, 6), "rdmap_opcode", lambda s: [s.make_write(ulp=make_control_field(2))]),
    Row("Read Request on QN 0", "RDMAP-158 RDMAP-70", (0, 2, 6),
        "rdmap_opcode", lambda s: [s.make_read(qn=0)]),
    Row("Send on QN 1", "RDMAP-163 RDMAP-97", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.make_send(qn=1)]),
    Row("Send on QN 2", "RDMAP-158", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.make_send(qn=2)]),
    Row("Send on QN 3", "RDMAP-158", (0, 2, 6), "rdmap_opcode",
        lambda s: [s.make_send(qn=3)]),
    Row("Terminate on QN 0", "RDMAP-110", (0, 2, 6), "rdmap_opcode",
        lambda s: [rdmap.Terminate(0, 2, 6).segment(qn=0)]),
    Row("Terminate with MSN 2", "RDMAP-110", (1, 2, 3),
        "ddp_untagged_msn_range",
        lambda s: [rdmap.Terminate(0, 2, 6).segment(msn=2)]),
    Row("Terminate with MO 4", "RDMAP-110", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [rdmap.Terminate(0, 2, 6).segment(mo=4)]),
    Row("unknown Invalidate STag", "RDMAP-104 RDMAP-160", (0, 2, 9),
        "rdmap_invalidate",
        lambda s: [s.make_send(opcode=rdmap.SEND_INV,
                               ulp32=s.target.rkey ^ 0x5A5A5A00)]),
    Row("Invalidate STag of another protection domain",
        "RDMAP-102 RDMAP-104 RDMAP-161 RDMAP-47", (0, 1, 9),
        "rdmap_invalidate_assoc",
        lambda s: [s.make_send(opcode=rdmap.SEND_SE_INV, ulp32=s.foreign.rkey)]),
    Row("Invalidate STag of an ordinary region", "RDMAP-104 RDMAP-178",
        (0, 2, 9), "rdmap_invalidate",
        lambda s: [s.make_send(opcode=rdmap.SEND_INV, ulp32=s.target.rkey)]),
]

READ = [
    Row("Read: unknown STag",
        "RDMAP-165 RDMAP-77 RDMAP-46 RDMAP-48 RDMAP-51",
        (0, 1, 0), "rdmap_stag",
        lambda s: [s.make_read(s.source.rkey ^ 0x5A5A5A00)]),
    Row("Read: STag with another key", "RDMAP-165", (0, 1, 0), "rdmap_stag",
        lambda s: [s.make_read(s.source.rkey ^ 1)]),
    Row("Read: STag that was deregistered", "RDMAP-165", (0, 1, 0), "rdmap_stag",
        lambda s: [s.make_read(s.make_deregistered_stag())]),
    Row("Read: TO one below the region", "RDMAP-167 DDP-116", (0, 1, 1),
        "rdmap_bounds", lambda s: [s.make_read(to=BASE - 1)]),
    Row("Read: TO at the region's end", "RDMAP-167", (0, 1, 1),
        "rdmap_bounds", lambda s: [s.make_read(to=BASE + SIZE, size=1)]),
    Row("Read: one byte past the end", "RDMAP-168 RDMAP-174 DDP-116", (0, 1, 1),
        "rdmap_bounds", lambda s: [s.make_read(size=SIZE + 1)]),
    Row("Read: 4 GiB less one", "RDMAP-168", (0, 1, 1), "rdmap_bounds",
        lambda s: [s.make_read(size=0xFFFFFFFF)]),
    Row("Read: region without the access right", "RDMAP-170 RDMAP-176 DDP-127", (0, 1, 2),
        "rdmap_access", lambda s: [s.make_read(s.target.rkey)]),
    Row("Read: queue pair without the access right", "RDMAP-170", (0, 1, 2),
        "rdmap_access", lambda s: [s.make_read()], rights="w"),
    Row("Read: another protection domain", "RDMAP-166 RDMAP-172", (0, 1, 3),
        "rdmap_assoc", lambda s: [s.make_read(s.foreign.rkey)]),
    Row("Read: TO wraps", "RDMAP-169", (0, 1, 4), "rdmap_wrap",
        lambda s: [s.make_read(to=TOP - 1, size=2)]),
    *[Row(f"Read: RV {rv >> 6}", "RDMAP-164", (0, 2, 5), "rdmap_version",
          lambda s, rv=rv: [s.make_read(ulp=make_control_field(1, rv))])
      for rv in (0x00, 0x80, 0xC0)],
    Row("Read: QN 4", "RDMAP-162 DDP-86", (1, 2, 1), "ddp_untagged_qn",
        lambda s: [s.make_read(qn=4)]),
    *[Row(f"Read: DV {dv}", "RDMAP-162 DDP-25", (1, 2, 6), "ddp_untagged_version",
          lambda s, dv=dv: [s.make_read(dv=dv)]) for dv in (0, 2, 3)],
    Row("Read: MSN 2", "RDMAP-162 DDP-94", (1, 2, 3),
        "ddp_untagged_msn_range", lambda s: [s.make_read(msn=2)]),
    Row("Read: MO 28", "RDMAP-162 DDP-92", (1, 2, 4), "ddp_untagged_mo",
        lambda s: [s.make_read(mo=28)]),
    Row("Read: with data after its header", "RDMAP-29 RDMAP-162", (1, 2, 5),
        "ddp_untagged_too_long", lambda s: [s.make_read(extra=b"more")]),
    Row("Read: truncated header", "RDMAP-30", (0, 2, 0xFF),
        "rdmap_operation", lambda s: [s.make_read(cut=27)]),
    Row("Read: without a header", "RDMAP-30", (0, 2, 0xFF),
        "rdmap_operation", lambda s: [s.make_read(cut=0)]),
]

# the Terminate quotes the header of the Read Request
for each in READ:
    if each.what[:2] == (0, 1):
        each.rows += " RDMAP-155"

add_error_cases(TAGGED + UNTAGGED + SHORT + RDMAP + READ)

if __name__ == "__main__":
    run()
