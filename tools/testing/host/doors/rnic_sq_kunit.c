// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/sq.c: the send queue between a program's ring,
 * RDMAP and a CQ.
 */
#include <kunit/test.h>
#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "../../../../drivers/rnic_sw/bell.h"
#include "../../../../drivers/rnic_sw/counters.h"
#include "rnic_sq.h"

/* Cases ------------------------------------------------------------------------ */

/*
 * Requests posted before a graceful close are sent; requests posted after it
 * are flushed
 */
static void end_is_where_it_was(struct kunit *test)
{
	u32 used;

	for (used = 0; used < 3; used++) {
		begin_at(used);
		post(3);
		rnic_sq_close(&world.qp);
		post(2);
		KUNIT_EXPECT_EQ(test, 3u, pull_all());
		KUNIT_EXPECT_EQ(test, 3u, world.completed);
		KUNIT_EXPECT_EQ(test, 0u, (u32)world.last.status);
		post(1);
		KUNIT_EXPECT_EQ(test, 0u, pull_all());
		rnic_sq_flush(&world.qp);
		KUNIT_EXPECT_EQ(test, 6u, world.completed);
		KUNIT_EXPECT_EQ(test, (u32)IB_WC_WR_FLUSH_ERR, (u32)world.last.status);
		KUNIT_EXPECT_EQ(test, used + 5u, (u32)world.last.wr_id);
		KUNIT_EXPECT_EQ(test, 0u, world.failed);
	}
}

/* If nothing was posted before the close, nothing is sent */
static void end_of_an_idle_one(struct kunit *test)
{
	begin_at(1);
	rnic_sq_close(&world.qp);
	post(1);
	KUNIT_EXPECT_EQ(test, 0u, pull_all());
	KUNIT_EXPECT_EQ(test, 0u, world.completed);
}

/* After a close, an invalid producer index is left to the flush */
static void nonsense_waits(struct kunit *test)
{
	begin_at(1);
	post(2);
	KUNIT_EXPECT_EQ(test, 2u, pull_all());
	world.hdr.prod += SLOTS + 1;
	rnic_sq_close(&world.qp);
	KUNIT_EXPECT_EQ(test, 0u, pull_all());
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
}

/*
 * Before a close, requests read earlier are sent first; then the stream fails,
 * with no MR reference held
 */
static void nonsense_fails(struct kunit *test)
{
	struct ddp_region region = {};
	struct rdmap_wr wr;

	begin_at(1);
	post(3);
	KUNIT_EXPECT_TRUE(test, rdmap_sq_pull(&world.qp.rdmap, &wr));
	world.hdr.prod += SLOTS + 1;
	KUNIT_EXPECT_TRUE(test, rdmap_sq_pull(&world.qp.rdmap, &wr));
	KUNIT_EXPECT_TRUE(test, rdmap_sq_pull(&world.qp.rdmap, &wr));
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
	refcount_set(&region.users, 2);
	world.qp.rdmap.stream.tx_held = &region;
	KUNIT_EXPECT_FALSE(test, rdmap_sq_pull(&world.qp.rdmap, &wr));
	KUNIT_EXPECT_EQ(test, 1u, world.failed);
	KUNIT_EXPECT_EQ(test, 0u, world.held);
}

/* A signalled request completes at once after any number of unsignalled ones */
static void told_behind_many(struct kunit *test)
{
	u32 n;

	for (n = 1; n < 200; n++) {
		begin_at(0);
		world.qp.sq.sig_all = false;
		post(n);
		world.slots[n - 1].flags = RNIC_SW_SEND_SIGNALED;
		KUNIT_EXPECT_EQ(test, n, pull_all());
		KUNIT_EXPECT_EQ(test, 1u, world.completed);
		KUNIT_EXPECT_EQ(test, n - 1, (u32)world.last.wr_id);
		KUNIT_EXPECT_EQ(test, n, world.hdr.cons);
		KUNIT_EXPECT_EQ(test, 0u, world.works);
	}
}

