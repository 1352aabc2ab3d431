#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# ipsec.sh: RDMA traffic under IPsec, which the hosts' kernels apply below TCP. Only ESP
# packets leave a host, and connections survive new keys: security associations deleted
# and replaced, as an IKE daemon does.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

GCM=(aead 'rfc4106(gcm(aes))' KEY-20 128)
CBC=(enc 'cbc(aes)' KEY-32 auth-trunc 'hmac(sha256)' KEY-32 128)

# print_key BYTES SEED: print a key of BYTES bytes
print_key() { printf '0x'; printf "$2 %s" "$1" | sha512sum | head -c $((2 * $1)); }

# the lower half of the first sequence number, which has 64 bits
FIRST=0

# add_security_association MODE SPI FROM TO ALGORITHM...: add one security association on both hosts
add_security_association() {
	local mode=$1 spi=$2 from=$3 to=$4 ns word words=()
	shift 4
	for word in "$@"; do
		case $word in
		KEY-*) words+=("$(print_key "${word#KEY-}" "$spi")") ;;
		*) words+=("$word") ;;
		esac
	done
	for ns in "$NS_A" "$NS_B"; do
		ip -n "$ns" xfrm state add src "$from" dst "$to" proto esp spi "$spi" \
			reqid 1 mode "$mode" "${words[@]}" replay-window 64 flag esn \
			replay-seq $FIRST replay-oseq $FIRST || return
	done
}

# add_security_associations MODE SPI ALGORITHM...: add associations for both directions
add_security_associations() {
	add_security_association "$1" "$2" "$A4" "$B4" "${@:3}" &&
		add_security_association "$1" $(($2 + 1)) "$B4" "$A4" "${@:3}"
}

flush_security_associations() {
	ip -n "$NS_A" xfrm state flush
	ip -n "$NS_B" xfrm state flush
}

# add_policy NS DIRECTION FROM TO MODE: require ESP for packets from FROM to TO
add_policy() {
	ip -n "$1" xfrm policy add src "$3" dst "$4" dir "$2" \
		tmpl src "$3" dst "$4" proto esp reqid 1 mode "$5"
}

# has_esp_unsupported_error FILE: check whether FILE has the messages of a kernel without ESP or
# without the algorithm
has_esp_unsupported_error() {
	grep -qE 'answers: .*(not supported|not implemented|No such file)|lgorithm not found' "$1"
}

# print_drop_counter NS NAME: print the sum of a drop counter over the namespace's associations
print_drop_counter() {
	ip -n "$1" -s xfrm state | awk -v name="$2" '{
		for (i = 1; i < NF; i++) if ($i == name) n += $(i + 1)
	} END { print n + 0 }'
}

# send_replayed_and_forged_packets CAPTURE: let host a send its last packets again, and then a
# modified packet
send_replayed_and_forged_packets() {
	on a python3 - "$1" "$A_IF" "$A4" <<-'END'
		import socket, struct, sys
		import dpkt
		path, interface, source = sys.argv[1:]
		start = struct.pack(">H", 0x0800), 50, socket.inet_aton(source)
		with open(path, "rb") as file:
		    frames = [frame for _, frame in dpkt.pcap.Reader(file)
		              if (frame[12:14], frame[23], frame[26:30]) == start]
		sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		sock.bind((interface, 0))
		for frame in frames[-20:]:
		    sock.send(frame)
		# set a higher sequence number, so that only the integrity check can fail
		last = bytearray(frames[-1])
		last[38:42] = struct.pack(">I", struct.unpack(">I", last[38:42])[0] + 1000)
		sock.send(last)
	END
}

# require_esp MODE ALGORITHM...: require ESP between the hosts from now on
require_esp() {
	if ! add_security_associations "$1" 0x1001 "${@:2}" 2>"$T_CASE/keys.err"; then
		cat "$T_CASE/keys.err"
		has_esp_unsupported_error "$T_CASE/keys.err" ||
			t_fail "cannot add security associations, see the message above"
		t_skip "this kernel lacks ESP or the algorithm"
	fi
	t_defer flush_security_associations
	add_policy "$NS_A" out "$A4" "$B4" "$1"
	add_policy "$NS_A" in "$B4" "$A4" "$1"
	add_policy "$NS_B" out "$B4" "$A4" "$1"
	add_policy "$NS_B" in "$A4" "$B4" "$1"
	t_defer ip -n "$NS_A" xfrm policy flush
	t_defer ip -n "$NS_B" xfrm policy flush
}

# count_packets FILE FILTER: print the number of matching packets
count_packets() { tcpdump -n -r "$1" "$2" 2>/dev/null | wc -l; }

# check_sends_only_esp HOST ADDRESS: check that all packets sent by HOST are ESP. This reads the
# capture of the sender, because that of the receiver has decapsulated packets as well.
check_sends_only_esp() {
	local file=$T_CASE/sent-by-$1.pcap n
	n=$(count_packets "$file" "esp and src $2")
	echo "$1 sent $n packets of ESP"
	t_check "$1 sends more than 100 packets of ESP" [ "$n" -gt 100 ]
	t_check "$1 sends nothing unencrypted" \
		[ "$(count_packets "$file" "ip and src $2 and not esp")" -eq 0 ]
}

run_traffic() {
	local size
	for size in 64 1408 65535; do
		t_run_rping_pair "$B4" -C 5 -S $size -V
	done
	t_choose_port
	t_run_pair "$PORT" rstream -b "$B4" -p "$PORT" -I 10 -C 5 -T v -- \
		rstream -s "$B4" -p "$PORT" -I 10 -C 5 -T v
}

