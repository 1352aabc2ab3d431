#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Run the tests of RDMAP messages and errors over SCTP.

The cases are those of the scripts that run over TCP.
"""

import importlib

from lib.wire_sctp import run_sctp_cases

for script in ("wire_rdmap", "wire_errors", "wire_atomic", "wire_immediate",
               "wire_extend_errors"):
    importlib.import_module(script)

run_sctp_cases()
