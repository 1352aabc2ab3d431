#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumer_events.sh: events and completions that kernel consumers get. The test module rnic_sw_consumer is
# such a consumer.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

SEEN=/sys/module/rnic_sw_consumer/parameters
SECOND=/sys/devices/system/cpu/cpu1/online

# consumer: create a device and load rnic_sw_consumer
consumer() {
	one_device
	t_defer t_unload rnic_sw_consumer
	modprobe rnic_sw_consumer
}

seen() { cat "$SEEN/$1"; }

# Print the expected list: the handler of vector N runs on CPU N, for up to 16 possible CPUs
each_its_own() {
	local last
	last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/possible)
	seq -s, 0 $((last < 15 ? last : 15))
}

where() {
	consumer
	t_check "each vector's handler is called on its CPU (they were called on $(seen heard))" \
		test "$(seen heard)" = "$(each_its_own)"
}

where_offline() {
	[ -w $SECOND ] || t_skip "there is no second CPU that can be set offline"
	t_defer eval "echo 1 >$SECOND"
	echo 0 >$SECOND
	consumer
	t_check "handlers are called, and none on CPU 1 (they were called on $(seen heard))" \
		awk -F, '$1 != 0 || $2 < 0 || $2 == 1 { exit 1 }' "$SEEN/heard"
}

one_at_a_time() {
	consumer
	t_check "no handler is called while it runs ($(seen doubled) calls)" \
		test "$(seen doubled)" -eq 0
}

# A QP that is destroyed gets no last-WQE event, unless it has failed before
last_of_shared() {
	consumer
	t_check "only the failed QP gets an event (destroyed, failed: $(seen ended))" \
		test "$(seen ended)" = 0,1
}

no_device() { [ ! -e /sys/class/infiniband/iw0 ]; }

# Removing the interface must flush all requests first. The QP has the maximum of posted sends and
# receives, so that flushing takes a while.
flushed_first() {
	consumer
	ip link del t0
	t_check "the device is removed" t_until "$T_TIME" no_device
	t_check "all requests are flushed before the device is removed ($(seen unflushed) were not)" \
		test "$(seen unflushed)" -eq 0
}

modinfo rnic_sw_consumer >/dev/null 2>&1 ||
	t_skip_all "no module rnic_sw_consumer (the script run builds it)"
t_case "a vector's handler is called on its CPU" "" where
t_case "a vector's handler is called, its CPU offline" "" where_offline
t_case "one handler of a completion queue at a time" "" one_at_a_time
t_case "SRQ: a failed queue pair gets a last-WQE event" "" last_of_shared
t_case "interface removed: all requests are flushed before the device is removed" "" flushed_first
t_end
