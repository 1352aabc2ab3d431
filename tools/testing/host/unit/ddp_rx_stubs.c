// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Stubs of the tests of the DDP receive path: a lower layer, a ULP and placement */
#include "rx.h"

struct rx_stubs stubs;

struct ddp_region region;

void ddp_mr_cache_drop(struct ddp_region **held)
{
	*held = NULL;
}

/* Count a segment. From segment number places_at on, return the result @places. */
static enum iw_reason count_placement(struct ddp_stream *s)
{
	if (stubs.places && stubs.placed >= stubs.places_at)
		return stubs.places;
	if (++stubs.placed == stubs.fails_at)
		set_bit(0, &s->failed);
	return IW_OK;
}

enum iw_reason ddp_place_tagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					const struct ddp_hdr *h, u32 len, u8 rights)
{
	if (!stubs.places)
		s->rx_mr = &region;
	if (llp)
		return count_placement(s);
	stubs.checked++;
	return stubs.places;
}

void ddp_mr_cache_end_copy(struct ddp_region **held)
{
	stubs.copies_ended++;
	if (stubs.preempt_rt)
		*held = NULL;
}

u32 ddp_place_begin_batch(struct ddp_stream *s, const struct ddp_hdr *h, u32 each, u32 n,
			  struct ddp_batch_dst *d)
{
	WARN_ON(stubs.batch_begun);
	stubs.fitted = n * each;
	n = min(n, stubs.fits);
	if (n < 2)
		return 0;
	s->rx_mr = &region;
	d->m.len = n * each;
	stubs.batch_begun = true;
	return n;
}

void ddp_place_end_batch(struct ddp_stream *s, const struct ddp_batch_dst *d)
{
	WARN_ON(!stubs.batch_begun);
	stubs.batch_begun = false;
}

void ddp_place_batch(struct ddp_stream *s, const struct ddp_hdr *h,
		     const struct ddp_batch_dst *d, const struct ddp_rx_batch *b, u32 n)
{
	WARN_ON(!stubs.batch_begun);
	stubs.placed++;
	stubs.body = b->body[0];
	stubs.to = h->tagged ? h->to : h->mo;
	stubs.len = d->m.len;
	stubs.together = n;
}

enum iw_reason ddp_place_next_tagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					     const void *body, u64 to, u32 len, bool last)
{
	stubs.repeated += last;
	stubs.body = body;
	stubs.to = to;
	stubs.len = len;
	return count_placement(s);
}

enum iw_reason ddp_place_untagged_segment(struct ddp_stream *s, struct ddp_llp *llp,
					  const void *body, struct ddp_cursor *to, u32 len)
{
	if (!stubs.places)
		s->rx_mr = &region;
	stubs.body = body;
	stubs.len = len;
	stubs.sink = to;
	return count_placement(s);
}

static enum iw_reason record_admission(struct ddp_stream *s, const struct ddp_hdr *h,
			    u32 payload, struct ddp_grant *g, bool goes_on)
{
	static struct ddp_buf buf;

	buf.len = 100 + stubs.more_buf;
	stubs.admitted++;
	stubs.wrote_first = stubs.wrote;
	/* only a segment that continues a message may find a cached reference */
	stubs.mr_refs += !h->tagged && !goes_on && s->rx_mr;
	stubs.admit_hdr = *h;
	stubs.payload = payload;
	g->buf = &buf;
	g->rights = stubs.rights;
	return stubs.admits;
}

static enum iw_reason admit_segment(struct ddp_stream *s, const struct ddp_hdr *h,
				    u32 payload, struct ddp_grant *g)
{
	return record_admission(s, h, payload, g, false);
}

static enum iw_reason admit_next_segments(struct ddp_stream *s, const struct ddp_hdr *h,
					  u32 payload, u32 n)
{
	struct ddp_grant none;

	if (n > 1 && stubs.refuses_many)
		return IW_RDMAP_OPCODE;
	stubs.next_segs += n;
	return record_admission(s, h, payload, &none, true);
}

static void count_writes(struct ddp_stream *s, u32 payload, u32 n)
{
	stubs.wrote += n;
	stubs.wrote_len = payload;
}

static enum iw_reason record_delivery(struct ddp_stream *s, const struct ddp_hdr *h,
				      u32 total)
{
	if (!stubs.delivers)
		stubs.delivered++;
	stubs.deliver_hdr = *h;
	stubs.total = total;
	stubs.mr_refs += !!s->rx_mr;
	return stubs.delivers;
}

static void record_failure(struct ddp_stream *s, const struct iw_failure *f)
{
	stubs.failed++;
	stubs.mr_refs += !!s->rx_mr;
	stubs.why = f->why;
	stubs.quoted = *f;
}

static bool may_place_early(struct ddp_stream *s, const struct ddp_hdr *h, u32 payload,
			    struct ddp_grant *g)
{
	return !stubs.admits;
}

static void record_llp_down(struct ddp_stream *s, enum iw_reason why)
{
	stubs.down++;
	stubs.down_why = why;
}

