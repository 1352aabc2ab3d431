#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# capture.sh: check packet captures with tshark. tcpdump records the traffic of programs; several
# cases check each capture.
#
# tools/testing/rawpeer/pcap-check counts FPDUs twice: by their length fields, without the
# driver's code, and in tshark's output. Over SCTP, sctp-check compares what tshark prints for
# each chunk, with the project's dissector, with the bytes of the chunk.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

readonly pcap_check=$T_DIR/../../rawpeer/pcap-check
readonly sctp_check=$T_DIR/../../rawpeer/sctp-check

# Recordings ------------------------------------------------------------------

# name of the current capture, command that causes its traffic, and program that checks it
recording='' traffic=() checker=$pcap_check

# record_unless_recorded: make the capture unless it exists. Every case calls this function, because
# a user can run any case alone.
record_unless_recorded() {
	[ ! -e "$tmp/$recording.facts" ] || return 0
	[ ! -e "$tmp/$recording.pcap" ] || t_fail "an earlier case failed to record $recording.pcap"
	t_start_capture b "$tmp/$recording.pcap"
	"${traffic[@]}"
	t_end_capture b
	cat "$T_CASE/tcpdump-b.log"
	grep -q '^0 packets dropped by kernel' "$T_CASE/tcpdump-b.log"
	"$checker" --facts "$tmp/$recording.pcap" >"$tmp/facts" 2>"$tmp/$recording.faults" ||
		echo "checker failed" >>"$tmp/$recording.faults"
	mv "$tmp/facts" "$tmp/$recording.facts"
}

# check_capture CHECK...: check the capture; keep a copy of it if the check fails.
check_capture() {
	record_unless_recorded
	cat "$tmp/$recording.facts" "$tmp/$recording.faults"
	"$@" && return
	cp "$tmp/$recording.pcap" "$T_CASE"
	t_fail "check failed, see $T_CASE/$recording.pcap"
}

print_fact() {
	awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' "$tmp/$recording.facts"
}

# check_fact NAME TEST NUMBER: compare a number that the checker has printed, for example:
# check_fact fpdus -gt 100
check_fact() {
	test "$(print_fact "$1")" "$2" "$3" || {
		echo "failed: $1 $2 $3: it is $(print_fact "$1")"
		return 1
	}
}

# Traffic ---------------------------------------------------------------------

# run_rping ADDRESS SIZE: run rping with messages of SIZE
run_rping() { t_run_rping_pair "$1" -C 10 -S "$2" -V; }

# run_programs "SIZES" ARGS...: run rping, and perftest's Sends, Writes and Reads
run_programs() {
	local sizes=$1 size count prog
	shift
	run_rping "$B4" 4000
	for size in $sizes; do
		count=$((size > 100000 ? 5 : size > 10000 ? 20 : 50))
		for prog in ib_send_bw ib_write_bw ib_read_bw; do
			t_run_perftest "$prog" -s "$size" -n $count "$@"
		done
	done
}

# Not every version of perftest supports IPv6.
run_programs_ipv6() {
	local size
	for size in 32 64 4096 65535; do
		run_rping "$B6" $size
	done
	t_choose_port
	t_run_pair "$PORT" rstream -b "$B6" -p "$PORT" -I 1 -C 2 -S 1048576 -T v -- \
		rstream -s "$B6" -p "$PORT" -I 1 -C 2 -S 1048576 -T v
}

# Run programs that connect by ibv_modify_qp(), one connection each. Both ends use GID 0 (options
# -g 0 and -x 0), which contains the device's MAC address.
run_programs_without_cm() {
	local prog
	command -v ibv_rc_pingpong >/dev/null ||
		t_skip "program ibv_rc_pingpong not found (package ibverbs-utils)"
	t_choose_port
	t_run_pair "$PORT" ibv_rc_pingpong -d "$B_DEV" -g 0 -p "$PORT" -n 100 -- \
		ibv_rc_pingpong -d "$A_DEV" -g 0 -p "$PORT" -n 100 "$B4"
	for prog in ib_write_bw ib_read_bw ib_atomic_bw; do
		t_choose_port
		t_run_pair "$PORT" "$prog" -F -d "$B_DEV" -x 0 -p "$PORT" -n 50 -- \
			"$prog" -F -d "$A_DEV" -x 0 -p "$PORT" -n 50 "$B4"
	done
}

