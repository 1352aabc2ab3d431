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
#define BELL_QUICK_NS	5000u

/* Length of a coalescing period. The timer was late if it took BELL_LATE_NS. */
#define BELL_GATHER_NS	10000u
#define BELL_LATE_NS	20000u

/*
 * BELL_ROW consecutive quick doorbells start a coalescing period, and at least
 * as many requests must follow for it to be worthwhile. A program with fewer
 * requests outstanding would wait for the timer each time. BELL_ROW_MOST is the
 * limit after periods that were not worthwhile.
 */
#define BELL_ROW	16u
#define BELL_ROW_MOST	16384u

/**
 * struct bell - doorbell moderation state of a send queue
 * @last: time in ns of the last event: the end of a transmit pass, or the start
 *	or end of a coalescing period. Coalesced requests are transmitted
 *	after the period ends. If that takes long, the next doorbell is not
 *	quick; a system call is then cheap in comparison.
 * @row: number of consecutive quick doorbells
 * @wanted: value of @row that starts a coalescing period
 */
struct bell {
	u64	last;
	u32	row;
	u32	wanted;
};

void bell_init(struct bell *b);
bool bell_rung(struct bell *b, u64 now);
void bell_answered(struct bell *b, u64 now);
void bell_gathered(struct bell *b, u64 now, u32 others);

#endif
