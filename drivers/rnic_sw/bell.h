/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Doorbells of a send queue: is it time to let posts come together?
 *
 * A program that posts one message behind the other rings for each.  Where it does
 * so at once each time, and many do follow, a short wait makes many doorbells one.
 */
#ifndef _RNIC_SW_BELL_H
#define _RNIC_SW_BELL_H

#include <ddp/pure.h>

/* So soon behind the last answer a doorbell is quick */
#define BELL_QUICK_NS	5000u

/* For so long posts are let come together; if it took so long, the timer was late */
#define BELL_GATHER_NS	10000u
#define BELL_LATE_NS	20000u

/*
 * Quick ones in a row before they are, and as many have to follow for it to have been
 * worth while: who has fewer under way would wait for the timer each time.  The most,
 * where it was not.
 */
#define BELL_ROW	16u
#define BELL_ROW_MOST	16384u

/**
 * struct bell - what is remembered of a queue's doorbells
 * @last: in ns: when the last answer was over, or posts began to come together, or had
 *	come.  These are sent behind that: where it takes long, that ends the row, and
 *	then a system call is little beside it
 * @row: quick ones since one that was not
 * @wanted: so many in a row before posts are let come together
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