# Run the program verbs, which has both ends of each connection, on one device
run_verbs() {
	local verbs before
	verbs=$(t_find_program verbs)
	before=$(t_print_counter "$B_DEV" tx_terminates)
	"$verbs" -a "$B4" -6 "$B6" conn_reject conn_ipv6 'remote_*' \
		mw_type2_remote_inv imm_write imm_solicited imm_no_receive \
		atomic_values atomic_many atomic_misaligned
	echo $(($(t_print_counter "$B_DEV" tx_terminates) - before)) >"$tmp/terminates"
}

# Cause traffic over SCTP with IPv4 and IPv6, and with several QPs on one association
run_programs_sctp() {
	local -x RNIC_SW_LLP=sctp
	local prog
	run_rping "$B4" 4000
	run_rping "$B6" 4000
	for prog in ib_send_bw ib_write_bw ib_read_bw; do
		t_run_perftest "$prog" -s 4096 -n 50 -q 2
	done
}

run_verbs_sctp() {
	local -x RNIC_SW_LLP=sctp
	run_verbs
}

# Disable offload, so that the capture has the packets that a physical wire would have
disable_offload() {
	t_run_or_bail_out on a ethtool -K va gso off tso off
	t_run_or_bail_out on b ethtool -K vb gso off tso off
	# ignore errors, because old versions of ethtool do not know SCTP segmentation
	on a ethtool -K va tx-sctp-segmentation off || true
	on b ethtool -K vb tx-sctp-segmentation off || true
}

set_mtu() {
	t_run_or_bail_out ip -n "$NS_A" link set va mtu "$1"
	t_run_or_bail_out ip -n "$NS_B" link set vb mtu "$1"
}

# change_setting NAME VALUE: change a setting on both hosts
change_setting() {
	t_run_or_bail_out t_change_setting "$A_DEV" "$1" "$2" "$NS_A"
	t_run_or_bail_out t_change_setting "$B_DEV" "$1" "$2" "$NS_B"
}

# Checks ----------------------------------------------------------------------

has_only_iwarp_connections() { check_fact connections -ge 5 && check_fact other_connections -eq 0; }

# Check that tshark decodes all FPDUs and start-up frames without errors, and that all opcodes are
# RDMAP's.
is_decoded() { check_fact fpdus -gt 50 && [ ! -s "$tmp/$recording.faults" ] && has_only_known_opcodes; }

# is_decoded_with_connections N: like is_decoded; also check that the capture has at least N iWARP
# connections, refused ones included
is_decoded_with_connections() { is_decoded && check_fact connections -ge "$1"; }

# Check that no frame has an opcode that RDMAP does not define
has_only_known_opcodes() {
	check_fact opcode_12 -eq 0 && check_fact opcode_13 -eq 0 && check_fact opcode_14 -eq 0 &&
		check_fact opcode_15 -eq 0
}

# Check that there are many Writes, Read Requests, Read Responses and Sends
has_all_message_kinds() {
	check_fact opcode_0 -ge 40 && check_fact opcode_1 -ge 40 && check_fact opcode_2 -ge 40 &&
		check_fact opcode_3 -ge 40
}

has_only_good_crcs() {
	check_fact tshark_good_crcs -eq "$(print_fact fpdus)" &&
		check_fact tshark_unused_crcs -eq 0 && check_fact tshark_bad_crcs -eq 0
}
has_only_unused_crcs() {
	check_fact tshark_unused_crcs -eq "$(print_fact fpdus)" && check_fact tshark_good_crcs -eq 0
}

# tshark knows only MPA revision 1, so it warns about new fields of revision 2.
is_revision_1() { check_fact tshark_revision_2_warnings -eq 0; }
is_revision_2() { check_fact tshark_revision_2_warnings -gt 0; }

# Check that all packets with data have the bit that forbids IP to fragment them
has_only_unfragmentable_packets() {
	local name=$tmp/$recording.pcap
	tshark -n -r "$name" -Y 'ip && tcp.len > 0 && ip.flags.df == 1' 2>/dev/null >"$T_CASE/whole"
	tshark -n -r "$name" -Y 'ip && tcp.len > 0 && ip.flags.df == 0' 2>/dev/null >"$T_CASE/cut"
	[ "$(wc -l <"$T_CASE/whole")" -gt 100 ] && [ ! -s "$T_CASE/cut" ]
}

