// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of destroying QPs: their completions, their numbers, and locking. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "provider_test.h"

/*
 * Destroying a QP must remove its completions, keep those of other QPs in order,
 * and free the slots
 */
static void test_destroy_removes_cqes(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_wc wc[SLOTS];
	uint32_t start = UINT32_MAX - 1;

	cq->q.prod = cq->q.cons = start;
	cq->q.hdr->prod = cq->q.hdr->cons = start;
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 1, .qp_num = 8 });
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 2, .qp_num = 7 });
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 3, .qp_num = 9 });
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 4, .qp_num = 7 });
	CHECK(!rnic_sw_destroy_qp(&qp->vqp.qp));
	CHECK(cq->q.hdr->cons == start + 2);
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 5, .qp_num = 7 });
	CHECK(rnic_sw_poll_cq(&cq->vcq.cq, SLOTS, wc) == 3);
	CHECK(wc[0].wr_id == 1 && wc[1].wr_id == 3 && wc[2].wr_id == 5);
	CHECK(cq->q.hdr->cons == start + 5);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/* Destroying a QP removes its completions from a CQ that is full of them. */
static void test_destroy_empties_full_cq(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_wc wc[SLOTS];
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		push_cqe(cq, &(struct rnic_sw_cqe){ .qp_num = 7 });
	CHECK(!rnic_sw_destroy_qp(&qp->vqp.qp));
	CHECK(cq->q.hdr->cons == SLOTS);
	CHECK(rnic_sw_poll_cq(&cq->vcq.cq, SLOTS, wc) == 0);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/*
 * A thread can destroy a QP between start_poll and end_poll of a CQ, also if the
 * CQ is single-threaded. The QP's completions are removed.
 */
static void test_destroy_during_poll(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *ex = rnic_sw_create_cq_ex(&own.vctx.context, &attr);
	struct rnic_sw_cq *cq = to_cq_ex(ex);
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_poll_cq_attr poll = {};

	push_cqe(cq, &(struct rnic_sw_cqe){ .qp_num = 7, .byte_len = 55 });
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 2, .qp_num = 7 });
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 3, .qp_num = 9 });
	CHECK(!ibv_start_poll(ex, &poll));
	CHECK(!rnic_sw_destroy_qp(&qp->vqp.qp));
	CHECK(ibv_wc_read_byte_len(ex) == 55 && cq->q.hdr->cons == 2);
	CHECK(!ibv_next_poll(ex) && ex->wr_id == 3);
	CHECK(ibv_next_poll(ex) == ENOENT);
	ibv_end_poll(ex);
	CHECK(cq->q.hdr->cons == 3);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

static void *make_other_qp(void *cq)
{
	return make_qp(cq, 0);
}

/*
 * While the destroy command waits until events are acknowledged, another thread
 * can create and destroy QPs
 */
static void test_create_during_destroy(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0), *other;

	qp_num = next_qp_num = 8;
	destroy_waits_for = make_other_qp;
	destroy_waits_arg = cq;
	destroy_qp(qp);
	other = destroy_waits_arg;
	CHECK(other && other->vqp.qp.qp_num == 8);
	qp_num = next_qp_num = 7;
	destroy_waits_for = destroy_qp;
	destroy_waits_arg = other;
	destroy_qp_and_cq(make_qp(cq, 0), cq);
}

/*
 * While a QP is being destroyed, the kernel may give its number to a new QP. The provider must
 * then destroy the new QP and create another one, which has a different number.
 */
static void test_reused_qp_number(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0), *other;

	next_qp_num = 8;
	destroy_waits_for = make_other_qp;
	destroy_waits_arg = cq;
	destroyed = 0;
	destroy_qp(qp);
	other = destroy_waits_arg;
	CHECK(other && other->vqp.qp.qp_num == 8 && destroyed == 2);
	destroy_qp(other);
	qp_num = next_qp_num = 7;
	qp = make_qp(cq, 0);
	CHECK(qp->vqp.qp.qp_num == 7 && destroyed == 3);
	destroy_qp_and_cq(qp, cq);
}

static pthread_t begin_qp_destruction(struct rnic_sw_qp *qp)
{
	pthread_t thread;

	destroyed = 0;
	CHECK(!pthread_create(&thread, NULL, destroy_qp, qp));
	while (!destroyed)
		sched_yield();
	/* the command has destroyed the QP: give the thread time to finish, if it can */
	usleep(20000);
	return thread;
}

/*
 * A thread between start_poll and end_poll delays the removal of completions,
 * and can create a QP meanwhile
 */
