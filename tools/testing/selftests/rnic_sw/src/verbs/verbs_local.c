// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Errors of the program itself: how and when they must be reported. */
#include <sys/mman.h>

#include "verbs.h"

/* Requests before the wrong one must succeed, and those after it must be flushed */
static void post_and_expect_local_error(const struct job *wrong, struct fixture *d)
{
	struct job good = {
		.id = 1, .op = IBV_WR_SEND, .flags = SIG, .b = &d->c, .len = 9,
	};
	struct ibv_wc wc;

	post_recv(&d->p.s, 1, &d->s, 0, 10);
	post_job(&d->p.c, &good);
	expect_success(d->p.c.scq, 1, IBV_WC_SEND);
	expect_recv(d->p.s.rcq, 1, 9);
	post_recv(&d->p.s, 2, &d->s, 0, d->s.len);
	post_recv(&d->p.s, 3, &d->s, 0, d->s.len);
	post_job(&d->p.c, wrong);
	good.id = 3;
	good.flags = 0;		/* unsignaled, but a failure must be reported */
	post_job(&d->p.c, &good);
	expect_status(d->p.c.scq, 2, IBV_WC_LOC_PROT_ERR);
	wc = wait_next_wc(d->p.c.scq);
	CHECK(wc.wr_id == 3 && wc.status == IBV_WC_WR_FLUSH_ERR, "%llu: %s",
	      (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
	pair_expect_event(&d->p, d->p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d->p, d->p.lch, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(query_qp_state(&d->p.c) == IBV_QPS_ERR, "%d", query_qp_state(&d->p.c));
	expect_status(d->p.s.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_status(d->p.s.rcq, 3, IBV_WC_WR_FLUSH_ERR);
}

enum spoilt { UNKNOWN, DEAD, BOUNDS, OTHER_PD, READ_ONLY };

static void spoil_mr(struct buf *b, struct end *e, enum spoilt how)
{
	static struct ibv_mr mr;

	mr = *b->mr;
	if (how == UNKNOWN)
		mr.lkey ^= 0x33333300;
	CHECK(!ibv_dereg_mr(b->mr), "%m");
	if (how == OTHER_PD)
		buf_reg(b, ibv_alloc_pd(e->id->verbs), RIGHTS_ALL);
	else if (how == READ_ONLY)
		buf_reg(b, e->pd, IBV_ACCESS_REMOTE_READ);
	else if (how == BOUNDS)
		buf_reg(b, e->pd, RIGHTS_ALL);
	else
		b->mr = &mr;
}

static void post_spoilt_key_and_expect_error(enum ibv_wr_opcode op, enum spoilt how)
{
	struct job j = { .id = 2, .op = op, .flags = SIG, .len = 100 };
	struct buf other;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 200);
	buf_create(&other, 200);
	buf_reg(&other, d.p.c.pd, RIGHTS_ALL);
	spoil_mr(&other, &d.p.c, how);
	j.b = &other;
	j.off = how == BOUNDS ? 101 : 5;
	j.raddr = (uintptr_t)d.s.at;
	j.rkey = d.s.mr->rkey;
	post_and_expect_local_error(&j, &d);
	buf_expect_clear(&other, 0, 200);
	buf_check_guards(&other);
	/* only the first Send was correct, so nothing else may have arrived */
	buf_expect_clear(&d.s, 9, 191);
}

#define LOCAL(name, op, how)						\
	static void test_##name(void)						\
	{								\
		post_spoilt_key_and_expect_error(IBV_WR_##op, how);				\
	}

LOCAL(send_unknown, SEND, UNKNOWN)
LOCAL(send_dead, SEND, DEAD)
LOCAL(send_bounds, SEND, BOUNDS)
LOCAL(send_pd, SEND, OTHER_PD)
LOCAL(write_unknown, RDMA_WRITE, UNKNOWN)
LOCAL(write_bounds, RDMA_WRITE, BOUNDS)
LOCAL(read_unknown, RDMA_READ, UNKNOWN)
LOCAL(read_bounds, RDMA_READ, BOUNDS)
LOCAL(read_pd, RDMA_READ, OTHER_PD)
LOCAL(read_read_only, RDMA_READ, READ_ONLY)

/*
 * If a receive has an invalid SGE, its memory must not be written. The receive must fail with a
 * local error, because the peer has made no mistake.
 */
static void receive_and_expect_local_error(enum spoilt how)
{
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 200);
	spoil_mr(&d.s, &d.p.s, how);
	post_recv(&d.p.s, 1, &d.s, how == BOUNDS ? 101 : 5, 100);
	post_recv(&d.p.s, 2, NULL, 0, 0);
	post_job(&d.p.c, &(struct job){
		.op = IBV_WR_SEND, .b = &d.c, .len = 100 });
	expect_status(d.p.s.rcq, 1, IBV_WC_LOC_PROT_ERR);
	expect_status(d.p.s.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	buf_expect_clear(&d.s, 0, 200);
	buf_check_guards(&d.s);
}

static void test_recv_unknown(void)
{
	receive_and_expect_local_error(UNKNOWN);
}

static void test_recv_bounds(void)
{
	receive_and_expect_local_error(BOUNDS);
}

static void test_recv_read_only(void)
{
	receive_and_expect_local_error(READ_ONLY);
}

/* Arguments --------------------------------------------------------------- */

static void create_qp_and_expect_errno(struct end *e, struct ibv_qp_init_attr *attr, int want)
{
	struct ibv_qp *qp;

	attr->send_cq = e->scq;
	attr->recv_cq = e->rcq;
	errno = 0;
	qp = ibv_create_qp(e->pd, attr);
	if (!want) {
		CHECK(qp, "must be accepted: %m");
		CHECK(!ibv_destroy_qp(qp), "%m");
		return;
	}
	CHECK(!qp, "must be refused");
	CHECK(errno == want, "%m, not %s", strerror(want));
}

static void test_qp_arguments(void)
{
	static const int types[] = {
		IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND,
	};
	struct ibv_device_attr dev;
	struct ibv_qp_cap ok;
	struct pair p;
	size_t i;

	pair_open(&p, &(struct opts){});
	CHECK(!ibv_query_device(p.c.id->verbs, &dev), "%m");
	ok = (struct ibv_qp_cap){ 4, 4, 1, 1, 0 };
#define TRY(w, t, ...)	create_qp_and_expect_errno(&p.c, &(struct ibv_qp_init_attr){	\
			.qp_type = t, .cap = __VA_ARGS__ }, w)
	for (i = 0; i < ARRAY_SIZE(types); i++)
		TRY(EOPNOTSUPP, types[i], ok);
	TRY(0, IBV_QPT_RC, ok);
	TRY(0, IBV_QPT_RC, { 4, 4, dev.max_sge, dev.max_sge, 0 });
	TRY(0, IBV_QPT_RC, { dev.max_qp_wr, 1, 1, 1, 0 });
	TRY(0, IBV_QPT_RC, { 1, 0, 1, 0, 0 });
	TRY(EINVAL, IBV_QPT_RC, { 4, 4, dev.max_sge + 1, 1, 0 });
	TRY(EINVAL, IBV_QPT_RC, { 4, 4, 1, dev.max_sge + 1, 0 });
	TRY(EINVAL, IBV_QPT_RC, { dev.max_qp_wr + 1, 4, 1, 1, 0 });
	TRY(EINVAL, IBV_QPT_RC, { 4, dev.max_qp_wr + 1, 1, 1, 0 });
	TRY(EINVAL, IBV_QPT_RC, { 4, 4, 1, 1, 100000 });
#undef TRY
	pair_close(&p);
}

/* A QP must not use CQs of another context of the device; it may use CQs of its own context */
static void test_cq_of_another_context_is_refused(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 0 } };
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *own;
	struct ibv_qp *qp;
	struct pair p;

	pair_open(&p, &(struct opts){});
	ctx = ibv_open_device(p.c.id->verbs->device);
	CHECK(ctx, "%m");
	pd = ibv_alloc_pd(ctx);
	CHECK(pd, "%m");
	attr.send_cq = p.c.scq;
	attr.recv_cq = p.c.rcq;
	errno = 0;
	/*
	 * depending on its version, the RDMA core finds no CQ with this handle in the context
	 * (ENOENT), or finds that the CQ belongs to another context (EINVAL)
	 */
	CHECK(!ibv_create_qp(pd, &attr) && (errno == ENOENT || errno == EINVAL), "%m");
	own = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	CHECK(own, "%m");
	attr.send_cq = own;
	attr.recv_cq = own;
	qp = ibv_create_qp(pd, &attr);
	CHECK(qp, "%m");
	CHECK(!ibv_destroy_qp(qp) && !ibv_destroy_cq(own), "%m");
	CHECK(!ibv_dealloc_pd(pd) && !ibv_close_device(ctx), "%m");
	pair_close(&p);
}

