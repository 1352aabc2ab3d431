#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test the removal of the interface, and with it of the device, while there are connections
and connection requests that no program has accepted. iw_cm drops a request without
notification if it has no memory."""

import os
import signal
import subprocess
import time

from lib.wire import (CM, DEVICE, FLUSHED, SERVER_IF, NS, Wire, case, check, mpa,
                      shell)
from rawpeer.sctp import INITIATE
from lib.wire_kernel import fail_allocations_of
from lib.wire_sctp import SctpWire, run_sctp_cases

PATIENCE = 20               # seconds to wait for a condition to become true


def wait_until(words, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        check(words, time.monotonic() < end)
        time.sleep(0.01)


def is_device_removed():
    return not os.path.exists(f"/sys/class/infiniband/{DEVICE}")


def send_tcp_request(peer):
    peer.send_bytes(mpa.make_request().pack())


def send_sctp_initiate(peer):
    peer.send_control(INITIATE)


def drop_request(w, call, peer):
    """Let a peer connect, and let iw_cm drop its request because memory is short."""
    with fail_allocations_of("iw_create_cm_id", "iw_cm", 1) as lost:
        call(peer)
        wait_until("a request is lost", lost)
    w.server.expect_no_event_within(CM, event="CONNECT_REQUEST")


@case("requests are dropped")
def test_dropped_requests_cause_no_event(w):
    """Over each lower layer, iw_cm drops the requests of two peers: one peer stays connected, the
    other one leaves."""
    w.kept = w.connect_tcp(), w.connect_tcp()
    w.staying = w.associate()
    w.closing.pop_all()
    for peer in w.kept:
        drop_request(w, send_tcp_request, peer)
    w.kept[1].close()
    drop_request(w, send_sctp_initiate, w.staying.stream(0))
    drop_request(w, send_sctp_initiate, w.associate().stream(0))


@case("the interface moves: all queue pairs are flushed")
def test_interface_move_flushes_all_qps(w):
    """The queue pairs must be flushed immediately, because otherwise a consumer would wait for its
    peer forever. The program is stopped while the interface moves. When the program continues, the
    RDMA core has closed its event channel, but the completions are in its ring."""
    memory = w.shared(4096, "l")
    links = [initiate(w, recvs=[(memory, 64)])
             for initiate in (Wire.initiate, SctpWire.initiate) * 2]
    w.server.process.send_signal(signal.SIGSTOP)
    w.closing.callback(w.server.process.send_signal, signal.SIGCONT)
    before = time.monotonic()
    shell(f"ip link set {SERVER_IF} netns {NS}")
    took = time.monotonic() - before
    wait_until("the device is removed", is_device_removed)
    w.server.process.send_signal(signal.SIGCONT)
    for link in links:
        link.expect_wc(wr=1, status=FLUSHED)
        # reset the connection: a FIN would be retransmitted later
        link.peer.reset()
    w.kept[0].reset()
    w.staying.abort()
    check(f"the move takes less than {PATIENCE} s, not {took} s", took < PATIENCE)


@case("a dropped request does not keep the device")
def test_dropped_request_does_not_keep_device(w):
    """Unloading the module waits for its devices. Another process unloads it, because a process
    that hangs in the kernel cannot be killed."""
    w.server.stop()
    wait_until("the device is removed", is_device_removed)
    with subprocess.Popen(["modprobe", "-r", "rnic_sw"]) as unload:
        wait_until("the module is unloaded", lambda: unload.poll() is not None)
    check("modprobe succeeds", unload.returncode == 0)


run_sctp_cases()
