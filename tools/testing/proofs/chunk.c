// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Encoding and decoding of the chunks of DDP over SCTP.
 *
 * Files: sctp_ddp/chunk.c
 * Checks: unsigned-overflow conversion
 * Bound: 1, there is no loop
 * prove_control_decoding: Slow
 * Mutation: sctp_ddp/chunk.c s/len > SDDP_PD_MAX ||/len > SDDP_PD_MAX + 1 ||/
 * Mutation: sctp_ddp/chunk.c s/if (len < SDDP_SSN_SIZE)/if (!len)/
 * Mutation: sctp_ddp/chunk.c s/return c->kind == SDDP_KIND_REJECT;/return true;/
 * Mutation: sctp_ddp/chunk.c s/size < SDDP_CONTROL_LEN + pd/size < pd/
 * Mutation, big-endian: sctp_ddp/chunk.c s/get_unaligned_be16(p + SDDP_FUNCTION)/__builtin_bswap16(*(u16 *)(p + SDDP_FUNCTION))/
 */
#include "../../../drivers/sctp_ddp/chunk.h"
#include "proof.h"

static const enum sddp_chunk_kind says[] = {
	0, SDDP_KIND_INITIATE, SDDP_KIND_ACCEPT, SDDP_KIND_REJECT,
	SDDP_KIND_TERMINATE, SDDP_KIND_INITIATE, SDDP_KIND_ACCEPT, SDDP_KIND_REJECT,
};

void prove_ssn_encoding(void)
{
	size_t len = ANY(size_t);
	u16 ssn, again;
	u8 *p, out[2];

	GIVEN(len <= 1 << 20);
	p = any_bytes(len);
	MUST("SCTPDDP-10: an SSN is decoded from every chunk of 2 bytes or more",
	     sddp_ssn_decode(&ssn, p, len) == (len >= 2));
	if (len < 2)
		return;
	MUST("SCTPDDP-11, SCTPDDP-12: the SSN is the first field", ssn == decode_big_endian(p, 2));
	sddp_ssn_encode(out, ssn);
	sddp_ssn_decode(&again, out, 2);
	MUST("SCTPDDP-10: decoding the encoded SSN gives the SSN", again == ssn);
	REACHED("end");
}

/*
 * Check whether a Session Control chunk is legal (RFC 5043 5.2.3, RFC 6581 7). A Reject
 * without the IRD/ORD word is legal.
 */
static bool is_legal_control_chunk(const u8 *p, size_t len)
{
	u16 code;

	if (len < 4)
		return false;
	code = decode_big_endian(p + 2, 2);
	if (code == 4)
		return true;
	if (code < 1 || code > 7 || len > 4 + 512)
		return false;
	return code < 5 || code == 7 || len >= 4 + 4;
}

static void check_private_data(const struct sddp_control *c, const u8 *p, size_t len)
{
	u32 word = c->offer.enhanced ? 4 : 0;
	size_t at = ANY(size_t);

	MUST("SCTPDDP-16, MPA2-15: the Private Data extends to the end of the chunk",
	     c->offer.pd_len == len - 4 - word);
	GIVEN(at < c->offer.pd_len);
	MUST("SCTPDDP-14, MPA2-14: the Private Data follows the header",
	     c->offer.pd[at] == p[4 + word + at]);
	REACHED("private data");
}

