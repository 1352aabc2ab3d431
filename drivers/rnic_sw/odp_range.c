// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory that is not pinned: which pages of which chunk.
 *
 * Addresses are a process's.  An @end or @to is behind the last octet, and is
 * not above the last page of the numbers there are.
 */
#include "odp_range.h"

/**
 * odp_span - the pages that the octets at @at and behind it lie in
 * @at: the first octet
 * @end: of all of them
 * @shift: log2 of the size of a page
 *
 * Return: those that can be brought in one go, in one chunk.
 */
struct odp_span odp_span(u64 at, u64 end, u8 shift)
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
 * odp_span_here - what of a range is a chunk's
 * @chunk: the chunk
 * @from: where the range begins
 * @to: where it ends
 * @shift: log2 of the size of a page
 *
 * Return: the pages of the chunk that have octets in the range.
 */
struct odp_span odp_span_here(u64 chunk, u64 from, u64 to, u8 shift)
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
 * odp_ahead - how far to look for what is there anyhow, behind what was wanted
 * @at: where what was wanted ends
 * @end: where the region ends
 * @shift: log2 of the size of a page
 *
 * Return: where that ends; @at: nothing is to be looked for.
 */
u64 odp_ahead(u64 at, u64 end, u8 shift)
{
	u64 most = (u64)ODP_AHEAD << shift;

	if (at >= end)
		return at;
	return end - at < most ? end : at + most;
}

/**
 * odp_address - which bits of a program's address say where it is
 * @untag: takes away from an address what only its owner looks at
 *
 * Return: them.  A tag is in the others, if there can be any.
 */
u64 odp_address(u64 (*untag)(u64 at))
{
	u64 bits = U64_MAX;
	int i;

	for (i = 0; i < 64; i++)
		if (!untag(1ull << i))
			bits &= ~(1ull << i);
	return bits;
}
