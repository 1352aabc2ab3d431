/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Checks that fields of different writers do not share a cache line. */
#ifndef _DDP_LINES_H
#define _DDP_LINES_H

#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/stddef.h>

#define DDP_CACHELINE	64	/* cache line size of most machines */

/*
 * Number of bytes between the members @a and @b. If it is DDP_CACHELINE or
 * more, the two members never share a cache line.
 */
#define DDP_GAP(type, a, b)		(offsetof(type, b) - offsetofend(type, a))

/*
 * Index of the cache line that @member begins in. @type must contain a member
 * that is ____cacheline_aligned_in_smp.
 */
#define DDP_CACHELINE_OF(type, member)	(offsetof(type, member) / DDP_CACHELINE)

#endif
