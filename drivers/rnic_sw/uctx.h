/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User contexts, and rings mapped by programs or used by kernel consumers. */
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
	struct mutex		pages_lock;	/* protects @pages and their space */
	struct list_head	pages;		/* pages of small rings with free space */
	u64			pages_created;
};

/* Unit of allocation on a page of small rings */
#define RNIC_PAGE_UNIT		RNIC_SW_RING_HDR
#define RNIC_PAGE_UNITS		(PAGE_SIZE / RNIC_PAGE_UNIT)

/* Ring, which a program may have mapped */
struct rnic_ring {
	struct rnic_sw_ring	*hdr;
	void			*slot0;
	u32			slots;		/* power of two */
	u32			stride;
	u32			bytes;
	u32			alloc_bytes;		/* of its memory, with a second ring */
	/* Owner of the memory; both are NULL for the second ring of a pair */
	void			*mem;		/* kernel consumer, __vmalloc() */
	struct rnic_map		*map;		/* a program's */
};

/* Mappable memory: one or two rings, or a page of small rings */
struct rnic_map {
	struct rdma_user_mmap_entry rdma;
	void			*mem;

	/* of a page of small rings; under pages_lock of its context */
	u64			number;		/* unique in the context; 0: no such page */
	struct list_head	list;
	DECLARE_BITMAP(used, RNIC_PAGE_UNITS);
};

static inline struct rnic_uctx *to_rnic_uctx(struct ib_ucontext *ib)
{
	return container_of(ib, struct rnic_uctx, ib);
}

/* uctx.c: user contexts */
int rnic_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void rnic_dealloc_ucontext(struct ib_ucontext *ib);

/* map.c: memory that programs can map */
int rnic_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma);
void rnic_mmap_free(struct rdma_user_mmap_entry *entry);
void *rnic_ring_alloc_mem(size_t bytes);
struct rnic_map *rnic_map_create(struct ib_ucontext *uctx, size_t bytes);
unsigned int rnic_map_users(const struct rnic_map *map);
void rnic_map_release(struct rnic_map *map);

/* page.c: pages of small rings */
void rnic_pages_init(struct rnic_uctx *u);
void rnic_pages_exit(struct rnic_uctx *u);
void *rnic_page_alloc_space(struct rnic_uctx *u, size_t bytes, struct rnic_map **map);
void rnic_page_free_space(struct rnic_map *map, void *at, size_t bytes);

/* ring.c: rings */
/*
 * Rings are made in two steps: rnic_ring_shape() computes the sizes, rnic_ring_alloc()
 * allocates the memory of one ring or of two adjacent ones. With @uctx the memory can be
 * mapped by a program; with @packed a small ring may share a page with others. A ring of
 * 0 slots has no memory and may be passed to rnic_ring_free(). The second ring of a pair
 * must be freed first. A program keeps what it has mapped after the ring is freed.
 */
int rnic_ring_shape(struct rnic_ring *ring, u32 want, u32 stride);
int rnic_ring_alloc(struct rnic_ring *ring, struct rnic_ring *second,
		    struct ib_ucontext *uctx, bool packed);
void rnic_ring_free(struct rnic_ring *ring);
/* Free a ring that other contexts read under @lock: from then on they find no ring */
void rnic_ring_retire(struct rnic_ring *ring, spinlock_t *lock);
u64 rnic_ring_key(const struct rnic_ring *ring);	/* offset for mmap() */
u32 rnic_ring_map_len(const struct rnic_ring *ring);	/* length for mmap(), in bytes */
u32 rnic_ring_offset(const struct rnic_ring *ring);	/* of the ring, in the mapping */

static inline void *rnic_ring_slot(const struct rnic_ring *ring, u32 idx)
{
	return ring->slot0 + (size_t)(idx & (ring->slots - 1)) * ring->stride;
}

/* Read the producer index of a send or receive queue; a program's may have any value */
static inline u32 rnic_ring_prod(const struct rnic_ring *ring)
{
	/* the slots before the index are filled; litmus: publish */
	return smp_load_acquire(&ring->hdr->prod);
}

/*
 * Read the producer index of a send or receive queue once. Return: the number of WQEs
 * posted and not yet taken; RING_IDX_INVALID if more than fit beside those in use.
 */
static inline u32 rnic_ring_posted(const struct rnic_ring *ring, u32 head,
				   u32 tail)
{
	return ring_idx_posted(rnic_ring_prod(ring), head, tail, ring->slots);
}

static inline void rnic_ring_set_prod(struct rnic_ring *ring, u32 prod)
{
	/* the slots before the index are filled; litmus: publish */
	smp_store_release(&ring->hdr->prod, prod);
}

static inline void rnic_ring_set_cons(struct rnic_ring *ring, u32 cons)
{
	/* the slots before the index have been read and may be reused; litmus: publish */
	smp_store_release(&ring->hdr->cons, cons);
}

#endif
