// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test how messages are split into segments. */
#include <kunit/test.h>
#include <linux/prandom.h>
#include "../hdr.h"
#include "../segment.h"

#define MESSAGE_MAX	8192

static const struct ddp_hdr tagged = {
	.tagged = true, .last = true, .ulp8 = 0x40, .stag = 0xabcdef01,
	.to = 16384,
};

/* ddp_compute_segment() must set last and mo itself, and ignore the values of this header */
static const struct ddp_hdr untagged = {
	.last = true, .ulp8 = 0x43, .ulp32 = 0x55667788, .qn = 3, .msn = 77,
	.mo = 999,
};

static const struct ddp_hdr *const kinds[] = { &tagged, &untagged };

static u32 get_hdr_offset(const struct ddp_hdr *first, const struct ddp_hdr *h)
{
	return h->tagged ? h->to - first->to : h->mo;
}

/*
 * RFC 5041 4.2, 4.3 (DDP-29, DDP-33, DDP-38, DDP-40, DDP-44): check that a
 * segment has the RsvdULP, STag, QN and MSN of the first segment of its
 * message.
 */
static void expect_hdr_fields_kept(struct kunit *test, const struct ddp_hdr *first,
				   const struct ddp_hdr *h)
{
	KUNIT_EXPECT_EQ(test, h->tagged, first->tagged);
	KUNIT_EXPECT_EQ(test, h->ulp8, first->ulp8);
	KUNIT_EXPECT_EQ(test, h->ulp32, first->ulp32);
	KUNIT_EXPECT_EQ(test, h->stag, first->stag);
	KUNIT_EXPECT_EQ(test, h->qn, first->qn);
	KUNIT_EXPECT_EQ(test, h->msn, first->msn);
}

/* Segment a message with random MULPDUs, and count each byte in @seen */
static void segment_message_and_count_bytes(struct kunit *test, struct ddp_segmentation *c,
					    u8 *seen, struct rnd_state *rnd)
{
	u32 len, mulpdu, i, at, pieces = 0;
	struct ddp_hdr h;

	do {
		mulpdu = 128 + prandom_u32_state(rnd) % 1400;
		len = ddp_compute_segment(c, mulpdu, &h);
		expect_hdr_fields_kept(test, c->first, &h);
		at = get_hdr_offset(c->first, &h);
		KUNIT_ASSERT_LE(test, ddp_hdr_len(&h) + len, mulpdu);
		KUNIT_ASSERT_LE(test, at + len, c->total);
		/* only the last segment may be shorter than the MULPDU */
		if (!h.last)
			KUNIT_EXPECT_EQ(test, ddp_hdr_len(&h) + len, mulpdu);
		for (i = 0; i < len; i++)
			seen[at + i]++;
		c->done += len;
		KUNIT_EXPECT_EQ(test, h.last, c->done == c->total);
		KUNIT_ASSERT_LE(test, ++pieces, c->total / 110 + 1);
	} while (!h.last);
}

/*
 * RFC 5041 3 (2), 4.1, 5.2, 5.3 (DDP-2, DDP-17, DDP-18, DDP-20, DDP-47, DDP-49,
 * DDP-51, DDP-53, DDP-60): the segments of a message of 0 to 8192 bytes contain
 * each byte exactly once, and only the last segment has the L bit.
 */
static void segments_cover_message_once(struct kunit *test)
{
	u8 *seen = kunit_kzalloc(test, MESSAGE_MAX, GFP_KERNEL);
	struct ddp_segmentation c;
	struct rnd_state rnd;
	u32 i, octet, wrong;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	prandom_seed_state(&rnd, 52);
	for (i = 0; i < 600; i++) {
		memset(seen, 0, MESSAGE_MAX);
		c.first = kinds[i % 2];
		c.total = prandom_u32_state(&rnd) % (MESSAGE_MAX + 1);
		c.done = 0;
		segment_message_and_count_bytes(test, &c, seen, &rnd);
		wrong = 0;
		for (octet = 0; octet < MESSAGE_MAX; octet++)
			wrong += seen[octet] != (octet < c.total);
		KUNIT_EXPECT_EQ(test, wrong, 0u);
	}
}

