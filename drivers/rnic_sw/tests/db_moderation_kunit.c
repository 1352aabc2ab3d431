// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>

#include "../db_moderation.h"

#define START	1000000u

/*
 * Ring @n doorbells at intervals of @gap ns, with transmit passes that take 0 ns.
 * Return: the number of coalescing periods started.
 */
static u32 ring_doorbells(struct db_mod *b, u64 *now, u32 n, u32 gap)
{
	u32 nr_periods = 0;

	while (n--) {
		*now += gap;
		if (db_mod_record_doorbell_and_decide(b, *now))
			nr_periods++;
		else
			db_mod_record_transmit_end(b, *now, 1);
	}
	return nr_periods;
}

/*
 * A coalescing period starts when DB_MOD_STREAK quick doorbells follow a first
 * doorbell.
 */
static void streak_starts_period(struct kunit *test)
{
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	KUNIT_EXPECT_EQ(test, 0u, ring_doorbells(&b, &now, DB_MOD_STREAK, 100));
	KUNIT_EXPECT_EQ(test, 1u, ring_doorbells(&b, &now, 1, 100));
}

/*
 * A doorbell counts as quick only if it rings less than the pace after
 * the previous doorbell or period.
 */
static void only_quick_doorbells_are_counted(struct kunit *test)
{
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	KUNIT_EXPECT_EQ(test, 0u, ring_doorbells(&b, &now, 100, DB_MOD_PACE_MIN));
	KUNIT_EXPECT_EQ(test, 0u, ring_doorbells(&b, &now, DB_MOD_STREAK - 1, DB_MOD_PACE_MIN - 1));
	KUNIT_EXPECT_EQ(test, 1u, ring_doorbells(&b, &now, 1, DB_MOD_PACE_MIN - 1));
}

/*
 * A doorbell that is not quick resets the count of consecutive quick doorbells.
 */
static void slow_doorbell_resets_streak(struct kunit *test)
{
	u64 now = START;
	struct db_mod b;
	int i;

	db_mod_init(&b);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, 0u, ring_doorbells(&b, &now, DB_MOD_STREAK - 1, 1));
		KUNIT_EXPECT_EQ(test, 0u, ring_doorbells(&b, &now, 1, DB_MOD_PACE_MIN));
	}
}

/*
 * A doorbell does not count as quick if the clock has not advanced, or has gone
 * back.
 */
static void doorbell_is_not_quick_if_clock_stands_still(struct kunit *test)
{
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	KUNIT_EXPECT_EQ(test, 0u, ring_doorbells(&b, &now, 1000, 0));
	KUNIT_EXPECT_EQ(test, 0u, ring_doorbells(&b, &now, DB_MOD_STREAK - 1, 1));
	now -= 2;
	KUNIT_EXPECT_FALSE(test, db_mod_record_doorbell_and_decide(&b, now));
}

/*
 * Ring quick doorbells until a coalescing period starts. Return: the number of
 * doorbells.
 */
static u32 ring_doorbells_until_period(struct db_mod *b, u64 *now)
{
	u32 n = 1;

	while (!ring_doorbells(b, now, 1, 1) && n < 2 * DB_MOD_STREAK_MAX)
		n++;
	return n;
}

/*
 * End a coalescing period at @now. During the period the program has posted @posts requests and
 * rung no doorbell, and the timer has expired @late ns too late.
 */
static void end_period(struct db_mod *b, u64 now, u32 posts, u32 late)
{
	struct db_period p = { .due = now - late };

	db_period_start(&p, U32_MAX - 1, 0);
	db_mod_record_period_end(b, now, &p, U32_MAX - 1 + posts);
}

/*
 * Each coalescing period with fewer than DB_MOD_STREAK requests doubles the
 * threshold, up to DB_MOD_STREAK_MAX. A period with at least DB_MOD_STREAK
 * requests resets the threshold.
 */
