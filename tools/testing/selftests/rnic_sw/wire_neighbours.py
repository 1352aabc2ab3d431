#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test hostile peers at the same time as honest ones. The hostile peers connect and send
nothing, stop at each byte of the start-up, never read, never acknowledge, or use up
memory or CPU time. An honest peer must still be able to connect and be served, and the
host's memory use must stay limited."""

import contextlib
import os
import socket
import time

from lib.wire import (SERVER, PATIENCE, PORT, SUCCESS, Skip, case, check, mpa,
                      rdmap, read, run, same, shell, write)
from lib.wire_kernel import (read_cpu_time, fail_cache_allocations, measure_memory_growth,
                             read_kernel_memory)

MANY = 600              # hostile peers, of which the listener admits a limited
                        # number
AT_ONCE = 100           # hostile connections between two honest ones
SOON = 20               # seconds in which the honest peer must be served
KEPT = 24               # KiB that one waiting connection may use, including its sockets
REQUEST_DEADLINE = 10   # seconds that a responder waits for a Request
LATE = 2                # further seconds on a slow machine
WAITING = 64            # maximum of connections that wait at raw_server's listener
SLACK = 4096            # KiB by which the kernel's memory use may vary without a leak


class Crowd:
    """The sockets of hostile peers."""

    def __init__(self, w):
        self.w, self.socks = w, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for sock in self.socks:
            sock.close()

    def open_connection(self, octets=b"", rcvbuf=0):
        """Open one more connection. If it is refused, that is ignored."""
        sock = self.w.create_peer_socket()
        self.socks.append(sock)
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        sock.settimeout(SOON)
        try:
            sock.connect((SERVER, PORT))
            if octets:
                sock.sendall(octets)
        except OSError:
            pass
        sock.setblocking(False)

    def _count_open(self):
        """Return the number of sockets that the device has not closed."""
        count = 0
        for sock in self.socks:
            try:
                gone = sock.recv(1) == b""
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            count += not gone
        return count

    def wait_for_evictions(self, most):
        """Wait until at most this number of sockets are open, or until the last ones should
        have been evicted, well before their own timeout. Return the number of open sockets."""
        end = time.monotonic() + LATE
        while (count := self._count_open()) > most and time.monotonic() < end:
            time.sleep(0.05)
        return count


def check_honest_peer_is_served(w, source=None):
    """Let an honest peer connect and exchange data, and check that this does not take too long."""
    start = time.monotonic()
    inbox = w.shared(1024, "l")
    link = w.initiate(peer=w.connect_tcp(source=source, patience=SOON),
                      recvs=[(inbox, 64)])
    link.peer.send_segments(rdmap.make_send(1, b"I mean it"))
    link.expect_wc(wr=1, status=SUCCESS)
    link.round_trip()
    link.close()
    w.links.remove(link)
    took = time.monotonic() - start
    check(f"the honest peer is served in {took:.1f} s", took < SOON)


@case("many peers that send nothing")
def test_silent_peers_do_not_block_honest_one(w):
    before = read_kernel_memory()
    with w.add_second_peer_address() as other, Crowd(w) as crowd:
        for number in range(MANY):
            crowd.open_connection()
            last = time.monotonic()
            if number % AT_ONCE == AT_ONCE - 1:
                check_honest_peer_is_served(w)
                check_honest_peer_is_served(w, other)
        alive = crowd.wait_for_evictions(WAITING)
        grown, where = measure_memory_growth(before)
        print(f"# {alive} of {MANY} wait; {grown} KiB more: {where}")
        check("no more connections wait than the limit", alive <= WAITING)
        check("some connections still "
              "wait", alive or time.monotonic() > last + REQUEST_DEADLINE - LATE)
        check("waiting connections use limited "
              "memory", grown < WAITING * KEPT + SLACK)


