// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sizes and memory of rings. A ring is an array of slots with a header, and is
 * shared with a program or used by a kernel consumer. ring_idx.c checks the
 * indices of rings.
 *
 * Two rings can share one allocation. The first ring owns the memory, so the
 * second ring must be freed before the first.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "uctx.h"

/* Maximum number of slots of a ring */
#define RING_SLOTS_MAX	BIT(24)
/*
 * Maximum size of the slots of a ring, in bytes. With this limit the size of
 * two rings with headers, rounded up to a page, fits in 31 bits.
 */
#define RING_BYTES_MAX	(SZ_1G - SZ_64K - RNIC_SW_RING_HDR)

/**
 * rnic_ring_set_sizes - compute the sizes of a ring without allocating it
 * @ring: filled in
 * @want: minimum number of slots, rounded up to a power of two; 0 for no ring
 * @stride: size of a slot in bytes
 *
 * Return: 0, or -EINVAL if the ring would be too large.
 */
int rnic_ring_set_sizes(struct rnic_ring *ring, u32 want, u32 stride)
{
	u32 slots, bytes;

	memset(ring, 0, sizeof(*ring));
	if (!want)
		return 0;
	if (want > RING_SLOTS_MAX)
		return -EINVAL;
	slots = roundup_pow_of_two(want);
	if (check_mul_overflow(slots, stride, &bytes) || bytes > RING_BYTES_MAX)
		return -EINVAL;
	ring->slots = slots;
	ring->stride = stride;
	/* align the size, because the header of a second ring may follow */
	ring->bytes = ALIGN(bytes + RNIC_SW_RING_HDR, RNIC_SW_RING_HDR);
	return 0;
}

static void set_ring_addr(struct rnic_ring *ring, void *at)
{
	ring->hdr = at;
	ring->slot0 = at + RNIC_SW_RING_HDR;
}

/*
 * Allocate @bytes of memory, for @ring or for @ring and a second ring.
 *
 * Return: the memory; for a kernel consumer NULL if memory is short; for a
 * program an error pointer on failure.
 */
static void *alloc_ring_mem(struct rnic_ring *ring, u32 bytes, struct ib_ucontext *uctx,
			    bool packed)
{
	struct rnic_map *map = NULL;
	void *at;

	if (!uctx) {
		ring->mem = rnic_ring_alloc_mem(bytes);
		return ring->mem;
	}
	if (packed && bytes <= PAGE_SIZE / 2) {
		at = rnic_page_alloc_space(to_rnic_uctx(uctx), bytes, &map);
	} else {
		map = rnic_map_create(uctx, bytes);
		at = IS_ERR(map) ? map : map->mem;
	}
	if (IS_ERR(at))
		return at;
	ring->map = map;
	ring->alloc_bytes = bytes;
	return at;
}

/**
 * rnic_ring_alloc - allocate zeroed memory for one or two rings
 * @ring: ring with its sizes set by rnic_ring_set_sizes(); owns the memory on
 *	success; if it has 0 slots, nothing is allocated
 * @second: second ring with its sizes set by rnic_ring_set_sizes(), placed after
 *	@ring in the same memory; may be NULL
 * @uctx: the program's context, or NULL for a kernel consumer
 * @packed: true if the program permits other rings in the same mapping
 *
 * The memory is charged to the caller's control group. The caller must free
 * @second before @ring. May sleep.
 *
 * Return: 0 or a negative errno.
 */
int rnic_ring_alloc(struct rnic_ring *ring, struct rnic_ring *second,
		    struct ib_ucontext *uctx, bool packed)
{
	void *at;

	if (!ring->slots)
		return 0;
	at = alloc_ring_mem(ring, ring->bytes + (second ? second->bytes : 0U), uctx, packed);
	if (IS_ERR_OR_NULL(at))
		return at ? PTR_ERR(at) : -ENOMEM;
	set_ring_addr(ring, at);
	if (second && second->slots)
		set_ring_addr(second, at + ring->bytes);
	return 0;
}

/*
 * Clear the pointers of a ring whose memory is being freed, so that the memory
 * is not used again
 */
static void clear_ring_addr(struct rnic_ring *ring)
{
	ring->map = NULL;
	ring->mem = NULL;
	ring->hdr = NULL;
}

/**
 * rnic_ring_free - free the memory of a ring
 * @ring: the ring
 *
 * If the ring is on a page of small rings, other rings of the program can use its
 * space immediately. Otherwise, pages that the program still has mapped are freed
 * when the program unmaps them.
 */
void rnic_ring_free(struct rnic_ring *ring)
{
	if (ring->map && ring->map->number)
		rnic_page_release_space(ring->map, ring->hdr, ring->alloc_bytes);
	else if (ring->map)
		rnic_map_release(ring->map);
	vfree(ring->mem);
	clear_ring_addr(ring);
}

/**
 * rnic_ring_retire - free the memory of a ring that other contexts may read
 * @ring: the ring
 * @lock: lock under which the other contexts read @ring->hdr; they find it NULL
 *	after this function returns
 */
void rnic_ring_retire(struct rnic_ring *ring, spinlock_t *lock)
{
	struct rnic_ring old;
	unsigned long flags;

	spin_lock_irqsave(lock, flags);
	old = *ring;
	clear_ring_addr(ring);
	spin_unlock_irqrestore(lock, flags);
	rnic_ring_free(&old);
}

/**
 * rnic_ring_get_mmap_offset - get the file offset at which a program maps a ring
 * @ring: a program's ring, which was allocated with a ucontext
 *
 * Return: the file offset for mmap().
 */
u64 rnic_ring_get_mmap_offset(const struct rnic_ring *ring)
{
	return rdma_user_mmap_get_offset(&ring->map->rdma);
}

/**
 * rnic_ring_get_map_len - get the length of the mapping that contains a ring
 * @ring: a program's ring, which was allocated with a ucontext
 *
 * Return: the length in bytes.
 */
u32 rnic_ring_get_map_len(const struct rnic_ring *ring)
{
	return ring->map->rdma.npages << PAGE_SHIFT;
}

/**
 * rnic_ring_get_offset - get the offset of a ring in its mapping
 * @ring: a program's ring, which was allocated with a ucontext
 *
 * Return: the offset in bytes.
 */
u32 rnic_ring_get_offset(const struct rnic_ring *ring)
{
	return (void *)ring->hdr - ring->map->mem;
}
