# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# foreign.sh: run rping and perftest, and retry if they fail because of a known fault of these
# programs; sourced by lib.sh, which lists the functions.

# Check for rping's error that its event channel was closed before its event thread exited.
t_has_event_channel_error() { grep -q 'rdma_get_cm_event: Bad file descriptor' "$@"; }

# Check that rping has done all rounds, because its client exits without an error if the connection
# ends earlier.
t_check_rping_complete() {
	test -e "$1" && ! grep -E 'wait for RDMA_|post send error|data mismatch' "$1"
}

# t_wait_rping NAME: wait for the rping client NAME and check that all its rounds were done
t_wait_rping() {
	t_wait "$1" || t_has_event_channel_error "$T_CASE/$1.log" || return 1
	t_check_rping_complete "$T_CASE/$1.log"
}

t_run_rping_client() {
	local try log=$T_CASE/call.log
	for try in 1 2 3; do
		echo "a: rping -c -a $1 -p $PORT ${*:2}"
		if on a timeout "$T_TIME" rping -c -a "$1" -p "$PORT" "${@:2}" >"$log" 2>&1; then
			t_check_rping_complete "$log"
			return
		fi
		cat "$log"
		t_has_event_channel_error "$log" || return 1
	done
	t_fail "rping's event channel was closed early in $try tries"
}

t_run_rping_pair() {
	local address=$1 try
	shift
	for try in 1 2 3; do
		t_choose_port
		if t_run_pair_with_tag "-$try" "$PORT" rping -s -a "${T_AT:-$address}" -p "$PORT" "$@" -- \
			rping -c -a "$address" -p "$PORT" "$@"; then
			t_check_rping_complete "$T_CASE/client-$try.log"
			return
		fi
		t_has_event_channel_error "$T_CASE/client-$try.log" "$T_CASE/server-$try.log" ||
			return 1
		echo "rping's event channel was closed early; retrying"
	done
	t_fail "rping's event channel was closed early in $try tries"
}

# Run a program of perftest, and retry after two known faults. First, the program gives up if its
# clock calibration fails, as it may on slow or jittery machines. Second, the client's second
# connection is refused if the server does not listen again yet, which is frequent on one CPU. To
# make this rarer, the library late_connect delays the client's connect.
t_run_perftest() {
	local prog=$1 try late
	shift
	late=$(t_find_program late_connect.so)
	command -v "$prog" >/dev/null || t_skip "program $prog not found (package perftest)"
	for try in 1 2 3 4 5 6 7 8 9 10; do
		t_choose_port
		${T_EACH:-}
		if t_run_pair_with_tag "-$try" "$PORT" "$prog" -F -R -d "$B_DEV" -p "$PORT" "$@" -- \
			env LD_PRELOAD="$late" "$prog" -F -R -d "$A_DEV" -p "$PORT" "$@" \
			"${T_TO:-$B4}"; then
			return 0
		fi
		grep -qE "Can't produce a report|Correlation coefficient|measured.*MHz|REJECTED; error: -104" \
			"$T_CASE/client-$try.log" "$T_CASE/server-$try.log" || return 1
		echo "clock calibration failed, or the server did not listen; retrying"
	done
	t_fail "clock calibration failed, or the server did not listen, in $try tries"
}
