// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/sq.c: the send queue between a program's ring,
 * RDMAP and a CQ.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "rnic_sq.h"

/* Cases ------------------------------------------------------------------------ */

/*
 * Requests posted before a graceful close are sent; requests posted after it
 * are flushed
 */
static void requests_after_close_are_flushed(struct kunit *test)
{
	u32 used;

	for (used = 0; used < 3; used++) {
		open_sq_at_index(used);
		post_requests(3);
		rnic_sq_close(&stubs.qp);
		post_requests(2);
		KUNIT_EXPECT_EQ(test, 3u, send_all_requests());
		KUNIT_EXPECT_EQ(test, 3u, stubs.completed);
		KUNIT_EXPECT_EQ(test, 0u, (u32)stubs.last.status);
		post_requests(1);
		KUNIT_EXPECT_EQ(test, 0u, send_all_requests());
		rnic_sq_flush(&stubs.qp);
		KUNIT_EXPECT_EQ(test, 6u, stubs.completed);
		KUNIT_EXPECT_EQ(test, (u32)IB_WC_WR_FLUSH_ERR, (u32)stubs.last.status);
		KUNIT_EXPECT_EQ(test, used + 5u, (u32)stubs.last.wr_id);
		KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	}
}

/* If nothing was posted before the close, nothing is sent */
static void close_of_idle_queue_sends_nothing(struct kunit *test)
{
	open_sq_at_index(1);
	rnic_sq_close(&stubs.qp);
	post_requests(1);
	KUNIT_EXPECT_EQ(test, 0u, send_all_requests());
	KUNIT_EXPECT_EQ(test, 0u, stubs.completed);
}

/*
 * After a graceful close the send queue reads no new requests, so an invalid
 * producer index does not fail the stream
 */
static void bad_index_after_close_is_not_read(struct kunit *test)
{
	open_sq_at_index(1);
	post_requests(2);
	KUNIT_EXPECT_EQ(test, 2u, send_all_requests());
	stubs.hdr.prod += SLOTS + 1;
	rnic_sq_close(&stubs.qp);
	KUNIT_EXPECT_EQ(test, 0u, send_all_requests());
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
}

/*
 * If the queue is not closed, an invalid producer index fails the stream, but only after the
 * requests that were read already have been sent. The stream then has no cached MR reference.
 */
static void bad_index_fails_stream(struct kunit *test)
{
	struct ddp_region region = {};
	struct rdmap_wr wr;

	open_sq_at_index(1);
	post_requests(3);
	KUNIT_EXPECT_TRUE(test, rdmap_sq_pull_wr(&stubs.qp.rdmap, &wr));
	stubs.hdr.prod += SLOTS + 1;
	KUNIT_EXPECT_TRUE(test, rdmap_sq_pull_wr(&stubs.qp.rdmap, &wr));
	KUNIT_EXPECT_TRUE(test, rdmap_sq_pull_wr(&stubs.qp.rdmap, &wr));
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
	refcount_set(&region.users, 2);
	stubs.qp.rdmap.stream.tx_mr = &region;
	KUNIT_EXPECT_FALSE(test, rdmap_sq_pull_wr(&stubs.qp.rdmap, &wr));
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.mr_refs);
}

/* A signalled request completes in the same call after any number of unsignalled requests */
static void signalled_request_completes_after_unsignalled(struct kunit *test)
{
	u32 n;

	for (n = 1; n < 200; n++) {
		open_sq_at_index(0);
		stubs.qp.sq.sig_all = false;
		post_requests(n);
		stubs.slots[n - 1].flags = RNIC_SW_SEND_SIGNALED;
		KUNIT_EXPECT_EQ(test, n, send_all_requests());
		KUNIT_EXPECT_EQ(test, 1u, stubs.completed);
		KUNIT_EXPECT_EQ(test, n - 1, (u32)stubs.last.wr_id);
		KUNIT_EXPECT_EQ(test, n, stubs.hdr.cons);
		KUNIT_EXPECT_EQ(test, 0u, stubs.worker_runs);
	}
}

/*
 * One context must generate at most 256 completions in a row, and leave further completions to the
 * worker
 */
