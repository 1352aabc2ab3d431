#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# told.sh: what consumers in the kernel hear; rnic_sw_consumer is one.

. "$(dirname "$(readlink -f "$0")")/lib.sh"

SEEN=/sys/module/rnic_sw_consumer/parameters

# consumer: on a new device
consumer() {
	one_device
	t_defer t_unload rnic_sw_consumer
	modprobe rnic_sw_consumer
}

seen() { cat "$SEEN/$1"; }

no_device() { [ ! -e /sys/class/infiniband/iw0 ]; }

# A queue pair with as many receives as it can have: that is not over in no time
flushed_first() {
	consumer
	ip link del t0
	t_check "the device goes" t_until "$T_TIME" no_device
	t_check "$(seen unflushed) receives were flushed too late" test "$(seen unflushed)" -eq 0
}

modinfo rnic_sw_consumer >/dev/null 2>&1 || t_skip_all "no module rnic_sw_consumer: run builds it"
t_case "the interface goes: all is flushed before the device goes" "" flushed_first
t_end
