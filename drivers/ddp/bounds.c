// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* May this stream touch these octets (RFC 5041 sections 7.1, 8.2 and 8.3)? */
#include "bounds.h"

/* A sum that just reaches 2^64 has wrapped as well: it reads 0 (7.1 T5). */
static enum iw_reason check_range(const struct ddp_region *r, u64 to, u32 len)
{
	u64 off = to - r->base;

	if (!len)
		return IW_OK;
	if (to + len < to)
		return IW_DDP_T_WRAP;
	if (to < r->base || off > r->length || len > r->length - off)
		return IW_DDP_T_BOUNDS;
	return IW_OK;
}

/* By the ULP, which may say so at any time */
static bool is_denied(const struct ddp_stream *s, u8 rights)
{
	return rights & READ_ONCE(s->denied);
}

/**
 * ddp_bounds_check - may @s touch @len octets from @to of @stag?
 * @r: the region that @stag's index leads to
 * @s: the stream that wants to
 * @stag: the STag as it was given, key and all
 * @to: first octet
 * @len: octets; 0: @to is not checked (RFC 5041 5.2)
 * @rights: DDP_* it must have, all of them; with DDP_RECEIVED for a receive
 *
 * The caller holds @r, so that an IW_OK stays true until it lets go.
 *
 * Return: IW_OK, IW_DDP_T_STAG (stale key, not valid, or a right missing; RFC
 * 5041 7.1 T1, T2), IW_DDP_T_ASSOC (8.2), IW_DDP_T_WRAP (T5) or
 * IW_DDP_T_BOUNDS (T3, T4).
 */
enum iw_reason ddp_bounds_check(const struct ddp_region *r,
				const struct ddp_stream *s, u32 stag, u64 to,
				u32 len, u8 rights)
{
	/*
	 * pairs with ddp_region_allow(): valid only after the other fields;
	 * litmus: publish, revoke
	 */
	if (!smp_load_acquire(&r->valid) || r->stag != stag)
		return IW_DDP_T_STAG;
	if (r->pd != (rights & DDP_RECEIVED ? s->recv_pd : s->pd) ||
	    (r->stream && r->stream != s->id))
		return IW_DDP_T_ASSOC;
	if (rights & ~(r->rights | DDP_RECEIVED) || is_denied(s, rights))
		return IW_DDP_T_STAG;
	return check_range(r, to, len);
}

/**
 * ddp_bounds_more - may who touches octets of a region touch @len others from @to?
 * @r: ddp_bounds_check() has said so of some, and it has been held since
 * @s: who
 * @rights: those that it was asked about
 * @to: first octet
 * @len: octets, not 0
 *
 * Key, protection domain and the region's rights stay while it is held.  It may have been
 * revoked: whoever did waits.  The stream's rights may have been taken.
 *
 * Return: as ddp_bounds_check().
 */
enum iw_reason ddp_bounds_more(const struct ddp_region *r,
			       const struct ddp_stream *s, u8 rights, u64 to,
			       u32 len)
{
	/* litmus: hold */
	if (!smp_load_acquire(&r->valid) || is_denied(s, rights))
		return IW_DDP_T_STAG;
	return check_range(r, to, len);
}
