// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/srq.c: shared receive queues, between a kernel
 * consumer and RDMAP.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../../../../drivers/rnic_sw/rnic.h"
#include "../../../../drivers/rnic_sw/rnr.h"

#define SLOTS	4

static struct {
	struct rnic_dev		dev;
	struct rnic_srq		srq;
	struct rnic_sw_ring	hdr;
	u8			slots[SLOTS][256];
	struct work_struct	*queued;
	bool			in_call;	/* true while a verb of the driver runs */
	u32			reached;	/* number of limit events */
	u32			errors;
	u32			in_calls;	/* number of events generated during a verb */
	u32			wakes;		/* calls of rnic_rnr_wake_srq_waiters() */
} stubs;

struct workqueue_struct *rnic_wq;

/* Stubs ------------------------------------------------------------------------- */

int rnic_ring_set_sizes(struct rnic_ring *ring, u32 want, u32 stride)
{
	*ring = (struct rnic_ring) { .slots = SLOTS, .stride = stride };
	return 0;
}

int rnic_ring_alloc(struct rnic_ring *ring, struct rnic_ring *behind,
		    struct ib_ucontext *uctx, bool packed)
{
	ring->hdr = &stubs.hdr;
	ring->slot0 = stubs.slots;
	return 0;
}

void rnic_rnr_wake_srq_waiters(struct rnic_srq *srq)
{
	stubs.wakes++;
}

void rnic_ring_free(struct rnic_ring *ring) {}
void rnic_ring_retire(struct rnic_ring *ring, spinlock_t *lock) {}

u64 rnic_ring_get_mmap_offset(const struct rnic_ring *ring)
{
	return 0;
}

u32 rnic_ring_get_map_len(const struct rnic_ring *ring)
{
	return 0;
}

u32 rnic_ring_get_offset(const struct rnic_ring *ring)
{
	return 0;
}

bool rnic_has_any_attr(struct ib_udata *udata, const u16 *ids, u32 n)
{
	return false;
}

int rnic_charge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	return 0;
}

void rnic_uncharge_object(struct rnic_dev *dev, enum rnic_kind kind) {}

u32 rnic_rqe_compute_stride(u32 max_sge)
{
	return sizeof(stubs.slots[0]);
}

bool rnic_rqe_read(const struct rnic_sw_rqe *slot, u32 max_sge, struct rdmap *r,
		   u64 *wr_id)
{
	return true;
}

int rnic_rqe_post(struct rnic_ring *ring, u32 oldest, u32 max_sge,
		  const struct ib_recv_wr *wr)
{
	stubs.hdr.prod++;
	return 0;
}

bool host_queue_work(struct work_struct *w)
{
	bool was = stubs.queued;

	stubs.queued = w;
	return !was;
}

static void run_worker(void)
{
	struct work_struct *w = stubs.queued;

	stubs.queued = NULL;
	if (w)
		w->func(w);
}

void host_cancel_work(struct work_struct *w)
{
	stubs.queued = NULL;
}

static void on_event(struct ib_event *event, void *context)
{
	stubs.reached += event->event == IB_EVENT_SRQ_LIMIT_REACHED;
	stubs.errors += event->event == IB_EVENT_SRQ_ERR;
	stubs.in_calls += stubs.in_call;
}

/* Cases -------------------------------------------------------------------------- */

/* Create an SRQ with this limit, and post three receives */
static void create_srq_with_three_receives(struct kunit *test, u32 limit)
{
	struct ib_srq_init_attr attr = {
		.attr = { .max_wr = SLOTS, .max_sge = 1, .srq_limit = limit },
	};
	struct ib_recv_wr wr[3] = { { .next = &wr[1] }, { .next = &wr[2] } };
	const struct ib_recv_wr *bad;

	memset(&stubs, 0, sizeof(stubs));
	stubs.srq.ib.device = &stubs.dev.ib;
	stubs.srq.ib.event_handler = on_event;
	KUNIT_ASSERT_EQ(test, 0, rnic_create_srq(&stubs.srq.ib, &attr, NULL));
	KUNIT_ASSERT_EQ(test, 0, rnic_post_srq_recv(&stubs.srq.ib, wr, &bad));
}

static void dequeue_receive(struct kunit *test)
{
	struct rdmap r;
	u64 wr_id;
	bool bad;

	KUNIT_EXPECT_EQ(test, (u32)IW_OK,
			(u32)rnic_srq_dequeue(&stubs.srq, &r, &wr_id, &bad));
}

static void arm_limit(struct kunit *test, u32 limit)
{
	struct ib_srq_attr attr = { .srq_limit = limit };

	stubs.in_call = true;
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_srq(&stubs.srq.ib, &attr, IB_SRQ_LIMIT, NULL));
	stubs.in_call = false;
	KUNIT_EXPECT_EQ(test, 0u, stubs.in_calls);
}

static void arm_limit_and_run_worker(struct kunit *test, u32 limit)
{
	arm_limit(test, limit);
	run_worker();
}

static u32 query_srq_limit(void)
{
	struct ib_srq_attr attr;

	rnic_query_srq(&stubs.srq.ib, &attr);
	return attr.srq_limit;
}

