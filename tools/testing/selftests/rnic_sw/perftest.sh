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

all_of() {
	local words=$1 programs=$2 prog
	shift 2
	is_chosen "$words" || return 0
	for prog in $programs; do
		t_case "$prog, $words" "" t_perftest "$prog" "$@"
	done
}

ipv6() {
	"$1" --help 2>&1 | grep -q -e --ipv6-addr ||
		t_skip "this perftest has no --ipv6-addr"
	T_TO=$B6 t_perftest "$@"
}

with_imm() {
	"$1" --help 2>&1 | grep -q write_with_imm || t_skip "this perftest has no --write_with_imm"
	t_perftest "$@" --write_with_imm
}

n=$(t_iters 1000)
# Number of iterations of latency tests. Both ends poll, so on one CPU each iteration waits for one
# or two time slices.
turns=$((T_SLOW ? 40 : 1000))
one_device
all_of "4 KiB" "$bandwidth" -s 4096 -n "$n"
all_of "64 bytes" "$latency" -s 64 -n "$turns"
all_of "all sizes to 8 MiB" "$dear" -a -n 5
[ -n "$T_SLOW" ] || all_of "all sizes to 8 MiB" "$latency" -a -n 5
all_of "16 queue pairs" "$dear" -q 16 -s 4096 -n 100
all_of "64 queue pairs, 64 KiB" "$dear" -q 64 -s 65536 -n 10
all_of "bidirectional" "$bandwidth" -b -s 65536 -n "$(t_iters 500)"
all_of "bidirectional, 8 queue pairs" "$bandwidth" -b -q 8 -s 8192 -n 100
# ib_write_bw is left out because it has no events. ib_send_bw's server reports received messages
# by Writes. A client that waits for events does not notice these Writes, and hangs when it is ahead
# by the receive queue depth less one. An odd number of Sends avoids that, because the depth is then
# the number of Sends plus one.
all_of "events" "ib_send_bw ib_read_bw" -e -s 4096 -n 499
all_of "events" "ib_send_lat ib_read_lat" -e -s 64 -n "$(t_iters 500)"
all_of "inline" "ib_send_bw ib_write_bw" -I 64 -s 64 -n "$(t_iters 500)"
all_of "inline" "ib_send_lat ib_write_lat" -I 64 -s 64 -n "$turns"
all_of "batches of 16" "$bandwidth" -l 16 -s 512 -n 320
all_of "queue depth 1" "$bandwidth" -t 1 -s 512 -n 100
all_of "queue depth 2048" "$bandwidth" -t 2048 -s 64 -n "$((T_SLOW ? 2048 : 8192))"
all_of "a completion for each request" "$bandwidth" -Q 1 -s 1024 -n 200
all_of "shared receive queue" "ib_send_bw" --use-srq -s 4096 -n 200
all_of "odd size" "$bandwidth" -s 12345 -n 100
all_of "one byte" "$bandwidth" -s 1 -n 100
all_of "for 2 seconds" "$dear" -D 2 -s 65536
all_of "1 outstanding Read" "ib_read_bw" -o 1 -s 65536 -n 100
for op in FETCH_AND_ADD CMP_AND_SWAP; do
	all_of "$op" "$atomics" -A $op -n "$n"
	all_of "$op, bidirectional, 8 queue pairs" ib_atomic_bw -A $op -b -q 8 -n 200
	all_of "$op, 1 outstanding" ib_atomic_bw -A $op -o 1 -n 200
	all_of "$op, events" "$atomics" -A $op -e -n 200
done
t_case "ib_write_bw, with immediate" "" with_imm ib_write_bw -s 4096 -n "$n"
t_undo

two_hosts
all_of "veth, 64 KiB" "$bandwidth" -s 65536 -n "$(t_iters 1000)"
all_of "veth, 64 bytes" "$latency" -s 64 -n "$turns"
all_of "veth" "$atomics" -A FETCH_AND_ADD -n "$(t_iters 500)"
all_of "veth, 1 MiB, bidirectional" "$dear" -b -s 1048576 -n 20
for prog in $bandwidth; do
	t_case "$prog, veth, IPv6" "" ipv6 "$prog" --ipv6-addr -s 65536 -n 100
done
t_undo

two_hosts mtu 9000
all_of "veth, MTU 9000" "$bandwidth" -s 65536 -n "$(t_iters 500)"
t_end
