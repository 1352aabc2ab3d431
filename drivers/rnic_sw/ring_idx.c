// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Checks of the indices of a ring that is shared with a program. */
#include <ddp/pure.h>

#include "ring_idx.h"

/**
 * ring_idx_posted - count the slots that are posted and not yet taken
 * @prod: producer index, read once by the caller
 * @head: index of the next slot to take
 * @tail: index of the oldest slot in use, at most @slots before @head
 * @slots: number of slots of the ring
 *
 * The slots in use and the posted slots must fit into the ring together. A
 * caller that takes no more than the posted slots therefore never has more than
 * @slots in use.
 *
 * Return: the number of slots, or RING_IDX_INVALID if the producer cannot have
 * posted that many.
 */
u32 ring_idx_posted(u32 prod, u32 head, u32 tail, u32 slots)
{
	u32 posted = prod - head, used = head - tail;

	return posted <= slots - used ? posted : RING_IDX_INVALID;
}

/**
 * ring_idx_unread - count the slots that the consumer has not read yet
 * @prod: index of the next slot to fill
 * @cons: consumer index, read once by the caller
 * @seen: consumer index at an earlier read
 * @slots: number of slots of the ring
 *
 * The consumer index may have advanced from @seen, but neither backwards nor
 * past @prod.
 *
 * Return: the number of slots, or RING_IDX_INVALID if the consumer cannot have read
 * that many.
 */
u32 ring_idx_unread(u32 prod, u32 cons, u32 seen, u32 slots)
{
	u32 unread = prod - cons;

	if (unread > slots || cons - seen > prod - seen)
		return RING_IDX_INVALID;
	return unread;
}