static void worker_generates_remaining_completions(struct kunit *test)
{
	open_sq_at_index(0);
	post_requests(SLOTS);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, send_all_requests());
	KUNIT_EXPECT_EQ(test, 256u, stubs.completed);
	KUNIT_EXPECT_EQ(test, 1u, stubs.worker_runs);
	rnic_sq_complete_work(&stubs.qp.complete_work);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, stubs.completed);
	KUNIT_EXPECT_EQ(test, SLOTS - 1u, (u32)stubs.last.wr_id);
	/* the worker has generated all completions, so it is not queued again */
	KUNIT_EXPECT_EQ(test, 1u, stubs.worker_runs);
}

/* rnic_sq_wait_flushed() waits for the worker's completions too, but not for later posts */
static void wait_flushed_waits_for_worker(struct kunit *test)
{
	open_sq_at_index(3);
	post_requests(SLOTS);
	rnic_sq_flush(&stubs.qp);
	KUNIT_EXPECT_EQ(test, 256u, stubs.completed);
	rnic_sq_wait_flushed(&stubs.qp);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, stubs.completed);
	KUNIT_EXPECT_EQ(test, 1u, stubs.sleeps);
	post_requests(1);
	rnic_sq_wait_flushed(&stubs.qp);
	KUNIT_EXPECT_EQ(test, 1u, stubs.sleeps);
}

/* rnic_sq_wait_flushed() also waits for a context that was generating completions at the flush */
static void wait_flushed_waits_for_context(struct kunit *test)
{
	open_sq_at_index(0);
	post_requests(3);
	stubs.qp.sq.completing = true;
	stubs.ends_in_sleep = true;
	rnic_sq_flush(&stubs.qp);
	KUNIT_EXPECT_EQ(test, 0u, stubs.completed);
	rnic_sq_wait_flushed(&stubs.qp);
	KUNIT_EXPECT_EQ(test, 3u, stubs.completed);
	KUNIT_EXPECT_EQ(test, 1u, stubs.sleeps);
}

/* The wait includes the last completion, which is generated after its request is dequeued */
static void wait_flushed_includes_last_completion(struct kunit *test)
{
	open_sq_at_index(0);
	post_requests(1);
	rnic_sq_flush(&stubs.qp);
	stubs.qp.sq.completing = true;
	stubs.ends_in_sleep = true;
	rnic_sq_wait_flushed(&stubs.qp);
	KUNIT_EXPECT_EQ(test, 1u, stubs.sleeps);
}

/* For exactly 256 completions, which one context may generate, no worker is queued */
static void no_worker_is_queued_for_256_completions(struct kunit *test)
{
	open_sq_at_index(0);
	post_requests(256);
	KUNIT_EXPECT_EQ(test, 256u, send_all_requests());
	KUNIT_EXPECT_EQ(test, 256u, stubs.completed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.worker_runs);
	KUNIT_EXPECT_FALSE(test, stubs.qp.sq.completing);
}

/* Unsignalled requests too are dequeued at most 256 at a time; the worker continues */
static void unsignalled_requests_are_dequeued_256_at_a_time(struct kunit *test)
{
	open_sq_at_index(0);
	stubs.qp.sq.sig_all = false;
	post_requests(SLOTS);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, send_all_requests());
	KUNIT_EXPECT_EQ(test, 256u, stubs.qp.sq.tail);
	KUNIT_EXPECT_EQ(test, 1u, stubs.worker_runs);
	rnic_sq_complete_work(&stubs.qp.complete_work);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, stubs.qp.sq.tail);
	KUNIT_EXPECT_EQ(test, 0u, stubs.completed);
}

/*
 * One context at a time generates completions, in order and without the lock. A
 * second context leaves its completions to the first one.
 */
static void completions_come_from_one_context_in_order(struct kunit *test)
{
	open_sq_at_index(0);
	stubs.also_elsewhere = true;
	post_requests(100);
	KUNIT_EXPECT_EQ(test, 100u, send_all_requests());
	KUNIT_EXPECT_EQ(test, 100u, stubs.completed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.early);
	KUNIT_EXPECT_EQ(test, 0u, stubs.concurrent);
	KUNIT_EXPECT_EQ(test, 0u, stubs.locked);
	KUNIT_EXPECT_EQ(test, 0, stubs.qp.sq.lock.held);
	KUNIT_EXPECT_EQ(test, 0u, stubs.failed);
}

