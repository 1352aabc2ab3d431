// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>

#include "../bell.h"

#define START	1000000u

/*
 * Ring @n doorbells, each @gap ns after the previous one, with transmit passes
 * that take no time. Return: the number of coalescing periods started.
 */
static u32 ring(struct bell *b, u64 *now, u32 n, u32 gap)
{
	u32 gathers = 0;

	while (n--) {
		*now += gap;
		if (bell_rung(b, *now))
			gathers++;
		else
			bell_answered(b, *now);
	}
	return gathers;
}

/* The first doorbell is not quick. BELL_ROW quick ones then start a period. */
static void a_row(struct kunit *test)
{
	u64 now = START;
	struct bell b;

	bell_init(&b);
	KUNIT_EXPECT_EQ(test, 0u, ring(&b, &now, BELL_ROW, 100));
	KUNIT_EXPECT_EQ(test, 1u, ring(&b, &now, 1, 100));
}

/* A doorbell is quick less than BELL_QUICK_NS after the last event. */
static void how_quick(struct kunit *test)
{
	u64 now = START;
	struct bell b;

	bell_init(&b);
	KUNIT_EXPECT_EQ(test, 0u, ring(&b, &now, 100, BELL_QUICK_NS));
	KUNIT_EXPECT_EQ(test, 0u, ring(&b, &now, BELL_ROW - 1, BELL_QUICK_NS - 1));
	KUNIT_EXPECT_EQ(test, 1u, ring(&b, &now, 1, BELL_QUICK_NS - 1));
}

/* A doorbell that is not quick restarts the count of consecutive ones. */
static void out_of_the_row(struct kunit *test)
{
	u64 now = START;
	struct bell b;
	int i;

	bell_init(&b);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, 0u, ring(&b, &now, BELL_ROW - 1, 1));
		KUNIT_EXPECT_EQ(test, 0u, ring(&b, &now, 1, BELL_QUICK_NS));
	}
}

/* No doorbell is quick by a clock that stands still or goes back. */
static void no_clock(struct kunit *test)
{
	u64 now = START;
	struct bell b;

	bell_init(&b);
	KUNIT_EXPECT_EQ(test, 0u, ring(&b, &now, 1000, 0));
	KUNIT_EXPECT_EQ(test, 0u, ring(&b, &now, BELL_ROW - 1, 1));
	now -= 2;
	KUNIT_EXPECT_FALSE(test, bell_rung(&b, now));
}

/* Count the quick doorbells up to the next one that starts a period */
static u32 until_next(struct bell *b, u64 *now)
{
	u32 n = 1;

	while (!ring(b, now, 1, 1) && n < 2 * BELL_ROW_MOST)
		n++;
	return n;
}

/* If too few requests follow, periods become rarer, but they never stop. */
static void few_follow(struct kunit *test)
{
	u32 wanted = BELL_ROW, i;
	u64 now = START;
	struct bell b;

	bell_init(&b);
	bell_answered(&b, now);
	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_EQ(test, wanted, until_next(&b, &now));
		now += BELL_GATHER_NS;
		bell_gathered(&b, now, i % BELL_ROW);
		wanted = min(2 * wanted, BELL_ROW_MOST);
	}
	KUNIT_EXPECT_EQ(test, BELL_ROW_MOST, wanted);
	KUNIT_EXPECT_EQ(test, wanted, until_next(&b, &now));
	bell_gathered(&b, now, BELL_ROW);
	/* while enough requests follow, each doorbell starts a period */
	KUNIT_EXPECT_EQ(test, 1u, until_next(&b, &now));
	bell_gathered(&b, now, BELL_ROW - 1);
	KUNIT_EXPECT_EQ(test, 2 * BELL_ROW, until_next(&b, &now));
}

/* A period with a late timer is not worthwhile, however many posts follow. */
static void late(struct kunit *test)
{
	u64 now = START;
	struct bell b;

	bell_init(&b);
	bell_answered(&b, now);
	KUNIT_EXPECT_EQ(test, BELL_ROW, until_next(&b, &now));
	now += BELL_LATE_NS - 1;
	bell_gathered(&b, now, 1000);
	KUNIT_EXPECT_EQ(test, 1u, until_next(&b, &now));
	now += BELL_LATE_NS;
	bell_gathered(&b, now, 1000);
	KUNIT_EXPECT_EQ(test, 2 * BELL_ROW, until_next(&b, &now));
}

static struct kunit_case bell_cases[] = {
	KUNIT_CASE(a_row),
	KUNIT_CASE(how_quick),
	KUNIT_CASE(out_of_the_row),
	KUNIT_CASE(no_clock),
	KUNIT_CASE(few_follow),
	KUNIT_CASE(late),
	{}
};

static struct kunit_suite bell_suite = {
	.name = "bell",
	.test_cases = bell_cases,
};

kunit_test_suite(bell_suite);