static void test_create_during_poll(void)
{
	struct rnic_sw_cq *cq = make_cq_ex(0);
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_poll_cq_attr poll = {};
	pthread_t thread;

	push_cqe(cq, &(struct rnic_sw_cqe){ .qp_num = 9 });
	push_cqe(cq, &(struct rnic_sw_cqe){ .qp_num = 7 });
	CHECK(!ibv_start_poll(ex, &poll));
	thread = begin_qp_destruction(qp);
	next_qp_num = 8;
	qp = make_qp(cq, 0);
	CHECK(qp->vqp.qp.qp_num == 8 && destroyed == 2);
	ibv_end_poll(ex);
	CHECK(!pthread_join(thread, NULL));
	CHECK(ibv_start_poll(ex, &poll) == ENOENT && cq->q.hdr->cons == 2);
	qp_num = next_qp_num = 7;
	destroy_qp_and_cq(qp, cq);
}

static struct rnic_sw_qp *make_qp_with_cqs(struct rnic_sw_cq *scq,
					   struct rnic_sw_cq *rcq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = &scq->vcq.cq,
		.recv_cq = &rcq->vcq.cq,
		.cap.max_send_wr = 3,
		.qp_type = IBV_QPT_RC,
	};

	return to_qp(rnic_sw_create_qp(&pd.ibpd, &attr));
}

/* Check that the provider refuses to destroy the QP's CQs, without a command to the kernel */
static void *expect_cq_destroy_refused(void *arg)
{
	struct ibv_qp *qp = &((struct rnic_sw_qp *)arg)->vqp.qp;

	destroy_commands = 0;
	CHECK(rnic_sw_destroy_cq(qp->send_cq) == EBUSY);
	CHECK(rnic_sw_destroy_cq(qp->recv_cq) == EBUSY);
	CHECK(!destroy_commands);
	return arg;
}

/*
 * After the kernel has destroyed a QP, its CQs cannot be destroyed until the
 * QP's completions have been removed from them
 */
static void test_cqs_in_use_cannot_be_destroyed(void)
{
	struct rnic_sw_cq *scq = make_cq(), *rcq = make_cq();
	struct rnic_sw_qp *qp = make_qp_with_cqs(scq, rcq);

	push_cqe(scq, &(struct rnic_sw_cqe){ .qp_num = 7 });
	push_cqe(rcq, &(struct rnic_sw_cqe){ .qp_num = 7 });
	expect_cq_destroy_refused(qp);
	destroy_waits_for = expect_cq_destroy_refused;
	destroy_waits_arg = qp;
	destroy_qp(qp);
	CHECK(!destroy_waits_for && scq->q.hdr->cons == 1 && rcq->q.hdr->cons == 1);
	CHECK(!rnic_sw_destroy_cq(&scq->vcq.cq));
	destroy_qp_and_cq(make_qp(rcq, 0), rcq);
}

/*
 * While a thread is between start_poll and end_poll of one of a QP's CQs, another
 * thread cannot complete the destruction of the QP, and neither CQ can be
 * destroyed
 */
static void poll_cq_and_expect_qp_destroy_waits(struct rnic_sw_cq *scq, struct rnic_sw_cq *rcq,
						struct ibv_cq_ex *polled)
{
	struct rnic_sw_qp *qp = make_qp_with_cqs(scq, rcq);
	struct ibv_poll_cq_attr poll = {};
	pthread_t thread;

	push_cqe(scq, &(struct rnic_sw_cqe){ .qp_num = 7 });
	push_cqe(rcq, &(struct rnic_sw_cqe){ .qp_num = 7 });
	CHECK(!ibv_start_poll(polled, &poll));
	thread = begin_qp_destruction(qp);
	expect_cq_destroy_refused(qp);
	ibv_end_poll(polled);
	CHECK(!pthread_join(thread, NULL));
	CHECK(scq->q.hdr->cons == scq->q.hdr->prod);
	CHECK(rcq->q.hdr->cons == rcq->q.hdr->prod);
}

static void test_cqes_removed_after_poll(void)
{
	struct rnic_sw_cq *scq = make_cq_ex(0), *rcq = make_cq_ex(0);

	poll_cq_and_expect_qp_destroy_waits(scq, rcq, &scq->vcq.cq_ex);
	poll_cq_and_expect_qp_destroy_waits(scq, rcq, &rcq->vcq.cq_ex);
	CHECK(!rnic_sw_destroy_cq(&scq->vcq.cq));
	CHECK(!rnic_sw_destroy_cq(&rcq->vcq.cq));
}

static struct rnic_sw_qp *doomed;
static pthread_t destroyer;

/*
 * Destroy the QP in another thread while the doorbell of a post is in progress:
 * the kernel may complete a request before its doorbell has returned
 */
static void destroy_qp_during_doorbell(void)
{
	destroyed = 0;
	CHECK(!pthread_create(&destroyer, NULL, destroy_qp, doomed));
	/* give the other thread some time: it must not destroy the QP yet */
	usleep(20000);
	CHECK(!destroyed);
}

