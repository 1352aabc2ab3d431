#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: where the kernel has no RDMA, all of rdma-core's example programs print the same
# message: that no device was found.
# Seen: rping and ucmatose print this message, but rdma_server and rdma_client print "Bad value for
# ai_flags", although their flags are valid. The cause is that rdma_getaddrinfo() returns -1 if it
# cannot initialize librdmacm, and the two programs pass this value to gai_strerror(), for which -1
# is EAI_BADFLAGS. The exit statuses of the programs differ, too.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie rdmacm-utils=56.1-1
# sysfs is not mounted in the new root, so librdmacm finds no device.
# print_result COMMAND...: print the exit status, and the output without the lines that only
# announce the program's start or end.
print_result() {
	local status=0
	inside new "$@" >"$tmp/out" 2>&1 || status=$?
	echo "status $status, $(grep -v -E '^rdma_(server|client): ' "$tmp/out" | paste -s -d '|')"
}
expect rping 'status 19, No RDMA devices were detected' "$(print_result rping -c -a 127.0.0.1)"
expect ucmatose 'status 1, No RDMA devices were detected' "$(print_result ucmatose -s 127.0.0.1)"
expect rstream 'status 255, No RDMA devices were detected' "$(print_result rstream)"
expect rdma_server 'status 255, rdma_getaddrinfo: Bad value for ai_flags' "$(print_result rdma_server)"
expect rdma_client 'status 255, rdma_getaddrinfo: Bad value for ai_flags' "$(print_result rdma_client -s 127.0.0.1)"
finish
