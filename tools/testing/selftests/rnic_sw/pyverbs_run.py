#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""pyverbs_run.py TESTS DEVICE NETDEV: runs rdma-core's own tests, unpacked in
the directory TESTS, over DEVICE, and prints a line for each: its outcome and
name, separated by a tab, and the reason why it was skipped or failed.

Two things are done for the tests, which were made for InfiniBand hardware. They
ask the device's place in sysfs for its interface, and a device that is no piece
of hardware has none there: they are told. And most of them connect two queue
pairs by ibv_modify_qp(); iWARP needs a TCP connection for that, so the
connection manager connects them instead."""
import itertools
import os
import sys
import time
import unittest

tests_dir, device, netdev = sys.argv[1:]
sys.argv[1:] = ["--dev", device, "--port", "1", "--gid", "0"]
sys.path[:0] = [os.path.dirname(tests_dir), tests_dir]

from args_parser import parser  # noqa: E402
parser.parse_args()
import tests  # noqa: E402
import pyverbs.cm_enums as ce  # noqa: E402
from pyverbs.cmid import CMID, AddrInfo, CMEvent, CMEventChannel, ConnParam  # noqa: E402
from tests import utils  # noqa: E402
from tests.base import RDMATestCase, RCResources  # noqa: E402

ports = itertools.count(17000)
waiting = []


def expect(channel, what):
    """The next event: it has to be that one."""
    event = CMEvent(channel)
    if event.event_type != what:
        raise RuntimeError(f"event {event.event_str()} instead of {what}")
    return event


def connect(address, passive, active):
    """Two queue pairs of this process: what has to be kept while they live."""
    port = str(next(ports))
    theirs, ours = CMEventChannel(), CMEventChannel()
    listener, caller = (CMID(creator=c, port_space=ce.RDMA_PS_TCP)
                        for c in (theirs, ours))
    listener.bind_addr(AddrInfo(src=address, src_service=port,
                                port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE))
    listener.listen()
    caller.resolve_addr(AddrInfo(src=address, dst=address, dst_service=port,
                                 port_space=ce.RDMA_PS_TCP))
    expect(ours, ce.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
    caller.resolve_route()
    expect(ours, ce.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
    caller.connect(ConnParam(resources=16, depth=16, qp_num=active.qp_num))
    request = expect(theirs, ce.RDMA_CM_EVENT_CONNECT_REQUEST)
    callee = CMID(creator=request, listen_id=listener)
    request.ack_cm_event()
    callee.accept(ConnParam(resources=16, depth=16, qp_num=passive.qp_num))
    for channel in (theirs, ours):
        expect(channel, ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
    return theirs, ours, listener, caller, callee


def connect_both(self):
    """Each end calls this in its turn: the second call has the pair."""
    waiting.append(self)
    if self.qps_num[0] != waiting[0].rqps_num[0]:
        return
    first = waiting[0]
    waiting.clear()
    address, _ = RDMATestCase.get_ip_mac_address(netdev)
    self.connections = [connect(address, *pair) for pair in zip(first.qps, self.qps)]


RCResources.to_rts = connect_both


def settle(function):
    """A Write completes when TCP has it, not when it is in the peer's memory."""
    def slower(*args, **kwargs):
        result = function(*args, **kwargs)
        time.sleep(0.005)
        return result
    return slower


def settling(traffic):
    """Traffic that looks at the peer's memory after each completion."""
    def slower(*args, **kwargs):
        saved = utils.poll_cq
        utils.poll_cq = settle(saved)
        try:
            return traffic(*args, **kwargs)
        finally:
            utils.poll_cq = saved
    return slower


utils.rdma_traffic = settling(utils.rdma_traffic)


def tell_ip_address(self, dev, port, idx):
    self.args.append([dev, port, idx, *self.get_ip_mac_address(netdev)])


# pylint: disable=protected-access
RDMATestCase._get_ip_mac = tell_ip_address

ACK = "expects what only InfiniBand's acknowledgements tell the sender"
IB_CM = "expects the steps of InfiniBand's connection manager"
CANNOT = {
    "test_mr.MRTest.test_mr_rereg_access_bad_flow": ACK,
    "test_mr.MRTest.test_mr_rereg_addr": ACK,
    "test_mr.MRTest.test_mr_rereg_pd": ACK,
    "test_rdmacm.CMTestCase.test_rdmacm_async_traffic": ACK,
    "test_rdmacm.CMTestCase.test_rdmacm_async_traffic_external_qp": IB_CM,
    "test_rdmacm.CMTestCase.test_rdmacm_async_udp_traffic":
        "Create QP type 4 is not supported",
}


def cases(suite):
    """All tests in it, those in CANNOT replaced by what skips them."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test)
            continue
        reason = CANNOT.get(test.id().removeprefix("tests."))
        if reason:
            setattr(test, test._testMethodName,
                    unittest.skip(reason)(getattr(test, test._testMethodName)))
        yield test


class Lines(unittest.TestResult):
    """A line for each test, once it is over."""

    def startTest(self, test):
        super().startTest(test)
        waiting.clear()

    def line(self, outcome, test, reason=""):
        reason = " ".join(reason.split())
        print(outcome, test.id().removeprefix("tests."), reason, sep="\t", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line("skip", test, reason)

    def addError(self, test, err):
        super().addError(test, err)
        self.line("error", test, str(err[1]))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line("error", test, f"{err[0].__name__} {err[1]}")


# Those that fork come first: the library does not work behind a fork once used.
modules = sorted(tests.__test_modules__, key=lambda m: "test_rdmacm" not in m.__name__)
suite = unittest.TestSuite(
    unittest.defaultTestLoader.loadTestsFromModule(m) for m in modules)
unittest.TestSuite(cases(suite)).run(Lines())
