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

#include "bell.h"
#include "counters.h"
#include "rnic.h"

/* KASAN and KCSAN are slow: without longer times posts would not coalesce */
#define SLOWER	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KCSAN) ? 64 : 1)

struct rnic_gather {
	struct rnic_qp	*qp;
	struct hrtimer	timer;		/* pending or running while sq.gathering */

	/* protected by the lock of the send queue */
	struct bell	bell;
	u32		from;		/* prod at the start of the period */
};

/* Time for struct bell */
static u64 rnic_bell_now(void)
{
	return ktime_get_ns() / SLOWER;
}

/*
 * End a coalescing period. Runs in hard interrupt context, except on
 * PREEMPT_RT. A softirq timer could be deferred to a thread, and the posts
 * would be delayed, as they ring no doorbell meanwhile.
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
	/* transmit sets NEED_WAKEUP, then reads prod again; litmus: gather */
	ddp_kick(&g->qp->rdmap.stream);
	return HRTIMER_NORESTART;
}

/**
 * rnic_sq_gather_alloc - allocate the coalescing state of a send queue
 * @qp: queue pair of a program, not yet published
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
 * rnic_sq_gather_stop - stop the timer of a send queue
 * @sq: queue that gets no more posts, or the queue of a kernel consumer, which
 *	has no timer
 *
 * Waits for the timer handler.
 */
void rnic_sq_gather_stop(struct rnic_sq *sq)
{
	if (sq->gather)
		hrtimer_cancel(&sq->gather->timer);
}

/*
 * Decide whether this doorbell is left to the timer, and start the timer if
 * necessary. In a flush each doorbell is handled at once; litmus: gather-flush
 *
 * Return: true if the timer handles the doorbell, false if the caller must.
 */
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

/* Return: true if the timer handles the doorbell, false if the caller must */
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
 * rnic_sq_ring - handle a doorbell from a program
 * @qp: the queue pair
 *
 * Process context, no lock held.
 */
void rnic_sq_ring(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	/* a timer of low resolution would fire a tick late */
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
