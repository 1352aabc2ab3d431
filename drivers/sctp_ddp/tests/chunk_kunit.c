// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* KUnit tests of the encoding and decoding of DDP's DATA chunks. */
#include <kunit/test.h>

#include "../chunk.h"

#define SSN	0xfedc
#define IRD	3
#define ORD	0x1234

struct kind {
	u16		code;
	enum sddp_chunk_kind	kind;
	bool		enhanced;
};

/* All Function Codes: RFC 5043 5.2.3 (SCTPDDP-13), RFC 6581 7 (MPA2-11) */
static const struct kind kinds[] = {
	{ 1, SDDP_KIND_INITIATE },
	{ 2, SDDP_KIND_ACCEPT },
	{ 3, SDDP_KIND_REJECT },
	{ 4, SDDP_KIND_TERMINATE },
	{ 5, SDDP_KIND_INITIATE, true },
	{ 6, SDDP_KIND_ACCEPT, true },
	{ 7, SDDP_KIND_REJECT, true },
};

static const u16 lengths[] = { 0, 1, 3, 4, 5, 100, 507, 508, 509, 511, 512, 513 };

/* Buffers of the tests; static, because they are too big for the stack */
static struct sddp_control in, out;
static u8 octets[600];
static u8 again[600];

static u8 get_pattern_byte(size_t i)
{
	return i * 7 + 3;
}

static void fill_control(const struct kind *k, u16 pd_len)
{
	size_t i;

	memset(&in, 0, sizeof(in));
	in.ssn = SSN;
	in.kind = k->kind;
	in.offer.enhanced = k->enhanced;
	in.offer.ird = IRD;
	in.offer.ord = ORD;
	in.offer.rtr = DDP_RTR_P2P | DDP_RTR_WRITE;
	in.offer.pd_len = pd_len;
	for (i = 0; i < min_t(size_t, pd_len, sizeof(in.offer.pd)); i++)
		in.offer.pd[i] = get_pattern_byte(i);
}

/*
 * Encode a chunk byte by byte as the RFCs define, without using the code under test.
 * Return: the length of the chunk, bytes.
 */
static size_t encode_chunk_bytewise(const struct kind *k, u16 pd_len)
{
	static const u8 word[] = { 0x80, 0x03, 0x92, 0x34 };
	size_t i, n = 0;

	octets[n++] = 0xfe;
	octets[n++] = 0xdc;
	octets[n++] = k->code >> 8;
	octets[n++] = k->code;
	if (k->enhanced) {
		memcpy(octets + n, word, sizeof(word));
		n += sizeof(word);
	}
	for (i = 0; i < pd_len; i++)
		octets[n++] = get_pattern_byte(i);
	return n;
}

static bool is_pd_short_enough(const struct kind *k, u16 pd_len)
{
	return pd_len + (k->enhanced ? 4 : 0) <= 512;
}

static void expect_same_control(struct kunit *test, const struct kind *k, u16 pd_len)
{
	KUNIT_EXPECT_EQ(test, out.ssn, (u16)SSN);
	KUNIT_EXPECT_EQ(test, out.kind, k->kind);
	KUNIT_EXPECT_EQ(test, out.offer.enhanced, k->enhanced);
	KUNIT_EXPECT_EQ(test, out.offer.pd_len, pd_len);
	KUNIT_EXPECT_TRUE(test, !memcmp(out.offer.pd, in.offer.pd, pd_len));
	if (!k->enhanced)
		return;
	KUNIT_EXPECT_EQ(test, out.offer.ird, (u16)IRD);
	KUNIT_EXPECT_EQ(test, out.offer.ord, (u16)ORD);
	KUNIT_EXPECT_EQ(test, out.offer.rtr,
			(u8)(DDP_RTR_P2P | DDP_RTR_WRITE));
}

/*
 * Show that every kind of chunk is encoded and decoded as the RFCs define: RFC 5043
 * 5.2.1 (SCTPDDP-10), RFC 5043 5.2.3 (SCTPDDP-12, SCTPDDP-15), RFC 6581 7 (MPA2-13,
 * MPA2-14), RFC 6581 9 (MPA2-25). Show that more than 512 bytes of Private Data, the
 * IRD/ORD word included, are refused: RFC 5043 5.2.3 (SCTPDDP-16), RFC 6581 7 (MPA2-15).
 */
