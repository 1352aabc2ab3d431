# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Messages that wire_fuzz.py sends: valid ones, and ways to corrupt them.

All random choices come from the random.Random passed in, so that a seed
reproduces the same bytes.
"""

import struct
from dataclasses import replace

from rawpeer import crc32c, ddp, mpa, rdmap

IMMEDIATE, IMMEDIATE_SE, ATOMIC, ATOMIC_ANSWER = 8, 9, 10, 11
QN_ATOMIC_ANSWER = 3
FETCH_ADD, CMP_SWAP = 0, 2
TOP = 1 << 64
ODD32 = (0, 1, 2, 3, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


class Writer(mpa.Writer):
    """Like mpa.Writer, but faster if there are no markers."""

    def build_fpdu(self, ulpdu, pad=None, crc=None, length=None, marker=None):
        if self.markers:
            return super().build_fpdu(ulpdu, pad, crc, length, marker)
        length = len(ulpdu) if length is None else length
        out = struct.pack(">H", length) + ulpdu
        out += (pad or bytes(3))[:-len(out) % 4]
        right = crc32c.encode_crc(out) if self.crc else bytes(4)
        self.pos += len(out) + 4
        return out + (crc or right)


def make_atomic_request(msn, payload):
    return ddp.Untagged(rdmap.pack_control(ATOMIC), rdmap.QN_READ, msn,
                        payload=payload)


def make_atomic_response(msn, number, old=0):
    return ddp.Untagged(rdmap.pack_control(ATOMIC_ANSWER), QN_ATOMIC_ANSWER, msn,
                        payload=struct.pack(">IQ", number, old))


class Messages:
    """Builds valid messages, and counts the responses that they require."""

    SENDS, REQUESTS = 5, 3          # maximum numbers for which fuzz_server is prepared

    def __init__(self, rand, areas):
        self.rand, self.areas = rand, areas
        self.msn = {0: 1, 1: 1, 2: 1, 3: 1}
        self.sends = self.requests = 0
        self.due = 0                # bytes of Read Responses that must still arrive
        self.atomics = 0            # Atomic Responses that must still arrive

    def take_next_msn(self, queue):
        self.msn[queue] += 1
        return self.msn[queue] - 1

    def choose_range(self, name, most):
        """Return an address and a length within an area, and the STag of the area."""
        addr, size, key = self.areas[name]
        length = self.rand.randrange(most)
        return addr + self.rand.randrange(size - length), length, key

    def make_random_message(self):
        """Return the segments of a random message."""
        ways = [self.make_write]
        if self.sends < self.SENDS:
            ways += [self.make_send, self.make_immediate]
        if self.requests < self.REQUESTS:
            ways += [self.make_read, self.make_atomic]
        return self.rand.choice(ways)()

    def make_send(self):
        self.sends += 1
        msn, rand = self.take_next_msn(0), self.rand
        code = rand.choice((rdmap.SEND, rdmap.SEND_SE))
        octets = rand.randbytes(rand.choice((0, 1, 30, 200, 512)))
        cut = rand.randrange(len(octets) + 1)
        if rand.random() < 0.7 or not 0 < cut < len(octets):
            return [rdmap.make_send(msn, octets, code)]
        return [rdmap.make_send(msn, octets[:cut], code, last=False),
                rdmap.make_send(msn, octets[cut:], code, mo=cut)]

    def make_immediate(self):
        self.sends += 1
        return [rdmap.make_send(self.take_next_msn(0), self.rand.randbytes(8),
                                self.rand.choice((IMMEDIATE, IMMEDIATE_SE)))]

    def make_write(self):
        addr, length, key = self.choose_range("target", 400)
        octets = self.rand.randbytes(length)
        cut = self.rand.randrange(length + 1)
        if self.rand.random() < 0.7:
            return [rdmap.make_write(key, addr, octets)]
        return [rdmap.make_write(key, addr, octets[:cut], last=False),
                rdmap.make_write(key, addr + cut, octets[cut:])]

    def make_read(self):
        self.requests += 1
        addr, length, key = self.choose_range(
            self.rand.choice(("target", "source")), 600)
        self.due += length
        return [rdmap.ReadRequest(0x2222, 0x3000, length, key, addr)
                .segment(self.take_next_msn(1))]

    def make_atomic(self):
        self.requests += 1
        self.atomics += 1
        addr, size, key = self.areas["target"]
        addr = -(-addr // 8) * 8 + 8 * self.rand.randrange(size // 8 - 1)
        payload = struct.pack(
            ">IIIQQQQQ", self.rand.choice((FETCH_ADD, CMP_SWAP)),
            self.rand.getrandbits(32), key, addr,
            *(self.rand.getrandbits(64) for _ in range(4)))
        return [make_atomic_request(self.take_next_msn(1), payload)]


def flip_random_bits(rand, octets, most=4):
    """Return a copy of the bytes with some bits changed."""
    out = bytearray(octets)
    for _ in range(rand.randint(1, most) if out else 0):
        out[rand.randrange(len(out))] ^= 1 << rand.randrange(8)
    return bytes(out)


class Spoiler:
    """Builds a corrupt segment with a random method.

    build_fpdu: function that builds an FPDU from a ULPDU (and the arguments of
    mpa.Writer.build_fpdu)
    """

    def __init__(self, rand, messages, build_fpdu):
        self.rand, self.messages, self.build_fpdu = rand, messages, build_fpdu
        self.keys = [key for _, _, key in messages.areas.values()]

    def spoil(self, segment):
        """Return the name of the method, and the bytes to send."""
        way = self.rand.choice(self.WAYS)
        return way.__name__, way(self, segment)

    # methods that corrupt the DDP and RDMAP headers; the CRC is correct

    def build_changed_fpdu(self, segment, **fields):
        return self.build_fpdu(replace(segment, **fields).pack())

    def flip_ulpdu(self, segment):
        return self.build_fpdu(flip_random_bits(self.rand, segment.pack()))

    def flip_header(self, segment):
        return self.build_fpdu(flip_random_bits(self.rand, segment.header(), 2) +
                               segment.payload)

    def flip_payload(self, segment):
        return self.build_fpdu(segment.header() + flip_random_bits(self.rand, segment.payload))

    def change_tagged_flag(self, segment):
        octets = bytearray(segment.pack())
        octets[0] ^= ddp.T
        return self.build_fpdu(bytes(octets))

    def change_control(self, segment):
        return self.build_changed_fpdu(segment, dv=self.rand.randrange(4),
                                       last=self.rand.random() < 0.5,
                                       rsvd=self.rand.getrandbits(4) << 2)

    def change_opcode(self, segment):
        return self.build_changed_fpdu(segment, ulp=self.rand.choice(
            (self.rand.getrandbits(8), rdmap.pack_control(
                self.rand.randrange(16)))))

    def choose_wrong_number(self, right):
        return self.rand.choice(
            (right + 1, right - 1, right ^ 0x80000000,
             self.rand.choice(ODD32), self.rand.getrandbits(32))) \
            & 0xFFFFFFFF

    def change_destination(self, segment):
        """Change the destination: QN, MSN and MO, or STag and TO."""
        if not segment.tagged:
            name = self.rand.choice(("qn", "msn", "mo", "ulp32"))
            return self.build_changed_fpdu(
                segment, **{name: self.choose_wrong_number(getattr(segment, name))})
        if self.rand.random() < 0.5:
            return self.build_changed_fpdu(segment, stag=self.choose_maybe_wrong_stag())
        return self.build_changed_fpdu(segment, to=self.choose_wrong_offset(segment.to))

    def choose_maybe_wrong_stag(self):
        key = self.rand.choice(self.keys)
        return self.rand.choice((key, key ^ 1, key ^ 0x100, 0, 0x100, 0x1FF,
                                 self.rand.getrandbits(32)))

    def choose_wrong_offset(self, right):
        addr, size, _ = self.rand.choice(list(self.messages.areas.values()))
        return self.rand.choice(
            (right + 1, addr - 1, addr + size - 1, addr + size, 0, TOP - 1,
             right ^ 1 << 63, self.rand.getrandbits(64))) % TOP

    def shorten_ulpdu(self, segment):
        octets = segment.pack()
        return self.build_fpdu(octets[:self.rand.randrange(len(octets))])

    def lengthen_ulpdu(self, segment):
        return self.build_fpdu(segment.pack() + self.rand.randbytes(
            self.rand.choice((1, 8, 100, 600, 1500))))

    def build_empty_ulpdu(self, _segment):
        return self.build_fpdu(b"")

    def clear_last_flag(self, segment):
        return b"".join(self.build_changed_fpdu(segment, last=False) for _ in range(3))

    def repeat_segment(self, segment):
        return self.build_fpdu(segment.pack()) + self.build_fpdu(segment.pack())

    # methods that send a whole message where it is not allowed

    def build_random_request(self, _segment):
        rand = self.rand
        read = rdmap.ReadRequest(
            rand.getrandbits(32), rand.getrandbits(64),
            self.choose_wrong_number(rand.randrange(600)), self.choose_maybe_wrong_stag(),
            self.choose_wrong_offset(0))
        return self.build_fpdu(read.segment(self.messages.take_next_msn(1)).pack())

    def cross_region_edge(self, _segment):
        """Return a Write or a Read Request that crosses an end of the region by one byte."""
        addr, size, key = self.messages.areas["target"]
        length = self.rand.randint(1, 40)
        place = self.rand.choice((addr - 1, addr + size - length + 1))
        if self.rand.random() < 0.5:
            return self.build_fpdu(rdmap.make_write(
                key, place, self.rand.randbytes(length)).pack())
        read = rdmap.ReadRequest(1, 2, length, key, place)
        return self.build_fpdu(read.segment(self.messages.take_next_msn(1)).pack())

    def build_many_read_requests(self, _segment):
        addr, size, key = self.messages.areas["target"]
        read = rdmap.ReadRequest(1, 2, size, key, addr)
        return b"".join(
            self.build_fpdu(read.segment(self.messages.take_next_msn(1)).pack())
            for _ in range(self.rand.randint(2, 9)))

    def build_bad_atomic(self, _segment):
        rand = self.rand
        payload = struct.pack(
            ">IIIQQQQQ", rand.choice((0, 1, 2, 3, 15, rand.getrandbits(32))),
            1, self.choose_maybe_wrong_stag(), self.choose_wrong_offset(8),
            *(rand.getrandbits(64) for _ in range(4)))
        return self.build_fpdu(make_atomic_request(self.messages.take_next_msn(1), payload).pack())

    def build_many_sends(self, _segment):
        return b"".join(
            self.build_fpdu(rdmap.make_send(self.messages.take_next_msn(0), b"again").pack())
            for _ in range(self.rand.randint(5, 12)))

    def build_unexpected_response(self, _segment):
        return self.build_fpdu(rdmap.make_read_response(
            self.choose_maybe_wrong_stag(), self.choose_wrong_offset(0),
            self.rand.randbytes(self.rand.randrange(600))).pack())

    def build_unexpected_atomic_response(self, _segment):
        return self.build_fpdu(make_atomic_response(
            self.messages.take_next_msn(3), self.rand.randrange(4)).pack())

    def build_send_with_invalidate(self, _segment):
        return self.build_fpdu(rdmap.make_send(
            self.messages.take_next_msn(0), b"",
            self.rand.choice((rdmap.SEND_INV, rdmap.SEND_SE_INV)),
            ulp32=self.choose_maybe_wrong_stag()).pack())

    def build_terminate(self, segment):
        rand = self.rand
        term = rdmap.Terminate(
            rand.randrange(16), rand.randrange(16), rand.getrandbits(8),
            rand.choice((None, len(segment.pack()))),
            rand.choice((None, segment.header())),
            rand.choice((None, bytes(28))), rand.getrandbits(13)).segment()
        octets = rand.choice((term.payload, flip_random_bits(rand, term.payload),
                              term.payload[:rand.randrange(50)]))
        return self.build_fpdu(replace(term, payload=octets).pack())

    WAYS = (flip_ulpdu, flip_header, flip_header, flip_payload, change_tagged_flag,
            change_control, change_opcode, change_destination, change_destination,
            change_destination, shorten_ulpdu, lengthen_ulpdu, build_empty_ulpdu,
            clear_last_flag, repeat_segment, cross_region_edge, build_random_request,
            build_random_request, build_many_read_requests,
            build_bad_atomic, build_many_sends, build_unexpected_response,
            build_unexpected_atomic_response, build_send_with_invalidate, build_terminate)


class MpaSpoiler(Spoiler):
    """Like Spoiler, with methods that corrupt MPA."""

    def flip_fpdu(self, segment):
        return flip_random_bits(self.rand, self.build_fpdu(segment.pack()))

    def build_with_wrong_crc(self, segment):
        return self.build_fpdu(segment.pack(), crc=self.rand.randbytes(4))

    def build_with_wrong_pad(self, segment):
        return self.build_fpdu(segment.pack(), pad=b"pad")

    def build_with_wrong_length(self, segment):
        octets = segment.pack()
        length = self.rand.choice(
            (0, 1, len(octets) + 1, len(octets) - 1, len(octets) + 4, 0xFFFF,
             self.rand.getrandbits(16)))
        return self.build_fpdu(octets, length=length)

    def build_with_wrong_marker(self, segment):
        if self.rand.random() < 0.5:
            return bytes(4) + self.build_fpdu(segment.pack())
        return self.build_fpdu(segment.pack() + bytes(600),
                               marker=lambda right: flip_random_bits(self.rand, right))

    def truncate_fpdu(self, segment):
        octets = self.build_fpdu(segment.pack())
        return octets[:self.rand.randrange(len(octets))]

    def make_random_bytes(self, _segment):
        return self.rand.randbytes(self.rand.randrange(1, 300))

    WAYS = Spoiler.WAYS + (flip_fpdu, build_with_wrong_crc, build_with_wrong_pad,
                           build_with_wrong_length, build_with_wrong_marker, truncate_fpdu,
                           make_random_bytes)


def spoil_frame(rand, frame):
    """Return the bytes of a start-up frame that is most likely invalid."""
    octets = frame.pack()
    header, pd = octets[:mpa.HEADER], octets[mpa.HEADER:]
    return rand.choice((
        lambda: flip_random_bits(rand, header, 2) + pd,
        lambda: octets[:16] + flip_random_bits(rand, octets[16:]),
        lambda: octets[:rand.randrange(len(octets))],
        lambda: octets + rand.randbytes(rand.randrange(1, 600)),
        lambda: replace(frame, rev=rand.choice((0, 2, 3, 255))).pack(),
        lambda: replace(frame, flags=rand.getrandbits(8)).pack(),
        lambda: replace(frame, pd_length=rand.getrandbits(10)).pack(),
        lambda: replace(frame, pd_length=rand.getrandbits(16)).pack(),
        lambda: replace(frame, pd=rand.randbytes(513)).pack(),
        lambda: replace(frame, pd=rand.randbytes(rand.randrange(9))).pack(),
        lambda: rand.randbytes(rand.randrange(1, 100)),
    ))()
