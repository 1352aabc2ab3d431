// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* User contexts, and the rings that programs map. */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

#define RING_SLOTS_MAX	BIT(24)
/* two of these, their headers and the rest of a page fit in 31 bits */
#define RING_BYTES_MAX	(SZ_1G - SZ_64K - RNIC_SW_RING_HDR)

/* ABI 1: what programs were built with stays where it is */
static_assert(sizeof(struct rnic_sw_ring) == RNIC_SW_RING_HDR &&
	      offsetof(struct rnic_sw_ring, cons) == 64 &&
	      offsetof(struct rnic_sw_ring, flags) == 68);
static_assert(sizeof(struct rnic_sw_sge) == 16 &&
	      offsetof(struct rnic_sw_sge, length) == 8 &&
	      offsetof(struct rnic_sw_sge, lkey) == 12);
static_assert(sizeof(struct rnic_sw_sqe) == 64 &&
	      offsetof(struct rnic_sw_sqe, opcode) == 8 &&
	      offsetof(struct rnic_sw_sqe, flags) == 9 &&
	      offsetof(struct rnic_sw_sqe, num_sge) == 10 &&
	      offsetof(struct rnic_sw_sqe, inline_len) == 12 &&
	      offsetof(struct rnic_sw_sqe, imm_data) == 16 &&
	      offsetof(struct rnic_sw_sqe, inv_stag) == 16 &&
	      offsetof(struct rnic_sw_sqe, rkey) == 20 &&
	      offsetof(struct rnic_sw_sqe, remote_addr) == 24 &&
	      offsetof(struct rnic_sw_sqe, compare_add) == 32 &&
	      offsetof(struct rnic_sw_sqe, swap) == 40 &&
	      offsetof(struct rnic_sw_sqe, bind.lkey) == 16 &&
	      offsetof(struct rnic_sw_sqe, bind.rkey) == 20 &&
	      offsetof(struct rnic_sw_sqe, bind.addr) == 24 &&
	      offsetof(struct rnic_sw_sqe, bind.length) == 32 &&
	      offsetof(struct rnic_sw_sqe, bind.access) == 40 &&
	      offsetof(struct rnic_sw_sqe, reserved) == 48);
static_assert(sizeof(struct rnic_sw_rqe) == 16 &&
	      offsetof(struct rnic_sw_rqe, num_sge) == 8);
static_assert(sizeof(struct rnic_sw_cqe) == 32 &&
	      offsetof(struct rnic_sw_cqe, qp_num) == 8 &&
	      offsetof(struct rnic_sw_cqe, byte_len) == 12 &&
	      offsetof(struct rnic_sw_cqe, status) == 16 &&
	      offsetof(struct rnic_sw_cqe, opcode) == 17 &&
	      offsetof(struct rnic_sw_cqe, flags) == 18 &&
	      offsetof(struct rnic_sw_cqe, vendor_err) == 20 &&
	      offsetof(struct rnic_sw_cqe, timestamp) == 24);
static_assert(sizeof(struct rnic_sw_alloc_ctx) == 8 &&
	      sizeof(struct rnic_sw_alloc_ctx_resp) == 16 &&
	      sizeof(struct rnic_sw_create_cq) == 16 &&
	      sizeof(struct rnic_sw_create_cq_resp) == 40 &&
	      offsetof(struct rnic_sw_create_cq_resp, map_number) == 24 &&
	      sizeof(struct rnic_sw_resize_cq) == 16 &&
	      sizeof(struct rnic_sw_resize_cq_resp) == 24 &&
	      sizeof(struct rnic_sw_create_srq) == 8 &&
	      sizeof(struct rnic_sw_create_srq_resp) == 40 &&
	      offsetof(struct rnic_sw_create_srq_resp, map_number) == 24 &&
	      sizeof(struct rnic_sw_create_qp) == 16 &&
	      sizeof(struct rnic_sw_create_qp_resp) == 56 &&
	      offsetof(struct rnic_sw_create_qp_resp, map_number) == 40);

/**
 * rnic_alloc_ucontext - a program opens the device
 * @ib: its context
 * @udata: struct rnic_sw_alloc_ctx and its answer
 *
 * Return: 0 or a negative errno.
 */
