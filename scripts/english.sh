# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Source this file in scripts that search the output of other programs: it selects English
# messages, whatever the caller's locale is. It sets LC_MESSAGES and not LC_ALL, because the
# kernel's make unsets LC_ALL.
unset LC_ALL
export LC_MESSAGES=C
