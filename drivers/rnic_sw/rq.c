// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive queue of a queue pair: each received Send or Immediate Data consumes
 * the oldest WQE. A queue pair with a shared receive queue (SRQ) consumes WQEs
 * of the SRQ instead.
 */
#include "comp_cntr.h"
#include "rnic.h"
#include "rnr.h"

/*
 * Dequeue the oldest receive. Only the receive path of the stream does so, and ddp_stream_quiesce()
 * has stopped it before a flush or a reset changes the queue, so no lock is needed.
 *
 * Return: IW_OK; IW_DDP_U_NO_BUFFER if no receive is posted or a flush has
 * started; IW_LOCAL_PROT if the local program has written an invalid WQE or
 * producer index.
 */
static enum iw_reason rnic_rq_dequeue(struct rnic_rq *rq, struct rdmap *r)
{
	const u32 head = rq->head;
	u32 n = 0;

	if (!READ_ONCE(rq->flushing))
		n = rnic_ring_count_posted(&rq->ring, head, rq->tail);
	if (!n)
		return IW_DDP_U_NO_BUFFER;
	if (n == RING_IDX_INVALID)
		return IW_LOCAL_PROT;
	WRITE_ONCE(rq->head, head + 1);
	rq->recv_invalid = !rnic_rqe_read(rnic_ring_get_slot(&rq->ring, head), rq->max_sge, r,
					  &rq->wr_id);
	return rq->recv_invalid ? IW_LOCAL_PROT : IW_OK;
}

static enum iw_reason dequeue_srq_recv(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;
	enum iw_reason why;

	why = rnic_srq_dequeue(qp->srq, &qp->rdmap, &rq->wr_id, &rq->recv_invalid);
	rq->srq_recv_in_use = !why;
	return !why && rq->recv_invalid ? IW_LOCAL_PROT : why;
}

enum iw_reason rdmap_rq_dequeue(struct rdmap *r)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_rq *rq = &qp->rq;

	if (qp->srq)
		return dequeue_srq_recv(qp);
	return rq->ring.slots ? rnic_rq_dequeue(rq, r) : IW_DDP_U_NO_BUFFER;
}

void rdmap_rq_complete(struct rdmap *r, const struct rdmap_recv *rc)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_rq *rq = &qp->rq;
	struct rnic_sw_cqe cqe = {
		.wr_id = rq->wr_id,
		.qp_num = qp->ib.qp_num,
		.byte_len = rc->len,
		.opcode = RNIC_SW_OP_RECV | RNIC_SW_OP_SEND,
		.inv_stag = rc->inv,
	};

	if (rc->immediate) {
		cqe.opcode = RNIC_SW_OP_RECV | RNIC_SW_OP_WRITE_IMM;
		cqe.imm_data = rc->imm;
		cqe.flags |= RNIC_SW_WC_WITH_IMM;
	}
	if (rc->invalidated)
		cqe.flags |= RNIC_SW_WC_WITH_INV;
	if (rc->solicited)
		cqe.flags |= RNIC_SW_WC_SOLICITED;
	if (qp->srq) {
		rq->srq_recv_in_use = false;
	} else {
		/*
		 * read the WQE before a kernel consumer may use its slot again; pairs with the
		 * control dependency of rnic_rqe_post(), which checks tail first; litmus: publish
		 */
		smp_store_release(&rq->tail, rq->tail + 1);
		rnic_ring_set_cons(&rq->ring, rq->tail);
	}
	rnic_count_recv(qp, IB_WC_SUCCESS);
	if (!rnic_cq_post_cqe(qp->rcq, &cqe, &qp->ib))
		rdmap_fail(&qp->rdmap, IW_LOCAL_CQ);
}

/*
 * Get the completion status of the receive whose message was not complete when
 * the stream failed: the error that the receive caused, or a flush error if the
 * receive did not cause the failure.
 */
static u8 get_recv_flush_status(const struct rnic_qp *qp)
{
	if (qp->rq.recv_invalid)
		return IB_WC_LOC_QP_OP_ERR;
	switch (qp->why) {
	case IW_DDP_U_TOO_LONG:
		return IB_WC_LOC_LEN_ERR;
	case IW_RDMAP_CATASTROPHIC:	/* the buffer is not writable */
		return IB_WC_LOC_PROT_ERR;
	default:
		return IB_WC_WR_FLUSH_ERR;
	}
}

