// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Compute the length of an FPDU and the positions of its markers.
 *
 * The lengths of FPDUs and markers are multiples of 4 bytes, so a marker never
 * splits the length field or the CRC field.
 */
#include "fpdu.h"

static_assert(MPA_MARKER_INTERVAL % MPA_ALIGN == 0);
static_assert(MPA_MARKER_SIZE % MPA_ALIGN == 0);

/**
 * mpa_fpdu_pad_len - compute the length of the PAD (RFC 5044 section 4.1)
 * @ulpdu_len: length of the ULPDU in bytes
 *
 * Return: length of the PAD, 0 to 3 bytes.
 */
u32 mpa_fpdu_pad_len(u32 ulpdu_len)
{
	return -(MPA_LEN_SIZE + ulpdu_len) & (MPA_ALIGN - 1);
}

/**
 * mpa_fpdu_content_len - compute the length of an FPDU without markers
 * @ulpdu_len: length of the ULPDU in bytes
 *
 * Return: length of the length field, ULPDU, PAD and CRC field together, in bytes.
 */
u32 mpa_fpdu_content_len(u32 ulpdu_len)
{
	return MPA_LEN_SIZE + ulpdu_len + mpa_fpdu_pad_len(ulpdu_len) +
	       MPA_CRC_SIZE;
}

/**
 * mpa_compute_marker_distance - compute the distance to the next marker
 * @pos: position in the stream
 *
 * Return: number of bytes from @pos to the next marker; 0 if a marker begins at
 * @pos.
 */
u32 mpa_compute_marker_distance(u32 pos)
{
	return -pos & (MPA_MARKER_INTERVAL - 1);
}

/**
 * mpa_count_markers - count the markers of an FPDU
 * @pos: position in the stream where the FPDU begins
 * @content: length of the FPDU without markers, in bytes
 *
 * A marker that follows the last byte of the FPDU is not counted, because it belongs
 * to the next FPDU (RFC 5044 section 4.3).
 *
 * Return: number of markers, including a marker before the length field.
 */
u32 mpa_count_markers(u32 pos, u32 content)
{
	u32 gap = mpa_compute_marker_distance(pos);

	if (content <= gap)
		return 0;
	return 1 + (content - gap - 1) / (MPA_MARKER_INTERVAL - MPA_MARKER_SIZE);
}

/**
 * mpa_fpdu_wire_len - compute the length of an FPDU in the TCP stream
 * @pos: position in the stream where the FPDU begins
 * @ulpdu_len: length of the ULPDU in bytes
 * @markers: true if the sender inserts markers
 *
 * Return: length in bytes, markers included.
 */
u32 mpa_fpdu_wire_len(u32 pos, u32 ulpdu_len, bool markers)
{
	u32 len = mpa_fpdu_content_len(ulpdu_len);

	if (markers)
		len += mpa_count_markers(pos, len) * MPA_MARKER_SIZE;
	return len;
}

/**
 * mpa_fpdu_head_len - compute the offset of the ULPDU in its FPDU
 * @pos: position in the stream where the FPDU begins
 * @markers: true if the sender inserts markers
 *
 * Return: number of bytes of the length field, and of the marker before the length
 * field if the FPDU begins with a marker.
 */
u32 mpa_fpdu_head_len(u32 pos, bool markers)
{
	if (markers && !mpa_compute_marker_distance(pos))
		return MPA_MARKER_SIZE + MPA_LEN_SIZE;
	return MPA_LEN_SIZE;
}

/**
 * mpa_fpdu_decode - decode the length field of an FPDU
 * @f: result; all lengths are derived from one read of the length field
 * @pos: position in the stream where the FPDU begins
 * @markers: true if the peer inserts markers
 * @p: the first bytes of the FPDU, in private memory
 * @len: number of bytes at @p
 *
 * Return: true if @f is filled in; false if the @len bytes do not contain the whole
 * length field, so that only @f->start and @f->head_len are set.
 */
