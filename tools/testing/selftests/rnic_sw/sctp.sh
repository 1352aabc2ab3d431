#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# sctp.sh: RDMA over SCTP (RFC 5043). Programs select SCTP with RNIC_SW_LLP; listeners accept both
# SCTP and TCP. Scripts for what TCP and SCTP have in common run over SCTP as sctp_*.sh.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

export RNIC_SW_LLP=sctp

# count_associations PORT: print the number of established associations of host a with PORT
count_associations() { on a ss -HnS | grep -c "^ESTAB.*:$1 *\$" || true; }
# count_associations_made: print the number of associations that host a has set up so far. The number of
# existing associations would be too high, because a closed association stays for seconds after its
# program has exited.
count_associations_made() { on a awk '$1 == "SctpActiveEstabs" { print $2 }' /proc/net/sctp/snmp; }
count_connected_qps() { on "$1" rdma resource show qp | grep -c 'state RTS' || true; }
count_tcp_connects() {
	echo $(($(t_print_counter "$A_DEV" connects) - $(t_print_counter "$A_DEV" connects_sctp)))
}

# check_makes_no_tcp_connection COMMAND...: check that COMMAND does not connect over TCP
check_makes_no_tcp_connection() {
	local before
	before=$(count_tcp_connects)
	"$@"
	t_check "no TCP connection is made" [ "$(count_tcp_connects)" -eq "$before" ]
}

# change_setting HOST NAME VALUE: change a setting of HOST's device
change_setting() {
	if [ "$1" = a ]; then
		t_change_setting "$A_DEV" "$2" "$3" "$NS_A"
	else
		t_change_setting "$B_DEV" "$2" "$3" "$NS_B"
	fi
}

print_setting() {
	if [ "$1" = a ]; then
		t_print_setting "$A_DEV" "$2" "$NS_A"
	else
		t_print_setting "$B_DEV" "$2" "$NS_B"
	fi
}

ping_with_many_sizes() {
	local size
	for size in 32 1000 1452 4096 16384 65535; do
		t_run_rping_pair "$1" -C 5 -S "$size" -V
	done
}

ping_over_both_llps() {
	t_choose_port
	t_run_pair "$PORT" rping -s -a "$B4" -p "$PORT" -C 5 -- \
		env RNIC_SW_LLP=tcp rping -c -a "$B4" -p "$PORT" -C 5 ||
		t_has_event_channel_error "$T_CASE/client.log" "$T_CASE/server.log"
	t_check "all rounds are done" t_check_rping_complete "$T_CASE/client.log"
	t_choose_port
	t_start server b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	t_run_rping_client "$B4" -C 3
	RNIC_SW_LLP=tcp t_run_rping_client "$B4" -C 3
	t_run_rping_client "$B4" -C 3
}

connect_without_listener_is_rejected() {
	t_choose_port
	t_check_fails_with "RDMA_CM_EVENT_REJECTED, error -104" \
		on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 1
	# connect again while there is an association to the host that has no session with this port
	t_run_rping_pair "$B4" -C 1
	t_check_fails_with "RDMA_CM_EVENT_REJECTED, error -104" \
		on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 1
}

# start_traffic TAG: start a pair of programs that transfer data until one of them ends
start_traffic() {
	t_choose_port
	t_start "s$1" b rping -s -a "$B4" -p "$PORT" -S 20000
	t_wait_listener b "$PORT"
	t_start "c$1" a rping -c -a "$B4" -p "$PORT" -S 20000
}

# start_clients N: start N clients on a, each with a QP that is connected to one server on b
start_clients() {
	local i
	t_choose_port
	t_start server b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	for ((i = 1; i <= $1; i++)); do
		t_start "c$i" a rping -c -a "$B4" -p "$PORT"
		# wait, because rping's server loses a request if the next one arrives immediately
		# after it
		t_wait_until "$T_TIME" has_connected_qps "$i" || t_fail "client $i is not connected"
	done
	on a ss -nS
}

