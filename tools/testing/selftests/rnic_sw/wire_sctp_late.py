#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test input over SCTP that arrives in time, but before the worker runs: acknowledgements, and
replies whose timeout has expired when the worker runs."""

import contextlib
import os
import signal
import threading
import time
from concurrent import futures

from lib.tracing import watch_tracepoint
from lib.wire import Skip, case, check, read, same, shell, write
from rawpeer.sctp import ACCEPT, TERMINATE
from lib.wire_sctp import GHOST, make_accept, run_sctp_cases

CONNECT, CLOSE = 30, 10     # seconds that the device waits for a peer's Accept, for its Terminate
LOOK = 4                    # seconds after which the device polls the state in any case
# seconds before and after the timeout in which no worker runs; timers may be late by BEHIND
BEFORE, BEHIND = 1.5, 0.8
MARGIN = 0.5                # minimum seconds between the start of the spinners and the timeout
FAIR = "/sys/kernel/debug/sched/fair_server"
LIMIT = "/proc/sys/kernel/sched_rt_runtime_us"


def fork_cpu_spinner(cpu, word):
    """Fork a process that waits for a byte from the pipe word, and then occupies the CPU. Later the
    caller gets a higher priority, so that it can still run there."""
    pid = os.fork()
    if not pid:
        os.sched_setaffinity(0, [cpu])
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.read(word, 1)
        while True:
            pass
    return pid


@contextlib.contextmanager
def disable_realtime_limits():
    """Context manager: disable the limits of realtime CPU time."""
    shell("mount -t debugfs none /sys/kernel/debug", True)
    names = [LIMIT] + [f"{FAIR}/cpu{cpu}/runtime"
                       for cpu in os.sched_getaffinity(0)]
    before = {name: read(name) for name in names if os.path.exists(name)}
    try:
        for name in before:
            write(name, "-1" if name == LIMIT else "0")
        yield
    finally:
        # restore LIMIT last, because the kernel checks it against the other values
        for name, word in reversed(before.items()):
            write(name, word)


@contextlib.contextmanager
def start_cpu_spinners():
    """Context manager: yields a function that gives the CPUs to this process and to interrupts
    only, so that no kernel worker runs. The function is fast, because the processes that occupy the
    CPUs have already been forked."""
    cpus, pids, (word, gives) = os.sched_getaffinity(0), [], os.pipe()

    def block_workers():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        os.write(gives, bytes(len(cpus)))

    with disable_realtime_limits():
        try:
            pids += [fork_cpu_spinner(cpu, word) for cpu in cpus]
            yield block_workers
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.close(word)
            os.close(gives)


@contextlib.contextmanager
def block_workers_past_timeout(began, seconds):
    """Context manager: run the body after a timer of this number of seconds, started at the time
    began, has expired, but before a worker has run."""
    with start_cpu_spinners() as block_workers:
        time.sleep(max(began + seconds - BEFORE - time.monotonic(), 0))
        block_workers()
        if time.monotonic() > began + seconds - MARGIN:
            raise Skip("too slow: the timeout was over before")
        time.sleep(began + seconds + BEHIND - time.monotonic())
        yield


@case("the peer's Terminate has arrived when the timeout expires")
def test_terminate_may_precede_late_worker(w):
    link = w.initiate()
    with w.expect_counts(end_local_close=1, end_timeout=0):
        w.server.do("disconnect", link.conn)
        same("code", link.peer.receive_control().code, TERMINATE)
        with block_workers_past_timeout(time.monotonic(), CLOSE):
            link.peer.terminate()
        link.expect_cm("DISCONNECTED")


@case("the association has been set up when the timeout expires")
def test_association_may_precede_late_worker(w):
    ghost = w.create_ghost(port=7000, peer_port=0)
    w.closing.callback(ghost.close)
    link = w.start_server_connect(7000, host=GHOST)
    with block_workers_past_timeout(time.monotonic(), CONNECT):
        ghost.accept()
    request, link.peer = w.wait_first_initiate(ghost)
    link.send_reply(make_accept(request))
    link.expect_cm("ESTABLISHED", status=0)


def call_with_realtime_priority(ready, function):
    """Call function. The caller's thread gets a realtime priority, so that it runs as soon as
    input arrives."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    ready.set()
    return function()


@case("the peer acknowledges before the worker continues")
def test_ack_may_precede_worker(w):
    ghost, ready = w.create_ghost().connect(), threading.Event()
    w.closing.callback(ghost.close)
    link = w.request_session(peer=ghost.stream(0))
    link.conn = w.expect_request().conn
    with watch_tracepoint("iw_sctp_ddp", "sddp_acked") as has_event_within, \
            futures.ThreadPoolExecutor(1) as pool:
        # on one CPU the peer's reply arrives immediately after the device has sent the Accept
        reply = pool.submit(call_with_realtime_priority, ready, link.peer.receive_control)
        ready.wait()
        w.server.do("accept", link.conn, 4, 4)
        same("code", reply.result().code, ACCEPT)
        check("the worker is notified immediately", has_event_within(LOOK - 1))


run_sctp_cases()
