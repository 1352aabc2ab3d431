#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# rdmacm.sh: run the programs that come with librdmacm.

. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"

# run_rping ADDRESS ROUNDS SIZE: run rping
run_rping() {
	t_run_rping_pair "$1" -C "$2" -S "$3" -V
}

ping_with_many_sizes() {
	local size
	for size in 32 100 1000 1408 4096 8192 16384 65535; do
		run_rping "$1" 5 $size
	done
}

# Run one persistent server, with clients one after the other and then eight at the same time.
many_clients_ping_persistent_server() {
	local i before
	t_choose_port
	# T_TIME is the time limit of each of the 108 clients; the server runs longer
	T_TIME=$((10 * T_TIME)) t_start server b rping -s -P -a "$B4" -p "$PORT"
	t_wait_listener b "$PORT"
	for i in $(seq "$(t_scale_rounds 100)"); do
		t_run_rping_client "$B4" -C 2
	done
	before=$(t_print_counter "$B_DEV" accepts)
	for i in $(seq 8); do
		t_start "client$i" a rping -c -a "$B4" -p "$PORT" -C "$(t_scale_rounds 200)"
		# wait, because rping's server loses a request if the next one arrives immediately
		# after it
		t_wait_until "$T_TIME" t_has_accepted_connections $((before + i)) ||
			t_fail "client $i is not connected"
	done
	for i in $(seq 8); do
		t_wait_rping "client$i"
	done
	t_check "the server is alive" t_is_alive server
}

ping_server_listening_on_wildcard() {
	T_AT=$2 t_run_rping_pair "$1" -C 5
}

connect_without_listener_is_rejected() {
	t_choose_port
	t_check_fails_with "RDMA_CM_EVENT_REJECTED, error -104" \
		on a timeout 30 rping -c -a "$B4" -p "$PORT" -C 1
}

# ucmatose always listens on port 7471.
run_ucmatose() {
	t_run_pair 7471 ucmatose -b "$1" "${@:2}" -- ucmatose -s "$1" "${@:2}"
}

run_rdma_client_server() {
	t_choose_port
	t_run_pair "$PORT" rdma_server -s "$1" -p "$PORT" -- rdma_client -s "$1" -p "$PORT"
}

# Run cmtime; its server does not exit when the client is done. In newer versions, which have the
# option -m, the server also opens a TCP listener on the port of its RDMA listener. Over iWARP the
# RDMA listener already uses this TCP port, so the server exits.
run_cmtime() {
	local before
	! cmtime -? 2>&1 | grep -q mimic ||
		t_skip "this cmtime uses its port for TCP and RDMA, which iWARP does not allow"
	before=$(t_print_counter "$B_DEV" accepts)
	t_choose_port
	t_start server b cmtime -b "$B4" -p "$PORT" -c 50
	t_wait_listener b "$PORT"
	t_start client a cmtime -s "$B4" -p "$PORT" -c 50
	t_wait client
	t_check "all 50 connections were accepted" \
		test "$(t_print_counter "$B_DEV" accepts)" -ge $((before + 50))
}

# run_stream PROGRAM ARGS...: run a server and a client; the server exits when the connection ends
run_stream() {
	local prog=$1
	shift
	t_choose_port
	t_run_pair "$PORT" "$prog" -b "$B4" -p "$PORT" "$@" -- \
		"$prog" -s "$B4" -p "$PORT" "$@"
}

# run_stream_async ARGS...: run rstream, first with an asynchronous server, then with two
# asynchronous ends. An asynchronous client fails with status 16 (POLLHUP) if the end of the
# connection arrives together with the last bytes, which is usual on one CPU. The server has then
# transferred all data.
run_stream_async() {
	local try
	run_rstream_pair "" "$*" "$* -T a"
	for try in 1 2 3; do
		run_rstream_pair "-$try" "$* -T a" "$* -T a" && return 0
		grep -q "^client-$try ended with status 16" "$T_CASE/log" || return 1
		echo "retrying"
	done
	t_check "the server has transferred all data" grep -q '^custom ' "$T_CASE/server-$try.log"
}

# run_rstream_pair TAG CLIENT-ARGS SERVER-ARGS: run rstream with different arguments at both ends
run_rstream_pair() {
	t_choose_port
	# shellcheck disable=SC2086	# to be split into words
	t_run_pair_with_tag "$1" "$PORT" rstream -b "$B4" -p "$PORT" $3 -- \
		rstream -s "$B4" -p "$PORT" $2
}

run_stream_ipv6() {
	t_choose_port
	t_run_pair "$PORT" rstream -b "$B6" -p "$PORT" -I 20 -C 20 -T v -- \
		rstream -s "$B6" -p "$PORT" -I 20 -C 20 -T v
}

# Run rstream's fork server, which never exits and uses plain sockets on a second port.
run_stream_fork() {
	t_choose_port
	t_start server b rstream -b "$B4" -p "$PORT" -I 10 -C 10 -T f
	t_wait_listener b "$PORT"
	t_start client a rstream -s "$B4" -p "$PORT" -I 10 -C 10 -T s
	t_wait client
}

# Copy a file in /tmp: the server maps the file for writing, which the beds' 9P does not support.
copy_file_with_rcopy() {
	local dir
	dir=$(mktemp -d)
	t_defer rm -rf "$dir"
	t_choose_port
	head -c 5000001 /dev/urandom >"$dir/from"
	t_start server b rcopy -p "$PORT"
	t_wait_listener b "$PORT"
	on a timeout "$T_TIME" rcopy "$dir/from" "$B4:$dir/to" -p "$PORT"
	cmp "$dir/from" "$dir/to"
}

