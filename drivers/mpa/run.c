// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Payloads side by side: what is placed at once has to lie so, and what is summed
 * has to lie as it came.
 */
#include "crc.h"
#include "fpdu.h"
#include "run.h"

/**
 * mpa_run_begin - nothing is there yet
 * @r: the run
 * @ulpdu_len: of each FPDU.  Those without payload, or too long, have no room.
 * @at: where the first payload goes: MPA_RUN_ROOM octets from MPA_HEADS_MAX before it on
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
 * mpa_run_want - where the next FPDU is to be copied
 * @r: the run, @r->left not 0
 *
 * Return: the place for @r->wire octets; mpa_run_got() follows.
 */
u8 *mpa_run_want(struct mpa_run *r)
{
	memcpy(r->under, r->at - MPA_HEADS_MAX, MPA_HEADS_MAX);
	return r->at - MPA_HEADS_MAX;
}

/* RFC 5044 4.4: all that precedes the field */
static bool digest_is_right(const u8 *fpdu, u32 covered)
{
	return mpa_crc_is(mpa_crc_update(mpa_crc_init(), fpdu, covered), fpdu + covered);
}

/* Two words: a call would cost more */
static bool same_heads(const u8 *a, const u8 *b)
{
	static_assert(MPA_HEADS_MAX == 2 * sizeof(u64));
	return get_unaligned_be64(a) == get_unaligned_be64(b) &&
	       get_unaligned_be64(a + 8) == get_unaligned_be64(b + 8);
}

/**
 * mpa_run_got - it has been copied: does it stay?
 * @r: the run
 * @head: its first MPA_HEADS_MAX octets as they were looked at before
 *
 * It does if it still begins so and its digest is right.  If not, it may be anything: an
 * FPDU that is looked at by itself.
 *
 * Return: whether its payload is there behind the others.
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
