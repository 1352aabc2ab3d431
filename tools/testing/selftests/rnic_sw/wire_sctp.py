# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""As wire.py, over SCTP: the raw peer on SCTP sockets, or with SCTP of its own.

In the namespace there is one address more, GHOST, that no kernel answers for:
there the raw peer speaks SCTP itself (rawpeer/sctp_packet.py).
"""

import contextlib
import itertools
import socket

import wire
from wire import (CM, DEVICE, MATE, MATE_IF, NS, PATIENCE, PEER, PEER_IF,
                  PORT, Link, mpa, read, shell, write)
from ktap import case, add, check, same, skip_all, run  # noqa: F401
from rawpeer import sctp, sctp_packet
from rawpeer.sctp import (ACCEPT, E_ACCEPT, E_INITIATE, E_REJECT, INITIATE,
                          REJECT, STREAMS, TERMINATE)   # noqa: F401

GHOST = "10.9.2.3"
ETH_P_ALL = 3
LLP = f"/sys/class/infiniband/{DEVICE}/llp/"


def hardware(namespace, interface):
    """The interface's address."""
    prefix = f"ip -n {namespace}" if namespace else "ip"
    words = shell(f"{prefix} link show {interface}").split()
    text = words[words.index("link/ether") + 1]
    return bytes(int(octet, 16) for octet in text.split(":"))


class Session(Link):
    """A DDP Stream Session: peer is a Stream."""

    @property
    def assoc(self):
        return self.peer.assoc

    def ended(self, how="terminate"):
        got, before = self.peer.wait_end()
        same("before the end", before, [])
        same("the end", got, how)


def answer(request, data=b""):
    """Accepts in kind, with what was asked for."""
    if request.enhanced:
        return sctp.Control(E_ACCEPT, mpa.word(request.ord, request.ird,
                                               request.rtr) + data)
    return sctp.Control(ACCEPT, data)


def word(ird=4, ord_=4, flags=0, data=b""):
    """Private Data of an enhanced message."""
    return mpa.word(ird, ord_, flags) + data


class SctpWire(wire.Wire):
    """Topology, device and programs; connections over SCTP."""

    def __init__(self):
        super().__init__()
        self.ports = itertools.count(20000)
        self.request = None

    def _set_up(self):
        need_sctp()
        wire.need_module("iw_sctp_ddp")
        super()._set_up()
        write(LLP + "connect", "sctp")

    def _veth(self):
        super()._veth()
        for prefix, name in ("", MATE_IF), (f"ip netns exec {NS} ", PEER_IF):
            shell(f"{prefix}ethtool -K {name} gso off tso off "
                  "tx-sctp-segmentation off", True)
        mac = ":".join(f"{octet:02x}" for octet in hardware(NS, PEER_IF))
        shell(f"ip neigh replace {GHOST} lladdr {mac} dev {MATE_IF} "
              "nud permanent")

    # sockets --------------------------------------------------------------

    def sctp_socket(self, **options):
        sock = self.socket(socket.AF_INET, socket.SOCK_STREAM, sctp.PROTOCOL)
        return sctp.prepare(sock, **options)

    def packet_socket(self):
        sock = self.socket(socket.AF_PACKET, socket.SOCK_RAW,
                           socket.htons(ETH_P_ALL))
        sock.bind((PEER_IF, ETH_P_ALL))
        return sock

    @contextlib.contextmanager
    def watching(self):
        """A Sniffer of all that goes over the wire."""
        sniffer = sctp_packet.Sniffer(self.packet_socket())
        try:
            yield sniffer
        finally:
            sniffer.close()

    def ghost(self, port=None, peer_port=PORT, **options):
        """An association of the raw peer's own SCTP, not begun."""
        frame = hardware("", MATE_IF) + hardware(NS, PEER_IF)
        place = sctp_packet.Place(self.packet_socket(), frame, GHOST, MATE)
        self.links_undo(place.sock.close)
        return sctp_packet.Association(place, port or next(self.ports),
                                       peer_port, **options)

    def links_undo(self, function):
        self.closing.callback(function)

    def after_case(self):
        super().after_case()
        self.closing.close()

    @property
    def closing(self):
        if not hasattr(self, "_closing"):
            self._closing = contextlib.ExitStack()
        return self._closing

    def associate(self, port=PORT, **options):
        """An association to rawmate's listener, no session on it."""
        assoc = sctp.Association.dial(self.sctp_socket(**options),
                                      (MATE, port))
        self.links_undo(assoc.close)
        return assoc

    @contextlib.contextmanager
    def listening(self, **options):
        """A listening socket of the raw peer's, and its port."""
        with self.sctp_socket(**options) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            port = next(self.ports)
            sock.bind((PEER, port))
            sock.listen()
            sock.settimeout(PATIENCE)
            yield sock, port

    def taken(self, sock):
        """The association that the peer made."""
        assoc = sctp.Association.up(sock.accept()[0])
        self.links_undo(assoc.close)
        return assoc

    # sessions -------------------------------------------------------------

    def add_link(self, peer, conn=None):
        link = Session(self, peer, conn)
        self.links.append(link)
        return link

    def initiate(self, request=None, accept=(4, 4, b""), recvs=(), wait=True,
                 peer=None, opened=True):
        """The raw peer calls on a stream, rawmate accepts."""
        link = self.add_link(peer or self.associate().stream(0))
        request = request or sctp.Control(INITIATE)
        link.peer.put_control(request.code, request.pd)
        link.conn = self.asked().conn
        for number, (region, length) in enumerate(recvs, 1):
            link.recv(region, length, number)
        self.mate.do("accept", link.conn, *accept)
        self.reply = link.peer.get_control()
        if wait:
            link.cm("ESTABLISHED")
        return link

    def respond(self, reply=None, connect=(4, 4, b""), recvs=(), status=0,
                rtr=True, **options):
        """rawmate calls, the raw peer accepts: see Wire.respond()."""
        with self.listening(**options) as (sock, port):
            link = self.call(port, connect, recvs)
            assoc = self.taken(sock)
        self.request, link.peer = self.first(assoc)
        control = (reply or answer)(self.request)
        link.peer.put_control(control.code, control.pd)
        if status is not None:
            link.cm("ESTABLISHED", status=status)
        if rtr and self.request.enhanced and self.request.rtr & mpa.A:
            link.peer.get_segment()
        return link

    def call(self, port, connect=(4, 4, b""), recvs=(), host=PEER):
        """rawmate begins to connect."""
        conn = int(self.mate.do("open", host, port)[0])
        link = self.add_link(None, conn)
        for number, (region, length) in enumerate(recvs, 1):
            link.recv(region, length, number)
        self.mate.do("connect", conn, *connect)
        return link

    @staticmethod
    def first(assoc, timeout=PATIENCE):
        """The Initiate that comes first, and its stream."""
        def some():
            return next((s for s in assoc.streams.values() if s.came), None)

        assoc.wait(some, timeout)
        stream = some()
        return stream.get_control(), stream


def need_sctp():
    wire.need_module("sctp")


def go():
    run(SctpWire)
