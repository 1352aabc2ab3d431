// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Atomic Operations (RFC 7306). */
#include "verbs.h"

#define ADD	IBV_WR_ATOMIC_FETCH_AND_ADD
#define CAS	IBV_WR_ATOMIC_CMP_AND_SWP
#define RIGHTS	(RIGHTS_ALL | IBV_ACCESS_REMOTE_ATOMIC)
#define SIZE	4000u

uint64_t *get_word(const struct buf *b, uint32_t n)
{
	return (uint64_t *)(((uintptr_t)b->at + 7) & ~7ul) + n;
}

static int post_atomic_by_wr_api(struct ibv_qp_ex *ex, const struct atom *a)
{
	uint64_t raddr = (uintptr_t)get_word(a->target, a->to) + a->skew;

	ibv_wr_start(ex);
	ex->wr_id = a->id;
	ex->wr_flags = a->flags;
	if (a->op == ADD)
		ibv_wr_atomic_fetch_add(ex, a->target->mr->rkey, raddr,
					a->value);
	else
		ibv_wr_atomic_cmp_swp(ex, a->target->mr->rkey, raddr, a->value,
				      a->swap);
	ibv_wr_set_sge(ex, a->sink->mr->lkey,
		       (uintptr_t)get_word(a->sink, a->at), 8);
	return ibv_wr_complete(ex);
}

static int post_atomic_by_post_send(const struct end *e, const struct atom *a)
{
	struct ibv_sge sge = {
		(uintptr_t)get_word(a->sink, a->at), 8, a->sink->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = a->id, .opcode = a->op, .send_flags = a->flags,
		.sg_list = &sge, .num_sge = 1,
		.wr.atomic = {
			.remote_addr = (uintptr_t)get_word(a->target, a->to) +
				       a->skew,
			.rkey = a->target->mr->rkey,
			.compare_add = a->value, .swap = a->swap,
		},
	};

	return ibv_post_send(e->qp, &wr, &bad);
}

void post_atomic(const struct end *e, const struct atom *a)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(e->qp);
	int err = ex ? post_atomic_by_wr_api(ex, a) : post_atomic_by_post_send(e, a);

	CHECK(!err, "post %llu: %s", (unsigned long long)a->id, strerror(err));
}

void expect_atomic(struct ibv_cq *cq, uint64_t id, enum ibv_wr_opcode op)
{
	struct ibv_wc wc = wait_next_wc(cq);

	CHECK(wc.wr_id == id && !wc.status, "%llu, not %llu: %s, vendor error %u",
	      (unsigned long long)wc.wr_id, (unsigned long long)id,
	      ibv_wc_status_str(wc.status), wc.vendor_err);
	CHECK(wc.opcode == (op == ADD ? IBV_WC_FETCH_ADD : IBV_WC_COMP_SWAP),
	      "opcode %d", wc.opcode);
	CHECK(wc.byte_len == 8, "%u bytes", wc.byte_len);
	CHECK(!(wc.wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)), "flags %x",
	      wc.wc_flags);
}

static void open_fixture(struct fixture *d, const struct opts *o)
{
	pair_open(&d->p, o);
	buf_create(&d->c, SIZE);
	buf_create(&d->s, SIZE);
	buf_reg(&d->c, d->p.c.pd, RIGHTS);
	buf_reg(&d->s, d->p.s.pd, RIGHTS);
}

static void execute_and_check_atomic(struct fixture *d, enum ibv_wr_opcode op, uint64_t value,
				     uint64_t swap)
{
	uint64_t old = *get_word(&d->s, 5), sink = ~old;
	uint64_t want = op == ADD ? old + value : old == value ? swap : old;

	*get_word(&d->c, 3) = sink;
	post_atomic(&d->p.c, &(struct atom){
		.id = 7, .op = op, .flags = SIG, .value = value, .swap = swap,
		.sink = &d->c, .at = 3, .target = &d->s, .to = 5 });
	expect_atomic(d->p.c.scq, 7, op);
	CHECK(*get_word(&d->c, 3) == old, "%llx was returned, %llx was the value before",
	      (unsigned long long)*get_word(&d->c, 3), (unsigned long long)old);
	CHECK(*get_word(&d->s, 5) == want, "the value is %llx, want %llx",
	      (unsigned long long)*get_word(&d->s, 5), (unsigned long long)want);
}

