#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: `tshark -T fields` is an interface for scripts, so all releases print a one-bit field,
# such as DDP's T and L flags, in the same way.
# Seen: 4.0 prints 1 and 0, 4.4 prints True and False. A script that compares the field with 1 finds
# no flag set in the output of 4.4, and reports no error. Filters (-Y 'iwarp_ddp.last_flag == 1')
# work with both releases.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack old bookworm tshark=4.0.17-0+deb12u3
unpack new trixie tshark=4.4.19-0+deb13u1
for name in old new; do
	capture "$tmp/$name/tmp/send.pcap" <<-'END'
		import sys
		from capture import *
		link = Tcp(40001).add_startup()
		link.add_segment(CLIENT, payload=build_fpdu(build_untagged_segment(3, b"x" * 64)))
		write_pcap(sys.argv[1], link.packets)
	END
done
for name in old new; do
	inside "$name" tshark --version 2>/dev/null | sed -n 1p
	got=$(shark "$name" -r /tmp/send.pcap -Y iwarp_ddp -T fields -E separator=, \
		-e iwarp_ddp.tagged_flag -e iwarp_ddp.last_flag)
	case $name in old) want=0,1 ;; new) want=False,True ;; esac
	expect "T flag, L flag of a Send" "$want" "$got"
	expect "frames found by the filter 'iwarp_ddp.last_flag == 1'" 6 \
		"$(shark "$name" -r /tmp/send.pcap -Y 'iwarp_ddp.last_flag == 1' -T fields -e frame.number)"
done
finish
