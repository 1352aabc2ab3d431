/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Doorbell moderation: decide for each doorbell of a send queue whether to coalesce posts.
 *
 * A program that posts WRs one at a time rings the doorbell, which is a system call, for each
 * WR. If the doorbells follow each other quickly, a coalescing period saves most of these calls:
 * the program posts without a doorbell, and a timer at the end of the period starts
 * transmission. The cost is a short delay. sq_coalesce.c has the timer.
 *
 * A program that goes on posting does not wait for the timer, which may be late: after some dozen
 * posts, libibverbs rings the doorbell although the kernel has not asked for it. This doorbell
 * transmits, and extends the period.
 */
#ifndef _RNIC_SW_DB_MODERATION_H
#define _RNIC_SW_DB_MODERATION_H

#include <ddp/pure.h>

/*
 * All times are multiples of db_mod.pace, because a slow machine, an emulated CPU or KASAN makes
 * the program and the driver slow alike. Bounds of the pace in ns:
 */
#define DB_MOD_PACE_MIN	5000u
#define DB_MOD_PACE_MAX	320000u

/*
 * To time a doorbell, the driver reads the clock before and after the transmit pass. This costs
 * about 1 % of a short post. A program that waits for each response gains nothing from it: its
 * doorbells are never quick. So after DB_MOD_SLOW consecutive doorbells that are not quick, the
 * driver repeats this cycle: DB_MOD_UNTIMED doorbells are not timed, and DB_MOD_TIMED are
 * timed. The first of these sets db_mod.last, so the second can be quick. If one is quick, the
 * driver times all doorbells again. It notices a program that starts to post quickly at most
 * DB_MOD_UNTIMED + 1 doorbells later than if it timed all of them.
 *
 * On a slow machine no doorbell is quick until the pace is right. The driver times few passes
 * then, so each of them may raise the pace by half instead of a sixteenth.
 *
 * A doorbell sets db_mod.last only if NEED_WAKEUP was set. DB_MOD_UNTIMED + DB_MOD_TIMED is a
 * prime number. So if NEED_WAKEUP is clear for every second doorbell, for example, the first
 * doorbell that is timed sets db_mod.last in every second cycle.
 */
#define DB_MOD_SLOW	16u
#define DB_MOD_UNTIMED	15u
#define DB_MOD_TIMED	2u

/* Transmit passes of more bytes of payload than this do not change the pace */
#define DB_MOD_SHORT	4096u

/*
 * DB_MOD_STREAK: a coalescing period starts after this many consecutive quick doorbells. The period
 * is worthwhile if the program posts this many WRs, and a doorbell during the period transmits if
 * this many WRs were posted since the last transmission. A program that never has that many WRs
 * outstanding gains nothing from a period: it stops posting and waits until the timer expires.
 *
 * DB_MOD_STREAK_MAX: limit for the number of quick doorbells that starts a period. The driver
 * doubles this number after each period that was not worthwhile. Such a period lasts as long as two
 * transmit passes. At the limit at least 128 passes precede it, so it slows the program down by
 * less than 2 %. Each preemption of the program ends a streak, so with a much higher limit a
 * program that shares its CPU with others might never coalesce again.
 *
 * A program that posts 64 WRs and then waits for their completions rings at most 63 quick doorbells
 * in a row. So it would never start a period again once the threshold is 64, although periods save
 * it doorbells. Therefore the driver lowers the threshold at the end of a streak, if a period that
 * started at the lower threshold would have been worthwhile.
 *
 * DB_MOD_WAIT: after a period that was not worthwhile, the driver does not lower the threshold
 * during this many doorbells; DB_MOD_WAIT_LATE: the same if the timer of that period was late. So
 * at least DB_MOD_WAIT doorbells precede a period that starts at a lowered threshold. If that
 * period is not worthwhile either, the driver doubles the threshold from before it was lowered.
 */
#define DB_MOD_STREAK	16u
#define DB_MOD_STREAK_MAX	128u
#define DB_MOD_WAIT	128u
#define DB_MOD_WAIT_LATE	1024u

/**
 * struct db_mod - doorbell moderation state of a send queue
 * @last: time in ns at which a transmit pass after a doorbell ended, or a coalescing period
 *	started or ended, whichever was last. The transmission of coalesced WRs begins only
 *	after the period has ended. If that transmission takes long, the next doorbell does not
 *	count as quick. This is intended: coalescing saves little if the system call of a
 *	doorbell is cheap compared to the transmission.
 * @rung: time in ns at which the doorbell rang last
 * @pace: about the shortest time in ns that the transmit pass after a doorbell takes, but at least
 *	DB_MOD_PACE_MIN and at most DB_MOD_PACE_MAX
 * @streak: number of consecutive quick doorbells
 * @threshold: value of @streak that starts a coalescing period
 * @peak: highest value of @threshold since the last period that was worthwhile
 * @wait: number of doorbells that must be timed before @threshold may fall. The driver subtracts
 *	the doorbells that it does not time when it sets @untimed
 * @timed: number of doorbells that the driver times before it stops timing, if none of them is
 *	quick; at least 1
 * @untimed: number of doorbells that the driver does not time from now on
 */
struct db_mod {
	u64	last;
	u64	rung;
	u32	pace;
	u32	streak;
	u32	threshold;
	u32	peak;
	u32	wait;
	u32	timed;
	u32	untimed;
};

/*
 * If the timer expires while a doorbell transmits, it expires again after this many periods,
 * because the transmission of many WRs takes longer than that of one. The period then ends even if
 * the doorbell still transmits: its thread may have been preempted, and the WRs of other threads
 * must not wait for this thread.
 */
#define DB_MOD_PUSH_PERIODS	8u

/**
 * struct db_period - a coalescing period
 * @due: time in ns at which the timer should expire
 * @first: producer index of the send queue at the start of the period
 * @pushed: producer index when a doorbell transmitted last; @first if none has transmitted
 * @cpu: CPU on which the period has started, or a doorbell has transmitted last
 * @pushers: number of doorbells that are transmitting now
 * @extended: true if a doorbell has started or finished transmitting since the last start of the
 *	timer
 */
struct db_period {
	u64	due;
	u32	first;
	u32	pushed;
	u32	cpu;
	u32	pushers;
	bool	extended;
};

void db_period_start(struct db_period *p, u32 prod, u32 cpu);
bool db_period_try_begin_push(struct db_period *p, u32 prod, u32 cpu);
void db_period_end_push(struct db_period *p);
u32 db_period_handle_timer(struct db_period *p, u32 cpu);

void db_mod_init(struct db_mod *b);
u32 db_mod_get_period(const struct db_mod *b);
bool db_mod_try_skip_doorbell(struct db_mod *b);
bool db_mod_record_doorbell_and_decide(struct db_mod *b, u64 now);
void db_mod_record_transmit_end(struct db_mod *b, u64 now, u32 bytes);
void db_mod_record_period_end(struct db_mod *b, u64 now, const struct db_period *p, u32 prod);

#endif
