#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""rendezvous.py DEVICE CASE: connect queue pairs of one device with ibv_modify_qp(), called through
pyverbs.

See Documentation/rendezvous.rst. The first line names the interpreter for which Debian builds
pyverbs."""

import ctypes
import errno
import ipaddress
import os
import signal
import struct
import sys
import time

from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import (IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ, IBV_QP_ACCESS_FLAGS,
                           IBV_QP_CUR_STATE, IBV_QP_MIN_RNR_TIMER, IBV_QP_STATE, IBV_QP_TIMEOUT,
                           IBV_QPS_ERR, IBV_QPS_INIT, IBV_QPS_RESET, IBV_QPS_RTR, IBV_QPS_RTS,
                           IBV_QPT_RC, IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_SUCCESS,
                           IBV_WC_WR_FLUSH_ERR)
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

SIZE = 64
PSN = 0x123456
RNR_FOREVER = 7


class End:
    """A queue pair with its completion queue and a buffer."""

    def __init__(self, ctx, psn, shared=False, partner=None):
        """Create a queue pair, with an SRQ if shared is set, or with the SRQ of partner."""
        self.pd = PD(ctx)
        self.cq = CQ(ctx, 16)
        self.mr = MR(self.pd, SIZE, IBV_ACCESS_LOCAL_WRITE)
        self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=8))) if shared else None
        if partner:
            self.srq = partner.srq
        cap = QPCap(max_send_wr=8, max_recv_wr=8, max_send_sge=1, max_recv_sge=1)
        self.qp = QP(self.pd, QPInitAttr(qp_type=IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap,
                                         srq=self.srq, sq_sig_all=1), QPAttr(port_num=1))
        self.gid = ctx.query_gid(1, 0)
        self.psn = psn
        self.attr = None

    def make_attr_for(self, peer, **more):
        attr = QPAttr(port_num=1)
        attr.ah_attr = make_ah_attr(peer.gid)
        attr.dest_qp_num = peer.qp.qp_num
        attr.rq_psn = peer.psn
        attr.sq_psn = self.psn
        attr.path_mtu = 3
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer = 12
        attr.timeout = 14
        attr.retry_cnt = 7
        attr.rnr_retry = RNR_FOREVER
        for name, value in more.items():
            setattr(attr, name, value)
        return attr

    def to_rtr(self, peer, **more):
        self.attr = self.make_attr_for(peer, **more)
        self.qp.to_rtr(self.attr)

    def to_rts(self):
        self.attr.qp_state = self.attr.cur_qp_state = 0
        self.qp.to_rts(self.attr)

    def reset(self):
        self.qp.modify(QPAttr(qp_state=IBV_QPS_RESET), IBV_QP_STATE)

    def post_send(self, text):
        self.mr.write(text, len(text))
        self.qp.post_send(SendWR(sg=[SGE(self.mr.buf, len(text), self.mr.lkey)], num_sge=1))

    def post_recv(self):
        wr = RecvWR(sg=[SGE(self.mr.buf, SIZE, self.mr.lkey)], num_sge=1)
        (self.srq.post_recv if self.srq else self.qp.post_recv)(wr)

    def wait_completion(self, status, limit=20):
        """Wait for a completion with this status."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            n, wcs = self.cq.poll()
            if n:
                assert wcs[0].status == status, f"status {wcs[0].status}, not {status}"
                return
            time.sleep(0.01)
        raise AssertionError(f"no completion with status {status} within {limit} s")

    def assert_no_completion(self, seconds=0.3):
        """Check that no completion arrives within this number of seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            n, wcs = self.cq.poll()
            assert not n, f"completion with status {wcs[0].status}"
            time.sleep(0.01)

    def assert_received(self, text):
        assert self.mr.read(len(text), 0).decode() == text


def make_ah_attr(dgid, index=0):
    """Return an address vector with the peer's GID, and the index of this side's GID."""
    return AHAttr(gr=GlobalRoute(dgid=dgid, sgid_index=index), is_global=1, port_num=1)


def find_gid_index(ctx, address):
    """Return the index of the GID that is this IPv6 address."""
    gids = [ipaddress.ip_address(str(ctx.query_gid(1, i)))
            for i in range(ctx.query_port(1).gid_tbl_len)]
    return gids.index(ipaddress.ip_address(address))


def create_pair_in_rtr(ctx, shared=False, **more):
    a, b = End(ctx, 0x111111), End(ctx, PSN, shared)
    for one, other in (a, b), (b, a):
        one.to_rtr(other, **more)
    return a, b


def assert_refused(want, call, *args, **more):
    try:
        call(*args, **more)
    except PyverbsRDMAError as why:
        assert why.error_code == want, f"errno {why.error_code}, not {want}"
    else:
        raise AssertionError(f"the call should fail with errno {want}")


def message_waits_for_receive(ctx, shared=False):
    """A message waits until the program posts a receive."""
    a, b = create_pair_in_rtr(ctx, shared)
    a.to_rts()
    a.post_send("hello")
    a.wait_completion(IBV_WC_SUCCESS)
    b.assert_no_completion()
    b.post_recv()
    b.wait_completion(IBV_WC_SUCCESS)
    b.assert_received("hello")
    # repeat with the receive posted before the message
    b.post_recv()
    a.post_send("again")
    b.wait_completion(IBV_WC_SUCCESS)
    b.assert_received("again")


def message_waits_for_srq_receive(ctx):
    message_waits_for_receive(ctx, shared=True)


def count_wakeup_flags():
    """Count the rings of this process that have RNIC_SW_RING_NEED_WAKEUP set."""
    count = 0
    with open("/proc/self/maps", encoding="ascii") as maps:
        places = [line.split()[0].split("-") for line in maps if "uverbs" in line]
    # each ring begins with a header of 32 words, at a multiple of the header's size
    for begin, end in places:
        size = int(end, 16) - int(begin, 16)
        words = memoryview(ctypes.string_at(int(begin, 16), size)).cast("I")
        for at in range(0, len(words), 32):
            header = list(words[at:at + 32])
            flags = header[17]
            # the other words of a header, besides prod, cons and flags, are 0
            header[0] = header[16] = header[17] = 0
            count += flags == 1 and not any(header)
    return count


def srq_receive_delivers_waiting_message(ctx):
    """While messages wait for an SRQ, posting a receive enters the kernel, which delivers the
    message that has waited longest."""
    first = End(ctx, 1, shared=True)
    to = [first] + [End(ctx, n, partner=first) for n in (2, 3, 4)]
    ends = [(End(ctx, 0x100 + n), one) for n, one in enumerate(to)]
    for one, other in ends:
        connect(one, other)
        first.post_recv()
        one.post_send("connected")
        one.wait_completion(IBV_WC_SUCCESS)
        other.wait_completion(IBV_WC_SUCCESS)
    idle = count_wakeup_flags()
    for n, (one, other) in enumerate(ends):
        one.post_send(f"message {n}")
        one.wait_completion(IBV_WC_SUCCESS)
        other.assert_no_completion(0.1)
    assert count_wakeup_flags() == idle + 1, "the SRQ should have NEED_WAKEUP set"
    for n, (_, other) in enumerate(ends):
        assert count_wakeup_flags() == idle + 1
        first.post_recv()
        other.wait_completion(IBV_WC_SUCCESS)
        first.assert_received(f"message {n}")
        for _, later in ends[n + 1:]:
            later.assert_no_completion(0.05)
    assert count_wakeup_flags() == idle, "the SRQ should not have NEED_WAKEUP set"
    # one post of two receives ends the wait of two messages; a reset also ends a wait
    for one, other in ends:
        one.post_send("again")
        one.wait_completion(IBV_WC_SUCCESS)
        other.assert_no_completion(0.1)
    ends[0][1].reset()
    first.srq.post_recv(chain(first, 2))
    for n, (_, other) in enumerate(ends[1:]):
        if n < 2:
            other.wait_completion(IBV_WC_SUCCESS)
        else:
            other.assert_no_completion()
    ends[3][1].qp.close()
    assert count_wakeup_flags() <= idle, "no message should wait any more"


def chain(end, n):
    """Make a list of n receives."""
    wr = None
    for _ in range(n):
        wr = RecvWR(sg=[SGE(end.mr.buf, SIZE, end.mr.lkey)], num_sge=1, next_wr=wr)
    return wr


def missing_receive_fails_sender(ctx):
    """If the RNR retry count is used up, the sender gets an error."""
    a, b = End(ctx, 0x111111), End(ctx, PSN)
    # both ends must be in RTS before the stream starts, because the transition to RTS sets the
    # retry count
    first, second = (a, b) if a.qp.qp_num < b.qp.qp_num else (b, a)
    first.to_rtr(second, rnr_retry=0)
    first.to_rts()
    second.to_rtr(first, rnr_retry=0)
    second.to_rts()
    second.post_recv()
    first.post_send("ready")
    second.wait_completion(IBV_WC_SUCCESS)
    first.wait_completion(IBV_WC_SUCCESS)
    first.post_send("not received")
    first.wait_completion(IBV_WC_SUCCESS)
    time.sleep(0.5)
    first.post_send("flushed")
    first.wait_completion(IBV_WC_RNR_RETRY_EXC_ERR)


def missing_peer_fails_request(ctx):
    """A request fails if the peer never enters RTR, but only after the last retry has timed out."""
    a, b = End(ctx, 1), End(ctx, 2)
    a.to_rtr(b)
    a.to_rts()
    a.post_recv()
    a.assert_no_completion(3)
    begun = time.monotonic()
    a.post_send("hello")
    a.post_send("hello")
    a.wait_completion(IBV_WC_RETRY_EXC_ERR)
    took = time.monotonic() - begun
    assert took > 1.9, f"the request has failed after {took} s"
    a.wait_completion(IBV_WC_WR_FLUSH_ERR)
    a.wait_completion(IBV_WC_WR_FLUSH_ERR)
    assert a.qp.query(0xFFFF)[0].qp_state == IBV_QPS_ERR


def different_psns_are_not_connected(ctx):
    """Queue pairs whose PSNs differ are not connected if the sender is in RTS first."""
    a, b = End(ctx, 1), End(ctx, 2)
    b.to_rtr(a)
    b.to_rts()
    a.to_rtr(b, rq_psn=3)
    a.post_recv()
    b.post_send("hello")
    b.wait_completion(IBV_WC_RETRY_EXC_ERR)
    a.assert_no_completion()


def rts_with_wrong_psn_is_refused(ctx):
    """If the stream exists already, RTS with a PSN that the peer does not expect is refused."""
    a, b = End(ctx, 1), End(ctx, 2)
    a.to_rtr(b, rq_psn=3)
    a.to_rts()
    b.to_rtr(a)
    b.post_recv()
    a.post_send("hello")
    b.wait_completion(IBV_WC_SUCCESS)
    assert_refused(errno.EINVAL, b.to_rts)
    b.attr.sq_psn = 3
    b.to_rts()
    a.post_recv()
    b.post_send("hello")
    b.wait_completion(IBV_WC_SUCCESS)


def receives_stay_posted_after_peer_exit(ctx):
    """Receives stay posted when the peer destroys its queue pair, until a request fails."""
    a, b = create_pair_in_rtr(ctx)
    for one in a, b:
        one.to_rts()
    a.post_recv()
    b.post_send("hello")
    a.wait_completion(IBV_WC_SUCCESS)
    b.wait_completion(IBV_WC_SUCCESS)
    a.post_recv()
    b.qp.close()
    a.assert_no_completion(1)
    assert a.qp.query(0xFFFF)[0].qp_state == IBV_QPS_RTS
    a.post_send("hello")
    a.wait_completion(IBV_WC_RETRY_EXC_ERR)
    a.wait_completion(IBV_WC_WR_FLUSH_ERR)


def request_fails_only_after_retries(ctx):
    """A request that the peer cannot answer any more fails only after timeout and retries."""
    a, b = create_pair_in_rtr(ctx)
    for one in a, b:
        one.to_rts()
    b.post_recv()
    a.post_send("hello")
    b.wait_completion(IBV_WC_SUCCESS)
    a.wait_completion(IBV_WC_SUCCESS)
    b.qp.close()
    a.post_recv()
    begun = time.monotonic()
    a.post_send("hello")
    a.assert_no_completion(1.5)
    assert a.qp.query(0xFFFF)[0].qp_state == IBV_QPS_RTS
    a.wait_completion(IBV_WC_RETRY_EXC_ERR)
    took = time.monotonic() - begun
    assert took > 1.9, f"the request has failed after {took} s"
    a.wait_completion(IBV_WC_WR_FLUSH_ERR)
    assert a.qp.query(0xFFFF)[0].qp_state == IBV_QPS_ERR


def error_state_flushes_receives(ctx):
    """Receives that have stayed posted are flushed when the program moves to the error state."""
    a, b = create_pair_in_rtr(ctx)
    a.to_rts()
    a.post_send("hello")
    a.post_recv()
    b.post_recv()
    b.wait_completion(IBV_WC_SUCCESS)
    a.wait_completion(IBV_WC_SUCCESS)
    b.qp.close()
    a.assert_no_completion(0.5)
    a.qp.modify(QPAttr(qp_state=IBV_QPS_ERR), 1)
    a.wait_completion(IBV_WC_WR_FLUSH_ERR)


def query_returns_set_values(ctx):
    """A query returns what the program has set."""
    a, b = create_pair_in_rtr(ctx, timeout=15, retry_cnt=6, rnr_retry=5, min_rnr_timer=3)
    got = a.qp.query(0xFFFFFF)[0]
    assert got.qp_state == IBV_QPS_RTR
    assert got.dest_qp_num == b.qp.qp_num and got.rq_psn == PSN and got.min_rnr_timer == 3
    a.to_rts()
    got = a.qp.query(0xFFFFFF)[0]
    assert got.qp_state == IBV_QPS_RTS
    assert (got.sq_psn, got.timeout, got.retry_cnt, got.rnr_retry) == (a.psn, 15, 6, 5)


def unusable_values_are_refused(ctx):
    """Values that cannot work fail at once, and leave the queue pair as it was."""
    a, b = End(ctx, 1), End(ctx, 2)
    assert_refused(errno.EOPNOTSUPP, a.to_rtr, a)
    attr = a.make_attr_for(b)
    for dlid in 0, 0xc000:
        attr.ah_attr = AHAttr(is_global=0, port_num=1, dlid=dlid)
        assert_refused(errno.EINVAL, a.qp.to_rtr, attr)
    b.to_rtr(a)
    assert_refused(errno.EINVAL, b.to_rtr, a)
    a.to_rtr(b)
    a.to_rts()
    assert_refused(errno.EINVAL, a.to_rts)
    b.post_recv()
    a.post_send("hello")
    b.wait_completion(IBV_WC_SUCCESS)


def write_as_gid(address):
    """Return an IPv6 address in eight groups of hexadecimal digits, as pyverbs requires. Since
    Python 3.13, ipaddress writes the end of some addresses as an IPv4 address."""
    digits = ipaddress.ip_address(address).packed.hex()
    return ":".join(digits[i:i + 4] for i in range(0, 32, 4))


def unusable_gids_are_refused(ctx):
    """A GID is refused if it is not the address of a host, or if its address family differs from
    that of this side's address."""
    a, b = End(ctx, 1), End(ctx, 2)
    # GID 0 selects the first address of the device
    ipv4, ipv6 = 0, find_gid_index(ctx, "fd00:9::1")
    for index, gid, error in ((ipv6, "::", errno.EINVAL),
                              (ipv6, "::1", errno.EINVAL),
                              (ipv6, "ff02::1", errno.EINVAL),
                              (ipv6, "::ffff:10.9.0.2", errno.EINVAL),
                              (ipv4, "fd00:9::2", errno.EINVAL),
                              (ipv4, "211:2233:4455:0:211:22ff:fe33:4455", errno.EHOSTUNREACH)):
        attr = a.make_attr_for(b, ah_attr=make_ah_attr(GID(write_as_gid(gid)),
                                                       index))
        assert_refused(error, a.qp.to_rtr, attr)


