# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# What scripts/bench and scripts/clock have in common; sourced, with $work set.
# shellcheck disable=SC2154	# work is the caller's

me=$(basename "$0")
die() { echo "$me: $*" >&2; exit 2; }
say() { echo "$me: $*"; }

# quietly WHAT COMMAND...: says what, and shows what the command printed if it fails
quietly() {
	say "$1"
	shift
	"$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; die "that failed; all of it is in $work/log"; }
}
