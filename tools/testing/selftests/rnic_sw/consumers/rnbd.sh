#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/rnbd.sh: block devices over RTRS. All connections of a session have the same
# addresses and ports. Hardware and SCTP support this, TCP does not.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"

# seconds within which remove_device() must end; RTRS waits for responses, which cannot arrive any
# more
export GONE_TIME=45
CTL=/sys/class/rnbd-client/ctl

find_mapped_disk() {
	local name=${LOOP//\//!}
	[ -e "$CTL/devices/${name#!}@rnic_sw" ] || [ -e "$CTL/devices/$name@rnic_sw" ] || return
	DISK=/dev/$(basename "$(readlink -f "$CTL/devices/"*@rnic_sw)")
	[ -b "$DISK" ]
}

map_device() { echo "sessname=rnic_sw path=ip:$B4,ip:$B4 device_path=${LOOP#/}" >$CTL/map_device; }

set_up_consumer() {
	create_loop_device 16
	load_server
	if ! map_device; then
		dmesg | tail -n 20
		[ "${T_LLP:-}" = sctp ] && t_fail "cannot map the device"
		t_skip "RTRS connects the same two ports several times, which TCP does not allow"
	fi
	t_defer unmap_device
	t_wait_until "$T_TIME" find_mapped_disk || t_fail "the block device has not appeared"
}

load_server() {
	t_defer unload_server
	modprobe rtrs_server always_invalidate=N sess_queue_depth=64
	modprobe rnbd_server
}

unload_server() { modprobe -r rnbd_server rtrs_server; }

unmap_device() {
	[ ! -e "/sys/block/${DISK##*/}/rnbd/unmap_device" ] ||
		echo force >"/sys/block/${DISK##*/}/rnbd/unmap_device"
}

tear_down_consumer() {
	unmap_device
	t_wait_until "$T_TIME" test ! -e "/sys/block/${DISK##*/}"
	t_wait_until "$T_TIME" unload_server
	losetup -d "$LOOP"
}

modules_can_be_unloaded() {
	set_up_device
	load_server
	t_wait_until "$T_TIME" modprobe -r rnbd_client rtrs_client
	unload_server
	modprobe rnbd_client
	check_objects_are_freed
}

load_modules_or_skip_all rtrs_server rnbd_server rnbd_client
unload_server
skip_all_without_programs fio
define_disk_cases RNBD
t_case "RNBD: client and server modules are unloaded" "" modules_can_be_unloaded
t_print_summary_and_exit
