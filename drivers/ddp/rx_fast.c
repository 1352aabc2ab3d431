// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fast paths of received segments: they skip header decoding, and all but the last one also skip
 * admission and the STag lookup. rx.c has the general path.
 *
 * A fast path processes a segment whose header equals that of the previous segment, except for the
 * TO, the MO or the MSN. All but the last path also need the length of the previous segment.
 *
 * previous segment     this segment                        function
 * tagged, not last     its TO continues the previous one   rx_next_tagged_segment()
 * tagged, not last     a batch of such segments            rx_try_batch()
 * tagged, last, Write  a single-segment Write with any TO  rx_next_write()
 * untagged, not last   its MO continues the previous one,  rx_try_next_untagged_segment()
 *                      and its payload is contiguous
 * untagged, a whole    the next message of the queue, of   rx_try_next_untagged_msg()
 * message              any length, in contiguous memory
 *
 * The fast paths of tagged segments need the MR reference that the receive path
 * has cached for the previous segment. They check validity, bounds and rights
 * again for each segment or batch.
 */
#include <linux/export.h>
#include <linux/mm.h>

#include "hdr.h"
#include "internal.h"
#include "trace.h"
#include "untagged.h"

/* Compare the bytes before the TO or QN, without a slow call of memcmp() */
static bool is_hdr_prefix_equal(const u8 *a, const u8 *b)
{
	static_assert(DDP_T_STAG == sizeof(u16) && DDP_T_TO == DDP_T_STAG + sizeof(u32));
	return get_unaligned_be16(a) == get_unaligned_be16(b) &&
	       get_unaligned_be32(a + DDP_T_STAG) == get_unaligned_be32(b + DDP_T_STAG);
}

/* Check whether the length, and the header up to the TO or QN, equal those of the last segment */
static bool has_same_len_and_hdr_prefix(const struct ddp_stream *s, const u8 *head, u32 len)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return len == g->len && is_hdr_prefix_equal(head, g->raw);
}

/* Check whether the TO is the next one after the last segment and @n more of the same length */
static bool is_next_tagged_offset(const struct ddp_stream *s, const u8 *head, u32 n)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return get_unaligned_be64(head + DDP_T_TO) == g->h.to + (n + 1) * g->payload;
}

/* Advance the TO of the last segment's header by @n segments */
static void ddp_rx_advance_hdr(struct ddp_stream *s, u32 n)
{
	struct ddp_rx_seg *g = &s->rx_seg;

	g->h.to += n * g->payload;
	put_unaligned_be64(g->h.to, g->raw + DDP_T_TO);
}

static void ddp_rx_trace_batch(struct ddp_stream *s, struct ddp_hdr h, u32 n)
{
	for (; n; n--, h.to += s->rx_seg.payload)
		trace_ddp_segment_received(s, &h, s->rx_seg.payload);
}

static enum iw_reason rx_next_tagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					     const void *body)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	const struct ddp_grant grant = { .rights = g->rights };
	enum iw_reason why;

	ddp_rx_advance_hdr(s, 1);
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = s->ulp->admit_more(s, &g->h, g->payload, 1);
	if (!why)
		why = ddp_place_next_tagged_segment(s, llp, body, g->h.to, g->payload, false);
	if (unlikely(why == IW_AGAIN))
		ddp_rx_defer_segment(s, g, &grant);
	else if (unlikely(why))
		ddp_rx_fail_segment(s, why, g);
	return why;
}

/*
 * Defer or fail a Write that rx_next_write() could not place because of @why.
 * The general path would have called admit() before placement, so call admit()
 * now: if it fails, its reason replaces @why.
 */
static noinline enum iw_reason defer_or_fail_write(struct ddp_stream *s, enum iw_reason why)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	struct ddp_grant grant = {};
	enum iw_reason no;

	ddp_rx_report_writes(s);
	no = ddp_rx_admit_segment(s, g, &grant);
	if (no)
		why = no;
	if (why == IW_AGAIN)
		ddp_rx_defer_segment(s, g, &grant);
	else
		ddp_rx_fail_segment(s, why, g);
	return why;
}

/*
 * Place a single-segment Write whose header equals that of the previous Write's
 * last segment, except for the TO. admit() would accept this Write too, so it
 * is not called. ddp_rx_report_writes() reports all such Writes later with one
 * writes_placed() upcall.
 */
