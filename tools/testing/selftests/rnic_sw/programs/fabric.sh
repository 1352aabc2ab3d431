#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/fabric.sh: libfabric, whose provider for verbs has connected endpoints (msg) and,
# built on these, connectionless ones (rdm). fi_pingpong verifies every byte. For libfabric's
# own tests see programs/fabtests.sh.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

# run_pingpong PROVIDER KIND: run fi_pingpong with sizes below and above the threshold of each
# transfer method
run_pingpong() {
	local size
	skip_without_program fi_pingpong libfabric-bin
	for size in 1 1000 20000 65536 1000003; do
		t_choose_port
		t_run_pair_with_tag "-$size" "$PORT" fi_pingpong -p "$1" -e "$2" -d "$B_DEV" \
			-c -I 10 -S $size -B "$PORT" -- \
			fi_pingpong -p "$1" -e "$2" -d "$A_DEV" -c -I 10 -S $size -P "$PORT" "$B4"
	done
	check_objects_are_freed
}

# The buffers of both ends together are more than twice as large as the memory limit of the control
# group
pingpong_works_beyond_memory_limit() {
	local size=16000003
	skip_without_program fi_pingpong libfabric-bin
	set_implicit_odp_library_or_skip
	create_memory_limited_cgroup 24
	t_choose_port
	t_run_pair_with_tag "" "$PORT" \
		"${IN_GROUP[@]}" env LD_PRELOAD="$IMPLICIT" \
			fi_pingpong -p verbs -e msg -d "$B_DEV" -c -I 2 -S $size -B "$PORT" -- \
		"${IN_GROUP[@]}" env LD_PRELOAD="$IMPLICIT" \
			fi_pingpong -p verbs -e msg -d "$A_DEV" -c -I 2 -S $size -P "$PORT" "$B4"
	t_check "an implicit ODP MR was registered" [ -s "$IMPLICIT_LOG" ]
	t_check "the control group reached its limit, and no process was killed" \
		has_reached_limit_without_oom
	check_objects_are_freed
}

fi_info_shows_device() {
	skip_without_program fi_info libfabric-bin
	fi_info -p verbs -d iw0 | tee "$T_CASE/info"
	grep -q 'type: FI_EP_MSG' "$T_CASE/info"
	grep -q 'type: FI_EP_RDM' "$T_CASE/info"
	t_check_fails grep 'type: FI_EP_DGRAM' "$T_CASE/info"
}

create_one_device
t_case "fi_info: connected and reliable endpoints, no datagrams" "" fi_info_shows_device
t_case "fi_pingpong: connected, verified" "" check_command_uses_device run_pingpong verbs msg
t_case "fi_pingpong: connectionless, verified" "" check_command_uses_device run_pingpong \
	'verbs;ofi_rxm' rdm
t_case "fi_pingpong: connected, implicit ODP" "" \
	check_command_uses_device run_with_implicit_odp run_pingpong verbs msg
t_case "fi_pingpong: connectionless, implicit ODP" "" \
	check_command_uses_device run_with_implicit_odp run_pingpong 'verbs;ofi_rxm' rdm
t_case "fi_pingpong: buffers larger than the control group's limit, implicit ODP" "" \
	check_command_uses_device pingpong_works_beyond_memory_limit
t_print_summary_and_exit
