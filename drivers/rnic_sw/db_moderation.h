/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Doorbell moderation of a send queue: decide when to coalesce posts.
 *
 * A program that posts requests one at a time rings the doorbell for each
 * request. If the doorbells follow each other quickly, one timer replaces many
 * doorbells at the cost of a short delay.
 */
#ifndef _RNIC_SW_DB_MODERATION_H
#define _RNIC_SW_DB_MODERATION_H

#include <ddp/pure.h>

/* A doorbell is quick if it rings less than this many ns after db_mod.last */
#define DB_MOD_QUICK_NS	5000u

/*
 * Nominal length of a coalescing period, and the actual length from which the
 * timer counts as late; both in ns
 */
#define DB_MOD_PERIOD_NS	10000u
#define DB_MOD_LATE_NS	20000u

/*
 * DB_MOD_STREAK: number of consecutive quick doorbells that starts a coalescing
 * period, and the minimum number of requests in a worthwhile period. A program
 * with fewer requests outstanding would wait for the timer each time.
 *
 * DB_MOD_STREAK_MAX: maximum number of quick doorbells that a period can need
 * after periods that were not worthwhile
 */
#define DB_MOD_STREAK	16u
#define DB_MOD_STREAK_MAX	16384u

/**
 * struct db_mod - doorbell moderation state of a send queue
 * @last: time in ns of the last event: the end of a transmit pass that a
 *	doorbell started, or the start or end of a coalescing period.
 *	Coalesced requests are transmitted after the end of the period. If
 *	that takes long, the next doorbell is not quick, which is right: its
 *	system call is cheap in comparison.
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
