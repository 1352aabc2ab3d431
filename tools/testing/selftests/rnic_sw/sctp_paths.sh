#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# sctp_paths.sh: associations with one address on each side (RFC 5043 7.2), or with several
# addresses (setting paths), so that programs do not notice the failure of a link.
#
# In addition to the hosts' first link there is a second link without RDMA devices:
#
#	va  10.9.1.1  iwa  ---------  vb  10.9.1.2  iwb
#	va2 10.9.3.1       ---------  vb2 10.9.3.2

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

export RNIC_SW_LLP=sctp
SLAB=/sys/kernel/debug/failslab
ENOUGH=1000000	# bytes which show that perftest transfers its messages
A4_2=10.9.3.1 B4_2=10.9.3.2 A6_2=fd00:9:3::1 B6_2=fd00:9:3::2

create_second_link() {
	t_run_or_bail_out ip link add va2 netns "$NS_A" type veth peer name vb2 netns "$NS_B"
	t_run_or_bail_out add_addresses_and_set_link_up "$NS_A" va2 $A4_2 $A6_2
	t_run_or_bail_out add_addresses_and_set_link_up "$NS_B" vb2 $B4_2 $B6_2
}

add_addresses_and_set_link_up() {
	ip -n "$1" addr add "$3/24" dev "$2" &&
	ip -n "$1" addr add "$4/64" dev "$2" nodad &&
	ip -n "$1" link set "$2" up
}

# set_paths HOST NAMES: set HOST's paths until the case ends
set_paths() {
	local of=("$A_DEV" "$NS_A")
	[ "$1" = a ] || of=("$B_DEV" "$NS_B")
	t_change_setting "${of[0]}" paths "$2" "${of[1]}"
	t_defer t_change_setting "${of[0]}" paths none "${of[1]}"
}

set_two_paths() {
	set_paths a va2
	set_paths b vb2
}

# Print the addresses of host a's associations with $PORT: those of a, and those of b. In /proc the
# primary address has a *, and IPv6 addresses have leading zeros.
print_association_addresses() {
	on a cat /proc/net/sctp/assocs | tr -d '*' | awk -v port="$PORT" '
		$13 == port {
			for (i = 14; $i != "<->"; i++) print "a", $i
			for (i++; $i ~ /[.:]/; i++) print "b", $i
		}' | shorten_ipv6 | sort -u | paste -sd' '
}

# Shorten IPv6 addresses on stdin
shorten_ipv6() { sed -E '/:/ s/\b0+([0-9a-f])/\1/g; s/(:0)+:/::/g'; }

check_association_addresses() {
	local got
	got=$(print_association_addresses)
	echo "addresses: $got"
	t_check "the addresses are $*" test "$got" = "$*"
}

# start_traffic ADDRESS: start a client and a server that transfer and verify data until they are
# killed. The server listens on $T_AT if that is set. check_traffic() checks their progress.
start_traffic() {
	t_choose_port
	T_TIME=600 t_start server b rping -s -a "${T_AT:-$1}" -p "$PORT" -S 30000 -V
	t_wait_listener b "$PORT"
	T_TIME=600 t_start client a rping -c -a "$1" -p "$PORT" -S 30000 -V
	check_traffic
}

print_rx_sends() { t_print_counter "$B_DEV" rx_sends; }
has_received_five_more_sends() { [ "$(print_rx_sends)" -gt $(($1 + 5)) ]; }

# check_traffic [SECONDS]: check that data moves within SECONDS and that both programs, which exit
# on errors, still run
check_traffic() {
	local start=${EPOCHREALTIME/./}
	t_wait_until "${1:-20}" has_received_five_more_sends "$(print_rx_sends)" || t_fail "no traffic"
	echo "traffic after $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
	t_check "the client still runs" t_is_alive client
	t_check "the server still runs" t_is_alive server
}

