// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows: the server binds windows to parts of its memory, and the client can access these
 * parts and no others.
 */
#include "verbs.h"

#define SIZE	10000u
#define AT	1001u		/* offset of the window, which has WIDE bytes */
#define WIDE	3000u
#define WR	IBV_ACCESS_REMOTE_WRITE
#define RD	IBV_ACCESS_REMOTE_READ

/*
 * Open a fixture whose MR has the rights @mr_access. Without remote rights in @mr_access, only a
 * window gives the client access.
 */
static void open_fixture(struct fixture *d, int mr_access)
{
	fixture_open(d, &(struct opts){}, SIZE);
	CHECK(!ibv_dereg_mr(d->s.mr), "%m");
	buf_reg(&d->s, d->p.s.pd, mr_access);
	buf_fill(&d->c, 0, SIZE, 1);
}

#define BINDABLE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)

static struct ibv_mw *alloc_server_mw(struct fixture *d, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(d->p.s.pd, type);

	CHECK(mw, "alloc_mw: %m");
	return mw;
}

static struct ibv_mw_bind_info make_bind_info(const struct fixture *d, unsigned int access)
{
	return (struct ibv_mw_bind_info){
		.mr = d->s.mr, .addr = (uintptr_t)d->s.at + AT, .length = WIDE,
		.mw_access_flags = access,
	};
}

static void post_bind_type1(struct fixture *d, struct ibv_mw *mw,
			    const struct ibv_mw_bind_info *info)
{
	struct ibv_mw_bind bind = {
		.wr_id = 30, .send_flags = SIG, .bind_info = *info,
	};
	int err = ibv_bind_mw(d->p.s.qp, mw, &bind);

	CHECK(!err, "bind_mw: %s", strerror(err));
}

static int post_bind_type2(struct end *e, struct ibv_mw *mw, uint32_t rkey,
			   const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 31, .opcode = IBV_WR_BIND_MW, .send_flags = SIG,
		.bind_mw = { .mw = mw, .rkey = rkey, .bind_info = *info },
	};

	return ibv_post_send(e->qp, &wr, &bad);
}

static void bind_type2(struct fixture *d, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	CHECK(!post_bind_type2(&d->p.s, mw, rkey, info), "post");
	expect_success(d->p.s.scq, 31, IBV_WC_BIND_MW);
}

static struct job make_job_at(const struct fixture *d, enum ibv_wr_opcode op,
			      uint32_t rkey, uint64_t off, uint32_t len)
{
	return (struct job){
		.id = 5, .op = op, .flags = SIG, .b = &d->c, .off = off,
		.len = len, .raddr = (uintptr_t)d->s.at + off, .rkey = rkey,
	};
}

/* Over the connection @p, write [@off, @off + @len) through the window and read it back */
static void write_and_read_by_window_on_pair(struct fixture *d, const struct pair *p,
					     uint32_t rkey, uint32_t off,
					     uint32_t len)
{
	struct job j = make_job_at(d, IBV_WR_RDMA_WRITE, rkey, off, len);

	buf_clear(&d->s);
	buf_fill(&d->c, off, len, 1);
	post_job(&p->c, &j);
	expect_success(p->c.scq, 5, IBV_WC_RDMA_WRITE);
	j.op = IBV_WR_RDMA_READ;
	buf_clear(&d->c);
	post_job(&p->c, &j);
	expect_success(p->c.scq, 5, IBV_WC_RDMA_READ);
	buf_expect_only_pattern(&d->s, off, len, 1);
	buf_expect_only_pattern(&d->c, off, len, 1);
}

static void write_and_read_by_window(struct fixture *d, uint32_t rkey, uint32_t off, uint32_t len)
{
	write_and_read_by_window_on_pair(d, &d->p, rkey, off, len);
}

/* Check that a request ends the connection for the reason @ends, and changes no byte of memory */
static void post_and_expect_denial(struct fixture *d, struct pair *p, const struct job *j,
				   const char *ends)
{
	uint64_t was = read_counter(&p->s, ends);

	buf_clear(&d->s);
	post_job(&p->c, j);
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(p, p->lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&p->s, ends, was, 1);
	wait_next_wc(p->c.scq);
	buf_expect_clear(&d->s, 0, SIZE);
}

static void write_and_expect_denial(struct fixture *d, uint32_t rkey, uint32_t off,
				    uint32_t len, const char *ends)
{
	struct job j = make_job_at(d, IBV_WR_RDMA_WRITE, rkey, off, len);

	post_and_expect_denial(d, &d->p, &j, ends);
}

