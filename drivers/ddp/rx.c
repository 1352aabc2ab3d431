// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive path of one segment: decode, admit, check, place and deliver it, in
 * this order and once (RFC 5041 section 7.1).
 *
 * A tagged segment that arrives out of order is placed at once. When it is next
 * in order it goes through the same steps, except for the copy (section 5.3). A
 * segment that needs a page fault is deferred after it has been admitted, and
 * the LLP passes it again later.
 *
 * Fast paths skip header decoding, admission and the STag lookup. They take a
 * segment that is as long as the previous one and has the same header, except
 * for:
 *
 * previous segment     this segment                       function
 * tagged, not last     TO continues the previous segment  rx_more()
 * tagged, not last     a batch of such segments           rx_run()
 * last one of a Write  a single-segment Write, any TO     rx_another()
 * untagged, not last   MO continues, contiguous memory    rx_goes_on()
 */
#include <linux/export.h>
#include <linux/mm.h>

#include "hdr.h"
#include "internal.h"
#include "trace.h"
#include "untagged.h"

static_assert(DDP_T_HDR_LEN == IW_DDP_T_HDR_LEN);

static enum iw_reason ddp_rx_read_header(struct ddp_llp *llp, const u8 *head,
					 u32 len, struct ddp_rx_seg *g)
{
	enum iw_reason why;

	g->len = len;
	g->placed = false;
	/* @head has a tagged header; an untagged one has four more bytes */
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

/* Call admit(), unless @g was deferred and has been admitted before */
static enum iw_reason admit(struct ddp_stream *s, const struct ddp_rx_seg *g,
			    struct ddp_grant *grant)
{
	if (likely(!s->put_off.here))
		return s->ulp->admit(s, &g->h, g->payload, grant);
	*grant = s->put_off.grant;
	s->put_off.here = false;
	return IW_OK;
}

static noinline void put_off(struct ddp_stream *s, const struct ddp_rx_seg *g,
			     const struct ddp_grant *grant)
{
	/* a revoker must not wait for a page fault */
	ddp_hold_drop(&s->rx_held);
	s->put_off = (struct ddp_put_off) {
		.here = true,
		.raw_len = g->raw_len,
		.len = g->len,
		.grant = *grant,
	};
	memcpy(s->put_off.raw, g->raw, g->raw_len);
	if (!g->h.tagged)
		ddp_cursor_seek(&s->sink[g->h.qn], grant->buf, g->h.mo);
}

/*
 * A sender may still be writing the received pages, so the header of a deferred
 * segment must be compared with the one that was admitted.
 */
static noinline bool is_put_off(const struct ddp_put_off *p,
				const struct ddp_rx_seg *g)
{
	return p->len == g->len && p->raw_len == g->raw_len &&
	       !memcmp(p->raw, g->raw, g->raw_len);
}

/*
 * Check whether the cached MR reference may be kept for the next segment. It
 * may not if deliver() can invalidate the MR, as for every message but a Write;
 * if there is no payload, because the MR was not checked then; or if @g was
 * placed early, since the next segment is not compared with it.
 */
static bool may_stay(const struct ddp_stream *s, const struct ddp_rx_seg *g)
{
	return s->rx_run && !g->placed && g->payload &&
	       (!g->h.last || g->rights == DDP_REMOTE_WRITE);
}

static enum iw_reason rx_tagged(struct ddp_stream *s, struct ddp_llp *llp,
				struct ddp_rx_seg *g)
{
	struct ddp_grant grant = {};
	enum iw_reason why;

	why = admit(s, g, &grant);
	g->rights = grant.rights;
	/* DDP-56: without payload the STag and the TO are not checked */
	if (!why && g->payload)
		why = ddp_place_tagged(s, g->placed ? NULL : llp, &g->h,
				       g->payload, grant.rights);
	if (unlikely(why == IW_NOT_NOW))
		put_off(s, g, &grant);
	if (!may_stay(s, g))
		ddp_hold_drop(&s->rx_held);
	if (!why && g->h.last)
		why = s->ulp->deliver(s, &g->h, g->payload);
	return why;
}

static enum iw_reason rx_untagged(struct ddp_stream *s, struct ddp_llp *llp,
				  const struct ddp_rx_seg *g)
{
	struct ddp_grant grant = {};
	struct ddp_cursor *sink;
	enum iw_reason why;

	ddp_hold_drop(&s->rx_held);
	why = ddp_uq_due(s->uq, &g->h);
	if (!why)
		why = admit(s, g, &grant);
	if (!why)
		why = ddp_uq_fits(&g->h, g->payload, grant.buf->len);
	if (why)
		return why;

	sink = &s->sink[g->h.qn];
	if (!g->h.mo)
		ddp_cursor_init(sink, grant.buf);
	why = ddp_place_untagged(s, llp, NULL, sink, g->payload);
	if (g->h.last || !s->rx_run)
		ddp_hold_drop(&s->rx_held);
	if (!why && g->h.last)
		why = s->ulp->deliver(s, &g->h, g->h.mo + g->payload);
	if (!why)
		ddp_uq_advance(&s->uq[g->h.qn], &g->h, g->payload);
	else if (why == IW_NOT_NOW)
		put_off(s, g, &grant);
	return why;
}

static void fail_segment(struct ddp_stream *s, enum iw_reason why,
			 const struct ddp_rx_seg *g)
{
	struct iw_fault f = { .why = why, .seg_len = g->len };

	/* the failed() upcall may invalidate memory */
	ddp_hold_drop(&s->rx_held);
	/* quote no incomplete header */
	if (why != IW_DDP_SHORT) {
		f.ddp_len = g->raw_len;
		memcpy(f.ddp, g->raw, g->raw_len);
	}
	ddp_stream_fail(s, &f);
}

/* Compare DDP control, RsvdULP and STag; a memcmp() call would be slower */
static bool same_before_to(const u8 *a, const u8 *b)
{
	static_assert(DDP_T_STAG == sizeof(u16) && DDP_T_TO == DDP_T_STAG + sizeof(u32));
	return get_unaligned_be16(a) == get_unaligned_be16(b) &&
	       get_unaligned_be32(a + DDP_T_STAG) == get_unaligned_be32(b + DDP_T_STAG);
}

/* Check for the length of the last segment and its header up to TO or QN */
static bool is_alike(const struct ddp_stream *s, const u8 *head, u32 len)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return len == g->len && same_before_to(head, g->raw);
}

