// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Checks of the indices of a ring that is shared with a program. */
#include <ddp/pure.h>

#include "ring_idx.h"

/**
 * ring_idx_count_posted - count the slots that are posted and not yet dequeued
 * @prod: producer index, which the caller has read once
 * @head: index of the next slot to dequeue
 * @tail: index of the oldest slot that is dequeued and not completed; @head -
 *	@tail must not exceed @slots
 * @slots: number of slots of the ring
 *
 * The slots from @tail to @prod must fit into the ring. So a caller that
 * dequeues only the slots counted here never has more than @slots of them in
 * use.
 *
 * Return: the number of posted slots; RING_IDX_INVALID if @prod is before @head
 * or more than @slots after @tail.
 */
u32 ring_idx_count_posted(u32 prod, u32 head, u32 tail, u32 slots)
{
	u32 posted = prod - head, used = head - tail;

	return posted <= slots - used ? posted : RING_IDX_INVALID;
}

/**
 * ring_idx_count_unread - count the slots that the consumer has not read yet
 * @prod: index of the next slot that the producer fills
 * @cons: consumer index, which the caller has read once
 * @seen: value of the consumer index at the caller's previous read
 * @slots: number of slots of the ring
 *
 * Return: the number of unread slots; RING_IDX_INVALID if it exceeds @slots, or
 * if @cons is not between @seen and @prod.
 */
u32 ring_idx_count_unread(u32 prod, u32 cons, u32 seen, u32 slots)
{
	u32 unread = prod - cons;

	if (unread > slots || cons - seen > prod - seen)
		return RING_IDX_INVALID;
	return unread;
}
