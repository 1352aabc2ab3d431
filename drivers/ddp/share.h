/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Who may wait at a listener: pure. */
#ifndef _DDP_SHARE_H
#define _DDP_SHARE_H

#include <ddp/pure.h>

/**
 * struct ddp_crowd - who is at a listener when one more comes
 * @bound: how many may wait
 * @waiting: how many do
 * @held: those, and who was sent away or handed up but has not left yet
 * @own: of those who wait, from the newcomer's source
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