/* Check whether the TO follows the last segment and @n more like it */
static bool follows(const struct ddp_stream *s, const u8 *head, u32 n)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return get_unaligned_be64(head + DDP_T_TO) == g->h.to + (n + 1) * g->payload;
}

/* Advance the saved header by @n segments; only the TO changes */
static void ddp_rx_step(struct ddp_stream *s, u32 n)
{
	struct ddp_rx_seg *g = &s->rx_seg;

	g->h.to += n * g->payload;
	put_unaligned_be64(g->h.to, g->raw + DDP_T_TO);
}

static void ddp_rx_trace_run(struct ddp_stream *s, struct ddp_hdr h, u32 n)
{
	for (; n; n--, h.to += s->rx_seg.payload)
		trace_ddp_segment_received(s, &h, s->rx_seg.payload);
}

static enum iw_reason rx_more(struct ddp_stream *s, struct ddp_llp *llp, const void *body)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	const struct ddp_grant grant = { .rights = g->rights };
	enum iw_reason why;

	ddp_rx_step(s, 1);
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = s->ulp->more(s, &g->h, g->payload, 1);
	if (!why)
		why = ddp_place_more(s, llp, body, g->h.to, g->payload);
	if (unlikely(why == IW_NOT_NOW))
		put_off(s, g, &grant);
	else if (unlikely(why))
		fail_segment(s, why, g);
	return why;
}

