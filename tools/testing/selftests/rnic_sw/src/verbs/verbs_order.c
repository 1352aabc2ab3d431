// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Order of messages and completions. */
#include "verbs.h"

#define PIECE	997u

/* Post more Reads, of different lengths, than ORD allows to be in flight */
static void test_more_reads_than_ord(void)
{
	const uint32_t n = 100;
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = 128, .ord = 4, .ird = 4 },
		     n * PIECE);
	for (i = 0; i < n; i++)
		buf_fill(&d.s, i * PIECE, PIECE, i);
	for (i = 0; i < n; i++)
		post_job(&d.p.c, &(struct job){
			.id = i, .op = IBV_WR_RDMA_READ, .flags = SIG,
			.b = &d.c, .off = i * PIECE, .len = PIECE - i,
			.rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)(d.s.at + i * PIECE) });
	for (i = 0; i < n; i++) {
		struct ibv_wc wc = wait_next_wc(d.p.c.scq);

		CHECK(wc.wr_id == i && !wc.status && wc.byte_len == PIECE - i,
		      "%u: %llu, %s, %u bytes", i,
		      (unsigned long long)wc.wr_id,
		      ibv_wc_status_str(wc.status), wc.byte_len);
		buf_expect_pattern(&d.c, i * PIECE, PIECE - i, i);
	}
	for (i = 0; i < n; i++)
		if (i)
			buf_expect_clear(&d.c, (i + 1) * PIECE - i, i);
	fixture_close(&d);
}

/* Post Reads in both directions at the same time, more than ORD allows to be in flight */
static void test_reads_both_ways(void)
{
	const uint32_t n = 64;
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = 64, .ord = 3, .ird = 3 },
		     2 * n * PIECE);
	buf_fill(&d.s, 0, n * PIECE, 1);
	buf_fill(&d.c, 0, n * PIECE, 2);
	for (i = 0; i < n; i++) {
		post_job(&d.p.c, &(struct job){
			.id = i, .op = IBV_WR_RDMA_READ, .flags = SIG,
			.b = &d.c, .off = (n + i) * PIECE, .len = PIECE,
			.rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)(d.s.at + i * PIECE) });
		post_job(&d.p.s, &(struct job){
			.id = i, .op = IBV_WR_RDMA_READ, .flags = SIG,
			.b = &d.s, .off = (n + i) * PIECE, .len = PIECE,
			.rkey = d.c.mr->rkey,
			.raddr = (uintptr_t)(d.c.at + i * PIECE) });
	}
	for (i = 0; i < n; i++) {
		expect_success(d.p.c.scq, i, IBV_WC_RDMA_READ);
		expect_success(d.p.s.scq, i, IBV_WC_RDMA_READ);
	}
	buf_expect_pattern(&d.c, n * PIECE, n * PIECE, 1);
	buf_expect_pattern(&d.s, n * PIECE, n * PIECE, 2);
	fixture_close(&d);
}

/* A fenced Send or Write must send the data that the preceding Read has fetched */
static void run_fence_round(struct fixture *d, uint32_t seed, enum ibv_wr_opcode op)
{
	const uint32_t len = 30000;
	uint32_t i;

	buf_fill(&d->s, 0, len, seed);
	buf_clear(&d->c);
	post_recv(&d->p.s, 2, &d->s, len, op == IBV_WR_SEND ? len : 0);
	for (i = 0; i < len; i += len / 3)
		post_job(&d->p.c, &(struct job){
			.id = 1, .op = IBV_WR_RDMA_READ, .b = &d->c, .off = i,
			.len = len / 3, .rkey = d->s.mr->rkey,
			.raddr = (uintptr_t)(d->s.at + i) });
	post_job(&d->p.c, &(struct job){
		.id = 2, .op = op, .flags = SIG | IBV_SEND_FENCE, .b = &d->c,
		.len = len, .rkey = d->s.mr->rkey,
		.raddr = (uintptr_t)(d->s.at + len) });
	if (op != IBV_WR_SEND)
		post_job(&d->p.c, &(struct job){ .id = 3, .op = IBV_WR_SEND });
	expect_success(d->p.c.scq, 2, op == IBV_WR_SEND ? IBV_WC_SEND :
						   IBV_WC_RDMA_WRITE);
	expect_recv(d->p.s.rcq, 2, op == IBV_WR_SEND ? len : 0);
	buf_expect_pattern(&d->s, len, len, seed);
}

