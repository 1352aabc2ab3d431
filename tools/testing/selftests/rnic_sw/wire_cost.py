#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test what the worst input costs the receiving host, relative to the cost of a one-byte segment
between two programs over plain TCP: by using RDMA a hostile peer must not consume much more CPU
time of the host. The limits are in Documentation/security.rst. These cases need a test environment
that counts time in instructions."""

import contextlib
import functools
import socket
import threading

from lib.wire import SERVER, PORT, Closed, case, check, mpa, rdmap, run
from lib.wire_kernel import skip_all_without_instruction_clock, read_kernel_cpu_time

PLAIN = PORT + 500      # port of a program that uses plain TCP
ROUNDS = 3              # pairs of measurements, one after the other
SEGMENTS = 10000        # number of segments of one byte
FPDUS = 40000           # number of FPDUs of minimum length
READS = 16384           # number of Reads of zero bytes
AT_ONCE = 64            # number of Reads in flight
CALLS = 1500            # number of connections with an invalid Request


def measure_cost(function, *arguments):
    before = read_kernel_cpu_time()
    function(*arguments)
    return read_kernel_cpu_time() - before


class Plain:
    """A program that reads all input from plain TCP and ignores it."""

    def __init__(self):
        self.sock = socket.create_server((SERVER, PLAIN))
        self.taken = 0
        self.news = threading.Condition()
        threading.Thread(target=self._accept_connections, daemon=True).start()

    def _accept_connections(self):
        while True:
            with self.sock.accept()[0] as sock, \
                    contextlib.suppress(ConnectionResetError):
                self._receive_and_count(sock)

    def _receive_and_count(self, sock):
        while count := len(sock.recv(1 << 16)):
            with self.news:
                self.taken += count
                self.news.notify()

    def wait_received(self, count):
        with self.news:
            check("the plain program receives all data",
                  self.news.wait_for(lambda: self.taken >= count, 60))


@functools.cache
def ensure_plain_server():
    return Plain()


def send_bytes_one_by_one(peer, octets):
    """Send each byte in a separate segment."""
    for number in range(len(octets)):
        peer.send_bytes(octets[number:number + 1])


def measure_plain_segment_cost(w):
    """Return the seconds that a segment of one byte costs at both ends together."""
    server = ensure_plain_server()
    with w.connect_tcp(PLAIN) as peer:
        before = server.taken

        def run_transfer():
            send_bytes_one_by_one(peer, bytes(SEGMENTS))
            server.wait_received(before + SEGMENTS)
        return measure_cost(run_transfer) / SEGMENTS


def check_relative_cost(name, most, measure, base):
    """Check that measure() returns no more than `most` times as many seconds as base()."""
    pairs = [(measure(), base()) for _ in range(ROUNDS)]
    one, other = (sum(part) / ROUNDS for part in zip(*pairs))
    print(f"# {name}: {one / other:.2f} of {other * 1e6:.0f} us;",
          *(f"{a / b:.2f}" for a, b in pairs), flush=True)
    check(f"{name}: cost {one / other:.2f} is at most "
          f"{most}", one <= most * other)


@case("one byte in each segment")
def test_one_byte_segments_are_cheap(w):
    region = w.shared(1 << 16)
    link = w.initiate(peer=w.connect_tcp())

    def measure_segment_cost():
        fpdu = link.peer.build_fpdu(rdmap.make_write(region.rkey, region.addr,
                                                     bytes(SEGMENTS)))

        def run_transfer():
            send_bytes_one_by_one(link.peer, fpdu)
            link.round_trip()
        return measure_cost(run_transfer) / len(fpdu)
    check_relative_cost("a segment of one byte", 2, measure_segment_cost, lambda: measure_plain_segment_cost(w))


@case("FPDUs of minimum length")
def test_shortest_fpdus_are_cheap(w):
    region = w.shared()
    link = w.initiate(peer=w.connect_tcp())
    of_nothing = link.peer.build_fpdu(rdmap.make_write(0, 0)) * FPDUS
    of_one = link.peer.build_fpdu(rdmap.make_write(region.rkey, region.addr,
                                                   b"x")) * FPDUS
    for name, octets in (("a Write of zero bytes", of_nothing),
                         ("a Write of one byte", of_one)):
        def run_transfer(octets=octets):
            link.peer.send_bytes(octets)
            link.round_trip()
        check_relative_cost(name, 1, lambda: measure_cost(run_transfer) / FPDUS,
                            lambda: measure_plain_segment_cost(w))


@case("Reads of zero bytes")
def test_empty_reads_are_cheap(w):
    link = w.initiate(peer=w.connect_tcp(), request=w.make_request(AT_ONCE, AT_ONCE),
                      accept=(AT_ONCE, AT_ONCE, b""))
    nothing = rdmap.ReadRequest(0, 0, 0, 0, 0)

    def run_transfer():
        for _ in range(READS // AT_ONCE):
            link.peer.send_bytes(b"".join(
                link.peer.build_fpdu(nothing.segment(link.peer.take_next_msn(1)))
                for _ in range(AT_ONCE)))
            for _ in range(AT_ONCE):
                link.peer.receive_segment()
    check_relative_cost("a Read of zero bytes", 2, lambda: measure_cost(run_transfer) / READS,
                        lambda: measure_plain_segment_cost(w))


@case("invalid Requests")
def test_invalid_requests_are_cheap(w):
    request = mpa.make_request(rev=9).pack()

    def send_invalid_requests(port):
        for _ in range(CALLS):
            with w.connect_tcp(port) as peer:
                with contextlib.suppress(Closed, OSError):
                    peer.send_bytes(request)
                    peer.send_fin()
                    peer.wait_end()
    ensure_plain_server()
    check_relative_cost("a failed connection", 2, lambda: measure_cost(send_invalid_requests, PORT) / CALLS,
                        lambda: measure_cost(send_invalid_requests, PLAIN) / CALLS)


skip_all_without_instruction_clock()
run()
