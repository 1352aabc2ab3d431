#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: the kernel's header for SCTP's socket options, <linux/sctp.h>, compiles by itself, as
# headers for user space have to.
# Seen: the header does not compile by itself. It takes the value of SCTP_EOF from MSG_FIN, which
# only <sys/socket.h> defines, and does not include that header. A program must include
# <sys/socket.h> first. libsctp-dev's <netinet/sctp.h> hides the fault, because it includes
# <sys/socket.h> before <linux/sctp.h>. The headers of the RDMA drivers, <rdma/*.h>, do compile
# alone.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie linux-libc-dev=6.12.118-1 libsctp-dev=1.0.21+dfsg-1 tcc=0.9.27+git20200814.62c30a4a-2 libc6-dev
# print_compile_result HEADER...: print "compiles", or the compiler's message.
print_compile_result() {
	{ printf '#include <%s>\n' "$@" && echo 'int main(void) { return 0; }'; } >"$tmp/new/tmp/alone.c"
	if inside new tcc -c -o /tmp/alone.o /tmp/alone.c 2>"$tmp/out"; then
		echo compiles
	else
		sed -n 's/.*error: //p' "$tmp/out"
	fi
}
expect "linux/sctp.h" "'MSG_FIN' undeclared" "$(print_compile_result linux/sctp.h)"
expect "sys/socket.h, linux/sctp.h" compiles "$(print_compile_result sys/socket.h linux/sctp.h)"
expect "linux/sctp.h, sys/socket.h" "'MSG_FIN' undeclared" "$(print_compile_result linux/sctp.h sys/socket.h)"
expect "netinet/sctp.h" compiles "$(print_compile_result netinet/sctp.h)"
for header in siw-abi irdma-abi rdma_user_cm; do
	expect "rdma/$header.h" compiles "$(print_compile_result "rdma/$header.h")"
done
finish
