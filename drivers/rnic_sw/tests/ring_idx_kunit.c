// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../ring_idx.h"

#define SLOTS	8u
#define HALF	0x80000000u

/* Get a random index: near zero, near the wrap, or in the whole range */
static u32 get_random_index(struct rnd_state *rnd)
{
	switch (prandom_u32_state(rnd) % 3) {
	case 0:
		return prandom_u32_state(rnd) % 20;
	case 1:
		return -(prandom_u32_state(rnd) % 20);
	default:
		return prandom_u32_state(rnd);
	}
}

/*
 * ring_idx_count_posted() counts the posted slots if they and the slots in use fit
 * into the ring, and otherwise returns RING_IDX_INVALID.
 */
static void only_posted_slots_that_fit_are_counted(struct kunit *test)
{
	u32 tail = U32_MAX - 3, used, more, want, got;

	for (used = 0; used <= SLOTS; used++) {
		for (more = 0; more < 3 * SLOTS; more++) {
			want = used + more <= SLOTS ? more : RING_IDX_INVALID;
			got = ring_idx_count_posted(tail + used + more, tail + used,
						    tail, SLOTS);
			KUNIT_EXPECT_EQ(test, got, want);
		}
	}
}

/*
 * RFC 5041 8.3.2 (3) (DDP-132): a producer index 2^31 after head, or before
 * head, is refused.
 */
static void bad_producer_index_is_refused(struct kunit *test)
{
	u32 head;

	for (head = 0; head <= SLOTS; head++) {
		KUNIT_EXPECT_EQ(test, RING_IDX_INVALID,
				ring_idx_count_posted(head + HALF, head, 0,
						      SLOTS));
		KUNIT_EXPECT_EQ(test, RING_IDX_INVALID,
				ring_idx_count_posted(head - 1, head, 0, SLOTS));
	}
}

/*
 * 200000 random producer indices never cause more slots in use than the ring
 * has.
 */
static void random_producer_index_never_overfills_ring(struct kunit *test)
{
	struct rnd_state rnd;
	u32 head, tail, n, i;

	prandom_seed_state(&rnd, 1);
	head = get_random_index(&rnd);
	tail = head;
	for (i = 0; i < 200000; i++) {
		u32 prod = prandom_u32_state(&rnd) % 2 ?
			head + prandom_u32_state(&rnd) % 12 : get_random_index(&rnd);

		n = ring_idx_count_posted(prod, head, tail, SLOTS);
		if (n != RING_IDX_INVALID) {
			KUNIT_ASSERT_EQ(test, prod, head + n);
			head += prandom_u32_state(&rnd) % (n + 1);
		}
		KUNIT_ASSERT_LE(test, head - tail, SLOTS);
		tail += prandom_u32_state(&rnd) % (head - tail + 1);
	}
}

/*
 * ring_idx_count_unread() accepts a consumer index that advances up to prod, and
 * refuses a consumer index that goes back or passes prod.
 */
static void only_advancing_consumer_index_is_accepted(struct kunit *test)
{
	u32 seen = U32_MAX - 2, prod = seen + 5;

	KUNIT_EXPECT_EQ(test, 5u, ring_idx_count_unread(prod, seen, seen, SLOTS));
	KUNIT_EXPECT_EQ(test, 2u, ring_idx_count_unread(prod, seen + 3, seen, SLOTS));
	KUNIT_EXPECT_EQ(test, 0u, ring_idx_count_unread(prod, prod, seen, SLOTS));
	KUNIT_EXPECT_EQ(test, RING_IDX_INVALID,
			ring_idx_count_unread(prod, prod + 1, seen, SLOTS));
	KUNIT_EXPECT_EQ(test, RING_IDX_INVALID,
			ring_idx_count_unread(prod, seen - 1, seen, SLOTS));
	KUNIT_EXPECT_EQ(test, RING_IDX_INVALID,
			ring_idx_count_unread(prod, prod + HALF, seen, SLOTS));
	KUNIT_EXPECT_EQ(test, RING_IDX_INVALID,
			ring_idx_count_unread(seen + SLOTS + 1, seen, seen, SLOTS));
}

/* ring_idx_is_before() compares free-running indices correctly across the wrap. */
static void is_before_compares_across_wrap(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, ring_idx_is_before(1, 2));
	KUNIT_EXPECT_FALSE(test, ring_idx_is_before(2, 2));
	KUNIT_EXPECT_FALSE(test, ring_idx_is_before(3, 2));
	KUNIT_EXPECT_TRUE(test, ring_idx_is_before(U32_MAX, 0));
	KUNIT_EXPECT_FALSE(test, ring_idx_is_before(0, U32_MAX));
}

static struct kunit_case ring_idx_cases[] = {
	KUNIT_CASE(only_posted_slots_that_fit_are_counted),
	KUNIT_CASE(bad_producer_index_is_refused),
	KUNIT_CASE(random_producer_index_never_overfills_ring),
	KUNIT_CASE(only_advancing_consumer_index_is_accepted),
	KUNIT_CASE(is_before_compares_across_wrap),
	{}
};

static struct kunit_suite ring_idx_suite = {
	.name = "rnic_sw_ring_idx",
	.test_cases = ring_idx_cases,
};

kunit_test_suite(ring_idx_suite);
