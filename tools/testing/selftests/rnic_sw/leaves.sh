#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# leaves.sh: pending connects and silent connections must not delay the removal of a device.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

calling() { ss -tnH state syn-sent | grep -q 10.9.0.7; }

# calls: connect to a host that does not exist. Because of a static neighbour entry the kernel sends
# a SYN nevertheless, so the connect stays pending.
calls() {
	one_device
	ip neigh add 10.9.0.7 lladdr 02:00:00:00:00:07 dev t0
	t_bg caller a rping -c -C 1 -a 10.9.0.7 -p 7
	t_check "a SYN is sent" t_until "$T_TIME" calling
}

has_tcp_connection() { ss -tnH state established "sport = :$PORT" | grep -q .; }

# is_called DATA: connect to a listening program with a raw TCP client, which sends only DATA
is_called() {
	one_device
	t_port
	t_bg server a rping -s -a 10.9.0.1 -p "$PORT"
	t_listens a "$PORT"
	t_bg stranger a bash -c \
		"exec 3<>/dev/tcp/10.9.0.1/$PORT; printf '$1' >&3; exec sleep $T_TIME"
	t_check "the raw client is connected" t_until "$T_TIME" has_tcp_connection
}

# at_once COMMAND...: check that COMMAND does not wait for the end of a pending connect, which the
# driver gives up after 30 s and TCP after about two minutes
at_once() {
	local began=$SECONDS
	timeout "$T_TIME" "$@"
	t_check "it takes less than 15 s (it took $((SECONDS - began)) s)" \
		[ $((SECONDS - began)) -lt 15 ]
}

deleted_calling() {
	calls
	at_once rdma link del iw0
	t_check "the connecting program exits" t_until 20 t_ended caller
}

deleted_called() {
	is_called "$1"
	at_once rdma link del iw0
	t_check "the server exits" t_until 20 t_ended server
	t_kill stranger
}

unloaded_calling() {
	calls
	t_defer modprobe rnic_sw
	at_once modprobe -r rnic_sw
}

t_case "rdma link del during a pending connect" "" deleted_calling
t_case "rdma link del with a silent connection" "" deleted_called ''
t_case "rdma link del during an incomplete MPA Request" "" deleted_called 'MPA ID Req Fra'
t_case "rdma link del after an MPA Request" "" \
	deleted_called 'MPA ID Req Frame\x00\x01\x00\x00'
t_case "module unloaded during a pending connect" "" unloaded_calling
t_end
