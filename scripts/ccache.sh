# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Source this to compile through ccache. Most sources are unchanged between two runs of
# the checks, and ccache repeats the warnings of a cached compilation. Objects are
# shared between checkouts in different directories.
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1 \
	CCACHE_MAXSIZE=2G CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime
CCACHE_DIR=$("$(dirname "${BASH_SOURCE[0]}")/cache")/ccache
