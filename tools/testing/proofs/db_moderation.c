// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbell moderation. For any sequence of doorbells and any time stamps, the threshold
 * stays within its bounds. Only a streak of doorbells at short intervals delays a post.
 *
 * Files: rnic_sw/db_moderation.c
 * Bound: 5, the threshold is halved at most three times
 * Mutation: rnic_sw/db_moderation.c s/b->peak < DB_MOD_STREAK_MAX/b->streak < DB_MOD_STREAK_MAX/
 * Mutation: rnic_sw/db_moderation.c s/b->threshold = b->peak/b->threshold *= 2/
 * Mutation: rnic_sw/db_moderation.c s/now <= b->last || //
 * Mutation: rnic_sw/db_moderation.c s/>= b->pace/> b->pace/
 * Mutation: rnic_sw/db_moderation.c s/threshold > DB_MOD_STREAK && //
 * Mutation: rnic_sw/db_moderation.c s/!b->wait && //
 * Mutation: rnic_sw/db_moderation.c s/late ? DB_MOD_WAIT_LATE/late ? DB_MOD_WAIT/
 * Mutation: rnic_sw/db_moderation.c s/b->wait--/b->wait = 0/
 * Mutation: rnic_sw/db_moderation.c s/if (!b->wait && b->streak >= threshold + DB_MOD_STREAK)/if (!b->wait)/
 * Mutation: rnic_sw/db_moderation.c s/< b->threshold/< DB_MOD_STREAK/
 * Mutation: rnic_sw/db_moderation.c s/prod - p->first >= DB_MOD_STREAK/prod - p->first/
 * Mutation: rnic_sw/db_moderation.c s/!late || //
 * Mutation: rnic_sw/db_moderation.c s/ || prod == p->pushed//
 * Mutation: rnic_sw/db_moderation.c s/prod - p->pushed < DB_MOD_STREAK/prod < p->pushed + DB_MOD_STREAK/
 * Mutation: rnic_sw/db_moderation.c s/!extended || p->cpu != cpu/!extended/
 * Mutation: rnic_sw/db_moderation.c s/!extended || p->cpu != cpu/p->cpu != cpu/
 * Mutation: rnic_sw/db_moderation.c s/p->extended = false/p->extended = p->extended/
 * Mutation: rnic_sw/db_moderation.c s/b->timed > DB_MOD_TIMED/b->timed < DB_MOD_TIMED/
 * Mutation: rnic_sw/db_moderation.c s/bytes && //
 * Mutation: rnic_sw/db_moderation.c s/, limit), DB_MOD_PACE_MIN/, limit), 0/
 * Mutation: rnic_sw/db_moderation.c s/, DB_MOD_PACE_MAX);/, U32_MAX);/
 * Mutation: rnic_sw/db_moderation.c s/b->timed = DB_MOD_TIMED;/b->timed = 0;/
 * Mutation: rnic_sw/db_moderation.c s/b->timed = DB_MOD_SLOW;//
 * Mutation: rnic_sw/db_moderation.c s/b->untimed--;//
 * Mutation: rnic_sw/db_moderation.c s/b->wait -= min(b->wait, DB_MOD_UNTIMED)/b->wait -= DB_MOD_UNTIMED/
 */
#include "../../../drivers/rnic_sw/db_moderation.h"
#include "proof.h"

/* Check that @n is a power of two between the lowest and the highest threshold */
static bool is_threshold(u32 n)
{
	return n >= DB_MOD_STREAK && n <= DB_MOD_STREAK_MAX && !(n & (n - 1));
}

/* Check the bounds of pace, threshold, peak, wait, timed and untimed */
static bool is_sound(const struct db_mod *b)
{
	return b->pace >= DB_MOD_PACE_MIN && b->pace <= DB_MOD_PACE_MAX &&
	       is_threshold(b->threshold) && is_threshold(b->peak) &&
	       b->threshold <= b->peak && b->wait <= DB_MOD_WAIT_LATE &&
	       b->timed && b->timed <= DB_MOD_SLOW && b->untimed <= DB_MOD_UNTIMED;
}

void prove_init(void)
{
	struct db_mod b;

	db_mod_init(&b);
	MUST("the initial threshold is within its bounds and the streak is empty",
	     is_sound(&b) && !b.streak);
	REACHED("initialized");
}

