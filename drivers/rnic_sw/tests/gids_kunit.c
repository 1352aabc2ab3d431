// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of the GID table: which address has which entry. */
#include <kunit/test.h>

#include "../gids.h"

#define FIRST	2u
#define PLACES	(GIDS_MAX - FIRST)

static struct gid table[GIDS_MAX];
static struct gids_update update;

static struct gid make_gid(u32 address)
{
	struct gid gid = { { 0, (__force __be64)(u64)address } };

	return gid;
}

/* Update the table for an interface with addresses @from to @to - 1 */
static void update_table_with_range(u32 from, u32 to)
{
	struct gid gid;

	gids_begin_update(&update, table, FIRST);
	for (; from < to; from++) {
		gid = make_gid(from);
		gids_add_address(&update, &gid);
	}
	gids_finish_update(&update);
}

/* Update the table for an interface with the addresses of a string, one letter each */
static void update_table_with_letters(const char *addresses)
{
	struct gid gid;

	gids_begin_update(&update, table, FIRST);
	for (; *addresses; addresses++) {
		gid = make_gid(*addresses);
		gids_add_address(&update, &gid);
	}
	gids_finish_update(&update);
}

/* Check whether the entries have the addresses of a string, one letter each; '-': an empty entry */
static bool table_has_letters(const char *addresses)
{
	struct gid gid;
	u32 i;

	for (i = FIRST; i < GIDS_MAX; i++) {
		gid = make_gid(*addresses && *addresses != '-' ? *addresses : 0);
		if (memcmp(&table[i], &gid, sizeof(gid)))
			return false;
		if (*addresses)
			addresses++;
	}
	return true;
}

static int gids_init(struct kunit *test)
{
	u32 i;

	memset(table, 0, sizeof(table));
	for (i = 0; i < FIRST; i++)
		table[i] = make_gid(1000 + i);
	return 0;
}

static void gids_exit(struct kunit *test)
{
	struct gid gid;
	u32 i;

	for (i = 0; i < FIRST; i++) {
		gid = make_gid(1000 + i);
		KUNIT_EXPECT_TRUE(test, !memcmp(&table[i], &gid, sizeof(gid)));
	}
}

static void new_addresses_get_the_lowest_entries(struct kunit *test)
{
	update_table_with_letters("abc");
	KUNIT_EXPECT_TRUE(test, table_has_letters("abc"));
	update_table_with_letters("abcd");
	KUNIT_EXPECT_TRUE(test, table_has_letters("abcd"));
	update_table_with_letters("");
	KUNIT_EXPECT_TRUE(test, table_has_letters(""));
}

static void remaining_addresses_keep_their_entries(struct kunit *test)
{
	update_table_with_letters("abcd");
	update_table_with_letters("acd");
	KUNIT_EXPECT_TRUE(test, table_has_letters("a-cd"));
	/* the order of the list does not matter for addresses that have an entry */
	update_table_with_letters("dca");
	KUNIT_EXPECT_TRUE(test, table_has_letters("a-cd"));
	update_table_with_letters("efdca");
	KUNIT_EXPECT_TRUE(test, table_has_letters("aecdf"));
	update_table_with_letters("efdcb");
	KUNIT_EXPECT_TRUE(test, table_has_letters("becdf"));
}

/* An address that an interface has twice, with two prefix lengths, gets only one entry */
static void repeated_address_gets_one_entry(struct kunit *test)
{
	update_table_with_letters("aabab");
	KUNIT_EXPECT_TRUE(test, table_has_letters("ab"));
	update_table_with_letters("bbb");
	KUNIT_EXPECT_TRUE(test, table_has_letters("-b"));
}

static void full_table_keeps_its_entries(struct kunit *test)
{
	u32 i;

	update_table_with_range(100, 200);
	for (i = FIRST; i < GIDS_MAX; i++)
		KUNIT_EXPECT_EQ(test, 100 + i - FIRST, (u32)(__force u64)table[i].half[1]);
	/* new addresses get no entry in a full table, even if they are listed first */
	update_table_with_range(50, 200);
	KUNIT_EXPECT_EQ(test, 100u, (u32)(__force u64)table[FIRST].half[1]);
	KUNIT_EXPECT_EQ(test, 100 + PLACES - 1, (u32)(__force u64)table[GIDS_MAX - 1].half[1]);
	/* when one entry becomes free, one of the other addresses gets it */
	update_table_with_range(101, 200);
	KUNIT_EXPECT_EQ(test, 100 + PLACES, (u32)(__force u64)table[FIRST].half[1]);
	KUNIT_EXPECT_EQ(test, 101u, (u32)(__force u64)table[FIRST + 1].half[1]);
}

/* Two GIDs are different if either of their halves differs */
static void both_gid_halves_are_compared(struct kunit *test)
{
	struct gid a = { { (__force __be64)1ull, (__force __be64)2ull } };
	struct gid b = { { (__force __be64)1ull, (__force __be64)3ull } };
	struct gid c = { { (__force __be64)4ull, (__force __be64)2ull } };

	gids_begin_update(&update, table, FIRST);
	gids_add_address(&update, &a);
	gids_add_address(&update, &b);
	gids_add_address(&update, &c);
	gids_finish_update(&update);
	KUNIT_EXPECT_TRUE(test, !memcmp(&table[FIRST], &a, sizeof(a)));
	KUNIT_EXPECT_TRUE(test, !memcmp(&table[FIRST + 1], &b, sizeof(b)));
	KUNIT_EXPECT_TRUE(test, !memcmp(&table[FIRST + 2], &c, sizeof(c)));
}

/* The delays between checks grow, and the last check is within two minutes */
static void checks_end_within_two_minutes(struct kunit *test)
{
	u32 delay = GIDS_DELAY_MIN, sum = 0;

	while (delay) {
		KUNIT_ASSERT_LE(test, delay, GIDS_DELAY_MAX);
		sum += delay;
		delay = gids_compute_next_delay(delay);
	}
	KUNIT_EXPECT_GT(test, sum, 30000u);
	KUNIT_EXPECT_LT(test, sum, 120000u);
}

static struct kunit_case gids_cases[] = {
	KUNIT_CASE(new_addresses_get_the_lowest_entries),
	KUNIT_CASE(remaining_addresses_keep_their_entries),
	KUNIT_CASE(repeated_address_gets_one_entry),
	KUNIT_CASE(full_table_keeps_its_entries),
	KUNIT_CASE(both_gid_halves_are_compared),
	KUNIT_CASE(checks_end_within_two_minutes),
	{}
};

static struct kunit_suite gids_suite = {
	.name = "rnic_sw_gids",
	.init = gids_init,
	.exit = gids_exit,
	.test_cases = gids_cases,
};

kunit_test_suite(gids_suite);
