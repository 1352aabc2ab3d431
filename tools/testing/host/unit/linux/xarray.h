/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_XARRAY_H
#define _HOST_UNIT_XARRAY_H

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

#define XA_MARK_1	1

/* Array for indices below 8, which suffices for the tests */
struct xarray {
	struct {
		void	*at;
		bool	marked;
	} slot[8];
};

static inline void *xa_mk_value(unsigned long v)
{
	return (void *)(v << 1 | 1);
}

static inline unsigned long xa_to_value(const void *at)
{
	return (unsigned long)at >> 1;
}

static inline void *xa_load(const struct xarray *xa, unsigned long id)
{
	return xa->slot[id].at;
}

static inline void *host_xa_store(struct xarray *xa, unsigned long id, void *at)
{
	void *before = xa->slot[id].at;

	xa->slot[id].at = at;
	xa->slot[id].marked &= !!at;
	return before;
}

static inline void *host_xa_find_marked(const struct xarray *xa, unsigned long *id)
{
	for (; *id < sizeof(xa->slot) / sizeof(xa->slot[0]); (*id)++)
		if (xa->slot[*id].marked)
			return xa->slot[*id].at;
	return NULL;
}

static inline void *xa_store(struct xarray *xa, unsigned long id, void *at, gfp_t gfp)
{
	return host_xa_store(xa, id, at);
}

static inline int xa_insert(struct xarray *xa, unsigned long id, void *at, gfp_t gfp)
{
	if (xa->slot[id].at)
		return -EBUSY;
	xa->slot[id].at = at;
	return 0;
}

static inline void *host_xa_find_next(const struct xarray *xa, unsigned long *id)
{
	for (; *id < sizeof(xa->slot) / sizeof(xa->slot[0]); (*id)++)
		if (xa->slot[*id].at)
			return xa->slot[*id].at;
	return NULL;
}

#define xa_for_each(xa, id, at_)					\
	for (id = 0; (at_ = host_xa_find_next(xa, &(id))); (id)++)

static inline bool xa_is_value(const void *at)
{
	return (unsigned long)at & 1;
}

#define XA_FLAGS_ALLOC			1
static inline void xa_init_flags(struct xarray *xa, u32 flags)
{
	memset(xa, 0, sizeof(*xa));
}

static inline void xa_destroy(struct xarray *xa) {}

/* Allocate the first free index. If @at is NULL, store a value entry to reserve the index. */
struct host_xa_limit { u32 least, most; };
#define XA_LIMIT(a, b)		((struct host_xa_limit) { a, b })
static inline int xa_alloc(struct xarray *xa, u32 *id, void *at,
			   struct host_xa_limit l, gfp_t gfp)
{
	for (*id = l.least; *id <= l.most; (*id)++)
		if (!xa_insert(xa, *id, at ?: xa_mk_value(0), gfp))
			return 0;
	return -EBUSY;
}

#define XA_FLAGS_ALLOC1		2
#define XA_PRESENT		0
#define xa_limit_32b		XA_LIMIT(1, 7)

/* Allocate the next free index from @next on, cyclically: a freed index is reused late */
static inline int xa_alloc_cyclic(struct xarray *xa, u32 *id, void *at,
				  struct host_xa_limit l, u32 *next, gfp_t gfp)
{
	u32 tries;

	for (tries = l.least; tries <= l.most; tries++) {
		*id = *next < l.least || *next > l.most ? l.least : *next;
		*next = *id + 1;
		if (!xa_insert(xa, *id, at, gfp))
			return 0;
	}
	return -EBUSY;
}

#define xa_find_after(xa, id, max, filter)				\
	(++*(id), (void)(max), (void)(filter), host_xa_find_next(xa, id))

#define xa_erase(xa, id)		host_xa_store(xa, id, NULL)
#define __xa_erase(xa, id)		host_xa_store(xa, id, NULL)
#define xa_set_mark(xa, id, mark)	((void)((xa)->slot[id].marked = (mark)))
#define xa_clear_mark(xa, id, mark)	((void)((xa)->slot[id].marked = !(mark)))
#define xa_for_each_marked(xa, id, at_, mark)				\
	for (id = 0; (at_ = host_xa_find_marked(xa, &(id))); (id)++)

#endif
