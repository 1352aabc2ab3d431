# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# consumers.sh: functions shared by the scripts of kernel consumers, consumers/*.sh;
# sourced, and sources lib.sh.
#
# A case begins with `set_up_device`, which creates one device for both ends, and ends with
# `check_objects_are_freed`, which checks that all objects are freed. A script that transfers data
# defines two functions:
#   set_up_consumer     starts the server and connects the client; sets DISK (a block device) or
#                       DIR (a mount point)
#   tear_down_consumer  undoes set_up_consumer(); must also work if the device has been removed
#
# T_RDMA=siw: use siw's device, to distinguish faults of rnic_sw from those of a consumer.
#
# The scripts write into /etc, start servers and unload modules that other programs may
# use. Therefore they run outside a bed only if T_HERE=1.

if [ -z "${BED_OUT:-}" ] && [ "${T_HERE:-}" != 1 ]; then
	echo "1..0 # SKIP changes files in /etc and starts servers: runs in a bed only, or with T_HERE=1"
	exit 4
fi
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

T_RDMA=${T_RDMA:-rnic_sw}
[ "$T_RDMA" = rnic_sw ] || [ "${T_LLP:-}" != sctp ] || t_skip_all "$T_RDMA does not support SCTP"

# Use the programs unpacked by scripts/unpacked, unless they are installed
if [ -d "${T_UNPACKED:-}" ]; then
	PATH=$PATH:$T_UNPACKED/usr/bin:$T_UNPACKED/usr/sbin:$T_UNPACKED/bin:$T_UNPACKED/sbin
	LD_LIBRARY_PATH=$(printf '%s:' "$T_UNPACKED"/usr/lib/*-linux-gnu{,/ceph} "$T_UNPACKED"/lib{/*-linux-gnu,})
	export LD_LIBRARY_PATH=${LD_LIBRARY_PATH%:}
fi

load_modules_or_skip_all() {
	local module
	for module in "$@"; do
		modprobe -q "$module" || t_skip_all "this kernel has no module $module"
	done
	[ -d /sys/kernel/config ] && mountpoint -q /sys/kernel/config ||
		mount -t configfs configfs /sys/kernel/config
}

skip_all_without_programs() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null ||
			t_skip_all "$program not found (scripts/unpacked)"
	done
}

# Device

# Load the module, which may be missing after a failed case that unloaded it, and set up the device
set_up_device() {
	modprobe "$T_RDMA"
	create_one_device
	set_llp
	print_object_counts iw0 >"$T_CASE/before"
}

# Select the LLP through the device's settings, because kernel consumers have no environment
# variable RNIC_SW_LLP. A server that is bound to no address may listen already; the setting affects
# it, too.
set_llp() {
	[ -n "${T_LLP:-}" ] || return 0
	t_change_setting iw0 listen both
	t_change_setting iw0 connect "$T_LLP"
}

# print_object_counts DEV: print the number of PDs, QPs, MRs and SRQs. cm_ids are not counted,
# because they exist as long as the server, and CQs are not, because the RDMA core keeps them in a
# pool.
print_object_counts() { rdma resource show "$1" | grep -oE '(pd|qp|mr|srq) [0-9]+' | paste -sd' '; }

has_same_object_counts() { [ "$(print_object_counts iw0)" = "$(cat "$T_CASE/before")" ]; }

check_objects_are_freed() {
	t_wait_until "$T_TIME" has_same_object_counts ||
		t_fail "objects left on iw0: $(print_object_counts iw0); before the case: $(cat "$T_CASE/before")"
}

# remove_device HOW: remove the device while it is in use. This must take at most GONE_TIME seconds
# (20; more for consumers with longer time limits).
remove_device() {
	local start=$SECONDS
	t_record_connects iw0 ''
	case $1 in
	device) timeout "$T_TIME" rdma link del iw0 ;;
	interface) timeout "$T_TIME" ip link del t0 ;;
	module) timeout "$T_TIME" modprobe -r "$T_RDMA" ;;
	esac || t_fail "cannot remove the $1"
	t_wait_until "$T_TIME" test ! -e /sys/class/infiniband/iw0
	echo "gone within $((SECONDS - start)) s"
	t_check "the device is removed within ${GONE_TIME:-20} s" \
		[ $((SECONDS - start)) -le "${GONE_TIME:-20}" ]
}

# Create the device again. check_objects_are_freed() compares its objects with those at the start of
# the case, not with those at this point, because a client may reconnect before this function
# returns.
recreate_device() {
	modprobe "$T_RDMA"
	[ -e /sys/class/net/t0 ] || ip link add t0 type dummy
	# without an address, no consumer can reconnect before set_llp has chosen the lower layer
	ip addr flush dev t0
	ip link set t0 up
	t_create_device iw0 t0
	set_llp
	ip addr add "$B4/24" dev t0
	ip addr add "$B6/64" dev t0 nodad
}

# Set the link down. Both ends are on this host, and their traffic goes over lo even while t0, which
# has the address, is down. So lo is set down, too.
set_link_down() {
	ip link set t0 down
	ip link set lo down
}

set_link_up() {
	ip link set lo up
	ip addr replace "$B6/64" dev t0 nodad
	ip link set t0 up
}

# Print the number of received segments, or nothing for other drivers, which lack that counter
print_rx_segments() { [ "$T_RDMA" != rnic_sw ] || t_print_counter iw0 rx_segments; }

# Set the link down for long enough that segments are lost, and up again
set_link_down_briefly() {
	local before
	set_link_down
	t_pause 1
	before=$(print_rx_segments)
	t_pause 2
	t_check "no segment arrives while the link is down" [ "$(print_rx_segments)" = "$before" ]
	set_link_up
}

# Data

# create_backing_file MIB: create FILE, an empty sparse file
create_backing_file() {
	FILE=$(mktemp /tmp/rnic_sw-disk.XXXXXX)
	t_defer rm -f "$FILE"
	truncate -s "$1M" "$FILE"
}

# create_loop_device MIB: create LOOP, a block device backed by FILE
create_loop_device() {
	modprobe -q loop || t_skip "loop devices are not available in this kernel"
	create_backing_file "$1"
	LOOP=$(losetup -f --show "$FILE")
	t_defer losetup -d "$LOOP"
}

# copy_blocks FROM TO BLOCK-SIZE COUNT OPTIONS...: run dd
copy_blocks() { dd if="$1" of="$2" bs="$3" count="$4" status=none "${@:5}"; }

create_random_data() {
	[ -e "$T_CASE/data" ] || head -c 8M /dev/urandom >"$T_CASE/data"
}

# write_and_verify_with_fio NAME FILE OPTIONS...: write data with fio, read it back and verify it
write_and_verify_with_fio() {
	fio --name="$1" --filename="$2" --direct=1 --ioengine=libaio --thread \
		--rw=randwrite --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--group_reporting --output="$T_CASE/fio-$1.log" "${@:3}"
}

# write_and_check_disk: write the first half of $DISK, with many sizes and queue depths, and check
# that reading returns the data
write_and_check_disk() {
	create_random_data
	copy_blocks "$T_CASE/data" "$DISK" 1M 8 oflag=direct
	copy_blocks "$DISK" "$T_CASE/back" 1M 8 iflag=direct
	cmp "$T_CASE/data" "$T_CASE/back"
	copy_blocks "$DISK" "$T_CASE/back" 3584 1000 iflag=direct
	cmp -n 3584000 "$T_CASE/data" "$T_CASE/back"
	write_and_verify_with_fio right "$DISK" --size=8m --bsrange=4k-256k --iodepth=32
	copy_blocks "$T_CASE/data" "$DISK" 64k 128 oflag=direct
	copy_blocks "$DISK" "$T_CASE/back" 64k 128 iflag=direct
	cmp "$T_CASE/data" "$T_CASE/back"
}

# Check that the backing file on the server has the data that write_and_check_disk wrote last
check_backing_file() { cmp -n 8388608 "$T_CASE/data" "$FILE"; }

# Print the number of requests that $DISK has completed
print_disk_requests() {
	local reads writes rest
	read -r reads _ _ _ writes rest <"/sys/block/${DISK##*/}/stat"
	echo $((reads + writes))
}

