/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User contexts, and rings: what programs map, or kernel consumers have to themselves. */
#ifndef _RNIC_SW_UCTX_H
#define _RNIC_SW_UCTX_H

#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/rnic_sw-abi.h>

#include "ring_idx.h"

struct rnic_uctx {
	struct ib_ucontext	ib;
	struct mutex		pages_lock;	/* the list, and rooms on pages */
	struct list_head	pages;		/* of small rings, that have room */
	u64			pages_made;
};

/* The granularity of rooms on a page of small rings */
#define RNIC_PAGE_UNIT		RNIC_SW_RING_HDR
#define RNIC_PAGE_UNITS		(PAGE_SIZE / RNIC_PAGE_UNIT)

/* A ring that a program may have mapped */
struct rnic_ring {
	struct rnic_sw_ring	*hdr;
	void			*slot0;
	u32			slots;		/* power of two */
	u32			stride;
	u32			bytes;
	u32			room;		/* of the memory, octets: with the ring behind it */
	/* who owns that; neither: it lies behind another ring */
	void			*mem;		/* __vmalloc(): kernel consumer */
	struct rnic_map		*map;		/* a program's */
};

/* What a program can map: memory for a ring or two, or a page for small ones */
struct rnic_map {
	struct rdma_user_mmap_entry rdma;
	void			*mem;

	/* a page's, under its context's pages_lock */
	u64			number;		/* 0: it is none */
	struct list_head	list;
	DECLARE_BITMAP(used, RNIC_PAGE_UNITS);
};

static inline struct rnic_uctx *to_rnic_uctx(struct ib_ucontext *ib)
{
	return container_of(ib, struct rnic_uctx, ib);
}

/* uctx.c: user contexts and rings */
int rnic_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void rnic_dealloc_ucontext(struct ib_ucontext *ib);
int rnic_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma);
void rnic_mmap_free(struct rdma_user_mmap_entry *entry);
struct rnic_map *rnic_map_make(struct ib_ucontext *uctx, size_t bytes);
unsigned int rnic_map_users(const struct rnic_map *map);
void rnic_map_end(struct rnic_map *map);
/*
 * A ring of at least @want slots, in two steps: its sizes, then memory, of one ring
 * or of two that lie one behind the other; with @uctx such as can be mapped, if @packed
 * and small on a page with others.  No slots wanted: no memory either, and
 * rnic_ring_free() has nothing to do.  What a program has mapped it keeps when the ring
 * is freed.  A ring behind another goes first.
 */
int rnic_ring_shape(struct rnic_ring *ring, u32 want, u32 stride);
int rnic_ring_alloc(struct rnic_ring *ring, struct rnic_ring *behind,
		    struct ib_ucontext *uctx, bool packed);
void rnic_ring_free(struct rnic_ring *ring);
/* The same while somebody may look at it under @lock: it is gone to them */
void rnic_ring_retire(struct rnic_ring *ring, spinlock_t *lock);
u64 rnic_ring_key(const struct rnic_ring *ring);	/* for mmap */
u32 rnic_ring_mapped(const struct rnic_ring *ring);	/* the length of that */
u32 rnic_ring_offset(const struct rnic_ring *ring);	/* in it */

/* page.c: pages of small rings */
void rnic_pages_init(struct rnic_uctx *u);
void rnic_pages_exit(struct rnic_uctx *u);
void *rnic_page_take(struct rnic_uctx *u, size_t bytes, struct rnic_map **map);
void rnic_page_give(struct rnic_map *map, void *at, size_t bytes);

static inline void *rnic_ring_slot(const struct rnic_ring *ring, u32 idx)
{
	return ring->slot0 + (size_t)(idx & (ring->slots - 1)) * ring->stride;
}

/* The producer's index of a send or receive queue; a program's may be nonsense */
static inline u32 rnic_ring_prod(const struct rnic_ring *ring)
{
	/* the slots before it are filled; litmus: publish */
	return smp_load_acquire(&ring->hdr->prod);
}

/*
 * One look at a send or receive queue: slots posted and not taken, no more than
 * fit beside those in use; or RING_IDX_LIE.
 */
static inline u32 rnic_ring_posted(const struct rnic_ring *ring, u32 head,
				   u32 tail)
{
	return ring_idx_posted(rnic_ring_prod(ring), head, tail, ring->slots);
}

static inline void rnic_ring_produced(struct rnic_ring *ring, u32 prod)
{
	/* the slots before it are filled; litmus: publish */
	smp_store_release(&ring->hdr->prod, prod);
}

static inline void rnic_ring_consumed(struct rnic_ring *ring, u32 cons)
{
	/* those before it have been read, may be filled again; litmus: publish */
	smp_store_release(&ring->hdr->cons, cons);
}

#endif
