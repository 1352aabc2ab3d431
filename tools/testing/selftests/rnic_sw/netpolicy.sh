#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# netpolicy.sh: firewall rules that match user, control group or mark treat the packets of a
# program's connections like those of its own sockets, over TCP and SCTP, on both sides.
#
# The rules count packets. Counter "sent" counts all packets of the connection, and each other
# counter those whose user, control group or mark a rule matches. A host sends its last packets
# after it has closed the socket, so these packets have no user and no group.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"
. "$(dirname "$(readlink -f "$0")")/lib/gids.sh"

CLIENT=1234 SERVER=1235	# users of the two programs
UNOWNED=3	# packets of one host that may follow the close of its socket
# packets without an owner when programs connect by ibv_modify_qp(): those that are sent before a
# queue pair takes over the connection, or that refuse the peer because no queue pair waits yet
UNCLAIMED=60
# nft looks control groups up in this directory, which `ip netns exec` hides
GROUPS_DIR=/sys/fs/cgroup
GROUPS_MIRROR=$T_LOG/cgroup
# shellcheck disable=SC2016
IN_GROUP=(sh -c 'echo $$ >"$0" && exec "$@"' "$GROUPS_MIRROR/rnic/cgroup.procs")

# print_setpriv_args USER: print words for setpriv; USER can read the provider's directory
print_setpriv_args() {
	echo --reuid "$1" --regid "$1" --clear-groups \
		--inh-caps +dac_read_search --ambient-caps +dac_read_search
}
read -ra AS_CLIENT <<<"$(print_setpriv_args $CLIENT)"
read -ra AS_SERVER <<<"$(print_setpriv_args $SERVER)"

# load_rules HOST: load nftables rules from standard input; the end of the case removes them
load_rules() {
	local ns=$NS_A
	[ "$1" = a ] || ns=$NS_B
	cat >"$T_CASE/rules"
	nsenter --net="/run/netns/$ns" nft -f "$T_CASE/rules" 2>"$T_CASE/nft.err" && {
		t_defer on "$1" nft flush ruleset
		return
	}
	cat "$T_CASE/nft.err"
	grep -qE 'No such file|not supported' "$T_CASE/nft.err" || t_fail "nft rejects the rules"
	t_skip "this kernel lacks nftables, or control groups in rules"
}

# print_counter_table MATCH RULE...: print a table for load_packet_counters()
print_counter_table() {
	local match=$1 rule
	shift
	echo "table inet t {"
	for rule in "sent " "$@"; do echo "counter ${rule%% *} { }"; done
	echo "chain out { type filter hook output priority 0;"
	for rule in "sent " "$@"; do
		echo "$match ${rule#* } counter name ${rule%% *}"
	done
	echo "}"
	echo "}"
}

# load_packet_counters HOST MATCH RULE...: on HOST, count the outgoing packets that match MATCH. A
# RULE is "NAME EXPRESSION": counter NAME counts the packets among them that also match EXPRESSION.
load_packet_counters() { load_rules "$1" < <(print_counter_table "${@:2}"); }

# print_nft_counter HOST NAME: print a counter
print_nft_counter() { on "$1" nft list counter inet t "$2" | awk '$1 == "packets" { print $2 }'; }

# check_all_packets_counted HOST NAME [MORE]: check that counter NAME has counted all packets that
# HOST has sent from its socket, except MORE packets
check_all_packets_counted() {
	local all own unowned=$((UNOWNED + ${3:-0}))
	all=$(print_nft_counter "$1" sent)
	own=$(print_nft_counter "$1" "$2")
	echo "host $1 sent $all packets, $own of them match $2"
	t_check "host $1 sends more than $unowned packets" [ "$all" -gt $unowned ]
	t_check "the packets of host $1 match the rule" [ "$own" -ge $((all - unowned)) ]
}

# run_over_llp LLP COMMAND...: run COMMAND with both devices connecting and listening over LLP
run_over_llp() {
	T_PROTOCOL=$1
	export RNIC_SW_LLP=$1
	if [ "$1" = sctp ]; then
		t_set_listen_llp "$B_DEV" both "$NS_B" || t_skip "SCTP is not available in this kernel"
		t_defer t_set_listen_llp "$B_DEV" tcp "$NS_B"
	fi
	"${@:2}"
}

# run_rping [ARGS...]: run the client and the server of rping as the two users
run_rping() {
	t_run_pair "$PORT" setpriv "${AS_SERVER[@]}" rping -s -a "$B4" -p "$PORT" "$@" -- \
		setpriv "${AS_CLIENT[@]}" rping -c -a "$B4" -p "$PORT" "$@"
}