void prove_control_decoding(void)
{
	size_t len = ANY(size_t);
	struct sddp_control c;
	enum iw_reason why;
	u16 code;
	u8 *p;

	GIVEN(len <= 1 << 16);
	p = any_bytes(len);
	why = sddp_control_decode(&c, p, len);
	MUST("SCTPDDP-13, SCTPDDP-16, MPA2-11: exactly the legal chunks are accepted",
	     why == (is_legal_control_chunk(p, len) ? IW_OK : IW_SCTP_CONTROL));
	if (why) {
		REACHED("an illegal chunk");
		return;
	}
	code = decode_big_endian(p + 2, 2);
	MUST("SCTPDDP-12: the DDP-SSN is in bytes 0 and 1", c.ssn == decode_big_endian(p, 2));
	MUST("SCTPDDP-13, MPA2-11: the Function Code is in bytes 2 and 3", c.kind == says[code]);
	MUST("MPA2-11: codes 5 to 7 with an IRD/ORD word are the enhanced form",
	     c.offer.enhanced == (code >= 5 && len >= 8));
	if (code == 4) {
		MUST("SCTPDDP-17: a Terminate has no Private Data", !c.offer.pd_len);
		REACHED("terminate");
		return;
	}
	if (c.offer.enhanced)
		MUST("MPA2-25: IRD and ORD are decoded from bytes 0-1 and 2-3 of the word",
		     c.offer.ird == (decode_big_endian(p + 4, 2) & 0x3fff) &&
		     c.offer.ord == (decode_big_endian(p + 6, 2) & 0x3fff));
	check_private_data(&c, p, len);
}

static struct sddp_control any_control(void)
{
	struct sddp_control c;

	GIVEN(c.kind >= SDDP_KIND_INITIATE && c.kind <= SDDP_KIND_TERMINATE);
	c.offer.enhanced = any_bool();
	GIVEN(c.offer.pd_len <= DDP_PD_MAX);
	return c;
}

static u16 get_function_code(const struct sddp_control *c)
{
	bool enhanced = c->offer.enhanced;

	if (c->kind == SDDP_KIND_TERMINATE)
		return 4;
	return (c->kind == SDDP_KIND_INITIATE ? 1 :
		c->kind == SDDP_KIND_ACCEPT ? 2 : 3) + (enhanced ? 4 : 0);
}

/* Assert that an encoded chunk has the layout of RFC 5043 5.2.3 and RFC 6581 7 */
static void check_layout(const struct sddp_control *c, const u8 *p, size_t len)
{
	bool data = c->kind != SDDP_KIND_TERMINATE;
	u32 word = data && c->offer.enhanced ? 4 : 0;
	size_t at = ANY(size_t);

	MUST("SCTPDDP-12: the DDP-SSN is in bytes 0 and 1", decode_big_endian(p, 2) == c->ssn);
	MUST("SCTPDDP-13, MPA2-11: the Function Code is in bytes 2 and 3",
	     decode_big_endian(p + 2, 2) == get_function_code(c));
	MUST("SCTPDDP-17, MPA2-16: the length includes the word and the Private Data",
	     len == 4 + word + (data ? c->offer.pd_len : 0));
	MUST("SCTPDDP-16, MPA2-15: the chunk has at most 516 bytes", len <= 516);
	if (word)
		MUST("MPA2-25: IRD and ORD are encoded in bytes 0-1 and 2-3 of the word",
		     (decode_big_endian(p + 4, 2) & 0x3fff) == c->offer.ird &&
		     (decode_big_endian(p + 6, 2) & 0x3fff) == c->offer.ord);
	GIVEN(data && at < c->offer.pd_len);
	MUST("SCTPDDP-14, MPA2-14: the Private Data follows the header",
	     p[4 + word + at] == c->offer.pd[at]);
	REACHED("private data");
}

/* The encoder writes nothing beyond the output buffer, whatever its size */
void prove_control_encoding(void)
{
	struct sddp_control c = any_control();
	size_t size = ANY(size_t), len;
	bool data = c.kind != SDDP_KIND_TERMINATE;
	u32 word = data && c.offer.enhanced ? 4 : 0;
	u8 *p;

	GIVEN(size <= 1 << 12);
	p = any_bytes(size);
	len = sddp_control_encode(p, size, &c);
	if (len) {
		MUST("SCTPDDP-12: the chunk fits into the buffer", len <= size);
		check_layout(&c, p, len);
		return;
	}
	MUST("SCTPDDP-16, MPA2-15: only a chunk that does not fit is refused",
	     size < 4 + word + (data ? c.offer.pd_len : 0) ||
	     (word && (c.offer.pd_len > 508 || c.offer.ird > 0x3fff ||
		       c.offer.ord > 0x3fff)));
	REACHED("refused");
}
