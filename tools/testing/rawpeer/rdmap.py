# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""RDMAP messages (RFC 5040 section 4, RFC 7306 sections 4 to 6)."""

import struct
from dataclasses import dataclass

from . import ddp

RV = 0x40
(WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV,
 TERMINATE, IMMEDIATE, IMMEDIATE_SE, ATOMIC_REQUEST,
 ATOMIC_RESPONSE) = range(12)

QN_SEND, QN_READ, QN_TERMINATE, QN_ATOMIC = range(4)

FETCH_ADD, CMP_SWAP = 0, 2      # RFC 7306 figure 5
ALL = (1 << 64) - 1             # a mask of all bits


def pack_control(opcode, rv=RV, rsv=0):
    return rv | rsv | opcode


def make_send(msn, payload=b"", opcode=SEND, **fields):
    return ddp.Untagged(pack_control(opcode), QN_SEND, msn, payload=payload,
                        **fields)


def make_immediate(msn, payload=bytes(8), opcode=IMMEDIATE, **fields):
    return make_send(msn, payload, opcode, **fields)


def make_write(stag, to, payload=b"", **fields):
    return ddp.Tagged(pack_control(WRITE), stag, to, payload, **fields)


def make_read_response(stag, to, payload=b"", **fields):
    return ddp.Tagged(pack_control(READ_RESPONSE), stag, to, payload, **fields)


@dataclass
class ReadRequest:
    """The RDMAP header of a Read Request."""
    sink_stag: int
    sink_to: int
    size: int
    src_stag: int
    src_to: int

    FORMAT = ">IQIIQ"
    LENGTH = 28

    def pack(self):
        return struct.pack(self.FORMAT, self.sink_stag, self.sink_to,
                           self.size, self.src_stag, self.src_to)

    def segment(self, msn, **fields):
        return ddp.Untagged(pack_control(READ_REQUEST), QN_READ, msn,
                            payload=self.pack(), **fields)

    @classmethod
    def parse(cls, octets):
        return cls(*struct.unpack(cls.FORMAT, octets))


def compute_masked_add(old, add, mask):
    """Return the result of Fetch and Add, computed exactly as in the pseudocode of RFC
    7306 section 5.1.1."""
    bit_location = 1
    carry = 0
    value = 0
    for bit in range(64):
        if bit != 0:
            bit_location = bit_location << 1
        val1 = (old & bit_location) >> bit
        val2 = (add & bit_location) >> bit
        total = carry + val1 + val2
        carry = (total & 2) >> 1
        total = total & 1
        if total:
            value |= bit_location
        carry = carry and not mask & bit_location
    return value


def compute_masked_swap(old, swap, swap_mask, compare, compare_mask):
    """Return the result of Compare and Swap, as in the pseudocode of RFC 7306 section
    5.1.2."""
    if not (compare ^ old) & compare_mask:
        return (old & ~swap_mask) | (swap & swap_mask)
    return old


@dataclass
class AtomicRequest:
    """The RDMAP header of an Atomic Request (RFC 7306 figure 4)."""
    code: int
    ident: int
    stag: int
    to: int
    data: int                   # addend, or value to store
    mask: int
    compare: int = 0
    compare_mask: int = ALL
    rsvd: int = 0               # the 28 reserved bits

    FORMAT = ">IIIQQQQQ"
    LENGTH = 52

    def pack(self):
        return struct.pack(self.FORMAT, self.rsvd << 4 | self.code,
                           self.ident, self.stag, self.to, self.data,
                           self.mask, self.compare, self.compare_mask)

    def segment(self, msn, **fields):
        fields = {"qn": QN_READ, "payload": self.pack(), **fields}
        return ddp.Untagged(pack_control(ATOMIC_REQUEST), msn=msn, **fields)

    @classmethod
    def parse(cls, octets):
        code, *rest = struct.unpack(cls.FORMAT, octets)
        return cls(code & 15, *rest, rsvd=code >> 4)

    def compute_result(self, old):
        """Return the value in memory after the operation on old."""
        if self.code == FETCH_ADD:
            return compute_masked_add(old, self.data, self.mask)
        return compute_masked_swap(old, self.data, self.mask, self.compare,
                                   self.compare_mask)


@dataclass
class AtomicResponse:
    """The RDMAP header of an Atomic Response (RFC 7306 figure 6)."""
    ident: int
    old: int

    FORMAT = ">IQ"
    LENGTH = 12

    def pack(self):
        return struct.pack(self.FORMAT, self.ident, self.old)

    def segment(self, msn, **fields):
        fields = {"qn": QN_ATOMIC, "payload": self.pack(), **fields}
        return ddp.Untagged(pack_control(ATOMIC_RESPONSE), msn=msn, **fields)

    @classmethod
    def parse(cls, octets):
        return cls(*struct.unpack(cls.FORMAT, octets))


@dataclass
class Terminate:
    """Contents of a Terminate; the parts that the Terminate does not quote are None."""
    layer: int
    etype: int
    code: int
    length: int = None          # DDP Segment Length (M bit)
    ddp: bytes = None           # Terminated DDP Header (D bit)
    rdma: bytes = None          # Terminated RDMA Header (R bit)
    rsvd: int = 0               # the 13 reserved bits

    @property
    def what(self):
        return self.layer, self.etype, self.code

    def __str__(self):
        return f"{self.layer}/{self.etype}/{self.code:02x}"

    def pack(self):
        quote = ((0x8000 if self.length is not None else 0) |
                 (0x4000 if self.ddp is not None else 0) |
                 (0x2000 if self.rdma is not None else 0) | self.rsvd)
        out = struct.pack(">BBH", self.layer << 4 | self.etype, self.code,
                          quote)
        if self.length is not None or self.ddp is not None:
            out += struct.pack(">H", self.length or 0)
        return out + (self.ddp or b"") + (self.rdma or b"")

    def segment(self, msn=1, **fields):
        fields = {"qn": QN_TERMINATE, "payload": self.pack(), **fields}
        return ddp.Untagged(pack_control(TERMINATE), msn=msn, **fields)

    @classmethod
    def parse(cls, octets):
        """Parse the bytes of a Terminate; raise ValueError if there are more bytes than the
        Terminate needs."""
        kind, code, quote = struct.unpack(">BBH", octets[:4])
        out = cls(kind >> 4, kind & 15, code, rsvd=quote & 0x1FFF)
        rest = octets[4:]
        if quote & 0xC000:
            out.length = struct.unpack(">H", rest[:2])[0]
            rest = rest[2:]
        if quote & 0x4000:
            size = ddp.TAGGED_LEN if rest[0] & ddp.T else ddp.UNTAGGED_LEN
            out.ddp, rest = rest[:size], rest[size:]
        if quote & 0x2000:
            out.rdma, rest = (rest[:ReadRequest.LENGTH],
                              rest[ReadRequest.LENGTH:])
        if rest:
            raise ValueError(f"{len(rest)} bytes too many in a Terminate")
        return out
