#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# basics.sh: adding and removing devices, alone and with traffic, on all kinds of netdev.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

has_device() { test -e "/sys/class/infiniband/$1"; }
is_device_gone() { test ! -e "/sys/class/infiniband/$1"; }

# create_netdev KIND NAME IP-LINK-ARGS...: create a netdev; skip if the kernel lacks that kind.
create_netdev() {
	local kind=$1 name=$2
	shift 2
	if ! ip link add "$name" "$@"; then
		modprobe -q "$kind" || t_skip "this kernel has no $kind"
		ip link add "$name" "$@"
	fi
	t_defer ip link del "$name"
}

# Create a device on a netdev, run traffic over an address of the netdev, delete the device.
test_device_on_netdev() {
	local netdev=$1 address=${2:-10.9.7.1}
	[ -n "${2:-}" ] || ip addr add "$address/24" dev "$netdev"
	ip link set "$netdev" up
	rdma link add iw7 type rnic_sw netdev "$netdev"
	t_defer t_delete_device iw7 ''
	rdma link show iw7/1 | tee "$T_CASE/link"
	grep -q "netdev $netdev" "$T_CASE/link"
	ibv_devinfo -d iw7 | grep -q 'transport:.*iWARP'
	grep -F "${rate:-Gb/sec}" /sys/class/infiniband/iw7/ports/1/rate
	ping_address "$address"
	rdma link del iw7
	is_device_gone iw7
}

ping_address() {
	NS_A='' NS_B='' t_run_rping_pair "$1" -C 3
}

device_works_on_dummy() { create_netdev dummy d7 type dummy; test_device_on_netdev d7; }
# the kernel always reports 10 Gb/s for veth
device_works_on_veth() { local rate='10 Gb/sec (1X QDR)'; create_netdev veth d7 type veth peer name d8; ip link set d8 up; test_device_on_netdev d7; }
device_works_on_macvlan() {
	create_netdev dummy d8 type dummy
	ip link set d8 up
	create_netdev macvlan d7 link d8 type macvlan mode bridge
	test_device_on_netdev d7
}
device_works_on_vlan() {
	create_netdev dummy d8 type dummy
	ip link set d8 up
	create_netdev 8021q d7 link d8 type vlan id 7
	test_device_on_netdev d7
}
device_works_on_bond() {
	create_netdev dummy d8 type dummy
	create_netdev bonding d7 type bond mode active-backup
	ip link set d8 master d7
	test_device_on_netdev d7
}
device_works_on_bridge() {
	create_netdev dummy d8 type dummy
	ip link set d8 up
	create_netdev bridge d7 type bridge
	ip link set d8 master d7
	test_device_on_netdev d7
}
# Skip the case before 6.6, where rdma_cm looks up devices by the netdev's hardware address
skip_if_rdma_cm_needs_mac() {
	printf '6.6\n%s\n' "$(uname -r)" | sort -CV ||
		t_skip "in this kernel rdma_cm does not support netdevs without a hardware address"
}
device_works_on_tun() {
	skip_if_rdma_cm_needs_mac
	modprobe -q tun || test -e /dev/net/tun || t_skip "this kernel has no tun"
	[ -e /dev/net/tun ] || { mkdir -p /dev/net; mknod /dev/net/tun c 10 200; }
	ip tuntap add d7 mode tun
	t_defer ip tuntap del d7 mode tun
	test_device_on_netdev d7
}
device_works_on_tap() {
	modprobe -q tun || test -e /dev/net/tun || t_skip "this kernel has no tun"
	[ -e /dev/net/tun ] || { mkdir -p /dev/net; mknod /dev/net/tun c 10 200; }
	ip tuntap add d7 mode tap
	t_defer ip tuntap del d7 mode tap
	test_device_on_netdev d7
}

