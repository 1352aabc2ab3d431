#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/nvme.sh: NVMe over RDMA beyond storage.sh: several I/O queues, and failures.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"

NQN=rnic_sw.consumer
TARGET=/sys/kernel/config/nvmet
SUB=$TARGET/subsystems/$NQN
PORT_DIR=$TARGET/ports/1

start_target() {
	mkdir $SUB
	t_defer stop_target
	echo 1 >$SUB/attr_allow_any_host
	mkdir $SUB/namespaces/1
	echo -n "$LOOP" >$SUB/namespaces/1/device_path
	echo 1 >$SUB/namespaces/1/enable
	mkdir $PORT_DIR
	echo "$B4" >$PORT_DIR/addr_traddr
	echo rdma >$PORT_DIR/addr_trtype
	echo 4420 >$PORT_DIR/addr_trsvcid
	echo ipv4 >$PORT_DIR/addr_adrfam
	enable_port
}

enable_port() { ln -s $SUB $PORT_DIR/subsystems/$NQN; }
disable_port() { rm -f $PORT_DIR/subsystems/$NQN; }

stop_target() {
	[ -d $SUB ] || return 0
	disable_port
	rmdir $PORT_DIR
	echo 0 >$SUB/namespaces/1/enable
	rmdir $SUB/namespaces/1 $SUB
}

print_nvme_controller() {
	local nqn
	nqn=$(grep -ls "^$NQN\$" /sys/class/nvme/nvme*/subsysnqn | head -n 1)
	[ -n "$nqn" ] && echo "${nqn%/subsysnqn}"
}

has_no_controller() { ! print_nvme_controller; }

find_disk() {
	local names
	names=$(ls -d "$(print_nvme_controller)"/nvme*n1 2>/dev/null) || return
	# with multipath the name in sysfs includes the controller's number, but the name in /dev
	# does not
	DISK=/dev/$(basename "$names" | sed 's/c[0-9]*n/n/')
	[ -b "$DISK" ]
}

connect_client() {
	echo "transport=rdma,traddr=$B4,trsvcid=4420,nqn=$NQN,nr_io_queues=4,keep_alive_tmo=5,reconnect_delay=1,ctrl_loss_tmo=120" \
		>/dev/nvme-fabrics
	t_defer disconnect_client
	t_wait_until "$T_TIME" find_disk || t_fail "the block device has not appeared"
}

disconnect_client() {
	local c
	c=$(print_nvme_controller) || return 0
	timeout "$T_TIME" sh -c "echo 1 >$c/delete_controller" || true
	t_wait_until "$T_TIME" has_no_controller
}

set_up_consumer() {
	create_loop_device 16
	start_target
	connect_client
}

tear_down_consumer() {
	disconnect_client
	stop_target
	losetup -d "$LOOP"
	t_wait_until "$T_TIME" is_loop_free
}

is_loop_free() { ! losetup "$LOOP" >/dev/null 2>&1; }

is_controller_live() { [ "$(cat "$(print_nvme_controller)/state")" = live ]; }
is_controller_not_live() { ! is_controller_live; }

each_nvme_queue_has_its_qps() {
	set_up_device
	set_up_consumer
	# there are four I/O queues and the admin queue, and each has a QP at both ends
	t_check "there is a QP for each queue at both ends" \
		test "$(rdma resource show qp link iw0 | wc -l)" -ge 6
	write_and_check_disk
	tear_down_consumer
	check_backing_file
	check_objects_are_freed
}

reset_controller_repeatedly() {
	local i
	for ((i = 0; i < 3; i++)); do
		echo 1 >"$(print_nvme_controller)/reset_controller"
		t_wait_until "$T_TIME" is_controller_live
		wait_load_progress
	done
}

disable_target_briefly() {
	disable_port
	t_wait_until "$T_TIME" is_controller_not_live
	enable_port
	t_wait_until "$T_TIME" is_controller_live
}

count_recoveries() { dmesg | grep -c "starting error recovery" || true; }

# When the device is removed, the host must shut down the target while the target still responds.
# If the connection breaks while the host shuts down the target, the host waits for half a minute.
unload_shuts_host_down_in_order() {
	local before
	set_up_device
	set_up_consumer
	start_load
	before=$(count_recoveries)
	remove_device module
	t_check "no connection breaks before the host has shut down" \
		[ "$(count_recoveries)" -eq "$before" ]
	wait_until_load_ends
	tear_down_consumer
	recreate_device
	check_objects_are_freed
}

# If the target's port has no listener, the errno must not mean "refused by remote application",
# because there is no application
connect_without_listener_is_reset() {
	set_up_device
	check_fails_with_log "Connect rejected: status -104 (reset by remote host)" \
		sh -c "echo transport=rdma,traddr=$B4,trsvcid=4420,nqn=$NQN >/dev/nvme-fabrics"
	check_objects_are_freed
}

modules_can_be_unloaded() {
	set_up_device
	set_up_consumer
	tear_down_consumer
	modprobe -r nvme-rdma nvmet-rdma
	modprobe -a nvme-rdma nvmet-rdma
}

load_modules_or_skip_all nvmet-rdma nvme-rdma
skip_all_without_programs fio
define_disk_cases NVMe
t_case "NVMe: four I/O queues" "" each_nvme_queue_has_its_qps
t_case "NVMe: the controller is reset under load" "" load_survives_command reset_controller_repeatedly
t_case "NVMe: the target is disabled and enabled under load" "" load_survives_command \
	disable_target_briefly
t_case "NVMe: module unload shuts the host down in order" "" unload_shuts_host_down_in_order
t_case "NVMe: no listener" "" connect_without_listener_is_reset
t_case "NVMe: host and target modules are unloaded" "" modules_can_be_unloaded
t_print_summary_and_exit
