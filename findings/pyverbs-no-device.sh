#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: on a machine without an RDMA device, rdma-core's own tests fail, or report that they
# could not run. So a CI that runs these tests can see by the exit status whether its device is
# missing.
# Seen: if the module ib_uverbs is loaded and there is no device, all tests are skipped, the last
# line is "OK", and the exit status is 0. Without ib_uverbs nearly all tests end in errors. So a
# lost device looks like a pass, and a lost module does not. Without a device, ibv_devices and
# `ibv_devinfo -l` also have the exit status 0, but ibv_devinfo has 255.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

[ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || give_up "only for a machine without RDMA devices"
unpack new bookworm python3-pyverbs=44.0-2 ibverbs-utils=44.0-2 dash
cp -r "$tmp/new/usr/share/doc/rdma-core/tests" "$tmp/new/tmp/tests"
gunzip "$tmp/new/tmp/tests/"*.gz
# A minimal /sys, as if ib_uverbs were loaded and there were no device: then ib_uverbs has only the
# file with the version of its ABI.
mkdir -p "$tmp/new/tmp/sys/class/"{infiniband,infiniband_verbs}
echo 6 >"$tmp/new/tmp/sys/class/infiniband_verbs/abi_version"
# print_result PATH COMMAND...: print the exit status and the last line of output.
print_result() {
	local status=0
	SYSFS_PATH=$1 inside new "${@:2}" >"$tmp/out" 2>&1 || status=$?
	echo "status $status, $(sed '/^$/d' "$tmp/out" | sed -n '$p')"
}
expect "tests, ib_uverbs and no device" 'status 0, OK (skipped=273)' \
	"$(print_result /tmp/sys python3 /tmp/tests/run_tests.py)"
expect "tests, no ib_uverbs" 'status 1, FAILED (errors=269, skipped=4)' \
	"$(print_result /sys python3 /tmp/tests/run_tests.py)"
expect "ibv_devinfo -l, no device" 'status 0, 0 HCAs found:' "$(print_result /tmp/sys ibv_devinfo -l)"
expect "ibv_devinfo, no device" 'status 255, No IB devices found' "$(print_result /tmp/sys ibv_devinfo)"
finish
