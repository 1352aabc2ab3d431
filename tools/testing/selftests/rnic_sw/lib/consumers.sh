# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# consumers.sh: what the scripts of the kernel's consumers share, consumers/*.sh;
# sourced, and sources lib.sh.
#
# A case begins with `scene`, which makes one device for both ends, and ends with
# `nothing_left`. Whoever moves data gives up() and down():
#   up    the server is there, the client is connected to it; for a block device
#         sets DISK, for a file system DIR
#   down  undoes it; must also do so when the device has gone
#
# T_RDMA=siw: over that driver's device, to see what is ours and what is the consumer's.
#
# They write into /etc, start servers and unload modules that others may use: outside
# a bed only with T_HERE=1.

if [ -z "${BED_OUT:-}" ] && [ "${T_HERE:-}" != 1 ]; then
	echo "1..0 # SKIP it changes what is in /etc and starts servers: in a bed only, or with T_HERE=1"
	exit 4
fi
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

T_RDMA=${T_RDMA:-rnic_sw}
[ "$T_RDMA" = rnic_sw ] || [ "${T_LLP:-}" != sctp ] || t_skip_all "$T_RDMA has no SCTP"

# Programs that scripts/unpacked has put somewhere, unless they are installed
if [ -d "${T_UNPACKED:-}" ]; then
	PATH=$PATH:$T_UNPACKED/usr/bin:$T_UNPACKED/usr/sbin:$T_UNPACKED/bin:$T_UNPACKED/sbin
	LD_LIBRARY_PATH=$(printf '%s:' "$T_UNPACKED"/usr/lib/*-linux-gnu{,/ceph} "$T_UNPACKED"/lib{/*-linux-gnu,})
	export LD_LIBRARY_PATH=${LD_LIBRARY_PATH%:}
fi

needs_modules() {
	local module
	for module in "$@"; do
		modprobe -q "$module" || t_skip_all "this kernel has no module $module"
	done
	[ -d /sys/kernel/config ] && mountpoint -q /sys/kernel/config ||
		mount -t configfs configfs /sys/kernel/config
}

needs_programs() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null || t_skip_all "no $program here (scripts/unpacked)"
	done
}

# The scene

# the module may be missing where a case failed that had unloaded it
scene() {
	modprobe "$T_RDMA"
	one_device
	over_llp
	objects iw0 >"$T_CASE/before"
}

# The kernel has no environment that says it. A server that is told no address listens
# already.
over_llp() {
	[ -n "${T_LLP:-}" ] || return 0
	t_set iw0 listen both
	t_set iw0 connect "$T_LLP"
}

# objects DEV: how many there are of each kind. A listener's identifiers come and
# go with the server, not with the connection; completion queues the core keeps for
# the next one who asks.
objects() { rdma resource show "$1" | grep -oE '(pd|qp|mr|srq) [0-9]+' | paste -sd' '; }

as_before() { [ "$(objects iw0)" = "$(cat "$T_CASE/before")" ]; }

nothing_left() {
	t_until "$T_TIME" as_before ||
		t_fail "there are $(objects iw0); before there were $(cat "$T_CASE/before")"
}

# gone_device HOW: it must not take long, whoever uses it; GONE_TIME: seconds, for a
# consumer that waits itself.
gone_device() {
	local start=$SECONDS
	t_note_connects iw0 ''
	case $1 in
	device) timeout "$T_TIME" rdma link del iw0 ;;
	interface) timeout "$T_TIME" ip link del t0 ;;
	module) timeout "$T_TIME" modprobe -r "$T_RDMA" ;;
	esac || t_fail "$1 does not go"
	t_until "$T_TIME" test ! -e /sys/class/infiniband/iw0
	echo "gone within $((SECONDS - start)) s"
	t_check "that took too long" [ $((SECONDS - start)) -le "${GONE_TIME:-20}" ]
}

# Who was connected may be again before anybody has looked: what is nothing is what it
# was in the beginning.
new_device() {
	modprobe "$T_RDMA"
	if [ ! -e /sys/class/net/t0 ]; then
		ip link add t0 type dummy
		ip addr add "$B4/24" dev t0
		ip addr add "$B6/64" dev t0 nodad
		ip link set t0 up
	fi
	t_link iw0 t0
	over_llp
}

# Both ends are here: what they say to each other goes over lo, and still does when t0,
# which has the address, is down.
link_down() {
	ip link set t0 down
	ip link set lo down
}

link_up() {
	ip link set lo up
	ip addr replace "$B6/64" dev t0 nodad
	ip link set t0 up
}

# Another driver does not count them
segments() { [ "$T_RDMA" != rnic_sw ] || t_counter iw0 rx_segments; }

# Long enough that segments are lost
link_down_and_up() {
	local before
	link_down
	t_pause 1
	before=$(segments)
	t_pause 2
	t_check "segments arrive over a link that is down" [ "$(segments)" = "$before" ]
	link_up
}

# Data

# a_file MIB: FILE, empty and in memory
a_file() {
	FILE=$(mktemp /tmp/rnic_sw-disk.XXXXXX)
	t_defer rm -f "$FILE"
	truncate -s "$1M" "$FILE"
}

# a_loop MIB: LOOP, a block device
a_loop() {
	modprobe -q loop || t_skip "this kernel has no loop devices"
	a_file "$1"
	LOOP=$(losetup -f --show "$FILE")
	t_defer losetup -d "$LOOP"
}

# copy FROM TO OCTETS COUNT OPTIONS...
copy() { dd if="$1" of="$2" bs="$3" count="$4" status=none "${@:5}"; }

random_data() {
	[ -e "$T_CASE/data" ] || head -c 8M /dev/urandom >"$T_CASE/data"
}

# fio's idea of whether the octets are right
fio_verify() {
	fio --name="$1" --filename="$2" --direct=1 --ioengine=libaio --thread \
		--rw=randwrite --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--group_reporting --output="$T_CASE/fio-$1.log" "${@:3}"
}

# disk_right: what is written is read, in pieces of many sizes, one at a time and
# many at once. The first half of $DISK.
disk_right() {
	random_data
	copy "$T_CASE/data" "$DISK" 1M 8 oflag=direct
	copy "$DISK" "$T_CASE/back" 1M 8 iflag=direct
	cmp "$T_CASE/data" "$T_CASE/back"
	copy "$DISK" "$T_CASE/back" 3584 1000 iflag=direct
	cmp -n 3584000 "$T_CASE/data" "$T_CASE/back"
	fio_verify right "$DISK" --size=8m --bsrange=4k-256k --iodepth=32
	copy "$T_CASE/data" "$DISK" 64k 128 oflag=direct
	copy "$DISK" "$T_CASE/back" 64k 128 iflag=direct
	cmp "$T_CASE/data" "$T_CASE/back"
}

# The server's side has what disk_right wrote last
disk_behind() { cmp -n 8388608 "$T_CASE/data" "$FILE"; }

# How many requests $DISK has served
disk_done() {
	local reads writes rest
	read -r reads _ _ _ writes rest <"/sys/block/${DISK##*/}/stat"
	echo $((reads + writes))
}

