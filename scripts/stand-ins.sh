# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# check-scripts, check-install and check-demo source this file, from the top of the tree. It creates
# a private cache, a fake Debian archive, and small stubs that come first in PATH, and defines
# run_case().

work=$(mktemp -d "${TMPDIR:-/tmp}/${0##*/}.XXXXXX")
trap 'rm -rf "$work"' EXIT
export RNIC_SW_CACHE=$work/cache FAKE=$work/fake PATH=$work/bin:$PATH
unset DESTDIR INSTALL_MOD_PATH MAKEFLAGS MFLAGS MAKELEVEL RNIC_SW_RDMA_CORE_SUITE KDIR
mkdir -p "$work/bin" "$FAKE/debs"
passed=0 failed=0

# create_stub NAME: create a stub of the program NAME with the script on stdin
create_stub() {
	{ echo '#!/bin/bash'; cat; } >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# A stub of apt-get that downloads from the fake archive. The word in $FAKE/how selects the result:
# well, refused (the file has a wrong hash), short (the file is truncated), or no index (the update
# of the package index fails).
create_stub apt-get <<'END'
case " $* " in
*" update "*)
	[ "$(cat "$FAKE/how")" != "no index" ] || if [ "${LC_MESSAGES:-}" = C ]; then
		echo "Err:1 InRelease"
	else
		echo "Fehl:1 InRelease"
	fi
	exit 0
	;;
*" -s "*) printf 'Inst %s (9.1-1 x)\n' "${*: -1}"; exit 0 ;;
*" source "*) files=("$FAKE/rdma-core_9.1.orig.tar.gz") ;;
*)
	while [ $# -gt 0 ] && [ "$1" != download ]; do shift; done
	for what in "${@:2}"; do files+=("$FAKE/debs/${what%%=*}"_*.deb); done
	;;
esac
for file in "${files[@]}"; do
	case $(cat "$FAKE/how") in
	well) cp "$file" . ;;
	refused) cp "$file" "./${file##*/}.FAILED"; echo "E: Failed to fetch: Hash Sum mismatch" >&2; exit 100 ;;
	short) head -c $(($(stat -c %s "$file") / 2)) "$file" >"./${file##*/}" ;;
	esac
done
END
create_stub dpkg-query <<'END'
echo installed
END
create_stub cmake <<'END'
while [ $# -gt 0 ]; do [ "$1" != -B ] || build=$2; shift; done
mkdir -p "$build/lib" && echo rules >"$build/build.ninja"
END
create_stub ninja <<'END'
echo library >"$2/lib/librnic_sw.so.1"
END

# Create the source archive of rdma-core. Its last file is there only if the archive was unpacked
# completely.
create_rdma_core_archive() {
	local dir=$work/rdma-core-9.1
	mkdir -p "$dir/kernel-headers/rdma" "$dir/providers/siw"
	printf '%s\n' 'set(IBVERBS_PABI_VERSION "34")' 'add_subdirectory(providers/siw)' \
		>"$dir/CMakeLists.txt"
	echo '  rdma/siw-abi.h' >"$dir/kernel-headers/CMakeLists.txt"
	cp "$work/big" "$dir/zz-last"
	tar -C "$work" -cf - rdma-core-9.1/{CMakeLists.txt,kernel-headers,providers,zz-last} |
		gzip -1 >"$FAKE/rdma-core_9.1.orig.tar.gz"
}

# run_case NAME COMMAND...: run a test case with an empty cache; COMMAND must succeed
run_case() {
	local name=$1
	shift
	rm -rf "$RNIC_SW_CACHE" "$FAKE/depmod"
	echo well >"$FAKE/how"
	(set -e; "$@") >"$work/log" 2>&1
	# test the status in a separate command: `if (...)` would disable set -e in the subshell
	if [ $? -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "$name: FAILED"
		sed 's/^/    /' "$work/log" | tail -n 20
	fi
}

expect_failure() {
	if "$@"; then echo "succeeded, but should fail: $*"; return 1; fi
}

# print_summary NAME: print the last line; fail if a case has failed
print_summary() {
	echo "$1: $passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}