/*
 * RDMAP-125: no request completes before it is sent, even if the response to a
 * later request has arrived
 */
static void no_request_completes_before_send(struct kunit *test)
{
	struct rdmap *r = &stubs.qp.rdmap;
	struct rdmap_wr wr;
	u32 n;

	open_sq_at_index(0);
	post_requests(3);
	for (n = 0; n < 3; n++) {
		KUNIT_ASSERT_TRUE(test, rdmap_sq_pull_wr(r, &wr));
		rdmap_sq_mark_segmented(r, wr.slot);
		KUNIT_EXPECT_EQ(test, 0u, stubs.completed);
	}
	rdmap_sq_complete_answered_wr(r, 2);
	KUNIT_EXPECT_EQ(test, 0u, stubs.completed);
	rdmap_sq_complete_sent_wrs(r, false);
	KUNIT_EXPECT_EQ(test, 3u, stubs.completed);
}

/*
 * A request posted on a failed stream is flushed, and generates a completion even
 * if it is unsignalled, because draining a QP waits for that completion
 */
static void post_on_failed_stream_is_flushed(struct kunit *test)
{
	struct rdmap *r = &stubs.qp.rdmap;
	struct rdmap_wr wr;

	open_sq_at_index(0);
	stubs.qp.sq.sig_all = false;
	set_bit(0, &r->stream.failed);
	post_requests(1);
	KUNIT_EXPECT_FALSE(test, rdmap_sq_pull_wr(r, &wr));
	KUNIT_EXPECT_EQ(test, 0u, stubs.completed);
	rnic_sq_flush(&stubs.qp);
	KUNIT_EXPECT_EQ(test, 1u, stubs.completed);
	KUNIT_EXPECT_EQ(test, (u32)IB_WC_WR_FLUSH_ERR, (u32)stubs.last.status);
}

/*
 * Receive a Terminate after a Send has completed, while a Read waits for its
 * response, and other requests follow. Expect @culprit as the status of the Read.
 */
static void expect_status_after_terminate(struct kunit *test, u8 layer, u8 type, u8 culprit)
{
	const u8 want[] = {
		IB_WC_SUCCESS, culprit, IB_WC_WR_FLUSH_ERR, IB_WC_WR_FLUSH_ERR,
		IB_WC_WR_FLUSH_ERR,
	};
	struct rdmap *r = &stubs.qp.rdmap;
	struct rdmap_wr wr;
	u32 n;

	open_sq_at_index(0);
	post_requests(ARRAY_SIZE(want));
	stubs.slots[1].opcode = RNIC_SW_OP_READ;
	stubs.slots[3].opcode = RNIC_SW_OP_READ;
	/* the last request is not sent */
	for (n = 0; n < ARRAY_SIZE(want) - 1; n++) {
		KUNIT_ASSERT_TRUE(test, rdmap_sq_pull_wr(r, &wr));
		rdmap_sq_mark_segmented(r, wr.slot);
	}
	rdmap_sq_complete_sent_wrs(r, false);
	KUNIT_EXPECT_EQ(test, 1u, stubs.completed);
	stubs.qp.why = IW_PEER_TERMINATE;
	r->peer_layer = layer;
	r->peer_type = type;
	rnic_sq_flush(&stubs.qp);
	KUNIT_ASSERT_EQ(test, (u32)ARRAY_SIZE(want), stubs.completed);
	for (n = 0; n < ARRAY_SIZE(want); n++)
		KUNIT_EXPECT_EQ(test, want[n], stubs.status[n]);
	/* a response that arrives after the flush completes nothing */
	rdmap_sq_complete_answered_wr(r, 1);
	KUNIT_EXPECT_EQ(test, (u32)ARRAY_SIZE(want), stubs.completed);
}

/*
 * RDMAP-145: a request whose response is missing, and all requests after it,
 * complete in error, even if they were sent
 */