/* After many completions a worker generates the rest */
static void rest_is_told_later(struct kunit *test)
{
	begin_at(0);
	post(SLOTS);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, pull_all());
	KUNIT_EXPECT_EQ(test, 256u, world.completed);
	KUNIT_EXPECT_EQ(test, 1u, world.works);
	rnic_sq_tell_more(&world.qp.tell_work);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, world.completed);
	KUNIT_EXPECT_EQ(test, SLOTS - 1u, (u32)world.last.wr_id);
	/* the worker is not queued once more */
	KUNIT_EXPECT_EQ(test, 1u, world.works);
}

/* Waiting for a flush includes the worker's part, but no later posts */
static void flush_is_awaited(struct kunit *test)
{
	begin_at(3);
	post(SLOTS);
	rnic_sq_flush(&world.qp);
	KUNIT_EXPECT_EQ(test, 256u, world.completed);
	rnic_sq_flushed(&world.qp);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, world.completed);
	KUNIT_EXPECT_EQ(test, 1u, world.sleeps);
	post(1);
	rnic_sq_flushed(&world.qp);
	KUNIT_EXPECT_EQ(test, 1u, world.sleeps);
}

/* Waiting for a flush includes a context that was completing when the flush began */
static void flush_awaits_another(struct kunit *test)
{
	begin_at(0);
	post(3);
	world.qp.sq.completing = true;
	world.at_it = true;
	rnic_sq_flush(&world.qp);
	KUNIT_EXPECT_EQ(test, 0u, world.completed);
	rnic_sq_flushed(&world.qp);
	KUNIT_EXPECT_EQ(test, 3u, world.completed);
	KUNIT_EXPECT_EQ(test, 1u, world.sleeps);
}

/* The last request may have left the queue before its completion is generated */
static void last_is_awaited(struct kunit *test)
{
	begin_at(0);
	post(1);
	rnic_sq_flush(&world.qp);
	world.qp.sq.completing = true;
	world.at_it = true;
	rnic_sq_flushed(&world.qp);
	KUNIT_EXPECT_EQ(test, 1u, world.sleeps);
}

/* No worker is queued for as many completions as one context may generate */
static void all_are_told(struct kunit *test)
{
	begin_at(0);
	post(256);
	KUNIT_EXPECT_EQ(test, 256u, pull_all());
	KUNIT_EXPECT_EQ(test, 256u, world.completed);
	KUNIT_EXPECT_EQ(test, 0u, world.works);
	KUNIT_EXPECT_FALSE(test, world.qp.sq.completing);
}

/* Unsignalled requests are processed in bounded steps */
static void told_to_nobody(struct kunit *test)
{
	begin_at(0);
	world.qp.sq.sig_all = false;
	post(SLOTS);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, pull_all());
	KUNIT_EXPECT_EQ(test, 256u, world.qp.sq.tail);
	KUNIT_EXPECT_EQ(test, 1u, world.works);
	rnic_sq_tell_more(&world.qp.tell_work);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, world.qp.sq.tail);
	KUNIT_EXPECT_EQ(test, 0u, world.completed);
}

/*
 * Completions are generated without the lock and in order, by one context;
 * others leave theirs to it
 */
static void told_in_order(struct kunit *test)
{
	begin_at(0);
	world.again = true;
	post(100);
	KUNIT_EXPECT_EQ(test, 100u, pull_all());
	KUNIT_EXPECT_EQ(test, 100u, world.completed);
	KUNIT_EXPECT_EQ(test, 0u, world.early);
	KUNIT_EXPECT_EQ(test, 0u, world.twice);
	KUNIT_EXPECT_EQ(test, 0u, world.locked);
	KUNIT_EXPECT_EQ(test, 0, world.qp.sq.lock.held);
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
}

/*
 * RDMAP-125: the response to a later request does not complete a request that
 * was not sent
 */
static void answered_before_sent(struct kunit *test)
{
	struct rdmap *r = &world.qp.rdmap;
	struct rdmap_wr wr;
	u32 n;

	begin_at(0);
	post(3);
	for (n = 0; n < 3; n++) {
		KUNIT_ASSERT_TRUE(test, rdmap_sq_pull(r, &wr));
		rdmap_sq_cut(r, wr.slot);
		KUNIT_EXPECT_EQ(test, 0u, world.completed);
	}
	rdmap_sq_answered(r, 2, 0);
	KUNIT_EXPECT_EQ(test, 0u, world.completed);
	rdmap_sq_sent(r);
	KUNIT_EXPECT_EQ(test, 3u, world.completed);
}

