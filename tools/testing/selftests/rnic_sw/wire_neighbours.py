#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Neighbours who want nothing but to be in the way: they call and say nothing,
or stop at each octet of the start-up, never read, never acknowledge, have all of
the memory or the time.  An honest peer beside them connects and is served, and
what the host keeps has a bound."""

import contextlib
import os
import socket
import time

from lib.wire import (MATE, PATIENCE, PORT, SUCCESS, Skip, case, check, mpa,
                      rdmap, read, run, same, shell, write)
from lib.wire_kernel import busy, failing, grown_since, kernel_memory

MANY = 600              # callers, of whom the listener lets a few wait
AT_ONCE = 100           # ... between two honest ones
SOON = 20               # seconds in which the honest one is served
KEPT = 24               # KiB that one waiting caller may cost, sockets included
REQUEST_DEADLINE = 10   # seconds that a responder waits
LATE = 2                # seconds, in a slow machine
WAITING = 64            # how many of rawmate's listener may wait
SLACK = 4096            # KiB by which the kernel's memory moves by itself


class Crowd:
    """Sockets of people who never mean it."""

    def __init__(self, w):
        self.w, self.socks = w, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for sock in self.socks:
            sock.close()

    def call(self, octets=b"", rcvbuf=0):
        """One more; who is not let in does not care."""
        sock = self.w.socket()
        self.socks.append(sock)
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        sock.settimeout(SOON)
        try:
            sock.connect((MATE, PORT))
            if octets:
                sock.sendall(octets)
        except OSError:
            pass
        sock.setblocking(False)

    def _alive(self):
        """How many have not been sent away."""
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

    def alive(self, most):
        """... once there are no more than that, or when the last who came had to be
        sent away at once: before his own time is up."""
        end = time.monotonic() + LATE
        while (count := self._alive()) > most and time.monotonic() < end:
            time.sleep(0.05)
        return count


def honest(w, source=None):
    """Connects, sends, is read from; how long that took."""
    start = time.monotonic()
    inbox = w.shared(1024, "l")
    link = w.initiate(peer=w.dial(source=source, patience=SOON),
                      recvs=[(inbox, 64)])
    link.peer.put_segment(rdmap.send(1, b"I mean it"))
    link.wc(wr=1, status=SUCCESS)
    link.round_trip()
    link.close()
    w.links.remove(link)
    took = time.monotonic() - start
    check(f"served in {took:.1f} s", took < SOON)


@case("many who say nothing")
def silent_crowd(w):
    before = kernel_memory()
    with w.second_address() as other, Crowd(w) as crowd:
        for number in range(MANY):
            crowd.call()
            last = time.monotonic()
            if number % AT_ONCE == AT_ONCE - 1:
                honest(w)
                honest(w, other)
        alive = crowd.alive(WAITING)
        grown, where = grown_since(before)
        print(f"# {alive} of {MANY} wait; {grown} KiB more: {where}")
        check("no more wait than may", alive <= WAITING)
        check("some do", alive or time.monotonic() > last + REQUEST_DEADLINE - LATE)
        check("what they cost", grown < WAITING * KEPT + SLACK)


@case("a stop at each octet of the Request")
def stops_everywhere(w):
    whole = mpa.request(rev=2, flags=mpa.C | mpa.S,
                        pd=mpa.word(4, 4) + bytes(20)).pack()
    with Crowd(w) as crowd:
        for length in range(len(whole)):
            crowd.call(whole[:length])
            if length % 16 == 15:
                honest(w)
        for wrong in range(0, len(whole), 3):
            spoilt = bytearray(whole)
            spoilt[wrong] ^= 0xFF
            crowd.call(bytes(spoilt[:wrong + 1]))
        honest(w)


def post_much(link, memory):
    for number in range(16):
        link.post("send", memory, 1 << 20, number)


def leave(w, link):
    """What was posted is flushed, whatever the peer thinks."""
    link.mate.do("destroy", link.conn)
    link.mate.forget(link.conn)
    link.conn = None
    link.close()
    w.links.remove(link)


@case("they are served and never read")
def never_read(w):
    memory = w.shared(1 << 20, "l")
    links = [w.initiate(peer=w.narrow()) for _ in range(8)]
    for link in links:
        post_much(link, memory)
    for _ in range(5):
        honest(w)
    for link in links:
        leave(w, link)


@case("they never acknowledge")
def never_acknowledge(w):
    memory = w.shared(1 << 20, "l")
    with w.second_address() as other:
        link = w.initiate(peer=w.dial(source=other, patience=SOON))
        link.round_trip()
    # from here on nobody has that address
    post_much(link, memory)
    for _ in range(5):
        honest(w)
    leave(w, link)


# Memory and time that others have ------------------------------------------------


@case("TCP gets no memory for a while, and nothing is under way")
def short(w):
    memory = w.shared(1 << 20, "l")
    link = w.initiate()
    link.round_trip()
    with failing("skbuff_fclone_cache"):
        link.post("write", memory, 20 << 10, 1, 1, 2)
        began = busy()
        check("nothing leaves", link.peer.silent(2))
        used = busy() - began
        print(f"# {used:.2f} s of CPU in 2 s", flush=True)
        check(f"{used} s of CPU time in 2 s", used < 1)
    same("octets", sum(len(seg.payload)
                       for seg in link.peer.get_message()), 20 << 10)
    link.wc(wr=1, status=SUCCESS)
    link.round_trip()


def no_waiting_callers():
    """All who have called have been taken in."""
    return shell(f"ss -Hltn sport = :{PORT}").split()[1] == "0"


@contextlib.contextmanager
def alone():
    """Inside, this thread has the CPU, and no worker of the kernel's gets any."""
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


@case("what has come in time counts, however late somebody looks")
def looked_late(w):
    if os.cpu_count() > 1:
        raise Skip("another CPU would look in time")
    link = w.add_link(w.dial())
    end = time.monotonic() + PATIENCE
    while not no_waiting_callers():
        check("it was taken in", time.monotonic() < end)
        time.sleep(0.05)
    with alone():
        link.peer.put(mpa.request().pack())
        end = time.monotonic() + REQUEST_DEADLINE + 1
        while time.monotonic() < end:
            pass
    link.conn = w.asked().conn
    w.mate.do("accept", link.conn, 4, 4)
    link.peer.get_frame()
    link.cm("ESTABLISHED")


run()
