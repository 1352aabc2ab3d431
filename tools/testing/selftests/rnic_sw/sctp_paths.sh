#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# sctp_paths.sh: one address on each side (RFC 5043 7.2), or as many as the device
# is told (its setting paths): then a link may fail and nobody notices.
#
# Beside the hosts' first link there is a second one without a device:
#
#	va  10.9.1.1  iwa  ---------  vb  10.9.1.2  iwb
#	va2 10.9.3.1       ---------  vb2 10.9.3.2

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

export RNIC_SW_LLP=sctp
SLAB=/sys/kernel/debug/failslab
ENOUGH=1000000	# octets
A4_2=10.9.3.1 B4_2=10.9.3.2 A6_2=fd00:9:3::1 B6_2=fd00:9:3::2

second_link() {
	t_must ip link add va2 netns "$NS_A" type veth peer name vb2 netns "$NS_B"
	t_must link_up "$NS_A" va2 $A4_2 $A6_2
	t_must link_up "$NS_B" vb2 $B4_2 $B6_2
}

link_up() {
	ip -n "$1" addr add "$3/24" dev "$2" &&
	ip -n "$1" addr add "$4/64" dev "$2" nodad &&
	ip -n "$1" link set "$2" up
}

# paths HOST NAMES: which interfaces its device uses besides; undone at the end
paths() {
	local of=("$A_DEV" "$NS_A")
	[ "$1" = a ] || of=("$B_DEV" "$NS_B")
	t_set "${of[0]}" paths "$2" "${of[1]}"
	t_defer t_set "${of[0]}" paths none "${of[1]}"
}

two_paths() {
	paths a va2
	paths b vb2
}

# The addresses of host a's associations with $PORT: its own, and the other's. In
# the kernel's table the primary one has a *, and IPv6 is written out.
addresses() {
	on a cat /proc/net/sctp/assocs | tr -d '*' | awk -v port="$PORT" '
		$13 == port {
			for (i = 14; $i != "<->"; i++) print "a", $i
			for (i++; $i ~ /[.:]/; i++) print "b", $i
		}' | short | sort -u | paste -sd' '
}

# IPv6 addresses as they are usually written
short() { sed -E '/:/ s/\b0+([0-9a-f])/\1/g; s/(:0)+:/::/g'; }

has() {
	local got
	got=$(addresses)
	echo "addresses: $got"
	t_check "they are $*" test "$got" = "$*"
}

# talk ADDRESS: data goes to and fro, and is compared, until somebody ends it; the
# server is at $T_AT if that is set. How long a case may take is for goes_on to say.
talk() {
	t_port
	T_TIME=600 t_bg server b rping -s -a "${T_AT:-$1}" -p "$PORT" -S 30000 -V
	t_listens b "$PORT"
	T_TIME=600 t_bg client a rping -c -a "$1" -p "$PORT" -S 30000 -V
	goes_on
}

sends() { t_counter "$B_DEV" rx_sends; }
more_sends() { [ "$(sends)" -gt $(($1 + 5)) ]; }

# Within so many seconds; fails at once if a program has ended, as it does on any error.
goes_on() {
	local start=${EPOCHREALTIME/./}
	t_until "${1:-20}" more_sends "$(sends)" || t_fail "no traffic"
	echo "goes on after $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
	t_check "the client is alive" t_alive client
	t_check "the server is alive" t_alive server
}

# state HOST ADDRESS: of the path to there, as enum sctp_spinfo_state
state() { on "$1" cat /proc/net/sctp/remaddr | short | awk -v to="$2" '$1 == to { print $8 }'; }
is_active() { state "$1" "$2" | grep -q 2; }
active() { t_until 40 is_active "$1" "$2" || t_fail "the path to $2 is not active: $(state "$1" "$2")"; }

all_active() {
	active a "$1"
	active a "$2"
	active b "$3"
	active b "$4"
}

link() { on "$1" ip link set "$2" "$3"; }

# lost HOST INTERFACE: one end of a link is down, the other has no carrier
lost() {
	link "$1" "$2" down
	goes_on 60
	goes_on
}

one_each() {
	talk "$1"
	has a "$2" b "$1"
}

# everywhere ADDRESS: a server on b that anybody may call, at any address
everywhere() {
	t_port
	t_bg server b rping -s -P -a "$1" -p "$PORT"
	t_listens b "$PORT"
}

connected() { on a rdma resource show qp link "$A_DEV/1" | grep -c 'state RTS' || true; }
more_connected() { [ "$(connected)" -gt "$1" ]; }

