// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send queue: a program or kernel consumer writes WQEs, the transmit path pulls
 * them, and they are completed in order.
 *
 * Indices run freely: tail (oldest request not completed) <= head (next to
 * pull) <= prod. cut is the end of the requests whose messages are segmented.
 * sent is the end of the requests that the LLP has accepted, and follows cut. A
 * note (struct rnic_swqe) keeps the contents of the completion of each
 * pulled request, where the program cannot change it.
 *
 * No loop over the whole ring holds the lock. An index marks the end of the
 * sent requests, and another one the end of those to flush. Completions are
 * taken off the queue a few at a time.
 */
#include <linux/delay.h>

#include "counters.h"
#include "rnic.h"

/* Requests completed in one pass, maybe in softirq; a worker does the rest */
#define COMPLETE_MAX	256

/* The status values of the verbs are written to CQEs unchanged */
static_assert((int)IB_WC_SUCCESS == RNIC_SW_OK);
static_assert((int)IB_WC_LOC_LEN_ERR == RNIC_SW_LOC_LEN_ERR);
static_assert((int)IB_WC_LOC_QP_OP_ERR == RNIC_SW_LOC_QP_OP_ERR);
static_assert((int)IB_WC_LOC_PROT_ERR == RNIC_SW_LOC_PROT_ERR);
static_assert((int)IB_WC_WR_FLUSH_ERR == RNIC_SW_WR_FLUSH_ERR);
static_assert((int)IB_WC_MW_BIND_ERR == RNIC_SW_MW_BIND_ERR);
static_assert((int)IB_WC_REM_ACCESS_ERR == RNIC_SW_REM_ACCESS_ERR);
static_assert((int)IB_WC_REM_OP_ERR == RNIC_SW_REM_OP_ERR);

enum swqe_state {
	SWQE_PULLED,		/* done when the LLP has accepted its message */
	SWQE_AWAITS_RESPONSE,		/* done when its response has been placed */
	SWQE_DONE,		/* completes after all earlier requests */
};

/* Copy the fixed part of a WQE, once */
static void read_slot(struct rnic_sq *sq, u32 idx, struct rnic_sw_sqe *e)
{
	memcpy(e, rnic_ring_slot(&sq->ring, idx), sizeof(*e));
	/* from here on only the copy is used */
	barrier();
}

static void fill_swqe(struct rnic_sq *sq, u32 idx, const struct rnic_sw_sqe *e)
{
	struct rnic_swqe *n = rnic_swqe(sq, idx);

	n->wr_id = e->wr_id;
	n->opcode = e->opcode;
	n->flags = e->flags;
	n->len = 0;
	n->status = IB_WC_SUCCESS;
	n->state = SWQE_PULLED;
}

/* Number of WQEs posted and not pulled, or RING_IDX_INVALID */
static u32 __rnic_sq_posted(struct rnic_sq *sq)
{
	return rnic_ring_posted(&sq->ring, sq->head, sq->tail);
}

/*
 * Index after the last posted WQE. Nothing counts as posted if the producer
 * index is invalid.
 */
static u32 __end_of_posted(struct rnic_sq *sq)
{
	u32 n = __rnic_sq_posted(sq);

	return n == RING_IDX_INVALID ? sq->head : sq->head + n;
}

/*
 * Check for new WQEs. If there are none, set NEED_WAKEUP so that the next post
 * enters the kernel, then check again. The flag stays clear while posts are
 * coalesced: the timer will have the ring checked.
 *
 * Return: the number of WQEs to pull, or RING_IDX_INVALID.
 */
