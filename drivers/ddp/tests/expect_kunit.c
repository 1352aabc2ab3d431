// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test the prediction of the next segment's header. */
#include <kunit/test.h>
#include "../expect.h"
#include "../hdr.h"

/* Set up the last received segment, with the header @h and @payload bytes of payload */
static void init_segment(struct ddp_rx_seg *g, const struct ddp_hdr *h, u32 payload)
{
	memset(g, 0, sizeof(*g));
	g->h = *h;
	g->raw_len = ddp_hdr_encode(g->raw, h);
	g->payload = payload;
	g->len = g->raw_len + payload;
}

/* Encode the length and the header of a segment */
static void encode_head(u8 *p, const struct ddp_hdr *h, u32 len)
{
	memset(p, 0, DDP_RX_HEAD_LEN);
	put_unaligned_be16(len, p);
	ddp_hdr_encode(p + 2, h);
}

/* Check whether the bytes @p are expected after @n other segments with the expected header */
static bool is_expected(const struct ddp_expected *e, const u8 *p, u32 n)
{
	struct ddp_rx_head head;

	ddp_rx_head_read(&head, p);
	return ddp_rx_is_expected(e, &head, n);
}

static bool is_hdr_expected(const struct ddp_expected *e, const struct ddp_hdr *h, u32 len, u32 n)
{
	u8 p[DDP_RX_HEAD_LEN];

	encode_head(p, h, len);
	return is_expected(e, p, n);
}

#define PAYLOAD	100u

/* The header of the last segment, and the expected header of the next one */
struct prediction {
	const char	*name;
	struct ddp_hdr	last;
	struct ddp_hdr	next;
	u32		most;		/* maximum number of segments in a batch */
	u32		any_at;		/* index of the first byte that may have any value */
	u32		any_len;	/* number of these bytes */
};

/* The bytes are counted from the length, which has two bytes and precedes the header */
static const struct prediction predictions[] = {
	{ "tagged continuation",
	  { .tagged = true, .ulp8 = 0x41, .stag = 0xa1b2c3d4, .to = 0x1122334455667788 },
	  { .tagged = true, .ulp8 = 0x41, .stag = 0xa1b2c3d4, .to = 0x11223344556677ec },
	  DDP_RX_BATCH_MAX, 16, 4 },
	{ "TO wraps",
	  { .tagged = true, .stag = 1, .to = U64_MAX },
	  { .tagged = true, .stag = 1, .to = 99 },
	  DDP_RX_BATCH_MAX, 16, 4 },
	{ "Write",
	  { .tagged = true, .last = true, .ulp8 = 0x40, .stag = 0xa1b2c3d4, .to = 5 },
	  { .tagged = true, .last = true, .ulp8 = 0x40, .stag = 0xa1b2c3d4, .to = U64_MAX },
	  DDP_RX_BATCH_MAX, 8, 12 },
	{ "untagged continuation",
	  { .ulp8 = 0x43, .ulp32 = 0xa1b2c3d4, .qn = 3, .msn = 7, .mo = 1000 },
	  { .ulp8 = 0x43, .ulp32 = 0xa1b2c3d4, .qn = 3, .msn = 7, .mo = 1100 },
	  DDP_RX_BATCH_MAX, 0, 0 },
	{ "second untagged segment",
	  { .ulp8 = 0x43, .msn = 1 }, { .ulp8 = 0x43, .msn = 1, .mo = 100 },
	  DDP_RX_BATCH_MAX, 0, 0 },
	{ "MO wraps",
	  { .qn = 1, .msn = 1, .mo = U32_MAX }, { .qn = 1, .msn = 1, .mo = 99 },
	  DDP_RX_BATCH_MAX, 0, 0 },
	{ "whole message",
	  { .last = true, .ulp8 = 0x43, .ulp32 = 0xa1b2c3d4, .qn = 2, .msn = 7 },
	  { .last = true, .ulp8 = 0x43, .ulp32 = 0xa1b2c3d4, .qn = 2, .msn = 8 },
	  1, 0, 2 },
	{ "MSN wraps",
	  { .last = true, .msn = U32_MAX }, { .last = true, .msn = 0 }, 1, 0, 2 },
};

