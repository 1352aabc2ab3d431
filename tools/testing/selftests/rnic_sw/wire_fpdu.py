#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test FPDUs: framing, CRC, markers, TCP segments (RFC 5044 sections 4 to 6, 8)."""

import contextlib
import random
import re
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

from lib.wire import (CM, DEVICE, HERE, SERVER_IF, NS, PEER, PEER_IF, QP_FATAL, WC,
                      Async, Peer, add, case, check, ddp, mpa, rdmap, run, same,
                      setting, shell)

BASE = 0x7FFFFFFFE000
BIG = 1 << 18
ETH_MTU = 1500
# The number of offsets in a marker interval at which an FPDU can begin: all multiples of four
# except offset 4. An FPDU begins directly after a CRC field, but at offsets 0 to 3 there is a
# marker and never a CRC field.
PHASES = mpa.INTERVAL // 4 - 1

FIGURE_5 = bytes.fromhex("00000000 002a 4143 00000000 00000000 00000001"
                         "00000000") + bytes(24) + bytes.fromhex("52239983")
FIGURE_6 = bytes.fromhex("002a 4143 00000000 00000000 00000002 00000000"
                         "00000014") + bytes(24) + bytes.fromhex("84925898")
FIRST = 492 - 4 - 2 - 18 - 4 - 0        # payload of the FPDU before figure 6: 492 bytes minus
                                        # marker, length field, header, CRC and PAD


def make_pattern(length, seed):
    return random.Random(seed).randbytes(length)


def send_empty_message_and_wait(link, wr=1):
    """Check that an empty Send arrives: all messages before it are then placed."""
    link.peer.send()
    link.expect_wc(wr=wr, status=0)


# Figures of the RFC ---------------------------------------------------------


@case("receive figures 5 and 6 of RFC 5044",
      "MPA-15 MPA-33 MPA-39 MPA-48 MPA-49 MPA-51 MPA-53")
def test_rfc_figures_are_received(w):
    inbox = w.shared(4096, "l")
    with w.change_policy(markers=1) as port:
        link = w.initiate(peer=w.connect_tcp(port), recvs=[(inbox, 1024)] * 2,
                          opened=False)
        check("the Reply requests markers", w.reply.flags & mpa.M)
        link.peer.send_bytes(FIGURE_5)
        same("length", link.expect_wc(wr=1, status=0).length, 24)
        link = w.initiate(peer=w.connect_tcp(port), recvs=[(inbox, 1024)] * 2,
                          opened=False)
        link.peer.tx.pos = 0
        first = link.peer.build_fpdu(rdmap.make_send(1, bytes(FIRST)))
        same("length of the first FPDU", len(first), 492)
        link.peer.send_bytes(first + FIGURE_6)
        same("length", link.expect_wc(wr=2, status=0).length, 24)


@case("send figures 5 and 6 of RFC 5044",
      "MPA-15 MPA-22 MPA-23 MPA-25 MPA-30 MPA-34 MPA-47 MPA-52 MPA-117 "
      "MPA-151 DDP-35 DDP-45 DDP-42")
def test_rfc_figures_are_sent(w):
    memory = w.shared(4096, "l")
    memory.write_bytes(0, bytes(1024))
    with w.change_policy(revision=1):
        link = w.respond(mpa.make_reply(flags=mpa.C | mpa.M))
        link.post("send", memory, 24, 1)
        same("figure 5", link.peer.receive_bytes(len(FIGURE_5)).hex(), FIGURE_5.hex())
        link = w.respond(mpa.make_reply(flags=mpa.C | mpa.M))
        link.post("send", memory, FIRST, 1)
        link.post("send", memory, 24, 2)
        # the reader checks the CRCs of the FPDUs
        same("number of FPDUs before figure "
             "6", len(mpa.Reader(True).feed(link.peer.receive_bytes(492))), 1)
        same("figure 6", link.peer.receive_bytes(len(FIGURE_6)).hex(), FIGURE_6.hex())


# CRC ------------------------------------------------------------------------


