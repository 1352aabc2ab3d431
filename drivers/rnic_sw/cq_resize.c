// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Resize the completion queue of a program while the queue is in use. */
#include <linux/sched.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

static int respond_resize_cq(const struct rnic_ring *ring, struct ib_udata *udata)
{
	struct rnic_sw_resize_cq_resp resp = {
		.ring_key = rnic_ring_key(ring),
		.ring_bytes = rnic_ring_map_len(ring),
		.slots = ring->slots,
		.stride = ring->stride,
	};

	return ib_respond_udata(udata, resp);
}

/* Resize in progress; @ring is the new ring, after the swap the old ring */
struct cq_resize {
	struct rnic_ring	ring;
	u32			seen;	/* consumer index when it was last read */
	u32			done;	/* index after the last entry copied */
	u32			steps;	/* total number of entries copied */
};

static void copy_entry(struct rnic_cq *cq, struct cq_resize *m)
{
	u32 idx = m->done++;

	*rnic_cqe_at(&m->ring, idx) = *rnic_cqe_at(&cq->ring, idx);
	m->steps++;
}

/*
 * Copy up to RING_IDX_STEPS unpolled entries to the new ring, where they keep
 * their indices.
 *
 * Return: the number of unpolled entries not copied yet; -EINVAL if the
 * unpolled entries do not fit into the smaller ring, or the consumer index is
 * invalid.
 */
static int __copy_some(struct rnic_cq *cq, struct cq_resize *m)
{
	u32 slots = min(cq->ring.slots, m->ring.slots), end, n;

	lockdep_assert_held(&cq->lock);
	n = rnic_cq_cons(cq);
	if (!m->steps) {
		m->seen = n;
		m->done = n;
	}
	if (ring_idx_unread(cq->prod, n, m->seen, slots) == RING_IDX_INVALID)
		return -EINVAL;
	m->seen = n;
	/* skip entries that the program has polled since the last call */
	if (ring_idx_before(m->done, n))
		m->done = n;
	n = min_t(u32, cq->prod - m->done, RING_IDX_STEPS);
	for (end = m->done + n; m->done != end;)
		copy_entry(cq, m);
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
 * Copy all unpolled entries to the new ring, then exchange the rings. Copy at
 * most about twice the size of the old ring, so that a CQ that is filled and
 * polled all the time cannot keep the loop running forever.
 *
 * Return: 0; -EINVAL if the unpolled entries do not fit into the new ring;
 * -EBUSY if the limit of copies is reached.
 */
static int move_entries(struct rnic_cq *cq, struct cq_resize *m)
{
	u32 most = 2 * cq->ring.slots + RING_IDX_STEPS;
	unsigned long flags;
	int left;

	lockdep_assert_held(&cq->walk_lock);
	do {
		cond_resched();
		spin_lock_irqsave(&cq->lock, flags);
		left = __copy_some(cq, m);
		if (!left)
			__swap_rings(cq, m);
		spin_unlock_irqrestore(&cq->lock, flags);
		if (left > 0 && m->steps > most)
			left = -EBUSY;
	} while (left > 0);
	return left;
}

/*
 * Allocate the new ring (first step of a resize). The program maps the ring
 * before the second step, which identifies the ring by its mmap key. So the
 * ring must not share a page with other rings.
 */
static int prepare_ring(struct rnic_cq *cq, u32 want, struct ib_udata *udata)
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
	/* free the ring of an earlier first step, or on error the new ring */
	rnic_ring_free(&ring);
	return err;
}

/*
 * Move the ring of the first step to @ring.
 *
 * Return: true if a ring was prepared and @key is its mmap key, false
 * otherwise.
 */
static bool take_prepared(struct rnic_cq *cq, u64 key, struct rnic_ring *ring)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&cq->lock, flags);
	ok = cq->resize_ring.hdr && rnic_ring_key(&cq->resize_ring) == key;
	if (ok)
		swap(cq->resize_ring, *ring);
	spin_unlock_irqrestore(&cq->lock, flags);
	return ok;
}

/* Switch to the ring that the program has mapped (second step of a resize) */
static int switch_to_prepared(struct rnic_cq *cq, u64 key, struct ib_udata *udata)
{
	struct rnic_sw_resize_cq_resp none = {};
	struct cq_resize m = {};
	int err = ib_respond_udata(udata, none);

	if (err)
		return err;
	if (!take_prepared(cq, key, &m.ring))
		return -ENOENT;
	mutex_lock(&cq->walk_lock);
	err = move_entries(cq, &m);
	mutex_unlock(&cq->walk_lock);
	/* free the old ring, or the new ring if the switch failed */
	rnic_ring_free(&m.ring);
	return err;
}

/**
 * rnic_resize_user_cq - resize the completion queue of a program
 * @ib: the CQ
 * @cqe: minimum number of entries
 * @udata: struct rnic_sw_resize_cq and its response
 *
 * A program resizes in two steps, so that the CQ is unchanged if the program
 * cannot map the new ring. The program does not poll during the second step.
 *
 * Return: 0; -EINVAL if the unpolled completions do not fit into the new ring;
 * -EBUSY if the CQ is filled and polled all the time; -ENOENT if the first step
 * has prepared no ring with this mmap key; -EOPNOTSUPP for unknown flags; or
 * another negative errno.
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
	return use ? switch_to_prepared(cq, req.ring_key, udata) :
		     prepare_ring(cq, cqe, udata);
}
