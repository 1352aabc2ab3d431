// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/conn.c and conn_start.c: a connection's worker during
 * start-up and at the end. Socket and listener are stubs.
 */
#include "mpa_conn.h"

/*
 * The program gets one connection request. If the peer then closes or resets the
 * connection, the program is notified.
 */
static void request_is_reported_once(struct kunit *test)
{
	struct mpa_conn *c = open_passive_conn();

	set_state_event_and_run_worker(c);
	set_state_event_and_run_worker(c);
	expect_reports(test, 1, 0, 0, IW_OK);
	let_peer_reset();
	set_state_event_and_run_worker(c);
	expect_reports(test, 1, 0, 1, IW_PEER_RESET);

	c = open_passive_conn();
	set_state_event_and_run_worker(c);
	stubs.fin = true;
	set_state_event_and_run_worker(c);
	expect_reports(test, 1, 0, 1, IW_PEER_CLOSED);
}

/*
 * If a peer closes before the worker processes its Request, the program gets no
 * connection request
 */
static void request_of_closed_peer_is_not_reported(struct kunit *test)
{
	struct mpa_conn *c = open_passive_conn();

	let_peer_reset();
	set_state_event_and_run_worker(c);
	expect_reports(test, 0, 1, 0, IW_PEER_RESET);
	KUNIT_EXPECT_EQ(test, MPA_ENDED, c->phase);

	c = open_passive_conn();
	stubs.fin = true;
	set_state_event_and_run_worker(c);
	expect_reports(test, 0, 1, 0, IW_PEER_CLOSED);
	KUNIT_EXPECT_EQ(test, MPA_ENDED, c->phase);
}

/* Data after the Request is an error, even if the peer has closed as well */
static void data_after_request_is_error(struct kunit *test)
{
	struct mpa_conn *c = open_passive_conn();

	stubs.len++;
	stubs.fin = true;
	set_state_event_and_run_worker(c);
	expect_reports(test, 0, 1, 0, IW_MPA_STARTUP);
}

/*
 * If a Request arrives before the TCP handshake is complete, the program gets the
 * connection request only after the handshake
 */
static void request_waits_for_tcp_handshake(struct kunit *test)
{
	struct mpa_conn *c = open_passive_conn();

	stubs.coming = true;
	set_state_event_and_run_worker(c);
	set_state_event_and_run_worker(c);
	expect_reports(test, 0, 0, 0, IW_OK);
	stubs.coming = false;
	set_state_event_and_run_worker(c);
	expect_reports(test, 1, 0, 0, IW_OK);

	c = open_passive_conn();
	stubs.coming = true;
	set_state_event_and_run_worker(c);
	stubs.coming = false;
	let_peer_reset();
	set_state_event_and_run_worker(c);
	expect_reports(test, 0, 1, 0, IW_PEER_RESET);
}

/* The TCP handshake has the same time limit as the Request */
static void tcp_handshake_has_time_limit(struct kunit *test)
{
	struct mpa_conn *c = open_passive_conn();

	stubs.coming = true;
	set_state_event_and_run_worker(c);
	jiffies += 10 * HZ - 1;
	set_state_event_and_run_worker(c);
	expect_reports(test, 0, 0, 0, IW_OK);
	jiffies++;
	set_state_event_and_run_worker(c);
	expect_reports(test, 0, 1, 0, IW_TIMEOUT);
}

static void close_and_run_worker(struct mpa_conn *c, bool drained)
{
	c->closing = true;
	c->drained = drained;
	mpa_conn_set_event(c, MPA_EV_CLOSE);
	run_worker(c);
}

/* Let @seconds pass; the connection must not end before the last jiffy of that time */
static void advance_time_and_run_worker(struct mpa_conn *c, unsigned int seconds)
{
	jiffies += seconds * HZ - 1;
	set_state_event_and_run_worker(c);
	WARN_ON(c->phase == MPA_ENDED);
	jiffies++;
	set_state_event_and_run_worker(c);
}

static void expect_end_reports_and_reset(struct kunit *test, u32 ended, bool reset,
					 enum iw_reason why)
{
	expect_reports(test, 0, 0, ended, why);
	KUNIT_EXPECT_EQ(test, reset, stubs.reset);
}

/* Open an active connection whose Request is not sent yet; @takes: result of sending */
static struct mpa_conn *open_conn_with_unsent_request(struct kunit *test, int takes)
{
	static const struct ddp_offer offer = {
		.enhanced = true, .ird = 1, .ord = 1,
	};
	struct mpa_conn *c = open_passive_conn();

