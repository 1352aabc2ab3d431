// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * STags, from their making to their end: drivers/ddp/stag.c over a table of one, and
 * with a copy under way while a region is taken back.
 */
#include <kunit/test.h>
#include <linux/processor.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>

/* The other tests here have stand-ins of these names */
#define ddp_hold_drop		stag_hold_drop
#define ddp_mem_check		stag_mem_check
#define ddp_mem_invalidate	stag_mem_invalidate

/* Nothing of PREEMPT_RT */
#define IS_ENABLED(option)	0

/* The table, of one place */
static struct {
	unsigned long	index;
	void		*entry;
} table;

#define xa_init_flags(xa, flags)	((void)(xa), table.entry = NULL)
#define xa_empty(xa)			((void)(xa), !table.entry)
#define xa_destroy(xa)			((void)(xa))
#define xa_load(xa, at)			\
	((void)(xa), table.index == (at) ? table.entry : NULL)
#define xa_erase_bh(xa, at)		\
	((void)(xa), table.entry = table.index == (at) ? NULL : table.entry)
#define xa_insert_bh(xa, at, r, gfp)	((void)(xa), insert(at, r))

static int insert(unsigned long index, void *entry)
{
	if (table.entry)
		return -EBUSY;
	table.index = index;
	table.entry = entry;
	return 0;
}

#include "../../../../drivers/ddp/stag.c"

#define KEY	0x77
#define BASE	0x1000
#define LENGTH	0x100

static struct ddp_stags stags;
static struct ddp_region region;
static struct ddp_stream stream = { .stags = &stags, .pd = &stags, .id = 5 };

/* Who copies while somebody spins ------------------------------------------- */

static struct {
	u32			spins;
	bool			valid;		/* the region, as it spun */
	struct ddp_region	*copied;	/* or held, from one to the next */
	u32			ends_at;	/* which turn */
} copy;

void host_relax(void)
{
	copy.spins++;
	copy.valid |= region.valid;
	if (copy.spins == copy.ends_at)
		ddp_hold_drop(&copy.copied);
	/* nobody copies, and it is waited for all the same */
	BUG_ON(copy.spins > 100);
}

static u32 dice;

u32 host_random(void)
{
	return dice;
}

static const struct ddp_sge all = { .addr = BASE, .len = LENGTH };

static struct ddp_sge piece(void)
{
	struct ddp_sge m = all;

	m.stag = region.stag;
	return m;
}

static void publish(struct kunit *test)
{
	memset(&copy, 0, sizeof(copy));
	region = (struct ddp_region){
		.base = BASE, .length = LENGTH, .valid = true, .pd = &stags,
		.rights = DDP_LOCAL_READ | DDP_REMOTE_WRITE,
	};
	dice = 0x12345678;
	ddp_stags_init(&stags);
	KUNIT_ASSERT_EQ(test, 0, ddp_region_publish(&stags, &region, KEY));
	KUNIT_EXPECT_EQ(test, 0x12345600u | KEY, region.stag);
}

/* A copy begins, which ends when somebody has spun so often */
static void begin_copy(struct kunit *test, u32 ends_at)
{
	const struct ddp_sge m = piece();

	copy.ends_at = ends_at;
	KUNIT_ASSERT_EQ(test, IW_OK, ddp_region_use(&stream, &m, DDP_REMOTE_WRITE,
						    &copy.copied));
}

static void expect_shut(struct kunit *test)
{
	const struct ddp_sge m = piece();
	struct ddp_region *r = NULL;

	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
			ddp_region_use(&stream, &m, DDP_REMOTE_WRITE, &r));
	KUNIT_EXPECT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, VALIDITY, refcount_read(&region.users));
}

/* DDP-117, DDP-128, SEC-17: it is shut, and then whoever copies is waited for */
static void revoke_waits(struct kunit *test)
{
	publish(test);
	begin_copy(test, 3);
	KUNIT_EXPECT_TRUE(test, ddp_region_revoke(&region));
	KUNIT_EXPECT_EQ(test, 3u, copy.spins);
	KUNIT_EXPECT_FALSE(test, copy.valid);
	KUNIT_EXPECT_NULL(test, copy.copied);
	expect_shut(test);
	/* one is told that it was valid, and nobody waits for nobody */
	KUNIT_EXPECT_FALSE(test, ddp_region_revoke(&region));
	KUNIT_EXPECT_EQ(test, 3u, copy.spins);
}

/* DDP-128, SEC-17: likewise where it goes for good */
static void remove_waits(struct kunit *test)
{
	publish(test);
	begin_copy(test, 2);
	ddp_region_remove(&stags, &region);
	KUNIT_EXPECT_EQ(test, 2u, copy.spins);
	KUNIT_EXPECT_FALSE(test, copy.valid);
	KUNIT_EXPECT_NULL(test, ddp_region_find(&stags, region.stag));
	expect_shut(test);
	ddp_stags_destroy(&stags);
}

/* DDP-128, SEC-17: who holds it for its next segment finds it shut */
static void hold_is_no_licence(struct kunit *test)
{
	struct ddp_sge m;

	publish(test);
	m = piece();
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_hold_use(&stream, &copy.copied, &m,
						  DDP_REMOTE_WRITE));
	ddp_hold_used(&copy.copied);
	KUNIT_EXPECT_PTR_EQ(test, &region, copy.copied);
	region.valid = false;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
			ddp_hold_use(&stream, &copy.copied, &m,
				     DDP_REMOTE_WRITE));
	KUNIT_EXPECT_NULL(test, copy.copied);
	expect_shut(test);
}

/* DDP-117: with another key it is open again, and by the old one it is not */
static void allowed_again(struct kunit *test)
{
	struct ddp_region *r;
	struct ddp_sge old;

	publish(test);
	old = piece();
	ddp_region_revoke(&region);
	expect_shut(test);
	ddp_region_allow(&region, KEY + 1);
	KUNIT_EXPECT_EQ(test, old.stag + 1, region.stag);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
			ddp_region_use(&stream, &old, DDP_REMOTE_WRITE, &r));
	begin_copy(test, 0);
	ddp_hold_drop(&copy.copied);
	KUNIT_EXPECT_EQ(test, 0u, copy.spins);
}

static struct kunit_case stag_cases[] = {
	KUNIT_CASE(revoke_waits),
	KUNIT_CASE(remove_waits),
	KUNIT_CASE(hold_is_no_licence),
	KUNIT_CASE(allowed_again),
	{}
};

static struct kunit_suite stag_suite = {
	.name = "stag",
	.test_cases = stag_cases,
};

kunit_test_suite(stag_suite);
