# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# parts.sh: run the parts of a job at the same time. A part starts as soon as all parts that it
# needs have finished. The first part that fails ends the job: the end of its output is printed,
# and the other parts are killed. An interrupt kills all parts, too. Before a script sources this
# file it sets me, its name for messages, and log, a directory for the output of the parts.

: "${me:?}" "${log:?}"
declare -A part_needs=() part_what=() part_command=() part_state=() part_start=() part_of_pid=()
part_names=() ticker=''

# add_part NAME NEEDS WHAT COMMAND...: define a part. NEEDS are the names of parts that must finish
# before it starts, and WHAT describes it ("installing QEMU"). COMMAND may be a function; its output
# is written to NAME.log.
add_part() {
	part_names+=("$1")
	part_needs[$1]=$2 part_what[$1]=$3 part_state[$1]=waiting
	part_command[$1]=$(printf '%q ' "${@:4}")
}

is_part_ready() {
	local need
	[ "${part_state[$1]}" = waiting ] || return
	for need in ${part_needs[$1]}; do [ "${part_state[$need]}" = finished ] || return; done
}

# Each part is a process group, so that all its processes can be killed.
start_part() {
	set -m
	eval "${part_command[$1]} >\"\$log/\$1.log\" 2>&1 </dev/null &"
	set +m
	part_of_pid[$!]=$1 part_state[$1]=running part_start[$1]=$SECONDS
}

start_ready_parts() {
	local name
	for name in "${part_names[@]}"; do ! is_part_ready "$name" || start_part "$name"; done
}

print_progress() { printf '   [%3d s] %s\n' "$SECONDS" "$1"; }

# Print the running parts every 30 seconds, so that the user sees that the job has not stopped
start_ticker() {
	sleep "${PARTS_TICK:-30}" &
	ticker=$!
}

print_running_parts() {
	local name
	for name in "${part_names[@]}"; do
		[ "${part_state[$name]}" != running ] ||
			print_progress "${part_what[$name]}: for $((SECONDS - part_start[$name])) s ..."
	done
}

# wait_for_parts NAME...: return when these parts have finished; start other parts meanwhile
wait_for_parts() {
	local name
	for name; do
		until [ "${part_state[$name]}" = finished ]; do
			start_ready_parts
			reap_part
		done
	done
	start_ready_parts
}

reap_part() {
	local pid status=0 name
	[ ${#part_of_pid[@]} -gt 0 ] ||
		{ echo "$me: parts that need each other: ${part_names[*]}" >&2; exit 2; }
	[ -n "$ticker" ] || start_ticker
	wait -n -p pid "${!part_of_pid[@]}" "$ticker" || status=$?
	if [ "$pid" = "$ticker" ]; then
		ticker=''
		print_running_parts
		return
	fi
	name=${part_of_pid[$pid]}
	unset "part_of_pid[$pid]"
	[ "$status" -eq 0 ] || fail_part "$name" "$status"
	part_state[$name]=finished
	print_progress "${part_what[$name]}: took $((SECONDS - part_start[$name])) s"
}

fail_part() {
	stop_parts
	echo "$me: failed (status $2): ${part_what[$1]}; the end of its output:" >&2
	tail -n 30 "$log/$1.log" | sed 's/^/   /' >&2
	echo "$me: the whole output is in $log/$1.log" >&2
	exit 1
}

is_group_running() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v group="$1" '
		{ sub(/^.*\) /, "") } $1 != "Z" && $3 == group { found = 1 } END { exit !found }'
}

# Kill all parts, and wait until their processes have ended. An installation of packages ends only
# when dpkg has finished (see scripts/need), which may take a while; a second signal ends the wait.
stop_parts() {
	local pid
	trap '' INT TERM HUP PIPE
	trap - EXIT
	for pid in "${!part_of_pid[@]}" $ticker; do kill -- "-$pid" "$pid" 2>/dev/null || true; done
	trap - INT TERM HUP
	for pid in "${!part_of_pid[@]}" $ticker; do wait "$pid" 2>/dev/null || true; done
	for pid in "${!part_of_pid[@]}"; do wait_for_group_end "$pid"; done
	part_of_pid=() ticker=''
}

wait_for_group_end() {
	local tries=0
	while is_group_running "$1"; do
		[ $((++tries)) -ne 10 ] ||
			echo "$me: waiting for the end of: ${part_what[${part_of_pid[$1]}]}" >&2 || true
		sleep 0.1
	done
}

# stop_and_exit STATUS: kill all parts and exit after a signal
stop_and_exit() {
	stop_parts
	echo "$me: interrupted; the output of the parts is in $log" >&2 || true
	exit "$1"
}

trap stop_parts EXIT
trap 'stop_and_exit 130' INT
trap 'stop_and_exit 143' TERM HUP
trap 'stop_and_exit 141' PIPE
