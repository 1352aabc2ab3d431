#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/9p.sh: 9P over RDMA with the kernel's client. The server is diod, connected
# through the relay p9relay.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"
. "$T_DIR/lib/consumer_files.sh"

start_server_and_mount() {
	DIR=$T_CASE/mnt
	mkdir -p "$DIR"
	t_choose_port
	T_TIME=1000 t_start relay b env "RNIC_SW_LLP=${T_LLP:-tcp}" "$(t_find_program p9relay)" \
		"$B4" "$PORT" \
		diod -f -r 0 -w 1 -n -c /dev/null -e "$SHARE" -L "$T_CASE/diod.log"
	t_wait_until "$T_TIME" is_server_listening
	mount -i -t 9p "$B4" "$DIR" \
		-o "trans=rdma,port=$PORT,version=9p2000.L,msize=65536,aname=$SHARE,uname=root,access=user"
	t_defer umount -qfl "$DIR"
	grep " $DIR 9p" /proc/mounts
}

is_server_listening() {
	t_is_alive relay || { t_print_log relay; t_fail "the relay has exited"; }
	rdma resource show cm_id link iw0 | grep -q LISTEN
}

set_up_consumer() {
	mount_share /srv/rnic_sw 96
	start_server_and_mount
}

tear_down_consumer() {
	umount "$DIR"
	t_wait_until "$T_TIME" t_has_ended relay
	t_kill relay
	umount "$SHARE"
}

# Print the bytes transferred, estimated from the number of received Sends
print_transferred_bytes() { echo $(($(t_print_counter iw0 rx_sends) * 10000)); }

fsx_finds_no_difference() {
	skip_without_fsx
	set_up_device
	set_up_consumer
	# run fsx without mmap(), because the client cannot map files without a cache
	run_fsx -R -W
	tear_down_consumer
	check_objects_are_freed
}

written_data_is_kept() {
	set_up_device
	set_up_consumer
	write_and_check_files
	tear_down_consumer
	check_objects_are_freed
}

files_survive_link_down() {
	[ "$T_RDMA" = rnic_sw ] || t_skip "$T_RDMA has no counter of received segments"
	set_up_device
	set_up_consumer
	start_file_load
	set_link_down_briefly
	wait_file_load_progress
	stop_load
	tear_down_consumer
	check_objects_are_freed
}

# The kernel's client does not reconnect, and holds a reference on the device until the file system
# is unmounted. The client waits for outstanding requests until its process is killed. umount -f is
# not used, because it sends a last request, which no server receives, and waits for the response.
device_can_be_removed_in_use() {
	set_up_device
	set_up_consumer
	t_record_connects iw0 ''
	t_start deletion b rdma link del iw0
	t_wait_until "$T_TIME" t_has_ended relay
	umount -l "$DIR"
	t_wait deletion "$T_TIME"
	umount "$SHARE"
	recreate_device
	t_kill relay
	set_up_consumer
	write_and_check_files
	tear_down_consumer
	check_objects_are_freed
}

modules_can_be_unloaded() {
	set_up_device
	set_up_consumer
	tear_down_consumer
	modprobe -r 9pnet_rdma
	modprobe 9pnet_rdma
}

load_modules_or_skip_all 9p 9pnet_rdma
skip_all_without_programs fio diod
t_find_program p9relay >/dev/null || t_skip_all "program p9relay is not built (make)"
t_case "9P: files are read back as written" "" written_data_is_kept
t_case "9P: fsx" "" fsx_finds_no_difference
t_case "9P: the link goes down and up under load" "" files_survive_link_down
t_case "9P: the device is deleted and the file system unmounted" "" device_can_be_removed_in_use
t_case "9P: the transport module is unloaded" "" modules_can_be_unloaded
t_print_summary_and_exit
