// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Modify to RESET: end the stream of a queue pair, discard its work requests without completing
 * them, and return to the state after creation.
 *
 * The queue pair is hidden from lookups and discards its completions and events, as during
 * destruction, until no other context has a reference to it.  In contrast to a destruction, the
 * program may post and call other verbs at the same time.  Such calls use the queue pair without a
 * reference.  So the memory of the queue pair, its rings and their locks stay as they are.
 *
 * The indices of the rings keep their values, because the provider library owns one of them: a
 * reset consumes all WQEs that are posted.
 */
#include <linux/delay.h>
#include <linux/sched/mm.h>

#include "counters.h"
#include "rdv_qp.h"
#include "rnic.h"
#include "rnr.h"
#include "trace.h"

/* Check whether a ring has WQEs that are not completed */
static bool has_uncompleted_wqes(const struct rnic_ring *ring, u32 tail)
{
	return ring->slots && rnic_ring_read_prod(ring) != tail;
}

/* Check whether a queue pair has neither been connected nor got work requests since its creation */
static bool is_qp_unused(const struct rnic_qp *qp)
{
	return READ_ONCE(qp->state) == QP_IDLE && !rnic_qp_peek_rdv(qp) &&
	       !rcu_access_pointer(qp->rdmap.stream.llp) &&
	       !has_uncompleted_wqes(&qp->sq.ring, READ_ONCE(qp->sq.tail)) &&
	       !has_uncompleted_wqes(&qp->rq.ring, READ_ONCE(qp->rq.tail));
}

/*
 * Check whether rdma_cm uses the queue pair or has connected it.  Such a queue pair cannot be
 * reset: iw_cm may keep its reference until the program destroys the ID, and would then move the
 * queue pair, which may be connected again, to the error state.
 */
static bool is_used_by_cm(struct rnic_qp *qp)
{
	return rnic_qp_cm_has_refs(qp) ||
	       (!rnic_qp_peek_rdv(qp) && rcu_access_pointer(qp->rdmap.stream.llp));
}

/*
 * Begin to discard completions, and fail the stream.  The caller holds modify_lock, so no modify to
 * RTR can begin a rendezvous.  Return: 0 or a negative errno.
 */
static int __begin_reset(struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->dev->rdv_lock);
	if (is_used_by_cm(qp))
		return -EINVAL;
	rnic_qp_unpublish(qp);
	/* iw_cm may have found the queue pair in the meantime */
	if (is_used_by_cm(qp)) {
		rnic_qp_republish(qp);
		return -EINVAL;
	}
	WRITE_ONCE(qp->discarding, true);
	WRITE_ONCE(qp->error_requested, true);
	rnic_qp_fail(qp, IW_LOCAL_ABORT);
	return 0;
}

/*
 * End the stream, and wait until only the caller has a reference to the queue pair.  Poll, because
 * a post may take another reference at any time.
 */
static void end_old_stream(struct rnic_qp *qp)
{
	rnic_rdv_stop(qp);
	rnic_qp_count_new_retransmits(qp);
	ddp_stream_unbind(&qp->rdmap.stream);
	/*
	 * Write discarding before reading the count, so that needs_flush() sees discarding if the
	 * worker has got its reference later; litmus: none
	 */
	smp_mb();
	while (kref_read(&qp->ref) > 1)
		usleep_range(50, 500);
	/* the reads below see what the last holder of a reference has written; litmus: none */
	smp_acquire__after_ctrl_dep();
	rnic_qp_reset_retransmits(qp);
	rnic_rnr_reset(qp);
}

static u32 get_posted_end(const struct rnic_ring *ring, u32 head, u32 tail)
{
	u32 n = rnic_ring_count_posted(ring, head, tail);

	return n == RING_IDX_INVALID ? head : head + n;
}

/* Wait until no context is completing requests, and return with sq->lock held */
static unsigned long wait_idle_and_lock_sq(struct rnic_sq *sq)
	__acquires(&sq->lock)
{
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	while (sq->completing) {
		spin_unlock_irqrestore(&sq->lock, flags);
		usleep_range(5, 50);
		spin_lock_irqsave(&sq->lock, flags);
	}
	return flags;
}

