#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# sctp.sh: RDMA over SCTP (RFC 5043): programs choose it by RNIC_SW_LLP, and
# listeners take it beside TCP. What is the same over TCP and SCTP the other
# scripts show, run as sctp_*.sh.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

export RNIC_SW_LLP=sctp

# Idle associations and those that close do not count.
associations() { on a ss -HnS | grep -c "^ESTAB.*:$1 *\$" || true; }
# made: how many a has ever made: they go some seconds after the programs
made() { on a awk '$1 == "SctpActiveEstabs" { print $2 }' /proc/net/sctp/snmp; }
qps() { on "$1" rdma resource show qp | grep -c 'state RTS' || true; }
tcp_connects() { echo $(($(t_counter "$A_DEV" connects) - $(t_counter "$A_DEV" connects_sctp))); }

# no_tcp COMMAND...: it connects, but not over TCP
no_tcp() {
	local before
	before=$(tcp_connects)
	"$@"
	t_check "a TCP connection was made" [ "$(tcp_connects)" -eq "$before" ]
}

# llp HOST WORD VALUE: what a device is set to
llp() {
	if [ "$1" = a ]; then t_set "$A_DEV" "$2" "$3" "$NS_A"; else t_set "$B_DEV" "$2" "$3" "$NS_B"; fi
}

llp_of() {
	if [ "$1" = a ]; then t_get "$A_DEV" "$2" "$NS_A"; else t_get "$B_DEV" "$2" "$NS_B"; fi
}

ping_sizes() {
	local size
	for size in 32 1000 1452 4096 16384 65535; do
		t_rping "$1" -C 5 -S "$size" -V
	done
}

ping_both() {
	t_port
	t_pair "$PORT" rping -s -a "$B4" -p "$PORT" -C 5 -- \
		env RNIC_SW_LLP=tcp rping -c -a "$B4" -p "$PORT" -C 5 ||
		t_closed_first "$T_CASE/client.log" "$T_CASE/server.log"
	t_check "not all rounds were done" t_whole "$T_CASE/client.log"
	t_port
	t_bg server b rping -s -P -a "$B4" -p "$PORT"
	t_listens b "$PORT"
	t_call "$B4" -C 3
	RNIC_SW_LLP=tcp t_call "$B4" -C 3
	t_call "$B4" -C 3
}

ping_nobody() {
	t_port
	t_refuses "RDMA_CM_EVENT_REJECTED, error -104" on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 1
	# there is an association, but nobody to ask
	t_rping "$B4" -C 1
	t_refuses "RDMA_CM_EVENT_REJECTED, error -104" on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 1
}

# traffic TAG: a pair of programs that goes on until somebody ends it
traffic() {
	t_port
	t_bg "s$1" b rping -s -a "$B4" -p "$PORT" -S 20000
	t_listens b "$PORT"
	t_bg "c$1" a rping -c -a "$B4" -p "$PORT" -S 20000
}

# crowd N: so many programs on a, each with a queue pair to one server on b
crowd() {
	local i
	t_port
	t_bg server b rping -s -P -a "$B4" -p "$PORT"
	t_listens b "$PORT"
	for ((i = 1; i <= $1; i++)); do
		t_bg "c$i" a rping -c -a "$B4" -p "$PORT"
		# its server forgets a request if the next comes at once
		t_until "$T_TIME" has_qps "$i" || t_fail "client $i is not connected"
	done
	on a ss -nS
}

sends() { t_counter "$B_DEV" rx_sends; }
more_sends() { [ "$(sends)" -gt $(($1 + 5)) ]; }
flows() { t_until "$T_TIME" more_sends "$(sends)" || t_fail "no traffic"; }
has_qps() { [ "$(qps a)" -ge "$1" ]; }
# The other end finds out by itself.
ends_soon() { t_until "${2:-30}" t_ended "$1" || t_fail "$1 goes on"; }

# Queue pairs of different programs, one association.
share() {
	crowd 8
	t_check "8 queue pairs are on one association" test "$(associations "$PORT")" = 1
	flows
}

# Two streams each way: five queue pairs need three associations.
use_up() {
	llp a streams 2
	t_defer llp a streams 0
	crowd 5
	t_check "5 queue pairs are on 3 associations" test "$(associations "$PORT")" = 3
	flows
}

