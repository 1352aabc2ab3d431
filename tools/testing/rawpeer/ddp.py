# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""DDP headers (RFC 5041 section 4)."""

import struct
from dataclasses import dataclass

T, L = 0x80, 0x40
DV = 1

TAGGED_LEN = 14
UNTAGGED_LEN = 18


@dataclass
class Tagged:
    """A tagged segment; ulp is the byte of RDMAP's control field."""
    ulp: int
    stag: int
    to: int
    payload: bytes = b""
    last: bool = True
    dv: int = DV
    rsvd: int = 0               # the four reserved bits, at their place in the byte

    tagged = True

    def header(self):
        control = T | (L if self.last else 0) | self.rsvd | self.dv
        return struct.pack(">BBIQ", control, self.ulp, self.stag, self.to)

    def pack(self):
        return self.header() + self.payload


@dataclass
class Untagged:
    """An untagged segment; ulp32 is the 32-bit field that has the Invalidate STag."""
    ulp: int
    qn: int
    msn: int
    mo: int = 0
    payload: bytes = b""
    ulp32: int = 0
    last: bool = True
    dv: int = DV
    rsvd: int = 0

    tagged = False

    def header(self):
        control = (L if self.last else 0) | self.rsvd | self.dv
        return struct.pack(">BBIIII", control, self.ulp, self.ulp32, self.qn,
                           self.msn, self.mo)

    def pack(self):
        return self.header() + self.payload


def parse(ulpdu):
    """Parse a ULPDU. Return a Tagged or an Untagged."""
    control = ulpdu[0]
    common = {"last": bool(control & L), "dv": control & 3,
              "rsvd": control & 0x3C}
    if control & T:
        _, ulp, stag, to = struct.unpack(">BBIQ", ulpdu[:TAGGED_LEN])
        return Tagged(ulp, stag, to, ulpdu[TAGGED_LEN:], **common)
    _, ulp, ulp32, qn, msn, mo = struct.unpack(">BBIIII",
                                               ulpdu[:UNTAGGED_LEN])
    return Untagged(ulp, qn, msn, mo, ulpdu[UNTAGGED_LEN:], ulp32, **common)