static enum iw_reason rx_next_write(struct ddp_stream *s, struct ddp_llp *llp,
				    const u8 *head, const void *body)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	enum iw_reason why;

	g->h.to = get_unaligned_be64(head + DDP_T_TO);
	put_unaligned_be64(g->h.to, g->raw + DDP_T_TO);
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = ddp_place_next_tagged_segment(s, llp, body, g->h.to, g->payload, true);
	if (unlikely(why))
		return defer_or_fail_write(s, why);
	s->writes_unreported++;
	return IW_OK;
}

/*
 * Read the MO of an untagged header. The MO begins at @body, after the first
 * IW_DDP_T_HDR_LEN bytes of the header. The barrier makes the compiler read the MO only
 * once: a sender on this machine may still be writing to it, and a second read could
 * return another value than the one that was checked.
 */
static u32 read_mo(const void *body)
{
	__be32 mo;

	static_assert(DDP_U_MO == IW_DDP_T_HDR_LEN);
	memcpy(&mo, body, sizeof(mo));
	barrier();
	return be32_to_cpu(mo);
}

/*
 * Check whether an untagged segment is the next one of the same message. The previous segment may
 * not have been accepted: if admit() made it wait, the queue has not advanced past it, and the
 * general path must process it again, whatever its header contains by then.
 */
static bool is_next_untagged_segment(const struct ddp_stream *s, const u8 *head, const void *body)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return g->payload && !s->deferred.valid &&
	       s->uq[g->h.qn].mo == g->h.mo + g->payload &&
	       get_unaligned_be64(head + DDP_U_QN) == get_unaligned_be64(g->raw + DDP_U_QN) &&
	       read_mo(body) == g->h.mo + g->payload;
}

/*
 * Try the fast path of an untagged segment in contiguous memory. Return: true
 * if the segment was processed and @reason is set; false if nothing was done.
 */
static noinline bool rx_try_next_untagged_segment(struct ddp_stream *s, const u8 *head,
						  const void *body,
						  u32 len, enum iw_reason *reason)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	struct ddp_cursor *sink = &s->sink[g->h.qn];
	const struct ddp_grant grant = { .buf = sink->buf };
	enum iw_reason why;

	if (!has_same_len_and_hdr_prefix(s, head, len) || !is_next_untagged_segment(s, head, body))
		return false;
	g->h.mo += g->payload;
	put_unaligned_be32(g->h.mo, g->raw + DDP_U_MO);
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = s->ulp->admit_more(s, &g->h, g->payload, 1);
	if (!why)
		why = ddp_untagged_check_len(&g->h, g->payload, sink->buf->len);
	if (!why)
		why = ddp_place_untagged_segment(s, NULL, body + sizeof(__be32), sink, g->payload);
	if (likely(!why))
		ddp_untagged_advance(&s->uq[g->h.qn], &g->h, g->payload);
	else if (why == IW_AGAIN)
		ddp_rx_defer_segment(s, g, &grant);
	else
		ddp_rx_fail_segment(s, why, g);
	*reason = why;
	return true;
}

/*
 * Check whether a segment is the next message of its queue. The previous segment must have been a
 * whole message of this queue, and both headers must be equal except for the MSN.
 */
static bool is_next_untagged_msg(const struct ddp_stream *s, const u8 *head, const void *body,
				 u32 len)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return len >= DDP_U_HDR_LEN && !g->h.mo && !s->deferred.valid &&
	       is_hdr_prefix_equal(head, g->raw) &&
	       get_unaligned_be32(head + DDP_U_QN) == g->h.qn &&
	       get_unaligned_be32(head + DDP_U_MSN) == g->h.msn + 1 &&
	       !read_mo(body);
}

/*
 * Try the fast path of an untagged message of one segment in contiguous memory. It skips only the
 * decoding of the header. Return: true if the segment was processed and @reason is set; false if
 * nothing was done.
 */
static noinline bool rx_try_next_untagged_msg(struct ddp_stream *s, const u8 *head,
					      const void *body,
					      u32 len, enum iw_reason *reason)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	enum iw_reason why;

	if (!is_next_untagged_msg(s, head, body, len))
		return false;
	g->h.msn++;
	put_unaligned_be32(g->h.msn, g->raw + DDP_U_MSN);
	g->len = len;
	g->payload = len - DDP_U_HDR_LEN;
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = ddp_rx_untagged_segment(s, NULL, body + sizeof(__be32), g);
	if (unlikely(why) && why != IW_AGAIN)
		ddp_rx_fail_segment(s, why, g);
	*reason = why;
	return true;
}

