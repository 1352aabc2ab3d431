/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Checks of the indices of a ring that is shared with a program.
 *
 * Indices are free-running 32-bit counters. A program may write any value to
 * its own index. The kernel reads the program's index once for each check and
 * compares the value with the kernel's own indices.
 */
#ifndef _RNIC_SW_RING_IDX_H
#define _RNIC_SW_RING_IDX_H

#include <ddp/pure.h>

/* Returned for an invalid index; no ring has so many slots */
#define RING_IDX_INVALID	U32_MAX

/*
 * Maximum number of slots to process without releasing the lock or enabling BH
 * or interrupts in between. A ring has up to 2^20 slots.
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
