# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# foreign.sh: rping and perftest, which have faults of their own: a case that meets one
# tries again. lib.sh sources it, and says what there is.

# Its thread for events ends it with an error if it sees their channel closed first.
t_closed_first() { grep -q 'rdma_get_cm_event: Bad file descriptor' "$@"; }

# Its client is content with any end, also of a connection that goes before its rounds are done.
t_whole() { test -e "$1" && ! grep -E 'wait for RDMA_|post send error|data mismatch' "$1"; }

# t_pinged NAME: has the client that runs as that done all that it was to do?
t_pinged() {
	t_wait "$1" || t_closed_first "$T_CASE/$1.log" || return 1
	t_whole "$T_CASE/$1.log"
}

t_call() {
	local try log=$T_CASE/call.log
	for try in 1 2 3; do
		echo "a: rping -c -a $1 -p $PORT ${*:2}"
		if on a timeout "$T_TIME" rping -c -a "$1" -p "$PORT" "${@:2}" >"$log" 2>&1; then
			t_whole "$log"
			return
		fi
		cat "$log"
		t_closed_first "$log" || return 1
	done
	t_fail "that happened $try times"
}

t_rping() {
	local address=$1 try
	shift
	for try in 1 2 3; do
		t_port
		if t_both "-$try" "$PORT" rping -s -a "${T_AT:-$address}" -p "$PORT" "$@" -- \
			rping -c -a "$address" -p "$PORT" "$@"; then
			t_whole "$T_CASE/client-$try.log"
			return
		fi
		t_closed_first "$T_CASE/client-$try.log" "$T_CASE/server-$try.log" || return 1
		echo "its events' channel was closed; again"
	done
	t_fail "that happened $try times"
}

# On a slow or jittery machine perftest finds its clock unreliable and gives up.
# Its server does not listen all the time between the client's two connections, and the
# client cannot cope with a refusal. With one CPU that is frequent, hence late_connect.
t_perftest() {
	local prog=$1 try late
	shift
	late=$(t_prog late_connect.so)
	command -v "$prog" >/dev/null || t_skip "no $prog here (package perftest)"
	for try in 1 2 3 4 5 6 7 8 9 10; do
		t_port
		${T_EACH:-}
		if t_both "-$try" "$PORT" "$prog" -F -R -d "$B_DEV" -p "$PORT" "$@" -- \
			env LD_PRELOAD="$late" "$prog" -F -R -d "$A_DEV" -p "$PORT" "$@" \
			"${T_TO:-$B4}"; then
			return 0
		fi
		grep -qE "Can't produce a report|Correlation coefficient|measured.*MHz|REJECTED; error: -104" \
			"$T_CASE/client-$try.log" "$T_CASE/server-$try.log" || return 1
		echo "its clock calibration failed, or it did not listen; again"
	done
	t_fail "that happened $try times"
}
