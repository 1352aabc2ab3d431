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
static u32 content(const struct mpa_verify *t)
{
	return mpa_fpdu_content_len(t->f.ulpdu_len);
}

/* Bytes covered by the CRC, without markers */
static u32 covered(const struct mpa_verify *t)
{
	return content(t) - MPA_CRC_SIZE;
}

static bool is_at_marker(const struct mpa_verify *t)
{
	return t->markers && !mpa_marker_dist(t->pos);
}

static void check_marker(struct mpa_verify *t)
{
	if (!mpa_marker_is_valid(t->marker, mpa_marker_fpduptr(t->f.start, t->pos)))
		t->marker_wrong = true;
	if (t->crc)
		t->sum = mpa_crc_update(t->sum, t->marker, sizeof(t->marker));
	t->pos += sizeof(t->marker);
}

/*
 * Add the bytes copied since the last call to the CRC. The length field is
 * added with the bytes after it: no marker comes right after it.
 */
static void mpa_verify_crc(struct mpa_verify *t)
{
	u32 end = min(t->got, covered(t));

	if (t->crc && end > t->summed)
		t->sum = mpa_crc_update(t->sum, t->to + t->summed, end - t->summed);
	t->summed = end;
}

/**
 * mpa_verify_begin - start with an FPDU whose head has been copied
 * @t: the FPDU; @t->markers and @t->crc are set
 * @f: result of mpa_fpdu_decode() for @head
 * @head: copy of the first bytes
 * @to: destination of the FPDU without markers, MPA_CONTENT_MAX bytes
 */
void mpa_verify_begin(struct mpa_verify *t, const struct mpa_fpdu *f,
		      const u8 *head, u8 *to)
{
	t->f = *f;
	t->marker_wrong = false;
	t->pos = f->start;
	t->got = 0;
	t->summed = 0;
	t->sum = mpa_crc_init();
	t->to = to;
	if (is_at_marker(t)) {
		memcpy(t->marker, head, sizeof(t->marker));
		check_marker(t);
	}
	memcpy(to, head + f->head - MPA_LEN_SIZE, MPA_LEN_SIZE);
	t->got = MPA_LEN_SIZE;
	t->pos += MPA_LEN_SIZE;
}

/**
 * mpa_verify_want - get the destination of the next bytes to copy
 * @t: the FPDU
 * @len: set to the number of bytes, all of which must be copied before
 *	mpa_verify_got()
 *
 * Return: destination; NULL if the FPDU is complete.
 */
void *mpa_verify_want(struct mpa_verify *t, u32 *len)
{
	u32 left = content(t) - t->got;
	u8 *to;

	if (!left)
		return NULL;
	if (is_at_marker(t)) {
		*len = sizeof(t->marker);
		return t->marker;
	}
	to = t->to + t->got;
	*len = min_t(u32, left, PIECE - ((uintptr_t)to & (PIECE - 1)));
	if (t->markers)
		*len = min(*len, mpa_marker_dist(t->pos));
	return to;
}

/**
 * mpa_verify_got - process the bytes that have been copied
 * @t: the FPDU
 * @len: number of bytes, as set by mpa_verify_want()
 */
void mpa_verify_got(struct mpa_verify *t, u32 len)
{
	if (is_at_marker(t)) {
		check_marker(t);
		return;
	}
	t->got += len;
	t->pos += len;
	mpa_verify_crc(t);
}

/**
 * mpa_verify_result - check CRC and markers of a complete FPDU
 * @t: the FPDU
 *
 * Return: IW_OK if it is valid; IW_MPA_CRC or IW_MPA_MARKER if not.
 */
enum iw_reason mpa_verify_result(const struct mpa_verify *t)
{
	if (t->crc && !mpa_crc_matches(t->sum, t->to + covered(t)))
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
 * mpa_fpdu_batch_begin - start a batch
 * @r: the batch
 * @ulpdu_len: ULPDU length of each FPDU; @r->left is 0 if there is no payload,
 *	or if an FPDU is too long
 * @at: destination of the first payload; MPA_FPDU_BATCH_SIZE bytes are usable, and
 *	begin MPA_HEADS_MAX bytes before it
 */
void mpa_fpdu_batch_begin(struct mpa_fpdu_batch *r, u32 ulpdu_len, u8 *at)
{
	r->at = at;
	r->left = 0;
	r->payload = ulpdu_len - IW_DDP_T_HDR_LEN;
	r->wire = mpa_fpdu_content_len(ulpdu_len);
	if (ulpdu_len > IW_DDP_T_HDR_LEN && r->wire <= MPA_FPDU_BATCH_SIZE)
		r->left = (MPA_FPDU_BATCH_SIZE - r->wire) / r->payload + 1;
}

/**
 * mpa_fpdu_batch_want - get the destination of the next FPDU
 * @r: the batch; @r->left is not 0
 *
 * Return: where the caller copies @r->wire bytes to, before it calls
 * mpa_fpdu_batch_got().
 */
u8 *mpa_fpdu_batch_want(struct mpa_fpdu_batch *r)
{
	memcpy(r->saved, r->at - MPA_HEADS_MAX, MPA_HEADS_MAX);
	return r->at - MPA_HEADS_MAX;
}

/* RFC 5044 4.4: the CRC covers everything before its field */
static bool is_crc_valid(const u8 *fpdu, u32 len)
{
	return mpa_crc_matches(mpa_crc_update(mpa_crc_init(), fpdu, len), fpdu + len);
}

/* two 64-bit comparisons: a call would cost more */
static bool same_heads(const u8 *a, const u8 *b)
{
	static_assert(MPA_HEADS_MAX == 2 * sizeof(u64));
	return get_unaligned_be64(a) == get_unaligned_be64(b) &&
	       get_unaligned_be64(a + 8) == get_unaligned_be64(b + 8);
}

/**
 * mpa_fpdu_batch_got - verify the FPDU that was copied, and keep its payload
 * @r: the batch
 * @head: first MPA_HEADS_MAX bytes of the FPDU, as copied before
 *
 * The payload is kept if the header has not changed and the CRC is correct.
 * Otherwise the slow path has to decide what the FPDU is.
 *
 * Return: true if the payload is kept after the others, false if it is dropped.
 */
bool mpa_fpdu_batch_got(struct mpa_fpdu_batch *r, const u8 *head)
{
	u8 *fpdu = r->at - MPA_HEADS_MAX;
	bool good = same_heads(head, fpdu) &&
		    is_crc_valid(fpdu, r->wire - MPA_CRC_SIZE);

	memcpy(fpdu, r->saved, MPA_HEADS_MAX);
	if (good) {
		r->at += r->payload;
		r->left--;
	}
	return good;
}
