// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The send queue, drivers/rnic_sw/sq.c, between a program's ring, RDMAP's runner and
 * a completion queue.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../../../../drivers/rnic_sw/rnic.h"

#define SLOTS	512

static struct {
	struct rnic_qp		qp;
	struct rnic_cq		cq;
	struct rnic_sw_ring	hdr;
	struct rnic_sw_sqe	slots[SLOTS];
	struct rnic_sq_note	notes[SLOTS];
	u32			completed;
	struct rnic_sw_cqe	last;		/* the last that was */
	u32			failed;
	u32			works;
	u32			early;		/* told before one that was posted first */
	u32			locked;		/* told under the queue's lock */
	u32			inside;		/* rnic_cq_push() */
	u32			twice;		/* so often there by two */
	bool			again;		/* others come while it is told */
	bool			full;		/* the completion queue is */
} world;

struct workqueue_struct *rnic_wq;

bool host_queue(struct work_struct *w)
{
	world.works++;
	return true;
}

/* Who is at the other sides ---------------------------------------------------- */

enum ib_wc_status rnic_sq_parse(const struct rnic_qp *qp, const struct rnic_sw_sqe *e,
				void *slot, struct rdmap_wr *wr)
{
	return IB_WC_SUCCESS;
}

bool rnic_cq_push(struct rnic_cq *cq, const struct rnic_sw_cqe *cqe, struct ib_qp *qp)
{
	world.locked += !!world.qp.sq.lock.held;
	world.twice += world.inside++;
	world.early += world.completed && cqe->wr_id != world.last.wr_id + 1;
	world.completed++;
	world.last = *cqe;
	if (world.again)
		rnic_sq_tell_more(&world.qp.tell_work);
	world.inside--;
	return !world.full;
}

void rdmap_fail(struct rdmap *r, enum iw_reason why)
{
	world.failed++;
}

bool rnic_mw_bind(struct rnic_dev *dev, const struct ddp_stream *s,
		  const struct rdmap_wr *wr)
{
	return false;
}

enum iw_reason rnic_mr_fastreg(struct ib_mr *ib, const struct rdmap_wr *wr,
			       struct ddp_stream *s)
{
	return IW_LOCAL_PROT;
}

enum iw_reason ddp_mem_invalidate(struct ddp_stream *s, u32 stag, bool peer)
{
	return IW_LOCAL_PROT;
}

void rnic_qp_put(struct rnic_qp *qp) {}
void rnic_qp_reflush(struct rnic_qp *qp) {}
void ddp_kick(struct ddp_stream *s) {}
void ddp_push(struct ddp_stream *s) {}

/* Cases ------------------------------------------------------------------------ */

/* The queue has been in use: @used slots of it are done with */
static void begin_at(u32 used)
{
	struct rnic_sq *sq = &world.qp.sq;

	memset(&world, 0, sizeof(world));
	world.qp.scq = &world.cq;
	world.qp.user = true;
	kref_init(&world.qp.ref);
	sq->ring = (struct rnic_ring) {
		.hdr = &world.hdr, .slot0 = world.slots,
		.slots = SLOTS, .stride = sizeof(world.slots[0]),
	};
	sq->note = world.notes;
	sq->sig_all = true;
	sq->head = used;
	sq->tail = used;
	sq->sent = used;
	sq->cut = used;
	world.hdr.prod = used;
}

static void post(u32 n)
{
	while (n--) {
		world.slots[world.hdr.prod % SLOTS].wr_id = world.hdr.prod;
		world.hdr.prod++;
	}
}

/* How many the runner can have, all of them sent */
static u32 pull_all(void)
{
	struct rdmap_wr wr;
	u32 n = 0;

	while (rdmap_sq_pull(&world.qp.rdmap, &wr)) {
		rdmap_sq_cut(&world.qp.rdmap, wr.slot);
		n++;
	}
	rdmap_sq_sent(&world.qp.rdmap);
	return n;
}

/* What was posted before the end was asked for leaves, and nothing after it */
static void end_is_where_it_was(struct kunit *test)
{
	u32 used;

	for (used = 0; used < 3; used++) {
		begin_at(used);
		post(3);
		rnic_sq_close(&world.qp);
		post(2);
		KUNIT_EXPECT_EQ(test, 3u, pull_all());
		KUNIT_EXPECT_EQ(test, 3u, world.completed);
		KUNIT_EXPECT_EQ(test, 0u, (u32)world.last.status);
		post(1);
		KUNIT_EXPECT_EQ(test, 0u, pull_all());
		rnic_sq_flush(&world.qp);
		KUNIT_EXPECT_EQ(test, 6u, world.completed);
		KUNIT_EXPECT_EQ(test, (u32)IB_WC_WR_FLUSH_ERR, (u32)world.last.status);
		KUNIT_EXPECT_EQ(test, used + 5u, (u32)world.last.wr_id);
		KUNIT_EXPECT_EQ(test, 0u, world.failed);
	}
}