# print_path_state HOST ADDRESS: print the path's state (enum sctp_spinfo_state)
print_path_state() {
	on "$1" cat /proc/net/sctp/remaddr | shorten_ipv6 | awk -v to="$2" '$1 == to { print $8 }'
}
is_path_active() { print_path_state "$1" "$2" | grep -q 2; }
wait_path_active() {
	t_wait_until 40 is_path_active "$1" "$2" ||
		t_fail "the path to $2 is not active: $(print_path_state "$1" "$2")"
}

wait_both_paths_active() {
	wait_path_active a "$1"
	wait_path_active a "$2"
	wait_path_active b "$3"
	wait_path_active b "$4"
}

set_link_state() { on "$1" ip link set "$2" "$3"; }

# set_link_down_and_check_traffic HOST INTERFACE: set one end of a link down, so that the other end
# loses its carrier
set_link_down_and_check_traffic() {
	set_link_state "$1" "$2" down
	check_traffic 60
	check_traffic
}

association_has_one_address_each() {
	start_traffic "$1"
	check_association_addresses a "$2" b "$1"
}

# start_server ADDRESS: start a persistent server on b that listens on ADDRESS
start_server() {
	t_choose_port
	t_start server b rping -s -P -a "$1" -p "$PORT"
	t_wait_listener b "$PORT"
}

count_connected_qps() { on a rdma resource show qp link "$A_DEV/1" | grep -c 'state RTS' || true; }
has_more_connected_qps() { [ "$(count_connected_qps)" -gt "$1" ]; }

# start_client NAME ADDRESS: start a client that stays connected to ADDRESS. Wait until its QP is in
# RTS; the addresses alone do not show this, because an association has them before it is
# established.
start_client() {
	local before
	before=$(count_connected_qps)
	t_start "$1" a rping -c -a "$2" -p "$PORT"
	t_wait_until "$T_TIME" has_more_connected_qps "$before" || t_fail "$1 is not connected"
	t_check "an association has address $2" eval "print_association_addresses | grep -qF 'b ${2%%%*}'"
}

run_client() { t_run_rping_client "$1" -C 2; }
can_connect() { on a timeout 10 rping -c -a "$1" -p "$PORT" -C 1; }

# The association of a wildcard listener has one address of b, that to which the client connected.
wildcard_association_has_called_address() {
	on b ip addr add 10.9.1.77/24 dev vb
	t_defer on b ip addr del 10.9.1.77/24 dev vb
	start_server 0.0.0.0
	start_client first "$B4"
	check_association_addresses a "$A4" b "$B4"
	start_client second 10.9.1.77
	check_association_addresses a "$A4" b "$B4" b 10.9.1.77
	t_check "there are two associations" \
		test "$(on a ss -HnS | grep -c "^ESTAB.*:$PORT *$")" = 2
}

# A client can connect to a link-local address, but a link-local address is never an additional
# path.
link_local_address_is_no_path() {
	local at
	set_two_paths
	at=$(on b ip -6 -o addr show dev vb scope link | awk '{ sub("/.*", "", $4); print $4 }')%va
	start_server ::
	start_client first "$at"
	print_association_addresses
	t_check "one address on each side" test "$(print_association_addresses | wc -w)" = 4
	start_client second "$B6"
	print_association_addresses | grep -F "b $B6_2"
}

# A listener must follow changes of its device's addresses, also if IPv6 first probes a new address.
listener_follows_addresses() {
	on b sysctl -qw net.ipv6.conf.vb.accept_dad=1
	t_defer on b sysctl -qw net.ipv6.conf.vb.accept_dad=0
	start_server "$1"
	run_client "$2"
	on b ip addr add "$3" dev vb
	t_defer eval "on b ip addr del $3 dev vb 2>/dev/null"
	t_wait_until 40 can_connect "${3%/*}" || t_fail "no connection to the new address $3"
	run_client "${3%/*}"
	on b ip addr del "$3" dev vb
	t_wait_until 10 eval "! is_addr_in_use $3" ||
		t_fail "the socket of the removed address $3 is still there"
	run_client "$2"
	on b ip addr add "$3" dev vb
	t_wait_until 40 can_connect "${3%/*}" ||
		t_fail "no connection to $3 after it was added again"
}

