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
	[ -z "${T_LLP:-}" ] || [ -z "$T_SLOW" ] || [ -n "${T_LONG:-}" ] ||
		[[ "|$chosen|" == *"|$1|"* ]]
}

define_cases_of_programs() {
	local words=$1 programs=$2 prog
	shift 2
	is_chosen "$words" || return 0
	for prog in $programs; do
		t_case "$prog, $words" "" t_run_perftest "$prog" "$@"
	done
}

run_perftest_ipv6() {
	"$1" --help 2>&1 | grep -q -e --ipv6-addr ||
		t_skip "this perftest has no --ipv6-addr"
	T_TO=$B6 t_run_perftest "$@"
}

run_perftest_with_imm() {
	"$1" --help 2>&1 | grep -q write_with_imm || t_skip "this perftest has no --write_with_imm"
	t_run_perftest "$@" --write_with_imm
}

n=$(t_scale_rounds 1000)
# number of iterations of latency tests: few on slow machines, because both ends poll, and on one
# CPU each iteration waits for one or two time slices
turns=$((T_SLOW ? 40 : 1000))
create_one_device
define_cases_of_programs "4 KiB" "$bandwidth" -s 4096 -n "$n"
define_cases_of_programs "64 bytes" "$latency" -s 64 -n "$turns"
define_cases_of_programs "all sizes to 8 MiB" "$dear" -a -n 5
[ -n "$T_SLOW" ] || define_cases_of_programs "all sizes to 8 MiB" "$latency" -a -n 5
define_cases_of_programs "16 queue pairs" "$dear" -q 16 -s 4096 -n 100
define_cases_of_programs "64 queue pairs, 64 KiB" "$dear" -q 64 -s 65536 -n 10
define_cases_of_programs "bidirectional" "$bandwidth" -b -s 65536 -n "$(t_scale_rounds 500)"
define_cases_of_programs "bidirectional, 8 queue pairs" "$bandwidth" -b -q 8 -s 8192 -n 100
# ib_write_bw is left out because it has no events. ib_send_bw's server reports received messages
# with Writes, and a client that waits for events is not notified of Writes. The client hangs if it
# is ahead of these reports by the depth of the receive queue less one. If the number of Sends is
# odd, the depth is that number plus one, so the client is never as far ahead.
define_cases_of_programs "events" "ib_send_bw ib_read_bw" -e -s 4096 -n 499
define_cases_of_programs "events" "ib_send_lat ib_read_lat" -e -s 64 -n "$(t_scale_rounds 500)"
define_cases_of_programs "inline" "ib_send_bw ib_write_bw" -I 64 -s 64 -n "$(t_scale_rounds 500)"
define_cases_of_programs "inline" "ib_send_lat ib_write_lat" -I 64 -s 64 -n "$turns"
define_cases_of_programs "batches of 16" "$bandwidth" -l 16 -s 512 -n 320
define_cases_of_programs "queue depth 1" "$bandwidth" -t 1 -s 512 -n 100
define_cases_of_programs "queue depth 2048" "$bandwidth" -t 2048 -s 64 \
	-n "$((T_SLOW ? 2048 : 8192))"
define_cases_of_programs "a completion for each request" "$bandwidth" -Q 1 -s 1024 -n 200
define_cases_of_programs "shared receive queue" "ib_send_bw" --use-srq -s 4096 -n 200
define_cases_of_programs "odd size" "$bandwidth" -s 12345 -n 100
define_cases_of_programs "one byte" "$bandwidth" -s 1 -n 100
define_cases_of_programs "for 2 seconds" "$dear" -D 2 -s 65536
define_cases_of_programs "1 outstanding Read" "ib_read_bw" -o 1 -s 65536 -n 100
for op in FETCH_AND_ADD CMP_AND_SWAP; do
	define_cases_of_programs "$op" "$atomics" -A $op -n "$n"
	define_cases_of_programs "$op, bidirectional, 8 queue pairs" ib_atomic_bw -A $op -b -q 8 \
		-n 200
	define_cases_of_programs "$op, 1 outstanding" ib_atomic_bw -A $op -o 1 -n 200
	define_cases_of_programs "$op, events" "$atomics" -A $op -e -n 200
done
t_case "ib_write_bw, with immediate" "" run_perftest_with_imm ib_write_bw -s 4096 -n "$n"
t_run_deferred

create_two_hosts
define_cases_of_programs "veth, 64 KiB" "$bandwidth" -s 65536 -n "$(t_scale_rounds 1000)"
define_cases_of_programs "veth, 64 bytes" "$latency" -s 64 -n "$turns"
define_cases_of_programs "veth" "$atomics" -A FETCH_AND_ADD -n "$(t_scale_rounds 500)"
define_cases_of_programs "veth, 1 MiB, bidirectional" "$dear" -b -s 1048576 -n 20
for prog in $bandwidth; do
	t_case "$prog, veth, IPv6" "" run_perftest_ipv6 "$prog" --ipv6-addr -s 65536 -n 100
done
t_run_deferred

create_two_hosts mtu 9000
define_cases_of_programs "veth, MTU 9000" "$bandwidth" -s 65536 -n "$(t_scale_rounds 500)"
t_print_summary_and_exit
