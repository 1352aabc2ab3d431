// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Compile the files that handle each message as one file, so that the compiler can inline
 * functions of one file into another. This makes short messages cheaper. Kbuild reads this list.
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
