# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# To be sourced: from here on ccache compiles, which looks at the text. What is
# compiled at each check is mostly as it was the last time; it says the same
# warnings again. One tree's objects are another's, wherever it lies.
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1 \
	CCACHE_MAXSIZE=2G CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime
CCACHE_DIR=$("$(dirname "${BASH_SOURCE[0]}")/cache")/ccache
