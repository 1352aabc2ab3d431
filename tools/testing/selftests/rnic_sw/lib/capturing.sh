# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# capturing.sh: packet captures of a host's traffic; sourced by lib.sh.
#
#   t_start_capture HOST FILE  starts tcpdump on HOST and waits until it captures
#   t_end_capture HOST         waits until FILE has all packets sent so far, and stops tcpdump

# shellcheck disable=SC2154	# lib.sh sets t_pids and t_hosts
declare -A t_capture_file t_capture_dev
# payload of the last packet of a capture, which no other packet contains
readonly T_LAST_WORD='the capture ends here'

# If there is one device, both ends are on one host and the traffic goes through lo.
t_start_capture() {
	local dev=lo
	[ -z "${NS_A:-}" ] || { [ "$1" = a ] && dev=$A_IF || dev=$B_IF; }
	t_capture_dev[$1]=$dev t_capture_file[$1]=$2
	rm -f "$2" "$T_CASE/tcpdump-$1.log"
	(t_exec_on_host "$1" tcpdump -i "$dev" -n -U -s 0 -B 16384 -Z root -w "$2") \
		>"$T_CASE/tcpdump-$1.log" 2>&1 &
	t_pids[tcpdump-$1]=$!
	t_defer t_end_capture "$1"
	t_wait_until 60 grep -q 'listening on' "$T_CASE/tcpdump-$1.log"
}

t_end_capture() {
	[ -n "${t_pids[tcpdump-$1]:-}" ] || return 0
	t_wait_capture_written "$1"
	t_kill "tcpdump-$1" INT
}

# tcpdump gets packets from the kernel about a second late, and loses them if it exits before.
# Therefore send a marker packet and wait until it is in the file.
t_wait_capture_written() {
	for _ in 1 2 3 4; do
		# sending fails if the interface is down or was removed
		t_send_capture_marker "$1" 2>/dev/null || break
		! t_wait_until 5 t_has_capture_marker "$1" || return 0
	done
	echo "the capture on host $1 may be incomplete at its end"
	sleep 2
}

t_send_capture_marker() {
	local to=ff02::1%${t_capture_dev[$1]}
	[ "${t_capture_dev[$1]}" != lo ] || to=127.0.0.1
	on "$1" bash -c 'echo "$0" >"/dev/udp/$1/9"' "$T_LAST_WORD" "$to"
}

t_has_capture_marker() {
	tail -c 65536 "${t_capture_file[$1]}" 2>/dev/null | grep -qF "$T_LAST_WORD"
}

t_start_captures_if_enabled() {
	local host
	[ "${T_CAPTURE:-}" = 1 ] && command -v tcpdump >/dev/null || return 0
	for host in "${t_hosts[@]}"; do
		t_start_capture "$host" "$T_CASE/$host.pcap"
	done
}
