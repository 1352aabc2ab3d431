// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Prediction of the next segment's header. The fast path of the receive side does not decode a
 * header that DDP expects, so an expected header must be valid, and must have the predicted fields.
 *
 * Files: ddp/expect.c ddp/hdr.c
 * Checks: conversion
 * Bound: 1, there is no loop
 * prove_expected_header: Slow
 * prove_predicted_header_is_expected: Slow
 * Mutation: ddp/expect.c s/U64_MAX >> 16/U64_MAX >> 24/
 * Mutation: ddp/expect.c s/get_unaligned_be32(hdr + 2)/get_unaligned_be16(hdr + 2)/
 * Mutation: ddp/expect.c s/(u32)(g->h.msn + g->h.last)/((u64)g->h.msn + g->h.last)/
 * Mutation: ddp/expect.c s/e->mo_mask = U32_MAX/e->mo_mask = 0/
 * Mutation: ddp/expect.c s/e->field_step = g->payload/e->field_step = g->len/
 * Mutation: ddp/expect.c s/put_unaligned_be32(g->h.mo, g->raw + DDP_U_MO)/(void)g->h.mo/
 */
#include "../../../drivers/ddp/expect.h"
#include "../../../drivers/ddp/hdr.h"
#include "proof.h"

/*
 * Get any last segment with a valid header. Its TO, MSN and MO may differ from those of the raw
 * header, because the fast path updates the raw header only if it must.
 */
static void get_last_segment(struct ddp_rx_seg *g)
{
	u8 raw[IW_DDP_HDR_MAX];

	memcpy(g->raw, raw, sizeof(raw));
	g->len = ANY(u16);
	GIVEN(!ddp_hdr_decode(&g->h, g->raw, sizeof(raw)));
	g->raw_len = ddp_hdr_len(&g->h);
	GIVEN(g->len >= g->raw_len);
	g->payload = g->len - g->raw_len;
	if (g->h.tagged) {
		g->h.to = ANY(u64);
	} else {
		g->h.msn = ANY(u32);
		g->h.mo = ANY(u32);
	}
}

/*
 * Compute the header of the segment after @last and @n others. The TO of a Write is meaningless,
 * because any TO is expected.
 */
static struct ddp_hdr compute_next_hdr(const struct ddp_rx_seg *last, u32 n)
{
	struct ddp_hdr next = last->h;

	if (!next.last) {
		if (next.tagged)
			next.to += last->payload + (u64)n * last->payload;
		else
			next.mo += last->payload + n * last->payload;
	} else if (!next.tagged) {
		next.msn++;
	}
	return next;
}

static bool is_same_hdr(const struct ddp_hdr *a, const struct ddp_hdr *b)
{
	return a->tagged == b->tagged && a->last == b->last && a->ulp8 == b->ulp8 &&
	       a->ulp32 == b->ulp32 && a->stag == b->stag && a->qn == b->qn && a->to == b->to &&
	       a->msn == b->msn && a->mo == b->mo;
}

/* Check the header of a segment of @len bytes that has the expected header; @p: the header */
static void check_expected_hdr(const struct ddp_rx_seg *last, u32 n, const u8 *p, u32 len)
{
	struct ddp_hdr next = compute_next_hdr(last, n), h;
	enum iw_reason why = ddp_hdr_decode(&h, p, min(len, (u32)IW_DDP_HDR_MAX));
	const bool message = !last->h.tagged && last->h.last;

	if (message && len < DDP_U_HDR_LEN) {
		/* ddp_rx_batch() leaves this segment to the general path */
		MUST("a message shorter than its header is refused", why == IW_DDP_SHORT);
		REACHED("short message");
		return;
	}
	MUST("DDP-23, DDP-46: an expected header is valid", why == IW_OK);
	MUST("an expected segment has the same length, unless it is a whole message",
	     message || len == last->len);
	if (h.tagged && h.last) {
		next.to = h.to;
		REACHED("Write");
	}
	MUST("DDP-41, DDP-44, DDP-51: an expected header has the predicted fields",
	     is_same_hdr(&h, &next));
	if (h.tagged && !h.last)
		REACHED("continues a tagged message");
	if (!h.tagged && !h.last)
		REACHED("continues an untagged message");
	if (message && !h.msn)
		REACHED("the MSN has wrapped");
}

void prove_expected_header(void)
{
	u8 p[DDP_RX_HEAD_LEN];
	u32 n = ANY(u32);
	struct ddp_rx_head head;
	struct ddp_expected e;
	struct ddp_rx_seg last;

	get_last_segment(&last);
	if (!ddp_expect_next(&e, &last))
		return;
	GIVEN(n < e.most);
	ddp_rx_head_read(&head, p);
	MUST("the length is in the first two bytes",
	     ddp_rx_head_get_len(&head) == decode_big_endian(p, 2));
	if (ddp_rx_is_expected(&e, &head, n))
		check_expected_hdr(&last, n, p + 2, ddp_rx_head_get_len(&head));
}

/* The converse: the bytes of the last header, with the predicted field, are the expected header */
void prove_predicted_header_is_expected(void)
{
	u8 p[DDP_RX_HEAD_LEN];
	u32 n = ANY(u32);
	struct ddp_rx_seg last, next;
	struct ddp_rx_head head;
	struct ddp_expected e;

	get_last_segment(&last);
	if (!ddp_expect_next(&e, &last))
		return;
	GIVEN(n < e.most);
	next = last;
	next.h = compute_next_hdr(&last, n);
	ddp_expect_write_raw(&next);
	put_unaligned_be16(next.len, p);
	put_unaligned_be64(get_unaligned_be64(next.raw), p + 2);
	put_unaligned_be64(get_unaligned_be64(next.raw + 8), p + 10);
	put_unaligned_be16(get_unaligned_be16(next.raw + 16), p + 18);
	ddp_rx_head_read(&head, p);
	MUST("the LLP and DDP agree on the beginning of a segment",
	     head.start == ddp_expect_pack_start(next.raw, next.len));
	MUST("the predicted header is expected", ddp_rx_is_expected(&e, &head, n));
	REACHED("end");
}

/* The limits that ddp_rx_batch() relies on, and the segments after which nothing is predicted */
void prove_limits(void)
{
	struct ddp_expected e;
	struct ddp_rx_seg last;
	bool valid;

	get_last_segment(&last);
	valid = ddp_expect_next(&e, &last);
	if (!last.h.tagged && last.h.last)
		MUST("a message is expected after a whole message only", valid == !last.h.mo);
	else
		MUST("a segment is expected after a payload only", valid == !!last.payload);
	if (!valid) {
		REACHED("no prediction");
		return;
	}
	MUST("a batch has at least one segment", e.most >= 1 && e.most <= DDP_RX_BATCH_MAX);
	MUST("the number of payload bytes of a batch does not wrap",
	     (u64)e.most * last.payload <= U32_MAX);
	MUST("a batch has one whole message at most",
	     last.h.tagged || !last.h.last || e.most == 1);
	MUST("the payload begins after the header", e.hdr_len == last.raw_len);
	if (e.most > 1)
		REACHED("batch");
}

/* After the update of the raw header, a Terminate quotes the header of the last segment */
void prove_raw_header_is_updated(void)
{
	struct ddp_rx_seg g;
	struct ddp_hdr h;

	get_last_segment(&g);
	ddp_expect_write_raw(&g);
	MUST("the raw header is valid", !ddp_hdr_decode(&h, g.raw, g.raw_len));
	MUST("the raw header has the fields of the decoded header", is_same_hdr(&h, &g.h));
	REACHED("end");
}
