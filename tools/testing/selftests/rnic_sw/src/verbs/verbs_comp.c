// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion counters: which completions they count, and what the kernel refuses. */
#include "verbs_comp.h"

/* A counter for each operation of an end */
struct counted {
	const struct ibv_context	*ctx;
	uint32_t			of[OPS];
};

static void create_and_attach_counters(struct counted *n, const struct end *e)
{
	int i, err;

	n->ctx = e->qp->context;
	for (i = 0; i < OPS; i++) {
		n->of[i] = comp_create(n->ctx);
		err = comp_attach(e, n->of[i], 1u << i);
		CHECK(!err, "%d: %s", i, strerror(err));
	}
}

static void expect_counted_values(const struct counted *n, int entry, const uint64_t want[OPS])
{
	int i;

	for (i = 0; i < OPS; i++)
		expect_comp_value(n->ctx, n->of[i], entry, want[i]);
}

static void destroy_counters(const struct counted *n)
{
	int i, err;

	for (i = 0; i < OPS; i++) {
		err = comp_destroy(n->ctx, n->of[i]);
		CHECK(!err, "%s", strerror(err));
	}
}

static const uint64_t nothing[OPS];

/* Open a connection; attach counters to both of its QPs before it is established */
static void open_counted_fixture(struct fixture *d, const struct opts *o, struct counted *c,
				 struct counted *s)
{
	pair_prepare(&d->p, o);
	skip_without_comp_counters(d->p.c.id->verbs);
	pair_request(&d->p);
	pair_create_qp(&d->p, &d->p.s);
	create_and_attach_counters(c, &d->p.c);
	create_and_attach_counters(s, &d->p.s);
	pair_accept(&d->p);
	buf_create(&d->c, 4096);
	buf_create(&d->s, 4096);
	buf_reg(&d->c, d->p.c.pd, RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	buf_reg(&d->s, d->p.s.pd, RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
}

static void post_many_requests(const struct fixture *d, enum ibv_wr_opcode op, uint32_t n,
			       unsigned int flags)
{
	while (n--)
		post_job(&d->p.c, &(struct job){
			.op = op, .flags = flags, .b = &d->c, .len = 100,
			.raddr = (uintptr_t)d->s.at, .rkey = d->s.mr->rkey });
}

static void post_many_recvs(const struct end *e, const struct buf *b, uint32_t n)
{
	while (n--)
		post_recv(e, 0, b, 0, 100);
}

/*
 * Each kind of operation is counted at both ends, also an unsignaled one.  Atomics are not
 * counted, and neither is the first message of the connection, which the driver sends (RTR).
 */
static void test_comp_operations(void)
{
	const uint64_t sent[OPS] = { 5, 0, 4, 0, 10, 0 }, received[OPS] = { 0, 8, 0, 4, 0, 10 };
	struct fixture d = {};
	struct counted c, s;
	int i;

	open_counted_fixture(&d, &(struct opts){}, &c, &s);
	expect_counted_values(&c, ENTRY_COMP, nothing);
	post_many_recvs(&d.p.s, &d.s, 8);
	post_many_requests(&d, IBV_WR_SEND, 3, SIG);
	post_many_requests(&d, IBV_WR_SEND, 2, 0);
	post_many_requests(&d, IBV_WR_RDMA_WRITE, 6, 0);
	post_many_requests(&d, IBV_WR_RDMA_WRITE, 1, SIG);
	post_many_requests(&d, IBV_WR_RDMA_WRITE_WITH_IMM, 3, 0);
	post_atomic(&d.p.c, &(struct atom){ .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .flags = SIG,
					    .value = 1, .sink = &d.c, .target = &d.s });
	post_many_requests(&d, IBV_WR_RDMA_READ, 3, 0);
	post_many_requests(&d, IBV_WR_RDMA_READ, 1, SIG);
	for (i = 0; i < 6; i++)
		CHECK(!wait_next_wc(d.p.c.scq).status, "%d", i);
	for (i = 0; i < 8; i++)
		CHECK(!wait_next_wc(d.p.s.rcq).status, "%d", i);
	expect_counted_values(&c, ENTRY_COMP, sent);
	expect_counted_values(&s, ENTRY_COMP, received);
	/* nothing is counted later */
	wait_until_idle();
	expect_counted_values(&c, ENTRY_COMP, sent);
	expect_counted_values(&s, ENTRY_COMP, received);
	expect_counted_values(&c, ENTRY_ERR, nothing);
	expect_counted_values(&s, ENTRY_ERR, nothing);
	fixture_close(&d);
	destroy_counters(&c);
	destroy_counters(&s);
}

/* When a program has polled a completion, the completion must have been counted */
static void test_comp_before_cqe(void)
{
	struct fixture d = {};
	struct counted c, s;
	uint64_t i, n;

	open_counted_fixture(&d, &(struct opts){}, &c, &s);
	for (i = 1; i <= scale_rounds(1000); i++) {
		post_recv(&d.p.s, i, &d.s, 0, 100);
		post_send(&d.p.c, i, &d.c, 0, 100);
		expect_recv(d.p.s.rcq, i, 100);
		n = comp_read(s.ctx, s.of[1], ENTRY_COMP);
		CHECK(n == i, "%llu, not %llu", (unsigned long long)n, (unsigned long long)i);
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
		n = comp_read(c.ctx, c.of[0], ENTRY_COMP);
		CHECK(n == i, "%llu, not %llu", (unsigned long long)n, (unsigned long long)i);
	}
	fixture_close(&d);
}

/* Requests that complete with an error are counted in ENTRY_ERR, not in ENTRY_COMP */
static void test_comp_errors(void)
{
	const uint64_t failed[OPS] = { 5, 4, 2, 0, 3, 0 }, done[OPS] = { 1, 0, 0, 0, 0, 0 };
	struct fixture d = {};
	struct counted c, s;
	int i;

	open_counted_fixture(&d, &(struct opts){}, &c, &s);
	post_recv(&d.p.s, 1, &d.s, 0, 100);
	post_send(&d.p.c, 1, &d.c, 0, 100);
	expect_success(d.p.c.scq, 1, IBV_WC_SEND);
	move_to_error(&d.p.c);
	post_many_recvs(&d.p.c, &d.c, 4);
	/* a flush also writes the CQEs of unsignaled requests */
	post_many_requests(&d, IBV_WR_SEND, 5, 0);
	post_many_requests(&d, IBV_WR_RDMA_WRITE, 3, SIG);
	post_many_requests(&d, IBV_WR_RDMA_READ, 2, 0);
	for (i = 0; i < 10; i++)
		expect_status(d.p.c.scq, 0, IBV_WC_WR_FLUSH_ERR);
	for (i = 0; i < 4; i++)
		expect_status(d.p.c.rcq, 0, IBV_WC_WR_FLUSH_ERR);
	expect_counted_values(&c, ENTRY_ERR, failed);
	expect_counted_values(&c, ENTRY_COMP, done);
	expect_counted_values(&s, ENTRY_ERR, nothing);
	fixture_free(&d);
	destroy_counters(&c);
	destroy_counters(&s);
}

/* Receives that are flushed because the program destroys their QP get no CQE and no count */
static void test_comp_destroyed_qp_counts_no_flush(void)
{
	struct fixture d = {};
	struct counted c, s;

	open_counted_fixture(&d, &(struct opts){}, &c, &s);
	post_many_recvs(&d.p.c, &d.c, 10);
	rdma_destroy_qp(d.p.c.id);
	d.p.c.qp = NULL;
	expect_counted_values(&c, ENTRY_ERR, nothing);
	expect_counted_values(&c, ENTRY_COMP, nothing);
	fixture_free(&d);
	destroy_counters(&c);
	destroy_counters(&s);
}

/* A Read that the peer refuses is counted as an error here, and not at the peer */
static void test_comp_refused_read(void)
{
	const uint64_t failed[OPS] = { 0, 0, 1, 0, 0, 0 };
	struct fixture d = {};
	struct counted c, s;

	open_counted_fixture(&d, &(struct opts){}, &c, &s);
	post_job(&d.p.c, &(struct job){ .id = 7, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c,
					.len = 8, .raddr = (uintptr_t)d.s.at,
					.rkey = d.s.mr->rkey ^ 0x55 });
	expect_status(d.p.c.scq, 7, IBV_WC_REM_ACCESS_ERR);
	expect_counted_values(&c, ENTRY_ERR, failed);
	expect_counted_values(&c, ENTRY_COMP, nothing);
	expect_counted_values(&s, ENTRY_COMP, nothing);
	expect_counted_values(&s, ENTRY_ERR, nothing);
	fixture_free(&d);
}

static void post_srq_recv(const struct end *e, uint64_t id, const struct buf *b, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)b->at, .length = len, .lkey = b->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	CHECK(!ibv_post_srq_recv(e->srq, &wr, &bad), "%m");
}

/* One counter may count all operations of a QP, and receives of another QP with the same SRQ */
static void test_comp_shared(void)
{
	struct fixture d = {};
	struct ibv_context *ctx;
	struct pair other;
	uint32_t cntr;
	int i;

	fixture_open(&d, &(struct opts){ .srq = 16 }, 4096);
	ctx = d.p.s.id->verbs;
	skip_without_comp_counters(ctx);
	pair_open_like(&other, &d.p);
	cntr = comp_create(ctx);
	CHECK(!comp_attach(&d.p.s, cntr, OF_RECV) && !comp_attach(&d.p.s, cntr, OF_ALL & ~OF_RECV), "%m");
	CHECK(!comp_attach(&other.s, cntr, OF_RECV), "%m");
	for (i = 0; i < 7; i++) {
		struct end *from = i & 1 ? &other.c : &d.p.c;

		post_srq_recv(&d.p.s, i, &d.s, 100);
		post_send(from, i, &d.c, 0, 100);
		expect_recv(d.p.s.rcq, i, 100);
	}
	expect_comp_value(ctx, cntr, ENTRY_COMP, 7);
	post_many_requests(&d, IBV_WR_RDMA_WRITE, 2, 0);
	post_many_requests(&d, IBV_WR_RDMA_READ, 2, 0);
	expect_comp_value(ctx, cntr, ENTRY_COMP, 11);
	pair_close(&other);
	CHECK(comp_destroy(ctx, cntr) == EBUSY, "the counter is still attached to one QP");
	fixture_close(&d);
}

/* Values can be set and increased while the counter is attached; a sum wraps */
static void test_comp_modify(void)
{
	struct fixture d = {};
	struct counted c, s;

	open_counted_fixture(&d, &(struct opts){}, &c, &s);
	CHECK(!comp_modify_value(c.ctx, c.of[0], ENTRY_COMP, OP_SET, 40), "%m");
	post_recv(&d.p.s, 1, &d.s, 0, 100);
	post_send(&d.p.c, 1, &d.c, 0, 100);
	expect_success(d.p.c.scq, 1, IBV_WC_SEND);
	CHECK(!comp_modify_value(c.ctx, c.of[0], ENTRY_COMP, OP_INC, 2), "%m");
	expect_comp_value(c.ctx, c.of[0], ENTRY_COMP, 43);
	expect_comp_value(c.ctx, c.of[0], ENTRY_ERR, 0);
	CHECK(!comp_modify_value(c.ctx, c.of[0], ENTRY_ERR, OP_SET, UINT64_MAX), "%m");
	expect_comp_value(c.ctx, c.of[0], ENTRY_ERR, UINT64_MAX);
	CHECK(!comp_modify_value(c.ctx, c.of[0], ENTRY_ERR, OP_INC, 3), "%m");
	expect_comp_value(c.ctx, c.of[0], ENTRY_ERR, 2);
	expect_comp_value(c.ctx, c.of[0], ENTRY_COMP, 43);
	fixture_close(&d);
}

/* Check which calls the kernel refuses, and with which errno */
static void test_comp_refused(void)
{
	static const uint64_t bad[] = { 2, 3, 1u << 31, UINT32_MAX };
	struct fixture d = {};
	struct ibv_context *ctx, *other;
	uint32_t cntr, second;
	uint64_t value;
	size_t i;

	fixture_open(&d, &(struct opts){}, 100);
	ctx = d.p.c.id->verbs;
	skip_without_comp_counters(ctx);
	cntr = comp_create(ctx);
	second = comp_create(ctx);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK(comp_try_read(ctx, cntr, bad[i], &value) == EINVAL, "entry %zu: %m", i);
		CHECK(comp_modify_value(ctx, cntr, bad[i], OP_SET, 1) == EINVAL, "entry %zu: %m",
		      i);
		CHECK(comp_modify_value(ctx, cntr, ENTRY_COMP, bad[i], 1) == EINVAL, "op %zu: %m",
		      i);
	}
	CHECK(comp_attach(&d.p.c, cntr, 0) == EINVAL, "no operation: %m");
	CHECK(comp_attach(&d.p.c, cntr, OF_ALL + 1) == EINVAL, "an unknown operation: %m");
	CHECK(!comp_attach(&d.p.c, cntr, OF_SEND | OF_RECV), "%m");
	CHECK(comp_attach(&d.p.c, second, OF_RECV) == EBUSY, "the operation has a counter: %m");
	CHECK(comp_attach(&d.p.c, cntr, OF_SEND) == EBUSY, "the operation has this counter: %m");
	CHECK(!comp_attach(&d.p.c, second, OF_READ), "%m");
	CHECK(comp_destroy(ctx, cntr) == EBUSY, "an attached counter: %m");
	/* a counter belongs to the file by which it was created */
	other = ibv_open_device(ctx->device);
	CHECK(other, "%m");
	CHECK(comp_try_read(other, cntr, ENTRY_COMP, &value) == ENOENT, "%m");
	CHECK(comp_destroy(other, cntr) == ENOENT, "%m");
	CHECK(!ibv_close_device(other), "%m");
	pair_disconnect(&d.p);
	rdma_destroy_qp(d.p.c.id);
	d.p.c.qp = NULL;
	/* the values remain after the QP is destroyed */
	CHECK(!comp_read(ctx, cntr, ENTRY_COMP), "nothing was sent");
	CHECK(!comp_destroy(ctx, cntr) && !comp_destroy(ctx, second), "%m");
	CHECK(comp_destroy(ctx, cntr) == ENOENT, "destroyed twice: %m");
	fixture_free(&d);
}

