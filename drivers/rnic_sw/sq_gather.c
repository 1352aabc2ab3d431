// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A program's doorbells: answered at once, or a little later for several posts.
 *
 * While posts are gathered the ring says that nobody has to be woken, so they cost no
 * system call; the timer has the ring looked at then, and until it has nobody says
 * otherwise.
 */
#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "bell.h"
#include "rnic.h"
#include "stats.h"

/* With these all takes so much longer: else posts would never be gathered under them */
#define SLOWER	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN) ? 64 : 1)

struct rnic_gather {
	struct rnic_qp	*qp;
	struct hrtimer	timer;		/* started, and not over, while sq.gathering */

	/* the send queue's lock */
	struct bell	bell;
	u32		from;		/* prod when it began */
};

/* For struct bell */
static u64 rnic_bell_now(void)
{
	return ktime_get_ns() / SLOWER;
}

/*
 * In hard interrupt context, but with PREEMPT_RT: a softirq may be left to a thread, and
 * nobody rings meanwhile
 */
static enum hrtimer_restart rnic_gather_end(struct hrtimer *timer)
{
	struct rnic_gather *g = container_of(timer, struct rnic_gather, timer);
	struct rnic_sq *sq = &g->qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->gathering = false;
	bell_gathered(&g->bell, rnic_bell_now(),
		      READ_ONCE(sq->ring.hdr->prod) - g->from);
	spin_unlock_irqrestore(&sq->lock, flags);
	rnic_qp_count(g->qp, RNIC_TX_GATHERS, 1);
	/* who is woken says that it sleeps before it looks; litmus: gather */
	ddp_kick(&g->qp->rdmap.stream);
	return HRTIMER_NORESTART;
}

/**
 * rnic_sq_gather_alloc - a queue that a program posts to
 * @qp: the queue pair, not yet published
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_sq_gather_alloc(struct rnic_qp *qp)
{
	struct rnic_gather *g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);

	if (!g)
		return -ENOMEM;
	g->qp = qp;
	bell_init(&g->bell);
	hrtimer_setup(&g->timer, rnic_gather_end, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
	qp->sq.gather = g;
	return 0;
}

/**
 * rnic_sq_gather_stop - no timer from here on
 * @sq: a queue nobody posts to any more, or a kernel consumer's
 *
 * Waits for the timer's handler.
 */
void rnic_sq_gather_stop(struct rnic_sq *sq)
{
	if (sq->gather)
		hrtimer_cancel(&sq->gather->timer);
}

/* In a flush each doorbell counts; litmus: gather-flush */
static bool __gathers(struct rnic_sq *sq)
{
	struct rnic_gather *g = sq->gather;

	if (sq->gathering)
		return true;
	if (sq->flushing || !bell_rung(&g->bell, rnic_bell_now()))
		return false;
	sq->gathering = true;
	g->from = READ_ONCE(sq->ring.hdr->prod);
	WRITE_ONCE(sq->ring.hdr->flags, 0);
	hrtimer_start(&g->timer, ns_to_ktime(SLOWER * BELL_GATHER_NS),
		      HRTIMER_MODE_REL_PINNED);
	return true;
}

/* Return: whether the answer is left to the timer */
static bool rnic_gathers(struct rnic_sq *sq)
{
	unsigned long flags;
	bool gathers;

	spin_lock_irqsave(&sq->lock, flags);
	gathers = __gathers(sq);
	spin_unlock_irqrestore(&sq->lock, flags);
	return gathers;
}

/**
 * rnic_sq_ring - a program has posted, and says so
 * @qp: the queue pair
 *
 * Process context, no lock held.
 */
void rnic_sq_ring(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	/* a timer that is not fine enough would be late by a tick */
	bool fine = hrtimer_resolution <= BELL_GATHER_NS;
	unsigned long flags;

	if (fine && rnic_gathers(sq))
		return;
	ddp_push(&qp->rdmap.stream);
	if (!fine)
		return;
	spin_lock_irqsave(&sq->lock, flags);
	bell_answered(&sq->gather->bell, rnic_bell_now());
	spin_unlock_irqrestore(&sq->lock, flags);
}
