// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Encoding and decoding of the user data of DDP's DATA chunks: see chunk.h. */
#include "chunk.h"

static_assert(SDDP_PD_MAX == DDP_PD_MAX);
static_assert(SDDP_CONTROL_MAX == SDDP_CHUNK_MIN);

/**
 * sddp_ssn_decode - read the DDP-SSN at the beginning of a chunk
 * @ssn: set to the DDP-SSN on success
 * @p: user data of the chunk
 * @len: length of the user data, bytes
 *
 * Return: true on success, false if the chunk is too short for a DDP-SSN (RFC 5043
 * 5.2.1).
 */
bool sddp_ssn_decode(u16 *ssn, const u8 *p, size_t len)
{
	if (len < SDDP_SSN_SIZE)
		return false;
	*ssn = get_unaligned_be16(p + SDDP_SSN);
	return true;
}

/**
 * sddp_ssn_encode - write the DDP-SSN at the beginning of a chunk
 * @p: buffer for the chunk's user data, at least SDDP_SSN_SIZE bytes
 * @ssn: the DDP-SSN
 */
void sddp_ssn_encode(u8 *p, u16 ssn)
{
	put_unaligned_be16(ssn, p + SDDP_SSN);
}

static bool decode_function_code(struct sddp_control *c, u16 function)
{
	c->offer.enhanced = function >= SDDP_INITIATE_ENHANCED;
	switch (function) {
	case SDDP_INITIATE:
	case SDDP_INITIATE_ENHANCED:
		c->kind = SDDP_KIND_INITIATE;
		return true;
	case SDDP_ACCEPT:
	case SDDP_ACCEPT_ENHANCED:
		c->kind = SDDP_KIND_ACCEPT;
		return true;
	case SDDP_REJECT:
	case SDDP_REJECT_ENHANCED:
		c->kind = SDDP_KIND_REJECT;
		return true;
	case SDDP_TERMINATE:
		c->kind = SDDP_KIND_TERMINATE;
		return true;
	default:
		return false;
	}
}

/*
 * Read the IRD/ORD word of an enhanced chunk and advance @p past the word. If an
 * Enhanced Reject is too short for the word, decode it as a plain Reject, because RFC 6581 7
 * does not say whether an Enhanced Reject has the word. Return: true on success; false if an
 * enhanced chunk of any other kind is too short for the word.
 */
static bool sddp_control_read_ird_ord(struct sddp_control *c, const u8 **p,
				      size_t *len)
{
	if (!c->offer.enhanced)
		return true;
	if (*len < DDP_WORD_SIZE) {
		c->offer.enhanced = false;
		return c->kind == SDDP_KIND_REJECT;
	}
	ddp_offer_decode_ird_ord(&c->offer, get_unaligned_be32(*p));
	*p += DDP_WORD_SIZE;
	*len -= DDP_WORD_SIZE;
	return true;
}

/**
 * sddp_control_read_function_code - read the Function Code of a Session Control chunk
 * @p: user data of the chunk
 * @len: length of the user data, bytes
 *
 * Return: the Function Code; 0, which is not a valid code, if the chunk is too short.
 */
u16 sddp_control_read_function_code(const u8 *p, size_t len)
{
	if (len < SDDP_CONTROL_LEN)
		return 0;
	return get_unaligned_be16(p + SDDP_FUNCTION);
}

/**
 * sddp_control_decode - decode a Session Control chunk
 * @c: set to the decoded chunk; undefined after an error
 * @p: user data of the chunk
 * @len: length of the user data, bytes
 *
 * A Terminate has no Private Data (RFC 5043 5.2.3). If the peer sends Private Data in a
 * Terminate, ignore the data and treat the chunk as valid.
 *
 * Return: IW_OK; IW_SCTP_CONTROL if the chunk is too short, has an unknown Function
 * Code, or has more than 512 bytes of Private Data.
 */
enum iw_reason sddp_control_decode(struct sddp_control *c, const u8 *p,
				   size_t len)
{
	memset(c, 0, sizeof(*c));
	if (len < SDDP_CONTROL_LEN)
		return IW_SCTP_CONTROL;
	c->ssn = get_unaligned_be16(p + SDDP_SSN);
	if (!decode_function_code(c, get_unaligned_be16(p + SDDP_FUNCTION)))
		return IW_SCTP_CONTROL;
	if (c->kind == SDDP_KIND_TERMINATE)
		return IW_OK;

	p += SDDP_CONTROL_LEN;
	len -= SDDP_CONTROL_LEN;
	if (len > SDDP_PD_MAX || !sddp_control_read_ird_ord(c, &p, &len))
		return IW_SCTP_CONTROL;
	c->offer.pd_len = len;
	memcpy(c->offer.pd, p, len);
	return IW_OK;
}

static u16 to_function_code(const struct sddp_control *c)
{
	bool enhanced = c->offer.enhanced;

	switch (c->kind) {
	case SDDP_KIND_INITIATE:
		return enhanced ? SDDP_INITIATE_ENHANCED : SDDP_INITIATE;
	case SDDP_KIND_ACCEPT:
		return enhanced ? SDDP_ACCEPT_ENHANCED : SDDP_ACCEPT;
	case SDDP_KIND_REJECT:
		return enhanced ? SDDP_REJECT_ENHANCED : SDDP_REJECT;
	default:
		return SDDP_TERMINATE;
	}
}

/**
 * sddp_control_encode - encode a Session Control chunk
 * @p: destination buffer
 * @size: size of @p, bytes; SDDP_CONTROL_MAX is always enough
 * @c: the chunk to encode; the offer of a Terminate is ignored
 *
 * Return: the number of bytes written; 0 if @size is too small, if the Private
 * Data and the IRD/ORD word exceed 512 bytes, or if IRD or ORD of an enhanced chunk
 * exceeds 14 bits.
 */
size_t sddp_control_encode(u8 *p, size_t size, const struct sddp_control *c)
{
	const struct ddp_offer *o = &c->offer;
	bool data = c->kind != SDDP_KIND_TERMINATE;
	u32 word = data && o->enhanced ? DDP_WORD_SIZE : 0;
	u32 pd = data ? word + o->pd_len : 0;

	if (pd > SDDP_PD_MAX || size < SDDP_CONTROL_LEN + pd)
		return 0;
	if (word && (o->ird | o->ord) & ~DDP_WORD_DEPTH)
		return 0;
	put_unaligned_be16(c->ssn, p + SDDP_SSN);
	put_unaligned_be16(to_function_code(c), p + SDDP_FUNCTION);
	if (word)
		put_unaligned_be32(ddp_offer_encode_ird_ord(o), p + SDDP_PD);
	if (data)
		memcpy(p + SDDP_PD + word, o->pd, o->pd_len);
	return SDDP_CONTROL_LEN + pd;
}