def make_bit_flipper(place):
    def flip_bit(octets):
        out = bytearray(octets)
        out[place] ^= 0x10
        return bytes(out)
    return flip_bit


def test_crc_error_ends_stream(w, role, place):
    target, inbox = w.shared(4096, "lw"), w.shared(1024, "l")
    call = w.initiate if role == "responder" else w.respond
    link = call(recvs=[(inbox, 64)])
    good = link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr, b"A" * 25))
    following = link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr + 64, b"B"))
    with w.expect_counts(end_mpa_crc=1, tx_terminates=1):
        link.peer.send_bytes(make_bit_flipper(place)(good) + following +
                             link.peer.build_fpdu(rdmap.make_send(1, b"C")))
        term = link.peer.receive_terminate()
        same("Terminate", term.pack().hex(), "20020000")
        link.expect_end("fin")
        link.expect_wc(wr=1, status=5)
    w.server.expect_event(Async, conn=link.conn, event=QP_FATAL)
    w.check_counter_rises_again()
    target.check_untouched()
    inbox.check_untouched()


@case("bit changed in one of many segments that arrive together",
      "MPA-54 MPA-69 MPA-71 MPA-142 DDP-7")
def test_segments_before_bad_crc_are_placed(w):
    """The segments before the corrupted one are placed. The corrupted one and those after it
    are not."""
    cut, many = 1000, 12
    data = make_pattern(many * cut, 4)
    for wrong, octet in ((1, 16), (6, 500), (11, 1012)):
        target = w.shared(1 << 16, "lw")
        link = w.initiate()
        fpdus = [link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr + at,
                                                       data[at:at + cut], last=False))
                 for at in range(0, len(data), cut)]
        fpdus[wrong] = make_bit_flipper(octet)(fpdus[wrong])
        with w.expect_counts(end_mpa_crc=1, tx_terminates=1):
            link.peer.send_bytes(b"".join(fpdus))
            same("Terminate", link.peer.receive_terminate().pack().hex(), "20020000")
            link.expect_end("fin")
        w.server.expect_event(Async, conn=link.conn, event=QP_FATAL)
        same("memory before the corrupted "
             "segment", target.read_bytes(0, wrong * cut), data[:wrong * cut])
        following = target.size - wrong * cut
        same("memory from the corrupted segment "
             "on", target.read_bytes(wrong * cut, following), b"\x5A" * following)


# bytes of these fields, in this order: DDP control, RDMAP control, STag, TO, payload (its first and
# last byte), PAD (two bytes), CRC (its first and last byte)
for octet in (2, 3, 4, 15, 16, 40, 41, 42, 44, 47):
    for side in "responder", "initiator":
        add(f"{side}: bit changed in byte {octet} of a Write",
            "MPA-54 MPA-69 MPA-71 MPA-72 MPA-133 MPA-140 MPA-142 MPA-143 DDP-7 DDP-79 "
            "DDP-81 DDP-85 RDMAP-55 RDMAP-144",
            test_crc_error_ends_stream, role=side, place=octet)


@case("no CRC only if both sides agree",
      "MPA-20 MPA-21 MPA-40 MPA-42 MPA-44 MPA-45 MPA-46 MPA-85 MPA-86 "
      "MPA-87")
def test_crc_is_off_only_if_both_agree(w):
    for ours in 0, 1:
        for theirs in 0, 1:
            with w.change_policy(crc=ours) as port:
                check_crc_agreement(w, port, ours, theirs)


def check_crc_is_used_throughout(w, link, memory):
    """Check that CRCs are sent and verified, on the first FPDU and after many FPDUs."""
    for wr in range(20):
        link.round_trip()
        link.post("send", memory, 6, wr + 2)
        same("length", len(link.peer.receive_segment().payload), 6)
    link.peer.send_segments(rdmap.make_send(1, b"junk"), crc=b"junk")
    same("Terminate", link.peer.receive_terminate().what, (2, 0, 2))
    same("bytes before the end", link.peer.wait_end()[1], b"")
    w.clean_up_after_case()


