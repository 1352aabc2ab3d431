// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verify FPDUs while they are copied from memory that a sender may still write. A
 * sender on this machine can splice pages into TCP and continue to write these pages.
 *
 * mpa_verify_*() handle a single FPDU, with or without CRC and markers.
 * mpa_fpdu_batch_*() handle a batch of FPDUs of equal length, with CRC and
 * without markers. In both cases the caller (rx.c) requests the destination of the
 * next bytes, copies the bytes there, and handles invalid FPDUs.
 *
 * CRC and markers of the copy are checked, and only the copy is passed to DDP.
 * So exactly the verified bytes are placed. Bytes are added to the CRC soon after
 * they are copied, while they are in the CPU's cache.
 */
#include "crc.h"
#include "fpdu_verify.h"

/* One FPDU ----------------------------------------------------------------- */

/*
 * Maximum number of bytes to copy before they are added to the CRC: two pages of
 * 4 KiB. The bytes must still be in the first-level cache then, and the smallest
 * such cache has four times this size.
 */
#define PIECE		8192

/* Get the length of the FPDU in bytes, without markers */
static u32 get_content_len(const struct mpa_verify *t)
{
	return mpa_fpdu_content_len(t->f.ulpdu_len);
}

/* Get the number of bytes that the CRC covers, without markers */
static u32 get_crc_covered_len(const struct mpa_verify *t)
{
	return get_content_len(t) - MPA_CRC_SIZE;
}

static bool is_at_marker(const struct mpa_verify *t)
{
	return t->markers && !mpa_compute_marker_distance(t->pos);
}

/* Check the marker in @t->marker, and add it to the CRC if CRC is in use */
static void check_marker_and_update_crc(struct mpa_verify *t)
{
	if (!mpa_marker_is_valid(t->marker, mpa_compute_fpduptr(t->f.start, t->pos)))
		t->marker_wrong = true;
	if (t->crc)
		t->crc_value = mpa_crc_update(t->crc_value, t->marker, sizeof(t->marker));
	t->pos += sizeof(t->marker);
}

/*
 * Update the CRC with the bytes that were copied since the last call. The first call also
 * adds the length field, which mpa_verify_begin() has copied.
 */
static void mpa_verify_update_crc(struct mpa_verify *t)
{
	u32 end = min(t->got, get_crc_covered_len(t));

	if (t->crc && end > t->crc_len)
		t->crc_value = mpa_crc_update(t->crc_value, t->to + t->crc_len, end - t->crc_len);
	t->crc_len = end;
}

/**
 * mpa_verify_begin - begin to copy and verify an FPDU
 * @t: state; the caller must have set @t->markers and @t->crc
 * @f: result of mpa_fpdu_decode() for @head
 * @head: private copy of the first @f->head_len bytes of the FPDU
 * @to: buffer of MPA_CONTENT_MAX bytes for the FPDU without markers
 */
void mpa_verify_begin(struct mpa_verify *t, const struct mpa_fpdu *f,
		      const u8 *head, u8 *to)
{
	t->f = *f;
	t->marker_wrong = false;
	t->pos = f->start;
	t->got = 0;
	t->crc_len = 0;
	t->crc_value = mpa_crc_init();
	t->to = to;
	if (is_at_marker(t)) {
		memcpy(t->marker, head, sizeof(t->marker));
		check_marker_and_update_crc(t);
	}
	memcpy(to, head + f->head_len - MPA_LEN_SIZE, MPA_LEN_SIZE);
	t->got = MPA_LEN_SIZE;
	t->pos += MPA_LEN_SIZE;
}

/**
 * mpa_verify_get_next_dst - get the destination of the next bytes to copy
 * @t: state of the FPDU
 * @len: set to the number of bytes; the caller must copy all of them and then
 *	call mpa_verify_add_copied()
 *
 * Return: the destination; NULL if all bytes of the FPDU have been copied.
 */
void *mpa_verify_get_next_dst(struct mpa_verify *t, u32 *len)
{
	u32 left = get_content_len(t) - t->got;
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
		*len = min(*len, mpa_compute_marker_distance(t->pos));
	return to;
}

/**
 * mpa_verify_add_copied - update the CRC with the bytes just copied, or check a copied marker
 * @t: state of the FPDU
 * @len: number of bytes, as set by mpa_verify_get_next_dst()
 */
void mpa_verify_add_copied(struct mpa_verify *t, u32 len)
{
	if (is_at_marker(t)) {
		check_marker_and_update_crc(t);
		return;
	}
	t->got += len;
	t->pos += len;
	mpa_verify_update_crc(t);
}

