// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copying from and to MRs without blocks: kernel memory named by its address,
 * ODP memory and dma-bufs.
 *
 * ODP and dma-buf pages may go away. So the data is copied one extent at a
 * time, under the lock that keeps its pages present. That keeps the time short
 * for which the lock is held. If an extent is missing the copy stops, and the
 * caller repeats the whole copy after the page fault. That is harmless: the
 * bytes copied before go from the same source to the same destination again,
 * and nothing has been reported yet.
 */
#include <ddp/copy.h>
#include "internal.h"

/* State of a copy between an MR without blocks and something else */
struct paged_copy {
	struct ddp_llp	*llp;	/* LLP to read from; NULL to use @flat */
	void		*flat;	/* next byte outside the MR */
	u32		pos_left;	/* bytes left at this position of @flat */
	u32		each;	/* bytes at each further position */
	u32		gap;	/* bytes between two positions */
	u32		done;	/* bytes copied */
	bool		write;	/* copy into the MR */
	bool		last;	/* copy the last byte after all others */
};

static bool find_extent(const struct ddp_region *r, u64 to, bool write,
			struct ddp_extent *extent)
{
	if (!r->ops) {
		extent->at = (void *)(uintptr_t)to;
		extent->lock = NULL;
		return true;
	}
	if (!r->ops->extent(r->mem, r->from + (to - r->base), write, extent))
		return false;
	/* the notifier or exporter takes this lock for writing */
	lockdep_assert_held_read(extent->lock);
	return true;
}

static void release_extent(const struct ddp_extent *extent)
{
	if (extent->lock)
		read_unlock(extent->lock);
}

