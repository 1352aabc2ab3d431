// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/{rx,early,orphan,stream,stream_work}.c: received chunks, also
 * while a page fault defers a session. Socket and DDP are stubs.
 */
#include "sddp_rx.h"

/* Cases ------------------------------------------------------------------------ */

static int test_init(struct kunit *test)
{
	struct sddp_assoc *a = &stubs.a;

	memset(&stubs, 0, sizeof(stubs));
	a->phase = SDDP_UP;
	a->limit = 4;
	a->peer_accepted = true;
	INIT_LIST_HEAD(&a->ready);
	INIT_LIST_HEAD(&a->late);
	INIT_LIST_HEAD(&a->control_queue);
	INIT_LIST_HEAD(&a->segment_queue);
	INIT_LIST_HEAD(&a->unacked);
	return 0;
}

/* End the association, and check that no session, chunk or reference is left */
static void test_exit(struct kunit *test)
{
	struct sddp_assoc *a = &stubs.a;
	unsigned long id;
	void *at;

	run_worker();
	a->phase = SDDP_ENDED;
	a->why = IW_PEER_RESET;
	xa_for_each(&a->streams, id, at) {
		if (xa_is_value(at))
			continue;
		sddp_stream_end(at, a->why, NULL);
		sddp_stream_remove(at);
	}
	run_worker();
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
	KUNIT_EXPECT_EQ(test, 0, stubs.held);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&a->live));
	KUNIT_EXPECT_EQ(test, 0u, a->kept);
	KUNIT_EXPECT_EQ(test, 0u, a->deferred);
}

/* Open a session that the peer has requested and the program has accepted */
static struct sddp_stream *open_accepted_session(u16 id)
{
	struct sddp_stream *st = sddp_stream_new(NULL, NULL, false);

	sddp_assoc_get(&stubs.a);
	st->a = &stubs.a;
	st->id = id;
	st->reported = true;
	st->accepted = true;
	st->stream = &stubs.stream;
	atomic_inc(&stubs.a.live);
	xa_store(&stubs.a.streams, id, st, GFP_KERNEL);
	sddp_session_receive_chunk(&st->s, SDDP_KIND_INITIATE, false);
	sddp_session_record_chunk_sent(&st->s, SDDP_KIND_ACCEPT, false);
	sddp_session_record_control_acked(&st->s);
	st->rx_next = 1;
	return st;
}

/* Receive a chunk. Return: true if it was accepted, false if it must stay queued in SCTP. */
static bool receive_chunk(u16 id, u32 ppid, u16 ssn, u16 function)
{
	struct sddp_chunk_desc in = { .id = id, .ppid = ppid, .legal = true, .len = 40 };
	bool taken;

	if (ppid == SDDP_PPID_CONTROL)
		in.len = SDDP_CONTROL_LEN;
	stubs.len = in.len;
	memset(stubs.chunk, 0, sizeof(stubs.chunk));
	sddp_ssn_encode(stubs.chunk, ssn);
	if (function)
		put_unaligned_be16(function, stubs.chunk + SDDP_FUNCTION);
	stubs.a.src = (struct sddp_src) {
		.arrived = (const struct sk_buff *)stubs.chunk,
		.len = in.len,
	};
	taken = sddp_rx_process_chunk(&stubs.a, &in);
	stubs.a.src.arrived = NULL;
	return taken;
}

static bool receive_segment(u16 ssn)
{
	return receive_chunk(0, SDDP_PPID_SEGMENT, ssn, 0);
}

static bool receive_control(u16 ssn, u16 function)
{
	return receive_chunk(0, SDDP_PPID_CONTROL, ssn, function);
}

/* Open a session that this side has initiated without a stream */
static struct sddp_stream *open_initiated_session(u16 id)
{
	struct sddp_stream *st = sddp_stream_new(NULL, NULL, true);

	sddp_assoc_get(&stubs.a);
	st->a = &stubs.a;
	st->id = id;
	st->reported = true;
	atomic_inc(&stubs.a.live);
	sddp_stream_begin(st, NULL);
	sddp_session_record_chunk_sent(&st->s, SDDP_KIND_INITIATE, false);
	sddp_session_record_control_acked(&st->s);
	return st;
}

