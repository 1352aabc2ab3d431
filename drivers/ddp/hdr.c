// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Encoding and decoding of DDP headers (RFC 5041 section 4). */
#include "hdr.h"

static void decode_tagged_fields(struct ddp_hdr *h, const u8 *p)
{
	h->stag = get_unaligned_be32(p + DDP_T_STAG);
	h->to = get_unaligned_be64(p + DDP_T_TO);
}

static void decode_untagged_fields(struct ddp_hdr *h, const u8 *p)
{
	h->ulp32 = get_unaligned_be32(p + DDP_U_ULP32);
	h->qn = get_unaligned_be32(p + DDP_U_QN);
	h->msn = get_unaligned_be32(p + DDP_U_MSN);
	h->mo = get_unaligned_be32(p + DDP_U_MO);
}

/**
 * ddp_hdr_decode - decode the header of a segment
 * @h: filled in; fields that this kind of header (tagged or untagged) does not
 *	have are 0
 * @p: first bytes of the segment
 * @len: number of bytes at @p
 *
 * The four reserved bits of the control byte are ignored (RFC 5041 4.1).
 *
 * Return: IW_OK if the header is valid; IW_DDP_SHORT if @len is shorter than the
 * header (RFC 5041 4.4), and @h is not valid; IW_DDP_T_VERSION (T bit set) or
 * IW_DDP_U_VERSION (T bit clear) if the version is wrong, and @h is filled in
 * nevertheless.
 */
enum iw_reason ddp_hdr_decode(struct ddp_hdr *h, const u8 *p, size_t len)
{
	memset(h, 0, sizeof(*h));
	if (!len)
		return IW_DDP_SHORT;
	h->tagged = p[DDP_CTRL] & DDP_TAGGED;
	if (len < ddp_hdr_len(h))
		return IW_DDP_SHORT;
	h->last = p[DDP_CTRL] & DDP_LAST;
	h->ulp8 = p[DDP_ULP8];
	if (h->tagged)
		decode_tagged_fields(h, p);
	else
		decode_untagged_fields(h, p);
	if ((p[DDP_CTRL] & DDP_DV_MASK) != DDP_DV)
		return h->tagged ? IW_DDP_T_VERSION : IW_DDP_U_VERSION;
	return IW_OK;
}

/**
 * ddp_hdr_encode - encode a DDP header
 * @p: buffer of IW_DDP_HDR_MAX bytes
 * @h: the header
 *
 * Return: number of bytes written, DDP_T_HDR_LEN or DDP_U_HDR_LEN.
 */
size_t ddp_hdr_encode(u8 *p, const struct ddp_hdr *h)
{
	p[DDP_CTRL] = DDP_DV | (h->tagged ? DDP_TAGGED : 0) |
		      (h->last ? DDP_LAST : 0);
	p[DDP_ULP8] = h->ulp8;
	if (h->tagged) {
		put_unaligned_be32(h->stag, p + DDP_T_STAG);
		put_unaligned_be64(h->to, p + DDP_T_TO);
	} else {
		put_unaligned_be32(h->ulp32, p + DDP_U_ULP32);
		put_unaligned_be32(h->qn, p + DDP_U_QN);
		put_unaligned_be32(h->msn, p + DDP_U_MSN);
		put_unaligned_be32(h->mo, p + DDP_U_MO);
	}
	return ddp_hdr_len(h);
}

/**
 * ddp_hdr_encode_like - encode the header of another segment of the same message
 * @p: destination
 * @like: encoded header of a segment of the same message
 * @h: header to encode; may differ from @like in the TO or MO only
 *
 * Copies the bytes before the TO or MO, which is faster than ddp_hdr_encode().
 */
void ddp_hdr_encode_like(u8 *p, const u8 *like, const struct ddp_hdr *h)
{
	if (h->tagged) {
		memcpy(p, like, DDP_T_TO);
		put_unaligned_be64(h->to, p + DDP_T_TO);
	} else {
		memcpy(p, like, DDP_U_MO);
		put_unaligned_be32(h->mo, p + DDP_U_MO);
	}
}
