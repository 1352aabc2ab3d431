// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How long is an FPDU, and where do the markers fall in it?
 *
 * An FPDU is a multiple of 4 octets long and so is a marker: a marker never
 * cuts the length field or the CRC field.
 */
#include "fpdu.h"

static_assert(MPA_MARKER_INTERVAL % MPA_ALIGN == 0);
static_assert(MPA_MARKER_SIZE % MPA_ALIGN == 0);

/**
 * mpa_fpdu_pad - octets of PAD behind a ULPDU (RFC 5044 section 4.1)
 * @ulpdu_len: octets of the ULPDU
 *
 * Return: 0 to 3.
 */
u32 mpa_fpdu_pad(u32 ulpdu_len)
{
	return -(MPA_LEN_SIZE + ulpdu_len) & (MPA_ALIGN - 1);
}

/**
 * mpa_fpdu_content - length of an FPDU, markers aside
 * @ulpdu_len: octets of its ULPDU
 *
 * Return: octets of length field, ULPDU, PAD and CRC field.
 */
u32 mpa_fpdu_content(u32 ulpdu_len)
{
	return MPA_LEN_SIZE + ulpdu_len + mpa_fpdu_pad(ulpdu_len) +
	       MPA_CRC_SIZE;
}

/**
 * mpa_to_marker - octets from @pos to the next marker
 * @pos: where we are
 *
 * Return: 0 if a marker is due right here.
 */
u32 mpa_to_marker(u32 pos)
{
	return -pos & (MPA_MARKER_INTERVAL - 1);
}

/**
 * mpa_markers_in - count the markers that fall inside one FPDU
 * @pos: where the FPDU starts
 * @content: its octets, markers aside
 *
 * A marker that would follow the last octet belongs to the next FPDU
 * (RFC 5044 section 4.3), so an FPDU ending on the boundary has none there.
 *
 * Return: how many; a leading one counts.
 */
u32 mpa_markers_in(u32 pos, u32 content)
{
	u32 gap = mpa_to_marker(pos);

	if (content <= gap)
		return 0;
	return 1 + (content - gap - 1) / (MPA_MARKER_INTERVAL - MPA_MARKER_SIZE);
}

/**
 * mpa_fpdu_wire_len - length of an FPDU in the TCP stream
 * @pos: where it starts
 * @ulpdu_len: octets of its ULPDU
 * @markers: whether its sender inserts markers
 *
 * Return: octets, markers included.
 */
u32 mpa_fpdu_wire_len(u32 pos, u32 ulpdu_len, bool markers)
{
	u32 len = mpa_fpdu_content(ulpdu_len);

	if (markers)
		len += mpa_markers_in(pos, len) * MPA_MARKER_SIZE;
	return len;
}

/**
 * mpa_fpdu_head - octets of an FPDU in front of its ULPDU
 * @pos: where it starts
 * @markers: whether its sender inserts markers
 *
 * Return: those of the length field, and of a marker that leads.
 */
u32 mpa_fpdu_head(u32 pos, bool markers)
{
	if (markers && !mpa_to_marker(pos))
		return MPA_MARKER_SIZE + MPA_LEN_SIZE;
	return MPA_LEN_SIZE;
}

/**
 * mpa_fpdu_peek - what the first octets of an FPDU say of it
 * @f: filled in: all lengths of it, from one look at the length field
 * @pos: where it starts
 * @markers: whether the peer inserts markers
 * @p: its first octets, in memory of ours
 * @len: how many
 *
 * Return: false if @len is too short to tell.
 */
bool mpa_fpdu_peek(struct mpa_fpdu *f, u32 pos, bool markers, const u8 *p,
		   size_t len)
{
	f->start = pos;
	f->head = mpa_fpdu_head(pos, markers);
	if (len < f->head)
		return false;
	f->ulpdu_len = get_unaligned_be16(p + f->head - MPA_LEN_SIZE);
	f->wire = mpa_fpdu_wire_len(pos, f->ulpdu_len, markers);
	return true;
}

/**
 * mpa_marker_back - what the FPDUPTR of a marker has to say
 * @pos: where the FPDU starts, leading marker included
 * @at: where the marker starts
 *
 * Counted from the length field, which a leading marker pushes back
 * (RFC 5044 section 4.2).
 *
 * Return: octets from the length field to the marker; 0 for a leading marker.
 */
u32 mpa_marker_back(u32 pos, u32 at)
{
	if (at == pos)
		return 0;
	if (!mpa_to_marker(pos))
		pos += MPA_MARKER_SIZE;
	return at - pos;
}

/**
 * mpa_marker_ok - does a marker agree with the lengths?
 * @p: the marker
 * @back: mpa_marker_back() of it
 *
 * The reserved field and the pointer's low two bits are ignored (RFC 5044
 * section 4.2).
 *
 * Return: false: the stream has failed, IW_MPA_MARKER.
 */
bool mpa_marker_ok(const u8 *p, u32 back)
{
	u16 ptr = get_unaligned_be16(p + MPA_MARKER_PTR);

	return (ptr & MPA_MARKER_PTR_MASK) == back;
}

/**
 * mpa_marker_put - write a marker
 * @p: where to
 * @back: mpa_marker_back() of it
 */
void mpa_marker_put(u8 *p, u32 back)
{
	put_unaligned_be32(back & MPA_MARKER_PTR_MASK, p);
}

/**
 * mpa_mulpdu - the largest ULPDU to put in one FPDU
 * @emss: TCP's effective maximum segment size
 * @markers: whether we insert markers
 *
 * RFC 5044 section 4.5: the FPDU then fits into a segment wherever the markers
 * fall, as long as @emss allows for 128 octets.  The upper limit (section 3)
 * keeps FPDUPTR within 16 bits.
 *
 * Return: MULPDU, 128 to 64768.
 */
u32 mpa_mulpdu(u32 emss, bool markers)
{
	u32 over = MPA_LEN_SIZE + MPA_CRC_SIZE + emss % MPA_ALIGN;

	if (markers)
		over += MPA_MARKER_SIZE *
			DIV_ROUND_UP(emss, MPA_MARKER_INTERVAL);
	if (emss < over + MPA_MULPDU_MIN)
		return MPA_MULPDU_MIN;
	return min_t(u32, emss - over, MPA_MULPDU_MAX);
}