/* A stream that the ULP binds when the peer's Accept arrives must receive segments */
static void stream_bound_on_accept_gets_segments(struct kunit *test)
{
	struct sddp_stream *st = open_initiated_session(0);

	stubs.binds = true;
	KUNIT_EXPECT_TRUE(test, receive_control(0, SDDP_ACCEPT));
	KUNIT_EXPECT_PTR_EQ(test, &stubs.stream, st->stream);
	KUNIT_EXPECT_EQ(test, 0u, stubs.closed);
	KUNIT_EXPECT_TRUE(test, receive_segment(1));
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	/* the stream's reference */
	ddp_session_put(&st->ss);
}

/*
 * If the ULP binds no stream, the session must end with a Terminate, and segments must be discarded
 */
static void accept_without_bind_ends_session(struct kunit *test)
{
	struct sddp_stream *st = open_initiated_session(0);

	KUNIT_EXPECT_TRUE(test, receive_control(0, SDDP_ACCEPT));
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_ABORT, stubs.why);
	KUNIT_EXPECT_TRUE(test, sddp_session_may_send(&st->s, SDDP_KIND_TERMINATE));
	KUNIT_EXPECT_TRUE(test, receive_segment(1));
	KUNIT_EXPECT_EQ(test, 0u, stubs.delivered);
}

/* Complete the page fault for which the session waits */
static void resume_session(struct sddp_stream *st)
{
	stubs.waits = false;
	sddp_rx_resume(st);
}

/* A deferred chunk and those after it are kept; a repeated SSN is an error */
static void chunks_after_deferred_one_are_kept(struct kunit *test)
{
	struct sddp_stream *st = open_accepted_session(0);

	stubs.waits = true;
	KUNIT_EXPECT_TRUE(test, receive_segment(1));
	KUNIT_EXPECT_TRUE(test, receive_segment(2));
	KUNIT_EXPECT_EQ(test, 1u, stubs.a.deferred);
	KUNIT_EXPECT_EQ(test, 2u, st->early_count);
	resume_session(st);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.a.deferred);
	stubs.waits = true;
	receive_segment(3);
	KUNIT_EXPECT_EQ(test, 0u, stubs.closed);
	receive_segment(3);
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
	KUNIT_EXPECT_EQ(test, IW_SCTP_SSN, stubs.why);
	KUNIT_EXPECT_EQ(test, 0u, stubs.a.deferred);
}

/*
 * Chunks beyond the limit of deferred chunks stay queued in SCTP. They are
 * received again later, even if the page is still not present then.
 */
static void excess_chunks_stay_in_sctp(struct kunit *test)
{
	struct sddp_stream *st = open_accepted_session(0);

	receive_segment(2);
	stubs.a.kept += SDDP_DEFERRED_ASSOC;
	stubs.waits = true;
	KUNIT_EXPECT_FALSE(test, receive_segment(1));
	KUNIT_EXPECT_EQ(test, 1u, stubs.a.deferred);
	KUNIT_EXPECT_FALSE(test, receive_segment(1));
	KUNIT_EXPECT_EQ(test, 1u, stubs.a.deferred);
	stubs.kicks = 0;
	resume_session(st);
	KUNIT_EXPECT_EQ(test, 1u, stubs.kicks);
	KUNIT_EXPECT_EQ(test, 0u, stubs.a.deferred);
	KUNIT_EXPECT_EQ(test, 0u, stubs.delivered);
	KUNIT_EXPECT_TRUE(test, receive_segment(1));
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 0u, stubs.closed);
	stubs.a.kept -= SDDP_DEFERRED_ASSOC;
}

/*
 * If the session ends while a chunk is deferred, later chunks are counted and
 * dropped
 */
