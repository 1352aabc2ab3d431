// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of the bytes that posting writes to a ring, with ibv_post_send() and
 * ibv_wr_*(), and of the rejection of invalid requests.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "provider_test.h"

#define ID	0x1122334455667788
#define ADDR	0x99aabbccddeeff00
#define RKEY	0x10203040
#define WORD	0x50607080	/* value of the immediate data or STag */
#define COMPARE	0x0102030405060708
#define SWAP	0x1112131415161718

static struct ibv_mw window = { .type = IBV_MW_TYPE_2 };
static struct ibv_mr memory = { .lkey = 0x77665544 };
static const struct ibv_mw_bind_info info = {
	.mr = &memory, .addr = ADDR, .length = 0x8888,
	.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED,
};
static struct ibv_sge pieces[MAX_SGE + 1] = {
	{ 0x1000, 10, 1 }, { 0x2000, 20, 2 }, { 0x3000, 30, 3 },
};

/* Opcode to post, and the WQE expected in the ring */
struct kind {
	enum ibv_wr_opcode	op;
	bool			has_data;
	struct rnic_sw_sqe	want;
};

#define KIND(verb, abi, data, ...)						\
	{ IBV_WR_##verb, data,							\
	  { .wr_id = ID, .opcode = RNIC_SW_OP_##abi,				\
	    .flags = RNIC_SW_SEND_SIGNALED, .num_sge = data ? MAX_SGE : 0,	\
	    __VA_ARGS__ } }
#define REMOTE	.remote_addr = ADDR, .rkey = RKEY

static const struct kind kinds[] = {
	KIND(RDMA_WRITE, WRITE, true, REMOTE),
	KIND(RDMA_WRITE_WITH_IMM, WRITE_IMM, true, REMOTE, .imm_data = WORD),
	KIND(SEND, SEND, true),
	KIND(SEND_WITH_INV, SEND_INV, true, .inv_stag = WORD),
	KIND(RDMA_READ, READ, true, REMOTE),
	KIND(ATOMIC_CMP_AND_SWP, CMP_SWAP, true, REMOTE, .compare_add = COMPARE,
	     .swap = SWAP),
	KIND(ATOMIC_FETCH_AND_ADD, FETCH_ADD, true, REMOTE, .compare_add = COMPARE),
	KIND(LOCAL_INV, LOCAL_INV, false, .inv_stag = WORD),
	KIND(BIND_MW, BIND_MW, false,
	     .bind = { .rkey = RKEY, .lkey = 0x77665544, .addr = ADDR,
		       .length = 0x8888,
		       .access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED }),
};

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void fill_wr(struct ibv_send_wr *wr, enum ibv_wr_opcode op)
{
	if (op == IBV_WR_BIND_MW) {
		wr->bind_mw.mw = &window;
		wr->bind_mw.rkey = RKEY;
		wr->bind_mw.bind_info = info;
	} else if (is_atomic(op)) {
		wr->wr.atomic.remote_addr = ADDR;
		wr->wr.atomic.rkey = RKEY;
		wr->wr.atomic.compare_add = COMPARE;
		wr->wr.atomic.swap = SWAP;
	} else {
		wr->wr.rdma.remote_addr = ADDR;
		wr->wr.rdma.rkey = RKEY;
	}
}

static void post_request(struct rnic_sw_qp *qp, const struct kind *k)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = ID, .opcode = k->op, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = pieces, .num_sge = k->op == IBV_WR_BIND_MW ? 0 : MAX_SGE,
		.imm_data = WORD,
	};

	fill_wr(&wr, k->op);
	CHECK(!rnic_sw_post_send(&qp->vqp.qp, &wr, &bad));
}

static void call_wr_builder(struct ibv_qp_ex *ex, enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE:
		return ibv_wr_rdma_write(ex, RKEY, ADDR);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return ibv_wr_rdma_write_imm(ex, RKEY, ADDR, WORD);
	case IBV_WR_SEND:
		return ibv_wr_send(ex);
	case IBV_WR_SEND_WITH_INV:
		return ibv_wr_send_inv(ex, WORD);
	case IBV_WR_RDMA_READ:
		return ibv_wr_rdma_read(ex, RKEY, ADDR);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return ibv_wr_atomic_cmp_swp(ex, RKEY, ADDR, COMPARE, SWAP);
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return ibv_wr_atomic_fetch_add(ex, RKEY, ADDR, COMPARE);
	case IBV_WR_LOCAL_INV:
		return ibv_wr_local_inv(ex, WORD);
	default:
		return ibv_wr_bind_mw(ex, &window, RKEY, &info);
	}
}

