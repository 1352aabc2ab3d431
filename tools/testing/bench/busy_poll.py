#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""busy_poll.py: the part of scripts/busy-poll that runs in two guests, as root, and the table of
its results.

    busy_poll.py far PROGRAMS       start the passive ends of the pings, as the near guest requests
    busy_poll.py near PROGRAMS RESULT PAIRS SECONDS
                                    run the active ends, and write the results of both guests
    busy_poll.py print RESULT       print the results as a table

    near  10.9.3.1  ----eth0----eth0----  10.9.3.2  far

Both ends of a ping-pong spin in ibv_poll_cq(). Interrupts, softirqs and context switches are
counted from the start of a program to its end, so they include the few of connecting.
"""
import contextlib
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time

ADDRESSES = {"near": "10.9.3.1", "far": "10.9.3.2"}
CONTROL = 7400          # TCP port at which the far guest takes commands
PORT = 7471             # port at which the first passive end listens
BOOT = 300              # maximum seconds until the other guest has booted
LISTEN = 20             # maximum seconds until a passive end listens
INTERFACE, DEVICE = "eth0", "iw0"
SETTING = f"/sys/class/infiniband/{DEVICE}/llp/busy_poll"
NAPI = f"/sys/class/net/{INTERFACE}"
# With these values the driver of the network interface leaves its interrupts off while programs
# poll: the kernel polls by itself only if no program has polled for 20 ms. An emulated CPU may not
# run for such a time; without emulation 0.2 ms are enough.
DEFERRED = {"napi_defer_hard_irqs": "2", "gro_flush_timeout": "20000000"}
MODES = {"off": (0, False), "on": (1, False), "on, deferred": (1, True)}
COUNTS = {"input": "interrupts, reception", "output": "interrupts, transmission",
          "NET_RX": "NET_RX softirqs", "BusyPollRxPackets": "packets by busy polling",
          "ctxt": "context switches"}


def write_file(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def read_lines(path):
    with open(path, encoding="ascii") as f:
        return [line.split() for line in f]


def set_up_guest(role):
    subprocess.run(["modprobe", "-a", "virtio_net", "rnic_sw", "rdma_ucm"], check=True)
    for command in (f"ip addr add {ADDRESSES[role]}/24 dev {INTERFACE}",
                    f"ip link set {INTERFACE} up",
                    f"rdma link add {DEVICE} type rnic_sw netdev {INTERFACE}"):
        subprocess.run(command.split(), check=True)


def set_mode(mode):
    busy, deferred = MODES[mode]
    if os.path.exists(SETTING):
        write_file(SETTING, str(busy))
    for name, value in DEFERRED.items():
        write_file(f"{NAPI}/{name}", value if deferred else "0")


def sum_numbers(words):
    return sum(int(word) for word in words if word.isdigit())


def read_counters():
    """Read the numbers of interrupts of the interface, and of other events, so far."""
    found = dict.fromkeys(COUNTS, 0)
    virtio = os.path.basename(os.path.realpath(f"{NAPI}/device"))
    for line in read_lines("/proc/interrupts"):
        match = re.fullmatch(virtio + r"-(input|output)\.\d+", line[-1])
        if match:
            found[match[1]] += sum_numbers(line[1:])
    for line in read_lines("/proc/softirqs"):
        if line[0] == "NET_RX:":
            found["NET_RX"] = sum_numbers(line[1:])
    for line in read_lines("/proc/stat"):
        if line[0] == "ctxt":
            found["ctxt"] = int(line[1])
    lines = read_lines("/proc/net/netstat")
    for names, values in zip(lines[::2], lines[1::2]):
        found.update((name, int(value)) for name, value in zip(names, values) if name in COUNTS)
    return found


class Counted:
    """The increase of the counters in a with block."""

    def __enter__(self):
        self.counts = read_counters()
        return self

    def __exit__(self, *_):
        self.counts = {name: n - self.counts[name] for name, n in read_counters().items()}


def make_ping_command(programs, end, port, *args):
    return [f"{programs}/rate", "-a", ADDRESSES["far"], "-b", str(port), "-e", end, "-p",
            "-s", "64", *args, "ping"]


# Far guest -------------------------------------------------------------------


def is_listening(port):
    return any(line[1].endswith(f":{port:04X}") and line[3] == "0A"
               for line in read_lines("/proc/net/tcp"))


def answer_one_ping_pong(programs, lines, wanted):
    """Run a passive end. Notify the near guest when it listens, and report at its end."""
    set_mode(wanted["mode"])
    with Counted() as counted:
        with subprocess.Popen(make_ping_command(programs, "passive", wanted["port"])) as passive:
            end = time.monotonic() + LISTEN
            while not is_listening(wanted["port"]) and time.monotonic() < end:
                time.sleep(0.02)
            print("listening", file=lines)
            try:
                status = passive.wait(wanted["timeout"])
            except subprocess.TimeoutExpired:
                passive.kill()
                status = "timeout"
    print(json.dumps({"status": status, "counts": counted.counts}), file=lines)


def run_far_guest(programs):
    set_up_guest("far")
    with socket.create_server((ADDRESSES["far"], CONTROL)) as server:
        server.settimeout(BOOT)
        control = server.accept()[0]
        control.settimeout(None)
        with control, control.makefile("r") as commands, control.makefile("w") as lines:
            lines.reconfigure(line_buffering=True)
            for command in commands:
                answer_one_ping_pong(programs, lines, json.loads(command))


# Near guest ------------------------------------------------------------------


def connect_to_far_guest():
    end = time.monotonic() + BOOT
    while True:
        try:
            control = socket.create_connection((ADDRESSES["far"], CONTROL), 5)
            control.settimeout(None)
            return control
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(1)


def run_active_end(command, timeout):
    """Run an active end. Return its output, parsed as JSON, or the error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True,
                              timeout=timeout)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"error": "timeout"}
    except subprocess.CalledProcessError as e:
        return {"error": e.stderr.strip()}


