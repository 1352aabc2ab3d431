# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# memory.sh: limit a program's memory with control groups, and provide swap; sourced.

# create_cgroup CONTROLLER: create a control group (cgroup v2) with CONTROLLER; set GROUP and
# IN_GROUP
create_cgroup() {
	local at
	at=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
	if [ -z "$at" ]; then
		at=$(mktemp -d)
		t_defer rmdir "$at"
		mount -t cgroup2 cgroup2 "$at" 2>/dev/null || t_skip "no cgroup v2 in this kernel"
		t_defer umount "$at"
	fi
	grep -qw "$1" "$at/cgroup.controllers" || t_skip "cgroup controller $1 is not available"
	GROUP=$at/rnic_sw-test
	echo "+$1" >"$at/cgroup.subtree_control"
	mkdir "$GROUP"
	t_defer rmdir "$GROUP"
	# prefix of a command that is to run in the group
	IN_GROUP=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP")
}

run_in_cgroup() { "${IN_GROUP[@]}" "$@"; }

# enable_swap MIB: enable swap of MIB in memory: on a zram device, or in a file through a loop
# device
enable_swap() {
	local dev file=$T_CASE/swap
	[ -e /proc/swaps ] || t_skip "swap is not available in this kernel (CONFIG_SWAP)"
	if modprobe zram 2>/dev/null && [ -e /sys/class/zram-control/hot_add ]; then
		dev=/dev/zram$(cat /sys/class/zram-control/hot_add)
		t_defer eval "echo ${dev#/dev/zram} >/sys/class/zram-control/hot_remove"
		echo "$1M" >"/sys/block/${dev#/dev/}/disksize"
	else
		truncate -s "$1M" "$file" && dev=$(losetup -f --show "$file") ||
			t_skip "no swap device (CONFIG_ZRAM or CONFIG_BLK_DEV_LOOP)"
		t_defer rm -f "$file"
		t_defer losetup -d "$dev"
	fi
	mkswap "$dev" >/dev/null && swapon "$dev"
	t_defer swapoff "$dev"
}

# create_memory_limited_cgroup MIB: enable swap and limit the memory of GROUP to MIB
create_memory_limited_cgroup() {
	enable_swap 256
	create_cgroup memory
	echo $(($1 << 20)) >"$GROUP/memory.max"
}

# Check that the control group GROUP has reached its memory limit, and that the OOM killer has
# killed none of its processes
has_reached_limit_without_oom() {
	grep . "$GROUP"/memory.{events,swap.peak} 2>/dev/null || :
	grep -q '^max [1-9]' "$GROUP/memory.events" && grep -qx 'oom_kill 0' "$GROUP/memory.events"
}
