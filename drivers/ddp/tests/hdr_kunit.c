// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test the encoding and decoding of DDP headers. */
#include <kunit/test.h>
#include <linux/prandom.h>
#include "../hdr.h"

#define ROUNDS	2000

static void expect_same_hdr(struct kunit *test, const struct ddp_hdr *a,
			    const struct ddp_hdr *b)
{
	KUNIT_EXPECT_EQ(test, a->tagged, b->tagged);
	KUNIT_EXPECT_EQ(test, a->last, b->last);
	KUNIT_EXPECT_EQ(test, a->ulp8, b->ulp8);
	KUNIT_EXPECT_EQ(test, a->ulp32, b->ulp32);
	KUNIT_EXPECT_EQ(test, a->stag, b->stag);
	KUNIT_EXPECT_EQ(test, a->to, b->to);
	KUNIT_EXPECT_EQ(test, a->qn, b->qn);
	KUNIT_EXPECT_EQ(test, a->msn, b->msn);
	KUNIT_EXPECT_EQ(test, a->mo, b->mo);
}

static void fill_random_hdr(struct ddp_hdr *h, struct rnd_state *rnd)
{
	u32 flags = prandom_u32_state(rnd);

	memset(h, 0, sizeof(*h));
	h->tagged = flags & 1;
	h->last = flags & 2;
	h->ulp8 = prandom_u32_state(rnd);
	if (h->tagged) {
		h->stag = prandom_u32_state(rnd);
		h->to = (u64)prandom_u32_state(rnd) << 32;
		h->to |= prandom_u32_state(rnd);
		return;
	}
	h->ulp32 = prandom_u32_state(rnd);
	h->qn = prandom_u32_state(rnd);
	h->msn = prandom_u32_state(rnd);
	h->mo = prandom_u32_state(rnd);
}

/*
 * RFC 5041 4.2, 4.3 (DDP-26, DDP-35, DDP-27, DDP-36): 2000 random headers are
 * unchanged after encoding and decoding.
 */
static void hdr_survives_round_trip(struct kunit *test)
{
	struct ddp_hdr in, out;
	u8 p[IW_DDP_HDR_MAX];
	struct rnd_state rnd;
	size_t len;
	int i;

	prandom_seed_state(&rnd, 5041);
	for (i = 0; i < ROUNDS; i++) {
		fill_random_hdr(&in, &rnd);
		len = ddp_hdr_encode(p, &in);
		KUNIT_ASSERT_EQ(test, len, (size_t)(in.tagged ? 14 : 18));
		KUNIT_EXPECT_EQ(test, (u32)len, ddp_hdr_len(&in));
		memset(&out, 0xa5, sizeof(out));
		KUNIT_EXPECT_EQ(test, ddp_hdr_decode(&out, p, len), IW_OK);
		expect_same_hdr(test, &in, &out);
	}
}

/* ddp_hdr_encode_like() writes exactly the bytes that ddp_hdr_encode() writes. */
static void hdr_encode_like_matches_encode(struct kunit *test)
{
	u8 like[IW_DDP_HDR_MAX], want[IW_DDP_HDR_MAX + 1], p[IW_DDP_HDR_MAX + 1];
	struct rnd_state rnd;
	struct ddp_hdr h;
	int i;

	prandom_seed_state(&rnd, 5042);
	for (i = 0; i < ROUNDS; i++) {
		fill_random_hdr(&h, &rnd);
		ddp_hdr_encode(like, &h);
		h.to = prandom_u32_state(&rnd) * 0x100000001ull;
		h.mo = prandom_u32_state(&rnd);
		memset(p, 0xa5, sizeof(p));
		memset(want, 0xa5, sizeof(want));
		ddp_hdr_encode(want, &h);
		ddp_hdr_encode_like(p, like, &h);
		KUNIT_EXPECT_EQ(test, memcmp(p, want, sizeof(p)), 0);
	}
}

struct vector {
	const char	*name;
	struct ddp_hdr	h;
	u8		len;
	u8		octets[IW_DDP_HDR_MAX];
};

/* Headers encoded by hand according to figures 4 and 5 of RFC 5041 */
static const struct vector vectors[] = {
	{ "write, last",
	  { .tagged = true, .last = true, .ulp8 = 0x40, .stag = 0x01020304,
	    .to = 0x1112131415161718 },
	  14, { 0xc1, 0x40, 1, 2, 3, 4,
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18 } },
	{ "write, not last",
	  { .tagged = true, .ulp8 = 0x40, .stag = 0x80000001, .to = 1 },
	  14, { 0x81, 0x40, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1 } },
	{ "read request",
	  { .last = true, .ulp8 = 0x41, .qn = 1, .msn = 1 },
	  18, { 0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0 } },
	{ "send with invalidate, middle",
	  { .ulp8 = 0x44, .ulp32 = 0xa1a2a3a4, .msn = 0xb1b2b3b4,
	    .mo = 0xc1c2c3c4 },
	  18, { 0x01, 0x44, 0xa1, 0xa2, 0xa3, 0xa4, 0, 0, 0, 0,
		0xb1, 0xb2, 0xb3, 0xb4, 0xc1, 0xc2, 0xc3, 0xc4 } },
};

