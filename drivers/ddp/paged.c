// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copies from and to MRs without a table of blocks: kernel memory, ODP memory
 * and dma-bufs.
 *
 * Pages of ODP memory and of a dma-buf may become absent at any time. So the
 * copy takes a lock that keeps the pages of one extent present, copies this
 * extent, and releases the lock. An invalidation of the pages thus waits for the
 * copy of one extent at most.
 *
 * If a page is missing, the copy stops, and the caller repeats the whole copy
 * after the page fault. This is harmless: the repeated copy writes the same
 * bytes to the same addresses, and the ULP has not been notified of the data
 * yet.
 */
#include <ddp/copy.h>
#include "internal.h"

/*
 * State of a copy between kernel memory, ODP memory or a dma-buf and either the
 * LLP or buffers. Most copies use only one buffer. If there are several, the
 * distance between the starts of adjacent buffers is constant.
 */
struct paged_copy {
	struct ddp_llp	*llp;	/* LLP to read from, or NULL */
	void		*flat;	/* next byte of the current buffer; used if llp is NULL */
	u32		pos_left;	/* bytes left in the current buffer, if there are several */
	u32		each;	/* length of each buffer in bytes; 0 if there is only one buffer */
	u32		gap;	/* bytes from the end of a buffer to the next buffer */
	u32		done;	/* number of bytes copied */
	bool		write;	/* true to copy into the MR, false to copy out of it */
	bool		last;	/* true to copy the last byte after all others */
};

/**
 * ddp_paged_lock_extent - find contiguous memory, and take the lock that keeps its pages present
 * @r: the MR, which has no table of blocks; the caller holds an in-flight reference
 * @to: TO of the first byte
 * @write: true if the memory will be written
 * @extent: on entry @extent->len is the number of bytes wanted; on return the memory found, with
 *	at most that length
 *
 * Return: true if the first page is present, and the caller must then call
 * ddp_paged_unlock_extent(); false if the first page is missing.
 */
bool ddp_paged_lock_extent(const struct ddp_region *r, u64 to, bool write,
			   struct ddp_extent *extent)
{
	if (!r->ops) {
		extent->at = (void *)(uintptr_t)to;
		extent->lock = NULL;
		return true;
	}
	if (!r->ops->extent(r->mem, r->mem_base + (to - r->base), write, extent))
		return false;
	/* the lock excludes the MMU notifier or dma-buf exporter, which takes it for writing */
	lockdep_assert_held_read(extent->lock);
	return true;
}

/**
 * ddp_paged_unlock_extent - release the lock that ddp_paged_lock_extent() has taken
 * @extent: the memory
 */
void ddp_paged_unlock_extent(const struct ddp_extent *extent)
{
	if (extent->lock)
		read_unlock(extent->lock);
}

/* Copy @len bytes, which do not exceed the current buffer */
static void copy_buffer(struct paged_copy *c, void *at, u32 len)
{
	if (c->write)
		ddp_copy(at, c->flat, len);
	else
		ddp_copy(c->flat, at, len);
	c->flat += len;
}

static void copy_buffers(struct paged_copy *c, void *at, u32 len)
{
	u32 n;

	for (; len; at += n, len -= n) {
		n = min(len, c->pos_left);
		copy_buffer(c, at, n);
		c->pos_left -= n;
		if (!c->pos_left) {
			c->flat += c->gap;
			c->pos_left = c->each;
		}
	}
}

static bool copy_bytes(struct paged_copy *c, void *at, u32 len)
{
	if (c->llp)
		return c->llp->ops->read(c->llp, at, len);
	if (c->each)
		copy_buffers(c, at, len);
	else
		copy_buffer(c, at, len);
	return true;
}

/* Copy one extent. @last_extent: true if this extent is the last one of the copy */
static bool copy_extent(struct paged_copy *c, const struct ddp_extent *extent, bool last_extent)
{
	u32 most = extent->len - (c->last && last_extent);

	if (most && !copy_bytes(c, extent->at, most))
		return false;
	if (most == extent->len)
		return true;
	/*
	 * Write the data before the last byte. A program that polls the last
	 * byte would otherwise read old data. wmb(), not smp_wmb(), because a
	 * dma-buf may be mapped uncached. (litmus: none, because the reader is a
	 * user program)
	 */
	wmb();
	if (c->llp)
		return c->llp->ops->read(c->llp, extent->at + most, 1);
	*(u8 *)(extent->at + most) = *(const u8 *)c->flat;
	return true;
}

/* Copy @len bytes into or out of the MR, and advance @c by the bytes copied */
static enum iw_reason copy_paged_region(const struct ddp_region *r, u64 to, u32 len,
					struct paged_copy *c, struct ddp_fault *w)
{
	struct ddp_extent extent;
	u32 left = len;
	bool ok;

	while (left) {
		extent.len = left;
		if (!ddp_paged_lock_extent(r, to, c->write, &extent))
			return ddp_fault_request_pages(w, r, to, left, c->write);
		ok = copy_extent(c, &extent, extent.len == left);
		ddp_paged_unlock_extent(&extent);
		if (!ok)
			return IW_UNREADABLE;
		c->done += extent.len;
		to += extent.len;
		left -= extent.len;
	}
	if (unlikely(READ_ONCE(w->fault_failed)))
		ddp_fault_clear_failure(w, r, to - len, len, c->write);
	return IW_OK;
}

