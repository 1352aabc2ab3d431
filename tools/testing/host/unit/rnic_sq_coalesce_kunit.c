// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/sq_coalesce.c: doorbells of a program, and the timer that sends
 * coalesced posts.
 */
#include <kunit/test.h>
#include <linux/hrtimer.h>

#include "../../../../drivers/rnic_sw/doorbell.h"
#include "../../../../drivers/rnic_sw/counters.h"
#include "rnic_sq.h"

static struct rnic_doorbell bell;

static void open_coalescing_queue(struct kunit *test)
{
	static u64 counts[RNIC_COUNTERS_ALL];

	open_sq_at_index(0);
	stubs.now = 1000000;
	stubs.qp.counts = counts;
	hrtimer_resolution = 1;
	bell = (struct rnic_doorbell) { .qp = &stubs.qp };
	rnic_sq_coalesce_init(&bell);
	stubs.qp.sq.doorbell = &bell;
	KUNIT_EXPECT_EQ(test, 0u, send_all_requests());
}

static void end_coalescing(struct kunit *test)
{
	rnic_sq_coalesce_stop(stubs.qp.sq.doorbell);
	KUNIT_EXPECT_FALSE(test, stubs.timer->queued);
}

/*
 * Post like a program, and ring the doorbell if the ring's flag is set. Return:
 * true if it was set.
 */
static bool post_and_ring_if_needed(void)
{
	bool rings;

	post_requests(1);
	stubs.now += 100;
	rings = stubs.hdr.flags & RNIC_SW_RING_NEED_WAKEUP;
	if (rings)
		rnic_post_send(&stubs.qp.ib, NULL, NULL);
	return rings;
}

/* Post until doorbells are coalesced; each doorbell before that sends one request */
static void post_until_coalesced(struct kunit *test)
{
	u32 n = 0;

	while (!stubs.timer->queued && n++ < 100) {
		u32 before = stubs.pushes;

		KUNIT_EXPECT_TRUE(test, post_and_ring_if_needed());
		if (stubs.pushes != before)
			KUNIT_EXPECT_EQ(test, 1u, send_all_requests());
	}
	KUNIT_EXPECT_EQ(test, (u32)DB_MOD_STREAK + 1, n);
	KUNIT_EXPECT_EQ(test, (u32)DB_MOD_STREAK, stubs.pushes);
}

/*
 * After several consecutive doorbells, posts need no doorbell until the timer
 * expires. Then all these posts are sent together.
 */
static void doorbells_are_coalesced(struct kunit *test)
{
	u32 i;

	open_coalescing_queue(test);
	post_until_coalesced(test);
	for (i = 0; i < DB_MOD_STREAK; i++)
		KUNIT_EXPECT_FALSE(test, post_and_ring_if_needed());
	KUNIT_EXPECT_EQ(test, 0u, stubs.kicks);
	KUNIT_EXPECT_EQ(test, 2 * (u64)DB_MOD_PACE_MIN, stubs.timer->after);
	host_hrtimer_fire(stubs.timer);
	KUNIT_EXPECT_EQ(test, 1u, stubs.kicks);
	KUNIT_EXPECT_EQ(test, 1u, (u32)stubs.qp.counts[RNIC_TX_COALESCED]);
	KUNIT_EXPECT_EQ(test, DB_MOD_STREAK + 1, send_all_requests());
	KUNIT_EXPECT_EQ(test, (u32)RNIC_SW_RING_NEED_WAKEUP, stubs.hdr.flags);
	/* because many posts were coalesced, the next post starts the timer again */
	KUNIT_EXPECT_TRUE(test, post_and_ring_if_needed());
	KUNIT_EXPECT_TRUE(test, stubs.timer->queued);
	end_coalescing(test);
}

/* Post requests, and ring the doorbell after every 20th, as a provider that does not wait for timers */
static void post_and_ring_each_20th(struct kunit *test, u32 n)
{
	u32 i;

	for (i = 1; i <= n; i++) {
		KUNIT_EXPECT_FALSE(test, post_and_ring_if_needed());
		if (i % 20 == 0)
			rnic_post_send(&stubs.qp.ib, NULL, NULL);
	}
}

/*
 * A doorbell after enough posts transmits them, and the program still needs no doorbell for the next
 * posts. The timer does not end the period before a whole period has passed without a doorbell.
 */
