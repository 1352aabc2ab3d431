# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Shared parts of the test scripts, in shell and in Python; not to be run directly."""
