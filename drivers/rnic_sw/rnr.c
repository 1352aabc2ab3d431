// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiver not ready (RNR): a message for which no receive is posted waits in the LLP's queue.
 *
 * The receive path of the stream waits in the same way as for a page fault: the LLP keeps the
 * segment, and passes it again after ddp_fault_complete().  While a message waits, the ring of the
 * RQ or SRQ has NEED_WAKEUP set, so a program that posts a receive must enter the kernel.
 *
 * The messages that wait for an SRQ are in a list, the oldest first.  A post ends the waits of as
 * many of them as there are receives.  These receives count as promised, so that no context ends
 * the wait of a further message for the same receives.  But a stream whose message has just arrived
 * may dequeue a promised receive; the message to which the receive was promised then waits again.
 *
 * A stream may also fail after its wait has ended, so that its promised receive stays in the SRQ.
 * No post then ends the wait of another message, so a work item also checks the SRQ at long
 * intervals.  If an old provider library does not ring the doorbell of an SRQ, the work item checks
 * the SRQ at short intervals.
 *
 * When the time limit expires, the LLP passes the message once more.  If there is still no receive,
 * DDP ends the stream with the Terminate for a missing buffer.
 */
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "rdv_time.h"
#include "rnic.h"
#include "rnr.h"

/* Intervals at which the work item checks an SRQ */
#define POLL_MS		100
#define POLL_OLD_MS	5	/* for a library that rings no doorbell */

struct rnic_rnr {
	struct rnic_qp		*qp;
	spinlock_t		lock;		/* taken before the lock of the RQ or SRQ */
	u32			limit_ms;	/* RDV_FOREVER: no limit */
	bool			waiting;	/* a message waits for a receive */
	bool			expired;	/* limit_ms was exceeded once: never wait again */
	unsigned long		since;		/* start of the wait, in jiffies */
	/* in rnic_srq.waiters while a message waits; protected by rnic_srq.lock */
	struct list_head	entry;
	struct delayed_work	work;
};

static bool has_rnr_limit_passed(const struct rnic_rnr *rnr)
{
	u32 limit = READ_ONCE(rnr->limit_ms);

	return limit != RDV_FOREVER &&
	       time_after_eq(jiffies, rnr->since + msecs_to_jiffies(limit));
}

/* Get the time until the next check of the SRQ, in jiffies; LONG_MAX if there is no SRQ */
static long get_srq_check_delay(const struct rnic_srq *srq)
{
	if (!srq)
		return LONG_MAX;
	return msecs_to_jiffies(READ_ONCE(srq->rings) ? POLL_MS : POLL_OLD_MS);
}

/*
 * Queue the work item, if necessary, for the next check of the SRQ or for the end of the time limit
 */
static void __queue_rnr_check(struct rnic_rnr *rnr)
{
	u32 limit = READ_ONCE(rnr->limit_ms);
	long delay = get_srq_check_delay(rnr->qp->srq);

	lockdep_assert_held(&rnr->lock);
	if (limit != RDV_FOREVER)
		delay = min_t(long, delay, rnr->since + msecs_to_jiffies(limit) - jiffies);
	if (delay != LONG_MAX)
		queue_delayed_work(rnic_wq, &rnr->work, max(delay, 1L));
}

