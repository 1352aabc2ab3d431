#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/by_hand.sh: all programs of perftest without rdma_cm: they exchange GIDs and numbers of
# queue pairs over TCP, and connect with ibv_modify_qp(). rendezvous.sh runs some of them.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"
. "$(dirname "$(readlink -f "$0")")/../lib/gids.sh"

readonly programs="ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw \
	ib_send_lat ib_write_lat ib_read_lat ib_atomic_lat"

# Before version 23.07, perftest without -R does not deregister an MR if it sends on an iWARP
# device. So after all data has passed, it cannot deallocate its PD: accept this one failure.
# shellcheck disable=SC2016
accept_pd_failure=(bash -c 'out=$("$@" 2>&1) || status=$?
	echo "$out"
	[ "${status:-0}" -eq 0 ] || [ "$(grep -o "Failed.*" <<<"$out")" = \
		"Failed to deallocate PD - Device or resource busy" ]' -)

# count_connections: print how many connections a's device has made or accepted
count_connections() {
	echo $(($(t_print_counter "$A_DEV" connects) + $(t_print_counter "$A_DEV" accepts)))
}

# run_perftest_without_cm PROGRAM ADDRESS_A ADDRESS_B ARGS...: run PROGRAM with the GIDs of these
# addresses; if they are empty, let it choose the GIDs
run_perftest_without_cm() {
	local prog=$1 gid_a=() gid_b=() before
	skip_without_program "$prog" perftest
	[ -z "$2" ] || gid_a=(-x "$(print_gid_index_of a "$2")")
	[ -z "$3" ] || gid_b=(-x "$(print_gid_index_of b "$3")")
	shift 3
	t_choose_port
	before=$(count_connections)
	t_run_pair "$PORT" "${accept_pd_failure[@]}" "$prog" -F -d "$B_DEV" "${gid_b[@]}" \
		-p "$PORT" "$@" -- \
		"${accept_pd_failure[@]}" "$prog" -F -d "$A_DEV" "${gid_a[@]}" -p "$PORT" "$@" "$B4"
	# in UML perftest sometimes fails to calibrate its clock, and then reports infinite times
	t_check "the program reports a result" \
		grep -qE '^ *[0-9]+ +[0-9]+ +([0-9.]+|inf)' "$T_CASE/client.log"
	t_check "the device has connected" [ "$(count_connections)" -gt "$before" ]
}

# define_cases_of_programs WORDS ADDRESS_A ADDRESS_B ARGS...: one case for each program
define_cases_of_programs() {
	local words=$1 prog
	shift
	for prog in $programs; do
		t_case "$prog, $words" "" run_perftest_without_cm "$prog" "$@"
	done
}

n=$(t_scale_rounds 500)
create_one_device
define_cases_of_programs "one device" "$A4" "$B4" -n "$n"
create_two_hosts
define_cases_of_programs "two hosts, IPv4" "$A4" "$B4" -n "$n"
define_cases_of_programs "two hosts, IPv6" "$A6" "$B6" -n "$n"
define_cases_of_programs "two hosts, GIDs chosen by the program" "" "" -n "$n"
# 16 flows: with more messages, the case would come close to its time limit over SCTP
t_case "ib_write_bw, 8 queue pairs, both directions" "" run_perftest_without_cm ib_write_bw \
	"$A4" "$B4" -q 8 -b -n "$((n / 10))"
t_print_summary_and_exit
