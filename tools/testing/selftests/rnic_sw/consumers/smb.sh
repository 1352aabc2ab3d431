#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/smb.sh: SMB Direct, with ksmbd and cifs, at the port for iWARP, 5445.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"
. "$T_DIR/lib/consumer_files.sh"

server_up() {
	cat >"$T_CASE/ksmbd.conf" <<-END
		[global]
		server multi channel support = no
		bind interfaces only = no
		[share]
		path = $SHARE
		writeable = yes
		force user = root
		force group = root
	END
	mkdir -p /run/lock /etc/ksmbd
	ksmbd.adduser -a tester -p secret -i "$T_CASE/users" -c "$T_CASE/ksmbd.conf"
	T_TIME=1000 t_bg mountd b ksmbd.mountd -n -c "$T_CASE/ksmbd.conf" -u "$T_CASE/users"
	t_defer server_down
	t_until "$T_TIME" listens || { t_show mountd; t_fail "the server does not listen"; }
}

# Check whether the server listens. Over TCP the listener is a TCP socket, which ss shows.
listens() {
	if [ "${T_LLP:-}" = sctp ]; then
		awk '$6 == 5445' /proc/net/sctp/eps | grep -q .
	else
		t_has_listener b 5445
	fi
}

server_down() {
	t_kill mountd
	echo hard >/sys/class/ksmbd-control/kill_server || true
	t_until "$T_TIME" stopped
}

stopped() { ! listens; }

connect() {
	DIR=$T_CASE/mnt
	mkdir -p "$DIR"
	mount -i -t cifs "//$B4/share" "$DIR" \
		-o "ip=$B4,vers=3.1.1,rdma,username=tester,password=secret,hard,echo_interval=2,cache=none"
	t_defer umount -qfl "$DIR"
	grep " $DIR cifs" /proc/mounts | tee "$T_CASE/mounted"
	grep -q rdma "$T_CASE/mounted"
}

up() {
	a_share /srv/rnic_sw 96
	server_up
	connect
}

down() {
	umount "$DIR"
	server_down
	umount "$SHARE"
}

files_done() { awk '/^Bytes read:/ { print $3 + $6; exit }' /proc/fs/cifs/Stats; }

exercised() {
	need_fsx
	scene
	up
	fsx_right
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

disturbed() {
	scene
	up
	files_load
	"$@"
	files_progress
	load_ends
	files_right
	down
	nothing_left
}

# device_goes HOW: remove the device without load, because the kernel's client (Linux 7.3) does not
# always survive that under load. The mount must work again afterwards.
device_goes() {
	scene
	up
	works_again
	remove_device "$1"
	new_device
	t_until "$T_TIME" works_again
	files_right
	down
	nothing_left
}

works_again() { echo yes >"$DIR/again" && rm "$DIR/again"; }

modules_go() {
	scene
	up
	down
	# retry, because the client's thread exits a moment after the unmount
	t_until "$T_TIME" modprobe -r cifs
	modprobe -r ksmbd
	modprobe -a ksmbd cifs
}

needs_modules ksmbd cifs
needs_programs fio ksmbd.mountd ksmbd.adduser
t_case "SMB Direct: files are read back as written" "DDP-126" data
t_case "SMB Direct: random operations (fsx)" "" exercised
t_case "SMB Direct: the link goes down and up under load" "" disturbed link_down_and_up
t_case "SMB Direct: the device is deleted and added" "" device_goes device
t_case "SMB Direct: the interface is deleted and added" "" device_goes interface
t_case "SMB Direct: client and server modules are unloaded" "" modules_go
t_end
