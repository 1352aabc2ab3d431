/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Batch of FPDUs of one length, copied from memory that a sender may still
 * write, so that their payloads are contiguous.
 *
 * The next FPDU is copied as a whole: its first MPA_HEADS_MAX bytes overlap the
 * end of the previous payload. The overlapped bytes are saved, and restored
 * once the CRC is verified.
 */
#ifndef _MPA_RUN_H
#define _MPA_RUN_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include "wire.h"

/* Bytes before the payload: length field and tagged DDP header, no markers */
#define MPA_HEADS_MAX	(MPA_LEN_SIZE + IW_DDP_T_HDR_LEN)

/*
 * Size of a batch in bytes, from the first header on. The destination has as
 * many bytes: together they fit into the smallest first-level cache, of 32 KiB.
 */
#define MPA_RUN_ROOM	(14 * 1024)

/**
 * struct mpa_run - batch of FPDUs with CRC and without markers
 * @at: destination of the next payload; at least MPA_HEADS_MAX bytes precede it
 * @left: number of FPDUs that still fit
 * @payload: bytes of payload in each FPDU
 * @wire: bytes of each FPDU
 * @under: saved bytes that the header of the next FPDU overlaps
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
