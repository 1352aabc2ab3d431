#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""pyverbs_run.py TESTS DEVICE NETDEV [MODULE]: run rdma-core's own tests, unpacked in
the directory TESTS, over DEVICE: all tests, or those of one module. Print a line for each test:
its outcome, its name and the reason why it was skipped or failed, separated by tabs.

The tests were written for InfiniBand hardware and need three adaptations. They look up the
device's network interface in sysfs, where a software device has none: so NETDEV is used.
Most of them connect two queue pairs by ibv_modify_qp(); rdma_cm connects them instead, so that its
connections are tested, too. They read the peer's memory as soon as a Write
has completed, when the data may not be there yet: so the read is repeated.
"""
import enum
import functools
import gc
import itertools
import os
import sys
import time
import types
import unittest

tests_dir, device, netdev, *only = sys.argv[1:]
sys.argv[1:] = ["--dev", device, "--port", "1", "--gid", "0"]
sys.path[:0] = [os.path.dirname(tests_dir), tests_dir]

from args_parser import parser  # noqa: E402
parser.parse_args()
import tests  # noqa: E402
from pyverbs.cmid import CMID, AddrInfo, CMEvent, CMEventChannel, ConnParam  # noqa: E402
from pyverbs.pyverbs_error import PyverbsError  # noqa: E402
from tests import utils  # noqa: E402
from tests.base import BaseResources, RDMATestCase, RCResources  # noqa: E402

try:
    import pyverbs.cm_enums as ce
except ImportError:
    # later releases of pyverbs have a class for each enum
    import pyverbs.librdmacm_enums as cm
    ce = types.SimpleNamespace(**vars(cm))
    for kind in vars(cm).values():
        if isinstance(kind, enum.EnumMeta):
            vars(ce).update(kind.__members__)

ports = itertools.count(17000)
waiting = []
again = []


def wait_event(channel, what):
    """Return the next event of the channel, which must be of type what."""
    event = CMEvent(channel)
    if event.event_type != what:
        raise RuntimeError(f"event {event.event_str()}, should be {what}")
    return event


def connect(address, passive, active):
    """Connect two queue pairs of this process. Return the objects that must live as long as
    the queue pairs."""
    port = str(next(ports))
    theirs, ours = CMEventChannel(), CMEventChannel()
    listener, caller = (CMID(creator=c, port_space=ce.RDMA_PS_TCP)
                        for c in (theirs, ours))
    listener.bind_addr(AddrInfo(src=address, src_service=port,
                                port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE))
    listener.listen()
    caller.resolve_addr(AddrInfo(src=address, dst=address, dst_service=port,
                                 port_space=ce.RDMA_PS_TCP))
    wait_event(ours, ce.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
    caller.resolve_route()
    wait_event(ours, ce.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
    caller.connect(ConnParam(resources=16, depth=16, qp_num=active.qp_num))
    request = wait_event(theirs, ce.RDMA_CM_EVENT_CONNECT_REQUEST)
    callee = CMID(creator=request, listen_id=listener)
    request.ack_cm_event()
    callee.accept(ConnParam(resources=16, depth=16, qp_num=passive.qp_num))
    for channel in (theirs, ours):
        wait_event(channel, ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
    return theirs, ours, listener, caller, callee


def connect_both_qps(self):
    """Replacement for the method that connects an end. Each end calls it; the second call
    connects both queue pairs."""
    waiting.append(self)
    if self.qps_num[0] != waiting[0].rqps_num[0]:
        return
    first = waiting[0]
    waiting.clear()
    address, _ = RDMATestCase.get_ip_mac_address(netdev)
    self.connections = [connect(address, *pair) for pair in zip(first.qps, self.qps)]


RCResources.to_rts = connect_both_qps


def remember_last_read(read):
    """Wrap a function that reads the peer's memory, so that retry_check() can repeat the last
    read."""
    def read_and_remember(*args, **kwargs):
        again[:] = [functools.partial(read, *args, **kwargs)]
        return again[0]()
    return read_and_remember


def retry_check(validate):
    """Wrap a check so that it is repeated until it succeeds: a Write completes when TCP has
    accepted the data, which may be before the data is in the peer's memory."""
    def check_until_valid(received, *args):
        end = time.monotonic() + utils.POLL_CQ_TIMEOUT
        while True:
            try:
                validate(received, *args)
                break
            except PyverbsError:
                if not again or time.monotonic() > end:
                    raise
            time.sleep(0.001)
            received = again[0]()
        again.clear()
    return check_until_valid


