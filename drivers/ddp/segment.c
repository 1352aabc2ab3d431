// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Cutting a message into segments (RFC 5041 section 5.2). */
#include "hdr.h"
#include "segment.h"

static_assert(DDP_MULPDU_MIN > DDP_U_HDR_LEN);

/**
 * ddp_cut_next - the next segment of a message
 * @c: how far it has been cut; not to its end, unless it is empty
 * @mulpdu: longest segment the LLP takes now, header included; at least
 *	DDP_MULPDU_MIN; may be another one each time
 * @h: header of the segment, filled in; its MSN as in @c->first
 *
 * A message without octets is one segment (RFC 5041 5.2).  @h->last tells that
 * this segment is the last one; otherwise the caller adds the returned octets
 * to @c->done before it asks again.
 *
 * Return: octets of payload.
 */
u32 ddp_cut_next(const struct ddp_cut *c, u32 mulpdu, struct ddp_hdr *h)
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