static void register_and_expect_failure(struct ibv_pd *pd, void *at, size_t len, int access,
					int want)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(pd, at, len, access);
	CHECK(!mr, "must be refused");
	CHECK(errno == want, "%m, not %s", strerror(want));
}

/* ODP MRs can be registered if, and only if, the device reports support */
static void register_odp_and_check_support(const struct end *e, const struct buf *b)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;
	struct ibv_mr *mr = ibv_reg_mr(e->pd, b->at, b->len, access);
	struct ibv_device_attr_ex attr = {};

	CHECK(!ibv_query_device_ex(e->id->verbs, NULL, &attr), "%m");
	CHECK(!mr == !(attr.odp_caps.general_caps & IBV_ODP_SUPPORT), "must match the capability");
	if (mr)
		CHECK(!ibv_dereg_mr(mr), "%m");
}

static void test_mr_arguments(void)
{
	const int lw = IBV_ACCESS_LOCAL_WRITE, rw = IBV_ACCESS_REMOTE_WRITE;
	const size_t page = get_page_size();
	uint8_t *ro, *hole;
	struct ibv_mr *mr;
	struct pair p;
	struct buf b;

	pair_open(&p, &(struct opts){});
	buf_create(&b, 100);
	register_and_expect_failure(p.c.pd, b.at, 100, rw, EINVAL);
	register_and_expect_failure(p.c.pd, b.at, 100, IBV_ACCESS_REMOTE_ATOMIC, EINVAL);
	register_odp_and_check_support(&p.c, &b);
	register_and_expect_failure(p.c.pd, b.at, 0, lw, EINVAL);
	/* SEC-1: memory that the program may not write, or that is not mapped, must be refused */
	ro = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	hole = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(ro != MAP_FAILED && hole != MAP_FAILED, "%m");
	register_and_expect_failure(p.c.pd, ro, 2 * page, lw | rw, EFAULT);
	/*
	 * in kernels before 6.2, registration for reading also succeeds if the memory is not
	 * readable
	 */
	if (!is_kernel_before(6, 2))
		register_and_expect_failure(p.c.pd, hole, 2 * page, 0, EFAULT);
	CHECK(!munmap(hole, 2 * page), "%m");
	register_and_expect_failure(p.c.pd, hole, 2 * page, lw, EFAULT);
	/* refuse a range of which only the last page is not mapped */
	CHECK(!munmap(ro + page, page), "%m");
	register_and_expect_failure(p.c.pd, ro, page + 1, 0, EFAULT);
	mr = ibv_reg_mr(p.c.pd, ro, page, IBV_ACCESS_REMOTE_READ);
	CHECK(mr, "%m");
	CHECK(!ibv_dereg_mr(mr), "%m");
	buf_free(&b);
	pair_close(&p);
}

