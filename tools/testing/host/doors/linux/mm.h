/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#include <linux/slab.h>

struct page;

/* The test's */
struct page *alloc_page(gfp_t gfp);
void *page_address(const struct page *p);
void put_page(struct page *p);
