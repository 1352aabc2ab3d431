// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>

#include "../rdmap_op.h"

#define ANY_QN	0xffffffffu

/*
 * Expected properties of each opcode, written by hand from RFC 5040 figure 4
 * and RFC 7306 figures 1 and 2
 */
static const struct {
	bool	valid;
	bool	tagged;
	u32	qn;
	bool	inv;
	bool	se;
} figure4[16] = {
	[0x0] = { true, true, ANY_QN },
	[0x1] = { true, false, 1 },
	[0x2] = { true, true, ANY_QN },
	[0x3] = { true, false, 0 },
	[0x4] = { true, false, 0, true, false },
	[0x5] = { true, false, 0, false, true },
	[0x6] = { true, false, 0, true, true },
	[0x7] = { true, false, 2 },
	[0x8] = { true, false, 0 },
	[0x9] = { true, false, 0, false, true },
	[0xa] = { true, false, 1 },
	[0xb] = { true, false, 3 },
};

/*
 * Set @h to combination number @x of opcode, reserved bits, RV, T bit, L bit
 * and QN
 */
static void set_hdr_combination(u32 x, struct ddp_hdr *h)
{
	static const u32 qns[] = { 0, 1, 2, 3, 4, 256, 0x10000, 0xfffffffe };

	*h = (struct ddp_hdr){ .ulp8 = x & 0xff, .tagged = x >> 8 & 1 };
	h->last = x >> 9 & 1;
	h->qn = qns[x >> 10 & 7];
}

#define ALL_SPELLINGS	0x2000u

static enum iw_reason compute_expected_reason(const struct ddp_hdr *h)
{
	u8 op = h->ulp8 & 0xf;

	if (h->ulp8 >> 6 != 1)
		return IW_RDMAP_VERSION;
	if (!figure4[op].valid || figure4[op].tagged != h->tagged)
		return IW_RDMAP_OPCODE;
	if (!h->tagged && figure4[op].qn != h->qn)
		return IW_RDMAP_OPCODE;
	return IW_OK;
}

/*
 * rdmap_op_check() accepts exactly the valid combinations of opcode, T bit, QN
 * and RV, whatever the reserved bits are. RFC 5040 4.1 (RDMAP-17, RDMAP-19,
 * RDMAP-20, RDMAP-22, RDMAP-24, RDMAP-27), 7.2 (RDMAP-158, RDMAP-159,
 * RDMAP-163, RDMAP-164); RFC 7306 4.1, 8.2, 10 (EXT-5, EXT-7, EXT-88, EXT-89,
 * EXT-93)
 */
static void only_valid_headers_are_accepted(struct kunit *test)
{
	const struct rdmap_op_row *row;
	struct ddp_hdr h;
	u32 x;

	for (x = 0; x < ALL_SPELLINGS; x++) {
		row = NULL;
		set_hdr_combination(x, &h);
		KUNIT_ASSERT_EQ_MSG(test, compute_expected_reason(&h),
				    rdmap_op_check(&h, &row), "x=%#x", x);
		KUNIT_ASSERT_EQ(test, compute_expected_reason(&h) == IW_OK, !!row);
	}
}

static const struct rdmap_op_row *find_row(struct kunit *test, u8 op)
{
	const struct rdmap_op_row *row = NULL;
	struct ddp_hdr h = {
		.ulp8 = 0x40 | op, .tagged = figure4[op].tagged,
		.qn = figure4[op].qn,
	};

	KUNIT_ASSERT_EQ(test, IW_OK, rdmap_op_check(&h, &row));
	KUNIT_ASSERT_NOT_NULL(test, row);
	return row;
}

/*
 * The table row of each opcode must have the properties that the figures in the RFCs show.
 * RFC 5040 4.1, 5.3 (RDMAP-26, RDMAP-95)
 */
static void rows_match_figures(struct kunit *test)
{
	const struct rdmap_op_row *row;
	u8 op;

	for (op = 0; op < 16; op++) {
		if (!figure4[op].valid)
			continue;
		row = find_row(test, op);
		KUNIT_EXPECT_EQ(test, (int)op, (int)row->opcode);
		KUNIT_EXPECT_TRUE(test, row->supported);
		KUNIT_EXPECT_EQ(test, figure4[op].tagged, row->tagged);
		KUNIT_EXPECT_EQ(test, figure4[op].inv, row->invalidates);
		KUNIT_EXPECT_EQ(test, figure4[op].se, row->solicited);
		KUNIT_EXPECT_TRUE(test, row->name && *row->name);
	}
}

/*
 * Each row has the header length of the RFC and the right that the opcode
 * needs. RFC 5040 4.2 (RDMAP-28); RFC 7306 5.2.1, 5.2.2 (EXT-34, EXT-49)
 */
static void rows_have_header_len_and_rights(struct kunit *test)
{
	u8 op;

	KUNIT_EXPECT_EQ(test, 28, (int)find_row(test, 0x1)->hdr_len);
	KUNIT_EXPECT_EQ(test, 4, (int)find_row(test, 0x7)->hdr_len);
	KUNIT_EXPECT_EQ(test, 0, (int)find_row(test, 0x0)->hdr_len);
	KUNIT_EXPECT_EQ(test, 0, (int)find_row(test, 0x2)->hdr_len);
	for (op = 0x3; op <= 0x6; op++)
		KUNIT_EXPECT_EQ(test, 0, (int)find_row(test, op)->hdr_len);
	KUNIT_EXPECT_EQ(test, DDP_REMOTE_WRITE, (int)find_row(test, 0)->rights);
	KUNIT_EXPECT_EQ(test, DDP_REMOTE_READ, (int)find_row(test, 1)->rights);
	KUNIT_EXPECT_EQ(test, DDP_LOCAL_WRITE, (int)find_row(test, 2)->rights);
	KUNIT_EXPECT_EQ(test, 0, (int)find_row(test, 3)->rights);
	KUNIT_EXPECT_EQ(test, 8, (int)find_row(test, 0x8)->hdr_len);
	KUNIT_EXPECT_EQ(test, 8, (int)find_row(test, 0x9)->hdr_len);
	KUNIT_EXPECT_EQ(test, 52, (int)find_row(test, 0xa)->hdr_len);
	KUNIT_EXPECT_EQ(test, 12, (int)find_row(test, 0xb)->hdr_len);
	KUNIT_EXPECT_EQ(test, DDP_REMOTE_ATOMIC,
			(int)find_row(test, 0xa)->rights);
}

static struct kunit_case rdmap_op_cases[] = {
	KUNIT_CASE(only_valid_headers_are_accepted),
	KUNIT_CASE(rows_match_figures),
	KUNIT_CASE(rows_have_header_len_and_rights),
	{}
};

static struct kunit_suite rdmap_op_suite = {
	.name = "rnic_sw_rdmap_op",
	.test_cases = rdmap_op_cases,
};

kunit_test_suite(rdmap_op_suite);
