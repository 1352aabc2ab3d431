#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# busy_poll.sh: programs that spin in ibv_poll_cq() on a device whose setting busy_poll is 1. The
# provider then lets the kernel poll the network device, if that has a NAPI instance.
#
# A dummy interface has no NAPI instance, because its packets pass the loopback interface. A veth
# pair has one for each end if generic receive offload (GRO) is on.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

# With these values the kernel polls an end of the veth pair by itself only if no program has polled
# this end for 20 ms. A packet that arrives meanwhile waits for a program that polls.
DEFER_COUNT=2 DEFER_NS=20000000

# Use shared mode, because the program verbs is on both hosts
t_set_topology_netns_mode() { t_set_temporary_netns_mode shared; }

set_busy_poll() {
	t_change_setting "$A_DEV" busy_poll "$1" "${NS_A:-}"
	[ "$A_DEV" = "$B_DEV" ] || t_change_setting "$B_DEV" busy_poll "$1" "${NS_B:-}"
}

# Print the number of packets that both hosts have received by busy polling. If a and b are one
# host, print twice the number.
count_polled_packets() {
	local host
	for host in a b; do
		on "$host" cat /proc/net/netstat
	done | awk '
		$2 ~ /[A-Za-z]/ { for (i = 2; i <= NF; i++) name[i] = $i; next }
		{ for (i = 2; i <= NF; i++) if (name[i] == "BusyPollRxPackets") n += $i }
		END { print n + 0 }'
}

# use_napi_and_defer HOST DEV: let DEV receive by NAPI, and defer what is an interrupt in a real
# network device. Without segmentation offload (TSO) the peer's packets are suitable for NAPI.
use_napi_and_defer() {
	on "$1" ethtool -K "$2" gro on tso off
	on "$1" sh -c "echo $DEFER_COUNT >/sys/class/net/$2/napi_defer_hard_irqs &&
		echo $DEFER_NS >/sys/class/net/$2/gro_flush_timeout" ||
		t_skip "this kernel cannot defer the interrupts of a network device"
}

use_napi_on_both_hosts() {
	use_napi_and_defer a "$A_IF"
	use_napi_and_defer b "$B_IF"
}

# run_verbs CASE...: run cases of the program verbs, which compares all data
run_verbs() {
	local verbs hosts=()
	verbs=$(t_find_program verbs)
	[ -z "${NS_A:-}" ] || hosts=(-c "$NS_A" -s "$NS_B")
	"$verbs" "${hosts[@]}" -a "$B4" -m 1 "$@"
}

# start_pingpong N: start a ping-pong of N rounds between both hosts; each end spins
start_pingpong() {
	command -v ibv_rc_pingpong >/dev/null ||
		t_skip "ibv_rc_pingpong not found (package ibverbs-utils)"
	t_choose_port
	t_start server b ibv_rc_pingpong -d "$B_DEV" -g 0 -s 64 -p "$PORT" -n "$1"
	t_wait_listener b "$PORT"
	t_start client a ibv_rc_pingpong -d "$A_DEV" -g 0 -s 64 -p "$PORT" -n "$1" "$B4"
}

wait_pingpong() {
	t_wait client
	t_wait server
	t_check "all messages arrive" grep -q "$1 iters in" "$T_CASE/client.log"
}

has_connected_qp() { rdma resource show qp link "$1/1" | grep -q 'state RTS'; }

# Start a ping-pong that would take hours, and wait until it runs
start_endless_pingpong() {
	start_pingpong 1000000000
	t_wait_until "$T_TIME" has_connected_qp "$A_DEV"
	t_pause 0.5
	t_check "the client spins" t_is_alive client
}

# ends_with_error NAME: the program must end because its requests are flushed or its peer is lost
ends_with_error() {
	t_wait_until 30 t_has_ended "$1" || {
		t_print_network_and_process_state
		t_fail "the $1 still runs 30 s after its device is gone"
	}
	cat "$T_CASE/$1.log"
	t_check "the $1 reports an error" grep -q '^Failed status' "$T_CASE/$1.log"
	t_check_fails t_wait "$1"
}

messages_arrive_without_napi() {
	local before
	before=$(count_polled_packets)
	set_busy_poll 1
	start_pingpong "$turns"
	wait_pingpong "$turns"
	run_verbs send_sizes stream_send stream_rw
	t_check "the loopback interface cannot be polled" \
		[ "$(count_polled_packets)" -eq "$before" ]
}

