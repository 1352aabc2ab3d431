// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * General receive path: decode, admit, check, place and deliver each segment
 * once, in this order (RFC 5041 section 7.1). Exception: QN, MSN and MO of an
 * untagged segment are checked before the segment is admitted. rx_fast.c has the
 * fast path for segments that continue or repeat the previous segment.
 *
 * A tagged segment that arrives out of order may be placed when it arrives.
 * When it is next in order, all steps except the copy are repeated (section
 * 5.3). A segment that needs a page fault is deferred after it has been
 * admitted, and the LLP passes it again later.
 */
#include <linux/export.h>

#include "hdr.h"
#include "internal.h"
#include "trace.h"
#include "untagged.h"

static_assert(DDP_T_HDR_LEN == IW_DDP_T_HDR_LEN);

/* Read and decode the header of a segment, and fill in @g */
static enum iw_reason ddp_rx_read_header(struct ddp_llp *llp, const u8 *head,
					 u32 len, struct ddp_rx_seg *g)
{
	enum iw_reason why;

	g->len = len;
	g->placed = false;
	/* @head is as long as a tagged header: read the rest of an untagged one from the LLP */
	g->raw_len = min_t(u32, g->len, DDP_T_HDR_LEN);
	memcpy(g->raw, head, g->raw_len);
	if (g->len >= DDP_U_HDR_LEN && !(g->raw[0] & DDP_TAGGED)) {
		if (!llp->ops->read(llp, g->raw + DDP_T_HDR_LEN,
				    DDP_U_HDR_LEN - DDP_T_HDR_LEN))
			return IW_UNREADABLE;
		g->raw_len = DDP_U_HDR_LEN;
	}
	why = ddp_hdr_decode(&g->h, g->raw, g->raw_len);
	if (!why)
		g->payload = g->len - g->raw_len;
	return why;
}

/* Admit a segment. For a deferred segment, which was admitted before, use the saved grant. */
enum iw_reason ddp_rx_admit_segment(struct ddp_stream *s, const struct ddp_rx_seg *g,
				    struct ddp_grant *grant)
{
	if (likely(!s->deferred.valid))
		return s->ulp->admit(s, &g->h, g->payload, grant);
	*grant = s->deferred.grant;
	s->deferred.valid = false;
	return IW_OK;
}

noinline void ddp_rx_defer_segment(struct ddp_stream *s, const struct ddp_rx_seg *g,
				   const struct ddp_grant *grant)
{
	/* drop the cached MR reference, or revocation would wait for the page fault */
	ddp_mr_cache_drop(&s->rx_mr);
	s->deferred = (struct ddp_deferred) {
		.valid = true,
		.raw_len = g->raw_len,
		.len = g->len,
		.grant = *grant,
	};
	memcpy(s->deferred.raw, g->raw, g->raw_len);
	/* placement may have moved the cursor: move it back to the start of the payload */
	if (!g->h.tagged)
		ddp_cursor_seek(&s->sink[g->h.qn], grant->buf, g->h.mo);
}

/*
 * Check whether @g, which the LLP has passed again, still has the header and
 * length of the deferred segment. The header can have changed, because a sender
 * on this machine may still be writing to the received pages.
 */
static noinline bool matches_deferred_segment(const struct ddp_deferred *p,
					      const struct ddp_rx_seg *g)
{
	return p->len == g->len && p->raw_len == g->raw_len &&
	       !memcmp(p->raw, g->raw, g->raw_len);
}

/*
 * Check whether the cached MR reference may be kept for the next segment. The
 * reference must be dropped
 * - outside a receive pass, because BH may be enabled before the next segment;
 * - before deliver() of any message but a Write, because deliver() may
 *   invalidate the MR;
 * - if @g has no payload, because the MR was not checked for @g;
 * - if @g was placed out of order, because rx_seg, with which the fast paths
 *   compare the next segment, does not describe @g.
 */
static bool may_keep_cached_mr(const struct ddp_stream *s, const struct ddp_rx_seg *g)
{
	return s->rx_begun && !g->placed && g->payload &&
	       (!g->h.last || g->rights == DDP_REMOTE_WRITE);
}