void prove_record_doorbell(void)
{
	struct db_mod b, was;
	u64 now = ANY(u64);
	bool gathers, quick, skips;

	GIVEN(is_sound(&b));
	was = b;
	gathers = db_mod_record_doorbell_and_decide(&b, now);
	quick = now > was.last && now - was.last < was.pace;
	skips = !quick && was.timed == 1;
	MUST("the threshold stays within its bounds", is_sound(&b));
	MUST("a post is delayed only soon after the previous doorbell", !gathers || quick);
	MUST("a post is delayed only after a streak of threshold doorbells",
	     !gathers || b.streak >= was.threshold);
	MUST("the streak grows by one or is reset", !b.streak || b.streak == was.streak + 1);
	MUST("only the end of a streak lowers the threshold, and only after enough doorbells",
	     b.threshold == was.threshold ||
	     (b.threshold < was.threshold && !b.streak && was.wait <= 1));
	MUST("each doorbell counts once, those that will not be timed in advance", b.peak == was.peak &&
	     b.wait == was.wait - min(was.wait, 1 + (skips ? DB_MOD_UNTIMED : 0)));
	MUST("doorbells are not timed only after enough that were not quick, and then two are timed",
	     skips ? b.timed == DB_MOD_TIMED && b.untimed == DB_MOD_UNTIMED :
	     b.timed == (quick ? DB_MOD_SLOW : was.timed - 1) && b.untimed == was.untimed);
	MUST("the threshold falls only to a value that left enough of the streak for a period",
	     b.threshold == was.threshold || was.streak >= b.threshold + DB_MOD_STREAK);
	if (b.threshold < was.threshold)
		REACHED("the threshold falls");
	if (skips)
		REACHED("the next doorbells are not timed");
	if (gathers)
		REACHED("a post is delayed");
	if (!gathers && b.streak)
		REACHED("the streak grows");
}

void prove_skip(void)
{
	struct db_mod b, was;
	bool skips;

	GIVEN(is_sound(&b));
	was = b;
	skips = db_mod_try_skip_doorbell(&b);
	MUST("a doorbell is skipped as often as recorded",
	     skips == !!was.untimed && b.untimed == was.untimed - skips && is_sound(&b));
	MUST("the other fields do not change",
	     b.last == was.last && b.streak == was.streak && b.wait == was.wait &&
	     b.timed == was.timed && b.threshold == was.threshold);
	if (skips)
		REACHED("a doorbell is skipped");
}

void prove_record_transmit_end(void)
{
	u64 now = ANY(u64);
	u32 bytes = ANY(u32);
	struct db_mod b, was;

	GIVEN(is_sound(&b));
	was = b;
	db_mod_record_transmit_end(&b, now, bytes);
	MUST("the end of a transmit pass does not change the streak, and the pace stays in bounds",
	     is_sound(&b) && b.streak == was.streak);
	MUST("only a pass of few bytes changes the pace", b.pace == was.pace ||
	     (bytes && bytes <= DB_MOD_SHORT));
	MUST("a pass raises the pace by half at most, and by a sixteenth if all passes are timed",
	     b.pace <= was.pace + was.pace / (was.timed > DB_MOD_TIMED ? 16 : 2));
	REACHED("the end of a pass");
}

void prove_record_period_end(void)
{
	struct db_period p = ANY(struct db_period);
	u64 now = ANY(u64);
	u32 prod = ANY(u32);
	struct db_mod b, was;
	bool late, worth;

	GIVEN(is_sound(&b) && now >= b.last && p.due <= U64_MAX - 2 * DB_MOD_PACE_MAX);
	was = b;
	db_mod_record_period_end(&b, now, &p, prod);
	late = now >= p.due + db_mod_get_period(&was);
	worth = (u32)(prod - p.first) >= DB_MOD_STREAK && (!late || prod == p.pushed);
	MUST("the threshold stays within its bounds", is_sound(&b));
	MUST("if not worth it, the highest threshold doubles, and the streak is reset", worth ||
	     (!b.streak && b.threshold == min(2 * was.peak, DB_MOD_STREAK_MAX) &&
	      b.peak == b.threshold));
	MUST("if not worth it, the threshold does not fall soon, and later after a late timer", worth ||
	     b.wait == (late ? DB_MOD_WAIT_LATE : DB_MOD_WAIT));
	MUST("if worth it, the threshold is the minimum, and the streak is kept", !worth ||
	     (b.threshold == DB_MOD_STREAK && b.peak == DB_MOD_STREAK && b.streak == was.streak));
	if (worth)
		REACHED("coalescing was worth it");
	if (!worth && b.threshold == was.threshold)
		REACHED("the threshold is already the maximum");
}

void prove_period(void)
{
	u32 prod = ANY(u32), cpu = ANY(u32), timer_cpu = ANY(u32), n;
	struct db_period p, was;
	bool pushes;

	GIVEN(p.pushers < U32_MAX);
	was = p;
	pushes = db_period_try_begin_push(&p, prod, cpu);
	MUST("a doorbell transmits if and only if enough WRs were posted",
	     pushes == ((u32)(prod - was.pushed) >= DB_MOD_STREAK));
	n = db_period_handle_timer(&p, timer_cpu);
	MUST("the period goes on only after a doorbell that transmits on the timer's CPU",
	     !n == !((was.extended || pushes) && (pushes ? cpu : was.cpu) == timer_cpu));
	MUST("the period goes on for a bounded time", n <= DB_MOD_PUSH_PERIODS);
	MUST("without another doorbell, the period ends when the timer expires again",
	     !db_period_handle_timer(&p, timer_cpu));
	if (pushes) {
		db_period_end_push(&p);
		MUST("each doorbell is counted once", p.pushers == was.pushers);
		MUST("the end of the transmission extends the period",
		     !!db_period_handle_timer(&p, timer_cpu) == (cpu == timer_cpu));
		REACHED("a doorbell transmits in a period");
	}
	if (!n)
		REACHED("a period ends");
}
