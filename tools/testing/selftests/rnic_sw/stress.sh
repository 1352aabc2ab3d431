#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# stress.sh: what ends in the middle of traffic leaves nothing behind.
#
# T_ROUNDS=N rounds of each sort (8); a long run by hand takes 200.

# shellcheck disable=SC2154	# t_pids is lib.sh's
. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

ROUNDS=${T_ROUNDS:-8}
CONNECTIONS=${T_CONNECTIONS:-1000}

# objects DEV KIND: how many of them the core still knows
objects() {
	rdma resource show "$1" 2>/dev/null |
		awk -v kind="$2" '{ for (i = 1; i < NF; i++) if ($i == kind) n += $(i + 1) } END { print n + 0 }'
}

all_gone() {
	local kind
	for kind in qp mr cm_id; do
		[ "$(objects iw0 $kind)" -eq 0 ] || return 1
	done
}

nothing_left() {
	t_until "$T_TIME" all_gone && return
	rdma resource show
	t_fail "objects are left on iw0"
}

# Traffic both ways that does not end by itself, a pair NAME of programs
traffic() {
	local name=$1
	t_port
	t_bg "s$name" b rping -s -a "$B4" -p "$PORT" -S 60000
	t_listens b "$PORT"
	t_bg "c$name" a rping -c -a "$B4" -p "$PORT" -S 60000
}

sends_before=0
flowing() { [ "$(t_counter "$A_DEV" tx_sends)" -gt $((sends_before + 20)) ]; }
wait_flow() {
	sends_before=$(t_counter "$A_DEV" tx_sends)
	t_until "$T_TIME" flowing || t_fail "no traffic"
}

# The other end finds out by itself, long before its time is over
ends_soon() {
	local pid=${t_pids[$1]}
	t_until $((T_TIME / 3)) t_gone "$pid" || t_fail "$1 does not notice"
	unset "t_pids[$1]"
}

kill_one_end() {
	local round victim other
	for ((round = 1; round <= ROUNDS; round++)); do
		if ((RANDOM % 2)); then victim=s other=c; else victim=c other=s; fi
		traffic "$round"
		wait_flow
		sleep "0.0$((RANDOM % 10))"
		t_kill "$victim$round" KILL
		ends_soon "$other$round"
		nothing_left
	done
	echo "$ROUNDS rounds"
}

kill_both_of_many() {
	local i
	for i in 1 2 3 4; do traffic "$i"; done
	wait_flow
	for i in 1 2 3 4; do t_kill "s$i" KILL; t_kill "c$i" KILL; done
	nothing_left
}

del_link() {
	local round
	for ((round = 1; round <= ROUNDS; round++)); do
		traffic "$round"
		wait_flow
		t_drop_device iw0
		ends_soon "c$round"
		ends_soon "s$round"
		t_link iw0 t0
	done
}

reload_modules() {
	local round
	for ((round = 1; round <= (ROUNDS + 1) / 2; round++)); do
		traffic "$round"
		wait_flow
		t_drop_device iw0
		ends_soon "c$round"
		ends_soon "s$round"
		t_unload
		t_refused test -d "/sys/module/${T_MODULES[-1]}"
		modprobe rnic_sw
		t_link iw0 t0
	done
}

one_pair_works() { t_rping "$B4" -C 5; }

netdev_goes() {
	one_pair_works
	traffic x
	wait_flow
	ip link del t0
	ends_soon cx
	ends_soon sx
	t_until 20 test ! -e /sys/class/infiniband/iw0
}

new_interface() {
	t_until 20 test ! -e /sys/class/infiniband/iw0
	# not this case's: it stays for the next
	(one_interface)
	t_link iw0 t0
}

# Who connects while the device goes hears of a network that is down. SUNRPC tries
# again then; of an errno that it does not know it tells the program. What the core
# says when it has come first (EINVAL, ENXIO) is not ours.
called_while_it_goes() {
	local round going
	going=$(t_prog going)
	for ((round = 1; round <= ROUNDS; round++)); do
		t_port
		"$going" "$B4" "$PORT" t0 >>"$T_CASE/errnos"
		new_interface
	done
	sort "$T_CASE/errnos" | uniq -c
	t_check "no other errno than these" t_refused grep -vxE 'ENETDOWN|EINVAL|ENXIO' "$T_CASE/errnos"
	grep -q ENETDOWN "$T_CASE/errnos" && return
	t_check "one CPU, and no call came in time" [ "$(nproc)" -gt 1 ]
	t_skip "no call came in time"
}

# Nothing has come for half a second
stands() {
	local before
	before=$(t_counter "$A_DEV" rx_sends)
	sleep 0.5
	[ "$(t_counter "$A_DEV" rx_sends)" -eq "$before" ]
}

sends_there() { t_counter "$A_DEV" rx_sends; }