static void test_fence(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){}, 60000);
	for (i = 0; i < 20; i++)
		run_fence_round(&d, i, i & 1 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE);
	fixture_close(&d);
}

/* A Read after a Write to the same memory must return the bytes of the Write */
static void test_write_then_read(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){}, 20000);
	for (i = 0; i < 50; i++) {
		uint32_t len = 1 + i * 191;

		buf_fill(&d.c, 0, len, i);
		post_job(&d.p.c, &(struct job){
			.id = 1, .op = IBV_WR_RDMA_WRITE, .b = &d.c, .len = len,
			.rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)d.s.at + i });
		post_job(&d.p.c, &(struct job){
			.id = 2, .op = IBV_WR_RDMA_READ, .flags = SIG,
			.b = &d.c, .off = 10000, .len = len,
			.rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)d.s.at + i });
		expect_success(d.p.c.scq, 2, IBV_WC_RDMA_READ);
		buf_expect_pattern(&d.c, 10000, len, i);
	}
	fixture_close(&d);
}

/* Post a random operation.  Any mixture must complete in the order of posting. */
static enum ibv_wc_opcode post_random_operation(struct fixture *d, uint32_t i, uint32_t len)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	static const enum ibv_wc_opcode wcs[] = {
		IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
	};
	uint32_t what = get_random_below(3);
	uint32_t half = d->c.len / 2;

	if (ops[what] == IBV_WR_SEND)
		post_recv(&d->p.s, i, &d->s, half, half);
	post_job(&d->p.c, &(struct job){
		.id = i, .op = ops[what], .flags = SIG, .b = &d->c,
		.off = what == 2 ? half : 0, .len = len,
		.rkey = d->s.mr->rkey, .raddr = (uintptr_t)d->s.at });
	return wcs[what];
}

static void test_mixed_order(void)
{
	enum ibv_wc_opcode wcs[64];
	uint32_t i, j, k, len[64];
	struct fixture d;

	fixture_open(&d, &(struct opts){ .cqe = 64, .ord = 5, .ird = 5 }, 60000);
	for (i = 0; i < 40; i++) {
		uint32_t n = 1 + get_random_below(64);

		for (j = 0; j < n; j++) {
			len[j] = get_random_below(4) ? get_random_below(300) :
			get_random_below(30000);
			wcs[j] = post_random_operation(&d, j, len[j]);
		}
		for (j = 0; j < n; j++)
			expect_success(d.p.c.scq, j, wcs[j]);
		/* receives must complete in the order of the Sends, each with the right data */
		for (k = 0; k < n; k++)
			if (wcs[k] == IBV_WC_SEND)
				expect_recv(d.p.s.rcq, k, len[k]);
	}
	expect_no_completion(d.p.c.scq);
	expect_no_completion(d.p.s.rcq);
	fixture_close(&d);
}

/*
 * Post empty Reads directly after long ones, so that the responder still sends the response to a
 * long one when the empty one arrives
 */
static void test_empty_read_after_long(void)
{
	const uint32_t n = 60;
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = n, .ord = 5, .ird = 5 }, 60000);
	for (i = 0; i < n; i++)
		post_job(&d.p.c, &(struct job){
			.id = i, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c,
			.len = i % 2 ? 0 : d.c.len, .rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)d.s.at });
	for (i = 0; i < n; i++)
		expect_success(d.p.c.scq, i, IBV_WC_RDMA_READ);
	fixture_close(&d);
}

