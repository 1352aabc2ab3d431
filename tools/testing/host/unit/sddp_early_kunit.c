// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/early.c: out-of-order chunks, and accounting
 * of their memory.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../../../../drivers/sctp_ddp/internal.h"
#include "../../../../drivers/sctp_ddp/admission.h"

static struct sddp_assoc assoc, other;
static struct sddp_stream stream, far;
static int pieces;		/* number of allocations before the test */

void sddp_assoc_kick(struct sddp_assoc *a) {}

static int test_init(struct kunit *test)
{
	memset(&assoc, 0, sizeof(assoc));
	memset(&other, 0, sizeof(other));
	stream = (struct sddp_stream) { .a = &assoc, .s.state = SDDP_OPEN };
	far = (struct sddp_stream) { .a = &other, .s.state = SDDP_OPEN };
	stream.rx_next = 0xfffe;
	pieces = host_allocations;
	return 0;
}

/* Free all chunks, and expect that all memory is freed and all counts are zero */
static void free_early_chunks_and_expect_none_left(struct kunit *test)
{
	sddp_kept_chunks_free(&stream);
	sddp_kept_chunks_free(&far);
	KUNIT_EXPECT_EQ(test, pieces, host_allocations);
	KUNIT_EXPECT_EQ(test, 0u, assoc.kept);
	KUNIT_EXPECT_EQ(test, 0u, stream.early_count);
	KUNIT_EXPECT_EQ(test, 0u, stream.early_cost);
	KUNIT_EXPECT_NULL(test, stream.early.rb_node);
}

static bool keep_chunk(struct sddp_stream *st, u16 ssn, u32 len)
{
	struct sddp_kept *k = sddp_kept_chunk_new(st, ssn, len);

	if (!k)
		return false;
	sddp_kept_chunk_add(st, k);
	return true;
}

/*
 * Kept chunks are returned in the order of their SSNs, whatever the order of
 * arrival, also if SSNs wrap
 */
static void early_chunks_are_popped_in_order(struct kunit *test)
{
	static const u16 came[] = { 1, 0xffff, 3, 0, 2 };
	struct sddp_kept *k;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(came); i++)
		keep_chunk(&stream, came[i], 10);
	KUNIT_EXPECT_EQ(test, 5, host_allocations - pieces);
	KUNIT_EXPECT_TRUE(test, sddp_kept_chunks_have_ssn(&stream, 0xffff));
	KUNIT_EXPECT_TRUE(test, sddp_kept_chunks_have_ssn(&stream, 3));
	KUNIT_EXPECT_FALSE(test, sddp_kept_chunks_have_ssn(&stream, 4));
	KUNIT_EXPECT_NULL(test, sddp_kept_chunk_pop_next(&stream));
	for (i = 0; i < ARRAY_SIZE(came); i++) {
		stream.rx_next++;
		k = sddp_kept_chunk_pop_next(&stream);
		KUNIT_ASSERT_NOT_NULL(test, k);
		KUNIT_EXPECT_EQ(test, stream.rx_next, k->ssn);
		KUNIT_EXPECT_NULL(test, sddp_kept_chunk_pop_next(&stream));
		sddp_kept_chunk_free(&stream, k);
		KUNIT_EXPECT_EQ(test, 4 - (int)i, host_allocations - pieces);
	}
	KUNIT_EXPECT_EQ(test, 0u, assoc.kept);
}

static void cost_of_early_chunks_is_accounted(struct kunit *test)
{
	u16 ssn;

	for (ssn = 0; ssn < 20; ssn++)
		KUNIT_EXPECT_TRUE(test, keep_chunk(&stream, ssn * 7 % 20, 100));
	KUNIT_EXPECT_EQ(test, 20u, stream.early_count);
	KUNIT_EXPECT_GE(test, assoc.kept, 20 * 100u);
	KUNIT_EXPECT_EQ(test, assoc.kept, stream.early_cost);
}

/*
 * Only few bytes are kept for a session that the peer has not accepted yet. The association also
 * has a limit.
 */
static void early_bytes_are_limited(struct kunit *test)
{
	const u32 len = 60000;
	u16 n = 0;

	stream.s.state = SDDP_INITIATED;
	while (n < 1000 && keep_chunk(&stream, n, len))
		n++;
	KUNIT_EXPECT_GE(test, stream.early_cost, (u32)SDDP_EARLY_UNANSWERED);
	KUNIT_EXPECT_LE(test, stream.early_cost, SDDP_EARLY_UNANSWERED + 2 * len);
	stream.s.state = SDDP_OPEN;
	while (n < 1000 && keep_chunk(&stream, n, len))
		n++;
	KUNIT_EXPECT_LE(test, assoc.kept, (u32)SDDP_EARLY_ASSOC);
	KUNIT_EXPECT_GE(test, assoc.kept, SDDP_EARLY_ASSOC - 2 * len);
	KUNIT_EXPECT_TRUE(test, keep_chunk(&far, 0, len));
}

/* The limit for deferred chunks is lower than that for chunks kept out of order */
static void deferred_chunk_limit_is_lower(struct kunit *test)
{
	u16 n;

	KUNIT_EXPECT_TRUE(test, sddp_stream_may_keep_deferred_chunk(&stream));
	for (n = 0; n < SDDP_DEFERRED_CHUNKS; n++)
		keep_chunk(&stream, n, 10);
	KUNIT_EXPECT_FALSE(test, sddp_stream_may_keep_deferred_chunk(&stream));
	KUNIT_EXPECT_TRUE(test, sddp_stream_may_keep_deferred_chunk(&far));
	KUNIT_EXPECT_TRUE(test, keep_chunk(&stream, n, 10));
}

static struct kunit_case sddp_early_cases[] = {
	KUNIT_CASE(early_chunks_are_popped_in_order),
	KUNIT_CASE(cost_of_early_chunks_is_accounted),
	KUNIT_CASE(early_bytes_are_limited),
	KUNIT_CASE(deferred_chunk_limit_is_lower),
	{}
};

static struct kunit_suite sddp_early_suite = {
	.name = "sddp_early",
	.init = test_init,
	.exit = free_early_chunks_and_expect_none_left,
	.test_cases = sddp_early_cases,
};

kunit_test_suite(sddp_early_suite);