traffic_is_protected() {
	require_esp "$@"
	t_start_capture a "$T_CASE/sent-by-a.pcap"
	t_start_capture b "$T_CASE/sent-by-b.pcap"
	run_traffic
	t_end_capture a
	t_end_capture b
	check_sends_only_esp a "$A4"
	check_sends_only_esp b "$B4"
}

# count_wrapped_sas NS: print the number of associations whose sequence number exceeds 32 bits
count_wrapped_sas() { ip -n "$1" -s xfrm state | grep -c 'seq-hi 0x1' || :; }

# Packets carry only the lower half of the sequence number, so both ends must track the upper half
extended_sequence_numbers_wrap() {
	FIRST=$((0xffffffc0))
	require_esp "$@"
	run_traffic
	for ns in "$NS_A" "$NS_B"; do
		ip -n "$ns" -s xfrm state
		t_check "$ns: both associations have sequence numbers beyond 32 bits" \
			[ "$(count_wrapped_sas "$ns")" -eq 2 ]
	done
}

# has_dropped_all REPLAYED FAILED: check that b has dropped at least that many replayed packets and
# packets that failed the integrity check
has_dropped_all() {
	[ "$(print_drop_counter "$NS_B" replay)" -ge "$1" ] &&
		[ "$(print_drop_counter "$NS_B" failed)" -ge "$2" ]
}

# Replayed and modified packets must be dropped
replayed_and_forged_packets_are_dropped() {
	local window failed
	require_esp "$@"
	t_start_capture a "$T_CASE/sent-by-a.pcap"
	t_run_rping_pair "$B4" -C 10 -S 1000 -V
	t_end_capture a
	window=$(print_drop_counter "$NS_B" replay) failed=$(print_drop_counter "$NS_B" failed)
	send_replayed_and_forged_packets "$T_CASE/sent-by-a.pcap"
	t_wait_until 20 has_dropped_all $((window + 20)) $((failed + 1)) ||
		echo "not all packets were dropped"
	ip -n "$NS_B" -s xfrm state
	t_check "all replayed packets are dropped" \
		[ "$(print_drop_counter "$NS_B" replay)" -ge $((window + 20)) ]
	t_check "the modified packet is dropped" \
		[ "$(print_drop_counter "$NS_B" failed)" -eq $((failed + 1)) ]
	t_run_rping_pair "$B4" -C 5 -V
}

print_rx_sends() { t_print_counter "$A_DEV" rx_sends; }
has_more_rounds() { [ "$(print_rx_sends)" -gt "$1" ]; }

# signal_client_if_idle HOW SIGNAL: if HOW is idle, stop or continue the client while the keys
# change
signal_client_if_idle() { [ "$1" = busy ] || t_signal client "$2"; }

# check_traffic_across_key_changes idle|busy MODE ALGORITHM...: delete all security associations of
# IPsec and add new ones, twice, while the client is stopped (idle) or transfers data (busy)
check_traffic_across_key_changes() {
	local how=$1 before spi
	shift
	require_esp "$@"
	t_choose_port
	t_start server b rping -s -a "$B4" -p "$PORT" -V -S 3000
	t_wait_listener b "$PORT"
	t_start client a rping -c -a "$B4" -p "$PORT" -V -S 3000
	before=$(print_rx_sends)
	t_wait_until 40 has_more_rounds $((before + 20))
	for spi in 0x2001 0x3001; do
		signal_client_if_idle "$how" STOP
		[ "$how" = busy ] || sleep 1
		flush_security_associations
		sleep 1
		before=$(print_rx_sends)
		sleep 3
		t_check "no traffic without keys" [ "$(print_rx_sends)" -eq "$before" ]
		t_check "the client still runs" t_is_alive client
		add_security_associations "$1" $spi "${@:2}"
		signal_client_if_idle "$how" CONT
		t_check "traffic continues with new keys" \
			t_wait_until 40 has_more_rounds $((before + 20))
	done
	t_check "only one connection was made" \
		[ "$(t_print_counter "$A_DEV" connects)" -eq "$CONNECTS" ]
}

connection_survives_rekey() {
	CONNECTS=$(($(t_print_counter "$A_DEV" connects) + 1))
	check_traffic_across_key_changes "$@"
}

create_two_hosts
command -v tcpdump >/dev/null || t_skip_all "program tcpdump not found"
SERVICE="DDP-137 RDMAP-192"
DELETED="DDP-142 RDMAP-195 MPA-147 SEC-9 SEC-51"
t_case "ESP in transport mode, AES-GCM" "$SERVICE" traffic_is_protected transport "${GCM[@]}"
t_case "ESP in tunnel mode, AES-GCM" "$SERVICE DDP-140 RDMAP-193" \
	traffic_is_protected tunnel "${GCM[@]}"
t_case "ESP in tunnel mode, AES-CBC with HMAC" "$SERVICE DDP-140 RDMAP-193" \
	traffic_is_protected tunnel "${CBC[@]}"
t_case "sequence numbers go beyond 32 bits" "SEC-47" extended_sequence_numbers_wrap transport \
	"${GCM[@]}"
t_case "replayed and modified packets are dropped" "DDP-136 DDP-139 RDMAP-192 SEC-46" \
	replayed_and_forged_packets_are_dropped tunnel "${GCM[@]}"
t_case "associations deleted and replaced under traffic" "$DELETED" \
	connection_survives_rekey busy transport "${GCM[@]}"
t_case "associations deleted and replaced while idle" "$DELETED MPA-146" \
	connection_survives_rekey idle tunnel "${GCM[@]}"
t_print_summary_and_exit
