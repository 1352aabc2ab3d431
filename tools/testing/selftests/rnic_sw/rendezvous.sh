#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# rendezvous.sh: programs that do not use rdma_cm, but connect their queue pairs with
# ibv_modify_qp(). See Documentation/rendezvous.rst.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"
. "$(dirname "$(readlink -f "$0")")/lib/gids.sh"

PORT_DEFAULT=291

# run_pingpong PROGRAM GID_A GID_B ARGS...: run one of libibverbs' programs between a and b. With ""
# for a GID, this side names its peer by its LID.
run_pingpong() {
	local prog=$1 gid_a=$2 gid_b=$3
	shift 3
	command -v "$prog" >/dev/null || t_skip "program $prog not found (package ibverbs-utils)"
	t_choose_port
	t_run_pair "$PORT" "$prog" -d "$B_DEV" ${gid_b:+-g "$gid_b"} -p "$PORT" -n "$n" "$@" -- \
		"$prog" -d "$A_DEV" ${gid_a:+-g "$gid_a"} -p "$PORT" -n "$n" "$@" "$B4"
	t_check "all messages arrive" grep -q "$n iters in" "$T_CASE"/client.log
}

# The rendezvous port must be closed when no queue pair waits for a peer
check_port_is_closed() {
	! on b ss -tlnH "sport = :$PORT_DEFAULT" | grep -q . ||
		t_fail "the rendezvous port is open after the end of the programs"
}

# run_pingpong_and_check_port ARGS...: like run_pingpong, and check that the port is closed
# afterwards
run_pingpong_and_check_port() {
	run_pingpong "$@"
	check_port_is_closed
}

pingpong_works_between_hosts() {
	local a=$1 b=$2
	shift 2
	run_pingpong_and_check_port ibv_rc_pingpong "$(print_gid_index_of a "$a")" \
		"$(print_gid_index_of b "$b")" "$@"
}

pingpong_works_over_sctp() {
	local before
	listen_on_sctp_or_skip
	before=$(t_print_counter "$A_DEV" connects_sctp)
	RNIC_SW_LLP=sctp run_pingpong ibv_rc_pingpong 0 0
	t_check "the connection is over SCTP" \
		[ "$(t_print_counter "$A_DEV" connects_sctp)" -gt "$before" ]
}

reset_works_over_sctp() {
	listen_on_sctp_or_skip
	RNIC_SW_LLP=sctp run_pyverbs_case reset
}

listen_on_sctp_or_skip() { t_set_listen_llp "$A_DEV" both || t_skip "SCTP is not available in this kernel"; }

# run_perftest PROGRAM ADDRESS_A ADDRESS_B ARGS...: without -R perftest connects with
# ibv_modify_qp()
run_perftest() {
	local prog=$1 gid_a gid_b
	gid_a=$(print_gid_index_of a "$2") gid_b=$(print_gid_index_of b "$3")
	shift 3
	command -v "$prog" >/dev/null || t_skip "program $prog not found (package perftest)"
	t_choose_port
	t_run_pair "$PORT" "$prog" -F -d "$B_DEV" -x "$gid_b" -p "$PORT" "$@" -- \
		"$prog" -F -d "$A_DEV" -x "$gid_a" -p "$PORT" "$@" "$B4"
}

# run_qperf TEST...: without -cm 1 qperf connects by ibv_modify_qp(), and specifies its peer by a
# LID. qperf's server never exits.
run_qperf() {
	command -v qperf >/dev/null || t_skip "program qperf not found (package qperf)"
	t_choose_port
	t_start server b qperf -lp "$PORT"
	t_wait_listener b "$PORT"
	t_start client a qperf -lp "$PORT" -t 1 "$B4" "$@"
	t_wait client
	cat "$T_CASE/client.log"
	t_kill server
}

print_lid() { on "$1" cat "/sys/class/infiniband/$2/ports/1/lid"; }
has_lid() { [ "$(print_lid a "$A_DEV")" = "$1" ]; }