/* Add the message to the list of its SRQ, and make a program that posts enter the kernel */
static void __add_srq_waiter(struct rnic_rnr *rnr)
{
	struct rnic_srq *srq = rnr->qp->srq;

	lockdep_assert_held(&rnr->lock);
	spin_lock(&srq->lock);
	list_add_tail(&rnr->entry, &srq->waiters);
	WRITE_ONCE(srq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	spin_unlock(&srq->lock);
	/*
	 * Write flags before the caller reads prod. Pairs with ring_publish_prod() of the
	 * provider; litmus: wakeup
	 */
	smp_mb();
}

static void __remove_srq_waiter(struct rnic_rnr *rnr)
{
	struct rnic_srq *srq = rnr->qp->srq;

	lockdep_assert_held(&rnr->lock);
	spin_lock(&srq->lock);
	list_del_init(&rnr->entry);
	if (list_empty(&srq->waiters))
		WRITE_ONCE(srq->ring.hdr->flags, 0);
	spin_unlock(&srq->lock);
}

/* Set NEED_WAKEUP.  Return: false if a flush of the RQ has begun, else true */
static bool __try_set_wakeup(struct rnic_rnr *rnr)
{
	if (!rnr->qp->srq)
		return rnic_rq_try_set_wakeup(rnr->qp);
	__add_srq_waiter(rnr);
	return true;
}

static void __clear_wakeup(struct rnic_rnr *rnr)
{
	if (rnr->qp->srq)
		__remove_srq_waiter(rnr);
	else
		rnic_rq_clear_wakeup(rnr->qp);
}

/* End the wait: the LLP passes the segment again */
static void __end_rnr_wait(struct rnic_rnr *rnr)
{
	lockdep_assert_held(&rnr->lock);
	rnr->waiting = false;
	__clear_wakeup(rnr);
	ddp_fault_complete(&rnr->qp->rdmap.stream.rx_fault, false);
}

/*
 * Cancel the wait because DDP unbinds the stream. On return __end_rnr_wait() does not run and
 * will not run.
 */
static void rnic_rnr_cancel(struct ddp_fault *w)
{
	struct rnic_rnr *rnr = w->mem;
	unsigned long flags;

	spin_lock_irqsave(&rnr->lock, flags);
	rnr->waiting = false;
	if (rnr->qp->srq)
		__remove_srq_waiter(rnr);
	w->pending = false;
	spin_unlock_irqrestore(&rnr->lock, flags);
}

static const struct ddp_mem_ops rnr_ops = { .cancel = rnic_rnr_cancel };

enum iw_reason rdmap_rq_dequeue_or_wait(struct rdmap *r)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_rnr *rnr = rnic_qp_peek_rnr(qp);
	enum iw_reason why = IW_AGAIN;
	unsigned long flags;

	if (!rnr || !READ_ONCE(rnr->limit_ms) || rnr->expired || (!qp->srq && !qp->rq.ring.slots))
		return IW_DDP_U_NO_BUFFER;
	spin_lock_irqsave(&rnr->lock, flags);
	ddp_rx_begin_wait(&r->stream, &rnr_ops, rnr);
	rnr->waiting = true;
	rnr->since = jiffies;
	/*
	 * a receive that is posted from now on ends the wait, see the top of this file; check for
	 * receives that were posted before
	 */
	if (!__try_set_wakeup(rnr) || rnic_rq_should_end_rnr_wait(qp)) {
		rnr->waiting = false;
		__clear_wakeup(rnr);
		ddp_rx_cancel_wait(&r->stream);
		why = IW_OK;
	} else {
		__queue_rnr_check(rnr);
	}
	spin_unlock_irqrestore(&rnr->lock, flags);
	return why ?: rdmap_rq_dequeue(r);
}

/* End the wait of a message if a receive is posted.  Return: true if no message waits any more */
static bool try_end_rnr_wait(struct rnic_rnr *rnr)
{
	unsigned long flags;
	bool waits;

	spin_lock_irqsave(&rnr->lock, flags);
	if (rnr->waiting && rnic_rq_should_end_rnr_wait(rnr->qp))
		__end_rnr_wait(rnr);
	waits = rnr->waiting;
	spin_unlock_irqrestore(&rnr->lock, flags);
	return !waits;
}

/**
 * rnic_rnr_end_wait_if_posted - end the wait of a message if a receive has been posted
 * @qp: a queue pair for which rnic_rnr_enable() has succeeded
 *
 * Called after a program or kernel consumer has posted a receive to the queue pair.
 *
 * Context: any.
 */
void rnic_rnr_end_wait_if_posted(struct rnic_qp *qp)
{
	struct rnic_rnr *rnr = rnic_qp_peek_rnr(qp);

	if (READ_ONCE(rnr->waiting))
		try_end_rnr_wait(rnr);
}

/*
 * Promise a receive to the message that has waited longest for an SRQ.  kref_get() is safe here: a
 * queue pair in the list still has its initial reference, because rnic_rnr_cancel() removes the
 * queue pair from the list before that reference is dropped.
 *
 * Return: the message, with a reference to its queue pair; NULL if no message waits, or if all
 * receives are promised.
 */
static struct rnic_rnr *promise_recv_to_oldest_waiter(struct rnic_srq *srq)
{
	struct rnic_rnr *rnr;
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	rnr = list_first_entry_or_null(&srq->waiters, struct rnic_rnr, entry);
	if (rnr && !__rnic_srq_try_promise_recv(srq))
		rnr = NULL;
	if (rnr)
		kref_get(&rnr->qp->ref);
	spin_unlock_irqrestore(&srq->lock, flags);
	return rnr;
}

