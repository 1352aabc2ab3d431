// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* After the end of a connection all posted requests complete, in order. */
#include <poll.h>
#include <pthread.h>

#include "verbs.h"

static void wait_both_disconnected(struct pair *p)
{
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(p, p->lch, RDMA_CM_EVENT_DISCONNECTED);
}

/* Check for @n completions in order: first successful ones, then only flushed ones */
static void check_flushed_in_order(struct ibv_cq *cq, uint64_t n)
{
	bool flushing = false;
	uint64_t i;

	for (i = 0; i < n; i++) {
		struct ibv_wc wc = wait_next_wc(cq);

		CHECK(wc.wr_id == i, "%llu, want %llu",
		      (unsigned long long)wc.wr_id, (unsigned long long)i);
		if (wc.status == IBV_WC_SUCCESS)
			CHECK(!flushing, "no request may succeed after a flushed one");
		else
			CHECK(wc.status == IBV_WC_WR_FLUSH_ERR, "%s",
			      ibv_wc_status_str(wc.status));
		flushing = wc.status;
	}
	expect_no_completion(cq);
}

static void test_flush_posted(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = 128, .rq = 128, .ord = 2 }, 100000);
	for (i = 0; i < 100; i++) {
		post_recv(&d.p.c, i, &d.c, 0, 10);
		post_recv(&d.p.s, i, &d.s, 0, 10);
	}
	/* post Reads, which are slow, so that the requests posted after them are still pending */
	for (i = 0; i < 100; i++)
		post_job(&d.p.c, &(struct job){
			.id = i, .op = i % 4 ? IBV_WR_SEND : IBV_WR_RDMA_READ,
			.b = &d.c, .flags = SIG, .len = i % 4 ? 10 : 90000,
			.rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)d.s.at });
	move_to_error(&d.p.c);
	check_flushed_in_order(d.p.c.scq, 100);
	check_flushed_in_order(d.p.c.rcq, 100);
	check_flushed_in_order(d.p.s.rcq, 100);
	wait_both_disconnected(&d.p);
	fixture_free(&d);
}

/* In the error state, any number of requests may be posted; each completes immediately */
static void test_flush_late(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = 8, .rq = 8 }, 100);
	move_to_error(&d.p.c);
	for (i = 0; i < 500; i++) {
		post_job(&d.p.c, &(struct job){
			.id = i, .op = IBV_WR_SEND, .b = &d.c, .len = 10 });
		post_recv(&d.p.c, i, &d.c, 0, 10);
		expect_status(d.p.c.scq, i, IBV_WC_WR_FLUSH_ERR);
		expect_status(d.p.c.rcq, i, IBV_WC_WR_FLUSH_ERR);
	}
	wait_both_disconnected(&d.p);
	fixture_free(&d);
}

/* Receives of a QP that was never connected must be flushed */
static void test_flush_unconnected(void)
{
	struct pair p = {};
	uint32_t i;

	pair_prepare(&p, &(struct opts){});
	for (i = 0; i < 20; i++)
		CHECK(!try_post_recv(&p.c, i, NULL, 0, 0), "recv");
	move_to_error(&p.c);
	check_flushed_in_order(p.c.rcq, 20);
	CHECK(query_qp_state(&p.c) == IBV_QPS_ERR, "%d", query_qp_state(&p.c));
	pair_free(&p);
}

static void *post_sends(void *arg)
{
	struct fixture *d = arg;
	uint64_t i, done = 0;

	for (i = 0; i < 1000; i++) {
		while (try_post_job(&d->p.c, &(struct job){
				.id = i, .op = IBV_WR_SEND, .b = &d->c,
				.len = 10, .flags = SIG })) {
			CHECK(wait_next_wc(d->p.c.scq).wr_id == done, "order");
			done++;
		}
	}
	while (done < 1000) {
		CHECK(wait_next_wc(d->p.c.scq).wr_id == done, "order");
		done++;
	}
	return NULL;
}

/* The QP enters the error state while another thread posts: each request completes exactly once */
static void test_flush_race(void)
{
	pthread_t poster;
	struct fixture d;
	uint32_t i, k;

	for (k = 0; k < scale_rounds(24); k++) {
		fixture_open(&d, &(struct opts){ .sq = 16, .rq = 1024,
			     .cqe = 2048 }, 100);
		for (i = 0; i < 1000; i++)
			post_recv(&d.p.s, i, &d.s, 0, 10);
		CHECK(!pthread_create(&poster, NULL, post_sends, &d), "%m");
		usleep(get_random_below(3000));
		move_to_error(k & 1 ? &d.p.s : &d.p.c);
		CHECK(!pthread_join(poster, NULL), "%m");
		expect_no_completion(d.p.c.scq);
		check_flushed_in_order(d.p.s.rcq, 1000);
		wait_both_disconnected(&d.p);
		fixture_free(&d);
	}
}

/* Completions of a QP that are not polled must disappear with the QP */
static void test_unpolled_cqes_vanish_with_qp(void)
{
	struct pair a, b;
	struct buf buf;
	int i;

	pair_open(&a, &(struct opts){});
	pair_open_like(&b, &a);
	buf_create(&buf, 100);
	buf_reg(&buf, a.s.pd, RIGHTS_ALL);
	for (i = 0; i < 10; i++)
		post_recv(&b.s, i, &buf, 0, 10);
	pair_disconnect(&b);
	pair_free(&b);
	expect_no_completion(a.s.rcq);
	post_recv(&a.s, 77, &buf, 0, 10);
	post_job(&a.c, &(struct job){ .op = IBV_WR_SEND });
	expect_recv(a.s.rcq, 77, 0);
	buf_free(&buf);
	pair_close(&a);
}

/* Completions of a destroyed QP must use no entries of a CQ that is not polled */
static void test_destroyed_qp_uses_no_cqes(void)
{
	struct pair b;
	struct fixture d;
	int i;

	fixture_open(&d, &(struct opts){ .rq = 64, .cqe = 64 }, 100);
	pair_open_like(&b, &d.p);
	for (i = 0; i < d.p.s.rcq->cqe; i++)
		post_recv(&b.s, i, &d.s, 0, 10);
	pair_disconnect(&b);
	pair_free(&b);
	post_recv(&d.p.s, 77, &d.s, 0, 10);
	post_job(&d.p.c, &(struct job){ .op = IBV_WR_SEND });
	/* when the Read completes, the Send has also completed at the server */
	post_job(&d.p.c, &(struct job){
		.id = 78, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c,
		.len = 1, .raddr = (uintptr_t)d.s.at,
		.rkey = d.s.mr->rkey });
	expect_success(d.p.c.scq, 78, IBV_WC_RDMA_READ);
	expect_recv(d.p.s.rcq, 77, 0);
	expect_no_async_event(d.p.s.id->verbs);
	fixture_close(&d);
}

#define T(fn, rows)	CASE(#fn, test_##fn, 0, rows)

const struct test flush_tests[] = {
	T(flush_posted, "DDP-82 RDMAP-126"),
	T(flush_late, ""),
	T(flush_unconnected, "DDP-82"),
	CASE("flush_race", test_flush_race, 60, "DDP-82"),
	CASE("destroy_unpolled", test_unpolled_cqes_vanish_with_qp, 0, ""),
	CASE("destroy_full", test_destroyed_qp_uses_no_cqes, 0, ""),
	{}
};
