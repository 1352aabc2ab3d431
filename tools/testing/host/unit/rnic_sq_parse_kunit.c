// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/rnic_sw/sq_parse.c: parsing a WQE of a send queue. */
#include <kunit/test.h>

#include "../../../../drivers/rnic_sw/rnic.h"

static struct {
	struct rnic_qp		qp;
	struct rdmap_wr		wr;		/* work request parsed last */
	struct ddp_sge		sges[RDMAP_SGE_MAX];
	struct rnic_sw_sqe	e;
	struct rnic_sw_sge	sge;
} stubs;

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.wr.sge = stubs.sges;
	stubs.qp.sq.max_sge = 1;
	stubs.qp.rdmap.orq.size = 1;
	stubs.sge.lkey = 0x700;
	return 0;
}

/* Parse a Read of a kernel consumer with this number of SGEs */
static u32 parse_read(u8 opcode, u8 pieces)
{
	stubs.e.opcode = opcode;
	stubs.e.num_sge = pieces;
	return rnic_sq_parse_wqe(&stubs.qp, &stubs.e, &stubs.e, &stubs.wr);
}

/* A Read with Invalidate invalidates its sink */
static void read_with_inv_invalidates_sink(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (u32)IB_WC_SUCCESS, parse_read(RNIC_OP_READ_INV, 1));
	KUNIT_EXPECT_EQ(test, 0x700u, stubs.wr.inv);
	KUNIT_EXPECT_TRUE(test, stubs.wr.flags & RDMAP_WR_INVALIDATE);
}

/*
 * A Read with Invalidate without a sink is rejected: the STag to invalidate would
 * be that of the work request parsed before
 */
static void read_with_inv_needs_sink(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (u32)IB_WC_SUCCESS, parse_read(RNIC_SW_OP_READ, 1));
	KUNIT_EXPECT_EQ(test, (u32)IB_WC_LOC_QP_OP_ERR, parse_read(RNIC_OP_READ_INV, 0));
}

/* A Read of length 0 needs no sink */
static void empty_read_needs_no_sink(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (u32)IB_WC_SUCCESS, parse_read(RNIC_SW_OP_READ, 0));
	KUNIT_EXPECT_EQ(test, 0u, stubs.wr.buf.len);
}

static struct kunit_case rnic_sq_parse_cases[] = {
	KUNIT_CASE(read_with_inv_invalidates_sink),
	KUNIT_CASE(read_with_inv_needs_sink),
	KUNIT_CASE(empty_read_needs_no_sink),
	{}
};

static struct kunit_suite rnic_sq_parse_suite = {
	.name = "rnic_sq_parse",
	.init = test_init,
	.test_cases = rnic_sq_parse_cases,
};

kunit_test_suite(rnic_sq_parse_suite);
