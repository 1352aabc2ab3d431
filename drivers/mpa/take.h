/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Copy and verify one FPDU from memory that a sender may still write.
 *
 * These functions supply the destination of the next bytes and process them
 * once they are copied. The caller makes no decisions, and no byte is copied
 * twice.
 */
#ifndef _MPA_TAKE_H
#define _MPA_TAKE_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include "fpdu.h"

/**
 * struct mpa_take - an FPDU that is being copied
 * @f: lengths of the FPDU, from its first bytes
 * @markers: the sender inserts markers
 * @crc: the CRC is in use and must be checked
 * @marker_wrong: a marker had a wrong FPDUPTR
 * @pos: position of the next byte in the stream
 * @got: bytes copied, without markers
 * @summed: how many of @got are included in @sum
 * @sum: CRC of those bytes and of the markers between them
 * @to: destination of the FPDU without markers
 * @marker: destination of a marker
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
