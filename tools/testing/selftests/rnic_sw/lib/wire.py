# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Common code of the wire tests: a raw peer in a network namespace, and a program that uses the
device in the current one.

    network namespace "wire"           current namespace
    +-----------------------+   veth   +------------------------+
    | raw peer, plain TCP   |----------| device iww, raw_server |
    | wirep    10.9.2.2     |          | wirem    10.9.2.1      |
    +-----------------------+          +------------------------+
"""

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import sys
import time

from lib import ktap
from lib.ktap import case, add, check, same, Skip       # noqa: F401

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for place in (HERE, os.path.join(HERE, "..", "..")):
    if os.path.isdir(os.path.join(place, "rawpeer")):
        sys.path.insert(0, place)
        break
else:
    ktap.skip_all("cannot find the raw peer (tools/testing/rawpeer)")

# pylint: disable=wrong-import-position
from lib.ends import Ends                           # noqa: E402
from lib.mate import (CM, WC, Async, RawServer, PeerSent,    # noqa: E402, F401
                  Refused, Region, decode_hex)
from rawpeer import ddp, mpa, rdmap                 # noqa: E402, F401
from rawpeer.peer import Peer, Closed, PATIENCE     # noqa: E402, F401

NS = "wire"
SERVER_IF, PEER_IF = "wirem", "wirep"
SERVER, PEER, NEIGHBOUR = "10.9.2.1", "10.9.2.2", "10.9.2.99"
DEVICE = "iww"
PORT = 7471
CLONE_NEWNET = 0x40000000
KIB = 1 << 10

QP_FATAL, REQ_ERR, ACCESS_ERR = 1, 2, 3     # enum ibv_event_type
# enum ibv_wc_status
SUCCESS, LEN_ERR, LOC_QP_OP_ERR, LOC_PROT_ERR, FLUSHED = 0, 1, 2, 4, 5
REM_ACCESS_ERR, REM_OP_ERR = 10, 11
QPS_ERR = 6
# enum rnic_sw_dv_llp and enum rnic_sw_dv_conn_flags
LLP_TCP, LLP_SCTP = 1, 2
DEPTHS, REJECTED, CRC, TX_MARKERS, RX_MARKERS = 1, 2, 4, 8, 16


def shell(command, may_fail=False):
    done = subprocess.run(command.split(), capture_output=True, text=True,
                          check=False)
    if done.returncode and not may_fail:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")
    return done.stdout


def add_netem(interface, how):
    """Add a netem qdisc with the arguments in how to the egress of the interface.
    Return the tc command."""
    tc = "tc -n " + NS if interface == PEER_IF else "tc"
    try:
        shell(f"{tc} qdisc add dev {interface} root netem {how}")
    except RuntimeError as why:
        if "kind is unknown" in str(why) or "answers: No such file" in str(why):
            raise Skip(f"no netem: {why}") from None
        raise
    return tc


@contextlib.contextmanager
def disable_timestamps():
    """Context manager: disable TCP timestamps for new connections."""
    stamps = f"ip netns exec {NS} sysctl -qw net.ipv4.tcp_timestamps="
    shell(stamps + "0")
    try:
        yield
    finally:
        shell(stamps + "1")


class Link:
    """A connection: the raw peer's end, and the number that raw_server uses for its end."""

    def __init__(self, wire, peer, conn=None):
        self.wire, self.server = wire, wire.server
        self.peer, self.conn = peer, conn

    def post_recv(self, region, length, wr, offset=0):
        self.server.do("recv", self.conn, region.number, offset, length, wr)

    def post(self, opcode, region, length, wr, *more, offset=0):
        self.server.do(opcode, self.conn, region.number, offset, length, wr,
                       *more)

    def expect_wc(self, **fields):
        return self.server.expect_event(WC, conn=self.conn, **fields)

    def expect_cm(self, event, **fields):
        return self.server.expect_event(CM, conn=self.conn, event=event, **fields)

    def query_peer_startup_message(self):
        """Return the peer's start-up message as the program's direct verb reports it."""
        *numbers, data = self.server.do("peer", self.conn)
        return PeerSent(*map(int, numbers), decode_hex(data))

    def round_trip(self, timeout=PATIENCE):
        """Check that an empty Read gets a response and that nothing arrives before the
        response. Afterwards the data that the peer has sent is delivered, the data that
        the device was free to send has been sent, and a responder may send."""
        self.peer.read(rdmap.ReadRequest(0, 0, 0, 0, 0))
        same("opcode of the Read Response",
             self.peer.receive_segment(timeout).ulp, 0x42)

    def expect_end(self, how="fin"):
        """Check that the stream ends with a "fin" or a "rst" and that nothing arrives before."""
        got, before = self.peer.wait_end()
        same("bytes before the end", before.hex(), "")
        same("end of the stream", got, how)

    def close(self):
        if self.peer is not None:
            self.peer.close()
        if self.conn is not None:
            self.server.do("destroy", self.conn)
            self.server.drop_events(self.conn)
            self.conn = None


