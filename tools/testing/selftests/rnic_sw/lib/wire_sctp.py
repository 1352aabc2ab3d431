# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Like wire.py, over SCTP: the raw peer uses SCTP sockets, or implements SCTP itself.

The namespace has one more address, GHOST, for which no kernel replies. At that address the
raw peer implements SCTP itself (rawpeer/sctp_packet.py).
"""

import contextlib
import itertools
import socket

from lib import wire
from lib.wire import SERVER, SERVER_IF, NS, PATIENCE, PEER, PEER_IF, PORT
from lib.wire import Link, mpa, rdmap, setting, shell
from lib.ktap import run, same
from rawpeer import sctp, sctp_packet
from rawpeer.sctp import ACCEPT, E_ACCEPT, E_INITIATE, INITIATE, Control

GHOST = "10.9.2.3"
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33         # asm-generic/socket.h


def read_hardware_addr(namespace, interface):
    """Return the hardware address of the interface in that namespace ("" is the current one)."""
    prefix = f"ip -n {namespace}" if namespace else "ip"
    words = shell(f"{prefix} link show {interface}").split()
    text = words[words.index("link/ether") + 1]
    return bytes(int(octet, 16) for octet in text.split(":"))


class Session(Link):
    """A DDP Stream Session. Its peer is a Stream."""

    @property
    def assoc(self):
        return self.peer.assoc

    def send_reply(self, control):
        self.peer.send_control(control.code, control.pd)

    def accept(self, request):
        """Accept raw_server's request, and receive the ready-to-receive message."""
        self.send_reply(make_accept(request))
        self.expect_cm("ESTABLISHED", status=0)
        if request.rtr & mpa.A:
            self.peer.receive_segment()

    def expect_end(self, how="terminate"):
        got, before = self.peer.wait_end()
        same("messages before the end", before, [])
        same("end of the session", got, how)


def make_accept(request, data=b""):
    """Return an Accept of the same kind as the request (plain or enhanced), with the IRD and ORD
    that the request contains."""
    if request.enhanced:
        return make_enhanced_control(E_ACCEPT, data, request.ord, request.ird,
                                     request.rtr)
    return Control(ACCEPT, data)


def make_enhanced_control(code, data=b"", ird=4, ord_=4, flags=0):
    """Return an enhanced control message with that function code."""
    return Control(code, mpa.pack_enhanced_word(ird, ord_, flags) + data)


