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
	u32		room;	/* bytes left at this position of @flat */
	u32		each;	/* bytes at each further position */
	u32		gap;	/* bytes between two positions */
	u32		done;	/* bytes copied */
	bool		write;	/* copy into the MR */
	bool		last;	/* copy the last byte after all others */
};

static bool find_run(const struct ddp_region *r, u64 to, bool write,
		     struct ddp_run *run)
{
	if (!r->ops) {
		run->at = (void *)(uintptr_t)to;
		run->lock = NULL;
		return true;
	}
	if (!r->ops->run(r->mem, r->from + (to - r->base), write, run))
		return false;
	/* the notifier or exporter takes this lock for writing */
	lockdep_assert_held_read(run->lock);
	return true;
}

static void let_go(const struct ddp_run *run)
{
	if (run->lock)
		read_unlock(run->lock);
}

static void copy_flat(struct paged_copy *c, void *at, u32 len)
{
	u32 n;

	for (; len; at += n, len -= n) {
		n = min(len, c->room);
		if (c->write)
			ddp_copy(at, c->flat, n);
		else
			ddp_copy(c->flat, at, n);
		c->flat += n;
		c->room -= n;
		if (!c->room) {
			c->flat += c->gap;
			c->room = c->each;
		}
	}
}

static bool copy_octets(struct paged_copy *c, void *at, u32 len)
{
	if (c->llp)
		return c->llp->ops->read(c->llp, at, len);
	copy_flat(c, at, len);
	return true;
}

/* @whole: the extent reaches to the end of the copy */
static bool copy_run(struct paged_copy *c, const struct ddp_run *run, bool whole)
{
	u32 most = run->len - (c->last && whole);

	if (most && !copy_octets(c, run->at, most))
		return false;
	if (most == run->len)
		return true;
	/*
	 * litmus: none, the other side is a program: data first, then the last
	 * byte, which the program may poll. wmb() because memory of another
	 * driver may be mapped uncached.
	 */
	wmb();
	return copy_octets(c, run->at + most, 1);
}

/* Copy @len bytes into or out of the MR and advance @c */
static enum iw_reason paged_copy(const struct ddp_region *r, u64 to, u32 len,
				 struct paged_copy *c, struct ddp_wait *w)
{
	struct ddp_run run;
	u32 left = len;
	bool ok;

	while (left) {
		run.len = left;
		if (!find_run(r, to, c->write, &run))
			return ddp_wait_for(w, r, to, left, c->write);
		ok = copy_run(c, &run, run.len == left);
		let_go(&run);
		if (!ok)
			return IW_UNREADABLE;
		c->done += run.len;
		to += run.len;
		left -= run.len;
	}
	if (unlikely(READ_ONCE(w->denied)))
		ddp_wait_had(w, r, to - len, len, c->write);
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
 * Return: IW_OK; IW_NOT_NOW if a page fault must be resolved first;
 * IW_DDP_T_STAG if a page cannot be faulted in; IW_UNREADABLE if the LLP cannot
 * read its data.
 */
enum iw_reason ddp_paged_from_llp(const struct ddp_region *r, u64 to, u32 len,
				  struct ddp_llp *llp, bool last,
				  struct ddp_wait *w)
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
 * Return: IW_OK; IW_NOT_NOW if a page fault must be resolved first;
 * IW_DDP_T_STAG if a page cannot be faulted in.
 */
enum iw_reason ddp_paged_to_flat(const struct ddp_region *r, u64 to, u32 len,
				 void *dst, struct ddp_wait *w)
{
	struct paged_copy c = { .flat = dst, .room = len };

	return paged_copy(r, to, len, &c, w);
}

/**
 * ddp_paged_to_many - copy from an MR without blocks to several positions
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
u32 ddp_paged_to_many(const struct ddp_region *r, u64 to, void *dst, u32 stride,
		      u32 each, u32 n, struct ddp_wait *w)
{
	struct paged_copy c = {
		.flat = dst, .room = each, .each = each, .gap = stride - each,
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
				   struct ddp_wait *w)
{
	struct paged_copy c = {
		.flat = (void *)src, .room = len, .write = true, .last = last,
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
 * Return: IW_OK; IW_RDMAP_STREAM if the word is misaligned; IW_NOT_NOW if a
 * page fault must be resolved first; IW_DDP_T_STAG if the page cannot be
 * faulted in.
 */
enum iw_reason ddp_paged_atomic(const struct ddp_region *r, u64 to,
				void (*change)(void *arg, u64 *word), void *arg,
				struct ddp_wait *w)
{
	struct ddp_run run = { .len = sizeof(u64) };
	u64 at = r->ops ? r->from + (to - r->base) : to;

	/*
	 * pages are aligned, so the kernel address of the word is aligned, too
	 */
	if (!IS_ALIGNED(at, sizeof(u64)))
		return IW_RDMAP_STREAM;
	if (!change)
		return IW_OK;
	if (!find_run(r, to, true, &run))
		return ddp_wait_for(w, r, to, sizeof(u64), true);
	change(arg, run.at);
	let_go(&run);
	if (unlikely(READ_ONCE(w->denied)))
		ddp_wait_had(w, r, to, sizeof(u64), true);
	return IW_OK;
}
