#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Two virtual machines of QEMU for programs/qemu.sh: make the guest's program, migrate one machine
to the other through their monitors (QMP), and compare their memory.

    program_qemu.py bios FILE               make the guest's program
    program_qemu.py migrate FROM TO URI PIN DATA DIR
                                            FROM, TO: sockets of the monitors; PIN: on or off;
                                            DATA: file that was loaded into the guest's memory
"""
import json
import os
import socket
import struct
import sys
import time

BIOS = 64 << 10             # size of the guest's program
AREA, AREA_END = 0x20000, 0xA0000   # memory that the guest's program writes
STEP = 1 << 10              # distance of the places to which it writes a counter
LOADED = 2 << 20            # address of the data that QEMU loads
PATIENCE = float(os.environ.get("T_TIME", "120"))

# The guest's program, in real mode at F000:0000. In an endless loop it increments a counter and
# writes the counter to each place of the area in turn. A place is the first two bytes of a KiB.
PROGRAM = bytes.fromhex(
    "31db"                  # xor bx, bx
    "43"                    # round: inc bx
    "b80020"                # mov ax, 2000h: the first segment
    "8ed8"                  # segment: mov ds, ax
    "31ff"                  # xor di, di
    "891d"                  # place: mov [di], bx
    "81c70004"              # add di, 400h
    "75f8"                  # jnz place
    "050010"                # add ax, 1000h
    "3d00a0"                # cmp ax, 0A000h
    "75ec"                  # jnz segment
    "ebe6")                 # jmp round
RESET = bytes.fromhex("ea000000f0")     # jmp F000:0000, at the reset vector: the last 16 bytes


class Monitor:
    """A connection to QEMU's monitor."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.sock.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self.sock.settimeout(PATIENCE)
        self.lines = self.sock.makefile("r", encoding="utf-8")
        self.lines.readline()
        self.run_command("qmp_capabilities")

    def run_command(self, what, **how):
        """Run a command and return QEMU's response."""
        self.sock.sendall(json.dumps({"execute": what, "arguments": how}).encode() + b"\n")
        for line in self.lines:
            answer = json.loads(line)
            if "error" in answer:
                raise AssertionError(f"{what}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        raise AssertionError(f"{what}: QEMU has closed its monitor")

    def read_memory(self, at, size, path):
        """Return size bytes of the guest's memory at address at; path: name of a temporary file."""
        self.run_command("pmemsave", val=at, size=size, filename=path)
        with open(path, "rb") as file:
            octets = file.read()
        os.unlink(path)
        return octets

    def read_counter(self, path):
        """Return the counter at the first place of the area."""
        return struct.unpack("<H", self.read_memory(AREA, 2, path))[0]


def wait_until(cond, what):
    end = time.monotonic() + PATIENCE
    while not cond():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE:.0f} s: {what}")
        time.sleep(0.05)


def check_counter_changes(monitor, path):
    """Wait until the counter of the guest's program has changed."""
    first = monitor.read_counter(path)
    wait_until(lambda: monitor.read_counter(path) != first, "the guest's counter changes")


def check_no_old_pages(octets):
    """Check that no old page is left: the guest's program was stopped between two places, so the
    places before that point have the new value of the counter, and the others the previous value.
    """
    values = [struct.unpack_from("<H", octets, at)[0] for at in range(0, len(octets), STEP)]
    new = values.count(values[0])
    old = (values[0] - 1) & 0xFFFF
    assert values == [values[0]] * new + [old] * (len(values) - new), f"memory is mixed: {values}"
    print(f"{len(values)} places: {new} have {values[0]}, the others {old}")


def write_bios(path):
    with open(path, "wb") as file:
        file.write(PROGRAM.ljust(BIOS - 16, b"\0") + RESET.ljust(16, b"\0"))


def migrate(source, sink, uri, pin, data, where):
    path = os.path.join(where, "memory")
    with open(data, "rb") as file:
        loaded = file.read()
    source, sink = Monitor(source), Monitor(sink)
    pinned = [{"capability": "rdma-pin-all", "state": pin == "on"}]
    source.run_command("migrate-set-capabilities", capabilities=pinned)
    sink.run_command("migrate-set-capabilities", capabilities=pinned)
    sink.run_command("migrate-incoming", uri=uri)
    check_counter_changes(source, path)
    source.run_command("migrate", uri=uri)
    status = {}

    def has_migration_ended():
        status.update(source.run_command("query-migrate"))
        return status.get("status") in ("completed", "failed", "cancelled")

    wait_until(has_migration_ended, "the migration ends")
    print({key: status[key] for key in ("status", "error-desc", "ram", "total-time", "downtime")
           if key in status})
    assert status["status"] == "completed"
    wait_until(lambda: sink.run_command("query-status")["running"],
               "the guest runs at its new place")
    check_counter_changes(sink, path)
    sink.run_command("stop")
    check_no_old_pages(sink.read_memory(AREA, AREA_END - AREA, path))
    assert sink.read_memory(LOADED, len(loaded), path) == loaded, "the loaded data has changed"
    print(f"{len(loaded)} bytes of data are unchanged")
    source.run_command("quit")
    sink.run_command("quit")


if __name__ == "__main__":
    if sys.argv[1] == "bios":
        write_bios(sys.argv[2])
    else:
        migrate(*sys.argv[2:])
