# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Common code of the test environments on the host; sourced by uml, stock and machine.
# shellcheck disable=SC2034	# variables for the scripts that source this

here=$(dirname "$(readlink -f "$0")")
tree=$(cd "$here/../../.." && pwd)
scripts=$tree/scripts
me=$(basename "$0")
die() { echo "$me: $*" >&2; exit 2; }

# Set from the options: cpus mem (empty if not given) timeout kmemleak stalls clock plugin pin
# modules out append link port bed. Set rest to the remaining arguments.
parse_options() {
	cpus='' mem='' timeout=900 kmemleak='' stalls='' clock='' plugin='' pin='' modules=''
	out='' append='' link='' port='' bed=debug
	while [ $# -gt 0 ]; do
		case $1 in
		--kmemleak) kmemleak=1; shift; continue ;;
		--stalls) stalls=1; shift; continue ;;
		--clock) clock=off; shift; continue ;;
		--clock-waits) clock=on; shift; continue ;;
		--help | -h) usage; exit 0 ;;
		--bed | --plugin | --cpus | --mem | --timeout | --pin | --modules | --out | \
		--append | --link | --port)
			[ $# -ge 2 ] || die "$1 requires a value" ;;
		-?*) [ "$1" = -- ] || { usage >&2; die "unknown option $1"; } ;;
		esac
		case $1 in
		--bed) bed=$2 ;; --plugin) plugin=$2 ;; --cpus) cpus=$2 ;; --mem) mem=$2 ;;
		--timeout) timeout=$2 ;; --pin) pin=$2 ;;
		--modules) modules=$2 ;; --out) out=$2 ;; --append) append=$2 ;; --link) link=$2 ;; --port) port=$2 ;;
		*) break ;;
		esac
		shift 2
	done
	rest=("$@")
	[[ $timeout =~ ^[0-9]+$ ]] ||
		die "invalid --timeout '$timeout': must be a number of seconds"
	[[ $cpus =~ ^[0-9]*$ ]] || die "invalid --cpus '$cpus': must be a number"
	"$scripts/as-root" "$me" || exit
}

# prepare COMMAND...: create the directory out (which is kept if --out names it), the directory run
# with files for the guest, and the log console
prepare() {
	if [ -n "$out" ]; then
		mkdir -p "$out" || die "cannot make the directory $out"
	else
		out=$(mktemp -d "${TMPDIR:-/tmp}/bed.XXXXXX")
		scratch=$out
	fi
	out=$(cd "$out" && pwd -P)
	[ -z "$modules" ] || modules=$(cd "$modules" && pwd -P) ||
		die "no such directory: --modules $modules"
	case $tree$out$modules in
	*[[:space:],:]*) die "paths must not contain blanks, commas or colons: $tree $out $modules" ;;
	esac
	exec {out_lock}>"$out/.bed.lock"
	flock -n "$out_lock" || die "another run uses --out $out: name another directory"
	run=$out/.bed
	console=$out/console.log
	rm -rf "$run"
	mkdir -p "$run"
	: >"$console"
	rm -f "$out/status"
	write_command "$@"
}

# Write the command and its environment as a script for the guest.
write_command() {
	local name
	{
		printf 'cd %q\n' "$tree"
		for name in "${!RNIC_SW_@}" "${!BED_@}" CI; do
			[ -z "${!name+x}" ] || printf 'export %s=%q\n' "$name" "${!name}"
		done
		printf 'export BED=%q BED_OUT=%q BED_MODULES=%q BED_CPUS=%q\n' \
			"$me/$bed" "$out" "$modules" "$cpus"
		printf 'exec'
		printf ' %q' "$@"
		echo
	} >"$run/command"
	printf '%s\n' "$tree" "$out" "$("$scripts/cache")" ${modules:+"$modules"} >"$run/paths"
	if [ -n "$kmemleak" ]; then touch "$run/kmemleak"; fi
}

# print_link_args BUS: print QEMU's arguments for a network interface that is connected to another
# guest. QEMU captures all frames.
print_link_args() {
	[ -n "$link" ] || return 0
	local mine=${link%%,*}
	printf '%s\n' \
		-netdev "dgram,id=link,local.type=unix,local.path=$mine,remote.type=unix,remote.path=${link#*,}" \
		-device "virtio-net-$1,netdev=link,mac=52:54:00:$(echo "$mine" | md5sum | sed 's/\(..\)\(..\)\(..\).*/\1:\2:\3/')" \
		-object "filter-dump,id=kept,netdev=link,file=$out/link.pcap"
}

