/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Segmentation of messages (RFC 5041 section 5.2). */
#ifndef _DDP_SEGMENT_H
#define _DDP_SEGMENT_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include <ddp/ulp.h>

#define DDP_MULPDU_MIN	128	/* lowest MULPDU of an LLP, in bytes */

/**
 * struct ddp_segmentation - state of the segmentation of a message
 * @first: header of the first segment, as set by the ULP
 * @total: length of the message in bytes
 * @done: number of bytes in the segments that were computed before
 */
struct ddp_segmentation {
	const struct ddp_hdr	*first;
	u32			total;
	u32			done;
};

u32 ddp_compute_segment(const struct ddp_segmentation *c, u32 mulpdu, struct ddp_hdr *h);

#endif
