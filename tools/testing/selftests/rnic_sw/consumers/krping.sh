#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# consumers/krping.sh: krping, a variant of rping that is a kernel module outside the kernel's
# tree. scripts/krping builds it. T_KRPING=DIR: the directory of rdma_krping.ko.

. "$(dirname "$(readlink -f "$0")")/../lib/consumers.sh"

KRPING=/proc/krping

# run_krping OPTIONS: run one end of krping. The write to krping's file returns when that end has
# finished.
run_krping() { timeout -k 5 "$T_TIME" sh -c "echo '$1' >$KRPING"; }

is_server_listening() { rdma resource show cm_id link iw0 | grep -q 'state LISTEN'; }

# count_log_lines WORDS: count the lines with WORDS in the kernel log, to which krping writes all
# its output
count_log_lines() { dmesg | grep -cF "krping: $1" || true; }

# run_both_ends COUNT OPTIONS: run both ends for COUNT rounds. The client verifies each byte.
run_both_ends() {
	local rounds wrong options server
	set_up_device
	t_choose_port
	rounds=$(count_log_lines "ping data") wrong=$(count_log_lines "data mismatch")
	options="addr=$B4,port=$PORT,validate,verbose,count=$1,$2"
	run_krping "server,$options" >"$T_CASE/server.log" 2>&1 &
	server=$!
	t_wait_until "$T_TIME" is_server_listening || t_fail "the server does not listen"
	run_krping "client,$options" || echo "the client's status is $?"
	wait "$server" || echo "the server's status is $?"
	dmesg | grep krping: | tail -n 20
	t_check "all data is correct" [ "$(count_log_lines "data mismatch")" -eq "$wrong" ]
	t_check "all rounds are done" [ $(($(count_log_lines "ping data") - rounds)) -eq "$1" ]
	check_objects_are_freed
}

[ -e "${T_KRPING:-}/rdma_krping.ko" ] || t_skip_all "krping is not built (scripts/krping)"
modprobe -q rdma_cm
insmod "$T_KRPING/rdma_krping.ko" || t_skip_all "cannot load rdma_krping.ko"
t_defer rmmod rdma_krping
t_case "krping: 100 rounds" "" run_both_ends 100 size=1000
t_case "krping: 64 KiB" "" run_both_ends 20 size=65536
# All Reads use the local DMA key. Without that key krping registers an MR for its Write while the
# MR is still valid from the previous round; the device refuses this.
t_case "krping: Reads with Invalidate" "" run_both_ends 100 size=4096,read_inv,local_dma_lkey
t_case "krping: the server invalidates the client's MR" "" run_both_ends 100 size=4096,server_inv
t_case "krping: the local DMA key" "" run_both_ends 100 size=4096,local_dma_lkey
t_print_summary_and_exit