has_no_markers() { check_fact markers -eq 0 && check_fact tshark_markers -eq 0; }

# Check that there are markers. (pcap-check fails if a marker is misplaced or does not point to its
# FPDU.)
has_markers() { check_fact markers -gt 1000 && check_fact tshark_markers -gt 1000; }

has_longest_fpdu() { check_fact longest_fpdu -eq "$1"; }
is_aligned() { check_fact segments -gt 100 && check_fact unaligned -eq 0; }
# A message that ends in the middle of a batch misaligns the FPDUs after it, up to the end
# of the batch (at most 64 KiB). How often this happens depends on timing.
is_mostly_aligned() {
	check_fact segments -gt 100 && check_fact unaligned -lt $(($(print_fact segments) / 2)) &&
		check_fact apart -le 65536
}

has_all_terminates() {
	check_fact opcode_7 -gt 10 && check_fact opcode_7 -eq "$(cat "$tmp/terminates")"
}
has_immediate() { check_fact opcode_8 -gt 0 && check_fact opcode_9 -gt 0; }
has_atomics() { check_fact opcode_10 -gt 0 && check_fact opcode_11 -gt 0; }
# sctp-check reports a fault if tshark's output differs from the bytes of a chunk.
is_decoded_sctp() { check_fact chunks -gt 100 && [ ! -s "$tmp/$recording.faults" ]; }
has_control_messages() {
	check_fact function_5 -ge "$1" && check_fact function_6 -ge 1 && check_fact function_4 -ge 1
}
has_rejected_connections() {
	check_fact rejected -gt 0 && check_fact tshark_rejected -eq "$(print_fact rejected)"
}

connect_without_listener_is_reset() {
	t_choose_port
	t_start_capture b "$tmp/nobody.pcap"
	t_check_fails_with "rdma_connect: Connection refused" \
		on a timeout "$T_TIME" rdma_client -s "$B4" -p "$PORT"
	t_end_capture b
	tshark -n -o tcp.try_heuristic_first:TRUE -r "$tmp/nobody.pcap" -Y "tcp.port == $PORT" \
		2>/dev/null | tee "$T_CASE/frames"
	t_check "TCP sends a reset" grep -q 'RST' "$T_CASE/frames"
	t_check "no MPA frame is sent" test -z "$(sed -n '/MPA/p' "$T_CASE/frames")"
}

# Set up a VLAN in addition to the hosts' first network, because only frames of a VLAN carry a
# priority.
add_vlan() {
	local ns netdev
	modprobe -q 8021q || t_skip "VLANs are not available in this kernel"
	for ns in "$NS_A 1 va" "$NS_B 2 vb"; do
		# shellcheck disable=SC2086
		set -- $ns
		netdev=$3.5
		t_run_or_bail_out ip -n "$1" link add link "$3" name "$netdev" type vlan id 5 \
			egress-qos-map 2:2 6:6
		t_defer ip -n "$1" link del "$netdev"
		t_run_or_bail_out ip -n "$1" addr add "10.9.5.$2/24" dev "$netdev"
		t_run_or_bail_out ip -n "$1" addr add "fd00:9:5::$2/64" dev "$netdev" nodad
		t_run_or_bail_out ip -n "$1" link set "$netdev" up
		t_create_temporary_device "iw$3" "$netdev" "$1"
	done
}

# extract_marks FILTER NAME FIELD: extract priority and DSCP of each packet that matches into file
# NAME
extract_marks() {
	tshark -n -r "$T_CASE/marked.pcap" -Y "(tcp || sctp) && $1" -T fields -e vlan.priority \
		-e "$3" >"$T_CASE/$2" 2>/dev/null
	echo "$2:"
	sort "$T_CASE/$2" | uniq -c
}

# check_all_marked NAME PRIORITY DSCP: check that all packets in file NAME have the DSCP, and most
# of them the priority. Packets that TCP or SCTP sends for a socket that is not yet accepted or
# already closed may lack the priority.
check_all_marked() {
	awk -v name="$1" -v priority="$2" -v dscp="$3" '
		{ all++; right += $2 == dscp; first += $1 == priority }
		END {
			print name ": " all " packets, " right " marked, " first " with the priority"
			exit !(all > 5 && right == all && first > all / 2)
		}' "$T_CASE/$1"
}