# load: requests without end, until load_ends; the second half of $DISK. One at a
# time for each job: of many at once fio takes those that find no disk any more, and
# read nothing, for wrong ones.
load() {
	load_of --filename="$DISK" --offset=8m --offset_increment=1m
	load_moves
}

# It lives longer than anybody waits for it
load_of() {
	T_TIME=$((10 * T_TIME)) t_bg load a fio --name=load --direct=1 --ioengine=psync \
		--thread --rw=randwrite --verify=crc32c --verify_fatal=1 \
		--verify_state_save=0 --numjobs=8 --size=1m \
		--bsrange=4k-128k --loops=100000 "$@"
}

load_moved() {
	t_alive load || { t_show load; t_fail "the load has ended"; }
	[ "$(disk_done)" -gt "$1" ]
}

load_moves() { t_until "$T_TIME" load_moved $(($(disk_done) + 40)) || t_fail "no request is served"; }

# All was right, no request failed
load_ends() {
	t_signal load INT
	t_until "$T_TIME" t_ended load || t_fail "requests do not end"
	t_kill load
	! grep -E 'verify|bad |error' "$T_CASE/load.log" || t_fail "that was wrong"
}

# Requests may fail, but not be wrong, and must end
load_breaks_off() {
	t_until "$T_TIME" t_ended load || {
		t_signal load INT
		t_until "$T_TIME" t_ended load || t_fail "requests neither fail nor go on"
	}
	t_kill load
	! grep -E 'verify:|bad (magic|header|data)' "$T_CASE/load.log" || t_fail "that was wrong"
}