bool mpa_fpdu_decode(struct mpa_fpdu *f, u32 pos, bool markers, const u8 *p,
		     size_t len)
{
	f->start = pos;
	f->head_len = mpa_fpdu_head_len(pos, markers);
	if (len < f->head_len)
		return false;
	f->ulpdu_len = get_unaligned_be16(p + f->head_len - MPA_LEN_SIZE);
	f->wire_len = mpa_fpdu_wire_len(pos, f->ulpdu_len, markers);
	return true;
}

/**
 * mpa_compute_fpduptr - compute the FPDUPTR of a marker
 * @pos: position in the stream where the FPDU begins. If the FPDU begins with a
 *	marker (the leading marker), this is the position of that marker.
 * @at: position in the stream where the marker begins
 *
 * FPDUPTR is the distance from the start of the length field to the marker (RFC 5044
 * section 4.2). The length field follows the leading marker.
 *
 * Return: number of bytes from the length field to the marker; 0 for a leading
 * marker.
 */
u32 mpa_compute_fpduptr(u32 pos, u32 at)
{
	if (at == pos)
		return 0;
	if (!mpa_compute_marker_distance(pos))
		pos += MPA_MARKER_SIZE;
	return at - pos;
}

/**
 * mpa_marker_is_valid - check whether a marker points to the length field of its FPDU
 * @p: the marker
 * @back: result of mpa_compute_fpduptr() for this marker
 *
 * The reserved field and the low two bits of FPDUPTR are ignored (RFC 5044
 * section 4.2).
 *
 * Return: true if FPDUPTR equals @back; false if not, in which case the FPDU is
 * invalid (IW_MPA_MARKER).
 */
bool mpa_marker_is_valid(const u8 *p, u32 back)
{
	u16 ptr = get_unaligned_be16(p + MPA_MARKER_PTR);

	return (ptr & MPA_MARKER_PTR_MASK) == back;
}

/**
 * mpa_marker_encode - write a marker
 * @p: destination, MPA_MARKER_SIZE bytes
 * @back: result of mpa_compute_fpduptr() for this marker
 */
void mpa_marker_encode(u8 *p, u32 back)
{
	put_unaligned_be32(back & MPA_MARKER_PTR_MASK, p);
}

/**
 * mpa_compute_mulpdu - compute the maximum length of a ULPDU to send in one FPDU
 * @emss: effective maximum segment size of TCP, in bytes
 * @markers: true if this side inserts markers
 *
 * An FPDU with a ULPDU of this length fits into a TCP segment, wherever its markers
 * are (RFC 5044 section 4.5). But the result is at least 128; if @emss is too small
 * for a ULPDU of 128 bytes, the FPDU is longer than a TCP segment. The upper limit of
 * the result (section 3) ensures that FPDUPTR fits into 16 bits.
 *
 * Return: MULPDU in bytes, 128 to 64768.
 */
u32 mpa_compute_mulpdu(u32 emss, bool markers)
{
	u32 over = MPA_LEN_SIZE + MPA_CRC_SIZE + emss % MPA_ALIGN;

	if (markers)
		over += MPA_MARKER_SIZE *
			DIV_ROUND_UP(emss, MPA_MARKER_INTERVAL);
	if (emss < over + MPA_MULPDU_MIN)
		return MPA_MULPDU_MIN;
	return min_t(u32, emss - over, MPA_MULPDU_MAX);
}

/**
 * mpa_compute_batch_limit - compute the maximum length of a batch of FPDUs
 * @emss: effective maximum segment size of TCP, in bytes
 * @tso_max: maximum length of an skb that TCP sends, in bytes
 *
 * TCP splits a batch into skbs. Each skb has as many whole segments as fit into @tso_max. If a
 * batch is a few bytes longer than a number of full skbs, TCP sends these bytes in an skb of their
 * own, which costs nearly as much as a full one.
 *
 * Return: the length in bytes: about MPA_BATCH, but at least @emss.
 */
u32 mpa_compute_batch_limit(u32 emss, u32 tso_max)
{
	u32 most = max_t(u32, MPA_BATCH, 2 * emss), full;

	if (!emss)
		return most;
	full = max(tso_max / emss, 1u) * emss;
	return full < most ? most - most % full : most;
}
