#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# stress.sh: end programs, and remove devices, interfaces and modules, during traffic. No object
# may be left.
#
# T_ROUNDS=N: number of rounds (8); use 200 for a long manual run.

# shellcheck disable=SC2154	# lib.sh sets t_pids
. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

ROUNDS=${T_ROUNDS:-8}
CONNECTIONS=${T_CONNECTIONS:-1000}

# count_objects DEV KIND: print how many objects of KIND on DEV the RDMA core knows
count_objects() {
	rdma resource show "$1" 2>/dev/null |
		awk -v kind="$2" \
			'{ for (i = 1; i < NF; i++) if ($i == kind) n += $(i + 1) } END { print n + 0 }'
}

has_no_objects() {
	local kind
	for kind in qp mr cm_id; do
		[ "$(count_objects iw0 $kind)" -eq 0 ] || return 1
	done
}

check_nothing_left() {
	t_wait_until "$T_TIME" has_no_objects && return
	rdma resource show
	t_fail "objects are left on iw0"
}

# start_traffic NAME: start a pair of programs that transfer data in both directions until killed
start_traffic() {
	local name=$1
	t_choose_port
	t_start "s$name" b rping -s -a "$B4" -p "$PORT" -S 60000
	t_wait_listener b "$PORT"
	t_start "c$name" a rping -c -a "$B4" -p "$PORT" -S 60000
}

sends_before=0
has_traffic() { [ "$(t_print_counter "$A_DEV" tx_sends)" -gt $((sends_before + 20)) ]; }
wait_for_traffic() {
	sends_before=$(t_print_counter "$A_DEV" tx_sends)
	t_wait_until "$T_TIME" has_traffic || t_fail "no traffic"
}

# check_program_ends_soon NAME: check that a program exits because the other end has ended, and not
# at its time limit
check_program_ends_soon() {
	local pid=${t_pids[$1]}
	t_wait_until $((T_TIME / 3)) t_has_process_exited "$pid" || t_fail "$1 has not noticed"
	unset "t_pids[$1]"
}

program_exits_if_peer_is_killed() {
	local round victim other
	for ((round = 1; round <= ROUNDS; round++)); do
		if ((RANDOM % 2)); then victim=s other=c; else victim=c other=s; fi
		start_traffic "$round"
		wait_for_traffic
		sleep "0.0$((RANDOM % 10))"
		t_kill "$victim$round" KILL
		check_program_ends_soon "$other$round"
		check_nothing_left
	done
	echo "$ROUNDS rounds"
}

many_pairs_can_be_killed() {
	local i
	for i in 1 2 3 4; do start_traffic "$i"; done
	wait_for_traffic
	for i in 1 2 3 4; do t_kill "s$i" KILL; t_kill "c$i" KILL; done
	check_nothing_left
}

devices_can_be_deleted_under_traffic() {
	local round
	for ((round = 1; round <= ROUNDS; round++)); do
		start_traffic "$round"
		wait_for_traffic
		t_delete_device iw0
		check_program_ends_soon "c$round"
		check_program_ends_soon "s$round"
		t_create_device iw0 t0
	done
}

modules_can_be_reloaded_after_traffic() {
	local round
	for ((round = 1; round <= (ROUNDS + 1) / 2; round++)); do
		start_traffic "$round"
		wait_for_traffic
		t_delete_device iw0
		check_program_ends_soon "c$round"
		check_program_ends_soon "s$round"
		t_unload_modules
		t_check_fails test -d "/sys/module/${T_MODULES[-1]}"
		modprobe rnic_sw
		t_create_device iw0 t0
	done
}

check_rping_works() { t_run_rping_pair "$B4" -C 5; }

interface_can_be_deleted_under_traffic() {
	check_rping_works
	start_traffic x
	wait_for_traffic
	ip link del t0
	check_program_ends_soon cx
	check_program_ends_soon sx
	t_wait_until 20 test ! -e /sys/class/infiniband/iw0
}

recreate_interface_and_device() {
	t_wait_until 20 test ! -e /sys/class/infiniband/iw0
	# run in a subshell, so that this case does not delete the interface, which the next case
	# uses
	(create_one_interface)
	t_create_device iw0 t0
}

