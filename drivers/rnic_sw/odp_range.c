// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * On-demand paging (ODP): arithmetic on pages and chunks.
 *
 * Addresses are user addresses. A range does not include its end address (@end
 * or @to). The end address must not wrap to 0, so a range cannot include the
 * last byte of the 64-bit address space.
 */
#include "odp_range.h"

/**
 * odp_compute_next_span - compute the next pages of a range to fault in together
 * @at: address of the first byte that is not yet faulted in
 * @end: address of the first byte after the range
 * @shift: log2 of the page size
 *
 * Return: at most ODP_BATCH pages of one chunk, starting with the page that
 * contains @at; 0 pages if @at is not less than @end.
 */
struct odp_span odp_compute_next_span(u64 at, u64 end, u8 shift)
{
	u64 nr = at >> shift, last = (end - 1) >> shift;
	struct odp_span s = {
		.chunk = nr / ODP_CHUNK_PAGES,
		.first = nr % ODP_CHUNK_PAGES,
	};

	if (at >= end)
		return s;
	s.pages = min(ODP_CHUNK_PAGES - s.first, ODP_BATCH);
	if (last - nr < s.pages)
		s.pages = last - nr + 1;
	return s;
}

/**
 * odp_compute_span_in_chunk - compute the pages of a chunk that overlap a range
 * @chunk: number of the chunk
 * @from: address of the first byte of the range
 * @to: address of the first byte after the range
 * @shift: log2 of the page size
 *
 * Return: the pages of the chunk that contain bytes of the range; may be 0
 * pages.
 */
struct odp_span odp_compute_span_in_chunk(u64 chunk, u64 from, u64 to, u8 shift)
{
	u64 base = chunk * ODP_CHUNK_PAGES, first, last;
	struct odp_span s = { .chunk = chunk };

	if (from >= to)
		return s;
	first = from >> shift;
	last = (to - 1) >> shift;
	if (last < base || first > base + ODP_CHUNK_PAGES - 1)
		return s;
	first = max(first, base) - base;
	last = min(last, base + ODP_CHUNK_PAGES - 1) - base;
	s.first = first;
	s.pages = last - first + 1;
	return s;
}

/**
 * odp_compute_lookahead_end - compute the end of the look-ahead range after a page fault
 * @at: address of the first byte after the range that was faulted in
 * @end: address of the first byte after the MR
 * @shift: log2 of the page size
 *
 * The look-ahead range begins at @at.
 *
 * Return: address of the first byte after the look-ahead range, which has at
 * most ODP_AHEAD pages; @at if the MR has no bytes from @at on.
 */
u64 odp_compute_lookahead_end(u64 at, u64 end, u8 shift)
{
	u64 most = (u64)ODP_AHEAD << shift;

	if (at >= end)
		return at;
	return end - at < most ? end : at + most;
}

/**
 * odp_find_addr_mask - find the bits of a user address that are not part of a tag
 * @untag: function that removes the tag from an address
 *
 * Return: mask of the bits that @untag does not clear.
 */
u64 odp_find_addr_mask(u64 (*untag)(u64 at))
{
	u64 addr_mask = U64_MAX;
	int i;

	for (i = 0; i < 64; i++)
		if (!untag(1ull << i))
			addr_mask &= ~(1ull << i);
	return addr_mask;
}
