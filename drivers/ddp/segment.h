/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Cutting a message into segments. */
#ifndef _DDP_SEGMENT_H
#define _DDP_SEGMENT_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include <ddp/ulp.h>

#define DDP_MULPDU_MIN	128	/* no LLP offers less */

/**
 * struct ddp_cut - how far a message has been cut
 * @first: header of its first segment, as the ULP gave it
 * @total: octets of the message
 * @done: octets that are in segments already
 */
struct ddp_cut {
	const struct ddp_hdr	*first;
	u32			total;
	u32			done;
};

u32 ddp_cut_next(const struct ddp_cut *c, u32 mulpdu, struct ddp_hdr *h);

#endif
