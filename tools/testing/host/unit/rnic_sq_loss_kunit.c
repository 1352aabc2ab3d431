// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/sq.c: the status of requests when a queue pair that does not use
 * rdma_cm loses its peer.
 */
#include <kunit/test.h>
#include <linux/hrtimer.h>
#include <linux/slab.h>
#include "../../../../drivers/rnic_sw/db_moderation.h"
#include "../../../../drivers/rnic_sw/counters.h"
#include "rnic_sq.h"

/* Flush three requests, of which the first is done, of a QP that has ended because of @why */
static void flush_three_requests_after_qp_end(enum iw_reason why, bool rendezvous)
{
	open_sq_at_index(0);
	stubs.qp.rdv = rendezvous ? (void *)&stubs : NULL;
	post_requests(1);
	send_all_requests();
	post_requests(2);
	stubs.qp.why = why;
	rnic_sq_flush(&stubs.qp);
}

/*
 * If a QP that does not use rdma_cm has lost its peer, the oldest request completes with a retry
 * error. All other requests, and those posted later, are flushed.
 */
static void lost_peer_gives_retry_error_once(struct kunit *test)
{
	static const enum iw_reason lost[] = {
		IW_RETRY_EXCEEDED, IW_PEER_CLOSED, IW_PEER_RESET, IW_MPA_LOST, IW_UNREACHABLE,
		IW_TIMEOUT,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		flush_three_requests_after_qp_end(lost[i], true);
		post_requests(1);
		rnic_sq_flush(&stubs.qp);
		KUNIT_ASSERT_EQ(test, 4u, stubs.completed);
		KUNIT_EXPECT_EQ(test, (u32)IB_WC_SUCCESS, (u32)stubs.status[0]);
		KUNIT_EXPECT_EQ(test, (u32)IB_WC_RETRY_EXC_ERR, (u32)stubs.status[1]);
		KUNIT_EXPECT_EQ(test, (u32)IB_WC_WR_FLUSH_ERR, (u32)stubs.status[2]);
		KUNIT_EXPECT_EQ(test, (u32)IB_WC_WR_FLUSH_ERR, (u32)stubs.status[3]);
		/* the first error makes the driver flush the receives */
		KUNIT_EXPECT_EQ(test, 1u, stubs.flushes);
	}
}

/* With rdma_cm, or for another reason, no request gets a retry error */
static void other_ends_give_no_retry_error(struct kunit *test)
{
	flush_three_requests_after_qp_end(IW_PEER_RESET, false);
	KUNIT_EXPECT_EQ(test, 0u, stubs.flushes);
	KUNIT_EXPECT_EQ(test, (u32)IB_WC_WR_FLUSH_ERR, (u32)stubs.status[1]);
	flush_three_requests_after_qp_end(IW_LOCAL_ABORT, true);
	KUNIT_EXPECT_EQ(test, (u32)IB_WC_WR_FLUSH_ERR, (u32)stubs.status[1]);
}

static struct kunit_case sq_loss_cases[] = {
	KUNIT_CASE(lost_peer_gives_retry_error_once),
	KUNIT_CASE(other_ends_give_no_retry_error),
	{}
};

static struct kunit_suite sq_loss_suite = {
	.name = "rnic_sq_loss",
	.test_cases = sq_loss_cases,
};

kunit_test_suite(sq_loss_suite);
