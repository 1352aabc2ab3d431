#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/valkey.sh: valkey with RDMA. T_VALKEY=DIR: the source tree of valkey, built by
# scripts/build-program; not below /tmp.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

valkey_serves() {
	needs_built valkey "${T_VALKEY:-}" src/valkey-rdma.so
	t_port
	t_bg server b "$T_VALKEY/src/valkey-server" --port 0 --save "" --dir "$T_CASE" \
		--loadmodule "$T_VALKEY/src/valkey-rdma.so" --rdma-bind "$B4" --rdma-port "$PORT"
	t_listens b "$PORT"
}

cli() { on a timeout "$T_TIME" "$T_VALKEY/src/valkey-cli" --rdma -h "$B4" -p "$PORT" "$@"; }

# stored KEY FILE: store a value. Retry, because on a busy machine valkey's client sometimes crashes
# by a fault of its own.
stored() {
	for _ in 1 2 3; do
		[ "$(cli -x SET "$1" <"$2")" != OK ] || return 0
	done
	false
}

# fetched KEY BYTES FILE: check that the value of KEY is the file's contents
fetched() {
	for _ in 1 2 3; do
		cli --raw GET "$1" | head -c "$2" >"$T_CASE/got" || :
		[ ! -s "$T_CASE/got" ] || break
	done
	cmp "$3" "$T_CASE/got"
}

# Check that the server still responds, and that it exits when it is killed
valkey_ends() {
	t_check "the server responds" test "$(cli PING)" = PONG
	t_kill server
	nothing_left
}

# Store and fetch values of many sizes. The client appends a newline to each value that it prints.
values() {
	local size
	valkey_serves
	for size in 1 1000 16384 65537 1000003 5000001; do
		some_data $size
		stored "key$size" "$DATA"
		t_check "the value of $size bytes is read back as stored" \
			fetched "key$size" $size "$DATA"
	done
	rm "$T_CASE/got"
	valkey_ends
}

# Run valkey's own test: several threads store, fetch and compare values, and make the server fork
own_test() {
	valkey_serves
	needs_built valkey "$T_VALKEY" tests/rdma/rdma-test
	t_bg client a "$T_VALKEY/tests/rdma/rdma-test" -t 4 -h "$B4" -p "$PORT" \
		-m 128 -M "$((T_SLOW ? 200 : 1000))"
	t_wait client
	cat "$T_CASE/client.log"
	t_check "all four threads fetched their values" \
		test "$(grep -c 'GET [0-9]* KVs \[OK\]' "$T_CASE/client.log")" = 4
	valkey_ends
}

measured() {
	valkey_serves
	t_bg client a "$T_VALKEY/src/valkey-benchmark" --rdma -h "$B4" -p "$PORT" -c 8 -n "$(t_iters 400)" \
		-d 1000 --csv -t set,get,lpush,incr
	t_wait client
	cat "$T_CASE/client.log"
	t_check "all four commands were measured" \
		test "$(grep -c '^"[A-Z]' "$T_CASE/client.log")" = 4
	valkey_ends
}

clients_die() {
	local i before
	valkey_serves
	for i in $(seq 10); do
		before=$(connects)
		t_bg "client$i" a "$T_VALKEY/src/valkey-benchmark" --rdma -h "$B4" -p "$PORT" -c 8 -n 10000000 -d 1000 -t set
		t_until "$T_TIME" eval "[ \$(connects) -gt $before ]"
		t_kill "client$i" KILL
		t_check "the server still runs" t_alive server
	done
	valkey_ends
}

one_device
t_case "valkey: values of many sizes" "" moved values
t_case "valkey: its own RDMA test, four threads" "" moved own_test
t_case "valkey: valkey-benchmark" "" moved measured
t_case "valkey: clients are killed, the server continues" "" moved clients_die
t_end
