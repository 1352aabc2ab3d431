// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events of completion queues: call the completion handler on the right CPU.
 *
 * The handler of a kernel consumer is called on the CPU of the completion
 * vector of the CQ, so that ib_core polls the CQ on that CPU. An IPI carries
 * the event to the CPU. The context that writes the completion calls the
 * handler directly in these cases:
 *
 * - it already runs on the CPU of the completion vector
 * - the CPU of the completion vector is offline
 * - the kernel is PREEMPT_RT, where handlers may sleep on locks
 * - the CQ belongs to a program, whose CPU the scheduler chooses
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
 * Maximum number of handler calls before the remaining events are deferred to a
 * softirq. A handler that arms the CQ can cause another event during each call.
 */
#define NOTIFY_MAX	16

/*
 * Disable preemption while the handler is called, because other contexts leave
 * their events to this context. On PREEMPT_RT preemption stays enabled, because
 * handlers may sleep on locks.
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
 * Call the handler until all requested events are delivered, at most NOTIFY_MAX
 * times. If events remain, schedule a softirq for them. Then release cq->lock.
 * The caller must hold cq->lock and must have set cq->notifying.
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
	/* if no event remains, another context may free @cq after the unlock */
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
 * @cq: the completion queue
 *
 * The caller must have called rnic_cq_notify_wait(). Process context, may
 * sleep.
 */
void rnic_cq_notify_exit(struct rnic_cq *cq)
{
	compat_bh_end(&cq->notify_bh);
}

/*
 * Send an IPI to the CPU of the completion vector, to call the handler there.
 *
 * Return: true if the IPI was sent; false if the caller must call the handler:
 * on PREEMPT_RT, on the CPU of the completion vector, or if that CPU is
 * offline.
 */
static bool __notify_remote(struct rnic_cq *cq)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return false;
	/*
	 * smp_call_function_single_async() to the current CPU would call the
	 * function at once, which would deadlock on cq->lock. The current CPU
	 * cannot change, because interrupts are off.
	 */
	if (cq->cpu == smp_processor_id())
		return false;
	/* the call fails if the CPU of the completion vector is offline */
	return !smp_call_function_single_async(cq->cpu, &cq->call);
}

/*
 * Start event delivery unless it is already under way.
 *
 * Return: true if the caller must call the handler; false if another context
 * already delivers events, or if an IPI was sent.
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
 * @cq: the completion queue
 *
 * The caller must have disarmed the CQ for this event. Any context.
 */
void rnic_cq_notify(struct rnic_cq *cq)
{
	unsigned long flags;

	if (!cq->ib.comp_handler)
		return;
	/* ib_core's handler for programs may be called concurrently */
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
 * @cq: the completion queue
 *
 * Does not wait for events that are requested after the call. Process context,
 * sleeps. Must not be called from the handler of the CQ.
 */
void rnic_cq_notify_wait(struct rnic_cq *cq)
{
	u32 end = cq_events_requested(cq);

	while (!cq_has_notified(cq, end))
		usleep_range(5, 50);
}