	mpa_startup_init(&stubs.su, true, 2, true, false);
	KUNIT_EXPECT_EQ(test, 0, mpa_startup_set_offer(&stubs.su, &offer));
	c->conn_req.listener = NULL;
	c->reported = true;
	c->has_deadline = false;
	stubs.len = 0;
	stubs.takes = takes;
	return c;
}

/* The time limit for the Reply is a minute, from the time at which TCP accepts the Request */
static void reply_has_time_limit(struct kunit *test)
{
	struct mpa_conn *c = open_conn_with_unsent_request(test, INT_MAX);

	set_state_event_and_run_worker(c);
	advance_time_and_run_worker(c, 60);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);
}

/* If memory is short, the worker retries sending the Request, up to a time limit */
static void request_is_retried_without_memory(struct kunit *test)
{
	struct mpa_conn *c = open_conn_with_unsent_request(test, -ENOMEM);

	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, msecs_to_jiffies((unsigned long)MPA_RETRY_MIN), stubs.delay);
	stubs.takes = 3;
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, 3u, c->startup_written);
	stubs.takes = -EAGAIN;
	advance_time_and_run_worker(c, MPA_DEADLINE_MEMORY);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);
}

/*
 * An error of TCP while sending the Request ends the connection with the reason
 * that belongs to the error
 */
static void request_send_error_ends_conn(struct kunit *test)
{
	struct mpa_conn *c = open_conn_with_unsent_request(test, -ECONNRESET);

	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 1, true, IW_PEER_RESET);
	c = open_conn_with_unsent_request(test, -EPIPE);
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 1, true, IW_MPA_LOST);
}

/*
 * If the peer resets the connection after an enhanced Request, the worker
 * connects again, with revision 1. The program is notified if that fails.
 */
static void failed_retry_with_revision_1_is_reported(struct kunit *test)
{
	static const struct {
		int		err;
		enum iw_reason	why;
	} ways[] = {
		{ -ENOMEM,	IW_NO_MEMORY },
		{ -ENETUNREACH,	IW_UNREACHABLE },
	};
	struct mpa_conn *c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		c = open_conn_with_unsent_request(test, INT_MAX);
		set_state_event_and_run_worker(c);
		stubs.connects = ways[i].err;
		let_peer_reset();
		set_state_event_and_run_worker(c);
		KUNIT_EXPECT_EQ(test, 1u, stubs.ended);
		KUNIT_EXPECT_EQ(test, ways[i].why, stubs.why);
	}
}

/*
 * If the peer resets the connection before its TCP has acknowledged the whole enhanced
 * Request, the worker connects again and repeats the Request. After a second such reset
 * it uses revision 1.
 */
static void unacked_request_is_repeated(struct kunit *test)
{
	struct mpa_conn *c = open_conn_with_unsent_request(test, INT_MAX);
	u32 i;

	set_state_event_and_run_worker(c);
	stubs.written = MPA_HDR_LEN + DDP_WORD_SIZE;
	stubs.acked = stubs.written - 1;
	for (i = 0; i < 2; i++) {
		let_peer_reset();
		set_state_event_and_run_worker(c);
		KUNIT_EXPECT_EQ(test, 0u, stubs.ended);
		KUNIT_EXPECT_TRUE(test, stubs.reset);
		KUNIT_EXPECT_EQ(test, i ? 1 : 2, stubs.su.revision);
		/* the new TCP connection is established, and the Request is sent */
		stubs.closed = false;
		stubs.fin = false;
		set_state_event_and_run_worker(c);
	}
}

/* A FIN inside an FPDU is an error */
static void fin_inside_fpdu_is_error(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(1);

	stubs.fin = true;
	stubs.cut = true;
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 1, false, IW_MPA_LOST);
}

/* Data that arrived before a reset is received first */
static void data_before_reset_is_received(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(1);

	stubs.err = -ECONNRESET;
	/* each of 100 receive calls finds new data */
	stubs.events = 100;
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 0, false, IW_OK);
	stubs.events = 0;
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 1, false, IW_PEER_RESET);
}

/*
 * The connection does not end while the peer keeps acknowledging the data that
 * TCP accepted before the FIN, however slowly
 */
static void close_waits_for_slow_acks(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(4);
	u32 n;

	close_and_run_worker(c, false);
	KUNIT_EXPECT_EQ(test, 0u, stubs.fins);
	c->drained = true;
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	for (n = 0; n < 4; n++) {
		jiffies += 130 * HZ - 1;
		stubs.acked++;
		set_state_event_and_run_worker(c);
		expect_end_reports_and_reset(test, 0, false, IW_OK);
	}
	/* the peer acknowledges the FIN and then sends its own FIN */
	stubs.acked++;
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 0, false, IW_OK);
	stubs.fin = true;
	stubs.closed = true;
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 1, false, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	/* a complete close is not reported as a half-close first */
	KUNIT_EXPECT_EQ(test, 0u, stubs.half_closes);
}

