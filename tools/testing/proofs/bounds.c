// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Access check of an MR, for any MR and any range, against a reference that computes with
 * 128-bit numbers, which do not wrap.
 *
 * Files: ddp/bounds.c
 * Bound: 1, there is no loop
 * Mutation: ddp/bounds.c s/to + len < to/to + len + 1 < to/
 * Mutation: ddp/bounds.c s/len > r->length - off/to + len > r->base + r->length/
 * Mutation: ddp/bounds.c s/if (!smp_load_acquire(&r->valid) || is_denied/if (is_denied/
 * Mutation: ddp/bounds.c s/(&r->valid) || is_denied(s, rights)/(\&r->valid)/
 * Mutation: ddp/bounds.c s/rights & ~(r->rights | DDP_RECV_BUF)/!(rights \& r->rights)/
 */
#include "../../../drivers/ddp/bounds.h"
#include "proof.h"

typedef unsigned __int128 u128;

struct question {
	struct ddp_region	r;
	struct ddp_stream	s;
	u32			stag;
	u64			to;
	u32			len;
	u8			rights;
};

static bool is_mr_associated(const struct question *q)
{
	const void *pd = q->rights & DDP_RECV_BUF ? q->s.recv_pd : q->s.pd;

	return q->r.pd == pd && (!q->r.stream || q->r.stream == q->s.id);
}

static bool is_range_inside_mr(const struct question *q)
{
	u128 end = (u128)q->to + q->len;

	return q->to >= q->r.base && end <= (u128)q->r.base + q->r.length;
}

/*
 * Compute the expected result, with checks in the order of RFC 5041 7.1 T1, T2; 8.2; T5;
 * T3, T4; see 5.2 for empty segments
 */
static enum iw_reason compute_expected_result(const struct question *q)
{
	if (!q->r.valid || q->r.stag != q->stag)
		return IW_DDP_T_STAG;
	if (!is_mr_associated(q))
		return IW_DDP_T_ASSOC;
	if (q->rights & ~q->r.rights & ~DDP_RECV_BUF || q->rights & q->s.denied)
		return IW_DDP_T_STAG;
	if (!q->len)
		return IW_OK;
	if ((u128)q->to + q->len >= (u128)1 << 64)
		return IW_DDP_T_WRAP;
	return is_range_inside_mr(q) ? IW_OK : IW_DDP_T_BOUNDS;
}

void prove_check_access(void)
{
	struct question q;
	enum iw_reason why;

	q.r.valid = any_bool();
	why = ddp_bounds_check_access(&q.r, &q.s, q.stag, q.to, q.len, q.rights);
	MUST("DDP-56, DDP-96 to DDP-100, DDP-111, DDP-112: the result is that of RFC 5041 7.1",
	     why == compute_expected_result(&q));
	MUST("DDP-125, SEC-15: no access outside the MR is allowed",
	     why || !q.len || is_range_inside_mr(&q));
	MUST("DDP-123, DDP-124: no access without association is allowed",
	     why || is_mr_associated(&q));
	if (why == IW_OK && q.len)
		REACHED("allowed");
	if (why == IW_OK && !q.len && !is_range_inside_mr(&q))
		REACHED("an empty range outside the MR is allowed");
	if (why == IW_DDP_T_ASSOC)
		REACHED("not associated");
	if (why == IW_DDP_T_WRAP)
		REACHED("the range wraps");
	if (why == IW_DDP_T_BOUNDS)
		REACHED("out of bounds");
}

/*
 * If ddp_bounds_check_access() has allowed another range of the MR, ddp_bounds_recheck_access()
 * gives the same result as a full check
 */
void prove_recheck_access(void)
{
	struct question q;
	enum iw_reason why;

	q.r.valid = any_bool();
	GIVEN(q.len && q.stag == q.r.stag && is_mr_associated(&q) &&
	      !(q.rights & ~q.r.rights & ~DDP_RECV_BUF));
	why = ddp_bounds_recheck_access(&q.r, &q.s, q.rights, q.to, q.len);
	MUST("DDP-56, DDP-96 to DDP-100: the result is that of a full check",
	     why == compute_expected_result(&q));
	MUST("DDP-125, SEC-15: no access outside the MR is allowed", why || is_range_inside_mr(&q));
	if (!why)
		REACHED("another range is allowed");
	if (why == IW_DDP_T_STAG)
		REACHED("a right was revoked");
}