# The same if it is the peer that allows no more, and all wait for the first one.
allowed_few() {
	local before
	llp b streams 2
	t_defer llp b streams 0
	t_netem a "$A_IF" delay 400ms
	before=$(made)
	t_pair 7471 ucmatose -b "$B4" -c 5 -C 5 -- ucmatose -s "$B4" -c 5 -C 5
	t_check "5 queue pairs were on 3 associations" test $(($(made) - before)) = 3
}

kill_one() {
	local round
	for round in 1 2 3 4; do
		traffic "$round"
		flows
		if ((round % 2)); then
			t_kill "c$round" KILL
			ends_soon "s$round"
		else
			t_kill "s$round" KILL
			ends_soon "c$round"
		fi
	done
	t_rping "$B4" -C 3
}

# The other one on the association goes on.
kill_beside() {
	crowd 2
	t_check "they share an association" test "$(associations "$PORT")" = 1
	t_kill c1 KILL
	sleep 1
	flows
	t_check "the other one is alive" t_alive c2
}

del_link() {
	traffic 1
	flows
	on a rdma link del "$A_DEV"
	ends_soon c1
	ends_soon s1
	t_link "$A_DEV" "$A_IF" "$NS_A"
	traffic 2
	flows
	on b rdma link del "$B_DEV"
	ends_soon s2
	ends_soon c2
	t_link "$B_DEV" "$B_IF" "$NS_B"
	t_rping "$B4" -C 3
}

reload() {
	on a rdma link del "$A_DEV"
	on b rdma link del "$B_DEV"
	t_unload
	t_check "all modules are gone" test ! -d "/sys/module/${T_MODULES[-1]}"
	modprobe rnic_sw
	t_link "$A_DEV" "$A_IF" "$NS_A"
	t_link "$B_DEV" "$B_IF" "$NS_B"
	t_check "the module came when it was asked for" test -d /sys/module/iw_sctp_ddp
	t_rping "$B4" -C 3
}

has_carrier() { on "$1" ip -o link show dev "$2" | grep -q ' state UP '; }

# The kernel looks for carriers once in a second: what is asked for before is lost, and
# rdma_cm asks for an address for two
peer_back() {
	on b ip link set "$B_IF" up
	t_until "$T_TIME" has_carrier a "$A_IF" && t_until "$T_TIME" has_carrier b "$B_IF"
}

# SCTP notices by itself that nobody answers.
peer_gone() {
	# both notice, not timeout
	T_TIME=$((T_TIME * 3))
	traffic 1
	flows
	on b ip link set "$B_IF" down
	t_defer peer_back
	ends_soon c1 100
	ends_soon s1 100
}

# netem WORDS...: both directions suffer
netem() {
	t_netem a "$A_IF" "$@"
	t_netem b "$B_IF" "$@"
	EARLY=$(t_counter "$A_DEV" rx_placed_early)
}

some_early() {
	local now
	now=$(t_counter "$A_DEV" rx_placed_early)
	echo "$((now - EARLY)) segments were placed before their turn"
	t_check "nothing was placed early" test "$now" -gt "$EARLY"
}

