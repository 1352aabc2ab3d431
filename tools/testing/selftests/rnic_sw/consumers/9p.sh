#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/9p.sh: 9P over RDMA with the kernel's client. The server is diod, connected
# through the relay p9relay.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"
. "$T_DIR/lib/consumer_files.sh"

connect() {
	DIR=$T_CASE/mnt
	mkdir -p "$DIR"
	t_port
	T_TIME=1000 t_bg relay b env "RNIC_SW_LLP=${T_LLP:-tcp}" "$(t_prog p9relay)" "$B4" "$PORT" \
		diod -f -r 0 -w 1 -n -c /dev/null -e "$SHARE" -L "$T_CASE/diod.log"
	t_until "$T_TIME" is_listening
	mount -i -t 9p "$B4" "$DIR" -o "trans=rdma,port=$PORT,version=9p2000.L,msize=65536,aname=$SHARE,uname=root,access=user"
	t_defer umount -qfl "$DIR"
	grep " $DIR 9p" /proc/mounts
}

is_listening() {
	t_alive relay || { t_show relay; t_fail "the relay has exited"; }
	rdma resource show cm_id link iw0 | grep -q LISTEN
}

set_up() {
	mount_share /srv/rnic_sw 96
	connect
}

tear_down() {
	umount "$DIR"
	t_until "$T_TIME" t_ended relay
	t_kill relay
	umount "$SHARE"
}

# Print the bytes transferred, estimated from the number of received Sends
print_file_bytes() { echo $(($(t_counter iw0 rx_sends) * 10000)); }

test_fsx() {
	need_fsx
	set_up_device
	set_up
	# run fsx without mmap(), because the client cannot map files without a cache
	run_fsx -R -W
	tear_down
	check_nothing_left
}

test_data_kept() {
	set_up_device
	set_up
	check_files
	tear_down
	check_nothing_left
}

test_link_down() {
	[ "$T_RDMA" = rnic_sw ] || t_skip "$T_RDMA has no counter of received segments"
	set_up_device
	set_up
	start_files_load
	interrupt_link
	wait_files_progress
	stop_load
	tear_down
	check_nothing_left
}

# The kernel's client does not reconnect, and holds a reference on the device until the file system
# is unmounted. The client waits for outstanding requests until its process is killed. umount -f is
# not used, because it sends a last request, which no server receives, and waits for the response.
test_device_removal() {
	set_up_device
	set_up
	t_note_connects iw0 ''
	t_bg deletion b rdma link del iw0
	t_until "$T_TIME" t_ended relay
	umount -l "$DIR"
	t_wait deletion "$T_TIME"
	umount "$SHARE"
	create_device
	t_kill relay
	set_up
	check_files
	tear_down
	check_nothing_left
}

test_module_unload() {
	set_up_device
	set_up
	tear_down
	modprobe -r 9pnet_rdma
	modprobe 9pnet_rdma
}

needs_modules 9p 9pnet_rdma
needs_programs fio diod
t_prog p9relay >/dev/null || t_skip_all "program p9relay is not built (make)"
t_case "9P: files are read back as written" "" test_data_kept
t_case "9P: fsx" "" test_fsx
t_case "9P: the link goes down and up under load" "" test_link_down
t_case "9P: the device is deleted and the file system unmounted" "" test_device_removal
t_case "9P: the transport module is unloaded" "" test_module_unload
t_end