static void doorbell_transmits_and_extends_period(struct kunit *test)
{
	u32 pushes;

	open_coalescing_queue(test);
	post_until_coalesced(test);
	pushes = stubs.pushes;
	post_and_ring_each_20th(test, 19);
	KUNIT_EXPECT_EQ(test, pushes, stubs.pushes);
	KUNIT_EXPECT_EQ(test, 20u, send_all_requests());
	post_and_ring_each_20th(test, 20);
	KUNIT_EXPECT_EQ(test, pushes + 1, stubs.pushes);
	KUNIT_EXPECT_EQ(test, 20u, send_all_requests());
	KUNIT_EXPECT_FALSE(test, post_and_ring_if_needed());
	stubs.now += 100 * db_mod_get_period(&bell.db_mod);
	host_hrtimer_fire(stubs.timer);
	KUNIT_EXPECT_TRUE(test, stubs.timer->queued);
	KUNIT_EXPECT_EQ(test, 0u, stubs.kicks);
	host_hrtimer_fire(stubs.timer);
	KUNIT_EXPECT_FALSE(test, stubs.timer->queued);
	KUNIT_EXPECT_EQ(test, 1u, stubs.kicks);
	KUNIT_EXPECT_EQ(test, 1u, send_all_requests());
	/* because many posts were coalesced, the next post starts the timer again */
	KUNIT_EXPECT_TRUE(test, post_and_ring_if_needed());
	KUNIT_EXPECT_TRUE(test, stubs.timer->queued);
	end_coalescing(test);
}

/*
 * While the timer runs, a transmit path that runs for another reason sends the
 * posted requests, and does not make the program ring doorbells again
 */
static void tx_pass_keeps_coalescing(struct kunit *test)
{
	open_coalescing_queue(test);
	post_until_coalesced(test);
	KUNIT_EXPECT_EQ(test, 1u, send_all_requests());
	KUNIT_EXPECT_EQ(test, 0u, send_all_requests());
	KUNIT_EXPECT_FALSE(test, post_and_ring_if_needed());
	KUNIT_EXPECT_EQ(test, 1u, send_all_requests());
	host_hrtimer_fire(stubs.timer);
	KUNIT_EXPECT_EQ(test, 0u, send_all_requests());
	KUNIT_EXPECT_TRUE(test, post_and_ring_if_needed());
	end_coalescing(test);
}

/* A program that rings the doorbell although the flag is clear does not postpone the timer */
static void extra_doorbell_keeps_timer(struct kunit *test)
{
	u32 i;

	open_coalescing_queue(test);
	post_until_coalesced(test);
	for (i = 0; i < 100; i++)
		rnic_post_send(&stubs.qp.ib, NULL, NULL);
	KUNIT_EXPECT_EQ(test, (u32)DB_MOD_STREAK, stubs.pushes);
	KUNIT_EXPECT_EQ(test, 1u, stubs.timer->started);
	end_coalescing(test);
}

/* After an error, each post needs a doorbell again, and the doorbell flushes the post */
static void error_ends_coalescing(struct kunit *test)
{
	u32 done;

	open_coalescing_queue(test);
	post_until_coalesced(test);
	KUNIT_EXPECT_FALSE(test, post_and_ring_if_needed());
	rnic_sq_flush(&stubs.qp);
	done = stubs.completed;
	KUNIT_EXPECT_EQ(test, (u32)DB_MOD_STREAK + 2, done);
	KUNIT_EXPECT_TRUE(test, post_and_ring_if_needed());
	KUNIT_EXPECT_EQ(test, done + 1, stubs.completed);
	host_hrtimer_fire(stubs.timer);
	KUNIT_EXPECT_EQ(test, 0u, send_all_requests());
	KUNIT_EXPECT_TRUE(test, post_and_ring_if_needed());
	KUNIT_EXPECT_EQ(test, done + 2, stubs.completed);
	end_coalescing(test);
}

/* A doorbell that is concurrent with a flush does not clear the flag that the flush has set */
static void flush_flag_survives_doorbell(struct kunit *test)
{
	u32 i;

	open_coalescing_queue(test);
	rnic_sq_flush(&stubs.qp);
	for (i = 0; i < 100; i++) {
		stubs.now += 1;
		rnic_sq_transmit_or_coalesce(&stubs.qp);
		KUNIT_EXPECT_EQ(test, (u32)RNIC_SW_RING_NEED_WAKEUP, stubs.hdr.flags);
	}
	KUNIT_EXPECT_FALSE(test, stubs.timer->queued);
	end_coalescing(test);
}

/*
 * Let a program keep at most @window requests in flight. Expect that after a short time its
 * doorbells are coalesced only rarely.
 */
