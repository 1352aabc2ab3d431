#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/smb.sh: SMB Direct, with ksmbd and cifs, at the port for iWARP, 5445.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"
. "$T_DIR/lib/consumer_files.sh"

start_server() {
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
	t_defer stop_server
	t_until "$T_TIME" is_listening || { t_show mountd; t_fail "the server does not listen"; }
}

# Check whether the server listens. Over TCP the listener is a TCP socket, which ss shows.
is_listening() {
	if [ "${T_LLP:-}" = sctp ]; then
		awk '$6 == 5445' /proc/net/sctp/eps | grep -q .
	else
		t_has_listener b 5445
	fi
}

stop_server() {
	t_kill mountd
	echo hard >/sys/class/ksmbd-control/kill_server || true
	t_until "$T_TIME" is_stopped
}

is_stopped() { ! is_listening; }

connect() {
	DIR=$T_CASE/mnt
	mkdir -p "$DIR"
	mount -i -t cifs "//$B4/share" "$DIR" \
		-o "ip=$B4,vers=3.1.1,rdma,username=tester,password=secret,hard,echo_interval=2,cache=none"
	t_defer umount -qfl "$DIR"
	grep " $DIR cifs" /proc/mounts | tee "$T_CASE/mounted"
	grep -q rdma "$T_CASE/mounted"
}

set_up() {
	mount_share /srv/rnic_sw 96
	start_server
	connect
}

tear_down() {
	umount "$DIR"
	stop_server
	umount "$SHARE"
}

print_file_bytes() { awk '/^Bytes read:/ { print $3 + $6; exit }' /proc/fs/cifs/Stats; }

test_fsx() {
	need_fsx
	set_up_device
	set_up
	run_fsx
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

test_disturbance() {
	set_up_device
	set_up
	start_files_load
	"$@"
	wait_files_progress
	stop_load
	check_files
	tear_down
	check_nothing_left
}

# test_device_removal HOW: remove the device without load, because the kernel's client (Linux
# 7.3) does not always survive a removal under load. The mount must work again afterwards.
test_device_removal() {
	set_up_device
	set_up
	can_write_again
	remove_device "$1"
	create_device
	t_until "$T_TIME" can_write_again
	check_files
	tear_down
	check_nothing_left
}

can_write_again() { echo yes >"$DIR/again" && rm "$DIR/again"; }

test_module_unload() {
	set_up_device
	set_up
	tear_down
	# retry, because the client's thread exits a moment after the unmount
	t_until "$T_TIME" modprobe -r cifs
	modprobe -r ksmbd
	modprobe -a ksmbd cifs
}

needs_modules ksmbd cifs
needs_programs fio ksmbd.mountd ksmbd.adduser
t_case "SMB Direct: files are read back as written" "DDP-126" test_data_kept
t_case "SMB Direct: random operations (fsx)" "" test_fsx
t_case "SMB Direct: the link goes down and up under load" "" test_disturbance interrupt_link
t_case "SMB Direct: the device is deleted and added" "" test_device_removal device
t_case "SMB Direct: the interface is deleted and added" "" test_device_removal interface
t_case "SMB Direct: client and server modules are unloaded" "" test_module_unload
t_end
