#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Many peers at one listener, over TCP: who is let in, and who has to go."""

import contextlib
import os
import time

from wire import (MATE, PATIENCE, PORT, Peer, Skip, case, check, mpa, read,
                  run, shell, write)

CALLERS = 64                # that may wait at rawmate's listener


def crowd(w, number):
    """So many who connect and say nothing; taken in, or sent away."""
    peers = []
    for _ in range(number):
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
        peer.put(request[:10])
        for _ in range(3):
            silent += crowd(w, CALLERS)
        link = w.add_link(peer)
        peer.put(request[10:])
        link.conn = w.asked().conn
        w.mate.do("accept", link.conn, 4, 4)
        link.peer.get_frame()
        link.cm("ESTABLISHED")
    for one in silent:
        one.reset()


@contextlib.contextmanager
def failing_once(cache):
    """Inside, the next object of that cache cannot be had."""
    debug = "/sys/kernel/debug/failslab/"
    mark = f"/sys/kernel/slab/{cache}/failslab"
    shell("mount -t debugfs none /sys/kernel/debug", True)
    if not os.path.exists(debug) or not os.path.exists(mark):
        raise Skip("no failslab")
    words = {"task-filter": "N", "cache-filter": "Y", "ignore-gfp-wait": "N",
             "interval": "1", "space": "0", "verbose": "0", "times": "1"}
    if os.path.exists(debug + "require-start"):
        words |= {"require-start": "0", "require-end": hex(2 ** 64 - 1)}
    write(mark, "1")
    for name, word in words.items():
        write(debug + name, word)
    write(debug + "probability", "100")
    try:
        yield lambda: int(read(debug + "times")) == 0
    finally:
        write(debug + "probability", "0")
        write(debug + "cache-filter", "N")
        write(mark, "0")


@case("responder: taken in later, if memory was short")
def later(w):
    sock = w.socket()
    sock.settimeout(PATIENCE)
    with failing_once("sock_inode_cache") as failed_once:
        sock.connect((MATE, PORT))
        end = time.monotonic() + PATIENCE
        while not failed_once() and time.monotonic() < end:
            time.sleep(0.05)
        check("memory was short", failed_once())
    sock.settimeout(None)
    w.initiate(peer=Peer(sock))


run()
