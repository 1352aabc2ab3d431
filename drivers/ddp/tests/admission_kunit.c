// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test which connection requests a listener admits and evicts. */
#include <kunit/test.h>
#include "../admission.h"

#define BOUND	64
#define SOURCES	16

/*
 * Model of a listener. @source: the source of each pending request, oldest
 * request first.
 */
struct listener_model {
	u32	source[BOUND];
	u32	n;
	u32	npending[SOURCES];
};

static int init_listener(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct listener_model), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

static void remove_request(struct listener_model *c, u32 place)
{
	c->npending[c->source[place]]--;
	c->n--;
	memmove(&c->source[place], &c->source[place + 1],
		(c->n - place) * sizeof(c->source[0]));
}

static void add_request_and_evict_if_full(struct listener_model *c, u32 source)
{
	u32 loser, i;

	if (c->n == BOUND) {
		loser = ddp_choose_evict_bucket(c->npending, SOURCES, c->source[0]);
		for (i = 0; c->source[i] != loser; i++)
			;
		remove_request(c, i);
	}
	c->source[c->n++] = source;
	c->npending[source]++;
}

/* If only one source sends requests, it keeps as many as the limit of the listener. */
static void one_source_may_reach_limit(struct kunit *test)
{
	struct listener_model *c = test->priv;
	int i;

	for (i = 0; i < 1000; i++)
		add_request_and_evict_if_full(c, 5);
	KUNIT_EXPECT_EQ(test, c->n, (u32)BOUND);
	KUNIT_EXPECT_EQ(test, c->npending[5], (u32)BOUND);
}

/*
 * A single request of one source is attached and not evicted, although 1 to 15
 * other sources send 1000 requests before it and 1000 after it.
 */
static void single_request_is_not_evicted(struct kunit *test)
{
	struct listener_model *c = test->priv;
	int attackers, i;

	for (attackers = 1; attackers < SOURCES; attackers++) {
		memset(c, 0, sizeof(*c));
		for (i = 0; i < 1000; i++)
			add_request_and_evict_if_full(c, 1 + i % attackers);
		add_request_and_evict_if_full(c, 0);
		KUNIT_EXPECT_EQ(test, c->npending[0], 1u);
		for (i = 0; i < 1000; i++)
			add_request_and_evict_if_full(c, 1 + i * i % attackers);
		KUNIT_EXPECT_EQ(test, c->npending[0], 1u);
		KUNIT_EXPECT_EQ(test, c->n, (u32)BOUND);
	}
}

/*
 * 1000 requests of three other sources do not evict the 10 requests of a
 * source. If four sources then send 1000 requests in turn, each keeps a quarter
 * of the limit.
 */
static void sources_share_limit_equally(struct kunit *test)
{
	struct listener_model *c = test->priv;
	int i;

	for (i = 0; i < 10; i++)
		add_request_and_evict_if_full(c, 0);
	for (i = 0; i < 1000; i++)
		add_request_and_evict_if_full(c, 1 + i % 3);
	KUNIT_EXPECT_EQ(test, c->npending[0], 10u);
	for (i = 0; i < 1000; i++)
		add_request_and_evict_if_full(c, i % 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, c->npending[i], (u32)BOUND / 4);
}

/*
 * If several buckets have the most requests, the bucket of the oldest request
 * is chosen for eviction if it is one of them.
 */
static void bucket_of_oldest_request_wins_tie(struct kunit *test)
{
	const u32 npending[] = { 2, 2, 1, 2 };

	KUNIT_EXPECT_EQ(test, ddp_choose_evict_bucket(npending, 4, 3), 3u);
	KUNIT_EXPECT_EQ(test, ddp_choose_evict_bucket(npending, 4, 1), 1u);
	KUNIT_EXPECT_NE(test, ddp_choose_evict_bucket(npending, 4, 2), 2u);
}

/*
 * If two sources share a bucket, the oldest request of the source with more
 * requests is evicted. If both have equally many, the oldest request of the
 * bucket is evicted.
 */
static void shared_bucket_evicts_from_larger_source(struct kunit *test)
{
	const u32 few_first[] = { 7, 7, 8, 7, 8, 8, 8 };
	const u32 even[] = { 8, 7, 7, 8 };

	KUNIT_EXPECT_EQ(test, ddp_choose_evict_request(few_first, 7), 2u);
	KUNIT_EXPECT_EQ(test, ddp_choose_evict_request(few_first, 4), 0u);
	KUNIT_EXPECT_EQ(test, ddp_choose_evict_request(even, 4), 0u);
	KUNIT_EXPECT_EQ(test, ddp_choose_evict_request(few_first, 1), 0u);
}

/* A request is refused if twice as many requests as the limit are attached. */
static void requests_above_twice_limit_are_refused(struct kunit *test)
{
	struct ddp_admit_state c = { .limit = BOUND, .npending = BOUND, .same_source = 1 };

	c.nattached = 2 * BOUND - 1;
	KUNIT_EXPECT_TRUE(test, ddp_may_admit_with_eviction(&c));
	c.nattached++;
	KUNIT_EXPECT_FALSE(test, ddp_may_admit_with_eviction(&c));
}

/*
 * If the LLP cannot evict, a source with fewer requests than a quarter of the
 * limit may exceed the limit by a quarter; other sources may not exceed the
 * limit.
 */
static void small_source_may_exceed_limit(struct kunit *test)
{
	struct ddp_admit_state c = { .limit = BOUND };

	for (c.npending = 0; c.npending <= 2 * BOUND; c.npending++) {
		c.same_source = BOUND / 4 - 1;
		KUNIT_EXPECT_EQ(test, ddp_may_admit(&c),
				c.npending < BOUND / 4 * 5);
		c.same_source = BOUND / 4;
		KUNIT_EXPECT_EQ(test, ddp_may_admit(&c), c.npending < BOUND);
	}
}

static struct kunit_case admission_cases[] = {
	KUNIT_CASE(one_source_may_reach_limit),
	KUNIT_CASE(single_request_is_not_evicted),
	KUNIT_CASE(sources_share_limit_equally),
	KUNIT_CASE(bucket_of_oldest_request_wins_tie),
	KUNIT_CASE(shared_bucket_evicts_from_larger_source),
	KUNIT_CASE(requests_above_twice_limit_are_refused),
	KUNIT_CASE(small_source_may_exceed_limit),
	{}
};

static struct kunit_suite admission_suite = {
	.name = "ddp_admission",
	.init = init_listener,
	.test_cases = admission_cases,
};

kunit_test_suite(admission_suite);

MODULE_DESCRIPTION("DDP admission of connection requests: tests");
MODULE_LICENSE("Dual BSD/GPL");