# lid_follows_address: the LID must be the low half of the first IPv4 address if that is a valid
# unicast LID and the prefix has at least 16 bits, and otherwise 0
lid_follows_address() {
	has_lid 0x1 || t_fail "the LID of 10.9.0.1/24 is $(print_lid a "$A_DEV")"
	t_defer restore_address
	while read -r addr lid; do
		ip addr flush dev "$A_IF" scope global
		ip addr add "$addr" dev "$A_IF"
		t_wait_until 10 has_lid "$lid" ||
			t_fail "the LID of $addr is $(print_lid a "$A_DEV")"
	done <<-'END'
		10.9.191.255/16 0xbfff
		10.9.192.0/16 0x0
		10.9.2.3/15 0x0
		10.9.2.3/32 0x203
	END
}

restore_address() {
	ip addr flush dev "$A_IF" scope global
	ip addr add "$A4/24" dev "$A_IF"
	ip addr add "$A6/64" dev "$A_IF" nodad
}

# perftest_chooses_ipv4_gid PROGRAM ARGS...: run PROGRAM with neither a device nor a GID on the
# command line, and check which GID it chooses
perftest_chooses_ipv4_gid() {
	local prog=$1
	shift
	command -v "$prog" >/dev/null || t_skip "program $prog not found (package perftest)"
	t_choose_port
	t_run_pair "$PORT" "$prog" -F -p "$PORT" "$@" -- "$prog" -F -p "$PORT" "$@" "$B4"
	t_check "perftest has chosen the GID of the IPv4 address" \
		grep -qE "GID index +: $(print_gid_index_of a "$A4")\$" "$T_CASE/client.log"
}

# The value 0 of the setting rendezvous forbids queue pairs that rdma_cm does not connect
rendezvous_0_forbids_modify_qp_connections() {
	t_change_setting iw0 rendezvous 0
	t_choose_port
	t_start server b ibv_rc_pingpong -d iw0 -g 0 -p "$PORT" -n 1
	t_wait_listener b "$PORT"
	on a timeout 20 ibv_rc_pingpong -d iw0 -g 0 -p "$PORT" -n 1 "$B4" || true
	t_wait_until 20 t_has_ended server
	t_check "the server cannot enter RTR" grep "Failed to modify QP to RTR" "$T_CASE/server.log"
	t_change_setting iw0 rendezvous 5791
	run_pingpong ibv_rc_pingpong 0 0
	t_change_setting iw0 rendezvous $PORT_DEFAULT
}

# run_pyverbs_case CASE [COMMAND...]: run a case of lib/rendezvous.py, with COMMAND
run_pyverbs_case() {
	/usr/bin/python3 -c 'import pyverbs.cmid' ||
		t_skip "pyverbs not found (package python3-pyverbs)"
	timeout "$T_TIME" "${@:2}" /usr/bin/python3 "$T_DIR/lib/rendezvous.py" iw0 "$1"
}

# In the mode "shared" a program sees the devices of all network namespaces
other_netns_is_refused() {
	t_set_temporary_netns_mode shared
	run_pyverbs_case other_netns_is_refused unshare --net
}

print_link_local_address() {
	on "$1" ip -o -6 addr show dev "$2" scope link | sed -n 's/.* inet6 \([^/]*\).*/\1/p'
}

pingpong_works_between_link_locals() {
	pingpong_works_between_hosts "$(print_link_local_address a "$A_IF")" \
		"$(print_link_local_address b "$B_IF")"
}

# The neighbour table of a contains three addresses with b's MAC address
pingpong_works_with_three_addrs_of_neighbour() {
	local addr mac
	mac=$(on b cat "/sys/class/net/$B_IF/address")
	for addr in 10.9.1.9 10.9.1.8; do
		t_defer on a ip neigh del $addr dev "$A_IF"
		on a ip neigh replace $addr lladdr "$mac" nud permanent dev "$A_IF"
	done
	run_pingpong_and_check_port ibv_rc_pingpong 0 0
}

n=$(t_scale_rounds 1000)
create_one_device
for prog in ibv_rc_pingpong ibv_srq_pingpong; do
	t_case "$prog on one device" "" run_pingpong_and_check_port $prog 0 0
