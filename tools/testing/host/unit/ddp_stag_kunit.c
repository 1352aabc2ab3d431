// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/stag.c: STags, and accesses in flight while an MR
 * is invalidated. The table has one entry.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/processor.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>

/* Rename these functions, because other tests of this program have stubs with their names */
#define ddp_mr_cache_drop		stag_mr_cache_drop
#define ddp_mr_cache_end_copy	stag_mr_cache_end_copy
#define ddp_mem_check_access		stag_mem_check
#define ddp_mem_invalidate	stag_mem_invalidate

/* Test the code of kernels without PREEMPT_RT */
#define IS_ENABLED(option)	0

#include "../../../../drivers/ddp/internal.h"

#define STAG_KEPT	128

/* Model of the STag table, with one entry */
static struct {
	const struct rhashtable_params *by;
	struct ddp_region	*entry;
	int			grows_after;	/* sleeps before the table can grow */
	u32			sleeps;
	u32			asked[STAG_KEPT];	/* indices of all insertions, in order */
	u32			n;
	u32			lookups;
} table;

static int insert_into_table(struct rhashtable *ht, struct rhash_head *node)
{
	struct ddp_region *r = container_of(node, struct ddp_region, node);

	table.asked[table.n++ % STAG_KEPT] = r->index;
	if (table.grows_after > (int)table.sleeps)
		return table.n % 2 ? -ENOMEM : -EBUSY;
	if (ht->nelems.v)
		return -EEXIST;
	table.entry = r;
	ht->nelems.v = 1;
	return 0;
}

static void remove_from_table(struct rhashtable *ht, struct rhash_head *node)
{
	BUG_ON(!ht->nelems.v || node != &table.entry->node);
	ht->nelems.v = 0;
}

static void *look_up_in_table(const struct rhashtable *ht, const u32 *index)
{
	struct rhashtable_compare_arg arg = { .key = index };

	table.lookups++;
	return ht->nelems.v && !table.by->obj_cmpfn(&arg, table.entry) ? table.entry : NULL;
}

/*
 * Check the parameters of the hash table. It must use its own seeded hash of the index, so that a
 * program cannot cause collisions.
 */
static int check_params_and_init_table(struct rhashtable *ht, const struct rhashtable_params *by)
{
	const struct ddp_region r = { .index = 0x123456 };
	const u32 other = 0x123457;
	struct rhashtable_compare_arg arg = { .key = &other };
	const u8 *key = (const u8 *)&r + by->key_offset;

	table.by = by;
	ht->nelems.v = 0;
	return !by->obj_cmpfn(&arg, &r) || by->key_len != sizeof(r.index) ||
	       memcmp(key, &r.index, sizeof(r.index)) ||
	       by->head_offset != offsetof(struct ddp_region, node) || by->hashfn ||
	       !by->automatic_shrinking;
}

#undef usleep_range
#define usleep_range(min, max)				((void)table.sleeps++)
#define rhashtable_init(ht, params)			check_params_and_init_table(ht, params)
#define rhashtable_destroy(ht)				BUG_ON((ht)->nelems.v)
#define rhashtable_lookup(ht, key, params)		look_up_in_table(ht, key)
#define rhashtable_lookup_insert_fast(ht, node, params)	insert_into_table(ht, node)
#define rhashtable_remove_fast(ht, node, params)	remove_from_table(ht, node)

/*
 * Number of accesses in flight when ddp_mem_invalidate() clears the MR's valid
 * flag. Registration of the MR with another key waits for these accesses.
 */
static int users_when_cleared;
static bool clear_valid_and_count_users(bool *valid);

#undef xchg
#define xchg(p, v)					clear_valid_and_count_users(p)

#include "../../../../drivers/ddp/stag.c"

#define KEY	0x77
#define BASE	0x1000
#define LENGTH	0x100

static struct ddp_stags stags;
static struct ddp_region region;
static struct ddp_mr_hint hint;
static struct ddp_stream stream = { .stags = &stags, .pd = &stags, .id = 5 };

static bool clear_valid_and_count_users(bool *valid)
{
	bool was = *valid;

	users_when_cleared = refcount_read(&region.users) - USERS_INITIAL;
	*valid = false;
	return was;
}

/* Accesses in flight --------------------------------------------------------------- */

static struct {
	u32			spins;		/* iterations of the loop that waits */
	bool			valid;		/* true if the MR was valid during the wait */
	struct ddp_region	*copied;	/* MR of the access in flight */
	u32			ends_at;	/* iteration in which the access ends */
} copy;

