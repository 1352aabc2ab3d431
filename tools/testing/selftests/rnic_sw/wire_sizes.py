#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test how long FPDUs are, where they begin, and how much data is in flight (RFC 5044
sections 3 to 5, RFC 5041 appendix A)."""

import random
import re
import socket
import struct

from lib.wire import (SERVER_IF, NS, PEER_IF, PORT, WC, add, connect_with_device_as, case, check,
                      ddp, add_case_for_both_roles, mpa, rdmap, run, same, shell,
                      disable_timestamps)

BIG = 1 << 18
LONGEST = 64768
STAG, TO = 0xFEDCBA98, 0x76543210FEDC4321


def make_pattern(length, seed):
    return random.Random(seed).randbytes(length)


# Sizes ----------------------------------------------------------------------


def compute_mulpdu(emss, markers):
    """Return the MULPDU for an EMSS, as in RFC 5044 section 4.5."""
    spare = 6 + emss % 4 + (4 * -(-emss // 512) if markers else 0)
    return max(emss - spare, 128)


def test_fpdus_have_length_of_mulpdu(w, mss, markers):
    """A long Write must be sent in FPDUs that are exactly as long as the MULPDU allows."""
    with disable_timestamps():
        memory = w.shared(BIG, "l")
        memory.write_bytes(0, make_pattern(4000, 6))
        flags = mpa.C | (mpa.M if markers else 0)
        link = w.initiate(mpa.make_request(flags=flags), peer=w.connect_tcp(mss=mss))
        link.post("write", memory, 20000, 1, TO, STAG)
        to, fpdus = TO, []
        while not fpdus or not ddp.parse(fpdus[-1].ulpdu).last:
            fpdus.append(link.peer.receive_fpdu())
            seg = ddp.parse(fpdus[-1].ulpdu)
            same("STag, TO, RsvdULP", (seg.stag, seg.to, seg.ulp),
                 (STAG, to, 0x40))
            same("DV and reserved bits", (seg.dv, seg.rsvd), (1, 0))
            to += len(seg.payload)
        same("bytes", to - TO, 20000)
        lengths = {len(fpdu.ulpdu) for fpdu in fpdus[:-1]}
        same("ULPDU_Length", lengths, {compute_mulpdu(mss, markers)})
        check("FPDUs are no longer than a TCP segment",
              all(fpdu.size <= max(mss, 160) for fpdu in fpdus))


for segment in (1460, 1448, 1000, 536, 203):
    for with_markers in (False, True):
        add(f"EMSS {segment}" + with_markers * ", with markers",
            "MPA-3 MPA-4 MPA-5 MPA-55 MPA-56 MPA-58 MPA-62 DDP-1 DDP-17 DDP-18 "
            "DDP-19 DDP-22 DDP-24 DDP-26 DDP-27 DDP-29 DDP-31 DDP-33 DDP-47 "
            "DDP-49 DDP-52 DDP-53 DDP-60 RDMAP-19 RDMAP-21 RDMAP-56 RDMAP-62",
            test_fpdus_have_length_of_mulpdu, mss=segment, markers=with_markers)
add("EMSS 88: no MULPDU below 128", "MPA-6 MPA-60",
    test_fpdus_have_length_of_mulpdu, mss=88, markers=False)


@case("little space in a segment: no ULPDU below 128 because of it", "MPA-61")
def test_little_room_gives_no_short_ulpdu(w):
    """A short Send leaves a little space in a TCP segment. The driver must not fill this space with
    a short ULPDU of the Write that follows: all ULPDUs but the last one have at least 128 bytes."""
    memory = w.shared(BIG, "l")
    for rest in 8, 60, 132, 150:
        link = w.initiate(opened=False)
        emss = link.peer.sock.getsockopt(socket.IPPROTO_TCP,
                                         socket.TCP_MAXSEG)
        link.post("send", memory, emss - rest - (2 + 18 + 4), 1)
        link.post("write", memory, 3 * emss, 2, 1, 2)
        link.peer.send_segments(rdmap.make_write(0, 0))
        link.peer.receive_fpdu()
        fpdus = [link.peer.receive_fpdu()]
        while not ddp.parse(fpdus[-1].ulpdu).last:
            fpdus.append(link.peer.receive_fpdu())
        lengths = [len(fpdu.ulpdu) for fpdu in fpdus]
        check(f"no ULPDU below 128 with {rest} bytes left: "
              f"{lengths}", min(lengths[:-1]) >= 128)
        w.clean_up_after_case()


@case("no ULPDU above 64768, however long a segment may be", "MPA-7")
def test_ulpdu_length_is_limited(w):
    """With this MTU the EMSS is 65483, for which a ULPDU could have 65474 bytes. TCP's segments are
    at most half as long as the peer's window, which grows while the peer reads data. So send until
    the segments have their full length."""
    memory = w.shared(BIG, "l")
    try:
        shell(f"ip -n {NS} link set {PEER_IF} mtu 65535")
        link = w.initiate(peer=w.connect_tcp(rcvbuf=4 << 20))
        shell(f"ip link set {SERVER_IF} mtu 65535")
        seen = set()
        for wr in range(40):
            link.post("write", memory, BIG, wr, 0x4321, 0x99)
            fpdus = receive_fpdus_of_message(link)
            link.expect_wc(wr=wr, status=0)
            seen |= {len(fpdu.ulpdu) for fpdu in fpdus}
            if max(seen) >= LONGEST:
                break
        same("the longest ULPDU", max(seen), LONGEST)
    finally:
        shell(f"ip link set {SERVER_IF} mtu 1500")
        shell(f"ip -n {NS} link set {PEER_IF} mtu 1500")


def receive_fpdus_of_message(link):
    fpdus = [link.peer.receive_fpdu()]
    while not ddp.parse(fpdus[-1].ulpdu).last:
        fpdus.append(link.peer.receive_fpdu())
    return fpdus


@case("FPDUs follow a change of the MTU", "DDP-1 MPA-4 MPA-59")
def test_fpdus_follow_mtu(w):
    memory = w.shared(BIG, "l")
    link = w.initiate()
    try:
        for mtu in 1500, 1000, 1500, 600:
            shell(f"ip link set {SERVER_IF} mtu {mtu}")
            # TCP notices the new MTU when it sends
            link.post("send", memory, 1, 1)
            link.peer.receive_fpdu()
            link.post("write", memory, 20000, 2, 0x4321, 0x99)
            fpdus = receive_fpdus_of_message(link)
            # 52: headers of IP and TCP, with 12 bytes of timestamps
            same(f"ULPDU_Length at MTU {mtu}",
                 {len(fpdu.ulpdu) for fpdu in fpdus[:-1]},
                 {compute_mulpdu(mtu - 52, False)})
            for wr in 1, 2:
                link.expect_wc(wr=wr, status=0)
    finally:
        shell(f"ip link set {SERVER_IF} mtu 1500")


@case("data in TCP is not segmented again when the MTU falls", "DDP-2 MPA-59")
def test_queued_data_keeps_segmentation(w):
    """Data that the device passes to TCP later is segmented for the new MTU."""
    memory = w.shared(BIG, "l")
    link = w.initiate(peer=w.connect_with_small_rcvbuf())
    for wr in range(4):
        link.post("write", memory, BIG, wr, 0x4321, 0x99)
    # the peer does not read, so TCP accepts data until its send buffer is full
    w.wait_until_data_processed()
    try:
        shell(f"ip link set {SERVER_IF} mtu 600")
        fpdus = [each for _ in range(4) for each in receive_fpdus_of_message(link)]
        for wr in range(4):
            link.expect_wc(wr=wr, status=0)
    finally:
        shell(f"ip link set {SERVER_IF} mtu 1500")
    segments = [ddp.parse(fpdu.ulpdu) for fpdu in fpdus]
    same("bytes", sum(len(seg.payload) for seg in segments), 4 * BIG)
    lengths = [len(fpdu.ulpdu) for fpdu, seg in zip(fpdus, segments)
               if not seg.last]
    old, new = compute_mulpdu(1500 - 52, False), compute_mulpdu(600 - 52, False)
    print(f"# {lengths.count(old)} of {old} bytes, {lengths.count(new)} of {new}")
    check("some FPDUs have the old length", lengths.count(old) > 10)
    check("some FPDUs have the new length", lengths.count(new) > 10)
    same("lengths in descending order", lengths, sorted(lengths, reverse=True))
    same("lengths", set(lengths), {old, new})


def count_accepted_bytes(link):
    """Return the number of bytes that TCP has accepted on this connection."""
    port = link.peer.sock.getsockname()[1]
    words = dict(re.findall(r"(\w+):(\d+)", shell(
        f"ss -tinH sport = :{PORT} and dport = :{port}")))
    return (int(words["bytes_sent"]) - int(words.get("bytes_retrans", 0)) +
            int(words.get("notsent", 0)))


@case("no completion before TCP has accepted all of a message", "DDP-65 RDMAP-125")
def test_completion_waits_for_tcp(w):
    count, memory = 60, w.shared(BIG, "l")
    link = w.initiate(peer=w.connect_with_small_rcvbuf())
    for wr in range(count):
        link.post(*(("write", memory, 8000, wr, 1, 2) if wr % 3 else
                    ("send", memory, 8000, wr)))
    # sending stops, because the peer does not read
    w.wait_until_data_processed()
    done = 0
    while w.server.pop_event(WC, 0, conn=link.conn, wr=done, status=0):
        done += 1
    taken = count_accepted_bytes(link)
    sent = [len(w.reply.pack())]
    for _ in range(count):
        sent.append(sent[-1] + sum(fpdu.size for fpdu in receive_fpdus_of_message(link)))
    print(f"# {done} complete, {sent[done]} bytes; TCP accepted {taken}")
    check("sending stops before the end", 0 < done and taken < sent[-1])
    check("no request completes too early", sent[done] <= taken)
    for wr in range(done, count):
        link.expect_wc(wr=wr, status=0)


# Receive window -------------------------------------------------------------


def read_send_window(sock):
    """Return the window that the other end offers: tcpi_snd_wnd of struct
    tcp_info."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    return struct.unpack_from("I", info, 228)[0]


