// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Ways to post: lists, wrapping rings, signalling, the extended interface. */
#include <pthread.h>
#include <sched.h>

#include "verbs.h"

/* Unsignalled requests must get no CQE, and must free their entries of the send queue */
static void test_unsignalled(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sq = 16, .rq = 128 }, 100);
	for (i = 1; i <= 7 * 16; i++) {
		buf_fill(&d.c, 0, 50, i);
		post_recv(&d.p.s, i, &d.s, 0, 100);
		post_job(&d.p.c, &(struct job){
			.id = i, .op = IBV_WR_SEND, .b = &d.c, .len = 50,
			.flags = i % 7 ? 0 : SIG });
		if (i % 7 == 0)
			expect_success(d.p.c.scq, i, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, i, 50);
		buf_expect_pattern(&d.s, 0, 50, i);
	}
	expect_no_completion(d.p.c.scq);
	fixture_close(&d);
}

/* With sq_sig_all, each request must get a CQE */
static void test_sig_all(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .sig_all = true }, 100);
	for (i = 0; i < 20; i++) {
		post_recv(&d.p.s, i, &d.s, 0, 100);
		post_job(&d.p.c, &(struct job){
			.id = i, .op = IBV_WR_SEND, .b = &d.c, .len = 3 });
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
	}
	fixture_close(&d);
}

enum { LIST = 64 };

static void make_send_list(struct ibv_send_wr *wr, struct ibv_sge *sge,
			   const struct buf *b)
{
	int i;

	memset(wr, 0, LIST * sizeof(*wr));
	for (i = 0; i < LIST; i++) {
		sge[i].addr = (uintptr_t)(b->at + i * 10);
		sge[i].length = i % 10;
		sge[i].lkey = b->mr->lkey;
		wr[i].wr_id = i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = SIG;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].next = i + 1 < LIST ? &wr[i + 1] : NULL;
	}
}

static void test_post_list(void)
{
	struct ibv_send_wr wr[LIST], *bad;
	struct ibv_recv_wr rwr[LIST] = {}, *rbad;
	struct ibv_sge sge[LIST], rsge[LIST];
	struct fixture d;
	int i;

	fixture_open(&d, &(struct opts){ .sq = LIST, .rq = LIST }, 10 * LIST);
	buf_fill(&d.c, 0, 10 * LIST, 5);
	make_send_list(wr, sge, &d.c);
	for (i = 0; i < LIST; i++) {
		rsge[i] = sge[i];
		rsge[i].addr = (uintptr_t)(d.s.at + i * 10);
		rsge[i].lkey = d.s.mr->lkey;
		rwr[i].wr_id = i;
		rwr[i].sg_list = &rsge[i];
		rwr[i].num_sge = 1;
		rwr[i].next = i + 1 < LIST ? &rwr[i + 1] : NULL;
	}
	CHECK(!ibv_post_recv(d.p.s.qp, rwr, &rbad), "recv");
	CHECK(!ibv_post_send(d.p.c.qp, wr, &bad), "send");
	for (i = 0; i < LIST; i++) {
		expect_recv(d.p.s.rcq, i, i % 10);
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
		CHECK(!memcmp(d.s.at + 10 * i, d.c.at + 10 * i, i % 10), "%d",
		      i);
	}
	fixture_close(&d);
}

/* If a list has an invalid request, only the requests before it must be posted */
static void test_post_list_bad(void)
{
	struct ibv_send_wr wr[LIST], *bad = NULL;
	struct ibv_sge sge[LIST];
	struct fixture d;
	int i, err;

	fixture_open(&d, &(struct opts){ .sq = LIST, .rq = LIST }, 10 * LIST);
	make_send_list(wr, sge, &d.c);
	for (i = 0; i < LIST; i++)
		post_recv(&d.p.s, i, &d.s, 0, 100);
	wr[20].num_sge = 17;
	err = ibv_post_send(d.p.c.qp, wr, &bad);
	CHECK(err == EINVAL, "%s", strerror(err));
	CHECK(bad == &wr[20], "bad_wr is request %td", bad - wr);
	for (i = 0; i < 20; i++)
		expect_recv(d.p.s.rcq, i, i % 10);
	for (i = 0; i < 20; i++)
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
	expect_no_completion(d.p.s.rcq);
	fixture_close(&d);
}

