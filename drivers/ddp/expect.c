// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Predict the header of the next segment from the segment that was received last. Both headers are
 * equal except for one field:
 *
 * segment received last               expected next segment                field
 * tagged; its message continues       next segment of this message         TO
 * tagged; ends an RDMA Write          RDMA Write of one segment            TO, with any value
 * untagged; its message continues     next segment of this message         MO
 * untagged message of one segment     message of one segment, any length   MSN
 */
#include "expect.h"
#include "hdr.h"

/**
 * ddp_expect_pack_start - compute &ddp_rx_head.start of a segment
 * @hdr: first six bytes of the header
 * @len: length of the segment in bytes, header included
 *
 * Return: the length in the highest 16 bits, then the six bytes.
 */
u64 ddp_expect_pack_start(const u8 *hdr, u32 len)
{
	static_assert(DDP_T_TO == 6 && DDP_U_QN == 6);
	return (u64)len << 48 | (u64)get_unaligned_be16(hdr) << 32 | get_unaligned_be32(hdr + 2);
}

static void expect_tagged(struct ddp_expected *e, const struct ddp_rx_seg *g)
{
	e->field = g->h.to + g->payload;
	e->field_mask = g->h.last ? 0 : U64_MAX;
	e->field_step = g->payload;
	e->mo = 0;
	e->mo_mask = 0;
	e->mo_step = 0;
	e->hdr_len = DDP_T_HDR_LEN;
}

static void expect_untagged(struct ddp_expected *e, const struct ddp_rx_seg *g)
{
	e->field = (u64)g->h.qn << 32 | (u32)(g->h.msn + g->h.last);
	e->field_mask = U64_MAX;
	e->field_step = 0;
	e->mo = g->h.last ? 0 : g->h.mo + g->payload;
	e->mo_mask = U32_MAX;
	e->mo_step = g->payload;
	e->hdr_len = DDP_U_HDR_LEN;
}

/**
 * ddp_expect_next - predict the header of the segments after a segment
 * @e: filled in
 * @g: the last segment, with a valid header
 *
 * Return: true if @e is valid; false if no header can be predicted.
 */
bool ddp_expect_next(struct ddp_expected *e, const struct ddp_rx_seg *g)
{
	const bool untagged_last = !g->h.tagged && g->h.last;

	/* after a message of several segments, nothing can be said about the next message */
	if (untagged_last && g->h.mo)
		return false;
	/* an empty segment predicts no offset, and its STag was not checked */
	if (!untagged_last && !g->payload)
		return false;
	e->start = ddp_expect_pack_start(g->raw, g->len);
	/* the next whole message may have any length */
	e->start_mask = untagged_last ? U64_MAX >> 16 : U64_MAX;
	e->most = untagged_last ? 1 : DDP_RX_BATCH_MAX;
	if (g->h.tagged)
		expect_tagged(e, g);
	else
		expect_untagged(e, g);
	return true;
}

/**
 * ddp_expect_write_raw - write the field in which an expected header differs to the raw header
 * @g: segment whose header was expected, with @g->h up to date
 */
void ddp_expect_write_raw(struct ddp_rx_seg *g)
{
	if (g->h.tagged) {
		put_unaligned_be64(g->h.to, g->raw + DDP_T_TO);
	} else {
		put_unaligned_be32(g->h.msn, g->raw + DDP_U_MSN);
		put_unaligned_be32(g->h.mo, g->raw + DDP_U_MO);
	}
}
