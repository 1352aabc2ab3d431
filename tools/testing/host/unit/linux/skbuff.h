/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SKBUFF_H
#define _HOST_UNIT_SKBUFF_H

#include <linux/types.h>

#define GFP_ATOMIC	0u
#ifndef __GFP_NOWARN
#define __GFP_NOWARN	0u
#endif

struct sk_buff {
	u32	truesize;
};

/* each test defines this function */
int skb_copy_bits(const struct sk_buff *skb, int off, void *to, int len);

/* A page, which the test allocates and frees */
struct page {
	int	refs;
	u32	size;
	bool	emergency;	/* from emergency reserves */
	u8	octets[] __aligned(4096);
};

struct page_frag {
	struct page	*page;
	u32		offset;
	u32		size;
};

bool skb_page_frag_refill(u32 least, struct page_frag *f, gfp_t gfp);
void put_page(struct page *page);

static inline void get_page(struct page *page)
{
	page->refs++;
}

#define page_ref_count(page)		((page)->refs)
#define page_address(page)		((void *)(page)->octets)
#define page_is_pfmemalloc(page)	((page)->emergency)

#endif
