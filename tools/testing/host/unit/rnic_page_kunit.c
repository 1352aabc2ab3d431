// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/page.c: where small rings are placed in pages,
 * and when a page is freed.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "../../../../drivers/rnic_sw/rnic.h"

#define HALF	(PAGE_SIZE / 2)

static struct {
	struct rnic_uctx	u;
	int			pages;
	bool			short_of_memory;
	unsigned int		users;		/* number of users of each page */
} stubs;

/* Stubs ------------------------------------------------------------------------- */

struct rnic_map *rnic_map_create(struct ib_ucontext *uctx, size_t bytes)
{
	struct rnic_map *map;

	if (stubs.short_of_memory)
		return ERR_PTR(-ENOMEM);
	map = kzalloc(sizeof(*map), GFP_KERNEL);
	map->mem = kzalloc(bytes, GFP_KERNEL);
	map->rdma.ucontext = uctx;
	stubs.pages++;
	return map;
}

unsigned int rnic_map_count_users(const struct rnic_map *map)
{
	return stubs.users;
}

void rnic_map_release(struct rnic_map *map)
{
	stubs.pages--;
	kfree(map->mem);
	kfree(map);
}

/* Cases -------------------------------------------------------------------------- */

struct space {
	struct rnic_map	*page;
	void		*at;
	size_t		bytes;
};

/* Allocate space, check that it is zero, and write to all of it as a program may */
static struct space alloc_space(struct kunit *test, size_t bytes)
{
	struct space r = { .bytes = bytes };
	size_t i;

	r.at = rnic_page_alloc_space(&stubs.u, bytes, &r.page);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(r.at));
	KUNIT_EXPECT_EQ(test, 0ul, (r.at - r.page->mem) % RNIC_SW_RING_HDR);
	KUNIT_EXPECT_TRUE(test, r.at >= r.page->mem &&
			  r.at + bytes <= r.page->mem + PAGE_SIZE);
	for (i = 0; i < bytes && !((u8 *)r.at)[i]; i++)
		;
	KUNIT_EXPECT_EQ(test, bytes, i);
	memset(r.at, 0xa5, bytes);
	return r;
}

static void free_space(struct space *r)
{
	rnic_page_release_space(r->page, r->at, r->bytes);
}

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	rnic_pages_init(&stubs.u);
	return 0;
}

/* Check that at most one page is left, which the context keeps */
static void test_exit(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, stubs.pages, 1);
	rnic_pages_exit(&stubs.u);
	KUNIT_EXPECT_EQ(test, 0, stubs.pages);
}

