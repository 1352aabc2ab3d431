#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# verbs.sh: run the program verbs, which has both ends of each connection and verifies every byte
# (see verbs.h). First run all its cases on one device, then the longer ones between two devices
# over a network that loses, reorders, duplicates and delays packets and whose MTU changes.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"
. "$(dirname "$(readlink -f "$0")")/lib/memory.sh"

# Use shared mode until the script ends, because both ends are in one process, which must see the
# devices of both namespaces.
t_set_topology_netns_mode() {
	t_defer t_wait_until 60 rdma system set netns "$(rdma system show |
		sed -n 's/.*netns \([a-z]*\).*/\1/p')"
	t_wait_until 60 rdma system set netns shared
}

# run_or_skip COMMAND...: run the program verbs; skip the case if the program's first case was
# skipped
run_or_skip() {
	local out line
	"$@" >"$T_CASE/out" || { cat "$T_CASE/out"; false; }
	mapfile -t out <"$T_CASE/out"
	for line in "${out[@]}"; do
		echo "$line"
		[[ $line != "ok 1 "*" # SKIP "* ]] || t_skip "${line#* # SKIP }"
	done
}

# run_case NAME: run a case of the program on one device
run_case() { run_or_skip "$VERBS" -a "$B4" -6 "$B6" "$1"; }

# Register 2 GiB. Skip this in User-Mode Linux, where every page is a mapping of the host, and the
# number of mappings is limited.
register_2_gib() {
	! grep -q 'User Mode Linux' /proc/cpuinfo ||
		t_skip "User-Mode Linux does not have enough mappings for 2 GiB"
	! grep -q 'QEMU TCG' /proc/cpuinfo || [ -n "${T_LONG:-}" ] ||
		t_skip "2 GiB take many minutes in QEMU without KVM; T_LONG=1 runs this case"
	run_case send_2g
}

define_program_cases() {
	local name rows all
	all=$("$VERBS" -l)
	[ -n "$all" ] || t_case "the program's cases" "" false
	while read -r name rows; do
		t_case "$name" "$rows" run_case "$name" </dev/null
	done <<<"$all"
}

# The limit of an rdma control group must apply only to the processes of the group.
rdma_cgroup_limits_own_processes() {
	create_cgroup rdma
	# choose a limit that the first end exceeds: if only the second end failed, the program
	# would wait a minute until the first end's connect times out
	echo "$B_DEV hca_object=3" >"$GROUP/rdma.max"
	t_check_fails run_in_cgroup "$VERBS" -a "$B4" send_sizes >"$T_CASE/refused"
	cat "$T_CASE/refused"
	t_check "creating an object fails with EAGAIN" \
		grep -q 'create.*: Resource temporarily unavailable' "$T_CASE/refused"
	"$VERBS" -a "$B4" send_sizes
	echo "$B_DEV hca_object=max" >"$GROUP/rdma.max"
	run_in_cgroup "$VERBS" -a "$B4" send_sizes
	T_GROUP=$GROUP run_in_cgroup "$VERBS" -a "$B4" limit_objects
}

# Kernel memory that a program causes is charged to the program's control group.
kernel_memory_is_charged() {
	create_cgroup memory
	T_GROUP=$GROUP run_in_cgroup "$VERBS" -a "$B4" charge_rings charge_windows charge_regions \
		charge_connects
	T_GROUP=$GROUP run_or_skip run_in_cgroup "$VERBS" -a "$B4" charge_brought
}

# run_with_odp CASE...: run cases with ODP MRs, except where a case requires another kind
run_with_odp() {
	run_case odp_caps
	"$VERBS" -d -a "$B4" -6 "$B6" -m "$MIB" "$@"
}

run_odp_swapped() {
	enable_swap 256
	run_case odp_swapped
}

# Run a program whose registered memory is far larger than the control group's limit
run_odp_beyond_memory_limit() {
	create_memory_limited_cgroup 12
	run_or_skip run_in_cgroup env T_GROUP_MIB=12 "$VERBS" -a "$B4" odp_squeezed
	t_check "the control group reached its limit, and no process was killed" \
		has_reached_limit_without_oom
}

