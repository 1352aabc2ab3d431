# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# lib.sh: functions shared by the test scripts of rnic_sw. A script looks like this:
#
#	#!/bin/bash
#	# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#	. "$(dirname "$(readlink -f "$0")")/lib/lib.sh"
#
#	ping_many() {
#		t_run_rping_pair "$B4" -C 100
#	}
#
#	create_two_hosts
#	t_case "rping, 100 times" "RDMAP-12 DDP-93" ping_many
#	t_print_summary_and_exit
#
# Cases
#   t_case NAME "REQ-IDS" COMMAND ARGS...
#	runs COMMAND (usually a function) in a subshell with `set -e`: the case fails
#	at the first command that fails. REQ-IDS are the requirements that the case
#	shows, "" for none. Never call t_case after `if` or before `||`. The output
#	goes to a file in $T_LOG; the end of it is printed if the case fails.
#   t_fail WORDS                 fails the case; WORDS say what went wrong
#   t_skip WORDS                 skips the case; WORDS say why it cannot run
#   t_check WORDS COMMAND...     fails unless COMMAND succeeds; WORDS say what should hold
#   t_check_fails COMMAND...     fails unless COMMAND exits with an error status
#   t_check_fails_with PATTERN COMMAND...   like t_check_fails; the output must match PATTERN
#   t_skip_all WORDS             ends the script before its first case
#   t_defer COMMAND ARGS...      runs COMMAND at the end of the case (or script); LIFO order
#   t_print_summary_and_exit     the last line of a script: prints the plan, exits
#   $T_CASE                      the case's directory, for files and logs
#
# Hosts: programs run "on a" (client side) or "on b" (server side). A topology lasts
# until the end of the case that sets it up, or of the script if set up outside a case.
#   create_one_device        create_two_hosts [NETDEV-ARGS...]
#   (a and b are one host)   netns $NS_A               netns $NS_B
#     dummy t0               +------------+   veth    +------------+
#     10.9.0.1  device iw0   | va    iwa  |-----------| vb    iwb  |
#     fd00:9:0::1            | 10.9.1.1   |           | 10.9.1.2   |
#                            | fd00:9:1::1|           | fd00:9:1::2|
#                            +------------+           +------------+
#   $A4 $A6 $B4 $B6  addresses; $A_DEV $B_DEV  RDMA devices; $A_IF $B_IF  interfaces
#   on HOST COMMAND...       runs COMMAND on HOST, without a time limit
#   t_apply_netem HOST DEV WORDS...   applies netem to what HOST sends through DEV; WORDS: for tc
#   t_create_temporary_device DEV NETDEV  `rdma link add`, undone when the case (script) ends
#   t_change_setting DEV NAME VALUE [NS], t_print_setting DEV NAME [NS]   write or read a setting
#   t_create_device DEV NETDEV [NS]   `rdma link add`; enables listening on SCTP as well
#				 if RNIC_SW_LLP is sctp
#
# Programs
#   t_choose_port            sets PORT to a port that was not used before
#   t_start NAME HOST CMD...   runs CMD in the background, output in $T_CASE/NAME.log
#   t_wait NAME [SECONDS]    waits until program NAME exits; fails if its status is not 0
#   t_kill NAME [SIGNAL]     sends TERM or SIGNAL to program NAME and waits until it exits
#   t_signal NAME SIGNAL     sends SIGNAL to program NAME and does not wait
#   t_is_alive NAME, t_has_ended NAME   check whether program NAME still runs, or has exited
#   t_wait_listener HOST PORT   waits for a TCP listener on PORT
#   t_wait_until SECONDS CMD...   repeats CMD until it succeeds; fails after SECONDS
#   t_run_pair PORT SERVER... -- CLIENT...   runs SERVER on b and, once it listens, CLIENT
#				 on a; both must exit with status 0 within $T_TIME seconds
#   t_run_rping_pair ADDRESS ARGS...  runs rping client and server; server address: $T_AT if set;
#				 retries after a known fault of rping (see foreign.sh)
#   t_run_rping_client ADDRESS ARGS...   runs an rping client, for a persistent server at $PORT
#   t_run_perftest PROGRAM ARGS...   runs both ends of an ib_* program of perftest with -R; retries
#				 known faults of perftest; runs $T_EACH before each try
#   t_scale_rounds N         prints N, or N/10 in a slow (debug) kernel
#   t_print_counter DEV NAME   prints a counter of `rdma statistic`
#   t_has_accepted_connections N   checks that b's device has accepted at least N connections
#   t_start_capture HOST FILE, t_end_capture HOST   see capturing.sh
#   t_find_program NAME      prints the path of a program built by the Makefile
#   T_MODULES                the driver's modules, in the order of unloading
#   t_unload_modules [MODULE...]   waits until modules (default: T_MODULES) are unused, unloads them
#
# The environment
#   T_ONLY=PATTERN   run only cases whose name contains PATTERN (shell pattern)
#   T_STOP=1         run no case after the first failure
#   T_LOG=DIR        directory for logs (default: $BED_OUT in a bed, or a new directory)
#   T_TIME=SECONDS   time limit of a program (60; 120 in a debug kernel or QEMU)
#   T_SLOW=1         fewer iterations and longer limits, as in a debug kernel
#   T_CAPTURE=1      keep packet captures of failed cases (needs tcpdump)
#   T_LLP=sctp       connect over SCTP; a last case checks that all connections use SCTP