static bool is_overlapping(const struct space *a, const struct space *b)
{
	return a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

static void rings_share_a_page(struct kunit *test)
{
	struct space a = alloc_space(test, HALF - 1), b = alloc_space(test, 1), c = alloc_space(test, HALF - 128);
	struct space d = alloc_space(test, 1);

	KUNIT_EXPECT_EQ(test, 2, stubs.pages);
	KUNIT_EXPECT_PTR_EQ(test, a.page, b.page);
	KUNIT_EXPECT_PTR_EQ(test, a.page, c.page);
	KUNIT_EXPECT_FALSE(test, is_overlapping(&a, &b) || is_overlapping(&b, &c) ||
			   is_overlapping(&a, &c));
	KUNIT_EXPECT_PTR_NE(test, a.page, d.page);
	KUNIT_EXPECT_NE(test, a.page->number, d.page->number);
	KUNIT_EXPECT_NE(test, (u64)0, a.page->number);
	free_space(&a);
	free_space(&b);
	free_space(&c);
	free_space(&d);
}

/* Freed space is allocated again, and is zero then */
static void freed_space_is_reused_and_zero(struct kunit *test)
{
	struct space a = alloc_space(test, HALF), b = alloc_space(test, HALF), c;

	free_space(&a);
	c = alloc_space(test, HALF);
	KUNIT_EXPECT_PTR_EQ(test, a.at, c.at);
	KUNIT_EXPECT_EQ(test, 1, stubs.pages);
	free_space(&c);
	free_space(&b);
}

/* When a page becomes empty, the context keeps it if it is the last page, and otherwise frees it */
static void only_last_empty_page_is_kept(struct kunit *test)
{
	struct space a = alloc_space(test, HALF), b = alloc_space(test, HALF), c = alloc_space(test, HALF);
	u64 number = c.page->number;

	KUNIT_EXPECT_EQ(test, 2, stubs.pages);
	free_space(&a);
	free_space(&b);
	KUNIT_EXPECT_EQ(test, 1, stubs.pages);
	free_space(&c);
	KUNIT_EXPECT_EQ(test, 1, stubs.pages);
	c = alloc_space(test, 128);
	KUNIT_EXPECT_EQ(test, number, c.page->number);
	free_space(&c);
}

/*
 * An allocation searches only a few of many pages, and the next allocation
 * searches other pages. So some allocation finds the page with enough space.
 */
static void successive_searches_cover_other_pages(struct kunit *test)
{
	struct space large[20], small[20], a, b;
	bool found = false;
	int i;

	for (i = 0; i < 20; i++) {
		large[i] = alloc_space(test, HALF);
		small[i] = alloc_space(test, HALF - 128);
	}
	a = alloc_space(test, HALF);
	KUNIT_EXPECT_EQ(test, 21, stubs.pages);
	/* make these pages the first ones that are searched */
	for (i = 0; i < 20; i++) {
		free_space(&small[i]);
		small[i] = alloc_space(test, HALF - 128);
	}
	for (i = 0; i < 3; i++) {
		b = alloc_space(test, HALF);
		found |= b.page == a.page;
		free_space(&b);
	}
	KUNIT_EXPECT_TRUE(test, found);
	for (i = 0; i < 20; i++) {
		free_space(&small[i]);
		free_space(&large[i]);
	}
	free_space(&a);
	KUNIT_EXPECT_EQ(test, 1, stubs.pages);
}

static void failed_alloc_returns_no_page(struct kunit *test)
{
	struct space a = alloc_space(test, HALF), b = alloc_space(test, HALF - 128);
	struct rnic_map *page = NULL;

	stubs.short_of_memory = true;
	KUNIT_EXPECT_EQ(test, -ENOMEM, (int)PTR_ERR(rnic_page_alloc_space(&stubs.u, HALF, &page)));
	/* a failed allocation must not return a page, which would belong to other rings */
	KUNIT_EXPECT_NULL(test, page);
	free_space(&a);
	a = alloc_space(test, HALF);
	free_space(&a);
	free_space(&b);
}

/*
 * After a fork no new ring is placed in a page that the child has mapped too; the
 * child shares only the rings that existed at the fork
 */
static void forked_page_is_not_shared(struct kunit *test)
{
	struct space a = alloc_space(test, 128), b, c;

	stubs.users = 2;
	b = alloc_space(test, 128);
	KUNIT_EXPECT_PTR_NE(test, a.page, b.page);
	stubs.users = 1;
	free_space(&b);
	c = alloc_space(test, 128);
	KUNIT_EXPECT_PTR_EQ(test, a.page, c.page);
	free_space(&a);
	free_space(&c);
}

/*
 * No ring is placed in a page that a forked child has mapped, even if that page
 * is empty and the last one of the context
 */
static void empty_forked_page_gets_no_ring(struct kunit *test)
{
	struct space a = alloc_space(test, 128), b;
	u64 number = a.page->number;

	free_space(&a);
	stubs.users = 1;
	b = alloc_space(test, 128);
	KUNIT_EXPECT_NE(test, number, b.page->number);
	free_space(&b);
	stubs.users = 0;
	b = alloc_space(test, 128);
	KUNIT_EXPECT_EQ(test, number, b.page->number);
	free_space(&b);
}

/* The data of a freed ring is not left in the page */
static void freed_ring_leaves_no_data(struct kunit *test)
{
	struct space a = alloc_space(test, 128), b = alloc_space(test, 128);

	free_space(&a);
	KUNIT_EXPECT_FALSE(test, memchr_inv(a.at, 0, 128));
	KUNIT_EXPECT_FALSE(test, memchr_inv(b.at, 0xa5, 128));
	free_space(&b);
}

static struct kunit_case rnic_page_cases[] = {
	KUNIT_CASE(rings_share_a_page),
	KUNIT_CASE(freed_space_is_reused_and_zero),
	KUNIT_CASE(only_last_empty_page_is_kept),
	KUNIT_CASE(successive_searches_cover_other_pages),
	KUNIT_CASE(failed_alloc_returns_no_page),
	KUNIT_CASE(forked_page_is_not_shared),
	KUNIT_CASE(empty_forked_page_gets_no_ring),
	KUNIT_CASE(freed_ring_leaves_no_data),
	{}
};

static struct kunit_suite rnic_page_suite = {
	.name = "rnic_page",
	.init = test_init,
	.exit = test_exit,
	.test_cases = rnic_page_cases,
};

kunit_test_suite(rnic_page_suite);
