/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Decisions on the admission and eviction of connection requests of a listener. */
#ifndef _DDP_ADMISSION_H
#define _DDP_ADMISSION_H

#include <ddp/pure.h>

/**
 * struct ddp_admit_state - numbers of requests of a listener when a new request arrives
 * @limit: maximum number of pending requests
 * @npending: number of pending requests, without the new one
 * @nattached: number of attached requests, without the new one: pending
 *	requests, evicted ones, and those passed to the ULP
 * @same_source: number of pending requests in the hash bucket of the new request's
 *	source address
 */
struct ddp_admit_state {
	u32	limit;
	u32	npending;
	u32	nattached;
	u32	same_source;
};

bool ddp_may_admit(const struct ddp_admit_state *c);
bool ddp_may_admit_with_eviction(const struct ddp_admit_state *c);
u32 ddp_choose_evict_bucket(const u32 *npending, u32 sources, u32 oldest);
u32 ddp_choose_evict_request(const u32 *source, u32 n);

#endif
