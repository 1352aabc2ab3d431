// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events of completion queues: call the completion handler on the right CPU.
 *
 * The handler of a kernel consumer is called on the CPU of its completion
 * vector, and ib_core polls the CQ there. As with hardware, an interrupt (IPI)
 * brings the event to that CPU. There is no IPI if the completing context
 * already runs on that CPU or if the CPU is offline. On PREEMPT_RT, where
 * handlers may sleep on locks, the handler is called where the completion is
 * written. So is the handler of a program; the scheduler decides where the
 * program then runs.
 *
 * Only one context at a time calls the handler of a kernel consumer
 * (Documentation/infiniband/core_locking.rst). A context that finds cq->notifying
 * clear sets it and calls the handler or sends the IPI. cq->notifying stays set
 * until all requested events are delivered. All other contexts only increment
 * cq->ev_requested.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "rnic.h"

/*
 * Maximum number of handler calls in one pass. A handler that arms the CQ can
 * cause another event during each call.
 */
#define NOTIFY_MAX	16

/*
 * The other contexts rely on the one that calls the handler, so it must not be
 * preempted. On PREEMPT_RT it may be: handlers may sleep on locks.
 */
static void begin_notify(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

static void end_notify(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

/*
 * Call the handler until all requested events are delivered, at most TELL_MOST
 * times; leave the rest to a softirq. cq->notifying is set and belongs to the
 * caller.
 */
static void rnic_cq_notify_and_unlock(struct rnic_cq *cq, unsigned long flags)
	__releases(&cq->lock)
{
	u32 end, calls = 0;
	bool more;

	begin_notify();
	do {
		end = cq->ev_requested;
		spin_unlock_irqrestore(&cq->lock, flags);
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		spin_lock_irqsave(&cq->lock, flags);
		cq->ev_done = end;
		more = cq->ev_requested != end;
	} while (more && ++calls < NOTIFY_MAX);
	cq->notifying = more;
	/* from here on @cq may be freed if no event is left */
	spin_unlock_irqrestore(&cq->lock, flags);
	if (more)
		compat_bh_raise(&cq->notify_bh);
	end_notify();
}

static void rnic_cq_notify_here(void *info)
{
	struct rnic_cq *cq = info;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	rnic_cq_notify_and_unlock(cq, flags);
}

static void rnic_cq_notify_bh(struct compat_bh *notify_bh)
{
	rnic_cq_notify_here(container_of(notify_bh, struct rnic_cq, notify_bh));
}

/**
 * rnic_cq_notify_init - initialize the event delivery of a completion queue
 * @cq: the completion queue
 * @vector: completion vector, below num_comp_vectors of the device
 */
void rnic_cq_notify_init(struct rnic_cq *cq, u32 vector)
{
	INIT_CSD(&cq->call, rnic_cq_notify_here, cq);
	compat_bh_init(&cq->notify_bh, rnic_cq_notify_bh);
	cq->cpu = cpumask_nth(vector, cpu_possible_mask);
}

/**
 * rnic_cq_notify_exit - stop the event delivery of a completion queue
 * @cq: the completion queue, after rnic_cq_notify_wait()
 *
 * Process context, may sleep.
 */
void rnic_cq_notify_exit(struct rnic_cq *cq)
{
	compat_bh_end(&cq->notify_bh);
}

/*
 * Leave the event to the CPU of the completion vector.
 *
 * Return: true if that CPU will call the handler, false if the caller must.
 */
static bool __notify_remote(struct rnic_cq *cq)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return false;
	/*
	 * On the same CPU the function would be called at once and deadlock on
	 * cq->lock. With the lock held and interrupts off the CPU cannot
	 * change.
	 */
	if (cq->cpu == smp_processor_id())
		return false;
	/* fails if that CPU is offline */
	return !smp_call_function_single_async(cq->cpu, &cq->call);
}

/*
 * Start event delivery unless it is already under way.
 *
 * Return: true if the caller must call the handler; false if another context or
 * the CPU of the completion vector does.
 */
static bool __start_notify(struct rnic_cq *cq)
{
	if (cq->notifying)
		return false;
	cq->notifying = true;
	return !__notify_remote(cq);
}

/**
 * rnic_cq_notify - deliver an event of a completion queue
 * @cq: the completion queue, for which the consumer has requested an event
 *
 * Any context.
 */
void rnic_cq_notify(struct rnic_cq *cq)
{
	unsigned long flags;

	if (!cq->ib.comp_handler)
		return;
	/* the handler of ib_core for programs, which has its own lock */
	if (rnic_cq_is_user(cq)) {
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		return;
	}
	spin_lock_irqsave(&cq->lock, flags);
	cq->ev_requested++;
	if (__start_notify(cq))
		rnic_cq_notify_and_unlock(cq, flags);
	else
		spin_unlock_irqrestore(&cq->lock, flags);
}

static u32 cq_events_requested(struct rnic_cq *cq)
{
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&cq->lock, flags);
	n = cq->ev_requested;
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

static bool cq_has_notified(struct rnic_cq *cq, u32 end)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&cq->lock, flags);
	done = !ring_idx_before(cq->ev_done, end);
	spin_unlock_irqrestore(&cq->lock, flags);
	return done;
}

/**
 * rnic_cq_notify_wait - wait until all events requested so far have been delivered
 * @cq: the completion queue; other queue pairs may still complete to it
 *
 * Process context, sleeps. Must not be called from the handler of the CQ.
 */
void rnic_cq_notify_wait(struct rnic_cq *cq)
{
	u32 end = cq_events_requested(cq);

	while (!cq_has_notified(cq, end))
		usleep_range(5, 50);
}