def other_netns_is_refused(ctx):
    """A program in another network namespace than the device is refused."""
    a, b = End(ctx, 1), End(ctx, 2)
    assert_refused(errno.ENETUNREACH, a.to_rtr, b)


def attributes_can_change_in_rts(ctx):
    """In RTS the RNR timer and the access flags can be changed, but the timeout cannot."""
    a, b = create_pair_in_rtr(ctx)
    for one in a, b:
        one.to_rts()
    a.qp.modify(QPAttr(qp_state=IBV_QPS_RTS), IBV_QP_STATE)
    change = QPAttr(qp_state=IBV_QPS_RTS, cur_qp_state=IBV_QPS_RTS)
    change.min_rnr_timer = 5
    change.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ
    a.qp.modify(change, IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS)
    assert a.qp.query(0xFFFFFF)[0].min_rnr_timer == 5
    change.min_rnr_timer = 6
    a.qp.modify(change, IBV_QP_MIN_RNR_TIMER)
    assert a.qp.query(0xFFFFFF)[0].min_rnr_timer == 6
    assert_refused(errno.EINVAL, a.qp.modify, change, IBV_QP_STATE | IBV_QP_TIMEOUT)
    b.post_recv()
    a.post_send("hello")
    b.wait_completion(IBV_WC_SUCCESS)


