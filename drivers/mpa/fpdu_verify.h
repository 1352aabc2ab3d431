/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Copy and verify FPDUs from memory that a sender may still write.
 *
 * These functions supply the destination of the next bytes and process them
 * once they are copied. The caller makes no decisions, and no byte of a single
 * FPDU is copied twice.
 */
#ifndef _MPA_FPDU_VERIFY_H
#define _MPA_FPDU_VERIFY_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include "fpdu.h"

/* One FPDU ----------------------------------------------------------------- */

/**
 * struct mpa_verify - an FPDU that is being copied
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
struct mpa_verify {
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

void mpa_verify_begin(struct mpa_verify *t, const struct mpa_fpdu *f,
		      const u8 *head, u8 *to);
void *mpa_verify_want(struct mpa_verify *t, u32 *len);
void mpa_verify_got(struct mpa_verify *t, u32 len);
enum iw_reason mpa_verify_result(const struct mpa_verify *t);

/* Batch of FPDUs of one length --------------------------------------------- */

/*
 * The payloads of a batch are contiguous. The next FPDU is copied as a whole:
 * its first MPA_HEADS_MAX bytes overlap the end of the previous payload. The
 * overlapped bytes are saved, and restored once the CRC is verified.
 */

/* Bytes before the payload: length field and tagged DDP header, no markers */
#define MPA_HEADS_MAX	(MPA_LEN_SIZE + IW_DDP_T_HDR_LEN)

/*
 * Size of a batch in bytes, from the first header on. The destination has as
 * many bytes: together they fit into the smallest first-level cache, of 32 KiB.
 */
#define MPA_FPDU_BATCH_SIZE	(14 * 1024)

/**
 * struct mpa_fpdu_batch - batch of FPDUs with CRC and without markers
 * @at: destination of the next payload; at least MPA_HEADS_MAX bytes precede it
 * @left: number of FPDUs that still fit
 * @payload: bytes of payload in each FPDU
 * @wire: bytes of each FPDU
 * @saved: saved bytes that the header of the next FPDU overlaps
 */
struct mpa_fpdu_batch {
	u8	*at;
	u32	left;
	u32	payload;
	u32	wire;
	u8	saved[MPA_HEADS_MAX];
};

void mpa_fpdu_batch_begin(struct mpa_fpdu_batch *r, u32 ulpdu_len, u8 *at);
u8 *mpa_fpdu_batch_want(struct mpa_fpdu_batch *r);
bool mpa_fpdu_batch_got(struct mpa_fpdu_batch *r, const u8 *head);

#endif
