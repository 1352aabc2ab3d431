// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Handle doorbells of a program: transmit immediately, or coalesce posts for a
 * short period.
 *
 * During the period NEED_WAKEUP stays clear, so a post makes no system call. A
 * timer ends the period and schedules transmit, which sends all requests that
 * were posted during the period.
 */
#include <linux/hrtimer.h>

#include "counters.h"
#include "doorbell.h"
#include "rnic.h"

/*
 * Copy the moderation state of a doorbell, to change the copy and to write it back. No lock
 * protects the state: threads that ring the doorbell at the same time, and the end of a period, may
 * overwrite the values of each other. Then the next period starts some doorbells earlier or later,
 * which is harmless.
 */
static struct db_mod read_db_mod(const struct rnic_doorbell *bell)
{
	return (struct db_mod) {
		.last = READ_ONCE(bell->db_mod.last),
		.rung = READ_ONCE(bell->db_mod.rung),
		.pace = READ_ONCE(bell->db_mod.pace),
		.streak = READ_ONCE(bell->db_mod.streak),
		.threshold = READ_ONCE(bell->db_mod.threshold),
	};
}

static void write_db_mod(struct rnic_doorbell *bell, const struct db_mod *m)
{
	WRITE_ONCE(bell->db_mod.last, m->last);
	WRITE_ONCE(bell->db_mod.rung, m->rung);
	WRITE_ONCE(bell->db_mod.streak, m->streak);
	WRITE_ONCE(bell->db_mod.threshold, m->threshold);
}

static bool record_doorbell_and_decide(struct rnic_doorbell *bell)
{
	struct db_mod m = read_db_mod(bell);
	bool start = db_mod_record_doorbell_and_decide(&m, ktime_get_ns());

	write_db_mod(bell, &m);
	return start;
}

static void record_transmit_end(struct rnic_doorbell *bell, u32 bytes)
{
	struct db_mod m = read_db_mod(bell);

	db_mod_record_transmit_end(&m, ktime_get_ns(), bytes);
	WRITE_ONCE(bell->db_mod.last, m.last);
	WRITE_ONCE(bell->db_mod.pace, m.pace);
}

static void record_period_end(struct rnic_doorbell *bell, u32 others)
{
	struct db_mod m = read_db_mod(bell);

	db_mod_record_period_end(&m, ktime_get_ns(), others);
	write_db_mod(bell, &m);
}

/*
 * End a coalescing period and schedule transmit. Runs in hard interrupt
 * context, except on PREEMPT_RT. A timer in softirq context could be deferred
 * to ksoftirqd. That would delay the coalesced posts, because only the timer
 * starts their transmission.
 */
static enum hrtimer_restart rnic_coalesce_expired(struct hrtimer *timer)
{
	struct rnic_doorbell *bell = container_of(timer, struct rnic_doorbell, timer);
	struct rnic_sq *sq = &bell->qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	WRITE_ONCE(sq->coalescing, false);
	record_period_end(bell, READ_ONCE(sq->ring.hdr->prod) - bell->first_prod);
	spin_unlock_irqrestore(&sq->lock, flags);
	rnic_qp_add_to_counter(bell->qp, RNIC_TX_COALESCED, 1);
	/*
	 * The posts of the period rang no doorbell, so schedule transmit for
	 * them. No later post is missed: when the transmit path finds no post,
	 * it sets NEED_WAKEUP, and then reads prod again. Pairs with
	 * ring_publish_prod() of the provider, which writes prod before it
	 * reads flags; litmus: gather
	 */
	ddp_kick(&bell->qp->rdmap.stream);
	return HRTIMER_NORESTART;
}

/**
 * rnic_sq_coalesce_init - initialize the coalescing state of a send queue
 * @bell: doorbell of the queue
 */
void rnic_sq_coalesce_init(struct rnic_doorbell *bell)
{
	db_mod_init(&bell->db_mod);
	hrtimer_setup(&bell->timer, rnic_coalesce_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED);
}

/**
 * rnic_sq_coalesce_stop - stop the coalescing timer of a send queue
 * @bell: doorbell of the queue, or NULL; the caller must ensure that
 *	rnic_sq_transmit_or_coalesce() is not called for the queue
 *
 * Waits until the timer handler has returned. Does nothing for the queue of a
 * kernel consumer, which has no doorbell.
 */
void rnic_sq_coalesce_stop(struct rnic_doorbell *bell)
{
	if (bell)
		hrtimer_cancel(&bell->timer);
}

/*
 * Start a coalescing period and its timer, unless a period has started. Never start one after the
 * stream has ended: this would clear the NEED_WAKEUP that rnic_sq_mark_ended() has set, and later
 * posts would not be flushed. sq->lock orders this function and rnic_sq_mark_ended();
 * litmus: gather-flush
 */
static void __start_coalescing_period(struct rnic_sq *sq)
{
	struct rnic_doorbell *bell = sq->doorbell;
	struct db_mod m = read_db_mod(bell);

	if (sq->coalescing || sq->ended)
		return;
	WRITE_ONCE(sq->coalescing, true);
	bell->first_prod = READ_ONCE(sq->ring.hdr->prod);
	WRITE_ONCE(sq->ring.hdr->flags, 0);
	hrtimer_start(&bell->timer, ns_to_ktime(db_mod_get_period(&m)),
		      HRTIMER_MODE_REL_PINNED);
}

/*
 * Decide whether to coalesce posts from this doorbell on. A doorbell that starts no period takes
 * no lock: if another thread starts one at the same time, the caller transmits although it need
 * not. Return: true if the timer will schedule transmit, false if the caller must transmit.
 */
static bool rnic_sq_try_coalesce(struct rnic_sq *sq)
{
	bool coalesced = READ_ONCE(sq->coalescing), start = false;
	unsigned long flags;

	if (!coalesced)
		start = record_doorbell_and_decide(sq->doorbell);
	if (!coalesced && !start)
		return false;
	spin_lock_irqsave(&sq->lock, flags);
	if (start)
		__start_coalescing_period(sq);
	coalesced = sq->coalescing;
	spin_unlock_irqrestore(&sq->lock, flags);
	return coalesced;
}

/**
 * rnic_sq_transmit_or_coalesce - transmit, or coalesce posts, after a doorbell
 * @qp: queue pair of a program
 *
 * Context: process, no lock held.
 */
void rnic_sq_transmit_or_coalesce(struct rnic_qp *qp)
{
	struct ddp_stream *s = &qp->rdmap.stream;
	struct rnic_sq *sq = &qp->sq;
	/*
	 * do not coalesce without high-resolution timers: the timer would
	 * expire only at the next tick, much later than the period
	 */
	bool fine = hrtimer_resolution <= DB_MOD_PACE_MIN;
	u32 bytes = READ_ONCE(s->bytes);

	if (fine && rnic_sq_try_coalesce(sq))
		return;
	ddp_push(s);
	if (fine)
		record_transmit_end(sq->doorbell, READ_ONCE(s->bytes) - bytes);
}
