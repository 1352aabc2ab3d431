# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# memory.sh: what limits a program's memory, in a case: control groups, and somewhere to
# swap to; sourced.

# groups CONTROLLER: in the version 2 hierarchy of control groups, wherever it is
groups() {
	local at
	at=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
	if [ -z "$at" ]; then
		at=$(mktemp -d)
		t_defer rmdir "$at"
		mount -t cgroup2 cgroup2 "$at" 2>/dev/null || t_skip "no control groups here"
		t_defer umount "$at"
	fi
	grep -qw "$1" "$at/cgroup.controllers" || t_skip "no control group for $1 here"
	GROUP=$at/rnic_sw-test
	echo "+$1" >"$at/cgroup.subtree_control"
	mkdir "$GROUP"
	t_defer rmdir "$GROUP"
	# for those who start it
	IN_GROUP=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP")
}

in_group() { "${IN_GROUP[@]}" "$@"; }

# swap MIB: somewhere to swap to, in memory itself: compressed, or a file there
swap() {
	local dev file=$T_CASE/swap
	[ -e /proc/swaps ] || t_skip "no swap in this kernel: CONFIG_SWAP"
	if modprobe zram 2>/dev/null && [ -e /sys/class/zram-control/hot_add ]; then
		dev=/dev/zram$(cat /sys/class/zram-control/hot_add)
		t_defer eval "echo ${dev#/dev/zram} >/sys/class/zram-control/hot_remove"
		echo "$1M" >"/sys/block/${dev#/dev/}/disksize"
	else
		truncate -s "$1M" "$file" && dev=$(losetup -f --show "$file") ||
			t_skip "nothing to swap to: CONFIG_ZRAM, or CONFIG_BLK_DEV_LOOP"
		t_defer rm -f "$file"
		t_defer losetup -d "$dev"
	fi
	mkswap "$dev" >/dev/null && swapon "$dev"
	t_defer swapoff "$dev"
}

# squeeze MIB: GROUP may have so much, and has somewhere to put the rest
squeeze() {
	swap 256
	groups memory
	echo $(($1 << 20)) >"$GROUP/memory.max"
}

# ... it had more than that, part of it elsewhere, and nobody was killed for it
was_squeezed() {
	grep . "$GROUP"/memory.{events,swap.peak} 2>/dev/null || :
	grep -q '^max [1-9]' "$GROUP/memory.events" && grep -qx 'oom_kill 0' "$GROUP/memory.events"
}
