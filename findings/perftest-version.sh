#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: `ib_write_bw --version` prints the version of the package and exits with 0, so a script
# can test for the tool in this way. The same holds for --help.
# Seen: both options print their text but exit with 1, as after an error. The printed version is
# 6.24, although the package has version 25.01.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie perftest=25.01.0+0.80-1
# print_result COMMAND...: print the exit status and the first line of output.
print_result() {
	local status=0
	inside new "$@" >"$tmp/out" 2>&1 || status=$?
	echo "status $status, $(sed -n 1p "$tmp/out")"
}
expect "ib_write_bw --version" 'status 1, Version: 6.24' "$(print_result ib_write_bw --version)"
expect "ib_send_lat --version" 'status 1, Version: 6.24' "$(print_result ib_send_lat --version)"
expect "ib_read_bw --help" 'status 1, Usage:' "$(print_result ib_read_bw --help)"
finish
