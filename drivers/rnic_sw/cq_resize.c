// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resize the completion queue (CQ) of a program, while queue pairs may write completions to it.
 */
#include <linux/sched.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

static int respond_resize_cq(const struct rnic_ring *ring, struct ib_udata *udata)
{
	struct rnic_sw_resize_cq_resp resp = {
		.ring_key = rnic_ring_get_mmap_offset(ring),
		.ring_bytes = rnic_ring_get_map_len(ring),
		.slots = ring->slots,
		.stride = ring->stride,
	};

	return ib_respond_udata(udata, resp);
}

/* State of a resize */
struct cq_resize {
	struct rnic_ring	ring;	/* new ring; after __swap_rings() the old ring */
	u32			seen;	/* consumer index when it was last read */
	u32			done;	/* index of the next entry to copy */
	u32			steps;	/* total number of entries copied */
};

static void copy_next_cqe(struct rnic_cq *cq, struct cq_resize *m)
{
	u32 idx = m->done++;

	*rnic_ring_get_cqe(&m->ring, idx) = *rnic_ring_get_cqe(&cq->ring, idx);
	m->steps++;
}

/*
 * Copy up to RING_IDX_STEPS unpolled entries to the same indices of the new ring.
 *
 * Return: the number of unpolled entries that remain to be copied; -EINVAL if the unpolled
 * entries do not fit into the new ring, or the program has written an invalid consumer index.
 */
static int __copy_some_entries(struct rnic_cq *cq, struct cq_resize *m)
{
	u32 slots = min(cq->ring.slots, m->ring.slots), end, n;

	lockdep_assert_held(&cq->lock);
	n = rnic_cq_read_cons(cq);
	if (!m->steps) {
		m->seen = n;
		m->done = n;
	}
	if (ring_idx_count_unread(cq->prod, n, m->seen, slots) == RING_IDX_INVALID)
		return -EINVAL;
	m->seen = n;
	/* skip entries that the program has polled since the last call */
	if (ring_idx_is_before(m->done, n))
		m->done = n;
	n = min_t(u32, cq->prod - m->done, RING_IDX_STEPS);
	for (end = m->done + n; m->done != end;)
		copy_next_cqe(cq, m);
	return cq->prod - m->done;
}

static void __swap_rings(struct rnic_cq *cq, struct cq_resize *m)
{
	lockdep_assert_held(&cq->lock);
	m->ring.hdr->cons = m->seen;
	m->ring.hdr->prod = cq->prod;
	m->ring.hdr->flags = READ_ONCE(cq->ring.hdr->flags);
	swap(cq->ring, m->ring);
	cq->ib.cqe = cq->ring.slots;
}

/*
 * Copy all unpolled entries to the new ring, then exchange the rings. The lock is released
 * between batches, so completions may arrive and be polled meanwhile. Give up after copying about
 * twice the size of the old ring; otherwise the loop might never end.
 *
 * Return: 0; -EINVAL if the unpolled entries do not fit into the new ring or the consumer index
 * is invalid; -EBUSY if the function gave up.
 */
static int copy_entries_and_swap_rings(struct rnic_cq *cq, struct cq_resize *m)
{
	u32 most = 2 * cq->ring.slots + RING_IDX_STEPS;
	unsigned long flags;
	int left;

	lockdep_assert_held(&cq->walk_lock);
	do {
		cond_resched();
		spin_lock_irqsave(&cq->lock, flags);
		left = __copy_some_entries(cq, m);
		if (!left)
			__swap_rings(cq, m);
		spin_unlock_irqrestore(&cq->lock, flags);
		if (left > 0 && m->steps > most)
			left = -EBUSY;
	} while (left > 0);
	return left;
}

/*
 * First step of a resize: allocate the new ring, which the program then maps. In the second step
 * the program specifies the ring with its mmap key, so the ring must not share a page with other
 * rings, which would then have the same key.
 */
static int prepare_new_ring(struct rnic_cq *cq, u32 want, struct ib_udata *udata)
{
	struct rnic_ring ring;
	unsigned long flags;
	int err = rnic_cq_alloc_ring(&ring, udata, want, false);

	if (err)
		return err;
	err = respond_resize_cq(&ring, udata);
	if (!err) {
		spin_lock_irqsave(&cq->lock, flags);
		swap(cq->resize_ring, ring);
		spin_unlock_irqrestore(&cq->lock, flags);
	}
	/* free the unused ring of an earlier first step, if any; after an error, the new ring */
	rnic_ring_free(&ring);
	return err;
}

/*
 * Move the ring that prepare_new_ring() has allocated from @cq to @ring, if @key is its mmap
 * key.
 *
 * Return: true if the ring was moved; false if there is no such ring.
 */
static bool try_detach_new_ring(struct rnic_cq *cq, u64 key, struct rnic_ring *ring)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&cq->lock, flags);
	ok = cq->resize_ring.hdr && rnic_ring_get_mmap_offset(&cq->resize_ring) == key;
	if (ok)
		swap(cq->resize_ring, *ring);
	spin_unlock_irqrestore(&cq->lock, flags);
	return ok;
}

/* Second step of a resize: copy unpolled entries to the new ring and use it from now on */
static int switch_to_new_ring(struct rnic_cq *cq, u64 key, struct ib_udata *udata)
{
	struct rnic_sw_resize_cq_resp none = {};
	struct cq_resize m = {};
	int err = ib_respond_udata(udata, none);

	if (err)
		return err;
	if (!try_detach_new_ring(cq, key, &m.ring))
		return -ENOENT;
	mutex_lock(&cq->walk_lock);
	err = copy_entries_and_swap_rings(cq, &m);
	mutex_unlock(&cq->walk_lock);
	/* free the old ring; after an error, free the new ring */
	rnic_ring_free(&m.ring);
	return err;
}

/**
 * rnic_resize_user_cq - resize the completion queue of a program (device operation)
 * @ib: the CQ
 * @cqe: minimum number of entries
 * @udata: struct rnic_sw_resize_cq and its response
 *
 * The program resizes in two steps: first it gets and maps a new ring, then it requests the switch
 * to that ring. If the program cannot map the new ring, it can continue with the old ring. The
 * provider library does not poll the CQ during the second step.
 *
 * May sleep.
 *
 * Return: 0; -EINVAL if the unpolled completions do not fit into the new ring or the consumer
 * index is invalid; -EBUSY if completions arrived faster than they could be copied; -ENOENT if
 * the first step has allocated no ring with this mmap key; -EOPNOTSUPP for unknown flags, or for
 * an mmap key in the first step; or another negative errno.
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
	return use ? switch_to_new_ring(cq, req.ring_key, udata) :
		     prepare_new_ring(cq, cqe, udata);
}
