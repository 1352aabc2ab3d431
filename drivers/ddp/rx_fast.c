// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fast path of received segments: it processes segments whose header DDP has predicted from the
 * previous segment, and does not decode their headers. rx.c has the general path, expect.c the
 * prediction. There are three kinds of such segments:
 *
 * - A segment that continues a message, see rx_continue_msg(). RDMAP only counts it, because
 *   admit() has admitted the message. If the segment is tagged, the MR is not looked up.
 * - An RDMA Write of one segment, see rx_repeat_write(). The MR is not looked up, and RDMAP counts
 *   such Writes later, many at a time.
 * - The next untagged message of a queue, of one segment, see rx_next_untagged_msg(). It is
 *   admitted, placed and delivered as on the general path.
 *
 * ddp_rx_batch() processes several segments. If they continue a message, it first tries to place
 * all of them at once with rx_continue_msg_at_once().
 *
 * For tagged segments the fast path needs the MR reference that the receive path has cached for the
 * previous segment. It checks validity, bounds and rights again for each segment or batch.
 */
#include <linux/export.h>
#include <linux/mm.h>

#include "expect.h"
#include "hdr.h"
#include "internal.h"
#include "trace.h"
#include "untagged.h"

/*
 * Check whether the queue expects the segment after the last one, if that one did not end its
 * message. It may not have been accepted: if admit() made it wait, the queue has not advanced past
 * it, and the general path must process it again, whatever its header contains by then. After the
 * last segment of a message, ddp_rx_untagged_segment() checks the same.
 */
static bool has_queue_advanced(const struct ddp_stream *s)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return g->h.last || s->uq[g->h.qn].mo == g->h.mo + g->payload;
}

bool ddp_rx_get_expected(const struct ddp_stream *s, struct ddp_expected *e)
{
	/* the caller has set rx_busy before, so ddp_stream_quiesce() waits for it */
	if (test_bit(0, &s->failed) || s->deferred.valid)
		return false;
	return (s->rx_seg.h.tagged ? !!s->rx_mr : has_queue_advanced(s)) &&
	       ddp_expect_next(e, &s->rx_seg);
}
EXPORT_SYMBOL_GPL(ddp_rx_get_expected);

/* Advance the TO or MO of the last segment's header by @n segments */
static void advance_offset(struct ddp_rx_seg *g, u32 n)
{
	if (g->h.tagged)
		g->h.to += n * g->payload;
	else
		g->h.mo += n * g->payload;
}

/* Defer or fail the segment @g, which could not be placed because of @why. Return: @why. */
static noinline enum iw_reason defer_or_fail(struct ddp_stream *s, enum iw_reason why,
					     const struct ddp_grant *grant)
{
	struct ddp_rx_seg *g = &s->rx_seg;

	ddp_expect_write_raw(g);
	if (why == IW_AGAIN)
		ddp_rx_defer_segment(s, g, grant);
	else
		ddp_rx_fail_segment(s, why, g);
	return why;
}

static enum iw_reason place_next_untagged_segment(struct ddp_stream *s, const void *body)
{
	const struct ddp_rx_seg *g = &s->rx_seg;
	struct ddp_cursor *sink = &s->sink[g->h.qn];
	enum iw_reason why;

	why = ddp_untagged_check_len(&g->h, g->payload, sink->buf->len);
	if (!why)
		why = ddp_place_untagged_segment(s, NULL, body, sink, g->payload);
	if (!why)
		ddp_untagged_advance(&s->uq[g->h.qn], &g->h, g->payload);
	return why;
}

/*
 * Process a segment that continues a message. @body: payload; NULL to read it from @llp, for a
 * tagged segment only.
 */
static enum iw_reason rx_continue_msg(struct ddp_stream *s, struct ddp_llp *llp, const void *body)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	enum iw_reason why;

	advance_offset(g, 1);
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = s->ulp->admit_more(s, &g->h, g->payload, 1);
	if (!why)
		why = g->h.tagged ? ddp_place_next_tagged_segment(s, llp, body, g->h.to,
								  g->payload, false)
				  : place_next_untagged_segment(s, body);
	if (unlikely(why)) {
		const struct ddp_grant grant = {
			.rights = g->rights,
			.buf = g->h.tagged ? NULL : s->sink[g->h.qn].buf,
		};

		return defer_or_fail(s, why, &grant);
	}
	return IW_OK;
}

/*
 * Defer or fail a Write that rx_repeat_write() could not place because of @why.
 * The general path would have called admit() before placement, so call admit()
 * now: if it fails, its reason replaces @why.
 */
static noinline enum iw_reason defer_or_fail_write(struct ddp_stream *s, enum iw_reason why)
{
	struct ddp_grant grant = {};
	enum iw_reason no;

	ddp_rx_report_writes(s);
	no = ddp_rx_admit_segment(s, &s->rx_seg, &grant);
	return defer_or_fail(s, no ?: why, &grant);
}

/*
 * Place a single-segment Write whose header equals that of the previous Write's
 * last segment, except for the TO. admit() would accept this Write too, so it
 * is not called. ddp_rx_report_writes() reports all such Writes later with one
 * writes_placed() upcall.
 */
static enum iw_reason rx_repeat_write(struct ddp_stream *s, struct ddp_llp *llp, const void *body,
				      u64 to)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	enum iw_reason why;

	g->h.to = to;
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = ddp_place_next_tagged_segment(s, llp, body, to, g->payload, true);
	if (unlikely(why))
		return defer_or_fail_write(s, why);
	s->writes_unreported++;
	return IW_OK;
}

