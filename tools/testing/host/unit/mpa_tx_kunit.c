// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/mpa/tx.c: which context transmits, when and for
 * how long. Sockets, workers, softirq and clock are stubs.
 */
#include "mpa_tx.h"

/* Cases -------------------------------------------------------------------- */

/*
 * If many connections are scheduled together, each run of the softirq stays
 * within its time limit, and every connection transmits
 */
static void softirq_time_is_limited(struct kunit *test)
{
	const u64 most = NSEC_PER_MSEC + BATCHES_PER_PASS * 100000;
	u64 took, longest = 0;
	u32 i, rounds = 0;

	open_conns(CROWD, 10);
	stubs.batch_ns = 100000;
	for (i = 0; i < CROWD; i++)
		mpa_tx_kick(&tx_conns[i].c, false);
	KUNIT_EXPECT_EQ(test, 0u, stubs.tries);
	while ((stubs.raised || stubs.works) && rounds++ < CROWD) {
		took = run_softirq();
		longest = max(longest, took);
		stubs.works = 0;
		for (i = 0; i < CROWD; i++)
			run_worker(&tx_conns[i]);
	}
	KUNIT_EXPECT_LE(test, longest, most);
	KUNIT_EXPECT_GT(test, longest, (u64)NSEC_PER_MSEC - 1);
	KUNIT_EXPECT_EQ(test, 10u * CROWD, stubs.sent);
	expect_all_batches_sent(test, CROWD);
}

/* Small amounts are sent in softirq, in the order of scheduling */
static void small_amounts_are_sent_in_softirq(struct kunit *test)
{
	u32 i;

	open_conns(10, 2);
	stubs.batch_ns = 1000;
	for (i = 0; i < 10; i++)
		mpa_tx_kick(&tx_conns[i].c, false);
	run_softirq();
	KUNIT_EXPECT_EQ(test, 0u, stubs.works);
	for (i = 1; i < 10; i++)
		KUNIT_EXPECT_GT(test, tx_conns[i].done, tx_conns[i - 1].done);
	expect_all_batches_sent(test, 10);
}

/* mpa_tx_kick() must not enable BH if its caller has interrupts off */
static void kick_with_irqs_off_does_not_enable_bh(struct kunit *test)
{
	open_conns(1, 2);
	stubs.irqs_off = true;
	mpa_tx_kick(&tx_conns[0].c, false);
	stubs.irqs_off = false;
	run_softirq();
	KUNIT_EXPECT_EQ(test, 2u, stubs.sent);
	expect_all_batches_sent(test, 1);
}

/* The limit of a batch is computed for the present EMSS */
static void batch_limit_depends_on_emss(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 4);

	stubs.emss = 1448;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 45 * 1448u, stubs.most);
	open_conns(1, 4);
	stubs.emss = 8948;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 7 * 8948u, stubs.most);
	tx_conns[0].left = 4;
	stubs.emss = 536;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 122 * 536u, stubs.most);
}

/*
 * A connection with much data transmits for one pass in softirq; after that its
 * worker continues
 */
static void worker_continues_long_transmission(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 1000);

	mpa_tx_kick(c, false);
	KUNIT_EXPECT_EQ(test, 0u, stubs.works);
	run_softirq();
	KUNIT_EXPECT_EQ(test, (u32)BATCHES_PER_PASS, stubs.sent);
	KUNIT_EXPECT_EQ(test, 1u, stubs.works);
	KUNIT_EXPECT_TRUE(test, !stubs.raised);
	/* one run of the worker makes at most four passes */
	run_worker(tx_conns);
	KUNIT_EXPECT_EQ(test, 5u * BATCHES_PER_PASS, stubs.sent);
	KUNIT_EXPECT_EQ(test, 2u, stubs.works);
	/* the worker does not wait for the socket, which is free */
	KUNIT_EXPECT_EQ(test, 0u, stubs.waits);
	KUNIT_EXPECT_TRUE(test, !stubs.raised);
}

/*
 * A post transmits one pass in the caller's context, and leaves the next pass to
 * the softirq. No context makes two passes in a row.
 */
static void post_transmits_one_pass(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 100);

	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, (u32)BATCHES_PER_PASS, stubs.sent);
	KUNIT_EXPECT_TRUE(test, stubs.raised);
	KUNIT_EXPECT_EQ(test, 0u, stubs.works);
	run_softirq();
	KUNIT_EXPECT_EQ(test, 2u * BATCHES_PER_PASS, stubs.sent);
	KUNIT_EXPECT_TRUE(test, !stubs.raised);
	KUNIT_EXPECT_EQ(test, 1u, stubs.works);
}

