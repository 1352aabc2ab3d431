// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verify FPDUs in a batch, and keep their payloads back to back.
 *
 * The CRC is computed over an FPDU that is contiguous as it came, and payloads
 * are placed together if they are contiguous: see run.h for how one copy serves
 * both.
 */
#include "crc.h"
#include "fpdu.h"
#include "run.h"

/**
 * mpa_run_begin - start a batch
 * @r: the batch
 * @ulpdu_len: ULPDU length of each FPDU; @r->left is 0 if there is no payload,
 *	or if an FPDU is too long
 * @at: destination of the first payload; MPA_RUN_ROOM bytes are usable, and
 *	begin MPA_HEADS_MAX bytes before it
 */
void mpa_run_begin(struct mpa_run *r, u32 ulpdu_len, u8 *at)
{
	r->at = at;
	r->left = 0;
	r->payload = ulpdu_len - IW_DDP_T_HDR_LEN;
	r->wire = mpa_fpdu_content(ulpdu_len);
	if (ulpdu_len > IW_DDP_T_HDR_LEN && r->wire <= MPA_RUN_ROOM)
		r->left = (MPA_RUN_ROOM - r->wire) / r->payload + 1;
}

/**
 * mpa_run_want - get the destination of the next FPDU
 * @r: the batch; @r->left is not 0
 *
 * Return: where the caller copies @r->wire bytes to, before it calls
 * mpa_run_got().
 */
u8 *mpa_run_want(struct mpa_run *r)
{
	memcpy(r->under, r->at - MPA_HEADS_MAX, MPA_HEADS_MAX);
	return r->at - MPA_HEADS_MAX;
}

/* RFC 5044 4.4: the CRC covers everything before its field */
static bool digest_is_right(const u8 *fpdu, u32 covered)
{
	return mpa_crc_is(mpa_crc_update(mpa_crc_init(), fpdu, covered), fpdu + covered);
}

/* two 64-bit comparisons: a call would cost more */
static bool same_heads(const u8 *a, const u8 *b)
{
	static_assert(MPA_HEADS_MAX == 2 * sizeof(u64));
	return get_unaligned_be64(a) == get_unaligned_be64(b) &&
	       get_unaligned_be64(a + 8) == get_unaligned_be64(b + 8);
}

/**
 * mpa_run_got - verify the FPDU that was copied, and keep its payload
 * @r: the batch
 * @head: first MPA_HEADS_MAX bytes of the FPDU, as copied before
 *
 * The payload is kept if the header has not changed and the CRC is correct.
 * Otherwise the slow path has to decide what the FPDU is.
 *
 * Return: true if the payload is kept after the others, false if it is dropped.
 */
bool mpa_run_got(struct mpa_run *r, const u8 *head)
{
	u8 *fpdu = r->at - MPA_HEADS_MAX;
	bool good = same_heads(head, fpdu) &&
		    digest_is_right(fpdu, r->wire - MPA_CRC_SIZE);

	memcpy(fpdu, r->under, MPA_HEADS_MAX);
	if (good) {
		r->at += r->payload;
		r->left--;
	}
	return good;
}
