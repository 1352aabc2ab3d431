// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/rdv.c: how long requests wait for the stream, and for a peer that
 * has disappeared
 */
#include "rnic_rdv.h"

#define LIMIT	2098	/* ms: 4 * 4.096 us * 2^14 * 8, see make_rts_attr() */

/* Before the stream has started ----------------------------------------------------------- */

/* The time limit runs only in RTS, and only while a request is posted */
static void limit_runs_only_in_rts_with_posted_request(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(1));
	stubs.ring[1].prod = 1;
	advance_ms(60000);
	KUNIT_EXPECT_EQ(test, IW_OK, stubs.failed[1]);
	stubs.ring[1].prod = 0;
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(1, 1));
	advance_ms(60000);
	KUNIT_EXPECT_EQ(test, IW_OK, stubs.failed[1]);
	stubs.ring[1].prod = 1;
	advance_ms(2000);
	KUNIT_EXPECT_EQ(test, IW_OK, stubs.failed[1]);
	advance_ms(300);
	KUNIT_EXPECT_EQ(test, IW_RETRY_EXCEEDED, stubs.failed[1]);
	end_all_and_expect_released(test);
}

/* The limit also applies while an attempt is in progress */
static void limit_ends_connect_attempt(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(0, 1));
	stubs.ring[0].prod = 1;
	advance_ms(2400);
	KUNIT_EXPECT_EQ(test, 1, stubs.sessions);
	KUNIT_EXPECT_EQ(test, IW_RETRY_EXCEEDED, stubs.failed[0]);
	stop_and_try_defer_flush(0);
	KUNIT_EXPECT_TRUE(test, get_last_session()->stopped);
	end_all_and_expect_released(test);
}

/* After the stream has started, the lower layer's limits apply */
static void connect_limit_ends_when_stream_starts(struct kunit *test)
{
	const struct rdv_msg m = make_peer_msg(0, 1);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(0, 1));
	stubs.ring[0].prod = 1;
	advance_ms(1000);
	deliver_reply(get_last_session(), &m);
	advance_ms(100000);
	KUNIT_EXPECT_EQ(test, IW_OK, stubs.failed[0]);
	end_all_and_expect_released(test);
}

/* After the peer has left -------------------------------------------------------------------- */

/* Connect stubs.qp[0], and let its stream end because of @why */
static void connect_and_lose_peer(struct kunit *test, enum iw_reason why)
{
	const struct rdv_msg m = make_peer_msg(0, 1);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(0, 1));
	advance_ms(0);
	deliver_reply(get_last_session(), &m);
	stubs.qp[0].why = why;
	end_session(get_last_session(), why);
}

/*
 * Requests that are posted when the peer disappears fail after the limit, and receives stay posted
 * until then
 */
static void outstanding_requests_fail_after_limit(struct kunit *test)
{
	connect_and_lose_peer(test, IW_PEER_CLOSED);
	stubs.ring[0].prod = 2;
	KUNIT_EXPECT_TRUE(test, stop_and_try_defer_flush(0));
	advance_ms(LIMIT - 100);
	KUNIT_EXPECT_EQ(test, 0, stubs.flushes);
	KUNIT_EXPECT_EQ(test, IB_QPS_RTS, query_qp(0).qp_state);
	/* a post does not extend the limit */
	stubs.ring[0].prod = 3;
	KUNIT_EXPECT_TRUE(test, stop_and_try_defer_flush(0));
	advance_ms(300);
	KUNIT_EXPECT_EQ(test, 1, stubs.flushes);
	KUNIT_EXPECT_FALSE(test, stop_and_try_defer_flush(0));
	end_all_and_expect_released(test);
}

/* The limit of a request that is posted later begins with its post; until then no work is queued */
static void limit_begins_with_later_post(struct kunit *test)
{
	connect_and_lose_peer(test, IW_PEER_RESET);
	KUNIT_EXPECT_TRUE(test, stop_and_try_defer_flush(0));
	advance_ms(60000);
	KUNIT_EXPECT_FALSE(test, stubs.work[0].pending);
	KUNIT_EXPECT_EQ(test, 0, stubs.flushes);
	/* the queue is marked, so the post schedules err_work */
	KUNIT_EXPECT_TRUE(test, stubs.qp[0].sq.ended);
	stubs.ring[0].prod = 1;
	KUNIT_EXPECT_TRUE(test, stop_and_try_defer_flush(0));
	advance_ms(LIMIT - 100);
	KUNIT_EXPECT_EQ(test, 0, stubs.flushes);
	advance_ms(300);
	KUNIT_EXPECT_EQ(test, 1, stubs.flushes);
	KUNIT_EXPECT_FALSE(test, stop_and_try_defer_flush(0));
	end_all_and_expect_released(test);
}

