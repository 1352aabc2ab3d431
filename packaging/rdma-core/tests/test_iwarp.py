# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Traffic tests of iWARP queue pairs. Each test connects two queue pairs of this
process with the connection manager.
"""
import errno
import struct
import time
import unittest

from pyverbs.cmid import CMID, AddrInfo, CMEvent, CMEventChannel, ConnParam
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import RecvWR, SendWR, SGE
from tests.base import RDMATestCase
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pd import PD
import pyverbs.cm_enums as ce
import pyverbs.device as d
import pyverbs.enums as e

try:
    from pyverbs.comp_cntr import CompCntr, CompCntrInitAttr
    from pyverbs.libibverbs_enums import ibv_qp_attach_comp_cntr_op as op
    from pyverbs.qp import QPAttachCompCntrAttr
except ImportError:
    # this release of pyverbs has no completion counters
    CompCntr = None

PORT = '7174'
SIZE = 4096
DEPTH = 16
# Timeout in seconds, long enough for a machine under load
PATIENCE = 15


class End:
    """
    One end of a connection: a queue pair with registered memory and a completion
    queue.
    """
    def __init__(self, dev_name, with_srq=False, access=0, counted=()):
        self.ctx = d.Context(name=dev_name)
        self.pd = PD(self.ctx)
        self.cq = CQ(self.ctx, 4 * DEPTH, None, None, 0)
        attr = SrqAttr(max_wr=DEPTH, max_sge=2)
        self.srq = SRQ(self.pd, SrqInitAttr(attr)) if with_srq else None
        cap = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=2,
                    max_recv_sge=2, max_inline_data=64)
        attr = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                          srq=self.srq, cap=cap, sq_sig_all=0)
        self.qp = QP(self.pd, attr)
        self.mr = MR(self.pd, SIZE, access | e.IBV_ACCESS_LOCAL_WRITE |
                     e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ)
        self.channel = CMEventChannel()
        self.private_data = None
        self.counters = {mask: self.attach_counter(mask) for mask in counted}

    def attach_counter(self, mask):
        counter = CompCntr(self.ctx, CompCntrInitAttr())
        self.qp.attach_comp_cntr(counter, QPAttachCompCntrAttr(op_mask=mask))
        return counter

    def read_counters(self):
        """
        Return the numbers of successes and of errors, for each counter.
        """
        return {mask: (c.read(), c.read_err()) for mask, c in self.counters.items()}

    def make_sge(self, offset, length):
        return SGE(self.mr.buf + offset, length, self.mr.lkey)

    def post_recv(self, *pieces):
        queue = self.srq if self.srq else self.qp
        queue.post_recv(RecvWR(num_sge=len(pieces),
                               sg=[self.make_sge(*p) for p in pieces]))

    def send_and_wait(self, opcode, *pieces, flags=0, imm=0, to=None, atomic=None):
        """
        Post a signaled work request and wait until it has completed.
        :param pieces: (offset, length) of local memory
        :param to: (end, offset) of the peer's memory
        :param atomic: Operands of an atomic operation
        :return: The completion
        """
        wr = SendWR(opcode=opcode, num_sge=len(pieces), imm_data=imm,
                    sg=[self.make_sge(*p) for p in pieces],
                    send_flags=flags | e.IBV_SEND_SIGNALED)
        if atomic:
            wr.set_wr_atomic(to[0].mr.rkey, to[0].mr.buf + to[1], *atomic)
        elif to:
            wr.set_wr_rdma(to[0].mr.rkey, to[0].mr.buf + to[1])
        self.qp.post_send(wr)
        return self.wait_completion()

    def wait_completion(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            count, wcs = self.cq.poll(1)
            if count:
                return wcs[0]
        raise TimeoutError('No completion')

    def wait_event(self, expected):
        event = CMEvent(self.channel)
        if event.event_type != expected:
            raise RuntimeError(f'{event.event_str()} instead of event {expected}')
        return event

    def wait_event_with_data(self, expected):
        event = self.wait_event(expected)
        # only the events of the request and of the reply have the peer's private data
        self.private_data = self.private_data or event.private_data
        event.ack_cm_event()

    def make_conn_param(self, private_data=None):
        data = private_data or b''
        param = ConnParam(resources=DEPTH, depth=DEPTH, qp_num=self.qp.qp_num,
                          data_len=len(data))
        param.set_private_data(data)
        return param


class Pair:
    """
    Two connected ends.
    """
    def __init__(self, dev_name, ip_addr, call_data=None, answer_data=None,
                 **kwargs):
        self.active = End(dev_name, **kwargs)
        self.passive = End(dev_name, **kwargs)
        self.listener = CMID(creator=self.passive.channel,
                             port_space=ce.RDMA_PS_TCP)
        self.listener.bind_addr(AddrInfo(src=ip_addr, src_service=PORT,
                                         port_space=ce.RDMA_PS_TCP,
                                         flags=ce.RAI_PASSIVE))
        self.listener.listen()
        self.start_connect(ip_addr, call_data)
        self.accept_request(answer_data)
        for end in (self.passive, self.active):
            end.wait_event_with_data(ce.RDMA_CM_EVENT_ESTABLISHED)

    def start_connect(self, ip_addr, private_data):
        self.caller = CMID(creator=self.active.channel,
                           port_space=ce.RDMA_PS_TCP)
        self.caller.resolve_addr(AddrInfo(src=ip_addr, dst=ip_addr,
                                          dst_service=PORT,
                                          port_space=ce.RDMA_PS_TCP))
        self.active.wait_event_with_data(ce.RDMA_CM_EVENT_ADDR_RESOLVED)
        self.caller.resolve_route()
        self.active.wait_event_with_data(ce.RDMA_CM_EVENT_ROUTE_RESOLVED)
        self.caller.connect(self.active.make_conn_param(private_data))

    def accept_request(self, private_data):
        request = self.passive.wait_event(ce.RDMA_CM_EVENT_CONNECT_REQUEST)
        self.passive.private_data = request.private_data
        self.callee = CMID(creator=request, listen_id=self.listener)
        request.ack_cm_event()
        self.callee.accept(self.passive.make_conn_param(private_data))


class IwarpTest(RDMATestCase):
    """
    Each test sets up its own connection.
    """
    def setUp(self):
        super().setUp()
        transport = {dev.name.decode(): dev.transport_type
                     for dev in d.get_device_list()}
        if transport[self.dev_name] != e.IBV_TRANSPORT_IWARP:
            raise unittest.SkipTest(f'{self.dev_name} is not an iWARP device')
        if not self.ip_addr:
            raise unittest.SkipTest(f'Device {self.dev_name} doesn\'t have net interface')

    def connect(self, **kwargs):
        try:
            self.pair = Pair(self.dev_name, self.ip_addr, **kwargs)
        except PyverbsRDMAError as ex:
            if ex.error_code in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EPROTONOSUPPORT):
                raise unittest.SkipTest(f'Not supported: {ex}')
            raise
        return self.pair.active, self.pair.passive

    def tearDown(self):
        # close the connection before the base class closes its objects
        self.pair = None
        super().tearDown()

    def assert_completion(self, wc, opcode, length=None):
        self.assertEqual(wc.status, e.IBV_WC_SUCCESS)
        self.assertEqual(wc.opcode, opcode)
        if length is not None:
            self.assertEqual(wc.byte_len, length)

    def test_send_in_both_directions(self):
        """
        Send a message from two SGEs to two SGEs, in both directions.
        """
        ends = self.connect()
        for one, other in (ends, ends[::-1]):
            one.mr.write('a' * 100 + 'b' * 28, 128)
            other.mr.write('-' * SIZE, SIZE)
            other.post_recv((0, 64), (1024, 256))
            self.assert_completion(one.send_and_wait(e.IBV_WR_SEND, (0, 100), (100, 28)),
                                   e.IBV_WC_SEND)
            self.assert_completion(other.wait_completion(), e.IBV_WC_RECV, 128)
            self.assertEqual(other.mr.read(65, 0), b'a' * 64 + b'-')
            self.assertEqual(other.mr.read(65, 1024),
                             b'a' * 36 + b'b' * 28 + b'-')

    def test_send_inline(self):
        one, other = self.connect()
        other.post_recv((0, SIZE))
        one.mr.write('inline', 6)
        self.assert_completion(one.send_and_wait(e.IBV_WR_SEND, (0, 6),
                                                 flags=e.IBV_SEND_INLINE), e.IBV_WC_SEND)
        self.assert_completion(other.wait_completion(), e.IBV_WC_RECV, 6)
        self.assertEqual(other.mr.read(6, 0), b'inline')

    def test_send_in_order(self):
        """
        Messages are received in the order in which they were sent.
        """
        one, other = self.connect()
        for i in range(DEPTH):
            other.post_recv((i * 8, 8))
        for i in range(DEPTH):
            one.mr.write(struct.pack('Q', i), 8)
            self.assert_completion(one.send_and_wait(e.IBV_WR_SEND, (0, 8),
                                                     flags=e.IBV_SEND_INLINE), e.IBV_WC_SEND)
        for i in range(DEPTH):
            self.assert_completion(other.wait_completion(), e.IBV_WC_RECV, 8)
            self.assertEqual(struct.unpack('Q', other.mr.read(8, i * 8))[0], i)

    def test_recv_from_srq(self):
        one, other = self.connect(with_srq=True)
        other.post_recv((0, SIZE))
        one.mr.write('shared', 6)
        self.assert_completion(one.send_and_wait(e.IBV_WR_SEND, (0, 6)), e.IBV_WC_SEND)
        self.assert_completion(other.wait_completion(), e.IBV_WC_RECV, 6)
        self.assertEqual(other.mr.read(6, 0), b'shared')

    def test_write(self):
        """
        A Write has been placed when the peer has received a Send after it. Its
        own completion only means that the local memory may be reused.
        """
        one, other = self.connect()
        one.mr.write('w' * SIZE, SIZE)
        other.mr.write('-' * SIZE, SIZE)
        other.post_recv((0, 0))
        self.assert_completion(one.send_and_wait(e.IBV_WR_RDMA_WRITE, (0, 1000),
                                                 to=(other, 500)), e.IBV_WC_RDMA_WRITE)
        self.assert_completion(one.send_and_wait(e.IBV_WR_SEND, (0, 0)), e.IBV_WC_SEND)
        self.assert_completion(other.wait_completion(), e.IBV_WC_RECV, 0)
        self.assertEqual(other.mr.read(1002, 499), b'-' + b'w' * 1000 + b'-')

    def test_write_with_imm(self):
        one, other = self.connect()
        one.mr.write('w' * 100, 100)
        other.post_recv((0, 0))
        try:
            wc = one.send_and_wait(e.IBV_WR_RDMA_WRITE_WITH_IMM, (0, 100), imm=0x12345678,
                                   to=(other, 0))
        except PyverbsRDMAError as ex:
            raise unittest.SkipTest(f'Write with immediate data: {ex}')
        self.assert_completion(wc, e.IBV_WC_RDMA_WRITE)
        wc = other.wait_completion()
        self.assert_completion(wc, e.IBV_WC_RECV_RDMA_WITH_IMM, 100)
        self.assertEqual(wc.imm_data, 0x12345678)
        self.assertEqual(other.mr.read(100, 0), b'w' * 100)

    def test_read(self):
        one, other = self.connect()
        other.mr.write('r' * 1000, 1000, 7)
        one.mr.write('-' * SIZE, SIZE)
        self.assert_completion(one.send_and_wait(e.IBV_WR_RDMA_READ, (64, 1000), to=(other, 7)),
                               e.IBV_WC_RDMA_READ)
        self.assertEqual(one.mr.read(1002, 63), b'-' + b'r' * 1000 + b'-')

    def test_atomics_return_previous_value(self):
        """
        Each atomic operation returns the previous value.
        """
        one, other = self.connect(access=e.IBV_ACCESS_REMOTE_ATOMIC)
        other.mr.write(struct.pack('Q', 40), 8, 128)
        before = []
        for opcode, done, operands in (
                (e.IBV_WR_ATOMIC_FETCH_AND_ADD, e.IBV_WC_FETCH_ADD, (2,)),
                (e.IBV_WR_ATOMIC_CMP_AND_SWP, e.IBV_WC_COMP_SWAP, (42, 7)),
                (e.IBV_WR_ATOMIC_CMP_AND_SWP, e.IBV_WC_COMP_SWAP, (42, 8))):
            self.assert_completion(one.send_and_wait(opcode, (0, 8), to=(other, 128),
                                                     atomic=operands), done)
            before.append(struct.unpack('Q', one.mr.read(8, 0))[0])
        self.assertEqual(before, [40, 42, 7])
        self.assertEqual(struct.unpack('Q', other.mr.read(8, 128))[0], 7)

    def test_comp_cntrs(self):
        """
        Each end counts its own operations, and those of the peer, when they complete.
        """
        if CompCntr is None:
            raise unittest.SkipTest('This pyverbs has no completion counters')
        send, recv, read, write = (op.IBV_QP_ATTACH_COMP_CNTR_OP_SEND, op.IBV_QP_ATTACH_COMP_CNTR_OP_RECV,
                                   op.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ,
                                   op.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE)
        peer_read, peer_write = (op.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ,
                                 op.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE)
        one, other = self.connect(counted=(send, recv, read, write, peer_read | peer_write))
        one.counters[read].set(100)
        one.counters[read].inc(10)
        one.counters[read].inc_err(1)
        for _ in range(3):
            one.send_and_wait(e.IBV_WR_RDMA_WRITE, (0, 100), to=(other, 0))
        for _ in range(2):
            one.send_and_wait(e.IBV_WR_RDMA_READ, (0, 100), to=(other, 0))
        other.post_recv((0, SIZE))
        one.send_and_wait(e.IBV_WR_SEND, (0, 100))
        # the peer has placed the Writes when it has received the Send
        other.wait_completion()
        self.assertEqual(one.read_counters(), {send: (1, 0), recv: (0, 0), read: (112, 1), write: (3, 0),
                                               peer_read | peer_write: (0, 0)})
        self.assertEqual(other.read_counters(), {send: (0, 0), recv: (1, 0), read: (0, 0), write: (0, 0),
                                                 peer_read | peer_write: (5, 0)})
        with self.assertRaises(PyverbsRDMAError, msg='A second counter for an operation'):
            one.attach_counter(read)
        # outstanding receives end with an error
        other.post_recv((0, SIZE))
        self.pair.caller.disconnect()
        other.wait_event_with_data(ce.RDMA_CM_EVENT_DISCONNECTED)
        other.wait_completion()
        self.assertEqual(other.counters[recv].read_err(), 1)

    def test_private_data(self):
        one, other = self.connect(call_data=b'call', answer_data=b'answer')
        self.assertEqual(other.private_data[:4], b'call')
        self.assertEqual(one.private_data[:6], b'answer')

    def test_disconnect_flushes_receives(self):
        """
        Outstanding receives are flushed at both ends.
        """
        ends = self.connect()
        for end in ends:
            end.post_recv((0, SIZE))
        self.pair.caller.disconnect()
        for end in ends:
            end.wait_event_with_data(ce.RDMA_CM_EVENT_DISCONNECTED)
            self.assertEqual(end.wait_completion().status, e.IBV_WC_WR_FLUSH_ERR)