static enum iw_reason rx_tagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					struct ddp_rx_seg *g)
{
	struct ddp_grant grant = {};
	enum iw_reason why;

	why = ddp_rx_admit_segment(s, g, &grant);
	g->rights = grant.rights;
	/* RFC 5041 5.2 (DDP-56): do not check STag and TO if there is no payload */
	if (!why && g->payload)
		why = ddp_place_tagged_segment(s, g->placed ? NULL : llp, &g->h,
					       g->payload, grant.rights);
	if (unlikely(why == IW_AGAIN))
		ddp_rx_defer_segment(s, g, &grant);
	if (!may_keep_cached_mr(s, g))
		ddp_mr_cache_drop(&s->rx_mr);
	if (!why && g->h.last)
		why = s->ulp->deliver(s, &g->h, g->payload);
	return why;
}

enum iw_reason ddp_rx_untagged_segment(struct ddp_stream *s, struct ddp_llp *llp, const void *body,
				       const struct ddp_rx_seg *g)
{
	struct ddp_grant grant = {};
	struct ddp_cursor *sink;
	enum iw_reason why;

	ddp_mr_cache_drop(&s->rx_mr);
	why = ddp_untagged_check_hdr(s->uq, &g->h);
	if (!why)
		why = ddp_rx_admit_segment(s, g, &grant);
	if (!why)
		why = ddp_untagged_check_len(&g->h, g->payload, grant.buf->len);
	if (why)
		return why;

	sink = &s->sink[g->h.qn];
	if (!g->h.mo)
		ddp_cursor_init(sink, grant.buf);
	why = ddp_place_untagged_segment(s, llp, body, sink, g->payload);
	if (g->h.last || !s->rx_begun)
		ddp_mr_cache_drop(&s->rx_mr);
	if (!why && g->h.last)
		why = s->ulp->deliver(s, &g->h, g->h.mo + g->payload);
	if (!why)
		ddp_untagged_advance(&s->uq[g->h.qn], &g->h, g->payload);
	else if (why == IW_AGAIN)
		ddp_rx_defer_segment(s, g, &grant);
	return why;
}

void ddp_rx_fail_segment(struct ddp_stream *s, enum iw_reason why,
			 const struct ddp_rx_seg *g)
{
	struct iw_failure f = { .why = why, .seg_len = g->len };

	/* drop the reference now, because the failed() upcall may invalidate the MR */
	ddp_mr_cache_drop(&s->rx_mr);
	/* a Terminate must not quote an incomplete header */
	if (why != IW_DDP_SHORT) {
		f.ddp_len = g->raw_len;
		memcpy(f.ddp, g->raw, g->raw_len);
	}
	ddp_stream_fail(s, &f);
}

void ddp_rx_report_writes(struct ddp_stream *s)
{
	if (!s->writes_unreported)
		return;
	s->ulp->writes_placed(s, s->rx_seg.payload, s->writes_unreported);
	s->writes_unreported = 0;
}

static enum iw_reason rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
				 const u8 *head, u32 len)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	enum iw_reason why;

	if (ddp_rx_try_tagged_fast_path(s, llp, head, len, &why))
		return why;
	ddp_rx_report_writes(s);
	why = ddp_rx_read_header(llp, head, len, g);
	if (unlikely(s->deferred.valid)) {
		if (!why && !matches_deferred_segment(&s->deferred, g))
			why = IW_DDP_CATASTROPHIC;
	} else if (!why) {
		trace_ddp_segment_received(s, &g->h, g->payload);
	}
	if (!why)
		why = g->h.tagged ? rx_tagged_segment(s, llp, g)
				  : ddp_rx_untagged_segment(s, llp, NULL, g);
	if (why && why != IW_AGAIN)
		ddp_rx_fail_segment(s, why, g);
	return why;
}

