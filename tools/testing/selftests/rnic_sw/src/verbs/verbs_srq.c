// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Shared receive queues. */
#include "verbs.h"

#define DEPTH	16

/* Two connections whose server ends share an SRQ */
struct twins {
	struct fixture	d;
	struct pair	q;
};

static void twins_open(struct twins *t)
{
	fixture_open(&t->d, &(struct opts){ .srq = DEPTH }, 1000);
	pair_open_like(&t->q, &t->d.p);
}

static void twins_close(struct twins *t)
{
	pair_close(&t->q);
	fixture_close(&t->d);
}

static int try_post_srq_recv(struct ibv_srq *srq, uint64_t id, const struct buf *b,
			     uint32_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b->at, .length = len, .lkey = b->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static void post_srq_recv_of_twins(struct twins *t, uint64_t id)
{
	CHECK(!try_post_srq_recv(t->d.p.s.srq, id, &t->d.s, 1000), "%m");
}

static void send_and_expect_success(struct twins *t, struct pair *p, uint32_t len)
{
	post_send(&p->c, 7, &t->d.c, 0, len);
	expect_success(p->c.scq, 7, IBV_WC_SEND);
}

static void check_received(struct twins *t, uint64_t id, struct pair *p, uint32_t len)
{
	struct ibv_wc wc = wait_next_wc(t->d.p.s.rcq);

	CHECK(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	CHECK(wc.wr_id == id && wc.byte_len == len, "%llu, %u",
	      (unsigned long long)wc.wr_id, wc.byte_len);
	CHECK(wc.qp_num == p->s.qp->qp_num, "%u", wc.qp_num);
}

/* Both connections must use the receives of the SRQ in the order of posting */
static void test_in_order(void)
{
	struct twins t;
	uint32_t i;

	twins_open(&t);
	for (i = 0; i < DEPTH; i++)
		post_srq_recv_of_twins(&t, i);
	CHECK(try_post_srq_recv(t.d.p.s.srq, 99, &t.d.s, 10) == ENOMEM, "the SRQ must be full");
	for (i = 0; i < DEPTH; i++) {
		struct pair *p = get_random_below(2) ? &t.q : &t.d.p;

		send_and_expect_success(&t, p, i * 10);
		check_received(&t, i, p, i * 10);
	}
	twins_close(&t);
}

/* Post and use many times as many receives as the ring of the SRQ has entries */
static void test_wraps(void)
{
	struct twins t;
	uint32_t i;

	twins_open(&t);
	for (i = 0; i < 40 * DEPTH; i++) {
		post_srq_recv_of_twins(&t, i);
		send_and_expect_success(&t, i % 3 ? &t.q : &t.d.p, 10);
		check_received(&t, i, i % 3 ? &t.q : &t.d.p, 10);
	}
	twins_close(&t);
}

static void arm_limit(struct twins *t, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	CHECK(!ibv_modify_srq(t->d.p.s.srq, &attr, IBV_SRQ_LIMIT), "%m");
}

static uint32_t query_limit(struct twins *t)
{
	struct ibv_srq_attr attr = {};

	CHECK(!ibv_query_srq(t->d.p.s.srq, &attr), "%m");
	CHECK(attr.max_wr == DEPTH && attr.max_sge == 1, "%u, %u", attr.max_wr,
	      attr.max_sge);
	return attr.srq_limit;
}

/* The limit event must arrive once each time that the limit is armed */
static void test_limit(void)
{
	struct twins t;
	struct ibv_context *ctx;
	uint32_t i;

	twins_open(&t);
	ctx = t.d.p.s.id->verbs;
	for (i = 0; i < 8; i++)
		post_srq_recv_of_twins(&t, i);
	arm_limit(&t, 5);
	CHECK(query_limit(&t) == 5, "%u", query_limit(&t));
	for (i = 0; i < 3; i++)
		send_and_expect_success(&t, &t.q, 10);
	for (i = 0; i < 3; i++)
		check_received(&t, i, &t.q, 10);
	expect_no_async_event(ctx);
	send_and_expect_success(&t, &t.q, 10);
	check_received(&t, 3, &t.q, 10);
	expect_async_event(ctx, IBV_EVENT_SRQ_LIMIT_REACHED, t.d.p.s.srq);
	CHECK(!query_limit(&t), "the limit must not be armed any more");
	send_and_expect_success(&t, &t.q, 10);
	check_received(&t, 4, &t.q, 10);
	expect_no_async_event(ctx);
	/* if the limit is above the number of receives, the event must arrive immediately */
	arm_limit(&t, 4);
	expect_async_event(ctx, IBV_EVENT_SRQ_LIMIT_REACHED, t.d.p.s.srq);
	twins_close(&t);
}

/* A stream that finds the SRQ empty must end; the other stream must continue */
static void test_exhausted(void)
{
	struct twins t;
	uint64_t was;

	twins_open(&t);
	was = read_counter(&t.d.p.s, "end_ddp_untagged_no_buffer");
	post_send(&t.q.c, 1, &t.d.c, 0, 10);
	pair_expect_event(&t.q, t.q.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&t.q, t.q.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&t.d.p.s, "end_ddp_untagged_no_buffer", was, 1);
	expect_async_event(t.d.p.s.id->verbs, IBV_EVENT_QP_LAST_WQE_REACHED,
			   t.q.s.qp);
	wait_next_wc(t.q.c.scq);
	post_srq_recv_of_twins(&t, 5);
	send_and_expect_success(&t, &t.d.p, 10);
	check_received(&t, 5, &t.d.p, 10);
	pair_free(&t.q);
	fixture_close(&t.d);
}

/* When a QP enters the error state, the other QPs must still be able to use the SRQ */
static void test_srq_survives_qp_error(void)
{
	struct twins t;

	twins_open(&t);
	post_srq_recv_of_twins(&t, 1);
	post_srq_recv_of_twins(&t, 2);
	move_to_error(&t.q.s);
	pair_expect_event(&t.q, t.q.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&t.q, t.q.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_async_event(t.d.p.s.id->verbs, IBV_EVENT_QP_LAST_WQE_REACHED,
			   t.q.s.qp);
	expect_no_completion(t.d.p.s.rcq);
	send_and_expect_success(&t, &t.d.p, 30);
	check_received(&t, 1, &t.d.p, 30);
	pair_free(&t.q);
	CHECK(ibv_destroy_srq(t.d.p.s.srq) == EBUSY, "an SRQ in use must not be destroyed");
	send_and_expect_success(&t, &t.d.p, 40);
	check_received(&t, 2, &t.d.p, 40);
	fixture_close(&t.d);
}

static void send_and_expect_bad_index_end(struct twins *t, struct pair *p, uint64_t was)
{
	post_send(&p->c, 1, &t->d.c, 0, 10);
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(p, p->lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&p->s, "end_rdmap_catastrophic", was, 1);
	expect_async_event(p->s.id->verbs, IBV_EVENT_QP_LAST_WQE_REACHED, p->s.qp);
	expect_async_event(p->s.id->verbs, IBV_EVENT_QP_FATAL, p->s.qp);
	expect_async_event(p->c.id->verbs, IBV_EVENT_QP_REQ_ERR, p->c.qp);
}

/*
 * If the program writes an invalid producer index, no receive may be used, and the SRQ must
 * generate one error event
 */
static void test_bad_srq_index_ends_streams(void)
{
	volatile uint32_t *ring;
	struct ibv_context *ctx;
	struct twins t;
	uint64_t was;
	uint32_t i;

	twins_open(&t);
	ctx = t.d.p.s.id->verbs;
	was = read_counter(&t.d.p.s, "end_rdmap_catastrophic");
	for (i = 0; i < 7; i++)
		post_srq_recv_of_twins(&t, i);
	ring = find_only_ring_with_prod(7);
	ring[0] = 7 + (1u << 31);
	send_and_expect_bad_index_end(&t, &t.q, was);
	expect_async_event(ctx, IBV_EVENT_SRQ_ERR, t.d.p.s.srq);
	/* a later correction of the index must have no effect */
	ring[0] = 7;
	send_and_expect_bad_index_end(&t, &t.d.p, was + 1);
	arm_limit(&t, 5);
	expect_no_completion(t.d.p.s.rcq);
	expect_no_async_event(ctx);
	pair_free(&t.q);
	fixture_free(&t.d);
}

static void expect_create_fails(struct ibv_pd *pd, uint32_t wr, uint32_t sge, int err)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = wr, .max_sge = sge },
	};

	errno = 0;
	CHECK(!ibv_create_srq(pd, &attr), "an SRQ of %u, %u must be refused", wr, sge);
	CHECK(errno == err, "%m");
}

