#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumer_events.sh: events and completions that kernel consumers get. The test module
# rnic_sw_consumer is such a consumer.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

SEEN=/sys/module/rnic_sw_consumer/parameters
SECOND=/sys/devices/system/cpu/cpu1/online

# create_device_and_load_consumer: create a device and load rnic_sw_consumer
create_device_and_load_consumer() {
	create_one_device
	t_defer t_unload_modules rnic_sw_consumer
	modprobe rnic_sw_consumer
}

print_seen_value() { cat "$SEEN/$1"; }

# Print the expected list: the handler of vector N runs on CPU N, for up to 16 possible CPUs
print_expected_cpus() {
	local last
	last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/possible)
	seq -s, 0 $((last < 15 ? last : 15))
}

handler_runs_on_its_cpu() {
	create_device_and_load_consumer
	t_check "each vector's handler is called on its CPU (they were called on $(print_seen_value heard))" \
		test "$(print_seen_value heard)" = "$(print_expected_cpus)"
}

handler_runs_without_its_cpu() {
	[ -w $SECOND ] || t_skip "there is no second CPU that can be set offline"
	t_defer eval "echo 1 >$SECOND"
	echo 0 >$SECOND
	create_device_and_load_consumer
	t_check "handlers are called, and none on CPU 1 (they were called on $(print_seen_value heard))" \
		awk -F, '$1 != 0 || $2 < 0 || $2 == 1 { exit 1 }' "$SEEN/heard"
}

handler_calls_do_not_overlap() {
	create_device_and_load_consumer
	t_check "no handler is called while it runs ($(print_seen_value doubled) calls)" \
		test "$(print_seen_value doubled)" -eq 0
}

# A QP that is destroyed gets a last-WQE event only if it has failed before
only_failed_qp_reports_last_wqe() {
	create_device_and_load_consumer
	t_check "only the failed QP gets an event (destroyed, failed: $(print_seen_value ended))" \
		test "$(print_seen_value ended)" = 0,1
}

is_device_gone() { [ ! -e /sys/class/infiniband/iw0 ]; }

# Removing the interface must flush all requests first. The QP has the maximum of posted sends and
# receives, so that flushing takes a while.
requests_are_flushed_before_removal() {
	create_device_and_load_consumer
	ip link del t0
	t_check "the device is removed" t_wait_until "$T_TIME" is_device_gone
	t_check "all requests are flushed before the device is removed ($(print_seen_value unflushed) were not)" \
		test "$(print_seen_value unflushed)" -eq 0
}

modinfo rnic_sw_consumer >/dev/null 2>&1 ||
	t_skip_all "no module rnic_sw_consumer (the script run builds it)"
t_case "a vector's handler is called on its CPU" "" handler_runs_on_its_cpu
t_case "a vector's handler is called, its CPU offline" "" handler_runs_without_its_cpu
t_case "one handler of a completion queue at a time" "" handler_calls_do_not_overlap
t_case "SRQ: a failed queue pair gets a last-WQE event" "" only_failed_qp_reports_last_wqe
t_case "interface removed: all requests are flushed before the device is removed" "" \
	requests_are_flushed_before_removal
t_print_summary_and_exit