/*
 * A request posted on a failed stream is flushed, even if it is unsignalled:
 * draining a QP needs its completion
 */
static void posted_in_error(struct kunit *test)
{
	struct rdmap *r = &world.qp.rdmap;
	struct rdmap_wr wr;

	begin_at(0);
	world.qp.sq.sig_all = false;
	set_bit(0, &r->stream.failed);
	post(1);
	KUNIT_EXPECT_FALSE(test, rdmap_sq_pull(r, &wr));
	KUNIT_EXPECT_EQ(test, 0u, world.completed);
	rnic_sq_flush(&world.qp);
	KUNIT_EXPECT_EQ(test, 1u, world.completed);
	KUNIT_EXPECT_EQ(test, (u32)IB_WC_WR_FLUSH_ERR, (u32)world.last.status);
}

/*
 * A Send is complete, a Read waits for its response, and two more requests
 * follow; then a Terminate arrives
 */
static void expect_terminated(struct kunit *test, u8 layer, u8 type, u8 culprit)
{
	const u8 want[] = {
		IB_WC_SUCCESS, culprit, IB_WC_WR_FLUSH_ERR, IB_WC_WR_FLUSH_ERR,
		IB_WC_WR_FLUSH_ERR,
	};
	struct rdmap *r = &world.qp.rdmap;
	struct rdmap_wr wr;
	u32 n;

	begin_at(0);
	post(ARRAY_SIZE(want));
	world.slots[1].opcode = RNIC_SW_OP_READ;
	world.slots[3].opcode = RNIC_SW_OP_READ;
	/* the last request is not sent */
	for (n = 0; n < ARRAY_SIZE(want) - 1; n++) {
		KUNIT_ASSERT_TRUE(test, rdmap_sq_pull(r, &wr));
		rdmap_sq_cut(r, wr.slot);
	}
	rdmap_sq_sent(r);
	KUNIT_EXPECT_EQ(test, 1u, world.completed);
	world.qp.why = IW_PEER_TERMINATE;
	r->peer_layer = layer;
	r->peer_type = type;
	rnic_sq_flush(&world.qp);
	KUNIT_ASSERT_EQ(test, (u32)ARRAY_SIZE(want), world.completed);
	for (n = 0; n < ARRAY_SIZE(want); n++)
		KUNIT_EXPECT_EQ(test, want[n], world.status[n]);
	/* too late: the request was flushed */
	rdmap_sq_answered(r, 1, 0);
	KUNIT_EXPECT_EQ(test, (u32)ARRAY_SIZE(want), world.completed);
}

/*
 * RDMAP-145: a request without response and all after it are completed in
 * error, sent or not
 */
static void terminated(struct kunit *test)
{
	expect_terminated(test, IW_LAYER_DDP, 2, IB_WC_WR_FLUSH_ERR);
	expect_terminated(test, IW_LAYER_LLP, 0, IB_WC_WR_FLUSH_ERR);
}

/* RDMAP-15: the Terminate's error is reported with the oldest incomplete request */
static void terminated_for_it(struct kunit *test)
{
	expect_terminated(test, IW_LAYER_RDMAP, 1, IB_WC_REM_ACCESS_ERR);
	expect_terminated(test, IW_LAYER_RDMAP, 2, IB_WC_REM_OP_ERR);
}

static void no_room(struct kunit *test)
{
	begin_at(0);
	world.full = true;
	post(1);
	KUNIT_EXPECT_EQ(test, 1u, pull_all());
	KUNIT_EXPECT_EQ(test, 1u, world.failed);
}

/* Doorbells ---------------------------------------------------------------------- */

static void begin_gathers(struct kunit *test)
{
	static u64 counts[RNIC_COUNTERS_ALL];

	begin_at(0);
	world.now = 1000000;
	world.qp.counts = counts;
	hrtimer_resolution = 1;
	KUNIT_ASSERT_EQ(test, 0, rnic_sq_gather_alloc(&world.qp));
	KUNIT_EXPECT_EQ(test, 0u, pull_all());
}