# start_load: start endless requests with verification on the second half of $DISK; stop_load stops
# them. Each job has one request at a time, because with more, fio verifies the data of reads that
# failed when the disk was removed.
start_load() {
	start_fio --filename="$DISK" --offset=8m --offset_increment=1m
	wait_load_progress
}

# start_fio ARGS...: start fio. Its time limit is longer than any time for which a case waits.
start_fio() {
	T_TIME=$((10 * T_TIME)) t_start load a fio --name=load --direct=1 --ioengine=psync \
		--thread --rw=randwrite --verify=crc32c --verify_fatal=1 \
		--verify_state_save=0 --numjobs=8 --size=1m \
		--bsrange=4k-128k --loops=100000 "$@"
}

has_load_progressed() {
	t_is_alive load || { t_print_log load; t_fail "fio has ended early"; }
	[ "$(print_disk_requests)" -gt "$1" ]
}

wait_load_progress() {
	t_wait_until "$T_TIME" has_load_progressed $(($(print_disk_requests) + 40)) ||
		t_fail "the load makes no progress"
}

# Stop the load; no request may have failed or returned wrong data
stop_load() {
	t_signal load INT
	t_wait_until "$T_TIME" t_has_ended load || t_fail "fio does not end"
	t_kill load
	! grep -E 'verify|bad |error' "$T_CASE/load.log" || t_fail "fio reports errors"
}