static void check_atomics_with_many_values(uint64_t send_ops)
{
	struct fixture d;
	uint64_t i, *at;

	open_fixture(&d, &(struct opts){ .send_ops = send_ops });
	at = get_word(&d.s, 5);
	*at = 0xfffffffffffffff0;
	for (i = 1; i < 50; i++) {
		execute_and_check_atomic(&d, ADD, i * 0x0123456789abcdef, 0);
		execute_and_check_atomic(&d, CAS, *at, i * 0xfedcba9876543211);
		execute_and_check_atomic(&d, CAS, *at ^ 1ull << i, i);
	}
	execute_and_check_atomic(&d, ADD, 0, 0);
	execute_and_check_atomic(&d, ADD, -*at, 0);
	CHECK(!*at, "%llx", (unsigned long long)*at);
	/* no byte outside the words may change, and the server must get no completion */
	buf_expect_clear(&d.s, 0, (uint8_t *)at - d.s.at);
	buf_expect_clear(&d.s, (uint8_t *)(at + 1) - d.s.at, 100);
	buf_expect_clear(&d.c, 0, (uint8_t *)get_word(&d.c, 3) - d.c.at);
	buf_expect_clear(&d.c, (uint8_t *)get_word(&d.c, 4) - d.c.at, 100);
	expect_no_completion(d.p.s.rcq);
	expect_no_completion(d.p.s.scq);
	fixture_close(&d);
}

static void test_atomic_values(void)
{
	check_atomics_with_many_values(0);
}