# check_marks LLP NET VERSION FIELD: check that the packets of each end have the type of service
# that this end has set: 0x10, low delay, or 0x08, high throughput. The kernel's rt_tos2priority()
# maps the types of service to priorities.
check_marks() {
	local -x RNIC_SW_LLP=$1
	local net=$2 version=$3 dscp=$4 tos
	tos=$(t_find_program listen_tos.so)
	add_vlan
	t_start_capture b "$T_CASE/marked.pcap"
	t_run_pair 7471 env LD_PRELOAD="$tos" LISTEN_TOS=8 ucmatose -b "${net}2" -C 20 -- \
		ucmatose -s "${net}2" -b "${net}1" -C 20 -t 16
	t_end_capture b
	extract_marks "$version.src == ${net}1" caller "$dscp"
	extract_marks "$version.src == ${net}2" listener "$dscp"
	check_all_marked caller 6 4
	check_all_marked listener 2 2
}

damaged_capture_is_detected() {
	local at
	at=$(grep -abo rdma-ping- "$tmp/$recording.pcap" | sed -n '5s/:.*//p')
	cp "$tmp/$recording.pcap" "$tmp/changed.pcap"
	printf 'R' | dd of="$tmp/changed.pcap" bs=1 seek="$at" conv=notrunc status=none
	t_check_fails "$pcap_check" "$tmp/changed.pcap" 2>&1 | tee "$T_CASE/out"
	grep -q '1 bad CRCs' "$T_CASE/out"
}

# define_common_cases WORDS CRC LONGEST-FPDU ROW: define the cases that check a capture over TCP.
# WORDS begin the names of the cases. CRC is "CRC" if the FPDUs have one. ROW is a requirement that
# the case of the longest FPDU shows.
define_common_cases() {
	t_case "$1: recorded" "" check_capture has_only_iwarp_connections
	t_case "$1: tshark decodes every frame" \
		"MPA-3 MPA-15 MPA-16 MPA-19 MPA-74 MPA-77 DDP-26 DDP-35 RDMAP-1 RDMAP-138" \
		check_capture is_decoded
	t_case "$1: Writes, Reads and Sends" "RDMAP-17 RDMAP-20" check_capture has_all_message_kinds
	if [ "$2" = CRC ]; then
		t_case "$1: every FPDU has a good CRC" "MPA-2 MPA-39 MPA-48 MPA-49 MPA-52" \
			check_capture has_only_good_crcs
	else
		t_case "$1: the CRC field is present and unused" "MPA-20 MPA-42 MPA-47" \
			check_capture has_only_unused_crcs
	fi
	t_case "$1: the longest FPDU fills a segment" "$4 MPA-62" \
		check_capture has_longest_fpdu "$3"
}

define_no_markers_case() {
	t_case "$1: no markers" "MPA-83" check_capture has_no_markers
}

# ----------------------------------------------------------------------------

for prog in tshark tcpdump ethtool; do
	command -v $prog >/dev/null || t_skip_all "program $prog not found"
done
[ -x "$pcap_check" ] || t_skip_all "tools/testing/rawpeer/pcap-check not found"
"$pcap_check" --help >/dev/null || t_skip_all "cannot run pcap-check"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/capture.XXXXXX")
trap 't_run_deferred; rm -rf "$tmp"' EXIT

create_two_hosts
disable_offload

words="MTU 1500, IPv4, CRC" recording=plain
traffic=(run_programs "1 4096 65536" -t 1)
define_common_cases "$words" CRC 1448 MPA-56
define_no_markers_case "$words"
t_case "$words: MPA revision 2" "MPA2-4 MPA2-6" check_capture is_revision_2
t_case "$words: IP must not fragment packets" "MPA-149" check_capture has_only_unfragmentable_packets
t_case "$words: one message at a time: each segment begins with an FPDU" "MPA-64" \
	check_capture is_aligned
t_case "$words: pcap-check detects a changed byte" "" check_capture damaged_capture_is_detected

words="MTU 1500, IPv4, no CRC, revision 1" recording=old
traffic=(run_programs "4096 262144")
change_setting crc 0
change_setting revision 1
define_common_cases "$words" "" 1448 MPA-56
define_no_markers_case "$words"
t_case "$words: no fields of MPA revision 2" "MPA-90 MPA-92 MPA2-7 MPA2-62" \
	check_capture is_revision_1
t_case "$words: deep queues: most segments begin with an FPDU" "MPA-64" \
	check_capture is_mostly_aligned
