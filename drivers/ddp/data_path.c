// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Include the files that handle each message, to compile them as one file. The compiler can then
 * inline a function into its caller in another file, which saves the instructions of the call.
 * Kbuild reads the names of these files here, and does not compile them separately.
 */
#include "bounds.c"
#include "expect.c"
#include "hdr.c"
#include "place.c"
#include "rx.c"
#include "rx_fast.c"
#include "segment.c"
#include "stag.c"
#include "stream.c"
#include "tx.c"
#include "untagged.c"
