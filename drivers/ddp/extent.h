/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Find the kernel address of a byte of an MR. */
#ifndef _DDP_EXTENT_H
#define _DDP_EXTENT_H

#include <linux/minmax.h>
#include <linux/types.h>

#include <ddp/mem.h>

/*
 * Find the extent at @to in an MR with blocks. On entry *@len is the number of
 * bytes wanted; on return it is the number of contiguous bytes, at most that
 * number. Return: the kernel address of the extent.
 */
static inline void *ddp_region_find_extent(const struct ddp_region *r, u64 to, u32 *len)
{
	u64 off = to - r->base + r->skip;
	size_t mask = ((size_t)1 << r->shift) - 1;
	size_t i = off >> r->shift, extent;
	void *p;

	p = r->block[i] + (off & mask);
	for (extent = mask + 1 - (off & mask); extent < *len; extent += mask + 1, i++)
		if (r->block[i + 1] != r->block[i] + mask + 1)
			break;
	*len = min_t(size_t, *len, extent);
	return p;
}

#endif