def lid_names_peer(ctx):
    """Without a GRH, a LID names the peer, and a query returns the LID."""
    own = ctx.query_port(1).lid
    assert own, "the port has no LID"
    by_lid = {"ah_attr": AHAttr(is_global=0, port_num=1, dlid=own)}
    for by_any in by_lid, {}:
        a, b = End(ctx, 0x111111), End(ctx, PSN)
        a.to_rtr(b, **by_lid)
        b.to_rtr(a, **by_any)
        for one in a, b:
            one.to_rts()
        got = a.qp.query(0xFFFFFF)[0]
        assert got.ah_attr.dlid == own and not got.ah_attr.is_global
        b.post_recv()
        a.post_send("hello")
        b.wait_completion(IBV_WC_SUCCESS)
        b.assert_received("hello")


def connect(a, b):
    for one, other in (a, b), (b, a):
        one.to_rtr(other)
    for one in a, b:
        one.to_rts()


def reset_both(a, b):
    """Reset both ends; nothing may be left of requests and completions."""
    for one in a, b:
        one.reset()
    for one in a, b:
        assert one.qp.query(0xFFFFFF)[0].qp_state == IBV_QPS_INIT
        assert not one.cq.poll()[0]


def exchange(a, b, text):
    b.post_recv()
    a.post_send(text)
    a.wait_completion(IBV_WC_SUCCESS)
    b.wait_completion(IBV_WC_SUCCESS)
    b.assert_received(text)
    a.assert_no_completion(0.1)
    b.assert_no_completion(0.1)