static u32 __poll_or_arm_wakeup(struct rnic_sq *sq)
{
	u32 n = __rnic_sq_posted(sq);

	if (n) {
		if (READ_ONCE(sq->ring.hdr->flags))
			WRITE_ONCE(sq->ring.hdr->flags, 0);
		return n;
	}
	if (sq->coalescing)
		return 0;
	WRITE_ONCE(sq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	/*
	 * This side writes flags, then reads prod. A program that posts writes
	 * prod, then reads flags. litmus: wakeup
	 */
	smp_mb();
	n = __rnic_sq_posted(sq);
	if (n)
		WRITE_ONCE(sq->ring.hdr->flags, 0);
	return n;
}

/*
 * Number of WQEs to pull, or RING_IDX_INVALID. The producer index is read again
 * only after all WQEs seen at the last read have been pulled.
 */
static u32 __posted_or_arm_wakeup(struct rnic_sq *sq)
{
	u32 n = sq->seen - sq->head;

	if (n)
		return n;
	n = __poll_or_arm_wakeup(sq);
	if (n != RING_IDX_INVALID)
		sq->seen = sq->head + n;
	return n;
}

/*
 * Take the next WQE off the ring and parse it.
 *
 * Return: IB_WC_SUCCESS, or the status with which the request completes.
 */
static enum ib_wc_status __pull_wqe(struct rnic_qp *qp, struct rdmap_wr *wr)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swqe *n;
	struct rnic_sw_sqe e;

	wr->slot = sq->head++;
	n = rnic_swqe(sq, wr->slot);
	read_slot(sq, wr->slot, &e);
	fill_swqe(sq, wr->slot, &e);
	n->status = rnic_sq_parse(qp, &e, rnic_ring_slot(&sq->ring, wr->slot),
				  wr);
	if (!n->status) {
		n->len = wr->buf.len;
		n->state = rdmap_wr_has_response(wr) ? SWQE_AWAITS_RESPONSE : SWQE_PULLED;
	}
	return n->status;
}

bool rdmap_sq_pull(struct rdmap *r, struct rdmap_wr *wr)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;
	bool wrong = false;
	u32 n;

	spin_lock_irqsave(&sq->lock, flags);
	n = sq->flushing ? 0 : __posted_or_arm_wakeup(sq);
	if (sq->closing && sq->head == sq->end)
		n = 0;
	/*
	 * A request posted after the move to ERROR must be flushed, and so
	 * completed even if it is unsignaled: a consumer that drains the queue
	 * waits for that. So test for the failure after reading prod.
	 */
	if (test_bit(0, &r->stream.failed))
		n = 0;
	if (n)
		wrong = n == RING_IDX_INVALID || __pull_wqe(qp, wr);
	spin_unlock_irqrestore(&sq->lock, flags);
	if (wrong) {
		ddp_tx_put_mr(&r->stream);
		rdmap_fail(r, IW_LOCAL_PROT);
	}
	return n && !wrong;
}

/**
 * rnic_sq_close - send no request that is posted later (RFC 5041 6.2.1)
 * @qp: queue pair that has begun to close
 *
 * Requests posted later wait for the flush. If the producer index is invalid,
 * all requests not pulled yet do.
 */
void rnic_sq_close(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->closing = true;
	sq->end = __end_of_posted(sq);
	spin_unlock_irqrestore(&sq->lock, flags);
}

static void fill_cqe(const struct rnic_qp *qp, const struct rnic_swqe *n,
		     struct rnic_sw_cqe *cqe)
{
	*cqe = (struct rnic_sw_cqe) {
		.wr_id = n->wr_id,
		.qp_num = qp->ib.qp_num,
		.byte_len = n->len,
		.status = n->status,
		.opcode = n->opcode,
		.vendor_err = n->status ? qp->why : 0,
	};
}

/*
 * Status of a flushed request. If the peer's RDMAP has sent a Terminate, the
 * oldest request that waits for a response gets a remote error.
 */
static u8 flush_status(struct rnic_qp *qp, const struct rnic_swqe *n)
{
	const struct rdmap *r = &qp->rdmap;

	if (n->status)
		return n->status;
	if (qp->why != IW_PEER_TERMINATE || qp->sq.remote_err_reported ||
	    n->state != SWQE_AWAITS_RESPONSE || r->peer_layer)
		return IB_WC_WR_FLUSH_ERR;
	qp->sq.remote_err_reported = true;
	return r->peer_type == 1 ? IB_WC_REM_ACCESS_ERR : IB_WC_REM_OP_ERR;
}

/*
 * In a flush, take the next posted WQE off the ring only to complete it.
 *
 * Return: true if there is one, false otherwise.
 */
