// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Delivery of completion events: call the completion handler of a CQ, on the CPU of its completion
 * vector if possible.
 *
 * The context that writes a completion sends an IPI to the CPU of the CQ's completion vector,
 * which calls the kernel consumer's handler there. As a result ib_core also polls the CQ on that
 * CPU. In the following cases the context calls the handler itself, without an IPI:
 *
 * - The context already runs on the CPU of the completion vector.
 * - The CPU of the completion vector is offline.
 * - The kernel is PREEMPT_RT, where a handler may sleep on a lock.
 * - The CQ belongs to a program, whose CPU the scheduler chooses.
 *
 * The handler of a kernel consumer must not be called concurrently for the same CQ
 * (Documentation/infiniband/core_locking.rst). Therefore a context first increments
 * cq->ev_requested. If cq->notifying is clear, the context sets it and calls the handler or
 * sends the IPI. If cq->notifying is set, another context is delivering events, and delivers the
 * new event as well: that context calls the handler until all requested events are delivered, and
 * only then clears cq->notifying. After NOTIFY_MAX calls a softirq continues in its place.
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
 * Maximum number of handler calls in a row. After these, a softirq delivers the remaining
 * events. Without a limit the loop might never end, because a handler that arms the CQ can
 * cause another event during each call.
 */
#define NOTIFY_MAX	16

/*
 * Disable preemption while this context calls the handler. Other contexts rely on this context
 * to deliver their events, which preemption would delay. On PREEMPT_RT preemption stays enabled,
 * because a handler may sleep on a lock.
 */
static void disable_preemption_unless_rt(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

static void enable_preemption_unless_rt(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

/*
 * Call the handler until all requested events are delivered, at most NOTIFY_MAX times. If
 * events remain, raise a softirq that continues. The caller must hold cq->lock and must have set
 * cq->notifying. Returns with cq->lock released.
 */
static void rnic_cq_notify_and_unlock(struct rnic_cq *cq, unsigned long flags)
	__releases(&cq->lock)
{
	u32 end, calls = 0;
	bool more;

	disable_preemption_unless_rt();
	do {
		end = cq->ev_requested;
		spin_unlock_irqrestore(&cq->lock, flags);
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		spin_lock_irqsave(&cq->lock, flags);
		cq->ev_done = end;
		more = cq->ev_requested != end;
	} while (more && ++calls < NOTIFY_MAX);
	cq->notifying = more;
	/* do not access @cq after the unlock if no event remains: it may have been destroyed */
	spin_unlock_irqrestore(&cq->lock, flags);
	if (more)
		compat_bh_raise(&cq->notify_bh);
	enable_preemption_unless_rt();
}

/* Deliver events in this context, which is the IPI or the softirq; cq->notifying is set */
static void rnic_cq_notify_local(void *info)
{
	struct rnic_cq *cq = info;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	rnic_cq_notify_and_unlock(cq, flags);
}

static void rnic_cq_notify_bh(struct compat_bh *notify_bh)
{
	rnic_cq_notify_local(container_of(notify_bh, struct rnic_cq, notify_bh));
}

/**
 * rnic_cq_notify_init - initialize the event delivery of a completion queue
 * @cq: the completion queue
 * @vector: completion vector, less than num_comp_vectors of the device
 */
void rnic_cq_notify_init(struct rnic_cq *cq, u32 vector)
{
	INIT_CSD(&cq->call, rnic_cq_notify_local, cq);
	compat_bh_init(&cq->notify_bh, rnic_cq_notify_bh);
	cq->cpu = cpumask_nth(vector, cpu_possible_mask);
}

/**
 * rnic_cq_notify_exit - wait for the softirq of a completion queue that is being destroyed
 * @cq: the completion queue; the caller must have called rnic_cq_notify_wait()
 *
 * Process context, may sleep.
 */
void rnic_cq_notify_exit(struct rnic_cq *cq)
{
	compat_bh_end(&cq->notify_bh);
}

/*
 * Send an IPI to the CPU of the completion vector, so that this CPU calls the handler.
 *
 * Return: true if the IPI was sent; false if the caller must call the handler itself, because
 * the kernel is PREEMPT_RT, or the vector's CPU is the current CPU or is offline.
 */
static bool __try_notify_by_ipi(struct rnic_cq *cq)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return false;
	/*
	 * smp_call_function_single_async() to the current CPU would call the
	 * function before it returns, and the function would deadlock on
	 * cq->lock, which the caller holds. With interrupts off, as here, the
	 * current CPU cannot change.
	 */
	if (cq->cpu == smp_processor_id())
		return false;
	/* smp_call_function_single_async() fails if that CPU is offline */
	return !smp_call_function_single_async(cq->cpu, &cq->call);
}

/*
 * Start the delivery of events, unless another context delivers events already.
 *
 * Return: true if the caller must call rnic_cq_notify_and_unlock(); false if another context
 * delivers the events, or an IPI was sent to a CPU that will deliver them.
 */
static bool __try_begin_local_notify(struct rnic_cq *cq)
{
	if (cq->notifying)
		return false;
	cq->notifying = true;
	return !__try_notify_by_ipi(cq);
}

/**
 * rnic_cq_notify - generate a completion event
 * @cq: the completion queue; the caller has disarmed it for this event
 *
 * Any context.
 */
void rnic_cq_notify(struct rnic_cq *cq)
{
	unsigned long flags;

	if (!cq->ib.comp_handler)
		return;
	/* the handler of a program's CQ belongs to ib_core, and may be called concurrently */
	if (rnic_cq_is_user(cq)) {
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		return;
	}
	spin_lock_irqsave(&cq->lock, flags);
	cq->ev_requested++;
	if (__try_begin_local_notify(cq))
		rnic_cq_notify_and_unlock(cq, flags);
	else
		spin_unlock_irqrestore(&cq->lock, flags);
}

static u32 read_nr_events_requested(struct rnic_cq *cq)
{
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&cq->lock, flags);
	n = cq->ev_requested;
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

static bool cq_has_delivered_events(struct rnic_cq *cq, u32 end)
{
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&cq->lock, flags);
	done = !ring_idx_is_before(cq->ev_done, end);
	spin_unlock_irqrestore(&cq->lock, flags);
	return done;
}

/**
 * rnic_cq_notify_wait - wait until the requested events have been delivered
 * @cq: the completion queue
 *
 * Does not wait for events that are requested after this function has started. Must not be
 * called from the handler of the CQ, because the wait would never end. Process context, sleeps.
 */
void rnic_cq_notify_wait(struct rnic_cq *cq)
{
	u32 end = read_nr_events_requested(cq);

	while (!cq_has_delivered_events(cq, end))
		usleep_range(5, 50);
}