rules_can_match_user() {
	t_choose_port
	load_packet_counters a "$T_PROTOCOL dport $PORT" "own meta skuid $CLIENT" \
		"group meta skgid $CLIENT"
	load_packet_counters b "$T_PROTOCOL sport $PORT" "own meta skuid $SERVER" \
		"group meta skgid $SERVER"
	run_rping -C 20
	check_all_packets_counted a own
	check_all_packets_counted a group
	check_all_packets_counted b own
	check_all_packets_counted b group
}

# The rule rejects the first packet of one user's connection; packets of root pass.
rule_can_reject_user() {
	t_choose_port
	load_rules a <<-END
		table inet t {
			chain out {
				type filter hook output priority 0;
				$T_PROTOCOL dport $PORT meta skuid $CLIENT reject
			}
		}
	END
	t_start server b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	t_check_fails on a setpriv "${AS_CLIENT[@]}" rping -c -a "$B4" -p "$PORT" -C 1
	t_run_rping_client "$B4" -C 1
}

create_group_dir() {
	mountpoint -q $GROUPS_DIR || {
		mount -t cgroup2 cgroup2 $GROUPS_DIR 2>/dev/null ||
			t_skip "control groups are not available"
		t_defer umount $GROUPS_DIR
	}
	[ -e $GROUPS_DIR/cgroup.controllers ] || t_skip "$GROUPS_DIR is not a version 2 hierarchy"
	mkdir -p "$GROUPS_MIRROR"
	mount --bind $GROUPS_DIR "$GROUPS_MIRROR"
	t_defer umount "$GROUPS_MIRROR"
	mkdir $GROUPS_DIR/rnic
	t_defer t_wait_until 20 rmdir $GROUPS_DIR/rnic
}

rules_can_match_group() {
	create_group_dir
	t_choose_port
	load_packet_counters a "$T_PROTOCOL dport $PORT" 'own socket cgroupv2 level 1 "rnic"'
	load_packet_counters b "$T_PROTOCOL sport $PORT" 'own socket cgroupv2 level 1 "rnic"'
	t_run_pair "$PORT" "${IN_GROUP[@]}" rping -s -a "$B4" -p "$PORT" -C 20 -- \
		"${IN_GROUP[@]}" rping -c -a "$B4" -p "$PORT" -C 20
	check_all_packets_counted a own
	check_all_packets_counted b own
}

# A chain marks the packets that a socket of the user sends; a later chain must see the mark.
mark_reaches_later_chain() {
	t_choose_port
	load_rules a <<-END
		table inet t {
			counter sent { }
			counter own { }
			chain first {
				type filter hook output priority 0;
				$T_PROTOCOL dport $PORT meta skuid $CLIENT meta mark set 9
				$T_PROTOCOL dport $PORT counter name sent
			}
			chain second {
				type filter hook output priority 10;
				meta mark 9 counter name own
			}
		}
	END
	run_rping -C 20
	check_all_packets_counted a own
}

# The peer closes each connection without a Reply, so the device connects again with MPA
# revision 1, from a worker.
rules_match_after_fallback() {
	T_PROTOCOL=tcp
	unset RNIC_SW_LLP
	t_choose_port
	load_packet_counters a "tcp dport $PORT tcp flags & (syn|ack) == syn" \
		"own meta skuid $CLIENT"
	t_start server b python3 -c '
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    peer = listener.accept()[0]
    peer.recv(100)
    peer.close()' "$B4" "$PORT"
	t_wait_listener b "$PORT"
	t_check_fails on a setpriv "${AS_CLIENT[@]}" rping -c -a "$B4" -p "$PORT" -C 1
	t_check "the device connects twice" [ "$(print_nft_counter a sent)" -eq 2 ]
	t_check "both connections match the rule" [ "$(print_nft_counter a own)" -eq 2 ]
}

# A listener of one user gets further sockets when a task of root enables a lower layer or adds an
# address. These sockets must also belong to that user.
listener_keeps_user() {
	T_PROTOCOL=sctp
	t_choose_port
	t_start server b setpriv "${AS_SERVER[@]}" rping -s -P -a 0.0.0.0 -p "$PORT"
	t_wait_listener b "$PORT"
	t_set_listen_llp "$B_DEV" both "$NS_B" || t_skip "SCTP is not available in this kernel"
	t_defer t_set_listen_llp "$B_DEV" tcp "$NS_B"
	on b ip addr add 10.9.1.77/24 dev "$B_IF"
	t_defer on b ip addr del 10.9.1.77/24 dev "$B_IF"
	load_packet_counters b "sctp sport $PORT" "own meta skuid $SERVER"
	export RNIC_SW_LLP=sctp
	t_run_rping_client "$B4" -C 20
	check_all_packets_counted b own
	t_wait_until 20 t_run_rping_client 10.9.1.77 -C 20
	check_all_packets_counted b own
}

