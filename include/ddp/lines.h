/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Helpers to check at compile time that two fields do not share a cache line.
 * Used for fields that different contexts write.
 */
#ifndef _DDP_LINES_H
#define _DDP_LINES_H

#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/stddef.h>

#define DDP_CACHELINE	64	/* cache line size of most machines */

/*
 * Number of bytes between the members @a and @b of @type. If there are
 * DDP_CACHELINE or more bytes between them, the two members never share a cache
 * line.
 */
#define DDP_GAP(type, a, b)		(offsetof(type, b) - offsetofend(type, a))

/*
 * Index of the cache line in which @member begins, counted from the start of
 * @type. @type must have a member that is ____cacheline_aligned_in_smp: the
 * compiler then places @type at the start of a cache line.
 */
#define DDP_CACHELINE_OF(type, member)	(offsetof(type, member) / DDP_CACHELINE)

#endif
