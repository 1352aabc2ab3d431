#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# interop.sh: interoperability with the kernel's siw, as initiator and as responder, with and
# without CRC. If siw deviates from an RFC, the name of the case describes the deviation, and the
# case fails if siw no longer deviates.
#
# The host with siw is the first network namespace, the only one that siw supports:
#     netns rnic-i               first netns, also called rnic-s
#     +---------------+  veth  +---------------+
#     | vi   iwi      |--------| vs   siws     |
#     | 10.9.1.1      |        | 10.9.1.2      |
#     | fd00:9:1::1   |        | fd00:9:1::2   |
#     +---------------+        +---------------+
# shellcheck disable=SC2034	# lib.sh reads them

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

readonly pcap_check=$T_DIR/../../rawpeer/pcap-check

# lockdep reports a lock of siw that is taken in softirq and with softirqs enabled, and switches
# itself off after its first report. Therefore switch lock proving off while siw runs.
set_lock_proving() {
	[ ! -w /proc/sys/kernel/prove_locking ] || echo "$1" >/proc/sys/kernel/prove_locking
}

# create_hosts MODE: set up both hosts. MODE exclusive: each host sees its own device only. MODE
# shared is for the program verbs, which has both ends in one process.
create_hosts() {
	t_defer t_wait_until 60 rdma system set netns "$(rdma system show |
		sed -n 's/.*netns \([a-z]*\).*/\1/p')"
	t_run_or_bail_out t_wait_until 60 rdma system set netns "$1"
	t_run_or_bail_out ip netns attach rnic-s $$
	t_defer t_delete_netns rnic-s
	t_run_or_bail_out t_create_temporary_netns rnic-i
	t_run_or_bail_out ip link add vi netns rnic-i type veth peer name vs
	t_defer ip link del vs
	t_run_or_bail_out t_set_up_host rnic-i vi 10.9.1.1 fd00:9:1::1 iwi
	t_run_or_bail_out sysctl -qw net.ipv6.conf.vs.accept_dad=0
	t_run_or_bail_out ip addr add 10.9.1.2/24 dev vs
	t_run_or_bail_out ip addr add fd00:9:1::2/64 dev vs nodad
	t_run_or_bail_out ip link set vs up
	t_run_or_bail_out rdma link add siws type siw netdev vs
	t_defer t_delete_device siws rnic-s
	t_hosts=(a b)
}

# set_siw_role HOST: make siw the device of HOST. On b it is the responder, and rnic_sw the
# initiator; on a the roles are exchanged.
set_siw_role() {
	if [ "$1" = b ]; then
		NS_A=rnic-i NS_B=rnic-s A_IF=vi B_IF=vs A_DEV=iwi B_DEV=siws
		B4=10.9.1.2 B6=fd00:9:1::2
	else
		NS_A=rnic-s NS_B=rnic-i A_IF=vs B_IF=vi A_DEV=siws B_DEV=iwi
		B4=10.9.1.1 B6=fd00:9:1::1
	fi
}

# change_setting NAME VALUE: change a setting of rnic_sw until the case ends, or until the script
# ends if this is called outside a case
change_setting() {
	t_defer t_change_setting iwi "$1" "$(t_print_setting iwi "$1" rnic-i)" rnic-i
	t_run_or_bail_out t_change_setting iwi "$1" "$2" rnic-i
}

# Programs --------------------------------------------------------------------

run_rping() { t_run_rping_pair "$1" -C 30 -S 4000 -V; }

# ucmatose always listens on port 7471.
run_ucmatose() {
	t_run_pair 7471 ucmatose -b "$B4" "$@" -- ucmatose -s "$B4" "$@"
}

# run_stream PROGRAM ARGS...: run a server and a client; the server exits when the connection ends
run_stream() {
	local prog=$1
	shift
	t_choose_port
	t_run_pair "$PORT" "$prog" -b "$B4" -p "$PORT" "$@" -- \
		"$prog" -s "$B4" -p "$PORT" "$@"
}

# check_rping_rejected: check that rping's client is rejected; the exit status of the server does
# not matter
check_rping_rejected() {
	t_choose_port
	t_start server b rping -s -a "$B4" -p "$PORT" -C 1
	t_wait_listener b "$PORT"
	t_check_fails_with "RDMA_CM_EVENT_REJECTED, error -1(04|11)" \
		on a timeout 30 rping -c -a "$B4" -p "$PORT" -C 1
}