/*
 * If the ULP knows of one message only, the batch is sent first, and then the ULP looks for more.
 * Without more, no other batch is built.
 */
static void ulp_looks_for_messages_after_send(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 1);

	tx_conns->one_by_one = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.builds);
	KUNIT_EXPECT_EQ(test, 1u, stubs.looks);
	expect_all_batches_sent(test, 1);

	/* the ULP finds more, so the same pass sends it */
	tx_conns->left = 2;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 3u, stubs.builds);
	KUNIT_EXPECT_EQ(test, 3u, stubs.sent);
	expect_all_batches_sent(test, 1);

	/* after a build that has found no more, the ULP does not look again */
	tx_conns->one_by_one = false;
	tx_conns->left = 1;
	stubs.looks = 0;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 0u, stubs.looks);
	expect_all_batches_sent(test, 1);
}

/*
 * A short batch of a posting program is delivered before its requests complete. A long one, one of
 * another context, and one on a machine with a single CPU is delivered after the pass.
 */
static void short_posted_batch_is_delivered_early(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 1);

	stubs.batch_len = 4096;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered_by_owner);
	expect_all_batches_sent(test, 1);
	tx_conns->left = 1;
	stubs.one_cpu = true;
	mpa_tx_push(c);
	stubs.one_cpu = false;
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered_by_owner);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered_later);
	tx_conns->left = 1;
	stubs.batch_len = 4097;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered_by_owner);
	KUNIT_EXPECT_EQ(test, 2u, stubs.delivered_later);
	expect_all_batches_sent(test, 1);
	tx_conns->left = 1;
	stubs.batch_len = 1;
	mpa_tx_kick(c, true);
	run_worker(tx_conns);
	KUNIT_EXPECT_EQ(test, 1u, stubs.delivered_by_owner);
	KUNIT_EXPECT_EQ(test, 3u, stubs.delivered_later);
	expect_all_batches_sent(test, 1);
	KUNIT_EXPECT_EQ(test, 0, stubs.preempt_off);
}

/*
 * A graceful close needs a pull that finds nothing: only that one shows whether messages are
 * blocked or expected
 */
static void close_needs_pull_that_finds_nothing(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 1);

	tx_conns->one_by_one = true;
	c->closing = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 2u, stubs.builds);
	KUNIT_EXPECT_TRUE(test, c->drained);
	expect_all_batches_sent(test, 1);
}

/*
 * Without memory, sending is retried with increasing delays. Scheduling the
 * connection meanwhile does not shorten the delay.
 */
static void send_without_memory_retries_with_backoff(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 3);
	unsigned long want = 1;
	u32 i;

	stubs.err = -ENOMEM;
	mpa_tx_kick(c, false);
	run_softirq();
	for (i = 0; i < 15; i++) {
		KUNIT_EXPECT_EQ(test, i + 1, stubs.tries);
		KUNIT_EXPECT_EQ(test, want, stubs.ms);
		mpa_tx_kick(c, false);
		mpa_tx_push(c);
		KUNIT_EXPECT_TRUE(test, !stubs.raised);
		KUNIT_EXPECT_EQ(test, 0u, tx_conns->works);
		KUNIT_ASSERT_TRUE(test, run_timer());
		run_worker(tx_conns);
		want = min(2 * want, 1000ul);
	}
	stubs.err = 0;
	run_timer();
	run_worker(tx_conns);
	expect_all_batches_sent(test, 1);

	/* the next shortage begins with the smallest delay again */
	tx_conns->left = 1;
	stubs.err = -ENOMEM;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 1ul, stubs.ms);
}

/* Without send buffer space there is no retry: TCP reports when there is space */
static void full_sndbuf_needs_no_retry(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 3);

	stubs.err = -EAGAIN;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 1u, stubs.tries);
	KUNIT_EXPECT_TRUE(test, !stubs.raised && !stubs.timer);
	KUNIT_EXPECT_EQ(test, 0u, stubs.works);
	stubs.err = 0;
	mpa_tx_kick(c, false);
	run_softirq();
	expect_all_batches_sent(test, 1);
}

/*
 * If the socket is in use, the softirq tries once. Then the worker waits for
 * the socket, without owning the transmit side.
 */
static void worker_waits_for_busy_socket(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 3);

	stubs.err = -EBUSY;
	mpa_tx_push(c);
	run_softirq();
	KUNIT_EXPECT_EQ(test, 2u, stubs.tries);
	KUNIT_EXPECT_EQ(test, 0u, stubs.waits);
	KUNIT_EXPECT_EQ(test, 1u, stubs.works);
	stubs.works = 0;
	run_worker(tx_conns);
	KUNIT_EXPECT_EQ(test, 4u, stubs.waits);
	KUNIT_EXPECT_EQ(test, 1u, stubs.works);
	KUNIT_EXPECT_EQ(test, MPA_TX_PENDING, c->tx.v);
	stubs.err = 0;
	run_worker(tx_conns);
	expect_all_batches_sent(test, 1);
}