/*
 * Begin a flush: stop the dequeuing of receives, and set NEED_WAKEUP. A program
 * that posts a receive later then enters the kernel, which flushes again.
 *
 * Return: the index after the last posted WQE; rq->head if the producer index
 * is invalid.
 */
static u32 begin_rq_flush(struct rnic_rq *rq)
{
	unsigned long flags;
	u32 n;

	lockdep_assert_held(&rq->flush_lock);
	spin_lock_irqsave(&rq->lock, flags);
	WRITE_ONCE(rq->flushing, true);
	WRITE_ONCE(rq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	/*
	 * Write flags before reading prod. Pairs with ring_publish_prod() of
	 * the provider, which writes prod before it reads flags. So either this
	 * function finds the new WQE, or the program enters the kernel. Without
	 * the barrier neither might happen, and the WQE would never be flushed.
	 * litmus: wakeup
	 */
	smp_mb();
	n = rnic_ring_count_posted(&rq->ring, rq->head, rq->tail);
	if (n == RING_IDX_INVALID)
		n = 0;
	n += rq->head;
	spin_unlock_irqrestore(&rq->lock, flags);
	return n;
}

/*
 * Remove the oldest WQE, whether it is already dequeued or only posted. Return:
 * its wr_id
 */
static u64 pop_oldest_recv(struct rnic_rq *rq)
{
	const struct rnic_sw_rqe *slot;
	unsigned long flags;
	u64 wr_id;

	spin_lock_irqsave(&rq->lock, flags);
	if (rq->tail == rq->head)
		rq->head++;
	slot = rnic_ring_get_slot(&rq->ring, rq->tail++);
	wr_id = READ_ONCE(slot->wr_id);
	rnic_ring_set_cons(&rq->ring, rq->tail);
	spin_unlock_irqrestore(&rq->lock, flags);
	return wr_id;
}

/*
 * Flush the receive that the queue pair has dequeued from the SRQ and not
 * completed, if any. All other WQEs remain in the SRQ for other queue pairs.
 * Then raise IB_EVENT_QP_LAST_WQE_REACHED, at most once for the queue pair.
 */
static void flush_srq_recv(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;
	struct rnic_sw_cqe cqe = {
		.wr_id = rq->wr_id,
		.qp_num = qp->ib.qp_num,
		.opcode = RNIC_SW_OP_RECV | RNIC_SW_OP_SEND,
		.status = get_recv_flush_status(qp),
		.vendor_err = rnic_qp_get_vendor_err(qp),
	};
	bool last;

	mutex_lock(&rq->flush_lock);
	if (rq->srq_recv_in_use) {
		rnic_count_recv(qp, cqe.status);
		rnic_cq_post_cqe(qp->rcq, &cqe, &qp->ib);
	}
	rq->srq_recv_in_use = false;
	last = !qp->last_wqe_reported;
	qp->last_wqe_reported = true;
	mutex_unlock(&rq->flush_lock);
	if (last)
		rnic_qp_raise_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

static void __flush_rq(struct rnic_qp *qp)
{
	struct rnic_sw_cqe cqe = {
		.qp_num = qp->ib.qp_num,
		.opcode = RNIC_SW_OP_RECV | RNIC_SW_OP_SEND,
		.vendor_err = rnic_qp_get_vendor_err(qp),
	};
	struct rnic_rq *rq = &qp->rq;
	u32 end = begin_rq_flush(rq);

	while (rq->tail != end) {
		cqe.status = rq->tail == rq->head ? IB_WC_WR_FLUSH_ERR :
						    get_recv_flush_status(qp);
		cqe.wr_id = pop_oldest_recv(rq);
		rnic_count_recv(qp, cqe.status);
		/* ignore an overrun, because rnic_cq_post_cqe() has reported it */
		rnic_cq_post_cqe(qp->rcq, &cqe, &qp->ib);
		cond_resched();
	}
}

/**
 * rnic_rq_flush - complete all posted receives with an error
 * @qp: queue pair in error state, whose stream ddp_stream_quiesce() has settled
 *
 * Flushes the receives that are posted when the flush begins. A program that
 * posts later finds NEED_WAKEUP set and enters the kernel, which flushes again.
 *
 * Context: process context, may sleep.
 */
void rnic_rq_flush(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;

	if (qp->srq) {
		flush_srq_recv(qp);
		return;
	}
	if (!rq->ring.slots)
		return;
	mutex_lock(&rq->flush_lock);
	__flush_rq(qp);
	mutex_unlock(&rq->flush_lock);
}

/* Flush receives that were posted after rnic_rq_flush(), unless rnic_qp_reset() has ended it */
static void flush_rq_again(struct rnic_qp *qp)
{
	mutex_lock(&qp->rq.flush_lock);
	if (qp->rq.flushing)
		__flush_rq(qp);
	mutex_unlock(&qp->rq.flush_lock);
}

static int rnic_rq_post_kernel_wrs(struct rnic_qp *qp, const struct ib_recv_wr *wr,
				   const struct ib_recv_wr **bad)
{
	struct rnic_rq *rq = &qp->rq;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (; wr; wr = wr->next) {
		err = -ENOMEM;
		if (rq->ring.slots)
			err = rnic_rqe_post(&rq->ring, READ_ONCE(rq->tail),
					    rq->max_sge, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	if (READ_ONCE(rq->flushing))
		rnic_qp_schedule_flush(qp);
	return err;
}

/**
 * rnic_rq_should_end_rnr_wait - check whether a receive is posted and not dequeued
 * @qp: the queue pair; its SRQ is checked if it has one
 *
 * Context: any.
 *
 * Return: true if a receive is posted, or if a message must not wait for a receive, because the
 * program has written an invalid producer index or a flush has begun; false otherwise.
 */
bool rnic_rq_should_end_rnr_wait(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;
	unsigned long flags;
	bool has;

	if (qp->srq)
		return rnic_srq_should_end_rnr_wait(qp->srq);
	spin_lock_irqsave(&rq->lock, flags);
	has = rq->flushing || rnic_ring_count_posted(&rq->ring, READ_ONCE(rq->head),
						     READ_ONCE(rq->tail));
	spin_unlock_irqrestore(&rq->lock, flags);
	return has;
}

/**
 * rnic_rq_try_set_wakeup - make a program that posts a receive enter the kernel
 * @qp: the queue pair, without SRQ
 *
 * Sets NEED_WAKEUP. The caller must then check for receives that were posted before, because the
 * program does not enter the kernel for them.
 *
 * Context: any.
 *
 * Return: true if NEED_WAKEUP was set for the caller; false if a flush has begun, which has set
 * NEED_WAKEUP for itself and needs it until the queue is reset.
 */
bool rnic_rq_try_set_wakeup(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&rq->lock, flags);
	ok = !rq->flushing;
	if (ok)
		WRITE_ONCE(rq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	spin_unlock_irqrestore(&rq->lock, flags);
	/*
	 * Write flags before the caller reads prod. Pairs with ring_publish_prod() of the
	 * provider, as in begin_rq_flush(); litmus: wakeup
	 */
	smp_mb();
	return ok;
}

/**
 * rnic_rq_clear_wakeup - undo rnic_rq_try_set_wakeup(), unless a flush has begun
 * @qp: the queue pair, without SRQ
 *
 * Context: any.
 */
void rnic_rq_clear_wakeup(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	if (!rq->flushing)
		WRITE_ONCE(rq->ring.hdr->flags, 0);
	spin_unlock_irqrestore(&rq->lock, flags);
}

/**
 * rnic_post_recv - post receive work requests (device operation)
 * @ib: the queue pair
 * @wr: list of requests of a kernel consumer. A program writes its requests to
 *	the ring itself, and passes NULL. The function then flushes these
 *	requests if a flush of the queue has begun, or lets a message that
 *	waits for a receive continue.
 * @bad: set to the first request that was not posted
 *
 * Return: 0 or a negative errno.
 */
int rnic_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad)
{
	struct rnic_qp *qp = to_rnic_qp(ib);
	int err = 0;

	if (qp->srq) {
		*bad = wr;
		return -EINVAL;
	}
	if (!rnic_qp_is_user(qp)) {
		err = rnic_rq_post_kernel_wrs(qp, wr, bad);
	} else if (wr) {
		*bad = wr;
		return -EINVAL;
	} else if (READ_ONCE(qp->rq.flushing)) {
		flush_rq_again(qp);
	}
	if (rnic_qp_peek_rnr(qp))
		rnic_rnr_end_wait_if_posted(qp);
	return err;
}