static void period_with_few_requests_doubles_threshold(struct kunit *test)
{
	u32 threshold = DB_MOD_STREAK, i;
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	db_mod_record_transmit_end(&b, now, 0);
	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_EQ(test, threshold, ring_doorbells_until_period(&b, &now));
		now += db_mod_get_period(&b);
		end_period(&b, now, i % DB_MOD_STREAK, 0);
		threshold = min(2 * threshold, DB_MOD_STREAK_MAX);
	}
	KUNIT_EXPECT_EQ(test, DB_MOD_STREAK_MAX, threshold);
	KUNIT_EXPECT_EQ(test, threshold, ring_doorbells_until_period(&b, &now));
	end_period(&b, now, DB_MOD_STREAK, 0);
	/*
	 * the period had enough requests, so the next doorbell starts another
	 * period
	 */
	KUNIT_EXPECT_EQ(test, 1u, ring_doorbells_until_period(&b, &now));
	end_period(&b, now, DB_MOD_STREAK - 1, 0);
	KUNIT_EXPECT_EQ(test, 2 * DB_MOD_STREAK, ring_doorbells_until_period(&b, &now));
}

/*
 * Set the threshold to DB_MOD_STREAK_MAX, and forbid it to fall during the next @wait doorbells.
 * Then ring @window doorbells quickly, and one more after a pause. No period starts. Return: the
 * threshold after the last doorbell.
 */
static u32 get_threshold_after_window(u32 window, u32 wait)
{
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	b.threshold = DB_MOD_STREAK_MAX;
	b.peak = DB_MOD_STREAK_MAX;
	b.wait = wait;
	ring_doorbells(&b, &now, window, 1);
	now += DB_MOD_PACE_MAX;
	ring_doorbells(&b, &now, 1, 1);
	return b.threshold;
}

/* A window in which a period would have coalesced DB_MOD_STREAK WRs lowers the threshold */
static void long_window_lowers_threshold(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DB_MOD_STREAK_MAX, get_threshold_after_window(2 * DB_MOD_STREAK, 0));
	KUNIT_EXPECT_EQ(test, DB_MOD_STREAK, get_threshold_after_window(2 * DB_MOD_STREAK + 1, 0));
	KUNIT_EXPECT_EQ(test, DB_MOD_STREAK, get_threshold_after_window(3 * DB_MOD_STREAK, 0));
	KUNIT_EXPECT_EQ(test, 2 * DB_MOD_STREAK, get_threshold_after_window(64, 0));
	KUNIT_EXPECT_EQ(test, 4 * DB_MOD_STREAK, get_threshold_after_window(128, 0));
	/* the doorbell after the pause is the 129th */
	KUNIT_EXPECT_EQ(test, 4 * DB_MOD_STREAK, get_threshold_after_window(128, 129));
	KUNIT_EXPECT_EQ(test, DB_MOD_STREAK_MAX, get_threshold_after_window(128, 130));
}

/*
 * Ring 100,000 doorbells in bursts, with a pause after each burst. @burst has the numbers of
 * doorbells of @nr_bursts successive bursts, and is repeated. The program posts nothing during a
 * period, so no period is worthwhile. Return: the number of periods.
 */
static u32 count_useless_periods(const u32 *burst, u32 nr_bursts)
{
	u32 rung = 0, nr_periods = 0, i, n;
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	for (i = 0; rung < 100000; i++, now += DB_MOD_PACE_MAX) {
		for (n = burst[i % nr_bursts]; n; n--, rung++) {
			if (!ring_doorbells(&b, &now, 1, 1))
				continue;
			nr_periods++;
			now += db_mod_get_period(&b);
			end_period(&b, now, 0, 0);
		}
	}
	return nr_periods;
}

