#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# smoke.sh: load, one device, a little of every kind of traffic, unload.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

modules_are_here() {
	local module
	for module in "${T_MODULES[@]}"; do
		modprobe "$module"
		test -d "/sys/module/$module"
		t_check "$module describes itself" test -n "$(modinfo -F description $module)"
	done
}

devinfo() {
	ibv_devinfo -d "$B_DEV" | tee "$T_CASE/devinfo"
	grep -q 'transport:.*iWARP' "$T_CASE/devinfo"
	grep -q 'state:.*PORT_ACTIVE' "$T_CASE/devinfo"
}

ping_a_few() {
	t_rping "$B4" -C 10 -v
	grep -q 'rdma-ping-9: ' "$T_CASE"/server-*.log
}

unload() {
	t_drop_device iw0
	t_unload
	t_check "all modules are gone" test ! -d "/sys/module/${T_MODULES[-1]}"
	modprobe rnic_sw
}

t_case "modules load" "" modules_are_here
one_device
t_case "ibv_devinfo" "" devinfo
t_case "rping" "" ping_a_few
t_case "ib_send_bw" "" t_perftest ib_send_bw -n 200 -s 4096
t_case "ib_write_bw" "" t_perftest ib_write_bw -n 200 -s 65536
t_case "ib_read_bw" "" t_perftest ib_read_bw -n 200 -s 65536
t_case "ib_send_lat" "" t_perftest ib_send_lat -n 50 -s 64
t_case "modules unload" "" unload
t_end
