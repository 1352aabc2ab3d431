# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# programs.sh: what the scripts share that run other people's programs above
# libibverbs and librdmacm, program_*.sh; sourced, and sources lib.sh.

. "$(dirname "$(readlink -f "$0")")/lib.sh"

# needs PROGRAM PACKAGE: in a case
needs() { command -v "$1" >/dev/null || t_skip "no $1 here (package $2)"; }

connects() { t_counter "$A_DEV" connects; }

# moved COMMAND ARGS...: it connects through the device; many a program would do
# without a word what it does over TCP.
moved() {
	local before
	before=$(connects)
	"$@"
	t_check "it made no connection by $A_DEV" [ "$(connects)" -gt "$before" ]
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
