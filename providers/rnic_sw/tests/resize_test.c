// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of resizing a CQ while other threads poll, arm and resize it. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "provider_test.h"

static struct rnic_sw_cq *resized;
static pthread_t other;

static void test_resize_keeps_arm_flags(void)
{
	struct rnic_sw_cq *cq = make_cq();

	CHECK(!rnic_sw_req_notify_cq(&cq->vcq.cq, 0));
	CHECK(!rnic_sw_req_notify_cq(&cq->vcq.cq, 1));
	CHECK(cq->q.hdr->flags & RNIC_SW_ARM_ANY);
	cq->q.cons = 3;
	CHECK(!rnic_sw_resize_cq(&cq->vcq.cq, 2 * SLOTS));
	CHECK(cq->q.slots == 2 * SLOTS && cq->q.hdr->cons == 3);
	CHECK(cq->q.hdr->flags & RNIC_SW_ARM_ANY);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/* After a failed resize the CQ keeps its ring. */
static void test_resize_refused(void)
{
	struct rnic_sw_cq *cq = make_cq();
	struct ibv_wc wc[SLOTS];

	bad_key = true;
	switches = 0;
	CHECK(rnic_sw_resize_cq(&cq->vcq.cq, 2 * SLOTS));
	CHECK(!switches && cq->q.slots == SLOTS);
	bad_key = false;
	refuse_switch = true;
	CHECK(rnic_sw_resize_cq(&cq->vcq.cq, 2 * SLOTS) == EINVAL);
	CHECK(switches == 1 && cq->q.slots == SLOTS);
	refuse_switch = false;
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 5 });
	CHECK(rnic_sw_poll_cq(&cq->vcq.cq, SLOTS, wc) == 1);
	CHECK(wc[0].wr_id == 5);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/*
 * Check, during a resize command, that the CQ's locks are free while the kernel
 * creates a ring (first command) and held while the kernel switches rings (second
 * command)
 */
static void check_locks_and_poll_cq(bool step2)
{
	struct rnic_sw_cq *cq = resized;
	struct ibv_wc wc;

	if (step2) {
		CHECK(!is_lock_free(&cq->q.lock) && !is_lock_free(&cq->arm_lock));
		return;
	}
	CHECK(is_lock_free(&cq->q.lock) && is_lock_free(&cq->arm_lock));
	if (!is_lock_free(&cq->q.lock))
		return;
	CHECK(rnic_sw_poll_cq(&cq->vcq.cq, 1, &wc) == 1 && wc.wr_id == 1);
	CHECK(!rnic_sw_req_notify_cq(&cq->vcq.cq, 1));
}

/*
 * A resize sends two commands. If a thread polls and arms the CQ during the first one, the new ring
 * keeps the consumer index and the arming.
 */
static void test_poll_during_resize(void)
{
	struct rnic_sw_cq *cq = make_cq();
	void *old = cq->q.hdr;

	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 1 });
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 2 });
	resized = cq;
	resizing = check_locks_and_poll_cq;
	CHECK(!rnic_sw_resize_cq(&cq->vcq.cq, 2 * SLOTS));
	resizing = NULL;
	CHECK(cq->q.slots == 2 * SLOTS && cq->q.hdr->cons == 1);
	CHECK(cq->q.hdr->flags & RNIC_SW_ARM_SOLICITED);
	CHECK(is_lock_free(&cq->q.lock) && is_lock_free(&cq->arm_lock));
	CHECK(msync(old, 1, MS_ASYNC) && errno == ENOMEM);	/* the old ring is not mapped */
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

static void *resize_cq_in_thread(void *arg)
{
	CHECK(!rnic_sw_resize_cq(arg, 2 * SLOTS));
	return NULL;
}

/* Start a second resize in another thread, and give it time to finish if nothing delays it */
static void resize_in_other_thread(bool step2)
{
	resizing = NULL;
	CHECK(!pthread_create(&other, NULL, resize_cq_in_thread, &resized->vcq.cq));
	usleep(20000);
}

/*
 * Two concurrent resizes are serialized. If they were not, the second command of
 * one would pass the key of the other, which the fake kernel checks.
 */
static void test_concurrent_resizes(void)
{
	struct rnic_sw_cq *cq = make_cq();

	resized = cq;
	resizing = resize_in_other_thread;
	switches = 0;
	CHECK(!rnic_sw_resize_cq(&cq->vcq.cq, 2 * SLOTS));
	CHECK(!pthread_join(other, NULL));
	CHECK(switches == 2);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

/* A larger ring is mapped and unmapped completely. */
static void test_resized_ring_is_unmapped(void)
{
	struct rnic_sw_cq *cq = make_cq();
	uint8_t *last;

	resize_pages = 3;
	CHECK(!rnic_sw_resize_cq(&cq->vcq.cq, 2 * SLOTS));
	resize_pages = 0;
	last = (uint8_t *)cq->q.hdr + 2 * sysconf(_SC_PAGESIZE);
	CHECK(!msync(last, 1, MS_ASYNC));
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
	CHECK(msync(last, 1, MS_ASYNC) && errno == ENOMEM);
}

static void expect_concurrent_resize_refused(bool step2)
{
	struct rnic_sw_cq *cq = resized;

	resizing = NULL;
	CHECK(rnic_sw_resize_cq(&cq->vcq.cq, 2 * SLOTS) == EBUSY);
}

/*
 * A thread between start_poll and end_poll can resize the CQ, and gets EBUSY
 * instead of waiting for another resize
 */
static void test_resize_during_poll(void)
{
	struct rnic_sw_cq *cq = make_cq_ex(IBV_WC_EX_WITH_BYTE_LEN);
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct ibv_poll_cq_attr poll = {};

	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 1, .byte_len = 55 });
	CHECK(!ibv_start_poll(ex, &poll));
	resized = cq;
	resizing = expect_concurrent_resize_refused;
	CHECK(!rnic_sw_resize_cq(&cq->vcq.cq, 2 * SLOTS));
	CHECK(cq->q.slots == 2 * SLOTS && cq->q.hdr->cons == 1);
	CHECK(ibv_wc_read_byte_len(ex) == 55 && !is_lock_free(&cq->q.lock));
	cq->q.hdr->prod = 1;
	push_cqe(cq, &(struct rnic_sw_cqe){ .wr_id = 2 });
	CHECK(!ibv_next_poll(ex) && ex->wr_id == 2);
	ibv_end_poll(ex);
	CHECK(!cq->poller && is_lock_free(&cq->q.lock));
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

void test_cq_resize(void)
{
	test_resize_during_poll();
	test_resized_ring_is_unmapped();
	test_resize_keeps_arm_flags();
	test_resize_refused();
	test_poll_during_resize();
	test_concurrent_resizes();
}