static void copy_flat(struct paged_copy *c, void *at, u32 len)
{
	u32 n;

	for (; len; at += n, len -= n) {
		n = min(len, c->pos_left);
		if (c->write)
			ddp_copy(at, c->flat, n);
		else
			ddp_copy(c->flat, at, n);
		c->flat += n;
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
	copy_flat(c, at, len);
	return true;
}

/* @whole: the extent reaches to the end of the copy */
static bool copy_extent(struct paged_copy *c, const struct ddp_extent *extent, bool whole)
{
	u32 most = extent->len - (c->last && whole);

	if (most && !copy_bytes(c, extent->at, most))
		return false;
	if (most == extent->len)
		return true;
	/*
	 * litmus: none, the other side is a program: data first, then the last
	 * byte, which the program may poll. wmb() because memory of another
	 * driver may be mapped uncached.
	 */
	wmb();
	return copy_bytes(c, extent->at + most, 1);
}

/* Copy @len bytes into or out of the MR and advance @c */
static enum iw_reason paged_copy(const struct ddp_region *r, u64 to, u32 len,
				 struct paged_copy *c, struct ddp_fault *w)
{
	struct ddp_extent extent;
	u32 left = len;
	bool ok;

	while (left) {
		extent.len = left;
		if (!find_extent(r, to, c->write, &extent))
			return ddp_fault_request(w, r, to, left, c->write);
		ok = copy_extent(c, &extent, extent.len == left);
		release_extent(&extent);
		if (!ok)
			return IW_UNREADABLE;
		c->done += extent.len;
		to += extent.len;
		left -= extent.len;
	}
	if (unlikely(READ_ONCE(w->fault_failed)))
		ddp_fault_resolved(w, r, to - len, len, c->write);
	return IW_OK;
}

/**
 * ddp_paged_from_llp - copy from the LLP into an MR without blocks
 * @r: the MR, referenced
 * @to: TO of the first byte
 * @len: number of bytes
 * @llp: LLP to read from
 * @last: copy the last byte after all others, because a program may poll it
 * @w: page-fault request of the receive path
 *
 * Return: IW_OK; IW_AGAIN if a page fault must be resolved first;
 * IW_DDP_T_STAG if a page cannot be faulted in; IW_UNREADABLE if the LLP cannot
 * read its data.
 */
enum iw_reason ddp_paged_from_llp(const struct ddp_region *r, u64 to, u32 len,
				  struct ddp_llp *llp, bool last,
				  struct ddp_fault *w)
{
	struct paged_copy c = { .llp = llp, .write = true, .last = last };

	return paged_copy(r, to, len, &c, w);
}

/**
 * ddp_paged_to_flat - copy from an MR without blocks into a buffer
 * @r: the MR, referenced
 * @to: TO of the first byte
 * @len: number of bytes
 * @dst: the buffer
 * @w: page-fault request of the calling path
 *
 * Return: IW_OK; IW_AGAIN if a page fault must be resolved first;
 * IW_DDP_T_STAG if a page cannot be faulted in.
 */
enum iw_reason ddp_paged_to_flat(const struct ddp_region *r, u64 to, u32 len,
				 void *dst, struct ddp_fault *w)
{
	struct paged_copy c = { .flat = dst, .pos_left = len };

	return paged_copy(r, to, len, &c, w);
}

/**
 * ddp_paged_scatter - copy from an MR without blocks to several positions
 * @r: the MR, referenced
 * @to: TO of the first byte
 * @dst: first position
 * @stride: distance between positions, in bytes
 * @each: number of bytes for each position, at most @stride
 * @n: number of positions
 * @w: page-fault request of the calling path
 *
 * Each extent is looked up once, not once for each position.
 *
 * Return: number of positions filled. If less than @n, a page for the next one
 * is missing.
 */
u32 ddp_paged_scatter(const struct ddp_region *r, u64 to, void *dst, u32 stride,
		      u32 each, u32 n, struct ddp_fault *w)
{
	struct paged_copy c = {
		.flat = dst, .pos_left = each, .each = each, .gap = stride - each,
	};

	paged_copy(r, to, n * each, &c, w);
	return c.done / each;
}

/**
 * ddp_paged_from_flat - copy from a buffer into an MR without blocks
 * @r: the MR, referenced
 * @to: TO of the first byte
 * @len: number of bytes
 * @src: the buffer; each byte is read once, unless the copy is repeated after a
 *	page fault
 * @last: as for ddp_paged_from_llp()
 * @w: page-fault request of the calling path
 *
 * Return: as for ddp_paged_to_flat().
 */
enum iw_reason ddp_paged_from_flat(const struct ddp_region *r, u64 to, u32 len,
				   const void *src, bool last,
				   struct ddp_fault *w)
{
	struct paged_copy c = {
		.flat = (void *)src, .pos_left = len, .write = true, .last = last,
	};

	return paged_copy(r, to, len, &c, w);
}

/**
 * ddp_paged_atomic - modify a word of an MR without blocks
 * @r: the MR, referenced
 * @to: TO of the word
 * @change: modifies the word; NULL to check the alignment only
 * @arg: argument of @change
 * @w: page-fault request of the calling path
 *
 * Return: IW_OK; IW_RDMAP_STREAM if the word is misaligned; IW_AGAIN if a
 * page fault must be resolved first; IW_DDP_T_STAG if the page cannot be
 * faulted in.
 */
enum iw_reason ddp_paged_atomic(const struct ddp_region *r, u64 to,
				void (*change)(void *arg, u64 *word), void *arg,
				struct ddp_fault *w)
{
	struct ddp_extent extent = { .len = sizeof(u64) };
	u64 at = r->ops ? r->from + (to - r->base) : to;

	/*
	 * pages are aligned, so the kernel address of the word is aligned, too
	 */
	if (!IS_ALIGNED(at, sizeof(u64)))
		return IW_RDMAP_STREAM;
	if (!change)
		return IW_OK;
	if (!find_extent(r, to, true, &extent))
		return ddp_fault_request(w, r, to, sizeof(u64), true);
	change(arg, extent.at);
	release_extent(&extent);
	if (unlikely(READ_ONCE(w->fault_failed)))
		ddp_fault_resolved(w, r, to, sizeof(u64), true);
	return IW_OK;
}