void host_on_cpu_relax(void)
{
	copy.spins++;
	copy.valid |= region.valid;
	if (copy.spins == copy.ends_at)
		ddp_mr_cache_drop(&copy.copied);
	/* fail instead of looping forever: nothing in this test can end the wait any more */
	BUG_ON(copy.spins > 100);
}

/* Return a different number at each call */
static u32 dice;

u32 host_get_random(void)
{
	dice += 0x01010101;
	return dice;
}

static const struct ddp_sge all = { .addr = BASE, .len = LENGTH };

static struct ddp_sge make_region_sge(void)
{
	struct ddp_sge m = all;

	m.stag = region.stag;
	return m;
}

static void reset_and_insert_region(struct kunit *test)
{
	memset(&copy, 0, sizeof(copy));
	memset(&table, 0, sizeof(table));
	memset(&hint, 0, sizeof(hint));
	region = (struct ddp_region){
		.base = BASE, .length = LENGTH, .valid = true, .pd = &stags,
		.rights = DDP_LOCAL_READ | DDP_REMOTE_WRITE,
	};
	dice = 0x12345678 - 0x01010101;
	ddp_stags_init(&stags);
	KUNIT_ASSERT_EQ(test, 0, ddp_region_insert(&stags, &region, KEY));
	KUNIT_EXPECT_EQ(test, 0x12345600u | KEY, region.stag);
}

/* Begin an access that ends in iteration @ends_at of the loop that waits for it */
static void begin_copy(struct kunit *test, u32 ends_at)
{
	const struct ddp_sge m = make_region_sge();

	copy.ends_at = ends_at;
	KUNIT_ASSERT_EQ(test, IW_OK, ddp_region_check_and_get(&stream, &m, DDP_REMOTE_WRITE,
							      &copy.copied));
}

static void expect_invalid_and_unused(struct kunit *test)
{
	const struct ddp_sge m = make_region_sge();
	struct ddp_region *r = NULL;

	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
			ddp_region_check_and_get(&stream, &m, DDP_REMOTE_WRITE, &r));
	KUNIT_EXPECT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, USERS_INITIAL, refcount_read(&region.users));
}

/*
 * DDP-117, DDP-128, SEC-17: ddp_region_revoke() invalidates the MR, and then
 * waits for accesses in flight
 */
static void revoke_waits_for_access(struct kunit *test)
{
	reset_and_insert_region(test);
	begin_copy(test, 3);
	KUNIT_EXPECT_TRUE(test, ddp_region_revoke(&region));
	KUNIT_EXPECT_EQ(test, 3u, copy.spins);
	KUNIT_EXPECT_FALSE(test, copy.valid);
	KUNIT_EXPECT_NULL(test, copy.copied);
	expect_invalid_and_unused(test);
	/*
	 * a second call reports that the MR was not valid, and does not wait
	 * because there is no access
	 */
	KUNIT_EXPECT_FALSE(test, ddp_region_revoke(&region));
	KUNIT_EXPECT_EQ(test, 3u, copy.spins);
}

/*
 * DDP-128: an invalid MR gets no reference, because lookups that fail could otherwise
 * keep revocation waiting for ever
 */
static void invalid_mr_gets_no_ref(struct kunit *test)
{
	reset_and_insert_region(test);
	ddp_region_revoke(&region);
	KUNIT_EXPECT_NULL(test, ddp_region_find_get(&stags, region.stag));
	KUNIT_EXPECT_EQ(test, USERS_INITIAL, refcount_read(&region.users));
	/*
	 * the owner can still find the MR to register it again, and may
	 * invalidate it; a peer may not
	 */
	KUNIT_EXPECT_PTR_EQ(test, &region, ddp_region_peek(&stags, region.stag));
	region.may_be_invalidated = true;
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_mem_invalidate(&stream, region.stag, false));
	KUNIT_EXPECT_EQ(test, IW_RDMAP_INVALIDATE,
			ddp_mem_invalidate(&stream, region.stag, true));
	ddp_region_remove(&stags, &region);
	ddp_stags_destroy(&stags);
}

/* DDP-128, SEC-17: removing an MR waits for accesses in flight */
static void remove_waits_for_access(struct kunit *test)
{
	reset_and_insert_region(test);
	begin_copy(test, 2);
	ddp_region_remove(&stags, &region);
	KUNIT_EXPECT_EQ(test, 2u, copy.spins);
	KUNIT_EXPECT_FALSE(test, copy.valid);
	KUNIT_EXPECT_NULL(test, ddp_region_find_get(&stags, region.stag));
	expect_invalid_and_unused(test);
	ddp_stags_destroy(&stags);
}

