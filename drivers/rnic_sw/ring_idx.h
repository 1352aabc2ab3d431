/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the indices of a ring say whose producer is a program.
 *
 * Indices run freely, 32 bits wide.  The producer's may be anything: it is
 * read once for each look, and held against ours.
 */
#ifndef _RNIC_SW_RING_IDX_H
#define _RNIC_SW_RING_IDX_H

#include <ddp/pure.h>

#define RING_IDX_LIE	U32_MAX		/* no ring has so many slots */

/*
 * Slots that are looked at in one stretch: with a lock held, BH or interrupts
 * off.  A ring has 2^20 of them at most.
 */
#define RING_IDX_STEPS	64

u32 ring_idx_posted(u32 prod, u32 head, u32 tail, u32 slots);
u32 ring_idx_unread(u32 prod, u32 cons, u32 seen, u32 slots);

/* Does free-running index @a lie before @b? */
static inline bool ring_idx_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

#endif
