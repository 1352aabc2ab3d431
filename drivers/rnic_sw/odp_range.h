/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* On-demand paging (ODP): arithmetic on pages and chunks. */
#ifndef _RNIC_SW_ODP_RANGE_H
#define _RNIC_SW_ODP_RANGE_H

#include <ddp/pure.h>

/*
 * Number of pages of a chunk. The table of a chunk, with 8 bytes for each page,
 * is then 4 KiB large.
 */
#define ODP_CHUNK_PAGES	512u

/* Maximum number of pages that one call of get_user_pages_remote() faults in */
#define ODP_BATCH	32u
/*
 * Maximum number of look-ahead pages: pages after a faulted-in range that are
 * also entered into the table if they are mapped already
 */
#define ODP_AHEAD	64u

/**
 * struct odp_span - consecutive pages of a chunk
 * @chunk: number of the chunk in the address space
 * @first: index of the first page in the chunk
 * @pages: number of pages; may be 0
 */
struct odp_span {
	u64	chunk;
	u32	first;
	u32	pages;
};

struct odp_span odp_compute_next_span(u64 at, u64 end, u8 shift);
struct odp_span odp_compute_span_in_chunk(u64 chunk, u64 from, u64 to, u8 shift);
u64 odp_compute_lookahead_end(u64 at, u64 end, u8 shift);
u64 odp_find_addr_mask(u64 (*untag)(u64 at));

#endif
