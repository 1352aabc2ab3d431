#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# addresses.sh: test which addresses a device serves, on each kind of interface above another one,
# over TCP and SCTP. A device must serve the addresses for which rdma_cm chooses it, and no others.
#
# Host b has the interface under test above vb. If that is a VLAN, host a has a VLAN, too. The
# columns are the interface, its address and the device on it:
#
#	a:  va    10.9.8.1  iwalow  -------  b:  vb    10.9.8.2  iwblow (in some cases)
#	    va.7  10.9.7.1  iwa                  vb.7  10.9.7.2  iwb
#	                                         d9    10.9.9.2  no device
#
# For the other kinds va has 10.9.7.1 and iwa. The interfaces have IPv6 addresses as well.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

A4=10.9.7.1 B4=10.9.7.2 A6=fd00:9:7::1 B6=fd00:9:7::2
LOW_A4=10.9.8.1 LOW_B4=10.9.8.2 LOW_A6=fd00:9:8::1 LOW_B6=fd00:9:8::2
ALIEN=10.9.9.2
ROUNDS=2 SIZE=50000	# rounds and message size of rping
# bytes in one direction which show that rping's data has passed: rping transfers ROUNDS * SIZE
ENOUGH=75000

add_addresses_and_set_link_up() {
	ip -n "$1" addr add "$3/24" dev "$2"
	ip -n "$1" addr add "$4/64" dev "$2" nodad
	ip -n "$1" link set "$2" up
}

# create_hosts: create both hosts, joined by va and vb without addresses
create_hosts() {
	NS_A=rnic-a NS_B=rnic-b B_DEV=iwb A_IF=va VRF=''
	t_set_topology_netns_mode
	t_create_temporary_netns $NS_A
	t_create_temporary_netns $NS_B
	ip link add va netns $NS_A type veth peer name vb netns $NS_B
	ip -n $NS_A link set lo up
	ip -n $NS_B link set lo up
	ip -n $NS_A link set va up
	ip -n $NS_B link set vb up
}

# create_upper_interface MODULE NAME ARGS...: create interface NAME, the one under test, on b with
# the arguments ARGS of `ip link add`; skip the case if the kernel lacks MODULE
create_upper_interface() {
	B_IF=$2
	modprobe -q "$1" || true
	ip -n "$NS_B" link add "$2" "${@:3}" || t_skip "this kernel has no $1"
}

# create_vrf_with_interface NAME: create a VRF on b
create_vrf_with_interface() {
	VRF=$1
	modprobe -q vrf || true
	ip -n "$NS_B" link add "$VRF" type vrf table 97 ||
		t_skip "VRFs are not available in this kernel"
	ip -n "$NS_B" link set "$VRF" up
	ip -n "$NS_B" link set "$B_IF" master "$VRF"
}

create_bond() { create_upper_interface bonding bond7 type bond mode active-backup; enslave_vb; }
create_bridge() { create_upper_interface bridge br7 type bridge; enslave_vb; }
enslave_vb() {
	ip -n "$NS_B" link set vb down
	ip -n "$NS_B" link set vb master "$B_IF"
	ip -n "$NS_B" link set vb up
}
create_macvlan() { create_upper_interface macvlan mv7 link vb type macvlan mode bridge; }
create_ipvlan() { create_upper_interface ipvlan ipv7 link vb type ipvlan mode l2; }
create_vlan() {
	create_upper_interface 8021q vb.7 link vb type vlan id 7
	A_IF=va.7
	ip -n "$NS_A" link add va.7 link va type vlan id 7
	add_addresses_and_set_link_up "$NS_A" va $LOW_A4 $LOW_A6
	add_addresses_and_set_link_up "$NS_B" vb $LOW_B4 $LOW_B6
	t_create_temporary_device iwalow va "$NS_A"
	# iwalow is the first device on the host, so rdma_cm gives it the addresses of the VLAN,
	# too; it must therefore listen on SCTP as well
	t_set_listen_llp iwalow both "$NS_A" || true
}
create_vlan_in_vrf() { create_vlan; create_vrf_with_interface v97; }

# create_hosts_with KIND: create the hosts, the interface under test, and the device on a
create_hosts_with() {
	create_hosts
	"create_$1"
	add_addresses_and_set_link_up "$NS_A" "$A_IF" $A4 $A6
	add_addresses_and_set_link_up "$NS_B" "$B_IF" $B4 $B6
	ip -n "$NS_B" link add d9 type dummy
	[ -z "$VRF" ] || ip -n "$NS_B" link set d9 master "$VRF"
	add_addresses_and_set_link_up "$NS_B" d9 $ALIEN fd00:9:9::2
	ip -n "$NS_A" route add $ALIEN via $B4
	t_create_temporary_device iwa "$A_IF" "$NS_A"
	resolve_neighbours $B4 $B6 $LOW_B4 $LOW_B6
}