static bool __take_for_flush(struct rnic_sq *sq)
{
	struct rnic_sw_sqe e;

	if (!sq->flushing || sq->head == sq->flush_end)
		return false;
	read_slot(sq, sq->head, &e);
	fill_swqe(sq, sq->head, &e);
	sq->head++;
	return true;
}

static bool __is_done(const struct rnic_sq *sq, const struct rnic_swqe *n)
{
	return n->state == SWQE_DONE ||
	       (n->state == SWQE_PULLED && ring_idx_before(sq->tail, sq->sent));
}

/*
 * Check whether the oldest request can be completed; its note then has the
 * status. In a flush every request can.
 *
 * Return: true if it can be completed, false otherwise.
 */
static bool __can_complete_oldest(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swqe *n = rnic_swqe(sq, sq->tail);

	if (sq->tail == sq->head && !__take_for_flush(sq))
		return false;
	/* after a failed request none succeeds, whether it was sent or not */
	if (!sq->broken && !n->status && __is_done(sq, n))
		return true;
	if (!sq->flushing)
		return false;
	sq->broken = true;
	n->status = flush_status(qp, n);
	return true;
}

/*
 * Take completed requests off the queue, up to one that needs a CQE. For that
 * one @needs_cqe is set and @cqe is filled in.
 *
 * Return: the number of requests taken off.
 */
static u32 __take_completed(struct rnic_qp *qp, struct rnic_sw_cqe *cqe, bool *needs_cqe)
{
	struct rnic_sq *sq = &qp->sq;
	u32 n = 0;

	*needs_cqe = false;
	while (!*needs_cqe && n < RING_IDX_STEPS && __can_complete_oldest(qp)) {
		const struct rnic_swqe *swqe = rnic_swqe(sq, sq->tail);

		*needs_cqe = swqe->status || sq->sig_all ||
			(swqe->flags & RNIC_SW_SEND_SIGNALED);
		if (*needs_cqe)
			fill_cqe(qp, swqe, cqe);
		sq->tail++;
		n++;
	}
	rnic_ring_set_cons(&sq->ring, sq->tail);
	return n;
}

static void complete_later(struct rnic_qp *qp)
{
	kref_get(&qp->ref);
	if (!queue_work(rnic_wq, &qp->complete_work))
		rnic_qp_put(qp);
}

/*
 * Complete, in order, all requests that are done. One context does this at a
 * time; others leave their requests to it. The lock is not held while the CQE
 * is written and the consumer is notified.
 */
static void complete_and_unlock(struct rnic_qp *qp, unsigned long flags)
	__releases(&qp->sq.lock)
{
	struct rnic_sq *sq = &qp->sq;
	bool needs_cqe, more, ok = true;
	struct rnic_sw_cqe cqe;
	u32 taken, sum = 0;

	if (sq->completing) {
		spin_unlock_irqrestore(&sq->lock, flags);
		return;
	}
	sq->completing = true;
	do {
		taken = __take_completed(qp, &cqe, &needs_cqe);
		/* otherwise no request is left to complete */
		more = needs_cqe || taken == RING_IDX_STEPS;
		if (!more)
			break;
		spin_unlock_irqrestore(&sq->lock, flags);
		if (needs_cqe)
			ok &= rnic_cq_push(qp->scq, &cqe, &qp->ib);
		spin_lock_irqsave(&sq->lock, flags);
		sum += taken;
	} while (sum < COMPLETE_MAX);
	more = more && __can_complete_oldest(qp);
	sq->completing = false;
	spin_unlock_irqrestore(&sq->lock, flags);
	if (!ok)
		rdmap_fail(&qp->rdmap, IW_LOCAL_CQ);
	if (more)
		complete_later(qp);
}

static void complete_ready(struct rnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.lock, flags);
	complete_and_unlock(qp, flags);
}

/**
 * rnic_sq_complete_work - continue to complete requests from a worker
 * @work: tell_work of the queue pair; the reference that it holds is dropped
 */
void rnic_sq_complete_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(work, struct rnic_qp, complete_work);

	complete_ready(qp);
	rnic_qp_put(qp);
}

