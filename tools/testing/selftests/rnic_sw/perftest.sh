#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# perftest.sh: run the programs of the package perftest as functional tests.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

readonly bandwidth="ib_send_bw ib_write_bw ib_read_bw"
readonly latency="ib_send_lat ib_write_lat ib_read_lat"
readonly atomics="ib_atomic_bw ib_atomic_lat"

# Over SCTP in a debug kernel all tests of perftest take five minutes: there only the following
# tests are run, unless T_LONG=1.
readonly chosen="4 KiB|64 bytes|bidirectional, 8 queue pairs|events|shared receive queue|\
FETCH_AND_ADD, bidirectional, 8 queue pairs|veth, 64 KiB|veth|veth, MTU 9000"

# In a debug kernel the longest tests use only one program instead of all
dear=$bandwidth
[ -z "$T_SLOW" ] || [ -n "${T_LONG:-}" ] || dear=ib_write_bw

is_chosen() {
	[ -z "${T_LLP:-}" ] || [ -z "$T_SLOW" ] || [ -n "${T_LONG:-}" ] || [[ "|$chosen|" == *"|$1|"* ]]
}

define_for_all() {
	local words=$1 programs=$2 prog
	shift 2
	is_chosen "$words" || return 0
	for prog in $programs; do
		t_case "$prog, $words" "" t_perftest "$prog" "$@"
	done
}

run_ipv6() {
	"$1" --help 2>&1 | grep -q -e --ipv6-addr ||
		t_skip "this perftest has no --ipv6-addr"
	T_TO=$B6 t_perftest "$@"
}

run_with_imm() {
	"$1" --help 2>&1 | grep -q write_with_imm || t_skip "this perftest has no --write_with_imm"
	t_perftest "$@" --write_with_imm
}

n=$(t_iters 1000)
# number of iterations of latency tests: few on slow machines, because both ends poll, and on one
# CPU each iteration waits for one or two time slices
turns=$((T_SLOW ? 40 : 1000))
one_device
define_for_all "4 KiB" "$bandwidth" -s 4096 -n "$n"
define_for_all "64 bytes" "$latency" -s 64 -n "$turns"
define_for_all "all sizes to 8 MiB" "$dear" -a -n 5
[ -n "$T_SLOW" ] || define_for_all "all sizes to 8 MiB" "$latency" -a -n 5
define_for_all "16 queue pairs" "$dear" -q 16 -s 4096 -n 100
define_for_all "64 queue pairs, 64 KiB" "$dear" -q 64 -s 65536 -n 10
define_for_all "bidirectional" "$bandwidth" -b -s 65536 -n "$(t_iters 500)"
define_for_all "bidirectional, 8 queue pairs" "$bandwidth" -b -q 8 -s 8192 -n 100
# ib_write_bw is left out because it has no events. ib_send_bw's server reports received messages
# with Writes, and a client that waits for events is not notified of Writes. The client hangs if it
# is ahead of these reports by the depth of the receive queue less one. If the number of Sends is
# odd, the depth is that number plus one, so the client is never as far ahead.
define_for_all "events" "ib_send_bw ib_read_bw" -e -s 4096 -n 499
define_for_all "events" "ib_send_lat ib_read_lat" -e -s 64 -n "$(t_iters 500)"
define_for_all "inline" "ib_send_bw ib_write_bw" -I 64 -s 64 -n "$(t_iters 500)"
define_for_all "inline" "ib_send_lat ib_write_lat" -I 64 -s 64 -n "$turns"
define_for_all "batches of 16" "$bandwidth" -l 16 -s 512 -n 320
define_for_all "queue depth 1" "$bandwidth" -t 1 -s 512 -n 100
define_for_all "queue depth 2048" "$bandwidth" -t 2048 -s 64 -n "$((T_SLOW ? 2048 : 8192))"
define_for_all "a completion for each request" "$bandwidth" -Q 1 -s 1024 -n 200
define_for_all "shared receive queue" "ib_send_bw" --use-srq -s 4096 -n 200
define_for_all "odd size" "$bandwidth" -s 12345 -n 100
define_for_all "one byte" "$bandwidth" -s 1 -n 100
define_for_all "for 2 seconds" "$dear" -D 2 -s 65536
define_for_all "1 outstanding Read" "ib_read_bw" -o 1 -s 65536 -n 100
for op in FETCH_AND_ADD CMP_AND_SWAP; do
	define_for_all "$op" "$atomics" -A $op -n "$n"
	define_for_all "$op, bidirectional, 8 queue pairs" ib_atomic_bw -A $op -b -q 8 -n 200
	define_for_all "$op, 1 outstanding" ib_atomic_bw -A $op -o 1 -n 200
	define_for_all "$op, events" "$atomics" -A $op -e -n 200
done
t_case "ib_write_bw, with immediate" "" run_with_imm ib_write_bw -s 4096 -n "$n"
t_undo

two_hosts
define_for_all "veth, 64 KiB" "$bandwidth" -s 65536 -n "$(t_iters 1000)"
define_for_all "veth, 64 bytes" "$latency" -s 64 -n "$turns"
define_for_all "veth" "$atomics" -A FETCH_AND_ADD -n "$(t_iters 500)"
define_for_all "veth, 1 MiB, bidirectional" "$dear" -b -s 1048576 -n 20
for prog in $bandwidth; do
	t_case "$prog, veth, IPv6" "" run_ipv6 "$prog" --ipv6-addr -s 65536 -n 100
done
t_undo

two_hosts mtu 9000
define_for_all "veth, MTU 9000" "$bandwidth" -s 65536 -n "$(t_iters 500)"
t_end