/* Process the next whole message of an untagged queue. It has @len bytes, header included. */
static enum iw_reason rx_next_untagged_msg(struct ddp_stream *s, const void *body, u32 len)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	enum iw_reason why;

	g->h.msn++;
	g->len = len;
	g->payload = len - DDP_U_HDR_LEN;
	ddp_expect_write_raw(g);
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = ddp_rx_untagged_segment(s, NULL, body, g);
	if (unlikely(why) && why != IW_AGAIN)
		ddp_rx_fail_segment(s, why, g);
	return why;
}

static enum iw_reason rx_expected_segment(struct ddp_stream *s, const struct ddp_rx_batch *b,
					  u32 i)
{
	/* another context may have failed the stream since the last segment */
	if (test_bit(0, &s->failed))
		return IW_DDP_CATASTROPHIC;
	if (!s->rx_seg.h.last)
		return rx_continue_msg(s, NULL, b->body[i]);
	return s->rx_seg.h.tagged ? rx_repeat_write(s, NULL, b->body[i], b->field[i])
				  : rx_next_untagged_msg(s, b->body[i], b->len);
}

/* Trace @n segments that continue a message; @first: the first of them */
static void trace_segments(struct ddp_stream *s, const struct ddp_rx_seg *first, u32 n)
{
	struct ddp_rx_seg g = *first;

	for (; n; n--, advance_offset(&g, 1))
		trace_ddp_segment_received(s, &g.h, g.payload);
}

/* Place @n segments that continue a message; @first: the first of them */
static void place_admitted_segments(struct ddp_stream *s, const struct ddp_rx_seg *first,
				    const struct ddp_batch_dst *d, const struct ddp_rx_batch *b,
				    u32 n)
{
	struct ddp_rx_seg *g = &s->rx_seg;

	if (trace_ddp_segment_received_enabled())
		trace_segments(s, first, n);
	ddp_place_batch(s, &first->h, d, b, n);
	advance_offset(g, n);
	if (!g->h.tagged)
		ddp_untagged_advance(&s->uq[g->h.qn], &g->h, d->m.len);
}

/*
 * Process segments that continue a message with one check, and with one copy if they are joined.
 * Return: number of segments processed; the others must be processed one by one.
 */
static u32 rx_continue_msg_at_once(struct ddp_stream *s, const struct ddp_rx_batch *b)
{
	struct ddp_rx_seg *g = &s->rx_seg, next = *g;
	struct ddp_batch_dst d;
	bool admitted = false;
	u32 n;

	advance_offset(&next, 1);
	if (!g->h.tagged && ddp_untagged_check_len(&next.h, b->n * g->payload,
						   s->sink[g->h.qn].buf->len))
		return 0;
	n = ddp_place_begin_batch(s, &next.h, g->payload, b->n, &d);
	if (n) {
		admitted = !s->ulp->admit_more(s, &next.h, d.m.len, n);
		if (likely(admitted))
			place_admitted_segments(s, &next, &d, b, n);
		ddp_place_end_batch(s, &d);
	}
	ddp_mr_cache_end_copy(&s->rx_mr);
	return admitted ? n : 0;
}

u32 ddp_rx_batch(struct ddp_stream *s, const struct ddp_rx_batch *b, enum iw_reason *why)
{
	u32 i = 0;

	*why = IW_OK;
	/* the general path refuses a segment that is shorter than its header */
	if (!s->rx_seg.h.tagged && b->len < DDP_U_HDR_LEN)
		return 0;
	if (b->n > 1 && !s->rx_seg.h.last && !test_bit(0, &s->failed))
		i = rx_continue_msg_at_once(s, b);
	for (; i < b->n; i++) {
		*why = rx_expected_segment(s, b, i);
		if (*why)
			break;
	}
	return i;
}
EXPORT_SYMBOL_GPL(ddp_rx_batch);

/*
 * Try the fast path of a tagged segment whose payload is read from @llp. Return: true if the
 * segment was processed and @why is set; false if nothing was done.
 */
bool ddp_rx_try_tagged_fast_path(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
				 u32 len, enum iw_reason *why)
{
	struct ddp_expected e;
	struct ddp_rx_head h;

	if (!s->rx_seg.h.tagged || len != s->rx_seg.len || !ddp_rx_get_expected(s, &e))
		return false;
	h.start = ddp_expect_pack_start(head, len);
	h.field = get_unaligned_be64(head + DDP_T_TO);
	h.mo = 0;
	if (!ddp_rx_is_expected(&e, &h, 0))
		return false;
	*why = s->rx_seg.h.last ? rx_repeat_write(s, llp, NULL, h.field)
				: rx_continue_msg(s, llp, NULL);
	return true;
}

u32 ddp_rx_get_next_page_off(struct ddp_stream *s)
{
	const struct ddp_region *r = s->rx_mr;
	const struct ddp_rx_seg *g = &s->rx_seg;

	if (g->h.last)
		return 0;
	if (!g->h.tagged)
		return ddp_cursor_get_page_off(&s->sink[g->h.qn]);
	return offset_in_page(g->h.to + g->payload - r->base + r->skip);
}
EXPORT_SYMBOL_GPL(ddp_rx_get_next_page_off);