done
for prog in ibv_rc_pingpong ibv_srq_pingpong; do
	t_case "$prog on one device, by LID" "" run_pingpong_and_check_port $prog "" ""
done
t_case "qperf on one device" "" run_qperf rc_bw rc_lat
t_case "the LID follows the address" "" lid_follows_address
t_case "ibv_rc_pingpong with events" "" run_pingpong_and_check_port ibv_rc_pingpong 0 0 -e
t_case "ibv_rc_pingpong over SCTP" "" pingpong_works_over_sctp
t_case "a message waits for a receive" "" run_pyverbs_case message_waits_for_receive
t_case "a message waits for a receive of an SRQ" "" run_pyverbs_case message_waits_for_srq_receive
t_case "a post to an SRQ wakes the message that waits longest" "" \
	run_pyverbs_case srq_receive_delivers_waiting_message
t_case "a message without a receive fails after the RNR retries" "" run_pyverbs_case \
	missing_receive_fails_sender
t_case "a request without a peer fails after the retries" "" run_pyverbs_case \
	missing_peer_fails_request
t_case "different PSNs are not connected" "" run_pyverbs_case different_psns_are_not_connected
t_case "RTS with a PSN that the peer does not expect" "" run_pyverbs_case \
	rts_with_wrong_psn_is_refused
t_case "receives stay posted when the peer goes" "" run_pyverbs_case \
	receives_stay_posted_after_peer_exit
t_case "a request fails only after the retries when the peer goes" "" run_pyverbs_case \
	request_fails_only_after_retries
t_case "the error state flushes receives that stayed" "" run_pyverbs_case \
	error_state_flushes_receives
t_case "a query returns what was set" "" run_pyverbs_case query_returns_set_values
t_case "values that cannot work are refused" "" run_pyverbs_case unusable_values_are_refused
t_case "a GID that stands for no address is refused" "" run_pyverbs_case unusable_gids_are_refused
t_case "a program in another network namespace is refused" "" other_netns_is_refused
t_case "attributes change in RTS" "" run_pyverbs_case attributes_can_change_in_rts
t_case "a queue pair is reset and connected again" "" run_pyverbs_case reset
t_case "doorbells during a reset" "" run_pyverbs_case doorbells_do_not_disturb_reset
t_case "a queue pair with an SRQ is reset and connected again" "" \
	run_pyverbs_case reset_with_srq_discards_requests
t_case "queue pairs are reset and connected again over SCTP" "" reset_works_over_sctp
t_case "a side names its peer by LID, the other one by LID or GID" "" run_pyverbs_case \
	lid_names_peer
t_case "the setting forbids it, and changes the port" "" rendezvous_0_forbids_modify_qp_connections

create_two_hosts
t_case "ibv_rc_pingpong between hosts, IPv4" "" pingpong_works_between_hosts "$A4" "$B4"
t_case "ibv_rc_pingpong between hosts, GID 0" "" run_pingpong_and_check_port ibv_rc_pingpong 0 0
t_case "ibv_rc_pingpong between hosts, GID 0 of a host with three addresses" "" \
	pingpong_works_with_three_addrs_of_neighbour
t_case "ibv_rc_pingpong between hosts, by LID" "" run_pingpong_and_check_port ibv_rc_pingpong "" ""
t_case "qperf between hosts" "" run_qperf rc_bw rc_lat rc_rdma_write_lat rc_rdma_read_bw
t_case "ibv_rc_pingpong between hosts, IPv6" "" pingpong_works_between_hosts "$A6" "$B6"
t_case "ibv_rc_pingpong between hosts, link-local IPv6" "" pingpong_works_between_link_locals
for prog in ib_write_bw ib_read_bw ib_atomic_bw ib_send_lat ib_write_lat; do
	t_case "$prog without rdma_cm" "" run_perftest $prog "$A4" "$B4" -n 50
done
t_case "ib_write_bw without rdma_cm chooses the GID" "" perftest_chooses_ipv4_gid ib_write_bw -n 50
t_print_summary_and_exit