class Wire:
    """The topology, the device and the programs of a test, and its connections."""

    program = "raw_server"

    def __init__(self):
        self.links, self.undo, self.server = [], contextlib.ExitStack(), None
        self.reply, self.aside = None, ""   # aside: a counter that expect_counts() ignores
        self.still_so, self.ends = None, Ends()
        self.port, self.beacon = PORT, None

    def __enter__(self):
        try:
            self._set_up()
        except BaseException:
            self.undo.close()
            raise
        return self

    def __exit__(self, *_):
        self.undo.close()

    def _set_up(self):
        for module in "rnic_sw", "rdma_ucm":
            load_module_or_skip_all(module)
        set_provider()
        self.undo.callback(self.ends.stop)
        self._create_topology()
        self.server = RawServer(find_program(self.program), DEVICE)
        self.undo.callback(self.server.stop)
        self.listener = int(self.server.do("listen", SERVER, PORT)[0])
        self.first_listener = self.listener
        self.pool = {}

    def _create_topology(self):
        self._create_veth_pair()
        shell(f"rdma link add {DEVICE} type rnic_sw netdev {SERVER_IF}")
        self.undo.callback(shell, f"rdma link del {DEVICE}", True)

    def _create_veth_pair(self):
        shell(f"ip netns add {NS}")
        self.undo.callback(shell, f"ip netns del {NS}", True)
        # Free the namespace and connections soon: otherwise FINs that are never acknowledged
        # would keep them for minutes.
        self.undo.callback(shell, f"ip netns exec {NS} sysctl -qw "
                                  "net.ipv4.tcp_orphan_retries=1", True)
        shell(f"ip link add {SERVER_IF} type veth peer name {PEER_IF} "
              f"netns {NS}")
        self.undo.callback(shell, f"ip link del {SERVER_IF}", True)
        shell(f"ip addr add {SERVER}/24 dev {SERVER_IF}")
        shell(f"ip link set {SERVER_IF} up")
        shell(f"ip -n {NS} link set lo up")
        shell(f"ip -n {NS} addr add {PEER}/24 dev {PEER_IF}")
        shell(f"ip -n {NS} link set {PEER_IF} up")

    def clean_up_after_case(self):
        for link in self.links:
            with contextlib.suppress(Refused):
                link.close()
        self.links.clear()
        self.beacon = None

    # sockets in the peer's namespace --------------------------------------

    def create_peer_socket(self, *kind):
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/self/ns/net", "rb") as here, \
                open(f"/run/netns/{NS}", "rb") as there:
            if libc.setns(there.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
            try:
                return socket.socket(*kind)
            finally:
                libc.setns(here.fileno(), CLONE_NEWNET)

    def connect_tcp(self, port=PORT, rcvbuf=0, mss=0, source=None,
             patience=PATIENCE, at=SERVER):
        """Open a TCP connection to raw_server's listener and send nothing. source: another of the
        peer's addresses, from which it connects; at: address of the device."""
        sock = self.create_peer_socket()
        if source:
            sock.bind((source, 0))
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        if mss:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
        sock.settimeout(patience)
        sock.connect((at, port))
        sock.settimeout(None)
        return Peer(sock)

    @contextlib.contextmanager
    def add_second_peer_address(self):
        """Context manager: give the peer a second address, NEIGHBOUR."""
        shell(f"ip -n {NS} addr add {NEIGHBOUR}/24 dev {PEER_IF}")
        try:
            yield NEIGHBOUR
        finally:
            shell(f"ip -n {NS} addr del {NEIGHBOUR}/24 dev {PEER_IF}", True)

    def connect_with_small_rcvbuf(self):
        """Connect to raw_server's listener with a small receive buffer at the peer."""
        return self.connect_tcp(rcvbuf=4096)

    @contextlib.contextmanager
    def listening(self, mss=0, port=None):
        """Context manager: yields a listening socket of the raw peer, and its port. port: None
        chooses one."""
        with self.create_peer_socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if mss:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
            if port is None:
                self.port += 1
                port = self.port
            sock.bind((PEER, port))
            sock.listen()
            sock.settimeout(PATIENCE)
            yield sock, port

    # connections ----------------------------------------------------------

    @staticmethod
    def make_request(ird, ord_):
        """Return an enhanced Request with this IRD and ORD."""
        return mpa.make_request(rev=2, flags=mpa.C | mpa.S,
                                pd=mpa.pack_enhanced_word(ird, ord_))

    @staticmethod
    def make_reply_builder(ird, ord_):
        """Return a function that builds a Reply with this IRD and ORD."""
        return lambda request: mpa.make_reply(
            rev=2, flags=mpa.C | mpa.S, pd=mpa.pack_enhanced_word(ird, ord_, request.rtr))

    def add_link(self, peer, conn=None):
        link = Link(self, peer, conn)
        self.links.append(link)
        return link

    def expect_request(self, listener=None):
        """Wait for raw_server's connection request event, and return it."""
        return self.server.expect_event(CM, event="CONNECT_REQUEST",
                                        listener=listener or self.listener)

    def initiate(self, request=None, accept=(4, 4, b""), recvs=(), wait=True,
                 peer=None, opened=True):
        """Let the raw peer connect and raw_server accept. Return the link.

        recvs: receives to post: (region, length) each, numbered from 1; opened: send an
        empty Write, so that the responder may send.
        """
        link = self.add_link(peer or self.connect_tcp())
        request = request or mpa.make_request()
        link.peer.send_bytes(request.pack())
        link.conn = self.expect_request().conn
        for number, (region, length) in enumerate(recvs, 1):
            link.post_recv(region, length, number)
        self.server.do("accept", link.conn, *accept)
        self.reply = link.peer.receive_frame()
        link.peer.enter_full_operation(request, self.reply)
        if wait:
            link.expect_cm("ESTABLISHED")
        if opened:
            link.peer.send_segments(rdmap.make_write(0, 0))
        return link

    def respond(self, reply=None, connect=(4, 4, b""), recvs=(), status=0,
                mss=0, rtr=True):
        """Let raw_server connect and the raw peer accept. Return the link.

        status: status of the event, or None to not wait for it; rtr: read the
        ready-to-receive message, if the device sends one.
        """
        with self.listening(mss) as (sock, port):
            conn = int(self.server.do("open", PEER, port)[0])
            link = self.add_link(None, conn)
            for number, (region, length) in enumerate(recvs, 1):
                link.post_recv(region, length, number)
            self.server.do("connect", conn, *connect)
            link.peer = Peer(sock.accept()[0])
        self.request = link.peer.respond(reply or make_accepting_reply)
        if status is not None:
            link.expect_cm("ESTABLISHED", status=status)
        if rtr and self.request.enhanced and self.request.rtr & mpa.A:
            link.peer.receive_segment()
        return link

    # other ----------------------------------------------------------------

    def wait_until_data_processed(self):
        """Wait until the device has processed all data that was sent before this call. A
        connection that raw_server opens may still be on its way: see wait_requests()."""
        memory, listener, reply = self.shared(48, "l"), self.listener, \
            self.reply
        if not self.beacon:
            self.listener = self.first_listener
            self.beacon = self.initiate()
            self.listener, self.reply = listener, reply
        self.beacon.round_trip()
        self.beacon.post("send", memory, 8, 0)
        self.beacon.peer.receive_segment()
        self.beacon.expect_wc(wr=0, status=SUCCESS)

    def expect_quiet(self, peer):
        """Check that raw_server sends nothing on that connection and does not end it."""
        self.wait_until_data_processed()
        check("peer receives nothing", peer.stays_silent(0.001))

    def expect_nothing(self, kind, **fields):
        """Check that raw_server gets no such event from what has happened until now."""
        self.wait_until_data_processed()
        self.server.expect_no_event(kind, **fields)

    def register_region(self, size=4096, rights="lrw", pd=0, iova=0):
        return Region(self.server, size, rights, pd, iova)

    def shared(self, size=4096, rights="lrw", pd=0, iova=0):
        """Return a region with these properties, which all cases share."""
        key = size, rights, pd, iova
        if key not in self.pool:
            self.pool[key] = self.register_region(*key)
        region = self.pool[key]
        self.server.do("fill", region.number)
        region.before = region.read_hash()
        return region

    @contextlib.contextmanager
    def change_settings(self, **words):
        """Context manager: change settings of the device, and restore them."""
        before = {name: setting(name) for name in words}
        try:
            for name, value in words.items():
                setting(name, value)
            yield
        finally:
            for name, value in before.items():
                setting(name, value)

    @contextlib.contextmanager
    def change_policy(self, **words):
        """Context manager: change settings, with a new listener in self.listener, and restore
        them. Yields the listener's port."""
        old = self.listener
        with self.change_settings(**words):
            self.port += 1
            self.listener = int(self.server.do("listen", SERVER, self.port)[0])
            try:
                yield self.port
            finally:
                self.clean_up_after_case()
                self.server.do("destroy", self.listener)
                self.listener = old

    def read_counters(self):
        """Read and return all counters of the device. This uses netlink, because in sysfs the RDMA
        core may return values that it has read before, as long as jiffies stays the same, even if
        lifespan is 0."""
        _, _, *words = shell(f"rdma statistic show link {DEVICE}/1").split()
        return dict(zip(words[::2], map(int, words[1::2])))

    @contextlib.contextmanager
    def drop_packets(self, interface):
        """Context manager: drop all packets that are sent through this interface. Checks at the end
        that at least one was dropped."""
        tc = add_netem(interface, "loss 100%")
        try:
            yield
            end = time.monotonic() + PATIENCE
            while "(dropped 0," in shell(f"{tc} -s qdisc show dev {interface}"):
                check("a packet is dropped", time.monotonic() < end)
                time.sleep(0.02)
        finally:
            shell(f"{tc} qdisc del dev {interface} root")

    @contextlib.contextmanager
    def expect_counts(self, **rises):
        """Context manager: check that these counters rise by these amounts, and that no other
        counter whose name begins with end_ rises."""
        self.ends.start()
        before = self.read_counters()
        self.still_so = None
        yield
        want = {name: rises.get(name, 0) for name in before if name in rises
                or name.startswith("end_") and name != self.aside}
        end = time.monotonic() + PATIENCE
        while (got := self.read_counter_rises(before, want)) != want and time.monotonic() < end:
            time.sleep(0.05)
        self.check_counter_rises(got, want)
        self.still_so = before, want

    def read_counter_rises(self, before, names):
        now = self.read_counters()
        return {name: now[name] - before[name] for name in names}

    def check_counter_rises(self, got, want):
        try:
            same("counters", {k: v for k, v in got.items() if v},
                 {k: v for k, v in want.items() if v})
        except AssertionError as why:
            raise AssertionError(f"{why}; ended meanwhile:\n{self.ends.read_events()}") from None

    def check_counter_rises_again(self):
        """Check that no counter has risen since the end of expect_counts()."""
        before, want = self.still_so
        self.check_counter_rises(self.read_counter_rises(before, want), want)


def connect_with_device_as(w, role, **arguments):
    """Connect, with the device in that role: responder or initiator. Return the link."""
    return (w.initiate if role == "responder" else w.respond)(**arguments)


def add_case_for_both_roles(name, rows, function, **arguments):
    for role in "responder", "initiator":
        add(f"{role}: {name}", rows, function, role=role, **arguments)


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def setting(name, *value, device=DEVICE):
    """Read a setting of the device, or change it if there is a value."""
    done = subprocess.run([f"{HERE}/lib/setting", device, name, *map(str, value)],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip())
    return done.stdout.strip()


def make_accepting_reply(request):
    """Return a Reply that accepts the Request with the IRD and ORD that it requests."""
    if request.enhanced:
        return mpa.make_reply(rev=2, flags=mpa.C | mpa.S,
                              pd=mpa.pack_enhanced_word(request.ord, request.ird, request.rtr))
    return mpa.make_reply()


def load_module_or_skip_all(name):
    if subprocess.run(["modprobe", "-q", name], check=False).returncode:
        ktap.skip_all(f"cannot load the module {name}")


def set_provider():
    if os.path.exists("/etc/libibverbs.d/rnic_sw.driver") or \
            os.environ.get("RDMAV_DRIVERS"):
        return
    build = os.path.join(HERE, "../../../../scripts/build-provider")
    if not os.path.exists(build):
        ktap.skip_all("no libibverbs provider for rnic_sw is installed")
    line = shell(f"{build} --env").split()[-1]
    name, value = line.split("=", 1)
    os.environ[name] = value


def find_program(name):
    for place in (os.environ.get("OUTPUT", ""), os.path.join(HERE, "out"),
                  HERE):
        path = os.path.join(place, name)
        if place and os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if not found:
        ktap.skip_all(f"{name} is not built (make -C {HERE})")
    return found


def run():
    ktap.run(Wire)