static void post_request_ex(struct rnic_sw_qp *qp, const struct kind *k)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ibv_wr_start(ex);
	CHECK(!is_lock_free(&qp->sq.lock));
	ex->wr_id = ID;
	ex->wr_flags = IBV_SEND_SIGNALED;
	call_wr_builder(ex, k->op);
	if (k->has_data)
		ibv_wr_set_sge_list(ex, MAX_SGE, pieces);
	CHECK(!ibv_wr_complete(ex) && is_lock_free(&qp->sq.lock));
}

/*
 * Post a request into a slot that is filled with 0xa5. The WQE must be as
 * expected: fields that the opcode does not use are zero.
 */
static void post_and_check_wqe(void (*way)(struct rnic_sw_qp *, const struct kind *),
			       const struct kind *k)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	uint8_t *slot = ring_slot(&qp->sq, 0);
	size_t data = k->has_data ? MAX_SGE * sizeof(*pieces) : 0;

	memset(slot, 0xa5, STRIDE);
	way(qp, k);
	CHECK(qp->sq.hdr->prod == 1);
	CHECK(!memcmp(slot, &k->want, sizeof(k->want)));
	CHECK(!memcmp(slot + sizeof(k->want), pieces, data));
	CHECK(slot[sizeof(k->want) + data] == 0xa5);
	destroy_qp_and_cq(qp, cq);
}

static void test_wqe_of_each_opcode(void)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		post_and_check_wqe(post_request, &kinds[i]);
		post_and_check_wqe(post_request_ex, &kinds[i]);
	}
}

/*
 * Inline data of several buffers up to the maximum is accepted; one byte more
 * is rejected
 */
static void test_inline_data_limit(void)
{
	static char data[MAX_INLINE + 1] = "as much as goes into a slot, and an octet";
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)data, 5, 0 }, { (uintptr_t)data + 5, MAX_INLINE - 5, 0 },
	};
	struct ibv_data_buf buf[2] = {
		{ data, 5 }, { data + 5, MAX_INLINE - 5 },
	};
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .send_flags = IBV_SEND_INLINE,
		.sg_list = sge, .num_sge = 2,
	};
	struct rnic_sw_sqe *sqe = ring_slot(&qp->sq, 0);

	CHECK(!rnic_sw_post_send(&qp->vqp.qp, &wr, &bad));
	CHECK(sqe->inline_len == MAX_INLINE && !memcmp(sqe + 1, data, MAX_INLINE));
	CHECK(sqe->flags == RNIC_SW_SEND_INLINE && !sqe->num_sge);
	sqe = ring_slot(&qp->sq, 1);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 2, buf);
	CHECK(!ibv_wr_complete(ex));
	CHECK(sqe->inline_len == MAX_INLINE && !memcmp(sqe + 1, data, MAX_INLINE));
	CHECK(sqe->flags == RNIC_SW_SEND_INLINE);
	sge[1].length++;
	buf[1].length++;
	CHECK(rnic_sw_post_send(&qp->vqp.qp, &wr, &bad) == EINVAL);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 2, buf);
	CHECK(ibv_wr_complete(ex) == EINVAL && qp->sq.hdr->prod == 2);
	ibv_wr_start(ex);
	ibv_wr_rdma_read(ex, 1, 2);
	ibv_wr_set_inline_data(ex, data, 1);
	CHECK(ibv_wr_complete(ex) == EINVAL && qp->sq.hdr->prod == 2);
	destroy_qp_and_cq(qp, cq);
}

/* Each send flag is copied to the WQE */
static void test_flags_are_copied(void)
{
	static const unsigned int flags[] = {
		0, IBV_SEND_FENCE, IBV_SEND_SOLICITED, IBV_SEND_FENCE | IBV_SEND_SOLICITED,
	};
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	const struct rnic_sw_sqe *sqe;
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		wr.send_flags = flags[i];
		CHECK(!rnic_sw_post_send(&qp->vqp.qp, &wr, &bad));
		sqe = ring_slot(&qp->sq, i);
		CHECK(sqe->flags == flags[i]);
	}
	destroy_qp_and_cq(qp, cq);
}