# resolve_neighbours ADDRESS...: send a packet to each address, because rdma_cm takes two seconds to
# find a neighbour that the kernel does not know yet
resolve_neighbours() {
	local to
	for to in "$@"; do on a bash -c "echo >/dev/udp/$to/9" 2>/dev/null || true; done
}

# add_device DEV INTERFACE: create a device on b which listens over all lower layers; sets LLPS
add_device() {
	t_create_temporary_device "$1" "$2" "$NS_B"
	LLPS=tcp
	if [ -n "$VRF" ] && ! printf '6.2\n%s\n' "$(uname -r)" | sort -CV; then
		echo "SCTP of this kernel does not support VRFs"
	elif t_set_listen_llp "$1" both "$NS_B"; then
		LLPS='tcp sctp'
	else
		echo "SCTP is not available in this kernel"
	fi
}

# start_server ADDRESS: start a persistent server on b, at a new port. Its time limit is long enough
# for several clients, each of which may need its whole time on a busy machine.
start_server() {
	t_choose_port
	T_TIME=600 t_start "server-$PORT" b rping -s -P -a "$1" -p "$PORT" -S $SIZE
	t_wait_until "$T_TIME" t_is_listening_or_ended "server-$PORT" "$PORT" ||
		t_fail "no listener on $1"
	! t_has_ended "server-$PORT" || { cat "$T_CASE/server-$PORT.log"; false; }
}

# start_server_or_skip ADDRESS: like start_server, but skip the case if rdma_cm gives the address to
# no device
start_server_or_skip() {
	start_server "$1" && return
	! grep -q 'rdma_bind_addr: No such device' "$T_CASE/server-$PORT.log" ||
		t_skip "in this kernel rdma_cm gives a VLAN's address only to a device on the VLAN"
	t_fail "the server does not listen on $1"
}

print_rx_bytes() { on b cat "/sys/class/net/$1/statistics/rx_bytes"; }
print_accepts() { t_print_counter "$B_DEV" accepts; }
# Print how many connections the devices of both hosts have established over SCTP
count_sctp_connects() {
	local host
	for host in a b; do on $host rdma statistic show; done | tr ' ' '\n' |
		awk 'last == "connects_sctp" { n += $1 } { last = $1 } END { print n + 0 }'
}

# check_data_passed_interface INTERFACE BYTES: check that INTERFACE has received the data of a
# connection. BYTES is the number of bytes that it had received before the connection.
check_data_passed_interface() {
	local moved=$(($(print_rx_bytes "$1") - $2))
	t_check "the data passes $1 ($moved bytes)" [ $moved -gt $ENOUGH ]
}

# check_connects_through LLP INTERFACE COMMAND...: run COMMAND, and check that it connects over LLP
# and that its data passes INTERFACE of b and the VRF of that interface
check_connects_through() {
	local llp=$1 dev=$2 through=$2 dev_before through_before sctp
	shift 2
	[ "$dev" != "$B_IF" ] || through=${VRF:-$dev}
	dev_before=$(print_rx_bytes "$dev") through_before=$(print_rx_bytes "$through")
	sctp=$(count_sctp_connects)
	RNIC_SW_LLP=$llp "$@"
	check_data_passed_interface "$dev" "$dev_before"
	check_data_passed_interface "$through" "$through_before"
	[ "$llp" = tcp ] ||
		t_check "the connection is over SCTP" [ "$(count_sctp_connects)" -gt "$sctp" ]
}

# check_address_is_served LLP INTERFACE ADDRESS: check that $B_DEV accepts a connection to ADDRESS,
# an address of INTERFACE
check_address_is_served() {
	local before
	before=$(print_accepts)
	check_connects_through "$1" "$2" t_run_rping_client "$3" -C $ROUNDS -S $SIZE -V
	t_check "$B_DEV accepts a connection to $3 over $1" [ "$(print_accepts)" -gt "$before" ]
}

# check_address_is_refused LLP ADDRESS: check that a connection to ADDRESS is refused without a
# timeout, and that $B_DEV does not accept it
check_address_is_refused() {
	local before
	before=$(print_accepts)
	RNIC_SW_LLP=$1 t_check_fails_with 'RDMA_CM_EVENT_(REJECTED|UNREACHABLE|CONNECT_ERROR)' \
		on a timeout 10 rping -c -a "$2" -p "$PORT" -C 1
	t_check "$B_DEV does not accept it" [ "$(print_accepts)" -eq "$before" ]
}

