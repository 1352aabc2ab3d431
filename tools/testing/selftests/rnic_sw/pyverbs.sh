#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# pyverbs.sh: rdma-core's own tests.  Each of them passes, or is skipped for a
# reason that is known; Documentation/pyverbs.rst has the list.

. "$(dirname "$(readlink -f "$0")")/lib.sh"

readonly tests=/usr/share/doc/rdma-core/tests
# Fewer than that: something stopped working, or another release of rdma-core
readonly passing=41

# What a reason of the tests' (a shell pattern) amounts to
known_reason() {
	case $1 in
	*MLX5* | *EFA* | *"PCI device"*) echo "for another vendor's device" ;;
	*CUDA* | *dmabuf*) echo "wants a graphics card" ;;
	*"QP type 4"* | *" UD QP "* | *" UC QP "* | *"QP type 8"* | *"Raw Packet"* | *XRCD* | *" AH "* | *Multicast*)
		echo "datagrams, raw packets, XRC, multicast: not iWARP" ;;
	*"ODP"*) echo "page faults by hardware" ;;
	*"Device memory"*) echo "memory on the device" ;;
	*"Huge pages"*) echo "this kernel has no huge pages" ;;
	*InfiniBand*) echo "InfiniBand's acknowledgements or connections" ;;
	*"MW access"* | *"memory window"* | *"additional access flags 18"*) echo "memory windows: not there yet" ;;
	*SRQ*) echo "shared receive queues: not there yet" ;;
	*Atomic* | *"Extended QP"*) echo "atomics, immediate data, datagrams by ibv_wr_*(): not there" ;;
	*"Parent Domain"*) echo "parent domains with allocators of the program's: not there" ;;
	*"Extended CQ"* | *timestamp*) echo "completion queues of other vendors' kinds, real-time clock" ;;
	*Importing*) echo "import of objects: not there" ;;
	*"gid indices"*) echo "every GID is there" ;;
	*) return 1 ;;
	esac
}

run_all() {
	command -v gunzip >/dev/null && python3 -c 'import pyverbs.cmid' && [ -d $tests ] ||
		t_skip "no tests of rdma-core here (package python3-pyverbs)"
	mkdir "$T_CASE/tests"
	cp -r $tests/. "$T_CASE/tests"
	gunzip "$T_CASE"/tests/*.gz
	timeout "$((T_TIME * 5))" /usr/bin/python3 "$T_DIR/pyverbs_run.py" "$T_CASE/tests" \
		"$A_DEV" "$A_IF" 2>"$T_CASE/stderr" | grep -P '^(ok|skip|error)\t' >"$T_LOG/pyverbs.out"
	rm -rf "$T_CASE/tests"
	t_check "they ran" grep -q . "$T_LOG/pyverbs.out"
}

# What iWARP and this device can do
none_fails() {
	grep -P '^error\t' "$T_LOG/pyverbs.out" && t_fail "some test failed"
	cut -f 1 "$T_LOG/pyverbs.out" | sort | uniq -c
	t_check "at least $passing pass" test "$(grep -cP '^ok\t' "$T_LOG/pyverbs.out")" -ge $passing
}

reasons() {
	local test reason words unknown=0
	while IFS=$'\t' read -r _ test reason; do
		if words=$(known_reason "$reason"); then
			echo "$words" >>"$T_LOG/pyverbs.reasons"
		else
			echo "$test: $reason"
			unknown=1
		fi
	done < <(grep -P '^skip\t' "$T_LOG/pyverbs.out")
	t_check "every reason is known" test $unknown = 0
	sort "$T_LOG/pyverbs.reasons" | uniq -c | sort -rn
}

rm -f "$T_LOG/pyverbs.reasons"
one_device
t_case "rdma-core's tests run to their end" "" run_all
t_case "rdma-core's tests: none fails" "" none_fails
t_case "rdma-core's tests: each one skipped has a known reason" "" reasons
[ ! -e "$T_LOG/pyverbs.reasons" ] || sort "$T_LOG/pyverbs.reasons" | uniq -c | sort -rn | sed 's/^/#/'
t_end
