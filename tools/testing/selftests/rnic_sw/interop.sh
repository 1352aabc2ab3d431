#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# interop.sh: the kernel's siw as a foreign peer, as initiator and as responder,
# with CRC and without.
#
# siw never asks for CRC and never refuses it: the connection has it if rnic_sw
# asks.  Its markers are none, so nothing is said about those.  What it sends in
# a Terminate departs from RFC 5040 (N-2, N-6) and is not looked at here.
# shellcheck disable=SC2034,SC2154	# lib.sh reads and declares them

. "$(dirname "$(readlink -f "$0")")/lib.sh"

# against_siw HOST: a is the initiator, b the responder, HOST the one with siw.
# That one is in the first network namespace, for siw knows no other:
#     netns rnic-i               first netns
#     +---------------+  veth  +---------------+
#     | vi   iwi      |--------| vs   siws     |
#     | 10.9.1.1      |        | 10.9.1.2      |
#     +---------------+        +---------------+
against_siw() {
	t_must t_own_namespaces
	t_must ip netns add rnic-i
	t_defer t_drop_netns rnic-i
	t_must ip link add vi netns rnic-i type veth peer name vs
	t_must t_host_up rnic-i vi 10.9.1.1 fd00:9:1::1 iwi
	t_must ip addr add 10.9.1.2/24 dev vs
	t_must ip link set vs up
	t_must rdma link add siws type siw netdev vs
	t_defer t_drop_device siws ''
	if [ "$1" = b ]; then
		NS_A=rnic-i NS_B='' A_DEV=iwi B_DEV=siws B4=10.9.1.2
	else
		NS_A='' NS_B=rnic-i A_DEV=siws B_DEV=iwi B4=10.9.1.1
	fi
}

# Of rnic_sw
set_crc() {
	t_must ip netns exec rnic-i sh -c "echo $1 >/sys/class/infiniband/iwi/mpa/crc"
}

ping() {
	t_port
	t_pair "$PORT" rping -s -a "$B4" -p "$PORT" -C 30 -S 4000 -V -- \
		rping -c -a "$B4" -p "$PORT" -C 30 -S 4000 -V
}

# The responder's flag says what was agreed on, and the FPDUs keep to it.
crc_is() {
	local pcap=$T_CASE/mpa.pcap flag good
	command -v tshark >/dev/null || t_skip "no tshark here"
	t_port
	ip netns exec rnic-i tcpdump -i vi -n -U -Z root -w "$pcap" 2>"$T_CASE/tcpdump.log" &
	t_pids[tcpdump]=$!
	t_defer t_kill tcpdump
	t_until 20 grep -q 'listening on' "$T_CASE/tcpdump.log"
	t_pair "$PORT" rping -s -a "$B4" -p "$PORT" -C 3 -- rping -c -a "$B4" -p "$PORT" -C 3
	sleep 1
	t_kill tcpdump INT
	flag=$(tshark -r "$pcap" -Y iwarp_mpa.rep -T fields -e iwarp_mpa.crc_flag 2>/dev/null)
	good=$(tshark -r "$pcap" -V -Y iwarp_mpa.fpdu 2>/dev/null | grep -c 'CRC check: .*Good\|Good CRC' || true)
	echo "the MPA Reply's CRC flag: '$flag'; frames with a CRC that was checked: $good"
	case $1-$flag in
	1-1 | 1-True) t_check "tshark found good CRCs" test "$good" -gt 0 ;;
	0-0 | 0-False) ;;
	*) t_fail "CRC should have been $1" ;;
	esac
}

programs() {
	local crc=$1 words=$2 n
	n=$(t_iters 500)
	t_case "CRC $crc negotiated, $words" "MPA-42 MPA-53" crc_is "$crc"
	t_case "rping, $words" "" ping
	t_case "ib_send_bw, $words" "" t_perftest ib_send_bw -s 4096 -n "$n" -r 512
	t_case "ib_send_bw 1 MiB, $words" "" t_perftest ib_send_bw -s 1048576 -n 20 -r 64 -t 16
	t_case "ib_write_bw, $words" "" t_perftest ib_write_bw -s 65536 -n "$n"
	t_case "ib_write_bw 64 octets in lists, $words" "" t_perftest ib_write_bw -s 64 -l 16 -n 320
	t_case "ib_read_bw, $words" "" t_perftest ib_read_bw -s 65536 -n "$n"
	t_case "ib_send_lat, $words" "" t_perftest ib_send_lat -s 64 -n "$n"
	t_case "ib_write_lat, $words" "" t_perftest ib_write_lat -s 64 -n "$n"
	t_case "ib_read_lat, $words" "" t_perftest ib_read_lat -s 64 -n "$n"
}

modprobe -q siw || t_skip_all "this kernel has no siw (CONFIG_RDMA_SIW)"

against_siw b
for crc in 1 0; do
	set_crc $crc
	programs $crc "rnic_sw to siw, CRC $crc"
done
t_undo

against_siw a
for crc in 1 0; do
	set_crc $crc
	programs $crc "siw to rnic_sw, CRC $crc"
done
t_undo
modprobe -qr siw
t_end