/* Writes and Sends accept inline data; other opcodes reject it */
static void test_which_opcodes_accept_inline_data(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_send_wr *bad, wr = { .send_flags = IBV_SEND_INLINE };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool may = kinds[i].want.opcode <= RNIC_SW_OP_SEND_INV;

		wr.opcode = kinds[i].op;
		fill_wr(&wr, wr.opcode);
		qp->sq.hdr->cons = qp->sq.prod;
		CHECK(rnic_sw_post_send(&qp->vqp.qp, &wr, &bad) == (may ? 0 : EINVAL));
	}
	destroy_qp_and_cq(qp, cq);
}

static int try_post_send(struct rnic_sw_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;
	int ret;

	wr.sg_list = pieces;
	ret = rnic_sw_post_send(&qp->vqp.qp, &wr, &bad);
	CHECK(!ret || bad == &wr);
	return ret;
}

static int try_post_send_ex(struct rnic_sw_qp *qp, unsigned int flags, size_t n)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ibv_wr_start(ex);
	ex->wr_flags = flags;
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, n, pieces);
	return ibv_wr_complete(ex);
}

static int post_recv(void *qp, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad;

	return rnic_sw_post_recv(qp, wr, &bad);
}

/* Unknown opcodes, unsupported flags and too many SGEs are rejected */
static void test_invalid_requests_refused(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_mw type1 = { .type = IBV_MW_TYPE_1 };

#define REFUSED(...) CHECK(try_post_send(qp, (struct ibv_send_wr){ __VA_ARGS__ }) == EINVAL)
	REFUSED(.opcode = 99);
	REFUSED(.opcode = IBV_WR_SEND_WITH_IMM);
	REFUSED(.opcode = IBV_WR_SEND, .num_sge = -1);
	REFUSED(.opcode = IBV_WR_SEND, .num_sge = MAX_SGE + 1);
	REFUSED(.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM);
	REFUSED(.opcode = IBV_WR_BIND_MW);
	REFUSED(.opcode = IBV_WR_BIND_MW, .bind_mw.mw = &type1);
	REFUSED(.opcode = IBV_WR_BIND_MW, .bind_mw.mw = &window, .num_sge = 1);
	REFUSED(.opcode = IBV_WR_BIND_MW, .bind_mw.mw = &window,
		.send_flags = IBV_SEND_INLINE);
	CHECK(try_post_send_ex(qp, IBV_SEND_IP_CSUM, 1) == EINVAL);
	CHECK(try_post_send_ex(qp, 0, MAX_SGE + 1) == EINVAL);
	ibv_wr_start(&qp->vqp.qp_ex);
	ibv_wr_bind_mw(&qp->vqp.qp_ex, &type1, RKEY, &info);
	CHECK(ibv_wr_complete(&qp->vqp.qp_ex) == EINVAL);
	CHECK(!qp->sq.hdr->prod && is_lock_free(&qp->sq.lock));
	/* the QP has no receive queue, so it accepts no receive */
	CHECK(post_recv(&qp->vqp.qp, &(struct ibv_recv_wr){}) == ENOMEM);
	destroy_qp_and_cq(qp, cq);
}

/* Binding a type 1 window changes its rkey, but not if the post fails */
static void test_bind_changes_rkey(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_mw mw = { .type = IBV_MW_TYPE_1, .rkey = 0x123400ff };
	struct ibv_mw_bind bind = { .wr_id = ID, .bind_info = info };
	struct rnic_sw_sqe *sqe = ring_slot(&qp->sq, 0);
	uint32_t rkey;

	CHECK(!rnic_sw_bind_mw(&qp->vqp.qp, &mw, &bind));
	CHECK(mw.rkey == 0x12340000 && sqe->bind.rkey == mw.rkey);
	CHECK(sqe->wr_id == ID && sqe->opcode == RNIC_SW_OP_BIND_MW && !sqe->flags);
	CHECK(sqe->bind.length == info.length && sqe->bind.lkey == memory.lkey);
	/* a bind without an MR unbinds the window */
	bind.bind_info.mr = NULL;
	CHECK(!rnic_sw_bind_mw(&qp->vqp.qp, &mw, &bind));
	sqe = ring_slot(&qp->sq, 1);
	CHECK(!sqe->bind.length && !sqe->bind.lkey);
	qp->sq.prod += SLOTS - 2;
	rkey = mw.rkey;
	CHECK(rnic_sw_bind_mw(&qp->vqp.qp, &mw, &bind) == ENOMEM && mw.rkey == rkey);
	destroy_qp_and_cq(qp, cq);
}