/* RFC 5041 5.2 (DDP-54, DDP-55): an empty message is one segment. */
static void empty_message_is_one_segment(struct kunit *test)
{
	struct ddp_hdr h;
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct ddp_segmentation c = { .first = kinds[i] };

		KUNIT_EXPECT_EQ(test, ddp_compute_segment(&c, 128, &h), 0u);
		KUNIT_EXPECT_TRUE(test, h.last);
		KUNIT_EXPECT_EQ(test, get_hdr_offset(kinds[i], &h), 0u);
		expect_hdr_fields_kept(test, kinds[i], &h);
	}
}

/*
 * RFC 5041 5.2 (DDP-51, DDP-53): each of the RFC's two example messages, of 2000 bytes with a
 * MULPDU of 1500 bytes, is split into two segments with the offsets that the RFC gives.
 */
static void segments_match_rfc_examples(struct kunit *test)
{
	struct ddp_segmentation c = { .first = &untagged, .total = 2000 };
	struct ddp_hdr h;

	c.done = ddp_compute_segment(&c, 1500, &h);
	KUNIT_EXPECT_EQ(test, h.mo, 0u);
	KUNIT_EXPECT_FALSE(test, h.last);
	KUNIT_EXPECT_EQ(test, ddp_compute_segment(&c, 1500, &h), 2000u - 1482);
	KUNIT_EXPECT_EQ(test, h.mo, 1482u);
	KUNIT_EXPECT_TRUE(test, h.last);

	c.first = &tagged;
	c.done = 0;
	c.done = ddp_compute_segment(&c, 1500, &h);
	KUNIT_EXPECT_EQ(test, h.to, 16384ull);
	KUNIT_EXPECT_EQ(test, ddp_compute_segment(&c, 1500, &h), 2000u - 1486);
	KUNIT_EXPECT_EQ(test, h.to, 17870ull);
}

/*
 * A message that exactly fills the first segment has one segment; a message
 * that is one byte longer has a second segment.
 */
static void exactly_filled_segment_is_last(struct kunit *test)
{
	struct ddp_segmentation c = {};
	struct ddp_hdr h;
	u32 room;
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		c.first = kinds[i];
		room = 128 - (kinds[i]->tagged ? 14 : 18);
		for (c.total = room - 1; c.total <= room + 1; c.total++) {
			KUNIT_EXPECT_EQ(test, ddp_compute_segment(&c, 128, &h),
					min(c.total, room));
			KUNIT_EXPECT_EQ(test, h.last, c.total <= room);
		}
	}
}

/* The segments of a message of 2^32 - 1 bytes contain all bytes in order. */
static void segments_cover_longest_message(struct kunit *test)
{
	struct ddp_segmentation c = { .first = &untagged, .total = U32_MAX };
	struct ddp_hdr h;
	u64 sum = 0;

	do {
		u32 len = ddp_compute_segment(&c, 65535, &h);

		KUNIT_ASSERT_EQ(test, (u64)h.mo, sum);
		sum += len;
		c.done += len;
	} while (!h.last && sum <= U32_MAX);
	KUNIT_EXPECT_EQ(test, sum, (u64)U32_MAX);
}

static struct kunit_case segment_cases[] = {
	KUNIT_CASE(segments_cover_message_once),
	KUNIT_CASE(empty_message_is_one_segment),
	KUNIT_CASE(segments_match_rfc_examples),
	KUNIT_CASE(exactly_filled_segment_is_last),
	KUNIT_CASE(segments_cover_longest_message),
	{}
};

static struct kunit_suite segment_suite = {
	.name = "ddp_segment",
	.test_cases = segment_cases,
};

kunit_test_suite(segment_suite);

MODULE_DESCRIPTION("DDP segmentation: tests");
MODULE_LICENSE("Dual BSD/GPL");