@case("a stop at each byte of the Request")
def test_request_stopped_anywhere_is_harmless(w):
    whole = mpa.make_request(rev=2, flags=mpa.C | mpa.S,
                             pd=mpa.pack_enhanced_word(4, 4) + bytes(20)).pack()
    with Crowd(w) as crowd:
        for length in range(len(whole)):
            crowd.open_connection(whole[:length])
            if length % 16 == 15:
                check_honest_peer_is_served(w)
        for wrong in range(0, len(whole), 3):
            spoilt = bytearray(whole)
            spoilt[wrong] ^= 0xFF
            crowd.open_connection(bytes(spoilt[:wrong + 1]))
        check_honest_peer_is_served(w)


def post_large_sends(link, memory):
    for number in range(16):
        link.post("send", memory, 1 << 20, number)


def destroy_qp(w, link):
    """Destroy the queue pair. Its posted work must be flushed, whatever the peer does."""
    link.server.do("destroy", link.conn)
    link.server.drop_events(link.conn)
    link.conn = None
    link.close()
    w.links.remove(link)


@case("hostile peers are sent data and never read")
def test_unread_data_does_not_block_honest_peer(w):
    memory = w.shared(1 << 20, "l")
    links = [w.initiate(peer=w.connect_with_small_rcvbuf()) for _ in range(8)]
    for link in links:
        post_large_sends(link, memory)
    for _ in range(5):
        check_honest_peer_is_served(w)
    for link in links:
        destroy_qp(w, link)


@case("a hostile peer never acknowledges")
def test_unacked_data_does_not_block_honest_peer(w):
    memory = w.shared(1 << 20, "l")
    with w.add_second_peer_address() as other:
        link = w.initiate(peer=w.connect_tcp(source=other, patience=SOON))
        link.round_trip()
    # from here on the peer's address does not exist, so nothing is acknowledged
    post_large_sends(link, memory)
    for _ in range(5):
        check_honest_peer_is_served(w)
    destroy_qp(w, link)


# Memory and CPU shortage ---------------------------------------------------------


@case("TCP gets no memory for a while, and nothing is in flight")
def test_sending_recovers_from_memory_shortage(w):
    memory = w.shared(1 << 20, "l")
    link = w.initiate()
    link.round_trip()
    with fail_cache_allocations("skbuff_fclone_cache"):
        link.post("write", memory, 20 << 10, 1, 1, 2)
        began = read_cpu_time()
        check("nothing is sent", link.peer.stays_silent(2))
        used = read_cpu_time() - began
        print(f"# {used:.2f} s of CPU in 2 s", flush=True)
        check(f"at most 1 s of CPU time in 2 s, not {used} s", used < 1)
    same("bytes", sum(len(seg.payload)
                      for seg in link.peer.receive_message()), 20 << 10)
    link.expect_wc(wr=1, status=SUCCESS)
    link.round_trip()


def is_accept_queue_empty():
    """Check whether the listening socket's accept queue is empty."""
    return shell(f"ss -Hltn sport = :{PORT}").split()[1] == "0"


@contextlib.contextmanager
def block_kernel_workers():
    """Context manager: give the only CPU to this thread, so that no kernel worker can run."""
    fair = "/sys/kernel/debug/sched/fair_server/cpu0/runtime"
    limit = "/proc/sys/kernel/sched_rt_runtime_us"
    before = read(limit), read(fair) if os.path.exists(fair) else None
    write(limit, "-1")
    if before[1]:
        write(fair, "0")
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if before[1]:
            write(fair, before[1])
        write(limit, before[0])


@case("a Request that arrived in time counts, however late the worker runs")
def test_timely_request_counts_despite_late_worker(w):
    if os.cpu_count() > 1:
        raise Skip("another CPU would run the worker in time")
    link = w.add_link(w.connect_tcp())
    end = time.monotonic() + PATIENCE
    while not is_accept_queue_empty():
        check("connection is accepted", time.monotonic() < end)
        time.sleep(0.05)
    with block_kernel_workers():
        link.peer.send_bytes(mpa.make_request().pack())
        end = time.monotonic() + REQUEST_DEADLINE + 1
        while time.monotonic() < end:
            pass
    link.conn = w.expect_request().conn
    w.server.do("accept", link.conn, 4, 4)
    link.peer.receive_frame()
    link.expect_cm("ESTABLISHED")


run()
