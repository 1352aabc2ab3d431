# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# consumer_lio.sh: a disk of the kernel's SCSI target (LIO) for consumers/srp.sh and
# consumers/iser.sh; sourced after consumers.sh. The scripts define target_up,
# target_down, initiator_up, connect and disconnect.

TARGET=/sys/kernel/config/target

# lio_disk MIB: create LIO_DISK, a disk of the target that is backed by $FILE
lio_disk() {
	a_file "$1"
	LIO_DISK=$TARGET/core/fileio_0/rnic_sw
	mkdir -p "$LIO_DISK"
	t_defer lio_disk_down
	echo "fd_dev_name=$FILE,fd_dev_size=$(($1 << 20))" >"$LIO_DISK/control"
	echo 1 >"$LIO_DISK/enable"
}

lio_disk_down() {
	[ ! -d "$LIO_DISK" ] || rmdir "$LIO_DISK" "${LIO_DISK%/*}"
}

# Find the disk by its vendor, because it has no stable name in /dev
lio_find() {
	local vendor
	vendor=$(grep -ls LIO-ORG /sys/block/sd*/device/vendor | head -n 1)
	DISK=/dev/$(basename "${vendor%/device/vendor}")
	[ -n "$vendor" ] && [ -b "$DISK" ]
}

lio_connected() { t_until "$T_TIME" lio_find || t_fail "the disk has not appeared"; }

lio_no_disk() { ! lio_find; }

lio_disconnected() { t_until "$T_TIME" lio_no_disk || t_fail "the disk has not been removed"; }

up() {
	lio_disk 16
	target_up
	initiator_up
	connect
}

down() {
	disconnect || true
	lio_disconnected
	target_down
	lio_disk_down
}

# Connect and disconnect five times
lio_again_and_again() {
	local i
	scene
	lio_disk 16
	target_up
	initiator_up
	for ((i = 0; i < 5; i++)); do
		connect
		copy "$DISK" /dev/null 64k 4 iflag=direct
		disconnect
		lio_disconnected
	done
	target_down
	nothing_left
}
