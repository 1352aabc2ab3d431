// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of thread cancellation: a cancelled thread completes a post or destroy already begun. */
#include <errno.h>
#include <pthread.h>

#include "provider_test.h"

struct cancelled {
	void	(*act)(void *arg);
	void	*arg;
	bool	over;
};

/* Request the cancellation of this thread, then call @act, which must not be cancelled */
static void *cancel_self_and_run(void *arg)
{
	struct cancelled *c = arg;

	pthread_cancel(pthread_self());
	c->act(c->arg);
	c->over = true;
	pthread_testcancel();
	return NULL;
}

static void run_in_cancelled_thread(void (*act)(void *arg), void *arg)
{
	struct cancelled c = { .act = act, .arg = arg };
	pthread_t thread;
	void *ret;

	CHECK(!pthread_create(&thread, NULL, cancel_self_and_run, &c));
	CHECK(!pthread_join(thread, &ret));
	CHECK(c.over && ret == PTHREAD_CANCELED);
}

static void post_send(void *qp)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };

	CHECK(!rnic_sw_post_send(&((struct rnic_sw_qp *)qp)->vqp.qp, &wr, &bad));
}

static void post_recv(void *qp)
{
	struct ibv_recv_wr *bad, wr = {};

	CHECK(!rnic_sw_post_recv(&((struct rnic_sw_qp *)qp)->vqp.qp, &wr, &bad));
}

/* A cancelled thread rings the doorbell of its post, and repeats an earlier doorbell that failed */
static void test_post_in_cancelled_thread(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 2);

	qp->sq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	qp->rq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	kicks = 0;
	run_in_cancelled_thread(post_send, qp);
	run_in_cancelled_thread(post_recv, qp);
	CHECK(qp->sq.hdr->prod == 1 && qp->rq.hdr->prod == 1 && kicks == 2);
	qp->sq.doorbell_err = EIO;
	qp->rq.doorbell_err = EIO;
	run_in_cancelled_thread(post_send, qp);
	run_in_cancelled_thread(post_recv, qp);
	CHECK(qp->sq.hdr->prod == 2 && qp->rq.hdr->prod == 2 && kicks == 6);
	CHECK(is_lock_free(&qp->sq.lock) && is_lock_free(&qp->rq.lock));
	destroy_qp_and_cq(qp, cq);
}

static void call_destroy_qp(void *qp)
{
	destroy_qp(qp);
}

static void destroy_srq(void *srq)
{
	CHECK(!rnic_sw_destroy_srq(srq));
}

static void destroy_cq(void *cq)
{
	CHECK(!rnic_sw_destroy_cq(cq));
}

/*
 * A cancelled thread completes the destruction of a QP and removes it from
 * ctx->destroying
 */
static void test_destroy_in_cancelled_thread(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_srq *srq = make_srq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);

	push_cqe(cq, &(struct rnic_sw_cqe){ .qp_num = qp->vqp.qp.qp_num });
	destroyed = 0;
	run_in_cancelled_thread(call_destroy_qp, qp);
	CHECK(destroyed == 1 && list_empty(&own.destroying));
	CHECK(cq->q.hdr->cons == 1);
	run_in_cancelled_thread(destroy_srq, &srq->ibsrq);
	run_in_cancelled_thread(destroy_cq, &cq->vcq.cq);
}

void test_cancelled_threads(void)
{
	test_post_in_cancelled_thread();
	test_destroy_in_cancelled_thread();
}
