// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Allocate the memory of small rings on pages that several rings share, if the
 * program permits sharing.
 *
 * A ring of few slots needs only a fraction of a page, and a program with
 * thousands of QPs has thousands of rings, so sharing saves memory. All rings
 * on a page belong to one user context. A program that writes to the wrong ring
 * therefore damages only its own rings.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "rnic.h"

#define FIND_TRIES	8	/* maximum number of pages that are searched for free space */

static u32 bytes_to_units(size_t bytes)
{
	return DIV_ROUND_UP(bytes, RNIC_PAGE_UNIT);
}

/*
 * Mark @units units of a page as used, from unit @at on. If the page is then
 * full, remove it from the list of pages with free space. Return: address of
 * the first unit.
 */
static void *__rnic_page_mark_used(struct rnic_map *page, unsigned long at, u32 units)
{
	bitmap_set(page->used, at, units);
	if (bitmap_full(page->used, RNIC_PAGE_UNITS))
		list_del_init(&page->list);
	return page->mem + at * RNIC_PAGE_UNIT;
}

/*
 * Check whether a process other than the page's program may have the page mapped. A
 * page with rings should have at most one mapping, which is the program's; an empty
 * page should have no mapping. A forked child that has dropped its privileges may still
 * have a mapping of the page, and must not see rings that are created later.
 */
static bool __rnic_page_has_other_mapping(const struct rnic_map *page)
{
	return rnic_map_count_users(page) > !bitmap_empty(page->used, RNIC_PAGE_UNITS);
}

/*
 * Allocate space on a page. Return: address of the space; NULL if not enough
 * space is free or __rnic_page_has_other_mapping() returns true
 */
static void *__rnic_page_try_alloc_space(struct rnic_map *page, u32 units)
{
	unsigned long at;

	if (__rnic_page_has_other_mapping(page))
		return NULL;
	at = bitmap_find_next_zero_area(page->used, RNIC_PAGE_UNITS, 0, units, 0);
	return at < RNIC_PAGE_UNITS ? __rnic_page_mark_used(page, at, units) : NULL;
}

/*
 * Search for a page with enough free space, and allocate the space. Move each
 * page that is not suitable to the tail of the list, so that the next search
 * starts with other pages. Return: address of the space, or NULL.
 */
static void *rnic_page_alloc_space_from_list(struct rnic_uctx *u, u32 units, struct rnic_map **page)
{
	struct rnic_map *p;
	void *at = NULL;
	int tries;

	mutex_lock(&u->pages_lock);
	for (tries = 0; !at && tries < FIND_TRIES && !list_empty(&u->pages); tries++) {
		p = list_first_entry(&u->pages, struct rnic_map, list);
		at = __rnic_page_try_alloc_space(p, units);
		if (at)
			*page = p;
		else
			list_move_tail(&p->list, &u->pages);
	}
	mutex_unlock(&u->pages_lock);
	return at;
}

/*
 * Create a page and allocate space on it. Return: address of the space, or an
 * error pointer
 */
static void *rnic_page_alloc_space_on_new_page(struct rnic_uctx *u, u32 units,
					       struct rnic_map **page)
{
	struct rnic_map *p = rnic_map_create(&u->ib, PAGE_SIZE);
	void *at;

	if (IS_ERR(p))
		return p;
	mutex_lock(&u->pages_lock);
	p->number = ++u->pages_created;
	list_add(&p->list, &u->pages);
	at = __rnic_page_mark_used(p, 0, units);
	mutex_unlock(&u->pages_lock);
	*page = p;
	return at;
}

/**
 * rnic_page_alloc_space - allocate zeroed space for a small ring
 * @u: the context
 * @bytes: size in bytes, at most that of a page
 * @page: set to the page that contains the space; unchanged on error
 *
 * May sleep.
 *
 * Return: address of the space, to be released with rnic_page_release_space(), or an
 * error pointer.
 */
void *rnic_page_alloc_space(struct rnic_uctx *u, size_t bytes, struct rnic_map **page)
{
	void *at = rnic_page_alloc_space_from_list(u, bytes_to_units(bytes), page);

	if (!at)
		return rnic_page_alloc_space_on_new_page(u, bytes_to_units(bytes), page);
	/*
	 * clear the space again, because the program may have written to it
	 * while it was free
	 */
	memset(at, 0, bytes);
	return at;
}

/**
 * rnic_page_release_space - release the space of a small ring
 * @page: the page
 * @at: address of the space, which the kernel no longer uses
 * @bytes: size as given to rnic_page_alloc_space()
 *
 * Clears the space, so that no kernel data remains in it. Frees the page if it
 * is then empty, unless it is the only page of the context with free space.
 * That page is kept for programs that repeatedly create and destroy a queue:
 * otherwise each creation would allocate a page. May sleep.
 */
void rnic_page_release_space(struct rnic_map *page, void *at, size_t bytes)
{
	struct rnic_uctx *u = to_rnic_uctx(page->rdma.ucontext);
	bool empty;

	memset(at, 0, bytes);
	mutex_lock(&u->pages_lock);
	bitmap_clear(page->used, (at - page->mem) / RNIC_PAGE_UNIT, bytes_to_units(bytes));
	list_move(&page->list, &u->pages);
	empty = bitmap_empty(page->used, RNIC_PAGE_UNITS) && !list_is_singular(&u->pages);
	if (empty)
		list_del(&page->list);
	mutex_unlock(&u->pages_lock);
	if (empty)
		rnic_map_release(page);
}

/**
 * rnic_pages_init - initialize the shared pages of a context
 * @u: the context
 */
void rnic_pages_init(struct rnic_uctx *u)
{
	mutex_init(&u->pages_lock);
	INIT_LIST_HEAD(&u->pages);
}

/**
 * rnic_pages_exit - free the shared pages of a context
 * @u: the context; the caller must have freed all its rings
 */
void rnic_pages_exit(struct rnic_uctx *u)
{
	struct rnic_map *page, *next;

	list_for_each_entry_safe(page, next, &u->pages, list)
		rnic_map_release(page);
	mutex_destroy(&u->pages_lock);
}