static void describe_prediction(const struct prediction *d, char *desc)
{
	strscpy(desc, d->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(prediction, predictions, describe_prediction);

/*
 * DDP-41, DDP-44, DDP-51: the next header is predicted from the last one. No other header is
 * expected: each bit must have the predicted value, except for the bytes that may have any value.
 */
static void expect_next_header_is_predicted(struct kunit *test)
{
	const struct prediction *d = test->param_value;
	u8 p[DDP_RX_HEAD_LEN];
	struct ddp_rx_seg g;
	struct ddp_expected e;
	u32 bit;

	init_segment(&g, &d->last, PAYLOAD);
	KUNIT_ASSERT_TRUE(test, ddp_expect_next(&e, &g));
	KUNIT_EXPECT_EQ(test, e.most, d->most);
	KUNIT_EXPECT_EQ(test, e.hdr_len, ddp_hdr_len(&d->last));
	encode_head(p, &d->next, g.len);
	KUNIT_EXPECT_TRUE(test, is_expected(&e, p, 0));
	for (bit = 0; bit < 8 * DDP_RX_HEAD_LEN; bit++) {
		bool any = bit / 8 >= d->any_at && bit / 8 < d->any_at + d->any_len;

		p[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_EQ_MSG(test, is_expected(&e, p, 0), any, "bit %u", bit);
		p[bit / 8] ^= 1 << bit % 8;
	}
}

/* Each segment of a batch that continues a message has its own TO or MO */
static void expect_offset_depends_on_index(struct kunit *test)
{
	static const struct ddp_hdr lasts[] = {
		{ .tagged = true, .stag = 1, .to = U64_MAX - 5 * PAYLOAD },
		{ .qn = 1, .msn = 1, .mo = U32_MAX - 5 * PAYLOAD },
	};
	struct ddp_expected e;
	struct ddp_rx_seg g;
	struct ddp_hdr h;
	u32 i, k, n;

	for (i = 0; i < ARRAY_SIZE(lasts); i++) {
		h = lasts[i];
		init_segment(&g, &h, PAYLOAD);
		KUNIT_ASSERT_TRUE(test, ddp_expect_next(&e, &g));
		for (k = 0; k < DDP_RX_BATCH_MAX; k++) {
			h.to += h.tagged ? PAYLOAD : 0;
			h.mo += h.tagged ? 0 : PAYLOAD;
			for (n = 0; n < DDP_RX_BATCH_MAX; n++)
				KUNIT_EXPECT_EQ(test, is_hdr_expected(&e, &h, g.len, n), n == k);
		}
	}
}

/* Writes of a batch have any TOs */
static void expect_any_to_in_batch_of_writes(struct kunit *test)
{
	struct ddp_hdr h = { .tagged = true, .last = true, .stag = 1, .to = 1000 };
	struct ddp_expected e;
	struct ddp_rx_seg g;
	u32 n;

	init_segment(&g, &h, PAYLOAD);
	KUNIT_ASSERT_TRUE(test, ddp_expect_next(&e, &g));
	for (n = 0; n < DDP_RX_BATCH_MAX; n++) {
		h.to = h.to * 12345 + 1;
		KUNIT_EXPECT_TRUE(test, is_hdr_expected(&e, &h, g.len, n));
		KUNIT_EXPECT_FALSE(test, is_hdr_expected(&e, &h, g.len + 1, n));
	}
}

/* The next whole message may have any length, also if the last one had no payload */
static void expect_message_of_any_length(struct kunit *test)
{
	struct ddp_hdr h = { .last = true, .qn = 1, .msn = 5 };
	struct ddp_expected e;
	struct ddp_rx_seg g;
	u32 len;

	init_segment(&g, &h, 0);
	KUNIT_ASSERT_TRUE(test, ddp_expect_next(&e, &g));
	h.msn++;
	for (len = 0; len <= U16_MAX; len += 15)
		KUNIT_EXPECT_TRUE(test, is_hdr_expected(&e, &h, len, 0));
}

/* DDP-41: if the MSN wraps, the QN stays the same */
static void expect_msn_wrap_keeps_qn(struct kunit *test)
{
	struct ddp_hdr h = { .last = true, .qn = 2, .msn = U32_MAX };
	struct ddp_expected e;
	struct ddp_rx_seg g;

	init_segment(&g, &h, PAYLOAD);
	KUNIT_ASSERT_TRUE(test, ddp_expect_next(&e, &g));
	h.msn = 0;
	KUNIT_EXPECT_TRUE(test, is_hdr_expected(&e, &h, g.len, 0));
	h.qn = 3;
	KUNIT_EXPECT_FALSE(test, is_hdr_expected(&e, &h, g.len, 0));
}

/* Nothing is predicted after a segment without payload, or after a message of several segments */
static void expect_nothing_after_other_segments(struct kunit *test)
{
	static const struct ddp_hdr empty[] = {
		{ .tagged = true }, { .tagged = true, .last = true }, { .msn = 1 },
	};
	const struct ddp_hdr end = { .last = true, .msn = 1, .mo = 1 };
	struct ddp_expected e;
	struct ddp_rx_seg g;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(empty); i++) {
		init_segment(&g, &empty[i], 0);
		KUNIT_EXPECT_FALSE(test, ddp_expect_next(&e, &g));
		init_segment(&g, &empty[i], 1);
		KUNIT_EXPECT_TRUE(test, ddp_expect_next(&e, &g));
	}
	init_segment(&g, &end, PAYLOAD);
	KUNIT_EXPECT_FALSE(test, ddp_expect_next(&e, &g));
}

/* The maximum number of segments in a batch does not depend on their length */
static void expect_batch_is_limited(struct kunit *test)
{
	static const u32 payloads[] = { 1, 1000, U16_MAX - DDP_U_HDR_LEN };
	const struct ddp_hdr h = { .msn = 1 };
	struct ddp_expected e;
	struct ddp_rx_seg g;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(payloads); i++) {
		init_segment(&g, &h, payloads[i]);
		KUNIT_ASSERT_TRUE(test, ddp_expect_next(&e, &g));
		KUNIT_EXPECT_EQ(test, e.most, (u32)DDP_RX_BATCH_MAX);
	}
}

/*
 * The fast path changes the decoded header only. The prediction uses the decoded TO, MSN and MO,
 * and ddp_expect_write_raw() writes them to the raw header.
 */
static void expect_uses_and_writes_decoded_fields(struct kunit *test)
{
	static const struct prediction changed[] = {
		{ .last = { .tagged = true, .stag = 1, .to = 1 },
		  .next = { .tagged = true, .stag = 1, .to = 0x1122334455667788 } },
		{ .last = { .ulp32 = 3, .qn = 1, .msn = 1, .mo = 1 },
		  .next = { .ulp32 = 3, .qn = 1, .msn = 0x11223344, .mo = 0x55667788 } },
	};
	u8 want[IW_DDP_HDR_MAX] = {};
	struct ddp_expected e;
	struct ddp_rx_seg g;
	struct ddp_hdr h;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(changed); i++) {
		init_segment(&g, &changed[i].last, PAYLOAD);
		h = changed[i].next;
		g.h = h;
		KUNIT_ASSERT_TRUE(test, ddp_expect_next(&e, &g));
		h.to += h.tagged ? PAYLOAD : 0;
		h.mo += h.tagged ? 0 : PAYLOAD;
		KUNIT_EXPECT_TRUE(test, is_hdr_expected(&e, &h, g.len, 0));
		ddp_expect_write_raw(&g);
		ddp_hdr_encode(want, &changed[i].next);
		KUNIT_EXPECT_EQ(test, 0, memcmp(want, g.raw, g.raw_len));
	}
}