static bool rx_try_place_early_segment(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
				       u32 len, struct ddp_placed *p)
{
	struct ddp_rx_seg g = {};
	struct ddp_grant grant = {};
	enum iw_reason why;

	if (ddp_rx_read_header(llp, head, len, &g) || !g.h.tagged ||
	    !s->ulp->may_place_early(s, &g.h, g.payload, &grant))
		return false;
	/*
	 * Issue no page-fault request: the receive path has only one, which the
	 * segment that is next in order may need
	 */
	s->rx_fault.suppressed = true;
	why = g.payload ? ddp_place_tagged_segment(s, llp, &g.h, g.payload, grant.rights)
			: IW_OK;
	s->rx_fault.suppressed = false;
	ddp_mr_cache_drop(&s->rx_mr);
	if (why)
		return false;
	p->len = len;
	memcpy(p->hdr, g.raw, sizeof(p->hdr));
	trace_ddp_segment_early(s, &g.h, g.payload);
	return true;
}

static enum iw_reason rx_deliver_placed_segment(struct ddp_stream *s,
						const struct ddp_placed *p)
{
	struct ddp_rx_seg g = {
		.len = p->len,
		.payload = p->len - sizeof(p->hdr),
		.raw_len = sizeof(p->hdr),
		.placed = true,
	};
	enum iw_reason why;

	ddp_rx_report_writes(s);
	memcpy(g.raw, p->hdr, sizeof(p->hdr));
	why = ddp_hdr_decode(&g.h, g.raw, g.raw_len);
	if (!why)
		trace_ddp_segment_received(s, &g.h, g.payload);
	if (!why)
		why = rx_tagged_segment(s, NULL, &g);
	if (why)
		ddp_rx_fail_segment(s, why, &g);
	return why;
}

static void rx_set_busy(struct ddp_stream *s)
{
	WRITE_ONCE(s->rx_busy, true);
	/*
	 * Set rx_busy before reading failed; pairs with ddp_stream_quiesce(),
	 * which reads rx_busy after failed is set. Otherwise
	 * ddp_stream_quiesce() could return while this path places data.
	 * litmus: settle
	 */
	smp_mb();
}

static void rx_clear_busy(struct ddp_stream *s)
{
	/*
	 * Complete placement before clearing rx_busy; pairs with is_busy() of
	 * ddp_stream_quiesce(); litmus: settle
	 */
	smp_store_release(&s->rx_busy, false);
}

/*
 * Set rx_busy, unless ddp_rx_begin() has set it. Return: true if the segment
 * may be processed; false if the stream has failed, so that nothing may be
 * placed.
 */
static bool ddp_rx_try_enter(struct ddp_stream *s)
{
	if (!s->rx_begun)
		rx_set_busy(s);
	return !test_bit(0, &s->failed);
}

static void ddp_rx_leave(struct ddp_stream *s)
{
	if (!s->rx_begun)
		rx_clear_busy(s);
}

void ddp_rx_begin(struct ddp_stream *s)
{
	s->rx_begun = true;
	rx_set_busy(s);
}
EXPORT_SYMBOL_GPL(ddp_rx_begin);

void ddp_rx_end(struct ddp_stream *s)
{
	s->rx_begun = false;
	ddp_rx_report_writes(s);
	ddp_mr_cache_drop(&s->rx_mr);
	rx_clear_busy(s);
}
EXPORT_SYMBOL_GPL(ddp_rx_end);

enum iw_reason ddp_rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
			      const u8 *head, u32 len)
{
	enum iw_reason why = IW_DDP_CATASTROPHIC;

	if (ddp_rx_try_enter(s))
		why = rx_segment(s, llp, head, len);
	ddp_rx_leave(s);
	return why;
}
EXPORT_SYMBOL_GPL(ddp_rx_segment);

bool ddp_rx_try_place_early_segment(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
				    u32 len, struct ddp_placed *p)
{
	bool placed = false;

	if (ddp_rx_try_enter(s))
		placed = rx_try_place_early_segment(s, llp, head, len, p);
	ddp_rx_leave(s);
	return placed;
}
EXPORT_SYMBOL_GPL(ddp_rx_try_place_early_segment);

enum iw_reason ddp_rx_deliver_placed_segment(struct ddp_stream *s, const struct ddp_placed *p)
{
	enum iw_reason why = IW_DDP_CATASTROPHIC;

	if (ddp_rx_try_enter(s))
		why = rx_deliver_placed_segment(s, p);
	ddp_rx_leave(s);
	return why;
}
EXPORT_SYMBOL_GPL(ddp_rx_deliver_placed_segment);
