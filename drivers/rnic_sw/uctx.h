/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Interface to user contexts, and to the rings of programs and kernel consumers */
#ifndef _RNIC_SW_UCTX_H
#define _RNIC_SW_UCTX_H

#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/rnic_sw-abi.h>

#include "ring_idx.h"

struct rnic_doorbell_file;

/* User context: the state that a program has for one open device */
struct rnic_uctx {
	struct ib_ucontext	ib;
	struct mutex		pages_lock;	/* protects @pages and @pages_created */
	struct list_head	pages;		/* pages of small rings with free space */
	u64			pages_created;	/* number of pages ever created */
	struct mutex		doorbells_lock;	/* protects the members below */
	struct rnic_doorbell_file *doorbells;	/* doorbell file, or NULL; see doorbell.c */
	u64			doorbell_files;	/* number of doorbell files ever allocated */
};

/* Unit of allocation on a page of small rings, in bytes, and the number of units on a page */
#define RNIC_PAGE_UNIT		RNIC_SW_RING_HDR
#define RNIC_PAGE_UNITS		(PAGE_SIZE / RNIC_PAGE_UNIT)

/* Ring of a program, which can map it, or of a kernel consumer */
struct rnic_ring {
	struct rnic_sw_ring	*hdr;		/* header with indices; NULL: no ring */
	void			*slot0;		/* first slot */
	u32			slots;		/* number of slots, a power of two */
	u32			stride;		/* size of a slot in bytes */
	u32			bytes;		/* size of header and slots, in bytes */
	u32			alloc_bytes;	/* if @map is set: bytes allocated */
	/* memory to be freed with the ring; both are NULL for the second ring of a pair */
	void			*mem;		/* kernel consumer's ring: __vmalloc() memory */
	struct rnic_map		*map;		/* program's ring: mappable memory */
};

/* Memory that a program can map: one or two rings, or a page of small rings */
struct rnic_map {
	struct rdma_user_mmap_entry rdma;
	void			*mem;		/* vmalloc memory, a multiple of PAGE_SIZE */

	/* used for a page of small rings only; protected by pages_lock of its context */
	u64			number;		/* unique in the context; 0: not such a page */
	struct list_head	list;		/* entry in rnic_uctx.pages */
	DECLARE_BITMAP(used, RNIC_PAGE_UNITS);	/* units that rings occupy */
};

static inline struct rnic_uctx *to_rnic_uctx(struct ib_ucontext *ib)
{
	return container_of(ib, struct rnic_uctx, ib);
}

/* uctx.c: user contexts */
int rnic_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void rnic_dealloc_ucontext(struct ib_ucontext *ib);
bool rnic_has_any_attr(struct ib_udata *udata, const u16 *ids, u32 n);

/* map.c: memory that programs can map */
int rnic_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma);
void rnic_mmap_free(struct rdma_user_mmap_entry *entry);
void *rnic_ring_alloc_mem(size_t bytes);
struct rnic_map *rnic_map_create(struct ib_ucontext *uctx, size_t bytes);
unsigned int rnic_map_count_users(const struct rnic_map *map);
void rnic_map_release(struct rnic_map *map);

/* page.c: pages of small rings */
void rnic_pages_init(struct rnic_uctx *u);
void rnic_pages_exit(struct rnic_uctx *u);
void *rnic_page_alloc_space(struct rnic_uctx *u, size_t bytes, struct rnic_map **map);
void rnic_page_release_space(struct rnic_map *map, void *at, size_t bytes);

/* ring.c: rings */
/*
 * A ring is created in two steps: rnic_ring_set_sizes() computes the sizes, and
 * rnic_ring_alloc() allocates the memory of one ring or of two adjacent rings. If @uctx
 * is not NULL, its program can map the memory. If @packed is set, a small ring may share
 * a page with other rings. A ring of 0 slots has no memory; it may be passed to
 * rnic_ring_free(). The caller must free the second ring of a pair before the first.
 * After a ring is freed, a program can still access its mapping until it unmaps it, but
 * space on a page of small rings may then belong to another ring of the program.
 */
int rnic_ring_set_sizes(struct rnic_ring *ring, u32 want, u32 stride);
int rnic_ring_alloc(struct rnic_ring *ring, struct rnic_ring *second,
		    struct ib_ucontext *uctx, bool packed);
void rnic_ring_free(struct rnic_ring *ring);
/* Free a ring that other contexts read under @lock; from then on they find hdr NULL */
void rnic_ring_retire(struct rnic_ring *ring, spinlock_t *lock);
u64 rnic_ring_get_mmap_offset(const struct rnic_ring *ring);	/* file offset for mmap() */
u32 rnic_ring_get_map_len(const struct rnic_ring *ring);	/* length for mmap(), in bytes */
u32 rnic_ring_get_offset(const struct rnic_ring *ring);	/* offset in the mapping, in bytes */

static inline void *rnic_ring_get_slot(const struct rnic_ring *ring, u32 idx)
{
	return ring->slot0 + (size_t)(idx & (ring->slots - 1)) * ring->stride;
}

/*
 * Read the producer index of a send or receive queue. A program may have written any
 * value to it.
 */
static inline u32 rnic_ring_read_prod(const struct rnic_ring *ring)
{
	/*
	 * Read the index before the slots that precede it. Pairs with the release in
	 * rnic_ring_set_prod() or in the program's ring_publish_prod(); litmus: publish
	 */
	return smp_load_acquire(&ring->hdr->prod);
}

/*
 * Read the producer index of a send or receive queue once, and count the WQEs that are
 * posted but not dequeued. @head is the index of the next WQE to dequeue, @tail that of
 * the oldest WQE in use. Return: the number; RING_IDX_INVALID if the WQEs posted and in
 * use exceed the number of slots.
 */
static inline u32 rnic_ring_count_posted(const struct rnic_ring *ring, u32 head,
					 u32 tail)
{
	return ring_idx_count_posted(rnic_ring_read_prod(ring), head, tail, ring->slots);
}

/* Publish the producer index @prod to the consumer of the ring */
static inline void rnic_ring_set_prod(struct rnic_ring *ring, u32 prod)
{
	/*
	 * Write the slots before the index. Pairs with the acquire in the consumer's read
	 * of prod; litmus: publish
	 */
	smp_store_release(&ring->hdr->prod, prod);
}

/* Publish the consumer index @cons to the producer of the ring */
static inline void rnic_ring_set_cons(struct rnic_ring *ring, u32 cons)
{
	/*
	 * Finish reading the slots before writing the index, because the producer may
	 * then reuse the slots. Pairs with the acquire in the producer's read of cons;
	 * litmus: publish
	 */
	smp_store_release(&ring->hdr->cons, cons);
}

#endif