static void expect_rare_coalescing(struct kunit *test, u32 window)
{
	u32 periods = 0, posted = 0, i;

	open_coalescing_queue(test);
	while (posted < 20000) {
		for (i = 0; i < window; i++)
			post_and_ring_if_needed();
		posted += window;
		if (stubs.timer->queued) {
			periods++;
			host_hrtimer_fire(stubs.timer);
		}
		send_all_requests();
	}
	KUNIT_EXPECT_GE(test, periods, 5u);
	KUNIT_EXPECT_LE(test, periods, 5 + 20000 / DB_MOD_STREAK_MAX);
	end_coalescing(test);
}

static void doorbells_rarely_coalesce_with_small_window(struct kunit *test)
{
	expect_rare_coalescing(test, 1);
	expect_rare_coalescing(test, 2);
	expect_rare_coalescing(test, DB_MOD_STREAK - 1);
	expect_rare_coalescing(test, DB_MOD_STREAK);
}

/* If the timer was late, the next post is not coalesced */
static void late_timer_stops_coalescing(struct kunit *test)
{
	u32 i;

	open_coalescing_queue(test);
	post_until_coalesced(test);
	for (i = 0; i < 2 * DB_MOD_STREAK; i++)
		KUNIT_EXPECT_FALSE(test, post_and_ring_if_needed());
	stubs.now += 4 * DB_MOD_PACE_MIN;
	host_hrtimer_fire(stubs.timer);
	send_all_requests();
	KUNIT_EXPECT_TRUE(test, post_and_ring_if_needed());
	KUNIT_EXPECT_FALSE(test, stubs.timer->queued);
	end_coalescing(test);
}

/*
 * Ring @slow doorbells slowly, and then quickly, where the ring asks only for every second doorbell.
 * Return: the number of quick doorbells until the timer is started, at most 200.
 */
static u32 count_half_unasked_doorbells_until_period(struct kunit *test, u32 slow)
{
	u32 n;

	open_coalescing_queue(test);
	for (n = 0; n < slow; n++) {
		stubs.now += DB_MOD_PACE_MAX;
		KUNIT_EXPECT_TRUE(test, post_and_ring_if_needed());
		send_all_requests();
	}
	for (n = 0; n < 200 && !stubs.timer->queued; n++) {
		post_requests(1);
		stubs.now += DB_MOD_PACE_MIN / 4;
		stubs.hdr.flags = n % 2 ? RNIC_SW_RING_NEED_WAKEUP : 0;
		rnic_post_send(&stubs.qp.ib, NULL, NULL);
		send_all_requests();
	}
	end_coalescing(test);
	return n;
}

/*
 * Doorbells for which the ring has not asked do not set the time of the last pass. They must not
 * always be the first of those that are timed, or no period would start.
 */
static void unasked_doorbells_do_not_prevent_coalescing(struct kunit *test)
{
	u32 slow;

	for (slow = 0; slow < 100; slow++)
		KUNIT_EXPECT_LE(test, count_half_unasked_doorbells_until_period(test, slow), 70u);
}

/* With a coarse clock the timer could expire a whole tick late, so posts are not coalesced */
static void coarse_clock_prevents_coalescing(struct kunit *test)
{
	u32 i;

	open_coalescing_queue(test);
	hrtimer_resolution = 4000000;
	for (i = 0; i < 100; i++) {
		KUNIT_EXPECT_TRUE(test, post_and_ring_if_needed());
		send_all_requests();
	}
	KUNIT_EXPECT_EQ(test, 100u, stubs.pushes);
	end_coalescing(test);
}

static struct kunit_case rnic_sq_coalesce_cases[] = {
	KUNIT_CASE(doorbells_are_coalesced),
	KUNIT_CASE(doorbell_transmits_and_extends_period),
	KUNIT_CASE(tx_pass_keeps_coalescing),
	KUNIT_CASE(extra_doorbell_keeps_timer),
	KUNIT_CASE(error_ends_coalescing),
	KUNIT_CASE(flush_flag_survives_doorbell),
	KUNIT_CASE(doorbells_rarely_coalesce_with_small_window),
	KUNIT_CASE(late_timer_stops_coalescing),
	KUNIT_CASE(unasked_doorbells_do_not_prevent_coalescing),
	KUNIT_CASE(coarse_clock_prevents_coalescing),
	{}
};

static struct kunit_suite rnic_sq_coalesce_suite = {
	.name = "rnic_sq_coalesce",
	.test_cases = rnic_sq_coalesce_cases,
};

kunit_test_suite(rnic_sq_coalesce_suite);