static void session_end_drops_deferred_chunks(struct kunit *test)
{
	struct sddp_stream *st = open_accepted_session(0);

	stubs.a.kept += SDDP_DEFERRED_ASSOC;
	stubs.waits = true;
	receive_segment(1);
	sddp_stream_end(st, IW_LOCAL_ABORT, NULL);
	sddp_rx_start_counting_if_ended(st);
	KUNIT_EXPECT_EQ(test, 0u, stubs.a.deferred);
	KUNIT_EXPECT_TRUE(test, receive_segment(1));
	KUNIT_EXPECT_TRUE(test, receive_control(2, SDDP_TERMINATE));
	KUNIT_EXPECT_TRUE(test, st->s.peer_done);
	stubs.a.kept -= SDDP_DEFERRED_ASSOC;
}

/*
 * If a session ends while its Accept is not acknowledged, its Terminate can be
 * sent only after the peer's first segment has arrived
 */
static void terminate_waits_for_accept_ack(struct kunit *test)
{
	struct sddp_stream *st = open_accepted_session(0);

	st->s.control_unacked = true;
	sddp_stream_end(st, IW_LOCAL_ABORT, NULL);
	sddp_rx_start_counting_if_ended(st);
	KUNIT_EXPECT_FALSE(test, sddp_session_may_send(&st->s, SDDP_KIND_TERMINATE));
	KUNIT_EXPECT_TRUE(test, receive_segment(1));
	KUNIT_EXPECT_TRUE(test, sddp_session_may_send(&st->s, SDDP_KIND_TERMINATE));
}

/*
 * A Terminate is processed even without memory. If it were not, its SCTP stream
 * could never be used for another session.
 */
static void terminate_needs_no_memory(struct kunit *test)
{
	struct sddp_stream *st = open_accepted_session(0);

	sddp_stream_request_end(st, IW_LOCAL_CLOSE);
	sddp_session_record_chunk_sent(&st->s, SDDP_KIND_TERMINATE, false);
	sddp_session_record_control_acked(&st->s);
	host_alloc_fails = true;
	KUNIT_EXPECT_TRUE(test, receive_control(1, SDDP_TERMINATE));
	host_alloc_fails = false;
	KUNIT_EXPECT_EQ(test, 1u, stubs.peer_closed);
	KUNIT_EXPECT_TRUE(test, sddp_session_is_reusable(&st->s));
	run_worker();
	KUNIT_EXPECT_EQ(test, IW_LOCAL_CLOSE, stubs.why);
	KUNIT_EXPECT_NULL(test, xa_load(&stubs.a.streams, 0));
}

/* If there is no memory for a control message other than Terminate, the session ends */
static void control_without_memory_ends_session(struct kunit *test)
{
	open_accepted_session(0);
	host_alloc_fails = true;
	KUNIT_EXPECT_TRUE(test, receive_control(1, SDDP_ACCEPT));
	host_alloc_fails = false;
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
	KUNIT_EXPECT_EQ(test, IW_NO_MEMORY, stubs.why);
}

/*
 * DDP-21: many out-of-order chunks are delivered in order, and the worker
 * yields in between
 */
static void many_early_chunks_are_delivered_in_order(struct kunit *test)
{
	struct sddp_stream *st = open_accepted_session(0);
	u32 before = host_rescheds;
	u16 ssn;

	for (ssn = 2; ssn < 2000; ssn++)
		KUNIT_ASSERT_TRUE(test, receive_segment(ssn));
	KUNIT_EXPECT_EQ(test, 0u, stubs.delivered);
	KUNIT_EXPECT_TRUE(test, receive_segment(1));
	KUNIT_EXPECT_EQ(test, 1999u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 2000, (int)st->rx_next);
	KUNIT_EXPECT_GE(test, host_rescheds - before, 1999u / 512);
}

/*
 * Open a session that both the program and the peer have closed, but whose last
 * Write is deferred. Return: the session.
 */
static struct sddp_stream *open_closing_session_with_deferred_write(struct kunit *test)
{
	struct sddp_stream *st = open_accepted_session(0);

	sddp_stream_request_end(st, IW_LOCAL_CLOSE);
	sddp_session_record_chunk_sent(&st->s, SDDP_KIND_TERMINATE, false);
	run_worker();
	stubs.waits = true;
	KUNIT_EXPECT_TRUE(test, receive_segment(1));
	KUNIT_EXPECT_TRUE(test, receive_control(2, SDDP_TERMINATE));
	return st;
}

