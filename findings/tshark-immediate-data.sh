#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: a dissector that knows the Atomics of RFC 7306 also knows the Immediate Data of this
# RFC, because the four opcodes, 8 to 11, are rows of one table.
# Seen: tshark shows the names and fields of Atomic Request and Atomic Response, but Immediate Data
# and Immediate Data with Solicited Event are unknown opcodes.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie tshark=4.4.19-0+deb13u1
capture "$tmp/new/tmp/7306.pcap" <<-'END'
	import sys
	from capture import *
	link = Tcp(40001).add_startup()
	link.add_segment(CLIENT, payload=build_fpdu(build_untagged_segment(8, b"12345678")))
	link.add_segment(CLIENT, payload=build_fpdu(build_untagged_segment(9, b"12345678", msn=2)))
	link.add_segment(CLIENT, payload=build_fpdu(build_untagged_segment(10, bytes(52), queue=1)))
	link.add_segment(SERVER, payload=build_fpdu(build_untagged_segment(11, bytes(12), queue=3)))
	write_pcap(sys.argv[1], link.packets)
END
inside new tshark --version 2>/dev/null | sed -n 1p
shark new -r /tmp/7306.pcap -O iwarp_ddp_rdmap | sed -n 's/.* = OpCode: \(.*(0x.*)\)/\1/p' >"$tmp/opcodes"
expect "opcodes" 'Unknown (0x8)|Unknown (0x9)|Atomic Request (0xa)|Atomic Response (0xb)' \
	"$(paste -s -d '|' "$tmp/opcodes")"
expect "operation of the Atomic Request" 'FetchAdd (0)' \
	"$(shark new -r /tmp/7306.pcap -O iwarp_ddp_rdmap | sed -n 's/.* = OpCode: \(.*(0)\)/\1/p')"
finish
