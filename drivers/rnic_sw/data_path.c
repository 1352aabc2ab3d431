// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Include the files that handle each message, to compile them as one file. The compiler can then
 * inline a function into its caller in another file, which saves the instructions of the call.
 * Kbuild reads the names of these files here, and does not compile them separately.
 */
#include "counters.c"
#include "cq.c"
#include "cq_notify.c"
#include "db_moderation.c"
#include "doorbell.c"
#include "rdmap.c"
#include "rdmap_hdr.c"
#include "rdmap_op.c"
#include "rdmap_reqq.c"
#include "rdmap_rx.c"
#include "rdmap_tx.c"
#include "ring.c"
#include "ring_idx.c"
#include "rq.c"
#include "rqe.c"
#include "sq.c"
#include "sq_coalesce.c"
#include "sq_parse.c"
#include "sq_post.c"
#include "sqe.c"
