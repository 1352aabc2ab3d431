// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Invalid access to memory by a peer, and how its connection ends. */
#include "verbs.h"

enum violation {
	PAST_END,	/* access one byte beyond the end */
	BEFORE,		/* access one byte before the start */
	WRAPS,		/* TO + length exceeds 2^64 */
	WRONG_KEY,
	DEAD_KEY,	/* rkey of a deregistered MR */
	NO_RIGHT,	/* the MR grants only the other rights */
	OTHER_PD,
	QP_RIGHT,	/* the QP grants only the other rights */
	QP_EARLY,	/* like QP_RIGHT, but set before the connection */
	QP_STATE,	/* like QP_RIGHT, but set with a change of state */
	RIGHT_TAKEN,	/* the MR granted the right until it was reregistered */
};

struct attempt {
	enum violation		what;
	enum ibv_wr_opcode	op;
	const char		*ends;	/* counter of the reason why the stream ends */
};

#define LEN	100u
#define SIZE	5000u

struct counts {
	uint64_t end, sent, got, peer;
};

static struct counts read_counts(const struct fixture *d, const char *ends)
{
	return (struct counts){
		.end = read_counter(&d->p.s, ends),
		.sent = read_counter(&d->p.s, "tx_terminates"),
		.got = read_counter(&d->p.c, "rx_terminates"),
		.peer = read_counter(&d->p.c, "end_peer_terminate"),
	};
}

/* Check that since @was one stream has ended, for the reason @ends, with one Terminate */
static void check_terminate_counts(const struct fixture *d, const char *ends,
			 const struct counts *was)
{
	expect_counter_increase(&d->p.s, ends, was->end, 1);
	expect_counter_increase(&d->p.s, "tx_terminates", was->sent, 1);
	expect_counter_increase(&d->p.c, "rx_terminates", was->got, 1);
	expect_counter_increase(&d->p.c, "end_peer_terminate", was->peer, 1);
}

static void set_qp_rights(struct end *e, int access)
{
	struct ibv_qp_attr attr = { .qp_access_flags = access };

	CHECK(!ibv_modify_qp(e->qp, &attr, IBV_QP_ACCESS_FLAGS), "%m");
}

static int get_other_right(const struct attempt *a)
{
	return a->op == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_WRITE
					 : IBV_ACCESS_REMOTE_READ;
}

/*
 * Deny a right before the connection. The connection manager sets both rights
 * on accept, which must not restore the denied one.
 */
static void deny_right_before_connect(struct end *e, const struct attempt *a)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .qp_access_flags = get_other_right(a),
		.port_num = 1,
	};

	if (a->what == QP_EARLY)
		set_qp_rights(e, get_other_right(a));
	if (a->what == QP_STATE)
		CHECK(!ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS), "%m");
}

/* Register the server's buffer and prepare the invalid access */
static void register_buf_and_spoil_access(struct fixture *d, const struct attempt *a, struct job *j)
{
	int others = IBV_ACCESS_LOCAL_WRITE | get_other_right(a);
	struct ibv_pd *pd = d->p.s.pd;

	if (a->what == OTHER_PD)
		pd = ibv_alloc_pd(d->p.s.id->verbs);
	buf_reg(&d->s, pd, a->what == NO_RIGHT ? others : RIGHTS_ALL);
	j->raddr = (uintptr_t)d->s.at + 1000;
	j->rkey = d->s.mr->rkey;
	if (a->what == PAST_END)
		j->raddr = (uintptr_t)d->s.at + SIZE - LEN + 1;
	if (a->what == BEFORE)
		j->raddr = (uintptr_t)d->s.at - 1;
	if (a->what == WRAPS)
		j->raddr = -1ull;
	if (a->what == WRONG_KEY)
		j->rkey ^= 0x5a5a5a00;
	if (a->what == QP_RIGHT)
		set_qp_rights(&d->p.s, get_other_right(a));
	if (a->what == RIGHT_TAKEN)
		CHECK(!ibv_rereg_mr(d->s.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				    NULL, 0, add_odp_access_if_set(others)), "rereg: %m");
	if (a->what == DEAD_KEY) {
		CHECK(!ibv_dereg_mr(d->s.mr), "%m");
		d->s.mr = NULL;
	}
}