# An address is added to lo, because rdma_cm finds no device for 127.0.0.1.
device_works_on_lo() {
	skip_if_rdma_cm_needs_mac
	ip addr add 10.9.7.1/32 dev lo
	t_defer ip addr del 10.9.7.1/32 dev lo
	test_device_on_netdev lo 10.9.7.1
}

second_device_is_refused() {
	t_check_fails rdma link add iw1 type rnic_sw netdev t0 >"$T_CASE/second" 2>&1
	grep -q 'File exists' "$T_CASE/second"
	is_device_gone iw1
}

same_name_is_refused() {
	create_netdev dummy d7 type dummy
	t_check_fails rdma link add iw0 type rnic_sw netdev d7
	rdma link add iw7 type rnic_sw netdev d7
	rdma link del iw7
}

missing_netdev_is_refused() {
	t_check_fails rdma link add iw7 type rnic_sw netdev nosuch
	is_device_gone iw7
}

many_devices_can_be_added_and_deleted() {
	local i
	for i in $(seq 32); do
		ip link add "m$i" type dummy
		t_defer ip link del "m$i"
		rdma link add "iwm$i" type rnic_sw netdev "m$i"
	done
	t_check "there are 33 devices" test "$(ibv_devices | grep -c '[[:space:]]iw')" -eq 33
	for i in $(seq 2 2 32); do
		rdma link del "iwm$i"
	done
	t_check "there are 17 devices" test "$(ibv_devices | grep -c '[[:space:]]iw')" -eq 17
}

device_can_be_added_and_deleted_often() {
	local i
	create_netdev dummy d7 type dummy
	for i in $(seq "$(t_scale_rounds 200)"); do
		rdma link add iw7 type rnic_sw netdev d7
		rdma link del iw7
	done
	is_device_gone iw7
}