/* The limit at creation is ignored, as documented in ibv_create_srq(3) */
static void limit_at_creation_is_ignored(struct kunit *test)
{
	u32 limit;

	for (limit = 0; limit < 2 * SLOTS; limit++) {
		create_srq_with_three_receives(test, limit);
		KUNIT_EXPECT_EQ(test, 0u, query_srq_limit());
		dequeue_receive(test);
		KUNIT_EXPECT_EQ(test, 0u, stubs.reached);
	}
}

/* An armed limit generates one event */
static void armed_limit_gives_one_event(struct kunit *test)
{
	u32 reached[] = { 0, 1, 1 };
	u32 i;

	create_srq_with_three_receives(test, 0);
	arm_limit_and_run_worker(test, 2);
	KUNIT_EXPECT_EQ(test, 2u, query_srq_limit());
	for (i = 0; i < 3; i++) {
		dequeue_receive(test);
		KUNIT_EXPECT_EQ(test, reached[i], stubs.reached);
	}
	KUNIT_EXPECT_EQ(test, 0u, query_srq_limit());
}

/*
 * Arming a limit above the number of receives generates an event immediately, but
 * only one for each number of receives
 */
static void arming_above_count_gives_one_event(struct kunit *test)
{
	u32 i, n;

	create_srq_with_three_receives(test, 0);
	for (n = 1; n <= 3; n++) {
		for (i = 0; i < 100; i++)
			arm_limit_and_run_worker(test, SLOTS);
		KUNIT_EXPECT_EQ(test, n, stubs.reached);
		KUNIT_EXPECT_EQ(test, (u32)SLOTS, query_srq_limit());
		dequeue_receive(test);
		KUNIT_EXPECT_EQ(test, n + 1, stubs.reached);
		KUNIT_EXPECT_EQ(test, 0u, query_srq_limit());
		/* the event for this number of receives was generated before */
		arm_limit_and_run_worker(test, SLOTS);
		KUNIT_EXPECT_EQ(test, n + 1, stubs.reached);
	}
}

/* Each armed limit that is reached generates its own event, even if the worker runs only later */
static void late_worker_reports_each_limit(struct kunit *test)
{
	create_srq_with_three_receives(test, 0);
	arm_limit(test, SLOTS);
	KUNIT_EXPECT_EQ(test, 0u, query_srq_limit());
	dequeue_receive(test);
	arm_limit(test, SLOTS);
	KUNIT_EXPECT_EQ(test, 0u, stubs.reached);
	run_worker();
	KUNIT_EXPECT_EQ(test, 2u, stubs.reached);
	run_worker();
	KUNIT_EXPECT_EQ(test, 2u, stubs.reached);
}

/* Arming detects an invalid producer index, which is reported once */
static void arming_detects_bad_index(struct kunit *test)
{
	create_srq_with_three_receives(test, 0);
	stubs.hdr.prod = SLOTS + 1;
	arm_limit_and_run_worker(test, 1);
	arm_limit_and_run_worker(test, 1);
	KUNIT_EXPECT_EQ(test, 1u, stubs.errors);
	KUNIT_EXPECT_EQ(test, 0u, stubs.reached);
}

/* Destroying an SRQ waits for its event work */
static void destroy_waits_for_event_work(struct kunit *test)
{
	create_srq_with_three_receives(test, 0);
	arm_limit(test, SLOTS);
	KUNIT_EXPECT_NOT_NULL(test, stubs.queued);
	KUNIT_EXPECT_EQ(test, 0, rnic_destroy_srq(&stubs.srq.ib, NULL));
	KUNIT_EXPECT_NULL(test, stubs.queued);
}

/* A post wakes messages that wait for a receive; if no message waits, it wakes nothing */
static void post_wakes_waiting_messages(struct kunit *test)
{
	struct list_head entry;
	const struct ib_recv_wr *bad;

	create_srq_with_three_receives(test, 0);
	KUNIT_EXPECT_EQ(test, 0u, stubs.wakes);
	list_add_tail(&entry, &stubs.srq.waiters);
	KUNIT_EXPECT_EQ(test, 0, rnic_post_srq_recv(&stubs.srq.ib, NULL, &bad));
	KUNIT_EXPECT_EQ(test, 1u, stubs.wakes);
	KUNIT_EXPECT_TRUE(test, stubs.srq.rings);
}

static struct kunit_case rnic_srq_cases[] = {
	KUNIT_CASE(limit_at_creation_is_ignored),
	KUNIT_CASE(armed_limit_gives_one_event),
	KUNIT_CASE(arming_above_count_gives_one_event),
	KUNIT_CASE(late_worker_reports_each_limit),
	KUNIT_CASE(arming_detects_bad_index),
	KUNIT_CASE(destroy_waits_for_event_work),
	KUNIT_CASE(post_wakes_waiting_messages),
	{}
};

static struct kunit_suite rnic_srq_suite = {
	.name = "rnic_srq",
	.test_cases = rnic_srq_cases,
};

kunit_test_suite(rnic_srq_suite);
