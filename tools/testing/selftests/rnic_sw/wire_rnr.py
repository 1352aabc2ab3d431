#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test messages that arrive before the program posts a receive, if the setting rnr_wait lets them
wait."""

import time

from lib.wire import FLUSHED, SUCCESS, WC, Async, Link, Wire, case, check, rdmap, same
from lib.wire_sctp import SctpWire, run_sctp_cases

LONG = 60000        # values of the setting rnr_wait, in ms
SHORT = 500
NO_BUFFER = 1, 2, 2


def check_messages_wait_for_receive(w, initiate):
    """A message, and all that follow it, wait until the program posts a receive. Over SCTP the
    Write may be placed early."""
    inbox, target = w.shared(4096, "l"), w.shared(4096, "lw")
    with w.change_settings(rnr_wait=LONG):
        link = initiate(w)
    link.peer.send(b"first")
    link.peer.send_segments(rdmap.make_write(target.rkey, target.addr, b"written"))
    link.peer.send(b"second message")
    w.server.expect_no_event_within(WC, conn=link.conn)
    if initiate is Wire.initiate:
        target.check_untouched()
    link.post_recv(inbox, 64, 1)
    same("length", link.expect_wc(wr=1, status=SUCCESS).length, 5)
    same("memory", inbox.read_bytes(0, 5), b"first")
    w.server.expect_no_event_within(WC, conn=link.conn, wr=2)
    same("memory", target.read_bytes(0, 7), b"written")
    link.post_recv(inbox, 64, 2)
    same("length", link.expect_wc(wr=2, status=SUCCESS).length, 14)
    # a message must not wait if a receive is posted in time
    link.post_recv(inbox, 64, 3)
    link.peer.send(b"in time")
    same("length", link.expect_wc(wr=3, status=SUCCESS).length, 7)
    return link


@case("a message waits for a receive")
def test_message_waits_for_receive(w):
    check_messages_wait_for_receive(w, Wire.initiate).round_trip()


@case("a message waits for a receive over SCTP")
def test_message_waits_for_receive_over_sctp(w):
    check_messages_wait_for_receive(w, SctpWire.initiate)


@case("a message whose wait has ended is an error", "DDP-87 DDP-88")
def test_message_without_receive_times_out(w):
    with w.expect_counts(end_ddp_untagged_no_buffer=1, tx_terminates=1):
        with w.change_settings(rnr_wait=SHORT):
            link = Wire.initiate(w)
        begun = time.monotonic()
        link.peer.send(b"too early")
        term = link.peer.receive_terminate()
        took = (time.monotonic() - begun) * 1000
        same("layer, type, code", term.what, NO_BUFFER)
        check(f"the message has waited for {SHORT} ms, not {took:.0f} ms", took >= SHORT - 20)
        Link.expect_end(link)
        w.server.expect_event(Async, conn=link.conn)


@case("a program ends while a message waits")
def test_connection_may_end_during_wait(w):
    inbox = w.shared(4096, "l")
    with w.change_settings(rnr_wait=LONG):
        link = Wire.initiate(w)
        other = Wire.initiate(w)
    link.peer.send(b"never received")
    w.server.expect_no_event_within(WC, conn=link.conn)
    w.server.do("destroy", link.conn)
    link.conn = None
    # the peer's end is noticed, too
    other.peer.send(b"never received")
    w.server.expect_no_event_within(WC, conn=other.conn)
    other.peer.reset()
    # until the device has noticed the reset, a receive would still get the message
    other.expect_cm("DISCONNECTED")
    other.post_recv(inbox, 64, 1)
    other.expect_wc(wr=1, status=FLUSHED)


run_sctp_cases()
