#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# program_sockets.sh: programs that know nothing of RDMA, with librspreload, which
# makes their sockets rsockets. It knows no SOCK_CLOEXEC, no accept4() and no epoll:
# what uses these goes over TCP, hence the netcat of old.

. "$(dirname "$(readlink -f "$0")")/programs.sh"

# over_rsockets PROGRAM ARGS...: OVER, that command
over_rsockets() {
	local lib found=
	for lib in /usr/lib/*/rsocket/librspreload.so /usr/lib*/rsocket/librspreload.so; do
		[ ! -e "$lib" ] || found=$lib
	done
	[ -n "$found" ] || t_skip "no librspreload here"
	OVER=(env "LD_PRELOAD=$found" "$@")
}

# It ends when the other end has closed.
file_by_netcat() {
	needs nc.traditional netcat-traditional
	some_data 3000001
	t_port
	over_rsockets nc.traditional
	t_pair "$PORT" bash -c 'exec "${@:2}" >"$1"' - "$T_CASE/got" "${OVER[@]}" -l -s "$B4" -p "$PORT" -- \
		bash -c 'exec "${@:2}" <"$1"' - "$DATA" "${OVER[@]}" -q 3 "$B4" "$PORT"
	cmp "$DATA" "$T_CASE/got"
	rm "$T_CASE/got"
	nothing_left
}

# page_of FILE: as a server would answer a request
page_of() {
	printf 'HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n' "$(stat -c %s "$1")"
	cat "$1"
}

page_by_curl() {
	needs nc.traditional netcat-traditional
	needs curl curl
	some_data 3000001
	page_of "$DATA" >"$T_CASE/page"
	t_port
	over_rsockets nc.traditional
	t_bg server b bash -c 'exec "${@:2}" <"$1"' - "$T_CASE/page" "${OVER[@]}" -l -s "$B4" -p "$PORT"
	t_listens b "$PORT"
	over_rsockets curl
	t_bg client a "${OVER[@]}" -s -o "$T_CASE/got" "http://$B4:$PORT/"
	t_wait client
	t_wait server "$T_TIME"
	cmp "$DATA" "$T_CASE/got"
	rm "$T_CASE/got" "$T_CASE/page"
	nothing_left
}

one_device
t_case "rsockets: netcat sends a file" "" moved file_by_netcat
t_case "rsockets: curl gets a page" "" moved page_by_curl
t_end
