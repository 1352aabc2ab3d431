// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbells of a program: transmit at once, or coalesce several posts.
 *
 * While posts are coalesced NEED_WAKEUP is clear, so a post costs no system
 * call. A timer ends the period and has the ring checked. Until then the flag
 * is not set again.
 */
#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "db_moderation.h"
#include "counters.h"
#include "rnic.h"

/* KASAN and KCSAN are slow: without longer times posts would not coalesce */
#define TIME_SCALE	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN) ? 64 : 1)

struct rnic_coalesce {
	struct rnic_qp	*qp;
	struct hrtimer	timer;		/* pending or running while sq.coalescing */

	/* protected by the lock of the send queue */
	struct db_mod	db_mod;
	u32		first_prod;		/* prod at the start of the period */
};

/* Time for struct bell */
static u64 rnic_db_mod_now(void)
{
	return ktime_get_ns() / TIME_SCALE;
}

/*
 * End a coalescing period. Runs in hard interrupt context, except on
 * PREEMPT_RT. A softirq timer could be deferred to a thread, and the posts
 * would be delayed, as they ring no doorbell meanwhile.
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
	/* transmit sets NEED_WAKEUP, then reads prod again; litmus: gather */
	ddp_kick(&g->qp->rdmap.stream);
	return HRTIMER_NORESTART;
}

/**
 * rnic_sq_coalesce_alloc - allocate the coalescing state of a send queue
 * @qp: queue pair of a program, not yet published
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
 * rnic_sq_coalesce_stop - stop the timer of a send queue
 * @sq: queue that gets no more posts, or the queue of a kernel consumer, which
 *	has no timer
 *
 * Waits for the timer handler.
 */
void rnic_sq_coalesce_stop(struct rnic_sq *sq)
{
	if (sq->coalesce)
		hrtimer_cancel(&sq->coalesce->timer);
}

/*
 * Decide whether this doorbell is left to the timer, and start the timer if
 * necessary. In a flush each doorbell is handled at once; litmus: gather-flush
 *
 * Return: true if the timer handles the doorbell, false if the caller must.
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

/* Return: true if the timer handles the doorbell, false if the caller must */
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
 * rnic_sq_doorbell - handle a doorbell from a program
 * @qp: the queue pair
 *
 * Process context, no lock held.
 */
void rnic_sq_doorbell(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	/* a timer of low resolution would fire a tick late */
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
