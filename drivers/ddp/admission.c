// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Admission of connection requests to a listener.
 *
 * Requests of a hostile peer look like requests of other peers, and may arrive
 * faster. So a full listener does not refuse a new request: it evicts the
 * oldest request of the source that has the most pending requests. A source
 * with many requests thus cannot displace the requests of other sources. If the
 * LLP cannot evict requests, sources with few pending requests may exceed the
 * limit.
 */
#include "admission.h"

#define SHARE	4	/* a source's share is the limit divided by this number */

/**
 * ddp_admit_fits - decide whether an LLP that cannot evict may attach a request
 * @c: state of the listener
 *
 * A source with fewer pending requests than a quarter of the limit may exceed
 * the limit by a quarter.
 *
 * Return: true if the request may be attached, false otherwise.
 */
bool ddp_admit_fits(const struct ddp_backlog *c)
{
	u32 more = c->limit / SHARE;

	return c->npending < c->limit + (c->own < more ? more : 0);
}

/**
 * ddp_admit_takes - decide whether an LLP that can evict may attach a request
 * @c: state of the listener
 *
 * An evicted request stays attached until its socket is closed. So the number
 * of attached requests has its own limit, twice that of pending requests.
 *
 * Return: true if the request may be attached; the caller must then evict
 * another request if @c->npending has reached @c->limit. False otherwise.
 */
bool ddp_admit_takes(const struct ddp_backlog *c)
{
	return c->nattached < 2 * c->limit;
}

/**
 * ddp_admit_evict_bucket - choose the bucket from which a request is evicted
 * @npending: number of pending requests in each bucket
 * @sources: number of buckets
 * @oldest: bucket of the listener's oldest pending request
 *
 * Return: the bucket with the most requests. If several buckets have the most,
 * @oldest if it is among them, else the first of them.
 */
u32 ddp_admit_evict_bucket(const u32 *npending, u32 sources, u32 oldest)
{
	u32 loser = oldest, i;

	for (i = 0; i < sources; i++)
		if (npending[i] > npending[loser])
			loser = i;
	return loser;
}

/**
 * ddp_admit_evict_request - choose the request of a bucket that is evicted
 * @source: source of each request, oldest first
 * @n: number of requests, at least one
 *
 * Different sources may share a bucket. A source with many requests must not
 * displace requests of another source in its bucket.
 *
 * Return: index of the oldest request of the source that has the most requests
 * in @source.
 */
u32 ddp_admit_evict_request(const u32 *source, u32 n)
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
