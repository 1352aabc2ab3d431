/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_BVEC_H
#define _HOST_UNIT_BVEC_H

#include <linux/types.h>

struct page;

struct bio_vec {
	struct page	*bv_page;
	u32		bv_len;
	u32		bv_offset;
};

static inline void bvec_set_page(struct bio_vec *v, struct page *page, u32 len, u32 off)
{
	v->bv_page = page;
	v->bv_len = len;
	v->bv_offset = off;
}

#endif