/* Receives must complete in the order of the Sends, each with the right data */
static void test_sends_in_order(void)
{
	const uint32_t n = 60;
	uint32_t i, round;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, n * PIECE);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < n; i++) {
			buf_fill(&d.c, i * PIECE, PIECE - i, round + i);
			post_recv(&d.p.s, i, &d.s, i * PIECE, PIECE);
		}
		for (i = 0; i < n; i++)
			post_send(&d.p.c, i, &d.c, i * PIECE, PIECE - i);
		for (i = 0; i < n; i++) {
			expect_recv(d.p.s.rcq, i, PIECE - i);
			buf_expect_pattern(&d.s, i * PIECE, PIECE - i, round + i);
		}
		for (i = 0; i < n; i++)
			expect_success(d.p.c.scq, i, IBV_WC_SEND);
	}
	fixture_close(&d);
}

/* Fill both CQs with @n completions, without polling */
static void fill_cqs(struct pair *p, int qps, int n)
{
	uint64_t until = now_ms() + scale_timeout(WC_MS);
	volatile uint32_t *any;
	int i;

	for (i = 0; i < n; i++) {
		post_recv(&p[i % qps].s, i / qps, NULL, 0, 0);
		post_send(&p[i % qps].c, i / qps, NULL, 0, 0);
	}
	while (find_rings_with_prod(n, &any) < 2) {
		CHECK(now_ms() < until, "both CQs must become full");
		sleep_ms(1);
	}
}

/*
 * Several connections share CQs that have exactly as many entries as there are completions.  All
 * entries must be used, no completion may be lost, and those of each connection must be in order.
 */
static void test_shared_cq(void)
{
	enum { QPS = 6 };
	uint64_t next[QPS] = {};
	struct pair p[QPS];
	int i, k, places;

	pair_open(&p[0], &(struct opts){ .cqe = 180 });
	for (i = 1; i < QPS; i++)
		pair_open_like(&p[i], &p[0]);
	places = p[0].s.rcq->cqe;
	CHECK(places == p[0].c.scq->cqe && places <= 64 * QPS, "%d", places);
	fill_cqs(p, QPS, places);
	expect_no_async_event(p[0].s.id->verbs);
	for (k = 0; k < places; k++) {
		struct ibv_wc wc = wait_next_wc(p[0].s.rcq);

		for (i = 0; p[i].s.qp->qp_num != wc.qp_num; i++)
			CHECK(i < QPS - 1, "QP %u must belong to this case", wc.qp_num);
		CHECK(!wc.status && wc.wr_id == next[i]++, "%s, %llu",
		      ibv_wc_status_str(wc.status),
		      (unsigned long long)wc.wr_id);
		CHECK(!wait_next_wc(p[0].c.scq).status, "send");
	}
	for (i = QPS - 1; i >= 0; i--)
		pair_close(&p[i]);
}

const struct test order_tests[] = {
	CASE("reads_many", test_more_reads_than_ord, 0,
	     "RDMAP-72 RDMAP-82 RDMAP-86 RDMAP-121 SEC-33"),
	CASE("reads_both_ways", test_reads_both_ways, 0, "RDMAP-67 RDMAP-82"),
	CASE("fence", test_fence, 0, ""),
	CASE("write_then_read", test_write_then_read, 0, "RDMAP-122 RDMAP-137"),
	CASE("mixed_order", test_mixed_order, 0, "DDP-58 DDP-59 RDMAP-124 RDMAP-126"),
	CASE("empty_read_after_long", test_empty_read_after_long, 0, "RDMAP-67"),
	CASE("sends_in_order", test_sends_in_order, 0, "DDP-63 DDP-64 RDMAP-94 RDMAP-120"),
	CASE("shared_cq", test_shared_cq, 0, ""),
	{}
};
