#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/valkey.sh: valkey with RDMA. T_VALKEY=DIR: the source tree of valkey, built by
# scripts/build-program; not below /tmp, which is empty in a bed.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

start_valkey() {
	skip_without_built_program valkey "${T_VALKEY:-}" src/valkey-rdma.so
	t_choose_port
	t_start server b "$T_VALKEY/src/valkey-server" --port 0 --save "" --dir "$T_CASE" \
		--loadmodule "$T_VALKEY/src/valkey-rdma.so" --rdma-bind "$B4" --rdma-port "$PORT"
	t_wait_listener b "$PORT"
}

run_valkey_cli() {
	on a timeout "$T_TIME" "$T_VALKEY/src/valkey-cli" --rdma -h "$B4" -p "$PORT" "$@"
}

# store_value KEY FILE: store the contents of FILE as the value of KEY. Retry, because on a busy
# machine valkey's client sometimes fails because of a bug.
store_value() {
	for _ in 1 2 3; do
		[ "$(run_valkey_cli -x SET "$1" <"$2")" != OK ] || return 0
	done
	false
}

# check_value KEY BYTES FILE: check that the value of KEY is the file's contents
check_value() {
	for _ in 1 2 3; do
		run_valkey_cli --raw GET "$1" | head -c "$2" >"$T_CASE/got" || :
		[ ! -s "$T_CASE/got" ] || break
	done
	cmp "$3" "$T_CASE/got"
}

# Check that the server still responds, and that it exits when it is killed
check_and_stop_valkey() {
	t_check "the server responds" test "$(run_valkey_cli PING)" = PONG
	t_kill server
	check_objects_are_freed
}

# Store and fetch values of many sizes. The client appends a newline to each value that it prints.
store_and_fetch_values() {
	local size
	start_valkey
	for size in 1 1000 16384 65537 1000003 5000001; do
		create_random_file $size
		store_value "key$size" "$DATA"
		t_check "the value of $size bytes is read back as stored" \
			check_value "key$size" $size "$DATA"
	done
	rm "$T_CASE/got"
	check_and_stop_valkey
}

# Run valkey's own test: several threads store, fetch and compare values, and make the server fork
run_valkey_rdma_test() {
	start_valkey
	skip_without_built_program valkey "$T_VALKEY" tests/rdma/rdma-test
	t_start client a "$T_VALKEY/tests/rdma/rdma-test" -t 4 -h "$B4" -p "$PORT" \
		-m 128 -M "$((T_SLOW ? 200 : 1000))"
	t_wait client
	cat "$T_CASE/client.log"
	t_check "all four threads fetched their values" \
		test "$(grep -c 'GET [0-9]* KVs \[OK\]' "$T_CASE/client.log")" = 4
	check_and_stop_valkey
}

run_benchmark() {
	start_valkey
	t_start client a "$T_VALKEY/src/valkey-benchmark" --rdma -h "$B4" -p "$PORT" -c 8 \
		-n "$(t_scale_rounds 400)" \
		-d 1000 --csv -t set,get,lpush,incr
	t_wait client
	cat "$T_CASE/client.log"
	t_check "all four commands were measured" \
		test "$(grep -c '^"[A-Z]' "$T_CASE/client.log")" = 4
	check_and_stop_valkey
}

killed_clients_do_not_stop_server() {
	local i before
	start_valkey
	for i in $(seq 10); do
		before=$(print_connects)
		t_start "client$i" a "$T_VALKEY/src/valkey-benchmark" --rdma -h "$B4" -p "$PORT" \
			-c 8 -n 10000000 -d 1000 -t set
		t_wait_until "$T_TIME" eval "[ \$(print_connects) -gt $before ]"
		t_kill "client$i" KILL
		t_check "the server still runs" t_is_alive server
	done
	check_and_stop_valkey
}

create_one_device
t_case "valkey: values of many sizes" "" check_command_uses_device store_and_fetch_values
t_case "valkey: its own RDMA test, four threads" "" check_command_uses_device run_valkey_rdma_test
t_case "valkey: valkey-benchmark" "" check_command_uses_device run_benchmark
t_case "valkey: clients are killed, the server continues" "" check_command_uses_device \
	killed_clients_do_not_stop_server
t_print_summary_and_exit
