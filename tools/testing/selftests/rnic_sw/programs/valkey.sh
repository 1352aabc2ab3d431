#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/valkey.sh: valkey with RDMA. T_VALKEY=DIR: its source, where it was built
# (scripts/build-program), not below /tmp.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

valkey_serves() {
	needs_built valkey "${T_VALKEY:-}" src/valkey-rdma.so
	t_port
	t_bg server b "$T_VALKEY/src/valkey-server" --port 0 --save "" --dir "$T_CASE" \
		--loadmodule "$T_VALKEY/src/valkey-rdma.so" --rdma-bind "$B4" --rdma-port "$PORT"
	t_listens b "$PORT"
}

cli() { on a timeout "$T_TIME" "$T_VALKEY/src/valkey-cli" --rdma -h "$B4" -p "$PORT" "$@"; }

# On a busy machine the client now and then writes where it has no connection, and ends with
# a signal (a null pointer of its own): once more.
stored() {
	for _ in 1 2 3; do
		[ "$(cli -x SET "$1" <"$2")" != OK ] || return 0
	done
	false
}

# fetched KEY OCTETS FILE: what was stored
fetched() {
	for _ in 1 2 3; do
		cli --raw GET "$1" | head -c "$2" >"$T_CASE/got" || :
		[ ! -s "$T_CASE/got" ] || break
	done
	cmp "$3" "$T_CASE/got"
}

# It must live, and go when it is told
valkey_ends() {
	t_check "the server does not answer" test "$(cli PING)" = PONG
	t_kill server
	nothing_left
}

# The client ends each value that it prints with a newline
values() {
	local size
	valkey_serves
	for size in 1 1000 16384 65537 1000003 5000001; do
		some_data $size
		stored "key$size" "$DATA"
		t_check "not what was stored, of $size octets" fetched "key$size" $size "$DATA"
	done
	rm "$T_CASE/got"
	valkey_ends
}

# Its own test: several threads store and fetch, compare, and have the server fork
own_test() {
	valkey_serves
	needs_built valkey "$T_VALKEY" tests/rdma/rdma-test
	t_bg client a "$T_VALKEY/tests/rdma/rdma-test" -t 4 -h "$B4" -p "$PORT" \
		-m 128 -M "$((T_SLOW ? 200 : 1000))"
	t_wait client
	cat "$T_CASE/client.log"
	t_check "not all four fetched" test "$(grep -c 'GET [0-9]* KVs \[OK\]' "$T_CASE/client.log")" = 4
	valkey_ends
}

measured() {
	valkey_serves
	t_bg client a "$T_VALKEY/src/valkey-benchmark" --rdma -h "$B4" -p "$PORT" -c 8 -n "$(t_iters 400)" \
		-d 1000 --csv -t set,get,lpush,incr
	t_wait client
	cat "$T_CASE/client.log"
	t_check "not all four were measured" test "$(grep -c '^"[A-Z]' "$T_CASE/client.log")" = 4
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
		t_check "the server has ended" t_alive server
	done
	valkey_ends
}

one_device
t_case "valkey: values of many sizes, every octet" "" moved values
t_case "valkey: its own test of RDMA, four threads" "" moved own_test
t_case "valkey: valkey-benchmark" "" moved measured
t_case "valkey: clients die, the server lives" "" moved clients_die
t_end
