/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* User contexts, and rings: what programs map, or kernel consumers have to themselves. */
#ifndef _RNIC_SW_UCTX_H
#define _RNIC_SW_UCTX_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/rnic_sw-abi.h>

#include "ring_idx.h"

struct rnic_uctx {
	struct ib_ucontext	ib;
};

/* A ring that a program may have mapped */
struct rnic_ring {
	struct rnic_sw_ring	*hdr;
	void			*slot0;
	u32			slots;		/* power of two */
	u32			stride;
	size_t			bytes;
	/* who owns the memory; neither: it lies behind another ring */
	void			*mem;		/* __vmalloc(): kernel consumer */
	struct rdma_user_mmap_entry *entry;	/* a program's */
};

struct rnic_mmap_entry {
	struct rdma_user_mmap_entry rdma;
	void			*mem;
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
/*
 * A ring of at least @want slots, in two steps: its sizes, then memory, of one ring
 * or of two that lie one behind the other; with @uctx also its mmap entry.  No
 * slots wanted: no memory either, and rnic_ring_free() has nothing to do.
 * rnic_ring_free() of a ring with an entry drops the entry; the memory goes
 * when no program has it mapped any more.  A ring behind another goes first.
 */
int rnic_ring_shape(struct rnic_ring *ring, u32 want, u32 stride);
int rnic_ring_alloc(struct rnic_ring *ring, struct rnic_ring *behind,
		    struct ib_ucontext *uctx);
void rnic_ring_free(struct rnic_ring *ring);
/* The same while somebody may look at it under @lock: it is gone to them */
void rnic_ring_retire(struct rnic_ring *ring, spinlock_t *lock);
u64 rnic_ring_key(const struct rnic_ring *ring);	/* for mmap */
u32 rnic_ring_mapped(const struct rnic_ring *ring);	/* the length of that */

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
