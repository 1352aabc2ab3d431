// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Handle doorbells of a program: transmit at once, or coalesce posts for a
 * short period.
 *
 * NEED_WAKEUP stays clear during the period, so that a post costs no system
 * call. A timer ends the period and schedules transmit, which then sends all
 * requests posted during the period.
 */
#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "db_moderation.h"
#include "counters.h"
#include "rnic.h"

/*
 * Factor of all times of the doorbell moderation. KASAN and KCSAN slow down a
 * program so much that with the normal times it would never coalesce posts.
 */
#define TIME_SCALE	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN) ? 64 : 1)

struct rnic_coalesce {
	struct rnic_qp	*qp;
	struct hrtimer	timer;		/* armed or running while sq.coalescing */

	/* protected by the lock of the send queue */
	struct db_mod	db_mod;
	u32		first_prod;		/* producer index at period start */
};

/* Get the current time for struct db_mod, in ns divided by TIME_SCALE */
static u64 rnic_db_mod_now(void)
{
	return ktime_get_ns() / TIME_SCALE;
}

/*
 * End a coalescing period and schedule transmit. Runs in hard interrupt
 * context, except on PREEMPT_RT. A softirq timer could be deferred to
 * ksoftirqd. That would delay the coalesced posts, because they ring no
 * doorbell.
 */
static enum hrtimer_restart rnic_coalesce_expired(struct hrtimer *timer)
{
	struct rnic_coalesce *g = container_of(timer, struct rnic_coalesce, timer);
	struct rnic_sq *sq = &g->qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->coalescing = false;
	db_mod_coalesced(&g->db_mod, rnic_db_mod_now(),
			 READ_ONCE(sq->ring.hdr->prod) - g->first_prod);
	spin_unlock_irqrestore(&sq->lock, flags);
	rnic_qp_count(g->qp, RNIC_TX_COALESCED, 1);
	/*
	 * Transmit finds posts without a doorbell: it sets NEED_WAKEUP, then
	 * reads prod again. Pairs with ring_publish_prod() of the provider,
	 * which writes prod before it reads flags; litmus: gather
	 */
	ddp_kick(&g->qp->rdmap.stream);
	return HRTIMER_NORESTART;
}

/**
 * rnic_sq_coalesce_alloc - allocate the coalescing state of a send queue
 * @qp: user queue pair; its program must not be able to post yet
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_sq_coalesce_alloc(struct rnic_qp *qp)
{
	struct rnic_coalesce *g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);

	if (!g)
		return -ENOMEM;
	g->qp = qp;
	db_mod_init(&g->db_mod);
	hrtimer_setup(&g->timer, rnic_coalesce_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
	qp->sq.coalesce = g;
	return 0;
}

/**
 * rnic_sq_coalesce_stop - stop the coalescing timer of a send queue
 * @sq: the queue; the caller must ensure that no doorbell follows. Does nothing
 *	for the queue of a kernel consumer, which has no timer.
 *
 * Waits until the timer handler has returned.
 */
void rnic_sq_coalesce_stop(struct rnic_sq *sq)
{
	if (sq->coalesce)
		hrtimer_cancel(&sq->coalesce->timer);
}

/*
 * Decide whether to coalesce posts from this doorbell on, and start the timer
 * if it is not armed. During a flush never coalesce, because clearing
 * NEED_WAKEUP after rnic_sq_flush() has set it would leave later posts
 * unflushed. sq->lock orders the two functions; litmus: gather-flush
 *
 * Return: true if the timer will schedule transmit, false if the caller must
 * transmit.
 */
static bool __sq_may_coalesce(struct rnic_sq *sq)
{
	struct rnic_coalesce *g = sq->coalesce;

	if (sq->coalescing)
		return true;
	if (sq->flushing || !db_mod_doorbell(&g->db_mod, rnic_db_mod_now()))
		return false;
	sq->coalescing = true;
	g->first_prod = READ_ONCE(sq->ring.hdr->prod);
	WRITE_ONCE(sq->ring.hdr->flags, 0);
	hrtimer_start(&g->timer, ns_to_ktime(TIME_SCALE * DB_MOD_PERIOD_NS),
		      HRTIMER_MODE_REL_PINNED);
	return true;
}

/*
 * Take sq->lock and decide whether to coalesce posts. Return: as
 * __sq_may_coalesce()
 */
static bool rnic_sq_may_coalesce(struct rnic_sq *sq)
{
	unsigned long flags;
	bool coalesced;

	spin_lock_irqsave(&sq->lock, flags);
	coalesced = __sq_may_coalesce(sq);
	spin_unlock_irqrestore(&sq->lock, flags);
	return coalesced;
}

/**
 * rnic_sq_doorbell - transmit or start to coalesce posts after a doorbell
 * @qp: queue pair of a program
 *
 * Process context, no lock held.
 */
void rnic_sq_doorbell(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	/* without high-resolution timers the timer would fire a tick later */
	bool fine = hrtimer_resolution <= DB_MOD_PERIOD_NS;
	unsigned long flags;

	if (fine && rnic_sq_may_coalesce(sq))
		return;
	ddp_push(&qp->rdmap.stream);
	if (!fine)
		return;
	spin_lock_irqsave(&sq->lock, flags);
	db_mod_answered(&sq->coalesce->db_mod, rnic_db_mod_now());
	spin_unlock_irqrestore(&sq->lock, flags);
}