def test_window_holds_many_segments(w, role):
    target = w.shared(BIG, "lw")
    link = connect_with_device_as(w, role)
    seen = []
    for _ in range(10):
        link.round_trip()
        seen.append(read_send_window(link.peer.sock))
        link.peer.send_segments(*[rdmap.make_write(
            target.rkey, target.addr, bytes(20000))] * 4)
    check(f"the window always holds 20 segments: {seen}", min(seen) >= 20 * 1460)


add_case_for_both_roles("the window holds many segments", "DDP-146",
                        test_window_holds_many_segments)


# Alignment ------------------------------------------------------------------


def open_capture_socket(w):
    """Return a packet socket that captures each frame at the raw peer's end."""
    sock = w.create_peer_socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((PEER_IF, 0x0800))
    sock.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)    # SO_RCVBUFFORCE
    return sock


def read_captured_segments(sock, port):
    """Return the sequence number and the length of each TCP segment from raw_server to port."""
    sock.settimeout(0.2)
    seen = []
    try:
        while True:
            frame = sock.recv(1 << 16)
            tcp = 14 + 4 * (frame[14] & 15)
            source, dest, seq = struct.unpack(">HHI", frame[tcp:tcp + 8])
            length = (struct.unpack(">H", frame[16:18])[0] + 14 - tcp -
                      4 * (frame[tcp + 12] >> 4))
            if (source, dest) == (PORT, port) and length > 0:
                seen.append((seq, length))
    except TimeoutError:
        return seen


