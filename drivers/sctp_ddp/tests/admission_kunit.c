// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* KUnit tests of the limits on the memory and the associations that peers can use. */
#include <kunit/test.h>

#include "../admission.h"

/*
 * Show that 1000 associations together use at most SDDP_EARLY_ALL bytes plus
 * SDDP_EARLY_MIN bytes each, if each association keeps as many out-of-order chunks as
 * allowed.
 */
static void early_memory_is_bounded(struct kunit *test)
{
	static u32 kept[1000];
	const u32 piece = 1500;
	u64 all = 0;
	u32 n;

	for (n = 0; n < ARRAY_SIZE(kept); n++) {
		kept[n] = 0;
		while (sddp_may_keep_early_chunk(kept[n], all, piece)) {
			kept[n] += piece;
			all += piece;
		}
		KUNIT_ASSERT_LE(test, kept[n], (u32)SDDP_EARLY_ASSOC);
		/* each association, even the last, may use SDDP_EARLY_MIN bytes */
		KUNIT_ASSERT_GT(test, kept[n] + piece, (u32)SDDP_EARLY_MIN);
	}
	KUNIT_EXPECT_LE(test, all, (u64)SDDP_EARLY_ALL +
			ARRAY_SIZE(kept) * (u64)SDDP_EARLY_MIN);
}

/*
 * Show that a single association may use SDDP_EARLY_ASSOC bytes and not more, and that
 * SDDP_EARLY_MIN bytes are granted however much memory is in use.
 */
static void early_memory_of_one_assoc_is_limited(struct kunit *test)
{
	const u32 most = SDDP_EARLY_ASSOC;

	KUNIT_EXPECT_TRUE(test, sddp_may_keep_early_chunk(most - 100, most - 100, 100));
	KUNIT_EXPECT_FALSE(test, sddp_may_keep_early_chunk(most - 99, most - 99, 100));
	KUNIT_EXPECT_FALSE(test, sddp_may_keep_early_chunk(0, 0, most + 1));
	KUNIT_EXPECT_FALSE(test, sddp_may_keep_early_chunk(~0u, ~0ull, ~0u));
	KUNIT_EXPECT_TRUE(test, sddp_may_keep_early_chunk(0, ~0ull, SDDP_EARLY_MIN));
}

/*
 * Show that the eviction group is that of the first limit that is reached, checked in
 * this order: of the peer address, of the local address, of the network namespace.
 */
static void evict_group_is_first_limit_reached(struct kunit *test)
{
	struct sddp_unaccepted c = {
		.peer = SDDP_UNACCEPTED_PEER - 1,
		.laddr = SDDP_UNACCEPTED_LADDR - 1,
		.net = SDDP_UNACCEPTED_NET - 1,
	};

	KUNIT_EXPECT_EQ(test, SDDP_EVICT_NONE, sddp_choose_evict_group(&c));
	c.net++;
	KUNIT_EXPECT_EQ(test, SDDP_EVICT_NET, sddp_choose_evict_group(&c));
	c.laddr++;
	KUNIT_EXPECT_EQ(test, SDDP_EVICT_LADDR, sddp_choose_evict_group(&c));
	c.peer++;
	KUNIT_EXPECT_EQ(test, SDDP_EVICT_PEER, sddp_choose_evict_group(&c));
}

/* Show that the retry delay doubles from 10 to 1000 milliseconds and does not grow further */
static void retry_delay_doubles(struct kunit *test)
{
	u32 delay = sddp_compute_retry_delay(0), n;

	KUNIT_EXPECT_EQ(test, delay, 10U);
	for (n = 0; n < 20; n++) {
		u32 next = sddp_compute_retry_delay(delay);

		KUNIT_ASSERT_TRUE(test, next == 2 * delay || next == 1000);
		delay = next;
	}
	KUNIT_EXPECT_EQ(test, delay, 1000U);
	KUNIT_EXPECT_EQ(test, sddp_compute_retry_delay(~0U), 1000U);
}

/*
 * Show that -ENOMEM is reported rather than any other error, and -EADDRINUSE only if
 * there is no other error, whichever of the two errors comes first.
 */
static void enomem_is_reported_rather_than_other_errors(struct kunit *test)
{
	static const int rising[] = { 0, -EADDRINUSE, -EADDRNOTAVAIL, -ENOMEM };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(rising); i++)
		for (j = 0; j < ARRAY_SIZE(rising); j++)
			KUNIT_EXPECT_EQ(test, rising[max(i, j)],
					sddp_choose_worse_error(rising[i], rising[j]));
}

/*
 * Show that deferred chunks are kept only below each of three limits, and that these
 * limits leave memory for an out-of-order chunk of 70000 bytes.
 */
static void deferred_chunks_are_limited(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, sddp_may_keep_deferred_chunk(0, 0, 0));
	KUNIT_EXPECT_TRUE(test, sddp_may_keep_deferred_chunk(SDDP_DEFERRED_CHUNKS - 1,
							     SDDP_DEFERRED_ASSOC - 1,
							     SDDP_DEFERRED_ALL - 1));
	KUNIT_EXPECT_FALSE(test, sddp_may_keep_deferred_chunk(SDDP_DEFERRED_CHUNKS, 0, 0));
	KUNIT_EXPECT_FALSE(test, sddp_may_keep_deferred_chunk(0, SDDP_DEFERRED_ASSOC, 0));
	KUNIT_EXPECT_FALSE(test, sddp_may_keep_deferred_chunk(0, 0, SDDP_DEFERRED_ALL));
	KUNIT_EXPECT_TRUE(test, sddp_may_keep_early_chunk(SDDP_DEFERRED_ASSOC, 0, 70000));
}

static struct kunit_case admission_cases[] = {
	KUNIT_CASE(deferred_chunks_are_limited),
	KUNIT_CASE(early_memory_is_bounded),
	KUNIT_CASE(early_memory_of_one_assoc_is_limited),
	KUNIT_CASE(evict_group_is_first_limit_reached),
	KUNIT_CASE(retry_delay_doubles),
	KUNIT_CASE(enomem_is_reported_rather_than_other_errors),
	{}
};

static struct kunit_suite admission_suite = {
	.name = "sctp_ddp_admission",
	.test_cases = admission_cases,
};

kunit_test_suite(admission_suite);
