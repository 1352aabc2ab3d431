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
	unsigned int		users;		/* users of any page */
} world;

/* Stubs ------------------------------------------------------------------------- */

struct rnic_map *rnic_map_make(struct ib_ucontext *uctx, size_t bytes)
{
	struct rnic_map *map;

	if (world.short_of_memory)
		return ERR_PTR(-ENOMEM);
	map = kzalloc(sizeof(*map), GFP_KERNEL);
	map->mem = kzalloc(bytes, GFP_KERNEL);
	map->rdma.ucontext = uctx;
	world.pages++;
	return map;
}

unsigned int rnic_map_users(const struct rnic_map *map)
{
	return world.users;
}

void rnic_map_end(struct rnic_map *map)
{
	world.pages--;
	kfree(map->mem);
	kfree(map);
}

/* Cases -------------------------------------------------------------------------- */

struct room {
	struct rnic_map	*page;
	void		*at;
	size_t		bytes;
};

/* Take space, check that it is zero, and fill it as a program may */
static struct room take(struct kunit *test, size_t bytes)
{
	struct room r = { .bytes = bytes };
	size_t i;

	r.at = rnic_page_take(&world.u, bytes, &r.page);
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

static void give(struct room *r)
{
	rnic_page_give(r->page, r->at, r->bytes);
}

static int begin(struct kunit *test)
{
	memset(&world, 0, sizeof(world));
	rnic_pages_init(&world.u);
	return 0;
}

/* At most one page is left, which belongs to the context */
static void leave(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, world.pages, 1);
	rnic_pages_exit(&world.u);
	KUNIT_EXPECT_EQ(test, 0, world.pages);
}

static bool overlap(const struct room *a, const struct room *b)
{
	return a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

static void beside_each_other(struct kunit *test)
{
	struct room a = take(test, HALF - 1), b = take(test, 1), c = take(test, HALF - 128);
	struct room d = take(test, 1);

	KUNIT_EXPECT_EQ(test, 2, world.pages);
	KUNIT_EXPECT_PTR_EQ(test, a.page, b.page);
	KUNIT_EXPECT_PTR_EQ(test, a.page, c.page);
	KUNIT_EXPECT_FALSE(test, overlap(&a, &b) || overlap(&b, &c) || overlap(&a, &c));
	KUNIT_EXPECT_PTR_NE(test, a.page, d.page);
	KUNIT_EXPECT_NE(test, a.page->number, d.page->number);
	KUNIT_EXPECT_NE(test, (u64)0, a.page->number);
	give(&a);
	give(&b);
	give(&c);
	give(&d);
}

/* Space that is given back is used again, and is zero */
static void room_again(struct kunit *test)
{
	struct room a = take(test, HALF), b = take(test, HALF), c;

	give(&a);
	c = take(test, HALF);
	KUNIT_EXPECT_PTR_EQ(test, a.at, c.at);
	KUNIT_EXPECT_EQ(test, 1, world.pages);
	give(&c);
	give(&b);
}

/* The last page of a context is kept; another empty page is freed */
static void empty_pages(struct kunit *test)
{
	struct room a = take(test, HALF), b = take(test, HALF), c = take(test, HALF);
	u64 number = c.page->number;

	KUNIT_EXPECT_EQ(test, 2, world.pages);
	give(&a);
	give(&b);
	KUNIT_EXPECT_EQ(test, 1, world.pages);
	give(&c);
	KUNIT_EXPECT_EQ(test, 1, world.pages);
	c = take(test, 128);
	KUNIT_EXPECT_EQ(test, number, c.page->number);
	give(&c);
}

/*
 * Only some of many full pages are searched each time, and others the next
 * time: a page with enough space is found eventually
 */
static void not_for_ever(struct kunit *test)
{
	struct room large[20], small[20], a, b;
	bool found = false;
	int i;

	for (i = 0; i < 20; i++) {
		large[i] = take(test, HALF);
		small[i] = take(test, HALF - 128);
	}
	a = take(test, HALF);
	KUNIT_EXPECT_EQ(test, 21, world.pages);
	/* move these pages before that page */
	for (i = 0; i < 20; i++) {
		give(&small[i]);
		small[i] = take(test, HALF - 128);
	}
	for (i = 0; i < 3; i++) {
		b = take(test, HALF);
		found |= b.page == a.page;
		give(&b);
	}
	KUNIT_EXPECT_TRUE(test, found);
	for (i = 0; i < 20; i++) {
		give(&small[i]);
		give(&large[i]);
	}
	give(&a);
	KUNIT_EXPECT_EQ(test, 1, world.pages);
}

static void short_of_memory(struct kunit *test)
{
	struct room a = take(test, HALF), b = take(test, HALF - 128);
	struct rnic_map *page = NULL;

	world.short_of_memory = true;
	KUNIT_EXPECT_EQ(test, -ENOMEM, (int)PTR_ERR(rnic_page_take(&world.u, HALF, &page)));
	/* on failure no page is returned: it belongs to other rings */
	KUNIT_EXPECT_NULL(test, page);
	give(&a);
	a = take(test, HALF);
	give(&a);
	give(&b);
}

/*
 * A forked child shares the existing rings, but no ring is placed later in a
 * page that it can see
 */
static void forked(struct kunit *test)
{
	struct room a = take(test, 128), b, c;

	world.users = 2;
	b = take(test, 128);
	KUNIT_EXPECT_PTR_NE(test, a.page, b.page);
	world.users = 1;
	give(&b);
	c = take(test, 128);
	KUNIT_EXPECT_PTR_EQ(test, a.page, c.page);
	give(&a);
	give(&c);
}

/*
 * No ring is placed in a page that a forked child can see, even if it is the
 * context's last
 */
static void left_to_a_child(struct kunit *test)
{
	struct room a = take(test, 128), b;
	u64 number = a.page->number;

	give(&a);
	world.users = 1;
	b = take(test, 128);
	KUNIT_EXPECT_NE(test, number, b.page->number);
	give(&b);
	world.users = 0;
	b = take(test, 128);
	KUNIT_EXPECT_EQ(test, number, b.page->number);
	give(&b);
}

/* The data of a freed ring is not left in the page */
static void nothing_left(struct kunit *test)
{
	struct room a = take(test, 128), b = take(test, 128);

	give(&a);
	KUNIT_EXPECT_FALSE(test, memchr_inv(a.at, 0, 128));
	KUNIT_EXPECT_FALSE(test, memchr_inv(b.at, 0xa5, 128));
	give(&b);
}

static struct kunit_case rnic_page_cases[] = {
	KUNIT_CASE(beside_each_other),
	KUNIT_CASE(room_again),
	KUNIT_CASE(empty_pages),
	KUNIT_CASE(not_for_ever),
	KUNIT_CASE(short_of_memory),
	KUNIT_CASE(forked),
	KUNIT_CASE(left_to_a_child),
	KUNIT_CASE(nothing_left),
	{}
};

static struct kunit_suite rnic_page_suite = {
	.name = "rnic_page",
	.init = begin,
	.exit = leave,
	.test_cases = rnic_page_cases,
};

kunit_test_suite(rnic_page_suite);
