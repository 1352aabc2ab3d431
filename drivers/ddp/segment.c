// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Segmentation of messages (RFC 5041 section 5.2). */
#include "hdr.h"
#include "segment.h"

static_assert(DDP_MULPDU_MIN > DDP_U_HDR_LEN);

/**
 * ddp_compute_segment - compute the next segment of a message
 * @c: state of the segmentation; @c->done must be less than @c->total, unless
 *	the message is empty
 * @mulpdu: maximum length in bytes of a segment that the LLP can send now,
 *	header included; at least DDP_MULPDU_MIN, and may differ from call to
 *	call
 * @h: set to the header of the segment; the MSN is that of @c->first
 *
 * An empty message is one segment without payload (RFC 5041 5.2). The caller
 * must add the returned length to @c->done before the next call.
 *
 * Return: length of the payload in bytes.
 */
u32 ddp_compute_segment(const struct ddp_segmentation *c, u32 mulpdu, struct ddp_hdr *h)
{
	u32 left = c->total - c->done;
	u32 len = min(left, mulpdu - ddp_hdr_len(c->first));

	*h = *c->first;
	h->last = len == left;
	if (h->tagged)
		h->to += c->done;
	else
		h->mo = c->done;
	return len;
}
