// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Doorbell moderation of a send queue: decide when to coalesce posts. */
#include "bell.h"

/**
 * bell_init - initialize the doorbell moderation of a queue
 * @b: state to initialize
 */
void bell_init(struct bell *b)
{
	*b = (struct bell){ .wanted = BELL_ROW };
}

/**
 * bell_rung - record a doorbell and decide whether to coalesce posts
 * @b: moderation state of the queue
 * @now: current time in ns, of a clock that does not go back. If the clock has
 *	not advanced since the last event it is too coarse, and the doorbell
 *	is not quick.
 *
 * Return: true if the caller must let posts accumulate for BELL_GATHER_NS and
 * then call bell_gathered(); false if the caller must transmit now and then
 * call bell_answered().
 */
bool bell_rung(struct bell *b, u64 now)
{
	if (now <= b->last || now - b->last >= BELL_QUICK_NS)
		b->row = 0;
	else
		b->row++;
	if (b->row < b->wanted)
		return false;
	b->last = now;
	return true;
}

/**
 * bell_answered - record the end of a transmit pass that a doorbell started
 * @b: moderation state of the queue
 * @now: time in ns at which the pass ended
 */
void bell_answered(struct bell *b, u64 now)
{
	b->last = now;
}

/**
 * bell_gathered - record the end of a coalescing period
 * @b: moderation state of the queue
 * @now: time in ns at which the period ended
 * @others: number of requests posted during the period
 *
 * A period is worthwhile if at least BELL_ROW requests were posted and the
 * timer was not late. Otherwise twice as many quick doorbells are needed before
 * the next period, up to BELL_ROW_MOST. A program that waits for each
 * completion posts few requests in a period, and coalescing would only delay
 * it.
 */
void bell_gathered(struct bell *b, u64 now, u32 others)
{
	bool worth = others >= BELL_ROW && now - b->last < BELL_LATE_NS;

	b->last = now;
	if (worth) {
		b->wanted = BELL_ROW;
		return;
	}
	b->row = 0;
	if (b->wanted < BELL_ROW_MOST)
		b->wanted *= 2;
}
