#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/fabric.sh: libfabric, whose provider for verbs makes connected endpoints
# (msg) and, above these, those that need no connection (rdm). fi_pingpong checks
# every octet. libfabric's own tests: programs/fabtests.sh

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

# pingpong PROVIDER KIND: sizes on both sides of each way to send
pingpong() {
	local size
	needs fi_pingpong libfabric-bin
	for size in 1 1000 20000 65536 1000003; do
		t_port
		t_both "-$size" "$PORT" fi_pingpong -p "$1" -e "$2" -d "$B_DEV" -c -I 10 -S $size -B "$PORT" -- \
			fi_pingpong -p "$1" -e "$2" -d "$A_DEV" -c -I 10 -S $size -P "$PORT" "$B4"
	done
	nothing_left
}

# Both ends' buffers are more than twice what both may have
squeezed() {
	local size=16000003
	needs fi_pingpong libfabric-bin
	need_implicit
	squeeze 24
	t_port
	t_both "" "$PORT" \
		"${IN_GROUP[@]}" env LD_PRELOAD="$IMPLICIT" \
			fi_pingpong -p verbs -e msg -d "$B_DEV" -c -I 2 -S $size -B "$PORT" -- \
		"${IN_GROUP[@]}" env LD_PRELOAD="$IMPLICIT" \
			fi_pingpong -p verbs -e msg -d "$A_DEV" -c -I 2 -S $size -P "$PORT" "$B4"
	t_check "it registered nothing" [ -s "$IMPLICIT_LOG" ]
	t_check "it was never at its limit" was_squeezed
	nothing_left
}

shown() {
	needs fi_info libfabric-bin
	fi_info -p verbs -d iw0 | tee "$T_CASE/info"
	grep -q 'type: FI_EP_MSG' "$T_CASE/info"
	grep -q 'type: FI_EP_RDM' "$T_CASE/info"
	t_refused grep 'type: FI_EP_DGRAM' "$T_CASE/info"
}

one_device
t_case "fi_info: connected and reliable endpoints, no datagrams" "" shown
t_case "fi_pingpong: every octet, connected" "" moved pingpong verbs msg
t_case "fi_pingpong: every octet, without connection" "" moved pingpong 'verbs;ofi_rxm' rdm
t_case "fi_pingpong: connected, all memory on demand" "" moved implicitly pingpong verbs msg
t_case "fi_pingpong: without connection, all memory on demand" "" \
	moved implicitly pingpong 'verbs;ofi_rxm' rdm
t_case "fi_pingpong: more than its control group may have, all memory on demand" "" moved squeezed
t_end
