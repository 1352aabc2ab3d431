#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: tshark calls a packet malformed only if a field of the packet breaks a rule. The payload
# of a Send is the program's business, so no payload can be malformed.
# Seen: tshark takes a Send of less than 16 bytes for RPC over RDMA, whose fixed header has 16
# bytes, and calls the Send malformed. It shows a Send of 16 bytes of the same text as data. With
# --disable-protocol rpcordma it shows all Sends as data. The message "malformed" has the severity
# error, so a check that counts errors (-z expert) fails on good captures.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie tshark=4.4.19-0+deb13u1
for size in 5 15 16; do
	capture "$tmp/new/tmp/$size.pcap" <<-END
		import sys
		from capture import *
		link = Tcp(40001).add_startup()
		link.add_segment(CLIENT, payload=build_fpdu(build_untagged_segment(3, b"x" * $size)))
		write_pcap(sys.argv[1], link.packets)
	END
done
inside new tshark --version 2>/dev/null | sed -n 1p
# print_send_fields SIZE OPTIONS...: print the protocols and the Info column of the Send.
print_send_fields() {
	shark new -r "/tmp/$1.pcap" "${@:2}" -Y 'frame.number == 6' -T fields -e frame.protocols -e _ws.col.info |
		sed 's/.*iwarp_mpa/iwarp_mpa/; s/\t.*40001 / /'
}
for size in 5 15; do
	expect "$size bytes" 'iwarp_mpa:iwarp_ddp_rdmap:rpcordma Send [last DDP segment][Malformed Packet]' "$(print_send_fields "$size")"
done
expect "16 bytes" 'iwarp_mpa:iwarp_ddp_rdmap:data Send [last DDP segment]' "$(print_send_fields 16)"
expect "5 bytes, rpcordma disabled" 'iwarp_mpa:iwarp_ddp_rdmap:data Send [last DDP segment]' \
	"$(print_send_fields 5 --disable-protocol rpcordma)"
finish