/* Report the Writes of rx_another(), before the next admit() or deliver() */
static void tell_wrote(struct ddp_stream *s)
{
	if (!s->rx_wrote)
		return;
	s->ulp->wrote(s, s->rx_seg.payload, s->rx_wrote);
	s->rx_wrote = 0;
}

/*
 * Defer or fail a Write that rx_another() could not place. Admit it first, like
 * any other segment; a failure of that takes precedence.
 */
static noinline enum iw_reason another_stops(struct ddp_stream *s, enum iw_reason why)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	struct ddp_grant grant = {};
	enum iw_reason no;

	tell_wrote(s);
	no = admit(s, g, &grant);
	if (no)
		why = no;
	if (why == IW_NOT_NOW)
		put_off(s, g, &grant);
	else
		fail_segment(s, why, g);
	return why;
}

/*
 * Place a single-segment Write that equals the previous one but for the TO.
 * admit() would accept it as well, so only wrote() is called, once for several
 * Writes.
 */
static enum iw_reason rx_another(struct ddp_stream *s, struct ddp_llp *llp,
				 const u8 *head, const void *body)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	enum iw_reason why;

	g->h.to = get_unaligned_be64(head + DDP_T_TO);
	put_unaligned_be64(g->h.to, g->raw + DDP_T_TO);
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = ddp_place_another(s, llp, body, g->h.to, g->payload);
	if (unlikely(why))
		return another_stops(s, why);
	s->rx_wrote++;
	return IW_OK;
}

/*
 * The MO follows the bytes at @head. The barrier makes sure that it is read
 * only once, because a sender may still be writing it.
 */
static u32 read_mo(const void *body)
{
	__be32 mo;

	static_assert(DDP_U_MO == IW_DDP_T_HDR_LEN);
	memcpy(&mo, body, sizeof(mo));
	barrier();
	return be32_to_cpu(mo);
}

/* Check whether an untagged segment is the next one of the same message */
static bool mo_goes_on(const struct ddp_stream *s, const u8 *head, const void *body)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return g->payload && !g->h.last && !s->put_off.here &&
	       get_unaligned_be64(head + DDP_U_QN) == get_unaligned_be64(g->raw + DDP_U_QN) &&
	       read_mo(body) == g->h.mo + g->payload;
}

/*
 * Try the fast path of an untagged segment in contiguous memory. Return: true
 * if the segment is taken and @reason is set; false if nothing was done.
 */
static noinline bool rx_goes_on(struct ddp_stream *s, const u8 *head, const void *body,
				u32 len, enum iw_reason *reason)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	struct ddp_cursor *sink = &s->sink[g->h.qn];
	const struct ddp_grant grant = { .buf = sink->buf };
	enum iw_reason why;

	if (!is_alike(s, head, len) || !mo_goes_on(s, head, body))
		return false;
	g->h.mo += g->payload;
	put_unaligned_be32(g->h.mo, g->raw + DDP_U_MO);
	trace_ddp_segment_received(s, &g->h, g->payload);
	why = s->ulp->more(s, &g->h, g->payload, 1);
	if (!why)
		why = ddp_uq_fits(&g->h, g->payload, sink->buf->len);
	if (!why)
		why = ddp_place_untagged(s, NULL, body + sizeof(__be32), sink, g->payload);
	if (likely(!why))
		ddp_uq_advance(&s->uq[g->h.qn], &g->h, g->payload);
	else if (why == IW_NOT_NOW)
		put_off(s, g, &grant);
	else
		fail_segment(s, why, g);
	*reason = why;
	return true;
}

/*
 * Try the fast path of a tagged segment, with the payload at @body or else to
 * be read from @llp. Return: true if the segment is taken and @why is set;
 * false if nothing was done.
 */
