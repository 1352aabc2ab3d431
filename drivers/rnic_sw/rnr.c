// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiver not ready (RNR): a message for which no receive is posted waits in the LLP's queue.
 *
 * The receive path of the stream waits in the same way as for a page fault: the LLP keeps the
 * segment, and passes it again after ddp_fault_complete().  While a message waits, the receive ring
 * has NEED_WAKEUP set, so a program that posts a receive must enter the kernel.  Programs post to
 * an SRQ without entering the kernel, so the work item checks the SRQ at intervals.
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

#define POLL_MS		5	/* interval in which the work item checks an SRQ */

struct rnic_rnr {
	struct rnic_qp		*qp;
	spinlock_t		lock;		/* outside the locks of RQ and SRQ */
	u32			limit_ms;	/* RDV_FOREVER: no limit */
	bool			waiting;	/* a message waits */
	bool			expired;	/* limit_ms was exceeded once: never wait again */
	unsigned long		since;		/* begin of the wait, in jiffies */
	struct delayed_work	work;
};

static bool has_limit_passed(const struct rnic_rnr *rnr)
{
	u32 limit = READ_ONCE(rnr->limit_ms);

	return limit != RDV_FOREVER &&
	       time_after_eq(jiffies, rnr->since + msecs_to_jiffies(limit));
}

/*
 * Queue the work item, if necessary, for the next check of the SRQ or for the end of the time limit
 */
static void __queue_rnr_check(struct rnic_rnr *rnr)
{
	u32 limit = READ_ONCE(rnr->limit_ms);

	lockdep_assert_held(&rnr->lock);
	if (rnr->qp->srq)
		queue_delayed_work(rnic_wq, &rnr->work, msecs_to_jiffies(POLL_MS));
	else if (limit != RDV_FOREVER)
		queue_delayed_work(rnic_wq, &rnr->work,
				   max_t(long, rnr->since + msecs_to_jiffies(limit) - jiffies, 1));
}

/* End the wait: the LLP passes the segment again */
static void __end_rnr_wait(struct rnic_rnr *rnr)
{
	lockdep_assert_held(&rnr->lock);
	rnr->waiting = false;
	if (!rnr->qp->srq)
		rnic_rq_clear_wakeup(rnr->qp);
	ddp_fault_complete(&rnr->qp->rdmap.stream.rx_fault, false);
}

static void rnic_rnr_work(struct work_struct *work)
{
	struct rnic_rnr *rnr = container_of(to_delayed_work(work), struct rnic_rnr, work);
	unsigned long flags;

	spin_lock_irqsave(&rnr->lock, flags);
	if (rnr->waiting) {
		/* if a receive was posted in time, later messages must still be able to wait */
		rnr->expired = !rnic_rq_has_recv(rnr->qp) && has_limit_passed(rnr);
		if (rnr->expired || rnic_rq_has_recv(rnr->qp))
			__end_rnr_wait(rnr);
		else
			__queue_rnr_check(rnr);
	}
	spin_unlock_irqrestore(&rnr->lock, flags);
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
	w->pending = false;
	spin_unlock_irqrestore(&rnr->lock, flags);
}

static const struct ddp_mem_ops rnr_ops = { .cancel = rnic_rnr_cancel };

enum iw_reason rdmap_rq_dequeue_or_wait(struct rdmap *r)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_rnr *rnr = rnic_qp_rnr(qp);
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
	if ((!qp->srq && !rnic_rq_try_set_wakeup(qp)) || rnic_rq_has_recv(qp)) {
		rnr->waiting = false;
		if (!qp->srq)
			rnic_rq_clear_wakeup(qp);
		ddp_rx_cancel_wait(&r->stream);
		why = IW_OK;
	} else {
		__queue_rnr_check(rnr);
	}
	spin_unlock_irqrestore(&rnr->lock, flags);
	return why ?: rdmap_rq_dequeue(r);
}

/**
 * rnic_rnr_end_wait_if_posted - end the wait of a message if a receive has been posted
 * @qp: a queue pair for which rnic_rnr_add() has succeeded
 *
 * Called after a program or kernel consumer has posted a receive to the queue pair.
 *
 * Context: any.
 */
void rnic_rnr_end_wait_if_posted(struct rnic_qp *qp)
{
	struct rnic_rnr *rnr = rnic_qp_rnr(qp);
	unsigned long flags;

	if (!READ_ONCE(rnr->waiting))
		return;
	spin_lock_irqsave(&rnr->lock, flags);
	if (rnr->waiting && rnic_rq_has_recv(rnr->qp))
		__end_rnr_wait(rnr);
	spin_unlock_irqrestore(&rnr->lock, flags);
}

/**
 * rnic_rnr_set_limit - set how long a message may wait for a receive
 * @qp: a queue pair for which rnic_rnr_add() has succeeded
 * @ms: milliseconds; 0 to send a Terminate at once; RDV_FOREVER for no limit
 *
 * Applies to messages that begin to wait from now on.
 */
void rnic_rnr_set_limit(struct rnic_qp *qp, u32 ms)
{
	WRITE_ONCE(qp->rnr->limit_ms, ms);
}

static struct rnic_rnr *new_rnr(struct rnic_qp *qp)
{
	struct rnic_rnr *rnr = kzalloc(sizeof(*rnr), GFP_KERNEL_ACCOUNT);

	if (!rnr)
		return NULL;
	rnr->qp = qp;
	spin_lock_init(&rnr->lock);
	INIT_DELAYED_WORK(&rnr->work, rnic_rnr_work);
	return rnr;
}

/**
 * rnic_rnr_add - let messages to a queue pair wait for receives
 * @qp: the queue pair; its stream must not have started, and no other call may run for it
 * @ms: as for rnic_rnr_set_limit()
 *
 * May be called again to replace the limit.
 *
 * Context: process; may sleep.
 *
 * Return: 0; -ENOMEM if memory is short.
 */
int rnic_rnr_add(struct rnic_qp *qp, u32 ms)
{
	struct rnic_rnr *rnr = qp->rnr ?: ms ? new_rnr(qp) : NULL;

	if (!rnr)
		return ms ? -ENOMEM : 0;
	rnr->limit_ms = ms;
	/* pairs with the acquire in rnic_qp_rnr(); litmus: publish */
	smp_store_release(&qp->rnr, rnr);
	return 0;
}

/**
 * rnic_rnr_reset - let no message wait until rnic_rnr_add() is called again
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
 * rnic_rnr_free - free the memory that rnic_rnr_add() has allocated
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
