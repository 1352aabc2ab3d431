#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# addresses.sh: which addresses belong to a device, on each kind of interface above another one,
# over TCP and SCTP. A device serves the addresses that rdma_cm gives it, and no others.
#
# Host b has the interface under test above vb. For VLANs host a has a VLAN, too:
#
#	a:  va    10.9.8.1  iwalow  -------  b:  vb    10.9.8.2  iwblow in some cases
#	    va.7  10.9.7.1  iwa                  vb.7  10.9.7.2  iwb
#	                                         d9    10.9.9.2  no device
#
# For the other kinds va has 10.9.7.1 and iwa. Interfaces have IPv6 addresses as well.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

A4=10.9.7.1 B4=10.9.7.2 A6=fd00:9:7::1 B6=fd00:9:7::2
LOW_A4=10.9.8.1 LOW_B4=10.9.8.2 LOW_A6=fd00:9:8::1 LOW_B6=fd00:9:8::2
ALIEN=10.9.9.2
ROUNDS=2 SIZE=50000	# of rping
ENOUGH=75000	# bytes of a connection in one direction: rping transfers 100000

link_up() {
	ip -n "$1" addr add "$3/24" dev "$2"
	ip -n "$1" addr add "$4/64" dev "$2" nodad
	ip -n "$1" link set "$2" up
}

# hosts: create both hosts, joined by va and vb without addresses
hosts() {
	NS_A=rnic-a NS_B=rnic-b B_DEV=iwb A_IF=va VRF=''
	t_own_namespaces
	t_new_netns $NS_A
	t_new_netns $NS_B
	ip link add va netns $NS_A type veth peer name vb netns $NS_B
	ip -n $NS_A link set lo up
	ip -n $NS_B link set lo up
	ip -n $NS_A link set va up
	ip -n $NS_B link set vb up
}

# upper MODULE NAME ARGS...: create interface NAME on b; skip the case if the kernel lacks its kind
upper() {
	B_IF=$2
	modprobe -q "$1" || true
	ip -n "$NS_B" link add "$2" "${@:3}" || t_skip "this kernel has no $1"
}

# new_vrf NAME: create a VRF on b
new_vrf() {
	VRF=$1
	modprobe -q vrf || true
	ip -n "$NS_B" link add "$VRF" type vrf table 97 || t_skip "VRFs are not available in this kernel"
	ip -n "$NS_B" link set "$VRF" up
	ip -n "$NS_B" link set "$B_IF" master "$VRF"
}

make_bond() { upper bonding bond7 type bond mode active-backup; lower_joins; }
make_bridge() { upper bridge br7 type bridge; lower_joins; }
lower_joins() {
	ip -n "$NS_B" link set vb down
	ip -n "$NS_B" link set vb master "$B_IF"
	ip -n "$NS_B" link set vb up
}
make_macvlan() { upper macvlan mv7 link vb type macvlan mode bridge; }
make_ipvlan() { upper ipvlan ipv7 link vb type ipvlan mode l2; }
make_vlan() {
	upper 8021q vb.7 link vb type vlan id 7
	A_IF=va.7
	ip -n "$NS_A" link add va.7 link va type vlan id 7
	link_up "$NS_A" va $LOW_A4 $LOW_A6
	link_up "$NS_B" vb $LOW_B4 $LOW_B6
	t_new_device iwalow va "$NS_A"
	# rdma_cm gives the addresses of the VLAN, too, to this device, which is the first one
	t_listens_on iwalow both "$NS_A" || true
}
make_vlan_in_vrf() { make_vlan; new_vrf v97; }

# hosts_with KIND: create the hosts, the interface under test, and the device on a
hosts_with() {
	hosts
	"make_$1"
	link_up "$NS_A" "$A_IF" $A4 $A6
	link_up "$NS_B" "$B_IF" $B4 $B6
	ip -n "$NS_B" link add d9 type dummy
	[ -z "$VRF" ] || ip -n "$NS_B" link set d9 master "$VRF"
	link_up "$NS_B" d9 $ALIEN fd00:9:9::2
	ip -n "$NS_A" route add $ALIEN via $B4
	t_new_device iwa "$A_IF" "$NS_A"
	find_neighbours $B4 $B6 $LOW_B4 $LOW_B6
}