def check_crc_agreement(w, port, ours, theirs):
    memory = w.shared(1024, "l")
    flags = mpa.C if theirs else 0
    for role in "responder", "initiator":
        if role == "responder":
            link = w.initiate(mpa.make_request(flags=flags), peer=w.connect_tcp(port),
                              recvs=[(memory, 64)], opened=False)
            same("C of the Reply", bool(w.reply.flags & mpa.C),
                 bool(ours or theirs))
        else:
            link = w.respond(lambda request: mpa.make_reply(
                rev=2, flags=flags | mpa.S,
                pd=mpa.pack_enhanced_word(1, 1, request.rtr)), recvs=[(memory, 64)])
            same("C of the Request", bool(w.request.flags & mpa.C),
                 bool(ours))
        if ours or theirs:
            check_crc_is_used_throughout(w, link, memory)
            continue
        link.peer.send_segments(rdmap.make_send(1, b"junk"), crc=b"junk")
        same("length", link.expect_wc(wr=1, status=0).length, 4)
        link.post("send", memory, 6, 2)
        # length field, header, ULPDU, PAD, and a CRC field with any value
        same("bytes of the FPDU", len(link.peer.receive_bytes(2 + 18 + 6 + 2 + 4)), 32)
        w.expect_quiet(link.peer)
        w.clean_up_after_case()


@case("only an administrator can turn CRC off", "MPA-40")
def test_only_admin_can_turn_crc_off(w):
    """Of two users without full privileges, only the one with CAP_NET_ADMIN may turn CRC off."""
    with w.change_settings(crc=1):
        for without, want in (("net_admin", "1"), ("net_raw", "0")):
            done = subprocess.run(
                ["setpriv", "--inh-caps", f"-{without}", "--bounding-set",
                 f"-{without}", f"{HERE}/lib/setting", DEVICE, "crc", "0"],
                text=True, capture_output=True, check=False)
            same(f"CRC setting without {without}", setting("crc"), want)
            same("refusal", "not permitted" in done.stderr, want == "1")


@case("without CRC: data is unchanged", "MPA-44")
def test_data_is_unchanged_without_crc(w):
    memory = w.shared(BIG, "lrw")
    data = make_pattern(100000, 1)
    with w.change_policy(crc=0) as port:
        link = w.initiate(mpa.make_request(flags=0), peer=w.connect_tcp(port),
                          recvs=[(w.shared(1024, "l"), 64)])
        for at in range(0, len(data), 1400):
            link.peer.send_segments(rdmap.make_write(memory.rkey, memory.addr + at,
                                                     data[at:at + 1400]),
                                    crc=b"\xFF" * 4)
        send_empty_message_and_wait(link)
        same("memory", memory.read_bytes(0, len(data)), data)


@case("PAD of any bytes is accepted", "MPA-18")
def test_any_pad_is_accepted(w):
    inbox = w.shared(1024, "l")
    link = w.initiate(recvs=[(inbox, 64)] * 4)
    for length in 1, 2, 3, 4:
        link.peer.send_segments(rdmap.make_send(length, b"x" * length),
                                pad=b"\xFF" * 3)
        same("length", link.expect_wc(wr=length, status=0).length, length)


@case("the device's PAD is zero, and as short as possible", "MPA-15 MPA-17 MPA-19")
def test_sent_pad_is_zero_and_shortest(w):
    memory = w.shared(4096, "l")
    link = w.initiate()
    for size in range(1, 9):
        link.post("send", memory, size, size)
        pad = -(2 + 18 + size) % 4
        octets = link.peer.receive_bytes(2 + 18 + size + pad + 4)
        same("ULPDU_Length", octets[:2], bytes([0, 18 + size]))
        same("payload and PAD", octets[20:-4].hex(), "5a" * size + "00" * pad)


# TCP segments ---------------------------------------------------------------


