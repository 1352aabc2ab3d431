# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# consumer_files.sh: functions shared by the scripts of file systems over RDMA; sourced
# after consumers.sh. $DIR: mount point of the client; $SHARE: directory of the server.
# print_transferred_bytes() prints how many bytes the client has transferred.

write_and_check_files() {
	create_random_data
	copy_blocks "$T_CASE/data" "$DIR/big" 1M 8 conv=fsync
	cmp "$T_CASE/data" "$SHARE/big"
	echo 3 >/proc/sys/vm/drop_caches
	cmp "$T_CASE/data" "$DIR/big"
	copy_blocks "$DIR/big" "$T_CASE/back" 3584 300 iflag=direct
	cmp -n 1075200 "$T_CASE/data" "$T_CASE/back"
	write_and_verify_with_fio files "$DIR/fio" --size=8m --bsrange=4k-256k --iodepth=16
	rm "$DIR/fio" "$DIR/big"
	write_and_check_tree "$DIR"
}

# fsx does random operations on one file with system calls, mmap and direct I/O, and compares each
# result with a copy in memory. T_FSX=DIR: the directory of fsx, built by scripts/build-program.
skip_without_fsx() {
	[ -n "${T_FSX:-}" ] || t_skip "T_FSX is not set (scripts/consumers builds fsx)"
	[ -x "$T_FSX/fsx" ] || t_skip "no fsx in $T_FSX (scripts/build-program fsx)"
}

run_fsx() {
	"$T_FSX/fsx" -q -N "$(t_scale_rounds 5000)" -S "${T_SEED:-1}" -P "$T_CASE" "$@" "$DIR/fsx"
	"$T_FSX/fsx" -q -N "$(t_scale_rounds 1000)" -S "${T_SEED:-1}" -P "$T_CASE" \
		-Z -R -W -r 4096 -w 4096 -t 4096 "$DIR/fsx"
	rm "$DIR/fsx"
}

# start_file_load: start a load like start_load(), on files instead of a disk
start_file_load() {
	start_fio --directory="$DIR"
	wait_file_load_progress
}

has_file_load_progressed() {
	t_is_alive load || { t_print_log load; t_fail "fio has ended early"; }
	[ "$(print_transferred_bytes)" -gt "$1" ]
}

# Wait for progress. The limit is long, because a client without a server retries at growing
# intervals.
wait_file_load_progress() {
	t_wait_until $((3 * T_TIME)) has_file_load_progressed $(($(print_transferred_bytes) + 1000000)) ||
		t_fail "the load makes no progress"
}

# mount_share DIR MIB: mount a file system of MIB MiB at DIR, and set SHARE to DIR. The file system is
# ext4, or tmpfs if the kernel has no ext4.
mount_share() {
	SHARE=$1
	mkdir -p "$SHARE"
	if has_ext4; then
		create_backing_file "$2"
		mkfs.ext4 -q "$FILE"
		modprobe -q loop || :
		mount -o loop "$FILE" "$SHARE"
	else
		mount -t tmpfs -o size="$2m" share "$SHARE"
	fi
	t_defer umount -q "$SHARE"
}
