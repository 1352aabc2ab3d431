# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""core_tests.py: run rdma-core's own Python tests on a device, unchanged, and count the results.

The tests are those of the installed release, or of the release in the directory T_RDMA_CORE,
which scripts/build-pyverbs has built."""
import collections
import glob
import os
import re
import shutil
import subprocess

NAME = "rdma-core's Python tests"
BUILT = os.environ.get("T_RDMA_CORE")
TESTS = f"{BUILT or '/usr/share/doc/rdma-core'}/tests"
LIMIT = 900
RESULT = re.compile(r"\.\.\. .*?(ok|skipped|FAIL|ERROR|unexpected success|expected failure)\b", re.M | re.S)


def unpack_tests(directory):
    """Copy the installed tests, which Debian compresses; return False if there are none."""
    if not os.path.isdir(TESTS):
        return False
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(TESTS, f"{directory}/tests")
    packed = glob.glob(f"{directory}/tests/*.gz")
    if packed:
        subprocess.run(["gunzip", "-f", *packed], check=True)
    return True


def environment():
    """Return the environment of the tests."""
    if not BUILT:
        return dict(os.environ)
    drivers = ":".join(f"{BUILT}/lib/lib{name}" for name in ("rnic_sw", "siw", "rxe"))
    return {**os.environ, "PYTHONPATH": f"{BUILT}/python", "RDMAV_DRIVERS": drivers}


def run_tests_and_count_results(dev, gid, out):
    """Return the numbers of tests that pass, fail, and are skipped; None if nothing was run."""
    directory = f"{out}/pyverbs"
    if not unpack_tests(directory):
        return None
    command = ["timeout", "-k", "5", str(LIMIT), "/usr/bin/python3", f"{directory}/tests/run_tests.py",
               "--dev", dev, "--port", "1", "--gid", str(gid), "-v"]
    with open(f"{directory}/log", "w", encoding="utf-8") as log:
        done = subprocess.run(command, cwd=directory, env=environment(), stdin=subprocess.DEVNULL, stdout=log,
                              stderr=subprocess.STDOUT, check=False)
    with open(f"{directory}/log", encoding="utf-8", errors="replace") as f:
        found = collections.Counter(RESULT.findall(f.read()))
    return {"pass": found["ok"], "skip": found["skipped"], "fail": found["FAIL"] + found["ERROR"],
            "complete": done.returncode not in (124, 137)}