static void free_window_and_fixture(struct fixture *d, struct ibv_mw *mw)
{
	CHECK(!ibv_dealloc_mw(mw), "%m");
	fixture_free(d);
}

/* A window must grant access to exactly its bytes */
static void test_type1_grants_only_its_bytes(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_1);
	info = make_bind_info(&d, WR | RD);
	post_bind_type1(&d, mw, &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	write_and_read_by_window(&d, mw->rkey, AT, WIDE);
	write_and_read_by_window(&d, mw->rkey, AT + WIDE - 1, 1);
	write_and_expect_denial(&d, mw->rkey, AT + WIDE - 1, 2, "end_ddp_tagged_bounds");
	free_window_and_fixture(&d, mw);
}

/* A Write that begins before the window must be refused */
static void test_type1_before(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_1);
	info = make_bind_info(&d, WR | RD);
	post_bind_type1(&d, mw, &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	write_and_expect_denial(&d, mw->rkey, AT - 1, 2, "end_ddp_tagged_bounds");
	free_window_and_fixture(&d, mw);
}

/* If a window is bound to another range, its old STag must be invalid */
static void test_rebound_type1_gets_new_stag(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;
	uint32_t old;

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_1);
	info = make_bind_info(&d, WR | RD);
	post_bind_type1(&d, mw, &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	old = mw->rkey;
	info.addr += WIDE;
	post_bind_type1(&d, mw, &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	CHECK(mw->rkey != old, "the rkey must change");
	write_and_read_by_window(&d, mw->rkey, AT + WIDE, WIDE);
	write_and_expect_denial(&d, old, AT + WIDE, 1, "end_ddp_tagged_stag");
	free_window_and_fixture(&d, mw);
}

/* A bind of length 0 must invalidate the window, and release the MR */
static void test_zero_length_bind_invalidates(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info, none = {};

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_1);
	info = make_bind_info(&d, WR | RD);
	post_bind_type1(&d, mw, &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	CHECK(ibv_dereg_mr(d.s.mr) == EBUSY, "an MR with a bound window must not be deregistered");
	post_bind_type1(&d, mw, &none);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	write_and_expect_denial(&d, mw->rkey, AT, 1, "end_ddp_tagged_stag");
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	d.s.mr = NULL;
	free_window_and_fixture(&d, mw);
}

/* A window with only the right to write must not grant the right to read */
static void test_rights_write(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;
	struct job j;

	open_fixture(&d, BINDABLE | RD);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_1);
	info = make_bind_info(&d, WR);
	post_bind_type1(&d, mw, &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	j = make_job_at(&d, IBV_WR_RDMA_READ, mw->rkey, AT, 10);
	post_and_expect_denial(&d, &d.p, &j, "end_rdmap_access");
	free_window_and_fixture(&d, mw);
}

static void test_rights_read(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;

	open_fixture(&d, BINDABLE | WR);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_1);
	info = make_bind_info(&d, RD);
	post_bind_type1(&d, mw, &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	write_and_expect_denial(&d, mw->rkey, AT, 10, "end_ddp_tagged_stag");
	free_window_and_fixture(&d, mw);
}

/* A window bound with IBV_ACCESS_ZERO_BASED is accessed with offsets instead of addresses */
static void test_zero_based(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;
	struct job j;

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_1);
	info = make_bind_info(&d, WR | IBV_ACCESS_ZERO_BASED);
	post_bind_type1(&d, mw, &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	buf_clear(&d.s);
	buf_fill(&d.c, AT, WIDE, 1);
	j = make_job_at(&d, IBV_WR_RDMA_WRITE, mw->rkey, AT, WIDE);
	j.raddr = 0;
	post_recv(&d.p.s, 6, NULL, 0, 0);
	post_job(&d.p.c, &j);
	post_send(&d.p.c, 6, NULL, 0, 0);
	expect_success(d.p.c.scq, 5, IBV_WC_RDMA_WRITE);
	expect_success(d.p.c.scq, 6, IBV_WC_SEND);
	expect_recv(d.p.s.rcq, 6, 0);
	buf_expect_only_pattern(&d.s, AT, WIDE, 1);
	pair_disconnect(&d.p);
	free_window_and_fixture(&d, mw);
}

/* Open two streams, and bind a window of type 1 with a work request of the first stream */
static struct ibv_mw *open_two_pairs_with_window(struct fixture *d, struct pair *q)
{
	struct ibv_mw_bind_info info;
	struct ibv_mw *mw;

	open_fixture(d, BINDABLE);
	pair_open_like(q, &d->p);
	mw = alloc_server_mw(d, IBV_MW_TYPE_1);
	info = make_bind_info(d, WR | RD);
	post_bind_type1(d, mw, &info);
	expect_success(d->p.s.scq, 30, IBV_WC_BIND_MW);
	return mw;
}

/* A window of type 1 is valid for all streams of the PD, not only the binding one (RFC 5041 8.2) */
static void test_type1_streams(void)
{
	struct fixture d;
	struct pair q;
	struct ibv_mw *mw = open_two_pairs_with_window(&d, &q);

	write_and_read_by_window(&d, mw->rkey, AT, WIDE);
	write_and_read_by_window_on_pair(&d, &q, mw->rkey, AT, WIDE);
	pair_close(&q);
	pair_disconnect(&d.p);
	free_window_and_fixture(&d, mw);
}

/* A window of type 2 is valid only for the stream that bound it (RFC 5041 8.2) */
static void test_type2_stream(void)
{
	struct fixture d;
	struct pair q;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;
	uint32_t rkey;
	struct job j;

	open_fixture(&d, BINDABLE);
	pair_open_like(&q, &d.p);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_2);
	rkey = ibv_inc_rkey(mw->rkey);
	info = make_bind_info(&d, WR | RD);
	bind_type2(&d, mw, rkey, &info);
	write_and_read_by_window(&d, rkey, AT, WIDE);
	j = make_job_at(&d, IBV_WR_RDMA_WRITE, rkey, AT, 10);
	post_and_expect_denial(&d, &q, &j, "end_ddp_tagged_assoc");
	write_and_read_by_window(&d, rkey, AT, 10);
	pair_free(&q);
	pair_disconnect(&d.p);
	free_window_and_fixture(&d, mw);
}