# stays NAME ADDRESS: a client there that goes on. An association has its addresses
# before it is there.
stays() {
	local before
	before=$(connected)
	t_bg "$1" a rping -c -a "$2" -p "$PORT"
	t_until "$T_TIME" more_connected "$before" || t_fail "$1 is not connected"
	t_check "it is not at $2" eval "addresses | grep -qF 'b ${2%%%*}'"
}

calls() { t_call "$1" -C 2; }
answers() { on a timeout 10 rping -c -a "$1" -p "$PORT" -C 1; }

# On no address in particular there is one as well: that which was called.
called_one() {
	on b ip addr add 10.9.1.77/24 dev vb
	t_defer on b ip addr del 10.9.1.77/24 dev vb
	everywhere 0.0.0.0
	stays first "$B4"
	has a "$A4" b "$B4"
	stays second 10.9.1.77
	has a "$A4" b "$B4" b 10.9.1.77
	t_check "one association each" test "$(on a ss -HnS | grep -c "^ESTAB.*:$PORT *$")" = 2
}

# A link-local one is as good, but never a path beside others.
link_local() {
	local at
	two_paths
	at=$(on b ip -6 -o addr show dev vb scope link | awk '{ sub("/.*", "", $4); print $4 }')%va
	everywhere ::
	stays first "$at"
	addresses
	t_check "one address on each side" test "$(addresses | wc -w)" = 4
	stays second "$B6"
	addresses | grep -F "b $B6_2"
}

# The second one while IPv6 still looks whether another host has it.
addresses_come() {
	on b sysctl -qw net.ipv6.conf.vb.accept_dad=1
	t_defer on b sysctl -qw net.ipv6.conf.vb.accept_dad=0
	everywhere "$1"
	calls "$2"
	on b ip addr add "$3" dev vb
	t_defer eval "on b ip addr del $3 dev vb 2>/dev/null"
	t_until 40 answers "${3%/*}" || t_fail "nobody answers at $3"
	calls "${3%/*}"
	on b ip addr del "$3" dev vb
	t_until 10 eval "! in_use $3" || t_fail "the address is gone, its socket is not"
	calls "$2"
	on b ip addr add "$3" dev vb
	t_until 40 answers "${3%/*}" || t_fail "nobody answers at $3 any more"
}

