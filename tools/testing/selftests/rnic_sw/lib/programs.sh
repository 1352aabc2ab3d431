# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# programs.sh: what the scripts share that run other people's programs above
# libibverbs and librdmacm, programs/*.sh; sourced, and sources lib.sh.

. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/memory.sh"

# needs PROGRAM PACKAGE: in a case
needs() { command -v "$1" >/dev/null || t_skip "no $1 here (package $2)"; }

# in_bed_only WHY: before the first case
in_bed_only() {
	[ -n "${BED_OUT:-}" ] || [ "${T_HERE:-}" = 1 ] ||
		t_skip_all "$1: in a bed only, or with T_HERE=1"
}

# needs_built NAME DIR PROGRAM: what scripts/build-program makes, in a case
needs_built() {
	[ -n "$2" ] || t_skip "no $1 here (scripts/programs builds it)"
	[ -x "$2/$3" ] || t_skip "$2 has no $3 (scripts/build-program $1)"
}

connects() { t_counter "$A_DEV" connects; }

# moved COMMAND ARGS...: it connects through the device; many a program would do
# without a word what it does over TCP.
moved() {
	local before
	before=$(connects)
	"$@"
	t_check "it made no connection by $A_DEV" [ "$(connects)" -gt "$before" ]
}

# IMPLICIT: preloaded, it makes of whatever a program registers all of its memory, on demand
need_implicit() {
	ibv_devinfo -v -d "$A_DEV" | grep -q ODP_SUPPORT_IMPLICIT ||
		t_skip "this kernel has no on-demand paging for the device"
	IMPLICIT=$(t_prog implicit.so) || t_skip "implicit.so is not built (make)"
	export IMPLICIT_LOG=$T_CASE/implicit
}

# implicitly COMMAND ARGS...
implicitly() {
	need_implicit
	LD_PRELOAD=$IMPLICIT "$@"
	t_check "it registered nothing" [ -s "$IMPLICIT_LOG" ]
}

# some_data OCTETS: DATA, a file of random ones
some_data() {
	DATA=$T_CASE/data
	head -c "$1" /dev/urandom >"$DATA"
	t_defer rm -f "$DATA"
}

# Queue pairs, regions and completion queues of what has ended are gone
no_objects() { ! rdma resource show "$A_DEV" | grep -qE '(qp|cq|mr|srq) [1-9]'; }
nothing_left() { t_until "$T_TIME" no_objects || { rdma resource show; t_fail "something is left"; }; }

# ranks N COMMAND...: so many of Open MPI's, on this machine, and no other way from one to
# the other
ranks() {
	local n=$1
	shift
	FI_VERBS_IFACE=$A_IF timeout -k 5 "$T_TIME" mpirun --allow-run-as-root --oversubscribe -np "$n" \
		--mca plm isolated --mca oob_tcp_if_include lo --mca pml cm --mca mtl ofi \
		--mca mtl_ofi_provider_include 'verbs;ofi_rxm' "$@"
}
