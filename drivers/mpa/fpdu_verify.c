// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copy and verify FPDUs from memory that a sender may still write: one of any
 * kind (mpa_take_...), or a batch of equal ones (mpa_run_...). A sender on this
 * machine can splice pages into TCP and go on writing them.
 *
 * The caller copies the bytes, to where these functions say; what a wrong FPDU
 * leads to is decided in rx.c. An FPDU is copied first, CRC and markers of the
 * copy are checked, and only the copy is passed to DDP: what is placed is what
 * was verified. Both copying and the CRC proceed in pieces that stay in the
 * cache.
 */
#include "crc.h"
#include "fpdu_verify.h"

/* One FPDU ----------------------------------------------------------------- */

/*
 * Bytes that are copied and then added to the CRC: two pages of 4 KiB, a part
 * of the smallest first-level cache
 */
#define PIECE		8192

/* Length of the FPDU in bytes, without markers */
static u32 content(const struct mpa_take *t)
{
	return mpa_fpdu_content(t->f.ulpdu_len);
}

/* Bytes covered by the CRC, without markers */
static u32 covered(const struct mpa_take *t)
{
	return content(t) - MPA_CRC_SIZE;
}

static bool marker_due(const struct mpa_take *t)
{
	return t->markers && !mpa_to_marker(t->pos);
}

static void take_marker(struct mpa_take *t)
{
	if (!mpa_marker_ok(t->marker, mpa_marker_back(t->f.start, t->pos)))
		t->marker_wrong = true;
	if (t->crc)
		t->sum = mpa_crc_update(t->sum, t->marker, sizeof(t->marker));
	t->pos += sizeof(t->marker);
}

/*
 * Add the bytes copied since the last call to the CRC. The length field is
 * added with the bytes after it: no marker comes right after it.
 */
static void mpa_take_sum(struct mpa_take *t)
{
	u32 end = min(t->got, covered(t));

	if (t->crc && end > t->summed)
		t->sum = mpa_crc_update(t->sum, t->to + t->summed, end - t->summed);
	t->summed = end;
}

/**
 * mpa_take_begin - start with an FPDU whose head has been copied
 * @t: the FPDU; @t->markers and @t->crc are set
 * @f: result of mpa_fpdu_peek() for @head
 * @head: copy of the first bytes
 * @to: destination of the FPDU without markers, MPA_CONTENT_MAX bytes
 */
void mpa_take_begin(struct mpa_take *t, const struct mpa_fpdu *f,
		    const u8 *head, u8 *to)
{
	t->f = *f;
	t->marker_wrong = false;
	t->pos = f->start;
	t->got = 0;
	t->summed = 0;
	t->sum = mpa_crc_init();
	t->to = to;
	if (marker_due(t)) {
		memcpy(t->marker, head, sizeof(t->marker));
		take_marker(t);
	}
	memcpy(to, head + f->head - MPA_LEN_SIZE, MPA_LEN_SIZE);
	t->got = MPA_LEN_SIZE;
	t->pos += MPA_LEN_SIZE;
}

/**
 * mpa_take_want - get the destination of the next bytes to copy
 * @t: the FPDU
 * @len: set to the number of bytes, all of which must be copied before
 *	mpa_take_got()
 *
 * Return: destination; NULL if the FPDU is complete.
 */
void *mpa_take_want(struct mpa_take *t, u32 *len)
{
	u32 left = content(t) - t->got;
	u8 *to;

	if (!left)
		return NULL;
	if (marker_due(t)) {
		*len = sizeof(t->marker);
		return t->marker;
	}
	to = t->to + t->got;
	*len = min_t(u32, left, PIECE - ((uintptr_t)to & (PIECE - 1)));
	if (t->markers)
		*len = min(*len, mpa_to_marker(t->pos));
	return to;
}

/**
 * mpa_take_got - process the bytes that have been copied
 * @t: the FPDU
 * @len: number of bytes, as set by mpa_take_want()
 */
void mpa_take_got(struct mpa_take *t, u32 len)
{
	if (marker_due(t)) {
		take_marker(t);
		return;
	}
	t->got += len;
	t->pos += len;
	mpa_take_sum(t);
}

/**
 * mpa_take_verdict - check CRC and markers of a complete FPDU
 * @t: the FPDU
 *
 * Return: IW_OK if it is valid; IW_MPA_CRC or IW_MPA_MARKER if not.
 */
enum iw_reason mpa_take_verdict(const struct mpa_take *t)
{
	if (t->crc && !mpa_crc_is(t->sum, t->to + covered(t)))
		return IW_MPA_CRC;
	/* a wrong CRC comes before a wrong marker (RFC 5044 8, code 3) */
	return t->marker_wrong ? IW_MPA_MARKER : IW_OK;
}

/* Batch of FPDUs of one length --------------------------------------------- */

/*
 * The CRC is computed over an FPDU that is contiguous as it came, and payloads
 * are placed together if they are contiguous: see fpdu_verify.h for how one copy
 * serves both.
 */

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
static bool digest_is_right(const u8 *fpdu, u32 len)
{
	return mpa_crc_is(mpa_crc_update(mpa_crc_init(), fpdu, len), fpdu + len);
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