static bool rx_short(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
		     const void *body, u32 len, enum iw_reason *why)
{
	if (!s->rx_held || !s->rx_seg.h.tagged || !is_alike(s, head, len))
		return false;
	if (s->rx_seg.h.last)
		*why = rx_another(s, llp, head, body);
	else if (follows(s, head, 0))
		*why = rx_more(s, llp, body);
	else
		return false;
	return true;
}

static enum iw_reason rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
				 const u8 *head, u32 len)
{
	struct ddp_rx_seg *g = &s->rx_seg;
	enum iw_reason why;

	if (rx_short(s, llp, head, NULL, len, &why))
		return why;
	tell_wrote(s);
	why = ddp_rx_read_header(llp, head, len, g);
	if (unlikely(s->put_off.here)) {
		if (!why && !is_put_off(&s->put_off, g))
			why = IW_DDP_CATASTROPHIC;
	} else if (!why) {
		trace_ddp_segment_received(s, &g->h, g->payload);
	}
	if (!why)
		why = g->h.tagged ? rx_tagged(s, llp, g)
				  : rx_untagged(s, llp, g);
	if (why && why != IW_NOT_NOW)
		fail_segment(s, why, g);
	return why;
}

static bool rx_early(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
		     u32 len, struct ddp_placed *p)
{
	struct ddp_rx_seg g = {};
	struct ddp_grant grant = {};
	enum iw_reason why;

	if (ddp_rx_read_header(llp, head, len, &g) || !g.h.tagged ||
	    !s->ulp->early(s, &g.h, g.payload, &grant))
		return false;
	/* leave the page-fault request to the segment that is next in order */
	s->rx_wait.mute = true;
	why = g.payload ? ddp_place_tagged(s, llp, &g.h, g.payload, grant.rights)
			: IW_OK;
	s->rx_wait.mute = false;
	ddp_hold_drop(&s->rx_held);
	if (why)
		return false;
	p->len = len;
	memcpy(p->hdr, g.raw, sizeof(p->hdr));
	trace_ddp_segment_early(s, &g.h, g.payload);
	return true;
}

static enum iw_reason rx_placed(struct ddp_stream *s,
				const struct ddp_placed *p)
{
	struct ddp_rx_seg g = {
		.len = p->len,
		.payload = p->len - sizeof(p->hdr),
		.raw_len = sizeof(p->hdr),
		.placed = true,
	};
	enum iw_reason why;

	tell_wrote(s);
	memcpy(g.raw, p->hdr, sizeof(p->hdr));
	why = ddp_hdr_decode(&g.h, g.raw, g.raw_len);
	if (!why)
		trace_ddp_segment_received(s, &g.h, g.payload);
	if (!why)
		why = rx_tagged(s, NULL, &g);
	if (why)
		fail_segment(s, why, &g);
	return why;
}

static void say_busy(struct ddp_stream *s)
{
	WRITE_ONCE(s->rx_busy, true);
	/* set rx_busy, then read failed; pairs with settle(); litmus: settle */
	smp_mb();
}

static void say_done(struct ddp_stream *s)
{
	/* placement is done before rx_busy is cleared; litmus: settle */
	smp_store_release(&s->rx_busy, false);
}

/* Returns false if the stream has failed and nothing may be placed */
static bool ddp_rx_enter(struct ddp_stream *s)
{
	if (!s->rx_run)
		say_busy(s);
	return !test_bit(0, &s->failed);
}

static void ddp_rx_leave(struct ddp_stream *s)
{
	if (!s->rx_run)
		say_done(s);
}

void ddp_rx_begin(struct ddp_stream *s)
{
	s->rx_run = true;
	say_busy(s);
}
EXPORT_SYMBOL_GPL(ddp_rx_begin);

void ddp_rx_end(struct ddp_stream *s)
{
	s->rx_run = false;
	tell_wrote(s);
	ddp_hold_drop(&s->rx_held);
	say_done(s);
}
EXPORT_SYMBOL_GPL(ddp_rx_end);

