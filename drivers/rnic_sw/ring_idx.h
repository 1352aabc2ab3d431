/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Checks of the indices of a ring that is shared with a program.
 *
 * Indices are free-running 32-bit counters. A program can write any value to
 * its index. So for each check the kernel reads the program's index once, and
 * compares the value with the indices that only the kernel can write.
 */
#ifndef _RNIC_SW_RING_IDX_H
#define _RNIC_SW_RING_IDX_H

#include <ddp/pure.h>

/*
 * Return value for an invalid index. It cannot be a valid number of slots,
 * because no ring has that many.
 */
#define RING_IDX_INVALID	U32_MAX

/*
 * Maximum number of slots that a loop processes before it releases its lock or
 * enables BH or interrupts again. A ring has up to 2^20 slots; to process all of
 * them at once would take too long.
 */
#define RING_IDX_STEPS	64

u32 ring_idx_count_posted(u32 prod, u32 head, u32 tail, u32 slots);
u32 ring_idx_count_unread(u32 prod, u32 cons, u32 seen, u32 slots);

/* Check whether the free-running index @a is before @b */
static inline bool ring_idx_is_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

#endif