/* A window must not be bound to an MR of another PD; the status must say that the bind failed */
static void test_bind_other_pd(void)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 2, .opcode = IBV_WR_BIND_MW, .send_flags = SIG,
	};
	struct ibv_pd *other;
	struct fixture d;

	fixture_open(&d, &(struct opts){}, 100);
	other = ibv_alloc_pd(d.p.c.id->verbs);
	CHECK(other, "%m");
	wr.bind_mw.mw = ibv_alloc_mw(d.p.c.pd, IBV_MW_TYPE_2);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = ibv_reg_mr(other, d.c.at, 100, add_odp_access_if_set(IBV_ACCESS_MW_BIND)),
		.addr = (uintptr_t)d.c.at, .length = 100,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	CHECK(wr.bind_mw.mw && wr.bind_mw.bind_info.mr, "%m");
	wr.bind_mw.rkey = ibv_inc_rkey(wr.bind_mw.mw->rkey);
	CHECK(!ibv_post_send(d.p.c.qp, &wr, &bad), "post");
	expect_status(d.p.c.scq, 2, IBV_WC_MW_BIND_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(!ibv_dealloc_mw(wr.bind_mw.mw), "%m");
	CHECK(!ibv_dereg_mr(wr.bind_mw.bind_info.mr), "%m");
	CHECK(!ibv_dealloc_pd(other), "%m");
	fixture_free(&d);
}

