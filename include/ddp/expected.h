/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Headers that DDP expects. After most segments DDP can predict the header of the next one, except
 * for one field. An LLP compares received headers with the prediction, and passes the segments that
 * match to ddp_rx_batch(), which does not decode headers.
 */
#ifndef _DDP_EXPECTED_H
#define _DDP_EXPECTED_H

#include <linux/types.h>
#include <linux/unaligned.h>

/**
 * struct ddp_rx_head - the length and the first bytes of a received segment, as numbers
 * @start: the length of the segment in the highest 16 bits, then the first six bytes of its header:
 *	control byte, RsvdULP, and the STag of a tagged header
 * @field: the next eight bytes: the TO, or QN and MSN
 * @mo: the next four bytes: the MO; the beginning of the payload of a tagged segment
 */
struct ddp_rx_head {
	u64	start;
	u64	field;
	u32	mo;
};

/* Number of bytes that ddp_rx_head_read() reads */
#define DDP_RX_HEAD_LEN	20

/**
 * ddp_rx_head_read - read the length and the first bytes of a segment
 * @h: filled in
 * @p: DDP_RX_HEAD_LEN bytes: the length in two bytes, and the first bytes of the segment
 */
static inline void ddp_rx_head_read(struct ddp_rx_head *h, const u8 *p)
{
	h->start = get_unaligned_be64(p);
	h->field = get_unaligned_be64(p + 8);
	h->mo = get_unaligned_be32(p + 16);
}

/* Get the length of a segment in bytes, header included */
static inline u32 ddp_rx_head_get_len(const struct ddp_rx_head *h)
{
	return h->start >> 48;
}

/* Maximum number of segments that ddp_rx_batch() processes with one call */
#define DDP_RX_BATCH_MAX	16

/**
 * struct ddp_expected - the expected header of the next segments
 * @start: expected value of &ddp_rx_head.start
 * @start_mask: the bits of @start that must be equal
 * @field: expected value of &ddp_rx_head.field in the first of the next segments
 * @field_mask: all bits if @field must be equal, 0 if it may have any value
 * @mo: expected value of &ddp_rx_head.mo in the first of the next segments
 * @mo_mask: all bits if @mo must be equal, 0 if it may have any value
 * @field_step: difference between @field of two successive segments
 * @mo_step: difference between @mo of two successive segments
 * @hdr_len: length of the header in bytes
 * @most: maximum number of segments for one call of ddp_rx_batch(): DDP_RX_BATCH_MAX, or 1 if only
 *	one header can be predicted
 */
struct ddp_expected {
	u64	start;
	u64	start_mask;
	u64	field;
	u64	field_mask;
	u32	mo;
	u32	mo_mask;
	u32	field_step;
	u32	mo_step;
	u32	hdr_len;
	u32	most;
};

/**
 * ddp_rx_is_expected - check whether a segment has the expected header
 * @e: the expected header
 * @h: header of the received segment
 * @n: number of segments with the expected header between the last segment that DDP has processed
 *	and this one
 *
 * Return: true if the header is the expected one, false otherwise.
 */
static inline bool ddp_rx_is_expected(const struct ddp_expected *e, const struct ddp_rx_head *h,
				      u32 n)
{
	return !(((h->start ^ e->start) & e->start_mask) |
		 ((h->field ^ (e->field + (u64)n * e->field_step)) & e->field_mask) |
		 ((h->mo ^ (e->mo + n * e->mo_step)) & e->mo_mask));
}

#endif
