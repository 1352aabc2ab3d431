#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: tshark shows the headers that a Terminate quotes with the fields that they have.
# Seen: tshark takes 14 bytes for every quoted DDP header, which is the size of a tagged header. A
# Read Request has an untagged header of 18 bytes. tshark shows the last field of this header, the
# message offset, as the beginning of the RDMAP header, and does not show the last four bytes of the
# RDMAP header, half of an address.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie tshark=4.4.19-0+deb13u1
capture "$tmp/new/tmp/terminate.pcap" <<-'END'
	import sys
	from capture import *
	link = Tcp(40001).add_startup()
	read = struct.pack(">IQIIQ", 0x11111111, 0x2222222222222222, 64, 0x33333333, 0x4444444455555555)
	request = build_untagged_segment(1, read, queue=1)
	link.add_segment(CLIENT, payload=build_fpdu(request))
	# Remote protection error, invalid STag; segment length, DDP and RDMAP header follow
	control = struct.pack(">BBBBH", 0x01, 0x00, 0xe0, 0, len(request))
	link.add_segment(SERVER, payload=build_fpdu(build_untagged_segment(7, control + request, queue=2)))
	write_pcap(sys.argv[1], link.packets)
END
inside new tshark --version 2>/dev/null | sed -n 1p
shark new -r /tmp/terminate.pcap -Y 'frame.number == 7' -O iwarp_ddp_rdmap >"$tmp/text"
sed -n '/Terminate Control/,$p' "$tmp/text"
# print_field NAME: print the bytes of that field.
print_field() { sed -n "s/.*Terminated $1 Header: *//p" "$tmp/text"; }
expect "DDP header: 14 bytes, without the message offset" 4141000000000000000100000001 "$(print_field DDP)"
expect "RDMAP header: the message offset, and 24 of 28 bytes" \
	00000000111111112222222222222222000000403333333344444444 "$(print_field RDMA)"
expect "lines with the last four bytes" 0 "$(grep -c 55555555 "$tmp/text" || true)"
finish