# run_pingpong SERVER_PREFIX... -- CLIENT_PREFIX...: connect queue pairs with ibv_modify_qp(). The
# QP numbers, which are random, decide which side accepts the connection.
run_pingpong() {
	local -a server=()
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	t_choose_port
	t_run_pair "$PORT" "${server[@]}" ibv_rc_pingpong -d "$B_DEV" \
		-g "$(print_gid_index_of b "$B4")" -p "$PORT" -n 500 -- \
		"$@" ibv_rc_pingpong -d "$A_DEV" -g "$(print_gid_index_of a "$A4")" -p "$PORT" \
		-n 500 "$B4"
}

# load_rendezvous_counters RULE_A RULE_B: on a and on b, count the packets of the protocol that are
# sent to the other host, and those of them that match RULE_A or RULE_B
load_rendezvous_counters() {
	command -v ibv_rc_pingpong >/dev/null ||
		t_skip "ibv_rc_pingpong not found (package ibverbs-utils)"
	load_packet_counters a "ip daddr $B4 meta l4proto $T_PROTOCOL" "own $1"
	load_packet_counters b "ip daddr $A4 meta l4proto $T_PROTOCOL" "own $2"
}

rules_can_match_user_without_cm() {
	load_rendezvous_counters "meta skuid $CLIENT" "meta skuid $SERVER"
	run_pingpong setpriv "${AS_SERVER[@]}" -- setpriv "${AS_CLIENT[@]}"
	check_all_packets_counted a own $UNCLAIMED
	check_all_packets_counted b own $UNCLAIMED
}

rules_can_match_group_without_cm() {
	create_group_dir
	load_rendezvous_counters 'socket cgroupv2 level 1 "rnic"' 'socket cgroupv2 level 1 "rnic"'
	run_pingpong "${IN_GROUP[@]}" -- "${IN_GROUP[@]}"
	check_all_packets_counted a own $UNCLAIMED
	check_all_packets_counted b own $UNCLAIMED
}

count_associations() { on a cat /proc/net/sctp/assocs | awk -v port="$PORT" '$13 == port' | wc -l; }
has_connected_qps() {
	[ "$(on a rdma resource show qp link "$A_DEV/1" | grep -c 'state RTS')" -eq "$1" ]
}

# Connections of one user share an association; connections of two users do not.
users_share_no_association() {
	local n=0 user words
	export RNIC_SW_LLP=sctp
	t_set_listen_llp "$B_DEV" both "$NS_B" || t_skip "SCTP is not available in this kernel"
	t_defer t_set_listen_llp "$B_DEV" tcp "$NS_B"
	t_choose_port
	t_start server b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	for user in $CLIENT $CLIENT $SERVER $SERVER; do
		n=$((n + 1))
		read -ra words <<<"$(print_setpriv_args "$user")"
		t_start "client$n" a setpriv "${words[@]}" rping -c -a "$B4" -p "$PORT"
		t_wait_until "$T_TIME" has_connected_qps $n || t_fail "client $n is not connected"
	done
	on a cat /proc/net/sctp/assocs
	t_check "4 queue pairs are on 2 associations" [ "$(count_associations)" -eq 2 ]
}

type -P nft >/dev/null || t_skip_all "nft is not installed"
create_two_hosts
for llp in tcp sctp; do
	t_case "rules by user, over $llp" "" run_over_llp $llp rules_can_match_user
	t_case "a rule by user rejects, over $llp" "" run_over_llp $llp rule_can_reject_user
	t_case "rules by control group, over $llp" "" run_over_llp $llp rules_can_match_group
	t_case "rules by mark, over $llp" "" run_over_llp $llp mark_reaches_later_chain
	t_case "rules by user, without rdma_cm, over $llp" "" \
		run_over_llp $llp rules_can_match_user_without_cm
	t_case "rules by control group, without rdma_cm, over $llp" "" \
		run_over_llp $llp rules_can_match_group_without_cm
done
t_case "rules by user, after the fallback to revision 1" "" rules_match_after_fallback
t_case "rules by user, for a listener that another task changes" "" listener_keeps_user
t_case "programs of two users do not share an association" "" users_share_no_association
t_print_summary_and_exit
