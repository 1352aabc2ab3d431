// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Pages of small rings.
 *
 * A ring of few slots is a fraction of a page, and a program with thousands of queue
 * pairs has thousands of those.  So they lie several on a page, for programs that know
 * it; each page has rings of one context only, which is one program's as far as the
 * kernel can tell: what it writes into the wrong ring is its own.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "rnic.h"

#define LOOKS	8	/* pages with room that are looked at for enough of it */

static u32 units_of(size_t bytes)
{
	return DIV_ROUND_UP(bytes, RNIC_PAGE_UNIT);
}

/* That room is taken.  A page that is full is looked at no more */
static void *__rnic_page_mark(struct rnic_map *page, unsigned long at, u32 units)
{
	bitmap_set(page->used, at, units);
	if (bitmap_full(page->used, RNIC_PAGE_UNITS))
		list_del_init(&page->list);
	return page->mem + at * RNIC_PAGE_UNIT;
}

/*
 * Is it held by others than whoever has rings on it?  By a child, say, that has dropped its
 * rights since: it is to see no rings that were not there when it began.
 */
static bool __rnic_page_held(const struct rnic_map *page)
{
	return rnic_map_users(page) > !bitmap_empty(page->used, RNIC_PAGE_UNITS);
}

/* Room on that page, or NULL */
static void *__rnic_page_enter(struct rnic_map *page, u32 units)
{
	unsigned long at;

	if (__rnic_page_held(page))
		return NULL;
	at = bitmap_find_next_zero_area(page->used, RNIC_PAGE_UNITS, 0, units, 0);
	return at < RNIC_PAGE_UNITS ? __rnic_page_mark(page, at, units) : NULL;
}

/* Where there is too little, others look after all others */
static void *rnic_page_find(struct rnic_uctx *u, u32 units, struct rnic_map **page)
{
	struct rnic_map *p;
	void *at = NULL;
	int looks;

	mutex_lock(&u->pages_lock);
	for (looks = 0; !at && looks < LOOKS && !list_empty(&u->pages); looks++) {
		p = list_first_entry(&u->pages, struct rnic_map, list);
		at = __rnic_page_enter(p, units);
		if (at)
			*page = p;
		else
			list_move_tail(&p->list, &u->pages);
	}
	mutex_unlock(&u->pages_lock);
	return at;
}

static void *rnic_page_make(struct rnic_uctx *u, u32 units, struct rnic_map **page)
{
	struct rnic_map *p = rnic_map_make(&u->ib, PAGE_SIZE);
	void *at;

	if (IS_ERR(p))
		return p;
	mutex_lock(&u->pages_lock);
	p->number = ++u->pages_made;
	list_add(&p->list, &u->pages);
	at = __rnic_page_mark(p, 0, units);
	mutex_unlock(&u->pages_lock);
	*page = p;
	return at;
}

/**
 * rnic_page_take - room for a ring, all zero
 * @u: whose
 * @bytes: how much, a page at most
 * @page: set to where it is; left alone if there is none
 *
 * Return: the room, for rnic_page_give(), or an error pointer.
 */
void *rnic_page_take(struct rnic_uctx *u, size_t bytes, struct rnic_map **page)
{
	void *at = rnic_page_find(u, units_of(bytes), page);

	if (!at)
		return rnic_page_make(u, units_of(bytes), page);
	/* the program may have written there since */
	memset(at, 0, bytes);
	return at;
}

/**
 * rnic_page_give - give room back
 * @page: where it is
 * @at: the room, which nobody in the kernel looks at any more
 * @bytes: as it was taken
 *
 * Nothing of what the kernel has written there is left.  An empty page goes, but for the last
 * one with room: who makes one queue after the other, and destroys each, does not want it
 * made anew each time.
 */
void rnic_page_give(struct rnic_map *page, void *at, size_t bytes)
{
	struct rnic_uctx *u = to_rnic_uctx(page->rdma.ucontext);
	bool empty;

	memset(at, 0, bytes);
	mutex_lock(&u->pages_lock);
	bitmap_clear(page->used, (at - page->mem) / RNIC_PAGE_UNIT, units_of(bytes));
	list_move(&page->list, &u->pages);
	empty = bitmap_empty(page->used, RNIC_PAGE_UNITS) && !list_is_singular(&u->pages);
	if (empty)
		list_del(&page->list);
	mutex_unlock(&u->pages_lock);
	if (empty)
		rnic_map_end(page);
}

/**
 * rnic_pages_init - a context with no pages yet
 * @u: it
 */
void rnic_pages_init(struct rnic_uctx *u)
{
	mutex_init(&u->pages_lock);
	INIT_LIST_HEAD(&u->pages);
}

/**
 * rnic_pages_exit - the end of a context all of whose rings are gone
 * @u: it
 */
void rnic_pages_exit(struct rnic_uctx *u)
{
	struct rnic_map *page, *next;

	list_for_each_entry_safe(page, next, &u->pages, list)
		rnic_map_end(page);
	mutex_destroy(&u->pages_lock);
}
