// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One segment, start to end: decode, admit, check, place, deliver, in that
 * order, once (RFC 5041 section 7.1).
 *
 * A tagged segment that is here before its turn is placed at once and goes
 * through the same steps when its turn comes, but for the copy (section 5.3).
 *
 * Most of a long message's segments go on where the one before ended: of these nothing is
 * decoded, admitted or looked up anew.  Of many tagged ones that have come together all is
 * done once.
 * A Write of one segment goes as short a way, if what has just ended one was like it.
 *
 * One whose memory has to come first is put off: it is admitted, and comes again.
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
	/* the shorter header is there: an untagged segment has four more */
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

/* Once: what comes again has been */
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
	/* whoever revokes does not wait for memory that has to come */
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
 * Who writes what we receive may have written on: what was decided by, once, is
 * what has to come again.
 */
static noinline bool is_put_off(const struct ddp_put_off *p,
				const struct ddp_rx_seg *g)
{
	return p->len == g->len && p->raw_len == g->raw_len &&
	       !memcmp(p->raw, g->raw, g->raw_len);
}

/*
 * deliver() may invalidate it, but for a Write's; without octets nobody has looked if it is
 * valid; and what was placed early is not what the next one is compared with.
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
	/* DDP-56: the STag and TO of no octets are not looked at */
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

	/* who hears of it may invalidate memory */
	ddp_hold_drop(&s->rx_held);
	/* a header that could not be decoded whole is not quoted */
	if (why != IW_DDP_SHORT) {
		f.ddp_len = g->raw_len;
		memcpy(f.ddp, g->raw, g->raw_len);
	}
	ddp_stream_fail(s, &f);
}

/* In control, RsvdULP and STag: a call for six octets would cost more than these */
static bool same_before_to(const u8 *a, const u8 *b)
{
	static_assert(DDP_T_STAG == sizeof(u16) && DDP_T_TO == DDP_T_STAG + sizeof(u32));
	return get_unaligned_be16(a) == get_unaligned_be16(b) &&
	       get_unaligned_be32(a + DDP_T_STAG) == get_unaligned_be32(b + DDP_T_STAG);
}

/* Is it as long as the last segment, with the same header up to the TO, or the QN? */
static bool is_alike(const struct ddp_stream *s, const u8 *head, u32 len)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return len == g->len && same_before_to(head, g->raw);
}

/* ... does it begin where that ended, or @n behind it? */
static bool follows(const struct ddp_stream *s, const u8 *head, u32 n)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return get_unaligned_be64(head + DDP_T_TO) == g->h.to + (n + 1) * g->payload;
}

/* The @n-th from here, whose header differs in nothing but the TO, is the last one now */
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

/* Of the Writes that went by rx_another(), before anything else is said */
static void tell_wrote(struct ddp_stream *s)
{
	if (!s->rx_wrote)
		return;
	s->ulp->wrote(s, s->rx_seg.payload, s->rx_wrote);
	s->rx_wrote = 0;
}

/* One that is not placed, or not now, is admitted as any */
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
 * A Write of one segment, as long as what has just ended one, and alike but for the TO: it
 * would be admitted, and of what is delivered more are told at once.
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

/* In an untagged one the MO is behind what was read ahead: fetched once, as all that is there */
static u32 read_mo(const void *body)
{
	__be32 mo;

	static_assert(DDP_U_MO == IW_DDP_T_HDR_LEN);
	memcpy(&mo, body, sizeof(mo));
	barrier();
	return be32_to_cpu(mo);
}

/* Does an untagged one that is alike go on where the last one, not a message's last, ended? */
static bool mo_goes_on(const struct ddp_stream *s, const u8 *head, const void *body)
{
	const struct ddp_rx_seg *g = &s->rx_seg;

	return g->payload && !g->h.last && !s->put_off.here &&
	       get_unaligned_be64(head + DDP_U_QN) == get_unaligned_be64(g->raw + DDP_U_QN) &&
	       read_mo(body) == g->h.mo + g->payload;
}

/* By the short way, if it may, where it lies together */
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
 * A tagged one by the short way, if it may: its octets are at @body, or else @llp's to
 * read.  As long as the last one's region is held
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
	/* the segment that is due may want to ask */
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
	/* either we see the failure or who failed it sees us; litmus: settle */
	smp_mb();
}

static void say_done(struct ddp_stream *s)
{
	/* all that was placed is placed; litmus: settle */
	smp_store_release(&s->rx_busy, false);
}

/* False: the stream has failed, and nothing is placed any more */
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
	/* within a run: that we are at work has been said */
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
 * All of them as if they were one; false: they may not be, and nothing is done.  If the region
 * is revoked just then all have been counted, and the first is the one that is refused.
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
		/* by another CPU, amid them */
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