# Wait until the load stops by itself; requests may fail, but must not return wrong data
wait_until_load_ends() {
	t_wait_until "$T_TIME" t_has_ended load || {
		t_signal load INT
		t_wait_until "$T_TIME" t_has_ended load ||
			t_fail "requests neither fail nor complete"
	}
	t_kill load
	! grep -E 'verify:|bad (magic|header|data)' "$T_CASE/load.log" ||
		t_fail "fio reports wrong data"
}

has_ext4() { modprobe -q ext4 || grep -qw ext4 /proc/filesystems; }

# Count log messages about memory that could not be mapped: a consumer retries and only logs it
count_mapping_failures() { dmesg | grep -ciE 'failed to map|unable to map' || true; }

# check_fails_with_log WORDS COMMAND...: check that COMMAND fails and that the kernel logs WORDS
check_fails_with_log() {
	local before
	before=$(dmesg | grep -cF -- "$1" || true)
	t_check_fails "${@:2}"
	dmesg | tail -n 5
	t_check "the kernel logs: $1" [ "$(dmesg | grep -cF -- "$1")" -gt "$before" ]
}

# Cases for every block device

disk_returns_written_data() {
	local before
	set_up_device
	set_up_consumer
	before=$(count_mapping_failures)
	write_and_check_disk
	t_check "all memory could be mapped, see the kernel's log" \
		[ "$(count_mapping_failures)" -eq "$before" ]
	tear_down_consumer
	check_backing_file
	check_objects_are_freed
}

file_system_keeps_files() {
	has_ext4 || t_skip "this kernel has no ext4"
	set_up_device
	set_up_consumer
	mkfs.ext4 -q "$DISK"
	mkdir "$T_CASE/mnt"
	mount "$DISK" "$T_CASE/mnt"
	t_defer umount -q "$T_CASE/mnt"
	write_and_check_tree "$T_CASE/mnt"
	umount "$T_CASE/mnt"
	tear_down_consumer
	fsck.ext4 -fn "$FILE"
	check_objects_are_freed
}

# write_and_check_tree DIR: write a tree of files, and check that reading returns it. Owners and
# times are not compared, because not every file system keeps them.
write_and_check_tree() {
	mkdir "$1/tree" "$T_CASE/tree"
	cp "$T_DIR"/consumers/* "$T_DIR"/src/verbs/* "$T_CASE/tree"
	tar -C "$T_CASE/tree" -cf "$T_CASE/tree.tar" .
	tar -C "$1/tree" --no-same-owner -xf "$T_CASE/tree.tar"
	sync -f "$1/tree"
	echo 3 >/proc/sys/vm/drop_caches
	diff -r "$T_CASE/tree" "$1/tree"
	rm -rf "$1/tree" "$T_CASE/tree"
}

# load_survives_command COMMAND...: run COMMAND under load; no request may fail because of it
load_survives_command() {
	set_up_device
	set_up_consumer
	start_load
	"$@"
	wait_load_progress
	stop_load
	write_and_check_disk
	tear_down_consumer
	check_backing_file
	check_objects_are_freed
}

# removed_device_can_be_replaced HOW: remove the device under load, then check that a new device
# works
removed_device_can_be_replaced() {
	set_up_device
	set_up_consumer
	start_load
	remove_device "$1"
	wait_until_load_ends
	tear_down_consumer
	recreate_device
	set_up_consumer
	write_and_check_disk
	tear_down_consumer
	check_backing_file
	check_objects_are_freed
}

# define_disk_cases CONSUMER: define the cases that are the same for every block device
define_disk_cases() {
	t_case "$1: what is written is read" "DDP-126" disk_returns_written_data
	t_case "$1: a file system" "" file_system_keeps_files
	t_case "$1: the link goes down and up under load" "" \
		load_survives_command set_link_down_briefly
	t_case "$1: the device is deleted under load" "" removed_device_can_be_replaced device
	t_case "$1: the interface is deleted under load" "" removed_device_can_be_replaced interface
	t_case "$1: the module is unloaded under load" "" removed_device_can_be_replaced module
}
