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

/* Transmit passes of more bytes of payload than this do not change the pace */
#define DB_MOD_SHORT	4096u

/*
 * DB_MOD_STREAK: number of consecutive quick doorbells that starts a coalescing period; number of
 * WRs that makes the period worthwhile; and number of WRs for which a doorbell in the period
 * transmits. A program that never has that many WRs
 * outstanding gains nothing from a period: it stops posting and waits until the timer expires.
 *
 * DB_MOD_STREAK_MAX: limit for the number of quick doorbells that starts a period; the number
 * is doubled after each period that was not worthwhile. Such a period delays the program by the
 * time of two transmit passes, so with this limit it is delayed by less than a fiftieth of its
 * time. With a higher limit, no period might ever start again for a program that shares its CPU
 * with others, because each preemption ends the streak.
 */
#define DB_MOD_STREAK	16u
#define DB_MOD_STREAK_MAX	128u

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
 */
struct db_mod {
	u64	last;
	u64	rung;
	u32	pace;
	u32	streak;
	u32	threshold;
};

/*
 * A period goes on for at most this many times its length while a doorbell transmits. A transmit
 * pass for many WRs takes longer than one for a single WR; but the thread that rang the doorbell
 * may also have been preempted, and WRs of other threads must not wait for it.
 */
#define DB_MOD_PUSH_PERIODS	8u

/**
 * struct db_period - a coalescing period
 * @due: time in ns at which the timer should expire
 * @first: producer index of the send queue at the start of the period
 * @pushed: producer index when a doorbell transmitted last; @first if none has transmitted
 * @cpu: CPU on which the period has started, or a doorbell has transmitted last
 * @pushers: number of doorbells that are transmitting now
 * @extended: true if a doorbell has begun or ended to transmit since the timer was started last
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
bool db_mod_record_doorbell_and_decide(struct db_mod *b, u64 now);
void db_mod_record_transmit_end(struct db_mod *b, u64 now, u32 bytes);
void db_mod_record_period_end(struct db_mod *b, u64 now, const struct db_period *p, u32 prod);

#endif