/* DDP-128, SEC-17: a cached reference does not permit access to an invalidated MR */
static void cached_ref_permits_no_access_to_invalid_mr(struct kunit *test)
{
	struct ddp_sge m;

	reset_and_insert_region(test);
	m = make_region_sge();
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_mr_cache_check_and_get(&stream, &copy.copied,
								&hint, &m, DDP_REMOTE_WRITE));
	ddp_mr_cache_end_copy(&copy.copied);
	KUNIT_EXPECT_PTR_EQ(test, &region, copy.copied);
	region.valid = false;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
			ddp_mr_cache_check_and_get(&stream, &copy.copied, &hint, &m,
						   DDP_REMOTE_WRITE));
	KUNIT_EXPECT_NULL(test, copy.copied);
	expect_invalid_and_unused(test);
}

/* If the cached MR is invalid, a new MR with the same STag is found instead */
static void invalid_cached_mr_is_replaced(struct kunit *test)
{
	struct ddp_region gone;
	struct ddp_sge m;

	reset_and_insert_region(test);
	m = make_region_sge();
	gone = region;
	gone.valid = false;
	refcount_set(&gone.users, 2);
	copy.copied = &gone;
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_mr_cache_check_and_get(&stream, &copy.copied,
								&hint, &m, DDP_REMOTE_WRITE));
	KUNIT_EXPECT_PTR_EQ(test, &region, copy.copied);
	KUNIT_EXPECT_EQ(test, 1u, refcount_read(&gone.users));
	ddp_mr_cache_drop(&copy.copied);
	ddp_region_remove(&stags, &region);
	ddp_stags_destroy(&stags);
}

/* Look up the MR of @stag through the hint. Return: the reason if no access is allowed. */
static enum iw_reason access_with_hint(u32 stag)
{
	struct ddp_sge m = all;
	enum iw_reason why;

	m.stag = stag;
	why = ddp_mr_cache_check_and_get(&stream, &copy.copied, &hint, &m, DDP_REMOTE_WRITE);
	ddp_mr_cache_drop(&copy.copied);
	return why;
}

/* The hash table is not searched again for the same MR, and is for another one */
static void hint_saves_lookup(struct kunit *test)
{
	reset_and_insert_region(test);
	KUNIT_EXPECT_EQ(test, IW_OK, access_with_hint(region.stag));
	KUNIT_EXPECT_EQ(test, IW_OK, access_with_hint(region.stag));
	KUNIT_EXPECT_EQ(test, 1u, table.lookups);
	/* a wrong key is refused with a hint, too */
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, access_with_hint(region.stag + 1));
	KUNIT_EXPECT_EQ(test, 1u, table.lookups);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, access_with_hint(region.stag + 0x100));
	KUNIT_EXPECT_EQ(test, 2u, table.lookups);
	/* a lookup that finds nothing leaves no hint */
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, access_with_hint(region.stag + 0x100));
	KUNIT_EXPECT_EQ(test, 3u, table.lookups);
	ddp_region_remove(&stags, &region);
	ddp_stags_destroy(&stags);
}

/* DDP-128: after a removal the hint is not used, because the MR's memory may be freed */
static void hint_is_unused_after_removal(struct kunit *test)
{
	u32 stag;

	reset_and_insert_region(test);
	stag = region.stag;
	KUNIT_EXPECT_EQ(test, IW_OK, access_with_hint(stag));
	ddp_region_remove(&stags, &region);
	/* what may be in freed memory: an MR that would allow the access */
	region.valid = true;
	refcount_set(&region.users, USERS_INITIAL);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, access_with_hint(stag));
	KUNIT_EXPECT_EQ(test, 2u, table.lookups);
	ddp_stags_destroy(&stags);
}

/* DDP-117: an MR that is validated with another key must not be found with the old key */
static void old_key_finds_no_revalidated_mr(struct kunit *test)
{
	struct ddp_region *r;
	struct ddp_sge old;

	reset_and_insert_region(test);
	old = make_region_sge();
	ddp_region_revoke(&region);
	expect_invalid_and_unused(test);
	ddp_region_validate(&region, KEY + 1);
	KUNIT_EXPECT_EQ(test, old.stag + 1, region.stag);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG,
			ddp_region_check_and_get(&stream, &old, DDP_REMOTE_WRITE, &r));
	begin_copy(test, 0);
	ddp_mr_cache_drop(&copy.copied);
	KUNIT_EXPECT_EQ(test, 0u, copy.spins);
}

/*
 * ddp_mem_invalidate() itself counts as an access from its check to the
 * invalidation, so that the MR is not registered with another key in between.
 * DDP-128, RDMAP-177, SEC-17: ddp_mem_invalidate() waits for accesses in flight.
 */