define_odp_cases() {
	t_case "odp_swapped" "" run_odp_swapped
	t_case "odp_squeezed, memory limit far below the MR's size" "" run_odp_beyond_memory_limit
	t_case "odp_again, errors of the peer" "" run_with_odp 'remote_*'
	t_case "odp_again, errors of the program" "" run_with_odp 'local_send_*' 'local_write_*' \
		'local_read_*' 'local_recv_*'
	t_case "odp_again, memory windows" "" run_with_odp 'mw_*'
	[ -n "$once_more" ] || return 0
	t_case "odp_again, deregistration" "" \
		run_with_odp 'mr_dereg_*' mr_rereg mr_keys mr_overlap \
		'flush_*' 'destroy_*'
	t_case "odp_again, messages" "" \
		run_with_odp 'send_*' 'sge_*' 'inline_*' 'write_*' 'read_*' \
		'reads_*' fence mixed_order sends_in_order 'wr_api*' 'imm_*' 'stream_*' \
		'threads_*' last_octet
	t_case "odp_again, atomics" "" run_with_odp 'atomic_*'
	t_case "odp_again, shared receive queues" "" run_with_odp 'srq_*'
}

# delete_device_during CASE: delete the device while CASE runs
delete_device_during() {
	[ -e /dev/rnic_sw_exporter ] || t_skip "module rnic_sw_exporter is not loaded"
	t_start program b "$VERBS" -a "$B4" "$1"
	t_wait_until "$T_TIME" grep -qE 'under way|SKIP' "$T_CASE/program.log"
	! grep -q SKIP "$T_CASE/program.log" || t_skip "the program skips the case"
	timeout 20 rdma link del "$B_DEV"
	t_wait program
	t_create_device "$B_DEV" "$B_IF"
}

define_dmabuf_cases() {
	t_case "dmabuf_device_goes" "" delete_device_during dmabuf_device_goes
	t_case "dmabuf_device_goes, held" "" delete_device_during dmabuf_device_goes_held
}

# create_as_many_as_announced KIND: create as many objects of KIND as the device announces. Takes
# half a minute, and longer with debug checks.
create_as_many_as_announced() {
	[ -z "$T_SLOW" ] || [ -n "${T_LONG:-}" ] ||
		t_skip "takes minutes in a debug kernel; T_LONG=1 runs this case"
	"$VERBS" -a "$B4" "limit_$1" >"$T_CASE/said" 2>&1 || { cat "$T_CASE/said"; return 1; }
	! grep -q '# SKIP' "$T_CASE/said" || t_skip "$(sed -n 's/.*# SKIP *//p' "$T_CASE/said")"
}

# Compare the cost of the 32000th completion queue with that on a device without completion queues
cq_cost_is_independent_of_number() {
	[ ! -e /proc/lockdep ] || [ -n "${T_LONG:-}" ] ||
		t_skip "takes minutes in a debug kernel; T_LONG=1 runs this case"
	t_run_or_bail_out ip link add t1 type dummy
	t_defer ip link del t1
	ip link set t1 up
	t_create_temporary_device iw1 t1
	T_MANY=$B_DEV T_NONE=iw1 "$VERBS" -a "$B4" cost_cqs
}

define_limit_cases() {
	t_case "the 32000th completion queue costs no more than the first" "" \
		cq_cost_is_independent_of_number
	t_case "as many completion queues as the device announces" "RDMAP-185 SEC-24" \
		create_as_many_as_announced cqs
	t_case "as many shared receive queues as the device announces" "RDMAP-185 SEC-24" \
		create_as_many_as_announced srqs
	t_case "as many MRs as the device announces" "RDMAP-185 SEC-24" \
		create_as_many_as_announced mrs
	t_case "as many memory windows as the device announces" "RDMAP-185 SEC-24" \
		create_as_many_as_announced mws
	t_case "as many processes of one user with ODP MRs as are allowed" "SEC-24" \
		create_as_many_as_announced owners
}

# Run a program in a time namespace whose clock is a day ahead. The timestamps that the program gets
# must be a day ahead as well.
run_in_time_namespace() {
	unshare -T --monotonic 86400 true ||
		t_skip "time namespaces are not available in this kernel"
	unshare -T --monotonic 86400 "$VERBS" -a "$B4" cq_poll_ex
}

# run_between_hosts CASE...: run cases between the hosts, the client on a
run_between_hosts() {
	"$VERBS" -c "$NS_A" -s "$NS_B" -a "$B4" -6 "$B6" -m "$MIB" "$@"
}

run_odp_between_hosts() {
	run_or_skip run_between_hosts odp_caps
	run_between_hosts -d "$@"
}