static void invalidate_type2(struct fixture *d, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 32, .opcode = IBV_WR_LOCAL_INV, .send_flags = SIG,
		.invalidate_rkey = rkey,
	};

	CHECK(!ibv_post_send(d->p.s.qp, &wr, &bad), "post");
	expect_success(d->p.s.scq, 32, IBV_WC_LOCAL_INV);
}

/* Unbind a window with Local Invalidate, then bind it again with another key */
static void test_type2_local_inv(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_2);
	info = make_bind_info(&d, WR | RD);
	bind_type2(&d, mw, mw->rkey + 1, &info);
	invalidate_type2(&d, mw->rkey + 1);
	bind_type2(&d, mw, mw->rkey + 2, &info);
	write_and_read_by_window(&d, mw->rkey + 2, AT, WIDE);
	write_and_expect_denial(&d, mw->rkey + 1, AT, 1, "end_ddp_tagged_stag");
	free_window_and_fixture(&d, mw);
}

/* Invalidating an invalid window is allowed: krping begins with such an invalidation */
static void test_type2_invalidated_twice(void)
{
	struct ibv_mw_bind_info info;
	struct ibv_mw *mw;
	struct fixture d;

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_2);
	info = make_bind_info(&d, WR | RD);
	bind_type2(&d, mw, mw->rkey + 1, &info);
	invalidate_type2(&d, mw->rkey + 1);
	invalidate_type2(&d, mw->rkey + 1);
	bind_type2(&d, mw, mw->rkey + 2, &info);
	write_and_read_by_window(&d, mw->rkey + 2, AT, WIDE);
	write_and_expect_denial(&d, mw->rkey + 1, AT, 1, "end_ddp_tagged_stag");
	free_window_and_fixture(&d, mw);
}

static void test_type2_remote_inv(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;
	struct ibv_send_wr *bad, wr = {
		.wr_id = 6, .opcode = IBV_WR_SEND_WITH_INV, .send_flags = SIG,
	};
	struct ibv_wc wc;

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_2);
	info = make_bind_info(&d, WR | RD);
	bind_type2(&d, mw, mw->rkey + 1, &info);
	post_recv(&d.p.s, 9, NULL, 0, 0);
	wr.invalidate_rkey = mw->rkey + 1;
	CHECK(!ibv_post_send(d.p.c.qp, &wr, &bad), "%m");
	wc = wait_next_wc(d.p.s.rcq);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.wc_flags & IBV_WC_WITH_INV &&
	      wc.invalidated_rkey == mw->rkey + 1, "%x", wc.invalidated_rkey);
	expect_success(d.p.c.scq, 6, IBV_WC_SEND);
	write_and_expect_denial(&d, mw->rkey + 1, AT, 1, "end_ddp_tagged_stag");
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	d.s.mr = NULL;
	free_window_and_fixture(&d, mw);
}

