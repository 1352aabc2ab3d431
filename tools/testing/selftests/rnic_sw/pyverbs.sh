#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# pyverbs.sh: run rdma-core's own tests, with the changes of pyverbs_run.py, and without any
# changes. Each test must pass or be skipped for a known reason; tools/testing/pyverbs.rst explains
# and counts the reasons. The tests that this project adds to rdma-core's tree must all pass.
# T_RDMA_CORE=DIR: use the release in DIR, which scripts/build-pyverbs has built, instead of the
# installed release.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

readonly python=/usr/bin/python3	# the version that python3-pyverbs supports
readonly tests=${T_RDMA_CORE:-/usr/share/doc/rdma-core}/tests
readonly page=$T_DIR/../../pyverbs.rst
ours=$T_DIR/../../../../packaging/rdma-core/tests
# if fewer tests pass than this, the test environment is broken
readonly passing=74
if [ -n "${T_RDMA_CORE:-}" ]; then
	export PYTHONPATH=$T_RDMA_CORE/python RDMAV_DRIVERS=$T_RDMA_CORE/lib/librnic_sw
	ours=$T_RDMA_CORE/iwarp
fi
readonly ours

# set_known_skip_reason "TEST: WHY": set $reason to the known reason why TEST was skipped
set_known_skip_reason() {
	case $1 in
	test_mlx5_* | test_efa*)
		reason="another vendor's device" ;;
	test_odp.*_ud_* | test_odp.*_xrc_*)
		reason="not a connected queue pair" ;;
	test_odp.*"uge pages"* | test_parent_domain.*"uge pages"*)
		reason="huge pages" ;;
	*"Device memory"*)
		reason="memory on the device" ;;
	test_mr.DmaBuf*/dev/dri/* | test_mr.DmaBuf*dma-buf* | test_cuda_dmabuf.*)
		reason="memory of a graphics card" ;;
	*"QP type 4 "* | *"QP type 8 "* | *"Create "U[CD]" QP "* | *"Create Raw Packet QP "* | *" XRCD "* | \
	*" AH "* | *Multicast* | test_atomic.*_xrc_* | test_qpex.*_ud_*"Extended QP"* | \
	test_qpex.*_bad_flow*"Extended QP"*)
		reason="not a connected queue pair" ;;
	test_dmah.*"DMA Handle"*)
		reason="DMA handles" ;;
	test_phc_timestamp.*"No PHC"*)
		reason="clock of the interface" ;;
	test_srq.*"SRQ resize"*)
		reason="resizing SRQs" ;;
	test_buf.*CC_DMA_BOUNCE)
		reason="confidential guests" ;;
	*_imm*"Extended QP"*)
		reason="immediate data" ;;
	*_atomic_write*"Extended QP"* | *_rc_flush*"access flags"* | \
	test_odp.*_rc_flush*"not supported"* | test_odp.*_rc_atomic_write*"not supported"*)
		reason="Atomic Write and Flush" ;;
	test_tag_matching.*"Extended CQ"*)
		reason="tag matching" ;;
	*"in the sender's completion")
		reason="errors in the sender's CQ" ;;
	*"InfiniBand's acknowledgement timeout" | *"InfiniBand's connection manager" | \
	test_rdmacm.*_resolve_addrinfo*"active side")
		reason="InfiniBand's connection manager" ;;
	*"queue pair a second time")
		reason="connecting again" ;;
	*) return 1 ;;
	esac
}

unpack_tests_or_skip() {
	command -v gunzip >/dev/null && $python -c 'import pyverbs.cmid' && [ -d "$tests" ] ||
		t_skip "rdma-core's tests not found (package python3-pyverbs)"
	mkdir "$T_CASE/tests"
	t_defer rm -rf "$T_CASE/tests"
	cp -r "$tests"/. "$T_CASE/tests"
	! ls "$T_CASE"/tests/*.gz >/dev/null 2>&1 || gunzip "$T_CASE"/tests/*.gz
}

# run_tests [MODULE]: run tests, and write their results to $T_CASE/out
run_tests() {
	timeout "$((T_TIME * 5))" $python "$T_DIR/lib/pyverbs_run.py" "$T_CASE/tests" \
		"$A_DEV" "$A_IF" "$@" >"$T_CASE/stdout" 2>"$T_CASE/stderr" || {
		tail "$T_CASE/stdout" "$T_CASE/stderr"
		t_fail "the tests did not run to completion"
	}
	grep -P '^(ok|skip|error)\t' "$T_CASE/stdout" >"$T_CASE/out"
}

run_all_tests() {
	unpack_tests_or_skip
	run_tests
	cp "$T_CASE/out" "$T_LOG/pyverbs.out"
}

tests_for_rdma_core_pass() {
	[ -d "$ours" ] || t_skip "packaging/rdma-core/tests not found"
	unpack_tests_or_skip
	cp "$ours/test_iwarp.py" "$T_CASE/tests"
	run_tests test_iwarp
	cat "$T_CASE/out"
	t_check "all tests of test_iwarp.py were run" [ "$(wc -l <"$T_CASE/out")" -eq \
		"$(grep -c '^    def test_' "$ours/test_iwarp.py")" ]
	# older releases of pyverbs, and older kernels, have no completion counters
	t_check "all tests of test_iwarp.py pass" t_check_fails \
		grep -vP '^ok\t|^skip\t.*_comp_cntrs\t' "$T_CASE/out"
}

no_test_fails() {
	cut -f 1 "$T_LOG/pyverbs.out" | sort | uniq -c
	! grep -P '^error\t' "$T_LOG/pyverbs.out" || t_fail "tests of rdma-core failed"
	t_check "at least $passing tests pass" \
		test "$(grep -cP '^ok\t' "$T_LOG/pyverbs.out")" -ge $passing
}

skips_have_known_reasons() {
	local test why reason unknown=0
	while IFS=$'\t' read -r _ test why; do
		if set_known_skip_reason "$test: $why"; then
			echo "$reason"
		else
			echo "$test: $why" >&2
			unknown=1
		fi
	done < <(grep -P '^skip\t' "$T_LOG/pyverbs.out") >"$T_CASE/reasons"
	sort "$T_CASE/reasons" | uniq -c | sort -rn >"$T_LOG/pyverbs.reasons"
	cat "$T_LOG/pyverbs.reasons"
	t_check "each skipped test has a known reason" test $unknown = 0
}

# print_documented_number WHAT ALL: print the number in the row WHAT of the table in pyverbs.rst,
# for the release of rdma-core that has ALL tests
print_documented_number() {
	[ -e "$page" ] || return 0
	awk -F '  +' -v what="$1" -v all="$2" '
		$1 == "all" { for (col = 3; col > 1 && $col != all;) col-- }
		$1 == what && col > 1 { print $col }' "$page"
}

results_match_documentation() {
	local number what all wrong=0
	[ -e "$page" ] || t_skip "tools/testing/pyverbs.rst not found"
	all=$(wc -l <"$T_LOG/pyverbs.out")
	[ -n "$(print_documented_number all "$all")" ] ||
		t_skip "tools/testing/pyverbs.rst has no column for this release of rdma-core"
	{
		echo "$(grep -cP '^ok\t' "$T_LOG/pyverbs.out") pass"
		cat "$T_LOG/pyverbs.reasons"
	} >"$T_CASE/numbers"
	while read -r number what; do
		[ "$(print_documented_number "$what" "$all")" != "$number" ] || continue
		echo "$what: $number; in tools/testing/pyverbs.rst: $(print_documented_number "$what" "$all")"
		wrong=1
	done <"$T_CASE/numbers"
	t_check "tools/testing/pyverbs.rst has the same numbers" test $wrong = 0
}

# Run the tests of rdma-core that need huge pages
huge_pages() {
	local at=/proc/sys/vm/nr_hugepages before module
	[ -e $at ] || t_skip "huge pages are not available in this kernel (CONFIG_HUGETLBFS)"
	unpack_tests_or_skip
	read -r before <$at
	t_defer eval "echo $before >$at"
	echo 16 >$at
	[ "$(cat $at)" -ge 16 ] || t_skip "cannot allocate 16 huge pages"
	for module in test_odp test_parent_domain; do
		run_tests $module
		grep -P '^\w+\t.*_huge_' "$T_CASE/out"
	done >"$T_CASE/huge"
	cat "$T_CASE/huge"
	t_check "at least three tests need huge pages" [ "$(wc -l <"$T_CASE/huge")" -ge 3 ]
	t_check "all of them pass, except those for datagrams and XRC" t_check_fails \
		grep -vP '^ok\t|^skip\t.*_(ud|xrc)_' "$T_CASE/huge"
}

# Run the tests by rdma-core's own runner, which connects queue pairs by ibv_modify_qp(). Only tests
# that expect InfiniBand may fail. The tests compare the peer's memory as soon as a Write has
# completed. Over TCP, with one CPU, the data have arrived by then, except sometimes if the peer's
# memory has to be paged in.
run_tests_without_changes() {
	local ran name early=0 wrong=0
	[ -z "${T_LLP:-}" ] && [ "$(nproc)" -eq 1 ] ||
		t_skip "without changes the tests pass only over TCP and with one CPU"
	unpack_tests_or_skip
	timeout "$((T_TIME * 5))" $python "$T_CASE/tests/run_tests.py" -v --dev "$A_DEV" --port 1 \
		--gid 0 \
		>"$T_CASE/stdout" 2>"$T_CASE/stderr" || true
	tail -n 1 "$T_CASE/stderr"
	ran=$(sed -n 's/^Ran \([0-9]*\) tests in .*/\1/p' "$T_CASE/stderr")
	[ -n "$ran" ] || t_fail "the runner did not run to completion"
	while read -r name; do
		! grep -q "^    \"test_.*\.$name\":" "$T_DIR/lib/pyverbs_run.py" || continue
		[ "$name" != test_odp_rc_rdma_write ] || { early=1; continue; }
		echo "$name failed:"
		grep -a -A 20 "^[EF][A-Z]*: $name " "$T_CASE/stderr"
		wrong=1
	done < <(sed -n 's/^\(ERROR\|FAIL\): \([^ ]*\) .*/\2/p' "$T_CASE/stderr")
	t_check "only tests that expect InfiniBand fail" test $wrong = 0
	check_number_of_passed_tests "$ran" $early
}

