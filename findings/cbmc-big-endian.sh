#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Expected: `cbmc --big-endian` or `cbmc --arch s390x` proves a program as a big-endian machine runs
# it.
# Seen: CBMC's memory is big-endian then, but the preprocessor is the host's gcc, which still
# defines __BYTE_ORDER__ as little-endian. So code that selects its conversions by that macro, as
# the kernel's and glibc's headers do, is proved with the conversions for the wrong byte order.
set -euo pipefail
# shellcheck source=packages source-path=SCRIPTDIR
. "$(dirname "$(readlink -f "$0")")/packages"

unpack new trixie cbmc=6.6.0-4 gcc=4:14.2.0-1 dash
cat >"$tmp/new/tmp/order.c" <<-'END'
	int main(void)
	{
	        unsigned int one = 1;
	        unsigned char first = *(unsigned char *)&one;

	#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	        __CPROVER_assert(first == 0, "macro is big, memory is big");
	#else
	        __CPROVER_assert(first == 1, "macro is little, memory is little");
	#endif
	        return 0;
	}
END
inside new cbmc --version
# print_verdict OPTIONS...: print the assertion that was compiled, and its result.
print_verdict() { inside new cbmc "$@" /tmp/order.c 2>&1 | sed -n 's/.* line [0-9]* \(macro.*\)/\1/p'; }
expect "no option" 'macro is little, memory is little: SUCCESS' "$(print_verdict)"
expect "--big-endian" 'macro is little, memory is little: FAILURE' "$(print_verdict --big-endian)"
expect "--arch s390x" 'macro is little, memory is little: FAILURE' "$(print_verdict --arch s390x)"
finish
