# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Run test cases in Python and report them as KTAP. lib.sh describes T_ONLY, T_STOP and
T_LOG."""

import fnmatch
import os
import sys
import time
import traceback

SKIP = 4
TAINTS = 640            # bits 9 and 7: TAINT_WARN and TAINT_DIE

_cases = []


class Skip(Exception):
    """Raised if a case cannot run in this environment; contains the reason."""


def case(name, rows="", **arguments):
    """Register a function as a test case that shows the requirements in rows."""
    def register(function):
        _cases.append((name, rows, function, arguments))
        return function
    return register


def add(name, rows, function, **arguments):
    _cases.append((name, rows, function, arguments))


def skip_all(words):
    print(f"1..0 # SKIP {words}")
    sys.exit(SKIP)


def read_taints():
    with open("/proc/sys/kernel/tainted", encoding="ascii") as file:
        return int(file.read()) & TAINTS


def same(what, got, want):
    if got != want:
        raise AssertionError(f"{what} should be {want!r}, is {got!r}")


def check(what, true):
    if not true:
        raise AssertionError(what)


def _run_and_check_taints(function, context, arguments):
    before = read_taints()
    try:
        function(context, **arguments)
    finally:
        if read_taints() != before:
            raise AssertionError("the kernel must not warn; see its log")


def _run_and_report_case(number, name, rows, function, context, arguments):
    title = f"{number} {name}" + (f" [{rows}]" if rows else "")
    began = time.monotonic()
    try:
        _run_and_check_taints(function, context, arguments)
    except Skip as why:
        print(f"ok {title} # SKIP {why}", flush=True)
        return True
    except Exception:           # pylint: disable=broad-except
        for line in traceback.format_exc().splitlines()[-24:]:
            print("#", line)
        print(f"not ok {title}", flush=True)
        return False
    finally:
        context.clean_up_after_case()
        if os.environ.get("T_TIMES"):
            print(f"# {time.monotonic() - began:.2f} s")
    print(f"ok {title}", flush=True)
    return True


def run(make_context):
    """Run the registered cases and exit; must be the last call of a test script."""
    print("TAP version 13", flush=True)
    if os.geteuid():
        skip_all("must be run as root")
    pattern = f"*{os.environ.get('T_ONLY', '')}*"
    chosen = [c for c in _cases if fnmatch.fnmatch(c[0], pattern)]
    good = True
    with make_context() as context:
        for number, (name, rows, function, arguments) in enumerate(chosen, 1):
            good &= _run_and_report_case(number, name, rows, function, context, arguments)
            if not good and os.environ.get("T_STOP"):
                break
    print(f"1..{len(chosen)}")
    sys.exit(0 if good and chosen else 1)
