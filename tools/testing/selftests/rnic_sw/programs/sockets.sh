#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# programs/sockets.sh: socket programs with librspreload, which turns their sockets into rsockets.
# The library does not support SOCK_CLOEXEC, accept4() and epoll; programs that use these get TCP
# sockets. Therefore the traditional netcat is used.

. "$(dirname "$(readlink -f "$0")")/../lib/programs.sh"

# set_preload_command PROGRAM ARGS...: set OVER to the words that run a command with librspreload
set_preload_command() {
	local lib found=
	for lib in /usr/lib/*/rsocket/librspreload.so /usr/lib*/rsocket/librspreload.so; do
		[ ! -e "$lib" ] || found=$lib
	done
	[ -n "$found" ] || t_skip "librspreload not found"
	OVER=(env "LD_PRELOAD=$found" "$@")
}

# netcat exits when the other end has closed the connection.
netcat_sends_file_unchanged() {
	skip_without_program nc.traditional netcat-traditional
	create_random_file 3000001
	t_choose_port
	set_preload_command nc.traditional
	t_run_pair "$PORT" bash -c 'exec "${@:2}" >"$1"' - "$T_CASE/got" "${OVER[@]}" -l -s "$B4" \
		-p "$PORT" -- \
		bash -c 'exec "${@:2}" <"$1"' - "$DATA" "${OVER[@]}" -q 3 "$B4" "$PORT"
	cmp "$DATA" "$T_CASE/got"
	rm "$T_CASE/got"
	check_objects_are_freed
}

# print_http_response FILE: print an HTTP response
print_http_response() {
	printf 'HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n' "$(stat -c %s "$1")"
	cat "$1"
}

curl_gets_page() {
	skip_without_program nc.traditional netcat-traditional
	skip_without_program curl curl
	create_random_file 3000001
	print_http_response "$DATA" >"$T_CASE/page"
	t_choose_port
	set_preload_command nc.traditional
	t_start server b bash -c 'exec "${@:2}" <"$1"' - "$T_CASE/page" "${OVER[@]}" -l -s "$B4" \
		-p "$PORT"
	t_wait_listener b "$PORT"
	set_preload_command curl
	t_start client a "${OVER[@]}" -s -o "$T_CASE/got" "http://$B4:$PORT/"
	t_wait client
	t_wait server "$T_TIME"
	cmp "$DATA" "$T_CASE/got"
	rm "$T_CASE/got" "$T_CASE/page"
	check_objects_are_freed
}

# run_iperf3 WHERE ARGS...: run iperf3. The server listens at WHERE, or at [::] if WHERE is empty.
# Without the library select_by_poll.so iperf3 is not notified of data, see
# src/preload/select_by_poll.c.
run_iperf3() {
	local selects where=$1
	shift
	skip_without_program iperf3 iperf3
	selects=$(t_find_program select_by_poll.so)
	t_choose_port
	set_preload_command iperf3
	OVER[1]=${OVER[1]/=/=$selects:}
	t_run_pair "$PORT" "${OVER[@]}" -s -1 -p "$PORT" -F "$T_CASE/got" ${where:+-B "$where"} -- \
		"${OVER[@]}" -c "$B4" -p "$PORT" "$@"
}

# iperf3 sends a file. The server stores data until another connection reports that all data was
# sent, which may be before the last data arrives. The file is no larger than a socket's buffer,
# because iperf3 3.12 sends the rest of a larger file in the wrong order. Both faults occur over TCP
# as well.
iperf3_sends_file() {
	local came
	create_random_file 100000
	run_iperf3 "$1" -F "$DATA" -l 10000
	came=$(stat -c %s "$T_CASE/got")
	echo "$came bytes have arrived"
	cmp -n "$came" "$DATA" "$T_CASE/got"
	rm "$T_CASE/got"
	check_objects_are_freed
}

# The server may stop before the last data arrives, so bytes in the buffers of both ends may be
# missing.
iperf3_sends_20_mib() {
	run_iperf3 "$B4" -n 20M -l 65536
	cat "$T_CASE/client.log"
	t_check "all bytes arrive, except for up to 256 KiB in buffers" \
		test "$(stat -c %s "$T_CASE/got")" -ge $(((20 << 20) - (256 << 10)))
	rm "$T_CASE/got"
	check_objects_are_freed
}

create_one_device
t_case "rsockets: netcat sends a file" "" check_command_uses_device netcat_sends_file_unchanged
t_case "rsockets: curl gets a page" "" check_command_uses_device curl_gets_page
t_case "rsockets: iperf3 sends a file" "" check_command_uses_device iperf3_sends_file "$B4"
t_case "rsockets: iperf3, the server listens at [::]" "" check_command_uses_device \
	iperf3_sends_file ''
t_case "rsockets: iperf3 sends 20 MiB" "" check_command_uses_device iperf3_sends_20_mib
t_print_summary_and_exit
