/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Copy and verify FPDUs from memory that a sender may still write.
 *
 * mpa_verify_get_next_dst() and mpa_fpdu_batch_prepare_dst() return the destination of the
 * next bytes. The caller copies the bytes there. mpa_verify_add_copied() and
 * mpa_fpdu_batch_add_if_valid() then process the copy.
 */
#ifndef _MPA_FPDU_VERIFY_H
#define _MPA_FPDU_VERIFY_H

#include <ddp/expected.h>
#include <ddp/pure.h>
#include <ddp/reason.h>
#include "fpdu.h"

/* One FPDU ----------------------------------------------------------------- */

/**
 * struct mpa_verify - state of an FPDU that is being copied and verified
 * @f: position and lengths of the FPDU
 * @markers: true if the sender inserts markers
 * @crc: true if the CRC is in use and must be checked
 * @marker_wrong: true if a marker had a wrong FPDUPTR
 * @pos: position in the stream of the next byte to copy
 * @got: number of bytes copied, without markers
 * @crc_len: number of copied bytes that are included in @crc_value, without markers
 * @crc_value: CRC of the first @crc_len bytes, and of the markers copied so far
 * @to: buffer for the FPDU without markers
 * @marker: buffer for the current marker
 */
struct mpa_verify {
	struct mpa_fpdu	f;
	bool		markers;
	bool		crc;
	bool		marker_wrong;
	u32		pos;
	u32		got;
	u32		crc_len;
	u32		crc_value;
	u8		*to;
	u8		marker[MPA_MARKER_SIZE];
};

void mpa_verify_begin(struct mpa_verify *t, const struct mpa_fpdu *f,
		      const u8 *head, u8 *to);
void *mpa_verify_get_next_dst(struct mpa_verify *t, u32 *len);
void mpa_verify_add_copied(struct mpa_verify *t, u32 len);
enum iw_reason mpa_verify_get_result(const struct mpa_verify *t);

/* Batch of FPDUs of one length --------------------------------------------- */

/*
 * The payloads of a batch are contiguous in the buffer. But each FPDU is copied as a
 * whole, so its length field and DDP header overwrite the end of the previous payload.
 * The overwritten bytes are saved before the copy, and restored after the CRC is verified.
 */

/*
 * Maximum size of a batch in bytes, including the header of its first FPDU. A
 * batch, together with its destination in the MR, must fit into the smallest
 * first-level cache, which has 32 KiB.
 */
#define MPA_FPDU_BATCH_SIZE	(14 * 1024)

/**
 * struct mpa_fpdu_batch - batch of FPDUs with CRC and without markers
 * @at: address for the next payload; the buffer has at least DDP_RX_HEAD_LEN bytes
 *	before this address
 * @left: number of FPDUs that can still be added
 * @payload: length of the payload of each FPDU, in bytes
 * @head_len: length of the length field and the DDP header of each FPDU, in bytes
 * @wire_len: length of each FPDU, in bytes
 * @saved: copy of the bytes that the header of the next FPDU overwrites
 */
struct mpa_fpdu_batch {
	u8	*at;
	u32	left;
	u32	payload;
	u32	head_len;
	u32	wire_len;
	u8	saved[DDP_RX_HEAD_LEN];
};

void mpa_fpdu_batch_begin(struct mpa_fpdu_batch *r, u32 ulpdu_len, u32 hdr_len, u8 *at);
u8 *mpa_fpdu_batch_prepare_dst(struct mpa_fpdu_batch *r);
bool mpa_fpdu_batch_add_if_valid(struct mpa_fpdu_batch *r, const struct ddp_rx_head *head);

#endif