T_DIR=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
T_SCRIPT=$(basename "$0" .sh)
T_LOG=${T_LOG:-${BED_OUT:-$(mktemp -d "${TMPDIR:-/tmp}/rnic_sw.XXXXXX")}}
T_CASE=$T_LOG/$T_SCRIPT
# a pipe that never has data, from which t_pause() reads
exec {T_NOTHING}<> <(:)
readonly KSFT_SKIP=4
t_count=0 t_bad=0 t_skipped=0 t_deferred=() t_hosts=()
declare -A t_pids
export LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$T_CASE"
if [ -n "${T_LLP:-}" ]; then
	export RNIC_SW_LLP=$T_LLP
	rm -f "$T_CASE/connects"
fi

# Lockdep or KCSAN indicate a debug kernel, which is slower.
T_SLOW=${T_SLOW:-}
[ ! -e /proc/lockdep ] || T_SLOW=1
[ ! -e /sys/kernel/debug/kcsan ] || T_SLOW=1
# Emulated CPUs are slow as well, but can run the full number of iterations.
! grep -qE 'QEMU (TCG|Virtual)' /proc/cpuinfo || T_TIME=${T_TIME:-120}
T_TIME=${T_TIME:-$((T_SLOW ? 120 : 60))}

# Cases

t_defer() { t_deferred+=("$(printf '%q ' "$@")"); }