static void describe_vector(const struct vector *v, char *desc)
{
	strscpy(desc, v->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(vector, vectors, describe_vector);

/*
 * RFC 5041 4.1 to 4.3 (DDP-17, DDP-24, DDP-26, DDP-35): each header of
 * vectors[] is encoded to its bytes, and its bytes are decoded to the header.
 */
static void hdr_matches_vectors(struct kunit *test)
{
	const struct vector *v = test->param_value;
	u8 p[IW_DDP_HDR_MAX] = {};
	struct ddp_hdr h;

	KUNIT_EXPECT_EQ(test, ddp_hdr_encode(p, &v->h), (size_t)v->len);
	KUNIT_EXPECT_EQ(test, memcmp(p, v->octets, sizeof(p)), 0);
	KUNIT_EXPECT_EQ(test, ddp_hdr_decode(&h, v->octets, v->len), IW_OK);
	expect_same_hdr(test, &h, &v->h);
}

/*
 * RFC 5041 4.1 (DDP-22, DDP-24): encoding writes every bit of the control byte,
 * whatever the buffer contained, and writes no byte after a tagged header.
 */
static void hdr_encode_writes_whole_hdr_and_no_more(struct kunit *test)
{
	struct ddp_hdr h = {};
	u8 p[IW_DDP_HDR_MAX];
	int i;

	for (i = 0; i < 4; i++) {
		memset(p, 0xff, sizeof(p));
		h.tagged = i & 1;
		h.last = i & 2;
		ddp_hdr_encode(p, &h);
		KUNIT_EXPECT_EQ(test, p[0] & 0x3c, 0);
		KUNIT_EXPECT_EQ(test, p[0] & 0x03, 1);
		if (h.tagged)
			KUNIT_EXPECT_EQ(test, p[14], 0xff);
	}
}

/*
 * Expect that ddp_hdr_decode() refuses a header of fewer than @whole bytes and
 * accepts one of @whole bytes. Each buffer has exactly the tested length, so
 * that KASAN detects a read past its end.
 */
static void expect_shorter_hdr_refused(struct kunit *test, u8 ctrl, size_t whole)
{
	struct ddp_hdr h;
	size_t len;
	u8 *p;

	for (len = 0; len <= whole; len++) {
		p = kunit_kzalloc(test, len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, p);
		if (len)
			p[0] = ctrl;
		KUNIT_EXPECT_EQ(test, ddp_hdr_decode(&h, p, len),
				len < whole ? IW_DDP_SHORT : IW_OK);
	}
}

/* RFC 5041 4.4 (DDP-46): a segment shorter than its header is refused. */
static void truncated_hdr_is_refused(struct kunit *test)
{
	expect_shorter_hdr_refused(test, 0x81, 14);
	expect_shorter_hdr_refused(test, 0x01, 18);
}

static enum iw_reason get_expected_version_reason(u8 ctrl)
{
	if ((ctrl & 0x03) == 1)
		return IW_OK;
	return ctrl & 0x80 ? IW_DDP_T_VERSION : IW_DDP_U_VERSION;
}

/*
 * RFC 5041 4.1 (DDP-23, DDP-25): the T bit, the L bit and the version of
 * all 256 control bytes are decoded, and the reserved bits have no effect.
 */
static void hdr_control_byte_is_decoded(struct kunit *test)
{
	u8 p[IW_DDP_HDR_MAX] = {};
	struct ddp_hdr h;
	int ctrl;

	for (ctrl = 0; ctrl < 256; ctrl++) {
		p[0] = ctrl;
		KUNIT_EXPECT_EQ(test, ddp_hdr_decode(&h, p, sizeof(p)),
				get_expected_version_reason(ctrl));
		KUNIT_EXPECT_EQ(test, h.tagged, (ctrl & 0x80) == 0x80);
		KUNIT_EXPECT_EQ(test, h.last, (ctrl & 0x40) == 0x40);
	}
}

static struct kunit_case hdr_cases[] = {
	KUNIT_CASE(hdr_survives_round_trip),
	KUNIT_CASE(hdr_encode_like_matches_encode),
	KUNIT_CASE_PARAM(hdr_matches_vectors, vector_gen_params),
	KUNIT_CASE(hdr_encode_writes_whole_hdr_and_no_more),
	KUNIT_CASE(truncated_hdr_is_refused),
	KUNIT_CASE(hdr_control_byte_is_decoded),
	{}
};

static struct kunit_suite hdr_suite = {
	.name = "ddp_hdr",
	.test_cases = hdr_cases,
};

kunit_test_suite(hdr_suite);

MODULE_DESCRIPTION("DDP headers: tests");
MODULE_LICENSE("Dual BSD/GPL");
