#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# sctp.sh: RDMA over SCTP (RFC 5043): programs choose it by RNIC_SW_LLP, and
# listeners take it beside TCP.

. "$(dirname "$(readlink -f "$0")")/lib.sh"

over_sctp() { RNIC_SW_LLP=sctp "$@"; }

# associations HOST: how many are up there
associations() { on "$1" ss -HnS state established | grep -c .; }

ping_through() {
	over_sctp t_rping "$1" -C "${2:-10}" -v "${@:3}"
	t_check "no TCP connection was made" test "$(on a ss -Htn | grep -c .)" = 0
}

modprobe rnic_sw
two_hosts
t_case "rping" "SCTPDDP-29" ping_through "$B4"
t_end
