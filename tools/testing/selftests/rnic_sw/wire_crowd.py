#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Many peers at one listener, over TCP: who is let in, and who has to go."""

import array
import contextlib
import fcntl
import math
import re
import termios
import time

from tracing import TRACE, event
from wire import (MATE, NS, PATIENCE, PEER_IF, PORT, Peer, Skip, case, check,
                  mpa, read, run, shell, write)
from wire_kernel import failing

CALLERS = 64                # that may wait at rawmate's listener
WOKEN = 300                 # connections that may send again at the same moment
BEGUN = 6                   # seconds of the 10 that a Request may take
LONG = 0.060                # seconds: too long for one softirq, even here


def crowd(w, number, end=math.inf):
    """So many who connect and say nothing; taken in, or sent away. Fewer, if
    that takes too long."""
    peers = []
    for _ in range(number):
        if time.monotonic() > end:
            break
        with contextlib.suppress(ConnectionResetError):
            peers.append(w.dial())
    time.sleep(0.3)
    return peers


@case("responder: silent initiators shut nobody out")
def crowded(w):
    silent = crowd(w, CALLERS + 8)
    try:
        w.initiate()
        with w.second_address() as neighbour:
            w.initiate(peer=w.dial(source=neighbour))
    finally:
        for peer in silent:
            peer.reset()


@case("responder: silent initiators drive nobody out")
def stays(w):
    silent = []
    with w.second_address() as neighbour:
        peer = w.dial(source=neighbour)
        request = mpa.request().pack()
        end = time.monotonic() + BEGUN
        peer.put(request[:10])
        try:
            for _ in range(3):
                silent += crowd(w, CALLERS, end)
            if len(silent) <= CALLERS:
                raise Skip(f"so slow that no more than {len(silent)} came")
            link = w.add_link(peer)
            peer.put(request[10:])
            link.conn = w.asked().conn
            w.mate.do("accept", link.conn, 4, 4)
            link.peer.get_frame()
            link.cm("ESTABLISHED")
        finally:
            for one in silent:
                one.reset()


@case("responder: taken in later, if memory was short")
def later(w):
    sock = w.socket()
    sock.settimeout(PATIENCE)
    with failing("sock_inode_cache", 1) as failed:
        sock.connect((MATE, PORT))
        end = time.monotonic() + PATIENCE
        while not failed() and time.monotonic() < end:
            time.sleep(0.05)
        check("memory was short", failed())
    sock.settimeout(None)
    w.initiate(peer=Peer(sock))


# Many that have something to send ------------------------------------------------


@contextlib.contextmanager
def in_slots(interval):
    """Inside, what the peers say arrives all at once, every so often."""
    try:
        shell(f"tc -n {NS} qdisc add dev {PEER_IF} root netem "
              f"slot {interval} {interval} limit 100000")
    except RuntimeError as why:
        raise Skip(f"no netem: {why}") from None
    try:
        yield
    finally:
        shell(f"tc -n {NS} qdisc del dev {PEER_IF} root")


@contextlib.contextmanager
def softirqs():
    """Inside, runs of that softirq are timed that the transmit side has; a list
    of seconds, filled in at the end."""
    events = [event("irq", f"softirq_{end}/") for end in ("entry", "exit")]
    clock = re.search(r"\[(\w+)\]", read(TRACE + "trace_clock"))[1]
    runs = []
    try:
        write(TRACE + "trace_clock", "mono")
        for path in events:
            write(path + "filter", "vec==6")        # TASKLET, BH work too
            write(path + "enable", "1")
        yield runs
        began = {}
        for line in read(TRACE + "trace").splitlines():
            found = re.search(r"\[(\d+)\].* ([\d.]+): softirq_(\w+):", line)
            if found and found[3] == "entry":
                began[found[1]] = float(found[2])
            elif found and found[1] in began:
                runs.append(float(found[2]) - began.pop(found[1]))
    finally:
        for path in events:
            write(path + "enable", "0")
            write(path + "filter", "0")
        write(TRACE + "trace", "")
        write(TRACE + "trace_clock", clock)


def translated():
    """Where QEMU translates, a run takes as long as the host has others run."""
    return re.search("QEMU (TCG|Virtual)", read("/proc/cpuinfo"))


def unread(peer):
    """Octets that have come."""
    number = array.array("i", [0])
    fcntl.ioctl(peer.sock, termios.FIONREAD, number)
    return number[0]


@case("many that may send again at the same moment leave the CPU to others")
def woken(w):
    memory = w.shared(1 << 20, "l")
    links = [w.initiate() for _ in range(WOKEN)]
    with in_slots("300ms"), softirqs() as runs:
        for link in links:
            link.post("write", memory, 1 << 20, 1, 1, 2)
        end = time.monotonic() + 3 * PATIENCE
        while time.monotonic() < end:
            least = min(unread(link.peer) for link in links)
            if least > 40 << 10:
                break
            time.sleep(0.1)
    runs.sort()
    print(f"# {len(runs)} runs, the longest took",
          *(f"{1000 * run:.1f}" for run in runs[-8:]), "ms", flush=True)
    check(f"all make progress: {least}", least > 40 << 10)
    # somebody else's process may have had the CPU meanwhile, once or twice;
    # where that is no exception the kernel's watchdog alone looks
    check("no run is long", runs[-3] < LONG or translated())


run()