/*
 * A responder that is closing, with @batches batches held back because no FPDU
 * has arrived yet
 */
static struct mpa_conn *open_closing_responder(u32 batches)
{
	struct mpa_conn *c = open_conns(1, batches);

	c->tx_permitted = false;
	c->closing = true;
	mpa_tx_push(c);
	return c;
}

/* While the peer's first FPDU may still arrive, a close waits for the batches held back */
static void close_waits_for_held_batches(struct kunit *test)
{
	struct mpa_conn *c = open_closing_responder(2);

	KUNIT_EXPECT_FALSE(test, c->drained);
	c->tx_permitted = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_EQ(test, 2u, stubs.sent);
	KUNIT_EXPECT_TRUE(test, c->drained);
	expect_all_batches_sent(test, 1);
}

/* When the peer has closed, its first FPDU cannot arrive: a close does not wait for the batches */
static void closed_peer_ends_close_wait(struct kunit *test)
{
	struct mpa_conn *c = open_closing_responder(2);

	c->peer_closed = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_TRUE(test, c->drained);
	KUNIT_EXPECT_EQ(test, 0u, stubs.tries);

	c = open_closing_responder(2);
	c->rx_stopped = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_TRUE(test, c->drained);
}

/* If no batch is held back, a close does not wait for the peer's first FPDU */
static void close_needs_no_fpdu_without_batches(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, open_closing_responder(0)->drained);
}

/*
 * A close waits for work requests that cannot be sent before a response from the
 * peer arrives, unless the peer has closed and therefore cannot respond
 */
static void close_waits_for_response(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 0);

	tx_conns[0].stream.tx_blocked = true;
	c->closing = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_FALSE(test, c->drained);
	/* the transmit path does not run again and again to wait for the response */
	KUNIT_EXPECT_EQ(test, 0, c->tx.v);
	c->peer_closed = true;
	tx_conns[0].stream.tx_expects_kick = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_FALSE(test, c->drained);
	tx_conns[0].stream.tx_expects_kick = false;
	mpa_tx_push(c);
	KUNIT_EXPECT_TRUE(test, c->drained);
}

/*
 * Responses requested by the peer after the transmit path was drained are not
 * sent before the FIN
 */
static void no_response_is_sent_after_drain(struct kunit *test)
{
	struct mpa_conn *c = open_conns(1, 0);

	c->closing = true;
	mpa_tx_push(c);
	KUNIT_EXPECT_TRUE(test, c->drained);
	tx_conns[0].left = 2;
	/*
	 * if the transmit path sent anything, TCP would accept only a part of
	 * the first batch
	 */
	stubs.err = -EAGAIN;
	mpa_tx_kick(c, false);
	run_softirq();
	KUNIT_EXPECT_EQ(test, 0u, stubs.tries);
	KUNIT_EXPECT_EQ(test, 0u, c->out.len);
	KUNIT_EXPECT_EQ(test, 0, c->tx.v);
}

static struct kunit_case mpa_tx_cases[] = {
	KUNIT_CASE(softirq_time_is_limited),
	KUNIT_CASE(small_amounts_are_sent_in_softirq),
	KUNIT_CASE(batch_limit_depends_on_emss),
	KUNIT_CASE(ulp_looks_for_messages_after_send),
	KUNIT_CASE(close_needs_pull_that_finds_nothing),
	KUNIT_CASE(short_posted_batch_is_delivered_early),
	KUNIT_CASE(kick_with_irqs_off_does_not_enable_bh),
	KUNIT_CASE(worker_continues_long_transmission),
	KUNIT_CASE(post_transmits_one_pass),
	KUNIT_CASE(send_without_memory_retries_with_backoff),
	KUNIT_CASE(full_sndbuf_needs_no_retry),
	KUNIT_CASE(worker_waits_for_busy_socket),
	KUNIT_CASE(close_waits_for_held_batches),
	KUNIT_CASE(closed_peer_ends_close_wait),
	KUNIT_CASE(close_needs_no_fpdu_without_batches),
	KUNIT_CASE(close_waits_for_response),
	KUNIT_CASE(no_response_is_sent_after_drain),
	{}
};

static struct kunit_suite mpa_tx_suite = {
	.name = "mpa_tx",
	.test_cases = mpa_tx_cases,
};

kunit_test_suite(mpa_tx_suite);