# slab WORD VALUE...: of the allocations that are made to fail
slab() {
	while [ $# -gt 0 ]; do
		echo "$2" >"$SLAB/$1"
		shift 2
	done
}

all_have_memory() {
	slab probability 0 require-start 0 require-end 18446744073709551615 times 1
}

# times_left N: so many are still to fail
times_left() { [ "$(cat $SLAB/times)" = "$1" ]; }

# The worker that follows the addresses has no memory, more than once, and has it
# again later: nobody tells it of either.
memory_comes() {
	local range
	[ -e $SLAB/require-start ] ||
		t_skip "this kernel cannot make allocations fail, for callers of one's choice"
	everywhere 0.0.0.0
	calls "$B4"
	range=$(grep -F '[iw_sctp_ddp]' /proc/kallsyms | sort |
		awk '$3 == "sddp_places_follow_one" { at = "0x" $1; next }
			at && "0x" $1 > at { print at, "0x" $1; exit }')
	[ -n "$range" ] || t_fail "the worker has another name: say it here, too"
	t_defer all_have_memory
	slab require-start "${range% *}" require-end "${range#* }" stacktrace-depth 32 \
		task-filter N cache-filter N ignore-gfp-wait N verbose 0 space 0 interval 1 \
		times 3 probability 100
	on b ip addr add "$1" dev vb
	t_defer on b ip addr del "$1" dev vb
	t_until 20 times_left 0 || t_fail "it was not tried again: $(cat $SLAB/times) times left of 3"
	t_until 40 answers "${1%/*}" || t_fail "nobody answers at $1"
}

# Does anybody listen over SCTP at that address on b?
in_use() {
	on b awk -v port="$PORT" '$4 == 10 && $6 == port' /proc/net/sctp/eps | short |
		grep -qF " ${1%/*} "
}

# Another program has an address, and it is on no path of another device's: who
# listens everywhere is told.
foreign_place() {
	t_defer t_listens_on "$B_DEV" both "$NS_B"
	t_listens_on "$B_DEV" sctp "$NS_B"
	t_port
	t_bg other b python3 -c "import socket, time; s = socket.socket(2, 1, 132); \
s.bind(('$B4', $PORT)); s.listen(); time.sleep(1000)"
	t_until 20 in_use "$B4" || t_fail "nobody listens"
	t_refused on b timeout 10 rping -s -a 0.0.0.0 -p "$PORT" 2>"$T_CASE/refused"
	t_check "it is not told why" grep -q 'rdma_listen: Address already in use' "$T_CASE/refused"
}

# At how many addresses does somebody listen over SCTP on b?
sockets() { on b awk -v port="$PORT" '$4 == 10 && $6 == port' /proc/net/sctp/eps | wc -l; }

# 600 more of each family: IPv6's have a socket each, of IPv4's those that are left.
many_addresses() {
	local i
	for ((i = 1; i <= 600; i++)); do
		echo "addr add 10.78.$((i >> 8)).$((i & 255))/32 dev vb"
		echo "addr add fd78::$i/128 dev vb nodad"
	done | ip -n "$NS_B" -batch -
	t_defer on b ip addr flush dev vb to 10.78.0.0/16
	t_defer on b ip addr flush dev vb to fd78::/16
	everywhere ::
	t_until 20 eval '[ "$(sockets)" = 1024 ]' || t_fail "at $(sockets) addresses"
	calls "$B4"
	calls "$B6"
}

# Two devices on each other's path, and a program that listens on both.
cross() {
	t_new_device iwb2 vb2 "$NS_B"
	paths a va2
	paths b vb2
	t_set iwb2 paths vb "$NS_B"
	t_listens_on iwb2 sctp "$NS_B"
	t_listens_on "$B_DEV" sctp "$NS_B"
	t_defer t_listens_on "$B_DEV" both "$NS_B"
	t_port
	t_bg server b rping -s -P -a 0.0.0.0 -p "$PORT"
	t_until 20 in_use "$B4" || t_fail "nobody listens"
	calls "$B4"
	has a "$A4" a "$A4_2" b "$B4" b "$B4_2"
	t_check "the server is alive" t_alive server
}

two_each() {
	two_paths
	talk "$1"
	has a "$2" a "$3" b "$1" b "$4"
}

# Packets that have left by an interface of a's.
left_by() { on a cat "/sys/class/net/$1/statistics/tx_packets"; }

# After how many timeouts in a row host a's association with $PORT ends
allowed() { on a awk -v port="$PORT" '$13 == port { print $(NF - 7) }' /proc/net/sctp/assocs; }

# The second one is asked whether it is there, and carries nothing else.
one_used() {
	local first second
	two_paths
	talk "$B4"
	all_active "$B4" $B4_2 "$A4" $A4_2
	first=$(left_by va)
	second=$(left_by va2)
	goes_on
	goes_on
	goes_on
	first=$(($(left_by va) - first))
	second=$(($(left_by va2) - second))
	echo "$first packets by the first path, $second by the second"
	t_check "data goes by the first path alone" test $((10 * second)) -lt "$first"
	t_check "$(allowed) timeouts, each path has five" test "$(allowed)" = 10
}

# One path after the other is lost, by either end, under traffic.
fail_over() {
	two_paths
	talk "$@"
	all_active "$B4" $B4_2 "$A4" $A4_2
	t_defer link a va up
	lost a va
	link a va up
	all_active "$B4" $B4_2 "$A4" $A4_2
	goes_on
	t_defer link b vb2 up
	lost b vb2
	link b vb2 up
	all_active "$B4" $B4_2 "$A4" $A4_2
	t_defer link b vb up
	lost b vb
	on a cat /proc/net/sctp/remaddr
}

# Packets vanish, and no interface says so.
swallowed() {
	two_paths
	talk "$1"
	all_active "$@"
	t_netem a va loss 100%
	goes_on 60
	goes_on
	on a tc -s qdisc show dev va | tee "$T_CASE/lost"
	t_check "nothing was lost" grep -q 'dropped [1-9]' "$T_CASE/lost"
}

# A router between the hosts; the way from it to b carries less:
#
#	va3  10.9.4.1  iwa3  ----  ra  10.9.4.254
#				   rb  10.9.5.254  ----  vb3  10.9.5.1  iwb3
router() {
	t_must t_new_netns rnic-r
	t_must ip link add va3 mtu 9000 netns "$NS_A" type veth peer name ra mtu 9000 netns rnic-r
	t_must ip link add vb3 mtu 1400 netns "$NS_B" type veth peer name rb mtu 1400 netns rnic-r
	t_must link_up "$NS_A" va3 10.9.4.1 fd00:9:4::1
	t_must link_up rnic-r ra 10.9.4.254 fd00:9:4::fe
	t_must link_up rnic-r rb 10.9.5.254 fd00:9:5::fe
	t_must link_up "$NS_B" vb3 10.9.5.1 fd00:9:5::1
	ip netns exec rnic-r sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	ip -n "$NS_A" route add 10.9.5.0/24 via 10.9.4.254
	ip -n "$NS_B" route add 10.9.4.0/24 via 10.9.5.254
	ip -n "$NS_A" route add fd00:9:5::/64 via fd00:9:4::fe
	ip -n "$NS_B" route add fd00:9:4::/64 via fd00:9:5::fe
	t_must t_new_device iwa3 va3 "$NS_A"
	t_must t_new_device iwb3 vb3 "$NS_B"
}

# It says what is too long for it, and that is heard at once: packets that only
# vanish make a pause of more than 8 s, for which SCTP sends again in vain, 0.3 s
# later, then twice as long each time. From then on SCTP has nothing to cut: at
# most what was made before. A busy machine may take as long, and SCTP mean that
# something was lost: again, when the way is forgotten.
router_says() {
	local try
	router
	for try in 1 2 3; do
		! heard_at_once "$1" || return 0
		forget_ways
	done
	t_fail "that happened $try times"
}

heard_at_once() {
	local start cut late
	cut=$(messages_cut) late=$(timeouts)
	t_port
	t_bg server b rping -s -a "$1" -p "$PORT" -S 60000 -C 20 -V
	t_listens b "$PORT"
	start=$SECONDS
	on a timeout "$T_TIME" rping -c -a "$1" -p "$PORT" -S 60000 -C 20 -V >"$T_CASE/client.log" 2>&1 ||
		t_closed_first "$T_CASE/client.log" || t_fail "rping has failed"
	t_check "not all rounds were done" t_whole "$T_CASE/client.log"
	start=$((SECONDS - start)) late=$(($(timeouts) - late)) cut=$(($(messages_cut) - cut))
	on a ip route get "$1" | tee "$T_CASE/way"
	t_check "the way is as wide as before" grep -q "mtu 1400" "$T_CASE/way"
	t_check "$cut messages were cut" test $cut -lt 20
	echo "it took $start s, and SCTP has sent again $late times"
	[ $start -lt 8 ] || [ $late -lt 3 ]
}

# That a path carries less is remembered for minutes
forget_ways() { on a sh -c 'ip route flush cache; ip -6 route flush cache'; }

timeouts() { on a awk '$1 == "SctpT3RtxExpireds" { print $2 }' /proc/net/sctp/snmp; }
messages_cut() { on a awk '$1 == "SctpFragUsrMsgs" { print $2 }' /proc/net/sctp/snmp; }

# mtus A B: of the first link's ends; nobody tells what the other cannot take
mtus() {
	t_must link_mtu a va "$1"
	t_must link_mtu b vb "$2"
	t_defer link_mtu a va 1500
	t_defer link_mtu b vb 1500
	t_defer forget_ways
}

link_mtu() { on "$1" ip link set "$2" mtu "$3"; }

# What is too long for a path vanishes: less is sent at a time.
too_long() {
	mtus 9000 1500
	t_port
	t_bg server b rping -s -a "$1" -p "$PORT" -S 60000 -V
	t_listens b "$PORT"
	t_bg client a rping -c -a "$1" -p "$PORT" -S 60000 -V
	goes_on 50
	goes_on
	on a ip route get "$1"
}

# If not even the least gets through the programs are told.
nothing_fits() {
	local before
	mtus 9000 500
	before=$(t_counter "$A_DEV" end_timeout)
	t_port
	t_bg server b rping -s -a "$B4" -p "$PORT" -S 60000
	t_listens b "$PORT"
	# rping is content with any end
	on a timeout "$T_TIME" rping -c -a "$B4" -p "$PORT" -S 60000 2>&1 | tee "$T_CASE/said"
	t_check "the program was told" grep -q "DISCONNECT EVENT" "$T_CASE/said"
	on a ip route get "$B4" | grep "mtu 576"
	t_check "it is counted" test "$(t_counter "$A_DEV" end_timeout)" -gt "$before"
}

# carried INTERFACE: octets to and fro by an interface of a's
carried() {
	on a cat "/sys/class/net/$1/statistics/"{tx,rx}_bytes | awk '{ n += $1 } END { print n }'
}
has_carried() { [ "$(carried "$1")" -gt "$2" ]; }

# later: the first link is lost, and stays so, once there is traffic. That there is
# a connection says nothing: perftest has one to agree on things, and may begin anew.
# A busy machine moves less than 2 MB in a second.
later() {
	t_until 100 has_carried va $(($(carried va) + ENOUGH)) || t_fail "no traffic"
	link a va down
	echo "the link is down"
}

# For the next try: a link that was lost is there again
once_more() {
	no_later
	link a va up
	later &
	later_pid=$!
}

# Nor is anything of it still to come
no_later() {
	[ -n "$later_pid" ] || return 0
	pkill -P "$later_pid" || true
	kill "$later_pid" 2>/dev/null || true
	wait "$later_pid" 2>/dev/null || true
}

# Every operation, each with many requests under way.
bulk() {
	local second
	later_pid=''
	two_paths
	t_defer link a va up
	t_defer no_later
	second=$(carried va2)
	T_EACH=once_more t_perftest "$1" -D 15 -s 16384
	wait "$later_pid" || t_fail "no link was lost"
	second=$(($(carried va2) - second))
	echo "$second octets went by the other path"
	t_check "that is too few" test $second -gt $ENOUGH
}

# Of an association that was made with one address both ends keep to it.
from_the_next_on() {
	t_port
	t_bg server b rping -s -P -a "$B4" -p "$PORT"
	t_listens b "$PORT"
	t_bg client a rping -c -a "$B4" -p "$PORT"
	goes_on
	two_paths
	has a "$A4" b "$B4"
	t_bg second a rping -c -a "$B4" -p "$PORT"
	t_until 20 eval '[ "$(on a ss -HnS | grep -c "^ESTAB.*:$PORT *$")" = 2 ]'
	has a "$A4" a "$A4_2" b "$B4"
}

path_names() { t_get "$A_DEV" paths "$NS_A"; }

# What the device can be told, and what not.
words() {
	local name
	path_names | grep -x none
	paths a va2
	path_names | grep -x va2
	for name in "$A_IF" nothing va2,nothing "va2 va2 va2 va2 va2"; do
		t_refused t_set "$A_DEV" paths "$name" "$NS_A"
	done
	path_names | grep -x va2
	t_refused on a setpriv --inh-caps -net_admin --bounding-set -net_admin \
		"$T_DIR/lib/setting" "$A_DEV" paths none
	paths a "lo,va2"
	path_names | grep -x "lo va2"
	# an interface that is gone is no path
	ip -n "$NS_A" link add d9 type dummy
	paths a "d9 va2"
	ip -n "$NS_A" link del d9
	path_names | grep -x va2
	talk "$B4"
	has a "$A4" a "$A4_2" b "$B4"
}

modprobe rnic_sw
modprobe iw_sctp_ddp || t_skip_all "no SCTP here"
two_hosts
second_link
t_case "one address on each side" "SCTPDDP-51 SCTPDDP-52" one_each "$B4" "$A4"
t_case "one address on each side, IPv6" "SCTPDDP-51 SCTPDDP-52" one_each "$B6" "$A6"
t_case "one address, whichever was called" "SCTPDDP-52" called_one
t_case "addresses come and go" "" addresses_come 0.0.0.0 "$B4" 10.9.1.78/24
t_case "addresses come and go, IPv6" "" addresses_come :: "$B6" fd00:9:1::78/64
t_case "an address comes, and memory later" "" memory_comes 10.9.1.79/24
t_case "an address is another program's" "" foreign_place
t_case "more addresses than a listener has sockets for" "" many_addresses
t_case "one link-local address" "SCTPDDP-52" link_local
t_case "two paths" "SCTPDDP-51" two_each "$B4" "$A4" $A4_2 $B4_2
t_case "two paths, IPv6" "SCTPDDP-51" two_each "$B6" "$A6" $A6_2 $B6_2
T_AT=0.0.0.0 t_case "two paths, the address that was called first" "SCTPDDP-51" two_each "$B4" "$A4" $A4_2 $B4_2
t_case "devices on each other's path" "" cross
t_case "what a device can be told" "" words
t_case "from the next association on" "" from_the_next_on
t_case "two paths, one is used" "SCTPDDP-53" one_used
t_case "a router says what fits" "SCTPDDP-60" router_says 10.9.5.1
t_case "a router says what fits, IPv6" "SCTPDDP-60" router_says fd00:9:5::1
t_case "what is long vanishes" "" too_long "$B4"
t_case "what is long vanishes, IPv6" "" too_long "$B6"
t_case "packets are lost, IPv6" "SCTPDDP-55" swallowed "$B6" $B6_2 "$A6" $A6_2
# from here on a link has lost its IPv6 addresses
T_TIME=120 t_case "all that is sent vanishes" "" nothing_fits
t_case "a link is lost" "SCTPDDP-55" fail_over "$B4"
t_case "packets are lost, and no link" "SCTPDDP-55" swallowed "$B4" $B4_2 "$A4" $A4_2
for t_op in send write read; do
	t_case "a link is lost under ib_${t_op}_bw" "SCTPDDP-55" bulk "ib_${t_op}_bw"
done
t_end