def test_fpdus_split_anywhere_are_received(w, markers=False, crc=True):
    target, inbox = w.shared(1 << 16, "lw"), w.shared(1024, "l")
    request = [] if crc else [mpa.make_request(flags=0)]
    with w.change_policy(markers=int(markers), crc=int(crc)) as port:
        link = w.initiate(*request, peer=w.connect_tcp(port), recvs=[(inbox, 64)],
                          opened=False)
        want = bytearray(b"\x5A" * target.size)
        size = len(mpa.Writer().build_fpdu(bytes(14 + 21)))
        for place in range(size + 4):
            at = 40 * place
            want[at:at + 21] = make_pattern(21, place)
            octets = link.peer.build_fpdu(rdmap.make_write(
                target.rkey, target.addr + at, bytes(want[at:at + 21])))
            link.peer.send_split(octets, min(place, len(octets)))
        send_empty_message_and_wait(link)
        same("memory", target.read_bytes(0, 4000), bytes(want[:4000]))


for with_markers in (False, True):
    add("FPDU split at every byte" + with_markers * ", with markers",
        "MPA-66 MPA-67 MPA-70 MPA-72 MPA-73 MPA-148 DDP-4",
        test_fpdus_split_anywhere_are_received, markers=with_markers)
# PAD and CRC field, which the device does not read without CRC, may be split, too
add("FPDU split at every byte, without CRC", "MPA-44 MPA-66 MPA-148",
    test_fpdus_split_anywhere_are_received, crc=False)


def test_fpdus_arriving_byte_by_byte_are_received(w, markers):
    target, inbox = w.shared(4096, "lw"), w.shared(1024, "l")
    with w.change_policy(markers=int(markers)) as port:
        link = w.initiate(peer=w.connect_tcp(port), recvs=[(inbox, 64)],
                          opened=False)
        data = make_pattern(ETH_MTU, 3)
        octets = link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr, data))
        octets += link.peer.build_fpdu(rdmap.make_send(1, b"end"))
        link.peer.send_split(octets, *range(1, len(octets)), pause=0)
        same("length", link.expect_wc(wr=1, status=0).length, 3)
        same("memory", target.read_bytes(0, ETH_MTU), data)


for with_markers in (False, True):
    add("one byte in each TCP segment" + with_markers * ", with markers",
        "MPA-66 MPA-148 MPA-150", test_fpdus_arriving_byte_by_byte_are_received,
        markers=with_markers)


@case("nothing is delivered before an FPDU is complete", "MPA-73 MPA-69")
def test_incomplete_fpdu_is_not_delivered(w):
    target = w.shared(4096, "lw")
    link = w.initiate()
    octets = link.peer.build_fpdu(rdmap.make_write(target.rkey, target.addr, b"z" * 999))
    link.peer.send_bytes(octets[:-1])
    w.expect_quiet(link.peer)
    target.check_untouched()
    link.peer.send_bytes(octets[-1:])
    link.peer.read(rdmap.ReadRequest(1, 2, 0, 0, 0))
    link.peer.receive_segment()
    same("memory", target.read_bytes(0, 999), b"z" * 999)


@case("many FPDUs in one TCP segment, then cut anywhere",
      "MPA-3 MPA-37 MPA-38 MPA-9 DDP-8 DDP-50 DDP-64")
def test_many_fpdus_in_one_segment_are_received(w):
    inbox, rand = w.shared(BIG, "l"), random.Random(9)
    link = w.initiate()
    for burst in range(4):
        sizes = [rand.randrange(300) for _ in range(60)]
        for wr, _ in enumerate(sizes):
            link.post_recv(inbox, 512, wr, offset=512 * wr)
        octets = b"".join(
            link.peer.build_fpdu(rdmap.make_send(link.peer.take_next_msn(0),
                                                 make_pattern(size, size)))
            for size in sizes)
        places = sorted(rand.sample(range(len(octets)), 12 * burst))
        link.peer.send_split(octets, *places, pause=0)
        for wr, size in enumerate(sizes):
            same("number, status, opcode and length, in "
                 "order", link.expect_wc(status=0)[1:5], (wr, 0, 128, size))
            same("data", inbox.read_bytes(512 * wr, size), make_pattern(size, size))