static void destroy_qp_during_post(struct rnic_sw_cq *cq, int (*post)(struct rnic_sw_qp *))
{
	doomed = make_qp(cq, 2);
	doomed->sq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	doomed->rq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	during_doorbell = destroy_qp_during_doorbell;
	CHECK(!post(doomed));
	CHECK(!during_doorbell && !pthread_join(destroyer, NULL) && destroyed == 1);
}

static int post_send(struct rnic_sw_qp *qp)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };

	return rnic_sw_post_send(&qp->vqp.qp, &wr, &bad);
}

static int post_after_failed_doorbell(struct rnic_sw_qp *qp)
{
	qp->sq.doorbell_err = ENOMEM;
	return post_send(qp);
}

static int post_recv(struct rnic_sw_qp *qp)
{
	struct ibv_recv_wr *bad, wr = {};

	return rnic_sw_post_recv(&qp->vqp.qp, &wr, &bad);
}

static int post_one_send_ex(struct rnic_sw_qp *qp)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	rnic_sw_set_qp_ex_functions(qp);
	ex->wr_start(ex);
	ex->wr_send(ex);
	return ex->wr_complete(ex);
}

/* Destroying a QP waits until a concurrent post to the QP has finished. */
static void test_destroy_waits_for_post(void)
{
	struct rnic_sw_cq *cq = make_cq();

	destroy_qp_during_post(cq, post_send);
	destroy_qp_during_post(cq, post_after_failed_doorbell);
	destroy_qp_during_post(cq, post_recv);
	destroy_qp_during_post(cq, post_one_send_ex);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/* If the kernel refuses to destroy a QP, the QP remains usable and unlocked */
static void test_qp_usable_after_refused_destroy(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 2);

	refusal = EBUSY;
	CHECK(rnic_sw_destroy_qp(&qp->vqp.qp) == EBUSY);
	refusal = 0;
	CHECK(is_lock_free(&qp->sq.lock) && is_lock_free(&qp->rq.lock));
	CHECK(!post_send(qp) && !post_recv(qp));
	destroy_qp_and_cq(qp, cq);
}

/* A thread can destroy a QP between wr_start and wr_complete. */
static void test_destroy_during_wr_build(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 2);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	rnic_sw_set_qp_ex_functions(qp);
	ex->wr_start(ex);
	ex->wr_send(ex);
	destroy_qp_and_cq(qp, cq);
}

static atomic_bool through;

/*
 * Delay the doorbell of the posting thread until the other thread is about to
 * destroy the QP
 */
static void delay_doorbell(void)
{
	destroyed = 0;
	while (!through)
		sched_yield();
	usleep(20000);
	CHECK(!destroyed);
}

static void *post_send_in_thread(void *qp)
{
	CHECK(!post_send(qp));
	return NULL;
}

/*
 * Destroying a QP between wr_start and wr_complete waits for a doorbell of
 * another thread
 */
static void test_destroy_during_other_doorbell(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	pthread_t poster;

	rnic_sw_set_qp_ex_functions(qp);
	qp->sq.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	through = false;
	during_doorbell = delay_doorbell;
	CHECK(!pthread_create(&poster, NULL, post_send_in_thread, qp));
	while (during_doorbell)
		sched_yield();
	ex->wr_start(ex);
	through = true;
	destroy_qp(qp);
	CHECK(!pthread_join(poster, NULL) && destroyed == 1);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

static void *destroy_srq(void *srq)
{
	CHECK(!rnic_sw_destroy_srq(srq));
	destroyed++;
	return NULL;
}

/* Destroying an SRQ waits until a concurrent post has released its lock */
static void test_srq_destroy_waits_for_post(void)
{
	struct rnic_sw_srq *srq = make_srq();

	destroyed = 0;
	pthread_spin_lock(&srq->q.lock);
	CHECK(!pthread_create(&destroyer, NULL, destroy_srq, &srq->ibsrq));
	usleep(20000);
	CHECK(!destroyed);
	pthread_spin_unlock(&srq->q.lock);
	CHECK(!pthread_join(destroyer, NULL) && destroyed == 1);
}

void test_object_destruction(void)
{
	test_destroy_waits_for_post();
	test_qp_usable_after_refused_destroy();
	test_destroy_during_wr_build();
	test_destroy_during_other_doorbell();
	test_srq_destroy_waits_for_post();
	test_destroy_removes_cqes();
	test_destroy_empties_full_cq();
	test_destroy_during_poll();
	test_create_during_destroy();
	test_reused_qp_number();
	test_create_during_poll();
	test_cqs_in_use_cannot_be_destroyed();
	test_cqes_removed_after_poll();
}
