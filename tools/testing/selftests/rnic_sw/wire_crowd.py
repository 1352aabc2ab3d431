#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test many TCP peers at one listener: which peers it admits, and which it evicts."""

import array
import contextlib
import fcntl
import math
import re
import socket
import termios
import time

from lib.tracing import TRACE, find_event_dir_or_skip
from lib.wire import (KIB, SERVER, NS, PATIENCE, PEER_IF, PORT, Peer, Skip, case,
                      check, mpa, add_netem, rdmap, read, run, same, shell, write)
from lib.wire_kernel import fail_cache_allocations

CALLERS = 64                # maximum of connection requests of raw_server's listener
WOKEN = 300                 # connections that become able to send at the same moment
BEGUN = 6                   # seconds that pass until a Request arrives; 10 are allowed
LATE = 2                    # further seconds for a slow machine
LONG = 0.060                # seconds that no softirq run may take, even on a slow machine
MUCH = WOKEN // 3           # batches in a run; a long run with fewer batches was preempted


def connect_silent_peers(w, number, end=math.inf):
    """Connect peers that send nothing. Stop after that number of peers, or at the time `end`. Return
    the peers that are connected: the listener admits or resets each peer."""
    peers = []
    for _ in range(number):
        left = min(end - time.monotonic(), PATIENCE)
        if left <= 0:
            break
        with contextlib.suppress(ConnectionResetError, TimeoutError):
            peers.append(w.connect_tcp(patience=left))
    time.sleep(0.3)
    return peers


def check_connected_peers_are_limited(peers, most):
    """Check that no more than `most` peers stay connected, and that the others are reset long
    before the time limit for a Request."""
    end = time.monotonic() + LATE
    while len(left := [peer for peer in peers if peer.stays_silent(0.001)]) > most:
        check(f"at most {most} of {len(peers)} peers stay connected, not "
              f"{len(left)}", time.monotonic() < end)


@case("responder: silent initiators do not block others", "SEC-25")
def test_silent_initiators_block_no_others(w):
    silent = connect_silent_peers(w, CALLERS + 8)
    try:
        w.initiate()
        with w.add_second_peer_address() as neighbour:
            w.initiate(peer=w.connect_tcp(source=neighbour))
        check("more peers connect than the listener holds", len(silent) > CALLERS)
        check_connected_peers_are_limited(silent, CALLERS)
    finally:
        for peer in silent:
            peer.reset()


@case("responder: silent initiators do not evict others")
def test_silent_initiators_evict_no_others(w):
    silent = []
    with w.add_second_peer_address() as neighbour:
        peer = w.connect_tcp(source=neighbour)
        request = mpa.make_request().pack()
        end = time.monotonic() + BEGUN
        peer.send_bytes(request[:10])
        try:
            for _ in range(3):
                silent += connect_silent_peers(w, CALLERS, end)
            if len(silent) <= CALLERS or time.monotonic() > end + LATE:
                raise Skip(f"too slow: only {len(silent)} peers connected")
            link = w.add_link(peer)
            peer.send_bytes(request[10:])
            link.conn = w.expect_request().conn
            w.server.do("accept", link.conn, 4, 4)
            link.peer.receive_frame()
            link.expect_cm("ESTABLISHED")
        finally:
            for one in silent:
                one.reset()


@case("responder: accepted after a memory shortage")
def test_peer_is_accepted_after_memory_shortage(w):
    sock = w.create_peer_socket()
    sock.settimeout(PATIENCE)
    with fail_cache_allocations("sock_inode_cache", 1) as failed:
        sock.connect((SERVER, PORT))
        end = time.monotonic() + PATIENCE
        while not failed() and time.monotonic() < end:
            time.sleep(0.05)
        check("an allocation fails", failed())
    sock.settimeout(None)
    w.initiate(peer=Peer(sock))


def read_rcvbuf_kib(peer):
    """Return the size of the receive buffer of the device's socket, in KiB."""
    port = peer.sock.getsockname()[1]
    shown = shell(f"ss -Htnm sport = :{PORT} and dport = :{port}")
    return int(re.search(r"skmem:\(.*\brb(\d+)", shown)[1]) // KIB


@case("responder: the receive buffer is small until Full Operation", "SEC-25")
def test_rcvbuf_is_small_before_full_operation(w):
    peer = w.connect_tcp()
    end = time.monotonic() + PATIENCE
    while (size := read_rcvbuf_kib(peer)) > 16 and time.monotonic() < end:
        time.sleep(0.05)
    same("KiB before a Request", size, 16)
    w.initiate(peer=peer)
    check("an FPDU fits in Full Operation", read_rcvbuf_kib(peer) >= 512)


# TCP Fast Open -------------------------------------------------------------------


@contextlib.contextmanager
def enable_fast_open():
    """Context manager: let new listeners accept data in the SYN, without a cookie."""
    name = "net/ipv4/tcp_fastopen"
    before = read("/proc/sys/" + name)
    shell(f"ip netns exec {NS} sysctl -qw {name}=5")
    write("/proc/sys/" + name, str(0x400 | 0x200 | 2))
    try:
        yield
    finally:
        write("/proc/sys/" + name, before)


