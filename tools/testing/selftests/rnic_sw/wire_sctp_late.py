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

from lib.tracing import traced
from lib.wire import Skip, case, check, read, same, shell, write
from rawpeer.sctp import ACCEPT, TERMINATE
from lib.wire_sctp import GHOST, answer, go

CONNECT, CLOSE = 30, 10     # seconds that the device waits for a peer
LOOK = 4                    # seconds after which the device polls the state in any case
# seconds before and after the timeout in which no worker runs; timers may be late by BEHIND
BEFORE, BEHIND = 1.5, 0.8
MARGIN = 0.5                # minimum seconds between the start of the spinners and the timeout
FAIR = "/sys/kernel/debug/sched/fair_server"
LIMIT = "/proc/sys/kernel/sched_rt_runtime_us"


def fork_spinner(cpu, word):
    """Fork a process that reads a byte from word and then spins on the CPU, whenever the caller
    does not run there."""
    pid = os.fork()
    if not pid:
        os.sched_setaffinity(0, [cpu])
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.read(word, 1)
        while True:
            pass
    return pid


@contextlib.contextmanager
def no_limits():
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
def spinners():
    """Context manager: yields a function that gives the CPUs to this process and to interrupts
    only, so that no kernel worker runs. The function is fast, because the processes that occupy the
    CPUs have already been forked."""
    cpus, pids, (word, gives) = os.sched_getaffinity(0), [], os.pipe()

    def block_workers():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        os.write(gives, bytes(len(cpus)))

    with no_limits():
        try:
            pids += [fork_spinner(cpu, word) for cpu in cpus]
            yield block_workers
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.close(word)
            os.close(gives)


@contextlib.contextmanager
def when_time_is_up(began, seconds):
    """Context manager: run the body when a timer that was set at began has expired, while no
    worker has run."""
    with spinners() as block_workers:
        time.sleep(max(began + seconds - BEFORE - time.monotonic(), 0))
        block_workers()
        if time.monotonic() > began + seconds - MARGIN:
            raise Skip("too slow: the timeout was over before")
        time.sleep(began + seconds + BEHIND - time.monotonic())
        yield


@case("the peer's Terminate has arrived when the timeout expires")
def test_terminated(w):
    link = w.initiate()
    with w.expect_counts(end_local_close=1, end_timeout=0):
        w.server.do("disconnect", link.conn)
        same("code", link.peer.get_control().code, TERMINATE)
        with when_time_is_up(time.monotonic(), CLOSE):
            link.peer.terminate()
        link.expect_cm("DISCONNECTED")


@case("the association has been set up when the timeout expires")
def test_connected(w):
    ghost = w.ghost(port=7000, peer_port=0)
    w.closing.callback(ghost.close)
    link = w.call(7000, host=GHOST)
    with when_time_is_up(time.monotonic(), CONNECT):
        ghost.accept()
    request, link.peer = w.first(ghost)
    link.answer(answer(request))
    link.expect_cm("ESTABLISHED", status=0)


def before_all(ready, function):
    """Call function. The caller's thread gets a realtime priority, so that it runs as soon as
    input arrives."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    ready.set()
    return function()


@case("the peer acknowledges before the worker continues")
def test_at_once(w):
    ghost, ready = w.ghost().connect(), threading.Event()
    w.closing.callback(ghost.close)
    link = w.calling(peer=ghost.stream(0))
    link.conn = w.expect_request().conn
    with traced("iw_sctp_ddp", "sddp_acked") as passed, \
            futures.ThreadPoolExecutor(1) as pool:
        # on one CPU the peer's reply arrives immediately after the device has sent the Accept
        reply = pool.submit(before_all, ready, link.peer.get_control)
        ready.wait()
        w.server.do("accept", link.conn, 4, 4)
        same("code", reply.result().code, ACCEPT)
        check("the worker is notified immediately", passed(LOOK - 1))


go()
