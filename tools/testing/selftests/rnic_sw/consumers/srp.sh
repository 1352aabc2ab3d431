#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/srp.sh: SCSI over RDMA, ib_srp and ib_srpt. The initiator registers memory for a
# request right after posting the invalidation of the previous registration.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"
. "$T_DIR/lib/consumer_lio.sh"

SRPT=$TARGET/srpt

# Set the target's names: srpt names the port by the lower half of the port's first GID, and the
# target by the GUID of the first device that was added.
set_target_names() {
	local gid
	gid=$(cat /sys/class/infiniband/iw0/ports/1/gids/0)
	TPG=$SRPT/${gid#*:*:*:*:}/rnic_sw
	GUID=$(cat /sys/module/ib_srpt/parameters/srpt_service_guid)
	GUID=${GUID#0x}
}

start_target() {
	local acl
	mkdir -p $SRPT
	set_target_names
	t_choose_port
	mkdir -p "$TPG"
	t_defer stop_target
	acl=$TPG/acls/$B4
	mkdir -p "$TPG/lun/lun_0" "$acl/lun_0"
	ln -s "$LIO_DISK" "$TPG/lun/lun_0/rnic_sw"
	ln -s "$TPG/lun/lun_0" "$acl/lun_0/rnic_sw"
	echo 1 >"$TPG/enable"
	echo "$PORT" >$SRPT/discovery_auth/rdma_cm_port
}

stop_target() {
	[ -d "$TPG" ] || return 0
	echo 0 >$SRPT/discovery_auth/rdma_cm_port
	echo 0 >"$TPG/enable"
	rm -f "$TPG/acls/$B4/lun_0/rnic_sw"
	rmdir "$TPG/acls/$B4/lun_0" "$TPG/acls/$B4"
	rm -f "$TPG/lun/lun_0/rnic_sw"
	rmdir "$TPG/lun/lun_0" "$TPG" "${TPG%/*}"
}

print_rport() { ls -d /sys/class/srp_remote_ports/port-* 2>/dev/null | head -n 1; }

connect_client() {
	echo "id_ext=$GUID,ioc_guid=$GUID,dest=$B4:$PORT,queue_size=32,cmd_sg_entries=64" \
		>/sys/class/infiniband_srp/srp-iw0-1/add_target
	t_defer disconnect_client
	lio_wait_disk
}

# Disconnect, and wait until the remote port has disappeared from sysfs.
disconnect_client() {
	local port
	port=$(print_rport)
	[ -z "$port" ] || echo 1 >"$port/delete" 2>/dev/null || true
	t_wait_until "$T_TIME" is_rport_gone
}

is_rport_gone() { [ -z "$(print_rport)" ]; }

# The module ib_srp needs no set-up
start_initiator() { :; }

is_rport_in_state() { [ "$(cat "$(print_rport)/state")" = "$1" ]; }

# Disable the target, which then disconnects and rejects new connections, and enable it again
restart_target() {
	echo 0 >"$TPG/enable"
	t_wait_until "$T_TIME" is_rport_in_state blocked
	echo 1 >"$TPG/enable"
	t_wait_until "$T_TIME" is_rport_in_state running
}

# Without a listener the kernel must log the reason -ECONNRESET, in the format of ib_srp
connect_without_listener_is_reset() {
	set_up_device
	t_choose_port
	check_fails_with_log "REJ reason 0xffffff98" sh -c \
		"echo id_ext=1,ioc_guid=1,dest=$B4:$PORT >/sys/class/infiniband_srp/srp-iw0-1/add_target"
	check_objects_are_freed
}

modules_can_be_unloaded() {
	set_up_device
	set_up_consumer
	tear_down_consumer
	rmdir $SRPT
	modprobe -r ib_srp ib_srpt
	modprobe ib_srpt
	modprobe ib_srp reconnect_delay=1 fast_io_fail_tmo=off dev_loss_tmo=60
}

load_modules_or_skip_all sd_mod target_core_mod target_core_file ib_srpt
skip_all_without_programs fio
modprobe ib_srp reconnect_delay=1 fast_io_fail_tmo=off dev_loss_tmo=60 ||
	t_skip_all "this kernel has no module ib_srp"
define_disk_cases SRP
t_case "SRP: the target is disabled and enabled under load" "" load_survives_command restart_target
t_case "SRP: connect and disconnect five times" "" lio_client_can_reconnect
t_case "SRP: no listener" "" connect_without_listener_is_reset
t_case "SRP: initiator and target modules are unloaded" "" modules_can_be_unloaded
t_print_summary_and_exit
