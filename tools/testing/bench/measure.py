#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""measure.py: the part of `make bench` and `make clock` that runs in the test environment, as
root; see --help."""
import argparse
import concurrent.futures
import contextlib
import glob
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

import rows

ADDRESSES = {"rnic_sw": "10.9.0.1", "siw": "10.9.1.1", "rxe": "10.9.2.1", "tcp": "10.9.0.1",
             "sctp": "10.9.0.1"}
RXE_MTU = 9000      # maximum MTU of the interface of rxe, whose packets have at most 4 KiB of data
SYSCTLS = {
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.ipv4.tcp_congestion_control": "cubic",
}
TRIES = 3
ROOT = "/run/measured"


def run_command(*command):
    subprocess.run(command, check=True)


def create_interfaces_and_device():
    """Create the device of rnic_sw, and an interface with an address for each device."""
    run_command("modprobe", "-a", "rnic_sw", "rdma_ucm", "sctp")
    # Linux 6.1 would create dummy0 itself. The module may be built in.
    subprocess.run(["modprobe", "-q", "dummy", "numdummies=0"], check=False)
    for name, value in SYSCTLS.items():
        run_command("sysctl", "-qw", f"{name}={value}")
    for dev, who in (("dummy0", "rnic_sw"), ("dummy1", "siw"), ("dummy2", "rxe")):
        run_command("ip", "link", "add", dev, "type", "dummy")
        run_command("ip", "addr", "add", ADDRESSES[who] + "/24", "dev", dev)
        run_command("ip", "link", "set", dev, "up")
    run_command("rdma", "link", "add", "iw0", "type", "rnic_sw", "netdev", "dummy0")
    with open("/sys/class/infiniband/iw0/llp/listen", "w", encoding="ascii") as f:
        f.write("both")


def make_root_in_memory(programs):
    """Copy all files that the programs need into a root file system in the guest's memory, so
    that no program waits for the host. If time is counted in instructions, the clock of a
    waiting guest jumps from timer to timer."""
    drivers = os.environ["RDMAV_DRIVERS"]
    wanted = [f"{programs}/rate", f"{programs}/many", *glob.glob(drivers + "-rdmav*.so"),
              *glob.glob("/usr/lib/*/libibverbs/*.so")]
    loaded = subprocess.run(["ldd", *wanted], capture_output=True, text=True,
                            check=True).stdout
    wanted += re.findall(r"\s(/\S+) \(0x", loaded)
    for path in [*wanted, *glob.glob("/etc/libibverbs.d/*")]:
        os.makedirs(os.path.dirname(ROOT + path), exist_ok=True)
        shutil.copy(path, ROOT + path)
    for place in ("/dev", "/proc", "/sys"):
        os.mkdir(ROOT + place)
        run_command("mount", "--rbind", place, ROOT + place)


def set_crc(crc, siw_crc):
    """Switch CRC on or off. For siw load another build, because its setting is a constant."""
    if crc == "sctp":
        return
    on = crc == "on"
    with open("/sys/class/infiniband/iw0/mpa/crc", "w", encoding="ascii") as f:
        f.write("1" if on else "0")
    if not siw_crc:
        return
    subprocess.run(["modprobe", "-qr", "siw"], check=False)
    run_command(*(["insmod", siw_crc] if on else ["modprobe", "siw"]))
    run_command("rdma", "link", "add", "siw0", "type", "siw", "netdev", "dummy1")


def set_mtu(mtu):
    """Set the MTU of TCP and SCTP on the loopback interface, and that of rxe."""
    run_command("ip", "link", "set", "lo", "mtu", str(mtu))
    run_command("ip", "link", "set", "dummy2", "mtu", str(min(mtu, RXE_MTU)))


def create_rxe():
    """Create the device of rxe, which always computes a CRC."""
    run_command("modprobe", "rdma_rxe")
    run_command("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "dummy2")


def run_program(command, llp, timeout):
    """Run a program. Return its output, parsed as JSON, or the error."""
    env = dict(os.environ, RNIC_SW_LLP=llp)
    for _ in range(TRIES):
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=env,
                                  preexec_fn=lambda: os.chroot(ROOT),
                                  timeout=timeout, check=True)
            return json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            error = "timeout"
        except subprocess.CalledProcessError as e:
            error = e.stderr.strip()
        print(f"{' '.join(command)}: {error}", file=sys.stderr, flush=True)
    return {"error": error}


def measure_rate(opts, who, row, llp="tcp"):
    args = [*row.args[:-1], who] if who == "sctp" else row.args
    times = ["-t", str(opts.seconds), "-w", str(opts.warm)]
    command = [f"{opts.programs}/rate", "-a", ADDRESSES[who], *times, *args]
    return run_program(command, "sctp" if row.name.startswith("SCTP") else llp,
                     10 * opts.seconds + 30)


def raise_descriptor_limit():
    """Raise the limit of file descriptors: each connection needs several."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (65536, 65536))