# How many packets netem has lost, at both hosts
lost() {
	{ on a tc -s qdisc show dev "$A_IF" && on b tc -s qdisc show dev "$B_IF"; } |
		sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

some_lost() { t_check "nothing was lost" test "$(lost)" -gt 0; }

# reordered WORDS...: packets overtake each other; and some get lost, if WORDS say so
reordered() {
	# two minutes where QEMU translates
	T_TIME=$((T_TIME * 3))
	netem "$@"
	t_rping "$B4" -C "$(t_iters 200)" -S 65535 -V
	some_early
	[[ " $* " != *" loss "* ]] || some_lost
}

# What is late of one queue pair holds up no other one's.
share_reordered() {
	local i n reads before
	T_TIME=$((T_TIME * 3))
	n=$(t_iters 400)
	before=$(t_counter "$B_DEV" accepts)
	reads=$(t_counter "$A_DEV" rx_read_requests)
	netem delay 5ms 3ms 25% reorder 50% loss 1%
	t_port
	t_bg server b rping -s -P -a "$B4" -p "$PORT" -S 30000 -V
	t_listens b "$PORT"
	for i in 1 2 3 4; do
		t_bg "c$i" a rping -c -a "$B4" -p "$PORT" -S 30000 -C "$n" -V
		t_until "$T_TIME" t_taken $((before + i)) || t_fail "client $i is not connected"
	done
	t_check "they share an association" test "$(associations "$PORT")" = 1
	for i in 1 2 3 4; do
		t_pinged "c$i"
	done
	some_early
	some_lost
	# a round is one Read, and the client does not tell that there were fewer
	t_check "not all rounds were done" test \
		"$(t_counter "$A_DEV" rx_read_requests)" -ge $((reads + 4 * n))
}

choose() {
	unset RNIC_SW_LLP
	llp a connect sctp
	t_defer llp a connect tcp
	no_tcp t_rping "$B4" -C 3
	llp b listen tcp
	t_defer llp b listen both
	t_port
	t_bg server b rping -s -P -a "$B4" -p "$PORT"
	t_listens b "$PORT"
	t_refuses "RDMA_CM_EVENT_REJECTED, error -104" on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 3
	llp a connect tcp
	t_call "$B4" -C 3
}

# The program's word counts more than its environment's.
direct_verb() {
	local direct before
	direct=$(t_prog direct)
	before=$(made)
	t_port
	t_bg server b rping -s -P -a "$B4" -p "$PORT"
	t_listens b "$PORT"
	RNIC_SW_LLP=tcp no_tcp on a timeout "$T_TIME" "$direct" "$B4" "$PORT" sctp
	t_check "it was over SCTP" test $(($(made) - before)) = 1
	t_port
	t_bg other b rping -s -P -a "$B4" -p "$PORT"
	t_listens b "$PORT"
	RNIC_SW_LLP=sctp on a timeout "$T_TIME" "$direct" "$B4" "$PORT" tcp
	t_check "it was over TCP" test $(($(made) - before)) = 1
}

# A kernel that may not load it: TCP is none the worse.
forbidden() {
	[ ! -d /sys/module/sctp ] || t_skip "sctp is loaded here, and cannot be unloaded"
	mkdir -p /run/modprobe.d
	echo "install sctp /bin/false" >/run/modprobe.d/rnic_sw.conf
	t_defer rm /run/modprobe.d/rnic_sw.conf
	RNIC_SW_LLP=tcp two_hosts
	t_check "SCTP is not there" test ! -d /sys/module/iw_sctp_ddp
	RNIC_SW_LLP=tcp t_rping "$B4" -C 3
	t_port
	t_bg server b env RNIC_SW_LLP=tcp rping -s -a "$B4" -p "$PORT" -C 3
	t_listens b "$PORT"
	t_refuses "rdma_create_qp: Operation not supported" on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 3
	t_refuses "Protocol not supported|no such lower layer" llp a connect sctp
	t_refuses "Protocol not supported|no such lower layer" llp b listen sctp
	t_refuses "Protocol not supported|no such lower layer" llp b listen both
	t_check "listeners are on TCP" test "$(llp_of b listen)" = tcp
	RNIC_SW_LLP=tcp t_rping "$B4" -C 3
}

# On a blacklist: as for socket(2) nobody but root brings it.
blacklisted() {
	[ ! -d /sys/module/sctp ] || t_skip "sctp is loaded here, and cannot be unloaded"
	mkdir -p /run/modprobe.d
	echo "blacklist sctp" >/run/modprobe.d/rnic_sw.conf
	t_defer rm /run/modprobe.d/rnic_sw.conf
	RNIC_SW_LLP=tcp two_hosts
	t_port
	t_bg server b env RNIC_SW_LLP=tcp rping -s -P -a "$B4" -p "$PORT"
	t_listens b "$PORT"
	t_refuses "rdma_create_qp: Operation not supported" on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 1
	t_check "SCTP is not there" test ! -d /sys/module/sctp
	RNIC_SW_LLP=tcp t_call "$B4" -C 3
}

# A device has nothing to do with SCTP before somebody asks for it.
asked_for() {
	modprobe -q sctp || t_skip "no SCTP here"
	t_unload rnic_sw iw_sctp_ddp
	modprobe rnic_sw
	RNIC_SW_LLP=tcp two_hosts
	t_check "the module is not loaded" test ! -d /sys/module/iw_sctp_ddp
	t_check "listeners are on TCP" test "$(llp_of b listen)" = tcp
	t_port
	t_bg server b rping -s -P -a "$B4" -p "$PORT"
	t_listens b "$PORT"
	# a program that asks brings the module, and opens no port
	t_refuses "RDMA_CM_EVENT_REJECTED, error -104" on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 1
	t_check "the module is loaded" test -d /sys/module/iw_sctp_ddp
	t_check "nobody listens on SCTP" test "$(on b awk 'END { print NR }' /proc/net/sctp/eps)" = 1
	RNIC_SW_LLP=tcp t_call "$B4" -C 3
	llp b listen both
	t_call "$B4" -C 3
}

# taken PORT...: who listens there is reached by the lower layers in BY, and no other
taken() {
	local llp port
	for llp in tcp sctp; do
		for port in "$@"; do
			PORT=$port
			if [[ " $BY " == *" $llp "* ]]; then
				RNIC_SW_LLP=$llp t_call "$B4" -C 3
			else
				RNIC_SW_LLP=$llp t_refuses "RDMA_CM_EVENT_(REJECTED, error -104|CONNECT_ERROR, error -71)" \
					on a timeout 20 rping -c -a "$B4" -p "$port" -C 1
			fi
		done
	done
}

# Who listens everywhere does so on a new device before anybody can set it.
followed() {
	local everywhere one
	T_TIME=$((3 * T_TIME))
	t_defer llp b listen both
	t_port
	everywhere=$PORT
	t_bg everywhere b rping -s -P -a 0.0.0.0 -p "$everywhere"
	t_listens b "$everywhere"
	t_drop_device "$B_DEV" "$NS_B"
	RNIC_SW_LLP=tcp t_link "$B_DEV" "$B_IF" "$NS_B"
	t_listens b "$everywhere"
	t_port
	one=$PORT
	t_bg one b rping -s -P -a "$B4" -p "$one"
	t_listens b "$one"
	BY=tcp taken "$everywhere" "$one"
	llp b listen both
	BY="tcp sctp" taken "$everywhere" "$one"
	llp b listen sctp
	BY=sctp taken "$everywhere" "$one"
	llp b listen tcp
	BY=tcp taken "$everywhere" "$one"
}

# A program of another kind has the port of one of two
followed_by_all() {
	local first second
	T_TIME=$((3 * T_TIME))
	llp b listen tcp
	t_defer llp b listen both
	t_port
	first=$PORT
	t_bg first b rping -s -P -a "$B4" -p "$first"
	t_listens b "$first"
	t_port
	second=$PORT
	t_bg other b python3 -c "if True:
		import socket, time
		s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
		s.bind(('$B4', $second))
		s.listen()
		print('listening', flush=True)
		time.sleep(600)"
	t_until "$T_TIME" grep -q listening "$T_CASE/other.log"
	t_bg second b rping -s -P -a "$B4" -p "$second"
	t_listens b "$second"
	t_refuses "Address already in use|has a listener.s port" llp b listen sctp
	t_check "it is as before" test "$(llp_of b listen)" = tcp
	BY=tcp taken "$first" "$second"
	# beside TCP it is done without
	llp b listen both
	BY="tcp sctp" taken "$first"
	PORT=$second RNIC_SW_LLP=tcp t_call "$B4" -C 3
}

modprobe rnic_sw
t_case "no SCTP allowed" "" forbidden
t_case "SCTP on a blacklist" "" blacklisted
t_case "SCTP only where it is asked for" "" asked_for
modprobe iw_sctp_ddp || t_skip_all "no SCTP here"
modprobe sctp_diag
two_hosts
t_case "rping, IPv4" "" no_tcp ping_sizes "$B4"
t_case "rping, IPv6" "" no_tcp ping_sizes "$B6"
t_case "rping, over TCP and SCTP side by side" "" ping_both
t_case "rping, nobody listens" "" ping_nobody
t_case "queue pairs share an association" "" share
t_case "streams used up" "SCTPDDP-56" use_up
t_case "streams used up at once, as the peer allows few" "SCTPDDP-56 SCTPDDP-57" allowed_few
t_case "programs killed under traffic" "" kill_one
t_case "one of two killed" "SCTPDDP-83" kill_beside
t_case "placement out of order" "SCTPDDP-65 SCTPDDP-66" reordered delay 5ms 4ms
t_case "placement out of order, with loss" "SCTPDDP-65 SCTPDDP-66" reordered delay 2ms reorder 30% loss 1%
t_case "placement out of order, queue pairs that share an association" "SCTPDDP-65 SCTPDDP-66" \
	share_reordered
t_case "device deleted under traffic" "SCTPDDP-81" del_link
t_case "the peer is gone" "SCTPDDP-81" peer_gone
t_case "the device's choice" "" choose
t_case "who listens already follows it" "" followed
t_case "all of them or none" "" followed_by_all
t_case "the program's choice, by a direct verb" "" direct_verb
t_case "modules unload" "" reload
t_end