/**
 * rnic_rnr_wake_srq_waiters - end the waits of messages for receives of an SRQ
 * @srq: the SRQ
 *
 * Ends at most as many waits as receives are posted, the longest waits first.
 *
 * Context: any.
 */
void rnic_rnr_wake_srq_waiters(struct rnic_srq *srq)
{
	struct rnic_rnr *rnr;
	bool posted = true;

	while (posted && (rnr = promise_recv_to_oldest_waiter(srq))) {
		posted = try_end_rnr_wait(rnr);
		rnic_qp_put(rnr->qp);
	}
}

/**
 * rnic_rnr_set_limit - set how long a message may wait for a receive
 * @qp: a queue pair for which rnic_rnr_enable() has succeeded
 * @ms: milliseconds; 0 to send a Terminate at once; RDV_FOREVER for no limit
 *
 * Applies to messages that begin to wait from now on.
 */
void rnic_rnr_set_limit(struct rnic_qp *qp, u32 ms)
{
	WRITE_ONCE(qp->rnr->limit_ms, ms);
}

/* End the wait if the time limit has expired, or if the RQ has a receive; else check again later */
static void __end_or_continue_rnr_wait(struct rnic_rnr *rnr)
{
	bool has_recv = rnic_rq_should_end_rnr_wait(rnr->qp);

	lockdep_assert_held(&rnr->lock);
	/* if a receive was posted in time, later messages must still be able to wait */
	rnr->expired = !has_recv && has_rnr_limit_passed(rnr);
	/* a receive of an SRQ may be for an older message: rnic_rnr_wake_srq_waiters() decides */
	if (rnr->expired || (has_recv && !rnr->qp->srq))
		__end_rnr_wait(rnr);
	else
		__queue_rnr_check(rnr);
}

static void rnic_rnr_work(struct work_struct *work)
{
	struct rnic_rnr *rnr = container_of(to_delayed_work(work), struct rnic_rnr, work);
	unsigned long flags;

	if (rnr->qp->srq)
		rnic_rnr_wake_srq_waiters(rnr->qp->srq);
	spin_lock_irqsave(&rnr->lock, flags);
	if (rnr->waiting)
		__end_or_continue_rnr_wait(rnr);
	spin_unlock_irqrestore(&rnr->lock, flags);
}

static struct rnic_rnr *new_rnr(struct rnic_qp *qp)
{
	struct rnic_rnr *rnr = kzalloc(sizeof(*rnr), GFP_KERNEL_ACCOUNT);

	if (!rnr)
		return NULL;
	rnr->qp = qp;
	INIT_LIST_HEAD(&rnr->entry);
	spin_lock_init(&rnr->lock);
	INIT_DELAYED_WORK(&rnr->work, rnic_rnr_work);
	return rnr;
}

/**
 * rnic_rnr_enable - let messages to a queue pair wait for receives
 * @qp: the queue pair; its stream must not have started, and no other call may run for it
 * @ms: as for rnic_rnr_set_limit()
 *
 * May be called again to replace the limit.
 *
 * Context: process; may sleep.
 *
 * Return: 0; -ENOMEM if memory is short.
 */
int rnic_rnr_enable(struct rnic_qp *qp, u32 ms)
{
	struct rnic_rnr *rnr = qp->rnr ?: ms ? new_rnr(qp) : NULL;

	if (!rnr)
		return ms ? -ENOMEM : 0;
	rnr->limit_ms = ms;
	/* pairs with the acquire in rnic_qp_peek_rnr(); litmus: publish */
	smp_store_release(&qp->rnr, rnr);
	return 0;
}

/**
 * rnic_rnr_reset - let no message wait until rnic_rnr_enable() is called again
 * @qp: the queue pair; its stream must be unbound
 *
 * Keeps the memory, which a post may be reading.
 *
 * Context: process; may sleep.
 */
void rnic_rnr_reset(struct rnic_qp *qp)
{
	struct rnic_rnr *rnr = qp->rnr;

	if (!rnr)
		return;
	cancel_delayed_work_sync(&rnr->work);
	WRITE_ONCE(rnr->limit_ms, 0);
	rnr->expired = false;
}

/**
 * rnic_rnr_free - free the memory that rnic_rnr_enable() has allocated
 * @qp: the queue pair; its stream must be unbound
 */
void rnic_rnr_free(struct rnic_qp *qp)
{
	struct rnic_rnr *rnr = qp->rnr;

	if (!rnr)
		return;
	cancel_delayed_work_sync(&rnr->work);
	kfree(rnr);
}
