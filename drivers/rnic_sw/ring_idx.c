// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What the indices of a ring say whose other side is a program. */
#include <ddp/pure.h>

#include "ring_idx.h"

/**
 * ring_idx_posted - how many slots are posted and not taken?
 * @prod: the producer's index, read once
 * @head: our index of the next slot to take
 * @tail: our index of the oldest slot in use; at most @slots before @head
 * @slots: how many the ring has
 *
 * What is in use and what is posted have to fit into the ring together, so
 * whoever takes what is posted never has more than the ring's slots in hand.
 *
 * Return: how many; RING_IDX_LIE if the producer cannot have posted that.
 */
u32 ring_idx_posted(u32 prod, u32 head, u32 tail, u32 slots)
{
	u32 posted = prod - head, used = head - tail;

	return posted <= slots - used ? posted : RING_IDX_LIE;
}

/**
 * ring_idx_unread - how many slots has the consumer still to read?
 * @prod: our index of the next slot to fill
 * @cons: the consumer's index, read once
 * @seen: what the consumer's index was at an earlier look
 * @slots: how many the ring has
 *
 * The consumer may have gone on from @seen, but neither back nor past @prod.
 *
 * Return: how many; RING_IDX_LIE if the consumer cannot have read that.
 */
u32 ring_idx_unread(u32 prod, u32 cons, u32 seen, u32 slots)
{
	u32 unread = prod - cons;

	if (unread > slots || cons - seen > prod - seen)
		return RING_IDX_LIE;
	return unread;
}