t_run_deferred() {
	local i
	set +e
	for ((i = ${#t_deferred[@]} - 1; i >= 0; i--)); do
		eval "${t_deferred[i]}"
	done
	t_deferred=()
}

t_fail() { [ -z "${t_words:-}" ] || echo "failed: $t_words"; echo "error: $*"; exit 1; }
t_skip() { echo "$*" >"$T_CASE/skipped"; exit $KSFT_SKIP; }
t_check() { local t_words=$1; shift; "$@" || { echo "failed: $t_words"; exit 1; }; }

t_check_fails() {
	local status=0
	"$@" || status=$?
	case $status in
	0) t_fail "this command must fail, but succeeded: $*" ;;
	12[4-9] | 13[0-9]) t_fail "killed, timed out or not found (status $status): $*" ;;
	esac
	echo "failed, as expected: $*"
}

t_run_and_keep_output() {
	"$@" &>"$T_CASE/noted"
	local status=$?
	cat "$T_CASE/noted"
	return $status
}

t_check_fails_with() {
	t_check_fails t_run_and_keep_output "${@:2}"
	t_check "its output matches: $1" grep -qE "$1" "$T_CASE/noted"
}

t_skip_all() {
	echo "1..0 # SKIP $*"
	exit $KSFT_SKIP
}

# Starting a program takes a large part of a case's time in a debug kernel, so
# t_case() uses Bash builtins where it can.

# Taint bit 512 is set by a warning, bit 128 by an oops.
t_read_taints() {
	read -r taints </proc/sys/kernel/tainted
	taints=$((taints & 640))
}

# Over SCTP a case does not test MPA: remove the MPA requirements from $rows.
t_remove_mpa_requirements() {
	local all=$rows row
	rows=
	for row in $all; do
		[[ $row == MPA* ]] || rows+="${rows:+ }$row"
	done
}

t_case() {
	local name=$1 rows=$2 status taints before start=${EPOCHREALTIME/./} took
	shift 2
	[ -z "${T_LLP:-}" ] || t_remove_mpa_requirements
	# shellcheck disable=SC2053
	[[ $name == *${T_ONLY:-}* && (-z ${T_STOP:-} || $t_bad -eq 0) ]] || return 0
	t_count=$((t_count + 1))
	T_CASE=$T_LOG/$T_SCRIPT/$t_count-${name//[^A-Za-z0-9.]/_}
	[ ! -e "$T_CASE" ] || rm -rf "$T_CASE"
	mkdir -p "$T_CASE"
	t_read_taints
	before=$taints
	(
		trap 't_end_case $?' EXIT
		trap 'exit 143' TERM INT
		t_deferred=()
		t_start_captures_if_enabled
		set -eE
		trap 'echo "failed ($?) at ${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND"' ERR
		"$@"
	) >"$T_CASE/log" 2>&1
	status=$?
	t_read_taints
	if [ "$taints" != "$before" ]; then
		echo "error: the kernel reported a warning or an oops, see its log" >>"$T_CASE/log"
		status=1
	fi
	took=$(((${EPOCHREALTIME/./} - start) / 100000))
	printf '%5d.%d s  %s\n' $((took / 10)) $((took % 10)) "$T_SCRIPT: $name" >>"$T_LOG/times"
	t_count_and_print_result "$status" "$name${rows:+ [$rows]}"
}

t_end_case() {
	trap - ERR EXIT
	t_run_deferred
	if [ "$1" -eq 0 ] || [ "$1" -eq $KSFT_SKIP ]; then
		rm -f "$T_CASE"/*.pcap
	fi
	exit "$1"
}

t_count_and_print_result() {
	case $1 in
	0) echo "ok $t_count $2" ;;
	"$KSFT_SKIP")
		t_skipped=$((t_skipped + 1))
		echo "ok $t_count $2 # SKIP $(cat "$T_CASE/skipped" 2>/dev/null)" ;;
	*)
		t_bad=$((t_bad + 1))
		tail -n "${T_LINES:-40}" "$T_CASE/log" | sed 's/^/# /'
		echo "# full output: $T_CASE/log"
		echo "not ok $t_count $2" ;;
	esac
}

t_print_summary_and_exit() {
	[ -z "${T_LLP:-}" ] || [ -n "${T_ONLY:-}" ] || [ $t_skipped -eq $t_count ] || t_run_sctp_check_case
	[ "$t_count" -gt 0 ] || echo "# no case name contains ${T_ONLY:-}"
	echo "1..$t_count"
	[ "$t_bad" -eq 0 ] && [ "$t_count" -gt 0 ]
	exit
}

# Check the connections of the script, which were recorded when its devices were deleted.
t_check_all_connections_use_sctp() {
	local all sctp
	read -r all sctp < <(awk '{ all += $1; sctp += $2 } END { print all + 0, sctp + 0 }' \
		"$T_LOG/$T_SCRIPT/connects")
	echo "$all connections made, $sctp of them over SCTP"
	t_check "connections were made" [ "$all" -gt 0 ]
	t_check "all connections were over SCTP" [ "$all" -eq "$sctp" ]
}

t_run_sctp_check_case() {
	t_run_deferred
	t_case "all connections were over SCTP" "" t_check_all_connections_use_sctp
}

# Hosts

on() {
	local host=$1 ns
	shift
	[ "$host" = a ] && ns=${NS_A:-} || ns=${NS_B:-}
	if [ -n "$ns" ]; then ip netns exec "$ns" "$@"; else "$@"; fi
}

t_apply_netem() {
	local said=$T_CASE/netem
	t_defer on "$1" tc qdisc del dev "$2" root
	! on "$1" tc qdisc replace dev "$2" root netem "${@:3}" 2>"$said" || return 0
	cat "$said"
	! grep -qE 'kind is unknown|answers: No such file' "$said" || t_skip "no netem in this kernel"
	t_fail "tc rejects the netem options: ${*:3}"
}

# Like on(), but with exec: the process is the command and not a shell, so it can be killed.
t_exec_on_host() {
	local host=$1 ns
	shift
	[ "$host" = a ] && ns=${NS_A:-} || ns=${NS_B:-}
	if [ -n "$ns" ]; then exec ip netns exec "$ns" "$@"; else exec "$@"; fi
}

# t_run_in_netns NS COMMAND...: run COMMAND in namespace NS, in the current one if NS is empty
t_run_in_netns() {
	local ns=$1
	shift
	if [ -n "$ns" ]; then ip netns exec "$ns" "$@"; else "$@"; fi
}

t_create_device() {
	t_run_in_netns "${3:-}" rdma link add "$1" type "${T_RDMA:-rnic_sw}" netdev "$2" || return
	[ "${RNIC_SW_LLP:-}" != sctp ] || t_set_listen_llp "$1" both "${3:-}"
}

# t_set_listen_llp DEV VALUE [NS]: set the listen setting of DEV (tcp, sctp or both)
t_set_listen_llp() { t_change_setting "$1" listen "$2" "${3:-}"; }

t_change_setting() { t_run_in_netns "${4:-}" "$T_DIR/lib/setting" "$1" "$2" "$3"; }
t_print_setting() { t_run_in_netns "${3:-}" "$T_DIR/lib/setting" "$1" "$2"; }

# t_create_temporary_device DEV NETDEV [NS]: create DEV; the end of the case or script deletes it
t_create_temporary_device() {
	t_create_device "$@" || return
	t_defer t_delete_device "$1" "${3:-}"
}

t_delete_device() {
	[ ! -e "/sys/class/infiniband/$1" ] && [ -z "$2" ] && return
	[ -z "${T_LLP:-}" ] || t_record_connects "$1" "${2:-}"
	t_run_in_netns "$2" rdma link del "$1" 2>/dev/null
}

# t_record_connects DEV NS: record how many connections DEV has established, in total and over SCTP
t_record_connects() {
	t_run_in_netns "$2" rdma statistic show link "$1/1" 2>/dev/null |
		awk '{ for (i = 1; i < NF; i++) n[$i] = $(i + 1) }
			END { print n["connects"], n["connects_sctp"] }' >>"$T_LOG/$T_SCRIPT/connects"
}

# t_run_or_bail_out COMMAND...: run a set-up command; if it fails, no case can run
t_run_or_bail_out() {
	"$@" && return
	echo "# cannot set up the topology: $*"
	if [ "$BASHPID" != $$ ]; then exit 1; fi
	echo "Bail out! cannot set up the topology: $*"
	exit 1
}

create_one_interface() {
	t_run_or_bail_out ip link add t0 type dummy
	t_defer ip link del t0
	t_run_or_bail_out ip addr add 10.9.0.1/24 dev t0
	t_run_or_bail_out ip addr add fd00:9::1/64 dev t0 nodad
	t_run_or_bail_out ip link set t0 up
}

create_one_device() {
	create_one_interface
	t_run_or_bail_out t_create_temporary_device iw0 t0
	NS_A='' NS_B='' A_IF=t0 B_IF=t0 A_DEV=iw0 B_DEV=iw0
	A4=10.9.0.1 B4=10.9.0.1 A6=fd00:9::1 B6=fd00:9::1
	t_hosts=(a)
}

create_two_hosts() {
	NS_A=rnic-a NS_B=rnic-b A_IF=va B_IF=vb A_DEV=iwa B_DEV=iwb
	A4=10.9.1.1 B4=10.9.1.2 A6=fd00:9:1::1 B6=fd00:9:1::2
	t_run_or_bail_out t_set_topology_netns_mode
	t_run_or_bail_out t_create_temporary_netns $NS_A
	t_run_or_bail_out t_create_temporary_netns $NS_B
	t_run_or_bail_out ip link add va netns $NS_A "$@" type veth peer name vb netns $NS_B "$@"
	t_run_or_bail_out t_set_up_host $NS_A va $A4 $A6 iwa
	t_run_or_bail_out t_set_up_host $NS_B vb $B4 $B6 iwb
	t_hosts=(a b)
}

# Set the RDMA namespace mode. The RDMA core allows this only while no other network namespace
# exists, and those of the previous case may not be destroyed yet, so retry.
t_set_netns_mode() { rdma system show | grep -q "netns $1" || t_wait_until 60 rdma system set netns "$1"; }

# t_set_temporary_netns_mode MODE: set the RDMA namespace mode (shared or exclusive) until the
# case ends
t_set_temporary_netns_mode() {
	t_defer t_set_netns_mode "$(rdma system show | sed -n 's/.*netns \([a-z]*\).*/\1/p')"
	t_set_netns_mode "$1"
}

# In exclusive mode a program sees only the RDMA devices of its own host.
t_set_topology_netns_mode() { t_set_netns_mode exclusive; }

t_set_up_host() {
	ip -n "$1" link set lo up &&
	ip -n "$1" addr add "$3/24" dev "$2" &&
	ip -n "$1" addr add "$4/64" dev "$2" nodad &&
	ip -n "$1" link set "$2" up &&
	t_create_temporary_device "$5" "$2" "$1"
}

# t_create_temporary_netns NAME: create a namespace without duplicate address detection, which would
# delay neighbour discovery by more than a second of the two seconds that programs wait for it.
t_create_temporary_netns() {
	ip netns add "$1" &&
	t_defer t_delete_netns "$1" &&
	ip netns exec "$1" sysctl -qw net.ipv6.conf.default.accept_dad=0
}

t_delete_netns() { [ ! -e "/run/netns/$1" ] || ip netns del "$1"; }

# Programs

# The last port is kept in a file because cases run in subshells.
t_choose_port() {
	PORT=7500
	[ ! -e "$T_LOG/.port" ] || read -r PORT <"$T_LOG/.port"
	PORT=$((PORT + 1))
	echo "$PORT" >"$T_LOG/.port"
}

t_wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		t_pause 0.05
	done
}

# t_pause SECONDS: sleep without starting a program
t_pause() { read -rt "$1" -u "$T_NOTHING" || true; }

t_has_listener() {
	local ns
	[ "$1" = a ] && ns=${NS_A:-} || ns=${NS_B:-}
	[ -n "$(ss ${ns:+-N "$ns"} -Htln "sport = :$2")" ]
}

t_wait_listener() {
	t_wait_until "${3:-$T_TIME}" t_has_listener "$1" "$2" ||
		t_fail "no listener on port $2 of host $1"
}

# t_has_listener_in_netns_of PID PORT: check whether a program listens on PORT in the namespace of PID.
# The function is called in a loop, so it starts no program.
t_has_listener_in_netns_of() {
	local port lines line
	printf -v port %04X "$2"
	{ mapfile -t lines <"/proc/$1/net/tcp" &&
		mapfile -t -O "${#lines[@]}" lines <"/proc/$1/net/tcp6"; } 2>/dev/null
	for line in "${lines[@]}"; do
		[[ $line != *:"$port "*:0000" 0A "* ]] || return 0
	done
	return 1
}

# Check whether the program listens or has exited, so that a wait ends in both cases.
t_is_listening_or_ended() { t_has_listener_in_netns_of "${t_pids[$1]}" "$2" || ! t_is_alive "$1"; }

t_start() {
	local name=$1 host=$2
	shift 2
	(t_exec_on_host "$host" timeout -k 5 "$T_TIME" "$@") </dev/null >"$T_CASE/$name.log" 2>&1 &
	t_pids[$name]=$!
	t_defer t_kill "$name"
}

t_kill() {
	local pid=${t_pids[$1]:-}
	[ -n "$pid" ] || return 0
	unset "t_pids[$1]"
	if [ "${2:-TERM}" = KILL ]; then
		# kill the child of timeout(1), which is the program; timeout(1) then exits, too
		pkill -KILL -P "$pid" || true
	else
		kill "-${2:-TERM}" "$pid" 2>/dev/null || true
	fi
	wait "$pid" 2>/dev/null || true
}

# Print connections, RDMA resources and stacks of programs close to their time limit.
t_print_network_and_process_state() {
	local ns what pid
	for ns in "${NS_A:-}" ${NS_B:+"$NS_B"}; do
		echo "--- network namespace '$ns'"
		t_run_in_netns "$ns" rdma statistic show | tr ' ' '\n' | paste -d' ' - - | grep -v ' 0$'
		for what in qp cq srq; do t_run_in_netns "$ns" rdma -dd resource show $what; done
		t_run_in_netns "$ns" ss -tinmO
	done
	for pid in $(pgrep -P "$(IFS=,; echo "${t_pids[*]}")"); do
		echo "--- process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
		grep -HE '^(State|voluntary)' "/proc/$pid"/task/*/status
		tail -vn +1 "/proc/$pid"/task/*/stack
	done
}

t_log_state_before_timeout() {
	t_pause $((T_TIME - 8))
	t_print_network_and_process_state >"$T_CASE/state" 2>&1
}

t_wait() {
	local pid=${t_pids[$1]} status=0 watch
	[ $# -lt 2 ] || t_wait_until "$2" t_has_process_exited "$pid" || {
		t_print_log "$1"
		t_fail "$1 still runs after $2 s"
	}
	t_log_state_before_timeout &
	watch=$!
	wait "$pid" || status=$?
	unset "t_pids[$1]"
	# send KILL, not TERM: a child that has just been forked may still have the trap of the case
	kill -KILL "$watch" 2>/dev/null || true
	wait "$watch" 2>/dev/null || true
	[ $status -eq 0 ] && return
	t_print_log "$1"
	echo "$1 ended with status $status$([ $status -ne 124 ] || echo " (time limit $T_TIME s)")"
	return 1
}

# Send the signal to the child of timeout(1), which is the program.
t_signal() { pkill "-$2" -P "${t_pids[$1]}"; }

t_is_alive() { [ -n "${t_pids[$1]:-}" ] && ! t_has_process_exited "${t_pids[$1]}"; }
t_has_ended() { ! t_is_alive "$1"; }

# Check whether a child has exited. kill -0 cannot tell, because an exited child accepts signals
# until Bash reaps it, which may be only at the next fork.
t_has_process_exited() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	[[ ${stat##*) } == Z* ]]
}

t_print_log() {
	echo "--- last lines of $1:"
	tail -n 15 "$T_CASE/$1.log"
	echo "---"
}

# t_run_pair_with_tag TAG PORT SERVER... -- CLIENT...: run a pair; return 0 if both succeed
t_run_pair_with_tag() {
	local tag=$1 port=$2 server=()
	shift 2
	while [ "$1" != -- ]; do server+=("$1"); shift; done
	shift
	echo "b: ${server[*]}"
	echo "a: $*"
	t_start "server$tag" b "${server[@]}"
	t_wait_until "$T_TIME" t_is_listening_or_ended "server$tag" "$port" ||
		t_fail "the server does not listen on port $port"
	t_start "client$tag" a "$@"
	if ! t_wait "client$tag"; then
		# let the server exit, because it prints its errors only then
		t_wait_until 10 t_has_ended "server$tag" || true
		t_kill "server$tag"
		t_print_log "server$tag"
		return 1
	fi
	t_wait "server$tag" "$T_TIME"
}

t_run_pair() { t_run_pair_with_tag "" "$@"; }

t_scale_rounds() {
	if [ -n "$T_SLOW" ] && [ "$1" -gt 50 ]; then echo $(($1 / 10)); else echo "$1"; fi
}

t_print_counter() {
	local ns=''
	[ "$1" != "${A_DEV:-}" ] || ns=${NS_A:-}
	[ "$1" != "${B_DEV:-}" ] || ns=${NS_B:-}
	t_run_in_netns "$ns" rdma statistic show link "$1/1" |
		awk -v name="$2" '{ for (i = 1; i < NF; i++) if ($i == name) { print $(i + 1); found = 1 } }
			END { exit !found }'
}

# t_has_accepted_connections N: check that b's device has accepted at least N connections so far
t_has_accepted_connections() { [ "$(t_print_counter "$B_DEV" accepts)" -ge "$1" ]; }

t_find_program() {
	local dir
	for dir in "${OUTPUT:-$T_DIR/out}" "$T_DIR/out" "$T_DIR"; do
		[ ! -x "$dir/$1" ] || { echo "$dir/$1"; return; }
	done
	t_skip "program $1 is not built (make -C $T_DIR)"
}

# In the kernel's own tree the lower layers ddp and mpa are linked into rnic_sw
if modinfo iw_ddp >/dev/null 2>&1; then
	T_MODULES=(rnic_sw iw_mpa iw_sctp_ddp iw_ddp)
else
	T_MODULES=(iw_sctp_ddp rnic_sw)
fi

# Retry: sockets of a connection that has just ended may still hold a module reference.
t_unload_modules() {
	[ $# -gt 0 ] || set -- "${T_MODULES[@]}"
	t_wait_until "$T_TIME" modprobe -r "$@" || t_fail "cannot unload modules: $*"
}

# Before the first case

# shellcheck source=capturing.sh source-path=SCRIPTDIR
. "$T_DIR/lib/capturing.sh"
# shellcheck source=foreign.sh source-path=SCRIPTDIR
. "$T_DIR/lib/foreign.sh"

# Use the provider of this tree, unless another provider is named or installed.
t_set_provider_env() {
	local build=$T_DIR/../../../../scripts/build-provider
	[ -z "${RDMAV_DRIVERS:-}${IBV_DRIVERS:-}" ] || return 0
	[ ! -e /etc/libibverbs.d/rnic_sw.driver ] || return 0
	[ -x "$build" ] || t_skip_all "the libibverbs provider of rnic_sw is not installed"
	eval "$("$build" --env)"
}

t_load_modules() {
	modprobe -q rnic_sw || t_skip_all "cannot load module rnic_sw"
	modprobe -q rdma_ucm || t_skip_all "cannot load module rdma_ucm"
	[ -z "${T_LLP:-}" ] || modprobe -q iw_sctp_ddp || t_skip_all "cannot load iw_sctp_ddp"
	t_wait_until "$T_TIME" test -e /dev/infiniband/rdma_cm || t_skip_all "no /dev/infiniband/rdma_cm"
}

echo "TAP version 13"
trap t_run_deferred EXIT
trap 'exit 143' TERM INT
[ "$(id -u)" = 0 ] || t_skip_all "must be run as root"
ulimit -l unlimited
t_set_provider_env
[ -n "${T_NO_LOAD:-}" ] || t_load_modules
