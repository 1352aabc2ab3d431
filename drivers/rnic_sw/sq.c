// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send queue: a program or kernel consumer writes WQEs, the transmit path pulls the WQEs, and the
 * requests are completed in order.
 *
 * All indices are free-running: tail <= head <= prod. tail is the index of the oldest request that
 * is not completed, head that of the next WQE to pull. segmented_end is the index after the last
 * request whose messages are completely segmented. sent is the index after the last request whose
 * messages the LLP has accepted, or which was executed locally. For each pulled request a software
 * WQE (struct rnic_swqe) holds the contents of its completion in kernel memory, where the program
 * cannot change them.
 *
 * No loop over the whole ring holds the lock, because a ring can be large. Requests are marked as
 * sent, or as to be flushed, by advancing one index. They are completed in steps of at most
 * RING_IDX_STEPS requests.
 */
#include <linux/delay.h>

#include "comp_cntr.h"
#include "counters.h"
#include "rdv_qp.h"
#include "rnic.h"

/* Maximum number of requests that one context completes; a worker completes the others */
#define COMPLETE_MAX	256

enum swqe_state {
	SWQE_PULLED,		/* done once the LLP has accepted the message */
	SWQE_AWAITS_RESPONSE,	/* done once the response is placed */
	SWQE_DONE,		/* can be completed after all earlier requests */
};

/* Copy the fixed part of a WQE. A program may change the WQE at any time. */
static void copy_wqe(struct rnic_sq *sq, u32 idx, struct rnic_sw_sqe *e)
{
	memcpy(e, rnic_ring_get_slot(&sq->ring, idx), sizeof(*e));
	/* keep the compiler from reading the WQE again after this point */
	barrier();
}

static void fill_swqe(struct rnic_sq *sq, u32 idx, const struct rnic_sw_sqe *e)
{
	struct rnic_swqe *n = rnic_sq_get_swqe(sq, idx);

	n->wr_id = e->wr_id;
	n->opcode = e->opcode;
	n->flags = e->flags;
	n->len = 0;
	n->status = IB_WC_SUCCESS;
	n->state = SWQE_PULLED;
}

/* Count the WQEs that are not pulled. Return: the number; RING_IDX_INVALID if prod is invalid */
static u32 __rnic_sq_count_posted(struct rnic_sq *sq)
{
	return rnic_ring_count_posted(&sq->ring, sq->head, sq->tail);
}

/*
 * Get the index after the last posted WQE. If the producer index is invalid, return the index of
 * the next WQE to pull, as if no WQE were posted.
 */
static u32 __get_posted_end(struct rnic_sq *sq)
{
	u32 n = __rnic_sq_count_posted(sq);

	return n == RING_IDX_INVALID ? sq->head : sq->head + n;
}

/*
 * Check for new WQEs. If there are none, set NEED_WAKEUP, so that the next post enters the kernel,
 * and then check again. While posts are coalesced, keep NEED_WAKEUP clear, because the timer will
 * schedule transmit.
 *
 * Return: the number of WQEs to pull; RING_IDX_INVALID if the producer index is invalid.
 */
