#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Run sessions against the kernel that begin correctly and become invalid.

Each session starts up as initiator or as responder, exchanges a few valid messages, then
sends some invalid ones (fuzzing.py), and ends in a random way. Several sessions run at a time,
while rping works on the same device. About one session in eight is valid to the end and
must end gracefully.

T_SEED=N        begin with this seed (printed in the first line)
T_SESSIONS=N    number of sessions; default: as many as T_SECONDS (40) allow
T_FIRST=N       begin with session N: with T_SESSIONS=1, repeat one session
"""

import contextlib
import ctypes
import os
import random
import select
import subprocess
import threading
import time

from lib import ktap
from lib import wire
from lib.wire import CLONE_NEWNET, DEVICE, SERVER, NS, case, check, same, shell
from lib.fuzz_session import Bad, PATIENCE, POLICIES, PORT, Session

PARALLEL = 12
RPING_PORT = 7470
CLOSED = b"rdma_get_cm_event: Bad file descriptor"

# Counters that must not rise, whatever a peer does
NEVER = {"end_ddp_catastrophic", "end_rdmap_catastrophic", "end_mpa_local",
         "end_no_memory", "end_rdmap_global", "end_local_cq_overrun",
         "end_local_protection", "end_unreachable"}

# Counters of connections that end at a listener, without a queue pair
REFUSED = {"end_mpa_startup", "end_mpa_lost", "end_peer_closed",
           "end_peer_reset", "end_timeout"}


class Crowd:
    """Runs several sessions at a time, in one thread."""

    def __init__(self, w, numbers, seed):
        self.w, self.numbers, self.seed = w, numbers, seed
        self.active = {}
        self.count = self.good = self.spoilt = 0
        self.bad = []

    def run(self):
        while self.start_sessions() or self.active:
            if not self.active:
                continue
            for session in self.wait_ready_sessions():
                answer = session.poll_resume_value()
                session.fresh = False
                if answer is not None:
                    self.resume_session(session, answer)

    def start_sessions(self):
        while len(self.active) < PARALLEL and not self.bad:
            number = next(self.numbers, None)
            if number is None:
                return False
            session = Session(self.w, number, self.seed)
            self.active[session] = session.run_session()
            self.resume_session(session, None)
        return not self.bad

    def resume_session(self, session, answer):
        try:
            what, count, seconds = self.active[session].send(answer)
            session.waits = what, count
            session.deadline = time.monotonic() + seconds
            session.fresh = True
            return
        except StopIteration:
            pass
        except Bad as why:
            self.bad.append(f"session {session.number}: {why}; "
                            f"{session.ways}")
        self.count += 1
        self.good += session.right
        self.spoilt += session.spoilt
        session.close()
        del self.active[session]

    def wait_ready_sessions(self):
        """Wait until a session can continue. Return the sessions that can continue."""
        poll, files = select.poll(), {}
        for session in self.active:
            events = select.POLLIN if not session.ended else 0
            if session.out:
                events |= select.POLLOUT
            if session.file is None:
                session.fresh = True
            elif events:
                poll.register(session.file, events)
                files[session.file.fileno()] = session
        late = min(s.deadline for s in self.active) - time.monotonic()
        if any(session.fresh for session in self.active):
            late = 0
        ready = {files[number] for number, _ in
                 poll.poll(max(0, late) * 1000)}
        return [s for s in self.active
                if s in ready or s.fresh or s.get_timeout_resume_value() is False]


def wait_listening(port):
    end = time.monotonic() + PATIENCE
    while f":{port:04X} 00000000:0000 0A" not in wire.read("/proc/net/tcp") \
            and time.monotonic() < end:
        time.sleep(0.05)


class Rping(threading.Thread):
    """Runs rping, which must work all the time."""

    PINGS = 20

    def __init__(self):
        super().__init__(daemon=True)
        self.runs, self.bad, self.over = 0, None, False

    def run(self):
        while not self.over and not self.bad:
            try:
                self.run_rping_once()
            except subprocess.TimeoutExpired as why:
                self.bad = f"{why}"

    def run_rping_once(self):
        words = ["rping", "-v", "-a", SERVER, "-p", str(RPING_PORT),
                 "-S", "3000"]
        with subprocess.Popen(words + ["-s"], stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as server:
            try:
                wait_listening(RPING_PORT)
                client = subprocess.run(
                    words + ["-c", "-V", "-C", str(self.PINGS)],
                    capture_output=True, timeout=PATIENCE, check=False)
                said = server.communicate(timeout=PATIENCE)[1]
            finally:
                server.kill()
        self.runs += 1
        pings = client.stdout.count(b"ping data")
        # rping's event thread may find the event channel closed before the thread ends
        failed = client.returncode and CLOSED not in client.stderr
        if failed or pings != self.PINGS:
            self.bad = (f"{pings} of {self.PINGS} pings, client: {client.stderr}; server: "
                        f"{said}")

    def stop(self):
        self.over = True
        self.join()


def read_object_counts():
    """Return the number of objects of the device, by kind, as the RDMA core counts them."""
    words = shell(f"rdma resource show {DEVICE}").split()[2:]
    return dict(zip(words[::2], words[1::2]))


class FuzzWire(wire.Wire):
    """The topology of the wire tests, with fuzz_server on the device."""

    program = "fuzz_server"
    crowd = Crowd

    def _create_topology(self):
        super()._create_topology()
        self.before = read_object_counts()
        shell(f"ip netns exec {NS} sysctl -qw net.ipv4.tcp_max_tw_buckets=64 "
              "net.ipv4.tcp_tw_reuse=1", True)

    def _set_up(self):
        super()._set_up()
        words = self.server.do("areas")
        self.areas = {
            name: (int(addr), int(size), int(key)) for name, addr, size, key
            in zip(*(words[i::4] for i in range(4)))}
        self.ones, self.revision = 0, None
        self.set_policy(*POLICIES[0])
        self.server.do("listen", SERVER, PORT)

    def set_policy(self, crc, markers, revision):
        """Change the settings. self.ones counts how often revision 1 was set; self.revision is
        the current revision."""
        self.ones += revision == "1"
        self.revision = revision
        for name, value in (("crc", crc), ("markers", markers),
                            ("revision", revision)):
            wire.setting(name, value)

    @contextlib.contextmanager
    def enter_peer_namespace(self):
        """Context manager: move this thread into the raw peer's namespace."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/thread-self/ns/net", "rb") as here, \
                open(f"/run/netns/{NS}", "rb") as there:
            if libc.setns(there.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
            try:
                yield
            finally:
                libc.setns(here.fileno(), CLONE_NEWNET)

    def read_statistics(self):
        return [int(word) for word in self.server.do("stat")]

    def expect_quiet(self):
        """Wait until all connections have ended. Return the statistics of fuzz_server."""
        end = time.monotonic() + PATIENCE
        while self.read_statistics()[0] and time.monotonic() < end:
            time.sleep(0.1)
        stat = self.read_statistics()
        same("connections left", stat[0], 0)
        return stat


def yield_session_numbers():
    """Yield the numbers of the sessions to run."""
    first = int(os.environ.get("T_FIRST", 0))
    most = os.environ.get("T_SESSIONS")
    if most:
        yield from range(first, first + int(most))
        return
    end = time.monotonic() + int(os.environ.get("T_SECONDS", 40))
    while time.monotonic() < end:
        yield first
        first += 1


def print_and_get_end_counts(w, crowd, seconds, stat, before):
    rises = {name: now - before[name] for name, now in w.read_counters().items()
             if name.startswith("end_") and now != before[name]}
    print(f"# {crowd.count} sessions in {seconds:.1f} s, {crowd.count / seconds:.1f} a "
          f"second: {crowd.good} valid to the end, {crowd.spoilt} mutations")
    print("# queue pairs %d, established %d, received %d, sent %d, "
          "flushed %d, async %d" % tuple(stat[1:]))
    print("# ends:", ", ".join(f"{name[4:]} {n}"
                               for name, n in sorted(rises.items())))
    return rises


@case("sessions that go wrong")
def test_wrong_sessions_do_no_harm(w):
    seed = int(os.environ.get("T_SEED") or random.getrandbits(31))
    print(f"# T_SEED={seed}", flush=True)
    before, rping = w.read_counters(), Rping()
    rping.start()
    crowd = w.crowd(w, yield_session_numbers(), seed)
    began = time.monotonic()
    with w.enter_peer_namespace():
        crowd.run()
    seconds = time.monotonic() - began
    rping.stop()
    stat = w.expect_quiet()
    rises = print_and_get_end_counts(w, crowd, seconds, stat, before)
    same("failures", crowd.bad, [])
    same("rping", rping.bad, None)
    check("rping runs at least once", rping.runs)
    same("memory that must not change", w.server.do("check"), [])
    same("reasons that no peer can cause", NEVER & set(rises), set())
    # The device counts one end per queue pair, and one per connection that failed before it had a
    # queue pair. So there may be more ends than queue pairs, but at most by the number of such
    # connections.
    extra = sum(rises.values()) - stat[1] - 2 * rping.runs
    refused = sum(rises.get(name, 0) for name in REFUSED)
    check(f"{extra} more ends than queue pairs, explained by {refused} failed start-ups",
          0 <= extra <= refused)


@case("all objects are freed")
def test_all_objects_are_freed(w):
    w.server.stop()
    same("exit status of the program", w.server.process.returncode, 0)
    end = time.monotonic() + PATIENCE
    while read_object_counts() != w.before and time.monotonic() < end:
        time.sleep(0.1)
    same("objects", read_object_counts(), w.before)


if __name__ == "__main__":
    ktap.run(FuzzWire)