/* If no period is worthwhile, at most one of 100 doorbells starts a period */
static void useless_periods_are_rare(struct kunit *test)
{
	static const u32 bursts[][3] = {
		{ 34, 34, 34 }, { 48, 48, 48 }, { 100, 100, 100 }, { 150, 150, 150 },
		{ 20, 40, 20 }, { 18, 34, 18 }, { 33, 33, 17 }, { 64, 64, 64 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bursts); i++)
		KUNIT_EXPECT_LE(test, count_useless_periods(bursts[i], 3), 1000u);
}

/*
 * A coalescing period whose timer is late doubles the threshold, even if it
 * coalesced 1000 requests.
 */
static void period_with_late_timer_doubles_threshold(struct kunit *test)
{
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	db_mod_record_transmit_end(&b, now, 0);
	KUNIT_EXPECT_EQ(test, DB_MOD_STREAK, ring_doorbells_until_period(&b, &now));
	now += 2 * db_mod_get_period(&b) - 1;
	end_period(&b, now, 1000, db_mod_get_period(&b) - 1);
	KUNIT_EXPECT_EQ(test, 1u, ring_doorbells_until_period(&b, &now));
	now += 2 * db_mod_get_period(&b);
	end_period(&b, now, 1000, db_mod_get_period(&b));
	KUNIT_EXPECT_EQ(test, 2 * DB_MOD_STREAK, ring_doorbells_until_period(&b, &now));
}

/*
 * A doorbell in a coalescing period transmits if the program has posted DB_MOD_STREAK requests
 * since the last doorbell that transmitted.
 */
static void doorbell_in_period_transmits_after_enough_posts(struct kunit *test)
{
	const u32 start = U32_MAX - DB_MOD_STREAK;
	struct db_period p = {};

	db_period_start(&p, start, 0);
	KUNIT_EXPECT_FALSE(test, db_period_try_begin_push(&p, start, 0));
	KUNIT_EXPECT_FALSE(test, db_period_try_begin_push(&p, start + DB_MOD_STREAK - 1, 0));
	KUNIT_EXPECT_TRUE(test, db_period_try_begin_push(&p, start + DB_MOD_STREAK, 0));
	KUNIT_EXPECT_FALSE(test, db_period_try_begin_push(&p, start + 2 * DB_MOD_STREAK - 1, 0));
	KUNIT_EXPECT_TRUE(test, db_period_try_begin_push(&p, start + 2 * DB_MOD_STREAK, 0));
}

/*
 * A coalescing period does not end when the timer expires for the first time after a doorbell has
 * transmitted.
 */
static void doorbell_extends_period(struct kunit *test)
{
	struct db_period p = {};

	db_period_start(&p, 0, 0);
	KUNIT_EXPECT_EQ(test, 0u, db_period_handle_timer(&p, 0));
	db_period_start(&p, 0, 0);
	KUNIT_ASSERT_TRUE(test, db_period_try_begin_push(&p, DB_MOD_STREAK, 0));
	db_period_end_push(&p);
	KUNIT_EXPECT_EQ(test, 1u, db_period_handle_timer(&p, 0));
	KUNIT_EXPECT_EQ(test, 0u, db_period_handle_timer(&p, 0));
}

/*
 * While a doorbell transmits, the timer expires later. But the period ends if the thread that rang
 * the doorbell does not come back, because it was preempted.
 */
static void doorbell_that_transmits_extends_period_once(struct kunit *test)
{
	struct db_period p = {};

	db_period_start(&p, 0, 0);
	KUNIT_ASSERT_TRUE(test, db_period_try_begin_push(&p, DB_MOD_STREAK, 0));
	KUNIT_EXPECT_EQ(test, DB_MOD_PUSH_PERIODS, db_period_handle_timer(&p, 0));
	KUNIT_EXPECT_EQ(test, 0u, db_period_handle_timer(&p, 0));
	/* the preempted thread does not extend the next period either, until it runs again */
	db_period_start(&p, DB_MOD_STREAK, 0);
	KUNIT_EXPECT_EQ(test, 0u, db_period_handle_timer(&p, 0));
	db_period_start(&p, DB_MOD_STREAK, 0);
	db_period_end_push(&p);
	KUNIT_EXPECT_EQ(test, 1u, db_period_handle_timer(&p, 0));
	KUNIT_EXPECT_EQ(test, 0u, db_period_handle_timer(&p, 0));
}