static void post_and_check_recv(struct rnic_sw_queue *q,
				int (*post_one)(void *queue, struct ibv_recv_wr *wr), void *queue)
{
	const struct rnic_sw_rqe want = { .wr_id = ID, .num_sge = MAX_SGE };
	struct ibv_recv_wr wr = { .wr_id = ID, .sg_list = pieces };
	uint8_t *slot = ring_slot(q, 0);

	memset(slot, 0xa5, STRIDE);
	wr.num_sge = MAX_SGE + 1;
	CHECK(post_one(queue, &wr) == EINVAL);
	wr.num_sge = -1;
	CHECK(post_one(queue, &wr) == EINVAL && !q->hdr->prod);
	wr.num_sge = MAX_SGE;
	CHECK(!post_one(queue, &wr) && q->hdr->prod == 1);
	CHECK(!memcmp(slot, &want, sizeof(want)));
	CHECK(!memcmp(slot + sizeof(want), pieces, MAX_SGE * sizeof(*pieces)));
	CHECK(is_lock_free(&q->lock));
}

static int post_recv_to_srq(void *srq, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad;

	return rnic_sw_post_srq_recv(srq, wr, &bad);
}

static void test_contents_of_posted_receives(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 2);
	struct rnic_sw_srq *srq = make_srq();

	post_and_check_recv(&qp->rq, post_recv, &qp->vqp.qp);
	post_and_check_recv(&srq->q, post_recv_to_srq, &srq->ibsrq);
	CHECK(!rnic_sw_destroy_srq(&srq->ibsrq));
	destroy_qp_and_cq(qp, cq);
}

/* A post that another thread executes; argument of post_from_thread() */
struct turn {
	struct rnic_sw_queue	*q;
	int			(*post_one)(void *queue, struct ibv_recv_wr *wr);
	void			*queue;
};

static void *post_from_thread(void *arg)
{
	const struct turn *t = arg;
	struct ibv_recv_wr wr = {};

	CHECK(!t->post_one(t->queue, &wr));
	return NULL;
}

static void expect_post_waits(struct turn t)
{
	pthread_t thread;

	pthread_spin_lock(&t.q->lock);
	CHECK(!pthread_create(&thread, NULL, post_from_thread, &t));
	/* give the other thread time to post: without the lock it would do so now */
	usleep(20000);
	CHECK(!t.q->prod && !t.q->hdr->prod);
	pthread_spin_unlock(&t.q->lock);
	CHECK(!pthread_join(thread, NULL) && t.q->hdr->prod == 1);
}

static int post_send(void *qp, struct ibv_recv_wr *wr)
{
	struct ibv_send_wr *bad, send = { .opcode = IBV_WR_SEND };

	return rnic_sw_post_send(qp, &send, &bad);
}

static int post_send_ex(void *qp, struct ibv_recv_wr *wr)
{
	return try_post_send_ex(to_qp(qp), 0, 0);
}

/* Every post function takes the lock of its queue: a post waits while the test holds the lock */
static void test_posts_take_lock(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 2), *ex = make_qp(cq, 0);
	struct rnic_sw_srq *srq = make_srq();

	expect_post_waits((struct turn){ &qp->sq, post_send, &qp->vqp.qp });
	expect_post_waits((struct turn){ &ex->sq, post_send_ex, &ex->vqp.qp });
	expect_post_waits((struct turn){ &qp->rq, post_recv, &qp->vqp.qp });
	expect_post_waits((struct turn){ &srq->q, post_recv_to_srq, &srq->ibsrq });
	CHECK(!rnic_sw_destroy_srq(&srq->ibsrq));
	destroy_qp(ex);
	destroy_qp_and_cq(qp, cq);
}

void test_request_contents(void)
{
	test_wqe_of_each_opcode();
	test_inline_data_limit();
	test_flags_are_copied();
	test_which_opcodes_accept_inline_data();
	test_invalid_requests_refused();
	test_bind_changes_rkey();
	test_contents_of_posted_receives();
	test_posts_take_lock();
}
