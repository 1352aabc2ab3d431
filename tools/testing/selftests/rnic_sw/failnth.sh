#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# failnth.sh: make every fourth of the slab and page allocations fail whose call chain contains a
# function of the driver, in any context. Each failure must return an errno, end a connection at
# both ends, or have no effect; the next try must succeed. See src/failnth/failnth.c.
#
# If sctp_accept() has no memory for an endpoint, the kernel logs "Attempt to release TCP socket in
# state 10", because it frees the new SCTP socket while the socket has the state of the listener.
# The message is harmless: nothing leaks.
#
# T_LONG=1: fail every such allocation once, and log which function allocated;
# T_WAYS=task,slab,page: use only these ways: /proc/self/fail-nth, failslab, fail_page_alloc.

# shellcheck disable=SC2154	# lib.sh sets t_count
. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

DEBUG=/sys/kernel/debug
OURS=${T_MODULES[*]}
FAILNTH=$(t_find_program failnth) || t_skip_all "program failnth is not built (make)"

{ [ -e $DEBUG/failslab/require-start ] && [ -e /proc/self/fail-nth ]; } ||
	t_skip_all "this kernel cannot inject allocation failures by caller (CONFIG_FAILSLAB)"

# set_failure_option FILE VALUE: set an option of failslab and of fail_page_alloc
set_failure_option() {
	local kind
	for kind in failslab fail_page_alloc; do
		[ ! -e $DEBUG/$kind/"$1" ] || echo "$2" >$DEBUG/$kind/"$1"
	done
}

# Make only allocations fail that have a function of the driver on the stack, except those of
# kmemleak
restrict_failures_to_driver() {
	local range
	range=$(awk -v ours=" $OURS " '
		NF == 4 && index(ours, " " substr($4, 2, length($4) - 2) " ") && $2 ~ /^[tT]$/ {
			at = "0x" $1
			if (!first || at < first) first = at
			if (at > last) last = at
		}
		END { print first, last }' /proc/kallsyms)
	set_failure_option require-start "${range% *}"
	set_failure_option require-end "${range#* }"
	range=$(awk '$3 == "kmemleak_alloc" { at = "0x" $1; next }
		at && "0x" $1 > at { print at, "0x" $1; exit }' /proc/kallsyms)
	set_failure_option reject-start "${range% *}"
	set_failure_option reject-end "${range#* }"
}

# Do not filter by task, cache, flags or size
disable_other_filters() {
	set_failure_option task-filter N
	set_failure_option ignore-gfp-wait N
	set_failure_option ignore-gfp-highmem N
	set_failure_option cache-filter N
	set_failure_option min-order 0
	set_failure_option stacktrace-depth 32
	set_failure_option space 0
	set_failure_option verbose $((${T_LONG:+2} + 0))
}

disable_failures() {
	set_failure_option probability 0
	set_failure_option require-start 0
	set_failure_option require-end 18446744073709551615
	set_failure_option reject-start 0
	set_failure_option reject-end 0
}

# check_number_of_allocations N: check that the scene has at least N allocations. Only one in $EVERY
# of them fails and is counted, so the number of allocations is estimated.
check_number_of_allocations() {
	local n
	n=$(sed -n 's/^injected //p' "$T_CASE/log")
	t_check "there are at least $1 allocations ($n have failed, one in $EVERY)" \
		[ $((n * EVERY)) -ge "$1" ]
}

# run_failnth_scene LEAST SCENE LLP WAYS: run one scene of the program failnth, and check that it
# has at least LEAST allocations
run_failnth_scene() {
	export RNIC_SW_LLP=$3
	t_set_listen_llp iw0 "$3"
	timeout -k 20 1500 "$FAILNTH" -a "$B4" -e "$EVERY" -f "$FIRST" -w "${T_WAYS:-$4}" "$2" ||
		t_fail "failnth reports errors"
	[ -n "${T_WAYS:-}" ] || check_number_of_allocations "$1"
}

# define_case NAME LEAST SCENE [LLP [WAYS]]: define a case, and print which allocations failed in it
define_case() {
	local before=$t_count
	t_case "$1" "" run_failnth_scene "$2" "$3" "${4:-tcp}" "${5:-task,slab,page}"
	[ "$t_count" -eq "$before" ] || grep -E '^# .*(made to fail|times:|took)' "$T_CASE/log"
}

rping_still_works() {
	t_set_listen_llp iw0 tcp
	t_run_rping_pair "$B4" -C 10
}

# Load all modules first: the filter is the range of addresses from the first module to the last
modprobe -a -q "${T_MODULES[@]}"
EVERY=1 FIRST=1
[ -n "${T_LONG:-}" ] || EVERY=4 FIRST=$((${T_SEED:-1} % 4 + 1))
create_one_device
t_run_or_bail_out ip link add t1 type dummy
t_defer ip link del t1
t_run_or_bail_out ip addr add 10.9.9.1/24 dev t1
t_run_or_bail_out ip link set t1 up
restrict_failures_to_driver
t_defer disable_failures
disable_other_filters
define_case "verbs objects" 90 verbs
# the way "task" is left out: all allocations of this scene are in the context of the caller, so
# "slab" and "page" make the same ones fail
define_case "device added and deleted" 500 device tcp slab,page
define_case "connect, accept, traffic, disconnect, over tcp" 150 traffic tcp
define_case "reject, over tcp" 90 reject tcp
define_case "queue pair destroyed, over tcp" 130 drop tcp
define_case "queue pairs connected by ibv_modify_qp(), over tcp" 150 modify tcp
if [ -d /sys/module/iw_sctp_ddp ]; then
	define_case "connect, accept, traffic, disconnect, over sctp" 250 traffic sctp
	define_case "reject, over sctp" 200 reject sctp
	define_case "queue pair destroyed, over sctp" 250 drop sctp
	define_case "queue pairs connected by ibv_modify_qp(), over sctp" 200 modify sctp
fi
t_case "the device still works" "" rping_still_works
t_print_summary_and_exit
