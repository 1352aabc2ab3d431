// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Checks of the limits in admission.h on the resources that peers can make this host use. */
#include "admission.h"

/* Bounds of a retry delay, milliseconds */
#define DELAY_MIN	10
#define DELAY_MAX	1000

/**
 * sddp_may_keep_early_chunk - check whether an out-of-order chunk may be kept
 * @kept: memory in use for kept chunks of the association, bytes
 * @all: memory in use for kept chunks of all associations, bytes
 * @cost: memory for this chunk, bytes
 *
 * An association may use at most half of the part of SDDP_EARLY_ALL that is not in use, so
 * that memory is left for further associations. This limit is at least SDDP_EARLY_MIN and
 * at most SDDP_EARLY_ASSOC.
 *
 * Return: true if the chunk may be kept, false otherwise.
 */
bool sddp_may_keep_early_chunk(u32 kept, u64 all, u32 cost)
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
 * sddp_may_keep_deferred_chunk - check whether a deferred chunk may be kept
 * @chunks: number of kept chunks of the session
 * @kept: memory in use for kept chunks of the association, bytes
 * @all: memory in use for kept chunks of all associations, bytes
 *
 * Return: true if the chunk may be kept, false if it must stay in SCTP's queue.
 */
bool sddp_may_keep_deferred_chunk(u32 chunks, u32 kept, u64 all)
{
	return chunks < SDDP_DEFERRED_CHUNKS && kept < SDDP_DEFERRED_ASSOC &&
	       all < SDDP_DEFERRED_ALL;
}

/**
 * sddp_choose_evict_group - choose the group of associations to evict one from
 * @c: numbers of unaccepted associations, without the new association
 *
 * Return: the group whose oldest association must be evicted; SDDP_EVICT_NONE if no
 * limit is reached.
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
 * sddp_compute_retry_delay - compute the delay before the next retry
 * @before: delay before the previous retry, milliseconds; 0 for the first retry
 *
 * Return: twice the previous delay, at least 10 and at most 1000 milliseconds.
 */
u32 sddp_compute_retry_delay(u32 before)
{
	if (before < DELAY_MIN)
		return DELAY_MIN;
	return before > DELAY_MAX / 2 ? DELAY_MAX : 2 * before;
}

static int get_error_rank(int err)
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
 * sddp_choose_worse_error - choose which of the errors of two addresses to report
 * @a: 0 or a negative errno
 * @b: 0 or a negative errno
 *
 * -ENOMEM has priority over all other errors, because the caller retries after -ENOMEM.
 * -EADDRINUSE has the lowest priority: it may concern only one address, on which another
 * program uses the port.
 *
 * Return: the error to report, or 0 if both are 0.
 */
int sddp_choose_worse_error(int a, int b)
{
	return get_error_rank(b) > get_error_rank(a) ? b : a;
}
