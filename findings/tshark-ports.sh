#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: tshark finds MPA at any port, because MPA's start-up frames begin with a key of 16
# bytes, and tshark has a heuristic for this key. NVMe over RDMA uses port 4420, its registered
# port.
# Seen: a dissector that is registered for the port comes before the heuristic. At port 4420 this is
# the dissector of NVMe/TCP, which takes the whole connection, so tshark shows no MPA frame. The
# option tcp.try_heuristic_first, which is off by default, gives the heuristic precedence. At port
# 40001 the same bytes need no option.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie tshark=4.4.19-0+deb13u1
for port in 4420 40001; do
	capture "$tmp/new/tmp/$port.pcap" <<-END
		import sys
		from capture import *
		link = Tcp($port).add_startup()
		link.add_segment(CLIENT, payload=build_fpdu(build_untagged_segment(3, b"x" * 64)))
		write_pcap(sys.argv[1], link.packets)
	END
done
inside new tshark --version 2>/dev/null | sed -n 1p
# print_protocols FILE OPTIONS...: print the protocols of the three frames with payload.
print_protocols() {
	shark new -r "/tmp/$1.pcap" "${@:2}" -Y 'tcp.len > 0' -T fields -e _ws.col.protocol | paste -s -d ,
}
expect "port 40001" MPA,MPA,DDP/RDMA "$(print_protocols 40001)"
expect "port 4420" NVMe/TCP,NVMe/TCP,TCP "$(print_protocols 4420)"
expect "port 4420, tcp.try_heuristic_first" MPA,MPA,DDP/RDMA "$(print_protocols 4420 -o tcp.try_heuristic_first:TRUE)"
finish
