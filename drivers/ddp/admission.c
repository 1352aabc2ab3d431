// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Admission of connection requests to a listener.
 *
 * A hostile peer can send requests that look like those of other peers, and
 * faster. So a full listener does not refuse a new request but evicts the
 * oldest one of the source that has the most. However many connections one
 * source makes, it cannot displace those of other sources. Where requests
 * cannot be evicted, sources that have less than their share may exceed the
 * limit.
 */
#include "admission.h"

#define SHARE	4	/* denominator of a source's share */

/**
 * ddp_admit_fits - decide on a new request where requests cannot be evicted
 * @c: state of the listener
 *
 * A quarter more than the limit is reserved for sources that have less than a
 * quarter.
 *
 * Return: true if the request may be attached, false otherwise.
 */
bool ddp_admit_fits(const struct ddp_backlog *c)
{
	u32 more = c->limit / SHARE;

	return c->npending < c->limit + (c->own < more ? more : 0);
}

/**
 * ddp_admit_takes - decide on a new request where requests can be evicted
 * @c: state of the listener
 *
 * An evicted request stays attached until its socket is closed. So the total
 * number of requests is limited to twice the limit of pending ones.
 *
 * Return: true if the request may be attached; if @c->npending has reached
 * @c->limit another one must be evicted for it. False otherwise.
 */
bool ddp_admit_takes(const struct ddp_backlog *c)
{
	return c->nattached < 2 * c->limit;
}

/**
 * ddp_admit_evict_bucket - choose the bucket of sources that loses its oldest request
 * @npending: number of pending requests in each bucket
 * @sources: number of buckets
 * @oldest: bucket of the oldest request of all
 *
 * Return: a bucket with the most requests; if there are several, @oldest if
 * possible.
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
 * displace one that happens to share its bucket.
 *
 * Return: index of the oldest request of the source that has the most among
 * them.
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