# Print the number of packets that netem has dropped on both hosts
count_lost_packets() {
	{ on a tc -s qdisc show dev va && on b tc -s qdisc show dev vb; } |
		sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

# sum_receive_counters TCP-COUNTER SCTP-COUNTER: print the sum of a receive counter of the LLP over
# both hosts
sum_receive_counters() {
	local host
	for host in a b; do
		on $host cat /proc/net/netstat
		on $host cat /proc/net/sctp/snmp 2>/dev/null || :
	done | awk -v tcp="$1" -v sctp="$2" '
		$1 == sctp { n += $2 }
		$1 == "TcpExt:" && $2 ~ /[a-z]/ { for (i = 2; i <= NF; i++) at[$i] = i; next }
		$1 == "TcpExt:" { n += $(at[tcp]) }
		END { print n + 0 }'
}
count_duplicate_packets() { sum_receive_counters TCPDSACKOldSent SctpInDataChunkDiscards; }
count_reordered_packets() { echo $(($(sum_receive_counters TCPOFOQueue -) + $(count_segments_placed_early))); }

# check_network_impairments WORDS...: check that netem has lost, duplicated and reordered packets as
# WORDS say, and that the MTU has changed if WORDS say so
check_network_impairments() {
	[[ " $* " != *" loss "* || $(count_lost_packets) -gt 0 ]] ||
		{ echo "no packet was lost"; return 1; }
	[[ " $* " != *" duplicate "* || $(count_duplicate_packets) -gt $DOUBLED ]] ||
		{ echo "no packet was duplicated"; return 1; }
	[[ " $* " != *" reorder "* || $(count_reordered_packets) -gt $OVERTAKEN ]] ||
		{ echo "no packet was reordered"; return 1; }
	[ ! -e "$T_CASE/changes" ] || [ "$(wc -l <"$T_CASE/changes")" -gt 3 ] ||
		{ echo "the MTU has changed fewer than 4 times"; return 1; }
}

# run_with_netem WORDS... -- CASE...: run cases with netem in both directions. netem selects packets
# at random, and there are few large packets, so retry if netem affected none.
run_with_netem() {
	local words=() host try
	while [ "$1" != -- ]; do words+=("$1"); shift; done
	shift
	DOUBLED=$(count_duplicate_packets) OVERTAKEN=$(count_reordered_packets)
	t_apply_netem a va "${words[@]}"
	t_apply_netem b vb "${words[@]}"
	for try in 1 2 3 4; do
		run_between_hosts "$@"
		for host in a b; do
			on $host tc -s qdisc show
		done
		! check_network_impairments "${words[@]}" || return 0
	done
	t_fail "the network's faults had too little effect in $try tries"
}

count_segments_placed_early() {
	echo $(($(t_print_counter "$A_DEV" rx_placed_early) + $(t_print_counter "$B_DEV" rx_placed_early)))
}

# run_and_check_early_placement WORDS... -- CASE...: run cases, and check that the device places
# segments that arrive out of order at once
run_and_check_early_placement() {
	local before
	before=$(count_segments_placed_early)
	run_with_netem "$@"
	echo "$(($(count_segments_placed_early) - before)) segments were placed out of order"
	t_check "segments are placed out of order" [ "$(count_segments_placed_early)" -gt "$before" ]
}

# Print the number of packets that the hosts have dropped because of wrong checksums
count_checksum_errors() {
	local host
	for host in a b; do
		on $host cat /proc/net/sctp/snmp
	done | awk '$1 == "SctpChecksumErrors" { n += $2 } END { print n + 0 }'
}

# Corrupt packets. Switch checksum offload off, because with offload a veth pair computes no SCTP
# checksums.
run_with_corruption() {
	local host dev before
	for host in a b; do
		dev=v$host
		on $host ethtool -K $dev tx-checksum-sctp off ||
			t_skip "cannot make the interface compute SCTP checksums"
		t_defer on $host ethtool -K $dev tx-checksum-sctp on
	done
	before=$(count_checksum_errors)
	run_and_check_early_placement "$@"
	echo "$(($(count_checksum_errors) - before)) packets had a bad checksum"
	t_check "packets with bad checksums are dropped" \
		[ "$(count_checksum_errors)" -gt "$before" ]
}

set_mtu() {
	ip -n "$NS_A" link set va mtu "$1" && ip -n "$NS_B" link set vb mtu "$1"
}

keep_changing_mtu() {
	local mtu
	while [ ! -e "$T_CASE/enough" ]; do
		for mtu in 576 9000 1500; do
			set_mtu $mtu || return
			echo $mtu >>"$T_CASE/changes"
			sleep 0.2
		done
	done
}

# Stop the loop. If it is killed, its child may change the MTU once more, so wait for its end.
stop_changing_mtu() {
	touch "$T_CASE/enough"
	wait "$1"
}

# run_with_changing_mtu WORDS... -- CASE...: change the MTU while the cases run
run_with_changing_mtu() {
	set_mtu 9000
	t_defer set_mtu 1500
	: >"$T_CASE/changes"
	keep_changing_mtu &
	t_defer stop_changing_mtu $!
	run_with_netem "$@"
}

run_with_mtu() {
	local mtu=$1
	shift
	set_mtu "$mtu"
	t_defer set_mtu 1500
	run_or_skip run_between_hosts "$@"
}

# define_reordering_case NAME [HOW] WORDS...: define a case that runs with half of the packets
# reordered
define_reordering_case() {
	local name=$1 how=run_and_check_early_placement
	shift
	[ "$1" != run_with_corruption ] || { how=$1; shift; }
	t_case "$name" "$EARLY" \
		"$how" delay 5ms 3ms "$@" -- "${streams[@]}" atomic_in_line imm_stream
}

# Define cases with more reordering and loss than TCP can bear. Over SCTP segments are placed as
# they arrive, so the traffic continues.
define_lossy_network_cases() {
	define_reordering_case "half of the packets reordered" 25% reorder 50%
	if [ -n "${T_LONG:-}" ]; then
		define_reordering_case "reordering and 1 % lost" reorder 50% loss 1%
		define_reordering_case "reordering and 25 % duplicated" reorder 50% duplicate 25%
	fi
	define_reordering_case "reordering and 5 % lost" reorder 50% loss 5%
	define_reordering_case "reordering and 2 % corrupted" run_with_corruption reorder 50% \
		corrupt 2%
	define_reordering_case "reordering, 2 % lost, 5 % duplicated, 1 % corrupted" \
		run_with_corruption reorder 50% loss 2% duplicate 5% corrupt 1%
}

EARLY="DDP-5 DDP-6 DDP-14 DDP-61 DDP-63 DDP-64 SCTPDDP-65 SCTPDDP-66"
VERBS=$(t_find_program verbs) || t_skip_all "program verbs is not built (make)"
MIB=${T_MIB:-2}
# not empty: repeat the cases of pinned MRs with ODP MRs, which takes half a minute
once_more=$([ -n "$T_SLOW" ] && [ -z "${T_LONG:-}" ] || echo yes)
# load the module whose dma-bufs some cases use
! modprobe rnic_sw_exporter 2>/dev/null || t_defer t_unload_modules rnic_sw_exporter
create_one_device
define_program_cases
t_case "send_2g" "" register_2_gib
t_case "limits by control group" \
	"DDP-121 DDP-131 DDP-134 RDMAP-185 RDMAP-189 SEC-5 SEC-24 SEC-30 SEC-40" \
	rdma_cgroup_limits_own_processes
define_odp_cases
define_dmabuf_cases
[ -n "${T_LLP:-}" ] || define_limit_cases
[ -n "${T_LLP:-}" ] ||
	t_case "memory is charged to control groups" "RDMAP-188 SEC-24 SEC-30" \
		kernel_memory_is_charged
t_case "time namespace" "the ABI" run_in_time_namespace
t_run_deferred

create_two_hosts
streams=(stream_send stream_rw)
t_case "two hosts" "DDP-50 DDP-64" \
	run_between_hosts "${streams[@]}" 'send_*' 'conn_*' 'remote_*_past_end' \
	'atomic_*' 'imm_*'
t_case "MTU 576" "" run_with_mtu 576 stream_send send_sizes
t_case "MTU 9000" "" run_with_mtu 9000 stream_send send_sizes
t_case "dereg_race, MTU 65535" "DDP-128 RDMAP-177 SEC-17" run_with_mtu 65535 dereg_race
t_case "inval_race, MTU 65535" "DDP-128 RDMAP-177 SEC-17" run_with_mtu 65535 inval_race
[ -z "$once_more" ] ||
	t_case "odp_again, two hosts" "" run_odp_between_hosts "${streams[@]}" 'atomic_*' 'imm_*'
t_case "loss" "DDP-3 DDP-14 DDP-21 DDP-63" run_with_netem loss 1% -- "${streams[@]}"
t_case "reordering" "DDP-64 RDMAP-122" \
	run_with_netem delay 2ms reorder 75% 50% -- "${streams[@]}"
t_case "duplication" "DDP-14 DDP-63" run_with_netem duplicate 5% -- "${streams[@]}"
t_case "delay" "RDMAP-121" run_with_netem delay 10ms 5ms -- "${streams[@]}" mixed_order fence
t_case "loss, duplication, reordering and delay" "DDP-3 DDP-14 DDP-63 DDP-64" \
	run_with_netem delay 2ms 1ms loss 1% duplicate 1% reorder 25% -- "${streams[@]}" \
	atomic_in_line atomic_many imm_stream
t_case "MTU changes during traffic" "DDP-4" \
	run_with_changing_mtu delay 1ms -- "${streams[@]}"
t_case "MTU changes and loss" "DDP-3" \
	run_with_changing_mtu loss 1% -- "${streams[@]}"
[ -z "${T_LLP:-}" ] || define_lossy_network_cases
t_print_summary_and_exit