print_rx_sends() { t_print_counter "$B_DEV" rx_sends; }
has_received_five_more_sends() { [ "$(print_rx_sends)" -gt $(($1 + 5)) ]; }
check_traffic() { t_wait_until "$T_TIME" has_received_five_more_sends "$(print_rx_sends)" || t_fail "no traffic"; }
has_connected_qps() { [ "$(count_connected_qps a)" -ge "$1" ]; }
# check_ends_soon NAME [SECONDS]: check that a program exits by itself after the other end has
# ended.
check_ends_soon() { t_wait_until "${2:-30}" t_has_ended "$1" || t_fail "$1 still runs"; }

# QPs of different programs share one association.
qps_share_association() {
	start_clients 8
	t_check "8 QPs are on one association" test "$(count_associations "$PORT")" = 1
	check_traffic
}

# With two streams in each direction five QPs need three associations.
used_up_streams_need_new_association() {
	change_setting a streams 2
	t_defer change_setting a streams 0
	start_clients 5
	t_check "5 QPs are on 3 associations" test "$(count_associations "$PORT")" = 3
	check_traffic
}

# The peer limits the number of streams. All QPs wait until the first association is established,
# because the initiator learns the peer's limit only then.
peer_can_limit_streams() {
	local before
	change_setting b streams 2
	t_defer change_setting b streams 0
	t_apply_netem a "$A_IF" delay 400ms
	before=$(count_associations_made)
	t_run_pair 7471 ucmatose -b "$B4" -c 5 -C 5 -- ucmatose -s "$B4" -c 5 -C 5
	t_check "5 QPs were on 3 associations" test $(($(count_associations_made) - before)) = 3
}

program_exits_if_peer_is_killed() {
	local round
	for round in 1 2 3 4; do
		start_traffic "$round"
		check_traffic
		if ((round % 2)); then
			t_kill "c$round" KILL
			check_ends_soon "s$round"
		else
			t_kill "s$round" KILL
			check_ends_soon "c$round"
		fi
	done
	t_run_rping_pair "$B4" -C 3
}

# If one program is killed, another program on the same association must continue.
killed_program_does_not_end_other() {
	start_clients 2
	t_check "both QPs are on one association" test "$(count_associations "$PORT")" = 1
	t_kill c1 KILL
	sleep 1
	check_traffic
	t_check "the other client still runs" t_is_alive c2
}

device_deletion_ends_traffic() {
	start_traffic 1
	check_traffic
	on a rdma link del "$A_DEV"
	check_ends_soon c1
	check_ends_soon s1
	t_create_device "$A_DEV" "$A_IF" "$NS_A"
	start_traffic 2
	check_traffic
	on b rdma link del "$B_DEV"
	check_ends_soon s2
	check_ends_soon c2
	t_create_device "$B_DEV" "$B_IF" "$NS_B"
	t_run_rping_pair "$B4" -C 3
}

modules_can_be_reloaded() {
	on a rdma link del "$A_DEV"
	on b rdma link del "$B_DEV"
	t_unload_modules
	t_check "all modules are unloaded" test ! -d "/sys/module/${T_MODULES[-1]}"
	modprobe rnic_sw
	t_create_device "$A_DEV" "$A_IF" "$NS_A"
	t_create_device "$B_DEV" "$B_IF" "$NS_B"
	t_check "iw_sctp_ddp is loaded on demand" test -d /sys/module/iw_sctp_ddp
	t_run_rping_pair "$B4" -C 3
}

has_carrier() { on "$1" ip -o link show dev "$2" | grep -q ' state UP '; }

# Set the link up and wait for the carriers. The kernel checks carriers once a second and drops
# packets until then, and rdma_cm gives up resolving an address after two seconds.
restore_link() {
	on b ip link set "$B_IF" up
	t_wait_until "$T_TIME" has_carrier a "$A_IF" && t_wait_until "$T_TIME" has_carrier b "$B_IF"
}

# Let the link fail: SCTP must detect that its peer is unreachable.
unreachable_peer_is_detected() {
	# use three times the time limit, because the programs must notice the failure before
	# timeout(1) ends them
	T_TIME=$((T_TIME * 3))
	start_traffic 1
	check_traffic
	on b ip link set "$B_IF" down
	t_defer restore_link
	check_ends_soon c1 100
	check_ends_soon s1 100
}

# apply_netem_to_both_hosts WORDS...: apply netem in both directions, and set EARLY to the number of
# segments that a has placed out of order so far
apply_netem_to_both_hosts() {
	t_apply_netem a "$A_IF" "$@"
	t_apply_netem b "$B_IF" "$@"
	EARLY=$(t_print_counter "$A_DEV" rx_placed_early)
}

