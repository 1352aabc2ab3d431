#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: tshark runs a script that is named on the command line, `tshark -X lua_script:FILE`, or
# reports that it does not. Root matters, because tests often read captures of RDMA as root.
# Seen: as root, 4.0 runs the script. 4.4 does not run it, prints no message about it and exits with
# 0, even if the file does not exist; 4.0 reports a missing file.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack old bookworm tshark=4.0.17-0+deb12u3
unpack new trixie tshark=4.4.19-0+deb13u1
for name in old new; do
	capture "$tmp/$name/tmp/send.pcap" <<-'END'
		import sys
		from capture import *
		write_pcap(sys.argv[1], Tcp(40001).add_startup().packets)
	END
	echo 'print("the script runs")' >"$tmp/$name/tmp/dissector.lua"
done
# print_script_result NAME SCRIPT: print the status, and the lines of stdout and stderr that are
# about the script.
print_script_result() {
	local status=0
	inside "$1" tshark -n -X "lua_script:/tmp/$2" -r /tmp/send.pcap -c 1 >"$tmp/out" 2>&1 || status=$?
	{ echo "status $status"; grep -i -E 'script|lua' "$tmp/out" || true; } | paste -s -d '|'
}
for name in old new; do
	inside "$name" tshark --version 2>/dev/null | sed -n '1p;/with Lua/p'
	case $name in
	old) runs='status 0|the script runs' missing='status 0|tshark: The file "/tmp/missing.lua" doesn'\''t exist.' ;;
	new) runs='status 0' missing='status 0' ;;
	esac
	expect "as root, a script" "$runs" "$(print_script_result "$name" dissector.lua)"
	expect "as root, a script that does not exist" "$missing" "$(print_script_result "$name" missing.lua)"
done
finish