change_setting crc 1
change_setting revision auto

words="without rdma_cm" recording=modify
traffic=(run_programs_without_cm)
t_case "$words: tshark decodes every frame of 4 connections" "" check_capture \
	is_decoded_with_connections 4
t_case "$words: every FPDU has a good CRC" "MPA-39 MPA-52" check_capture has_only_good_crcs

words="MTU 1500, IPv4, markers" recording=markers
traffic=(run_programs "64 65536")
change_setting markers 1
define_common_cases "$words" CRC 1448 MPA-55
t_case "$words: markers are in the right places" \
	"MPA-22 MPA-23 MPA-25 MPA-27 MPA-28 MPA-29 MPA-30 MPA-34 MPA-35 MPA-36 MPA-51 MPA-84" \
	check_capture has_markers

words="MTU 1500, IPv6, markers, no CRC" recording=markers6
traffic=(run_programs_ipv6)
change_setting crc 0
define_common_cases "$words" "" 1428 MPA-55
t_case "$words: markers are in the right places" "MPA-27 MPA-28 MPA-84" check_capture has_markers
change_setting markers 0

if modprobe -q iw_sctp_ddp; then
	words="SCTP, IPv4 and IPv6" recording=sctp checker=$sctp_check
	traffic=(run_programs_sctp)
	t_set_listen_llp "$B_DEV" both "$NS_B"
	t_case "$words: the dissector decodes every chunk" "" check_capture is_decoded_sctp
	t_case "$words: Writes, Reads and Sends" "RDMAP-17 RDMAP-20" check_capture has_all_message_kinds
	t_case "$words: sessions begin and end" "" check_capture has_control_messages 8
	checker=$pcap_check
fi

for llp in tcp sctp; do
	[ $llp = tcp ] || modprobe -q iw_sctp_ddp || continue
	t_case "type of service and priority, ${llp^^}, IPv4" "" \
		check_marks $llp 10.9.5. ip ip.dsfield.dscp
	t_case "type of service and priority, ${llp^^}, IPv6" "" \
		check_marks $llp fd00:9:5:: ipv6 ipv6.tclass.dscp
done

set_mtu 9000
words="MTU 9000, IPv6, no CRC" recording=jumbo6
traffic=(run_programs_ipv6)
define_common_cases "$words" "" 8928 MPA-56
define_no_markers_case "$words"
change_setting crc 1

words="MTU 9000, IPv4, CRC" recording=jumbo
traffic=(run_programs "64 262144")
define_common_cases "$words" CRC 8948 MPA-56
define_no_markers_case "$words"
t_run_deferred
unset NS_A NS_B

create_one_device
words="errors, over lo" recording=ends
traffic=(run_verbs)
t_case "$words: recorded" "" check_capture has_only_iwarp_connections
t_case "$words: tshark decodes every frame" "MPA-15 MPA-19" check_capture is_decoded
t_case "$words: every FPDU has a good CRC" "MPA-39 MPA-52" check_capture has_only_good_crcs
t_case "$words: as many Terminates as the counter shows" "RDMAP-20" check_capture has_all_terminates
t_case "$words: Send with Invalidate" "RDMAP-20" check_capture check_fact opcode_4 -gt 0
t_case "$words: Immediate Data, with and without Solicited Event" "EXT-5" \
	check_capture has_immediate
t_case "$words: Atomic Requests and Responses" "EXT-5" check_capture has_atomics
t_case "$words: rejecting Replies" "MPA-89 MPA-104" check_capture has_rejected_connections
if modprobe -q iw_sctp_ddp; then
	words="errors, over lo and SCTP" recording=ends_sctp checker=$sctp_check
	traffic=(run_verbs_sctp)
	t_set_listen_llp "$B_DEV" both
	t_case "$words: the dissector decodes every chunk" "" check_capture is_decoded_sctp
	t_case "$words: as many Terminates as the counter shows" "RDMAP-20" \
		check_capture has_all_terminates
	t_case "$words: Immediate Data, with and without Solicited Event" "EXT-5" \
		check_capture has_immediate
	t_case "$words: Atomic Requests and Responses" "EXT-5" check_capture has_atomics
	t_case "$words: sessions rejected" "" check_capture check_fact function_7 -gt 0
fi
t_case "no listener: TCP sends a reset and no MPA frame is sent" "MPA-132" connect_without_listener_is_reset
t_print_summary_and_exit