BaseResources.mem_read = remember_last_read(BaseResources.mem_read)
utils.validate = retry_check(utils.validate)


def append_netdev_arguments(self, dev, port, idx):
    self.args.append([dev, port, idx, *self.get_ip_mac_address(netdev)])


# pylint: disable=protected-access
RDMATestCase._get_ip_mac = append_netdev_arguments

ACK = "expects a remote error in the sender's completion"
CANNOT = {
    "test_mr.MRTest.test_mr_rereg_access_bad_flow": ACK,
    "test_mr.MRTest.test_mr_rereg_addr": ACK,
    "test_mr.MRTest.test_mr_rereg_atomic":
        "connects a queue pair a second time",
    "test_mr.MRTest.test_mr_rereg_pd": ACK,
    "test_mr.MRTest.test_mrex_rereg_addr": ACK,
    "test_mr.MWTest.test_invalidate_mw_type1": ACK,
    "test_mr.MWTest.test_mw_type2_invalidate_dealloc": ACK,
    "test_mr.MWTest.test_mw_type2_invalidate_local": ACK,
    "test_mr.MWTest.test_mw_type2_invalidate_remote": ACK,
    "test_qpex.QpExTestCase.test_qp_ex_rc_bind_mw": ACK,
    "test_rdmacm.CMTestCase.test_rdmacm_async_traffic":
        "sets InfiniBand's acknowledgement timeout",
    "test_rdmacm.CMTestCase.test_rdmacm_async_traffic_external_qp":
        "takes the steps of InfiniBand's connection manager",
    "test_rdmacm.CMTestCase.test_rdmacm_async_udp_traffic":
        "Create QP type 4 is not supported",
}


def flatten_suite_with_skips(suite):
    """Yield all tests of a suite; tests in CANNOT are replaced by skipped tests."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten_suite_with_skips(test)
            continue
        reason = CANNOT.get(test.id().removeprefix("tests."))
        if reason:
            setattr(test, test._testMethodName,
                    unittest.skip(reason)(getattr(test, test._testMethodName)))
        yield test


class Lines(unittest.TestResult):
    """Prints a line for each test that has finished."""

    def startTest(self, test):
        super().startTest(test)
        waiting.clear()
        again.clear()

    def print_line(self, outcome, test, reason=""):
        reason = " ".join(reason.split())[:300]
        print(outcome, test.id().removeprefix("tests."), reason, sep="\t", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.print_line("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.print_line("skip", test, reason)

    def addError(self, test, err):
        super().addError(test, err)
        self.print_line("error", test, str(err[1]))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.print_line("error", test, f"{err[0].__name__} {err[1]}")


# pyverbs does not work with the collector of cyclic garbage, so the collector is disabled
gc.disable()
# The tests that fork, those of test_rdmacm, come first: once the library has been used, it does not
# work in a child process.
modules = sorted(tests.__test_modules__, key=lambda m: "test_rdmacm" not in m.__name__)
suite = unittest.TestSuite(
    unittest.defaultTestLoader.loadTestsFromModule(m) for m in modules
    if not only or m.__name__ == f"tests.{only[0]}")
unittest.TestSuite(flatten_suite_with_skips(suite)).run(Lines())
sys.stdout.flush()
os._exit(0)
