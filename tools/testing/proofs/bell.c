// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbell moderation: for any sequence of doorbells and any time stamps the
 * state stays within bounds, and only doorbells in quick succession delay a
 * post.
 *
 * Files: rnic_sw/bell.c
 * Bound: 1, there is no loop
 * Mutation: rnic_sw/bell.c s/b->wanted < BELL_ROW_MOST/b->row < BELL_ROW_MOST/
 * Mutation: rnic_sw/bell.c s/now <= b->last || //
 * Mutation: rnic_sw/bell.c s/>= BELL_QUICK_NS/> BELL_QUICK_NS/
 * Mutation: rnic_sw/bell.c s/< b->wanted/< BELL_ROW/
 * Mutation: rnic_sw/bell.c s/others >= BELL_ROW/others/
 * Mutation: rnic_sw/bell.c s/ && now - b->last < BELL_LATE_NS//
 */
#include "../../../drivers/rnic_sw/bell.h"
#include "proof.h"

/* Invariant: @wanted is a power of two between BELL_ROW and BELL_ROW_MOST */
static bool sound(const struct bell *b)
{
	return b->wanted >= BELL_ROW && b->wanted <= BELL_ROW_MOST &&
	       !(b->wanted & (b->wanted - 1));
}

void prove_init(void)
{
	struct bell b;

	bell_init(&b);
	MUST("the row is bounded from the start", sound(&b) && !b.row);
	REACHED("set");
}

void prove_rung(void)
{
	struct bell b, was;
	u64 now = ANY(u64);
	bool gathers;

	GIVEN(sound(&b));
	was = b;
	gathers = bell_rung(&b, now);
	MUST("the row stays bounded", sound(&b));
	MUST("only what comes quickly waits", !gathers ||
	     (now > was.last && now - was.last < BELL_QUICK_NS));
	MUST("only behind a row", !gathers || b.row >= was.wanted);
	MUST("a row grows by one, or is none", !b.row || b.row == was.row + 1);
	if (gathers)
		REACHED("gathers");
	if (!gathers && b.row)
		REACHED("not yet");
}

void prove_answered(void)
{
	u64 now = ANY(u64);
	struct bell b, was;

	GIVEN(sound(&b));
	was = b;
	bell_answered(&b, now);
	MUST("an answer is no doorbell", sound(&b) && b.row == was.row);
	REACHED("answered");
}

void prove_gathered(void)
{
	u64 now = ANY(u64);
	u32 others = ANY(u32);
	struct bell b, was;
	bool worth;

	GIVEN(sound(&b) && now >= b.last);
	was = b;
	bell_gathered(&b, now, others);
	worth = others >= BELL_ROW && now - was.last < BELL_LATE_NS;
	MUST("the row stays bounded", sound(&b));
	MUST("in vain: it takes twice as many, up to the most", worth ||
	     (!b.row && b.wanted == min(2 * was.wanted, BELL_ROW_MOST)));
	MUST("with many others, in time: as few as at first", !worth ||
	     (b.wanted == BELL_ROW && b.row == was.row));
	if (worth)
		REACHED("worth while");
	if (!worth && b.wanted == was.wanted)
		REACHED("the most");
}
