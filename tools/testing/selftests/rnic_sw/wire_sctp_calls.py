#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test which association a new session uses (RFC 5043 5.1 and 8): an existing one to the
same address with free streams, or a new one."""

import contextlib
import time
from dataclasses import astuple

from lib.wire import (SERVER_IF, NS, PATIENCE, PEER_IF, case, check, mpa, same,
                      shell)
from rawpeer import sctp
from rawpeer.sctp import INITIATE, Control
from lib.wire_sctp import (GHOST, make_accept, run_sctp_cases, read_hardware_addr,
                           set_requested_streams, check_data_transfer)

SERVER6 = "fd00:9:2::1"
MANY = 72       # associations: more than a connect examines
IDLE = 5        # seconds that an association without sessions is kept


@contextlib.contextmanager
def add_peer_addresses(places):
    """Context manager: give the peer these addresses of one network."""
    mac = read_hardware_addr(NS, PEER_IF).hex(":")
    shell(f"ip addr add {SERVER6}/64 dev {SERVER_IF} nodad")
    for place in places:
        shell(f"ip -n {NS} addr add {place}/64 dev {PEER_IF} nodad")
        shell(f"ip neigh replace {place} lladdr {mac} dev {SERVER_IF} "
              "nud permanent")
    try:
        yield
    finally:
        shell(f"ip addr del {SERVER6}/64 dev {SERVER_IF}")
        for place in places:
            shell(f"ip -n {NS} addr del {place}/64 dev {PEER_IF}")



def connect_many_sessions(w, sock, port, count):
    """Let raw_server connect count times. Return the associations and the accepted
    sessions."""
    assocs, links = [], []
    sock.setblocking(False)
    for _ in range(count):
        link = w.start_server_connect(port)
        stream, request = wait_next_initiate(w, sock, assocs)
        link.peer = stream
        link.accept(request)
        links.append(link)
    return assocs, links


def wait_next_initiate(w, sock, assocs):
    """Wait for the next Initiate, on a known or a new association. Return its stream and the
    Initiate."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(BlockingIOError):
            peer = sock.accept()[0]
            assocs.append(sctp.Association.wait_established(peer))
            w.closing.callback(assocs[-1].close)
        time.sleep(0.01)
        for assoc in assocs:
            assoc.process_input_until_quiet(0.01)
            for stream in assoc.streams.values():
                if stream.came:
                    return stream, stream.receive_control()
    raise AssertionError("an Initiate should arrive")


@case("sessions to one address share an association",
      "SCTPDDP-2 SCTPDDP-26")
def test_sessions_share_association(w):
    memory = w.shared(4096, "lrw")
    with w.listening() as (sock, port):
        assocs, links = connect_many_sessions(w, sock, port, 5)
        same("associations", len(assocs), 1)
        same("distinct streams", len({l.peer.sid for l in links}), 5)
        for link in links:
            check_data_transfer(link, memory)
        links[2].send_reply(Control(INITIATE))
        links[2].expect_end()
        check_data_transfer(links[3], memory)


@case("a second association is set up when no stream is free",
      "SCTPDDP-56 SCTPDDP-57")
def test_full_association_needs_second_one(w):
    memory = w.shared(4096, "lrw")
    with w.listening(streams=2) as (sock, port):
        assocs, links = connect_many_sessions(w, sock, port, 5)
        same("associations", len(assocs), 3)
        for link in links:
            check(f"stream {link.peer.sid} is within the limit", link.peer.sid < 2)
            check_data_transfer(link, memory)


def does_second_initiate_arrive(assoc):
    """Check whether a second Initiate arrives on the association."""
    end = time.monotonic() + PATIENCE
    while sum(bool(s.came) for s in assoc.streams.values()) < 2:
        if time.monotonic() > end:
            return False
        assoc.process_input_until_quiet(0.01)
    return True


@case("many associations to a network do not hide each other",
      "SCTPDDP-26")