/*
 * Let the peer invalidate @rkey, which is not allowed, and check that @p ends for the reason @ends
 */
static void invalidate_and_expect_refusal(struct pair *p, uint32_t rkey, const char *ends)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 6, .opcode = IBV_WR_SEND_WITH_INV, .send_flags = SIG,
		.invalidate_rkey = rkey,
	};
	uint64_t was = read_counter(&p->s, ends);

	post_recv(&p->s, 9, NULL, 0, 0);
	CHECK(!ibv_post_send(p->c.qp, &wr, &bad), "%m");
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(p, p->lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&p->s, ends, was, 1);
	CHECK(wait_next_wc(p->c.scq).wr_id == 6, "send");
}

/* A peer must not invalidate a window of type 1: several streams share it (RFC 5040 8.1.1 (7)) */
static void test_type1_remote_inv(void)
{
	struct fixture d;
	struct pair q;
	struct ibv_mw *mw = open_two_pairs_with_window(&d, &q);

	invalidate_and_expect_refusal(&q, mw->rkey, "end_rdmap_invalidate");
	write_and_read_by_window(&d, mw->rkey, AT, WIDE);
	pair_free(&q);
	pair_disconnect(&d.p);
	free_window_and_fixture(&d, mw);
}

/* A peer must not invalidate a window of type 2 that another stream has bound */
static void test_type2_other_inv(void)
{
	struct fixture d;
	struct pair q;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;

	open_fixture(&d, BINDABLE);
	pair_open_like(&q, &d.p);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_2);
	info = make_bind_info(&d, WR | RD);
	bind_type2(&d, mw, mw->rkey + 1, &info);
	invalidate_and_expect_refusal(&q, mw->rkey + 1, "end_rdmap_invalidate_assoc");
	write_and_read_by_window(&d, mw->rkey + 1, AT, WIDE);
	pair_free(&q);
	pair_disconnect(&d.p);
	free_window_and_fixture(&d, mw);
}

/* Check that an invalid bind completes with an error, and that the QP goes to error */
static void expect_bind_fails(int mr_access, struct ibv_mw_bind_info *change,
			      uint32_t rkey_xor)
{
	struct ibv_mw_bind_info info;
	struct ibv_mw *mw;
	struct fixture d;

	open_fixture(&d, mr_access);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_2);
	info = make_bind_info(&d, change->mw_access_flags ?: WR);
	info.addr += change->addr;
	info.length += change->length;
	CHECK(!post_bind_type2(&d.p.s, mw, (mw->rkey + 1) ^ rkey_xor, &info),
	      "post");
	expect_status(d.p.s.scq, 31, IBV_WC_MW_BIND_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	free_window_and_fixture(&d, mw);
}

static void test_bad_binds(void)
{
	expect_bind_fails(IBV_ACCESS_LOCAL_WRITE, &(struct ibv_mw_bind_info){}, 0);
	expect_bind_fails(IBV_ACCESS_MW_BIND, &(struct ibv_mw_bind_info){}, 0);
	expect_bind_fails(BINDABLE, &(struct ibv_mw_bind_info){ .addr = SIZE }, 0);
	expect_bind_fails(BINDABLE, &(struct ibv_mw_bind_info){ .addr = -AT - 1ull }, 0);
	expect_bind_fails(BINDABLE, &(struct ibv_mw_bind_info){
				  .length = SIZE - AT - WIDE + 1 }, 0);
	expect_bind_fails(BINDABLE, &(struct ibv_mw_bind_info){ .length = -1ull - WIDE }, 0);
	expect_bind_fails(BINDABLE, &(struct ibv_mw_bind_info){
				  .mw_access_flags = IBV_ACCESS_MW_BIND }, 0);
	expect_bind_fails(BINDABLE, &(struct ibv_mw_bind_info){}, 0x5a5a00);
}

/* A bound window of type 2 must not be bound again */
static void test_bound_twice(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_2);
	info = make_bind_info(&d, WR | RD);
	CHECK(post_bind_type2(&d.p.s, alloc_server_mw(&d, IBV_MW_TYPE_1), 1, &info) == EINVAL,
	      "a posted bind of a type 1 window must fail");
	bind_type2(&d, mw, mw->rkey + 1, &info);
	CHECK(!post_bind_type2(&d.p.s, mw, mw->rkey + 2, &info), "post");
	expect_status(d.p.s.scq, 31, IBV_WC_MW_BIND_ERR);
}

