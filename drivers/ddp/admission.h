/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Admission of connection requests to a listener. */
#ifndef _DDP_ADMISSION_H
#define _DDP_ADMISSION_H

#include <ddp/pure.h>

/**
 * struct ddp_backlog - state of a listener when a new request arrives
 * @limit: maximum number of pending requests
 * @npending: number of pending requests
 * @nattached: number of attached requests: pending, evicted, or passed to the
 *	ULP
 * @own: number of pending requests in the bucket of the new request's source
 */
struct ddp_backlog {
	u32	limit;
	u32	npending;
	u32	nattached;
	u32	own;
};

bool ddp_admit_fits(const struct ddp_backlog *c);
bool ddp_admit_takes(const struct ddp_backlog *c);
u32 ddp_admit_evict_bucket(const u32 *npending, u32 sources, u32 oldest);
u32 ddp_admit_evict_request(const u32 *source, u32 n);

#endif
