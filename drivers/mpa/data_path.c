// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Compile the files that handle each message as one file, so that the compiler can inline
 * functions of one file into another. This makes short messages cheaper. Kbuild reads this list.
 */
#include "crc.c"
#include "cursor.c"
#include "fpdu.c"
#include "fpdu_verify.c"
#include "frame.c"
#include "rx.c"
#include "sock.c"
#include "tx.c"