static void end_gathers(struct kunit *test)
{
	int pieces = host_pieces;

	rnic_sq_gather_stop(&world.qp.sq);
	KUNIT_EXPECT_FALSE(test, world.timer->queued);
	kfree(world.qp.sq.gather);
	KUNIT_EXPECT_EQ(test, pieces - 1, host_pieces);
}

/* As a program: post, and ring the doorbell if the ring's flag is set */
static bool post_and_ring(void)
{
	bool rings;

	post(1);
	world.now += 100;
	rings = world.hdr.flags & RNIC_SW_RING_NEED_WAKEUP;
	if (rings)
		rnic_post_send(&world.qp.ib, NULL, NULL);
	return rings;
}

/* Post until doorbells are coalesced; each doorbell before that sends one request */
static void post_until_gathered(struct kunit *test)
{
	u32 n = 0;

	while (!world.timer->queued && n++ < 100) {
		u32 before = world.pushes;

		KUNIT_EXPECT_TRUE(test, post_and_ring());
		if (world.pushes != before)
			KUNIT_EXPECT_EQ(test, 1u, pull_all());
	}
	KUNIT_EXPECT_EQ(test, (u32)BELL_ROW + 1, n);
	KUNIT_EXPECT_EQ(test, (u32)BELL_ROW, world.pushes);
}

/*
 * After several consecutive doorbells none is needed until the timer expires;
 * then all posts are sent together
 */
static void posts_are_gathered(struct kunit *test)
{
	u32 i;

	begin_gathers(test);
	post_until_gathered(test);
	for (i = 0; i < BELL_ROW; i++)
		KUNIT_EXPECT_FALSE(test, post_and_ring());
	KUNIT_EXPECT_EQ(test, 0u, world.kicks);
	KUNIT_EXPECT_EQ(test, (u64)BELL_GATHER_NS, world.timer->after);
	host_hrtimer_fire(world.timer);
	KUNIT_EXPECT_EQ(test, 1u, world.kicks);
	KUNIT_EXPECT_EQ(test, 1u, (u32)world.qp.counts[RNIC_TX_GATHERS]);
	KUNIT_EXPECT_EQ(test, BELL_ROW + 1, pull_all());
	KUNIT_EXPECT_EQ(test, (u32)RNIC_SW_RING_NEED_WAKEUP, world.hdr.flags);
	/* many posts were coalesced: the next one starts the timer again */
	KUNIT_EXPECT_TRUE(test, post_and_ring());
	KUNIT_EXPECT_TRUE(test, world.timer->queued);
	end_gathers(test);
}

/*
 * A transmit path that another context has started does not request doorbells
 * while the timer runs
 */
static void runner_stays_quiet(struct kunit *test)
{
	begin_gathers(test);
	post_until_gathered(test);
	KUNIT_EXPECT_EQ(test, 1u, pull_all());
	KUNIT_EXPECT_EQ(test, 0u, pull_all());
	KUNIT_EXPECT_FALSE(test, post_and_ring());
	KUNIT_EXPECT_EQ(test, 1u, pull_all());
	host_hrtimer_fire(world.timer);
	KUNIT_EXPECT_EQ(test, 0u, pull_all());
	KUNIT_EXPECT_TRUE(test, post_and_ring());
	end_gathers(test);
}

/* Unnecessary doorbells change nothing: the timer is not postponed */
static void rung_all_the_same(struct kunit *test)
{
	u32 i;

	begin_gathers(test);
	post_until_gathered(test);
	for (i = 0; i < 100; i++)
		rnic_post_send(&world.qp.ib, NULL, NULL);
	KUNIT_EXPECT_EQ(test, (u32)BELL_ROW, world.pushes);
	KUNIT_EXPECT_EQ(test, 1u, world.timer->started);
	end_gathers(test);
}

/* After an error, each post needs a doorbell again, which flushes it */
static void error_while_gathered(struct kunit *test)
{
	u32 done;

	begin_gathers(test);
	post_until_gathered(test);
	KUNIT_EXPECT_FALSE(test, post_and_ring());
	rnic_sq_flush(&world.qp);
	done = world.completed;
	KUNIT_EXPECT_EQ(test, (u32)BELL_ROW + 2, done);
	KUNIT_EXPECT_TRUE(test, post_and_ring());
	KUNIT_EXPECT_EQ(test, done + 1, world.completed);
	host_hrtimer_fire(world.timer);
	KUNIT_EXPECT_EQ(test, 0u, pull_all());
	KUNIT_EXPECT_TRUE(test, post_and_ring());
	KUNIT_EXPECT_EQ(test, done + 2, world.completed);
	end_gathers(test);
}