static void test_atomic_wr_api(void)
{
	check_atomics_with_many_values(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
}

enum { QPS = 6, BURST = 32 };

/* Post a burst of atomics, and mark in @seen each value that they return, which must be below @n */
static void post_and_check_burst_of_adds(struct pair *p, const struct atom *a, uint8_t *seen,
					 uint32_t n)
{
	struct atom one = *a;
	uint64_t found;
	uint32_t i;

	for (i = 0; i < QPS * BURST; i++) {
		one.id = one.at = i;
		post_atomic(&p[i % QPS].c, &one);
	}
	for (i = 0; i < QPS * BURST; i++)
		CHECK(!wait_next_wc(p[0].c.scq).status, "%u", i);
	for (i = 0; i < QPS * BURST; i++) {
		found = *get_word(a->sink, i);
		CHECK(found < n && !seen[found]++, "%llu was returned twice",
		      (unsigned long long)found);
	}
}

/* Many QPs count in one word: no value may be returned twice */
static void test_atomic_distinct(void)
{
	const uint32_t turns = scale_rounds(40), n = turns * QPS * BURST;
	struct atom a = { .op = ADD, .flags = SIG, .value = 1 };
	struct pair p[QPS];
	struct buf c, s;
	uint8_t *seen;
	uint32_t i;

	seen = calloc(1, n);
	pair_open(&p[0], &(struct opts){ .cqe = QPS * BURST });
	for (i = 1; i < QPS; i++)
		pair_open_like(&p[i], &p[0]);
	buf_create(&c, SIZE);
	buf_create(&s, SIZE);
	buf_reg(&c, p[0].c.pd, RIGHTS);
	buf_reg(&s, p[0].s.pd, RIGHTS);
	*get_word(&s, 0) = 0;
	a.sink = &c;
	a.target = &s;
	for (i = 0; i < turns; i++)
		post_and_check_burst_of_adds(p, &a, seen, n);
	CHECK(*get_word(&s, 0) == n, "%llu, not %u",
	      (unsigned long long)*get_word(&s, 0), n);
	buf_free(&c);
	buf_free(&s);
	for (i = QPS; i--;)
		pair_close(&p[i]);
}

/* A Write, a FetchAdd and a Read of one word, posted without waiting, must execute in order */
static void test_atomic_in_order(void)
{
	const uint32_t to = 400;	/* in words */
	struct fixture d;
	uint64_t i;

	open_fixture(&d, &(struct opts){});
	for (i = 1; i <= scale_rounds(200); i++) {
		uint64_t raddr = (uintptr_t)get_word(&d.s, 0);
		uint32_t off = (uint8_t *)get_word(&d.c, 0) - d.c.at;
		struct job j = {
			.op = IBV_WR_RDMA_WRITE, .b = &d.c, .off = off,
			.len = (i & 1 ? 1 : to) * 8, .rkey = d.s.mr->rkey,
			.raddr = i & 1 ? raddr + (to - 1) * 8 : raddr,
		};

		*get_word(&d.c, i & 1 ? 0 : to - 1) = i << 32;
		post_job(&d.p.c, &j);
		post_atomic(&d.p.c, &(struct atom){
			.id = i, .op = ADD, .flags = SIG, .value = 5,
			.sink = &d.c, .at = to, .target = &d.s, .to = to - 1 });
		j.id = i + 1;
		j.op = IBV_WR_RDMA_READ;
		j.flags = SIG;
		post_job(&d.p.c, &j);
		expect_atomic(d.p.c.scq, i, ADD);
		expect_success(d.p.c.scq, i + 1, IBV_WC_RDMA_READ);
		CHECK(*get_word(&d.c, to) == i << 32, "the atomic must see the Write");
		CHECK(*get_word(&d.c, i & 1 ? 0 : to - 1) == (i << 32) + 5,
		      "the Read must see the atomic");
	}
	fixture_close(&d);
}

/* A Read before an atomic on one word must return the old value */
static void test_atomic_after_read(void)
{
	const uint32_t words = 480;
	struct fixture d;
	uint64_t i;

	open_fixture(&d, &(struct opts){});
	*get_word(&d.s, words - 1) = 0;
	for (i = 0; i < scale_rounds(200); i++) {
		post_job(&d.p.c, &(struct job){
			.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG,
			.b = &d.c, .off = (uint8_t *)get_word(&d.c, 0) - d.c.at,
			.len = 8 * words, .rkey = d.s.mr->rkey,
			.raddr = (uintptr_t)get_word(&d.s, 0) });
		post_atomic(&d.p.c, &(struct atom){
			.id = 2, .op = CAS, .flags = SIG, .value = i,
			.swap = i + 1, .sink = &d.c, .at = words,
			.target = &d.s, .to = words - 1 });
		expect_success(d.p.c.scq, 1, IBV_WC_RDMA_READ);
		expect_atomic(d.p.c.scq, 2, CAS);
		CHECK(*get_word(&d.c, words - 1) == i, "the Read returned %llu, not %llu",
		      (unsigned long long)*get_word(&d.c, words - 1),
		      (unsigned long long)i);
		CHECK(*get_word(&d.c, words) == i, "the atomic returned %llu",
		      (unsigned long long)*get_word(&d.c, words));
	}
	fixture_close(&d);
}

/* A fenced Send must send the value that the atomic before it has returned */
static void test_atomic_fence(void)
{
	struct fixture d;
	uint64_t i;

	open_fixture(&d, &(struct opts){});
	*get_word(&d.s, 9) = 1;
	for (i = 1; i < 50; i++) {
		post_recv(&d.p.s, i, &d.s, 0, 8);
		post_atomic(&d.p.c, &(struct atom){
			.op = ADD, .value = 1, .sink = &d.c, .target = &d.s,
			.to = 9 });
		post_job(&d.p.c, &(struct job){
			.id = i, .op = IBV_WR_SEND, .b = &d.c, .len = 8,
			.off = (uint8_t *)get_word(&d.c, 0) - d.c.at,
			.flags = SIG | IBV_SEND_FENCE });
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, i, 8);
		CHECK(!memcmp(d.s.at, &i, 8), "round %llu",
		      (unsigned long long)i);
	}
	fixture_close(&d);
}

