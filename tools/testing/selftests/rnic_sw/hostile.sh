#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# hostile.sh: run a hostile program that writes invalid data wherever its device allows, and at
# the same time an honest program whose traffic must continue. The kernel's watchdogs are on.
#
# T_SECONDS=S: duration (15); T_SEED=N: seed (1); T_FIRST=M: number of the first session.

# shellcheck disable=SC2154	# lib.sh sets t_pids
. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"
. "$(dirname "$(readlink -f "$0")")/lib/memory.sh"

SECONDS_OF_IT=${T_SECONDS:-15}
SLACK=16384	# KiB by which the kernel's memory may change without a leak

HOSTILE=$(t_find_program hostile) || t_skip_all "program hostile is not built (make)"

# Make the kernel report CPUs and tasks that are stuck for longer than these limits.
enable_watchdogs() {
	local k=/proc/sys/kernel
	set_until_case_end $k/watchdog_thresh 3
	set_until_case_end $k/hung_task_timeout_secs 40
	set_until_case_end $k/softlockup_all_cpu_backtrace 0
	set_until_case_end /sys/module/rcupdate/parameters/rcu_cpu_stall_timeout 8
}

# set_until_case_end FILE VALUE: write VALUE to FILE until the end of the case
set_until_case_end() {
	[ -e "$1" ] || return 0
	t_defer eval "echo $(cat "$1") >$1"
	echo "$2" >"$1"
}

# If the kernel supports it, let KSM merge pages and provide swap, so that pages move.
enable_page_moves() {
	local ksm=/sys/kernel/mm/ksm
	if [ -e $ksm/run ]; then
		echo 1000 >$ksm/pages_to_scan
		echo 1 >$ksm/run
		t_defer eval "echo 2 >$ksm/run"
	fi
	if [ -e /proc/swaps ] && { modprobe zram || modprobe loop; } 2>/dev/null; then
		enable_swap 64
	fi
}

# Drop the caches and print the memory that the kernel uses, in KiB
drop_caches_and_print_kernel_memory() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^(SUnreclaim|VmallocUsed|Percpu|KernelStack|PageTables):/ { n += $2 } END { print n }' /proc/meminfo
}

has_no_objects() {
	rdma resource show iw0 |
		awk '{ for (i = 1; i < NF; i++) if ($i ~ /^(qp|mr|cm_id|ctx)$/) n += $(i + 1) } END { exit n != 0 }'
}

is_kernel_memory_freed() { [ "$(drop_caches_and_print_kernel_memory)" -lt $(($1 + SLACK)) ]; }

honest_sends=0
has_honest_traffic() { [ "$(t_print_counter iw0 tx_sends)" -gt $((honest_sends + 10)) ]; }

hostile_program_does_not_stop_others() {
	local before
	enable_watchdogs
	enable_page_moves
	before=$(drop_caches_and_print_kernel_memory)
	t_choose_port
	t_start server b rping -s -a "$B4" -p "$PORT" -V -S 4000
	t_wait_listener b "$PORT"
	t_start client a rping -c -a "$B4" -p "$PORT" -V -S 4000
	timeout -k 20 $((SECONDS_OF_IT + 120)) "$HOSTILE" -a "$B4" -s "$SECONDS_OF_IT" \
		-r "${T_SEED:-1}" -f "${T_FIRST:-0}" ||
			t_fail "a session of the hostile program hangs, or none connects"
	t_is_alive client || t_fail "the honest program has exited"
	honest_sends=$(t_print_counter iw0 tx_sends)
	t_wait_until "$T_TIME" has_honest_traffic || t_fail "the honest program makes no progress"
	t_kill client
	t_kill server
	t_wait_until "$T_TIME" has_no_objects || { rdma resource show; t_fail "objects are left"; }
	echo "$before KiB before, $(drop_caches_and_print_kernel_memory) KiB after"
	t_wait_until 30 is_kernel_memory_freed "$before" ||
		t_fail "the kernel's memory has grown: $before KiB before, $(drop_caches_and_print_kernel_memory) now"
}

rping_still_works() { t_run_rping_pair "$B4" -C 10; }

create_one_device
t_case "a hostile program beside an honest one" "SEC-4 SEC-6 DDP-130" \
	hostile_program_does_not_stop_others
t_case "the device still works" "" rping_still_works
t_print_summary_and_exit