/*
 * Let the peer begin the next session on the stream. Expect that this session waits
 * for the deferred Write of the first session. Return: the first session.
 */
static struct sddp_stream *open_next_session_and_expect_it_waits(struct kunit *test)
{
	struct sddp_stream *st = open_closing_session_with_deferred_write(test);

	KUNIT_EXPECT_TRUE(test, receive_control(0, SDDP_INITIATE));
	KUNIT_ASSERT_EQ(test, 0u, stubs.closed);
	run_worker();
	KUNIT_EXPECT_EQ(test, 0u, stubs.requests);
	KUNIT_EXPECT_PTR_EQ(test, (void *)st, xa_load(&stubs.a.streams, 0));
	return st;
}

static void complete_page_fault(struct sddp_stream *st)
{
	stubs.waits = false;
	sddp_stream_set_event(st, SDDP_EV_RX);
	run_worker();
}

/* When the page is present, the first session ends normally, and the next session begins */
static void next_session_begins_after_page_fault(struct kunit *test)
{
	struct sddp_stream *next;

	complete_page_fault(open_next_session_and_expect_it_waits(test));
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 1u, stubs.peer_closed);
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_CLOSE, stubs.why);
	KUNIT_EXPECT_EQ(test, 1u, stubs.requests);
	next = xa_load(&stubs.a.streams, 0);
	KUNIT_ASSERT_NOT_NULL(test, next);
	KUNIT_EXPECT_EQ(test, SDDP_REQUESTED, next->s.state);
	KUNIT_EXPECT_EQ(test, 1, (int)next->rx_next);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&stubs.a.live));
}

/* If the program aborts, neither the first nor the next session waits for memory */
static void abort_lets_next_session_begin(struct kunit *test)
{
	struct sddp_stream *st = open_next_session_and_expect_it_waits(test);

	sddp_stream_request_end(st, IW_LOCAL_ABORT);
	run_worker();
	KUNIT_EXPECT_EQ(test, IW_LOCAL_ABORT, stubs.why);
	KUNIT_EXPECT_EQ(test, 0u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, 1u, stubs.requests);
}

/* A violation by the next session ends that session only */
static void violation_ends_only_next_session(struct kunit *test)
{
	struct sddp_stream *st = open_next_session_and_expect_it_waits(test);

	KUNIT_EXPECT_TRUE(test, receive_segment(1));
	run_worker();
	KUNIT_EXPECT_EQ(test, 0u, stubs.closed);
	KUNIT_EXPECT_EQ(test, 1u, stubs.refused);
	KUNIT_EXPECT_TRUE(test, receive_control(2, SDDP_TERMINATE));
	complete_page_fault(st);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_CLOSE, stubs.why);
	KUNIT_EXPECT_EQ(test, 0u, stubs.requests);
	/* a Terminate has to be sent for the next session */
	KUNIT_EXPECT_TRUE(test, xa_is_value(xa_load(&stubs.a.streams, 0)));
	KUNIT_EXPECT_EQ(test, 0, sddp_orphan_send_all_terminates(&stubs.a));
	KUNIT_EXPECT_NULL(test, xa_load(&stubs.a.streams, 0));
}

/* If the association ends while the next session waits, both sessions are freed */
static void assoc_end_frees_both_sessions(struct kunit *test)
{
	open_next_session_and_expect_it_waits(test);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&stubs.a.live));
}

/* If memory is short, or a limit is exceeded, SCTP keeps the next session's Initiate queued */
static void next_initiate_needs_memory(struct kunit *test)
{
	struct sddp_stream *st = open_closing_session_with_deferred_write(test);

	host_alloc_fails = true;
	KUNIT_EXPECT_FALSE(test, receive_control(0, SDDP_INITIATE));
	host_alloc_fails = false;
	stubs.a.kept += SDDP_EARLY_ASSOC;
	KUNIT_EXPECT_FALSE(test, receive_control(0, SDDP_INITIATE));
	stubs.a.kept -= SDDP_EARLY_ASSOC;
	KUNIT_ASSERT_EQ(test, 0u, stubs.closed);
	KUNIT_EXPECT_TRUE(test, receive_control(0, SDDP_INITIATE));
	complete_page_fault(st);
	KUNIT_EXPECT_EQ(test, 1u, stubs.requests);
}