/* The timer is not started again on a CPU that the program has left. */
static void period_ends_if_program_moves(struct kunit *test)
{
	struct db_period p = {};

	db_period_start(&p, 0, 3);
	KUNIT_ASSERT_TRUE(test, db_period_try_begin_push(&p, DB_MOD_STREAK, 3));
	KUNIT_EXPECT_NE(test, 0u, db_period_handle_timer(&p, 3));
	KUNIT_ASSERT_TRUE(test, db_period_try_begin_push(&p, 2 * DB_MOD_STREAK, 4));
	KUNIT_EXPECT_EQ(test, 0u, db_period_handle_timer(&p, 3));
}

/*
 * If the timer is late, a period is worthwhile only if doorbells have transmitted all requests, so
 * that none had to wait for the timer.
 */
static void late_timer_is_harmless_if_nothing_waits(struct kunit *test)
{
	struct db_period p = {};
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	db_mod_record_transmit_end(&b, now, 0);
	KUNIT_EXPECT_EQ(test, DB_MOD_STREAK, ring_doorbells_until_period(&b, &now));
	db_period_start(&p, 0, 0);
	p.due = now;
	KUNIT_ASSERT_TRUE(test, db_period_try_begin_push(&p, DB_MOD_STREAK, 0));
	now += 100 * db_mod_get_period(&b);
	db_mod_record_period_end(&b, now, &p, DB_MOD_STREAK);
	KUNIT_EXPECT_EQ(test, 1u, ring_doorbells_until_period(&b, &now));
	now += 100 * db_mod_get_period(&b);
	db_mod_record_period_end(&b, now, &p, DB_MOD_STREAK + 1);
	KUNIT_EXPECT_EQ(test, 2 * DB_MOD_STREAK, ring_doorbells_until_period(&b, &now));
}

/*
 * Ring @n doorbells whose transmit passes take @took ns and send @bytes bytes, @gap ns after the
 * end of the previous pass. Return: the number of coalescing periods started.
 */
static u32 ring_with_passes(struct db_mod *b, u64 *now, u32 n, u32 gap, u32 took, u32 bytes)
{
	u32 nr_periods = 0;

	while (n--) {
		*now += gap;
		if (db_mod_record_doorbell_and_decide(b, *now)) {
			nr_periods++;
			continue;
		}
		*now += took;
		db_mod_record_transmit_end(b, *now, bytes);
	}
	return nr_periods;
}

/*
 * On a slow machine, where a transmit pass takes 100 us, a doorbell 50 us after the previous one
 * counts as quick, and a coalescing period lasts twice as long as a pass.
 */
static void pace_follows_slow_passes(struct kunit *test)
{
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	KUNIT_EXPECT_EQ(test, 2 * DB_MOD_PACE_MIN, db_mod_get_period(&b));
	KUNIT_EXPECT_EQ(test, 0u, ring_with_passes(&b, &now, 10, 50000, 100000, 64));
	KUNIT_EXPECT_NE(test, 0u, ring_with_passes(&b, &now, 100, 50000, 100000, 64));
	KUNIT_EXPECT_EQ(test, 200000u, db_mod_get_period(&b));
}

/*
 * One fast pass sets the pace. One slow pass raises it by a sixteenth at most, or by half while few
 * doorbells are timed. It stays within its bounds.
 */