@case("ULPDUs of lengths up to 64768", "MPA-8 MPA-150 DDP-8")
def test_ulpdus_up_to_64768_bytes_are_received(w):
    target = w.shared(1 << 16, "lw")
    link = w.initiate()
    for length in 1, 2, 3, 4, 127, 1454, 1455, 9000, 32768, 64768 - 14:
        data = make_pattern(length, length)
        link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, data))
        link.round_trip()
        same("memory", target.read_bytes(0, length), data)


PIECE = 32768                   # bytes of contiguous memory in the sending kernel
FILLED = 500 * 1024             # bytes that nearly fill TCP's initial receive buffer, 512 KiB


@contextlib.contextmanager
def set_mtu(octets, ip, interface):
    """Context manager: set the MTU of an interface; ip is the command for its namespace."""
    shell(f"{ip} link set {interface} mtu {octets}")
    try:
        yield
    finally:
        shell(f"{ip} link set {interface} mtu {ETH_MTU}")


def read_max_receive_memory():
    """Return the largest amount of receive memory that TCP accounts to a connection."""
    return max(int(n) for n in re.findall(r"skmem:\(r(\d+),", shell("ss -tmn")))


def send_straddling_fpdus(w, inbox):
    """Send pieces that each end an FPDU and begin the next one, until they have filled the
    receive buffer."""
    size, at, most, wr = PIECE - 2 - 18 - 4, 1000, 0, 0
    link = w.initiate()

    def build_next_fpdu():
        return link.peer.build_fpdu(rdmap.make_send(link.peer.take_next_msn(0), bytes(size)))

    begun = build_next_fpdu()
    link.peer.send_bytes(begun[:at])
    # the kernel allocates from a page fragment of the thread; a new thread's fragment is unused
    with ThreadPoolExecutor(1) as beside:
        while most < FILLED:
            check("TCP merges many segments into one skb", wr < 200)
            link.post_recv(inbox, PIECE, wr)
            next_one = build_next_fpdu()
            beside.submit(link.peer.sock.sendall, begun[at:] + next_one[:at],
                          socket.MSG_EOR).result()
            begun = next_one
            same("length", link.expect_wc(wr=wr, status=0).length, size)
            most, wr = max(most, read_max_receive_memory()), wr + 1


@case("FPDUs that begin in a segment where others end", "")
def test_straddling_fpdus_are_received(w):
    """TCP counts the consumed part of an skb in the receive buffer as long as the rest of the skb
    is an incomplete FPDU. The device must nevertheless receive the remaining bytes of that FPDU."""
    with (set_mtu(65535, "ip", SERVER_IF), set_mtu(65535, f"ip -n {NS}", PEER_IF)):
        send_straddling_fpdus(w, w.shared(1 << 16, "l"))


# Markers --------------------------------------------------------------------


def compute_marker_phases(fpdus):
    """Return the offsets in the marker interval at which the FPDUs begin."""
    return {fpdu.start % mpa.INTERVAL for fpdu in fpdus}