/* Return: the value of the word after operation @i, if it was @value before */
static uint64_t compute_value_after(uint64_t value, uint32_t i)
{
	if (i % 4 == 0)
		return value + 1;
	return i % 8 == 1 ? value + 10 : value;
}

static void post_atomic_read_or_send(struct fixture *d, uint32_t i, uint64_t value)
{
	struct job j = {
		.id = i, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d->c,
		.off = (uint8_t *)get_word(&d->c, i) - d->c.at, .len = 8,
		.rkey = d->s.mr->rkey, .raddr = (uintptr_t)get_word(&d->s, 0),
	};

	if (i % 4 == 3) {
		post_recv(&d->p.s, i, NULL, 0, 0);
		j.op = IBV_WR_SEND;
		j.len = 0;
		post_job(&d->p.c, &j);
	} else if (i % 4 == 2) {
		post_job(&d->p.c, &j);
	} else {
		post_atomic(&d->p.c, &(struct atom){
			.id = i, .op = i % 4 ? CAS : ADD, .flags = SIG,
			.value = i % 4 == 0 ? 1 : i % 8 == 1 ? value : ~value,
			.swap = value + 10, .sink = &d->c, .at = i,
			.target = &d->s });
	}
}

/* More atomics and Reads than ORD, mixed with Sends, must execute in order */
static void test_more_atomics_than_ord(void)
{
	static const enum ibv_wc_opcode wcs[] = {
		IBV_WC_FETCH_ADD, IBV_WC_COMP_SWAP, IBV_WC_RDMA_READ,
		IBV_WC_SEND,
	};
	const uint32_t n = 120;
	uint64_t value;
	struct fixture d;
	uint32_t i;

	open_fixture(&d, &(struct opts){ .sq = 128, .rq = 64, .ord = 3, .ird = 3 });
	*get_word(&d.s, 0) = value = 1;
	for (i = 0; i < n; value = compute_value_after(value, i++))
		post_atomic_read_or_send(&d, i, value);
	for (i = 0, value = 1; i < n; value = compute_value_after(value, i++)) {
		expect_success(d.p.c.scq, i, wcs[i % 4]);
		if (i % 4 == 3)
			expect_recv(d.p.s.rcq, i, 0);
		else
			CHECK(*get_word(&d.c, i) == value, "%u: %llu, not %llu", i,
			      (unsigned long long)*get_word(&d.c, i),
			      (unsigned long long)value);
	}
	CHECK(*get_word(&d.s, 0) == value, "%llu, not %llu",
	      (unsigned long long)*get_word(&d.s, 0), (unsigned long long)value);
	fixture_close(&d);
}

/* The result of an atomic needs exactly one SGE of 8 bytes; other lists must be refused */
static void expect_atomic_with_bad_sges_fails(int num_sge, uint32_t len, enum ibv_wc_status status)
{
	struct ibv_sge sge[2];
	struct ibv_send_wr *bad, wr = {
		.wr_id = 2, .opcode = ADD, .send_flags = SIG,
		.sg_list = sge, .num_sge = num_sge,
	};
	struct fixture d;
	uint64_t was;
	int i;

	open_fixture(&d, &(struct opts){ .ssge = 2 });
	was = read_counter(&d.p.c, "tx_terminates");
	for (i = 0; i < 2; i++)
		sge[i] = (struct ibv_sge){
			(uintptr_t)get_word(&d.c, 3 * i), len, d.c.mr->lkey };
	wr.wr.atomic.remote_addr = (uintptr_t)get_word(&d.s, 0);
	wr.wr.atomic.rkey = d.s.mr->rkey;
	wr.wr.atomic.compare_add = 1;
	CHECK(!ibv_post_send(d.p.c.qp, &wr, &bad), "post");
	post_job(&d.p.c, &(struct job){ .id = 3, .op = IBV_WR_SEND });
	expect_status(d.p.c.scq, 2, status);
	expect_status(d.p.c.scq, 3, IBV_WC_WR_FLUSH_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&d.p.c, "tx_terminates", was, 1);
	buf_expect_clear(&d.c, 0, SIZE);
	buf_expect_clear(&d.s, 0, SIZE);
	fixture_free(&d);
}