/*
 * Like ddp_rx_try_tagged_fast_path(), for a stream whose previous segment was tagged. Inlined,
 * because at a small MTU a call for each segment costs 1 % of a large message.
 */
static __always_inline bool try_tagged_fast_path(struct ddp_stream *s, struct ddp_llp *llp,
						 const u8 *head, const void *body, u32 len,
						 enum iw_reason *why)
{
	if (!s->rx_mr || !has_same_len_and_hdr_prefix(s, head, len))
		return false;
	if (s->rx_seg.h.last)
		*why = rx_next_write(s, llp, head, body);
	else if (is_next_tagged_offset(s, head, 0))
		*why = rx_next_tagged_segment(s, llp, body);
	else
		return false;
	return true;
}

/*
 * Try the fast paths of a tagged segment, whose payload is at @body, or is read
 * from @llp if @body is NULL. Return: true if the segment was processed and
 * @why is set; false if nothing was done.
 */
bool ddp_rx_try_tagged_fast_path(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
				 const void *body, u32 len, enum iw_reason *why)
{
	return s->rx_seg.h.tagged && try_tagged_fast_path(s, llp, head, body, len, why);
}

bool ddp_rx_try_fast_path(struct ddp_stream *s, const u8 *head, const void *body, u32 len,
			  enum iw_reason *why)
{
	/* ddp_rx_begin() has set rx_busy, so ddp_stream_quiesce() waits for this call */
	if (test_bit(0, &s->failed))
		return false;
	if (s->rx_seg.h.tagged)
		return try_tagged_fast_path(s, NULL, head, body, len, why);
	return s->rx_seg.h.last ? rx_try_next_untagged_msg(s, head, body, len, why)
				: rx_try_next_untagged_segment(s, head, body, len, why);
}
EXPORT_SYMBOL_GPL(ddp_rx_try_fast_path);

int ddp_rx_get_next_page_off(const struct ddp_stream *s)
{
	const struct ddp_region *r = s->rx_mr;

	if (!r || !s->rx_seg.h.tagged || s->rx_seg.h.last)
		return -1;
	return offset_in_page(s->rx_seg.h.to + s->rx_seg.payload - r->base + r->skip);
}
EXPORT_SYMBOL_GPL(ddp_rx_get_next_page_off);

bool ddp_rx_continues_msg(const struct ddp_stream *s, const u8 *head, u32 len, u32 n)
{
	return s->rx_mr && has_same_len_and_hdr_prefix(s, head, len) && s->rx_seg.h.tagged &&
	       !s->rx_seg.h.last && is_next_tagged_offset(s, head, n);
}
EXPORT_SYMBOL_GPL(ddp_rx_continues_msg);

/*
 * Process a batch of @n segments with one check and one copy. Return: true if
 * the batch was processed and @why is set; false if nothing was done. If the MR
 * is revoked between the check and the copy, the first segment fails for the
 * reason @why, although admit_more() has admitted all @n segments.
 */
static bool rx_try_batch(struct ddp_stream *s, const void *bodies, u32 n, enum iw_reason *why)
{
	struct ddp_hdr h = s->rx_seg.h;
	const u32 bytes = n * s->rx_seg.payload;

	h.to += s->rx_seg.payload;
	if (!ddp_can_place_batch(s, h.to, bytes) || s->ulp->admit_more(s, &h, bytes, n))
		return false;
	if (trace_ddp_segment_received_enabled())
		ddp_rx_trace_batch(s, h, n);
	*why = ddp_place_next_tagged_segment(s, NULL, bodies, h.to, bytes, false);
	ddp_rx_advance_hdr(s, *why ? 1 : n);
	if (unlikely(*why))
		ddp_rx_fail_segment(s, *why, &s->rx_seg);
	return true;
}

u32 ddp_rx_batch(struct ddp_stream *s, const void *bodies, u32 n, enum iw_reason *why)
{
	u32 i;

	*why = IW_DDP_CATASTROPHIC;
	if (test_bit(0, &s->failed))
		return 0;
	if (n > 1 && rx_try_batch(s, bodies, n, why))
		return *why ? 0 : n;
	for (i = 0; i < n; i++) {
		/* another context may have failed the stream since the last segment */
		*why = IW_DDP_CATASTROPHIC;
		if (test_bit(0, &s->failed))
			break;
		*why = rx_next_tagged_segment(s, NULL, bodies + i * s->rx_seg.payload);
		if (*why)
			break;
	}
	return i;
}
EXPORT_SYMBOL_GPL(ddp_rx_batch);