def test_sent_markers_are_right(w, role):
    memory = w.shared(8192, "l")
    data = make_pattern(8192, 5)
    memory.write_bytes(0, data)
    if role == "responder":
        link = w.initiate(mpa.make_request(flags=mpa.C | mpa.M))
    else:
        link = w.respond(lambda request: mpa.make_reply(
            rev=2, flags=mpa.C | mpa.S | mpa.M,
            pd=mpa.pack_enhanced_word(1, 1, request.rtr)))
    check("the device does not request markers", not link.peer.tx.markers)
    got, rand = [], random.Random(55)
    while len(compute_marker_phases(got)) < PHASES and len(got) < 3000:
        sizes = [rand.randrange(200) for _ in range(32)]
        for wr, size in enumerate(sizes):
            link.post("send", memory, size, wr, offset=wr)
        for wr, size in enumerate(sizes):
            fpdu = link.peer.receive_fpdu()
            got.append(fpdu)
            same("data", ddp.parse(fpdu.ulpdu).payload, data[wr:wr + size])
        for wr, size in enumerate(sizes):
            link.expect_wc(wr=wr, status=0)
    same("phases", len(compute_marker_phases(got)), PHASES)
    check("one FPDU has a marker between PAD and CRC field",
          any(at == fpdu.start + fpdu.size - 8
              for fpdu in got for at, _ in fpdu.markers))
    # send short FPDUs until one begins with a marker; some of the others contain a marker
    for _ in range(3 * PHASES):
        link.post("send", memory, 600, 98, offset=8)
        got = [link.peer.receive_fpdu()]
        same("data", ddp.parse(got[0].ulpdu).payload, data[8:608])
        link.expect_wc(wr=98, status=0)
        if 0 in compute_marker_phases(got):
            break
    same("phases of the FPDU that begins with a marker", compute_marker_phases(got), {0})
    link.post("write", memory, 8192, 99, 0x10000, 7)
    payload = b"".join(s.payload for s in link.peer.receive_message())
    same("payload of a long message", payload, data)


for side in "responder", "initiator":
    add(f"{side}: inserts markers that the peer requests, at every phase",
        "MPA-3 MPA-16 MPA-17 MPA-27 MPA-28 MPA-29 MPA-30 MPA-32 MPA-33 "
        "MPA-34 MPA-35 MPA-36 MPA-50 MPA-84", test_sent_markers_are_right, role=side)


def test_received_markers_are_removed(w, role):
    target, inbox = w.shared(BIG, "lrw"), w.shared(1024, "l")
    with w.change_policy(markers=1) as port:
        if role == "responder":
            link = w.initiate(peer=w.connect_tcp(port), recvs=[(inbox, 64)])
        else:
            link = w.respond(recvs=[(inbox, 64)])
        check("the device requests markers", link.peer.tx.markers)
        check("the peer does not request markers", not link.peer.rx.markers)
        rand, at, seen, after_pad = random.Random(56), 0, set(), 0
        want = bytearray()
        while len(seen) < PHASES and at < BIG - 2000:
            seen.add(link.peer.tx.pos % mpa.INTERVAL)
            want += (data := rand.randbytes(rand.randrange(250)))
            link.peer.send_segments(rdmap.make_write(target.rkey, target.addr + at,
                                                     data))
            after_pad += (link.peer.tx.pos - 8) % mpa.INTERVAL == 0
            at += len(data)
        link.peer.send_segments(rdmap.make_write(target.rkey, target.addr + at,
                                                 make_pattern(1900, 4)))
        send_empty_message_and_wait(link)
        same("phases", len(seen), PHASES)
        check("one FPDU has a marker between PAD and CRC field", after_pad)
        same("memory", target.read_bytes(0, at + 1900), want + make_pattern(1900, 4))
        # although it requested markers, the device sends none (MPA-83)
        link.peer.read(rdmap.ReadRequest(9, 0, 1000, target.rkey, target.addr))
        same("read", link.peer.receive_segment().payload, bytes(want[:1000]))


for side in "responder", "initiator":
    add(f"{side}: accepts markers that it requested, at every phase",
        "MPA-37 MPA-38 MPA-50 MPA-53 MPA-83",
        test_received_markers_are_removed, role=side)


@case("both directions with markers, from the first byte after the start-up frames",
      "MPA-53 MPA-74 MPA-75 MPA-77 MPA-84")
def test_markers_work_in_both_directions(w):
    memory = w.shared(BIG, "lrw")
    data = make_pattern(50000, 8)
    memory.write_bytes(0, data)
    with w.change_policy(markers=1) as port:
        link = w.initiate(mpa.make_request(flags=mpa.C | mpa.M), peer=w.connect_tcp(port))
        link.peer.read(rdmap.ReadRequest(9, 0, len(data), memory.rkey,
                                         memory.addr))
        got = b"".join(s.payload for s in link.peer.receive_message())
        same("data read", got, data)


