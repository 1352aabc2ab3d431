/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Checks that fields of different writers do not share a cache line. */
#ifndef _DDP_LINES_H
#define _DDP_LINES_H

#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/stddef.h>

#define DDP_CACHELINE	64	/* cache line size of most machines */

/* Bytes between @a and @b: if a line or more, they never share one */
#define DDP_GAP(type, a, b)		(offsetof(type, b) - offsetofend(type, a))

/* Cache line of @member in @type, which must be ____cacheline_aligned_in_smp */
#define DDP_CACHELINE_OF(type, member)	(offsetof(type, member) / DDP_CACHELINE)

#endif