static u32 __poll_or_arm_wakeup(struct rnic_sq *sq)
{
	u32 n = __rnic_sq_count_posted(sq);

	if (n) {
		if (READ_ONCE(sq->ring.hdr->flags))
			WRITE_ONCE(sq->ring.hdr->flags, 0);
		return n;
	}
	if (sq->coalescing)
		return 0;
	WRITE_ONCE(sq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	/*
	 * Write flags before reading prod. Pairs with ring_publish_prod() of the provider, which
	 * writes prod before it reads flags. So either this function finds the new WQE, or the
	 * program rings the doorbell. Without the barrier neither might happen, and the WQE would
	 * never be sent. litmus: wakeup
	 */
	smp_mb();
	n = __rnic_sq_count_posted(sq);
	if (n)
		WRITE_ONCE(sq->ring.hdr->flags, 0);
	return n;
}

/*
 * Get the number of WQEs to pull. Read the producer index again only after all WQEs that the
 * previous read found have been pulled.
 *
 * Return: the number; RING_IDX_INVALID if the producer index is invalid.
 */
static u32 __count_posted_or_arm_wakeup(struct rnic_sq *sq)
{
	u32 n = sq->prod_seen - sq->head;

	if (n)
		return n;
	n = __poll_or_arm_wakeup(sq);
	if (n != RING_IDX_INVALID)
		sq->prod_seen = sq->head + n;
	return n;
}

/*
 * Pull the next WQE and parse it into @wr.
 *
 * Return: IB_WC_SUCCESS if the WQE is valid; otherwise the error status with which the flush must
 * complete the request.
 */
static enum ib_wc_status __pull_wqe(struct rnic_qp *qp, struct rdmap_wr *wr)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swqe *n;
	struct rnic_sw_sqe e;

	wr->slot = sq->head++;
	wr->more = sq->head != sq->prod_seen;
	n = rnic_sq_get_swqe(sq, wr->slot);
	copy_wqe(sq, wr->slot, &e);
	fill_swqe(sq, wr->slot, &e);
	n->status = rnic_sq_parse_wqe(qp, &e, rnic_ring_get_slot(&sq->ring, wr->slot),
				      wr);
	if (!n->status) {
		n->len = wr->buf.len;
		n->state = rdmap_wr_needs_response(wr) ? SWQE_AWAITS_RESPONSE : SWQE_PULLED;
	}
	return n->status;
}

/*
 * Get the number of WQEs that may be pulled. Return: the number; RING_IDX_INVALID if the producer
 * index is invalid.
 */
static u32 __count_pullable_or_arm_wakeup(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	/* after the end of the stream, NEED_WAKEUP must stay set, see __mark_sq_ended() */
	u32 n = sq->ended ? 0 : __count_posted_or_arm_wakeup(sq);

	if (sq->closing && sq->head == sq->close_end)
		return 0;
	/*
	 * Test for a failure after reading prod, so that no request is pulled that was posted after
	 * the move to ERROR. Such a request is left to the flush, which writes a CQE even if the
	 * request is unsignaled. A consumer that drains the queue waits for that CQE.
	 */
	return test_bit(0, &qp->rdmap.stream.failed) ? 0 : n;
}

bool rdmap_sq_pull_wr(struct rdmap *r, struct rdmap_wr *wr)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;
	bool wrong = false;
	u32 n;

	spin_lock_irqsave(&sq->lock, flags);
	n = __count_pullable_or_arm_wakeup(qp);
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
 * rnic_sq_close - stop sending requests that are posted later (RFC 5041 6.2.1)
 * @qp: queue pair that has begun to close
 *
 * Requests that are posted after this call are not sent, but stay in the queue until the flush. If
 * the producer index is invalid, no further request is sent, not even those posted before.
 */
void rnic_sq_close(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->closing = true;
	sq->close_end = __get_posted_end(sq);
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
		.vendor_err = n->status ? rnic_qp_get_vendor_err(qp) : 0,
	};
}

/* Check whether the peer's Terminate reports that a message has found no receive */
static bool is_terminate_for_no_receive(const struct rdmap *r)
{
	const struct iw_reason_row *row = iw_reason_get_row(IW_DDP_U_NO_BUFFER);

	return r->peer_layer == row->layer && r->peer_type == row->type &&
	       r->peer_code == row->code;
}

/*
 * Get the status for a queue pair that is connected without rdma_cm, if InfiniBand would report
 * that retries have failed. Return: IB_WC_RETRY_EXC_ERR if the peer is lost;
 * IB_WC_RNR_RETRY_EXC_ERR if the peer had no receive; IB_WC_SUCCESS in all other cases.
 */