/* Only ibv_modify_srq() may arm the limit, not the limit's value at creation */
static void create_srq_and_check_limit_unarmed(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = 1, .max_sge = 1, .srq_limit = 1000 },
	};
	struct ibv_srq_attr is = {};
	struct ibv_srq *srq;

	srq = ibv_create_srq(pd, &attr);
	CHECK(srq, "%m");
	CHECK(!ibv_query_srq(srq, &is), "%m");
	CHECK(!is.srq_limit, "the limit is armed at %u", is.srq_limit);
	CHECK(!ibv_destroy_srq(srq), "%m");
}

static void test_arguments(void)
{
	struct ibv_srq_attr attr = { .max_wr = 100, .srq_limit = DEPTH + 1 };
	struct ibv_device_attr dev;
	struct ibv_sge sge[2] = {};
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 }, *bad;
	struct twins t;
	struct end *s;

	twins_open(&t);
	s = &t.d.p.s;
	CHECK(!ibv_query_device(s->id->verbs, &dev), "%m");
	expect_create_fails(s->pd, 0, 1, EINVAL);
	expect_create_fails(s->pd, dev.max_srq_wr + 1, 1, EINVAL);
	expect_create_fails(s->pd, 1, dev.max_srq_sge + 1, EINVAL);
	create_srq_and_check_limit_unarmed(s->pd);
	CHECK(ibv_modify_srq(s->srq, &attr, IBV_SRQ_LIMIT) == EINVAL,
	      "a limit above the depth must be refused");
	CHECK(ibv_modify_srq(s->srq, &attr, IBV_SRQ_MAX_WR) == EOPNOTSUPP,
	      "resizing must be refused");
	CHECK(ibv_post_srq_recv(s->srq, &wr, &bad) == EINVAL, "two SGEs must be refused");
	CHECK(bad == &wr, "bad_wr");
	CHECK(try_post_recv(s, 1, &t.d.s, 0, 10), "a receive queue of its own must be refused");
	twins_close(&t);
}