/*
 * An SCTP stream cannot be used for another session before this side has sent its Terminate, and
 * has received the peer's Terminate and all chunks before it
 */
static void stream_reuse_needs_both_terminates(struct kunit *test)
{
	struct sddp_stream *st = open_accepted_session(0);

	stubs.waits = true;
	receive_segment(1);
	receive_control(3, SDDP_TERMINATE);
	sddp_session_record_chunk_sent(&st->s, SDDP_KIND_TERMINATE, false);
	receive_control(0, SDDP_INITIATE);
	KUNIT_EXPECT_EQ(test, 1u, stubs.closed);
	KUNIT_EXPECT_EQ(test, IW_SCTP_SSN, stubs.why);
	run_worker();
	st = open_accepted_session(1);
	receive_chunk(1, SDDP_PPID_SEGMENT, 1, 0);
	receive_chunk(1, SDDP_PPID_CONTROL, 2, SDDP_TERMINATE);
	receive_chunk(1, SDDP_PPID_CONTROL, 0, SDDP_INITIATE);
	KUNIT_EXPECT_EQ(test, 2u, stubs.closed);
	KUNIT_EXPECT_EQ(test, IW_SCTP_SSN, stubs.why);
}

/*
 * When a session ends, the association gets two flags: whether the session was reported to a
 * program, and whether the program accepted it
 */
static void session_end_reports_flags_to_assoc(struct kunit *test)
{
	stubs.request_err = -ECONNREFUSED;
	KUNIT_EXPECT_TRUE(test, receive_control(0, SDDP_INITIATE));
	KUNIT_EXPECT_FALSE(test, stubs.request_reported);
	run_worker();
	KUNIT_EXPECT_EQ(test, 0, sddp_orphan_send_all_terminates(&stubs.a));
	KUNIT_EXPECT_NULL(test, xa_load(&stubs.a.streams, 0));
	stubs.request_err = 0;
	KUNIT_EXPECT_TRUE(test, receive_control(0, SDDP_INITIATE));
	sddp_stream_end(xa_load(&stubs.a.streams, 0), IW_LOCAL_ABORT, NULL);
	KUNIT_EXPECT_TRUE(test, stubs.request_reported);
	KUNIT_EXPECT_FALSE(test, stubs.accepted);
	sddp_stream_end(open_accepted_session(1), IW_LOCAL_ABORT, NULL);
	KUNIT_EXPECT_TRUE(test, stubs.accepted);
	KUNIT_EXPECT_EQ(test, 2u, stubs.requests);
}

static struct kunit_case sddp_rx_cases[] = {
	KUNIT_CASE(session_end_reports_flags_to_assoc),
	KUNIT_CASE(stream_bound_on_accept_gets_segments),
	KUNIT_CASE(accept_without_bind_ends_session),
	KUNIT_CASE(chunks_after_deferred_one_are_kept),
	KUNIT_CASE(excess_chunks_stay_in_sctp),
	KUNIT_CASE(session_end_drops_deferred_chunks),
	KUNIT_CASE(terminate_waits_for_accept_ack),
	KUNIT_CASE(terminate_needs_no_memory),
	KUNIT_CASE(control_without_memory_ends_session),
	KUNIT_CASE(many_early_chunks_are_delivered_in_order),
	KUNIT_CASE(next_session_begins_after_page_fault),
	KUNIT_CASE(abort_lets_next_session_begin),
	KUNIT_CASE(violation_ends_only_next_session),
	KUNIT_CASE(assoc_end_frees_both_sessions),
	KUNIT_CASE(next_initiate_needs_memory),
	KUNIT_CASE(stream_reuse_needs_both_terminates),
	{}
};

static struct kunit_suite sddp_rx_suite = {
	.name = "sddp_rx",
	.init = test_init,
	.exit = test_exit,
	.test_cases = sddp_rx_cases,
};

kunit_test_suite(sddp_rx_suite);