static void expect_both_qps_in_error(struct fixture *d, enum ibv_event_type at_s)
{
	expect_async_event(d->p.s.id->verbs, at_s, d->p.s.qp);
	expect_async_event(d->p.c.id->verbs, IBV_EVENT_QP_REQ_ERR, d->p.c.qp);
	pair_expect_event(&d->p, d->p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d->p, d->p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_status(d->p.c.rcq, 8, IBV_WC_WR_FLUSH_ERR);
	CHECK(query_qp_state(&d->p.c) == IBV_QPS_ERR, "%d", query_qp_state(&d->p.c));
	CHECK(query_qp_state(&d->p.s) == IBV_QPS_ERR, "%d", query_qp_state(&d->p.s));
	expect_no_completion(d->p.c.scq);
	expect_no_completion_now(d->p.c.rcq);
	expect_no_completion_now(d->p.s.scq);
	expect_no_completion_now(d->p.s.rcq);
}

static void fixture_open_and_deny_right(struct fixture *d, const struct attempt *a)
{
	memset(&d->p, 0, sizeof(d->p));
	pair_prepare(&d->p, &(struct opts){});
	pair_request(&d->p);
	pair_create_qp(&d->p, &d->p.s);
	deny_right_before_connect(&d->p.s, a);
	pair_accept(&d->p);
	buf_create(&d->c, SIZE);
	buf_create(&d->s, SIZE);
	buf_reg(&d->c, d->p.c.pd, RIGHTS_ALL);
	post_recv(&d->p.c, 8, NULL, 0, 0);
}

/*
 * Check the completion of the invalid request: a Write may have succeeded before the Terminate
 * arrives, but a Read must not succeed
 */
static void check_invalid_request_completion(struct fixture *d, enum ibv_wr_opcode op)
{
	struct ibv_wc wc = wait_next_wc(d->p.c.scq);

	CHECK(wc.wr_id == 1, "%llu", (unsigned long long)wc.wr_id);
	if (op == IBV_WR_RDMA_READ)
		CHECK(wc.status == IBV_WC_REM_ACCESS_ERR, "%s",
		      ibv_wc_status_str(wc.status));
	else
		CHECK(!wc.status || wc.status == IBV_WC_WR_FLUSH_ERR, "%s",
		      ibv_wc_status_str(wc.status));
}

static void access_and_expect_failure(const struct attempt *a)
{
	struct job j = { .id = 1, .op = a->op, .flags = SIG, .len = LEN };
	struct counts was;
	struct ibv_wc wc;
	struct fixture d;

	fixture_open_and_deny_right(&d, a);
	register_buf_and_spoil_access(&d, a, &j);
	was = read_counts(&d, a->ends);
	post_recv(&d.p.s, 7, &d.c, 0, 0);
	j.b = &d.c;
	post_job(&d.p.c, &j);
	check_invalid_request_completion(&d, a->op);
	/* after the error the stream must accept no request */
	post_job(&d.p.c, &(struct job){ .id = 2, .op = IBV_WR_SEND, .flags = SIG });
	wc = wait_next_wc(d.p.c.scq);
	CHECK(wc.wr_id == 2 && (!wc.status || wc.status == IBV_WC_WR_FLUSH_ERR),
	      "%s", ibv_wc_status_str(wc.status));
	expect_status(d.p.s.rcq, 7, IBV_WC_WR_FLUSH_ERR);
	expect_both_qps_in_error(&d, IBV_EVENT_QP_ACCESS_ERR);
	check_terminate_counts(&d, a->ends, &was);
	buf_expect_clear(&d.s, 0, SIZE);
	buf_expect_clear(&d.c, 0, SIZE);
	if (a->what != OTHER_PD)
		fixture_free(&d);
}

#define ATTEMPT(name, ...)						\
	static void test_##name(void)						\
	{								\
		access_and_expect_failure(&(struct attempt){ __VA_ARGS__ });		\
	}

#define W IBV_WR_RDMA_WRITE
#define R IBV_WR_RDMA_READ
ATTEMPT(write_past_end, PAST_END, W, "end_ddp_tagged_bounds")
ATTEMPT(write_before, BEFORE, W, "end_ddp_tagged_bounds")
ATTEMPT(write_wraps, WRAPS, W, "end_ddp_tagged_wrap")
ATTEMPT(write_wrong_key, WRONG_KEY, W, "end_ddp_tagged_stag")
ATTEMPT(write_dead_key, DEAD_KEY, W, "end_ddp_tagged_stag")
ATTEMPT(write_no_right, NO_RIGHT, W, "end_ddp_tagged_stag")
ATTEMPT(write_other_pd, OTHER_PD, W, "end_ddp_tagged_assoc")
ATTEMPT(write_qp_right, QP_RIGHT, W, "end_ddp_tagged_stag")
ATTEMPT(write_qp_early, QP_EARLY, W, "end_ddp_tagged_stag")
ATTEMPT(write_qp_state, QP_STATE, W, "end_ddp_tagged_stag")
ATTEMPT(write_right_taken, RIGHT_TAKEN, W, "end_ddp_tagged_stag")
ATTEMPT(read_past_end, PAST_END, R, "end_rdmap_bounds")
ATTEMPT(read_before, BEFORE, R, "end_rdmap_bounds")
ATTEMPT(read_wraps, WRAPS, R, "end_rdmap_wrap")
ATTEMPT(read_wrong_key, WRONG_KEY, R, "end_rdmap_stag")
ATTEMPT(read_dead_key, DEAD_KEY, R, "end_rdmap_stag")
ATTEMPT(read_no_right, NO_RIGHT, R, "end_rdmap_access")
ATTEMPT(read_other_pd, OTHER_PD, R, "end_rdmap_assoc")
ATTEMPT(read_qp_right, QP_RIGHT, R, "end_rdmap_access")
ATTEMPT(read_qp_early, QP_EARLY, R, "end_rdmap_access")
ATTEMPT(read_qp_state, QP_STATE, R, "end_rdmap_access")
ATTEMPT(read_right_taken, RIGHT_TAKEN, R, "end_rdmap_access")

/* The rights of a QP apply to the peer, not to the QP's own requests */
static void test_qp_right_own(void)
{
	struct fixture d;

	fixture_open(&d, &(struct opts){}, SIZE);
	set_qp_rights(&d.p.c, 0);
	buf_fill(&d.s, 0, 300, 4);
	post_job(&d.p.c, &(struct job){
		.id = 1, .op = IBV_WR_RDMA_READ, .flags = SIG, .b = &d.c,
		.len = 300, .rkey = d.s.mr->rkey,
		.raddr = (uintptr_t)d.s.at });
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_READ);
	buf_expect_only_pattern(&d.c, 0, 300, 4);
	/* a Write of length zero needs no right (DDP-56) */
	post_recv(&d.p.c, 2, &d.c, 0, 10);
	post_job(&d.p.s, &(struct job){ .id = 3, .op = W, .flags = SIG });
	post_job(&d.p.s, &(struct job){ .id = 4, .op = IBV_WR_SEND, .flags = SIG });
	expect_success(d.p.s.scq, 3, IBV_WC_RDMA_WRITE);
	expect_success(d.p.s.scq, 4, IBV_WC_SEND);
	expect_recv(d.p.c.rcq, 2, 0);
	fixture_close(&d);
}

