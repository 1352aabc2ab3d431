#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# told.sh: what consumers in the kernel hear; rnic_sw_consumer is one.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

SEEN=/sys/module/rnic_sw_consumer/parameters
SECOND=/sys/devices/system/cpu/cpu1/online

# consumer: on a new device
consumer() {
	one_device
	t_defer t_unload rnic_sw_consumer
	modprobe rnic_sw_consumer
}

seen() { cat "$SEEN/$1"; }

# Vector by vector, of as many CPUs as there may be; it looks at 16
each_its_own() {
	local last
	last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/possible)
	seq -s, 0 $((last < 15 ? last : 15))
}

where() {
	consumer
	t_check "handlers were called on $(seen heard)" test "$(seen heard)" = "$(each_its_own)"
}

where_offline() {
	[ -w $SECOND ] || t_skip "no second CPU that can be taken away"
	t_defer eval "echo 1 >$SECOND"
	echo 0 >$SECOND
	consumer
	t_check "handlers were called on $(seen heard)" \
		awk -F, '$1 != 0 || $2 < 0 || $2 == 1 { exit 1 }' "$SEEN/heard"
}

one_at_a_time() {
	consumer
	t_check "$(seen doubled) calls of a handler that was running" test "$(seen doubled)" -eq 0
}

# Nothing ends for who destroys what has not failed
last_of_shared() {
	consumer
	t_check "events of one destroyed, one failed: $(seen ended)" test "$(seen ended)" = 0,1
}

no_device() { [ ! -e /sys/class/infiniband/iw0 ]; }

# As many sends as a queue pair can have, and receives: that is not over in no time
flushed_first() {
	consumer
	ip link del t0
	t_check "the device goes" t_until "$T_TIME" no_device
	t_check "$(seen unflushed) requests were flushed too late" test "$(seen unflushed)" -eq 0
}

modinfo rnic_sw_consumer >/dev/null 2>&1 || t_skip_all "no module rnic_sw_consumer: run builds it"
t_case "a vector's handler is called on its CPU" "" where
t_case "a vector's handler is called, its CPU offline" "" where_offline
t_case "one handler of a completion queue at a time" "" one_at_a_time
t_case "a shared queue's queue pair: its last request is told where it failed" "" last_of_shared
t_case "the interface goes: all is flushed before the device goes" "" flushed_first
t_end