static void pace_rises_slowly_and_is_bounded(struct kunit *test)
{
	u64 now = START;
	struct db_mod b;
	int i;

	db_mod_init(&b);
	for (i = 0; i < 200; i++)
		ring_with_passes(&b, &now, 1, 10 * DB_MOD_PACE_MAX, 10 * DB_MOD_PACE_MAX, 64);
	KUNIT_EXPECT_EQ(test, DB_MOD_PACE_MAX, b.pace);
	ring_with_passes(&b, &now, 1, 10 * DB_MOD_PACE_MAX, 80000, 64);
	KUNIT_EXPECT_EQ(test, 80000u, b.pace);
	ring_with_passes(&b, &now, 1, 10 * DB_MOD_PACE_MAX, 10 * DB_MOD_PACE_MAX, 64);
	KUNIT_EXPECT_EQ(test, 120000u, b.pace);
	ring_with_passes(&b, &now, 1, 1, 160000, 64);
	KUNIT_EXPECT_EQ(test, 127500u, b.pace);
	ring_with_passes(&b, &now, 1, 10 * DB_MOD_PACE_MAX, 1, 64);
	KUNIT_EXPECT_EQ(test, DB_MOD_PACE_MIN, b.pace);
}

/*
 * Ring @n doorbells at intervals of @gap ns. As in the driver, db_mod_try_skip_doorbell() decides
 * for each doorbell whether it is timed. Return: the number of doorbells that were timed.
 */
static u32 count_timed_doorbells(struct db_mod *b, u64 *now, u32 n, u32 gap)
{
	u32 nr_timed = 0;

	for (; n; n--) {
		*now += gap;
		if (db_mod_try_skip_doorbell(b))
			continue;
		nr_timed++;
		db_mod_record_doorbell_and_decide(b, *now);
		db_mod_record_transmit_end(b, *now, 1);
	}
	return nr_timed;
}

/* A program that rings seldom is rarely timed: two of 17 doorbells */
static void slow_doorbells_are_rarely_timed(struct kunit *test)
{
	const u32 turn = DB_MOD_UNTIMED + DB_MOD_TIMED;
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	KUNIT_EXPECT_EQ(test, DB_MOD_SLOW,
			count_timed_doorbells(&b, &now, DB_MOD_SLOW, DB_MOD_PACE_MAX));
	KUNIT_EXPECT_EQ(test, 100 * DB_MOD_TIMED,
			count_timed_doorbells(&b, &now, 100 * turn, DB_MOD_PACE_MAX));
	KUNIT_EXPECT_EQ(test, 0u, b.streak);
}

/*
 * A program that was slow starts to ring quickly. At most DB_MOD_UNTIMED + 1 doorbells later
 * than if all doorbells were timed, one counts as quick. From then on all doorbells are timed,
 * even if the program pauses before each burst.
 */
static void quick_doorbells_are_timed(struct kunit *test)
{
	u32 slow, late = 0, i;
	struct db_mod b;
	u64 now;

	for (slow = 0; slow < 100; slow++) {
		now = START;
		db_mod_init(&b);
		count_timed_doorbells(&b, &now, slow, DB_MOD_PACE_MAX);
		/* the first doorbell of the burst follows a pause */
		count_timed_doorbells(&b, &now, 1, DB_MOD_PACE_MAX);
		for (i = 0; !b.streak; i++)
			count_timed_doorbells(&b, &now, 1, DB_MOD_PACE_MIN / 2);
		late = max(late, i - 1);
	}
	KUNIT_EXPECT_EQ(test, DB_MOD_UNTIMED + 1, late);
	for (i = 0; i < 100; i++) {
		KUNIT_EXPECT_EQ(test, 1u, count_timed_doorbells(&b, &now, 1, DB_MOD_PACE_MAX));
		KUNIT_EXPECT_EQ(test, 8u, count_timed_doorbells(&b, &now, 8, 1));
	}
}

/*
 * Ring doorbells @gap ns apart, with transmit passes of @took ns, until a period starts. Return:
 * the number of doorbells.
 */