def open_idle_connections(program, number):
    """Open connections that stay idle while others are measured."""
    print(f"{number} idle connections", flush=True)
    raise_descriptor_limit()
    held = subprocess.Popen([program, "-k", ADDRESSES["rnic_sw"], str(number)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            preexec_fn=lambda: os.chroot(ROOT))
    if not held.stdout.readline():
        sys.exit(f"cannot open {number} connections")
    return held


def measure_many_connections(opts):
    """Open many connections at once, over each lower layer in turn. Drop the first result of
    each, because shortly after its start the system still frees memory."""
    print(f"[99 %] {rows.MANY} connections", flush=True)
    set_mtu(65536)
    raise_descriptor_limit()
    command = [f"{opts.programs}/many", ADDRESSES["rnic_sw"], str(rows.MANY)]
    made = [{"who": llp, "result": run_program(command, llp, 60)}
            for _ in range(1 + opts.pairs) for llp in rows.LLPS]
    return made[len(rows.LLPS):]


def measure_total_rate(opts, who, row):
    """Run as many programs as the row requires at the same time, and add up their rates."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(measure_rate, opts, who,
                            row) for _ in range(rows.count_programs_at_once(row))]
    found = [run.result() for run in runs]
    failed = [one for one in found if "error" in one]
    return failed[0] if failed else {
        **found[0], "messages_per_s": sum(one["messages_per_s"] for one in found)}


def measure_on_cpus(opts):
    """Yield results of rnic_sw and siw in turn, so that other load on the machine affects both."""
    set_mtu(65536)
    set_crc("off", opts.siw_crc)
    for row in [*rows.PINGS, *rows.STREAMS]:
        print(f"{row.name}", flush=True)
        for pair in range(opts.pairs):
            for who in ("rnic_sw", "siw") if pair % 2 else ("siw", "rnic_sw"):
                yield {"row": row.name, "who": who, "pair": pair,
                       "result": measure_total_rate(opts, who, row)}


@contextlib.contextmanager
def run_busy_neighbour(opts, who, llp):
    """Run another pair of programs, which writes continuously, on the device during a with
    block."""
    command = [f"{opts.programs}/rate", "-a", ADDRESSES[who], "-w", "0", "-t", "3600", "write"]
    busy = subprocess.Popen(command, env=dict(os.environ, RNIC_SW_LLP=llp),
                            preexec_fn=lambda: os.chroot(ROOT))
    time.sleep(opts.warm)
    yield
    if busy.poll() is not None:
        sys.exit("the neighbour has exited")
    busy.kill()
    busy.wait()


def measure_pings(opts):
    """Measure the round-trip times of a ping, without and with a busy neighbour."""
    set_mtu(65536)
    set_crc("off", None if opts.ours else opts.siw_crc)
    found = []
    for who, llp in rows.NEIGHBOURS:
        if opts.ours and who != "rnic_sw":
            continue
        print(f"[99 %] pings beside a neighbour: {who}, {llp}", flush=True)
        for busy in (False, True):
            with run_busy_neighbour(opts, who, llp) if busy else contextlib.nullcontext():
                result = measure_rate(opts, who, rows.PINGS[-1], llp)
            found.append({"who": who, "llp": llp, "busy": busy, "result": result})
    return found


@contextlib.contextmanager
def drop_packets(percent):
    """Drop packets of the loopback interface on arrival, during a with block: in each direction
    every packet whose number is a multiple of 100 / percent. netem cannot drop them: it gets GSO
    buffers of many packets although segmentation offload is off, and it decides once for each. So a
    program that sends large buffers would lose less often than one that sends single packets."""
    if not percent:
        yield
        return
    ports = f"{rows.PATH_PORTS}-{rows.PATH_PORTS + 255}"
    rules = [f"add rule inet path in iifname lo tcp {field} {ports} "
             f"numgen inc mod {round(100 / percent)} == 0 drop" for field in ("dport", "sport")]
    run_command("nft", "; ".join(["add table inet path", "add chain inet path in "
                                  "{ type filter hook prerouting priority 0 ; }", *rules]))
    try:
        yield
    finally:
        run_command("nft", "delete table inet path")


@contextlib.contextmanager
def emulate_path(path):
    """Make the loopback interface as slow as a path, and allow large windows, during a with
    block. Each direction has a netem of its own: if both shared one, acknowledgements would wait
    until all data in flight had been sent. Segmentation offload is off, so that single packets
    arrive."""
    set_mtu(1500)
    how = ["delay", f"{path.delay}ms", "rate", f"{path.rate}mbit", "limit", "4000"]
    run_command("ethtool", "-K", "lo", "tso", "off", "gso", "off", "gro", "off")
    run_command("tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:", "prio")
    for number, field in enumerate(("dport", "sport"), 1):
        run_command("tc", "filter", "add", "dev", "lo", "parent", "1:", "protocol", "ip", "u32",
                    "match", "ip", field, hex(rows.PATH_PORTS), "0xff00", "flowid", f"1:{number}")
        run_command("tc", "qdisc", "add", "dev", "lo", "parent", f"1:{number}", "netem", *how)
    for name in ("rmem", "wmem"):
        run_command("sysctl", "-qw", f"net.ipv4.tcp_{name}=4096 4194304 67108864")
    try:
        with drop_packets(path.loss):
            yield
    finally:
        for name, value in SYSCTLS.items():
            run_command("sysctl", "-qw", f"{name}={value}")
        run_command("tc", "qdisc", "del", "dev", "lo", "root")
        run_command("ethtool", "-K", "lo", "tso", "on", "gso", "on", "gro", "on")


def measure_over_paths(opts):
    """Measure the rates of rnic_sw, siw and plain TCP over slow paths, in turn."""
    set_crc("off", None if opts.ours else opts.siw_crc)
    opts = argparse.Namespace(**{**vars(opts), "seconds": rows.PATH_SECONDS, "warm": 2})
    who_and_rows = [("tcp", rows.TCP), *((who, row) for row in rows.PATH_ROWS
                                         for who in ("rnic_sw", "siw")
                                         if who == "rnic_sw" or not opts.ours)]
    ports = itertools.count(rows.PATH_PORTS)
    found = []
    for path in rows.PATHS:
        with emulate_path(path):
            for turn in range(rows.PATH_ROUNDS):
                for who, row in who_and_rows:
                    print(f"[99 %] {path.delay} ms each way: {row.name}, {who}", flush=True)
                    at = row._replace(args=["-b", str(next(ports)), *row.args])
                    found.append({"path": path, "turn": turn, "who": who, "row": row.name,
                                  "result": measure_rate(opts, who, at)})
    return found


def list_implementations_in_order(opts, row, pair):
    """Return the implementations in the order to run, which alternates between pairs."""
    if row in rows.OURS:
        return ["rnic_sw"]
    if opts.ours:
        return ["rnic_sw"] if row.rival else []
    if not row.rival:
        return ["tcp"]
    all_in_order = [row.rival, "rnic_sw"]
    if opts.no_siw and row.rival == "siw":
        all_in_order.remove("siw")
    # over rxe the program fails: its last Send is flushed if the peer disconnects first
    if opts.rxe and row.rival == "siw" and row.args[-1] != "call":
        all_in_order.append("rxe")
    return all_in_order if pair % 2 == 0 else all_in_order[::-1]


def parse_options():
    p = argparse.ArgumentParser()
    p.add_argument("programs", help="directory of the programs rate and many")
    p.add_argument("siw_crc", help="siw.ko that requests CRC; unused with --ours and --no-siw")
    p.add_argument("result", help="file for the results")
    p.add_argument("--pairs", type=int, default=1, help="pairs of measurements of each row")
    p.add_argument("--seconds", type=float, default=2, help="seconds for each measurement")
    p.add_argument("--warm", type=float, default=0.5, help="seconds of warm-up before each")
    p.add_argument("--rows", default="", help="only rows whose name matches this pattern")
    p.add_argument("--ours", action="store_true", help="only rnic_sw, not siw, TCP and SCTP")
    p.add_argument("--no-siw", action="store_true", help="do not measure siw")
    p.add_argument("--idle", type=int, default=0, help="number of idle connections to keep open")
    p.add_argument("--many", action="store_true", help="also measure many connections")
    p.add_argument("--beside", action="store_true", help="also measure pings beside a "
                                                         "neighbour")
    p.add_argument("--rxe", action="store_true", help="also measure rxe")
    p.add_argument("--paths", action="store_true", help="also measure over slow paths")
    p.add_argument("--cpus", action="store_true", help="also measure scaling with CPUs")
    p.add_argument("--on-demand", action="store_true",
                   help="also measure the rows of rnic_sw only, such as ODP")
    p.add_argument("--symbols", help="file for a copy of /proc/kallsyms")
    return p.parse_args()


def main():
    opts = parse_options()
    more = rows.OURS if opts.on_demand else ()
    plan = list(rows.plan_runs(opts.pairs, opts.rows, more))
    results = []
    at = (None, None)
    create_interfaces_and_device()
    if opts.rxe:
        create_rxe()
    make_root_in_memory(opts.programs)
    held = open_idle_connections(f"{opts.programs}/many", opts.idle) if opts.idle else None
    for n, (crc, mtu, row, pair) in enumerate(plan):
        if crc != at[0]:
            set_crc(crc, None if opts.ours or opts.no_siw else opts.siw_crc)
        if mtu != at[1]:
            set_mtu(mtu)
        at = (crc, mtu)
        if pair == 0:
            how = "" if crc == "sctp" else f", CRC {crc}"
            print(f"[{100 * n // len(plan):2d} %] MTU {mtu}{how}: {row.name}",
                  flush=True)
        for who in list_implementations_in_order(opts, row, pair):
            results.append({"row": row.name, "mtu": mtu, "crc": crc, "pair": pair,
                            "who": who,
                            "result": measure_rate(opts, who, row)})
    if held:
        held.communicate("")
    measured = {"kernel": os.uname().release, "pairs": opts.pairs,
                "seconds": opts.seconds, "runs": results}
    if opts.many:
        measured["many"] = measure_many_connections(opts)
    if opts.beside:
        measured["beside"] = measure_pings(opts)
    if opts.paths:
        measured["paths"] = measure_over_paths(opts)
    if opts.cpus:
        measured["cpus"] = list(measure_on_cpus(opts))
    if opts.symbols:
        shutil.copyfile("/proc/kallsyms", opts.symbols)
    with open(opts.result, "w", encoding="ascii") as f:
        json.dump(measured, f, indent=1)


main()
