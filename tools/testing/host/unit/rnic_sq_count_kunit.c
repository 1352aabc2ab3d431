// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/rnic_sw/sq.c: which requests a completion counter counts, and when. */
#include <kunit/test.h>
#include <linux/slab.h>

#include "rnic_sq.h"

/* Attach @cntr to the operations @mask of the queue pair */
static void attach_counter(struct kunit *test, struct rnic_comp_cntr *cntr, u32 mask)
{
	struct ib_qp_attach_comp_cntr_attr attr = { .op_mask = mask };

	memset(cntr, 0, sizeof(*cntr));
	KUNIT_ASSERT_EQ(test, 0, rnic_qp_attach_comp_cntr(&stubs.qp.ib, &cntr->ib, &attr));
}

/*
 * Each request, even an unsignaled one, is counted once, before its completion is generated. A
 * flushed request is counted as an error.
 */
static void completed_requests_are_counted(struct kunit *test)
{
	static struct rnic_comp_cntr cntr;
	u32 n;

	for (n = 1; n < 100; n += 7) {
		open_sq_at_index(3);
		attach_counter(test, &cntr, IB_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE);
		stubs.cntr = &cntr;
		stubs.qp.sq.sig_all = n & 8;
		post_requests(n);
		KUNIT_EXPECT_EQ(test, n, send_all_requests());
		KUNIT_EXPECT_EQ(test, (u64)n, (u64)cntr.value[IB_COMP_CNTR_ENTRY_COMP].v);
		KUNIT_EXPECT_EQ(test, 0ull, (u64)cntr.value[IB_COMP_CNTR_ENTRY_ERR].v);
		post_requests(n + 1);
		rnic_sq_flush(&stubs.qp);
		KUNIT_EXPECT_EQ(test, (u64)n, (u64)cntr.value[IB_COMP_CNTR_ENTRY_COMP].v);
		KUNIT_EXPECT_EQ(test, n + 1ull, (u64)cntr.value[IB_COMP_CNTR_ENTRY_ERR].v);
		KUNIT_EXPECT_EQ(test, 0u, stubs.uncounted);
		kfree(stubs.qp.comp_cntrs);
	}
}

static struct kunit_case rnic_sq_count_cases[] = {
	KUNIT_CASE(completed_requests_are_counted),
	{}
};

static struct kunit_suite rnic_sq_count_suite = {
	.name = "rnic_sq_count",
	.test_cases = rnic_sq_count_cases,
};

kunit_test_suite(rnic_sq_count_suite);
