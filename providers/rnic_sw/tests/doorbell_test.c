// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of the doorbell file. */
#include <errno.h>

#include "provider_test.h"

static int post_with_flags(struct rnic_sw_qp *qp, uint32_t flags)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	qp->sq.hdr->flags = flags;
	qp->sq.hdr->cons = qp->sq.prod;
	return rnic_sw_post_send(&qp->vqp.qp, &wr, &bad);
}

static int post_with_doorbell(struct rnic_sw_qp *qp)
{
	return post_with_flags(qp, RNIC_SW_RING_NEED_WAKEUP);
}

/*
 * While the kernel needs no doorbell, every 32nd send request rings it. A doorbell for another
 * reason starts the count again. Receives ring no such doorbell.
 */
static void test_long_series_of_posts_rings_doorbell(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 3);
	struct ibv_recv_wr recv = {}, *bad;
	unsigned int before = kicks, i;

	for (i = 1; i <= 100; i++)
		CHECK(!post_with_flags(qp, 0) && kicks == before + i / 32);
	CHECK(!post_with_flags(qp, RNIC_SW_RING_NEED_WAKEUP) && kicks == before + 4);
	for (i = 1; i <= 32; i++)
		CHECK(!post_with_flags(qp, 0) && kicks == before + 4 + i / 32);
	before = kicks;
	qp->rq.hdr->flags = 0;
	for (i = 0; i < 100; i++) {
		qp->rq.hdr->cons = qp->rq.prod;
		CHECK(!rnic_sw_post_recv(&qp->vqp.qp, &recv, &bad) && kicks == before);
	}
	destroy_qp_and_cq(qp, cq);
}

/*
 * If the kernel does not report that it has doorbell files, the provider allocates none. If another
 * process has a file of the same context, the kernel still returns a doorbell number for a new QP.
 * The QP must not use that number.
 */
static void test_kernel_without_doorbell_files(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	unsigned int before = kicks;

	CHECK(!doorbell_files && qp->doorbell_fd < 0 && own.doorbell_fd < 0);
	CHECK(!post_with_doorbell(qp) && kicks == before + 1 && !file_doorbells);
	destroy_qp_and_cq(qp, cq);
}

/* If the kernel fails to allocate a file, the QP uses commands, and the next QP tries again. */
static void test_qp_without_doorbell_file_uses_commands(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp;

	own.has_doorbells = true;
	doorbell_file_errno = EMFILE;
	qp = make_qp(cq, 0);
	CHECK(qp && doorbell_files == 1 && own.doorbell_fd < 0);
	CHECK(!post_with_doorbell(qp) && !file_doorbells);
	doorbell_file_errno = 0;
	destroy_qp_and_cq(qp, cq);
}

/* One file serves all QPs of the context. */
static void test_qps_share_one_file(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp[2];
	unsigned int before = kicks;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		doorbell = 11 + i;
		qp[i] = make_qp(cq, 0);
	}
	CHECK(doorbell_files == 2 && own.doorbell_fd == DOORBELL_FD);
	for (i = 0; i < 2; i++) {
		doorbell = 11 + i;
		CHECK(!post_with_doorbell(qp[i]) && file_doorbells == i + 1);
	}
	CHECK(kicks == before);
	destroy_qp(qp[0]);
	destroy_qp_and_cq(qp[1], cq);
}

/* If the file fails, the QP uses the command; but not if the device was removed, which is EIO. */
static void test_broken_doorbell_file_is_bypassed(void)
{
	static const int errors[] = { ENOENT, EBADF, ENOTTY };
	struct rnic_sw_cq *cq = make_cq();
	struct rnic_sw_qp *qp = make_qp(cq, 0);
	unsigned int i, before = kicks;

	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		file_errno = errors[i];
		CHECK(!post_with_doorbell(qp) && kicks == before + i + 1);
	}
	file_errno = EIO;
	before = kicks;
	/* a post succeeds although its doorbell fails; the next post reports the error */
	CHECK(!post_with_doorbell(qp) && post_with_doorbell(qp) == EIO && kicks == before);
	file_errno = 0;
	destroy_qp_and_cq(qp, cq);
}