def reset(ctx, shared=False):
    """RESET discards requests and completions in each state, and the ends connect again."""
    a, b = End(ctx, 0x111111), End(ctx, PSN, shared)
    reset_both(a, b)
    # in INIT with a receive
    a.post_recv()
    reset_both(a, b)
    # in RTR and RTS without a stream, with requests
    a.to_rtr(b)
    a.to_rts()
    for _ in range(8):
        a.post_recv()
        a.post_send("too early")
    b.to_rtr(a, dest_qp_num=b.qp.qp_num + 1)
    reset_both(a, b)
    # more often than a queue has slots
    for n in range(20):
        connect(a, b)
        exchange(a, b, f"a {n}")
        exchange(b, a, f"b {n}")
        # completions that are not polled, and requests that are not completed
        b.post_recv()
        a.post_send("reported")
        time.sleep(0.05)
        a.post_recv()
        for _ in range(7):
            a.post_send("waits" if n % 2 else "is sent")
        reset_both(a, b)
    # in the error state, and when the peer has gone
    connect(a, b)
    a.post_recv()
    a.qp.modify(QPAttr(qp_state=IBV_QPS_ERR), IBV_QP_STATE)
    a.wait_completion(IBV_WC_WR_FLUSH_ERR)
    a.post_recv()
    reset_both(a, b)
    # another peer
    c = End(ctx, 0x333333)
    connect(a, c)
    exchange(c, a, "another")
    c.qp.close()
    a.post_recv()
    a.reset()
    connect(a, b)
    exchange(a, b, "last")


