#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/fabtests.sh: libfabric's own tests, run by libfabric's test runner, over verbs (connected
# endpoints) and over verbs;ofi_rxm (connectionless endpoints on top of connected ones).
# T_FABTESTS=DIR: the directory in which scripts/build-program has installed them; not below /tmp,
# which is empty in a bed.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

# run_fabtests SET PROVIDER: run SET except for the tests in the provider's exclude list and in
# lib/program_fabtests.exclude
run_fabtests() {
	local set=$1 provider=$2 name=${2##*;} status=0
	local bin=$T_FABTESTS/bin configs=$T_FABTESTS/share/fabtests/test_configs
	skip_without_built_program fabtests "$T_FABTESTS" bin/runfabtests.sh
	# the runner writes to the current directory
	cd "$T_CASE" || return
	"$bin/runfabtests.sh" -v -T "$T_TIME" -t "$set" -p "$bin" -s "$B4" -c "$A4" \
		-f "$configs/$name/$name.exclude" -f "$T_DIR/lib/program_fabtests.exclude" \
		"$provider" \
		>results 2>&1 || status=$?
	sed -n '/^# Total/p' results
	# print the results of failed tests
	awk -v RS='- name: ' '/\n  result: *Fail/' results
	t_check "all tests pass" test "$status" -eq 0
	t_check "at least one test passes" grep -qE '^ *result: *Pass' results
	check_objects_are_freed
}

# Create completion queues up to the given number: first with a completion channel, until no file
# descriptors are left, then without one.
create_many_cqs() {
	skip_without_built_program fabtests "${T_FABTESTS:-}" bin/fi_cq_test
	"$T_FABTESTS/bin/fi_cq_test" -p verbs -d iw0 -L $((T_SLOW ? 500 : 2000)) | tee "$T_CASE/cqs"
	! grep -q FAIL "$T_CASE/cqs"
	check_objects_are_freed
}

T_FABTESTS=${T_FABTESTS:-}
skip_all_outside_bed "their runner ends every program whose name begins with fi_"
create_one_device
# the unit tests do not connect
t_case "fabtests unit: connected" "" run_fabtests unit verbs
t_case "fabtests unit: connectionless" "" run_fabtests unit 'verbs;ofi_rxm'
t_case "fabtests functional: connected" "" check_command_uses_device run_fabtests functional verbs
for set in functional short; do
	t_case "fabtests $set: connectionless" "" check_command_uses_device run_fabtests $set \
		'verbs;ofi_rxm'
done
t_case "fabtests: many completion queues" "" create_many_cqs
t_print_summary_and_exit
