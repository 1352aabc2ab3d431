#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/mpi.sh: Open MPI over libfabric over verbs. What else it has for verbs does
# without librdmacm, see Documentation/supported-programs.rst.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

octets() {
	needs mpirun openmpi-bin
	python3 -c 'import mpi4py' || t_skip "no mpi4py here (package python3-mpi4py)"
	ranks "$1" python3 "$T_DIR/lib/program_mpi.py" >"$T_CASE/said" ||
		t_fail "mpirun has failed: $(cat "$T_CASE/said")"
	cat "$T_CASE/said"
	t_check "not all ranks are content" test "$(grep -c 'all octets are right' "$T_CASE/said")" = "$1"
	nothing_left
}

one_device
t_case "Open MPI: every octet, two ranks" "" moved octets 2
t_case "Open MPI: every octet, two ranks, all memory on demand" "" moved implicitly octets 2
t_end
