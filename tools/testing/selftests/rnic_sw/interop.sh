#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# interop.sh: the kernel's siw as a foreign peer, as initiator and as responder,
# with CRC and without. Where siw departs from an RFC the case says so, and
# fails if it no longer does.
#
# The host with siw is the first network namespace, for siw knows no other:
#     netns rnic-i               first netns, also called rnic-s
#     +---------------+  veth  +---------------+
#     | vi   iwi      |--------| vs   siws     |
#     | 10.9.1.1      |        | 10.9.1.2      |
#     | fd00:9:1::1   |        | fd00:9:1::2   |
#     +---------------+        +---------------+
# shellcheck disable=SC2034	# lib.sh reads them

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

readonly pcap_check=$T_DIR/../../rawpeer/pcap-check

# siw takes sk_callback_lock for writing in softirq, and for reading with softirqs
# on. Lockdep says so once, and then says nothing more of anybody.
lockdep_proves() {
	[ ! -w /proc/sys/kernel/prove_locking ] || echo "$1" >/proc/sys/kernel/prove_locking
}

# hosts MODE: exclusive, each host sees its own device only; shared, for the
# program verbs, which has both ends in one process.
hosts() {
	t_defer t_until 60 rdma system set netns "$(rdma system show |
		sed -n 's/.*netns \([a-z]*\).*/\1/p')"
	t_must t_until 60 rdma system set netns "$1"
	t_must ip netns attach rnic-s $$
	t_defer t_drop_netns rnic-s
	t_must t_new_netns rnic-i
	t_must ip link add vi netns rnic-i type veth peer name vs
	t_defer ip link del vs
	t_must t_host_up rnic-i vi 10.9.1.1 fd00:9:1::1 iwi
	t_must sysctl -qw net.ipv6.conf.vs.accept_dad=0
	t_must ip addr add 10.9.1.2/24 dev vs
	t_must ip addr add fd00:9:1::2/64 dev vs nodad
	t_must ip link set vs up
	t_must rdma link add siws type siw netdev vs
	t_defer t_drop_device siws rnic-s
	t_hosts=(a b)
}

# siw_is b: siw is the responder, rnic_sw the initiator; a: the other way round.
siw_is() {
	if [ "$1" = b ]; then
		NS_A=rnic-i NS_B=rnic-s A_IF=vi B_IF=vs A_DEV=iwi B_DEV=siws
		B4=10.9.1.2 B6=fd00:9:1::2
	else
		NS_A=rnic-s NS_B=rnic-i A_IF=vs B_IF=vi A_DEV=siws B_DEV=iwi
		B4=10.9.1.1 B6=fd00:9:1::1
	fi
}

# setting NAME VALUE, of rnic_sw, as long as the case (the script) lasts
setting() {
	t_defer t_set iwi "$1" "$(t_get iwi "$1" rnic-i)" rnic-i
	t_must t_set iwi "$1" "$2" rnic-i
}

# Programs --------------------------------------------------------------------

ping() { t_rping "$1" -C 30 -S 4000 -V; }

# It listens on 7471, always.
cmatose() {
	t_pair 7471 ucmatose -b "$B4" "$@" -- ucmatose -s "$B4" "$@"
}

# stream PROGRAM ARGS...: its server ends with the connection.
stream() {
	local prog=$1
	shift
	t_port
	t_pair "$PORT" "$prog" -b "$B4" -p "$PORT" "$@" -- \
		"$prog" -s "$B4" -p "$PORT" "$@"
}

# ping_fails: whatever its server makes of it
ping_fails() {
	t_port
	t_bg server b rping -s -a "$B4" -p "$PORT" -C 1
	t_listens b "$PORT"
	t_refuses "RDMA_CM_EVENT_REJECTED, error -1(04|11)" on a timeout 30 rping -c -a "$B4" -p "$PORT" -C 1
}

# Data checked octet by octet
verbs() { "$VERBS" -c "$NS_A" -s "$NS_B" -a "$B4" -6 "$B6" -m 1 "$@"; }

# On the wire -----------------------------------------------------------------

# captured COMMAND...: records it, and counts what there is
captured() {
	local tmp
	tmp=$(mktemp -d)
	t_defer rm -rf "$tmp"
	pcap=$tmp/siw.pcap
	command -v tshark >/dev/null || t_skip "no tshark here"
	t_capture b "$pcap"
	"$@"
	t_capture_end b
	"$pcap_check" --facts "$pcap" >"$T_CASE/facts" || echo "not all is good"
	cat "$T_CASE/facts"
	t_check "nothing was counted" test -s "$T_CASE/facts"
}