# A watchdog in a separate session, so that it outlives this script. It reads the guest's process
# group from its input, and kills the group at the time limit, or when its input is closed
# because this script has ended for any reason.
readonly watch_leash='
	read -r group
	if [ "$1" -gt 0 ]; then read -r -t "$1"; else read -r; fi
	[ $? -le 128 ] || touch "$2"
	kill -KILL -- "-$group" 2>/dev/null'

# run_watched COMMAND...: run COMMAND in a new process group, which is killed when this script
# ends, at the time limit, and on a signal. Sets timed_out.
run_watched() {
	local leash status=0
	timed_out=''
	rm -f "$run/timed-out"
	exec {leash}> >(exec setsid bash -c "$watch_leash" watch "$timeout" "$run/timed-out" >/dev/null 2>&1)
	setsid setpriv --pdeathsig KILL ${pin:+taskset -c "$pin"} "$@" {leash}>&- &
	guest=$!
	echo "$guest" >&"$leash"
	[ -z "$stalls" ] || { stall_guest & starve_guest & } {leash}>&-
	trap 'kill_guest; exit 130' INT TERM HUP
	trap kill_guest EXIT
	{ wait "$guest" || status=$?; } 2>/dev/null
	[ ! -e "$run/timed-out" ] || timed_out=1
	kill_guest
	exec {leash}>&-
	return "$status"
}

# Simulate a busy machine: repeatedly stop the guest for up to half a second, while its clock
# continues.
stall_guest() {
	while sleep "0.$((RANDOM % 900 + 100))" && kill -STOP -- "-$guest"; do
		sleep "$(printf 0.%03d $((RANDOM % 500)))"
		kill -CONT -- "-$guest"
	done >/dev/null 2>&1
}

# Repeatedly give a random thread of the guest (such as a vCPU thread) idle priority for up to two
# seconds. In this time the thread gets little CPU time if the host is busy.
starve_guest() {
	local of threads thread
	while of=$(pgrep -g "$guest"); do
		mapfile -t threads < <(ps -L -o tid= -p "${of//$'\n'/,}" | tr -d ' ')
		thread=${threads[RANDOM % ${#threads[@]}]}
		chrt --idle -p 0 "$thread" && sleep "$((RANDOM % 2)).$((RANDOM % 10))"
		chrt --other -p 0 "$thread" || :
		sleep "0.$((RANDOM % 6))"
	done >/dev/null 2>&1
}

kill_guest() {
	[ -z "${guest:-}" ] || kill -KILL -- "-$guest" 2>/dev/null || true
}

# Report the result, and exit: with 96 or 99 if the kernel reported a bug; else with 124 at the time
# limit; else with 98 if the guest wrote no status; else with the status that the guest wrote, which
# is 97 for leaks or that of the command
report_result_and_exit() {
	local status=0
	if [ -n "$timed_out" ]; then
		echo "$me: killed at the time limit of $timeout s; end of the kernel log ($console):" >&2
		tail -n 15 "$console" >&2
		status=124
	fi
	"$here/splats" "$console" >"$run/splats" || {
		echo "$me: the kernel reported a bug; excerpt of the kernel log ($console):" >&2
		cat "$run/splats" >&2
		status=99
		[ -z "${translates:-}" ] || ! "$here/no-breakpoint" "$console" || {
			echo "$me: this is a fault of QEMU, which executed a removed breakpoint: try again" >&2
			status=96
		}
	}
	if [ "$status" -eq 0 ]; then
		if [ ! -s "$run/status" ]; then
			echo "$me: the guest ended without a status of the command; end of the kernel log ($console):" >&2
			tail -n 30 "$console" >&2
			status=98
		else
			status=$(cat "$run/status")
		fi
	fi
	case $status in
	9[6789] | 124) [ -z "${scratch:-}" ] || echo "$me: the files of the run are kept in $out" >&2 ;;
	*) [ -z "${scratch:-}" ] || rm -rf "$scratch" ;;
	esac
	exit "$status"
}
