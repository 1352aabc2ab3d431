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
 * (Documentation/infiniband/core_locking.rst). A context that finds cq->telling
 * clear sets it and calls the handler or sends the IPI. cq->telling stays set
 * until all requested events are delivered. All other contexts only increment
 * cq->asked.
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
#define TELL_MOST	16

/*
 * The other contexts rely on the one that calls the handler, so it must not be
 * preempted. On PREEMPT_RT it may be: handlers may sleep on locks.
 */
static void begin_telling(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

static void end_telling(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

/*
 * Call the handler until all requested events are delivered, at most TELL_MOST
 * times; leave the rest to a softirq. cq->telling is set and belongs to the
 * caller.
 */
static void rnic_cq_tell_and_unlock(struct rnic_cq *cq, unsigned long flags)
	__releases(&cq->lock)
{
	u32 end, calls = 0;
	bool more;

	begin_telling();
	do {
		end = cq->asked;
		spin_unlock_irqrestore(&cq->lock, flags);
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		spin_lock_irqsave(&cq->lock, flags);
		cq->told = end;
		more = cq->asked != end;
	} while (more && ++calls < TELL_MOST);
	cq->telling = more;
	/* from here on @cq may be freed if no event is left */
	spin_unlock_irqrestore(&cq->lock, flags);
	if (more)
		compat_bh_raise(&cq->rest);
	end_telling();
}

static void rnic_cq_tell_here(void *info)
{
	struct rnic_cq *cq = info;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	rnic_cq_tell_and_unlock(cq, flags);
}

static void rnic_cq_tell_rest(struct compat_bh *rest)
{
	rnic_cq_tell_here(container_of(rest, struct rnic_cq, rest));
}

/**
 * rnic_cq_tell_init - initialize the event delivery of a completion queue
 * @cq: the completion queue
 * @vector: completion vector, below num_comp_vectors of the device
 */
void rnic_cq_tell_init(struct rnic_cq *cq, u32 vector)
{
	INIT_CSD(&cq->call, rnic_cq_tell_here, cq);
	compat_bh_init(&cq->rest, rnic_cq_tell_rest);
	cq->cpu = cpumask_nth(vector, cpu_possible_mask);
}

/**
 * rnic_cq_tell_exit - stop the event delivery of a completion queue
 * @cq: the completion queue, after rnic_cq_told()
 *
 * Process context, may sleep.
 */
void rnic_cq_tell_exit(struct rnic_cq *cq)
{
	compat_bh_end(&cq->rest);
}

/*
 * Leave the event to the CPU of the completion vector.
 *
 * Return: true if that CPU will call the handler, false if the caller must.
 */
static bool __tell_there(struct rnic_cq *cq)
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
static bool __takes_over(struct rnic_cq *cq)
{
	if (cq->telling)
		return false;
	cq->telling = true;
	return !__tell_there(cq);
}

/**
 * rnic_cq_tell - deliver an event of a completion queue
 * @cq: the completion queue, for which the consumer has requested an event
 *
 * Any context.
 */
void rnic_cq_tell(struct rnic_cq *cq)
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
	cq->asked++;
	if (__takes_over(cq))
		rnic_cq_tell_and_unlock(cq, flags);
	else
		spin_unlock_irqrestore(&cq->lock, flags);
}

static u32 cq_asked(struct rnic_cq *cq)
{
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&cq->lock, flags);
	n = cq->asked;
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

static bool cq_told_up_to(struct rnic_cq *cq, u32 end)
{
	unsigned long flags;
	bool told;

	spin_lock_irqsave(&cq->lock, flags);
	told = !ring_idx_before(cq->told, end);
	spin_unlock_irqrestore(&cq->lock, flags);
	return told;
}

/**
 * rnic_cq_told - wait until all events requested so far have been delivered
 * @cq: the completion queue; other queue pairs may still complete to it
 *
 * Process context, sleeps. Must not be called from the handler of the CQ.
 */
void rnic_cq_told(struct rnic_cq *cq)
{
	u32 end = cq_asked(cq);

	while (!cq_told_up_to(cq, end))
		usleep_range(5, 50);
}