# set_failslab_options NAME VALUE...: set options of failslab
set_failslab_options() {
	while [ $# -gt 0 ]; do
		echo "$2" >"$SLAB/$1"
		shift 2
	done
}

stop_failslab() {
	set_failslab_options probability 0 require-start 0 require-end 18446744073709551615 times 1
}

# has_failures_left N: check that N allocations are still to fail
has_failures_left() { [ "$(cat $SLAB/times)" = "$1" ]; }

# The worker that follows address changes fails to allocate memory several times. It must retry,
# because no further notification arrives when there is memory again.
worker_retries_without_memory() {
	local range
	[ -e $SLAB/require-start ] ||
		t_skip "this kernel cannot inject allocation failures by caller (CONFIG_FAILSLAB)"
	start_server 0.0.0.0
	run_client "$B4"
	range=$(grep -F '[iw_sctp_ddp]' /proc/kallsyms | sort |
		awk '$3 == "sddp_laddrs_update_work" { at = "0x" $1; next }
			at && "0x" $1 > at { print at, "0x" $1; exit }')
	[ -n "$range" ] ||
		t_fail "sddp_laddrs_update_work() not found in kallsyms; if it was renamed, update this test"
	t_defer stop_failslab
	set_failslab_options require-start "${range% *}" require-end "${range#* }" stacktrace-depth 32 \
		task-filter N cache-filter N ignore-gfp-wait N verbose 0 space 0 interval 1 \
		times 3 probability 100
	on b ip addr add "$1" dev vb
	t_defer on b ip addr del "$1" dev vb
	t_wait_until 20 has_failures_left 0 ||
		t_fail "the worker has not retried: $(cat $SLAB/times) of 3 failures left"
	t_wait_until 40 can_connect "${1%/*}" || t_fail "no connection to the new address $1"
}

# is_addr_in_use ADDRESS: check whether an SCTP listener of b uses ADDRESS
is_addr_in_use() {
	on b awk -v port="$PORT" '$4 == 10 && $6 == port' /proc/net/sctp/eps | shorten_ipv6 |
		grep -qF " ${1%/*} "
}

# A wildcard listen must fail if another program uses the port on the device's address: no other
# device has a path with this address, so no device could serve it.
listen_fails_if_port_in_use() {
	t_defer t_set_listen_llp "$B_DEV" both "$NS_B"
	t_set_listen_llp "$B_DEV" sctp "$NS_B"
	t_choose_port
	t_start other b python3 -c "import socket, time; s = socket.socket(2, 1, 132); \
s.bind(('$B4', $PORT)); s.listen(); time.sleep(1000)"
	t_wait_until 20 is_addr_in_use "$B4" || t_fail "the other program does not listen"
	t_check_fails on b timeout 10 rping -s -a 0.0.0.0 -p "$PORT" 2>"$T_CASE/refused"
	t_check "rdma_listen() fails with EADDRINUSE" \
		grep -q 'rdma_listen: Address already in use' "$T_CASE/refused"
}

# Print the number of addresses of b with an SCTP listener
count_sctp_listeners() { on b awk -v port="$PORT" '$4 == 10 && $6 == port' /proc/net/sctp/eps | wc -l; }

# Add 600 addresses per family. A listener is limited to 1024 sockets, and IPv6 addresses get
# sockets first.
listener_sockets_are_limited() {
	local i
	for ((i = 1; i <= 600; i++)); do
		echo "addr add 10.78.$((i >> 8)).$((i & 255))/32 dev vb"
		echo "addr add fd78::$i/128 dev vb nodad"
	done | ip -n "$NS_B" -batch -
	t_defer on b ip addr flush dev vb to 10.78.0.0/16
	t_defer on b ip addr flush dev vb to fd78::/16
	start_server ::
	t_wait_until 20 eval '[ "$(count_sctp_listeners)" = 1024 ]' ||
		t_fail "$(count_sctp_listeners) listening sockets, not 1024"
	run_client "$B4"
	run_client "$B6"
}

# Each of two devices has the interface of the other one as an additional path, and a program
# listens on both.
devices_use_each_others_paths() {
	t_create_temporary_device iwb2 vb2 "$NS_B"
	set_paths a va2
	set_paths b vb2
	t_change_setting iwb2 paths vb "$NS_B"
	t_set_listen_llp iwb2 sctp "$NS_B"
	t_set_listen_llp "$B_DEV" sctp "$NS_B"
	t_defer t_set_listen_llp "$B_DEV" both "$NS_B"
	t_choose_port
	t_start server b rping -s -P -a 0.0.0.0 -p "$PORT"
	t_wait_until 20 is_addr_in_use "$B4" || t_fail "the server does not listen"
	run_client "$B4"
	check_association_addresses a "$A4" a "$A4_2" b "$B4" b "$B4_2"
	t_check "the server still runs" t_is_alive server
}

association_has_two_addresses_each() {
	set_two_paths
	start_traffic "$1"
	check_association_addresses a "$2" a "$3" b "$1" b "$4"
}

# Print the number of packets sent through an interface of host a.
count_tx_packets() { on a cat "/sys/class/net/$1/statistics/tx_packets"; }

# Print the maximum of consecutive timeouts of host a's association with $PORT
print_max_timeouts() {
	on a awk -v port="$PORT" '$13 == port { print $(NF - 7) }' /proc/net/sctp/assocs
}

# The second path must carry heartbeats only.
second_path_has_heartbeats_only() {
	local first second
	set_two_paths
	start_traffic "$B4"
	wait_both_paths_active "$B4" $B4_2 "$A4" $A4_2
	first=$(count_tx_packets va)
	second=$(count_tx_packets va2)
	check_traffic
	check_traffic
	check_traffic
	first=$(($(count_tx_packets va) - first))
	second=$(($(count_tx_packets va2) - second))
	echo "$first packets on the first path, $second on the second"
	t_check "data is sent on the first path only" test $((10 * second)) -lt "$first"
	t_check "the association allows 10 timeouts, five for each path (it allows $(print_max_timeouts))" \
		test "$(print_max_timeouts)" = 10
}

# Each path fails in turn during traffic, at either end.
traffic_fails_over_to_other_path() {
	set_two_paths
	start_traffic "$@"
	wait_both_paths_active "$B4" $B4_2 "$A4" $A4_2
	t_defer set_link_state a va up
	set_link_down_and_check_traffic a va
	set_link_state a va up
	wait_both_paths_active "$B4" $B4_2 "$A4" $A4_2
	check_traffic
	t_defer set_link_state b vb2 up
	set_link_down_and_check_traffic b vb2
	set_link_state b vb2 up
	wait_both_paths_active "$B4" $B4_2 "$A4" $A4_2
	t_defer set_link_state b vb up
	set_link_down_and_check_traffic b vb
	on a cat /proc/net/sctp/remaddr
}

# The network drops all packets of a path, but the link is up.
traffic_avoids_path_that_drops_all() {
	set_two_paths
	start_traffic "$1"
	wait_both_paths_active "$@"
	t_apply_netem a va loss 100%
	check_traffic 60
	check_traffic
	on a tc -s qdisc show dev va | tee "$T_CASE/lost"
	t_check "packets are lost" grep -q 'dropped [1-9]' "$T_CASE/lost"
}

# A router between the hosts; its link to b has a smaller MTU:
#
#	va3  10.9.4.1  iwa3  ----  ra  10.9.4.254
#				   rb  10.9.5.254  ----  vb3  10.9.5.1  iwb3
create_router() {
	t_run_or_bail_out t_create_temporary_netns rnic-r
	t_run_or_bail_out ip link add va3 mtu 9000 netns "$NS_A" type veth peer name ra mtu 9000 \
		netns rnic-r
	t_run_or_bail_out ip link add vb3 mtu 1400 netns "$NS_B" type veth peer name rb mtu 1400 \
		netns rnic-r
	t_run_or_bail_out add_addresses_and_set_link_up "$NS_A" va3 10.9.4.1 fd00:9:4::1
	t_run_or_bail_out add_addresses_and_set_link_up rnic-r ra 10.9.4.254 fd00:9:4::fe
	t_run_or_bail_out add_addresses_and_set_link_up rnic-r rb 10.9.5.254 fd00:9:5::fe
	t_run_or_bail_out add_addresses_and_set_link_up "$NS_B" vb3 10.9.5.1 fd00:9:5::1
	ip netns exec rnic-r sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	ip -n "$NS_A" route add 10.9.5.0/24 via 10.9.4.254
	ip -n "$NS_B" route add 10.9.4.0/24 via 10.9.5.254
	ip -n "$NS_A" route add fd00:9:5::/64 via fd00:9:4::fe
	ip -n "$NS_B" route add fd00:9:4::/64 via fd00:9:5::fe
	t_run_or_bail_out t_create_temporary_device iwa3 va3 "$NS_A"
	t_run_or_bail_out t_create_temporary_device iwb3 vb3 "$NS_B"
}

# The router reports packets that exceed the MTU, and SCTP must react immediately. If the packets
# were only dropped, retransmissions after 0.3 s and then at doubled intervals would cause a pause
# of more than 8 s. After the report SCTP fragments no messages, except for those that were queued
# before. On a busy machine there may be such pauses and spurious retransmissions even without a
# fault, so the case is repeated after the route has forgotten the path MTU.
reported_mtu_is_used_quickly() {
	local try
	create_router
	for try in 1 2 3; do
		! check_path_mtu_is_learned_quickly "$1" || return 0
		flush_path_mtus
	done
	t_fail "SCTP was slow to react to the router in $try tries"
}

check_path_mtu_is_learned_quickly() {
	local start cut late
	cut=$(count_fragmented_messages) late=$(count_timeouts)
	t_choose_port
	t_start server b rping -s -a "$1" -p "$PORT" -S 60000 -C 20 -V
	t_wait_listener b "$PORT"
	start=$SECONDS
	on a timeout "$T_TIME" rping -c -a "$1" -p "$PORT" -S 60000 -C 20 -V >"$T_CASE/client.log" 2>&1 ||
		t_has_event_channel_error "$T_CASE/client.log" || t_fail "rping failed"
	t_check "all rounds are done" t_check_rping_complete "$T_CASE/client.log"
	start=$((SECONDS - start)) late=$(($(count_timeouts) - late)) cut=$(($(count_fragmented_messages) - cut))
	on a ip route get "$1" | tee "$T_CASE/way"
	t_check "the route's path MTU is 1400" grep -q "mtu 1400" "$T_CASE/way"
	t_check "SCTP fragments fewer than 20 messages ($cut)" test $cut -lt 20
	echo "it took $start s, with $late retransmission timeouts"
	[ $start -lt 8 ] || [ $late -lt 3 ]
}

# Flush the path MTUs, which the kernel would remember for minutes
flush_path_mtus() { on a sh -c 'ip route flush cache; ip -6 route flush cache'; }

count_timeouts() { on a awk '$1 == "SctpT3RtxExpireds" { print $2 }' /proc/net/sctp/snmp; }
count_fragmented_messages() { on a awk '$1 == "SctpFragUsrMsgs" { print $2 }' /proc/net/sctp/snmp; }

# set_mtus A B: set the MTUs of both ends of the first link; an end drops packets that are too long
set_mtus() {
	t_run_or_bail_out set_mtu a va "$1"
	t_run_or_bail_out set_mtu b vb "$2"
	t_defer set_mtu a va 1500
	t_defer set_mtu b vb 1500
	t_defer flush_path_mtus
}

set_mtu() { on "$1" ip link set "$2" mtu "$3"; }

# Packets that are too long for the path are dropped silently, so segments must become shorter.
dropped_packets_shorten_segments() {
	set_mtus 9000 1500
	t_choose_port
	t_start server b rping -s -a "$1" -p "$PORT" -S 60000 -V
	t_wait_listener b "$PORT"
	t_start client a rping -c -a "$1" -p "$PORT" -S 60000 -V
	check_traffic 50
	check_traffic
	on a ip route get "$1"
}

# If the path drops even the smallest segments, the connection must end.
connection_ends_if_no_segment_fits() {
	local before
	set_mtus 9000 500
	before=$(t_print_counter "$A_DEV" end_timeout)
	t_choose_port
	t_start server b rping -s -a "$B4" -p "$PORT" -S 60000
	t_wait_listener b "$PORT"
	# rping's status is ignored, because rping treats any end of the connection as a success
	on a timeout "$T_TIME" rping -c -a "$B4" -p "$PORT" -S 60000 2>&1 | tee "$T_CASE/said"
	t_check "the program is notified of the disconnect" \
		grep -q "DISCONNECT EVENT" "$T_CASE/said"
	on a ip route get "$B4" | grep "mtu 576"
	t_check "end_timeout has increased" \
		test "$(t_print_counter "$A_DEV" end_timeout)" -gt "$before"
}

# count_bytes INTERFACE: print how many bytes an interface of a has sent and received
count_bytes() {
	on a cat "/sys/class/net/$1/statistics/"{tx,rx}_bytes | awk '{ n += $1 } END { print n }'
}
has_moved_bytes() { [ "$(count_bytes "$1")" -gt "$2" ]; }

# Wait for traffic, then set the first link down. An existing connection does not show that there is
# traffic: perftest first makes one to exchange parameters, and t_run_perftest() may start perftest
# again. Therefore wait until ENOUGH bytes have passed. ENOUGH must not be larger, because a busy
# machine transfers less than 2 MB in a second.
set_link_down_under_traffic() {
	t_wait_until 100 has_moved_bytes va $(($(count_bytes va) + ENOUGH)) || t_fail "no traffic"
	set_link_state a va down
	echo "the link is down"
}

# Before each try of perftest: set the link up again and restart set_link_down_under_traffic()
restart_link_failure() {
	cancel_link_failure
	set_link_state a va up
	set_link_down_under_traffic &
	link_down_pid=$!
}

# Stop set_link_down_under_traffic() if it still waits
cancel_link_failure() {
	[ -n "$link_down_pid" ] || return 0
	pkill -P "$link_down_pid" || true
	kill "$link_down_pid" 2>/dev/null || true
	wait "$link_down_pid" 2>/dev/null || true
}

# Run a program of perftest with many requests in flight, and let the first link fail while it runs.
perftest_survives_link_failure() {
	local second
	link_down_pid=''
	set_two_paths
	t_defer set_link_state a va up
	t_defer cancel_link_failure
	second=$(count_bytes va2)
	T_EACH=restart_link_failure t_run_perftest "$1" -D 15 -s 16384
	wait "$link_down_pid" || t_fail "the first link was not set down"
	second=$(($(count_bytes va2) - second))
	echo "$second bytes went over the second path"
	t_check "more than $ENOUGH bytes go over the second path" test $second -gt $ENOUGH
}

# An association that was set up with one address keeps this address; a new value of the setting
# applies to new associations.
paths_apply_to_next_association() {
	t_choose_port
	t_start server b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	t_start client a rping -c -a "$B4" -p "$PORT"
	check_traffic
	set_two_paths
	check_association_addresses a "$A4" b "$B4"
	t_start second a rping -c -a "$B4" -p "$PORT"
	t_wait_until 20 eval '[ "$(on a ss -HnS | grep -c "^ESTAB.*:$PORT *$")" = 2 ]'
	check_association_addresses a "$A4" a "$A4_2" b "$B4"
}

print_paths() { t_print_setting "$A_DEV" paths "$NS_A"; }

# Set valid and invalid values of the setting paths.
paths_setting_checks_values() {
	local name
	print_paths | grep -x none
	set_paths a va2
	print_paths | grep -x va2
	for name in "$A_IF" nothing va2,nothing "va2 va2 va2 va2 va2"; do
		t_check_fails t_change_setting "$A_DEV" paths "$name" "$NS_A"
	done
	print_paths | grep -x va2
	t_check_fails on a setpriv --inh-caps -net_admin --bounding-set -net_admin \
		"$T_DIR/lib/setting" "$A_DEV" paths none
	set_paths a "lo,va2"
	print_paths | grep -x "lo va2"
	# if an interface is deleted, its name is removed from the setting
	ip -n "$NS_A" link add d9 type dummy
	set_paths a "d9 va2"
	ip -n "$NS_A" link del d9
	print_paths | grep -x va2
	start_traffic "$B4"
	check_association_addresses a "$A4" a "$A4_2" b "$B4"
}

modprobe rnic_sw
modprobe iw_sctp_ddp || t_skip_all "cannot load module iw_sctp_ddp"
create_two_hosts
create_second_link
t_case "one address on each side" "SCTPDDP-51 SCTPDDP-52" association_has_one_address_each "$B4" \
	"$A4"
t_case "one address on each side, IPv6" "SCTPDDP-51 SCTPDDP-52" association_has_one_address_each \
	"$B6" "$A6"
t_case "one address, the one that was called" "SCTPDDP-52" wildcard_association_has_called_address
t_case "addresses added and removed" "" listener_follows_addresses 0.0.0.0 "$B4" 10.9.1.78/24
t_case "addresses added and removed, IPv6" "" listener_follows_addresses :: "$B6" fd00:9:1::78/64
t_case "an address added while memory is short" "" worker_retries_without_memory 10.9.1.79/24
t_case "an address in use by another program" "" listen_fails_if_port_in_use
t_case "more addresses than a listener may have sockets" "" listener_sockets_are_limited
t_case "one link-local address" "SCTPDDP-52" link_local_address_is_no_path
t_case "two paths" "SCTPDDP-51" association_has_two_addresses_each "$B4" "$A4" $A4_2 $B4_2
t_case "two paths, IPv6" "SCTPDDP-51" association_has_two_addresses_each "$B6" "$A6" $A6_2 $B6_2
T_AT=0.0.0.0 t_case "two paths, wildcard listener" "SCTPDDP-51" \
	association_has_two_addresses_each "$B4" "$A4" $A4_2 $B4_2
t_case "devices on each other's path" "" devices_use_each_others_paths
t_case "valid and invalid values of paths" "" paths_setting_checks_values
t_case "a new value of paths applies to new associations" "" paths_apply_to_next_association
t_case "two paths, only the first carries data" "SCTPDDP-53" second_path_has_heartbeats_only
t_case "a router reports a smaller MTU" "SCTPDDP-60" reported_mtu_is_used_quickly 10.9.5.1
t_case "a router reports a smaller MTU, IPv6" "SCTPDDP-60" reported_mtu_is_used_quickly fd00:9:5::1
t_case "packets too long for the path are dropped" "" dropped_packets_shorten_segments "$B4"
t_case "packets too long for the path are dropped, IPv6" "" dropped_packets_shorten_segments "$B6"
t_case "a path drops all packets, IPv6" "SCTPDDP-55" traffic_avoids_path_that_drops_all "$B6" \
	$B6_2 "$A6" $A6_2
# these cases come last, because they set the links down, which removes the IPv6 addresses
T_TIME=120 t_case "no segment fits the path" "" connection_ends_if_no_segment_fits
t_case "link failure" "SCTPDDP-55" traffic_fails_over_to_other_path "$B4"
t_case "a path drops all packets" "SCTPDDP-55" traffic_avoids_path_that_drops_all "$B4" $B4_2 \
	"$A4" $A4_2
for t_op in send write read; do
	t_case "link failure under ib_${t_op}_bw" "SCTPDDP-55" \
		perftest_survives_link_failure "ib_${t_op}_bw"
done
t_print_summary_and_exit
