// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>

#include "../rdmap_term.h"

/*
 * First three bytes of the Terminate that is expected for each reason if all
 * headers are known. Written by hand from RFC 5040 figures 8 to 10, RFC 5041
 * 7.2, RFC 5044 8 and RFC 6581 8 (RDMAP-37 to RDMAP-40, RDMAP-42 to RDMAP-44,
 * RDMAP-46, RDMAP-50, RDMAP-51, RDMAP-53 to RDMAP-55, MPA2-23, MPA2-24).
 */
static const u8 golden[IW_REASON_NR][3] = {
	[IW_DDP_CATASTROPHIC]	= { 0x10, 0x00, 0x00 },
	[IW_DDP_SHORT]		= { 0x10, 0x00, 0x00 },
	[IW_DDP_T_STAG]		= { 0x11, 0x00, 0xc0 },
	[IW_DDP_T_BOUNDS]	= { 0x11, 0x01, 0xc0 },
	[IW_DDP_T_ASSOC]	= { 0x11, 0x02, 0xc0 },
	[IW_DDP_T_WRAP]		= { 0x11, 0x03, 0xc0 },
	[IW_DDP_T_VERSION]	= { 0x11, 0x04, 0xc0 },
	[IW_DDP_U_QN]		= { 0x12, 0x01, 0xc0 },
	[IW_DDP_U_NO_BUFFER]	= { 0x12, 0x02, 0xc0 },
	[IW_DDP_U_MSN_RANGE]	= { 0x12, 0x03, 0xc0 },
	[IW_DDP_U_MO]		= { 0x12, 0x04, 0xc0 },
	[IW_DDP_U_TOO_LONG]	= { 0x12, 0x05, 0xc0 },
	[IW_DDP_U_VERSION]	= { 0x12, 0x06, 0xc0 },
	[IW_MPA_LOST]		= { 0x20, 0x01, 0x00 },
	[IW_MPA_CRC]		= { 0x20, 0x02, 0x00 },
	[IW_MPA_MARKER]		= { 0x20, 0x03, 0x00 },
	[IW_MPA_STARTUP]	= { 0x20, 0x04, 0x00 },
	[IW_MPA_LOCAL]		= { 0x20, 0x05, 0x00 },
	[IW_MPA_IRD]		= { 0x20, 0x06, 0x00 },
	[IW_MPA_RTR]		= { 0x20, 0x07, 0x00 },
	[IW_RDMAP_CATASTROPHIC]	= { 0x00, 0x00, 0x00 },
	[IW_RDMAP_P_STAG]	= { 0x01, 0x00, 0xe0 },
	[IW_RDMAP_P_BOUNDS]	= { 0x01, 0x01, 0xe0 },
	[IW_RDMAP_P_ACCESS]	= { 0x01, 0x02, 0xe0 },
	[IW_RDMAP_P_ASSOC]	= { 0x01, 0x03, 0xe0 },
	[IW_RDMAP_P_WRAP]	= { 0x01, 0x04, 0xe0 },
	[IW_RDMAP_P_INVALIDATE]	= { 0x01, 0x09, 0xc0 },
	[IW_RDMAP_P_UNSPEC]	= { 0x01, 0xff, 0xe0 },
	[IW_RDMAP_VERSION]	= { 0x02, 0x05, 0xc0 },
	[IW_RDMAP_OPCODE]	= { 0x02, 0x06, 0xc0 },
	[IW_RDMAP_STREAM]	= { 0x02, 0x07, 0xc0 },
	[IW_RDMAP_GLOBAL]	= { 0x02, 0x08, 0xc0 },
	[IW_RDMAP_INVALIDATE]	= { 0x02, 0x09, 0xc0 },
	[IW_RDMAP_UNSPEC]	= { 0x02, 0xff, 0xc0 },
};

static bool has_terminate(enum iw_reason why)
{
	return golden[why][0] || why == IW_RDMAP_CATASTROPHIC;
}

/*
 * Make a fault with a DDP header of @ddp_len bytes and an RDMAP header of
 * @rdma_len bytes, in which no two bytes are equal
 */
static struct iw_failure make_fault(enum iw_reason why, u8 ddp_len, u8 rdma_len)
{
	struct iw_failure f = {
		.why = why, .seg_len = 0x1234, .ddp_len = ddp_len,
		.rdma_len = rdma_len,
	};
	u8 i;

	for (i = 0; i < ddp_len; i++)
		f.ddp[i] = i + (ddp_len == 14 ? 0xc1 : 0x41);
	for (i = 0; i < rdma_len; i++)
		f.rdma[i] = 0x80 + i;
	return f;
}

