#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# gids.sh: test the GID table of a device. GID 0 must stay the same, the other entries must follow
# the addresses of the interface, and rdma_cm must keep working while they change.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

GIDS=/sys/class/infiniband/iwa/ports/1/gids
EMPTY=0000:0000:0000:0000:0000:0000:0000:0000
# the first entry for addresses: before Linux 6.8, entry 1 has the MAC address
FIRST=1
printf '6.8\n%s\n' "$(uname -r)" | sort -CV || FIRST=2

# print_ipv4_gid ADDRESS, print_ipv6_gid ADDRESS: print the GID of an address of host a, as sysfs
# does
print_ipv4_gid() {
	# shellcheck disable=SC2086
	printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' ${1//./ }
}
print_ipv6_gid() {
	local left=${1%%::*} right='' words rest gid
	[[ $1 != *::* ]] || right=${1#*::}
	IFS=: read -ra words <<<"$left"
	IFS=: read -ra rest <<<"$right"
	while [ $((${#words[@]} + ${#rest[@]})) -lt 8 ]; do words+=(0); done
	printf -v gid '%04x:' "${words[@]/#/0x}" "${rest[@]/#/0x}"
	echo "${gid%:}"
}

# print_link_local_address: print the link-local address of host a
print_link_local_address() {
	ip -n "$NS_A" -6 -o addr show dev va scope link | awk '{ sub("/.*", "", $4); print $4 }'
}

# print_gid_table: print the GID table of host a, one entry in each line
print_gid_table() { on a cat $GIDS/{0..15}; }

# print_gid_index GID: print the index of a GID
print_gid_index() {
	print_gid_table |
		awk -v gid="$1" '$1 == gid { print NR - 1; found++ } END { exit found != 1 }'
}

# has_gid GID [INDEX]: check that the table has the GID, once, and in entry INDEX
has_gid() {
	local at
	at=$(print_gid_index "$1") && [ "${2:-$at}" = "$at" ]
}
is_gid_absent() { ! print_gid_table | grep -qx "$1"; }
wait_until_gid_is_present() {
	t_wait_until 20 has_gid "$@" || {
		print_gid_table
		t_fail "the table does not get $1${2:+ in entry $2}"
	}
}
wait_until_gid_is_absent() {
	t_wait_until 20 is_gid_absent "$1" || {
		print_gid_table
		t_fail "the table keeps $1"
	}
}

add_address() { ip -n "$NS_A" addr add "$1" dev va "${@:2}"; }
delete_address() { ip -n "$NS_A" addr del "$1" dev va; }

table_has_gids_of_each_kind() {
	local gid0 gid
	gid0=$(print_gid_table | head -n 1)
	print_gid_table
	t_check "GID 0 is the MAC address and zeros, then the GUID" \
		test "${gid0:0:20}" = "$(on a sed 's/\(..\):\(..\):\(..\):\(..\):\(..\):\(..\)/\1\2:\3\4:\5\6:0000:/' /sys/class/net/va/address)"
	wait_until_gid_is_present "$(print_ipv4_gid "$A4")"
	wait_until_gid_is_present "$(print_ipv6_gid "$A6")"
	wait_until_gid_is_present "$(print_ipv6_gid "$(print_link_local_address)")"
	t_check "no other entry is in use" \
		test "$(print_gid_table | grep -cvx $EMPTY)" -eq $((FIRST + 3))
	on a ibv_devinfo -v -d iwa | tee "$T_CASE/devinfo"
	for gid in "$gid0" "$(print_ipv4_gid "$A4")" "$(print_ipv6_gid "$A6")" \
		"$(print_ipv6_gid "$(print_link_local_address)")"; do
		t_check "ibv_devinfo shows $gid" grep -q "GID\[.*$gid" "$T_CASE/devinfo"
	done
	t_check "the interface of a GID is va" on a grep -qx va \
		"${GIDS%gids}gid_attrs/ndevs/$(print_gid_index "$(print_ipv4_gid "$A4")")"
}

# The table has the addresses as soon as the device exists, without a change of an address
new_device_has_gids_of_addresses() {
	on a rdma link del iwa
	add_address 10.9.4.1/24
	t_wait_until 20 has_address 10.9.4.1
	on a rdma link add iwa type rnic_sw netdev va
	t_check "a new device has the addresses" has_gid "$(print_ipv4_gid 10.9.4.1)"
	delete_address 10.9.4.1/24
}
has_address() { ip -n "$NS_A" addr show dev va | grep -qF "$1"; }

table_follows_added_and_deleted_addresses() {
	local before index gid0
	gid0=$(print_gid_table | head -n 1)
	index=$(print_gid_index "$(print_ipv6_gid "$A6")")
	before=$(print_gid_index "$(print_ipv4_gid "$A4")")
	add_address 10.9.4.1/24
	wait_until_gid_is_present "$(print_ipv4_gid 10.9.4.1)"
	add_address fd00:9:4::1/64 nodad
	wait_until_gid_is_present "$(print_ipv6_gid fd00:9:4::1)"
	delete_address "$A6/64"
	wait_until_gid_is_absent "$(print_ipv6_gid "$A6")"
	add_address 10.9.4.2/24
	wait_until_gid_is_present "$(print_ipv4_gid 10.9.4.2)" "$index"
	delete_address 10.9.4.1/24
	wait_until_gid_is_absent "$(print_ipv4_gid 10.9.4.1)"
	t_check "an entry that stays keeps its index" has_gid "$(print_ipv4_gid "$A4")" "$before"
	t_check "GID 0 stays the same" has_gid "$gid0" 0
	add_address "$A6/64" nodad
	wait_until_gid_is_present "$(print_ipv6_gid "$A6")"
	delete_address fd00:9:4::1/64
	wait_until_gid_is_absent "$(print_ipv6_gid fd00:9:4::1)"
	t_run_rping_pair "$B4" -C 3
}

# An interface that goes down loses its IPv6 addresses
link_down_removes_ipv6_gids() {
	local gid local6
	local6=$(print_link_local_address)
	gid=$(print_ipv6_gid "$A6")
	wait_until_gid_is_present "$gid"
	ip -n "$NS_A" link set va down
	wait_until_gid_is_absent "$gid"
	t_check "the IPv4 address stays" has_gid "$(print_ipv4_gid "$A4")"
	ip -n "$NS_A" link set va up
	wait_until_gid_is_present "$(print_ipv6_gid "$local6")"
	add_address "$A6/64" nodad
	wait_until_gid_is_present "$gid"
}

is_tentative() { ip -n "$NS_A" -6 addr show dev va tentative | grep -qF "$1"; }
is_duplicate() { ip -n "$NS_A" -6 addr show dev va dadfailed | grep -qF "$1"; }

tentative_or_duplicate_addr_has_no_gid() {
	local words
	for words in accept_dad=1 dad_transmits=4; do
		on a sysctl -qw "net.ipv6.conf.va.$words"
	done
	add_address fd00:9:1::5/64
	# let another address cause an update of the table while this one is tentative
	add_address 10.9.4.9/24
	wait_until_gid_is_present "$(print_ipv4_gid 10.9.4.9)"
	print_gid_table >"$T_CASE/table"
	# a slow machine may read the table only after the detection has ended
	if is_tentative fd00:9:1::5; then
		t_check "a tentative address has no GID" \
			t_check_fails grep -qx "$(print_ipv6_gid fd00:9:1::5)" "$T_CASE/table"
	fi
	t_check "it gets a GID afterwards" t_wait_until 60 has_gid "$(print_ipv6_gid fd00:9:1::5)"
	t_check "the address is not tentative" t_check_fails is_tentative fd00:9:1::5
	on a sysctl -qw net.ipv6.conf.va.dad_transmits=1
	add_address "$B6/64"
	t_check "host b has the address, too" t_wait_until 60 is_duplicate "$B6"
	add_address 10.9.4.8/24
	wait_until_gid_is_present "$(print_ipv4_gid 10.9.4.8)"
	t_check "a duplicate address has no GID" is_gid_absent "$(print_ipv6_gid "$B6")"
}

full_table_ignores_further_addresses() {
	local i index
	for i in $(seq 20); do add_address "10.9.5.$i/32"; done
	t_check "the table becomes full" t_wait_until 20 is_gid_absent $EMPTY
	index=$(print_gid_index "$(print_ipv4_gid 10.9.5.3)")
	t_check "the last address has no GID" is_gid_absent "$(print_ipv4_gid 10.9.5.20)"
	delete_address 10.9.5.1/32
	wait_until_gid_is_absent "$(print_ipv4_gid 10.9.5.1)"
	t_check "another address gets the entry" t_wait_until 20 is_gid_absent $EMPTY
	t_check "an entry that stays keeps its index" has_gid "$(print_ipv4_gid 10.9.5.3)" "$index"
	t_run_rping_pair "$B4" -C 3
	for i in $(seq 2 20); do delete_address "10.9.5.$i/32"; done
	wait_until_gid_is_absent "$(print_ipv4_gid 10.9.5.3)"
}

# start_changing_addresses PAUSE: change addresses of host a until the case ends
start_changing_addresses() {
	T_TIME=600 t_start changes a bash -c "while :; do
		ip addr add 10.9.4.1/24 dev va; ip addr add fd00:9:4::1/64 dev va nodad; sleep $1
		ip addr del 10.9.4.1/24 dev va; ip addr del fd00:9:4::1/64 dev va; sleep $1
	done"
}

rdma_cm_works_while_addresses_change() {
	local binds seconds=${T_SECONDS:-$((T_SLOW ? 20 : 10))}
	binds=$(t_find_program binds)
	t_run_rping_pair "$B4" -C 3
	start_changing_addresses 0.07	# longer than the delay after which the driver updates the table
	T_TIME=600 t_start binds a "$binds" "$A4" 0 "$seconds"
	t_run_rping_pair "$B4" -C 20
	t_run_rping_pair "$B4" -C 20
	t_wait binds $((seconds + 60))
	cat "$T_CASE/binds.log"
	t_check "addresses have been changed all the time" t_is_alive changes
	t_kill changes
	t_run_rping_pair "$B4" -C 3
}

# The work item that updates the table must end when the device is removed
device_removal_ends_table_updates() {
	local i
	start_changing_addresses 0
	for i in $(seq 20); do
		on a rdma link del iwa
		on a rdma link add iwa type rnic_sw netdev va
	done
	t_check "addresses have been changed all the time" t_is_alive changes
	t_kill changes
	wait_until_gid_is_present "$(print_ipv4_gid "$A4")"
	t_run_rping_pair "$B4" -C 3
}

create_two_hosts
t_case "GIDs of the addresses of the interface" "" table_has_gids_of_each_kind
t_case "GIDs of a new device" "" new_device_has_gids_of_addresses
t_case "addresses added and deleted" "" table_follows_added_and_deleted_addresses
t_case "GIDs while the link is down" "" link_down_removes_ipv6_gids
t_case "rdma_cm while addresses change" "" rdma_cm_works_while_addresses_change
t_case "device removed while addresses change" "" device_removal_ends_table_updates
t_case "more addresses than entries" "" full_table_ignores_further_addresses
t_case "tentative and duplicate addresses" "" tentative_or_duplicate_addr_has_no_gid
t_print_summary_and_exit
