# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# programs.sh: functions shared by the scripts that run third-party programs on libibverbs
# and librdmacm, programs/*.sh; sourced, and sources lib.sh.

. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/memory.sh"

# skip_without_program PROGRAM PACKAGE: skip the case if PROGRAM is not installed
skip_without_program() { command -v "$1" >/dev/null || t_skip "program $1 not found (package $2)"; }

# skip_all_outside_bed WHY: skip the script outside a bed; must be called before the first case
skip_all_outside_bed() {
	[ -n "${BED_OUT:-}" ] || [ "${T_HERE:-}" = 1 ] ||
		t_skip_all "$1: runs in a bed only, or with T_HERE=1"
}

# skip_without_built_program NAME DIR PROGRAM: skip the case if scripts/build-program has not built
# NAME
skip_without_built_program() {
	[ -n "$2" ] || t_skip "$1 is not built (scripts/programs builds it)"
	[ -x "$2/$3" ] || t_skip "no $3 in $2 (scripts/build-program $1)"
}

print_connects() { t_print_counter "$A_DEV" connects; }

# check_command_uses_device COMMAND ARGS...: run COMMAND and check that it connects through the
# device, because many programs silently use TCP instead
check_command_uses_device() {
	local before
	before=$(print_connects)
	"$@"
	t_check "connections were made through $A_DEV" [ "$(print_connects)" -gt "$before" ]
}

# Set IMPLICIT to the preload library that replaces each MR of a program with an implicit ODP MR
set_implicit_odp_library_or_skip() {
	ibv_devinfo -v -d "$A_DEV" | grep -q ODP_SUPPORT_IMPLICIT ||
		t_skip "the device has no on-demand paging in this kernel"
	IMPLICIT=$(t_find_program implicit.so) || t_skip "library implicit.so is not built (make)"
	export IMPLICIT_LOG=$T_CASE/implicit
}

# run_with_implicit_odp COMMAND ARGS...: run COMMAND with implicit ODP MRs only
run_with_implicit_odp() {
	set_implicit_odp_library_or_skip
	LD_PRELOAD=$IMPLICIT "$@"
	t_check "an implicit ODP MR was registered" [ -s "$IMPLICIT_LOG" ]
}

# create_random_file BYTES: create a file of random bytes, and set DATA to its name
create_random_file() {
	DATA=$T_CASE/data
	head -c "$1" /dev/urandom >"$DATA"
	t_defer rm -f "$DATA"
}

has_no_objects() { ! rdma resource show "$A_DEV" | grep -qE '(qp|cq|mr|srq) [1-9]'; }
# check_objects_are_freed: after all programs have exited, wait until the device has no QP, MR, CQ
# or SRQ; fail after $T_TIME
check_objects_are_freed() {
	t_wait_until "$T_TIME" has_no_objects || {
		rdma resource show
		t_fail "objects are left"
	}
}

# run_mpi_ranks N COMMAND...: run COMMAND in N ranks of Open MPI on this host, which communicate
# only through libfabric. Open MPI 4 needs two more options if ssh is not installed; Open MPI 5 has no
# such component, and does not use the loopback interface.
run_mpi_ranks() {
	local n=$1 old=()
	shift
	! mpirun --version | grep -q 'Open MPI) 4' ||
		old=(--mca plm isolated --mca oob_tcp_if_include lo)
	FI_VERBS_IFACE=$A_IF timeout -k 5 "$T_TIME" mpirun \
		--allow-run-as-root --oversubscribe -np "$n" "${old[@]}" --mca pml cm --mca mtl ofi \
		--mca mtl_ofi_provider_include 'verbs;ofi_rxm' "$@"
}