# Programs that use datagrams must fail, because iWARP has no datagrams.
NO_QP="unable to create QP: Operation not supported"
datagrams_are_refused() {
	t_check_fails_with "$NO_QP" on a timeout 60 udaddy -s "$B4" -b "$A4"
}

multicast_is_refused() {
	t_check_fails_with "$NO_QP" on a timeout 60 mckey -m 239.1.1.1 -b "$A4"
}

# The RDMA core starts a wildcard listener on a device that is added later. If the port is already
# in use on that device, adding the device must still succeed.
device_can_be_added_if_port_is_in_use() {
	t_choose_port
	t_start everywhere a rping -s -P -a 0.0.0.0 -p "$PORT"
	t_wait_listener a "$PORT"
	on a rdma link del "$A_DEV"
	t_start other a python3 -c "import socket, time; s = socket.socket(); \
		s.setsockopt(1, 2, 1); s.bind(('', $PORT)); s.listen(); time.sleep($T_TIME)"
	t_wait_listener a "$PORT"
	t_create_device "$A_DEV" "$A_IF"
	t_run_rping_pair "$B4" -C 3
	t_check "the wildcard listener still runs" t_is_alive everywhere
}

define_common_cases() {
	local n
	n=$(t_scale_rounds 1000)
	t_case "$1: rping, $n rounds, IPv4" "" run_rping "$B4" "$n" 100
	t_case "$1: rping, $n rounds, IPv6" "" run_rping "$B6" "$n" 100
	t_case "$1: rping, sizes up to 64 KiB, IPv4" "" ping_with_many_sizes "$B4"
	t_case "$1: rping, sizes up to 64 KiB, IPv6" "" ping_with_many_sizes "$B6"
	t_case "$1: rping, 64 KiB, many rounds" "" run_rping "$B4" "$(t_scale_rounds 500)" 65535
	t_case "$1: rping, persistent server" "" many_clients_ping_persistent_server
	t_case "$1: rping, wildcard listener, IPv4" "" ping_server_listening_on_wildcard "$B4" 0.0.0.0
	t_case "$1: rping, wildcard listener, IPv6" "" ping_server_listening_on_wildcard "$B6" ::0
	t_case "$1: rping, IPv4 to a listener on [::]" "" ping_server_listening_on_wildcard "$B4" ::0
	t_case "$1: rping, no listener" "" connect_without_listener_is_rejected
	t_case "$1: ucmatose, IPv4" "" run_ucmatose "$B4"
	t_case "$1: ucmatose, IPv6" "" run_ucmatose "$B6"
	t_case "$1: ucmatose, 100 connections" "" run_ucmatose "$B4" -c 100 -C 20 -S 1000
	t_case "$1: ucmatose, channel migration" "" run_ucmatose "$B4" -m -c 4
	t_case "$1: cmtime, 50 connections" "" run_cmtime
	t_case "$1: rdma_server and rdma_client, IPv4" "" run_rdma_client_server "$B4"
	t_case "$1: rdma_server and rdma_client, IPv6" "" run_rdma_client_server "$B6"
	t_case "$1: rstream, verified" "" run_stream rstream -I 50 -C 20 -T v
	t_case "$1: riostream, verified" "" run_stream riostream -I 50 -C 5 -T v
}

create_two_hosts
define_common_cases "two hosts"
t_run_deferred
unset NS_A NS_B

create_one_device
# Over SCTP in a debug kernel, the common cases run only between two hosts, not on one device
[ -n "${T_LLP:-}" ] && [ -n "$T_SLOW" ] && [ -z "${T_LONG:-}" ] || define_common_cases "one device"
t_case "rstream, blocking" "" run_stream rstream -I 50 -C 20 -T b
t_case "rstream, nonblocking" "" run_stream rstream -I 50 -C 20 -T n
t_case "rstream, async" "" run_stream_async -I $((T_SLOW ? 20 : 50)) -C 10
t_case "rstream, async and nonblocking, verified" "" run_stream_async -I 10 -C 5 -T n -T v
t_case "rstream, resolve" "" run_stream rstream -I 50 -C 20 -T r
t_case "rstream, fork" "" run_stream_fork
t_case "rstream, all sizes" "" run_stream rstream -S all -I $((T_SLOW ? 5 : 100)) -C 10
t_case "rstream, 1 MiB" "" run_stream rstream -I 5 -C 2 -S 1048576 -T v
t_case "rstream, small buffers" "" run_stream rstream -B 4096 -I 5 -C 20 -S 10000 -T v
t_case "rstream, IPv6, verified" "" run_stream_ipv6
t_case "riostream, blocking" "" run_stream riostream -I 50 -C 5 -T b
t_case "riostream, nonblocking" "" run_stream riostream -I 50 -C 5 -T n
t_case "riostream, async, verified" "" run_stream riostream -I 50 -C 5 -T a -T v
t_case "riostream, all sizes" "" run_stream riostream -S all -I $((T_SLOW ? 3 : 100))
t_case "rcopy, 5 MB" "" copy_file_with_rcopy
[ -n "${T_LLP:-}" ] ||
	t_case "device added while a wildcard listener's port is in use" "" \
		device_can_be_added_if_port_is_in_use
t_case "udaddy refused" "" datagrams_are_refused
t_case "mckey refused" "" multicast_is_refused
t_print_summary_and_exit