def test_many_associations_are_found(w):
    places = [f"fd00:9:2::{0x100 + n:x}" for n in range(MANY)]
    assocs, port = [], None
    with add_peer_addresses(places), contextlib.ExitStack() as stack:
        for place in places:
            # listen at this address only, because an association matches all addresses that the
            # peer lists
            sock, port = stack.enter_context(w.listening_at(place, port))
            w.start_server_connect(port, host=place)
            assocs.append(w.accept_association(sock))
        for at in 0, MANY // 2, MANY - 1:
            w.start_server_connect(port, host=places[at])
            check(f"a session uses association {at}", does_second_initiate_arrive(assocs[at]))
        # end the associations before their addresses are removed
        for assoc in assocs:
            assoc.abort()


@case("a full association is not kept alive by connects that it has no stream for",
      "SCTPDDP-56")
def test_full_association_is_not_kept_alive(w):
    with set_requested_streams(1):
        ghost, link = w.let_server_connect_to_ghost()
    request, link.peer = w.wait_first_initiate(ghost)
    link.accept(request)
    w.server.do("destroy", link.conn)
    w.server.drop_events(link.conn)
    link.conn = None
    same("end of the session", link.peer.wait_end()[0], "terminate")
    # the stream is not free, because the peer has not sent its Terminate
    for _ in range(3):
        with set_requested_streams(1):
            w.start_server_connect(ghost.ports[0], host=GHOST)
        ghost.process_input_until_quiet(IDLE - 1)
        if ghost.ended:
            break
    same("end of the association", ghost.ended, "shutdown")


@case("concurrent connects get streams, even if the peer allows few",
      "SCTPDDP-56 SCTPDDP-57")
def test_concurrent_connects_get_streams(w):
    with w.listening(streams=2) as (sock, port):
        links, assocs = [w.start_server_connect(port) for _ in range(5)], []
        sock.setblocking(False)
        for _ in links:
            stream, request = wait_next_initiate(w, sock, assocs)
            stream.send_control(*astuple(make_accept(request)))
            if request.rtr & mpa.A:
                stream.receive_segment()
    for link in links:
        link.expect_cm("ESTABLISHED", status=0)
    same("associations", len(assocs), 3)


def list_initiated_streams(w, ghost):
    """Return the streams on which Initiates have arrived."""
    ghost.wait_until(lambda: any(s.came for s in ghost.streams.values()))
    # after this call all Initiates have been sent
    w.wait_until_data_processed()
    ghost.process_input_until_quiet(0.1)
    return [s for s in ghost.streams.values() if s.came]


@case("connects that wait for an association use another one if it has no stream for "
      "them",
      "SCTPDDP-56 SCTPDDP-57")
def test_waiting_connects_move_to_other_association(w):
    port = next(w.ports)
    ghosts = [w.create_ghost(port=port, peer_port=0, streams=2)]
    links, counts = [w.start_server_connect(port, host=GHOST) for _ in range(5)], []
    for _ in range(3):
        ghost = ghosts[-1].accept()
        w.closing.callback(ghost.close)
        # If the next INIT arrives before the ghost for it exists, it gets no reply and is
        # retransmitted
        ghosts.append(w.create_ghost(port=port, peer_port=0, streams=2))
        streams = list_initiated_streams(w, ghost)
        counts.append(len(streams))
        for stream in streams:
            request = stream.receive_control()
            stream.send_control(*astuple(make_accept(request)))
            if request.rtr & mpa.A:
                stream.receive_segment()
    same("Initiates on each association", sorted(counts), [1, 2, 2])
    same("streams requested in INIT", [g.init.init[2:4] for g in ghosts[1:3]],
         [(2, 2)] * 2)
    for link in links:
        link.expect_cm("ESTABLISHED", status=0)


@case("streams freed by others are found on the same association",
      "SCTPDDP-56 SCTPDDP-57")
def test_freed_streams_are_used_again(w):
    port = next(w.ports)
    ghost = w.create_ghost(port=port, peer_port=0, streams=2)
    links = [w.start_server_connect(port, host=GHOST) for _ in range(5)]
    for link in links[0], links[3], links[4]:
        w.server.do("destroy", link.conn)
        w.server.drop_events(link.conn)
        link.conn = None
    w.closing.callback(ghost.accept().close)
    streams = list_initiated_streams(w, ghost)
    same("streams", sorted(s.sid for s in streams), [0, 1])
    for stream in streams:
        stream.send_control(*astuple(make_accept(stream.receive_control())))
    for link in links[1:3]:
        link.expect_cm("ESTABLISHED", status=0)


run_sctp_cases()
