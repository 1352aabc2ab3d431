#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""run_rows.py: the part of scripts/program-table that runs in the test environment, as root:
run each program of rows.py on a device of each driver, and write the results as JSON.

The client and the server of a program are two processes that use the same device, because siw
works only in the first network namespace."""
import argparse
import ipaddress
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import core_tests
import judge
from rows import ROWS

DRIVERS = ("rnic_sw", "siw", "rxe")
TREE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
LIB = f"{TREE}/tools/testing/selftests/rnic_sw"
NET, ADDRESS = "t0", "10.9.0.1"
TRIES, NOISY_TRIES = 2, 8
LISTEN_TIME = 15
FAULT = re.compile(r"BUG: |WARNING: |KASAN: |Oops|general protection|UBSAN: ")


class Lab:
    """A device of one driver, and the directory of the logs."""
    def __init__(self, driver, out, valkey):
        self.driver, self.out, self.valkey = driver, out, valkey
        self.dev = f"{driver.replace('rnic_sw', 'iw')}0"
        self.port = 7500
        self.faults = 0

    def __enter__(self):
        run_command("modprobe", {"rxe": "rdma_rxe"}.get(self.driver, self.driver))
        run_command("ip", "link", "add", NET, "type", "dummy")
        run_command("ip", "addr", "add", f"{ADDRESS}/24", "dev", NET)
        run_command("ip", "link", "set", NET, "up")
        run_command("rdma", "link", "add", self.dev, "type", self.driver, "netdev", NET)
        self.gid = find_gid_index(self.dev)
        self.faults = len(read_kernel_faults())
        return self

    def __exit__(self, *_):
        subprocess.run(["timeout", "60", "ip", "link", "del", NET], check=False)

    def make_placeholders(self, row, directory):
        self.port += 1
        return {"dev": self.dev, "net": NET, "addr": ADDRESS, "gid": self.gid, "lib": LIB, "dir": directory,
                "port": row.port or self.port, "valkey": self.valkey}

    def read_new_faults(self):
        found = read_kernel_faults()
        new, self.faults = found[self.faults:], len(found)
        return new


def run_command(*command):
    subprocess.run(command, check=True)


def run_and_capture(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def read_kernel_faults():
    return [line for line in run_and_capture("dmesg").splitlines() if FAULT.search(line)]


def find_gid_index(dev):
    """Return the index of the GID that is made of the IPv4 address, or 0 if the device has none."""
    place = f"/sys/class/infiniband/{dev}/ports/1/gids"
    wanted = ipaddress.ip_address(f"::ffff:{ADDRESS}")
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for index in sorted(os.listdir(place), key=int):
            try:
                with open(f"{place}/{index}", encoding="ascii") as f:
                    if ipaddress.ip_address(f.read().strip()) == wanted:
                        return int(index)
            except OSError:
                continue
        time.sleep(0.2)
    return 0


def start_process(command, log):
    with open(log, "w", encoding="utf-8") as f:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT,
                                start_new_session=True)


def kill_process(process):
    """Kill a process and its children. A process that cannot be killed is left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass


def wait_or_kill(process, limit):
    """Wait for a process, and kill it at the time limit. Return its status, None for killed."""
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        status = None
    kill_process(process)
    return status


def is_listening(port):
    """Check whether a program listens on a port, by a socket or by rdma_cm."""
    if run_and_capture("ss", "-Htln", f"sport = :{port}").strip():
        return True
    shown = run_and_capture("rdma", "resource", "show", "cm_id")
    return re.search(rf"state LISTEN.*:{port}\b", shown) is not None


def wait_listening(process, port):
    end = time.monotonic() + LISTEN_TIME
    while process.poll() is None and time.monotonic() < end and not is_listening(port):
        time.sleep(0.1)


def read_file_beginning(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read(200000)


def run_once(lab, row, directory):
    """Run both sides of a row, and return the run as judge.py describes it."""
    os.makedirs(directory, exist_ok=True)
    words = lab.make_placeholders(row, directory)
    result, server = {}, None
    if row.server:
        server = start_process(shlex.split(row.server.format(**words)), f"{directory}/server.log")
        wait_listening(server, words["port"])
    client = start_process(shlex.split(row.client.format(**words)), f"{directory}/client.log")
    status = wait_or_kill(client, row.limit)
    result["client"] = {"status": status, "log": read_file_beginning(f"{directory}/client.log")}
    if server:
        # after a failure of the client, the server gets a moment to print its own error
        status = wait_or_kill(server, 1 if row.stays else 10)
        result["server"] = {"status": status, "log": read_file_beginning(f"{directory}/server.log")}
    result["kernel"] = lab.read_new_faults()
    return result


def run_row(lab, row):
    """Run a row until it works, but at most TRIES times. Runs with noise do not count."""
    runs, tries = [], 0
    directory = f"{lab.out}/{lab.driver}/{re.sub('[^A-Za-z0-9.]', '_', row.name)}"
    while len(runs) < TRIES and tries < NOISY_TRIES:
        tries += 1
        found = run_once(lab, row, f"{directory}/{tries}")
        good = judge.has_succeeded(row, found)
        if good or not judge.has_clock_fault(found) or tries == NOISY_TRIES:
            runs.append(found)
        if good:
            break
    return runs


def read_valkey_version(directory):
    found = re.search(r'VALKEY_VERSION "(.*)"', read_file_beginning(f"{directory}/src/version.h"))
    return found[1] if found else "unknown"


def choose_rows(options):
    return [row for row in ROWS if options.only in row.name and (options.valkey or row.name != "valkey")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", help="directory for the logs and for results.json")
    parser.add_argument("--only", default="", help="run only rows whose names contain this")
    parser.add_argument("--driver", choices=DRIVERS, action="append", help="run only this driver")
    parser.add_argument("--valkey", default="", help="directory in which valkey is built")
    options = parser.parse_args()
    run_command("modprobe", "rdma_ucm")
    results = {"kernel": os.uname().release, "drivers": {}}
    if options.valkey:
        results["valkey"] = read_valkey_version(options.valkey)
    for driver in options.driver or DRIVERS:
        cells = results["drivers"][driver] = {}
        with Lab(driver, options.out, options.valkey) as lab:
            for row in choose_rows(options):
                runs = cells[row.name] = run_row(lab, row)
                print(f"{driver}: {row.name}: {': '.join(filter(None, judge.judge_runs(row, runs)))}", flush=True)
                save_results(options.out, results)
            if options.only in core_tests.NAME:
                cells[core_tests.NAME] = core_tests.run_tests_and_count_results(
                    lab.dev, lab.gid, f"{options.out}/{driver}")
                print(f"{driver}: {core_tests.NAME}: {cells[core_tests.NAME]}", flush=True)
                save_results(options.out, results)
    return 0


def save_results(out, results):
    """Write the results after each row, because a fault of a driver can end the kernel."""
    with open(f"{out}/results.new", "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)
        f.flush()
        os.fsync(f.fileno())
    os.replace(f"{out}/results.new", f"{out}/results.json")


if __name__ == "__main__":
    sys.exit(main())
