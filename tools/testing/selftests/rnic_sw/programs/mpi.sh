#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/mpi.sh: Open MPI over libfabric over verbs. Open MPI's other transports for verbs do not
# use librdmacm, see Documentation/supported-programs.rst.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

verify_mpi_data() {
	skip_without_program mpirun openmpi-bin
	python3 -c 'import mpi4py' ||
		t_skip "Python module mpi4py not found (package python3-mpi4py)"
	run_mpi_ranks "$1" python3 "$T_DIR/lib/program_mpi.py" >"$T_CASE/said" ||
		t_fail "mpirun failed: $(cat "$T_CASE/said")"
	cat "$T_CASE/said"
	t_check "all ranks report that all data is correct" \
		test "$(grep -c 'all data is right' "$T_CASE/said")" = "$1"
	check_objects_are_freed
}

create_one_device
t_case "Open MPI: two ranks, verified" "" check_command_uses_device verify_mpi_data 2
t_case "Open MPI: two ranks, verified, implicit ODP" "" \
	check_command_uses_device run_with_implicit_odp verify_mpi_data 2
t_print_summary_and_exit