/* The LLP's and DDP's number for the beginning of a segment are equal */
static void expect_pack_start_matches_head(struct kunit *test)
{
	static const u8 p[DDP_RX_HEAD_LEN] = {
		0xfe, 0xdc, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
	};
	struct ddp_rx_head head;

	ddp_rx_head_read(&head, p);
	KUNIT_EXPECT_EQ(test, head.start, 0xfedc010203040506);
	KUNIT_EXPECT_EQ(test, head.field, 0x0708090a0b0c0d0e);
	KUNIT_EXPECT_EQ(test, head.mo, 0x0f101112u);
	KUNIT_EXPECT_EQ(test, ddp_rx_head_get_len(&head), 0xfedcu);
	KUNIT_EXPECT_EQ(test, ddp_expect_pack_start(p + 2, 0xfedc), head.start);
}

static struct kunit_case expect_cases[] = {
	KUNIT_CASE_PARAM(expect_next_header_is_predicted, prediction_gen_params),
	KUNIT_CASE(expect_offset_depends_on_index),
	KUNIT_CASE(expect_any_to_in_batch_of_writes),
	KUNIT_CASE(expect_message_of_any_length),
	KUNIT_CASE(expect_msn_wrap_keeps_qn),
	KUNIT_CASE(expect_nothing_after_other_segments),
	KUNIT_CASE(expect_batch_is_limited),
	KUNIT_CASE(expect_uses_and_writes_decoded_fields),
	KUNIT_CASE(expect_pack_start_matches_head),
	{}
};

static struct kunit_suite expect_suite = {
	.name = "ddp_expect",
	.test_cases = expect_cases,
};

kunit_test_suite(expect_suite);

MODULE_DESCRIPTION("DDP expected headers: tests");
MODULE_LICENSE("Dual BSD/GPL");
