// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Access checks for registered memory (RFC 5041 sections 7.1, 8.2 and 8.3). */
#include "bounds.h"

/*
 * Check whether the MR contains [@to, @to + @len). A range that ends exactly at
 * 2^64 is refused as wrapped too, because @to + @len is then 0 (RFC 5041 7.1
 * T5).
 */
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

/*
 * Check whether the QP forbids one of the rights. The ULP may change the denied
 * rights at any time, hence READ_ONCE().
 */
static bool is_denied(const struct ddp_stream *s, u8 rights)
{
	return rights & READ_ONCE(s->denied);
}

/**
 * ddp_bounds_check_access - check whether a stream may access a range of an MR
 * @r: MR that has the index of @stag
 * @s: stream that requests the access
 * @stag: STag as received or posted, key included
 * @to: TO of the first byte
 * @len: number of bytes; if 0, @to is not checked (RFC 5041 5.2)
 * @rights: DDP_* rights that the access needs; DDP_RECV_BUF in addition for the
 *	buffer of a receive
 *
 * The caller must hold an in-flight reference to @r until the access is
 * complete: revocation waits for this reference.
 *
 * Return: IW_OK if the stream may access the range; IW_DDP_T_STAG if the key is
 * stale, the STag is not valid, or a right is missing (RFC 5041 7.1 T1, T2);
 * IW_DDP_T_ASSOC if the MR belongs to another PD or stream (8.2); IW_DDP_T_WRAP
 * if the TO wraps (T5); IW_DDP_T_BOUNDS if the range is not in the MR (T3, T4).
 */
enum iw_reason ddp_bounds_check_access(const struct ddp_region *r,
				       const struct ddp_stream *s, u32 stag, u64 to,
				       u32 len, u8 rights)
{
	/*
	 * Read valid before the other fields; pairs with ddp_region_validate(),
	 * which sets valid after them. Otherwise this function could check
	 * fields of an earlier registration. litmus: publish, revoke
	 */
	if (!smp_load_acquire(&r->valid) || r->stag != stag)
		return IW_DDP_T_STAG;
	if (r->pd != (rights & DDP_RECV_BUF ? s->recv_pd : s->pd) ||
	    (r->stream && r->stream != s->id))
		return IW_DDP_T_ASSOC;
	if (rights & ~(r->rights | DDP_RECV_BUF) || is_denied(s, rights))
		return IW_DDP_T_STAG;
	return check_range(r, to, len);
}

/**
 * ddp_bounds_recheck_access - check a further range of an MR that is still referenced
 * @r: MR for which ddp_bounds_check_access() has succeeded; the caller must have held
 *	an in-flight reference since then
 * @s: stream for which ddp_bounds_check_access() has succeeded
 * @rights: rights for which ddp_bounds_check_access() has succeeded
 * @to: TO of the first byte
 * @len: number of bytes, not 0
 *
 * Key, PD and rights of the MR cannot change while the caller holds the
 * reference, so they are not checked again. But the MR may have been revoked,
 * and the rights of the stream may have been reduced.
 *
 * Return: IW_OK if the stream may access the range; IW_DDP_T_STAG if the MR has
 * been revoked or the QP forbids a right; IW_DDP_T_WRAP or IW_DDP_T_BOUNDS as
 * for ddp_bounds_check_access().
 */
enum iw_reason ddp_bounds_recheck_access(const struct ddp_region *r,
					 const struct ddp_stream *s, u8 rights, u64 to,
					 u32 len)
{
	/*
	 * The MR may have been revoked since the last copy, so check it again.
	 * If valid is still set, ddp_region_revoke() waits for the copy,
	 * because it clears valid before it waits for references. litmus: hold
	 */
	if (!smp_load_acquire(&r->valid) || is_denied(s, rights))
		return IW_DDP_T_STAG;
	return check_range(r, to, len);
}
