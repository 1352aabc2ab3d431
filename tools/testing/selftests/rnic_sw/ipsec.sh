#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# ipsec.sh: the same traffic under IPsec. The hosts' kernels do that, below TCP:
# nothing leaves but ESP, and new keys (what an IKE daemon does when it deletes
# and replaces security associations) are no end to a connection.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

GCM=(aead 'rfc4106(gcm(aes))' KEY-20 128)
CBC=(enc 'cbc(aes)' KEY-32 auth-trunc 'hmac(sha256)' KEY-32 128)

# key OCTETS SEED
key() { printf '0x'; printf "$2 %s" "$1" | sha512sum | head -c $((2 * $1)); }

# Where its sequence numbers begin, in the lower half of their 64 bits
FIRST=0

# sa MODE SPI FROM TO ALGORITHM...: one association, at both hosts
sa() {
	local mode=$1 spi=$2 from=$3 to=$4 ns word words=()
	shift 4
	for word in "$@"; do
		case $word in
		KEY-*) words+=("$(key "${word#KEY-}" "$spi")") ;;
		*) words+=("$word") ;;
		esac
	done
	for ns in "$NS_A" "$NS_B"; do
		ip -n "$ns" xfrm state add src "$from" dst "$to" proto esp spi "$spi" \
			reqid 1 mode "$mode" "${words[@]}" replay-window 64 flag esn \
			replay-seq $FIRST replay-oseq $FIRST || return
	done
}

# keys MODE SPI ALGORITHM...: both ways
keys() {
	sa "$1" "$2" "$A4" "$B4" "${@:3}" && sa "$1" $(($2 + 1)) "$B4" "$A4" "${@:3}"
}

no_keys() {
	ip -n "$NS_A" xfrm state flush
	ip -n "$NS_B" xfrm state flush
}

# policy NS DIRECTION FROM TO MODE
policy() {
	ip -n "$1" xfrm policy add src "$3" dst "$4" dir "$2" \
		tmpl src "$3" dst "$4" proto esp reqid 1 mode "$5"
}

# What a kernel that lacks ESP or an algorithm says; any other error is one
lacks() {
	grep -qE 'answers: .*(not supported|not implemented|No such file)|lgorithm not found' "$1"
}

# dropped NS NAME: of the packets that came, as its associations count them
dropped() {
	ip -n "$1" -s xfrm state | awk -v name="$2" '{
		for (i = 1; i < NF; i++) if ($i == name) n += $(i + 1)
	} END { print n + 0 }'
}

# again CAPTURE: what a has sent last it sends again, and one packet of it changed
again() {
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
		# further on in the sequence, so that its check value is what is wrong
		last = bytearray(frames[-1])
		last[38:42] = struct.pack(">I", struct.unpack(">I", last[38:42])[0] + 1000)
		sock.send(last)
	END
}

# esp MODE ALGORITHM...: from here on nothing goes between the hosts without
esp() {
	if ! keys "$1" 0x1001 "${@:2}" 2>"$T_CASE/keys.err"; then
		cat "$T_CASE/keys.err"
		lacks "$T_CASE/keys.err" || t_fail "no security associations"
		t_skip "this kernel has no ESP, or not that algorithm"
	fi
	t_defer no_keys
	policy "$NS_A" out "$A4" "$B4" "$1"
	policy "$NS_A" in "$B4" "$A4" "$1"
	policy "$NS_B" out "$B4" "$A4" "$1"
	policy "$NS_B" in "$A4" "$B4" "$1"
	t_defer ip -n "$NS_A" xfrm policy flush
	t_defer ip -n "$NS_B" xfrm policy flush
}

# seen FILE FILTER: how many packets
seen() { tcpdump -n -r "$1" "$2" 2>/dev/null | wc -l; }

# What comes out of a tunnel is seen once more, where it arrives: so each host's
# capture tells of what that one has sent.
only_esp() {
	local file=$T_CASE/sent-by-$1.pcap n
	n=$(seen "$file" "esp and src $2")
	echo "$1 sent $n packets of ESP"
	t_check "hardly any ESP" [ "$n" -gt 100 ]
	t_check "$1 sent something in the clear" [ "$(seen "$file" "ip and src $2 and not esp")" -eq 0 ]
}

traffic() {
	local size
	for size in 64 1408 65535; do
		t_rping "$B4" -C 5 -S $size -V
	done
	t_port
	t_pair "$PORT" rstream -b "$B4" -p "$PORT" -I 10 -C 5 -T v -- \
		rstream -s "$B4" -p "$PORT" -I 10 -C 5 -T v
}