/*
 * Build the message that is expected for @f in @out, without
 * rdmap_term_build(). Return: the length of the message in bytes
 */
static size_t build_expected_terminate(u8 *out, const struct iw_failure *f)
{
	u8 hdrct = golden[f->why][2];
	size_t n = 4;

	if (!f->ddp_len)
		hdrct &= 0x3f;
	if (!f->rdma_len)
		hdrct &= 0xdf;
	memcpy(out, golden[f->why], 2);
	out[2] = hdrct;
	out[3] = 0;
	if (hdrct & 0xc0) {
		out[n++] = 0x12;
		out[n++] = 0x34;
		memcpy(out + n, f->ddp, f->ddp_len);
		n += f->ddp_len;
	}
	if (hdrct & 0x20) {
		memcpy(out + n, f->rdma, 28);
		n += 28;
	}
	return n;
}

static void expect_built_terminate(struct kunit *test, enum iw_reason why, u8 ddp_len,
				   u8 rdma_len)
{
	struct iw_failure f = make_fault(why, ddp_len, rdma_len);
	u8 out[RDMAP_TERM_BUILD_MAX + 1], want[RDMAP_TERM_BUILD_MAX];
	size_t n = build_expected_terminate(want, &f);

	memset(out, 0xa5, sizeof(out));
	KUNIT_ASSERT_EQ_MSG(test, n, rdmap_term_build(out, &f), "%s",
			    iw_reason_get_name(why));
	KUNIT_EXPECT_EQ_MSG(test, 0, memcmp(out, want, n), "%s",
			    iw_reason_get_name(why));
	KUNIT_EXPECT_EQ(test, 0xa5, (int)out[n]);
}

/*
 * rdmap_term_build() builds the expected Terminate for each reason, whichever
 * headers are known.
 */
static void terminate_matches_golden_bytes(struct kunit *test)
{
	int why;

	for (why = 0; why < IW_REASON_NR; why++) {
		if (!has_terminate(why))
			continue;
		expect_built_terminate(test, why, 14, 0);
		expect_built_terminate(test, why, 18, 0);
		expect_built_terminate(test, why, 18, 28);
		expect_built_terminate(test, why, 0, 28);
		expect_built_terminate(test, why, 0, 0);
	}
}

/*
 * rdmap_term_build() builds no Terminate for a local reason. Every other reason
 * has an entry in golden[].
 */
static void no_terminate_is_built_for_local_reason(struct kunit *test)
{
	u8 out[RDMAP_TERM_BUILD_MAX];
	struct iw_failure f;
	int why;

	for (why = 0; why < IW_REASON_NR; why++) {
		KUNIT_EXPECT_EQ_MSG(test, has_terminate(why),
				    iw_reason_get_row(why)->layer != IW_NOT_ON_WIRE,
				    "%s: golden[] and the table of reasons must agree",
				    iw_reason_get_name(why));
		if (has_terminate(why))
			continue;
		f = make_fault(why, 18, 28);
		KUNIT_EXPECT_EQ(test, (size_t)0, rdmap_term_build(out, &f));
	}
}

/*
 * RFC 5040 4.8 (RDMAP-37): for error 1/2/05 layer and error type are
 * packed into the first byte of Terminate Control, and the error code is the
 * second byte.
 */
static void terminate_control_is_packed(struct kunit *test)
{
	static const u8 want[4] = { 0x12, 0x05, 0xc0, 0x00 };
	struct iw_failure f = make_fault(IW_DDP_U_TOO_LONG, 18, 0);
	u8 out[RDMAP_TERM_BUILD_MAX];

	KUNIT_EXPECT_EQ(test, (size_t)24, rdmap_term_build(out, &f));
	KUNIT_EXPECT_EQ(test, 0, memcmp(out, want, 4));
}

static void expect_parsed_terminate(struct kunit *test, const struct iw_failure *f,
				    const u8 *p, size_t len)
{
	struct rdmap_term t;

	KUNIT_ASSERT_EQ(test, IW_OK, rdmap_term_parse(&t, p, len));
	KUNIT_EXPECT_EQ(test, p[0], (u8)(t.layer << 4 | t.type));
	KUNIT_EXPECT_EQ(test, p[1], t.code);
	KUNIT_EXPECT_EQ(test, (u8)(p[2] & 0xe0), t.quote);
	KUNIT_EXPECT_EQ(test, t.quote & 0x80 ? 0x1234 : 0, (int)t.seg_len);
	KUNIT_EXPECT_EQ(test, t.quote & 0x40 ? f->ddp_len : 0, (int)t.ddp_len);
	KUNIT_EXPECT_EQ(test, t.quote & 0x20 ? 28 : 0, (int)t.rdma_len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(t.ddp, f->ddp, t.ddp_len));
	KUNIT_EXPECT_EQ(test, 0, memcmp(t.rdma, f->rdma, t.rdma_len));
}

