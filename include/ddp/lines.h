/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Which words lie in which line of the cache: by who writes them. */
#ifndef _DDP_LINES_H
#define _DDP_LINES_H

#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/stddef.h>

#define DDP_LINE	64	/* of most machines */

/* From the end of @a to @b: a line or more, and they share none wherever @type begins */
#define DDP_GAP(type, a, b)		(offsetof(type, b) - offsetofend(type, a))

/* Of a structure that begins with a line, as those with ____cacheline_aligned_in_smp do */
#define DDP_LINE_OF(type, member)	(offsetof(type, member) / DDP_LINE)

#endif
