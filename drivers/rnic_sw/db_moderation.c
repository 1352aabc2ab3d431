// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Doorbell moderation of a send queue: decide when to coalesce posts. */
#include "db_moderation.h"

/**
 * db_mod_init - initialize the doorbell moderation of a queue
 * @b: moderation state to initialize
 */
void db_mod_init(struct db_mod *b)
{
	*b = (struct db_mod){ .threshold = DB_MOD_STREAK };
}

/**
 * db_mod_doorbell - record a doorbell and decide whether to coalesce posts
 * @b: moderation state of the queue
 * @now: current time in ns, of a monotonic clock
 *
 * A doorbell is quick if it rings less than DB_MOD_QUICK_NS after @b->last. If
 * the clock has not advanced since @b->last, the clock is too coarse, so the
 * doorbell does not count as quick.
 *
 * Return: true if the caller must coalesce posts for DB_MOD_PERIOD_NS and then
 * call db_mod_coalesced(); false if the caller must transmit now and then call
 * db_mod_answered().
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
 * timer was not late. After any other period the next one needs twice as many
 * consecutive quick doorbells, at most DB_MOD_STREAK_MAX. This avoids delaying
 * a program that waits for each completion, because it posts few requests.
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
