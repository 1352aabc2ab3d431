// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Include the files that handle each message, to compile them as one file. The compiler can then
 * inline a function into its caller in another file, which saves the instructions of the call.
 * Kbuild reads the names of these files here, and does not compile them separately.
 */
#include "crc.c"
#include "cursor.c"
#include "fpdu.c"
#include "fpdu_verify.c"
#include "frame.c"
#include "rx.c"
#include "sock.c"
#include "tx.c"
