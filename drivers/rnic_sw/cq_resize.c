// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Another ring for a program's completion queue, while it is in use. */
#include <linux/sched.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

static int answer_resize(const struct rnic_ring *ring, struct ib_udata *udata)
{
	struct rnic_sw_resize_cq_resp resp = {
		.ring_key = rnic_ring_key(ring),
		.ring_bytes = rnic_ring_mapped(ring),
		.slots = ring->slots,
		.stride = ring->stride,
	};

	return ib_respond_udata(udata, resp);
}

/* Another ring that takes the place of a program's */
struct move {
	struct rnic_ring	ring;
	u32			seen;	/* the consumer's index at the last look */
	u32			done;	/* copied up to here */
	u32			steps;	/* entries copied in all */
};

static void copy_entry(struct rnic_cq *cq, struct move *m)
{
	u32 idx = m->done++;

	*rnic_cqe_at(&m->ring, idx) = *rnic_cqe_at(&cq->ring, idx);
	m->steps++;
}

/*
 * Copy some of what has not been polled, at its indices: what is written stays
 * as it is.  Return: how much is left to copy; -EINVAL: it does not fit
 */
static int __copy_some(struct rnic_cq *cq, struct move *m)
{
	u32 slots = min(cq->ring.slots, m->ring.slots), end, n;

	lockdep_assert_held(&cq->lock);
	n = rnic_cq_cons(cq);
	if (!m->steps) {
		m->seen = n;
		m->done = n;
	}
	if (ring_idx_unread(cq->prod, n, m->seen, slots) == RING_IDX_LIE)
		return -EINVAL;
	m->seen = n;
	/* polled meanwhile */
	if (ring_idx_before(m->done, n))
		m->done = n;
	n = min_t(u32, cq->prod - m->done, RING_IDX_STEPS);
	for (end = m->done + n; m->done != end;)
		copy_entry(cq, m);
	return cq->prod - m->done;
}

static void __change_places(struct rnic_cq *cq, struct move *m)
{
	lockdep_assert_held(&cq->lock);
	m->ring.hdr->cons = m->seen;
	m->ring.hdr->prod = cq->prod;
	m->ring.hdr->flags = READ_ONCE(cq->ring.hdr->flags);
	swap(cq->ring, m->ring);
	cq->ib.cqe = cq->ring.slots;
}

/*
 * Copy until nothing is left, and change places.  One who adds and takes all
 * the time cannot have us go on for ever: twice the ring is enough for all.
 */
static int move_to(struct rnic_cq *cq, struct move *m)
{
	u32 most = 2 * cq->ring.slots + RING_IDX_STEPS;
	unsigned long flags;
	int left;

	lockdep_assert_held(&cq->walk);
	do {
		cond_resched();
		spin_lock_irqsave(&cq->lock, flags);
		left = __copy_some(cq, m);
		if (!left)
			__change_places(cq, m);
		spin_unlock_irqrestore(&cq->lock, flags);
		if (left > 0 && m->steps > most)
			left = -EBUSY;
	} while (left > 0);
	return left;
}

/*
 * The first step: a ring that the program can map, for the second step.  It is not
 * packed: its key is to be nobody else's.
 */
static int prepare_ring(struct rnic_cq *cq, u32 want, struct ib_udata *udata)
{
	struct rnic_ring ring;
	unsigned long flags;
	int err = rnic_cq_alloc_ring(&ring, udata, want, false);

	if (err)
		return err;
	err = answer_resize(&ring, udata);
	if (!err) {
		spin_lock_irqsave(&cq->lock, flags);
		swap(cq->next, ring);
		spin_unlock_irqrestore(&cq->lock, flags);
	}
	/* one that nobody has changed over to, or after an error the new one */
	rnic_ring_free(&ring);
	return err;
}

/* The ring that was prepared under that key */
static bool take_prepared(struct rnic_cq *cq, u64 key, struct rnic_ring *ring)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&cq->lock, flags);
	ok = cq->next.hdr && rnic_ring_key(&cq->next) == key;
	if (ok)
		swap(cq->next, *ring);
	spin_unlock_irqrestore(&cq->lock, flags);
	return ok;
}

/* The second step: the program has mapped it */
static int use_prepared(struct rnic_cq *cq, u64 key, struct ib_udata *udata)
{
	struct rnic_sw_resize_cq_resp none = {};
	struct move m = {};
	int err = ib_respond_udata(udata, none);

	if (err)
		return err;
	if (!take_prepared(cq, key, &m.ring))
		return -ENOENT;
	mutex_lock(&cq->walk);
	err = move_to(cq, &m);
	mutex_unlock(&cq->walk);
	/* the old one, or if that failed the new one */
	rnic_ring_free(&m.ring);
	return err;
}

/**
 * rnic_resize_user_cq - another ring for a program's completion queue
 * @ib: it
 * @cqe: entries wanted
 * @udata: struct rnic_sw_resize_cq and its answer
 *
 * A program takes two steps, so that nothing has changed where it cannot map
 * the new ring.  It does not poll while it waits for the second answer.
 *
 * Return: 0; -EINVAL if what has not been polled does not fit; -EBUSY if it is
 * polled and written all the time; or another negative errno.
 */
int rnic_resize_user_cq(struct ib_cq *ib, unsigned int cqe,
			struct ib_udata *udata)
{
	struct rnic_cq *cq = to_rnic_cq(ib);
	struct rnic_sw_resize_cq req;
	bool use;
	int err;

	err = ib_copy_validate_udata_in_cm(udata, req, comp_mask, 0);
	if (err)
		return err;
	use = req.flags & RNIC_SW_RESIZE_CQ_SWITCH;
	if (req.flags & ~RNIC_SW_RESIZE_CQ_SWITCH || (req.ring_key && !use))
		return -EOPNOTSUPP;
	return use ? use_prepared(cq, req.ring_key, udata) :
		     prepare_ring(cq, cqe, udata);
}
