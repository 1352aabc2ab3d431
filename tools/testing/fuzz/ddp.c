// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP: the header, the untagged queues, the bounds check of an MR, and
 * segmentation.
 *
 * Input: an MR and the length of a buffer, then segments. Each segment is 16 bits
 * of length and then its bytes.
 */
#include "../../../drivers/ddp/bounds.h"
#include "../../../drivers/ddp/hdr.h"
#include "../../../drivers/ddp/segment.h"
#include "../../../drivers/ddp/untagged.h"
#include "fuzz.h"

#define SEGMENTS	64
#define RSVD_DV		0x3f

typedef unsigned __int128 u128;

/* A receiver, and the state that it must have according to RFC 5041 */
struct scene {
	struct ddp_region	region;
	struct ddp_stream	s;
	struct ddp_untagged_queue		uq[DDP_QUEUES];
	u32			msn[DDP_QUEUES];
	u64			mo[DDP_QUEUES];
	u32			buf_len;
	u8			rights;
};

static bool has_whole_header(const u8 *p, size_t len)
{
	return len && len >= (p[0] & 0x80 ? 14 : 18);
}

/*
 * Decode a header, and check that encoding it again gives the same bytes, except for reserved bits
 */
static enum iw_reason decode_and_check_header(struct ddp_hdr *h, const u8 *p, size_t len)
{
	enum iw_reason why = ddp_hdr_decode(h, p, len);
	u8 again[IW_DDP_HDR_MAX];
	size_t n;

	MUST("ddp-short", (why == IW_DDP_SHORT) == !has_whole_header(p, len));
	if (why == IW_DDP_SHORT)
		return why;
	MUST("ddp-version", (why == IW_OK) == ((p[0] & 3) == 1));
	n = ddp_hdr_encode(again, h);
	MUST("ddp-header-dv", (again[0] & RSVD_DV) == 1);
	MUST("ddp-header-length", n == ddp_hdr_len(h) && n <= len);
	MUST("ddp-header-again",
	     !((again[0] ^ p[0]) & ~RSVD_DV) &&
	     !memcmp(again + 1, p + 1, n - 1));
	return why;
}

static void receive_untagged_segment(struct scene *c, const struct ddp_hdr *h, u32 payload)
{
	enum iw_reason why = ddp_untagged_check_hdr(c->uq, h);
	bool due = h->qn < DDP_QUEUES && h->msn == c->msn[h->qn] &&
		   h->mo == c->mo[h->qn];

	MUST("ddp-due", (why == IW_OK) == due);
	MUST("ddp-queue", (why == IW_DDP_U_QN) == (h->qn >= DDP_QUEUES));
	if (why)
		return;
	why = ddp_untagged_check_len(h, payload, c->buf_len);
	MUST("ddp-fits",
	     (why == IW_OK) == ((u64)h->mo + payload <= c->buf_len));
	if (why)
		return;
	ddp_untagged_advance(&c->uq[h->qn], h, payload);
	c->mo[h->qn] += payload;
	if (h->last) {
		c->mo[h->qn] = 0;
		c->msn[h->qn]++;
	}
	MUST("ddp-advance", c->uq[h->qn].msn == c->msn[h->qn] &&
	     c->uq[h->qn].mo == c->mo[h->qn]);
}

/* Check a range as RFC 5041 7.1 T1 to T5 and 8.2 require, with numbers that do not wrap */
static bool is_access_allowed(const struct scene *c, const struct ddp_hdr *h, u32 payload)
{
	const struct ddp_region *r = &c->region;
	u128 end = (u128)h->to + payload;

	if (!r->valid || r->stag != h->stag ||
	    r->pd != (c->rights & DDP_RECV_BUF ? c->s.recv_pd : c->s.pd))
		return false;
	if ((r->stream && r->stream != c->s.id) ||
	    c->rights & ~r->rights & ~DDP_RECV_BUF)
		return false;
	return !payload || (end < (u128)1 << 64 && h->to >= r->base &&
			    end <= (u128)r->base + r->length);
}