static void invalidate_counts_as_access(struct kunit *test)
{
	reset_and_insert_region(test);
	region.may_be_invalidated = true;
	region.invalidate_stream = stream.id;
	begin_copy(test, 2);
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_mem_invalidate(&stream, region.stag, true));
	KUNIT_EXPECT_EQ(test, 2, users_when_cleared);
	KUNIT_EXPECT_EQ(test, 2u, copy.spins);
	expect_invalid_and_unused(test);

	/* a peer can invalidate only a valid MR; the owner may also invalidate an invalid MR */
	KUNIT_EXPECT_EQ(test, IW_RDMAP_INVALIDATE,
			ddp_mem_invalidate(&stream, region.stag, true));
	users_when_cleared = -1;
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_mem_invalidate(&stream, region.stag, false));
	KUNIT_EXPECT_EQ(test, -1, users_when_cleared);
}

static bool are_indices_distinct(void)
{
	u32 i, j;

	for (i = 0; i < table.n; i++)
		for (j = 0; j < i; j++)
			if (table.asked[i] == table.asked[j])
				return false;
	return true;
}

/* RFC 5042 6.1.1: if an index is in use, insertion tries another random index without sleeping */
static void insert_tries_another_index_if_used(struct kunit *test)
{
	struct ddp_region other = { 0 };

	reset_and_insert_region(test);
	KUNIT_EXPECT_EQ(test, 1u, table.n);
	KUNIT_EXPECT_EQ(test, -ENOSPC, ddp_region_insert(&stags, &other, KEY));
	KUNIT_EXPECT_EQ(test, 1u + STAG_TRIES, table.n);
	KUNIT_EXPECT_TRUE(test, are_indices_distinct());
	KUNIT_EXPECT_EQ(test, 0u, table.sleeps);
	ddp_region_remove(&stags, &region);
	KUNIT_EXPECT_EQ(test, 0, ddp_region_insert(&stags, &other, KEY));
	KUNIT_EXPECT_EQ(test, (other.index << 8) | KEY, other.stag);
}

/* If the table cannot grow, insertion sleeps and retries, a limited number of times */
static void insert_sleeps_until_table_grows(struct kunit *test)
{
	struct ddp_region other = { 0 };

	reset_and_insert_region(test);
	ddp_region_remove(&stags, &region);
	table.grows_after = 5;
	KUNIT_EXPECT_EQ(test, 0, ddp_region_insert(&stags, &other, KEY));
	KUNIT_EXPECT_EQ(test, 5u, table.sleeps);
	ddp_region_remove(&stags, &other);
	table.grows_after = 1000;
	KUNIT_EXPECT_EQ(test, -ENOMEM, ddp_region_insert(&stags, &other, KEY));
	KUNIT_EXPECT_EQ(test, 5u + STAG_TRIES, table.sleeps);
	table.grows_after = 0;
}

/* RDMAP-178: a peer can invalidate only an MR that its own stream has registered */
static void peer_invalidates_only_mrs_of_own_stream(struct kunit *test)
{
	struct ddp_stream neighbour = stream;

	neighbour.id = stream.id + 1;
	reset_and_insert_region(test);
	KUNIT_EXPECT_EQ(test, IW_RDMAP_INVALIDATE,
			ddp_mem_invalidate(&stream, region.stag, true));
	region.may_be_invalidated = true;
	region.invalidate_stream = stream.id;
	KUNIT_EXPECT_EQ(test, IW_RDMAP_P_INVALIDATE,
			ddp_mem_invalidate(&neighbour, region.stag, true));
	KUNIT_EXPECT_TRUE(test, region.valid);
	KUNIT_EXPECT_EQ(test, IW_OK, ddp_mem_invalidate(&stream, region.stag, true));
	KUNIT_EXPECT_FALSE(test, region.valid);
}

static struct kunit_case stag_cases[] = {
	KUNIT_CASE(insert_tries_another_index_if_used),
	KUNIT_CASE(insert_sleeps_until_table_grows),
	KUNIT_CASE(revoke_waits_for_access),
	KUNIT_CASE(invalid_mr_gets_no_ref),
	KUNIT_CASE(remove_waits_for_access),
	KUNIT_CASE(cached_ref_permits_no_access_to_invalid_mr),
	KUNIT_CASE(invalid_cached_mr_is_replaced),
	KUNIT_CASE(hint_saves_lookup),
	KUNIT_CASE(hint_is_unused_after_removal),
	KUNIT_CASE(old_key_finds_no_revalidated_mr),
	KUNIT_CASE(invalidate_counts_as_access),
	KUNIT_CASE(peer_invalidates_only_mrs_of_own_stream),
	{}
};

static struct kunit_suite stag_suite = {
	.name = "ddp_stag",
	.test_cases = stag_cases,
};

kunit_test_suite(stag_suite);
