#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# smoke.sh: load the modules, run some traffic of each kind on one device, unload the modules.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

modules_can_be_loaded() {
	local module
	for module in "${T_MODULES[@]}"; do
		modprobe "$module"
		test -d "/sys/module/$module"
		t_check "$module has a description" test -n "$(modinfo -F description $module)"
	done
	# in some kernels iw_cm is built in and has no holders
	[ ! -d /sys/module/iw_cm/holders ] ||
		t_check "rnic_sw is a holder of iw_cm" test -d /sys/module/iw_cm/holders/rnic_sw
}

ibv_devinfo_shows_right_values() {
	ibv_devinfo -d "$B_DEV" | tee "$T_CASE/devinfo"
	grep -q 'transport:.*iWARP' "$T_CASE/devinfo"
	grep -q 'state:.*PORT_ACTIVE' "$T_CASE/devinfo"
}

run_rping() {
	t_run_rping_pair "$B4" -C 10 -v
	grep -q 'rdma-ping-9: ' "$T_CASE"/server-*.log
}

# Check the formats of trace events. trace-cmd must be able to parse them, so they must not have
# pointers to text or names of constants.
trace_formats_are_valid() {
	local dir system formats=()
	dir=$(findmnt -n -t tracefs -o TARGET | head -n 1)
	if [ -z "$dir" ]; then
		dir=/sys/kernel/tracing
		mount -t tracefs tracefs $dir 2>/dev/null ||
			t_skip "tracing is not available in this kernel (CONFIG_FTRACE)"
		t_defer umount $dir
	fi
	for system in rnic_sw iw_ddp iw_mpa iw_sctp_ddp; do
		[ ! -d "/sys/module/$system" ] || formats+=("$dir/events/$system"/*/format)
	done
	t_check "there are more than 10 trace events" test "${#formats[@]}" -gt 10
	cat "${formats[@]}" >"$T_CASE/formats"
	t_check_fails grep 'const char \*' "$T_CASE/formats"
	t_check_fails grep -E '^print fmt.*\{ *[A-Z]' "$T_CASE/formats"
}

# has_port_events EVENT N: check that EVENT was printed at least N times. EVENT is a number, because
# the names of events depend on the version of the program.
has_port_events() { [ "$(grep -c "event_type .*($1), port 1" "$T_CASE/watch.log")" -ge "$2" ]; }

# Adding an interface to a VRF sets it down and immediately up. The RDMA core may report these two
# events in either order, so wait for each.
vrf_causes_port_events() {
	ip link add v9 type vrf table 99 || t_skip "VRFs are not available in this kernel"
	t_defer ip link del v9
	t_start watch b stdbuf -oL ibv_asyncwatch -d "$B_DEV"
	t_wait_until 20 grep -q 'async event FD' "$T_CASE/watch.log"
	ip link set t0 master v9
	t_check "a port error is reported" t_wait_until 20 has_port_events 10 1
	t_check "the port is reported active" t_wait_until 20 has_port_events 9 1
	ip link set t0 nomaster
	t_check "a second port error is reported" t_wait_until 20 has_port_events 10 2
	t_check "the port is reported active again" t_wait_until 20 has_port_events 9 2
	ip addr add "$B6/64" dev t0 nodad
}

# The RDMA core uses the VRF's routing tables only if the client specifies its source address. On
# the same wildcard port, one program listens in the VRF and another outside.
ping_in_vrf() {
	local at
	for at in "$1" "$2"; do T_AT=$at t_run_rping_pair "$1" -I "$1" -C 3; done
}

# create_vrf_with_interface N: create VRF v9N with interface t7N; the addresses do not depend on N
create_vrf_with_interface() {
	ip link add "v9$1" type vrf table "99$1" || t_skip "VRFs are not available in this kernel"
	t_defer ip link del "v9$1"
	ip link set "v9$1" up
	ip link add "t7$1" type dummy
	t_defer ip link del "t7$1"
	ip link set "t7$1" master "v9$1"
	ip addr add 10.9.7.1/24 dev "t7$1"
	ip addr add fd00:9:7::1/64 dev "t7$1" nodad
	ip link set "t7$1" up
}

device_works_in_vrf() {
	create_vrf_with_interface 1
	t_create_temporary_device iw7 t71
	ping_in_vrf 10.9.7.1 0.0.0.0
	ping_in_vrf fd00:9:7::1 ::0
	T_AT=0.0.0.0 t_run_rping_pair "$B4" -C 3
	test_vrf_over_sctp_if_supported
}

# Test SCTP as well, if the kernel's SCTP supports VRFs, which it does since 6.2.
test_vrf_over_sctp_if_supported() {
	if printf '6.2\n%s\n' "$(uname -r)" | sort -CV && t_set_listen_llp iw7 both; then
		t_change_setting iw7 connect sctp
		ping_in_vrf 10.9.7.1 0.0.0.0
		ping_in_vrf fd00:9:7::1 ::0
		t_check "the connections were made over SCTP" \
			test "$(t_print_counter iw7 connects_sctp)" -ge 4
	fi
}

# connect_from_vrf VRF: connect a raw TCP client from VRF. Print "refused", "closed", "answered",
# or, if the listener accepts the connection and waits for the Request, "waited for".
connect_from_vrf() {
	python3 - "$1" "$PORT" <<-'END'
	import socket, sys
	s = socket.socket()
	s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, sys.argv[1].encode())
	s.settimeout(3)
	try:
	    s.connect(("10.9.7.1", int(sys.argv[2])))
	    print("closed" if s.recv(1) == b"" else "answered")
	except TimeoutError:
	    print("waited for")
	except ConnectionError:
	    print("refused")
	END
}

# With tcp_l3mdev_accept one socket accepts connections from all VRFs, but the device is in only one
# of them. The RDMA core finds the interface that got the address last.
connection_from_other_vrf_is_refused() {
	create_vrf_with_interface 2
	create_vrf_with_interface 1
	t_create_temporary_device iw7 t71
	sysctl -qw net.ipv4.tcp_l3mdev_accept=1
	t_defer sysctl -qw net.ipv4.tcp_l3mdev_accept=0
	t_choose_port
	t_start server b rping -s -a 0.0.0.0 -p "$PORT"
	t_wait_listener b "$PORT"
	t_check "a connection from the device's VRF is accepted" \
		test "$(connect_from_vrf v91)" = "waited for"
	t_check "a connection from the other VRF is refused" \
		test "$(connect_from_vrf v92)" = refused
}

# Two interfaces have the same link-local address. The RDMA core looks only at the address and finds
# the interface that existed first.
same_link_local_works_on_two_interfaces() {
	local n
	for n in 7 8; do
		ip link add "t$n" type dummy
		t_defer ip link del "t$n"
	done
	for n in 8 7; do
		ip link set "t$n" up
		ip addr add fe80::1/64 dev "t$n" nodad
		t_create_temporary_device "iw$n" "t$n"
	done
	for n in 7 8; do T_AT=::0 t_run_rping_pair "fe80::1%t$n" -C 3; done
}

# In shared mode a device of a container must be visible in the first namespace, where udev and
# settings use it
container_device_is_visible() {
	t_set_temporary_netns_mode shared
	ip netns add rnic-c
	t_defer t_delete_netns rnic-c
	ip -n rnic-c link add t1 type dummy
	ip -n rnic-c link set t1 up
	t_create_temporary_device iw8 t1 rnic-c
	t_check "the device is visible in the first namespace" \
		test -e /sys/class/infiniband/iw8/ports/1/state
	t_check "its counters are visible in the first namespace" \
		test -e /sys/class/infiniband/iw8/ports/1/hw_counters/connects
}

# A VLAN has the MAC address of the interface below it, but librdmacm finds devices by GUID.
vlan_has_own_guid() {
	ip link add link t0 name t0.7 type vlan id 7 ||
		t_skip "VLANs are not available in this kernel"
	t_defer ip link del t0.7
	t_create_temporary_device iw7 t0.7
	t_check "the GUIDs differ" \
		[ "$(cat /sys/class/infiniband/iw[07]/node_guid | sort -u | wc -l)" = 2 ]
}

# All ports of a bond have the same MAC address, but each needs its own GUID.
bond_ports_have_own_guids() {
	modprobe -q bonding || true
	ip link add d6 type bond mode active-backup || t_skip "this kernel has no bonding"
	t_defer ip link del d6
	for n in 7 8; do
		ip link add "d$n" type dummy
		t_defer ip link del "d$n"
		ip link set "d$n" master d6
		t_create_temporary_device "iw$n" "d$n"
	done
	t_check "the MAC addresses are equal" \
		cmp /sys/class/net/d7/address /sys/class/net/d8/address
	t_create_temporary_device iw6 d6
	t_check "the GUIDs differ" \
		[ "$(cat /sys/class/infiniband/iw[678]/node_guid | sort -u | wc -l)" = 3 ]
}

# rdma_cm resolves a VLAN's address to the device of the interface below. See also addresses.sh.
lower_device_serves_vlan_address() {
	ip link add link t0 name t0.7 type vlan id 7
	t_defer ip link del t0.7
	ip addr add 10.9.17.1/24 dev t0.7
	ip link set t0.7 up
	t_choose_port
	t_start bound b rping -s -a 10.9.17.1 -p "$PORT"
	t_wait_until "$T_TIME" t_is_listening_or_ended bound "$PORT"
	t_is_alive bound || t_skip "in this kernel rdma_cm uses only the device of the VLAN itself"
	T_AT=0.0.0.0 t_run_rping_pair 10.9.17.1 -C 3
	! t_set_listen_llp "$B_DEV" both || {
		t_defer t_set_listen_llp "$B_DEV" tcp
		RNIC_SW_LLP=sctp T_AT=0.0.0.0 t_run_rping_pair 10.9.17.1 -C 3
	}
}

# rdma_cm starts a listener on a loopback address on each device.
loopback_listen_works_with_two_devices() {
	ip link add d7 type dummy
	t_defer ip link del d7
	t_create_temporary_device iw7 d7
	t_choose_port
	t_start server b rping -s -P -a "$1" -p "$PORT"
	t_wait_listener b "$PORT" 10
}

modules_can_be_unloaded() {
	t_delete_device iw0
	t_unload_modules
	t_check "all modules are unloaded" test ! -d "/sys/module/${T_MODULES[-1]}"
	modprobe rnic_sw
}

t_case "modules load" "" modules_can_be_loaded
create_one_device
t_case "ibv_devinfo" "" ibv_devinfo_shows_right_values
t_case "rping" "" run_rping
t_case "trace event formats can be parsed" "" trace_formats_are_valid
t_case "ib_send_bw" "" t_run_perftest ib_send_bw -n 200 -s 4096
t_case "ib_write_bw" "" t_run_perftest ib_write_bw -n 200 -s 65536
t_case "ib_read_bw" "" t_run_perftest ib_read_bw -n 200 -s 65536
t_case "ib_send_lat" "" t_run_perftest ib_send_lat -n 50 -s 64
t_case "a port goes down and immediately up again" "" vrf_causes_port_events
t_case "a device in a VRF" "" device_works_in_vrf
t_case "a client in another VRF than the device" "" connection_from_other_vrf_is_refused
t_case "a link-local address on two interfaces" "" same_link_local_works_on_two_interfaces
t_case "a device in a container" "" container_device_is_visible
t_case "a device on a VLAN has a GUID of its own" "" vlan_has_own_guid
t_case "devices on the ports of a bond have different GUIDs" "" bond_ports_have_own_guids
t_case "a VLAN's address, and the device below" "" lower_device_serves_vlan_address
t_case "a listener on 127.0.0.1, with two devices" "" loopback_listen_works_with_two_devices \
	127.0.0.1
t_case "a listener on ::1, with two devices" "" loopback_listen_works_with_two_devices ::1
t_case "modules unload" "" modules_can_be_unloaded
t_print_summary_and_exit
