// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events of completion queues: who asked for one is told, on which CPU.
 *
 * A kernel consumer's handler is called on the CPU of its vector, and ib_core has
 * its polling done there: by an interrupt, as with hardware, unless who completes
 * is on that CPU, or it is offline.  With PREEMPT_RT, where handlers may sleep on
 * locks, wherever that is.  So is a program woken: where it then runs the scheduler
 * says.
 *
 * One at a time tells a kernel consumer (Documentation/infiniband/core_locking.rst):
 * cq->telling is set from whoever finds it clear, or sends that interrupt, until all
 * is told that has been asked for.  Who comes meanwhile only asks.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "rnic.h"

/* Calls in one go: a handler that arms may be asked for again during each */
#define TELL_MOST	16

/* Others leave it to the one who tells, who therefore is not to be preempted */
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

/* By whoever has set telling, or has it from whoever did */
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
	/* if that was all it may be gone from here on */
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
 * rnic_cq_tell_init - nobody is being told
 * @cq: the completion queue
 * @vector: below the device's num_comp_vectors
 */
void rnic_cq_tell_init(struct rnic_cq *cq, u32 vector)
{
	INIT_CSD(&cq->call, rnic_cq_tell_here, cq);
	compat_bh_init(&cq->rest, rnic_cq_tell_rest);
	cq->cpu = cpumask_nth(vector, cpu_possible_mask);
}

/**
 * rnic_cq_tell_exit - nobody will be told any more
 * @cq: the completion queue, after rnic_cq_told()
 *
 * Process context.
 */
void rnic_cq_tell_exit(struct rnic_cq *cq)
{
	compat_bh_end(&cq->rest);
}

/* Whether its CPU will call */
static bool __tell_there(struct rnic_cq *cq)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return false;
	/* here it would be called at once, and want the lock; nobody moves under it */
	if (cq->cpu == smp_processor_id())
		return false;
	/* or else that one is offline */
	return !smp_call_function_single_async(cq->cpu, &cq->call);
}

/* Whether the caller is the one to tell: nobody does, nor will that CPU */
static bool __takes_over(struct rnic_cq *cq)
{
	if (cq->telling)
		return false;
	cq->telling = true;
	return !__tell_there(cq);
}

/**
 * rnic_cq_tell - there is a completion of the kind that was asked for
 * @cq: the completion queue
 *
 * Any context.
 */
void rnic_cq_tell(struct rnic_cq *cq)
{
	unsigned long flags;

	if (!cq->ib.comp_handler)
		return;
	/* ib_core's, which has a lock for what it does */
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
 * rnic_cq_told - wait until what has been asked for by now has been told
 * @cq: the completion queue; others may go on completing to it
 *
 * Process context; not from its handler.
 */
void rnic_cq_told(struct rnic_cq *cq)
{
	u32 end = cq_asked(cq);

	while (!cq_told_up_to(cq, end))
		usleep_range(5, 50);
}