static void chunks_are_encoded_and_decoded(struct kunit *test)
{
	const struct kind *k;
	size_t n;
	u32 i;

	for (k = kinds; k < kinds + ARRAY_SIZE(kinds); k++) {
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			if (k->kind == SDDP_KIND_TERMINATE && lengths[i])
				continue;
			fill_control(k, lengths[i]);
			n = encode_chunk_bytewise(k, lengths[i]);
			if (!is_pd_short_enough(k, lengths[i])) {
				KUNIT_EXPECT_EQ(test, IW_SCTP_CONTROL,
						sddp_control_decode(&out, octets, n));
				KUNIT_EXPECT_EQ(test, (size_t)0,
						sddp_control_encode(again, sizeof(again), &in));
				continue;
			}
			KUNIT_EXPECT_EQ(test, IW_OK,
					sddp_control_decode(&out, octets, n));
			expect_same_control(test, k, lengths[i]);
			KUNIT_EXPECT_EQ(test, n,
					sddp_control_encode(again, sizeof(again), &in));
			KUNIT_EXPECT_TRUE(test, !memcmp(octets, again, n));
		}
	}
}

/*
 * Show that a chunk with a truncated Function Code is invalid: RFC 5043 5.2.3
 * (SCTPDDP-12). Show that an enhanced chunk with a truncated IRD/ORD word is invalid,
 * unless it is an Enhanced Reject: RFC 6581 7 (MPA2-13).
 */
static void truncated_chunks_are_refused(struct kunit *test)
{
	const struct kind *k;
	enum iw_reason want;
	size_t n, len;

	for (k = kinds; k < kinds + ARRAY_SIZE(kinds); k++) {
		len = encode_chunk_bytewise(k, 0);
		for (n = 0; n < len; n++) {
			want = IW_SCTP_CONTROL;
			/*
			 * an Enhanced Reject that is too short for the word is decoded
			 * as a Reject, because RFC 6581 7 does not say whether it has
			 * the word
			 */
			if (k->code == 7 && n >= 4)
				want = IW_OK;
			KUNIT_EXPECT_EQ_MSG(test, want,
					    sddp_control_decode(&out, octets, n),
					    "code %u cut to %zu", k->code, n);
			if (want == IW_OK)
				KUNIT_EXPECT_FALSE(test, out.offer.enhanced);
		}
	}
}

/* Show that Function Codes 1 to 7 are valid and all others are not: RFC 5043 5.2.3 (SCTPDDP-13) */
static void only_codes_1_to_7_are_valid(struct kunit *test)
{
	static u8 chunk[20];
	enum iw_reason got;
	u32 code;

	for (code = 0; code < 0x10000; code++) {
		chunk[2] = code >> 8;
		chunk[3] = code;
		got = sddp_control_decode(&out, chunk, sizeof(chunk));
		KUNIT_ASSERT_EQ(test, got == IW_OK, code >= 1 && code <= 7);
	}
}

/*
 * Show that a Terminate is encoded without Private Data, and that Private Data
 * in a received Terminate is ignored: RFC 5043 5.2.3 (SCTPDDP-17), RFC 6581 7
 * (MPA2-16).
 */
static void terminate_has_no_private_data(struct kunit *test)
{
	const struct kind *k = &kinds[3];
	size_t n;

	fill_control(k, 100);
	in.offer.enhanced = true;
	KUNIT_EXPECT_EQ(test, (size_t)4,
			sddp_control_encode(again, sizeof(again), &in));
	for (n = 0; n <= 513; n += 27) {
		encode_chunk_bytewise(k, n);
		KUNIT_EXPECT_EQ(test, IW_OK,
				sddp_control_decode(&out, octets, 4 + n));
		KUNIT_EXPECT_EQ(test, out.kind, SDDP_KIND_TERMINATE);
		KUNIT_EXPECT_EQ(test, out.offer.pd_len, (u16)0);
		KUNIT_EXPECT_FALSE(test, out.offer.enhanced);
	}
}