# has NAME TEST NUMBER, of what was counted
has() {
	local n
	n=$(awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' "$T_CASE/facts")
	t_check "$1 is $n, not $2 $3" test "$n" "$2" "$3"
}

# field FILTER NAME: of the first frame that the filter lets through
field() {
	tshark -n -o tcp.try_heuristic_first:TRUE -r "$pcap" -Y "$1" -T fields -e "$2" 2>/dev/null |
		sed -n 1p
}

same() { t_check "$1 is '$2', not '$3'" test "$2" = "$3"; }

# The octets of the first Terminate that tell layer, type, code, what is quoted
terminate() {
	field 'iwarp_rdma.opcode == 7' tcp.payload |
		sed -n 's/.*414700000000000000020000000100000000\(.\{8\}\).*/\1/p'
}

crc_is() {
	captured ping "$B4"
	has fpdus -gt 100
	same "C of the Reply" "$(field iwarp_mpa.rep iwarp_mpa.crc_flag)" "$1"
	has "$([ "$1" = 1 ] && echo tshark_good_crcs || echo tshark_unused_crcs)" -eq \
		"$(awk '$1 == "fpdus" { print $2 }' "$T_CASE/facts")"
	has tshark_bad_crcs -eq 0
}

# Cases -----------------------------------------------------------------------

readonly data="send_sizes send_around_segments read_offsets reads_many reads_both_ways
	fence write_then_read sends_in_order wrap_around ping_pong
	stream_send stream_rw"

# Of any initiator and responder
programs() {
	local words=$1
	setting crc 1
	t_case "$words, CRC: negotiated" "MPA-42 MPA-53 MPA-86" crc_is 1
	t_case "$words, CRC: rping, IPv4" "" ping "$B4"
	t_case "$words, CRC: rping, IPv6" "" ping "$B6"
	t_case "$words, CRC: rstream, verified" "" stream rstream -I 5 -C 5 -S 65536 -T v
	t_case "$words, CRC: riostream, verified" "" stream riostream -I 20 -C 5 -T v
	setting crc 0
	t_case "$words, no CRC: negotiated" "MPA-42" crc_is 0
	t_case "$words, no CRC: rping" "" ping "$B4"
	t_case "$words, no CRC: rstream, verified" "" stream rstream -I 5 -C 5 -S 65536 -T v
	setting crc 1
}

# perftest's server listens on every address, which the core does by every device
# there is: siw then takes the port in rnic_sw's namespace, too. So siw is the
# responder always, and sends when both directions are asked for.
perftests() {
	local words=$1 n
	n=$(t_iters 500)
	t_case "$words: ib_send_bw, 4 KiB" "" t_perftest ib_send_bw -s 4096 -n "$n" -r 512
	t_case "$words: ib_send_bw, 1 MiB" "" t_perftest ib_send_bw -s 1048576 -n 10 -r 64 -t 16
	t_case "$words: ib_send_bw, both directions" "" t_perftest ib_send_bw -b -s 4096 -n "$n" -r 512
	t_case "$words: ib_write_bw, 64 KiB" "" t_perftest ib_write_bw -s 65536 -n "$n"
	t_case "$words: ib_write_bw, lists of 16" "" t_perftest ib_write_bw -s 64 -l 16 -n 320
	t_case "$words: ib_write_bw, both directions" "" t_perftest ib_write_bw -b -s 65536 -n "$n"
	t_case "$words: ib_read_bw, 64 KiB" "" t_perftest ib_read_bw -s 65536 -n "$n"
	t_case "$words: ib_read_bw, both directions" "" t_perftest ib_read_bw -b -s 4096 -n "$n"
}

latencies() {
	local n
	n=$(t_iters 500)
	t_case "$1: ib_send_lat" "" t_perftest ib_send_lat -s 64 -n "$n"
	t_case "$1: ib_write_lat" "" t_perftest ib_write_lat -s 64 -n "$n"
	t_case "$1: ib_read_lat" "" t_perftest ib_read_lat -s 64 -n "$n"
}

# checked WORDS NAME...: cases of verbs
checked() {
	local words=$1 name
	shift
	for name; do
		t_case "$words: verbs, $name" "" verbs "$name"
	done
}

# Of a peer of revision 1, siw tells programs that it cannot do Reads.
revision_1() {
	setting revision 1
	captured t_perftest ib_write_bw -s 4096 -n 50
	has connections -gt 0
	has tshark_revision_2_warnings -eq 0
}

# RFC 6581 10: who knows revision 1 only closes; to try again with that is a MAY.
not_again() {
	setting revision 1
	captured ping_fails
	has start_up_frames -eq 1
}

# Not with Send alone: siw does not support that (Documentation/interop.rst).
rtr() {
	setting rtr "$1"
	captured ping "$B4"
	same "who sends first" "$(field iwarp_mpa.fpdu ip.src)" 10.9.1.1
	same "its opcode" "$(field iwarp_mpa.fpdu iwarp_rdma.opcode)" "$2"
}

# In ucmatose the server sends first, and the client nothing.
server_first() {
	cmatose -c 1 -C 10 -S 1000
}

# A responder is silent until the initiator has sent something.
not_silent() {
	setting rtr none
	captured server_first
	same "who sends first" "$(field iwarp_mpa.fpdu ip.src)" "$B4"
}

connected() { [ -n "$(on b ss -Htn 'sport = :7471')" ]; }

both_wait() {
	t_bg server b ucmatose -b "$B4" -c 1 -C 10 -S 1000
	t_listens b 7471
	t_bg client a ucmatose -s "$B4" -c 1 -C 10 -S 1000
	t_until "$T_TIME" connected || t_fail "nobody has called"
	sleep 5
	t_check "both wait" t_alive client
	t_check "both wait" t_alive server
}

silent() {
	captured both_wait
	has start_up_frames -eq 2
	has fpdus -eq 0
}

refuses_our_markers() {
	setting markers 1
	captured ping_fails
	same "M of the Request" "$(field iwarp_mpa.req iwarp_mpa.marker_flag)" 1
	same "R of the Reply" "$(field iwarp_mpa.rep iwarp_mpa.rej_flag)" 1
}

leaves_our_markers() {
	setting markers 1
	captured ping_fails
	same "M of the Reply" "$(field iwarp_mpa.rep iwarp_mpa.marker_flag)" 1
	same "R of the Reply" "$(field iwarp_mpa.rep iwarp_mpa.rej_flag)" 0
	has fpdus -eq 0
}

# It has a connection end for want of a receive; siw reports more errors of its
# own than it expects.
no_receive() { verbs remote_others_live || true; }

no_receive_is() {
	captured no_receive
	same "the Terminate" "$(terminate)" "$1"
}

pad() {
	captured verbs send_sizes
	has against_the_rfc "$@"
}

# One that comes while siw sends something else
empty_read() {
	t_refused verbs empty_behind
	t_check "our reason" test "$(t_counter iwi end_ddp_tagged_bounds)" -gt 0
}

modprobe -q siw || t_skip_all "this kernel has no siw (CONFIG_RDMA_SIW)"
VERBS=$(t_prog verbs) || t_skip_all "the program verbs is not built (make)"
lockdep_proves 0

hosts exclusive
siw_is b
programs "rnic_sw to siw"
perftests "rnic_sw to siw, CRC"
latencies "rnic_sw to siw, CRC"
setting crc 0
perftests "rnic_sw to siw, no CRC"
setting crc 1
t_case "rnic_sw to siw, revision 1" "MPA2-7" revision_1
t_case "rnic_sw to siw, ready-to-receive: write" "MPA2-49" rtr write 0x00
t_case "rnic_sw to siw, ready-to-receive: read" "MPA2-49" rtr read 0x01
t_case "rnic_sw to siw, ready-to-receive: none" "" rtr none 0x03
t_case "rnic_sw to siw, the server sends first" "" server_first
t_case "siw as a responder sends first, against RFC 5044 7.1.2 (4)" "" not_silent
t_case "siw refuses a Request that asks for markers, against RFC 5044 4.3" "" refuses_our_markers
siw_is a
programs "siw to rnic_sw"
t_case "siw to rnic_sw of revision 1, which closes" "MPA2-66" not_again
t_case "siw to rnic_sw, the server has to wait: siw offers no ready-to-receive" "MPA-113" silent
t_case "siw leaves if the Reply asks for markers, against RFC 5044 4.3" "" leaves_our_markers
t_undo

hosts shared
siw_is b
# shellcheck disable=SC2086	# words
checked "rnic_sw to siw" $data zero_length
t_case "PAD that siw gets is zero" "MPA-17" pad -eq 0
t_case "siw's Terminate has layer and type, M, D, R in wrong places, against RFC 5040 4.8" "" \
	no_receive_is 21020300
t_case "siw answers an empty Read with data, against RFC 5040 5.2.1" "" empty_read
siw_is a
# siw completes a Send before the Read in front of it.
# shellcheck disable=SC2086	# words
checked "siw to rnic_sw" $data write_offsets
t_case "siw's PAD is not zero, against RFC 5044 4.1" "" pad -gt 0
t_case "Terminate that siw gets" "RDMAP-36 RDMAP-37" no_receive_is 1202c000
t_undo
modprobe -qr siw
lockdep_proves 1
t_end
