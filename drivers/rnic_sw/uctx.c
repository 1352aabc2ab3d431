// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* User contexts, and the rings that programs map. */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

#define RING_SLOTS_MAX	BIT(24)

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
	      sizeof(struct rnic_sw_create_cq_resp) == 24 &&
	      sizeof(struct rnic_sw_resize_cq) == 16 &&
	      sizeof(struct rnic_sw_resize_cq_resp) == 24 &&
	      sizeof(struct rnic_sw_create_srq) == 8 &&
	      sizeof(struct rnic_sw_create_srq_resp) == 24 &&
	      sizeof(struct rnic_sw_create_qp) == 16 &&
	      sizeof(struct rnic_sw_create_qp_resp) == 48);

/**
 * rnic_alloc_ucontext - a program opens the device
 * @ib: its context
 * @udata: struct rnic_sw_alloc_ctx and its answer
 *
 * Return: 0 or a negative errno.
 */
int rnic_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct rnic_sw_alloc_ctx_resp resp = { .max_inline = RNIC_MAX_INLINE };
	struct rnic_sw_alloc_ctx req;
	int err = ib_copy_validate_udata_in_cm(udata, req, comp_mask, 0);

	if (!err && req.reserved)
		err = -EOPNOTSUPP;
	return err ?: ib_respond_udata(udata, resp);
}

/**
 * rnic_dealloc_ucontext - a program closes the device
 * @ib: its context, in which nothing is left
 */
void rnic_dealloc_ucontext(struct ib_ucontext *ib)
{
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
	struct rnic_mmap_entry *entry;
	int err;

	if (!rdma)
		return -EINVAL;
	entry = container_of(rdma, struct rnic_mmap_entry, rdma);
	err = map_pages(vma, entry->mem);
	/* from here on the mapping holds the pages, one by one */
	rdma_user_mmap_entry_put(rdma);
	return err;
}

/**
 * rnic_mmap_free - nobody can map this ring any more
 * @rdma: its entry
 */
void rnic_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct rnic_mmap_entry *entry =
		container_of(rdma, struct rnic_mmap_entry, rdma);

	vfree(entry->mem);
	kfree(entry);
}

/* From here on the entry owns the memory */
static int make_mappable(struct rnic_ring *ring, struct ib_ucontext *uctx)
{
	struct rnic_mmap_entry *entry = kzalloc(sizeof(*entry),
						GFP_KERNEL_ACCOUNT);
	int err;

	if (!entry)
		return -ENOMEM;
	entry->mem = ring->hdr;
	err = rdma_user_mmap_entry_insert(uctx, &entry->rdma, ring->bytes);
	if (err) {
		kfree(entry);
		return err;
	}
	ring->entry = &entry->rdma;
	return 0;
}

/**
 * rnic_ring_alloc - a ring, all zero
 * @ring: filled in
 * @uctx: the program's context, or NULL for a kernel consumer
 * @want: slots at least; a power of two is made of it
 * @stride: octets from slot to slot
 *
 * The memory is charged to the caller's control group.  No slots wanted: no
 * memory either, and rnic_ring_free() has nothing to do.
 *
 * Return: 0 or a negative errno.
 */
int rnic_ring_alloc(struct rnic_ring *ring, struct ib_ucontext *uctx, u32 want,
		    u32 stride)
{
	u32 slots, bytes;
	int err = 0;

	memset(ring, 0, sizeof(*ring));
	if (!want)
		return 0;
	if (want > RING_SLOTS_MAX)
		return -EINVAL;
	slots = roundup_pow_of_two(want);
	if (check_mul_overflow(slots, stride, &bytes) ||
	    bytes > S32_MAX - RNIC_SW_RING_HDR)
		return -EINVAL;

	ring->slots = slots;
	ring->stride = stride;
	ring->bytes = PAGE_ALIGN(bytes + RNIC_SW_RING_HDR);
	/* as large as the program likes: not worth a word in the log */
	ring->hdr = __vmalloc(ring->bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					   __GFP_NOWARN);
	if (!ring->hdr)
		return -ENOMEM;
	ring->slot0 = (void *)ring->hdr + RNIC_SW_RING_HDR;
	if (uctx)
		err = make_mappable(ring, uctx);
	if (err)
		rnic_ring_free(ring);
	return err;
}

/**
 * rnic_ring_free - the end of a ring for the kernel
 * @ring: the ring
 *
 * A program that has it mapped keeps the pages until it unmaps them.
 */
void rnic_ring_free(struct rnic_ring *ring)
{
	if (ring->entry)
		rdma_user_mmap_entry_remove(ring->entry);
	else
		vfree(ring->hdr);
	ring->entry = NULL;
	ring->hdr = NULL;
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
	ring->entry = NULL;
	ring->hdr = NULL;
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
	return rdma_user_mmap_get_offset(ring->entry);
}
