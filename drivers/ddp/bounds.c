// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Access checks for registered memory (RFC 5041 sections 7.1, 8.2 and 8.3). */
#include "bounds.h"

/* A range that ends at 2^64 has wrapped, too: @to + @len is 0 then (7.1 T5) */
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

/* The ULP may change the denied rights at any time */
static bool is_denied(const struct ddp_stream *s, u8 rights)
{
	return rights & READ_ONCE(s->denied);
}

/**
 * ddp_bounds_check - check whether a stream may access a range of an MR
 * @r: MR found by the index of @stag
 * @s: stream that requests the access
 * @stag: STag as received or posted, key included
 * @to: TO of the first byte
 * @len: number of bytes; if 0, @to is not checked (RFC 5041 5.2)
 * @rights: DDP_* rights that are all needed; DDP_RECEIVED in addition for the
 *	buffer of a receive
 *
 * The caller holds an in-flight reference to @r, so that IW_OK remains true
 * until the reference is dropped.
 *
 * Return: IW_OK; IW_DDP_T_STAG (stale key, STag not valid, or a right missing;
 * RFC 5041 7.1 T1, T2); IW_DDP_T_ASSOC (8.2); IW_DDP_T_WRAP (T5); or
 * IW_DDP_T_BOUNDS (T3, T4).
 */
enum iw_reason ddp_bounds_check(const struct ddp_region *r,
				const struct ddp_stream *s, u32 stag, u64 to,
				u32 len, u8 rights)
{
	/*
	 * Pairs with ddp_region_validate(), which sets valid after the other
	 * fields; litmus: publish, revoke
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
 * ddp_bounds_recheck - check a further range of an MR that is still referenced
 * @r: MR for which ddp_bounds_check() has succeeded; referenced since then
 * @s: stream that was checked
 * @rights: rights that were checked
 * @to: TO of the first byte
 * @len: number of bytes, not 0
 *
 * Key, protection domain and rights of the MR cannot change while it is
 * referenced. But the MR may have been revoked, and the stream's rights may
 * have been reduced.
 *
 * Return: as for ddp_bounds_check().
 */
enum iw_reason ddp_bounds_recheck(const struct ddp_region *r,
				  const struct ddp_stream *s, u8 rights, u64 to,
				  u32 len)
{
	/* litmus: hold */
	if (!smp_load_acquire(&r->valid) || is_denied(s, rights))
		return IW_DDP_T_STAG;
	return check_range(r, to, len);
}
