# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# consumer_files.sh: what the scripts of the file systems over RDMA share; sourced
# after consumers.sh. $DIR is the client's, $SHARE the server's; files_done says
# how many octets the client has moved.

files_right() {
	random_data
	copy "$T_CASE/data" "$DIR/big" 1M 8 conv=fsync
	cmp "$T_CASE/data" "$SHARE/big"
	echo 3 >/proc/sys/vm/drop_caches
	cmp "$T_CASE/data" "$DIR/big"
	copy "$DIR/big" "$T_CASE/back" 3584 300 iflag=direct
	cmp -n 1075200 "$T_CASE/data" "$T_CASE/back"
	fio_verify files "$DIR/fio" --size=8m --bsrange=4k-256k --iodepth=16
	rm "$DIR/fio" "$DIR/big"
	tree_right "$DIR"
}

# Random operations on one file, by system calls, by mappings and past the cache, each
# compared with what is in memory. T_FSX=DIR: where it was built (scripts/build-program)
need_fsx() {
	[ -n "${T_FSX:-}" ] || t_skip "no fsx here (scripts/consumers builds it)"
	[ -x "$T_FSX/fsx" ] || t_skip "$T_FSX has no fsx (scripts/build-program fsx)"
}

fsx_right() {
	"$T_FSX/fsx" -q -N "$(t_iters 5000)" -S "${T_SEED:-1}" -P "$T_CASE" "$@" "$DIR/fsx"
	"$T_FSX/fsx" -q -N "$(t_iters 1000)" -S "${T_SEED:-1}" -P "$T_CASE" -Z -R -W -r 4096 -w 4096 -t 4096 "$DIR/fsx"
	rm "$DIR/fsx"
}

# files_load: as load
files_load() {
	load_of --directory="$DIR"
	files_moves
}

files_moved() {
	t_alive load || { t_show load; t_fail "the load has ended"; }
	[ "$(files_done)" -gt "$1" ]
}

# Long: whoever finds nobody asks again later each time
files_moves() { t_until $((3 * T_TIME)) files_moved $(($(files_done) + 1000000)) || t_fail "no request is served"; }

# a_share DIR MIB: SHARE, a file system there; of memory if the kernel has no other
a_share() {
	SHARE=$1
	mkdir -p "$SHARE"
	if has_ext4; then
		a_file "$2"
		mkfs.ext4 -q "$FILE"
		modprobe -q loop || :
		mount -o loop "$FILE" "$SHARE"
	else
		mount -t tmpfs -o size="$2m" share "$SHARE"
	fi
	t_defer umount -q "$SHARE"
}