def count_connections_with_syn_data():
    names, numbers = (line.split() for line in
                      read("/proc/net/netstat").splitlines()
                      if line.startswith("TcpExt:"))
    return int(numbers[names.index("TCPFastOpenPassive")])


def connect_with_data_in_syn(w, port, begin):
    """Connect the raw peer with the first bytes of a Request in the SYN, so that they are
    received before the handshake completes. Return the link."""
    link = w.add_link(Peer(w.create_peer_socket()))
    frame = mpa.make_request(pd=b"early").pack()
    before = count_connections_with_syn_data()
    link.peer.sock.sendto(frame[:begin], socket.MSG_FASTOPEN, (SERVER, port))
    same("connections with data in the SYN", count_connections_with_syn_data(), before + 1)
    link.peer.send_bytes(frame[begin:])
    return link


@case("responder: a Request that begins in the SYN")
def test_request_may_begin_in_syn(w):
    with enable_fast_open(), w.change_policy() as port, add_netem_from_peers("delay 300ms"):
        for begin in 10, 1000:
            link = connect_with_data_in_syn(w, port, begin)
            asked = w.expect_request(w.listener)
            link.conn = asked.conn
            same("Private Data", asked.pd, b"early")
            w.server.do("accept", link.conn, 4, 4)
            link.peer.enter_full_operation(mpa.make_request(), link.peer.receive_frame())
            link.expect_cm("ESTABLISHED", status=0)
            link.peer.send_segments(rdmap.make_write(0, 0))
            link.round_trip()


# Many connections with data to send ----------------------------------------------


def delay_packets_into_bursts(interval):
    """Context manager: let packets from the peers arrive in bursts, one burst per interval."""
    return add_netem_from_peers(f"slot {interval} {interval} limit 100000")


@contextlib.contextmanager
def add_netem_from_peers(how):
    """Context manager: apply netem to packets from the peers."""
    tc = add_netem(PEER_IF, how)
    try:
        yield
    finally:
        shell(f"{tc} qdisc del dev {PEER_IF} root")


@contextlib.contextmanager
def measure_tx_softirqs():
    """Context manager: measure the softirq runs of the transmit path. Yields a list that is
    filled at the end with the duration in seconds and the number of batches of each run."""
    events = {find_event_dir_or_skip("irq", "softirq_entry/"): "vec==6",     # TASKLET: BH workqueues
              find_event_dir_or_skip("irq", "softirq_exit/"): "vec==6",
              find_event_dir_or_skip("iw_mpa", "mpa_batch_sent/"): "taken>0"}
    clock = re.search(r"\[(\w+)\]", read(TRACE + "trace_clock"))[1]
    runs = []
    try:
        write(TRACE + "trace_clock", "mono")
        for path, those in events.items():
            write(path + "filter", those)
            write(path + "enable", "1")
        yield runs
        runs += parse_softirq_runs(read(TRACE + "trace").splitlines())
    finally:
        for path in events:
            write(path + "enable", "0")
            write(path + "filter", "0")
        write(TRACE + "trace", "")
        write(TRACE + "trace_clock", clock)


def parse_softirq_runs(lines):
    """Yield the duration in seconds and the number of batches of each run."""
    under_way = {}              # for each CPU: (start time, number of batches)
    for line in lines:
        found = re.search(r"\[(\d+)\].* ([\d.]+): (softirq_|mpa_batch_)(\w+):", line)
        if not found:
            continue
        cpu, when, _, what = found.groups()
        began, batches = under_way.pop(cpu, (None, 0))
        if what == "entry":
            under_way[cpu] = float(when), 0
        elif what == "sent" and began:
            under_way[cpu] = began, batches + 1
        elif began:
            yield float(when) - began, batches


def count_unread_bytes(peer):
    """Return the number of unread bytes in the peer's socket."""
    number = array.array("i", [0])
    fcntl.ioctl(peer.sock, termios.FIONREAD, number)
    return number[0]


def wait_for_unread_bytes_on_all(links, enough):
    """Wait until the smallest number of unread bytes of all links exceeds enough, or no more
    data arrives. Return that number."""
    most, end = 0, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        came = [count_unread_bytes(link.peer) for link in links]
        if min(came) > enough:
            break
        if sum(came) > most:
            most, end = sum(came), time.monotonic() + PATIENCE
        time.sleep(0.1)
    return min(came)


@case("many connections that may send again at the same time leave CPU time to others")
def test_many_senders_leave_cpu_time(w):
    memory = w.shared(1 << 20, "l")
    links = [w.initiate() for _ in range(WOKEN)]
    with delay_packets_into_bursts("300ms"), measure_tx_softirqs() as runs:
        for link in links:
            link.post("write", memory, 1 << 20, 1, 1, 2)
        least = wait_for_unread_bytes_on_all(links, 40 << 10)
    runs.sort()
    print(f"# {len(runs)} runs; milliseconds and batches of the longest:",
          *(f"{1000 * took:.1f} {count}" for took, count in runs[-8:]),
          sep=", ", flush=True)
    check(f"all connections make progress; the slowest: {least} "
          "bytes", least > 40 << 10)
    check("batches are sent in softirq", any(count for _, count in runs))
    check("no softirq run is long", not any(took > LONG and count > MUCH
                                    for took, count in runs))


run()