/* A doorbell concurrent with a flush does not clear the flag after it */
static void error_under_a_doorbell(struct kunit *test)
{
	u32 i;

	begin_gathers(test);
	rnic_sq_flush(&world.qp);
	for (i = 0; i < 100; i++) {
		world.now += 1;
		rnic_sq_ring(&world.qp);
		KUNIT_EXPECT_EQ(test, (u32)RNIC_SW_RING_NEED_WAKEUP, world.hdr.flags);
	}
	KUNIT_EXPECT_FALSE(test, world.timer->queued);
	end_gathers(test);
}

/* With at most BELL_ROW requests in flight, coalescing soon stops */
static void window_of(struct kunit *test, u32 window)
{
	u32 gathered = 0, posted = 0, i;

	begin_gathers(test);
	while (posted < 20000) {
		for (i = 0; i < window; i++)
			post_and_ring();
		posted += window;
		if (world.timer->queued) {
			gathered++;
			host_hrtimer_fire(world.timer);
		}
		pull_all();
	}
	KUNIT_EXPECT_GE(test, gathered, 5u);
	KUNIT_EXPECT_LE(test, gathered, 12u);
	end_gathers(test);
}

static void few_under_way(struct kunit *test)
{
	window_of(test, 1);
	window_of(test, 2);
	window_of(test, BELL_ROW - 1);
	window_of(test, BELL_ROW);
}

/* If the timer was late, the next post is not coalesced */
static void late_timer(struct kunit *test)
{
	u32 i;

	begin_gathers(test);
	post_until_gathered(test);
	for (i = 0; i < 2 * BELL_ROW; i++)
		KUNIT_EXPECT_FALSE(test, post_and_ring());
	world.now += BELL_LATE_NS;
	host_hrtimer_fire(world.timer);
	pull_all();
	KUNIT_EXPECT_TRUE(test, post_and_ring());
	KUNIT_EXPECT_FALSE(test, world.timer->queued);
	end_gathers(test);
}

/* With a coarse clock the timer would be a tick late, so nothing is coalesced */
static void clock_too_coarse(struct kunit *test)
{
	u32 i;

	begin_gathers(test);
	hrtimer_resolution = 4000000;
	for (i = 0; i < 100; i++) {
		KUNIT_EXPECT_TRUE(test, post_and_ring());
		pull_all();
	}
	KUNIT_EXPECT_EQ(test, 100u, world.pushes);
	end_gathers(test);
}

static struct kunit_case rnic_sq_cases[] = {
	KUNIT_CASE(end_is_where_it_was),
	KUNIT_CASE(end_of_an_idle_one),
	KUNIT_CASE(nonsense_waits),
	KUNIT_CASE(nonsense_fails),
	KUNIT_CASE(told_behind_many),
	KUNIT_CASE(rest_is_told_later),
	KUNIT_CASE(flush_is_awaited),
	KUNIT_CASE(flush_awaits_another),
	KUNIT_CASE(last_is_awaited),
	KUNIT_CASE(all_are_told),
	KUNIT_CASE(told_to_nobody),
	KUNIT_CASE(told_in_order),
	KUNIT_CASE(answered_before_sent),
	KUNIT_CASE(posted_in_error),
	KUNIT_CASE(terminated),
	KUNIT_CASE(terminated_for_it),
	KUNIT_CASE(no_room),
	KUNIT_CASE(posts_are_gathered),
	KUNIT_CASE(runner_stays_quiet),
	KUNIT_CASE(rung_all_the_same),
	KUNIT_CASE(error_while_gathered),
	KUNIT_CASE(error_under_a_doorbell),
	KUNIT_CASE(few_under_way),
	KUNIT_CASE(late_timer),
	KUNIT_CASE(clock_too_coarse),
	{}
};

static struct kunit_suite rnic_sq_suite = {
	.name = "rnic_sq",
	.test_cases = rnic_sq_cases,
};

kunit_test_suite(rnic_sq_suite);