static u8 get_retry_error_status(const struct rnic_qp *qp)
{
	if (rnic_qp_has_lost_peer(qp))
		return IB_WC_RETRY_EXC_ERR;
	if (rnic_qp_peek_rdv(qp) && qp->why == IW_PEER_TERMINATE &&
	    is_terminate_for_no_receive(&qp->rdmap))
		return IB_WC_RNR_RETRY_EXC_ERR;
	return IB_WC_SUCCESS;
}

/*
 * Get the status with which a request is flushed. If the peer's RDMAP layer has sent a Terminate,
 * the oldest request that awaits a response gets a remote error. If a queue pair that does not use
 * rdma_cm has lost its peer, the oldest request gets a retry error.
 */
static u8 choose_flush_status(struct rnic_qp *qp, const struct rnic_swqe *n)
{
	const struct rdmap *r = &qp->rdmap;
	u8 loss = get_retry_error_status(qp);

	if (n->status)
		return n->status;
	if (loss && !qp->sq.remote_err_reported) {
		qp->sq.remote_err_reported = true;
		return loss;
	}
	if (qp->why != IW_PEER_TERMINATE || qp->sq.remote_err_reported ||
	    n->state != SWQE_AWAITS_RESPONSE || r->peer_layer)
		return IB_WC_WR_FLUSH_ERR;
	qp->sq.remote_err_reported = true;
	return r->peer_type == 1 ? IB_WC_REM_ACCESS_ERR : IB_WC_REM_OP_ERR;
}

/*
 * Dequeue the next posted WQE without sending it, so that the flush can complete the request.
 *
 * Return: true if a WQE was dequeued; false if no flush is in progress, or if all WQEs to flush are
 * dequeued.
 */
static bool __pop_wqe_to_flush(struct rnic_sq *sq)
{
	struct rnic_sw_sqe e;

	if (!sq->flushing || sq->head == sq->flush_end)
		return false;
	copy_wqe(sq, sq->head, &e);
	fill_swqe(sq, sq->head, &e);
	sq->head++;
	return true;
}

static bool __is_request_done(const struct rnic_sq *sq, const struct rnic_swqe *n)
{
	return n->state == SWQE_DONE ||
	       (n->state == SWQE_PULLED && ring_idx_is_before(sq->tail, sq->sent));
}

/*
 * Check whether the oldest request can be completed. If it can only be completed because of a
 * flush, set its status to an error.
 *
 * Return: true if the oldest request can be completed; false if it cannot, or if the queue is
 * empty.
 */
static bool __try_prepare_oldest_completion(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	struct rnic_swqe *n = rnic_sq_get_swqe(sq, sq->tail);

	if (sq->tail == sq->head && !__pop_wqe_to_flush(sq))
		return false;
	/* after a request with an error, no later request may succeed, even if it was sent */
	if (!sq->error_completed && !n->status && __is_request_done(sq, n))
		return true;
	if (!sq->flushing)
		return false;
	/* flush receives that rnic_qp_must_keep_recvs() has kept until this error */
	if (!sq->error_completed && rnic_qp_peek_rdv(qp))
		rnic_qp_schedule_flush(qp);
	sq->error_completed = true;
	n->status = choose_flush_status(qp, n);
	return true;
}

/*
 * Remove requests that can be completed, up to and including the first request that needs a CQE,
 * but at most RING_IDX_STEPS requests. If a request needs a CQE, set @needs_cqe and fill in @cqe.
 *
 * Return: the number of requests removed.
 */
static u32 __pop_completed_requests(struct rnic_qp *qp, struct rnic_sw_cqe *cqe, bool *needs_cqe)
{
	struct rnic_sq *sq = &qp->sq;
	u32 n = 0;

	*needs_cqe = false;
	while (!*needs_cqe && n < RING_IDX_STEPS && __try_prepare_oldest_completion(qp)) {
		const struct rnic_swqe *swqe = rnic_sq_get_swqe(sq, sq->tail);

		*needs_cqe = swqe->status || sq->sig_all ||
			(swqe->flags & RNIC_SW_SEND_SIGNALED);
		if (*needs_cqe)
			fill_cqe(qp, swqe, cqe);
		rnic_count_send(qp, swqe);
		sq->tail++;
		n++;
	}
	rnic_ring_set_cons(&sq->ring, sq->tail);
	return n;
}