# find_neighbours ADDRESS...: send a packet to each address, because rdma_cm takes two seconds to find
# a neighbour that the kernel does not know yet
find_neighbours() {
	local to
	for to in "$@"; do on a bash -c "echo >/dev/udp/$to/9" 2>/dev/null || true; done
}

# add_device DEV INTERFACE: create a device on b which listens over all lower layers; sets LLPS
add_device() {
	t_new_device "$1" "$2" "$NS_B"
	LLPS=tcp
	if [ -n "$VRF" ] && ! printf '6.2\n%s\n' "$(uname -r)" | sort -CV; then
		echo "SCTP of this kernel does not support VRFs"
	elif t_listens_on "$1" both "$NS_B"; then
		LLPS='tcp sctp'
	else
		echo "SCTP is not available in this kernel"
	fi
}

# server ADDRESS: start a persistent server on b, at a new port. It outlives several clients, each of
# which may take its whole time on a busy machine.
server() {
	t_port
	T_TIME=600 t_bg "server-$PORT" b rping -s -P -a "$1" -p "$PORT" -S $SIZE
	t_until "$T_TIME" t_listens_or_ended "server-$PORT" "$PORT" || t_fail "no listener on $1"
	! t_ended "server-$PORT" || { cat "$T_CASE/server-$PORT.log"; false; }
}

# server_if_given ADDRESS: like server; skip the case if rdma_cm gives the address to no device
server_if_given() {
	server "$1" && return
	! grep -q 'rdma_bind_addr: No such device' "$T_CASE/server-$PORT.log" ||
		t_skip "in this kernel rdma_cm gives a VLAN's address only to a device on the VLAN"
	t_fail "the server does not listen on $1"
}

received() { on b cat "/sys/class/net/$1/statistics/rx_bytes"; }
accepts() { t_counter "$B_DEV" accepts; }
# Print how many connections the devices of both hosts have made over SCTP
over_sctp() {
	local host
	for host in a b; do on $host rdma statistic show; done | tr ' ' '\n' |
		awk 'last == "connects_sctp" { n += $1 } { last = $1 } END { print n + 0 }'
}

# has_moved INTERFACE BYTES: check that INTERFACE has received more than BYTES and a connection's
has_moved() {
	local moved=$(($(received "$1") - $2))
	t_check "the data passes $1 ($moved bytes)" [ $moved -gt $ENOUGH ]
}

# passes LLP INTERFACE COMMAND...: COMMAND connects over LLP, and its data passes the interface of b
# and the VRF of this interface
passes() {
	local llp=$1 dev=$2 through=$2 dev_before through_before sctp
	shift 2
	[ "$dev" != "$B_IF" ] || through=${VRF:-$dev}
	dev_before=$(received "$dev") through_before=$(received "$through") sctp=$(over_sctp)
	RNIC_SW_LLP=$llp "$@"
	has_moved "$dev" "$dev_before"
	has_moved "$through" "$through_before"
	[ "$llp" = tcp ] || t_check "the connection is over SCTP" [ "$(over_sctp)" -gt "$sctp" ]
}

# served LLP INTERFACE ADDRESS: $B_DEV accepts a call to ADDRESS, which INTERFACE has
served() {
	local before
	before=$(accepts)
	passes "$1" "$2" t_call "$3" -C $ROUNDS -S $SIZE -V
	t_check "$B_DEV accepts a call to $3 over $1" [ "$(accepts)" -gt "$before" ]
}

# refused LLP ADDRESS: a call is refused, and not only after a timeout; no device accepts it
refused() {
	local before
	before=$(accepts)
	RNIC_SW_LLP=$1 t_refuses 'RDMA_CM_EVENT_(REJECTED|UNREACHABLE|CONNECT_ERROR)' \
		on a timeout 10 rping -c -a "$2" -p "$PORT" -C 1
	t_check "$B_DEV does not accept it" [ "$(accepts)" -eq "$before" ]
}

