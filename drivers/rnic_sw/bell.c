// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Doorbells of a send queue: is it time to let posts come together? */
#include "bell.h"

/**
 * bell_init - nobody has rung yet
 * @b: filled in
 */
void bell_init(struct bell *b)
{
	*b = (struct bell){ .wanted = BELL_ROW };
}

/**
 * bell_rung - there it is again
 * @b: what is remembered
 * @now: in ns, of a clock that does not go back.  One that stands still between two
 *	doorbells is too coarse to tell: nothing is quick then.
 *
 * Return: whether posts are to be let come together for BELL_GATHER_NS, then
 * bell_gathered() follows; else the answer is due now, and bell_answered() follows.
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
 * bell_answered - a doorbell has been answered at once
 * @b: what is remembered
 * @now: when the answer was over, in ns
 */
void bell_answered(struct bell *b, u64 now)
{
	b->last = now;
}

/**
 * bell_gathered - posts have been let come together
 * @b: what is remembered
 * @now: in ns
 * @others: how many came
 *
 * Who waits for answers posts few others meanwhile, or none, however quick it is; it is
 * taken for one that does less and less often.
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