check_some_segments_were_early() {
	local now
	now=$(t_print_counter "$A_DEV" rx_placed_early)
	echo "$((now - EARLY)) segments were placed out of order"
	t_check "segments are placed out of order" test "$now" -gt "$EARLY"
}

# Print the number of packets that netem has dropped on both hosts
count_lost_packets() {
	{ on a tc -s qdisc show dev "$A_IF" && on b tc -s qdisc show dev "$B_IF"; } |
		sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

check_some_packets_were_lost() { t_check "packets are lost" test "$(count_lost_packets)" -gt 0; }

# rping_works_with_reordering WORDS...: run rping over a network that reorders packets, and loses
# some if WORDS say so
rping_works_with_reordering() {
	# extend the time limit, because the case takes two minutes in QEMU without KVM
	T_TIME=$((T_TIME * 3))
	apply_netem_to_both_hosts "$@"
	t_run_rping_pair "$B4" -C "$(t_scale_rounds 200)" -S 65535 -V
	check_some_segments_were_early
	[[ " $* " != *" loss "* ]] || check_some_packets_were_lost
}

# A late segment of one QP must not delay other QPs.
reordering_works_on_shared_association() {
	local i n reads before
	T_TIME=$((T_TIME * 3))
	n=$(t_scale_rounds 400)
	before=$(t_print_counter "$B_DEV" accepts)
	reads=$(t_print_counter "$A_DEV" rx_read_requests)
	apply_netem_to_both_hosts delay 5ms 3ms 25% reorder 50% loss 1%
	t_choose_port
	t_start server b rping -s -P -a "$B4" -p "$PORT" -S 30000 -V
	t_wait_listener b "$PORT"
	for i in 1 2 3 4; do
		t_start "c$i" a rping -c -a "$B4" -p "$PORT" -S 30000 -C "$n" -V
		t_wait_until "$T_TIME" t_has_accepted_connections $((before + i)) ||
			t_fail "client $i is not connected"
	done
	t_check "all QPs are on one association" test "$(count_associations "$PORT")" = 1
	for i in 1 2 3 4; do
		t_wait_rping "c$i"
	done
	check_some_segments_were_early
	check_some_packets_were_lost
	# count Reads, one in each round, because the client does not report missing rounds
	t_check "all rounds are done" test \
		"$(t_print_counter "$A_DEV" rx_read_requests)" -ge $((reads + 4 * n))
}

settings_choose_llp() {
	unset RNIC_SW_LLP
	change_setting a connect sctp
	t_defer change_setting a connect tcp
	check_makes_no_tcp_connection t_run_rping_pair "$B4" -C 3
	change_setting b listen tcp
	t_defer change_setting b listen both
	t_choose_port
	t_start server b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	t_check_fails_with "RDMA_CM_EVENT_REJECTED, error -104" \
		on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 3
	change_setting a connect tcp
	t_run_rping_client "$B4" -C 3
}

# A program's direct verb takes precedence over its environment.
direct_verb_overrides_environment() {
	local direct before
	direct=$(t_find_program direct)
	before=$(count_associations_made)
	t_choose_port
	t_start server b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	RNIC_SW_LLP=tcp check_makes_no_tcp_connection on a timeout "$T_TIME" "$direct" "$B4" \
		"$PORT" sctp
	t_check "the connection was made over SCTP" \
		test $(($(count_associations_made) - before)) = 1
	t_choose_port
	t_start other b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	RNIC_SW_LLP=sctp on a timeout "$T_TIME" "$direct" "$B4" "$PORT" tcp
	t_check "the second connection was made over TCP" \
		test $(($(count_associations_made) - before)) = 1
}

# If modprobe is forbidden to load sctp, TCP must still work.
tcp_works_if_sctp_is_forbidden() {
	[ ! -d /sys/module/sctp ] || t_skip "module sctp is loaded and cannot be unloaded"
	mkdir -p /run/modprobe.d
	echo "install sctp /bin/false" >/run/modprobe.d/rnic_sw.conf
	t_defer rm /run/modprobe.d/rnic_sw.conf
	RNIC_SW_LLP=tcp create_two_hosts
	t_check "iw_sctp_ddp is not loaded" test ! -d /sys/module/iw_sctp_ddp
	RNIC_SW_LLP=tcp t_run_rping_pair "$B4" -C 3
	t_choose_port
	t_start server b env RNIC_SW_LLP=tcp rping -s -a "$B4" -p "$PORT" -C 3
	t_wait_listener b "$PORT"
	t_check_fails_with "rdma_create_qp: Operation not supported" \
		on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 3
	t_check_fails_with "Protocol not supported|SCTP is not available" \
		change_setting a connect sctp
	t_check_fails_with "Protocol not supported|SCTP is not available" \
		change_setting b listen sctp
	t_check_fails_with "Protocol not supported|SCTP is not available" \
		change_setting b listen both
	t_check "the listen setting is tcp" test "$(print_setting b listen)" = tcp
	RNIC_SW_LLP=tcp t_run_rping_pair "$B4" -C 3
}

# If sctp is blacklisted, only root may load it, as is the case for socket(2).
blacklisted_sctp_is_not_loaded() {
	[ ! -d /sys/module/sctp ] || t_skip "module sctp is loaded and cannot be unloaded"
	mkdir -p /run/modprobe.d
	echo "blacklist sctp" >/run/modprobe.d/rnic_sw.conf
	t_defer rm /run/modprobe.d/rnic_sw.conf
	RNIC_SW_LLP=tcp create_two_hosts
	t_choose_port
	t_start server b env RNIC_SW_LLP=tcp rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	t_check_fails_with "rdma_create_qp: Operation not supported" \
		on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 1
	t_check "sctp is not loaded" test ! -d /sys/module/sctp
	RNIC_SW_LLP=tcp t_run_rping_client "$B4" -C 3
}

# A device does not use SCTP before a program or a setting requests it.
sctp_is_loaded_on_request() {
	modprobe -q sctp || t_skip "SCTP is not available in this kernel"
	t_unload_modules rnic_sw iw_sctp_ddp
	modprobe rnic_sw
	RNIC_SW_LLP=tcp create_two_hosts
	t_check "iw_sctp_ddp is not loaded" test ! -d /sys/module/iw_sctp_ddp
	t_check "the listen setting is tcp" test "$(print_setting b listen)" = tcp
	t_choose_port
	t_start server b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	# if a client requests SCTP, the module is loaded, but no listener is opened on SCTP
	t_check_fails_with "RDMA_CM_EVENT_REJECTED, error -104" \
		on a timeout 20 rping -c -a "$B4" -p "$PORT" -C 1
	t_check "iw_sctp_ddp is loaded" test -d /sys/module/iw_sctp_ddp
	t_check "there is no listener on SCTP" \
		test "$(on b awk 'END { print NR }' /proc/net/sctp/eps)" = 1
	RNIC_SW_LLP=tcp t_run_rping_client "$B4" -C 3
	change_setting b listen both
	t_run_rping_client "$B4" -C 3
}

# check_accepts_only_by PORT...: check that listeners on these ports accept over the LLPs in $BY and
# over no other
check_accepts_only_by() {
	local llp port
	for llp in tcp sctp; do
		for port in "$@"; do
			PORT=$port
			if [[ " $BY " == *" $llp "* ]]; then
				RNIC_SW_LLP=$llp t_run_rping_client "$B4" -C 3
			else
				RNIC_SW_LLP=$llp t_check_fails_with "RDMA_CM_EVENT_(REJECTED, error -104|CONNECT_ERROR, error -71)" \
					on a timeout 20 rping -c -a "$B4" -p "$port" -C 1
			fi
		done
	done
}

# The RDMA core starts a wildcard listener on a new device before the device's listen setting can be
# changed. When the setting is changed later, it must apply to this listener, too.
listen_setting_applies_to_wildcard() {
	local everywhere one
	T_TIME=$((3 * T_TIME))
	t_defer change_setting b listen both
	t_choose_port
	everywhere=$PORT
	t_start everywhere b rping -s -P -a 0.0.0.0 -p "$everywhere"
	t_wait_listener b "$everywhere"
	t_delete_device "$B_DEV" "$NS_B"
	RNIC_SW_LLP=tcp t_create_device "$B_DEV" "$B_IF" "$NS_B"
	t_wait_listener b "$everywhere"
	t_choose_port
	one=$PORT
	t_start one b rping -s -P -a "$B4" -p "$one"
	t_wait_listener b "$one"
	BY=tcp check_accepts_only_by "$everywhere" "$one"
	change_setting b listen both
	BY="tcp sctp" check_accepts_only_by "$everywhere" "$one"
	change_setting b listen sctp
	BY=sctp check_accepts_only_by "$everywhere" "$one"
	change_setting b listen tcp
	BY=tcp check_accepts_only_by "$everywhere" "$one"
}

# If another program uses the SCTP port of one of two listeners, setting "listen" to sctp fails, and
# neither listener changes
refused_setting_changes_no_listener() {
	local first second
	T_TIME=$((3 * T_TIME))
	change_setting b listen tcp
	t_defer change_setting b listen both
	t_choose_port
	first=$PORT
	t_start first b rping -s -P -a "$B4" -p "$first"
	t_wait_listener b "$first"
	t_choose_port
	second=$PORT
	t_start other b python3 -c "if True:
		import socket, time
		s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
		s.bind(('$B4', $second))
		s.listen()
		print('listening', flush=True)
		time.sleep(600)"
	t_wait_until "$T_TIME" grep -q listening "$T_CASE/other.log"
	t_start second b rping -s -P -a "$B4" -p "$second"
	t_wait_listener b "$second"
	t_check_fails_with "Address already in use|port of a listener is already in use" \
		change_setting b listen sctp
	t_check "the listen setting is unchanged" test "$(print_setting b listen)" = tcp
	BY=tcp check_accepts_only_by "$first" "$second"
	# with "both", the listener whose SCTP port is in use continues on TCP only
	change_setting b listen both
	BY="tcp sctp" check_accepts_only_by "$first"
	PORT=$second RNIC_SW_LLP=tcp t_run_rping_client "$B4" -C 3
}

modprobe rnic_sw
t_case "loading of sctp forbidden in modprobe.d" "" tcp_works_if_sctp_is_forbidden
t_case "sctp blacklisted in modprobe.d" "" blacklisted_sctp_is_not_loaded
t_case "SCTP only where it is requested" "" sctp_is_loaded_on_request
modprobe iw_sctp_ddp || t_skip_all "cannot load module iw_sctp_ddp"
modprobe sctp_diag
create_two_hosts
t_case "rping, IPv4" "" check_makes_no_tcp_connection ping_with_many_sizes "$B4"
t_case "rping, IPv6" "" check_makes_no_tcp_connection ping_with_many_sizes "$B6"
t_case "rping, over TCP and SCTP at the same time" "" ping_over_both_llps
t_case "rping, no listener" "" connect_without_listener_is_rejected
t_case "queue pairs share an association" "" qps_share_association
t_case "all streams of an association in use" "SCTPDDP-56" used_up_streams_need_new_association
t_case "streams used up at once, limited by the peer" "SCTPDDP-56 SCTPDDP-57" peer_can_limit_streams
t_case "programs killed under traffic" "" program_exits_if_peer_is_killed
t_case "one of two programs on an association killed" "SCTPDDP-83" killed_program_does_not_end_other
t_case "placement out of order" "SCTPDDP-65 SCTPDDP-66" rping_works_with_reordering delay 5ms 4ms
t_case "placement out of order, with loss" "SCTPDDP-65 SCTPDDP-66" \
	rping_works_with_reordering delay 2ms reorder 30% loss 1%
t_case "placement out of order, queue pairs that share an association" "SCTPDDP-65 SCTPDDP-66" \
	reordering_works_on_shared_association
t_case "device deleted under traffic" "SCTPDDP-81" device_deletion_ends_traffic
t_case "the peer is unreachable" "SCTPDDP-81" unreachable_peer_is_detected
t_case "the device's connect and listen settings" "" settings_choose_llp
t_case "existing listeners follow the setting" "" listen_setting_applies_to_wildcard
t_case "the listen setting changes all listeners or none" "" refused_setting_changes_no_listener
t_case "the program's choice of LLP, by a direct verb" "" direct_verb_overrides_environment
t_case "modules unload" "" modules_can_be_reloaded
t_print_summary_and_exit
