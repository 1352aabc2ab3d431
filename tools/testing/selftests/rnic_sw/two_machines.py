#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test that two machines, possibly of different byte order, can exchange every kind of
message. Each machine sends requests to the other one over TCP and SCTP, and all bytes are
compared.

    two_machines.py far       run raw_server, and let the near machine control it
    two_machines.py near      run the tests, with a local raw_server for each lower layer

    near  10.9.3.1, fd00:9:3::1  ----eth0----eth0----  10.9.3.2, fd00:9:3::2  far

The near machine connects over IPv4, the far one over IPv6. The machine that connects
sends the requests.
"""

import contextlib
import os
import random
import socket
import subprocess
import sys
import time

from lib import ktap
from lib.wire import (ACCESS_ERR, CM, REM_ACCESS_ERR, REQ_ERR, SUCCESS, Async,
                      Link, RawServer, Region, add, find_program, set_provider,
                      load_module_or_skip_all, same, setting, shell)

ADDRESSES = {"near": ("10.9.3.1", "fd00:9:3::1"),
             "far": ("10.9.3.2", "fd00:9:3::2")}
FAMILY = {"near": 0, "far": 1}      # index of the address to which a machine connects
# there is one raw_server for each lower layer; the far machine runs them in this order
PORTS = {"tcp": 7471, "sctp": 7472}
CONTROL = 7400
BOOT = 900                          # maximum seconds until the other machine has booted
INTERFACE, DEVICE = "eth0", "iwe"
WC_WITH_IMM, WC_WITH_INV = 2, 8
IMM = 0xD00DFEED
BIND = 99                           # ID of the bind work request
WORD = 0x0102030405060708
SIZES = 0, 1, 999, 20000


def set_up_interfaces(role):
    for module in "virtio_net", "rnic_sw", "rdma_ucm":
        load_module_or_skip_all(module)
    set_provider()
    for address, bits in zip(ADDRESSES[role], (24, 64)):
        nodad = "nodad" if ":" in address else ""
        shell(f"ip addr add {address}/{bits} dev {INTERFACE} {nodad}")
    shell(f"ip link set {INTERFACE} up")
    shell(f"rdma link add {DEVICE} type rnic_sw netdev {INTERFACE}")
    setting("listen", "both", device=DEVICE)


# Far machine -----------------------------------------------------------------


def connect_to_near_machine():
    end = time.monotonic() + BOOT
    while True:
        try:
            control = socket.create_connection(
                (ADDRESSES["near"][0], CONTROL), 5)
            # this fails if the address was unreachable until now
            control.sendall(f"{sys.byteorder}\n".encode())
            return control
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(1)


def start_server_for_near_machine(llp):
    with connect_to_near_machine() as control:
        control.settimeout(None)
        return subprocess.Popen([find_program("raw_server"), DEVICE],
                                stdin=control, stdout=control,
                                env=os.environ | {"RNIC_SW_LLP": llp})


def run_far_machine():
    set_up_interfaces("far")
    servers = [start_server_for_near_machine(llp) for llp in PORTS]
    sys.exit(any([server.wait() for server in servers]))


# Near machine ----------------------------------------------------------------


class FarServer(RawServer):
    """A raw_server on the other machine, controlled over a TCP connection."""

    # pylint: disable=super-init-not-called
    def __init__(self, control):
        self.control = control
        lines, commands = control.makefile("r"), control.makefile("w")
        commands.reconfigure(line_buffering=True)
        self.byteorder = lines.readline().strip()
        self.connect_streams(commands, lines)

    def stop(self):
        self.control.shutdown(socket.SHUT_WR)
        with self.lock:
            self.lock.wait_for(lambda: self.ended, 20)


class End:
    """The raw_server of one machine, over one lower layer."""

    def __init__(self, server, role, llp):
        self.server, self.role, self.port = server, role, PORTS[llp]
        self.byteorder = getattr(server, "byteorder", sys.byteorder)
        for address in ADDRESSES[role]:
            server.do("listen", address, self.port)

    def register_region(self, size, rights="l", octets=b""):
        region = Region(self.server, size, rights)
        region.write_bytes(0, octets)
        return region

    def read_number(self, region, offset=0):
        return int.from_bytes(region.read_bytes(offset, 8), self.byteorder)

    def register_word(self, value):
        """Return a region with an 8-byte value that the peer may change, and 8 guard bytes."""
        return self.register_region(16, "lwra", value.to_bytes(8, self.byteorder))


class Machines:
    """Both machines, each with a raw_server over each lower layer."""

    def __init__(self):
        self.ends, self.links, self.undo = {}, [], contextlib.ExitStack()

    def __enter__(self):
        set_up_interfaces("near")
        with socket.create_server((ADDRESSES["near"][0], CONTROL)) as server:
            server.settimeout(BOOT)
            for llp in PORTS:
                self._connect_servers(llp, server.accept()[0])
        return self

    def _connect_servers(self, llp, control):
        control.settimeout(None)
        os.environ["RNIC_SW_LLP"] = llp
        servers = {"near": RawServer(find_program("raw_server"), DEVICE),
                   "far": FarServer(control)}
        for role, server in servers.items():
            self.undo.callback(server.stop)
            self.ends[llp, role] = End(server, role, llp)
        print(f"# {llp}: " + ", ".join(
            f"{role} {self.ends[llp, role].byteorder}-endian"
            for role in servers), flush=True)

    def __exit__(self, *_):
        self.undo.close()

    def clean_up_after_case(self):
        for link in self.links:
            link.close()
        self.links.clear()

    def connect(self, llp, role):
        """Connect from the machine role to the other machine. Return the links of the requester and
        of the responder."""
        asks = self.ends[llp, role]
        asked = self.ends[llp, "far" if role == "near" else "near"]
        link = self._add_link(asks, int(asks.server.do(
            "open", ADDRESSES[asked.role][FAMILY[role]], asked.port)[0]))
        asks.server.do("connect", link.conn, 4, 4, b"")
        request = asked.server.expect_event(CM, event="CONNECT_REQUEST")
        other = self._add_link(asked, request.conn)
        asked.server.do("accept", other.conn, 4, 4, b"")
        for each in link, other:
            each.expect_cm("ESTABLISHED", status=0)
        return link, other

    def _add_link(self, end, conn):
        self.links.append(Link(end, None, conn))
        return self.links[-1]


def make_pattern(size, seed):
    return random.Random(seed).randbytes(size)


def check_request_completion(link, length=None):
    got = link.expect_wc(wr=7, status=SUCCESS)
    if length is not None:
        same("length", got.length, length)


def check_receive_completion(link, wr, length, flags=0, imm=0):
    got = link.expect_wc(wr=wr, status=SUCCESS)
    same("length, flags, immediate", (got.length, got.flags, got.imm),
         (length, flags, imm))


def check_send(asks, asked, flags):
    for wr, size in enumerate(SIZES):
        data = make_pattern(size, wr)
        source = asks.wire.register_region(size + 1, "l", data)
        inbox = asked.wire.register_region(size + 9)
        asked.post_recv(inbox, size + 8, wr)
        asks.post("send", source, size, 7, 0, 0, flags)
        check_receive_completion(asked, wr, size)
        check_request_completion(asks)
        same("memory", inbox.read_bytes(0, size + 8), data + b"\x5A" * 8)


def check_send_invalidating(asks, asked, flags):
    for wr, size in enumerate(SIZES):
        data = make_pattern(size, wr)
        source = asks.wire.register_region(size + 1, "l", data)
        inbox = asked.wire.register_region(size + 9)
        region = asked.wire.register_region(64, "lb")
        window = int(asked.wire.server.do("bind", asked.conn, region.number,
                                          "w", BIND)[0])
        asked.expect_wc(wr=BIND, status=SUCCESS)
        asked.post_recv(inbox, size + 8, wr)
        asks.post("sendinv", source, size, 7, 0, window, flags)
        check_receive_completion(asked, wr, size, WC_WITH_INV)
        check_request_completion(asks)
        same("memory", inbox.read_bytes(0, size + 8), data + b"\x5A" * 8)
        region.deregister()      # this fails if a window is still bound to the region


def check_write(asks, asked):
    for seed, size in enumerate(SIZES):
        data = make_pattern(size, seed)
        source = asks.wire.register_region(size + 1, "l", data)
        target = asked.wire.register_region(size + 16, "lw")
        asks.post("write", source, size, 7, target.addr + 8, target.rkey)
        check_request_completion(asks)
        # a Send follows the data: when it is delivered, the data is placed
        asked.post_recv(target, 0, seed)
        asks.post("send", source, 0, 7)
        check_receive_completion(asked, seed, 0)
        check_request_completion(asks)
        same("memory", target.read_bytes(0, size + 16),
             b"\x5A" * 8 + data + b"\x5A" * 8)


def check_write_immediate(asks, asked, flags):
    for wr, size in enumerate(SIZES):
        data = make_pattern(size, wr)
        source = asks.wire.register_region(size + 1, "l", data)
        target = asked.wire.register_region(size + 16, "lw")
        asked.post_recv(target, 0, wr)
        asks.post("writeimm", source, size, 7, target.addr + 8, target.rkey,
                  flags, IMM + wr)
        check_receive_completion(asked, wr, size, WC_WITH_IMM, IMM + wr)
        check_request_completion(asks)
        same("memory", target.read_bytes(0, size + 16),
             b"\x5A" * 8 + data + b"\x5A" * 8)


def check_read(asks, asked):
    for seed, size in enumerate(SIZES):
        data = make_pattern(size + 8, seed)
        source = asked.wire.register_region(size + 8, "lr", data)
        inbox = asks.wire.register_region(size + 16, "lw")
        asks.post("read", inbox, size, 7, source.addr + 4, source.rkey,
                  offset=8)
        check_request_completion(asks)
        same("memory", inbox.read_bytes(0, size + 16),
             b"\x5A" * 8 + data[4:4 + size] + b"\x5A" * 8)


def check_atomics(asks, asked, opcode, *steps):
    """Run atomics. steps: for each, its arguments and the expected value after it."""
    word, result = asked.wire.register_word(WORD), asks.wire.register_word(0)
    before = WORD
    for words, after in steps:
        asks.post(opcode, result, 8, 7, word.addr, word.rkey, "-", *words)
        check_request_completion(asks)
        same("the value before", hex(asks.wire.read_number(result)), hex(before))
        same("the value after", hex(asked.wire.read_number(word)), hex(after))
        before = after
    for region in word, result:
        same("guard bytes", region.read_bytes(8, 8), b"\x5A" * 8)


def check_fetch_add(asks, asked):
    check_atomics(asks, asked, "fetchadd", ((1,), WORD + 1),
                  ((0xFF << 56,), (WORD + 1 + (0xFF << 56)) % (1 << 64)))


def check_compare_swap(asks, asked):
    check_atomics(asks, asked, "cmpswap", ((WORD + 1, 5), WORD),
                  ((WORD, 0xA1B2C3D4E5F60718), 0xA1B2C3D4E5F60718))


def check_terminate_events(asks, asked):
    """Check that the responder ends the connection with a Terminate, and that both programs
    get the event for the reason."""
    asked.server.expect_event(Async, conn=asked.conn, event=ACCESS_ERR)
    asks.server.expect_event(Async, conn=asks.conn, event=REQ_ERR)


def check_write_to_invalid_stag(asks, asked):
    source, target = asks.wire.register_region(64, "l"), asked.wire.register_region(64, "lw")
    asks.post("write", source, 64, 7, target.addr, target.rkey ^ 0x100)
    check_terminate_events(asks, asked)


def check_read_from_invalid_stag(asks, asked):
    source, inbox = asked.wire.register_region(64, "lr"), asks.wire.register_region(64, "lw")
    asks.post("read", inbox, 64, 7, source.addr, source.rkey ^ 0x100)
    asks.expect_wc(wr=7, status=REM_ACCESS_ERR)
    check_terminate_events(asks, asked)


KINDS = (("Sends", check_send, ("-",)),
         ("Sends with Solicited Event", check_send, ("s",)),
         ("Sends with Invalidate", check_send_invalidating, ("-",)),
         ("Sends with Solicited Event and Invalidate", check_send_invalidating,
          ("s",)),
         ("Writes", check_write, ()),
         ("Reads", check_read, ()),
         ("Writes, Immediate Data", check_write_immediate, ("-",)),
         ("Writes, Immediate Data with Solicited Event", check_write_immediate,
          ("s",)),
         ("FetchAdd", check_fetch_add, ()),
         ("CmpSwap", check_compare_swap, ()),
         ("a Write to an invalid STag, and a Terminate", check_write_to_invalid_stag, ()),
         ("a Read from an invalid STag, and a Terminate", check_read_from_invalid_stag, ()))


def run_case_between_machines(machines, llp, role, kind, words):
    kind(*machines.connect(llp, role), *words)


def run_near_machine():
    for llp in PORTS:
        for role in ADDRESSES:
            for name, kind, words in KINDS:
                add(f"{llp.upper()}, requests from the {role} machine: {name}", "",
                    run_case_between_machines, llp=llp, role=role, kind=kind, words=words)
    ktap.run(Machines)


if __name__ == "__main__":
    {"near": run_near_machine, "far": run_far_machine}[sys.argv[1]]()
