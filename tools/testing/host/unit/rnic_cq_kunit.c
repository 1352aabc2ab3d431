// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/rnic_sw/cq.c: the CQ of a kernel consumer. */
#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "../../../../drivers/rnic_sw/rnic.h"

#define SLOTS	4
#define IMM	cpu_to_be32(0x01020304)
#define STAG	0x0a0b0c0d

static struct {
	struct rnic_dev		dev;
	struct rnic_cq		cq;
	struct rnic_qp		qp, other;
	struct rnic_sw_ring	hdr;
	struct rnic_sw_cqe	slots[SLOTS];
	u32			notified, overruns, rings;
	u16			attr;		/* attribute of the command, or 0 */
} stubs;

u64 host_get_time_ns(void)
{
	return 1;
}

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
	stubs.rings++;
	return 0;
}

void rnic_ring_free(struct rnic_ring *ring)
{
	stubs.rings -= !!ring->hdr;
}

void rnic_ring_retire(struct rnic_ring *ring, spinlock_t *lock)
{
	rnic_ring_free(ring);
}

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
	while (n--)
		if (stubs.attr && ids[n] == stubs.attr)
			return true;
	return false;
}

int rnic_charge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	atomic_inc(&dev->nr_objects[kind]);
	return 0;
}

void rnic_uncharge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	atomic_dec(&dev->nr_objects[kind]);
}

void rnic_cq_notify(struct rnic_cq *cq)
{
	stubs.notified++;
}

void rnic_cq_notify_init(struct rnic_cq *cq, u32 vector) {}
void rnic_cq_notify_exit(struct rnic_cq *cq) {}
void rnic_cq_notify_wait(struct rnic_cq *cq) {}

static void on_event(struct ib_event *event, void *context)
{
	WARN_ON(event->element.cq != &stubs.cq.ib);
	stubs.overruns++;
}

/* Cases ------------------------------------------------------------------------ */

static int test_init(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = SLOTS };

	memset(&stubs, 0, sizeof(stubs));
	stubs.dev.ib.num_comp_vectors = 1;
	stubs.cq.ib.device = &stubs.dev.ib;
	stubs.cq.ib.event_handler = on_event;
	return rnic_create_cq(&stubs.cq.ib, &attr, NULL);
}

static void test_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, rnic_destroy_cq(&stubs.cq.ib, NULL));
	KUNIT_EXPECT_EQ(test, 0u, stubs.rings);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&stubs.dev.nr_objects[RNIC_CQS]));
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
}

/* A program cannot provide the memory of a CQ, neither by a virtual address nor by a dma-buf */
static void cq_in_program_memory_is_refused(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = SLOTS };
	struct uverbs_attr_bundle attrs = {};
	struct rnic_cq cq = { .ib.device = &stubs.dev.ib };

	for (stubs.attr = UVERBS_ATTR_CREATE_CQ_BUFFER_VA;
	     stubs.attr <= UVERBS_ATTR_CREATE_CQ_BUF_UMEM; stubs.attr++)
		KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, rnic_create_user_cq(&cq.ib, &attr, &attrs));
}

/* Add a completion with an STag or immediate data to the CQ, and poll it */
static struct ib_wc push_and_poll_completion(u8 opcode, u16 flags, u8 status)
{
	const struct rnic_sw_cqe cqe = {
		.wr_id = 7, .byte_len = 99, .opcode = opcode, .flags = flags,
		.status = status, .inv_stag = STAG,
	};
	struct ib_wc wc = {};

	rnic_cq_post_cqe(&stubs.cq, &cqe, &stubs.qp.ib);
	WARN_ON(rnic_poll_cq(&stubs.cq.ib, 1, &wc) != 1);
	return wc;
}

/*
 * The flags of a polled receive say whether its message has immediate data or an
 * invalidated STag
 */
static void receive_flags_are_reported(struct kunit *test)
{
	struct ib_wc wc = push_and_poll_completion(RNIC_SW_OP_RECV, 0, 0);

	KUNIT_EXPECT_EQ(test, 0, wc.wc_flags);
	KUNIT_EXPECT_EQ(test, 0u, wc.ex.invalidate_rkey);
	KUNIT_EXPECT_EQ(test, (int)IB_WC_RECV, (int)wc.opcode);
	KUNIT_EXPECT_EQ(test, 7u, (u32)wc.wr_id);
	KUNIT_EXPECT_EQ(test, 99u, wc.byte_len);
	KUNIT_EXPECT_EQ(test, 0u, wc.vendor_err);
	KUNIT_EXPECT_PTR_EQ(test, &stubs.qp.ib, wc.qp);
	wc = push_and_poll_completion(RNIC_SW_OP_RECV, RNIC_SW_WC_SOLICITED, 0);
	KUNIT_EXPECT_EQ(test, 0, wc.wc_flags);
	wc = push_and_poll_completion(RNIC_SW_OP_RECV, RNIC_SW_WC_WITH_INV, 0);
	KUNIT_EXPECT_EQ(test, (int)IB_WC_WITH_INVALIDATE, wc.wc_flags);
	KUNIT_EXPECT_EQ(test, (u32)STAG, wc.ex.invalidate_rkey);
}

