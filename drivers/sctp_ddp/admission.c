// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Limits on what a peer can make this host keep: see admission.h. */
#include "admission.h"

/* Bounds of a retry delay, milliseconds */
#define DELAY_MIN	10
#define DELAY_MAX	1000

/**
 * sddp_may_keep_early - check whether an out-of-order chunk may be kept
 * @kept: memory in use for chunks of the association, bytes
 * @all: memory in use for chunks of all associations, bytes
 * @cost: memory for this chunk, bytes
 *
 * An association gets at most half of what is left of the total, so that many
 * greedy associations leave some memory for the next one. SDDP_EARLY_MIN is
 * always granted.
 *
 * Return: true if the chunk may be kept, false otherwise.
 */
bool sddp_may_keep_early(u32 kept, u64 all, u32 cost)
{
	u32 left = all < SDDP_EARLY_ALL ? SDDP_EARLY_ALL - all : 0;
	u32 most = left / 2;

	if (most < SDDP_EARLY_MIN)
		most = SDDP_EARLY_MIN;
	if (most > SDDP_EARLY_ASSOC)
		most = SDDP_EARLY_ASSOC;
	return cost <= most && kept <= most - cost;
}

/**
 * sddp_may_keep_deferred - check whether a chunk may be kept for a page fault
 * @chunks: number of chunks of its session that are kept
 * @kept: memory in use for chunks of the association, bytes
 * @all: memory in use for chunks of all associations, bytes
 *
 * Return: true if the chunk may be kept, false if it must stay in SCTP's queue.
 */
bool sddp_may_keep_deferred(u32 chunks, u32 kept, u64 all)
{
	return chunks < SDDP_DEFERRED_CHUNKS && kept < SDDP_DEFERRED_ASSOC &&
	       all < SDDP_DEFERRED_ALL;
}

/**
 * sddp_choose_evict_group - choose the group to evict an association from
 * @c: numbers of unaccepted associations, without the new one
 *
 * Return: the group whose oldest member has to be evicted, SDDP_EVICT_NONE if
 * no limit is reached.
 */
enum sddp_evict_group sddp_choose_evict_group(const struct sddp_unaccepted *c)
{
	if (c->peer >= SDDP_UNACCEPTED_PEER)
		return SDDP_EVICT_PEER;
	if (c->laddr >= SDDP_UNACCEPTED_LADDR)
		return SDDP_EVICT_LADDR;
	if (c->net >= SDDP_UNACCEPTED_NET)
		return SDDP_EVICT_NET;
	return SDDP_EVICT_NONE;
}

/**
 * sddp_retry_delay - compute the next delay after a failed allocation
 * @before: the previous delay, milliseconds; 0 for the first failure
 *
 * Return: the delay in milliseconds: twice the previous one, between 10 and
 * 1000.
 */
u32 sddp_retry_delay(u32 before)
{
	if (before < DELAY_MIN)
		return DELAY_MIN;
	return before > DELAY_MAX / 2 ? DELAY_MAX : 2 * before;
}

static int badness(int err)
{
	switch (err) {
	case 0:
		return 0;
	case -EADDRINUSE:
		return 1;
	case -ENOMEM:
		return 3;
	default:
		return 2;
	}
}

/**
 * sddp_worse_error - choose the error to report if several addresses failed
 * @a: 0 or a negative errno
 * @b: 0 or a negative errno
 *
 * -EADDRINUSE matters least, because another program has the port. -ENOMEM
 * matters most, because it is worth a retry.
 *
 * Return: the more important of the two.
 */
int sddp_worse_error(int a, int b)
{
	return badness(b) > badness(a) ? b : a;
}
