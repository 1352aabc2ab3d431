# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# consumer_lio.sh: a disk of the kernel's SCSI target (LIO) for consumers/srp.sh and
# consumers/iser.sh; sourced after consumers.sh. The scripts define start_target,
# stop_target, start_initiator, connect_client and disconnect_client.

TARGET=/sys/kernel/config/target

# lio_create_disk MIB: create LIO_DISK, a disk of the target that is backed by $FILE
lio_create_disk() {
	create_backing_file "$1"
	LIO_DISK=$TARGET/core/fileio_0/rnic_sw
	mkdir -p "$LIO_DISK"
	t_defer lio_remove_disk
	echo "fd_dev_name=$FILE,fd_dev_size=$(($1 << 20))" >"$LIO_DISK/control"
	echo 1 >"$LIO_DISK/enable"
}

lio_remove_disk() {
	[ ! -d "$LIO_DISK" ] || rmdir "$LIO_DISK" "${LIO_DISK%/*}"
}

# Find the disk by its vendor, because it has no stable name in /dev
lio_find_disk() {
	local vendor
	vendor=$(grep -ls LIO-ORG /sys/block/sd*/device/vendor | head -n 1)
	DISK=/dev/$(basename "${vendor%/device/vendor}")
	[ -n "$vendor" ] && [ -b "$DISK" ]
}

lio_wait_disk() { t_wait_until "$T_TIME" lio_find_disk || t_fail "the disk has not appeared"; }

lio_is_disk_gone() { ! lio_find_disk; }

lio_wait_no_disk() { t_wait_until "$T_TIME" lio_is_disk_gone || t_fail "the disk has not been removed"; }

set_up_consumer() {
	lio_create_disk 16
	start_target
	start_initiator
	connect_client
}

tear_down_consumer() {
	disconnect_client || true
	lio_wait_no_disk
	stop_target
	lio_remove_disk
}

# Connect and disconnect five times
lio_client_can_reconnect() {
	local i
	set_up_device
	lio_create_disk 16
	start_target
	start_initiator
	for ((i = 0; i < 5; i++)); do
		connect_client
		copy_blocks "$DISK" /dev/null 64k 4 iflag=direct
		disconnect_client
		lio_wait_no_disk
	done
	stop_target
	check_objects_are_freed
}
