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
	T_TIME=1000 t_start mountd b ksmbd.mountd -n -c "$T_CASE/ksmbd.conf" -u "$T_CASE/users"
	t_defer stop_server
	t_wait_until "$T_TIME" is_server_listening || {
		t_print_log mountd
		t_fail "the server does not listen"
	}
}

# Check whether the server listens. Over TCP the listener is a TCP socket, which ss shows.
is_server_listening() {
	if [ "${T_LLP:-}" = sctp ]; then
		awk '$6 == 5445' /proc/net/sctp/eps | grep -q .
	else
		t_has_listener b 5445
	fi
}

stop_server() {
	t_kill mountd
	echo hard >/sys/class/ksmbd-control/kill_server || true
	t_wait_until "$T_TIME" is_server_stopped
}

is_server_stopped() { ! is_server_listening; }

connect_client() {
	DIR=$T_CASE/mnt
	mkdir -p "$DIR"
	mount -i -t cifs "//$B4/share" "$DIR" \
		-o "ip=$B4,vers=3.1.1,rdma,username=tester,password=secret,hard,echo_interval=2,cache=none"
	t_defer umount -qfl "$DIR"
	grep " $DIR cifs" /proc/mounts | tee "$T_CASE/mounted"
	grep -q rdma "$T_CASE/mounted"
}

set_up_consumer() {
	mount_share /srv/rnic_sw 96
	start_server
	connect_client
}

tear_down_consumer() {
	umount "$DIR"
	stop_server
	umount "$SHARE"
}

print_transferred_bytes() { awk '/^Bytes read:/ { print $3 + $6; exit }' /proc/fs/cifs/Stats; }

fsx_finds_no_difference() {
	skip_without_fsx
	set_up_device
	set_up_consumer
	run_fsx
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

load_survives_disturbance() {
	set_up_device
	set_up_consumer
	start_file_load
	"$@"
	wait_file_load_progress
	stop_load
	write_and_check_files
	tear_down_consumer
	check_objects_are_freed
}

# device_can_be_removed_in_use HOW: remove the device without load, because the kernel's client
# (Linux 7.3) does not always survive a removal under load. The mount must work again afterwards.
device_can_be_removed_in_use() {
	set_up_device
	set_up_consumer
	can_write_file
	remove_device "$1"
	recreate_device
	t_wait_until "$T_TIME" can_write_file
	write_and_check_files
	tear_down_consumer
	check_objects_are_freed
}

can_write_file() { echo yes >"$DIR/again" && rm "$DIR/again"; }

modules_can_be_unloaded() {
	set_up_device
	set_up_consumer
	tear_down_consumer
	# retry, because the client's thread exits a moment after the unmount
	t_wait_until "$T_TIME" modprobe -r cifs
	modprobe -r ksmbd
	modprobe -a ksmbd cifs
}

load_modules_or_skip_all ksmbd cifs
skip_all_without_programs fio ksmbd.mountd ksmbd.adduser
t_case "SMB Direct: files are read back as written" "DDP-126" written_data_is_kept
t_case "SMB Direct: random operations (fsx)" "" fsx_finds_no_difference
t_case "SMB Direct: the link goes down and up under load" "" load_survives_disturbance \
	set_link_down_briefly
t_case "SMB Direct: the device is deleted and added" "" device_can_be_removed_in_use device
t_case "SMB Direct: the interface is deleted and added" "" device_can_be_removed_in_use interface
t_case "SMB Direct: client and server modules are unloaded" "" modules_can_be_unloaded
t_print_summary_and_exit