static u32 count_until_period(u32 gap, u32 took)
{
	u64 now = START;
	struct db_mod b;
	u32 n;

	db_mod_init(&b);
	for (n = 1; n < 10000; n++) {
		now += gap;
		if (db_mod_try_skip_doorbell(&b)) {
			now += took;
			continue;
		}
		if (db_mod_record_doorbell_and_decide(&b, now))
			break;
		now += took;
		db_mod_record_transmit_end(&b, now, 64);
	}
	return n;
}

/* On a slow machine, too, the pace is soon right, and a program that posts quickly is coalesced */
static void slow_machine_coalesces_soon(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, count_until_period(3000, 4000), 18u);
	KUNIT_EXPECT_LE(test, count_until_period(18000, 24000), 80u);
	KUNIT_EXPECT_LE(test, count_until_period(72000, 96000), 130u);
	KUNIT_EXPECT_LE(test, count_until_period(288000, 384000), 160u);
}

/*
 * A doorbell that is not timed counts as one of those that must ring before the threshold may
 * fall
 */
static void untimed_doorbells_end_wait(struct kunit *test)
{
	u64 now = START;
	struct db_mod b;

	db_mod_init(&b);
	b.wait = DB_MOD_WAIT;
	count_timed_doorbells(&b, &now, DB_MOD_WAIT, DB_MOD_PACE_MAX);
	KUNIT_EXPECT_EQ(test, 0u, b.wait);
}

/* A pass that sends nothing, or much, says nothing about the machine */
static void pace_depends_on_short_passes_only(struct kunit *test)
{
	static const u32 bytes[] = { 0, DB_MOD_SHORT + 1, U32_MAX };
	u64 now = START;
	struct db_mod b;
	int i;

	db_mod_init(&b);
	for (i = 0; i < ARRAY_SIZE(bytes); i++)
		ring_with_passes(&b, &now, 50, 10 * DB_MOD_PACE_MAX, 100000, bytes[i]);
	KUNIT_EXPECT_EQ(test, DB_MOD_PACE_MIN, b.pace);
	ring_with_passes(&b, &now, 50, 10 * DB_MOD_PACE_MAX, 100000, DB_MOD_SHORT);
	KUNIT_EXPECT_EQ(test, 100000u, b.pace);
	for (i = 0; i < ARRAY_SIZE(bytes); i++)
		ring_with_passes(&b, &now, 1, 10 * DB_MOD_PACE_MAX, 1, bytes[i]);
	KUNIT_EXPECT_EQ(test, 100000u, b.pace);
}

static struct kunit_case db_mod_cases[] = {
	KUNIT_CASE(streak_starts_period),
	KUNIT_CASE(only_quick_doorbells_are_counted),
	KUNIT_CASE(slow_doorbell_resets_streak),
	KUNIT_CASE(doorbell_is_not_quick_if_clock_stands_still),
	KUNIT_CASE(long_window_lowers_threshold),
	KUNIT_CASE(useless_periods_are_rare),
	KUNIT_CASE(period_with_few_requests_doubles_threshold),
	KUNIT_CASE(period_with_late_timer_doubles_threshold),
	KUNIT_CASE(doorbell_in_period_transmits_after_enough_posts),
	KUNIT_CASE(doorbell_extends_period),
	KUNIT_CASE(doorbell_that_transmits_extends_period_once),
	KUNIT_CASE(period_ends_if_program_moves),
	KUNIT_CASE(late_timer_is_harmless_if_nothing_waits),
	KUNIT_CASE(pace_follows_slow_passes),
	KUNIT_CASE(pace_rises_slowly_and_is_bounded),
	KUNIT_CASE(pace_depends_on_short_passes_only),
	KUNIT_CASE(slow_doorbells_are_rarely_timed),
	KUNIT_CASE(quick_doorbells_are_timed),
	KUNIT_CASE(slow_machine_coalesces_soon),
	KUNIT_CASE(untimed_doorbells_end_wait),
	{}
};

static struct kunit_suite db_mod_suite = {
	.name = "rnic_sw_db_moderation",
	.test_cases = db_mod_cases,
};

kunit_test_suite(db_mod_suite);
