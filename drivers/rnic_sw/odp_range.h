/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory that is not pinned: which pages of which chunk, as numbers. */
#ifndef _RNIC_SW_ODP_RANGE_H
#define _RNIC_SW_ODP_RANGE_H

#include <ddp/pure.h>

/* Pages of a chunk: what is kept of one fits into a page, where they have 4 KiB */
#define ODP_CHUNK_PAGES	512u

/* Pages brought in one go, and how many more are looked for behind them */
#define ODP_BATCH	32u
#define ODP_AHEAD	64u

/**
 * struct odp_span - some pages of a chunk, one behind the other
 * @chunk: which chunk of the address space
 * @first: the first page, in the chunk
 * @pages: how many; 0: there are none
 */
struct odp_span {
	u64	chunk;
	u32	first;
	u32	pages;
};

struct odp_span odp_span(u64 at, u64 end, u8 shift);
struct odp_span odp_span_here(u64 chunk, u64 from, u64 to, u8 shift);
u64 odp_ahead(u64 at, u64 end, u8 shift);
u64 odp_address(u64 (*untag)(u64 at));

#endif
