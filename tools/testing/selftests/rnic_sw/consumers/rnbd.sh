#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/rnbd.sh: block devices over RTRS. All connections of a session have the same
# addresses and ports. Hardware and SCTP support this, TCP does not.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"

# seconds that RTRS waits for responses that cannot arrive after the device was removed
export GONE_TIME=45
CTL=/sys/class/rnbd-client/ctl

mapped() {
	local name=${LOOP//\//!}
	[ -e "$CTL/devices/${name#!}@rnic_sw" ] || [ -e "$CTL/devices/$name@rnic_sw" ] || return
	DISK=/dev/$(basename "$(readlink -f "$CTL/devices/"*@rnic_sw)")
	[ -b "$DISK" ]
}

map() { echo "sessname=rnic_sw path=ip:$B4,ip:$B4 device_path=${LOOP#/}" >$CTL/map_device; }

up() {
	a_loop 16
	server_up
	if ! map; then
		dmesg | tail -n 20
		[ "${T_LLP:-}" = sctp ] && t_fail "cannot map the device"
		t_skip "RTRS connects the same two ports several times, which TCP does not allow"
	fi
	t_defer unmap
	t_until "$T_TIME" mapped || t_fail "the block device has not appeared"
}

server_up() {
	t_defer server_down
	modprobe rtrs_server always_invalidate=N sess_queue_depth=64
	modprobe rnbd_server
}

server_down() { modprobe -r rnbd_server rtrs_server; }

unmap() {
	[ ! -e "/sys/block/${DISK##*/}/rnbd/unmap_device" ] ||
		echo force >"/sys/block/${DISK##*/}/rnbd/unmap_device"
}

down() {
	unmap
	t_until "$T_TIME" test ! -e "/sys/block/${DISK##*/}"
	t_until "$T_TIME" server_down
	losetup -d "$LOOP"
}

modules_go() {
	scene
	server_up
	t_until "$T_TIME" modprobe -r rnbd_client rtrs_client
	server_down
	modprobe rnbd_client
	nothing_left
}

needs_modules rtrs_server rnbd_server rnbd_client
server_down
needs_programs fio
disk_cases RNBD
t_case "RNBD: client and server modules are unloaded" "" modules_go
t_end
