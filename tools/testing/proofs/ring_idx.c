// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Checks of the index that a program writes to a shared ring: the index may be any number.
 * The reference computes 64-bit distances from an index that the kernel keeps.
 *
 * Files: rnic_sw/ring_idx.c
 * Bound: 1, there is no loop
 * Mutation: rnic_sw/ring_idx.c s/posted <= slots - used/posted <= slots/
 * Mutation: rnic_sw/ring_idx.c s/unread > slots || //
 * Mutation: rnic_sw/ring_idx.c s/ || cons - seen > prod - seen//
 */
#include "../../../drivers/rnic_sw/ring_idx.h"
#include "proof.h"

/* Compute how far an index that only grows has advanced from @from to @to */
static u64 compute_index_distance(u32 from, u32 to)
{
	return to >= from ? (u64)to - from : ((u64)1 << 32) + to - from;
}

void prove_posted_count(void)
{
	u32 prod = ANY(u32), head = ANY(u32), tail = ANY(u32);
	u32 slots = ANY(u32), posted;

	GIVEN(slots && slots <= (u32)1 << 31 && compute_index_distance(tail, head) <= slots);
	posted = ring_idx_count_posted(prod, head, tail, slots);
	MUST("SEC-4: posted slots that fit after those in use, or INVALID", posted ==
	     (compute_index_distance(tail, head) + compute_index_distance(head, prod) <= slots
	      ? compute_index_distance(head, prod) : RING_IDX_INVALID));
	MUST("SEC-4: slots in use and posted fit in the ring",
	     posted == RING_IDX_INVALID ||
	     compute_index_distance(tail, head) + posted <= slots);
	if (posted == RING_IDX_INVALID)
		REACHED("invalid index");
	if (posted != RING_IDX_INVALID && prod < head)
		REACHED("the index wrapped");
}

void prove_unread_count(void)
{
	u32 prod = ANY(u32), cons = ANY(u32), seen = ANY(u32);
	u32 slots = ANY(u32), unread;

	GIVEN(slots && slots <= (u32)1 << 31 && compute_index_distance(seen, prod) <= (u32)1 << 31);
	unread = ring_idx_count_unread(prod, cons, seen, slots);
	MUST("SEC-4: unread slots if the index advances within the filled slots, or INVALID",
	     unread ==
	     (compute_index_distance(cons, prod) <= slots &&
	      compute_index_distance(seen, cons) <= compute_index_distance(seen, prod)
	      ? compute_index_distance(cons, prod) : RING_IDX_INVALID));
	MUST("SEC-4: unread slots fit in the ring",
	     unread == RING_IDX_INVALID || unread <= slots);
	if (unread == RING_IDX_INVALID)
		REACHED("invalid index");
	if (unread != RING_IDX_INVALID && prod < cons)
		REACHED("the index wrapped");
}