static const struct ddp_ulp_ops ulp_ops = {
	.admit = admit_segment, .admit_more = admit_next_segments, .writes_placed = count_writes,
	.may_place_early = may_place_early, .deliver = record_delivery,
	.failed = record_failure, .down = record_llp_down,
};

/* A lower layer ------------------------------------------------------------- */

struct rx_wire wire;

static void llp_kick(struct ddp_llp *llp, bool bulk)
{
	stubs.kicked++;
}

static bool llp_read(struct ddp_llp *llp, void *dst, u32 len)
{
	memcpy(dst, wire.octets + wire.at, len);
	wire.at += len;
	return true;
}

static void llp_close(struct ddp_llp *llp, enum iw_reason why)
{
	stubs.closed++;
}

static void llp_unbind(struct ddp_llp *llp)
{
	stubs.unbinds++;
}

static void llp_query(struct ddp_llp *llp, struct ddp_query *q)
{
	q->llp = "test";
}

static const struct ddp_llp_ops llp_ops = {
	.kick = llp_kick, .read = llp_read, .close = llp_close,
	.unbind = llp_unbind, .query = llp_query,
};

struct ddp_llp llp = { .ops = &llp_ops };

struct ddp_stream *open_rx_stream(void)
{
	static struct ddp_stream s;

	memset(&stubs, 0, sizeof(stubs));
	ddp_stream_init(&s, &ulp_ops, NULL, NULL);
	ddp_stream_bind(&s, &llp);
	return &s;
}

void encode_header_on_wire(const struct ddp_hdr *h)
{
	memset(&wire, 0, sizeof(wire));
	ddp_hdr_encode(wire.octets, h);
	wire.at = IW_DDP_T_HDR_LEN;
}

void receive_segment(struct ddp_stream *s, const struct ddp_hdr *h, u8 change, u32 len)
{
	encode_header_on_wire(h);
	wire.octets[0] ^= change;
	ddp_rx_segment(s, &llp, wire.octets, len);
}

/* Read the head of a segment of @len bytes, whose header is at @octets, as a lower layer does */
static void read_head(struct ddp_rx_head *head, const u8 *octets, u32 len)
{
	u8 raw[DDP_RX_HEAD_LEN];

	put_unaligned_be16(len, raw);
	memcpy(raw + sizeof(u16), octets, IW_DDP_HDR_MAX);
	ddp_rx_head_read(head, raw);
}

/* Add a segment to a batch. Return: true if it has the expected header and the batch had space. */
static bool add_if_expected(struct ddp_rx_batch *b, const struct ddp_expected *e,
			    const u8 *octets, u32 len)
{
	struct ddp_rx_head head;

	read_head(&head, octets, len);
	if (b->n == e->most || !ddp_rx_is_expected(e, &head, b->n))
		return false;
	b->len = len;
	b->body[b->n] = octets + e->hdr_len;
	b->field[b->n++] = head.field;
	return true;
}

bool is_expected_segment(struct ddp_stream *s, const struct ddp_hdr *h, u32 len, u32 n)
{
	u8 octets[IW_DDP_HDR_MAX] = {};
	struct ddp_rx_head head;
	struct ddp_expected e;

	ddp_hdr_encode(octets, h);
	read_head(&head, octets, len);
	return ddp_rx_get_expected(s, &e) && ddp_rx_is_expected(&e, &head, n);
}

bool receive_if_expected(struct ddp_stream *s, const u8 *octets, u32 len, enum iw_reason *why)
{
	struct ddp_rx_batch b = { .joined = true };
	struct ddp_expected e;

	return ddp_rx_get_expected(s, &e) && add_if_expected(&b, &e, octets, len) &&
	       (ddp_rx_batch(s, &b, why) || *why);
}

bool build_batch(struct ddp_stream *s, struct ddp_rx_batch *b, const struct ddp_hdr *h, u32 n,
		 u32 len, const u8 *bodies)
{
	u8 octets[IW_DDP_HDR_MAX] = {};
	struct ddp_expected e;
	u32 i;

	b->n = 0;
	b->joined = true;
	if (!ddp_rx_get_expected(s, &e))
		return false;
	for (i = 0; i < n; i++) {
		ddp_hdr_encode(octets, &h[i]);
		if (!add_if_expected(b, &e, octets, len))
			return false;
		b->body[i] = bodies + i * (len - e.hdr_len);
	}
	return true;
}

int receive_batch(struct ddp_stream *s, const struct ddp_hdr *h, u32 n, u32 len, const u8 *bodies,
		  enum iw_reason *why)
{
	struct ddp_rx_batch b;

	return build_batch(s, &b, h, n, len, bodies) ? (int)ddp_rx_batch(s, &b, why)
						     : NOT_EXPECTED;
}

const struct ddp_hdr good_write = { .tagged = true, .last = true };
const struct ddp_hdr good_send = { .last = true, .msn = 1 };
