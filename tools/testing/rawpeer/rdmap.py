# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""RDMAP messages (RFC 5040 section 4)."""

import struct
from dataclasses import dataclass

from . import ddp

RV = 0x40
(WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV,
 TERMINATE) = range(8)

QN_SEND, QN_READ, QN_TERMINATE = range(3)


def control(opcode, rv=RV, rsv=0):
    return rv | rsv | opcode


def send(msn, payload=b"", opcode=SEND, **fields):
    return ddp.Untagged(control(opcode), QN_SEND, msn, payload=payload,
                        **fields)


def write(stag, to, payload=b"", **fields):
    return ddp.Tagged(control(WRITE), stag, to, payload, **fields)


def read_response(stag, to, payload=b"", **fields):
    return ddp.Tagged(control(READ_RESPONSE), stag, to, payload, **fields)


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
        return ddp.Untagged(control(READ_REQUEST), QN_READ, msn,
                            payload=self.pack(), **fields)

    @classmethod
    def parse(cls, octets):
        return cls(*struct.unpack(cls.FORMAT, octets))


@dataclass
class Terminate:
    """A Terminate's contents; what is not quoted is None."""
    layer: int
    etype: int
    code: int
    length: int = None          # M
    ddp: bytes = None           # D
    rdma: bytes = None          # R
    rsvd: int = 0               # the thirteen reserved bits

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
        return ddp.Untagged(control(TERMINATE), msn=msn, **fields)

    @classmethod
    def parse(cls, octets):
        """Every octet must have its place."""
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
            raise ValueError(f"{len(rest)} octets too many in a Terminate")
        return out