/* Where nothing was posted nothing leaves */
static void end_of_an_idle_one(struct kunit *test)
{
	begin_at(1);
	rnic_sq_close(&world.qp);
	post(1);
	KUNIT_EXPECT_EQ(test, 0u, pull_all());
	KUNIT_EXPECT_EQ(test, 0u, world.completed);
}

/* Once it closes, an index that makes no sense is left to the flush */
static void nonsense_waits(struct kunit *test)
{
	begin_at(1);
	post(2);
	KUNIT_EXPECT_EQ(test, 2u, pull_all());
	world.hdr.prod += SLOTS + 1;
	rnic_sq_close(&world.qp);
	KUNIT_EXPECT_EQ(test, 0u, pull_all());
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
}

/* However many are over that nobody is told of, who is told comes right behind */
static void told_behind_many(struct kunit *test)
{
	u32 n;

	for (n = 1; n < 200; n++) {
		begin_at(0);
		world.qp.sq.sig_all = false;
		post(n);
		world.slots[n - 1].flags = RNIC_SW_SEND_SIGNALED;
		KUNIT_EXPECT_EQ(test, n, pull_all());
		KUNIT_EXPECT_EQ(test, 1u, world.completed);
		KUNIT_EXPECT_EQ(test, n - 1, (u32)world.last.wr_id);
		KUNIT_EXPECT_EQ(test, n, world.hdr.cons);
		KUNIT_EXPECT_EQ(test, 0u, world.works);
	}
}

/* Of very many a worker tells the rest */
static void rest_is_told_later(struct kunit *test)
{
	begin_at(0);
	post(SLOTS);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, pull_all());
	KUNIT_EXPECT_EQ(test, 256u, world.completed);
	KUNIT_EXPECT_EQ(test, 1u, world.works);
	rnic_sq_tell_more(&world.qp.tell_work);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, world.completed);
	KUNIT_EXPECT_EQ(test, SLOTS - 1u, (u32)world.last.wr_id);
	/* the last one ended what it had begun: nobody has to look */
	KUNIT_EXPECT_EQ(test, 1u, world.works);
}

/* Nor is a worker woken behind as many as one may tell */
static void all_are_told(struct kunit *test)
{
	begin_at(0);
	post(256);
	KUNIT_EXPECT_EQ(test, 256u, pull_all());
	KUNIT_EXPECT_EQ(test, 256u, world.completed);
	KUNIT_EXPECT_EQ(test, 0u, world.works);
	KUNIT_EXPECT_FALSE(test, world.qp.sq.completing);
}

/* What nobody is told of is looked through in stretches, too */
static void told_to_nobody(struct kunit *test)
{
	begin_at(0);
	world.qp.sq.sig_all = false;
	post(SLOTS);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, pull_all());
	KUNIT_EXPECT_EQ(test, 256u, world.qp.sq.tail);
	KUNIT_EXPECT_EQ(test, 1u, world.works);
	rnic_sq_tell_more(&world.qp.tell_work);
	KUNIT_EXPECT_EQ(test, (u32)SLOTS, world.qp.sq.tail);
	KUNIT_EXPECT_EQ(test, 0u, world.completed);
}

/* The consumer is called without a lock; who comes meanwhile leaves it to us */
static void told_in_order(struct kunit *test)
{
	begin_at(0);
	world.again = true;
	post(100);
	KUNIT_EXPECT_EQ(test, 100u, pull_all());
	KUNIT_EXPECT_EQ(test, 100u, world.completed);
	KUNIT_EXPECT_EQ(test, 0u, world.early);
	KUNIT_EXPECT_EQ(test, 0u, world.twice);
	KUNIT_EXPECT_EQ(test, 0u, world.locked);
	KUNIT_EXPECT_EQ(test, 0, world.qp.sq.lock.held);
	KUNIT_EXPECT_EQ(test, 0u, world.failed);
}

static void no_room(struct kunit *test)
{
	begin_at(0);
	world.full = true;
	post(1);
	KUNIT_EXPECT_EQ(test, 1u, pull_all());
	KUNIT_EXPECT_EQ(test, 1u, world.failed);
}

static struct kunit_case rnic_sq_cases[] = {
	KUNIT_CASE(end_is_where_it_was),
	KUNIT_CASE(end_of_an_idle_one),
	KUNIT_CASE(nonsense_waits),
	KUNIT_CASE(told_behind_many),
	KUNIT_CASE(rest_is_told_later),
	KUNIT_CASE(all_are_told),
	KUNIT_CASE(told_to_nobody),
	KUNIT_CASE(told_in_order),
	KUNIT_CASE(no_room),
	{}
};

static struct kunit_suite rnic_sq_suite = {
	.name = "rnic_sq",
	.test_cases = rnic_sq_cases,
};

kunit_test_suite(rnic_sq_suite);