/* A message for which no receive is posted must end the stream */
static void test_no_receive(void)
{
	const char *ends = "end_ddp_untagged_no_buffer";
	struct counts was;
	struct fixture d;

	fixture_open_and_deny_right(&d, &(struct attempt){});
	was = read_counts(&d, ends);
	post_job(&d.p.c, &(struct job){
		.op = IBV_WR_SEND, .b = &d.c, .len = LEN });
	expect_both_qps_in_error(&d, IBV_EVENT_QP_FATAL);
	check_terminate_counts(&d, ends, &was);
	fixture_free(&d);
}

static void post_too_long_and_expect_failure(uint32_t len, uint32_t room)
{
	const char *ends = "end_ddp_untagged_too_long";
	struct counts was;
	struct fixture d;

	fixture_open_and_deny_right(&d, &(struct attempt){});
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ALL);
	was = read_counts(&d, ends);
	post_recv(&d.p.s, 1, &d.s, 0, room);
	post_recv(&d.p.s, 2, &d.s, 0, SIZE);
	post_job(&d.p.c, &(struct job){
		.op = IBV_WR_SEND, .b = &d.c, .len = len });
	expect_status(d.p.s.rcq, 1, IBV_WC_LOC_LEN_ERR);
	expect_status(d.p.s.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_both_qps_in_error(&d, IBV_EVENT_QP_FATAL);
	check_terminate_counts(&d, ends, &was);
	/* segments that fit into the receive are placed; all other bytes must be unchanged */
	buf_expect_clear(&d.s, room, SIZE - room);
	fixture_free(&d);
}

static void test_receive_too_small(void)
{
	post_too_long_and_expect_failure(LEN, LEN - 1);
}

static void test_receive_too_small_for_last_segment(void)
{
	post_too_long_and_expect_failure(4500, 4499);
}

/* Check that another connection can still write to the server's memory */
static void write_by_other_connection(struct fixture *d, struct pair *q)
{
	struct job j = {
		.id = 5, .op = W, .flags = SIG, .b = &d->c, .len = LEN,
		.rkey = d->s.mr->rkey, .raddr = (uintptr_t)d->s.at,
	};

	buf_fill(&d->c, 0, LEN, 5);
	post_job(&q->c, &j);
	/* when the Read completes, the Write is placed */
	j.op = R;
	j.id = 6;
	post_job(&q->c, &j);
	expect_success(q->c.scq, 5, IBV_WC_RDMA_WRITE);
	expect_success(q->c.scq, 6, IBV_WC_RDMA_READ);
	buf_expect_pattern(&d->s, 0, LEN, 5);
}