# A connect during the removal of the device must fail with ENETDOWN, because SUNRPC retries after
# that errno, but passes unknown errnos on to the program. EINVAL and ENXIO come from the RDMA core.
connect_during_removal_fails_with_enetdown() {
	local round going
	going=$(t_find_program going)
	for ((round = 1; round <= ROUNDS; round++)); do
		t_choose_port
		"$going" "$B4" "$PORT" t0 >>"$T_CASE/errnos"
		recreate_interface_and_device
	done
	sort "$T_CASE/errnos" | uniq -c
	t_check "only ENETDOWN, EINVAL and ENXIO are returned" \
		t_check_fails grep -vxE 'ENETDOWN|EINVAL|ENXIO' "$T_CASE/errnos"
	grep -q ENETDOWN "$T_CASE/errnos" && return
	t_check "on one CPU a connect gets ENETDOWN" [ "$(nproc)" -gt 1 ]
	t_skip "no connect met the removal; with several CPUs that is a matter of timing"
}

# check_no_send_arrives: check that no Send arrives in half a second
check_no_send_arrives() {
	local before
	before=$(t_print_counter "$A_DEV" rx_sends)
	sleep 0.5
	[ "$(t_print_counter "$A_DEV" rx_sends)" -eq "$before" ]
}

print_rx_sends() { t_print_counter "$A_DEV" rx_sends; }

# start_rping_and_set_link_down ROUNDS: start rping with this many rounds, and set the link down
# during these. In each round the server sends two Sends, which are counted from $before.
start_rping_and_set_link_down() {
	t_choose_port
	before=$(print_rx_sends)
	t_start s b rping -s -a "$B4" -p "$PORT" -S 4000 -C "$1" -V
	t_wait_listener b "$PORT"
	t_start c a rping -c -a "$B4" -p "$PORT" -S 4000 -C "$1" -V
	wait_for_traffic
	ip -n "$NS_A" link set va down
	t_check "no traffic without a link" t_wait_until 10 check_no_send_arrives
	echo "$(($(print_rx_sends) - before)) of $((2 * $1)) Sends have arrived"
	[ "$(($(print_rx_sends) - before))" -lt $((2 * $1)) ]
}

set_link_up_and_wait_for_rping() {
	ip -n "$NS_A" link set va up
	t_wait_rping c
	t_wait s || t_has_event_channel_error "$T_CASE/s.log"
}

# If the link comes up again before the LLP gives up, no data may be lost
no_data_lost_if_link_returns() {
	local rounds before
	create_two_hosts
	# extend the time limit: over SCTP the case takes more than two minutes in QEMU with KASAN
	T_TIME=$((T_TIME * 3))
	for rounds in 300 1200 4800; do
		! start_rping_and_set_link_down $rounds || break
		# if all rounds were done before the link went down, repeat with more rounds
		set_link_up_and_wait_for_rping
	done
	t_check "the client still runs" t_is_alive c
	set_link_up_and_wait_for_rping
	t_check "all rounds are done" test $(($(print_rx_sends) - before)) -ge $((2 * rounds))
}

many_connections_leave_nothing() {
	t_choose_port
	# each of the two processes registers memory, connects and disconnects $CONNECTIONS times
	T_TIME=$((T_TIME * 4))
	t_run_pair "$PORT" ucmatose -b "$B4" -p "$PORT" -c "$CONNECTIONS" -C 2 -S 100 -- \
		ucmatose -s "$B4" -b "$A4" -p "$PORT" -c "$CONNECTIONS" -C 2 -S 100
	check_nothing_left
}

# connect_races_leave_nothing HOW...: run races, and check that each leaves no connection and no
# module reference
connect_races_leave_nothing() {
	local race how
	race=$(t_find_program race)
	for how; do
		t_choose_port
		timeout $((2 * T_TIME)) "$race" "$how" "$B4" "$PORT" "$((ROUNDS * 50))"
	done
	check_nothing_left
	t_delete_device iw0
	t_unload_modules
	modprobe rnic_sw
	t_create_device iw0 t0
}

