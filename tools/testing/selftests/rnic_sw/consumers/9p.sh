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
	t_until "$T_TIME" listening
	mount -i -t 9p "$B4" "$DIR" -o "trans=rdma,port=$PORT,version=9p2000.L,msize=65536,aname=$SHARE,uname=root,access=user"
	t_defer umount -qfl "$DIR"
	grep " $DIR 9p" /proc/mounts
}

listening() {
	t_alive relay || { t_show relay; t_fail "the relay has exited"; }
	rdma resource show cm_id link iw0 | grep -q LISTEN
}

up() {
	a_share /srv/rnic_sw 96
	connect
}

down() {
	umount "$DIR"
	t_until "$T_TIME" t_ended relay
	t_kill relay
	umount "$SHARE"
}

# Print the bytes transferred, estimated from the number of received Sends
files_done() { echo $(($(t_counter iw0 rx_sends) * 10000)); }

exercised() {
	need_fsx
	scene
	up
	# no operations on mapped files, because the client cannot map files without a cache
	fsx_right -R -W
	down
	nothing_left
}

data() {
	scene
	up
	files_right
	down
	nothing_left
}

link() {
	[ "$T_RDMA" = rnic_sw ] || t_skip "$T_RDMA has no counter of received segments"
	scene
	up
	files_load
	link_down_and_up
	files_progress
	load_ends
	down
	nothing_left
}

# The kernel's client does not reconnect, and holds a reference on the device until the file system
# is unmounted. It waits for outstanding requests until it is killed. umount -f is not used: it
# sends a last request, which no server receives, and would wait for the response.
device_goes() {
	scene
	up
	t_note_connects iw0 ''
	t_bg deletion b rdma link del iw0
	t_until "$T_TIME" t_ended relay
	umount -l "$DIR"
	t_wait deletion "$T_TIME"
	umount "$SHARE"
	new_device
	t_kill relay
	up
	files_right
	down
	nothing_left
}

modules_go() {
	scene
	up
	down
	modprobe -r 9pnet_rdma
	modprobe 9pnet_rdma
}

needs_modules 9p 9pnet_rdma
needs_programs fio diod
t_prog p9relay >/dev/null || t_skip_all "program p9relay is not built (make)"
t_case "9P: files are read back as written" "" data
t_case "9P: fsx" "" exercised
t_case "9P: the link goes down and up under load" "" link
t_case "9P: the device is deleted and the file system unmounted" "" device_goes
t_case "9P: the transport module is unloaded" "" modules_go
t_end
