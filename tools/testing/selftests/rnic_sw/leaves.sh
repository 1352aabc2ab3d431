#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# leaves.sh: test that the removal of a device or of its interface is not delayed by pending
# connects, by connections whose peer sends nothing, or by references that the driver has not
# dropped.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

is_connect_pending() { ss -tnH state syn-sent | grep -q 10.9.0.7; }

# start_pending_connect: connect to a host that does not exist. With a static neighbour entry the
# kernel sends a SYN, and the connect stays pending.
start_pending_connect() {
	create_one_device
	ip neigh add 10.9.0.7 lladdr 02:00:00:00:00:07 dev t0
	t_start caller a rping -c -C 1 -a 10.9.0.7 -p 7
	t_check "a SYN is sent" t_wait_until "$T_TIME" is_connect_pending
}

has_tcp_connection() { ss -tnH state established "sport = :$PORT" | grep -q .; }

# start_server_and_silent_peer DATA: connect a raw TCP client to a listening program; the client sends DATA and
# then nothing
start_server_and_silent_peer() {
	create_one_device
	t_choose_port
	t_start server a rping -s -a 10.9.0.1 -p "$PORT"
	t_wait_listener a "$PORT"
	called=$SECONDS
	t_start stranger a bash -c \
		"exec 3<>/dev/tcp/10.9.0.1/$PORT; printf '$1' >&3; exec sleep $T_TIME"
	t_check "the raw client is connected" t_wait_until "$T_TIME" has_tcp_connection
}

# check_command_ends_soon COMMAND...: check that COMMAND does not wait for the end of a pending
# connect, which the driver gives up after 30 s and TCP after about two minutes. COMMAND runs in the
# background, because no signal ends it while the kernel waits for references to an interface.
check_command_ends_soon() {
	local pid
	"$@" &
	pid=$!
	t_check "$* ends within 15 s" t_wait_until 15 t_has_process_exited "$pid"
	wait "$pid"
}

device_deletion_ends_pending_connect() {
	start_pending_connect
	check_command_ends_soon rdma link del iw0
	t_check "the connecting program exits" t_wait_until 20 t_has_ended caller
}

silent_peer_does_not_delay_deletion() {
	start_server_and_silent_peer "$1"
	check_command_ends_soon rdma link del iw0
	# The driver gives a peer 10 s for its Request, counted from $called. The removal must not
	# wait for that.
	t_check "the driver does not wait for the Request ($((SECONDS - called)) s)" \
		[ $((SECONDS - called)) -lt 10 ]
	t_check "the server exits" t_wait_until 20 t_has_ended server
	t_kill stranger
}

# A program that has a QP keeps the module loaded, because of its doorbell file, but not the device.
unload_is_refused_during_connect() {
	start_pending_connect
	t_defer modprobe rnic_sw
	t_check_fails timeout 15 modprobe -r rnic_sw
	check_command_ends_soon rdma link del iw0
	t_check "the connecting program exits" t_wait_until 20 t_has_ended caller
	check_command_ends_soon modprobe -r rnic_sw
}

# has_traffic: check that Sends arrive
has_traffic() { [ "$(t_print_counter iw7 rx_sends)" -gt 20 ]; }

# The kernel deletes a bond only when all references to it are dropped.
bond_deletion_is_not_delayed() {
	modprobe -q bonding || true
	ip link add d7 type bond mode active-backup || t_skip "this kernel has no bonding"
	t_defer ip link del d7
	ip link add d8 type dummy
	t_defer ip link del d8
	ip link set d8 master d7
	ip addr add 10.9.7.1/24 dev d7
	ip link set d7 up
	t_create_temporary_device iw7 d7
	t_choose_port
	t_start server b rping -s -a 10.9.7.1 -p "$PORT"
	t_wait_listener b "$PORT"
	t_start client a rping -c -a 10.9.7.1 -p "$PORT"
	t_check "there is traffic" t_wait_until "$T_TIME" has_traffic
	check_command_ends_soon ip link del d7
	t_check "the device is removed" t_wait_until 20 test ! -e /sys/class/infiniband/iw7
	t_check "the client exits" t_wait_until 20 t_has_ended client
	t_check "the server exits" t_wait_until 20 t_has_ended server
}

interface_without_address_can_be_deleted() {
	ip link add d7 type dummy
	t_defer ip link del d7
	ip link set d7 addrgenmode none
	ip link set d7 up
	t_check "the interface has no address" \
		test -z "$(ip -br addr show dev d7 | awk '{ print $3 }')"
	t_create_temporary_device iw7 d7
	ibv_devinfo -d iw7 | tee "$T_CASE/devinfo"
	grep -q 'state:.*PORT_ACTIVE' "$T_CASE/devinfo"
	rdma link del iw7
	check_command_ends_soon ip link del d7
}

t_case "rdma link del during a pending connect" "" device_deletion_ends_pending_connect
t_case "rdma link del with a silent connection" "" silent_peer_does_not_delay_deletion ''
t_case "rdma link del during an incomplete MPA Request" "" silent_peer_does_not_delay_deletion \
	'MPA ID Req Fra'
t_case "rdma link del after an MPA Request" "" \
	silent_peer_does_not_delay_deletion 'MPA ID Req Frame\x00\x01\x00\x00'
t_case "the module cannot be unloaded during a pending connect" "" unload_is_refused_during_connect
t_case "bond deleted under traffic" "" bond_deletion_is_not_delayed
t_case "interface without addresses deleted" "" interface_without_address_can_be_deleted
t_print_summary_and_exit