/* Show that the encoder never writes past the end of a buffer, for sizes from 0 to 31 bytes */
static void encoder_stays_within_buffer(struct kunit *test)
{
	const struct kind *k;
	size_t size, need, n;

	for (k = kinds; k < kinds + ARRAY_SIZE(kinds); k++) {
		fill_control(k, 10);
		need = sddp_control_encode(again, sizeof(again), &in);
		for (size = 0; size < 32; size++) {
			memset(again, 0xee, sizeof(again));
			n = sddp_control_encode(again, size, &in);
			KUNIT_EXPECT_EQ(test, n, size >= need ? need : 0);
			KUNIT_EXPECT_EQ(test, again[size], (u8)0xee);
		}
	}
}

/*
 * Show that the encoder refuses an IRD or ORD of more than 14 bits, which would
 * overwrite the flags of the IRD/ORD word: RFC 6581 9 (MPA2-25).
 */
static void too_large_ird_ord_is_refused(struct kunit *test)
{
	fill_control(&kinds[4], 0);
	in.offer.ird = 0x4000;
	KUNIT_EXPECT_EQ(test, (size_t)0,
			sddp_control_encode(again, sizeof(again), &in));
	in.offer.ird = 0x3fff;
	in.offer.ord = 0x8000;
	KUNIT_EXPECT_EQ(test, (size_t)0,
			sddp_control_encode(again, sizeof(again), &in));
	in.offer.ord = 0x3fff;
	KUNIT_EXPECT_EQ(test, (size_t)8,
			sddp_control_encode(again, sizeof(again), &in));
}

/*
 * Show that every chunk begins with its DDP-SSN, and that a segment follows
 * without padding: RFC 5043 5.2.1 (SCTPDDP-10), RFC 5043 5.2.2 (SCTPDDP-11).
 */
static void ssn_is_first_in_chunk(struct kunit *test)
{
	u8 chunk[3] = { 0xee, 0xee, 0xee };
	u16 got;

	sddp_ssn_encode(chunk, 0x1234);
	KUNIT_EXPECT_EQ(test, chunk[0], (u8)0x12);
	KUNIT_EXPECT_EQ(test, chunk[1], (u8)0x34);
	KUNIT_EXPECT_EQ(test, chunk[2], (u8)0xee);
	KUNIT_EXPECT_EQ(test, SDDP_SEGMENT, 2);
	KUNIT_EXPECT_TRUE(test, sddp_ssn_decode(&got, chunk, 2));
	KUNIT_EXPECT_EQ(test, got, (u16)0x1234);
	KUNIT_EXPECT_FALSE(test, sddp_ssn_decode(&got, chunk, 1));
	KUNIT_EXPECT_FALSE(test, sddp_ssn_decode(&got, chunk, 0));
}

/*
 * Show that the constants for the Adaptation Indication and the Payload Protocol
 * Identifiers have the values of RFC 5043 5.1 and 5.2. Tests with a raw peer show that
 * the driver sends and checks them.
 */
static void constants_match_rfc(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, SDDP_ADAPTATION, 1);
	KUNIT_EXPECT_EQ(test, SDDP_PPID_SEGMENT, 16);
	KUNIT_EXPECT_EQ(test, SDDP_PPID_CONTROL, 17);
}

static struct kunit_case chunk_cases[] = {
	KUNIT_CASE(chunks_are_encoded_and_decoded),
	KUNIT_CASE(truncated_chunks_are_refused),
	KUNIT_CASE(only_codes_1_to_7_are_valid),
	KUNIT_CASE(terminate_has_no_private_data),
	KUNIT_CASE(encoder_stays_within_buffer),
	KUNIT_CASE(too_large_ird_ord_is_refused),
	KUNIT_CASE(ssn_is_first_in_chunk),
	KUNIT_CASE(constants_match_rfc),
	{}
};

static struct kunit_suite chunk_suite = {
	.name = "sctp_ddp_chunk",
	.test_cases = chunk_cases,
};

kunit_test_suite(chunk_suite);
