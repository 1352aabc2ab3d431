/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Doorbell moderation of a send queue: decide when to coalesce posts.
 *
 * A program that posts messages one at a time rings the doorbell for each. If
 * its doorbells follow each other quickly, a short delay turns many doorbells
 * into one.
 */
#ifndef _RNIC_SW_BELL_H
#define _RNIC_SW_BELL_H

#include <ddp/pure.h>

/* A doorbell is quick if it rings within this time after bell.last */
#define DB_MOD_QUICK_NS	5000u

/* Length of a coalescing period. The timer was late if it took DB_MOD_LATE_NS. */
#define DB_MOD_PERIOD_NS	10000u
#define DB_MOD_LATE_NS	20000u

/*
 * DB_MOD_STREAK consecutive quick doorbells start a coalescing period, and at least
 * as many requests must follow for it to be worthwhile. A program with fewer
 * requests outstanding would wait for the timer each time. DB_MOD_STREAK_MAX is the
 * limit after periods that were not worthwhile.
 */
#define DB_MOD_STREAK	16u
#define DB_MOD_STREAK_MAX	16384u

/**
 * struct bell - doorbell moderation state of a send queue
 * @last: time in ns of the last event: the end of a transmit pass, or the start
 *	or end of a coalescing period. Coalesced requests are transmitted
 *	after the period ends. If that takes long, the next doorbell is not
 *	quick; a system call is then cheap in comparison.
 * @streak: number of consecutive quick doorbells
 * @threshold: value of @streak that starts a coalescing period
 */
struct db_mod {
	u64	last;
	u32	streak;
	u32	threshold;
};

void db_mod_init(struct db_mod *b);
bool db_mod_doorbell(struct db_mod *b, u64 now);
void db_mod_answered(struct db_mod *b, u64 now);
void db_mod_coalesced(struct db_mod *b, u64 now, u32 others);

#endif
