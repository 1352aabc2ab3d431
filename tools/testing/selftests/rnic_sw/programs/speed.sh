#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/speed.sh: the benchmarks qperf and fio. Neither verifies the data.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

# Run tests of qperf. Its server never exits, and reports its port before it listens on that port,
# so the library late_connect delays the client's connect.
run_qperf() {
	local late
	skip_without_program qperf qperf
	late=$(t_find_program late_connect.so)
	t_choose_port
	t_start server b qperf -lp "$PORT"
	t_wait_listener b "$PORT"
	t_start client a env LD_PRELOAD="$late" qperf -lp "$PORT" -t 1 -cm 1 "$B4" "$@"
	t_wait client
	cat "$T_CASE/client.log"
	t_kill server
	check_objects_are_freed
}

# run_fio VERB: run fio's RDMA engine. The client, which fio calls a writer, selects the verb; the
# server provides the memory.
run_fio() {
	local common
	skip_without_program fio fio
	fio --enghelp | grep -qw rdma || t_skip "fio has no RDMA engine"
	t_choose_port
	common=(--ioengine=rdma --bs=64k --size=4m --iodepth=4 "--port=$PORT")
	t_run_pair "$PORT" fio --name=server "${common[@]}" --rw=read --verb=send -- \
		fio --name=client "${common[@]}" "--hostname=$B4" --rw=write "--verb=$1"
	grep -E 'total=[0-9]+,[0-9]+' "$T_CASE/client.log"
	t_check "fio reports no errors" grep -qF '(groupid=0, jobs=1): err= 0' "$T_CASE/client.log"
	check_objects_are_freed
}

create_one_device
t_case "qperf: bandwidth and latency, Sends, Writes, Reads" "" check_command_uses_device run_qperf \
	rc_bw rc_bi_bw rc_lat rc_rdma_write_bw rc_rdma_write_lat rc_rdma_read_bw rc_rdma_read_lat
t_case "qperf: atomics" "" check_command_uses_device run_qperf rc_compare_swap_mr rc_fetch_add_mr
t_case "fio: Writes" "" check_command_uses_device run_fio write
t_case "fio: Reads" "" check_command_uses_device run_fio read
t_print_summary_and_exit