/* Fill @wr with five requests: Writes, with the bind and invalidation of a window between them */
static void make_mixed_list(struct ibv_send_wr *wr, struct ibv_sge *sge, const struct fixture *d,
			    struct ibv_mw *mw)
{
	int i;

	make_send_list(wr, sge, &d->c);
	for (i = 0; i < 5; i++) {
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].wr.rdma.remote_addr = (uintptr_t)(d->s.at + i * 10);
		wr[i].wr.rdma.rkey = d->s.mr->rkey;
		sge[i].length = 10;
	}
	wr[4].next = NULL;
	wr[1].opcode = IBV_WR_BIND_MW;
	wr[1].bind_mw.mw = mw;
	wr[1].bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr[1].bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = d->c.mr, .addr = (uintptr_t)d->c.at, .length = 50,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	wr[3].opcode = IBV_WR_LOCAL_INV;
	wr[3].invalidate_rkey = ibv_inc_rkey(mw->rkey);
	wr[1].num_sge = 0;
	wr[3].num_sge = 0;
}

/* Local operations must take effect in order, whatever MR the previous request has used */
static void test_post_list_mixed(void)
{
	static const enum ibv_wc_opcode told[] = {
		IBV_WC_RDMA_WRITE, IBV_WC_BIND_MW, IBV_WC_RDMA_WRITE, IBV_WC_LOCAL_INV,
		IBV_WC_RDMA_WRITE,
	};
	struct ibv_send_wr wr[LIST], *bad;
	struct ibv_sge sge[LIST];
	struct ibv_mw *mw;
	struct fixture d;
	int i, round;

	fixture_open(&d, &(struct opts){}, 10 * LIST);
	CHECK(!ibv_dereg_mr(d.c.mr), "%m");
	buf_reg(&d.c, d.p.c.pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(d.p.c.pd, IBV_MW_TYPE_2);
	CHECK(mw, "alloc_mw: %m");
	for (round = 0; round < 20; round++) {
		buf_fill(&d.c, 0, 50, round);
		make_mixed_list(wr, sge, &d, mw);
		CHECK(!ibv_post_send(d.p.c.qp, wr, &bad), "send");
		for (i = 0; i < 5; i++)
			expect_success(d.p.c.scq, i, told[i]);
	}
	post_recv(&d.p.s, 1, &d.s, 500, 1);
	post_send(&d.p.c, 2, &d.c, 0, 1);
	expect_recv(d.p.s.rcq, 1, 1);
	for (i = 0; i < 5; i += 2)
		CHECK(!memcmp(d.s.at + 10 * i, d.c.at + 10 * i, 10), "%d", i);
	expect_success(d.p.c.scq, 2, IBV_WC_SEND);
	CHECK(!ibv_dealloc_mw(mw), "%m");
	fixture_close(&d);
}

/* A queue must accept as many requests as it has entries */
static void test_post_full(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint32_t n = 0, rn = 0;
	struct pair p;
	int err;

	memset(&p, 0, sizeof(p));
	pair_prepare(&p, &(struct opts){ .sq = 5, .rq = 5 });
	CHECK(!ibv_query_qp(p.c.qp, &attr, IBV_QP_CAP, &init), "%m");
	CHECK(attr.cap.max_recv_wr >= 5, "%u", attr.cap.max_recv_wr);
	while (!(err = try_post_recv(&p.c, rn, NULL, 0, 0)))
		CHECK(++rn < 10000, "endless");
	CHECK(err == ENOMEM, "%s", strerror(err));
	CHECK(rn == attr.cap.max_recv_wr, "%u of %u", rn,
	      attr.cap.max_recv_wr);
	/*
	 * the QP is not connected: the provider accepts as many requests as the queue has entries,
	 * or refuses all of them
	 */
	while (!(err = try_post_job(&p.c, &(struct job){ .op = IBV_WR_SEND })))
		CHECK(++n < 10000, "endless");
	CHECK(n == attr.cap.max_send_wr || !n, "%u of %u", n,
	      attr.cap.max_send_wr);
	pair_free(&p);
}

/* Send thousands of messages through rings of eight entries */
static void test_wrap_around(void)
{
	uint32_t sent = 0, got = 0, done = 0, posted = 0;
	const uint32_t n = scale_rounds(8000);
	struct ibv_wc wc;
	struct fixture d;

	fixture_open(&d, &(struct opts){ .sq = 8, .rq = 8, .cqe = 8 }, 8 * 128);
	while (got < n) {
		for (; posted < n && posted < got + 8; posted++)
			post_recv(&d.p.s, posted, &d.s, posted % 8 * 128, 128);
		for (; sent < posted && sent < done + 8; sent++) {
			buf_fill(&d.c, sent % 8 * 128, sent % 128, sent);
			post_send(&d.p.c, sent, &d.c, sent % 8 * 128, sent % 128);
		}
		if (ibv_poll_cq(d.p.c.scq, 1, &wc))
			CHECK(!wc.status && wc.wr_id == done++, "%llu: %s",
			      (unsigned long long)wc.wr_id,
			      ibv_wc_status_str(wc.status));
		if (ibv_poll_cq(d.p.s.rcq, 1, &wc)) {
			CHECK(!wc.status && wc.wr_id == got &&
			      wc.byte_len == got % 128, "%u: %s", got,
			      ibv_wc_status_str(wc.status));
			buf_expect_pattern(&d.s, got % 8 * 128, got % 128, got);
			got++;
		} else {
			sched_yield();
		}
	}
	fixture_close(&d);
}

/*
 * Run one end of a ping-pong in which two threads send one message at a time: no doorbell may be
 * lost. The receive for the first message is already posted.
 */
static void run_ping_pong_end(struct end *e, struct buf *b, bool first)
{
	const uint32_t turns = scale_rounds(10000);
	uint32_t i;

	for (i = 0; i < turns; i++) {
		if (first || i) {
			post_recv(e, i, b, 0, 8);
			buf_fill(b, 8, 8, i + first);
			post_send(e, i, b, 8, 8);
			expect_success(e->scq, i, IBV_WC_SEND);
		}
		expect_recv(e->rcq, i, 8);
		buf_expect_pattern(b, 0, 8, i + 1);
	}
	if (first)
		return;
	buf_fill(b, 8, 8, turns);
	post_send(e, turns, b, 8, 8);
	expect_success(e->scq, turns, IBV_WC_SEND);
}

static void *run_second_end(void *arg)
{
	struct fixture *d = arg;

	run_ping_pong_end(&d->p.s, &d->s, false);
	return NULL;
}

static void run_ping_pong(struct fixture *d)
{
	pthread_t other;

	post_recv(&d->p.s, 0, &d->s, 0, 8);
	CHECK(!pthread_create(&other, NULL, run_second_end, d), "%m");
	run_ping_pong_end(&d->p.c, &d->c, true);
	CHECK(!pthread_join(other, NULL), "%m");
	expect_no_completion(d->p.c.scq);
}

static void test_ping_pong(void)
{
	struct fixture d;

	fixture_open(&d, &(struct opts){ .sq = 4, .rq = 4 }, 16);
	run_ping_pong(&d);
	fixture_close(&d);
}

/*
 * Doorbell coalescing must not delay a ping-pong: the kernel must soon stop it, because no other
 * request follows a message
 */
static void test_ping_not_coalesced(void)
{
	struct fixture d;
	uint64_t was;

	fixture_open(&d, &(struct opts){ .sq = 4, .rq = 4 }, 16);
	was = read_counter(&d.p.c, "tx_coalesced");
	run_ping_pong(&d);
	was = read_counter(&d.p.c, "tx_coalesced") - was;
	CHECK(was <= 2 * 10, "%llu doorbells were coalesced", (unsigned long long)was);
	fixture_close(&d);
}

#define EX_OPS	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | \
		 IBV_QP_EX_WITH_RDMA_READ)