void rdmap_sq_cut(struct rdmap *r, u32 slot)
{
	rdmap_to_qp(r)->sq.cut = slot + 1;
}

void rdmap_sq_complete_sent(struct rdmap *r)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&sq->lock, flags);
	any = !sq->flushing && sq->sent != sq->cut;
	if (any) {
		sq->sent = sq->cut;
		complete_and_unlock(qp, flags);
	} else {
		spin_unlock_irqrestore(&sq->lock, flags);
	}
}

static void set_done(struct rnic_qp *qp, u32 slot)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	if (!sq->flushing) {
		rnic_swqe(sq, slot)->state = SWQE_DONE;
		/* the LLP does not see a local request, so cannot report it */
		if (sq->sent == slot)
			sq->sent++;
	}
	complete_and_unlock(qp, flags);
}

void rdmap_sq_complete_response(struct rdmap *r, u32 slot, u32 len)
{
	set_done(rdmap_to_qp(r), slot);
}

void rdmap_sq_set_failed(struct rdmap *r, u32 slot)
{
	struct rnic_sq *sq = &rdmap_to_qp(r)->sq;
	struct rnic_swqe *n = rnic_swqe(sq, slot);
	unsigned long flags;

	/* the flush that follows completes the request in order */
	spin_lock_irqsave(&sq->lock, flags);
	n->status = n->opcode == RNIC_SW_OP_BIND_MW ? IB_WC_MW_BIND_ERR :
						      IB_WC_LOC_PROT_ERR;
	spin_unlock_irqrestore(&sq->lock, flags);
}

static bool do_local(struct rnic_qp *qp, const struct rdmap_wr *wr)
{
	const struct rnic_swqe *n = rnic_swqe(&qp->sq, wr->slot);
	struct ddp_stream *s = &qp->rdmap.stream;

	switch (wr->op) {
	case RDMAP_WR_REG:
		return !rnic_mr_fastreg(n->reg_mr, wr, s);
	case RDMAP_WR_BIND:
		return rnic_mw_bind(qp->dev, s, wr);
	default:
		return !ddp_mem_invalidate(s, wr->inv, false);
	}
}

bool rdmap_sq_do_local(struct rdmap *r, const struct rdmap_wr *wr)
{
	struct rnic_qp *qp = rdmap_to_qp(r);

	if (!do_local(qp, wr))
		return false;
	rdmap_sq_cut(r, wr->slot);
	set_done(qp, wr->slot);
	return true;
}

/**
 * rnic_sq_flush - complete all posted requests with an error
 * @qp: queue pair in error state, whose stream is settled
 *
 * Process context. A program that posts later must enter the kernel, and its
 * requests are flushed then.
 */
void rnic_sq_flush(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	WRITE_ONCE(sq->flushing, true);
	WRITE_ONCE(sq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	/*
	 * This side writes flags, then reads prod. A program that posts writes
	 * prod, then reads flags. litmus: wakeup
	 */
	smp_mb();
	WRITE_ONCE(sq->flush_end, __end_of_posted(sq));
	spin_unlock_irqrestore(&sq->lock, flags);
	complete_ready(qp);
}

/*
 * Check whether the CQEs of all requests before @end are written. The CQE of
 * the last request taken off the queue may still be missing.
 *
 * Return: true if all are written, false otherwise.
 */
static bool is_completed_up_to(struct rnic_sq *sq, u32 end)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&sq->lock, flags);
	done = ring_idx_before(end, sq->tail) ||
	       (sq->tail == end && !sq->completing);
	spin_unlock_irqrestore(&sq->lock, flags);
	return done;
}

/**
 * rnic_sq_wait_flushed - wait until all requests of a flush have completed
 * @qp: queue pair after rnic_sq_flush()
 *
 * Some are completed by the context that is doing so at the moment, the rest by
 * a worker of rnic_wq. Requests posted later are not waited for. Sleeps. Must
 * not be called from rnic_wq.
 */
void rnic_sq_wait_flushed(struct rnic_qp *qp)
{
	u32 end = READ_ONCE(qp->sq.flush_end);

	while (!is_completed_up_to(&qp->sq, end))
		usleep_range(5, 50);
}
