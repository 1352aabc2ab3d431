# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Sourced by what searches what other programs say: whatever the caller's language is,
# they say it in English. Not by LC_ALL, which the kernel's make takes away.
unset LC_ALL
export LC_MESSAGES=C