static void post_batch_by_wr_api(struct fixture *d, struct ibv_qp_ex *ex, uint32_t seed)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)d->c.at, 100, d->c.mr->lkey },
		{ (uintptr_t)d->c.at + 100, 77, d->c.mr->lkey },
	};

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = 0;
	ibv_wr_rdma_write(ex, d->s.mr->rkey, (uintptr_t)d->s.at + 1000);
	ibv_wr_set_sge_list(ex, 2, sge);
	ex->wr_id = 2;
	ex->wr_flags = SIG;
	ibv_wr_rdma_read(ex, d->s.mr->rkey, (uintptr_t)d->s.at + 1000);
	ibv_wr_set_sge(ex, d->c.mr->lkey, (uintptr_t)d->c.at + 500, 177);
	ex->wr_id = 3;
	ex->wr_flags = SIG | IBV_SEND_INLINE;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, d->c.at, seed % 60);
	CHECK(!ibv_wr_complete(ex), "wr_complete");
}

static void test_wr_api(void)
{
	struct ibv_qp_ex *ex;
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){ .send_ops = EX_OPS, .ssge = 2, .inl = 64,
		     .sq = 8 }, 2000);
	ex = ibv_qp_to_qp_ex(d.p.c.qp);
	CHECK(ex, "a QP with ibv_wr_*() must exist");
	for (i = 0; i < 100; i++) {
		buf_fill(&d.c, 0, 177, i);
		post_recv(&d.p.s, i, &d.s, 0, 60);
		post_batch_by_wr_api(&d, ex, i);
		expect_success(d.p.c.scq, 2, IBV_WC_RDMA_READ);
		expect_success(d.p.c.scq, 3, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, i, i % 60);
		buf_expect_pattern(&d.s, 0, i % 60, i);
		buf_expect_pattern(&d.s, 1000, 177, i);
		buf_expect_pattern(&d.c, 500, 177, i);
	}
	fixture_close(&d);
}