int rnic_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct rnic_sw_alloc_ctx_resp resp = {
		.comp_mask = RNIC_SW_CTX_PACKS,
		.max_inline = RNIC_MAX_INLINE,
	};
	struct rnic_sw_alloc_ctx req;
	int err = ib_copy_validate_udata_in_cm(udata, req, comp_mask, 0);

	if (!err && req.reserved)
		err = -EOPNOTSUPP;
	rnic_pages_init(to_rnic_uctx(ib));
	return err ?: ib_respond_udata(udata, resp);
}

/**
 * rnic_dealloc_ucontext - a program closes the device
 * @ib: its context, in which no queue is left
 */
void rnic_dealloc_ucontext(struct ib_ucontext *ib)
{
	rnic_pages_exit(to_rnic_uctx(ib));
}

/*
 * As remap_vmalloc_range(), which takes what vmalloc_user() gives alone: that charges
 * no control group.
 */
static int map_pages(struct vm_area_struct *vma, void *mem)
{
	unsigned long addr = vma->vm_start;
	int err = 0;

	for (; addr < vma->vm_end && !err; addr += PAGE_SIZE) {
		err = vm_insert_page(vma, addr, vmalloc_to_page(mem));
		mem += PAGE_SIZE;
	}
	return err;
}

/**
 * rnic_mmap - a program maps a ring
 * @ib: its context
 * @vma: where; the offset is a key that the kernel gave it
 *
 * Return: 0 or a negative errno.
 */
int rnic_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma = rdma_user_mmap_entry_get(ib, vma);
	int err;

	if (!rdma)
		return -EINVAL;
	err = map_pages(vma, container_of(rdma, struct rnic_map, rdma)->mem);
	/* from here on the mapping holds the pages, one by one */
	rdma_user_mmap_entry_put(rdma);
	return err;
}

/**
 * rnic_mmap_free - nobody can map this any more
 * @rdma: its entry
 */
void rnic_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct rnic_map *map = container_of(rdma, struct rnic_map, rdma);

	vfree(map->mem);
	kfree(map);
}

/* As large as the program likes: not worth a word in the log */
static void *rnic_ring_memory(size_t bytes)
{
	return __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

/**
 * rnic_map_make - memory that a program can map, all zero
 * @uctx: its context
 * @bytes: how much; whole pages are made of it
 *
 * Charged to the caller's control group.
 *
 * Return: it, for rnic_map_end(), or an error pointer.
 */
struct rnic_map *rnic_map_make(struct ib_ucontext *uctx, size_t bytes)
{
	struct rnic_map *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!map)
		return ERR_PTR(err);
	bytes = PAGE_ALIGN(bytes);
	map->mem = rnic_ring_memory(bytes);
	if (map->mem)
		err = rdma_user_mmap_entry_insert(uctx, &map->rdma, bytes);
	if (!err)
		return map;
	vfree(map->mem);
	kfree(map);
	return ERR_PTR(err);
}

/**
 * rnic_map_users - who has it mapped, or keeps what he has had mapped
 * @map: it
 *
 * Return: how many, at its first page, each mapping for itself; more, where somebody is
 * just looking at it.
 */
unsigned int rnic_map_users(const struct rnic_map *map)
{
	return page_count(vmalloc_to_page(map->mem)) - 1;
}

/**
 * rnic_map_end - the end of it for the kernel
 * @map: it
 *
 * A program that has it mapped keeps the pages until it unmaps them.
 */
void rnic_map_end(struct rnic_map *map)
{
	rdma_user_mmap_entry_remove(&map->rdma);
}

/**
 * rnic_ring_shape - how large a ring is; as yet without memory
 * @ring: filled in
 * @want: slots at least; a power of two is made of it, of 0 no ring
 * @stride: octets from slot to slot
 *
 * Return: 0, or -EINVAL: more than there can be.
 */
int rnic_ring_shape(struct rnic_ring *ring, u32 want, u32 stride)
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
	/* so that the header of a ring behind it is where headers may be */
	ring->bytes = ALIGN(bytes + RNIC_SW_RING_HDR, RNIC_SW_RING_HDR);
	return 0;
}