# check_number_of_passed_tests RAN EARLY: check how many of RAN tests have passed. The last line of
# the runner's output has the numbers of failed and skipped tests. EARLY tests have failed only
# because they compared the peer's memory too early; they count as passed.
check_number_of_passed_tests() {
	local others want
	others=$(tail -n 1 "$T_CASE/stderr" | tr -c '0-9\n' ' ')
	# shellcheck disable=SC2086 # a list of numbers
	others=$(printf '%s\n' $others | awk '{ n += $1 } END { print n }')
	want=$(print_documented_number "pass, by run_tests.py" "$1")
	echo "$(($1 - others)) of $1 tests pass"
	[ -z "$want" ] || t_check "$want tests pass, as tools/testing/pyverbs.rst says" \
		test $(($1 - others + $2)) -eq "$want"
}

rm -f "$T_LOG/pyverbs.out" "$T_LOG/pyverbs.reasons"
create_one_device
t_case "rdma-core's tests run to completion" "" run_all_tests
if [ -e "$T_LOG/pyverbs.out" ]; then
	t_case "rdma-core's tests: no test fails" "" no_test_fails
	t_case "rdma-core's tests: each skipped test has a known reason" "" skips_have_known_reasons
	t_case "rdma-core's tests: the numbers in tools/testing/pyverbs.rst are right" "" \
		results_match_documentation
	sed 's/^/#/' "$T_LOG/pyverbs.reasons"
fi
t_case "rdma-core's tests with huge pages" "" huge_pages
t_case "rdma-core's tests by their own runner" "" run_tests_without_changes
t_case "the tests for rdma-core's tree pass" "" tests_for_rdma_core_pass
t_print_summary_and_exit