/* Aborted or invalid batches must have no effect */
static void test_wr_api_abort(void)
{
	struct ibv_qp_ex *ex;
	struct fixture d;
	int i, err;

	fixture_open(&d, &(struct opts){ .send_ops = EX_OPS, .sq = 8 }, 100);
	ex = ibv_qp_to_qp_ex(d.p.c.qp);
	for (i = 0; i < 30; i++) {
		ibv_wr_start(ex);
		ex->wr_flags = SIG;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, d.c.mr->lkey, (uintptr_t)d.c.at, 10);
		ibv_wr_abort(ex);
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, d.c.at, 100000);
		err = ibv_wr_complete(ex);
		CHECK(err == EINVAL, "%s", strerror(err));
	}
	post_recv(&d.p.s, 1, &d.s, 0, 100);
	post_send(&d.p.c, 2, &d.c, 0, 33);
	expect_success(d.p.c.scq, 2, IBV_WC_SEND);
	expect_recv(d.p.s.rcq, 1, 33);
	expect_no_completion(d.p.c.scq);
	fixture_close(&d);
}

const struct test post_tests[] = {
	CASE("unsignalled", test_unsignalled, 0, ""),
	CASE("sig_all", test_sig_all, 0, ""),
	CASE("post_list", test_post_list, 0, "RDMAP-98 DDP-8"),
	CASE("post_list_bad", test_post_list_bad, 0, ""),
	CASE("post_list_mixed", test_post_list_mixed, 0, ""),
	CASE("post_full", test_post_full, 0, ""),
	CASE("wrap_around", test_wrap_around, 0, "DDP-41 DDP-63 DDP-64"),
	CASE("ping_pong", test_ping_pong, 60, "the ABI: need-wakeup"),
	CASE("ping_not_coalesced", test_ping_not_coalesced, 60, "the ABI: need-wakeup"),
	CASE("wr_api", test_wr_api, 0, "the ABI: ibv_wr_*"),
	CASE("wr_api_abort", test_wr_api_abort, 0, "the ABI: ibv_wr_abort"),
	{}
};
