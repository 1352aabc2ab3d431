// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events of completion queues: who asked for one is told, on which CPU.
 *
 * A kernel consumer's handler is called on the CPU of its vector, and ib_core has
 * its polling done there: by an interrupt, as with hardware, unless who completes
 * is on that CPU, or it is offline.  With PREEMPT_RT, where handlers may sleep on
 * locks, wherever that is.  So is a program woken: where it then runs the scheduler
 * says.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "rnic.h"

static void rnic_cq_tell_here(void *info)
{
	struct rnic_cq *cq = info;

	spin_lock(&cq->lock);
	cq->called = false;
	spin_unlock(&cq->lock);
	cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	spin_lock(&cq->lock);
	cq->calls--;
	/* it may be gone from here on */
	spin_unlock(&cq->lock);
}

/**
 * rnic_cq_tell_init - nobody is being told
 * @cq: the completion queue
 * @vector: below the device's num_comp_vectors
 */
void rnic_cq_tell_init(struct rnic_cq *cq, u32 vector)
{
	INIT_CSD(&cq->call, rnic_cq_tell_here, cq);
	cq->cpu = cpumask_nth(vector, cpu_possible_mask);
}

/* Whether its CPU will call, or is about to for another completion */
static bool tell_there(struct rnic_cq *cq)
{
	unsigned long flags;
	bool there;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return false;
	/* here it would be called at once, and want the lock; so nobody may move */
	spin_lock_irqsave(&cq->lock, flags);
	/* offline: it is not called */
	if (!cq->called && cq->cpu != smp_processor_id() &&
	    !smp_call_function_single_async(cq->cpu, &cq->call)) {
		cq->called = true;
		cq->calls++;
	}
	there = cq->called;
	spin_unlock_irqrestore(&cq->lock, flags);
	return there;
}

/**
 * rnic_cq_tell - there is a completion of the kind that was asked for
 * @cq: the completion queue
 *
 * Any context.
 */
void rnic_cq_tell(struct rnic_cq *cq)
{
	if (!cq->ib.comp_handler || (!cq->user && tell_there(cq)))
		return;
	cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

static bool is_being_told(struct rnic_cq *cq)
{
	unsigned long flags;
	bool yes;

	spin_lock_irqsave(&cq->lock, flags);
	yes = cq->calls;
	spin_unlock_irqrestore(&cq->lock, flags);
	return yes;
}

/**
 * rnic_cq_told - wait until what is under way has been told
 * @cq: the completion queue
 *
 * Process context.
 */
void rnic_cq_told(struct rnic_cq *cq)
{
	while (is_being_told(cq))
		usleep_range(5, 50);
}