/**
 * ddp_paged_copy_from_llp - copy from the LLP into kernel memory, ODP memory or a dma-buf
 * @r: the MR, which has no table of blocks; the caller holds an in-flight reference
 * @to: TO of the first byte
 * @len: number of bytes
 * @llp: LLP to read from
 * @last: true to copy the last byte after all others, because a program may
 *	poll the last byte
 * @w: page-fault request of the receive path
 *
 * Return: IW_OK if all bytes are copied; IW_AGAIN if a page fault must be
 * resolved first; IW_DDP_T_STAG if a page cannot be faulted in; IW_UNREADABLE
 * if the CPU cannot read the payload.
 */
enum iw_reason ddp_paged_copy_from_llp(const struct ddp_region *r, u64 to, u32 len,
				       struct ddp_llp *llp, bool last,
				       struct ddp_fault *w)
{
	struct paged_copy c = { .llp = llp, .write = true, .last = last };

	return copy_paged_region(r, to, len, &c, w);
}

/**
 * ddp_paged_copy_to_flat - copy from kernel memory, ODP memory or a dma-buf into a buffer
 * @r: the MR, which has no table of blocks; the caller holds an in-flight reference
 * @to: TO of the first byte
 * @len: number of bytes
 * @dst: the buffer
 * @w: page-fault request of the calling path
 *
 * Return: IW_OK if all bytes are copied; IW_AGAIN if a page fault must be
 * resolved first; IW_DDP_T_STAG if a page cannot be faulted in.
 */
enum iw_reason ddp_paged_copy_to_flat(const struct ddp_region *r, u64 to, u32 len,
				      void *dst, struct ddp_fault *w)
{
	struct paged_copy c = { .flat = dst };

	return copy_paged_region(r, to, len, &c, w);
}

/**
 * ddp_paged_scatter_to_buffers - copy a range of an MR to several buffers of equal length
 * @r: the MR, which has no table of blocks; the caller holds an in-flight reference
 * @to: TO of the first byte
 * @dst: first buffer
 * @stride: distance between the starts of two adjacent buffers, in bytes
 * @each: number of bytes for each buffer, at most @stride
 * @n: number of buffers
 * @w: page-fault request of the calling path
 *
 * Looks up each extent only once, even if it fills several buffers.
 *
 * Return: number of buffers filled; less than @n if a page is missing.
 */
u32 ddp_paged_scatter_to_buffers(const struct ddp_region *r, u64 to, void *dst, u32 stride,
				 u32 each, u32 n, struct ddp_fault *w)
{
	struct paged_copy c = {
		.flat = dst, .pos_left = each, .each = each, .gap = stride - each,
	};

	copy_paged_region(r, to, n * each, &c, w);
	return c.done / each;
}

/**
 * ddp_paged_copy_from_flat - copy from a buffer into kernel memory, ODP memory or a dma-buf
 * @r: the MR, which has no table of blocks; the caller holds an in-flight reference
 * @to: TO of the first byte
 * @len: number of bytes
 * @src: the buffer; each byte is read only once, unless a page fault makes the
 *	caller repeat the copy
 * @last: true to copy the last byte after all others, because a program may
 *	poll the last byte
 * @w: page-fault request of the calling path
 *
 * Return: as for ddp_paged_copy_to_flat().
 */
enum iw_reason ddp_paged_copy_from_flat(const struct ddp_region *r, u64 to, u32 len,
					const void *src, bool last,
					struct ddp_fault *w)
{
	struct paged_copy c = { .flat = (void *)src, .write = true, .last = last };

	return copy_paged_region(r, to, len, &c, w);
}

/**
 * ddp_paged_apply_atomic - atomically modify a u64 of kernel memory, ODP memory or a dma-buf
 * @r: the MR, which has no table of blocks; the caller holds an in-flight reference
 * @to: TO of the u64
 * @change: function that modifies the u64; NULL to check only the alignment
 * @arg: argument of @change
 * @w: page-fault request of the calling path
 *
 * Return: IW_OK if the u64 is modified, or if it is aligned and @change is
 * NULL; IW_RDMAP_STREAM if it is misaligned; IW_AGAIN if a page fault must be
 * resolved first; IW_DDP_T_STAG if the page cannot be faulted in.
 */
enum iw_reason ddp_paged_apply_atomic(const struct ddp_region *r, u64 to,
				      void (*change)(void *arg, u64 *word), void *arg,
				      struct ddp_fault *w)
{
	struct ddp_extent extent = { .len = sizeof(u64) };
	u64 at = r->ops ? r->mem_base + (to - r->base) : to;

	/* @at and the kernel address have the same page offset, and so the same alignment */
	if (!IS_ALIGNED(at, sizeof(u64)))
		return IW_RDMAP_STREAM;
	if (!change)
		return IW_OK;
	if (!ddp_paged_lock_extent(r, to, true, &extent))
		return ddp_fault_request_pages(w, r, to, sizeof(u64), true);
	change(arg, extent.at);
	ddp_paged_unlock_extent(&extent);
	if (unlikely(READ_ONCE(w->fault_failed)))
		ddp_fault_clear_failure(w, r, to, sizeof(u64), true);
	return IW_OK;
}