# so_many ROUNDS: the link goes down in the middle of that many. Each has two of the
# server's Sends, behind $before
so_many() {
	t_port
	before=$(sends_there)
	t_bg s b rping -s -a "$B4" -p "$PORT" -S 4000 -C "$1" -V
	t_listens b "$PORT"
	t_bg c a rping -c -a "$B4" -p "$PORT" -S 4000 -C "$1" -V
	wait_flow
	ip -n "$NS_A" link set va down
	t_check "traffic without a link" t_until 10 stands
	echo "$(($(sends_there) - before)) Sends of $((2 * $1)) were there"
	[ "$(($(sends_there) - before))" -lt $((2 * $1)) ]
}

both_end() {
	ip -n "$NS_A" link set va up
	t_pinged c
	t_wait s || t_closed_first "$T_CASE/s.log"
}

# Down and up again before the lower layer gives up: nothing is lost
link_bounces() {
	local rounds before
	two_hosts
	# over SCTP, with KASAN in QEMU, they take more than two minutes
	T_TIME=$((T_TIME * 3))
	for rounds in 300 1200 4800; do
		! so_many $rounds || break
		# who looks was slower than they
		both_end
	done
	t_check "the client has ended" t_alive c
	both_end
	t_check "not all rounds were done" test $(($(sends_there) - before)) -ge $((2 * rounds))
}

many_connections() {
	t_port
	# each process registers, connects and ends as many times
	T_TIME=$((T_TIME * 4))
	t_pair "$PORT" ucmatose -b "$B4" -p "$PORT" -c "$CONNECTIONS" -C 2 -S 100 -- \
		ucmatose -s "$B4" -b "$A4" -p "$PORT" -c "$CONNECTIONS" -C 2 -S 100
	nothing_left
}

# race_ends HOW...: each race ends, and leaves no connection and no module reference
race_ends() {
	local race how
	race=$(t_prog race)
	for how; do
		t_port
		timeout $((2 * T_TIME)) "$race" "$how" "$B4" "$PORT" "$((ROUNDS * 50))"
	done
	nothing_left
	t_drop_device iw0
	t_unload
	modprobe rnic_sw
	t_link iw0 t0
}

# Who is stopped in the middle of a call stops nobody else who makes one
nobody_waits() {
	local stopped how
	stopped=$(t_prog stopped)
	for how in connect listen unlisten count; do
		t_port
		timeout $((2 * T_TIME)) "$stopped" $how "$B4" \
			$((20000 + PORT % 50 * 500)) $((ROUNDS * 15))
	done
	nothing_left
}

# However many listen: who begins to, and who is looked for, passes by none of them
many_ports() {
	local ports
	ports=$(t_prog ports)
	timeout $((2 * T_TIME)) "$ports" "$B4" 20000 6000
	nothing_left
}

# come_and_go PORT ADDRESS: one program after the other listens there, for a moment
come_and_go() {
	while [ -e "$T_CASE/go" ]; do
		timeout -s KILL 0.$((RANDOM % 3 + 1)) rping -s -a "$2" -p "$1" ||
			[ $? -ne 137 ] || echo "$1" >>"$T_CASE/came"
	done
}

set_meanwhile() {
	local round word i before end
	modprobe -q iw_sctp_ddp || t_skip "no SCTP here, so nothing to choose"
	before=$(t_get iw0 listen)
	t_defer t_set iw0 listen "$before"
	touch "$T_CASE/go"
	t_defer rm -f "$T_CASE/go"
	t_port
	for i in 0 1 2; do
		come_and_go $((PORT + i)) 0.0.0.0 >/dev/null 2>&1 &
		come_and_go $((PORT + i + 10)) "$B4" >/dev/null 2>&1 &
	done
	end=$((SECONDS + ROUNDS * 3))
	for ((round = 0; round < ROUNDS * 5 && (round < 3 || SECONDS < end); round++)); do
		for word in both sctp tcp; do
			t_set iw0 listen "$word"
			t_set iw0 crc $((RANDOM % 2))
		done
	done
	rm "$T_CASE/go"
	wait
	t_check "nobody came to listen" test -s "$T_CASE/came"
	t_set iw0 crc 1
	t_set iw0 listen "$before"
	t_rping "$B4" -C 3
	nothing_left
}

t_case "link down and up in the middle of traffic" "DDP-3" link_bounces
one_device
t_case "one end killed in the middle of traffic" "DDP-78" kill_one_end
t_case "four pairs killed at once" "" kill_both_of_many
t_case "queue pairs destroyed while they connect" "" race_ends connect accept
t_case "a caller that is stopped delays no other" "" nobody_waits
t_case "listening takes no longer where many listen" "" many_ports
t_case "the device is set while who listens comes and goes" "" set_meanwhile
t_case "$CONNECTIONS connections at once" "" many_connections
t_case "device deleted under traffic" "" del_link
t_case "modules unloaded and loaded after traffic" "" reload_modules
t_case "a call while the interface goes" "" called_while_it_goes
t_case "interface deleted under traffic" "" netdev_goes
t_end
