# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Functions for scripts/{bench,clock,cpus,busy-poll}, which set $work and source this file.
# shellcheck disable=SC2154	# the caller sets work

me=$(basename "$0")
die() { echo "$me: $*" >&2; exit 2; }
say() { echo "$me: $*"; }

# run_quietly WHAT COMMAND...: print WHAT and run COMMAND; show its output only if it fails
run_quietly() {
	say "$1"
	shift
	"$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; die "$* failed; its whole output is in $work/log"; }
}
