#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: tshark dissects a connection by RFC 6581 (MPA revision 2, of 2012) as well as one of
# revision 1, because Linux drivers use revision 2 by default.
# Seen: tshark dissects the FPDUs of such a connection, but warns twice about each start-up frame,
# because the frame's bits and revision number are those of RFC 6581 and not of RFC 5044. tshark
# shows the depths in the frame's first four bytes as Private Data, without fields. With revision 1
# there is no warning.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie tshark=4.4.19-0+deb13u1
for revision in 1 2; do
	capture "$tmp/new/tmp/$revision.pcap" <<-END
		import sys
		from capture import *
		if $revision == 2:
		    # S bit; peer-to-peer, ready to receive by Write, IRD 1, ORD 1
		    depths = struct.pack(">HH", 0x8001, 0x8001)
		    frames = [build_startup_frame(key, CRC_BIT | 0x10, 2, depths) for key in (REQUEST, REPLY)]
		else:
		    frames = [build_startup_frame(REQUEST), build_startup_frame(REPLY)]
		link = Tcp(40001).add_startup(*frames)
		link.add_segment(CLIENT, payload=build_fpdu(build_tagged_segment(0, b"")))
		write_pcap(sys.argv[1], link.packets)
	END
done
inside new tshark --version 2>/dev/null | sed -n 1p
# print_warnings REVISION: print the text of each warning of tshark, and how often it occurs.
print_warnings() {
	shark new -q -z expert,warn -r "/tmp/$1.pcap" |
		awk '$3 == "IWARP_MPA" { n = $1; sub(/.*IWARP_MPA */, ""); print n " " $0 }' | paste -s -d '|'
}
expect "revision 1" '' "$(print_warnings 1)"
expect "revision 2" \
	"2 Res field is NOT set to zero as required by RFC 5044|2 Rev field is NOT set to one as required by RFC 5044" \
	"$(print_warnings 2)"
expect "first message" 'DDP/RDMA' "$(shark new -r /tmp/2.pcap -Y 'frame.number == 6' -T fields -e _ws.col.protocol)"
shark new -r /tmp/2.pcap -Y 'frame.number == 4' -O iwarp_mpa >"$tmp/text"
sed -n '/Request frame header/,$p' "$tmp/text"
finish