# setting_changes_while_program_spins N: change the setting during N rounds. With NAPI a round takes
# up to 40 ms while the setting is 0.
setting_changes_while_program_spins() {
	local i=0
	[ -z "${NS_A:-}" ] || use_napi_on_both_hosts
	set_busy_poll 1
	start_pingpong "$1"
	while t_is_alive client; do
		set_busy_poll $((i++ % 2))
		t_pause 0.02
	done
	echo "the setting has changed $i times"
	wait_pingpong "$1"
}

# A closed socket whose peer does not reply otherwise holds a reference to a module for minutes, in
# kernels with lockdep
close_sockets_without_peer_soon() {
	local host
	[ -n "${NS_A:-}" ] || return 0
	for host in a b; do
		on "$host" sysctl -qw net.ipv4.tcp_orphan_retries=1
	done
}

# device_goes_while_program_spins COMMAND...: run COMMAND, which removes the device of host a, while
# the client spins and its peer is stopped
device_goes_while_program_spins() {
	[ -z "${NS_A:-}" ] || use_napi_on_both_hosts
	set_busy_poll 1
	start_endless_pingpong
	t_signal server STOP
	t_pause 0.5
	close_sockets_without_peer_soon
	timeout 30 "$@"
	ends_with_error client
	t_signal server CONT
	ends_with_error server
}

# The setting applies to programs that open the device afterwards, but 0 applies at once
packets_arrive_by_polling() {
	local before
	[ "${RNIC_SW_LLP:-}" != sctp ] || t_skip "busy polling works only over TCP"
	use_napi_on_both_hosts
	set_busy_poll 0
	before=$(count_polled_packets)
	start_pingpong 10
	wait_pingpong 10
	t_check "with busy_poll 0 no packet arrives by busy polling" \
		[ "$(count_polled_packets)" -eq "$before" ]
	set_busy_poll 1
	start_pingpong "$turns"
	wait_pingpong "$turns"
	echo "$(($(count_polled_packets) - before)) packets in $turns rounds by busy polling"
	t_check "with busy_poll 1 most packets arrive by busy polling" \
		[ "$(count_polled_packets)" -gt $((before + turns)) ]
	before=$(count_polled_packets)
	run_verbs send_sizes stream_send stream_rw
	echo "$(($(count_polled_packets) - before)) packets of the program verbs by busy polling"
	t_check "packets of the program verbs arrive by busy polling" \
		[ "$(count_polled_packets)" -gt "$before" ]
}

polling_ends_with_setting() {
	local before
	use_napi_on_both_hosts
	set_busy_poll 1
	start_endless_pingpong
	set_busy_poll 0
	before=$(count_polled_packets)
	t_pause 1
	t_check "a program stops polling when the setting becomes 0" \
		[ "$(count_polled_packets)" -eq "$before" ]
	t_check "the program still runs" t_is_alive client
	t_kill client
	t_kill server
}

run_on_one_device() {
	create_one_device
	"$@"
}

run_between_hosts() {
	create_two_hosts
	"$@"
}

# number of rounds: few on slow machines, because both ends spin, and on one CPU each round waits
# for one or two time slices
turns=$((T_SLOW ? 40 : 200))
t_case "without NAPI messages arrive" "" run_on_one_device messages_arrive_without_napi
t_case "the setting changes while a program spins" "" \
	run_on_one_device setting_changes_while_program_spins $((4 * turns))
t_case "the device is deleted while a program spins" "" \
	run_on_one_device device_goes_while_program_spins rdma link del iw0
t_case "veth with NAPI: packets arrive by busy polling" "" \
	run_between_hosts packets_arrive_by_polling
t_case "veth with NAPI: the setting changes while a program spins" "" \
	run_between_hosts setting_changes_while_program_spins 160
t_case "veth with NAPI: polling ends when the setting becomes 0" "" \
	run_between_hosts polling_ends_with_setting
t_case "veth with NAPI: the device is deleted while a program spins" "" \
	run_between_hosts device_goes_while_program_spins ip netns exec rnic-a rdma link del iwa
t_case "veth with NAPI: the interface is deleted while a program spins" "" \
	run_between_hosts device_goes_while_program_spins ip -n rnic-a link del va
t_print_summary_and_exit