def measure_one_ping_pong(programs, streams, mode, port, seconds):
    set_mode(mode)
    timeout = 5 * seconds + 30
    commands, lines = streams
    print(json.dumps({"mode": mode, "port": port, "timeout": timeout}), file=commands)
    lines.readline()
    with Counted() as counted:
        result = run_active_end(make_ping_command(programs, "active", port, "-w", "0", "-t",
                                                  str(seconds)), timeout)
    far = json.loads(lines.readline())
    if "error" in result or far["status"]:
        print(f"busy_poll {mode}: {result.get('error')}, the other end: {far['status']}",
              file=sys.stderr)
    return {"mode": mode, "result": result, "near": counted.counts, "far": far["counts"]}


def run_near_guest(programs, result, pairs, seconds):
    set_up_guest("near")
    modes = list(MODES)
    if not os.path.exists(SETTING):
        print("the device has no setting busy_poll: only the mode without it is measured",
              flush=True)
        modes = modes[:1]
    runs = []
    with contextlib.closing(connect_to_far_guest()) as control, \
            control.makefile("w") as commands, control.makefile("r") as lines:
        commands.reconfigure(line_buffering=True)
        for pair in range(int(pairs)):
            for mode in modes if pair % 2 == 0 else modes[::-1]:
                runs.append(measure_one_ping_pong(programs, (commands, lines), mode,
                                                  PORT + len(runs), float(seconds)))
            print(f"{pair + 1} of {pairs}", flush=True)
        # makefile() keeps the socket open after close()
        control.shutdown(socket.SHUT_WR)
    write_file(result, json.dumps({"kernel": os.uname().release, "cpus": os.cpu_count(),
                                   "seconds": seconds, "runs": runs}, indent=1))


# Table -----------------------------------------------------------------------


def format_quartiles(values, digits):
    if len(values) < 2:
        return f"{values[0]:.{digits}f}" if values else "-"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def print_row(name, by_mode, digits):
    print(f"{name:<27}" + "".join(f" {format_quartiles(values, digits):>23}"
                                  for values in by_mode))


def print_table(path):
    with open(path, encoding="ascii") as f:
        measured = json.load(f)
    runs = {mode: [run for run in measured["runs"]
                   if run["mode"] == mode and "error" not in run["result"]] for mode in MODES}
    runs = {mode: some for mode, some in runs.items() if some}
    print(f"{'busy_poll':<27}" + "".join(f" {mode:>23}" for mode in runs))
    for number, name in enumerate(("round trip, median, us", "round trip, 95 %, us")):
        print_row(name, [[run["result"]["round_us"][number] for run in some]
                         for some in runs.values()], 0)
    print_row("round trips per second", [[run["result"]["messages_per_s"] for run in some]
                                         for some in runs.values()], 0)
    for guest in "near", "far":
        print(f"per round trip, {guest} guest:")
        for count, name in COUNTS.items():
            print_row(f"  {name}", [[run[guest][count] / run["result"]["messages"]
                                     for run in some] for some in runs.values()], 3)
    bad = len(measured["runs"]) - sum(map(len, runs.values()))
    print(f"Kernel {measured['kernel']}, {measured['cpus']} CPU(s) per guest, "
          f"{measured['seconds']} s a run; median (quartiles) of "
          f"{max(map(len, runs.values()), default=0)} runs; {bad} failed.")
    return 1 if bad or not runs else 0


if __name__ == "__main__":
    sys.exit({"far": run_far_guest, "near": run_near_guest,
              "print": print_table}[sys.argv[1]](*sys.argv[2:]))