/* Leave the timer of coalesced posts armed, because it only schedules the transmit path */
static void reset_sq(struct rnic_sq *sq)
{
	unsigned long flags = wait_idle_and_lock_sq(sq);
	u32 end = get_posted_end(&sq->ring, sq->head, sq->tail);

	sq->head = end;
	WRITE_ONCE(sq->tail, end);
	sq->segmented_end = end;
	sq->prod_seen = end;
	sq->sent = end;
	WRITE_ONCE(sq->flush_end, end);
	sq->closing = false;
	sq->error_completed = false;
	sq->remote_err_reported = false;
	WRITE_ONCE(sq->flushing, false);
	WRITE_ONCE(sq->ended, false);
	rnic_ring_set_cons(&sq->ring, end);
	WRITE_ONCE(sq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	spin_unlock_irqrestore(&sq->lock, flags);
}

static void __discard_recvs(struct rnic_rq *rq)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	rq->head = get_posted_end(&rq->ring, rq->head, rq->tail);
	WRITE_ONCE(rq->tail, rq->head);
	WRITE_ONCE(rq->flushing, false);
	rnic_ring_set_cons(&rq->ring, rq->tail);
	WRITE_ONCE(rq->ring.hdr->flags, 0);
	spin_unlock_irqrestore(&rq->lock, flags);
}

/* A receive that was dequeued from an SRQ is lost, as in InfiniBand */
static void reset_rq(struct rnic_qp *qp)
{
	struct rnic_rq *rq = &qp->rq;

	mutex_lock(&rq->flush_lock);
	if (rq->ring.slots)
		__discard_recvs(rq);
	rq->wr_id = 0;
	rq->srq_recv_in_use = false;
	rq->recv_invalid = false;
	qp->last_wqe_reported = false;
	mutex_unlock(&rq->flush_lock);
}

static void reset_attributes(struct rnic_qp *qp)
{
	WRITE_ONCE(qp->ird_max, RDMAP_DEPTH_MAX);
	WRITE_ONCE(qp->ord_max, RDMAP_DEPTH_MAX);
	qp->init_access = 0;
	rnic_qp_set_rights(qp, RNIC_QP_ALL_RIGHTS, false);
}

static void reset_state(struct rnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	trace_rnic_qp_state(qp, QP_IDLE);
	WRITE_ONCE(qp->state, QP_IDLE);
	WRITE_ONCE(qp->why, IW_OK);
	WRITE_ONCE(qp->error_requested, false);
	qp->error_reported = false;
	spin_unlock_irqrestore(&qp->lock, flags);
}

/*
 * Initialize the stream again, and permit a modify to RTR or ERR.  A modify to ERR may fail the
 * new stream while qp->discarding is still set, so that the worker flushes nothing; then schedule
 * the flush again.
 */
static void __reinit_stream(struct rnic_qp *qp)
{
	lockdep_assert_held(&qp->dev->rdv_lock);
	rnic_rdv_free(qp);
	reset_attributes(qp);
	reset_state(qp);
	rdmap_free_queues(&qp->rdmap);
	rdmap_reset(&qp->rdmap);
	/* pairs with the acquire in needs_flush(); litmus: publish */
	smp_store_release(&qp->discarding, false);
	/* write discarding before reading failed; litmus: failed */
	smp_mb();
	if (test_bit(0, &qp->rdmap.stream.failed))
		rnic_qp_schedule_flush(qp);
}

/*
 * Return to the state after creation.  No other context uses the QP, because its stream has ended.
 */
static void finish_reset(struct rnic_qp *qp)
{
	reset_sq(&qp->sq);
	reset_rq(qp);
	rnic_cq_drop_qp_cqes(qp->scq, &qp->ib);
	rnic_cq_drop_qp_cqes(qp->rcq, &qp->ib);
	mutex_lock(&qp->dev->rdv_lock);
	__reinit_stream(qp);
	mutex_unlock(&qp->dev->rdv_lock);
	rnic_qp_republish(qp);
}

static int end_stream_and_reset(struct rnic_qp *qp)
{
	int err;

	mutex_lock(&qp->dev->rdv_lock);
	err = __begin_reset(qp);
	mutex_unlock(&qp->dev->rdv_lock);
	if (err)
		return err;
	end_old_stream(qp);
	finish_reset(qp);
	return 0;
}

/**
 * rnic_qp_reset - move a queue pair to RESET
 * @qp: the queue pair, in any state
 *
 * Aborts the stream, if there is one.  Discards posted work requests and, for a kernel consumer,
 * completions that are not polled yet; a provider library discards those of its program.  A receive
 * that was taken from an SRQ is lost, and the other receives stay in the SRQ.  Completion counters
 * stay attached and do not count the discarded requests.
 *
 * Context: process, modify_lock held; sleeps until the LLP has dropped its references to the queue
 * pair and its event handlers have returned, but does not wait for the peer.
 *
 * Return: 0; -EINVAL if rdma_cm has connected the queue pair or is connecting it.
 */
int rnic_qp_reset(struct rnic_qp *qp)
{
	unsigned int noio;
	int err;

	if (is_qp_unused(qp)) {
		reset_attributes(qp);
		return 0;
	}
	/* workers wait for rdv_lock, and memory reclaim may wait for the workers */
	noio = memalloc_noio_save();
	err = end_stream_and_reset(qp);
	memalloc_noio_restore(noio);
	return err;
}
