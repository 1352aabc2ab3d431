# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# stages.sh: run the stages of make check, one after the other or concurrently, and report
# their results. Before a script sources this file it sets log (a directory) and times (a file).
# bad becomes 1 when a stage fails.

: "${log:?}" "${times:=}" "${bad:=0}"
: >"$log/why"
number=0
running=()
# Patterns of the stages to run; empty for all. CHECK_STAGES is unset, because a stage can test this
# file.
read -ra selected <<<"${CHECK_STAGES:-}"
unset CHECK_STAGES

# Kill the running stages. Each stage is a process group that includes its test environment.
kill_running_stages() {
	local pid
	for pid in "${running[@]}"; do
		kill -- "-$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	running=()
}

# run_with_retries COMMAND...: run COMMAND; repeat it at most twice if a fault of QEMU makes it fail
# with status 96 (beds/no-breakpoint)
run_with_retries() {
	local left status
	for left in 2 1 0; do
		"$@" >"$log/$name.log" 2>&1 </dev/null && return
		status=$?
		[ $status -eq 96 ] && [ $left -gt 0 ] || return $status
		mv "$log/$name.log" "$log/$name.breakpoint-$left"
	done
}

# run_timed_stage NAME COMMAND...: run COMMAND with its output in NAME.log. Write its status, its
# duration and its CPU time to further files; on a busy machine the CPU time is more meaningful than
# the duration.
run_timed_stage() {
	local name=$1 status=0 TIMEFORMAT='%1R %1U %1S' real user sys
	shift
	{ time run_with_retries "$@" || status=$?; } 2>"$log/$name.time"
	echo "$status" >"$log/$name.status"
	read -r real user sys <"$log/$name.time"
	echo "$real" >"$log/$name.time"
	echo "$user $sys" >"$log/$name.cpu"
}

# report_stage NAME: print one line, and append the KTAP output of the stage and its result to
# the file results.
report_stage() {
	local name=$1 status word=ok
	status=$(cat "$log/$name.status")
	number=$((number + 1))
	grep -aE '^([ #]*)(K?TAP version|1\.\.[0-9]|ok [0-9]|not ok |Bail out!)' "$log/$name.log" |
		sed 's/^/# /' >"$log/$name.ktap"
	cat "$log/$name.ktap" >>"$log/results"
	if [ "$status" -eq 0 ]; then
		echo "ok $number - $name" >>"$log/results"
	else
		word=FAIL
		echo "not ok $number - $name" >>"$log/results"
	fi
	printf '%-4s %7s s  %-28s %s\n' "$word" "$(cat "$log/$name.time")" "$name" \
		"$(print_stage_summary "$name")"
	[ "$status" -ne 0 ] || return 0
	print_stage_failure "$name" >>"$log/why"
	print_failed_output "$name" | sed 's/^/      /'
	return 1
}

# print_stage_summary NAME: print the summary of a stage, one line
print_stage_summary() {
	if [ -s "$log/$1.ktap" ]; then
		sed 's/^# //' "$log/$1.ktap" | scripts/ktap-sum | tail -n 1
	else
		grep -av '^make' "$log/$1.log" | tail -n 1 | cut -c1-100
	fi
}

print_failed_output() {
	if grep -q 'not ok' "$log/$1.ktap"; then
		grep -aE -B "${CHECK_LINES:-25}" '^[# ]*not ok' "$log/$1.log" | tail -n 80
	else
		tail -n 40 "$log/$1.log"
	fi
	echo "whole output: $log/$1.log"
}

# print_stage_failure NAME: print why a stage failed. The caller prints this text again at the end
# of the output, because a CI system may keep only the last lines.
print_stage_failure() {
	echo "# $1:"
	if grep -q 'not ok' "$log/$1.ktap"; then
		grep -aE -B 3 '^[# ]*not ok' "$log/$1.log"
	else
		tail -n 5 "$log/$1.log"
	fi
}
print_failures_in_brief() { tail -n 60 "$log/why"; }

# is_selected NAME: check whether the stage NAME is to run. All stages need the stage packages.
is_selected() {
	local pattern
	[ ${#selected[@]} -gt 0 ] && [ "$1" != packages ] || return 0
	# shellcheck disable=SC2053	# a pattern
	for pattern in "${selected[@]}"; do [[ $1 != $pattern ]] || return 0; done
	return 1
}

run_stage() {
	is_selected "$1" || return 0
	run_timed_stage "$@"
	report_stage "$1" || bad=1
}

# Concurrent stages: queue_stage queues a stage, and run_queued_stages runs all queued stages
beside_names=()
declare -A beside_commands=() pending=()

# queue_stage NAME COMMAND...: queue the stage NAME, which runs COMMAND
queue_stage() {
	is_selected "$1" || return 0
	beside_names+=("$1")
	beside_commands[$1]=$(printf '%q ' "${@:2}")
}

run_queued_stages() {
	local name
	for name in $(print_queued_longest_first); do
		while [ "$(count_running_stages)" -ge "${CHECK_JOBS:-4}" ]; do reap_stage; done
		set -m
		eval "run_timed_stage $name ${beside_commands[$name]}" &
		set +m
		running+=($!)
		pending[$!]=$name
	done
	while [ "$(count_running_stages)" -gt 0 ]; do reap_stage; done
	remember_times
	beside_names=()
}

# Print the queued names, those that took longest in the last run first. New stages come first.
print_queued_longest_first() {
	local name
	for name in "${beside_names[@]}"; do
		awk -v name="$name" '$1 == name { t = $2 } END { print (t ? t : 9999), name }' \
			"$times"
	done | sort -rns | cut -d' ' -f2
}

remember_times() {
	local name
	{
		for name in "${beside_names[@]}"; do echo "$name $(cat "$log/$name.time")"; done
		cat "$times"
	} | awk '!seen[$1]++' >"$log/times" && cp "$log/times" "$times"
}

count_running_stages() { echo "${#pending[@]}"; }

reap_stage() {
	local pid
	wait -n -p pid "${!pending[@]}"
	report_stage "${pending[$pid]}" || bad=1
	unset "pending[$pid]"
}