/* The time that requests waited for the stream does not count if the peer disappears later */
static void earlier_wait_does_not_count(struct kunit *test)
{
	const struct rdv_msg m = make_peer_msg(0, 1);

	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(0, 1));
	stubs.ring[0].prod = 1;
	advance_ms(500);
	deliver_reply(get_last_session(), &m);
	stubs.qp[0].sq.tail = 1;
	advance_ms(60000);
	stubs.ring[0].prod = 2;
	stubs.qp[0].why = IW_PEER_CLOSED;
	end_session(get_last_session(), IW_PEER_CLOSED);
	KUNIT_EXPECT_TRUE(test, stop_and_try_defer_flush(0));
	advance_ms(LIMIT - 100);
	KUNIT_EXPECT_EQ(test, 0, stubs.flushes);
	advance_ms(300);
	KUNIT_EXPECT_EQ(test, 1, stubs.flushes);
	KUNIT_EXPECT_FALSE(test, stop_and_try_defer_flush(0));
	end_all_and_expect_released(test);
}

/* The error state and the destruction of the QP end the wait */
static void error_state_ends_wait(struct kunit *test)
{
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };

	connect_and_lose_peer(test, IW_MPA_LOST);
	stubs.ring[0].prod = 1;
	KUNIT_EXPECT_TRUE(test, stop_and_try_defer_flush(0));
	KUNIT_ASSERT_EQ(test, 0, rnic_modify_qp(&stubs.qp[0].ib, &error, IB_QP_STATE, NULL));
	KUNIT_EXPECT_EQ(test, 1, stubs.flushes);
	KUNIT_EXPECT_FALSE(test, stop_and_try_defer_flush(0));
	end_all_and_expect_released(test);
}

static void destruction_ends_wait(struct kunit *test)
{
	connect_and_lose_peer(test, IW_MPA_LOST);
	stubs.ring[0].prod = 1;
	KUNIT_EXPECT_TRUE(test, stop_and_try_defer_flush(0));
	stubs.qp[0].discarding = true;
	rnic_rdv_stop(&stubs.qp[0]);
	KUNIT_EXPECT_FALSE(test, stubs.work[0].pending);
	/* err_work may still run at this time, and must not defer the flush */
	KUNIT_EXPECT_FALSE(test, stop_and_try_defer_flush(0));
	KUNIT_EXPECT_FALSE(test, stubs.work[0].pending);
	end_all_and_expect_released(test);
}

/* If a Terminate of the peer has ended the stream, the requests fail at once, without a limit */
static void terminated_stream_is_flushed_at_once(struct kunit *test)
{
	connect_and_lose_peer(test, IW_PEER_TERMINATE);
	stubs.ring[0].prod = 1;
	KUNIT_EXPECT_FALSE(test, stop_and_try_defer_flush(0));
	end_all_and_expect_released(test);
}

/* If the program has set no limit, requests fail as soon as the peer has disappeared */
static void requests_without_limit_fail_at_once(struct kunit *test)
{
	connect_and_lose_peer(test, IW_PEER_CLOSED);
	stubs.qp[0].rdv->timeout = 0;
	stubs.ring[0].prod = 1;
	KUNIT_EXPECT_FALSE(test, stop_and_try_defer_flush(0));
	end_all_and_expect_released(test);
}

/* Requests that have waited for the stream until the limit do not wait again */
static void limit_is_not_applied_twice(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, move_to_rtr(0));
	KUNIT_ASSERT_EQ(test, 0, move_to_rts(0, 1));
	stubs.ring[0].prod = 1;
	advance_ms(LIMIT + 300);
	KUNIT_ASSERT_EQ(test, IW_RETRY_EXCEEDED, stubs.failed[0]);
	stubs.qp[0].why = IW_RETRY_EXCEEDED;
	KUNIT_EXPECT_FALSE(test, stop_and_try_defer_flush(0));
	end_all_and_expect_released(test);
}

static struct kunit_case rdv_loss_cases[] = {
	KUNIT_CASE(limit_runs_only_in_rts_with_posted_request),
	KUNIT_CASE(limit_ends_connect_attempt),
	KUNIT_CASE(connect_limit_ends_when_stream_starts),
	KUNIT_CASE(outstanding_requests_fail_after_limit),
	KUNIT_CASE(limit_begins_with_later_post),
	KUNIT_CASE(earlier_wait_does_not_count),
	KUNIT_CASE(error_state_ends_wait),
	KUNIT_CASE(destruction_ends_wait),
	KUNIT_CASE(terminated_stream_is_flushed_at_once),
	KUNIT_CASE(requests_without_limit_fail_at_once),
	KUNIT_CASE(limit_is_not_applied_twice),
	{}
};

static struct kunit_suite rdv_loss_suite = {
	.name = "rnic_rdv_loss",
	.init = test_init,
	.test_cases = rdv_loss_cases,
};

kunit_test_suite(rdv_loss_suite);