/* Post two SGEs that are together longer than the maximum message: nothing may be sent */
static void post_too_long_and_expect_failure(enum ibv_wr_opcode op, uint32_t one, uint32_t two)
{
	struct ibv_sge sge[2];
	struct ibv_send_wr *bad, wr = {
		.wr_id = 2, .opcode = op, .send_flags = SIG,
		.sg_list = sge, .num_sge = 2,
	};
	uint64_t was;
	struct fixture d;

	fixture_open(&d, &(struct opts){ .ssge = 2 }, 1000);
	was = read_counter(&d.p.c, "tx_sends");
	buf_fill(&d.c, 0, 1000, 1);
	post_recv(&d.p.s, 1, &d.s, 0, 1000);
	sge[0] = (struct ibv_sge){ (uintptr_t)d.c.at, one, d.c.mr->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)d.c.at, two, d.c.mr->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)d.s.at;
	wr.wr.rdma.rkey = d.s.mr->rkey;
	CHECK(!ibv_post_send(d.p.c.qp, &wr, &bad), "post");
	expect_status(d.p.c.scq, 2, IBV_WC_LOC_LEN_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_status(d.p.s.rcq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_counter_increase(&d.p.c, "tx_sends", was, 0);
	buf_expect_only_pattern(&d.s, 0, 0, 1);
	fixture_free(&d);
}

static void test_too_long(void)
{
	post_too_long_and_expect_failure(IBV_WR_SEND, 0x7fffffff, 1);
	/* the sums are a little above 2^32, and must not be truncated to 32 bits */
	post_too_long_and_expect_failure(IBV_WR_SEND, 0x80000000, 0x80000000);
	post_too_long_and_expect_failure(IBV_WR_SEND, 0xffffffff, 11);
	post_too_long_and_expect_failure(IBV_WR_RDMA_WRITE, 0xffffffff, 11);
}

/* A receive may be longer than the maximum length of a message */
static void test_recv_longer_than_any_message(void)
{
	struct ibv_sge sge[2];
	struct ibv_recv_wr *bad, wr = {
		.wr_id = 1, .sg_list = sge, .num_sge = 2,
	};
	struct fixture d;

	fixture_open(&d, &(struct opts){ .rsge = 2 }, 1000);
	/* the sum is a little above 2^32, and must not be truncated to 32 bits */
	sge[0] = (struct ibv_sge){ (uintptr_t)d.s.at, 0xffffffff, d.s.mr->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)d.s.at, 11, d.s.mr->lkey };
	CHECK(!ibv_post_recv(d.p.s.qp, &wr, &bad), "post");
	buf_fill(&d.c, 0, 1000, 1);
	post_send(&d.p.c, 2, &d.c, 0, 1000);
	expect_recv(d.p.s.rcq, 1, 1000);
	expect_success(d.p.c.scq, 2, IBV_WC_SEND);
	buf_expect_only_pattern(&d.s, 0, 1000, 1);
	fixture_close(&d);
}

static void test_post_arguments(void)
{
	struct ibv_sge sge[17] = {};
	struct ibv_recv_wr *rbad, rwr = { .sg_list = sge, .num_sge = 17 };
	struct job j = { .id = 1, .flags = SIG | IBV_SEND_INLINE };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct fixture d;
	int err;

	fixture_open(&d, &(struct opts){ .inl = 40 }, 1000);
	err = ibv_post_recv(d.p.c.qp, &rwr, &rbad);
	CHECK(err == EINVAL && rbad == &rwr, "%s", strerror(err));
	j.b = &d.c;
	j.op = IBV_WR_SEND;
	j.len = 1000;
	err = try_post_job(&d.p.c, &j);
	CHECK(err == EINVAL, "inline data too long: %s", strerror(err));
	j.op = IBV_WR_RDMA_READ;
	j.len = 1;
	err = try_post_job(&d.p.c, &j);
	CHECK(err == EINVAL, "inline Read: %s", strerror(err));
	j.op = (enum ibv_wr_opcode)77;
	err = try_post_job(&d.p.c, &j);
	CHECK(err == EINVAL, "undefined opcode: %s", strerror(err));
	/* none of the refused calls may have an effect */
	CHECK(!ibv_modify_qp(d.p.c.qp, &attr, IBV_QP_STATE), "RTS to RTS must be accepted");
	post_recv(&d.p.s, 1, &d.s, 0, 100);
	post_send(&d.p.c, 1, &d.c, 0, 50);
	expect_success(d.p.c.scq, 1, IBV_WC_SEND);
	expect_recv(d.p.s.rcq, 1, 50);
	fixture_close(&d);
}

