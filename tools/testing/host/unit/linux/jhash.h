/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _LINUX_JHASH_H
#define _LINUX_JHASH_H

#include <linux/types.h>

/* The tests need no good hash, only one that depends on all arguments */
static inline u32 jhash_3words(u32 a, u32 b, u32 c, u32 seed)
{
	return ((a * 31 + b) * 31 + c) * 31 + seed;
}

static inline u32 jhash(const void *key, u32 len, u32 seed)
{
	const u8 *p = key;

	while (len--)
		seed = seed * 31 + *p++;
	return seed;
}

#endif
