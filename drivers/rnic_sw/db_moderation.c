// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Doorbell moderation of a send queue: decide when to coalesce posts. */
#include "db_moderation.h"

/**
 * db_mod_init - initialize the doorbell moderation of a queue
 * @b: state to initialize
 */
void db_mod_init(struct db_mod *b)
{
	*b = (struct db_mod){ .threshold = DB_MOD_STREAK };
}

/**
 * db_mod_doorbell - record a doorbell and decide whether to coalesce posts
 * @b: moderation state of the queue
 * @now: current time in ns, of a clock that does not go back. If the clock has
 *	not advanced since the last event it is too coarse, and the doorbell
 *	is not quick.
 *
 * Return: true if the caller must let posts accumulate for DB_MOD_PERIOD_NS and
 * then call db_mod_coalesced(); false if the caller must transmit now and then
 * call db_mod_answered().
 */
bool db_mod_doorbell(struct db_mod *b, u64 now)
{
	if (now <= b->last || now - b->last >= DB_MOD_QUICK_NS)
		b->streak = 0;
	else
		b->streak++;
	if (b->streak < b->threshold)
		return false;
	b->last = now;
	return true;
}

/**
 * db_mod_answered - record the end of a transmit pass that a doorbell started
 * @b: moderation state of the queue
 * @now: time in ns at which the pass ended
 */
void db_mod_answered(struct db_mod *b, u64 now)
{
	b->last = now;
}

/**
 * db_mod_coalesced - record the end of a coalescing period
 * @b: moderation state of the queue
 * @now: time in ns at which the period ended
 * @others: number of requests posted during the period
 *
 * A period is worthwhile if at least DB_MOD_STREAK requests were posted and the
 * timer was not late. Otherwise twice as many quick doorbells are needed before
 * the next period, up to DB_MOD_STREAK_MAX. A program that waits for each
 * completion posts few requests in a period, and coalescing would only delay
 * it.
 */
void db_mod_coalesced(struct db_mod *b, u64 now, u32 others)
{
	bool worth = others >= DB_MOD_STREAK && now - b->last < DB_MOD_LATE_NS;

	b->last = now;
	if (worth) {
		b->threshold = DB_MOD_STREAK;
		return;
	}
	b->streak = 0;
	if (b->threshold < DB_MOD_STREAK_MAX)
		b->threshold *= 2;
}