# run_verbs CASE...: run cases of the program verbs, which verifies every byte
run_verbs() { "$VERBS" -c "$NS_A" -s "$NS_B" -a "$B4" -6 "$B6" -m 1 "$@"; }

# On the wire -----------------------------------------------------------------

# run_captured COMMAND...: capture the traffic of COMMAND and count its frames
run_captured() {
	local tmp
	tmp=$(mktemp -d)
	t_defer rm -rf "$tmp"
	pcap=$tmp/siw.pcap
	command -v tshark >/dev/null || t_skip "program tshark not found"
	t_start_capture b "$pcap"
	"$@"
	t_end_capture b
	"$pcap_check" --facts "$pcap" >"$T_CASE/facts" || echo "pcap-check reports faults"
	cat "$T_CASE/facts"
	t_check "pcap-check prints counts" test -s "$T_CASE/facts"
}

# check_count NAME TEST NUMBER: compare a count that pcap-check has printed
check_count() {
	local n
	n=$(awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' "$T_CASE/facts")
	t_check "$1 $2 $3 (it is $n)" test "$n" "$2" "$3"
}

# print_field FILTER NAME: print a field of the first frame that matches FILTER. For a flag print 0
# or 1, as tshark 4.0 does; tshark 4.4 and 4.6 print False or True.
print_field() {
	tshark -n -o tcp.try_heuristic_first:TRUE -r "$pcap" -Y "$1" -T fields -e "$2" 2>/dev/null |
		sed -n '1 { s/^False$/0/; s/^True$/1/; p }'
}

# check_equal WHAT GOT WANTED: check that GOT equals WANTED
check_equal() { t_check "$1 is '$3' (got '$2')" test "$2" = "$3"; }

# Print layer, error type, error code and header control bits of the first Terminate
print_terminate() {
	print_field 'iwarp_rdma.opcode == 7' tcp.payload |
		sed -n 's/.*414700000000000000020000000100000000\(.\{8\}\).*/\1/p'
}

check_crc_use() {
	run_captured run_rping "$B4"
	check_count fpdus -gt 100
	check_equal "flag C of the Reply" "$(print_field iwarp_mpa.rep iwarp_mpa.crc_flag)" "$1"
	check_count "$([ "$1" = 1 ] && echo tshark_good_crcs || echo tshark_unused_crcs)" -eq \
		"$(awk '$1 == "fpdus" { print $2 }' "$T_CASE/facts")"
	check_count tshark_bad_crcs -eq 0
}

# Cases -----------------------------------------------------------------------

readonly data="send_sizes send_around_segments read_offsets reads_many reads_both_ways
	fence write_then_read sends_in_order wrap_around ping_pong
	stream_send stream_rw"

# define_program_cases WORDS: define the cases that are the same for either initiator
define_program_cases() {
	local words=$1
	change_setting crc 1
	t_case "$words, CRC: negotiated" "MPA-42 MPA-53 MPA-86" check_crc_use 1
	t_case "$words, CRC: rping, IPv4" "" run_rping "$B4"
	t_case "$words, CRC: rping, IPv6" "" run_rping "$B6"
	t_case "$words, CRC: rstream, verified" "" run_stream rstream -I 5 -C 5 -S 65536 -T v
	t_case "$words, CRC: riostream, verified" "" run_stream riostream -I 20 -C 5 -T v
	change_setting crc 0
	t_case "$words, no CRC: negotiated" "MPA-42" check_crc_use 0
	t_case "$words, no CRC: rping" "" run_rping "$B4"
	t_case "$words, no CRC: rstream, verified" "" run_stream rstream -I 5 -C 5 -S 65536 -T v
	change_setting crc 1
}

# define_perftest_cases WORDS: define cases with perftest. Its server listens on all addresses, and
# the RDMA core starts that listener on all devices. A server for rnic_sw would therefore also
# listen on siw, so siw is the responder in all these cases. In cases with both directions siw also
# sends.
define_perftest_cases() {
	local words=$1 n
	n=$(t_scale_rounds 500)
	t_case "$words: ib_send_bw, 4 KiB" "" t_run_perftest ib_send_bw -s 4096 -n "$n" -r 512
	t_case "$words: ib_send_bw, 1 MiB" "" t_run_perftest ib_send_bw -s 1048576 -n 10 -r 64 -t 16
	t_case "$words: ib_send_bw, both directions" "" \
		t_run_perftest ib_send_bw -b -s 4096 -n "$n" -r 512
	t_case "$words: ib_write_bw, 64 KiB" "" t_run_perftest ib_write_bw -s 65536 -n "$n"
	t_case "$words: ib_write_bw, batches of 16" "" t_run_perftest ib_write_bw -s 64 -l 16 -n 320
	t_case "$words: ib_write_bw, both directions" "" \
		t_run_perftest ib_write_bw -b -s 65536 -n "$n"
	t_case "$words: ib_read_bw, 64 KiB" "" t_run_perftest ib_read_bw -s 65536 -n "$n"
	t_case "$words: ib_read_bw, both directions" "" t_run_perftest ib_read_bw -b -s 4096 -n "$n"
}

define_latency_cases() {
	local n
	n=$(t_scale_rounds 500)
	t_case "$1: ib_send_lat" "" t_run_perftest ib_send_lat -s 64 -n "$n"
	t_case "$1: ib_write_lat" "" t_run_perftest ib_write_lat -s 64 -n "$n"
	t_case "$1: ib_read_lat" "" t_run_perftest ib_read_lat -s 64 -n "$n"
}

# define_verbs_cases WORDS NAME...: define cases with the program verbs
define_verbs_cases() {
	local words=$1 name
	shift
	for name; do
		t_case "$words: verbs, $name" "" run_verbs "$name"
	done
}

# If its peer uses revision 1, siw reports to programs that it supports no Reads.
siw_accepts_revision_1_connection() {
	change_setting revision 1
	run_captured t_run_perftest ib_write_bw -s 4096 -n 50
	check_count connections -gt 0
	check_count tshark_revision_2_warnings -eq 0
}

# RFC 6581 10: a responder of revision 1 closes the connection after a Request of revision 2. The
# initiator MAY retry with revision 1; siw does not.
siw_does_not_retry_with_revision_1() {
	change_setting revision 1
	run_captured check_rping_rejected
	check_count start_up_frames -eq 1
}

# check_rtr VALUE OPCODE: the initiator sends the ready-to-receive message as FPDU with OPCODE. Do
# not use send alone as VALUE: siw does not support it (Documentation/interop.rst).
check_rtr() {
	change_setting rtr "$1"
	run_captured run_rping "$B4"
	check_equal "the sender of the first FPDU" "$(print_field iwarp_mpa.fpdu ip.src)" 10.9.1.1
	check_equal "the opcode of the first FPDU" \
		"$(print_field iwarp_mpa.fpdu iwarp_rdma.opcode)" "$2"
}

# Run ucmatose so that its server sends first, and its client sends nothing.
run_ucmatose_sending_from_server() {
	run_ucmatose -c 1 -C 10 -S 1000
}

# A responder must not send before the initiator has sent an FPDU, but siw does.
siw_responder_sends_before_fpdu() {
	change_setting rtr none
	run_captured run_ucmatose_sending_from_server
	check_equal "the sender of the first FPDU" "$(print_field iwarp_mpa.fpdu ip.src)" "$B4"
}

is_connected() { [ -n "$(on b ss -Htn 'sport = :7471')" ]; }

run_ends_that_both_wait() {
	t_start server b ucmatose -b "$B4" -c 1 -C 10 -S 1000
	t_wait_listener b 7471
	t_start client a ucmatose -s "$B4" -c 1 -C 10 -S 1000
	t_wait_until "$T_TIME" is_connected || t_fail "the client has not connected"
	sleep 5
	t_check "the client waits" t_is_alive client
	t_check "the server waits" t_is_alive server
}

responder_sends_nothing_before_fpdu() {
	run_captured run_ends_that_both_wait
	check_count start_up_frames -eq 2
	check_count fpdus -eq 0
}

siw_refuses_markers() {
	change_setting markers 1
	run_captured check_rping_rejected
	check_equal "flag M of the Request" "$(print_field iwarp_mpa.req iwarp_mpa.marker_flag)" 1
	check_equal "flag R of the Reply" "$(print_field iwarp_mpa.rep iwarp_mpa.rej_flag)" 1
}

siw_closes_if_reply_has_markers() {
	change_setting markers 1
	run_captured check_rping_rejected
	check_equal "flag M of the Reply" "$(print_field iwarp_mpa.rep iwarp_mpa.marker_flag)" 1
	check_equal "flag R of the Reply" "$(print_field iwarp_mpa.rep iwarp_mpa.rej_flag)" 0
	check_count fpdus -eq 0
}

# The program ends one of its connections because a receive is missing. siw reports more errors than
# the program expects, so the program's status is ignored.
run_missing_receive() { run_verbs remote_others_live || true; }

check_missing_receive_terminate() {
	run_captured run_missing_receive
	check_equal "the Terminate" "$(print_terminate)" "$1"
}

check_pad() {
	run_captured run_verbs send_sizes
	check_count against_the_rfc "$@"
}

# If an empty Read Request arrives while siw still responds to another one, siw sends data in
# response to the empty one, too, which the device must refuse.
siw_answers_empty_read_wrongly() {
	t_check_fails run_verbs empty_read_after_long
	t_check "rnic_sw ends the connection with end_ddp_tagged_bounds" \
		test "$(t_print_counter iwi end_ddp_tagged_bounds)" -gt 0
}

modprobe -q siw || t_skip_all "siw is not available in this kernel (CONFIG_RDMA_SIW)"
VERBS=$(t_find_program verbs) || t_skip_all "program verbs is not built (make)"
set_lock_proving 0

create_hosts exclusive
set_siw_role b
define_program_cases "rnic_sw to siw"
define_perftest_cases "rnic_sw to siw, CRC"
define_latency_cases "rnic_sw to siw, CRC"
change_setting crc 0
define_perftest_cases "rnic_sw to siw, no CRC"
change_setting crc 1
t_case "rnic_sw to siw, revision 1" "MPA2-7" siw_accepts_revision_1_connection
t_case "rnic_sw to siw, ready-to-receive: write" "MPA2-49" check_rtr write 0x00
t_case "rnic_sw to siw, ready-to-receive: read" "MPA2-49" check_rtr read 0x01
t_case "rnic_sw to siw, ready-to-receive: none" "" check_rtr none 0x03
t_case "rnic_sw to siw, the server sends first" "" run_ucmatose_sending_from_server
t_case "siw as a responder sends first, against RFC 5044 7.1.2 (4)" "" \
	siw_responder_sends_before_fpdu
t_case "siw rejects a Request with markers, against RFC 5044 4.3" "" siw_refuses_markers
set_siw_role a
define_program_cases "siw to rnic_sw"
t_case "siw to rnic_sw of revision 1: rnic_sw closes" "MPA2-66" siw_does_not_retry_with_revision_1
t_case "siw to rnic_sw: siw offers no ready-to-receive, so the server must wait" "MPA-113" \
	responder_sends_nothing_before_fpdu
t_case "siw closes after a Reply with markers, against RFC 5044 4.3" "" \
	siw_closes_if_reply_has_markers
t_run_deferred

create_hosts shared
set_siw_role b
# shellcheck disable=SC2086	# to be split into words
define_verbs_cases "rnic_sw to siw" $data zero_length
t_case "PAD sent to siw is zero" "MPA-17" check_pad -eq 0
t_case "siw's Terminate has misplaced layer, type and bits M, D, R, against RFC 5040 4.8" "" \
	check_missing_receive_terminate 21020300
t_case "siw answers an empty Read with data, against RFC 5040 5.2.1" "" \
	siw_answers_empty_read_wrongly
set_siw_role a
# write_offsets instead of zero_length, because siw completes a Send before a Read posted earlier
# shellcheck disable=SC2086	# to be split into words
define_verbs_cases "siw to rnic_sw" $data write_offsets
t_case "siw's PAD is not zero, against RFC 5044 4.1" "" check_pad -gt 0
t_case "Terminate sent to siw" "RDMAP-36 RDMAP-37" check_missing_receive_terminate 1202c000
t_run_deferred
modprobe -qr siw
set_lock_proving 1
t_print_summary_and_exit
