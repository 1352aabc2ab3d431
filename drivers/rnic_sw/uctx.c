// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* User contexts, and the rings that programs map. */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

#define RING_SLOTS_MAX	BIT(24)
/* two such rings with headers, rounded up to a page, fit in 31 bits */
#define RING_BYTES_MAX	(SZ_1G - SZ_64K - RNIC_SW_RING_HDR)

/* ABI 1: these offsets are built into programs and must not change */
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
 * rnic_alloc_ucontext - open the device for a program
 * @ib: the context
 * @udata: struct rnic_sw_alloc_ctx and its response
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
 * rnic_dealloc_ucontext - close the device for a program
 * @ib: the context; all its queues are destroyed
 */
void rnic_dealloc_ucontext(struct ib_ucontext *ib)
{
	rnic_pages_exit(to_rnic_uctx(ib));
}

/*
 * Like remap_vmalloc_range(), which accepts only memory from vmalloc_user(),
 * and that is not charged to a control group
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
 * rnic_mmap - map a ring
 * @ib: the context
 * @vma: where to map it; the file offset is a key that the kernel has returned
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
	/* from here on the VMA holds references to the pages */
	rdma_user_mmap_entry_put(rdma);
	return err;
}

/**
 * rnic_mmap_free - free memory that can no longer be mapped
 * @rdma: the mmap entry, embedded in struct rnic_map
 */
void rnic_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct rnic_map *map = container_of(rdma, struct rnic_map, rdma);

	vfree(map->mem);
	kfree(map);
}

/* The program chooses the size: do not log a failure */
static void *rnic_ring_memory(size_t bytes)
{
	return __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

/**
 * rnic_map_make - allocate zeroed memory that a program can map
 * @uctx: the context
 * @bytes: size in bytes, rounded up to pages
 *
 * Charged to the caller's control group. May sleep.
 *
 * Return: the memory, to be released by rnic_map_end(), or an error pointer.
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
 * rnic_map_users - count the references to the first page of mappable memory
 * @map: the memory
 *
 * Return: the number of mappings and other references; more while the page is
 * briefly pinned elsewhere in the kernel.
 */
unsigned int rnic_map_users(const struct rnic_map *map)
{
	return page_count(vmalloc_to_page(map->mem)) - 1;
}

/**
 * rnic_map_end - release mappable memory
 * @map: the memory
 *
 * A program that has it mapped keeps the pages until it unmaps them.
 */
void rnic_map_end(struct rnic_map *map)
{
	rdma_user_mmap_entry_remove(&map->rdma);
}

/**
 * rnic_ring_shape - compute the sizes of a ring without allocating it
 * @ring: filled in
 * @want: minimum number of slots, rounded up to a power of two; 0 for no ring
 * @stride: distance of slots in bytes
 *
 * Return: 0, or -EINVAL if the ring would be too large.
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
	/* keeps the header of a second ring aligned */
	ring->bytes = ALIGN(bytes + RNIC_SW_RING_HDR, RNIC_SW_RING_HDR);
	return 0;
}

static void set_place(struct rnic_ring *ring, void *at)
{
	ring->hdr = at;
	ring->slot0 = at + RNIC_SW_RING_HDR;
}

/* Return: memory for the ring, NULL or an error pointer */
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
 * rnic_ring_alloc - allocate zeroed memory for one or two rings
 * @ring: ring with its sizes set, owns the memory on success; if it has 0 slots
 *	nothing is done
 * @behind: second ring with its sizes set, placed after @ring in the same
 *	memory; may be NULL
 * @uctx: the program's context, or NULL for a kernel consumer
 * @packed: true if the program accepts other rings in the memory that it maps
 *
 * The memory is charged to the caller's control group. @behind must be freed
 * before @ring. May sleep.
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

/* Clear the pointers, so that there is no ring any more */
static void forget_place(struct rnic_ring *ring)
{
	ring->map = NULL;
	ring->mem = NULL;
	ring->hdr = NULL;
}

/**
 * rnic_ring_free - free a ring
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
 * rnic_ring_retire - free a ring that other contexts may read
 * @ring: the ring
 * @lock: lock under which they read it; on return they find no ring
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
 * rnic_ring_key - get the offset at which a program maps a ring
 * @ring: the ring, allocated with a context
 *
 * Return: the file offset for mmap().
 */
u64 rnic_ring_key(const struct rnic_ring *ring)
{
	return rdma_user_mmap_get_offset(&ring->map->rdma);
}

/**
 * rnic_ring_mapped - get the length of the mapping that contains a ring
 * @ring: the ring, allocated with a context
 *
 * Return: the length in bytes.
 */
u32 rnic_ring_mapped(const struct rnic_ring *ring)
{
	return ring->map->rdma.npages << PAGE_SHIFT;
}

/**
 * rnic_ring_offset - get the offset of a ring in its mapping
 * @ring: the ring, allocated with a context
 *
 * Return: the offset in bytes.
 */
u32 rnic_ring_offset(const struct rnic_ring *ring)
{
	return (void *)ring->hdr - ring->map->mem;
}