@case("small FPDUs share a TCP segment", "MPA-65")
def test_small_fpdus_share_segment(w):
    """All FPDUs that are pending when a responder is allowed to send share segments."""
    memory = w.shared(4096, "l")
    link = w.initiate(opened=False)
    port = link.peer.sock.getsockname()[1]
    for wr in range(20):
        link.post("send", memory, 10, wr)
    with open_capture_socket(w) as watch:
        link.peer.send_segments(rdmap.make_write(0, 0))
        octets = sum(link.peer.receive_fpdu().size for _ in range(20))
        seen = read_captured_segments(watch, port)
    # a retransmitted segment is captured twice
    same("lengths of segments", {length for _, length in seen}, {octets})


@case("TCP segments begin with an FPDU", "MPA-64")
def test_segments_begin_with_fpdu(w):
    memory = w.shared(BIG, "l")
    shell(f"ip link set {SERVER_IF} gso_max_segs 1")
    try:
        link = w.initiate()
        port = link.peer.sock.getsockname()[1]
        with open_capture_socket(w) as watch:
            link.post("write", memory, BIG, 1, 1, 2)
            fpdus = [link.peer.receive_fpdu()]
            while not ddp.parse(fpdus[-1].ulpdu).last:
                fpdus.append(link.peer.receive_fpdu())
            for wr in range(2, 40):
                link.post("send", memory, 10 * wr, wr)
                fpdus.append(link.peer.receive_fpdu())
            seen = read_captured_segments(watch, port)
        check("there are many segments", len(seen) > BIG // 1500)
        starts = {fpdu.start for fpdu in fpdus}
        off = [s for s in seen if s[0] - seen[0][0] not in starts]
        print(f"# {len(seen)} segments, {len(off)} not at an FPDU")
        check("segments begin with an FPDU, except "
              f"{off[:5]}", len(off) <= len(seen) // 100)
    finally:
        shell(f"ip link set {SERVER_IF} gso_max_segs 65535")


run()
