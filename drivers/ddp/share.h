/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Admission of connection requests to a listener. */
#ifndef _DDP_SHARE_H
#define _DDP_SHARE_H

#include <ddp/pure.h>

/**
 * struct ddp_crowd - state of a listener when a new request arrives
 * @bound: maximum number of pending requests
 * @waiting: number of pending requests
 * @held: number of attached requests: pending, evicted, or passed to the ULP
 * @own: number of pending requests from the bucket of the new one
 */
struct ddp_crowd {
	u32	bound;
	u32	waiting;
	u32	held;
	u32	own;
};

bool ddp_share_fits(const struct ddp_crowd *c);
bool ddp_share_takes(const struct ddp_crowd *c);
u32 ddp_share_loser(const u32 *waiting, u32 sources, u32 oldest);
u32 ddp_share_victim(const u32 *source, u32 n);

#endif