# Queue pairs that ibv_modify_qp() connects are destroyed at random moments, by their program or
# because it is killed
modify_qp_races_leave_nothing() {
	local modify round
	modify=$(t_find_program modify)
	timeout $((2 * T_TIME)) "$modify" iw0 "$((ROUNDS * 20))" ||
		t_fail "modify reports an error"
	for ((round = 1; round <= ROUNDS; round++)); do
		timeout -s KILL "0.$((RANDOM % 5 + 1))" "$modify" iw0 1000000 ||
			[ $? -eq 137 ] || t_fail "modify has failed before it was killed"
	done
	check_nothing_left
	! on a ss -tlnH "sport = :291" | grep -q . || t_fail "the rendezvous port is still open"
	t_delete_device iw0
	t_unload_modules
	modprobe rnic_sw
	t_create_device iw0 t0
}

# A process that is stopped during a call must not delay the calls of other processes
stopped_process_delays_no_other() {
	local stopped how
	stopped=$(t_find_program stopped)
	for how in connect listen unlisten count; do
		t_choose_port
		timeout $((2 * T_TIME)) "$stopped" $how "$B4" \
			$((20000 + PORT % 50 * 500)) $((ROUNDS * 15))
	done
	check_nothing_left
}

# The time to start a listener, and to look one up, must not depend on the number of listeners
listen_cost_is_independent_of_listeners() {
	local ports
	ports=$(t_find_program ports)
	timeout $((2 * T_TIME)) "$ports" "$B4" 20000 6000
	check_nothing_left
}

# restart_listener_often PORT ADDRESS: repeatedly start a listener and kill it after a moment
restart_listener_often() {
	while [ -e "$T_CASE/go" ]; do
		timeout -s KILL 0.$((RANDOM % 3 + 1)) rping -s -a "$2" -p "$1" ||
			[ $? -ne 137 ] || echo "$1" >>"$T_CASE/came"
	done
}

setting_can_change_while_listeners_start() {
	local round word i before end
	modprobe -q iw_sctp_ddp || t_skip "SCTP is not available, so there is nothing to set"
	before=$(t_print_setting iw0 listen)
	t_defer t_change_setting iw0 listen "$before"
	touch "$T_CASE/go"
	t_defer rm -f "$T_CASE/go"
	t_choose_port
	for i in 0 1 2; do
		restart_listener_often $((PORT + i)) 0.0.0.0 >/dev/null 2>&1 &
		restart_listener_often $((PORT + i + 10)) "$B4" >/dev/null 2>&1 &
	done
	end=$((SECONDS + ROUNDS * 3))
	for ((round = 0; round < ROUNDS * 5 && (round < 3 || SECONDS < end); round++)); do
		for word in both sctp tcp; do
			t_change_setting iw0 listen "$word"
			t_change_setting iw0 crc $((RANDOM % 2))
		done
	done
	rm "$T_CASE/go"
	wait
	t_check "listeners were started" test -s "$T_CASE/came"
	t_change_setting iw0 crc 1
	t_change_setting iw0 listen "$before"
	t_run_rping_pair "$B4" -C 3
	check_nothing_left
}

t_case "link down and up in the middle of traffic" "DDP-3" no_data_lost_if_link_returns
create_one_device
t_case "one end killed in the middle of traffic" "DDP-78" program_exits_if_peer_is_killed
t_case "four pairs killed at the same time" "" many_pairs_can_be_killed
t_case "queue pairs destroyed while they connect" "" connect_races_leave_nothing connect accept
t_case "queue pairs connected by ibv_modify_qp() destroyed while they connect" "" \
	modify_qp_races_leave_nothing
t_case "a process stopped during a call delays no other" "" stopped_process_delays_no_other
t_case "listening takes no longer with many listeners" "" listen_cost_is_independent_of_listeners
t_case "settings changed while listeners are started and closed" "" \
	setting_can_change_while_listeners_start
t_case "$CONNECTIONS connections at the same time" "" many_connections_leave_nothing
t_case "device deleted under traffic" "" devices_can_be_deleted_under_traffic
t_case "modules unloaded and loaded after traffic" "" modules_can_be_reloaded_after_traffic
t_case "a connect while the interface is removed" "" connect_during_removal_fails_with_enetdown
t_case "interface deleted under traffic" "" interface_can_be_deleted_under_traffic
t_print_summary_and_exit
