// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ranges of pages to fault in or to invalidate: every page index is within the chunk's
 * table of ODP_CHUNK_PAGES entries.
 *
 * Files: rnic_sw/odp_range.c
 * Bound: 1, there is no loop
 * Mutation: rnic_sw/odp_range.c s/last - nr < s.pages/last - nr <= s.pages/
 * Mutation: rnic_sw/odp_range.c s/min(ODP_CHUNK_PAGES - s.first, ODP_BATCH)/ODP_BATCH/
 * Mutation: rnic_sw/odp_range.c s/last < base/last <= base/
 */
#include "../../../drivers/rnic_sw/odp_range.h"
#include "proof.h"

static u8 any_shift(void)
{
	u8 shift = ANY(u8);

	GIVEN(shift >= 12 && shift <= 16);
	return shift;
}

void prove_next_span(void)
{
	u64 at = ANY(u64), end = ANY(u64), from, to;
	u8 shift = any_shift();
	struct odp_span s = odp_compute_next_span(at, end, shift);

	MUST("exactly an empty range has no pages", !s.pages == (at >= end));
	if (!s.pages)
		return;
	MUST("all pages are in the chunk's table", s.first + s.pages <= ODP_CHUNK_PAGES);
	MUST("at most ODP_BATCH pages", s.pages <= ODP_BATCH);
	from = s.chunk * ODP_CHUNK_PAGES + s.first;
	to = from + s.pages - 1;
	MUST("the span begins at the page of the range's first byte", from == at >> shift);
	MUST("the span does not end after the range", to <= (end - 1) >> shift);
	MUST("the span ends early only at a batch or at the end of the chunk",
	     to == (end - 1) >> shift ||
	     s.pages == ODP_BATCH || s.first + s.pages == ODP_CHUNK_PAGES);
	if (to == (end - 1) >> shift)
		REACHED("the whole range");
	if (s.pages == ODP_BATCH)
		REACHED("a batch");
}

/*
 * odp_compute_span_in_chunk() returns a page of the chunk if and only if the range contains bytes
 * of that page
 */
void prove_span_in_chunk(void)
{
	u64 chunk = ANY(u64), from = ANY(u64), to = ANY(u64), nr;
	u8 shift = any_shift();
	u32 i = ANY(u32);
	struct odp_span s;
	bool in, taken;

	GIVEN(chunk < U64_MAX >> shift >> 9);
	GIVEN(i < ODP_CHUNK_PAGES);
	s = odp_compute_span_in_chunk(chunk, from, to, shift);
	nr = chunk * ODP_CHUNK_PAGES + i;
	in = from < to && nr >= from >> shift && nr <= (to - 1) >> shift;
	taken = i >= s.first && i < s.first + s.pages;
	MUST("all pages are in the chunk's table", s.first + s.pages <= ODP_CHUNK_PAGES);
	MUST("a page is in the span exactly if it has bytes of the range", in == taken);
	if (taken)
		REACHED("a page in the span");
	if (!taken && s.pages)
		REACHED("a page outside the span");
}

void prove_lookahead_end(void)
{
	u64 at = ANY(u64), end = ANY(u64), to;
	u8 shift = any_shift();

	to = odp_compute_lookahead_end(at, end, shift);
	MUST("the end is not before the position and not after the limit",
	     to >= at && (to == at || to <= end));
	MUST("at most ODP_AHEAD pages", to - at <= (u64)ODP_AHEAD << shift);
	if (to > at)
		REACHED("pages ahead");
}
