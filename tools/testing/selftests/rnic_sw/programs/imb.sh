#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/imb.sh: Intel's MPI benchmarks on Open MPI, libfabric and verbs. T_IMB=DIR: the directory
# in which scripts/build-program has built them, with verification of results; not below /tmp, which
# is empty in a bed.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

# run_imb SUITE ARGS...: run a suite. The last column of each result, the largest error, must be 0.
# Many sizes are tested with only two ranks, which poll: with more ranks than processors each
# message would wait for a time slice.
run_imb() {
	local out=$T_CASE/said T_TIME=$((4 * T_TIME))
	skip_without_program mpirun openmpi-bin
	skip_without_built_program imb "${T_IMB:-}" "src_cpp/IMB-$1"
	run_mpi_ranks 2 "$T_IMB/src_cpp/IMB-$1" -npmin 2 -iter 4 -iter_policy off \
		-msglog 0:18 "${@:2}" >"$out" 2>&1 ||
		{ tail -n 15 "$out"; t_fail "$1 failed"; }
	awk '/^# Benchmarking/ { name = $3 } /defects *$/ { on = 1; tables++; next } !NF { on = 0 }
		on { lines++; if ($NF != 0) { print name ": " $0; bad = 1 } }
		END { print tables + 0 " tables, " lines + 0 " lines compared"; exit bad || !lines }' "$out"
	check_objects_are_freed
}

create_one_device
t_case "Intel's MPI benchmarks, MPI-1" "" check_command_uses_device run_imb MPI1
# the excluded tests compare rank 1's result with rank 0's, and fail over shared memory as well
t_case "Intel's MPI benchmarks, nonblocking collectives" "" check_command_uses_device run_imb NBC \
	-exclude Ireduce_scatter,Ireduce_scatter_pure
t_case "Intel's MPI benchmarks, one-sided" "" check_command_uses_device run_imb EXT
t_case "Intel's MPI benchmarks, one-sided of MPI 3" "" check_command_uses_device run_imb RMA
t_print_summary_and_exit