/*
 * Each acknowledgment must follow the previous one within a time limit. After the last
 * acknowledgment there is a time limit for the peer's FIN.
 */
static void close_has_time_limit_per_ack(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(4);

	close_and_run_worker(c, true);
	stubs.acked++;
	set_state_event_and_run_worker(c);
	advance_time_and_run_worker(c, 130);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);

	c = open_established_conn(4);
	close_and_run_worker(c, true);
	advance_time_and_run_worker(c, 129);
	stubs.acked = stubs.written;
	set_state_event_and_run_worker(c);
	advance_time_and_run_worker(c, 10);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);

	/* polling does not extend the limit */
	c = open_established_conn(0);
	close_and_run_worker(c, true);
	stubs.acked = stubs.written;
	set_state_event_and_run_worker(c);
	advance_time_and_run_worker(c, 9);
	expect_end_reports_and_reset(test, 0, false, IW_OK);
	advance_time_and_run_worker(c, 1);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);
}

/*
 * There is a time limit for all acknowledgments together, which ends the
 * connection even if the peer acknowledges regularly
 */
static void close_has_total_time_limit(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(100);
	u32 n;

	/* the time limit does not begin while the transmit path has more to send */
	close_and_run_worker(c, false);
	for (n = 0; n < 20; n++) {
		jiffies += 100 * HZ;
		stubs.acked++;
		set_state_event_and_run_worker(c);
	}
	/* the limit begins when the worker finds the transmit path drained */
	jiffies += 100 * HZ;
	c->drained = true;
	set_state_event_and_run_worker(c);
	for (n = 0; n < 8; n++) {
		jiffies += 100 * HZ;
		stubs.acked++;
		set_state_event_and_run_worker(c);
	}
	expect_end_reports_and_reset(test, 0, false, IW_OK);
	jiffies += 100 * HZ - 1;
	stubs.acked++;
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 0, false, IW_OK);
	jiffies++;
	stubs.acked++;
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);
}

/*
 * If the peer has closed first, the connection ends when the peer has
 * acknowledged all data
 */
static void close_ends_when_all_acked(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(4);

	stubs.fin = true;
	set_state_event_and_run_worker(c);
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.half_closes);
	close_and_run_worker(c, true);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	expect_end_reports_and_reset(test, 0, false, IW_OK);
	jiffies += 30 * HZ;
	stubs.acked = stubs.written - 2;
	set_state_event_and_run_worker(c);
	jiffies += 129 * HZ;
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 0, false, IW_OK);
	stubs.acked++;
	set_state_event_and_run_worker(c);
	expect_end_reports_and_reset(test, 1, false, IW_PEER_CLOSED);
}

/* If all data is acknowledged, the short time limit applies to a peer that does not close */
static void close_limit_is_short_if_all_acked(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(0);

	close_and_run_worker(c, true);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	advance_time_and_run_worker(c, 10);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);

	/*
	 * if the peer has closed and TCP has accepted our FIN, the connection
	 * ends without delay
	 */
	c = open_established_conn(0);
	stubs.fin = true;
	set_state_event_and_run_worker(c);
	close_and_run_worker(c, true);
	expect_end_reports_and_reset(test, 1, false, IW_PEER_CLOSED);
}

/*
 * If a program closes a connection, and TCP accepts all FPDUs, the FIN is sent without the
 * worker. The time limit for the peer's FIN starts nevertheless.
 */
static void program_sends_fin_without_worker(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(0);

	stubs.drains = true;
	mpa_conn_request_close(c, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	KUNIT_EXPECT_EQ(test, 0u, stubs.queued);
	KUNIT_EXPECT_EQ(test, 10ul * HZ, stubs.delay);
	advance_time_and_run_worker(c, 10);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);

	/* TCP does not accept all FPDUs yet: the worker sends the FIN later */
	c = open_established_conn(4);
	mpa_conn_request_close(c, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 0u, stubs.fins);
	KUNIT_EXPECT_EQ(test, 0u, stubs.queued);
	stubs.drains = true;
	mpa_tx_kick(c, false);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);

	/* no memory for the FIN: the worker retries */
	c = open_established_conn(0);
	stubs.drains = true;
	stubs.no_memory = true;
	mpa_conn_request_close(c, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	stubs.no_memory = false;
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
}