/* A QP can enter RTS only when it is connected */
static void test_modify_arguments(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct pair p = {};

	pair_prepare(&p, &(struct opts){});
	CHECK(ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE) == EINVAL, "to RTS must be refused");
	attr.qp_state = IBV_QPS_SQD;
	CHECK(ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE) == EINVAL, "to SQD must be refused");
	attr.qp_state = IBV_QPS_ERR;
	CHECK(!ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE), "to ERR must be accepted");
	attr.qp_state = IBV_QPS_INIT;
	CHECK(ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE) == EINVAL, "ERR to INIT must be refused");
	pair_free(&p);
}

/* RESET discards a receive, and is possible in INIT and in the error state */
static void test_modify_reset(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct pair p = {};

	pair_prepare(&p, &(struct opts){});
	CHECK(!ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE), "to RESET must be accepted");
	post_recv(&p.c, 1, NULL, 0, 0);
	CHECK(!ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE), "to RESET with a receive");
	expect_no_completion_now(p.c.rcq);
	attr.qp_state = IBV_QPS_INIT;
	CHECK(!ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE), "to INIT must be accepted");
	attr.qp_state = IBV_QPS_ERR;
	CHECK(!ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE), "to ERR must be accepted");
	post_recv(&p.c, 2, NULL, 0, 0);
	attr.qp_state = IBV_QPS_RESET;
	CHECK(!ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE), "to RESET in the error state");
	expect_no_completion_now(p.c.rcq);
	attr.qp_state = IBV_QPS_INIT;
	CHECK(!ibv_modify_qp(p.c.qp, &attr, IBV_QP_STATE), "back to INIT");
	pair_free(&p);
}

/* Atomics and Write with Immediate are supported; iWARP has no Send with Immediate */
static void test_opcodes_not_offered(void)
{
	const uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = ops,
	};
	struct job j = { .id = 1, .op = IBV_WR_SEND_WITH_IMM, .flags = SIG };
	struct ibv_device_attr dev;
	struct fixture d;
	int err;

	fixture_open(&d, &(struct opts){}, 100);
	CHECK(!ibv_query_device(d.p.c.id->verbs, &dev), "%m");
	CHECK(dev.atomic_cap == IBV_ATOMIC_GLOB, "%d", dev.atomic_cap);
	post_recv(&d.p.s, 1, &d.s, 0, 100);
	j.b = &d.c;
	j.len = 8;
	err = try_post_job(&d.p.c, &j);
	CHECK(err == EINVAL, "%s", strerror(err));
	attr.pd = d.p.c.pd;
	attr.send_cq = attr.recv_cq = d.p.c.scq;
	CHECK(!ibv_create_qp_ex(d.p.c.id->verbs, &attr), "a QP for this operation must fail");
	CHECK(errno == EOPNOTSUPP, "%m");
	/* the refused call had no effect */
	post_send(&d.p.c, 2, &d.c, 0, 50);
	expect_success(d.p.c.scq, 2, IBV_WC_SEND);
	expect_recv(d.p.s.rcq, 1, 50);
	fixture_close(&d);
}

#define T(fn, rows)	CASE("local_" #fn, test_##fn, 0, rows)

const struct test local_tests[] = {
	T(send_unknown, "RDMAP-111"),
	T(send_dead, "DDP-117"),
	T(send_bounds, "DDP-125"),
	T(send_pd, "DDP-123 SEC-2"),
	T(write_unknown, ""),
	T(write_bounds, "DDP-125"),
	T(read_unknown, "DDP-126"),
	T(read_bounds, "SEC-15"),
	T(read_pd, "SEC-11"),
	T(read_read_only, "DDP-127"),
	T(recv_unknown, ""),
	T(recv_bounds, "SEC-15"),
	T(recv_read_only, "DDP-127"),
	T(qp_arguments, ""),
	CASE("local_cq_of_another", test_cq_of_another_context_is_refused, 0,
	     "DDP-132 RDMAP-180 RDMAP-186 SEC-38"),
	T(mr_arguments, "DDP-119 DDP-133 RDMAP-187 SEC-1 SEC-41"),
	T(bind_other_pd, "SEC-2"),
	T(post_arguments, ""),
	T(too_long, "DDP-48"),
	CASE("local_recv_too_long", test_recv_longer_than_any_message, 0, "DDP-50"),
	T(modify_arguments, ""),
	T(modify_reset, ""),
	T(opcodes_not_offered, ""),
	{}
};
