// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Stubs of the tests of a send queue, see rnic_sq_kunit.c */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>

#include "rnic_sq.h"

struct rnic_sq_stubs stubs;

struct workqueue_struct *rnic_wq;
unsigned int hrtimer_resolution = 1;

unsigned int host_get_cpu(void)
{
	return 0;
}

bool host_queue_work(struct work_struct *w)
{
	stubs.worker_runs++;
	return true;
}

/* During a sleep, let the context that generates completions finish, then run the worker */
void host_on_sleep(void)
{
	stubs.sleeps++;
	if (stubs.ends_in_sleep)
		stubs.qp.sq.completing = false;
	stubs.ends_in_sleep = false;
	rnic_sq_complete_work(&stubs.qp.complete_work);
}

enum ib_wc_status rnic_sq_parse_wqe(const struct rnic_qp *qp, const struct rnic_sw_sqe *e,
				    void *slot, struct rdmap_wr *wr)
{
	wr->op = e->opcode == RNIC_SW_OP_READ ? RDMAP_WR_READ : RDMAP_WR_SEND;
	return IB_WC_SUCCESS;
}

u64 get_counted_completions(void)
{
	return stubs.cntr->value[IB_COMP_CNTR_ENTRY_COMP].v +
	       stubs.cntr->value[IB_COMP_CNTR_ENTRY_ERR].v;
}

bool rnic_cq_post_cqe(struct rnic_cq *cq, const struct rnic_sw_cqe *cqe, struct ib_qp *qp)
{
	stubs.locked += !!stubs.qp.sq.lock.held;
	if (stubs.cntr)
		stubs.uncounted += get_counted_completions() <= stubs.completed;
	stubs.concurrent += stubs.in_push++;
	stubs.early += stubs.completed && cqe->wr_id != stubs.last.wr_id + 1;
	stubs.status[stubs.completed++ % SLOTS] = cqe->status;
	stubs.last = *cqe;
	if (stubs.also_elsewhere)
		rnic_sq_complete_work(&stubs.qp.complete_work);
	stubs.in_push--;
	return !stubs.full;
}

void rdmap_fail(struct rdmap *r, enum iw_reason why)
{
	stubs.mr_refs += !!r->stream.tx_mr;
	stubs.failed++;
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

int rnic_get_limit(enum rnic_kind kind)
{
	return 0;
}

int rnic_charge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	return 0;
}

void rnic_uncharge_object(struct rnic_dev *dev, enum rnic_kind kind) {}
void rnic_qp_put(struct rnic_qp *qp) {}
void rnic_qp_schedule_flush(struct rnic_qp *qp)
{
	stubs.flushes++;
}

void ddp_kick(struct ddp_stream *s)
{
	stubs.kicks++;
}

void ddp_push(struct ddp_stream *s)
{
	stubs.pushes++;
}

u64 host_get_time_ns(void)
{
	return stubs.now;
}

void host_setup_hrtimer(struct hrtimer *timer)
{
	stubs.timer = timer;
}

void open_sq_at_index(u32 used)
{
	struct rnic_sq *sq = &stubs.qp.sq;

	memset(&stubs, 0, sizeof(stubs));
	stubs.qp.scq = &stubs.cq;
	stubs.qp.ib.uobject = (void *)&stubs;
	kref_init(&stubs.qp.ref);
	sq->ring = (struct rnic_ring) {
		.hdr = &stubs.hdr, .slot0 = stubs.slots,
		.slots = SLOTS, .stride = sizeof(stubs.slots[0]),
	};
	sq->swqe = stubs.swqes;
	sq->sig_all = true;
	sq->head = used;
	sq->prod_seen = used;
	sq->tail = used;
	sq->sent = used;
	sq->segmented_end = used;
	stubs.hdr.prod = used;
}

void post_requests(u32 n)
{
	while (n--) {
		stubs.slots[stubs.hdr.prod % SLOTS].wr_id = stubs.hdr.prod;
		stubs.hdr.prod++;
	}
}

u32 send_all_requests(void)
{
	struct rdmap_wr wr;
	u32 n = 0;

	while (rdmap_sq_pull_wr(&stubs.qp.rdmap, &wr)) {
		rdmap_sq_mark_segmented(&stubs.qp.rdmap, wr.slot);
		n++;
	}
	rdmap_sq_complete_sent_wrs(&stubs.qp.rdmap, false);
	return n;
}