# The device is on the interface under test: it must serve the addresses of this interface, and none
# of other interfaces.
test_own_addresses_are_served() {
	local llp
	create_hosts_with "$1"
	add_device iwb "$B_IF"
	start_server ::
	for llp in $LLPS; do
		check_address_is_served "$llp" "$B_IF" $B4
		check_address_is_served "$llp" "$B_IF" $B6
		# in a VRF, SCTP sends no reply if no listener has the address
		[ "$llp" = sctp ] && [ -n "$VRF" ] || check_address_is_refused "$llp" $ALIEN
		# rdma_cm gives vb's address to the device, but a wildcard listener stays in its VRF
		[ -z "$VRF" ] || check_address_is_refused "$llp" $LOW_B4
	done
	start_server $B4
	for llp in $LLPS; do check_address_is_served "$llp" "$B_IF" $B4; done
}

# Only the interface below the VLAN has a device, and rdma_cm gives that device the VLAN's address.
test_lower_device_serves_vlan_address() {
	local llp
	create_hosts_with vlan
	add_device iwb vb
	start_server_or_skip $B4
	for llp in $LLPS; do check_address_is_served "$llp" vb.7 $B4; done
	start_server ::
	for llp in $LLPS; do
		check_address_is_served "$llp" vb $LOW_B4
		check_address_is_served "$llp" vb.7 $B4
		check_address_is_served "$llp" vb.7 $B6
		check_address_is_refused "$llp" $ALIEN
	done
}

# Only the VLAN has a device, and rdma_cm gives that device the address of the interface below.
test_vlan_device_serves_lower_address() {
	local llp
	create_hosts_with vlan
	add_device iwb vb.7
	start_server_or_skip $LOW_B4
	for llp in $LLPS; do check_address_is_served "$llp" vb $LOW_B4; done
	start_server ::
	for llp in $LLPS; do
		check_address_is_served "$llp" vb $LOW_B4
		check_address_is_served "$llp" vb $LOW_B6
		check_address_is_served "$llp" vb.7 $B4
	done
}

# Both interfaces have a device, and rdma_cm gives the addresses of both interfaces to the first
# device. If the first device is removed, the other one serves them.
test_first_of_two_devices_serves_both() {
	local llp
	create_hosts_with vlan
	add_device iwblow vb
	start_server_or_skip $B4
	add_device iwb vb.7
	start_server ::
	for llp in $LLPS; do B_DEV=iwblow check_each_address_is_served "$llp"; done
	t_delete_device iwblow "$NS_B"
	for llp in $LLPS; do
		t_wait_until 10 can_connect_over "$llp" ||
			t_fail "no device serves the VLAN's address over $llp"
		check_each_address_is_served "$llp"
	done
}
check_each_address_is_served() {
	check_address_is_served "$1" vb.7 $B4
	check_address_is_served "$1" vb.7 $B6
	check_address_is_served "$1" vb $LOW_B4
}
can_connect_over() { RNIC_SW_LLP=$1 on a timeout 10 rping -c -a $B4 -p "$PORT" -C 1; }

# The VLAN is in a VRF; the interface below is not, and has the only device ("alone") or the first
# of two devices ("both"). rdma_cm gives that device the VLAN's address. Programs that specify this
# address connect and listen in the VRF. A wildcard listener of the device must stay outside the
# VRF.
test_wildcard_listener_stays_outside_vrf() {
	local llp
	create_hosts_with vlan_in_vrf
	add_device iwblow vb
	[ "$1" = alone ] || add_device iwb vb.7
	start_server_or_skip $B4
	for llp in $LLPS; do
		check_connects_through "$llp" vb.7 t_run_rping_client $B4 -C $ROUNDS -S $SIZE -V
		connect_from_vrf "$llp"
	done
	start_server 0.0.0.0
	for llp in $LLPS; do B_DEV=iwblow check_address_is_served "$llp" vb $LOW_B4; done
	B_DEV=iwblow check_address_is_refused tcp $B4
}

# connect_from_vrf LLP: connect from the VLAN's address of b to a
connect_from_vrf() {
	local PORT
	t_choose_port
	T_TIME=600 t_start "server-$PORT" a rping -s -P -a $A4 -p "$PORT" -S $SIZE
	t_wait_listener a "$PORT"
	NS_A=$NS_B check_connects_through "$1" vb.7 t_run_rping_client $A4 -I $B4 -C $ROUNDS \
		-S $SIZE -V
}

for kind in bond bridge macvlan ipvlan vlan vlan_in_vrf; do
	t_case "a device on a $kind" "" test_own_addresses_are_served $kind
done
t_case "a device below a VLAN" "" test_lower_device_serves_vlan_address
t_case "a device on a VLAN, and the address below" "" test_vlan_device_serves_lower_address
t_case "devices on a VLAN and below" "" test_first_of_two_devices_serves_both
t_case "a device below a VLAN in a VRF" "" test_wildcard_listener_stays_outside_vrf alone
t_case "devices on a VLAN in a VRF and below" "" test_wildcard_listener_stays_outside_vrf both
t_print_summary_and_exit
