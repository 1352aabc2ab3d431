// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Decisions on the admission and eviction of connection requests of a listener.
 *
 * A listener cannot distinguish the requests of a hostile peer from those of
 * other peers, and the hostile peer may send more of them. So a full listener
 * does not refuse a new request, but evicts the oldest request of the source
 * that has the most pending requests: a source with many requests cannot
 * displace those of other sources. If the LLP cannot evict requests, a listener
 * at its limit still accepts new requests of sources with few pending requests.
 */
#include "admission.h"

#define SHARE	4	/* sources with fewer than limit / SHARE requests may exceed the limit */

/**
 * ddp_may_admit - decide whether an LLP that cannot evict may attach a request
 * @c: state of the listener
 *
 * The request may be attached if fewer requests than the limit are pending. If
 * its source has fewer pending requests than a quarter of the limit, up to 5/4
 * of the limit may be pending.
 *
 * Return: true if the request may be attached, false otherwise.
 */
bool ddp_may_admit(const struct ddp_admit_state *c)
{
	u32 more = c->limit / SHARE;

	return c->npending < c->limit + (c->same_source < more ? more : 0);
}

/**
 * ddp_may_admit_with_eviction - decide whether an LLP that can evict may attach a request
 * @c: state of the listener
 *
 * An evicted request stays attached until its socket is closed. So the number of
 * attached requests has a separate limit, twice that of pending requests.
 *
 * Return: true if the request may be attached; if @c->npending has reached
 * @c->limit, the caller must first evict another request. False if it may not
 * be attached.
 */
bool ddp_may_admit_with_eviction(const struct ddp_admit_state *c)
{
	return c->nattached < 2 * c->limit;
}

/**
 * ddp_choose_evict_bucket - choose the bucket from which a request is evicted
 * @npending: number of pending requests in each bucket
 * @sources: number of buckets
 * @oldest: bucket of the listener's oldest pending request
 *
 * Return: the bucket with the most requests; among several such buckets @oldest
 * if it is one of them, else the first one.
 */
u32 ddp_choose_evict_bucket(const u32 *npending, u32 sources, u32 oldest)
{
	u32 loser = oldest, i;

	for (i = 0; i < sources; i++)
		if (npending[i] > npending[loser])
			loser = i;
	return loser;
}

/**
 * ddp_choose_evict_request - choose the request in a bucket that is evicted
 * @source: hash of the source address of each request, oldest request first
 * @n: number of requests, at least one
 *
 * Different sources may share a bucket. This choice keeps a source with many
 * requests from displacing the requests of another source in its bucket.
 *
 * Return: index of the oldest request of the source that has the most requests
 * in @source.
 */
u32 ddp_choose_evict_request(const u32 *source, u32 n)
{
	u32 victim = 0, most = 0, i, j, count;

	for (i = 0; i < n; i++) {
		for (count = 0, j = i; j < n; j++)
			count += source[j] == source[i];
		if (count > most) {
			most = count;
			victim = i;
		}
	}
	return victim;
}
