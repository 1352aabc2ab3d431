/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One FPDU, taken over from memory that others may still write.
 *
 * Says where the next octets go, and is told when they are there: whoever
 * copies them decides nothing, and no octet is asked for twice.
 */
#ifndef _MPA_TAKE_H
#define _MPA_TAKE_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include "fpdu.h"

/**
 * struct mpa_take - an FPDU being copied
 * @f: what its head says
 * @markers: its sender inserts them
 * @crc: it has a digest that counts
 * @marker_wrong: one has pointed elsewhere
 * @pos: where the next octet stands in the stream
 * @got: octets copied, those of markers aside
 * @summed: how many of these are in @sum
 * @sum: CRC of them, and of the markers between them
 * @to: where they go
 * @marker: where a marker goes
 */
struct mpa_take {
	struct mpa_fpdu	f;
	bool		markers;
	bool		crc;
	bool		marker_wrong;
	u32		pos;
	u32		got;
	u32		summed;
	u32		sum;
	u8		*to;
	u8		marker[MPA_MARKER_SIZE];
};

void mpa_take_begin(struct mpa_take *t, const struct mpa_fpdu *f,
		    const u8 *head, u8 *to);
void *mpa_take_want(struct mpa_take *t, u32 *len);
void mpa_take_got(struct mpa_take *t, u32 len);
enum iw_reason mpa_take_verdict(const struct mpa_take *t);

#endif