def reset_with_srq_discards_requests(ctx):
    reset(ctx, shared=True)


POST_SEND, POST_RECV = 28, 29  # commands IB_USER_VERBS_CMD_*


def ring_doorbells_forever(fd):
    """Ring the doorbells of all queue pairs of the file in an endless loop. A doorbell is a post
    without work requests."""
    answer = ctypes.create_string_buffer(16)
    bells = [struct.pack("IHHQIIII", command, 8, 1, ctypes.addressof(answer), handle, 0, 0, 64)
             for handle in range(16) for command in (POST_SEND, POST_RECV)]
    good = bells
    while True:
        for bell in list(good):
            try:
                os.write(fd, bell)
            except OSError:
                # the handle is not that of a queue pair
                good = [one for one in good if one is not bell]


def doorbells_do_not_disturb_reset(ctx):
    """Doorbells of another process do not disturb a reset."""
    a, b = End(ctx, 0x111111), End(ctx, PSN)
    child = os.fork()
    if not child:
        ring_doorbells_forever(ctx.cmd_fd)
    try:
        for n in range(30):
            connect(a, b)
            exchange(a, b, f"a {n}")
            if n % 3 == 0:
                # with a flush in progress
                b.qp.modify(QPAttr(qp_state=IBV_QPS_ERR), IBV_QP_STATE)
            for _ in range(6):
                a.post_recv()
                b.post_recv()
                a.post_send("discarded")
            if n % 3 == 1:
                time.sleep(0.01)
            reset_both(a, b)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


CASES = (message_waits_for_receive, message_waits_for_srq_receive, missing_receive_fails_sender,
         missing_peer_fails_request, different_psns_are_not_connected,
         rts_with_wrong_psn_is_refused,
         receives_stay_posted_after_peer_exit, request_fails_only_after_retries,
         error_state_flushes_receives, query_returns_set_values, unusable_values_are_refused,
         unusable_gids_are_refused, other_netns_is_refused,
         attributes_can_change_in_rts, lid_names_peer, reset, reset_with_srq_discards_requests,
         srq_receive_delivers_waiting_message, doorbells_do_not_disturb_reset)

if __name__ == "__main__":
    {f.__name__: f for f in CASES}[sys.argv[2]](Context(name=sys.argv[1]))
