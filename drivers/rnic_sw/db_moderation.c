// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Doorbell moderation: decide for each doorbell of a send queue whether to coalesce posts. */
#include "db_moderation.h"

/**
 * db_mod_init - initialize the doorbell moderation of a send queue
 * @b: moderation state to initialize
 */
void db_mod_init(struct db_mod *b)
{
	*b = (struct db_mod){
		.pace = DB_MOD_PACE_MIN,
		.threshold = DB_MOD_STREAK,
		.peak = DB_MOD_STREAK,
		.timed = DB_MOD_SLOW,
	};
}

/**
 * db_mod_get_period - get the length of a coalescing period
 * @b: moderation state of the queue
 *
 * Return: the length in ns.
 */
u32 db_mod_get_period(const struct db_mod *b)
{
	return 2 * b->pace;
}

/*
 * Reset the number of consecutive quick doorbells. If a period at a lower threshold would have
 * saved the last DB_MOD_STREAK of these doorbells, lower the threshold to the highest such value.
 */
static void end_streak(struct db_mod *b)
{
	u32 threshold = b->threshold;

	while (threshold > DB_MOD_STREAK && b->streak < threshold + DB_MOD_STREAK)
		threshold /= 2;
	if (!b->wait && b->streak >= threshold + DB_MOD_STREAK)
		b->threshold = threshold;
	b->streak = 0;
}

/* Count a doorbell that is not quick. If there were enough of them, stop timing for a while. */
static void count_slow_doorbell(struct db_mod *b)
{
	if (--b->timed)
		return;
	b->timed = DB_MOD_TIMED;
	b->untimed = DB_MOD_UNTIMED;
	b->wait -= min(b->wait, DB_MOD_UNTIMED);
}

/**
 * db_mod_try_skip_doorbell - decide whether a doorbell is timed
 * @b: moderation state of the queue
 *
 * Return: true if the caller must transmit now without reading the clock; false if it must call
 * db_mod_record_doorbell_and_decide().
 */
bool db_mod_try_skip_doorbell(struct db_mod *b)
{
	if (!b->untimed)
		return false;
	b->untimed--;
	return true;
}

/**
 * db_mod_record_doorbell_and_decide - record a doorbell and decide whether to coalesce posts
 * @b: moderation state of the queue
 * @now: current time of a monotonic clock, in ns
 *
 * A doorbell is quick if it rings less than @b->pace after @b->last. If @now is not later
 * than @b->last, the clock is too coarse for short times, and the doorbell does not count as quick.
 *
 * Return: true if the caller must coalesce posts for db_mod_get_period() and then
 * call db_mod_record_period_end(); false if the caller must transmit now and then call
 * db_mod_record_transmit_end().
 */
bool db_mod_record_doorbell_and_decide(struct db_mod *b, u64 now)
{
	b->rung = now;
	if (b->wait)
		b->wait--;
	if (now <= b->last || now - b->last >= b->pace) {
		end_streak(b);
		count_slow_doorbell(b);
	} else {
		b->streak++;
		b->timed = DB_MOD_SLOW;
	}
	if (b->streak < b->threshold)
		return false;
	b->last = now;
	return true;
}

/**
 * db_mod_record_transmit_end - record that the transmit pass after a doorbell has ended
 * @b: moderation state of the queue
 * @now: current time in ns
 * @bytes: bytes of payload that the pass has sent; the pace does not change if the pass has sent
 *	none, because another context transmits, or if it has sent more than DB_MOD_SHORT
 *
 * The pace falls at once to the time of a fast pass, but rises slowly, so that an interrupt or a
 * preemption during a pass changes it little. It rises faster while few passes are timed.
 */
void db_mod_record_transmit_end(struct db_mod *b, u64 now, u32 bytes)
{
	u64 limit = b->pace + b->pace / (b->timed > DB_MOD_TIMED ? 16 : 2);

	b->last = now;
	if (bytes && bytes <= DB_MOD_SHORT)
		b->pace = clamp_t(u64, min(now - b->rung, limit), DB_MOD_PACE_MIN, DB_MOD_PACE_MAX);
}

/**
 * db_mod_record_period_end - record the end of a coalescing period
 * @b: moderation state of the queue
 * @now: current time in ns
 * @p: the period
 * @prod: producer index of the send queue
 *
 * A period was worthwhile if the program posted at least DB_MOD_STREAK WRs and none of them had to
 * wait for a late timer. After each other period, this function doubles @b->peak, up to
 * DB_MOD_STREAK_MAX, and sets the threshold to it. So the driver rarely delays the posts of a
 * program that waits for each completion, because this program posts few WRs in a period.
 */
void db_mod_record_period_end(struct db_mod *b, u64 now, const struct db_period *p, u32 prod)
{
	bool late = now >= p->due + db_mod_get_period(b);
	bool worth = prod - p->first >= DB_MOD_STREAK && (!late || prod == p->pushed);

	b->last = now;
	if (worth) {
		b->threshold = DB_MOD_STREAK;
		b->peak = DB_MOD_STREAK;
		return;
	}
	b->streak = 0;
	b->wait = late ? DB_MOD_WAIT_LATE : DB_MOD_WAIT;
	if (b->peak < DB_MOD_STREAK_MAX)
		b->peak *= 2;
	b->threshold = b->peak;
}

/**
 * db_period_start - start a coalescing period
 * @p: the period; doorbells of the previous period may still be transmitting
 * @prod: producer index of the send queue
 * @cpu: CPU on which the caller starts the timer
 *
 * The caller must set @p->due to the time at which the timer is to expire.
 */
void db_period_start(struct db_period *p, u32 prod, u32 cpu)
{
	p->first = prod;
	p->pushed = prod;
	p->cpu = cpu;
	p->extended = false;
}

/**
 * db_period_try_begin_push - decide whether a doorbell in a period transmits
 * @p: the period
 * @prod: producer index of the send queue
 * @cpu: CPU on which the doorbell rings
 *
 * Return: true if the caller must transmit and then call db_period_end_push(); false if fewer than
 * DB_MOD_STREAK WRs were posted since the last transmission by a doorbell.
 */
bool db_period_try_begin_push(struct db_period *p, u32 prod, u32 cpu)
{
	if (prod - p->pushed < DB_MOD_STREAK)
		return false;
	p->pushed = prod;
	p->cpu = cpu;
	p->pushers++;
	p->extended = true;
	return true;
}

/**
 * db_period_end_push - record that a doorbell has finished transmitting
 * @p: the period; since db_period_try_begin_push() it may have ended and another one started
 */
void db_period_end_push(struct db_period *p)
{
	p->pushers--;
	p->extended = true;
}

/**
 * db_period_handle_timer - decide whether the period continues when its timer expires
 * @p: the period
 * @cpu: CPU on which the timer has expired
 *
 * If the program has moved to another CPU, the period ends, so that the timer does not go on
 * interrupting a CPU that the program no longer uses.
 *
 * Return: 0 if the period ends; otherwise the number of periods after which the timer must expire
 * again, and the caller must set @p->due.
 */
u32 db_period_handle_timer(struct db_period *p, u32 cpu)
{
	bool extended = p->extended;

	p->extended = false;
	if (!extended || p->cpu != cpu)
		return 0;
	return p->pushers ? DB_MOD_PUSH_PERIODS : 1;
}
