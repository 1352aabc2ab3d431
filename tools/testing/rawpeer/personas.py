# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Other iWARP stacks, as the table in Documentation/interop.rst describes them: how each starts
up a connection, as initiator and as responder. That page names the sources."""

import struct
from dataclasses import dataclass

from . import mpa, rdmap

SEND, WRITE, READ = mpa.B, mpa.CC, mpa.D
TYPES = SEND | WRITE | READ


@dataclass(frozen=True)
class Stack:
    """How a stack behaves with its default settings."""
    name: str
    rev: int = 2            # revision of its Request, and the highest that it accepts
    crc: bool = True        # it requests CRC, as initiator and as responder
    offers: int = 0         # RTR flags of its Request
    knows: int = 0          # RTR types that its Reply may name
    one_only: tuple = ()    # its Reply contains only the first of these types that was offered
    last: int = 0           # types that its Reply names if it knows none of those offered
    adds: int = 0           # types that its Reply also names, whether offered or not
    fixed: int = 0          # RTR type that its Reply always names, and the only one it accepts
    needs_model: bool = False   # it refuses an enhanced Reply that has no flag A or
                                # names neither type Write nor Read
    opens_plain: int = 0    # RTR type with which it opens a connection of revision 1
    stag: int = 1           # STag of its first message
    data: bytes = b"hello"  # Private Data of its Request
    refuses_crc: bool = False   # it rejects a Request with flag C
    resets: bool = True     # it refuses a Request with a reset; if false, with a FIN
    bare_reject: bool = False   # a Reply that rejects has no flag C

    # initiator ------------------------------------------------------------

    def make_request(self, ird, ord_):
        flags = mpa.C if self.crc else 0
        if self.rev < 2:
            return mpa.make_request(flags=flags, pd=self.data)
        return mpa.make_request(rev=2, flags=flags | mpa.S,
                                pd=mpa.pack_enhanced_word(ird, ord_, self.offers) + self.data)

    def choose_first_message(self, reply):
        """Return the type of the first message that this persona sends after the Reply: 0 if it
        sends no message, None if it refuses the Reply."""
        if reply.rev > self.rev:
            return None
        if not reply.enhanced:
            return self.opens_plain
        types = reply.rtr & TYPES if reply.rtr & mpa.A else 0
        if self.fixed:
            first = WRITE if types & WRITE else READ if types & READ else 0
            return first if first == self.fixed else None
        if self.needs_model and not types & (WRITE | READ):
            return None
        both = types & self.offers
        return next((kind for kind in (READ, WRITE, SEND) if both & kind), 0)

    def send_first_message(self, peer, kind):
        """Send the message that opens the stream."""
        if kind == READ:
            peer.read(rdmap.ReadRequest(self.stag, 1, 0, self.stag, 1))
        elif kind == WRITE:
            peer.send_segments(rdmap.make_write(self.stag, 1))
        elif kind == SEND:
            peer.send()

    # responder ------------------------------------------------------------

    def _choose_rtr_types(self, offered):
        """Return the RTR types that the stack's Reply names, if the Request offers these types."""
        if self.fixed:
            return self.fixed if offered & (WRITE | READ) else 0
        if self.one_only:
            return next((kind for kind in self.one_only if offered & kind), self.last)
        return offered & self.knows or self.last

    def make_reply(self, request):
        """Return the Reply of the stack to the Request, or None if the stack closes the connection.
        """
        if request.rev > self.rev:
            return None
        flags = mpa.C if self.crc or request.flags & mpa.C else 0
        if self.refuses_crc and flags:
            return mpa.make_reply(rev=request.rev, flags=mpa.R)
        if not request.enhanced:
            return mpa.make_reply(rev=request.rev, flags=flags)
        types = self._choose_rtr_types(request.rtr & TYPES) if request.rtr & mpa.A else 0
        if self.needs_model and not types:
            return None
        rtr = types and mpa.A | types | self.adds
        return mpa.make_reply(rev=2, flags=flags | mpa.S,
                              pd=mpa.pack_enhanced_word(request.ord, request.ird, rtr))

    def make_reject(self, request, data):
        """Return the Reply with which the stack's program rejects the Request, or None if the stack
        closes the connection."""
        reply = self.make_reply(request)
        if reply:
            reply.flags |= mpa.R
            reply.pd += data
            if self.bare_reject:
                reply.flags &= ~mpa.C
        return reply


CXGB4 = Stack("cxgb4", offers=mpa.A | READ, fixed=READ, opens_plain=READ, bare_reject=True)
IRDMA = Stack("irdma", offers=mpa.A | WRITE | READ, one_only=(READ, WRITE), needs_model=True,
              opens_plain=READ, stag=0x1234)
QEDR = Stack("qedr", offers=mpa.A | TYPES, knows=TYPES, last=TYPES)
SIW = Stack("siw", crc=False, one_only=(WRITE, READ), last=WRITE)
SOFTIWARP = Stack("softiwarp", rev=1, crc=False, refuses_crc=True, resets=False)
IW_CXGBE = Stack("iw_cxgbe", rev=1)
CXGB3 = Stack("cxgb3, peer2peer=1", rev=1, opens_plain=READ, bare_reject=True)
NES = Stack("nes", rev=1, opens_plain=READ)
NES_2 = Stack("nes, mpa_version=2", offers=mpa.A | TYPES, one_only=(READ, WRITE), adds=SEND,
              needs_model=True, opens_plain=READ)
SMB_DIRECT = Stack("SMB Direct, revision 1", rev=1, data=struct.pack(">II", 16, 16))
CHELSIO_T404 = Stack("T404-BT, Windows", rev=1, opens_plain=READ, data=SMB_DIRECT.data)
SMBDIRECT = Stack("smbdirect over irdma", offers=IRDMA.offers, one_only=IRDMA.one_only,
                  needs_model=True, opens_plain=READ, stag=IRDMA.stag,
                  data=struct.pack(">II", 8, 8))

ALL = (CXGB4, IRDMA, QEDR, SIW, SOFTIWARP, IW_CXGBE, CXGB3, NES, NES_2, SMB_DIRECT, CHELSIO_T404,
       SMBDIRECT)