static void test_atomic_with_bad_sges_fails(void)
{
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr *bad, wr = {
		.opcode = CAS, .send_flags = SIG | IBV_SEND_INLINE,
		.sg_list = &sge, .num_sge = 1,
	};
	uint64_t value = 1;
	struct fixture d;

	expect_atomic_with_bad_sges_fails(0, 0, IBV_WC_LOC_QP_OP_ERR);
	expect_atomic_with_bad_sges_fails(2, 4, IBV_WC_LOC_QP_OP_ERR);
	expect_atomic_with_bad_sges_fails(1, 0, IBV_WC_LOC_LEN_ERR);
	expect_atomic_with_bad_sges_fails(1, 7, IBV_WC_LOC_LEN_ERR);
	expect_atomic_with_bad_sges_fails(1, 16, IBV_WC_LOC_LEN_ERR);
	open_fixture(&d, &(struct opts){ .inl = 64 });
	sge.addr = (uintptr_t)&value;
	CHECK(ibv_post_send(d.p.c.qp, &wr, &bad) == EINVAL, "inline");
	fixture_close(&d);
}

/* An atomic whose sink is memory that may not be written must fail */
static void test_atomic_wrong_sink(void)
{
	struct fixture d;
	uint64_t was;

	open_fixture(&d, &(struct opts){});
	was = read_counter(&d.p.c, "tx_terminates");
	CHECK(!ibv_dereg_mr(d.c.mr), "%m");
	buf_reg(&d.c, d.p.c.pd, IBV_ACCESS_REMOTE_READ);
	post_atomic(&d.p.c, &(struct atom){
		.id = 1, .op = ADD, .flags = SIG, .value = 1, .sink = &d.c,
		.target = &d.s });
	expect_status(d.p.c.scq, 1, IBV_WC_LOC_PROT_ERR);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&d.p.c, "tx_terminates", was, 1);
	buf_expect_clear(&d.c, 0, SIZE);
	buf_expect_clear(&d.s, 0, SIZE);
	fixture_free(&d);
}

/* Accesses that must be refused, and the errors at both ends ------------- */

struct bad_access {
	const char		*ends;		/* counter of the reason why the stream ends */
	enum ibv_wc_status	status;
	enum ibv_event_type	event;		/* at the server */
	int			skew;
	uint32_t		to;
	int			region;		/* rights of the MR; 0: all */
	int			qp;		/* rights of the QP; 0: all */
	bool			dead;		/* the MR is deregistered */
};

static void restrict_mr_or_qp_rights(struct fixture *d, const struct bad_access *bad)
{
	struct ibv_qp_attr attr = { .qp_access_flags = bad->qp };

	if (bad->region) {
		CHECK(!ibv_dereg_mr(d->s.mr), "%m");
		buf_reg(&d->s, d->p.s.pd, bad->region);
	}
	if (bad->qp)
		CHECK(!ibv_modify_qp(d->p.s.qp, &attr, IBV_QP_ACCESS_FLAGS),
		      "%m");
}