/**
 * mpa_verify_get_result - check CRC and markers of an FPDU
 * @t: state of the FPDU, all bytes of which have been copied
 *
 * Return: IW_OK if the FPDU is valid; IW_MPA_CRC if the CRC is in use and wrong;
 * IW_MPA_MARKER if a marker is wrong, and the CRC is correct or not in use.
 */
enum iw_reason mpa_verify_get_result(const struct mpa_verify *t)
{
	if (t->crc && !mpa_crc_matches(t->crc_value, t->to + get_crc_covered_len(t)))
		return IW_MPA_CRC;
	/* report a wrong marker only if the CRC is correct (RFC 5044 8, code 3) */
	return t->marker_wrong ? IW_MPA_MARKER : IW_OK;
}

/* Batch of FPDUs of one length --------------------------------------------- */

/*
 * To compute a CRC, each copied FPDU must be contiguous. To place the payloads with
 * one call, the payloads must be contiguous without the headers between them.
 * fpdu_verify.h describes how one copy of each FPDU meets both requirements.
 */

/**
 * mpa_fpdu_batch_begin - start a batch
 * @r: the batch; @r->left is set to 0, so that the batch accepts no FPDU, if FPDUs of
 *	this length have no payload or are too long for a batch
 * @ulpdu_len: ULPDU length of each FPDU, in bytes
 * @hdr_len: length of the DDP header of each FPDU, in bytes: that of a tagged or an untagged one
 * @at: destination of the first payload. The buffer must have DDP_RX_HEAD_LEN bytes before
 *	@at, and MPA_FPDU_BATCH_SIZE bytes, beginning with the header of the first FPDU
 */
void mpa_fpdu_batch_begin(struct mpa_fpdu_batch *r, u32 ulpdu_len, u32 hdr_len, u8 *at)
{
	r->at = at;
	r->left = 0;
	r->payload = ulpdu_len - hdr_len;
	r->head_len = MPA_LEN_SIZE + hdr_len;
	r->wire_len = mpa_fpdu_content_len(ulpdu_len);
	if (ulpdu_len > hdr_len && r->wire_len <= MPA_FPDU_BATCH_SIZE)
		r->left = (MPA_FPDU_BATCH_SIZE - r->wire_len) / r->payload + 1;
}

/**
 * mpa_fpdu_batch_prepare_dst - get the destination of the next FPDU
 * @r: the batch; @r->left must not be 0
 *
 * Saves the bytes of the previous payload that the FPDU's header will overwrite.
 *
 * Return: the destination. The caller must copy the @r->wire_len bytes of the FPDU to the
 * destination and then call mpa_fpdu_batch_add_if_valid(), which restores the saved bytes.
 */
u8 *mpa_fpdu_batch_prepare_dst(struct mpa_fpdu_batch *r)
{
	/* save the same number of bytes for short and long headers, which is faster */
	memcpy(r->saved, r->at - DDP_RX_HEAD_LEN, DDP_RX_HEAD_LEN);
	return r->at - r->head_len;
}

/* Check the CRC over the @len bytes before the CRC field (RFC 5044 4.4) */
static bool is_crc_valid(const u8 *fpdu, u32 len)
{
	return mpa_crc_matches(mpa_crc_update(mpa_crc_init(), fpdu, len), fpdu + len);
}

/* Check whether the copied FPDU begins with @head */
static bool has_header(const u8 *fpdu, const struct ddp_rx_head *head)
{
	struct ddp_rx_head copy;

	ddp_rx_head_read(&copy, fpdu);
	return copy.start == head->start && copy.field == head->field && copy.mo == head->mo;
}

/**
 * mpa_fpdu_batch_add_if_valid - verify the FPDU that was copied, and add its payload
 * @r: the batch
 * @head: first bytes of the FPDU, from an earlier copy
 *
 * The payload is added to the batch if both copies of the header are equal and the
 * CRC is correct.
 *
 * Return: true if the payload was added; false if not, so that the caller must
 * process the FPDU on the slow path.
 */
bool mpa_fpdu_batch_add_if_valid(struct mpa_fpdu_batch *r, const struct ddp_rx_head *head)
{
	u8 *fpdu = r->at - r->head_len;
	bool good = has_header(fpdu, head) && is_crc_valid(fpdu, r->wire_len - MPA_CRC_SIZE);

	memcpy(r->at - DDP_RX_HEAD_LEN, r->saved, DDP_RX_HEAD_LEN);
	if (good) {
		r->at += r->payload;
		r->left--;
	}
	return good;
}
