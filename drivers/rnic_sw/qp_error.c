// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State changes and error reporting of a queue pair.  This file does not access the send
 * and receive queues: it schedules qp->err_work, whose function in qp.c flushes both.
 *
 * A queue pair stores only the first reason why its stream ended.
 */
#include "counters.h"
#include "rnic.h"
#include "trace.h"

/**
 * rnic_qp_raise_event - raise an asynchronous event
 * @qp: the queue pair
 * @event: the event
 *
 * Raises no event if the queue pair is being destroyed or reset.  The consumer's event handler
 * might otherwise destroy the queue pair a second time.
 *
 * Context: process context.
 */
void rnic_qp_raise_event(struct rnic_qp *qp, enum ib_event_type event)
{
	struct ib_event ev = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
		.event = event,
	};

	if (qp->ib.event_handler && !READ_ONCE(qp->discarding))
		qp->ib.event_handler(&ev, qp->ib.qp_context);
}

static bool __set_state(struct rnic_qp *qp, enum qp_state to)
{
	lockdep_assert_held(&qp->lock);
	if (!qp_state_may_change(qp->state, to))
		return false;
	trace_rnic_qp_state(qp, to);
	WRITE_ONCE(qp->state, to);
	return true;
}

/**
 * rnic_qp_set_state - change the state
 * @qp: the queue pair
 * @to: the new state
 *
 * Context: any.
 *
 * Return: true if the state has changed; false if the transition from the current state
 * to @to is not permitted.
 */
bool rnic_qp_set_state(struct rnic_qp *qp, enum qp_state to)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&qp->lock, flags);
	ok = __set_state(qp, to);
	spin_unlock_irqrestore(&qp->lock, flags);
	return ok;
}

/**
 * rnic_qp_schedule_flush - schedule the work item that flushes the queues
 * @qp: the queue pair, whose stream has failed; a reference is taken for the work item
 *
 * The work item first waits until the stream has stopped.
 *
 * Context: any.
 */
void rnic_qp_schedule_flush(struct rnic_qp *qp)
{
	kref_get(&qp->ref);
	if (!queue_work(rnic_wq, &qp->err_work))
		rnic_qp_put(qp);
}

/*
 * Move to state @to if that is permitted, and store @why if no reason is stored yet.
 *
 * Return: true if @why was stored, false if the queue pair had a reason already.
 */
static bool rnic_qp_enter_error(struct rnic_qp *qp, enum qp_state to,
				enum iw_reason why)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&qp->lock, flags);
	first = !qp->why;
	if (first)
		qp->why = why;
	__set_state(qp, to);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (first) {
		rnic_qp_add_to_counter(qp, RNIC_COUNTERS + why, 1);
		trace_rnic_qp_ended(qp, why);
	}
	return first;
}

void rdmap_report_failure(struct rdmap *r, const struct iw_failure *f)
{
	struct rnic_qp *qp = rdmap_to_qp(r);

	if (f->why == IW_PEER_TERMINATE)
		trace_rnic_peer_terminate(qp);
	rnic_qp_enter_error(qp, r->term_len || f->why == IW_PEER_TERMINATE ?
			QP_TERMINATE : QP_ERROR, f->why);
	rnic_qp_schedule_flush(qp);
}

void rdmap_report_down(struct rdmap *r, enum iw_reason why)
{
	struct rnic_qp *qp = rdmap_to_qp(r);

	if (rnic_qp_enter_error(qp, QP_ERROR, why))
		rnic_qp_schedule_flush(qp);
}

/**
 * rnic_qp_fail - fail the stream, abort its connection, and move the queue pair to ERROR
 * @qp: the queue pair, in any state
 * @why: the reason, one for which no Terminate is sent, because the connection is aborted;
 *	ignored if the stream has failed before
 *
 * A worker flushes the queues later.  If the queue pair is in TERMINATE, the worker also
 * moves it to ERROR.
 *
 * Context: any.
 */
void rnic_qp_fail(struct rnic_qp *qp, enum iw_reason why)
{
	rdmap_fail(&qp->rdmap, why);
	ddp_stream_close(&qp->rdmap.stream, IW_LOCAL_ABORT);
}