@case("reserved and low bits of a marker are ignored", "MPA-24 MPA-26")
def test_reserved_marker_bits_are_ignored(w):
    inbox = w.shared(4096, "l")
    with w.change_policy(markers=1) as port:
        link = w.initiate(peer=w.connect_tcp(port), recvs=[(inbox, 2048)],
                          opened=False)
        link.peer.send_segments(
            rdmap.make_send(1, bytes(1500)),
            marker=lambda m: b"\xFF\xFF" + m[2:3] + bytes([m[3] | 3]))
        same("length", link.expect_wc(wr=1, status=0).length, 1500)


@case("a marker that points elsewhere ends the stream",
      "MPA-68 MPA-134 MPA-135 MPA-136 MPA-143 MPA-140 MPA-142")
def test_wrong_marker_ends_stream(w):
    target, inbox = w.shared(4096, "lw"), w.shared(1024, "l")
    with w.change_policy(markers=1) as port:
        link = w.initiate(peer=w.connect_tcp(port), recvs=[(inbox, 64)])
        wrong = rdmap.make_write(target.rkey, target.addr, b"w" * 600)
        with w.expect_counts(end_mpa_marker=1, tx_terminates=1):
            link.peer.send_segments(
                wrong, marker=lambda m: m[:3] + bytes([m[3] ^ 8]))
            link.peer.send_segments(rdmap.make_send(1, b"behind"))
            same("Terminate", link.peer.receive_terminate().pack().hex(),
                 "20030000")
            link.expect_end("fin")
            link.expect_wc(wr=1, status=5)
        target.check_untouched()


# Loss at the switch from start-up frames to FPDUs ----------------------------


@case("responder: end of the Request, Reply and first FPDU lost at first",
      "MPA-128 MPA-129")
def test_responder_survives_startup_loss(w):
    memory = w.shared(4096)
    octets = mpa.make_request(pd=b"lost").pack()
    link = w.add_link(w.connect_tcp())
    link.peer.send_bytes(octets[:9])
    with w.drop_packets(PEER_IF):
        link.peer.send_bytes(octets[9:])
        w.server.expect_no_event_within(CM, timeout=0.3, event="CONNECT_REQUEST")
    event = w.expect_request()
    link.conn = event.conn
    same("Private Data", event.pd, b"lost")
    link.post_recv(memory, 64, 1)
    with w.drop_packets(SERVER_IF):
        w.server.do("accept", link.conn, 1, 1)
        check("the Reply is lost", link.peer.stays_silent())
    link.peer.enter_full_operation(mpa.make_request(), link.peer.receive_frame())
    with w.drop_packets(PEER_IF):
        link.peer.send(b"first")
        w.server.expect_no_event_within(WC, timeout=0.3, conn=link.conn)
    same("length", link.expect_wc(wr=1, status=0).length, 5)
    same("data", memory.read_bytes(0, 5), b"first")


@case("initiator: Reply and first FPDU lost at first", "MPA-128 MPA-129")
def test_initiator_survives_startup_loss(w):
    with w.listening() as (sock, port):
        conn = int(w.server.do("open", PEER, port)[0])
        link = w.add_link(None, conn)
        w.server.do("connect", conn, 1, 1)
        link.peer = Peer(sock.accept()[0])
    request = link.peer.receive_frame()
    reply = mpa.make_reply(rev=2, flags=mpa.C | mpa.S, pd=mpa.pack_enhanced_word(1, 1, request.rtr))
    with w.drop_packets(SERVER_IF):
        with w.drop_packets(PEER_IF):
            link.peer.send_bytes(reply.pack())
            w.server.expect_no_event_within(CM, timeout=0.3, conn=conn)
        link.expect_cm("ESTABLISHED", status=0)
        check("the first FPDU is lost", link.peer.stays_silent())
    link.peer.enter_full_operation(reply, request)
    link.post("send", w.shared(4096), 4, 1)
    link.peer.receive_segment()
    same("payload of the Send", link.peer.receive_segment().payload, bytes([0x5A]) * 4)


run()
