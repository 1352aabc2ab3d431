/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Checks of the indices of a ring that is shared with a program.
 *
 * Indices are free-running 32-bit counters. A program may write any value to
 * its index. The kernel reads that index once for each check and compares it
 * with its own indices.
 */
#ifndef _RNIC_SW_RING_IDX_H
#define _RNIC_SW_RING_IDX_H

#include <ddp/pure.h>

#define RING_IDX_INVALID	U32_MAX		/* invalid index, no ring is so large */

/*
 * Maximum number of slots processed in one go while a lock is held or BH or
 * interrupts are off. A ring has up to 2^20 slots.
 */
#define RING_IDX_STEPS	64

u32 ring_idx_posted(u32 prod, u32 head, u32 tail, u32 slots);
u32 ring_idx_unread(u32 prod, u32 cons, u32 seen, u32 slots);

/* Check whether free-running index @a is before @b */
static inline bool ring_idx_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

#endif