protected() {
	esp "$@"
	t_capture a "$T_CASE/sent-by-a.pcap"
	t_capture b "$T_CASE/sent-by-b.pcap"
	traffic
	t_capture_end a
	t_capture_end b
	only_esp a "$A4"
	only_esp b "$B4"
}

# carried NS: how many of its associations have sent or taken a number above 32 bits
carried() { ip -n "$1" -s xfrm state | grep -c 'seq-hi 0x1' || :; }

# What the wire has of a number is its lower half: both ends must know the upper
beyond_32_bits() {
	FIRST=$((0xffffffc0))
	esp "$@"
	traffic
	for ns in "$NS_A" "$NS_B"; do
		ip -n "$ns" -s xfrm state
		t_check "$ns: numbers of 32 bits" [ "$(carried "$ns")" -eq 2 ]
	done
}

# all_dropped REPLAYED FAILED: at least so many
all_dropped() {
	[ "$(dropped "$NS_B" replay)" -ge "$1" ] && [ "$(dropped "$NS_B" failed)" -ge "$2" ]
}

# Who has seen the packets can send them again: nobody takes them
replayed() {
	local window failed
	esp "$@"
	t_capture a "$T_CASE/sent-by-a.pcap"
	t_rping "$B4" -C 10 -S 1000 -V
	t_capture_end a
	window=$(dropped "$NS_B" replay) failed=$(dropped "$NS_B" failed)
	again "$T_CASE/sent-by-a.pcap"
	t_until 20 all_dropped $((window + 20)) $((failed + 1)) || echo "not all was dropped"
	ip -n "$NS_B" -s xfrm state
	t_check "old packets were taken" [ "$(dropped "$NS_B" replay)" -ge $((window + 20)) ]
	t_check "a changed packet was taken" [ "$(dropped "$NS_B" failed)" -eq $((failed + 1)) ]
	t_rping "$B4" -C 5 -V
}

rounds_done() { t_counter "$A_DEV" rx_sends; }
more_than() { [ "$(rounds_done)" -gt "$1" ]; }

# idle or busy, as the case wants the connection while its keys change
stop_or_not() { [ "$1" = busy ] || t_signal client "$2"; }

# rekey idle|busy MODE ALGORITHM...
rekey() {
	local how=$1 before spi
	shift
	esp "$@"
	t_port
	t_bg server b rping -s -a "$B4" -p "$PORT" -V -S 3000
	t_listens b "$PORT"
	t_bg client a rping -c -a "$B4" -p "$PORT" -V -S 3000
	before=$(rounds_done)
	t_until 40 more_than $((before + 20))
	for spi in 0x2001 0x3001; do
		stop_or_not "$how" STOP
		[ "$how" = busy ] || sleep 1
		no_keys
		sleep 1
		before=$(rounds_done)
		sleep 3
		t_check "traffic without keys" [ "$(rounds_done)" -eq "$before" ]
		t_check "the client is there" t_alive client
		keys "$1" $spi "${@:2}"
		stop_or_not "$how" CONT
		t_check "nothing goes on after new keys" t_until 40 more_than $((before + 20))
	done
	t_check "one connection only" [ "$(t_counter "$A_DEV" connects)" -eq "$CONNECTS" ]
}

rekeyed() {
	CONNECTS=$(($(t_counter "$A_DEV" connects) + 1))
	rekey "$@"
}

two_hosts
command -v tcpdump >/dev/null || t_skip_all "no tcpdump here"
SERVICE="DDP-137 RDMAP-192"
DELETED="DDP-142 RDMAP-195 MPA-147 SEC-9 SEC-51"
t_case "ESP in transport mode, AES-GCM" "$SERVICE" protected transport "${GCM[@]}"
t_case "ESP in tunnel mode, AES-GCM" "$SERVICE DDP-140 RDMAP-193" protected tunnel "${GCM[@]}"
t_case "ESP in tunnel mode, AES-CBC with HMAC" "$SERVICE DDP-140 RDMAP-193" \
	protected tunnel "${CBC[@]}"
t_case "sequence numbers go beyond 32 bits" "SEC-47" beyond_32_bits transport "${GCM[@]}"
t_case "packets come again, and one is changed" "DDP-136 DDP-139 RDMAP-192 SEC-46" \
	replayed tunnel "${GCM[@]}"
t_case "associations deleted and replaced under traffic" "$DELETED" \
	rekeyed busy transport "${GCM[@]}"
t_case "associations deleted and replaced while idle" "$DELETED MPA-146" \
	rekeyed idle tunnel "${GCM[@]}"
t_end