# Print the number of possible CPUs. The kernel's file contains "0" or "0-N".
print_number_of_possible_cpus() {
	local range
	range=$(cat /sys/devices/system/cpu/possible)
	echo $((${range#*-} + 1))
}

ibv_devinfo_shows_right_values() {
	local gid
	ibv_devinfo -v -d iw0 | tee "$T_CASE/devinfo"
	grep -qE 'transport:.*iWARP \(1\)' "$T_CASE/devinfo"
	grep -qE 'state:.*PORT_ACTIVE' "$T_CASE/devinfo"
	grep -qE 'max_qp_rd_atom:.*128$' "$T_CASE/devinfo"
	grep -qE 'max_qp_init_rd_atom:.*128$' "$T_CASE/devinfo"
	t_check "max_qp_wr is at least 32768" test "$(awk '/max_qp_wr:/ { print $2 }' "$T_CASE/devinfo")" -ge 32768
	t_check "max_sge is at least 16" test "$(awk '/max_sge:/ { print $2 }' "$T_CASE/devinfo")" -ge 16
	gid=$(cat /sys/class/infiniband/iw0/ports/1/gids/0)
	t_check "the upper half of GID 0 is not zero" test "${gid:0:19}" != 0000:0000:0000:0000
	t_check "the lower half of GID 0 is not zero" test "${gid:20}" != 0000:0000:0000:0000
	t_check "fw_ver is the driver's version" grep -qE "fw_ver:[[:space:]]*0\.[0-9]+\.1$" "$T_CASE/devinfo"
	t_check "fw_ver in sysfs is the driver's version" grep -qE '^0\.[0-9]+\.1$' /sys/class/infiniband/iw0/fw_ver
	t_check "there is a completion vector for each possible CPU" \
		test "$(awk '/num_comp_vectors:/ { print $2 }' "$T_CASE/devinfo")" -eq "$(print_number_of_possible_cpus)"
	t_check "node_desc contains rnic_sw" grep -q rnic_sw /sys/class/infiniband/iw0/node_desc
}

is_port_in_state() { grep -q "$1" /sys/class/infiniband/iw0/ports/1/state; }

port_state_follows_link() {
	ip link set t0 down
	t_check "the port is down" t_wait_until 20 is_port_in_state DOWN
	ip link set t0 up
	t_check "the port is active" t_wait_until 20 is_port_in_state ACTIVE
	# add the IPv6 address again: an interface that is set down loses its IPv6 addresses
	ip addr add "$B6/64" dev t0 nodad
}

# Start a client and a server that run until they are killed or their connection ends.
start_endless_ping() {
	local before
	before=$(t_print_counter "$B_DEV" rx_sends)
	t_choose_port
	t_start server b rping -s -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	t_start client a rping -c -a "$B4" -p "$PORT"
	t_wait_until 20 has_continued_pinging "$before" || t_fail "no traffic within 20 s"
}

has_continued_pinging() { [ "$(t_print_counter "$B_DEV" rx_sends)" -gt $(($1 + 20)) ]; }

wait_both_ended() {
	t_check "the client exits" t_wait_until 20 t_has_ended client
	t_check "the server exits" t_wait_until 20 t_has_ended server
}

netdev_deletion_removes_device_under_traffic() {
	create_one_device
	start_endless_ping
	ip link del t0
	t_check "the device is removed with its netdev" t_wait_until 20 is_device_gone iw0
	wait_both_ended
}

# When a netdev moves to another namespace, its device does not move along but is removed.
netdev_move_removes_device_under_traffic() {
	create_one_device
	start_endless_ping
	ip netns add rnic-c
	t_defer t_delete_netns rnic-c
	ip link set t0 netns rnic-c
	t_check "the device is removed" t_wait_until 20 is_device_gone iw0
	wait_both_ended
	t_create_temporary_device iw8 t0 rnic-c
}

device_deletion_ends_traffic() {
	create_one_device
	start_endless_ping
	timeout 30 rdma link del iw0
	is_device_gone iw0
	wait_both_ended
}

device_with_listener_can_be_deleted() {
	create_one_device
	t_choose_port
	t_start server b rping -s -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	timeout 30 rdma link del iw0
	is_device_gone iw0
	t_kill server
}

program_exits_if_peer_is_killed() {
	local i
	create_one_device
	for i in 1 2 3; do
		start_endless_ping
		t_kill client KILL
		t_check "the server exits" t_wait_until 20 t_has_ended server
		start_endless_ping
		t_kill server KILL
		t_check "the client exits" t_wait_until 20 t_has_ended client
	done
	t_check "no QP is left" t_wait_until 10 has_no_objects qp
	t_check "no MR is left" t_wait_until 10 has_no_objects mr
}

# Check that no program has objects of kind $1. Objects of the RDMA core do not count.
has_no_objects() {
	rdma resource show "$1" >"$T_CASE/left" && ! grep "$B_DEV.* comm " "$T_CASE/left"
}

unload_removes_device_or_is_refused() {
	create_one_device
	if modprobe -r rnic_sw; then
		t_check "the device is removed with the module" is_device_gone iw0
		modprobe rnic_sw
	else
		has_device iw0
		echo "modprobe -r is refused, which is as good"
	fi
}

unload_ends_programs_or_is_refused() {
	create_one_device
	start_endless_ping
	if timeout 60 modprobe -r rnic_sw; then
		is_device_gone iw0
		wait_both_ended
		modprobe rnic_sw
	else
		has_device iw0
		t_check "the programs still run" t_is_alive client
		rdma link del iw0
		wait_both_ended
	fi
}

# `rdma link add` must load the module rnic_sw through its alias.
modules_are_loaded_on_request() {
	local i
	for i in 1 2 3 4 5; do
		t_unload_modules
		t_check "all modules are unloaded" test ! -d "/sys/module/${T_MODULES[-1]}"
		modprobe rnic_sw
		create_one_device
		ping_address "$B4"
		t_run_deferred
	done
	t_unload_modules
	ip link add d7 type dummy
	t_defer ip link del d7
	rdma link add iw7 type rnic_sw netdev d7
	rdma link del iw7
}

counters_increase() {
	local before
	before=$(t_print_counter "$B_DEV" rx_sends)
	ping_address "$B4"
	t_check "rx_sends has increased" test "$(t_print_counter "$B_DEV" rx_sends)" -gt "$before"
	rdma statistic show link iw0/1 | grep -q tx_read_requests
}

# check_accepts LLP ADDRESS DEV: check that DEV accepts a client that connects to ADDRESS over LLP
check_accepts() {
	local before after
	before=$(t_print_counter "$3" accepts)
	RNIC_SW_LLP=$1 t_run_rping_client "$2" -C 2
	after=$(t_print_counter "$3" accepts)
	t_check "$3 accepts connections to $2 over $1" [ "$after" -gt "$before" ]
}

# two_devices_share_listener_port ANY ADDRESS OTHER: two devices share a wildcard listener, which
# has one socket for each LLP. The address to which a client connects selects the device.
two_devices_share_listener_port() {
	local llp llps=tcp
	create_netdev dummy d7 type dummy
	ip addr add "$3" dev d7 nodad; ip link set d7 up
	t_create_temporary_device iw7 d7
	if t_set_listen_llp iw7 both && t_set_listen_llp "$B_DEV" both; then
		llps='tcp sctp'
		t_defer t_set_listen_llp "$B_DEV" tcp
	fi
	t_choose_port
	t_start server b rping -s -P -a "$1" -p "$PORT"
	t_wait_listener b "$PORT"
	for llp in $llps; do
		check_accepts "$llp" "$2" "$B_DEV"
		check_accepts "$llp" "${3%/*}" iw7
		check_accepts "$llp" "$2" "$B_DEV"
	done
	rdma link del iw7
	for llp in $llps; do
		check_accepts "$llp" "$2" "$B_DEV"
	done
	t_check "the server still runs" t_is_alive server
}

# is_port_open HOST: check whether any TCP listener uses $PORT on HOST
is_port_open() { on "$1" ss -Hltn "sport = :$PORT" | grep -q .; }
check_port_is_closed() { t_check_fails is_port_open "$1"; }

# rdma_cm passes a wildcard listener to all devices, also to those of other network namespaces and
# those added later. Only devices in the namespace of the listening program may listen.
listener_of_other_netns_gets_no_socket() {
	create_two_hosts
	t_choose_port
	t_start server a rping -s -P -a 0.0.0.0 -p "$PORT"
	t_wait_listener a "$PORT"
	check_port_is_closed b
	ip -n "$NS_B" link add d7 type dummy
	ip -n "$NS_B" addr add 10.9.7.1/24 dev d7
	ip -n "$NS_B" link set d7 up
	t_create_temporary_device iw7 d7 "$NS_B"
	check_port_is_closed b
	ip -n "$NS_A" link add d8 type dummy
	ip -n "$NS_A" addr add 10.9.8.1/24 dev d8
	ip -n "$NS_A" link set d8 up
	t_create_temporary_device iw8 d8 "$NS_A"
	# the other namespace can use the same port
	t_start other b rping -s -P -a 0.0.0.0 -p "$PORT"
	t_wait_listener b "$PORT"
	on b timeout "$T_TIME" rping -c -a "$A4" -p "$PORT" -C 2 >"$T_CASE/1" 2>&1 ||
		t_has_event_channel_error "$T_CASE/1"
	t_run_rping_client "$B4" -C 2
	t_run_rping_client 10.9.8.1 -C 2
	t_check "the server still runs" t_is_alive server
}

# Create a namespace with an interface whose index, name, MAC and IP addresses equal those of t0,
# because rdma_cm finds a device by one of these; which one depends on its version.
create_container() {
	local words
	read -ra words < <(ip -o link show t0 | sed 's/^\([0-9]*\):.* link.ether \([0-9a-f:]*\).*/index \1 address \2/')
	ip netns add rnic-c
	t_defer t_delete_netns rnic-c
	ip -n rnic-c link set lo up
	ip -n rnic-c link add t0 "${words[@]}" type dummy
	ip -n rnic-c addr add "$A4/24" dev t0
	ip -n rnic-c link set t0 up
}

list_sockets() { t_run_in_netns "$1" ss -HlntS "sport = :$PORT"; }
check_no_socket() { t_check "no socket in namespace '$1': $(list_sockets "$1")" [ -z "$(list_sockets "$1")" ]; }
has_cm_listener() { rdma resource show cm_id | grep -q "LISTEN.*src-addr [^ ]*:$PORT"; }

# In exclusive mode programs in a container cannot start without a device in the container.
add_container_device() {
	ip -n rnic-c link add t1 type dummy
	ip -n rnic-c addr add 10.9.8.1/24 dev t1
	ip -n rnic-c link set t1 up
	t_create_temporary_device iw8 t1 rnic-c
}

# Check that a wildcard listener in the container gets no socket on the host's device
check_wildcard_ignores_host() {
	t_choose_port
	t_start everywhere b rping -s -P -a 0.0.0.0 -p "$PORT"
	if [ "$1" = shared ]; then
		t_wait_until "$T_TIME" has_cm_listener || t_fail "the wildcard listener has not started"
		check_no_socket rnic-c
	else
		t_wait_listener b "$PORT"
	fi
	check_no_socket ''
	t_kill everywhere
}

# container_uses_no_host_device MODE: check that a program in a container gets no socket and no
# connection through the host's device at any address. Here a is the host, and b is the container.
container_uses_no_host_device() {
	local connects
	t_set_temporary_netns_mode "$1"
	create_one_device
	t_set_listen_llp iw0 both || echo "SCTP is not available"
	create_container
	NS_B=rnic-c B_DEV=iw8
	[ "$1" = shared ] || add_container_device
	check_wildcard_ignores_host "$1"
	t_choose_port
	t_check_fails_with "rdma_(bind_addr: No such device|listen: Cannot assign)" on b timeout 10 rping -s -P -a "$A4" -p "$PORT"
	t_choose_port
	t_start server a rping -s -P -a "$A4" -p "$PORT"
	t_wait_listener a "$PORT"
	connects=$(t_print_counter iw0 connects)
	t_check_fails_with "ADDR_ERROR, error -19|rdma_connect: Network is unreach" on b timeout 20 rping -c -a "$A4" -p "$PORT" -C 1
	t_check "the container makes no connection" [ "$(t_print_counter iw0 connects)" -eq "$connects" ]
	t_run_rping_client "$A4" -C 2
}

rdma_resource_shows_objects() {
	start_endless_ping
	rdma resource show qp link iw0/1 | tee "$T_CASE/qp"
	grep -q 'state RTS.*comm rping' "$T_CASE/qp"
	rdma resource show mr dev iw0 | grep -q rping
	rdma resource show cq dev iw0 | grep -q rping
	rdma resource show cm_id dev iw0 | grep -q 'comm rping'
}

# print_qp_counter NAME: print a counter of the only QP of host a that is bound to a counter set
print_qp_counter() {
	on a rdma statistic qp show link "$A_DEV/1" |
		awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }'
}
has_retransmitted() { [ "$(print_qp_counter tx_retransmits)" -gt 0 ]; }
find_connected_qp() {
	lqpn=$(on a rdma resource show qp link "$A_DEV/1" |
		sed -n 's/.*lqpn \([0-9]*\).*state RTS.*comm rping.*/\1/p')
	[ -n "$lqpn" ]
}
# has_queued_bytes HOST DEV: check that the only QP on HOST has unsent or unacknowledged bytes
has_queued_bytes() {
	on "$1" rdma -dd resource show qp link "$2/1" | tr '\n' ' ' | tee "$T_CASE/qp" |
		grep -qE 'un(acked|sent) [1-9]'
}
# Check both hosts, because the link can fail when b is sending.
has_either_host_queued_bytes() { has_queued_bytes a "$A_DEV" || has_queued_bytes b "$B_DEV"; }

# Statistics must show retransmissions while the link is slow, and unacknowledged bytes while it is
# down.
statistics_show_retransmissions() {
	create_two_hosts
	t_choose_port
	t_start server b rping -s -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	t_start client a rping -c -a "$B4" -p "$PORT"
	t_wait_until 20 find_connected_qp || t_fail "no connection within 20 s"
	on a rdma statistic qp bind link "$A_DEV/1" lqpn "$lqpn"
	t_apply_netem a "$A_IF" loss 40%
	t_check "retransmissions are counted" t_wait_until 30 has_retransmitted
	on a rdma statistic qp show link "$A_DEV/1"
	on a ip link set "$A_IF" down
	t_check "bytes wait for an acknowledgement" t_wait_until 30 has_either_host_queued_bytes
	cat "$T_CASE/qp"
	grep -q 'llp tcp' "$T_CASE/qp"
	t_check "the device's counter has the retransmissions as well" [ "$(t_print_counter "$A_DEV" tx_retransmits)" -gt 0 ]
	# restore the link: TCP would retransmit FINs for long, which keeps the modules in use
	on a tc qdisc del dev "$A_IF" root
	on a ip link set "$A_IF" up
	t_kill client
	t_wait_until 60 has_no_connection || t_fail "the connection has not ended within 60 s"
}
has_no_connection() { [ -z "$(on a ss -Htn "dport = :$PORT"; on b ss -Htn "sport = :$PORT")" ]; }

# Print the lock classes that lockdep has seen acquired after class $1
print_locks_after() {
	awk -v name="$1" '/^[^ ].*: / { sub(/.*: /, ""); sub(/#.*/, ""); at = $0 == name; next }
		at && sub(/^ -> \[.*\] /, "")' /proc/lockdep | sort -u
}

# Programs hold their socket locks while they wait for memory. Memory reclaim may write to storage
# that is reached through a device, and so take the locks of the device's sockets. The created and
# the accepted sockets of a device need lock classes of their own, or lockdep reports a deadlock.
sockets_have_own_lock_classes() {
	local family
	[ -e /proc/lockdep ] || t_skip "lockdep is not available in this kernel"
	ping_address "$B4"
	ping_address "$B6"
	print_locks_after '&c->mutex' | tee "$T_CASE/after"
	for family in AF_INET AF_INET6; do
		t_check "sockets of $family have a lock class of their own" \
			grep -qx "sk_lock-$family-IWARP" "$T_CASE/after"
		t_check_fails grep "sk_lock-$family\$" "$T_CASE/after"
	done
}

device_works_after_rename() {
	rdma dev set iw0 name iw9
	t_defer rdma dev set iw9 name iw0
	ibv_devinfo -d iw9 | grep -q PORT_ACTIVE
	ping_address "$B4"
}

device_works_after_netdev_rename() {
	ip link set t0 down
	ip link set t0 name t9
	ip link set t9 up
	rdma link show iw0/1 | grep -q 'netdev t9'
	ping_address "$B4"
	ip link set t9 down
	ip link set t9 name t0
	ip link set t0 up
}

# The network namespace of b is destroyed after its last program has exited.
namespace_is_destroyed_after_last_exit() {
	create_two_hosts
	start_endless_ping
	ip netns del "$NS_B"
	t_kill server KILL
	t_check "the client exits" t_wait_until 20 t_has_ended client
	t_check "the namespace is destroyed" t_wait_until 60 is_peer_netns_destroyed
}

# A program keeps its namespace until it exits, and its listener must not keep it longer. The kernel
# destroys namespaces in the order of their deletion. So once rnic-later, which is deleted after
# b's namespace, has been destroyed, only the running programs can keep b's namespace.
listener_does_not_keep_namespace() {
	local i
	create_two_hosts
	for i in 1 2 3; do
		t_choose_port
		t_start server-$i b rping -s -a "$B4" -p "$PORT"
		t_wait_listener b "$PORT"
	done
	t_run_or_bail_out ip netns add rnic-later
	t_run_or_bail_out ip link add later0 netns "$NS_A" type veth peer name later1 netns rnic-later
	ip netns del "$NS_B"
	ip netns del rnic-later
	t_wait_until 60 eval '! ip -n "$NS_A" link show later0 2>/dev/null' ||
		t_fail "the later namespace has not been destroyed within 60 s"
	t_check "the namespace exists while its programs run" t_check_fails is_peer_netns_destroyed
	for i in 1 2 3; do t_kill server-$i KILL; done
	t_check "the namespace is destroyed" t_wait_until 60 is_peer_netns_destroyed
}

# Check that the namespace of b is destroyed. The kernel then deletes the veth pair, and va with it.
is_peer_netns_destroyed() { ! ip -n "$NS_A" link show va >/dev/null 2>&1; }

t_case "device on dummy" "" device_works_on_dummy
t_case "device on veth" "" device_works_on_veth
t_case "device on vlan" "" device_works_on_vlan
t_case "device on bond" "" device_works_on_bond
t_case "device on bridge" "" device_works_on_bridge
t_case "device on macvlan" "" device_works_on_macvlan
t_case "device on tun" "" device_works_on_tun
t_case "device on tap" "" device_works_on_tap
t_case "device on lo" "" device_works_on_lo
t_case "device added and deleted repeatedly" "" device_can_be_added_and_deleted_often
t_case "netdev deleted under traffic" "" netdev_deletion_removes_device_under_traffic
t_case "netdev moved to another namespace under traffic" "" netdev_move_removes_device_under_traffic
t_case "rdma link del under traffic" "" device_deletion_ends_traffic
t_case "rdma link del with a listener" "" device_with_listener_can_be_deleted
t_case "programs killed under traffic" "" program_exits_if_peer_is_killed
t_case "namespace deleted under traffic" "" namespace_is_destroyed_after_last_exit
t_case "namespace of a listener deleted" "" listener_does_not_keep_namespace
t_case "a listener of another network namespace" "" listener_of_other_netns_gets_no_socket
t_case "a container cannot use the host's device, netns shared" "" container_uses_no_host_device shared
t_case "a container cannot use the host's device, netns exclusive" "" container_uses_no_host_device exclusive
t_case "diagnosis of a slow and of a stuck queue pair" "" statistics_show_retransmissions
t_case "module unloaded while a device exists" "" unload_removes_device_or_is_refused
t_case "module unloaded while a program runs" "" unload_ends_programs_or_is_refused
t_case "modules unloaded, and loaded by rdma link add" "" modules_are_loaded_on_request

create_one_device
t_case "second device on a netdev refused" "" second_device_is_refused
t_case "device of the same name refused" "" same_name_is_refused
t_case "device without netdev refused" "" missing_netdev_is_refused
t_case "33 devices" "" many_devices_can_be_added_and_deleted
t_case "ibv_devinfo" "" ibv_devinfo_shows_right_values
t_case "port state follows the link" "" port_state_follows_link
t_case "rdma statistic" "" counters_increase
t_case "devices share a wildcard port" "" two_devices_share_listener_port 0.0.0.0 "$B4" 10.9.7.1/24
t_case "devices share a wildcard port, IPv6" "" two_devices_share_listener_port :: "$B6" fd00:9:7::1/64
t_case "rdma resource" "" rdma_resource_shows_objects
t_case "the device's sockets have lock classes of their own" "" sockets_have_own_lock_classes
t_case "device renamed" "" device_works_after_rename
t_case "netdev renamed" "" device_works_after_netdev_rename
t_print_summary_and_exit