has_ext4() { modprobe -q ext4 || grep -qw ext4 /proc/filesystems; }

# What a consumer could not map it tries again, and only the log tells
not_mapped() { dmesg | grep -ciE 'failed to map|unable to map' || true; }

# told WORDS COMMAND...: it fails, and the kernel's log has the words once more
told() {
	local before
	before=$(dmesg | grep -cF -- "$1" || true)
	t_refused "${@:2}"
	dmesg | tail -n 5
	t_check "nobody says: $1" [ "$(dmesg | grep -cF -- "$1")" -gt "$before" ]
}

# Cases of every block device

disk_data() {
	local before
	scene
	up
	before=$(not_mapped)
	disk_right
	t_check "all memory could be mapped, see the kernel's log" [ "$(not_mapped)" -eq "$before" ]
	down
	disk_behind
	nothing_left
}

disk_file_system() {
	has_ext4 || t_skip "this kernel has no ext4"
	scene
	up
	mkfs.ext4 -q "$DISK"
	mkdir "$T_CASE/mnt"
	mount "$DISK" "$T_CASE/mnt"
	t_defer umount -q "$T_CASE/mnt"
	tree_right "$T_CASE/mnt"
	umount "$T_CASE/mnt"
	down
	fsck.ext4 -fn "$FILE"
	nothing_left
}

# tree_right DIR: a tree of files that is put there comes back. What they are: not
# everybody keeps whose they are and when they were written.
tree_right() {
	mkdir "$1/tree" "$T_CASE/tree"
	cp "$T_DIR"/consumers/* "$T_DIR"/src/verbs/* "$T_CASE/tree"
	tar -C "$T_CASE/tree" -cf "$T_CASE/tree.tar" .
	tar -C "$1/tree" --no-same-owner -xf "$T_CASE/tree.tar"
	sync -f "$1/tree"
	echo 3 >/proc/sys/vm/drop_caches
	diff -r "$T_CASE/tree" "$1/tree"
	rm -rf "$1/tree" "$T_CASE/tree"
}

# disk_under_load COMMAND...: which the consumer must survive, all of it right
disk_under_load() {
	scene
	up
	load
	"$@"
	load_moves
	load_ends
	disk_right
	down
	disk_behind
	nothing_left
}

# disk_goes HOW: and all of it again on the next device
disk_goes() {
	scene
	up
	load
	gone_device "$1"
	load_breaks_off
	down
	new_device
	up
	disk_right
	down
	disk_behind
	nothing_left
}

# disk_cases CONSUMER
disk_cases() {
	t_case "$1: what is written is read" "DDP-126" disk_data
	t_case "$1: a file system" "" disk_file_system
	t_case "$1: the link goes down and up under load" "" disk_under_load link_down_and_up
	t_case "$1: the device is deleted under load" "" disk_goes device
	t_case "$1: the interface is deleted under load" "" disk_goes interface
	t_case "$1: the module is unloaded under load" "" disk_goes module
}