# A device on the interface under test: its addresses are served, those of other interfaces are not.
on_kind() {
	local llp
	hosts_with "$1"
	add_device iwb "$B_IF"
	server ::
	for llp in $LLPS; do
		served "$llp" "$B_IF" $B4
		served "$llp" "$B_IF" $B6
		# in a VRF, SCTP does not reply to a call to an address without a listener
		[ "$llp" = sctp ] && [ -n "$VRF" ] || refused "$llp" $ALIEN
		# rdma_cm gives vb's address to the device, but a wildcard listener stays in its VRF
		[ -z "$VRF" ] || refused "$llp" $LOW_B4
	done
	server $B4
	for llp in $LLPS; do served "$llp" "$B_IF" $B4; done
}

# Only the interface below has a device, and rdma_cm gives it the VLAN's address.
vlan_above() {
	local llp
	hosts_with vlan
	add_device iwb vb
	server_if_given $B4
	for llp in $LLPS; do served "$llp" vb.7 $B4; done
	server ::
	for llp in $LLPS; do
		served "$llp" vb $LOW_B4
		served "$llp" vb.7 $B4
		served "$llp" vb.7 $B6
		refused "$llp" $ALIEN
	done
}

# Only the VLAN has a device, and rdma_cm gives it the address of the interface below.
vlan_below() {
	local llp
	hosts_with vlan
	add_device iwb vb.7
	server_if_given $LOW_B4
	for llp in $LLPS; do served "$llp" vb $LOW_B4; done
	server ::
	for llp in $LLPS; do
		served "$llp" vb $LOW_B4
		served "$llp" vb $LOW_B6
		served "$llp" vb.7 $B4
	done
}

# Both interfaces have a device, and rdma_cm gives the addresses of both to the first device. If this
# device is removed, the other one serves them.
both() {
	local llp
	hosts_with vlan
	add_device iwblow vb
	server_if_given $B4
	add_device iwb vb.7
	server ::
	for llp in $LLPS; do B_DEV=iwblow each_address "$llp"; done
	t_drop_device iwblow "$NS_B"
	for llp in $LLPS; do
		t_until 10 answers "$llp" || t_fail "no device serves the VLAN's address over $llp"
		each_address "$llp"
	done
}
each_address() {
	served "$1" vb.7 $B4
	served "$1" vb.7 $B6
	served "$1" vb $LOW_B4
}
answers() { RNIC_SW_LLP=$1 on a timeout 10 rping -c -a $B4 -p "$PORT" -C 1; }

# The VLAN is in a VRF, and the interface below, which is not, has a device: alone, or the first of
# two. rdma_cm gives it the VLAN's address. Programs that name the address connect and listen in the
# VRF. A wildcard listener of the device stays outside.
address_in_vrf() {
	local llp
	hosts_with vlan_in_vrf
	add_device iwblow vb
	[ "$1" = alone ] || add_device iwb vb.7
	server_if_given $B4
	for llp in $LLPS; do
		passes "$llp" vb.7 t_call $B4 -C $ROUNDS -S $SIZE -V
		from_vrf "$llp"
	done
	server 0.0.0.0
	for llp in $LLPS; do B_DEV=iwblow served "$llp" vb $LOW_B4; done
	B_DEV=iwblow refused tcp $B4
}

# from_vrf LLP: connect from the VLAN's address of b to a
from_vrf() {
	local PORT
	t_port
	T_TIME=600 t_bg "server-$PORT" a rping -s -P -a $A4 -p "$PORT" -S $SIZE
	t_listens a "$PORT"
	NS_A=$NS_B passes "$1" vb.7 t_call $A4 -I $B4 -C $ROUNDS -S $SIZE -V
}

for kind in bond bridge macvlan ipvlan vlan vlan_in_vrf; do
	t_case "a device on a $kind" "" on_kind $kind
done
t_case "a device below a VLAN" "" vlan_above
t_case "a device on a VLAN, and the address below" "" vlan_below
t_case "devices on a VLAN and below" "" both
t_case "a device below a VLAN in a VRF" "" address_in_vrf alone
t_case "devices on a VLAN in a VRF and below" "" address_in_vrf both
t_end