static void post_atomic_and_expect_failure(const struct bad_access *bad, enum ibv_wr_opcode op)
{
	struct ibv_mr mr;
	uint64_t was;
	struct fixture d;

	open_fixture(&d, &(struct opts){});
	restrict_mr_or_qp_rights(&d, bad);
	was = read_counter(&d.p.s, bad->ends);
	post_recv(&d.p.s, 7, NULL, 0, 0);
	mr = *d.s.mr;
	if (bad->dead) {
		CHECK(!ibv_dereg_mr(d.s.mr), "%m");
		d.s.mr = &mr;
	}
	post_atomic(&d.p.c, &(struct atom){
		.id = 1, .op = op, .flags = SIG, .value = 1, .sink = &d.c,
		.target = &d.s, .to = bad->to, .skew = bad->skew });
	post_job(&d.p.c, &(struct job){ .id = 2, .op = IBV_WR_RDMA_READ });
	expect_status(d.p.c.scq, 1, bad->status);
	expect_status(d.p.c.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_status(d.p.s.rcq, 7, IBV_WC_WR_FLUSH_ERR);
	expect_async_event(d.p.s.id->verbs, bad->event, d.p.s.qp);
	expect_async_event(d.p.c.id->verbs, IBV_EVENT_QP_REQ_ERR, d.p.c.qp);
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_counter_increase(&d.p.s, bad->ends, was, 1);
	buf_expect_clear(&d.c, 0, SIZE);
	buf_expect_clear(&d.s, 0, SIZE);
	if (bad->dead)
		d.s.mr = NULL;
	fixture_free(&d);
}

#define PUNISHED(name, ...)						\
	static void test_##name(void)						\
	{								\
		const struct bad_access bad = { __VA_ARGS__ };		\
									\
		post_atomic_and_expect_failure(&bad, ADD);					\
		post_atomic_and_expect_failure(&bad, CAS);					\
	}

#define OP_ERR		IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL
#define ACCESS_ERR	IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR

PUNISHED(misaligned, "end_rdmap_stream", OP_ERR, .skew = 4)
PUNISHED(past_end, "end_rdmap_bounds", ACCESS_ERR, .to = SIZE / 8)
PUNISHED(no_right, "end_rdmap_access", ACCESS_ERR, .region = RIGHTS_ALL)
PUNISHED(qp_right, "end_rdmap_access", ACCESS_ERR,
	 .qp = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
PUNISHED(dead_key, "end_rdmap_stag", ACCESS_ERR, .dead = true)

#define T(fn, rows)	CASE("atomic_" #fn, test_##fn, 0, rows)

const struct test atomic_tests[] = {
	CASE("atomic_values", test_atomic_values, 0,
	  "EXT-3 EXT-10 EXT-15 EXT-20 EXT-21 EXT-22 EXT-25 EXT-26 EXT-27 "
	  "EXT-28 EXT-43 EXT-55"),
	CASE("atomic_wr_api", test_atomic_wr_api, 0, "the ABI: ibv_wr_atomic_*"),
	CASE("atomic_distinct", test_atomic_distinct, 60, "DDP-114"),
	CASE("atomic_in_line", test_atomic_in_order, 0, "EXT-61 EXT-81 EXT-84"),
	CASE("atomic_after_read", test_atomic_after_read, 0, "EXT-81"),
	CASE("atomic_fence", test_atomic_fence, 0, "EXT-59 EXT-65"),
	CASE("atomic_many", test_more_atomics_than_ord, 0,
	  "EXT-14 EXT-41 EXT-46 EXT-47 EXT-54 EXT-57 EXT-66 EXT-82"),
	CASE("atomic_wrong_pieces", test_atomic_with_bad_sges_fails, 0, "EXT-85"),
	CASE("atomic_wrong_sink", test_atomic_wrong_sink, 0, "EXT-85"),
	T(misaligned, "EXT-16 EXT-17 EXT-18 EXT-29 EXT-30 EXT-31 EXT-91"),
	T(past_end, "EXT-92"),
	T(no_right, "EXT-92"),
	T(qp_right, "EXT-92"),
	T(dead_key, "EXT-92"),
	{}
};