static void terminate_flushes_incomplete_requests(struct kunit *test)
{
	expect_status_after_terminate(test, IW_LAYER_DDP, 2, IB_WC_WR_FLUSH_ERR);
	expect_status_after_terminate(test, IW_LAYER_LLP, 0, IB_WC_WR_FLUSH_ERR);
}

/* RDMAP-15: the Terminate's error is reported with the oldest incomplete request */
static void terminate_error_goes_to_oldest_request(struct kunit *test)
{
	expect_status_after_terminate(test, IW_LAYER_RDMAP, 1, IB_WC_REM_ACCESS_ERR);
	expect_status_after_terminate(test, IW_LAYER_RDMAP, 2, IB_WC_REM_OP_ERR);
}

/* Flush one WR of a stream that has ended for @why, after a Terminate a/5/c3 (layer/type/code) */
static void flush_request_after_stream_end(enum iw_reason why)
{
	struct rdmap *r = &stubs.qp.rdmap;

	open_sq_at_index(0);
	post_requests(1);
	stubs.qp.why = why;
	r->peer_layer = 0xa;
	r->peer_type = 0x5;
	r->peer_code = 0xc3;
	rnic_sq_flush(&stubs.qp);
}

/*
 * RDMAP-109: a completion after a Terminate has the layer, the error type and the error
 * code of the Terminate. A completion after another end has only the reason, although an
 * earlier, truncated Terminate may have set these fields.
 */
static void terminate_is_reported(struct kunit *test)
{
	u32 err;

	flush_request_after_stream_end(IW_PEER_TERMINATE);
	KUNIT_ASSERT_EQ(test, 1u, stubs.completed);
	err = stubs.last.vendor_err;
	KUNIT_EXPECT_EQ(test, 0xa5c30023u, err);
	KUNIT_EXPECT_EQ(test, (u32)IW_PEER_TERMINATE, RNIC_SW_VENDOR_REASON(err));
	KUNIT_EXPECT_EQ(test, 0xau, RNIC_SW_TERM_LAYER(err));
	KUNIT_EXPECT_EQ(test, 0x5u, RNIC_SW_TERM_TYPE(err));
	KUNIT_EXPECT_EQ(test, 0xc3u, RNIC_SW_TERM_CODE(err));

	flush_request_after_stream_end(IW_RDMAP_UNSPEC);
	KUNIT_EXPECT_EQ(test, (u32)IW_RDMAP_UNSPEC, stubs.last.vendor_err);
}

static void full_cq_fails_stream(struct kunit *test)
{
	open_sq_at_index(0);
	stubs.full = true;
	post_requests(1);
	KUNIT_EXPECT_EQ(test, 1u, send_all_requests());
	KUNIT_EXPECT_EQ(test, 1u, stubs.failed);
}

static struct kunit_case rnic_sq_cases[] = {
	KUNIT_CASE(requests_after_close_are_flushed),
	KUNIT_CASE(close_of_idle_queue_sends_nothing),
	KUNIT_CASE(bad_index_after_close_is_not_read),
	KUNIT_CASE(bad_index_fails_stream),
	KUNIT_CASE(signalled_request_completes_after_unsignalled),
	KUNIT_CASE(worker_generates_remaining_completions),
	KUNIT_CASE(wait_flushed_waits_for_worker),
	KUNIT_CASE(wait_flushed_waits_for_context),
	KUNIT_CASE(wait_flushed_includes_last_completion),
	KUNIT_CASE(no_worker_is_queued_for_256_completions),
	KUNIT_CASE(unsignalled_requests_are_dequeued_256_at_a_time),
	KUNIT_CASE(completions_come_from_one_context_in_order),
	KUNIT_CASE(no_request_completes_before_send),
	KUNIT_CASE(post_on_failed_stream_is_flushed),
	KUNIT_CASE(terminate_flushes_incomplete_requests),
	KUNIT_CASE(terminate_error_goes_to_oldest_request),
	KUNIT_CASE(terminate_is_reported),
	KUNIT_CASE(full_cq_fails_stream),
	{}
};

static struct kunit_suite rnic_sq_suite = {
	.name = "rnic_sq",
	.test_cases = rnic_sq_cases,
};

kunit_test_suite(rnic_sq_suite);
