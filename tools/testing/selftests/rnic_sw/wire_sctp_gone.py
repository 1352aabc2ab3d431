#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The interface goes, and with it the device, under connections and under requests
that nobody answers: without memory the kernel's connection manager forgets one, and
tells nobody."""

import os
import signal
import subprocess
import time

from lib.wire import (CM, DEVICE, FLUSHED, MATE_IF, NS, Wire, case, check, mpa,
                      shell)
from rawpeer.sctp import INITIATE
from lib.wire_kernel import starved
from lib.wire_sctp import SctpWire, go

PATIENCE = 20               # seconds, until something is so


def wait_for(words, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        check(words, time.monotonic() < end)
        time.sleep(0.01)


def gone():
    return not os.path.exists(f"/sys/class/infiniband/{DEVICE}")


def call_tcp(peer):
    peer.put(mpa.request().pack())


def call_sctp(peer):
    peer.put_control(INITIATE)


def drop(w, call, peer):
    """That caller's request is lost."""
    with starved("iw_create_cm_id", "iw_cm", 1) as lost:
        call(peer)
        wait_for("nothing was lost", lost)
    w.mate.none(CM, event="CONNECT_REQUEST")


@case("requests are dropped")
def dropped(w):
    """Over each lower layer: one who stays, one who goes."""
    w.kept = w.dial(), w.dial()
    w.staying = w.associate()
    w.closing.pop_all()
    for peer in w.kept:
        drop(w, call_tcp, peer)
    w.kept[1].close()
    drop(w, call_sctp, w.staying.stream(0))
    drop(w, call_sctp, w.associate().stream(0))


@case("the interface moves: all queue pairs are flushed")
def moves(w):
    """At once: what a consumer asks its peer for would not come any more.  The
    program does not run before all is over: the core has closed its channel, with
    the events that were in it; the completions are in its ring."""
    memory = w.shared(4096, "l")
    links = [initiate(w, recvs=[(memory, 64)])
             for initiate in (Wire.initiate, SctpWire.initiate) * 2]
    w.mate.process.send_signal(signal.SIGSTOP)
    w.closing.callback(w.mate.process.send_signal, signal.SIGCONT)
    before = time.monotonic()
    shell(f"ip link set {MATE_IF} netns {NS}")
    took = time.monotonic() - before
    wait_for("the device does not go", gone)
    w.mate.process.send_signal(signal.SIGCONT)
    for link in links:
        link.wc(wr=1, status=FLUSHED)
        # to nowhere: nothing of it stays behind to be sent again
        link.peer.reset()
    w.kept[0].reset()
    w.staying.abort()
    check(f"that took {took} s", took < PATIENCE)


@case("who was dropped does not keep the device")
def device_goes(w):
    """The module waits for it.  In a process of its own: nothing ends one that
    the kernel holds."""
    w.mate.stop()
    wait_for("the device does not go", gone)
    with subprocess.Popen(["modprobe", "-r", "rnic_sw"]) as unload:
        wait_for("the module does not go", lambda: unload.poll() is not None)
    check("the module was not let go", unload.returncode == 0)


go()
