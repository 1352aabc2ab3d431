// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/sq.c: after a send, one call completes the requests, looks for
 * later posts, and sets NEED_WAKEUP if there are none.
 */
#include <kunit/test.h>

#include "rnic_sq.h"

/* Pull one request. Return: true if another one was posted before the pull. */
static bool pull_one_request(struct kunit *test)
{
	struct rdmap_wr wr;

	KUNIT_ASSERT_TRUE(test, rdmap_sq_pull_wr(&stubs.qp.rdmap, &wr));
	rdmap_sq_mark_segmented(&stubs.qp.rdmap, wr.slot);
	return wr.more;
}

static bool complete_and_look_for_posts(void)
{
	return rdmap_sq_complete_sent_wrs(&stubs.qp.rdmap, true);
}

static void expect_wakeup_flag(struct kunit *test, bool set)
{
	KUNIT_EXPECT_EQ(test, set ? (u32)RNIC_SW_RING_NEED_WAKEUP : 0u, stubs.hdr.flags);
}

static void look_sets_wakeup_after_last_request(struct kunit *test)
{
	open_sq_at_index(0);
	post_requests(2);
	KUNIT_EXPECT_TRUE(test, pull_one_request(test));
	KUNIT_EXPECT_FALSE(test, pull_one_request(test));
	expect_wakeup_flag(test, false);
	KUNIT_EXPECT_FALSE(test, complete_and_look_for_posts());
	KUNIT_EXPECT_EQ(test, 2u, stubs.completed);
	expect_wakeup_flag(test, true);
	/* the next pull clears the flag */
	post_requests(1);
	KUNIT_EXPECT_FALSE(test, pull_one_request(test));
	expect_wakeup_flag(test, false);
}

/* A request that is posted without a doorbell during the send is found */
static void look_finds_later_post(struct kunit *test)
{
	open_sq_at_index(0);
	post_requests(1);
	KUNIT_EXPECT_FALSE(test, pull_one_request(test));
	post_requests(1);
	KUNIT_EXPECT_TRUE(test, complete_and_look_for_posts());
	expect_wakeup_flag(test, false);
	KUNIT_EXPECT_FALSE(test, pull_one_request(test));
	KUNIT_EXPECT_FALSE(test, complete_and_look_for_posts());
	KUNIT_EXPECT_EQ(test, 2u, stubs.completed);
}

static void completion_without_look_leaves_flag(struct kunit *test)
{
	open_sq_at_index(0);
	post_requests(1);
	pull_one_request(test);
	KUNIT_EXPECT_TRUE(test, rdmap_sq_complete_sent_wrs(&stubs.qp.rdmap, false));
	KUNIT_EXPECT_EQ(test, 1u, stubs.completed);
	expect_wakeup_flag(test, false);
}

/* While posts are coalesced, the timer starts the next transmission, so no post rings */
static void look_sets_no_wakeup_while_coalescing(struct kunit *test)
{
	open_sq_at_index(0);
	post_requests(1);
	pull_one_request(test);
	stubs.qp.sq.coalescing = true;
	KUNIT_EXPECT_FALSE(test, complete_and_look_for_posts());
	expect_wakeup_flag(test, false);
}

/* RFC 5041 6.2.1: requests posted after the close stay in the queue, and are not looked for */
static void look_ignores_posts_after_close(struct kunit *test)
{
	open_sq_at_index(0);
	post_requests(1);
	pull_one_request(test);
	rnic_sq_close(&stubs.qp);
	post_requests(1);
	KUNIT_EXPECT_FALSE(test, complete_and_look_for_posts());
}

/* With an invalid producer index the look reports more, so that the next pull fails the stream */
static void look_reports_invalid_index_as_more(struct kunit *test)
{
	struct rdmap_wr wr;

	open_sq_at_index(0);
	post_requests(1);
	pull_one_request(test);
	stubs.hdr.prod = 0;
	KUNIT_EXPECT_TRUE(test, complete_and_look_for_posts());
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	KUNIT_EXPECT_FALSE(test, rdmap_sq_pull_wr(&stubs.qp.rdmap, &wr));
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
}

static struct kunit_case sq_look_cases[] = {
	KUNIT_CASE(look_sets_wakeup_after_last_request),
	KUNIT_CASE(look_finds_later_post),
	KUNIT_CASE(completion_without_look_leaves_flag),
	KUNIT_CASE(look_sets_no_wakeup_while_coalescing),
	KUNIT_CASE(look_ignores_posts_after_close),
	KUNIT_CASE(look_reports_invalid_index_as_more),
	{}
};

static struct kunit_suite sq_look_suite = {
	.name = "rnic_sq_look",
	.test_cases = sq_look_cases,
};

kunit_test_suite(sq_look_suite);