enum iw_reason ddp_rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
			      const u8 *head, u32 len)
{
	enum iw_reason why = IW_DDP_CATASTROPHIC;

	if (ddp_rx_enter(s))
		why = rx_segment(s, llp, head, len);
	ddp_rx_leave(s);
	return why;
}
EXPORT_SYMBOL_GPL(ddp_rx_segment);

bool ddp_rx_more(struct ddp_stream *s, const u8 *head, const void *body, u32 len,
		 enum iw_reason *why)
{
	/* within a run rx_busy is already set */
	if (test_bit(0, &s->failed))
		return false;
	return s->rx_seg.h.tagged ? rx_short(s, NULL, head, body, len, why)
				  : rx_goes_on(s, head, body, len, why);
}
EXPORT_SYMBOL_GPL(ddp_rx_more);

int ddp_rx_run_off(const struct ddp_stream *s)
{
	const struct ddp_region *r = s->rx_held;

	if (!r || !s->rx_seg.h.tagged || s->rx_seg.h.last)
		return -1;
	return offset_in_page(s->rx_seg.h.to + s->rx_seg.payload - r->base + r->skip);
}
EXPORT_SYMBOL_GPL(ddp_rx_run_off);

bool ddp_rx_joins(const struct ddp_stream *s, const u8 *head, u32 len, u32 n)
{
	return s->rx_held && is_alike(s, head, len) && s->rx_seg.h.tagged &&
	       !s->rx_seg.h.last && follows(s, head, n);
}
EXPORT_SYMBOL_GPL(ddp_rx_joins);

/*
 * Process a batch as if it were one segment. Return: true if @why is set; false
 * if nothing was done. If the MR is revoked meanwhile the first segment fails,
 * though all are counted.
 */
static bool rx_run(struct ddp_stream *s, const void *bodies, u32 n, enum iw_reason *why)
{
	struct ddp_hdr h = s->rx_seg.h;
	const u32 octets = n * s->rx_seg.payload;

	h.to += s->rx_seg.payload;
	if (!ddp_place_fits(s, h.to, octets) || s->ulp->more(s, &h, octets, n))
		return false;
	if (trace_ddp_segment_received_enabled())
		ddp_rx_trace_run(s, h, n);
	*why = ddp_place_more(s, NULL, bodies, h.to, octets);
	ddp_rx_step(s, *why ? 1 : n);
	if (unlikely(*why))
		fail_segment(s, *why, &s->rx_seg);
	return true;
}

u32 ddp_rx_run(struct ddp_stream *s, const void *bodies, u32 n, enum iw_reason *why)
{
	u32 i;

	*why = IW_DDP_CATASTROPHIC;
	if (test_bit(0, &s->failed))
		return 0;
	if (n > 1 && rx_run(s, bodies, n, why))
		return *why ? 0 : n;
	for (i = 0; i < n; i++) {
		/* another CPU may fail the stream between two segments */
		*why = IW_DDP_CATASTROPHIC;
		if (test_bit(0, &s->failed))
			break;
		*why = rx_more(s, NULL, bodies + i * s->rx_seg.payload);
		if (*why)
			break;
	}
	return i;
}
EXPORT_SYMBOL_GPL(ddp_rx_run);

bool ddp_rx_early(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
		  u32 len, struct ddp_placed *p)
{
	bool placed = false;

	if (ddp_rx_enter(s))
		placed = rx_early(s, llp, head, len, p);
	ddp_rx_leave(s);
	return placed;
}
EXPORT_SYMBOL_GPL(ddp_rx_early);

enum iw_reason ddp_rx_placed(struct ddp_stream *s, const struct ddp_placed *p)
{
	enum iw_reason why = IW_DDP_CATASTROPHIC;

	if (ddp_rx_enter(s))
		why = rx_placed(s, p);
	ddp_rx_leave(s);
	return why;
}
EXPORT_SYMBOL_GPL(ddp_rx_placed);