/* The device has as many counters as it reports, and no more */
static void test_comp_limit(void)
{
	struct pair p = {};
	struct comp_caps caps;
	uint32_t *made, n;
	int err = 0;

	pair_prepare(&p, &(struct opts){});
	skip_without_comp_counters(p.c.id->verbs);
	CHECK(!comp_query_caps(p.c.id->verbs, &caps), "%m");
	made = calloc(caps.max + 1, sizeof(*made));
	CHECK(made, "%m");
	for (n = 0; n <= caps.max; n++) {
		err = comp_try_create(p.c.id->verbs, &made[n]);
		if (err)
			break;
	}
	/* earlier cases must have freed their counters */
	CHECK(n == caps.max && err == ENOMEM, "%u: %s", n, strerror(err));
	CHECK(!comp_destroy(p.c.id->verbs, made[0]), "%m");
	CHECK(!comp_try_create(p.c.id->verbs, &made[0]), "%m");
	while (n--)
		CHECK(!comp_destroy(p.c.id->verbs, made[n]), "%m");
	free(made);
	pair_free(&p);
}

const struct test comp_tests[] = {
	CASE("comp_operations", test_comp_operations, 0, ""),
	CASE("comp_before_cqe", test_comp_before_cqe, 60, ""),
	CASE("comp_errors", test_comp_errors, 0, ""),
	CASE("comp_destroyed", test_comp_destroyed_qp_counts_no_flush, 0, ""),
	CASE("comp_refused_read", test_comp_refused_read, 0, ""),
	CASE("comp_shared", test_comp_shared, 0, ""),
	CASE("comp_modify", test_comp_modify, 0, ""),
	CASE("comp_refused", test_comp_refused, 0, ""),
	CASE("comp_limit", test_comp_limit, 120, ""),
	{}
};
