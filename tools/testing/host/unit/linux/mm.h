/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_MM_H
#define _HOST_UNIT_MM_H

#include <linux/slab.h>

#ifndef PAGE_SHIFT
#define PAGE_SHIFT		12
#endif
#ifndef PAGE_SIZE
#define PAGE_SIZE		(1ul << PAGE_SHIFT)
#endif
#define PAGE_MASK		(~(PAGE_SIZE - 1))
#define offset_in_page(p)	((unsigned long)(p) & ~PAGE_MASK)
#define copy_page(to, from)	memcpy(to, from, PAGE_SIZE)

struct page;

/* each test defines these functions */
struct page *alloc_page(gfp_t gfp);
#ifndef page_address
void *page_address(const struct page *p);
#endif
void put_page(struct page *p);

#endif
