// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Admission of connection requests at a listener. Proved for one more request, with any
 * number of pending requests from any sources: the invariant is_sound() holds again after the
 * new request is admitted.
 *
 * Files: ddp/admission.c
 * Checks: unsigned-overflow conversion
 * Bound: 8, sources instead of 64: the code treats all sources alike, so their
 *        number does not matter
 * prove_limit_without_eviction: Bound 1
 * prove_limit_with_eviction: Bound 1
 * prove_evicted_source: Options --arrays-uf-always
 * Mutation: ddp/admission.c s/c->nattached < 2 \* c->limit/c->nattached <= 2 * c->limit/
 * Mutation: ddp/admission.c s/c->same_source < more ? more : 0/c->same_source <= more ? more : 0/
 * Mutation: ddp/admission.c s/npending\[i\] > npending\[loser\]/npending[i] >= npending[loser]/
 * Mutation: ddp/admission.c s/loser = oldest, i/loser = 0, i/
 * Mutation: ddp/admission.c s/i = 0; i < sources/i = 1; i < sources/
 * Mutation: ddp/admission.c s/i < sources/i <= sources/
 */
#include "../../../drivers/ddp/admission.h"
#include "proof.h"

#define SOURCES		8
#define BOUND_MOST	4096	/* maximum limit of a listener, in pending requests */

static bool is_sound(const struct ddp_admit_state *c)
{
	return c->limit && c->limit <= BOUND_MOST && c->same_source <= c->npending &&
	       c->npending <= c->nattached;
}

/* A lower layer that cannot evict has at most 5/4 of the limit of pending requests */
void prove_limit_without_eviction(void)
{
	struct ddp_admit_state c;
	bool fits;

	GIVEN(is_sound(&c) && c.nattached <= 2 * BOUND_MOST);
	fits = ddp_may_admit(&c);
	MUST("below the limit every request is admitted", c.npending >= c.limit || fits);
	MUST("at most 5/4 of the limit are pending", !fits ||
	     c.npending + 1 <= c.limit + c.limit / 4);
	MUST("from the limit on, only sources with less than 1/4 of it are admitted",
	     c.npending < c.limit ||
	     fits == (c.same_source < c.limit / 4 && c.npending < c.limit + c.limit / 4));
	if (fits && c.npending >= c.limit)
		REACHED("admitted at or above the limit");
	if (!fits && c.same_source < c.limit / 4)
		REACHED("refused although the source has less than 1/4 of the limit");
}

/*
 * A lower layer that can evict has at most twice the limit of requests, including evicted
 * requests that are not closed yet
 */
void prove_limit_with_eviction(void)
{
	struct ddp_admit_state c;
	bool full;

	GIVEN(is_sound(&c) && c.npending <= c.limit && c.nattached <= 2 * c.limit);
	full = c.npending == c.limit;
	if (!ddp_may_admit_with_eviction(&c)) {
		MUST("a request is refused only at twice the limit", c.nattached == 2 * c.limit);
		REACHED("refused");
		return;
	}
	/*
	 * the new request is pending; if the listener was full, an evicted request is no
	 * longer pending
	 */
	c.nattached++;
	c.npending += !full;
	MUST("SEC-24, SEC-25: at most twice the limit are attached", is_sound(&c) &&
	     c.npending <= c.limit && c.nattached <= 2 * c.limit);
	if (full)
		REACHED("admitted after an eviction");
}

/* The source to evict from is one with the largest number of pending requests */
void prove_evicted_source(void)
{
	u32 sources = SOURCES, oldest = ANY(u32), other = ANY(u32), loser;
	u32 npending[SOURCES];

	GIVEN(oldest < sources && other < sources);
	for (u32 i = 0; i < SOURCES; i++)
		GIVEN(npending[i] <= BOUND_MOST);
	/*
	 * the source of the oldest request has at least that request; otherwise there is
	 * no request to evict
	 */
	GIVEN(npending[oldest]);
	loser = ddp_choose_evict_bucket(npending, sources, oldest);
	MUST("the chosen source has a pending request",
	     loser < sources && npending[loser]);
	MUST("no source has more pending requests than the chosen one",
	     npending[other] <= npending[loser]);
	MUST("the oldest request's source is chosen if none has more requests",
	     loser == oldest || npending[oldest] < npending[loser]);
	if (loser != oldest && sources == SOURCES)
		REACHED("another source than that of the oldest request");
	if (loser == oldest && other != oldest &&
	    npending[other] == npending[oldest])
		REACHED("the oldest request's source, although another has as many");
}