static void set_place(struct rnic_ring *ring, void *at)
{
	ring->hdr = at;
	ring->slot0 = at + RNIC_SW_RING_HDR;
}

/* Where the ring is, or NULL, or an error pointer */
static void *find_room(struct rnic_ring *ring, u32 bytes, struct ib_ucontext *uctx,
		       bool packed)
{
	struct rnic_map *map = NULL;
	void *at;

	if (!uctx) {
		ring->mem = rnic_ring_memory(bytes);
		return ring->mem;
	}
	if (packed && bytes <= PAGE_SIZE / 2) {
		at = rnic_page_take(to_rnic_uctx(uctx), bytes, &map);
	} else {
		map = rnic_map_make(uctx, bytes);
		at = IS_ERR(map) ? map : map->mem;
	}
	if (IS_ERR(at))
		return at;
	ring->map = map;
	ring->room = bytes;
	return at;
}

/**
 * rnic_ring_alloc - memory for a ring or two, all zero
 * @ring: a ring that has its sizes and owns the memory from here on; of no slots:
 *	nothing is done
 * @behind: another such, which lies behind it in the same memory, or NULL
 * @uctx: the program's context, or NULL for a kernel consumer
 * @packed: the program knows that there may be others' rings in what it maps
 *
 * The memory is charged to the caller's control group.  @behind is to be freed
 * before @ring.
 *
 * Return: 0 or a negative errno.
 */
int rnic_ring_alloc(struct rnic_ring *ring, struct rnic_ring *behind,
		    struct ib_ucontext *uctx, bool packed)
{
	void *at;

	if (!ring->slots)
		return 0;
	at = find_room(ring, ring->bytes + (behind ? behind->bytes : 0U), uctx, packed);
	if (IS_ERR_OR_NULL(at))
		return at ? PTR_ERR(at) : -ENOMEM;
	set_place(ring, at);
	if (behind && behind->slots)
		set_place(behind, at + ring->bytes);
	return 0;
}

/* No ring any more */
static void forget_place(struct rnic_ring *ring)
{
	ring->map = NULL;
	ring->mem = NULL;
	ring->hdr = NULL;
}

/**
 * rnic_ring_free - the end of a ring for the kernel
 * @ring: the ring
 *
 * A program that has it mapped keeps the pages until it unmaps them.
 */
void rnic_ring_free(struct rnic_ring *ring)
{
	if (ring->map && ring->map->number)
		rnic_page_give(ring->map, ring->hdr, ring->room);
	else if (ring->map)
		rnic_map_end(ring->map);
	vfree(ring->mem);
	forget_place(ring);
}

/**
 * rnic_ring_retire - the end of a ring that others may look at
 * @ring: the ring; they find it empty, or none
 * @lock: what they hold meanwhile
 */
void rnic_ring_retire(struct rnic_ring *ring, spinlock_t *lock)
{
	struct rnic_ring old;
	unsigned long flags;

	spin_lock_irqsave(lock, flags);
	old = *ring;
	forget_place(ring);
	spin_unlock_irqrestore(lock, flags);
	rnic_ring_free(&old);
}

/**
 * rnic_ring_key - the offset at which a program maps a ring
 * @ring: the ring, allocated with a context
 *
 * Return: the offset.
 */
u64 rnic_ring_key(const struct rnic_ring *ring)
{
	return rdma_user_mmap_get_offset(&ring->map->rdma);
}

/**
 * rnic_ring_mapped - how much a program maps of a ring, and of what is around it
 * @ring: the ring, allocated with a context
 *
 * Return: octets.
 */
u32 rnic_ring_mapped(const struct rnic_ring *ring)
{
	return ring->map->rdma.npages << PAGE_SHIFT;
}

/**
 * rnic_ring_offset - where in that the ring begins
 * @ring: the ring, allocated with a context
 *
 * Return: octets.
 */
u32 rnic_ring_offset(const struct rnic_ring *ring)
{
	return (void *)ring->hdr - ring->map->mem;
}