/*
 * Check that each truncated message is refused, and that the error code is
 * parsed if the message has at least 4 bytes; RFC 5040 5.4 (RDMAP-110)
 */
static void expect_truncations_refused(struct kunit *test, const u8 *p, size_t len)
{
	struct rdmap_term t;
	size_t n;

	for (n = 0; n < len; n++) {
		/*
		 * the message ends at the end of the buffer, so KASAN detects a
		 * read beyond the message
		 */
		u8 *cut = kunit_kzalloc(test, n + 1, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, cut);
		memcpy(cut + 1, p, n);
		KUNIT_EXPECT_EQ(test, IW_RDMAP_UNSPEC,
				rdmap_term_parse(&t, cut + 1, n));
		if (n >= 4)
			KUNIT_EXPECT_EQ(test, p[1], t.code);
	}
}

/*
 * RFC 5040 4.8 (RDMAP-42 to RDMAP-44, RDMAP-46): rdmap_term_parse() returns the
 * fields from which rdmap_term_build() has built a message.
 */
static void terminate_parse_returns_built_fields(struct kunit *test)
{
	static const u8 ddp_lens[] = { 0, 14, 18 };
	u8 out[RDMAP_TERM_BUILD_MAX];
	struct iw_failure f;
	size_t n, i;
	int why;

	for (why = IW_OK + 1; why < IW_REASON_NR; why++) {
		if (!has_terminate(why))
			continue;
		for (i = 0; i < 6; i++) {
			f = make_fault(why, ddp_lens[i / 2], i % 2 ? 28 : 0);
			n = rdmap_term_build(out, &f);
			expect_parsed_terminate(test, &f, out, n);
			expect_truncations_refused(test, out, n);
		}
	}
}

/*
 * RFC 5040 4.8, 7.1 (1) (RDMAP-41): rdmap_term_parse() ignores reserved
 * bits, and also zeros that a peer sends in place of headers that it does not
 * quote.
 */
static void reserved_bits_and_extra_zeros_are_ignored(struct kunit *test)
{
	struct iw_failure f = make_fault(IW_DDP_T_STAG, 14, 0);
	u8 p[64] = { 0 };
	struct rdmap_term t;
	size_t n = rdmap_term_build(p, &f);

	p[2] |= 0x1f;
	p[3] = 0xff;
	expect_parsed_terminate(test, &f, p, n);
	expect_parsed_terminate(test, &f, p, sizeof(p));

	memset(p, 0, sizeof(p));
	p[0] = 0x20;
	p[1] = 0x02;
	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_term_parse(&t, p, sizeof(p)));
	KUNIT_EXPECT_EQ(test, 2, (int)t.layer);
	KUNIT_EXPECT_EQ(test, 0, (int)t.quote);
}

/*
 * RFC 5040 4.8 (RDMAP-43): a message with the D bit but without the M bit is
 * parsed correctly. DDP Segment Length precedes the quoted DDP header even
 * then.
 */
static void header_without_m_bit_is_parsed(struct kunit *test)
{
	struct iw_failure f = make_fault(IW_DDP_T_STAG, 14, 0);
	u8 p[RDMAP_TERM_BUILD_MAX];
	struct rdmap_term t;
	size_t n = rdmap_term_build(p, &f);

	p[2] = IW_QUOTE_D;
	KUNIT_ASSERT_EQ(test, IW_OK, rdmap_term_parse(&t, p, n));
	KUNIT_EXPECT_EQ(test, IW_QUOTE_D, (int)t.quote);
	KUNIT_EXPECT_EQ(test, 14, (int)t.ddp_len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(t.ddp, f.ddp, 14));
	expect_truncations_refused(test, p, n);
}

static struct kunit_case rdmap_term_cases[] = {
	KUNIT_CASE(terminate_matches_golden_bytes),
	KUNIT_CASE(no_terminate_is_built_for_local_reason),
	KUNIT_CASE(terminate_control_is_packed),
	KUNIT_CASE(terminate_parse_returns_built_fields),
	KUNIT_CASE(reserved_bits_and_extra_zeros_are_ignored),
	KUNIT_CASE(header_without_m_bit_is_parsed),
	{}
};

static struct kunit_suite rdmap_term_suite = {
	.name = "rnic_sw_rdmap_term",
	.test_cases = rdmap_term_cases,
};

kunit_test_suite(rdmap_term_suite);
