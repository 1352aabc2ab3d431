#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/krping.sh: krping, rping as a module of the kernel's, which is not in the
# kernel's tree. scripts/krping builds it; T_KRPING=DIR says where rdma_krping.ko is.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"

KRPING=/proc/krping

# Writing to it returns when that end has done.
krping() { timeout -k 5 "$T_TIME" sh -c "echo '$1' >$KRPING"; }

listens() { rdma resource show cm_id link iw0 | grep -q 'state LISTEN'; }

# said WORDS: how many lines of the log have them. All that krping tells is there.
said() { dmesg | grep -cF "krping: $1" || true; }

# ping COUNT OPTIONS: of both ends. The client compares each octet.
ping() {
	local rounds wrong options server
	scene
	t_port
	rounds=$(said "ping data") wrong=$(said "data mismatch")
	options="addr=$B4,port=$PORT,validate,verbose,count=$1,$2"
	krping "server,$options" >"$T_CASE/server.log" 2>&1 &
	server=$!
	t_until "$T_TIME" listens || t_fail "it does not listen"
	krping "client,$options" || echo "the client's status is $?"
	wait "$server" || echo "the server's status is $?"
	dmesg | grep krping: | tail -n 20
	t_check "an octet was wrong" [ "$(said "data mismatch")" -eq "$wrong" ]
	t_check "not all rounds were made" [ $(($(said "ping data") - rounds)) -eq "$1" ]
	nothing_left
}

[ -e "${T_KRPING:-}/rdma_krping.ko" ] || t_skip_all "krping is not built (scripts/krping)"
modprobe -q rdma_cm
insmod "$T_KRPING/rdma_krping.ko" || t_skip_all "krping does not load"
t_defer rmmod rdma_krping
t_case "krping: 100 rounds" "" ping 100 size=1000
t_case "krping: 64 KiB" "" ping 20 size=65536
# Without the key it registers once more for its Write, and in the next round what is
# valid: that is refused.
t_case "krping: Reads with invalidate" "" ping 100 size=4096,read_inv,local_dma_lkey
t_case "krping: the server invalidates" "" ping 100 size=4096,server_inv
t_case "krping: the local DMA key" "" ping 100 size=4096,local_dma_lkey
t_end