static void immediate_data_is_reported(struct kunit *test)
{
	const struct rnic_sw_cqe cqe = {
		.opcode = RNIC_SW_OP_RECV | RNIC_SW_OP_WRITE_IMM,
		.flags = RNIC_SW_WC_WITH_IMM, .imm_data = IMM,
	};
	struct ib_wc wc;

	rnic_cq_post_cqe(&stubs.cq, &cqe, &stubs.qp.ib);
	KUNIT_EXPECT_EQ(test, 1, rnic_poll_cq(&stubs.cq.ib, 1, &wc));
	KUNIT_EXPECT_EQ(test, (int)IB_WC_WITH_IMM, wc.wc_flags);
	KUNIT_EXPECT_EQ(test, (u32)IMM, (u32)wc.ex.imm_data);
	KUNIT_EXPECT_EQ(test, (int)IB_WC_RECV_RDMA_WITH_IMM, (int)wc.opcode);
}

/* A failed completion has a vendor error, but no STag and no flags */
static void failed_completion_has_vendor_error(struct kunit *test)
{
	struct ib_wc wc = push_and_poll_completion(RNIC_SW_OP_RECV, RNIC_SW_WC_WITH_INV,
						   IB_WC_WR_FLUSH_ERR);

	KUNIT_EXPECT_EQ(test, 0, wc.wc_flags);
	KUNIT_EXPECT_EQ(test, 0u, wc.ex.invalidate_rkey);
	KUNIT_EXPECT_EQ(test, (u32)STAG, wc.vendor_err);
	KUNIT_EXPECT_EQ(test, (int)IB_WC_WR_FLUSH_ERR, (int)wc.status);
}

/* An overrun is reported once, and no completion is added to the CQ after it */
static void overrun_is_reported_once(struct kunit *test)
{
	const struct rnic_sw_cqe cqe = { .opcode = RNIC_SW_OP_SEND };
	struct ib_wc wc[SLOTS + 1];
	int i;

	for (i = 0; i < SLOTS; i++)
		KUNIT_EXPECT_TRUE(test, rnic_cq_post_cqe(&stubs.cq, &cqe, &stubs.qp.ib));
	KUNIT_EXPECT_EQ(test, 0u, stubs.overruns);
	KUNIT_EXPECT_FALSE(test, rnic_cq_post_cqe(&stubs.cq, &cqe, &stubs.qp.ib));
	KUNIT_EXPECT_EQ(test, SLOTS, rnic_poll_cq(&stubs.cq.ib, SLOTS + 1, wc));
	KUNIT_EXPECT_FALSE(test, rnic_cq_post_cqe(&stubs.cq, &cqe, &stubs.qp.ib));
	KUNIT_EXPECT_EQ(test, 1u, stubs.overruns);
}

/* Completions of a QP that is destroyed are removed; those of other QPs remain */
static void completions_of_destroyed_qp_are_removed(struct kunit *test)
{
	const struct rnic_sw_cqe cqe = { .opcode = RNIC_SW_OP_SEND };
	struct ib_wc wc[SLOTS];

	rnic_cq_post_cqe(&stubs.cq, &cqe, &stubs.qp.ib);
	rnic_cq_post_cqe(&stubs.cq, &cqe, &stubs.other.ib);
	rnic_cq_post_cqe(&stubs.cq, &cqe, &stubs.qp.ib);
	stubs.qp.discarding = true;
	KUNIT_EXPECT_TRUE(test, rnic_cq_post_cqe(&stubs.cq, &cqe, &stubs.qp.ib));
	rnic_cq_drop_qp_cqes(&stubs.cq, &stubs.qp.ib);
	KUNIT_EXPECT_EQ(test, 1, rnic_poll_cq(&stubs.cq.ib, SLOTS, wc));
	KUNIT_EXPECT_PTR_EQ(test, &stubs.other.ib, wc[0].qp);
}

/*
 * Arming the CQ causes one event. If it is armed for solicited completions, only
 * a solicited or failed completion causes the event.
 */
static void armed_cq_gives_one_event(struct kunit *test)
{
	struct ib_cq *ib = &stubs.cq.ib;

	push_and_poll_completion(RNIC_SW_OP_RECV, 0, 0);
	KUNIT_EXPECT_EQ(test, 0u, stubs.notified);
	KUNIT_EXPECT_EQ(test, 0, rnic_req_notify_cq(ib, IB_CQ_NEXT_COMP));
	push_and_poll_completion(RNIC_SW_OP_RECV, 0, 0);
	push_and_poll_completion(RNIC_SW_OP_RECV, 0, 0);
	KUNIT_EXPECT_EQ(test, 1u, stubs.notified);
	rnic_req_notify_cq(ib, IB_CQ_SOLICITED);
	push_and_poll_completion(RNIC_SW_OP_RECV, 0, 0);
	KUNIT_EXPECT_EQ(test, 1u, stubs.notified);
	push_and_poll_completion(RNIC_SW_OP_RECV, RNIC_SW_WC_SOLICITED, 0);
	KUNIT_EXPECT_EQ(test, 2u, stubs.notified);
	rnic_req_notify_cq(ib, IB_CQ_SOLICITED);
	push_and_poll_completion(RNIC_SW_OP_RECV, 0, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, 3u, stubs.notified);
}

static struct kunit_case rnic_cq_cases[] = {
	KUNIT_CASE(cq_in_program_memory_is_refused),
	KUNIT_CASE(receive_flags_are_reported),
	KUNIT_CASE(immediate_data_is_reported),
	KUNIT_CASE(failed_completion_has_vendor_error),
	KUNIT_CASE(overrun_is_reported_once),
	KUNIT_CASE(completions_of_destroyed_qp_are_removed),
	KUNIT_CASE(armed_cq_gives_one_event),
	{}
};

static struct kunit_suite rnic_cq_suite = {
	.name = "rnic_cq",
	.init = test_init,
	.exit = test_exit,
	.test_cases = rnic_cq_cases,
};

kunit_test_suite(rnic_cq_suite);
