// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Octets of regions without blocks: kernel memory as it is, or memory that comes
 * and goes.
 *
 * The latter is copied a run at a time, each under the lock that keeps it there:
 * what is under the lock is short.  A run that is missing ends the copy, and the
 * whole of it is done again when the run is there.  What was copied before it is
 * then copied once more, from the same octets to the same place, and nobody has
 * been told of it yet.
 */
#include <ddp/copy.h>
#include "internal.h"

/* One copy between such a region and something else */
struct paged_copy {
	struct ddp_llp	*llp;	/* where from; NULL: between it and @flat */
	void		*flat;	/* where the next octet goes or comes from */
	u32		room;	/* so many have their place there */
	u32		each;	/* and so many at each place behind it, */
	u32		gap;	/* so far from the end of one to the next */
	u32		done;	/* octets */
	bool		write;	/* to the region */
	bool		last;	/* its last octet after all others */
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
	/* whoever takes it away waits for us */
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

/* @whole: what is missing before the last octet is in this run */
static bool copy_run(struct paged_copy *c, const struct ddp_run *run, bool whole)
{
	u32 most = run->len - (c->last && whole);

	if (most && !copy_octets(c, run->at, most))
		return false;
	if (most == run->len)
		return true;
	/*
	 * litmus: none, the other side is a program: the data, then the flag, also where
	 * another driver's memory has no cache
	 */
	wmb();
	return copy_octets(c, run->at + most, 1);
}

/* Octets into or out of the region; @c is moved on */
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
 * ddp_paged_from_llp - octets of a segment into a region without blocks
 * @r: the region, used
 * @to: where in it
 * @len: how many
 * @llp: where they come from
 * @last: a program may look at the last octet to see that all are there
 * @w: the runner's, to wait by
 *
 * Return: IW_OK; IW_NOT_NOW; IW_DDP_T_STAG: memory that cannot be had;
 * IW_UNREADABLE.
 */
enum iw_reason ddp_paged_from_llp(const struct ddp_region *r, u64 to, u32 len,
				  struct ddp_llp *llp, bool last,
				  struct ddp_wait *w)
{
	struct paged_copy c = { .llp = llp, .write = true, .last = last };

	return paged_copy(r, to, len, &c, w);
}

/**
 * ddp_paged_to_flat - octets out of a region without blocks
 * @r: the region, used
 * @to: where in it
 * @len: how many
 * @dst: where they go
 * @w: the runner's, to wait by
 *
 * Return: IW_OK; IW_NOT_NOW; IW_DDP_T_STAG: memory that cannot be had.
 */
enum iw_reason ddp_paged_to_flat(const struct ddp_region *r, u64 to, u32 len,
				 void *dst, struct ddp_wait *w)
{
	struct paged_copy c = { .flat = dst, .room = len };

	return paged_copy(r, to, len, &c, w);
}

/**
 * ddp_paged_to_many - octets out of a region without blocks, to many places
 * @r: the region, used
 * @to: where in it
 * @dst: the first place
 * @stride: from one to the next
 * @each: octets for each, no more than @stride
 * @n: how many places
 * @w: the runner's, to wait by
 *
 * What lies together in memory is looked for once, not for each place.
 *
 * Return: how many places have theirs; if not all, the next one's memory is missing.
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
 * ddp_paged_from_flat - octets that lie together into a region without blocks
 * @r: the region, used
 * @to: where in it
 * @len: how many
 * @src: where they come from; each is read once, unless some have to come again
 * @last: as for ddp_paged_from_llp()
 * @w: the runner's, to wait by
 *
 * Return: as ddp_paged_to_flat().
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
 * ddp_paged_atomic - change a word of a region without blocks
 * @r: the region, used
 * @to: where in it
 * @change: does so, if the word is aligned; NULL: only look whether it is
 * @arg: for @change
 * @w: the runner's, to wait by
 *
 * Return: IW_OK; IW_RDMAP_STREAM: it is misaligned; IW_NOT_NOW; IW_DDP_T_STAG:
 * memory that cannot be had.
 */
enum iw_reason ddp_paged_atomic(const struct ddp_region *r, u64 to,
				void (*change)(void *arg, u64 *word), void *arg,
				struct ddp_wait *w)
{
	struct ddp_run run = { .len = sizeof(u64) };
	u64 at = r->ops ? r->from + (to - r->base) : to;

	/* memory comes and goes in pages: aligned here is aligned there */
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
