/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * FPDUs of one length, taken over from memory that others may still write: their
 * payloads side by side, as they are to lie in the end.
 *
 * The next one is copied whole, so that its head stands for a while on the end of the
 * payload before it; when its digest is right, what stood there comes back.
 */
#ifndef _MPA_RUN_H
#define _MPA_RUN_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include "wire.h"

/* What leads an FPDU without markers, and DDP's shorter header */
#define MPA_HEADS_MAX	(MPA_LEN_SIZE + IW_DDP_T_HDR_LEN)

/*
 * From the first head on.  As much lies where it goes: together they are in the smallest
 * first-level cache, of 32 KiB, when they are placed.
 */
#define MPA_RUN_ROOM	(14 * 1024)

/**
 * struct mpa_run - FPDUs without markers, with digests that count
 * @at: where the next payload goes; what is before it is there, MPA_HEADS_MAX octets at least
 * @left: so many more have room
 * @payload: octets behind the heads of each
 * @wire: octets of each FPDU
 * @under: what its head stands on
 */
struct mpa_run {
	u8	*at;
	u32	left;
	u32	payload;
	u32	wire;
	u8	under[MPA_HEADS_MAX];
};

void mpa_run_begin(struct mpa_run *r, u32 ulpdu_len, u8 *at);
u8 *mpa_run_want(struct mpa_run *r);
bool mpa_run_got(struct mpa_run *r, const u8 *head);

#endif
