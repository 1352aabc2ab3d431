#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: librspreload.so, which moves programs to RDMA by LD_PRELOAD, replaces every socket() of
# a program, whatever flags the socket type contains.
# Seen: rsocket() refuses SOCK_CLOEXEC and SOCK_NONBLOCK with EOPNOTSUPP, before it looks for a
# device. librspreload passes these flags on and, when rsocket() fails, silently makes an ordinary
# socket, so that the program runs over TCP or UDP. librspreload does not replace accept4(),
# epoll_wait() or ppoll() either.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie librdmacm1t64=56.1-1 python3=3.13.5-1 coreutils
cat >"$tmp/new/tmp/kinds.py" <<-'END'
	import ctypes, errno, os, socket, sys

	own = ctypes.CDLL(None, use_errno=True)
	library = ctypes.CDLL("librdmacm.so.1", use_errno=True)
	flags = {"no flag": 0, "SOCK_CLOEXEC": socket.SOCK_CLOEXEC, "SOCK_NONBLOCK": socket.SOCK_NONBLOCK}[sys.argv[2]]
	if sys.argv[1] == "rsocket":
	    result = library.rsocket(socket.AF_INET, socket.SOCK_STREAM | flags, 0)
	    refused = result < 0 and ctypes.get_errno() == errno.EOPNOTSUPP
	    print("EOPNOTSUPP" if refused else "not refused for its type")
	else:
	    # A datagram rsocket needs no device. Its descriptor is that of /dev/null.
	    result = own.socket(socket.AF_INET, socket.SOCK_DGRAM | flags, 0)
	    print(os.readlink(f"/proc/self/fd/{result}").partition(":")[0])
END
preload=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so
for flag in 'no flag' SOCK_CLOEXEC SOCK_NONBLOCK; do
	case $flag in
	no*) direct='not refused for its type' preloaded=/dev/null ;;
	*) direct=EOPNOTSUPP preloaded=socket ;;
	esac
	expect "rsocket(), $flag" "$direct" "$(inside new python3 /tmp/kinds.py rsocket "$flag")"
	expect "descriptor of socket() under librspreload, $flag" "$preloaded" \
		"$(inside new env "LD_PRELOAD=$preload" python3 /tmp/kinds.py socket "$flag")"
done
for call in accept poll accept4 epoll_wait ppoll; do
	case $call in accept | poll) want=librspreload ;; *) want=libc ;; esac
	expect "$call() under librspreload is that of" "$want" "$(inside new python3 -c "import ctypes
def address(library):
    return ctypes.cast(getattr(ctypes.CDLL(library), '$call'), ctypes.c_void_p).value
print('libc' if address('$preload') == address('libc.so.6') else 'librspreload')")"
done
finish
