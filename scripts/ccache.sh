# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Source this file to compile through ccache. Most sources do not change between two runs of
# the checks, so ccache saves time; it also prints the warnings of a cached compilation again.
# Checkouts in different directories share objects.
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1 \
	CCACHE_MAXSIZE=2G CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime
CCACHE_DIR=$("$(dirname "${BASH_SOURCE[0]}")/cache")/ccache
