#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# leaves.sh: a device goes while somebody calls who has no answer, and nobody waits for it.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

calling() { ss -tnH state syn-sent | grep -q 10.9.0.7; }

# calls: a program calls somebody who is not there, which nobody can know
calls() {
	one_device
	ip neigh add 10.9.0.7 lladdr 02:00:00:00:00:07 dev t0
	t_bg caller a rping -c -C 1 -a 10.9.0.7 -p 7
	t_check "its first packet is sent" t_until "$T_TIME" calling
}

heard() { ss -tnH state established "sport = :$PORT" | grep -q .; }

# is_called WHAT: a stranger has connected to a program that listens, and said so much
is_called() {
	one_device
	t_port
	t_bg server a rping -s -a 10.9.0.1 -p "$PORT"
	t_listens a "$PORT"
	t_bg stranger a bash -c \
		"exec 3<>/dev/tcp/10.9.0.1/$PORT; printf '$1' >&3; exec sleep $T_TIME"
	t_check "the stranger is connected" t_until "$T_TIME" heard
}

# A call that nobody answers takes TCP two minutes; start-up may take half a minute
at_once() {
	local began=$SECONDS
	timeout "$T_TIME" "$@"
	t_check "it took $((SECONDS - began)) s" [ $((SECONDS - began)) -lt 15 ]
}

deleted_calling() {
	calls
	at_once rdma link del iw0
	t_check "the caller ended" t_until 20 t_ended caller
}

deleted_called() {
	is_called "$1"
	at_once rdma link del iw0
	t_check "the server ended" t_until 20 t_ended server
	t_kill stranger
}

unloaded_calling() {
	calls
	t_defer modprobe rnic_sw
	at_once modprobe -r rnic_sw
}

t_case "rdma link del while a program calls" "" deleted_calling
t_case "rdma link del while a stranger is silent" "" deleted_called ''
t_case "rdma link del while a stranger has asked in part" "" deleted_called 'MPA ID Req Fra'
t_case "rdma link del while a stranger has asked" "" \
	deleted_called 'MPA ID Req Frame\x00\x01\x00\x00'
t_case "unloaded while a program calls" "" unloaded_calling
t_end