static void check_range(struct scene *c, const struct ddp_hdr *h, u32 payload)
{
	enum iw_reason why = ddp_bounds_check_access(&c->region, &c->s, h->stag, h->to,
						     payload, c->rights);

	MUST("ddp-bounds", (why == IW_OK) == is_access_allowed(c, h, payload));
	MUST("ddp-bounds-reason",
	     why == IW_OK || (why >= IW_DDP_T_STAG && why <= IW_DDP_T_WRAP));
	if (why == IW_DDP_T_WRAP || why == IW_DDP_T_BOUNDS)
		MUST("ddp-wrap", (why == IW_DDP_T_WRAP) ==
		     !!(((u128)h->to + payload) >> 64));
}

/*
 * Check the range of the segment, and ranges around the edges of the MR and at the end of the
 * address space
 */
static void check_tagged_segment_ranges(struct scene *c, const struct ddp_hdr *h, u32 payload)
{
	u64 end = c->region.base + c->region.length;
	const u64 edges[] = {
		c->region.base, c->region.base - payload, end, end - payload,
		-(u64)payload,
	};
	struct ddp_hdr edge = *h;
	size_t i;
	int off;

	check_range(c, h, payload);
	edge.stag = c->region.stag;
	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		for (off = -1; off <= 1; off++) {
			edge.to = edges[i] + off;
			check_range(c, &edge, payload);
		}
	}
}

/*
 * Segment a message. A receiver must accept each segment, and the segments
 * together must contain the whole message.
 */
static void check_segmentation(const struct ddp_hdr *first, u32 total, struct input in)
{
	struct ddp_segmentation c = { .first = first, .total = total };
	struct ddp_untagged_queue uq[DDP_QUEUES] = {};
	struct ddp_hdr h;
	u32 mulpdu, len;

	if (!first->tagged && first->qn < DDP_QUEUES)
		uq[first->qn].msn = first->msn;
	do {
		mulpdu = DDP_MULPDU_MIN + read_u8(&in) * 8;
		len = ddp_compute_segment(&c, mulpdu, &h);
		MUST("ddp-cut-mulpdu", ddp_hdr_len(&h) + len <= mulpdu);
		MUST("ddp-cut-some", len || !total);
		MUST("ddp-cut-total", len <= total - c.done);
		MUST("ddp-cut-to", !h.tagged || h.to == first->to + c.done);
		if (!h.tagged && h.qn < DDP_QUEUES) {
			MUST("ddp-cut-due", ddp_untagged_check_hdr(uq, &h) == IW_OK);
			MUST("ddp-cut-fits",
			     ddp_untagged_check_len(&h, len, total) == IW_OK);
			ddp_untagged_advance(&uq[h.qn], &h, len);
		}
		c.done += len;
	} while (!h.last);
	MUST("ddp-cut-all", c.done == total);
}

static void check_segment(struct scene *c, const u8 *p, size_t len,
			  const struct input *rest)
{
	struct ddp_hdr h;

	if (decode_and_check_header(&h, p, len))
		return;
	if (h.tagged)
		check_tagged_segment_ranges(c, &h, len - DDP_T_HDR_LEN);
	else
		receive_untagged_segment(c, &h, len - DDP_U_HDR_LEN);
	check_segmentation(&h, (u32)len * 31, *rest);
}

static void read_scene(struct scene *c, struct input *in)
{
	u8 flags = read_u8(in), i;

	memset(c, 0, sizeof(*c));
	c->region = (struct ddp_region) {
		.valid = !(flags & 1),
		.pd = flags & 2 ? c : NULL,
		.stream = flags >> 2 & 3,
		.rights = read_u8(in),
		.stag = read_u32(in),
		.base = read_u64(in),
		.length = read_u64(in),
	};
	/* as in the driver, no MR extends beyond the last address */
	c->region.length = min(c->region.length, -1ULL - c->region.base);
	c->s.id = 1;
	c->rights = read_u8(in);
	c->buf_len = read_u32(in);
	for (i = 0; i < DDP_QUEUES; i++) {
		ddp_untagged_init(&c->uq[i]);
		c->msn[i] = 1;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct scene c;
	size_t len;
	int i;
	u8 *p;

	read_scene(&c, &in);
	for (i = 0; i < SEGMENTS && in.left; i++) {
		len = read_u16(&in);
		p = read_bytes(&in, &len);
		check_segment(&c, p, len, &in);
		free(p);
	}
	return 0;
}