static void queue_complete_work(struct rnic_qp *qp)
{
	kref_get(&qp->ref);
	if (!queue_work(rnic_wq, &qp->complete_work))
		rnic_qp_put(qp);
}

/*
 * Complete, in order, all requests that are done, and release sq->lock. If another context is
 * already completing requests, only release the lock, because that context will complete these
 * requests as well. After COMPLETE_MAX requests, leave the remaining ones to a worker. The lock is
 * not held while a CQE is written and the consumer is notified.
 */
static void complete_requests_and_unlock(struct rnic_qp *qp, unsigned long flags)
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
		taken = __pop_completed_requests(qp, &cqe, &needs_cqe);
		more = needs_cqe || taken == RING_IDX_STEPS;
		if (!more)
			break;
		spin_unlock_irqrestore(&sq->lock, flags);
		if (needs_cqe)
			ok &= rnic_cq_post_cqe(qp->scq, &cqe, &qp->ib);
		spin_lock_irqsave(&sq->lock, flags);
		sum += taken;
	} while (sum < COMPLETE_MAX);
	more = more && __try_prepare_oldest_completion(qp);
	sq->completing = false;
	spin_unlock_irqrestore(&sq->lock, flags);
	if (!ok)
		rdmap_fail(&qp->rdmap, IW_LOCAL_CQ);
	if (more)
		queue_complete_work(qp);
}

/**
 * rnic_sq_complete_work - complete the remaining requests in a worker
 * @work: complete_work of a queue pair
 *
 * Drops the reference to the queue pair that queue_complete_work() has taken for the work item.
 */
void rnic_sq_complete_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(work, struct rnic_qp, complete_work);
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.lock, flags);
	complete_requests_and_unlock(qp, flags);
	rnic_qp_put(qp);
}

void rdmap_sq_mark_segmented(struct rdmap *r, u32 slot)
{
	rdmap_to_qp(r)->sq.segmented_end = slot + 1;
}

bool rdmap_sq_complete_sent_wrs(struct rdmap *r, bool look)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;
	bool any, more;

	spin_lock_irqsave(&sq->lock, flags);
	any = !sq->flushing && sq->sent != sq->segmented_end;
	more = !look || __count_pullable_or_arm_wakeup(qp);
	if (any) {
		sq->sent = sq->segmented_end;
		complete_requests_and_unlock(qp, flags);
	} else {
		spin_unlock_irqrestore(&sq->lock, flags);
	}
	return more;
}

static void set_request_done_and_complete(struct rnic_qp *qp, u32 slot)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	if (!sq->flushing) {
		rnic_sq_get_swqe(sq, slot)->state = SWQE_DONE;
		/*
		 * A local request sends no message, so advance sq->sent here. If earlier requests
		 * are still being sent, rdmap_sq_complete_sent_wrs() advances it later.
		 */
		if (sq->sent == slot)
			sq->sent++;
	}
	complete_requests_and_unlock(qp, flags);
}

void rdmap_sq_complete_answered_wr(struct rdmap *r, u32 slot)
{
	set_request_done_and_complete(rdmap_to_qp(r), slot);
}

void rdmap_sq_set_wr_failed(struct rdmap *r, u32 slot)
{
	struct rnic_sq *sq = &rdmap_to_qp(r)->sq;
	struct rnic_swqe *n = rnic_sq_get_swqe(sq, slot);
	unsigned long flags;

	/* the flush that follows the failure completes the request with this status, in order */
	spin_lock_irqsave(&sq->lock, flags);
	n->status = n->opcode == RNIC_SW_OP_BIND_MW ? IB_WC_MW_BIND_ERR :
						      IB_WC_LOC_PROT_ERR;
	spin_unlock_irqrestore(&sq->lock, flags);
}

