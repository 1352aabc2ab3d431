// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Stubs of the tests of a send queue, see rnic_sq_kunit.c */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>

#include "rnic_sq.h"

struct rnic_sq_world world;

struct workqueue_struct *rnic_wq;
unsigned int hrtimer_resolution = 1;

bool host_queue(struct work_struct *w)
{
	world.works++;
	return true;
}

/* During a sleep the completing context finishes, then the worker runs */
void host_sleep(void)
{
	world.sleeps++;
	if (world.at_it)
		world.qp.sq.completing = false;
	world.at_it = false;
	rnic_sq_tell_more(&world.qp.tell_work);
}

enum ib_wc_status rnic_sq_parse(const struct rnic_qp *qp, const struct rnic_sw_sqe *e,
				void *slot, struct rdmap_wr *wr)
{
	wr->op = e->opcode == RNIC_SW_OP_READ ? RDMAP_WR_READ : RDMAP_WR_SEND;
	return IB_WC_SUCCESS;
}

bool rnic_cq_push(struct rnic_cq *cq, const struct rnic_sw_cqe *cqe, struct ib_qp *qp)
{
	world.locked += !!world.qp.sq.lock.held;
	world.twice += world.inside++;
	world.early += world.completed && cqe->wr_id != world.last.wr_id + 1;
	world.status[world.completed++ % SLOTS] = cqe->status;
	world.last = *cqe;
	if (world.again)
		rnic_sq_tell_more(&world.qp.tell_work);
	world.inside--;
	return !world.full;
}

void rdmap_fail(struct rdmap *r, enum iw_reason why)
{
	world.held += !!r->stream.tx_held;
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

void ddp_kick(struct ddp_stream *s)
{
	world.kicks++;
}

void ddp_push(struct ddp_stream *s)
{
	world.pushes++;
}

u64 host_now(void)
{
	return world.now;
}

void host_hrtimer(struct hrtimer *timer)
{
	world.timer = timer;
}

void begin_at(u32 used)
{
	struct rnic_sq *sq = &world.qp.sq;

	memset(&world, 0, sizeof(world));
	world.qp.scq = &world.cq;
	world.qp.ib.uobject = (void *)&world;
	kref_init(&world.qp.ref);
	sq->ring = (struct rnic_ring) {
		.hdr = &world.hdr, .slot0 = world.slots,
		.slots = SLOTS, .stride = sizeof(world.slots[0]),
	};
	sq->note = world.notes;
	sq->sig_all = true;
	sq->head = used;
	sq->seen = used;
	sq->tail = used;
	sq->sent = used;
	sq->cut = used;
	world.hdr.prod = used;
}

void post(u32 n)
{
	while (n--) {
		world.slots[world.hdr.prod % SLOTS].wr_id = world.hdr.prod;
		world.hdr.prod++;
	}
}

u32 pull_all(void)
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
