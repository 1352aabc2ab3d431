// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Handle doorbells of a program: transmit immediately, or coalesce posts for a
 * short period.
 *
 * During the period NEED_WAKEUP stays clear, so a post makes no system call. A
 * timer ends the period and schedules transmit, which sends all requests that
 * were posted during the period. If the program rings the doorbell meanwhile,
 * after enough posts, the doorbell transmits and the period continues.
 */
#include <linux/hrtimer.h>
#include <linux/smp.h>

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
		.peak = READ_ONCE(bell->db_mod.peak),
		.wait = READ_ONCE(bell->db_mod.wait),
		.timed = READ_ONCE(bell->db_mod.timed),
		.untimed = READ_ONCE(bell->db_mod.untimed),
	};
}

static void write_db_mod(struct rnic_doorbell *bell, const struct db_mod *m)
{
	WRITE_ONCE(bell->db_mod.last, m->last);
	WRITE_ONCE(bell->db_mod.rung, m->rung);
	WRITE_ONCE(bell->db_mod.streak, m->streak);
	WRITE_ONCE(bell->db_mod.threshold, m->threshold);
	WRITE_ONCE(bell->db_mod.peak, m->peak);
	WRITE_ONCE(bell->db_mod.wait, m->wait);
	WRITE_ONCE(bell->db_mod.timed, m->timed);
	WRITE_ONCE(bell->db_mod.untimed, m->untimed);
}

static bool try_skip_doorbell(struct rnic_doorbell *bell)
{
	struct db_mod m = { .untimed = READ_ONCE(bell->db_mod.untimed) };

	if (!db_mod_try_skip_doorbell(&m))
		return false;
	WRITE_ONCE(bell->db_mod.untimed, m.untimed);
	return true;
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

static void record_period_end(struct rnic_doorbell *bell, u32 prod)
{
	struct db_mod m = read_db_mod(bell);

	db_mod_record_period_end(&m, ktime_get_ns(), &bell->period, prod);
	write_db_mod(bell, &m);
}

/* Record that the timer is due after @n periods. Return: the length of @n periods in ns */
static u64 __set_due_time(struct rnic_doorbell *bell, u32 n)
{
	struct db_mod m = read_db_mod(bell);
	u64 ns = (u64)n * db_mod_get_period(&m);

	bell->period.due = ktime_get_ns() + ns;
	return ns;
}

/*
 * Handle the expiry of the timer: end the coalescing period and schedule transmit; or start the
 * timer again, if a doorbell has transmitted meanwhile. Runs in hard interrupt context, except on
 * PREEMPT_RT. A timer in softirq context could be deferred to ksoftirqd. That would delay the
 * coalesced posts, because only the timer starts their transmission.
 */
static enum hrtimer_restart rnic_coalesce_expired(struct hrtimer *timer)
{
	struct rnic_doorbell *bell = container_of(timer, struct rnic_doorbell, timer);
	struct rnic_sq *sq = &bell->qp->sq;
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&sq->lock, flags);
	n = sq->ended ? 0 : db_period_handle_timer(&bell->period, raw_smp_processor_id());
	if (n) {
		hrtimer_forward_now(timer, ns_to_ktime(__set_due_time(bell, n)));
		spin_unlock_irqrestore(&sq->lock, flags);
		return HRTIMER_RESTART;
	}
	WRITE_ONCE(sq->coalescing, false);
	record_period_end(bell, READ_ONCE(sq->ring.hdr->prod));
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

	if (sq->coalescing || sq->ended)
		return;
	WRITE_ONCE(sq->coalescing, true);
	db_period_start(&bell->period, READ_ONCE(sq->ring.hdr->prod), raw_smp_processor_id());
	WRITE_ONCE(sq->ring.hdr->flags, 0);
	hrtimer_start(&bell->timer, ns_to_ktime(__set_due_time(bell, 1)),
		      HRTIMER_MODE_REL_PINNED);
}

/* What a doorbell has to do */
enum action {
	TRANSMIT,
	TRANSMIT_AND_RECORD,		/* transmit, then call record_transmit_end() */
	TRANSMIT_AND_EXTEND_PERIOD,	/* transmit, then call end_push() */
	LEAVE_TO_TIMER,
};

/*
 * Decide what a doorbell has to do. A doorbell that starts no period takes no lock: if another
 * thread starts one at the same time, the caller transmits although it need not.
 */
static enum action rnic_sq_decide(struct rnic_sq *sq)
{
	enum action action = TRANSMIT;
	unsigned long flags;
	bool start = false;

	if (!READ_ONCE(sq->coalescing)) {
		if (try_skip_doorbell(sq->doorbell))
			return TRANSMIT;
		action = TRANSMIT_AND_RECORD;
		start = record_doorbell_and_decide(sq->doorbell);
		if (!start)
			return action;
	}
	spin_lock_irqsave(&sq->lock, flags);
	if (start)
		__start_coalescing_period(sq);
	if (sq->coalescing)
		action = db_period_try_begin_push(&sq->doorbell->period,
						  READ_ONCE(sq->ring.hdr->prod),
						  raw_smp_processor_id()) ?
			 TRANSMIT_AND_EXTEND_PERIOD : LEAVE_TO_TIMER;
	spin_unlock_irqrestore(&sq->lock, flags);
	return action;
}

static void end_push(struct rnic_sq *sq)
{
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	db_period_end_push(&sq->doorbell->period);
	spin_unlock_irqrestore(&sq->lock, flags);
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
	/*
	 * Without NEED_WAKEUP another context may be transmitting. ddp_push() then returns at once,
	 * so the time that it takes must not become the pace.
	 */
	bool asked = READ_ONCE(sq->ring.hdr->flags) & RNIC_SW_RING_NEED_WAKEUP;
	enum action action = fine ? rnic_sq_decide(sq) : TRANSMIT;
	u32 bytes = READ_ONCE(s->bytes);

	if (action == LEAVE_TO_TIMER)
		return;
	ddp_push(s);
	if (action == TRANSMIT_AND_EXTEND_PERIOD)
		end_push(sq);
	else if (action == TRANSMIT_AND_RECORD && asked)
		record_transmit_end(sq->doorbell, READ_ONCE(s->bytes) - bytes);
}