/* The STag of a window must not be accepted as an lkey */
static void test_no_lkey(void)
{
	struct fixture d;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info info;
	struct ibv_mr as_mr = {};
	struct buf b;

	open_fixture(&d, BINDABLE);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_1);
	info = make_bind_info(&d, WR | RD);
	post_bind_type1(&d, mw, &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	b = d.s;
	as_mr.lkey = mw->rkey;
	b.mr = &as_mr;
	post_send(&d.p.s, 12, &b, AT, 10);
	expect_status(d.p.s.scq, 12, IBV_WC_LOC_PROT_ERR);
}

#define MANY	150u

/* An MR can be deregistered once the last of many windows is unbound */
static void test_dereg_after_last_of_many_unbinds(void)
{
	struct fixture d;
	struct ibv_mw *mw[MANY];
	struct ibv_mw_bind_info info;
	uint32_t i;

	open_fixture(&d, BINDABLE);
	info = make_bind_info(&d, WR | RD);
	for (i = 0; i < MANY; i++) {
		mw[i] = alloc_server_mw(&d, IBV_MW_TYPE_2);
		bind_type2(&d, mw[i], mw[i]->rkey, &info);
	}
	for (i = 0; i < MANY; i++)
		if (i != MANY / 2)
			invalidate_type2(&d, mw[i]->rkey);
	CHECK(ibv_dereg_mr(d.s.mr) == EBUSY, "an MR with an open window must not be deregistered");
	CHECK(ibv_dereg_mr(d.s.mr) == EBUSY, "a second attempt must fail as well");
	write_and_read_by_window(&d, mw[MANY / 2]->rkey, AT, WIDE);
	invalidate_type2(&d, mw[MANY / 2]->rkey);
	CHECK(!ibv_dereg_mr(d.s.mr), "%m");
	for (i = 0; i < MANY; i++)
		CHECK(!ibv_dealloc_mw(mw[i]), "%m");
	buf_reg(&d.s, d.p.s.pd, BINDABLE);
	fixture_close(&d);
}

/* The program exits while windows are bound; the kernel has to clean up */
static void test_exit_with_bound_windows(void)
{
	struct fixture d;
	struct ibv_mw_bind_info info;

	struct ibv_mw *mw;

	open_fixture(&d, BINDABLE);
	info = make_bind_info(&d, WR | RD);
	post_bind_type1(&d, alloc_server_mw(&d, IBV_MW_TYPE_1), &info);
	expect_success(d.p.s.scq, 30, IBV_WC_BIND_MW);
	mw = alloc_server_mw(&d, IBV_MW_TYPE_2);
	bind_type2(&d, mw, mw->rkey, &info);
}

#define T(fn, rows)	CASE("mw_" #fn, test_##fn, 0, rows)

const struct test mw_tests[] = {
	CASE("mw_type1", test_type1_grants_only_its_bytes, 0, "DDP-125 RDMAP-176"),
	T(type1_before, "DDP-125"),
	CASE("mw_type1_again", test_rebound_type1_gets_new_stag, 0, "DDP-117 RDMAP-175"),
	CASE("mw_type1_shut", test_zero_length_bind_invalidates, 0, "DDP-117"),
	T(type1_streams, "DDP-114"),
	T(type1_remote_inv, "RDMAP-104 RDMAP-178 SEC-36"),
	T(type2_other_inv, "RDMAP-102 RDMAP-104 RDMAP-161 RDMAP-173 SEC-12"),
	T(rights_write, "RDMAP-170 RDMAP-176"),
	T(rights_read, "DDP-97 RDMAP-176"),
	T(zero_based, "RDMAP-176"),
	T(type2_stream,
	  "DDP-109 DDP-112 DDP-114 DDP-118 DDP-124 RDMAP-14 RDMAP-173 SEC-3 SEC-10 SEC-12"),
	T(type2_local_inv, "DDP-117"),
	CASE("mw_type2_shut_twice", test_type2_invalidated_twice, 0, "DDP-117"),
	T(type2_remote_inv, "DDP-37 DDP-68 DDP-117 RDMAP-8 RDMAP-103"),
	T(bad_binds, "DDP-133 SEC-1"),
	T(bound_twice, ""),
	T(no_lkey, ""),
	CASE("mw_many_shut", test_dereg_after_last_of_many_unbinds, 0, "DDP-117"),
	CASE("mw_left_open", test_exit_with_bound_windows, 0, ""),
	{}
};
