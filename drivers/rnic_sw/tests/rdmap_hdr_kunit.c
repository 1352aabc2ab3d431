// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>

#include "../rdmap_hdr.h"

static const struct rdmap_rreq example = {
	.sink_stag = 0x01020304, .sink_to = 0x1112131415161718ULL,
	.len = 0x21222324, .src_stag = 0x31323334,
	.src_to = 0x4142434445464748ULL,
};

static const u8 example_bytes[RDMAP_RREQ_LEN] = {
	0x01, 0x02, 0x03, 0x04,
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
	0x21, 0x22, 0x23, 0x24,
	0x31, 0x32, 0x33, 0x34,
	0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
};

/* RFC 5040 4.4 (RDMAP-30): a Read Request is encoded as in figure 6. */
static void rreq_matches_figure(struct kunit *test)
{
	u8 p[RDMAP_RREQ_LEN + 1] = { 0 };

	p[RDMAP_RREQ_LEN] = 0xa5;
	rdmap_rreq_encode(p, &example);
	KUNIT_EXPECT_EQ(test, 0, memcmp(p, example_bytes, RDMAP_RREQ_LEN));
	KUNIT_EXPECT_EQ(test, 0xa5, (int)p[RDMAP_RREQ_LEN]);
}

/*
 * rdmap_rreq_decode() returns the fields from which a Read Request was encoded.
 */
static void rreq_decode_returns_encoded_fields(struct kunit *test)
{
	struct rdmap_rreq r;

	rdmap_rreq_decode(&r, example_bytes);
	KUNIT_EXPECT_EQ(test, example.sink_stag, r.sink_stag);
	KUNIT_EXPECT_EQ(test, example.sink_to, r.sink_to);
	KUNIT_EXPECT_EQ(test, example.len, r.len);
	KUNIT_EXPECT_EQ(test, example.src_stag, r.src_stag);
	KUNIT_EXPECT_EQ(test, example.src_to, r.src_to);
}

/*
 * RFC 5040 4.8 (RDMAP-49): if 2048 bytes of the response have been sent,
 * rdmap_rreq_advance() adds 2048 to both offsets and subtracts 2048 from the
 * size.
 */
static void rreq_advance_skips_sent_bytes(struct kunit *test)
{
	struct rdmap_rreq r = {
		.sink_stag = 1, .sink_to = 0x1000, .len = 5000,
		.src_stag = 2, .src_to = 0x20000,
	};

	rdmap_rreq_advance(&r, 2048);
	KUNIT_EXPECT_EQ(test, 1u, r.sink_stag);
	KUNIT_EXPECT_EQ(test, 0x1800ULL, (unsigned long long)r.sink_to);
	KUNIT_EXPECT_EQ(test, 2952u, r.len);
	KUNIT_EXPECT_EQ(test, 2u, r.src_stag);
	KUNIT_EXPECT_EQ(test, 0x20800ULL, (unsigned long long)r.src_to);
}

/*
 * RFC 5040 4.8 (RDMAP-48): if no byte of the response has been sent, the
 * Terminate quotes the request unchanged.
 */
static void rreq_advance_by_zero_changes_nothing(struct kunit *test)
{
	struct rdmap_rreq r = example;
	u8 p[RDMAP_RREQ_LEN];

	rdmap_rreq_advance(&r, 0);
	rdmap_rreq_encode(p, &r);
	KUNIT_EXPECT_EQ(test, 0, memcmp(p, example_bytes, RDMAP_RREQ_LEN));
}

/*
 * RFC 5040 4.1 (RDMAP-17, RDMAP-22, RDMAP-23): the control field consists of RV
 * 01b, two zero bits and the opcode, as in the examples of RFC 5040 appendix A.
 */
static void control_field_matches_rfc(struct kunit *test)
{
	u8 op;

	KUNIT_EXPECT_EQ(test, 0x40, (int)rdmap_make_ulp8(RDMAP_OP_WRITE));
	KUNIT_EXPECT_EQ(test, 0x43, (int)rdmap_make_ulp8(RDMAP_OP_SEND));
	KUNIT_EXPECT_EQ(test, 0x47, (int)rdmap_make_ulp8(RDMAP_OP_TERMINATE));
	for (op = 0; op < 16; op++)
		KUNIT_EXPECT_EQ(test, 0x40 + op, (int)rdmap_make_ulp8(op));
}

static struct kunit_case rdmap_hdr_cases[] = {
	KUNIT_CASE(rreq_matches_figure),
	KUNIT_CASE(rreq_decode_returns_encoded_fields),
	KUNIT_CASE(rreq_advance_skips_sent_bytes),
	KUNIT_CASE(rreq_advance_by_zero_changes_nothing),
	KUNIT_CASE(control_field_matches_rfc),
	{}
};

static struct kunit_suite rdmap_hdr_suite = {
	.name = "rnic_sw_rdmap_hdr",
	.test_cases = rdmap_hdr_cases,
};

kunit_test_suite(rdmap_hdr_suite);