static void poll_empty_cq(struct rnic_sw_cq *cq, unsigned int n)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_wc wc;

	/* both ways of polling count */
	for (; n > 1; n -= 2)
		CHECK(!rnic_sw_poll_cq(&cq->vcq.cq, 1, &wc) &&
		      ibv_start_poll(&cq->vcq.cq_ex, &attr) == ENOENT);
	if (n)
		CHECK(!rnic_sw_poll_cq(&cq->vcq.cq, 1, &wc));
	CHECK(is_lock_free(&cq->q.lock));
}

/* The kernel does not permit busy polling, or the QP has no doorbell. */
static void test_no_busy_polling(void)
{
	struct rnic_sw_cq *cq = make_cq_ex(IBV_WC_STANDARD_FLAGS);
	struct rnic_sw_qp *qp = make_qp(cq, 0);

	poll_empty_cq(cq, 1000);
	destroy_qp(qp);
	own.may_busy_poll = true;
	doorbell = 0;
	qp = make_qp(cq, 0);
	poll_empty_cq(cq, 1000);
	CHECK(!busy_polls);
	destroy_qp_and_cq(qp, cq);
}

/* Only a long series of empty polls leads to a call, and then each 32nd poll of the series. */
static void test_busy_polling(void)
{
	struct rnic_sw_cq *cq = make_cq_ex(IBV_WC_STANDARD_FLAGS);
	struct rnic_sw_qp *qp;
	struct ibv_wc wc;

	doorbell = 10;
	qp = make_qp(cq, 0);
	poll_empty_cq(cq, 255);
	CHECK(!busy_polls);
	poll_empty_cq(cq, 1);
	CHECK(busy_polls == 1);
	poll_empty_cq(cq, 64);
	CHECK(busy_polls == 3);
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 1 });
	CHECK(rnic_sw_poll_cq(&cq->vcq.cq, 1, &wc) == 1);
	poll_empty_cq(cq, 255);
	CHECK(busy_polls == 3);
	/* after a failure, as before the QP is connected, the provider waits longer */
	file_errno = EOPNOTSUPP;
	poll_empty_cq(cq, 1000);
	CHECK(busy_polls == 4);
	file_errno = 0;
	poll_empty_cq(cq, 65536);
	CHECK(busy_polls > 4);
	destroy_qp_and_cq(qp, cq);
}

/* A QP that sends is polled from then on, in place of the QP that was created last. */
static void test_busy_polling_follows_sender(void)
{
	struct rnic_sw_cq *cq = make_cq_ex(IBV_WC_STANDARD_FLAGS);
	struct rnic_sw_qp *qp[2];
	unsigned int before;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		doorbell = 11 + i;
		qp[i] = make_qp(cq, 0);
	}
	before = busy_polls;
	poll_empty_cq(cq, 256);
	CHECK(busy_polls == before + 1);
	doorbell = 11;
	CHECK(!post_with_doorbell(qp[0]));
	poll_empty_cq(cq, 32);
	CHECK(busy_polls == before + 2);
	destroy_qp(qp[0]);
	destroy_qp_and_cq(qp[1], cq);
}

void test_doorbells(void)
{
	doorbell = 10;
	test_long_series_of_posts_rings_doorbell();
	test_kernel_without_doorbell_files();
	test_qp_without_doorbell_file_uses_commands();
	test_qps_share_one_file();
	test_broken_doorbell_file_is_bypassed();
	test_no_busy_polling();
	test_busy_polling();
	test_busy_polling_follows_sender();
	own.may_busy_poll = false;
	own.has_doorbells = false;
	doorbell = 0;
}