/* Expect that the request to close has only queued the worker, which then sends the FIN */
static void expect_fin_of_worker(struct kunit *test, struct mpa_conn *c)
{
	KUNIT_EXPECT_EQ(test, 0u, stubs.fins);
	KUNIT_EXPECT_GE(test, stubs.queued, 1u);
	run_worker(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
}

/* The worker closes a connection if the program cannot, and ends it if the peer has closed */
static void worker_closes_if_program_cannot(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(0);

	stubs.drains = true;
	stubs.fin = true;
	set_state_event_and_run_worker(c);
	stubs.queued = 0;
	mpa_conn_request_close(c, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	KUNIT_EXPECT_EQ(test, 1u, stubs.queued);
	run_worker(c);
	expect_end_reports_and_reset(test, 1, false, IW_PEER_CLOSED);

	/* softirq must not take the mutex */
	c = open_established_conn(0);
	stubs.drains = true;
	local_bh_disable();
	mpa_conn_request_close(c, IW_LOCAL_CLOSE);
	local_bh_enable();
	expect_fin_of_worker(test, c);

	/* the program must not wait for the owner of the socket */
	c = open_established_conn(0);
	stubs.drains = true;
	stubs.owned = true;
	mpa_conn_request_close(c, IW_LOCAL_CLOSE);
	expect_fin_of_worker(test, c);

	/* an abort may follow, and would then come after a FIN */
	c = open_established_conn(0);
	stubs.drains = true;
	stubs.stream_failed = true;
	mpa_conn_request_close(c, IW_LOCAL_CLOSE);
	expect_fin_of_worker(test, c);

	/* another context has the mutex */
	c = open_established_conn(0);
	stubs.drains = true;
	mpa_conn_lock(c);
	mpa_conn_request_close(c, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 0u, stubs.queued);
	mpa_conn_unlock(c);
	expect_fin_of_worker(test, c);

	/* before Full Operation, the worker tears the connection down */
	c = open_passive_conn();
	mpa_conn_request_close(c, IW_LOCAL_CLOSE);
	KUNIT_EXPECT_EQ(test, 1u, stubs.connq_queued);
	run_worker(c);
	KUNIT_EXPECT_EQ(test, MPA_ENDED, c->phase);
}

/*
 * If there is no memory for the FIN, the worker retries sending it. The retries do not shorten the
 * time limit for unacknowledged data.
 */
static void fin_is_retried_without_memory(struct kunit *test)
{
	struct mpa_conn *c = open_established_conn(4);

	stubs.no_memory = true;
	close_and_run_worker(c, true);
	KUNIT_EXPECT_EQ(test, HZ / 10ul, stubs.delay);
	advance_time_and_run_worker(c, 129);
	expect_end_reports_and_reset(test, 0, false, IW_OK);
	stubs.no_memory = false;
	set_state_event_and_run_worker(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.fins);
	advance_time_and_run_worker(c, 130);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);

	/*
	 * TCP has sent all data, but the transmit path may still send an FPDU that is blocked on a
	 * response
	 */
	c = open_established_conn(0);
	stubs.no_memory = true;
	close_and_run_worker(c, false);
	advance_time_and_run_worker(c, 129);
	expect_end_reports_and_reset(test, 0, false, IW_OK);
	c->drained = true;
	set_state_event_and_run_worker(c);
	advance_time_and_run_worker(c, 10);
	expect_end_reports_and_reset(test, 1, true, IW_TIMEOUT);
}

static struct kunit_case mpa_conn_cases[] = {
	KUNIT_CASE(request_is_reported_once),
	KUNIT_CASE(request_of_closed_peer_is_not_reported),
	KUNIT_CASE(data_after_request_is_error),
	KUNIT_CASE(request_waits_for_tcp_handshake),
	KUNIT_CASE(tcp_handshake_has_time_limit),
	KUNIT_CASE(reply_has_time_limit),
	KUNIT_CASE(request_is_retried_without_memory),
	KUNIT_CASE(request_send_error_ends_conn),
	KUNIT_CASE(failed_retry_with_revision_1_is_reported),
	KUNIT_CASE(unacked_request_is_repeated),
	KUNIT_CASE(fin_inside_fpdu_is_error),
	KUNIT_CASE(data_before_reset_is_received),
	KUNIT_CASE(close_waits_for_slow_acks),
	KUNIT_CASE(close_has_total_time_limit),
	KUNIT_CASE(close_has_time_limit_per_ack),
	KUNIT_CASE(close_ends_when_all_acked),
	KUNIT_CASE(close_limit_is_short_if_all_acked),
	KUNIT_CASE(program_sends_fin_without_worker),
	KUNIT_CASE(worker_closes_if_program_cannot),
	KUNIT_CASE(fin_is_retried_without_memory),
	{}
};

static struct kunit_suite mpa_conn_suite = {
	.name = "mpa_conn",
	.test_cases = mpa_conn_cases,
};

kunit_test_suite(mpa_conn_suite);
