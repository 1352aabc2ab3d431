#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: tshark dissects each direction of an MPA connection by what its receiver has requested,
# because the M bit of a Reply concerns only what the initiator sends (RFC 5044, section 7.1.1).
# Seen: if only one side requests markers, tshark expects markers in both directions. It dissects
# the direction with markers, but shows the FPDUs of the other direction as plain TCP data, without
# a warning. If both directions contain markers, tshark dissects both, CRC included.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie tshark=4.4.19-0+deb13u1
for kind in one both; do
	capture "$tmp/new/tmp/$kind.pcap" <<-END
		import sys
		from capture import *

		def marked(frame):
		    "An FPDU after the marker at the start of the stream, which points to it."
		    body = bytes(4) + frame[:-4]
		    return body + struct.pack("<I", compute_crc32c(body))

		both = "$kind" == "both"
		link = Tcp(40001).add_startup(build_startup_frame(REQUEST, CRC_BIT | (MARKER_BIT if both else 0)),
		                          build_startup_frame(REPLY, CRC_BIT | MARKER_BIT))
		link.add_segment(CLIENT, payload=marked(build_fpdu(build_untagged_segment(3, b"x" * 64))))
		answer = build_fpdu(build_untagged_segment(3, b"y" * 64))
		link.add_segment(SERVER, payload=marked(answer) if both else answer)
		write_pcap(sys.argv[1], link.packets)
	END
done
inside new tshark --version 2>/dev/null | sed -n 1p
for kind in one both; do
	got=$(shark new -r "/tmp/$kind.pcap" -Y 'frame.number > 5' -T fields -e _ws.col.protocol | paste -s -d ,)
	good=$(shark new -r "/tmp/$kind.pcap" -O iwarp_mpa | grep -c 'Good CRC32' || true)
	case $kind in one) want='DDP/RDMA,TCP; 1' ;; both) want='DDP/RDMA,DDP/RDMA; 2' ;; esac
	expect "markers, $kind: initiator's FPDU, responder's; good CRCs" "$want" "$got; $good"
done
finish
