// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbell moderation. For any sequence of doorbells and any time stamps, the state stays
 * within bounds. Only a streak of doorbells at short intervals delays a post.
 *
 * Files: rnic_sw/db_moderation.c
 * Bound: 1, there is no loop
 * Mutation: rnic_sw/db_moderation.c s/b->threshold < DB_MOD_STREAK_MAX/b->streak < DB_MOD_STREAK_MAX/
 * Mutation: rnic_sw/db_moderation.c s/now <= b->last || //
 * Mutation: rnic_sw/db_moderation.c s/>= DB_MOD_QUICK_NS/> DB_MOD_QUICK_NS/
 * Mutation: rnic_sw/db_moderation.c s/< b->threshold/< DB_MOD_STREAK/
 * Mutation: rnic_sw/db_moderation.c s/others >= DB_MOD_STREAK/others/
 * Mutation: rnic_sw/db_moderation.c s/ && now - b->last < DB_MOD_LATE_NS//
 */
#include "../../../drivers/rnic_sw/db_moderation.h"
#include "proof.h"

/* Check that threshold is a power of two between DB_MOD_STREAK and DB_MOD_STREAK_MAX */
static bool sound(const struct db_mod *b)
{
	return b->threshold >= DB_MOD_STREAK && b->threshold <= DB_MOD_STREAK_MAX &&
	       !(b->threshold & (b->threshold - 1));
}

void prove_init(void)
{
	struct db_mod b;

	db_mod_init(&b);
	MUST("the row is bounded from the start", sound(&b) && !b.streak);
	REACHED("set");
}

void prove_rung(void)
{
	struct db_mod b, was;
	u64 now = ANY(u64);
	bool gathers;

	GIVEN(sound(&b));
	was = b;
	gathers = db_mod_doorbell(&b, now);
	MUST("the row stays bounded", sound(&b));
	MUST("only what comes quickly waits", !gathers ||
	     (now > was.last && now - was.last < DB_MOD_QUICK_NS));
	MUST("only behind a row", !gathers || b.streak >= was.threshold);
	MUST("a row grows by one, or is none", !b.streak || b.streak == was.streak + 1);
	if (gathers)
		REACHED("gathers");
	if (!gathers && b.streak)
		REACHED("not yet");
}

void prove_answered(void)
{
	u64 now = ANY(u64);
	struct db_mod b, was;

	GIVEN(sound(&b));
	was = b;
	db_mod_answered(&b, now);
	MUST("an answer is no doorbell", sound(&b) && b.streak == was.streak);
	REACHED("answered");
}

void prove_gathered(void)
{
	u64 now = ANY(u64);
	u32 others = ANY(u32);
	struct db_mod b, was;
	bool worth;

	GIVEN(sound(&b) && now >= b.last);
	was = b;
	db_mod_coalesced(&b, now, others);
	worth = others >= DB_MOD_STREAK && now - was.last < DB_MOD_LATE_NS;
	MUST("the row stays bounded", sound(&b));
	MUST("in vain: it takes twice as many, up to the most", worth ||
	     (!b.streak && b.threshold == min(2 * was.threshold, DB_MOD_STREAK_MAX)));
	MUST("with many others, in time: as few as at first", !worth ||
	     (b.threshold == DB_MOD_STREAK && b.streak == was.streak));
	if (worth)
		REACHED("worth while");
	if (!worth && b.threshold == was.threshold)
		REACHED("the most");
}