/*
 * Open another connection. Its server end has a separate PD, but uses the SRQ of the connection
 * @host.
 */
static void guest_pair_open(struct fixture *host, struct pair *g)
{
	pair_prepare(g, &(struct opts){});
	pair_request(g);
	g->s.srq = host->p.s.srq;
	pair_create_qp(g, &g->s);
	pair_accept(g);
	CHECK(g->s.pd != host->p.s.pd, "the PDs must differ");
}

static void guest_pair_free(struct pair *g)
{
	g->s.srq = NULL;	/* the SRQ belongs to the host */
	pair_free(g);
}

/*
 * Two connections with different PDs use one SRQ. Receives of the SRQ must be checked against the
 * PD of the SRQ, and Writes from the peer against the PD of the QP: otherwise the guest, the second
 * connection, could access memory of the first one.
 */
static void test_other_pd(void)
{
	struct fixture d;
	struct pair g = {};
	struct buf b;
	uint64_t was;

	fixture_open(&d, &(struct opts){ .srq = DEPTH }, 1000);
	guest_pair_open(&d, &g);
	buf_create(&b, 1000);
	buf_reg(&b, g.c.pd, RIGHTS_ALL);
	buf_clear(&d.s);
	buf_fill(&b, 0, 1000, 5);
	CHECK(!try_post_srq_recv(d.p.s.srq, 1, &d.s, 1000), "%m");
	post_send(&g.c, 7, &b, 0, 900);
	expect_success(g.c.scq, 7, IBV_WC_SEND);
	expect_recv(g.s.rcq, 1, 900);
	buf_expect_only_pattern(&d.s, 0, 900, 5);
	was = read_counter(&g.s, "end_ddp_tagged_assoc");
	buf_clear(&d.s);
	post_job(&g.c, &(struct job){ .id = 8, .op = IBV_WR_RDMA_WRITE,
	       .flags = SIG, .b = &b, .len = 100, .rkey = d.s.mr->rkey,
	       .raddr = (uintptr_t)d.s.at });
	expect_counter_increase(&g.s, "end_ddp_tagged_assoc", was, 1);
	buf_expect_clear(&d.s, 0, 1000);
	buf_free(&b);
	guest_pair_free(&g);
	fixture_close(&d);
}

/* Receives of an SRQ must not use memory of the QP's PD */
static void test_srq_ignores_pd_of_qp(void)
{
	struct fixture d;
	struct pair g = {};
	struct buf b, to;
	uint64_t was;

	fixture_open(&d, &(struct opts){ .srq = DEPTH }, 1000);
	guest_pair_open(&d, &g);
	buf_create(&b, 1000);
	buf_reg(&b, g.c.pd, RIGHTS_ALL);
	buf_create(&to, 1000);
	buf_reg(&to, g.s.pd, RIGHTS_ALL);
	buf_clear(&to);
	CHECK(!try_post_srq_recv(d.p.s.srq, 1, &to, 1000), "%m");
	was = read_counter(&g.s, "end_rdmap_catastrophic");
	post_send(&g.c, 7, &b, 0, 100);
	expect_counter_increase(&g.s, "end_rdmap_catastrophic", was, 1);
	expect_status(g.s.rcq, 1, IBV_WC_LOC_PROT_ERR);
	buf_expect_clear(&to, 0, 1000);
	buf_free(&b);
	buf_free(&to);
	guest_pair_free(&g);
	fixture_close(&d);
}

#define T(fn, rows)	CASE("srq_" #fn, test_##fn, 0, rows)

const struct test srq_tests[] = {
	T(in_order, ""),
	T(wraps, ""),
	T(limit, "DDP-135 RDMAP-191 SEC-27 SEC-28"),
	T(exhausted, "DDP-135"),
	CASE("srq_survives", test_srq_survives_qp_error, 0, ""),
	CASE("srq_lies", test_bad_srq_index_ends_streams, 0, "DDP-130 DDP-132"),
	T(arguments, ""),
	T(other_pd, "SEC-2 SEC-10"),
	CASE("srq_own_pd", test_srq_ignores_pd_of_qp, 0, "SEC-2"),
	{}
};