static bool execute_local_request(struct rnic_qp *qp, const struct rdmap_wr *wr)
{
	const struct rnic_swqe *n = rnic_sq_get_swqe(&qp->sq, wr->slot);
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

bool rdmap_sq_execute_local_wr(struct rdmap *r, const struct rdmap_wr *wr)
{
	struct rnic_qp *qp = rdmap_to_qp(r);

	if (!execute_local_request(qp, wr))
		return false;
	rdmap_sq_mark_segmented(r, wr->slot);
	set_request_done_and_complete(qp, wr->slot);
	return true;
}

/* Let each later post enter the kernel, because the stream has ended */
static void __mark_sq_ended(struct rnic_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	WRITE_ONCE(sq->ended, true);
	WRITE_ONCE(sq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	/*
	 * Write flags before reading prod. Pairs with ring_publish_prod() of the provider, which
	 * writes prod before it reads flags. So either the caller finds the new WQE, or the program
	 * enters the kernel. Without the barrier neither might happen, and the WQE would never be
	 * flushed. litmus: wakeup
	 */
	smp_mb();
}

/**
 * rnic_sq_mark_ended - let posts schedule qp->err_work, and flush nothing yet
 * @qp: queue pair in error state, whose stream ddp_stream_quiesce() has settled
 *
 * Context: process.
 *
 * Return: true if requests are posted that have not completed; false otherwise.
 */
bool rnic_sq_mark_ended(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;
	bool posted;

	spin_lock_irqsave(&sq->lock, flags);
	__mark_sq_ended(sq);
	posted = __get_posted_end(sq) != sq->tail;
	spin_unlock_irqrestore(&sq->lock, flags);
	return posted;
}

static void flush_sq(struct rnic_qp *qp, bool begin)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	if (begin || sq->flushing) {
		WRITE_ONCE(sq->flushing, true);
		__mark_sq_ended(sq);
		WRITE_ONCE(sq->flush_end, __get_posted_end(sq));
	}
	complete_requests_and_unlock(qp, flags);
}

/**
 * rnic_sq_flush - complete all posted requests
 * @qp: queue pair in error state, whose stream ddp_stream_quiesce() has settled
 *
 * Requests that are done complete with success. The first request that is not done and all requests
 * after it complete with an error. If there are many, a worker completes the last of them;
 * rnic_sq_wait_flushed() waits for the worker. A program that posts later finds NEED_WAKEUP set and
 * enters the kernel, which calls rnic_sq_flush_again().
 *
 * Context: process.
 */
void rnic_sq_flush(struct rnic_qp *qp)
{
	flush_sq(qp, true);
}

/**
 * rnic_sq_flush_again - complete requests that were posted after rnic_sq_flush()
 * @qp: the queue pair; does nothing if rnic_qp_reset() has ended the flush
 *
 * Context: process.
 */
void rnic_sq_flush_again(struct rnic_qp *qp)
{
	flush_sq(qp, false);
}

/*
 * Check whether the CQEs of all requests before @end are written. While sq->completing is set, the
 * CQE of the request that was removed last may not be written yet.
 *
 * Return: true if all these CQEs are written, false otherwise.
 */
static bool is_sq_completed_up_to(struct rnic_sq *sq, u32 end)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&sq->lock, flags);
	done = ring_idx_is_before(end, sq->tail) ||
	       (sq->tail == end && !sq->completing);
	spin_unlock_irqrestore(&sq->lock, flags);
	return done;
}

/**
 * rnic_sq_wait_flushed - wait until all requests of a flush have completed
 * @qp: queue pair; the caller must have called rnic_sq_flush()
 *
 * Does not wait for requests that are posted after the flush has begun.
 *
 * Context: process; sleeps. Must not be called in a work item of rnic_wq, because it may wait for
 * rnic_sq_complete_work(), which also runs on rnic_wq.
 */
void rnic_sq_wait_flushed(struct rnic_qp *qp)
{
	u32 end = READ_ONCE(qp->sq.flush_end);

	while (!is_sq_completed_up_to(&qp->sq, end))
		usleep_range(5, 50);
}