/* A peer must not invalidate an ordinary MR (RFC 5040 4.8, 8.1.1 (7)) */
static void test_invalidate_refused(void)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND_WITH_INV, .send_flags = SIG,
	};
	uint64_t was;
	struct pair q;
	struct fixture d;

	fixture_open_and_deny_right(&d, &(struct attempt){});
	pair_open_like(&q, &d.p);
	buf_reg(&d.s, d.p.s.pd, RIGHTS_ALL);
	was = read_counter(&d.p.s, "end_rdmap_invalidate");
	post_recv(&d.p.s, 7, &d.s, 0, 10);
	wr.invalidate_rkey = d.s.mr->rkey;
	CHECK(!ibv_post_send(d.p.c.qp, &wr, &bad), "post");
	CHECK(wait_next_wc(d.p.c.scq).wr_id == 1, "send");
	pair_expect_event(&d.p, d.p.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&d.p, d.p.lch, RDMA_CM_EVENT_DISCONNECTED);
	expect_status(d.p.s.rcq, 7, IBV_WC_WR_FLUSH_ERR);
	expect_counter_increase(&d.p.s, "end_rdmap_invalidate", was, 1);
	write_by_other_connection(&d, &q);
	pair_close(&q);
	fixture_free(&d);
}

/* The end of a stream must not affect other streams, even of the same PD */
static void test_other_streams_survive(void)
{
	struct pair a, b;
	struct buf buf;

	pair_open(&a, &(struct opts){});
	pair_open_like(&b, &a);
	buf_create(&buf, SIZE);
	buf_reg(&buf, a.s.pd, RIGHTS_ALL);
	post_job(&a.c, &(struct job){ .op = IBV_WR_SEND });
	pair_expect_event(&a, a.c.ch, RDMA_CM_EVENT_DISCONNECTED);
	pair_expect_event(&a, a.lch, RDMA_CM_EVENT_DISCONNECTED);
	post_recv(&b.s, 5, &buf, 0, 10);
	post_job(&b.c, &(struct job){ .id = 6, .op = IBV_WR_SEND, .flags = SIG });
	expect_success(b.c.scq, 6, IBV_WC_SEND);
	expect_recv(b.s.rcq, 5, 0);
	buf_free(&buf);
	pair_close(&b);
	pair_free(&a);
}

#define T(fn, rows)	CASE("remote_" #fn, test_##fn, 0, rows)

const struct test remote_tests[] = {
	T(write_past_end, "DDP-99 DDP-101 DDP-116 DDP-120 SEC-15 RDMAP-11 RDMAP-58"),
	T(write_before, "DDP-98 DDP-101 SEC-15"),
	T(write_wraps, "DDP-100 DDP-101"),
	T(write_wrong_key, "DDP-30 DDP-96 SEC-14"),
	T(write_dead_key, "DDP-96 DDP-117"),
	T(write_no_right, "DDP-97 DDP-127"),
	T(write_other_pd, "DDP-109 DDP-111 DDP-123 SEC-2 SEC-10 SEC-11"),
	T(write_qp_right, "DDP-97"),
	T(write_qp_early, "DDP-97"),
	T(write_qp_state, "DDP-97"),
	T(write_right_taken, "DDP-127 RDMAP-176"),
	T(read_past_end, "RDMAP-13 RDMAP-15 RDMAP-69 RDMAP-77 SEC-15 SEC-18"),
	T(read_before, "RDMAP-77 SEC-18"),
	T(read_wraps, "RDMAP-77"),
	T(read_wrong_key, "RDMAP-77"),
	T(read_dead_key, "RDMAP-77"),
	T(read_no_right, "RDMAP-77 DDP-127"),
	T(read_other_pd, "RDMAP-77 SEC-11"),
	T(read_qp_right, "RDMAP-77"),
	T(read_qp_early, "RDMAP-77"),
	T(read_qp_state, "RDMAP-77"),
	T(read_right_taken, "RDMAP-77 RDMAP-176 DDP-127"),
	T(qp_right_own, "DDP-56"),
	T(no_receive, "DDP-87 DDP-88 DDP-91 RDMAP-9 RDMAP-96 RDMAP-108"),
	T(receive_too_small, "DDP-93 RDMAP-93 DDP-82"),
	CASE("remote_receive_too_small_later", test_receive_too_small_for_last_segment, 0,
	     "DDP-93 RDMAP-93 DDP-102"),
	T(invalidate_refused, "RDMAP-104 RDMAP-178 SEC-36"),
	CASE("remote_others_live", test_other_streams_survive, 0, ""),
	{}
};