class SctpWire(wire.Wire):
    """The topology, the device and the programs of a test; connections use SCTP."""

    def __init__(self):
        super().__init__()
        self.ports = itertools.count(20000)
        self.closing = contextlib.ExitStack()
        self.request = None

    def _set_up(self):
        load_sctp_modules_or_skip_all()
        super()._set_up()
        setting("connect", "sctp")

    def _create_topology(self):
        super()._create_topology()
        setting("listen", "both")

    def _create_veth_pair(self):
        super()._create_veth_pair()
        for prefix, name in ("", SERVER_IF), (f"ip netns exec {NS} ", PEER_IF):
            shell(f"{prefix}ethtool -K {name} gso off tso off "
                  "tx-sctp-segmentation off", True)
        mac = ":".join(f"{octet:02x}" for octet in read_hardware_addr(NS, PEER_IF))
        shell(f"ip neigh replace {GHOST} lladdr {mac} dev {SERVER_IF} "
              "nud permanent")

    # sockets -----------------------------------------------------------------

    def create_sctp_socket(self, **options):
        sock = self.create_peer_socket(socket.AF_INET, socket.SOCK_STREAM, sctp.PROTOCOL)
        return sctp.set_socket_options(sock, **options)

    def open_packet_socket(self):
        sock = self.create_peer_socket(socket.AF_PACKET, socket.SOCK_RAW,
                                       socket.htons(ETH_P_ALL))
        # a large receive buffer, because packets that the socket drops are not sent again
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
        sock.bind((PEER_IF, ETH_P_ALL))
        return sock

    @contextlib.contextmanager
    def capture_packets(self):
        """Context manager: yields a Sniffer that captures all packets on the wire."""
        sniffer = sctp_packet.Sniffer(self.open_packet_socket())
        try:
            yield sniffer
        finally:
            sniffer.close()

    def create_ghost(self, port=None, peer_port=PORT, **options):
        """Return an association of the raw peer's own SCTP, which is not started yet."""
        frame = read_hardware_addr("", SERVER_IF) + read_hardware_addr(NS, PEER_IF)
        place = sctp_packet.Place(self.open_packet_socket(), frame, GHOST, SERVER)
        self.closing.callback(place.sock.close)
        return sctp_packet.Association(place, port or next(self.ports),
                                       peer_port, **options)

    def clean_up_after_case(self):
        super().clean_up_after_case()
        self.closing.close()

    def associate(self, port=PORT, rcvbuf=0, at=SERVER, **options):
        """Set up an association to raw_server's listener, without a session, and return it."""
        sock = self.create_sctp_socket(**options)
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        assoc = sctp.Association.connect(sock, (at, port))
        self.closing.callback(assoc.close)
        return assoc

    @contextlib.contextmanager
    def listening_at(self, address, port=None, **options):
        """Context manager: yields a listening socket of the raw peer at that address, and its
        port."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with self.create_peer_socket(family, socket.SOCK_STREAM, sctp.PROTOCOL) as sock:
            sctp.set_socket_options(sock, **options)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            port = port or next(self.ports)
            sock.bind((address, port))
            sock.listen(128)
            sock.settimeout(PATIENCE)
            yield sock, port

    def listening(self, **options):
        return self.listening_at(PEER, **options)

    def accept_association(self, sock):
        """Accept and return the association that raw_server has set up."""
        assoc = sctp.Association.wait_established(sock.accept()[0])
        self.closing.callback(assoc.close)
        return assoc

    # sessions ----------------------------------------------------------------

    def let_server_connect_to_ghost(self, **options):
        """Let raw_server connect to a ghost. Return the ghost and the link. The Initiate is not
        read yet."""
        port = next(self.ports)
        ghost = self.create_ghost(port=port, peer_port=0, **options)
        self.closing.callback(ghost.close)
        link = self.start_server_connect(port, host=GHOST)
        ghost.accept()
        return ghost, link

    def connect_with_small_rcvbuf(self):
        return self.associate(rcvbuf=32768).stream(0)

    @staticmethod
    def make_request(ird, ord_):
        return make_enhanced_control(E_INITIATE, b"", ird, ord_)

    @staticmethod
    def make_reply_builder(ird, ord_):
        return lambda request: make_enhanced_control(E_ACCEPT, b"", ird, ord_,
                                                     request.rtr)

    def add_link(self, peer, conn=None):
        link = Session(self, peer, conn)
        self.links.append(link)
        return link

    def initiate(self, request=None, accept=(4, 4, b""), recvs=(), wait=True,
                 peer=None, opened=True, listener=None):
        """Let the raw peer connect on a stream and raw_server accept. Return the link."""
        link = self.request_session(request, peer)
        link.conn = self.expect_request(listener).conn
        for number, (region, length) in enumerate(recvs, 1):
            link.post_recv(region, length, number)
        self.server.do("accept", link.conn, *accept)
        self.reply = link.peer.receive_control()
        if wait:
            link.expect_cm("ESTABLISHED")
        return link

    def request_session(self, request=None, peer=None):
        """Let the raw peer send an Initiate. Return the link."""
        link = self.add_link(peer or self.associate().stream(0))
        request = request or Control(INITIATE)
        link.peer.send_control(request.code, request.pd)
        return link

    def respond(self, reply=None, connect=(4, 4, b""), recvs=(), status=0,
                rtr=True, **options):
        """Let raw_server connect and the raw peer accept: see Wire.respond()."""
        with self.listening(**options) as (sock, port):
            link = self.start_server_connect(port, connect, recvs)
            assoc = self.accept_association(sock)
        self.request, link.peer = self.wait_first_initiate(assoc)
        link.send_reply((reply or make_accept)(self.request))
        if status is not None:
            link.expect_cm("ESTABLISHED", status=status)
        if rtr and self.request.enhanced and self.request.rtr & mpa.A:
            link.peer.receive_segment()
        return link

    def start_server_connect(self, port, connect=(4, 4, b""), recvs=(), host=PEER, source=()):
        """Let raw_server start to connect. Return the link. source: source address, port and
        TOS."""
        conn = int(self.server.do("open", host, port, *source)[0])
        link = self.add_link(None, conn)
        for number, (region, length) in enumerate(recvs, 1):
            link.post_recv(region, length, number)
        self.server.do("connect", conn, *connect)
        return link

    @staticmethod
    def wait_first_initiate(assoc, timeout=PATIENCE):
        """Wait for the first Initiate on the association. Return it and its stream."""
        def some():
            return next((s for s in assoc.streams.values() if s.came), None)

        assoc.wait_until(some, timeout)
        stream = some()
        return stream.receive_control(), stream


@contextlib.contextmanager
def set_requested_streams(count):
    """Context manager: let the device request this number of streams."""
    before = setting("streams")
    setting("streams", count)
    try:
        yield
    finally:
        setting("streams", before)


def filter_by_association(packets, packet):
    """Return the packets of the same association as packet.

    A previous association, with other ports, may still send acknowledgements.
    """
    def ports(one):
        return {one.source[1], one.target[1]}

    return [p for p in packets if ports(p) == ports(packet)]


def check_data_transfer(link, memory, data=b"on"):
    """Check that data is transferred in both directions."""
    link.peer.send_segments(rdmap.make_write(memory.rkey, memory.addr, data))
    link.round_trip()
    same("written", memory.read_bytes(0, len(data)), data)


def load_sctp_or_skip_all():
    wire.load_module_or_skip_all("sctp")


def load_sctp_modules_or_skip_all():
    """Load SCTP and iw_sctp_ddp, or skip all cases if that fails."""
    load_sctp_or_skip_all()
    wire.load_module_or_skip_all("iw_sctp_ddp")


def run_sctp_cases():
    run(SctpWire)
