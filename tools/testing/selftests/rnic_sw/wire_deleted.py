#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test that the removal of the device flushes the requests of programs before the RDMA core
destroys their queue pairs."""

import signal

from lib.wire import DEVICE, FLUSHED, Wire, case, shell
from lib.wire_sctp import SctpWire, run_sctp_cases

RECVS = 32


@case("the device is deleted: all queue pairs are flushed")
def test_device_deletion_flushes_all_qps(w):
    """The program is stopped meanwhile. When it continues, the RDMA core has closed its event
    channel, but the completions must be in its ring: otherwise it would wait in vain."""
    memory = w.shared(4096, "l")
    links = [initiate(w, recvs=[(memory, 64)] * RECVS)
             for initiate in (Wire.initiate, SctpWire.initiate) * 4]
    w.server.process.send_signal(signal.SIGSTOP)
    w.closing.callback(w.server.process.send_signal, signal.SIGCONT)
    shell(f"rdma link del {DEVICE}")
    w.server.process.send_signal(signal.SIGCONT)
    for link in links:
        for number in range(1, RECVS + 1):
            link.expect_wc(wr=number, status=FLUSHED)
        link.peer.reset()


run_sctp_cases()
