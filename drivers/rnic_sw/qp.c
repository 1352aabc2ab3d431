// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs: create and destroy a queue pair, start and close its connection, flush its
 * queues after an error, and fail all queue pairs of a device. qp_error.c has state
 * changes and error reporting.
 *
 * Queue pairs are reference-counted (qp_table.c).  The memory of a queue pair contains
 * its stream, so rnic_destroy_qp() waits until the LLP has released the stream.
 */
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "comp_cntr.h"
#include "counters.h"
#include "doorbell.h"
#include "rdv_qp.h"
#include "rnr.h"
#include "rnic.h"
#include "trace.h"

#define SLOT_ALIGN	16

/*
 * Keep struct rnic_qp within the slab size of 2 KiB, because the next larger size is 4
 * KiB.  Lock debugging and PREEMPT_RT enlarge the locks, so the limit does not apply if
 * one of them is enabled.
 */
static_assert(sizeof(struct rnic_qp) <= 2048 || sizeof(spinlock_t) > 4 ||
	      IS_ENABLED(CONFIG_DEBUG_MUTEXES));

/* The transmit path writes to @sq, the receive path to @rq */
static_assert(DDP_GAP(struct rnic_qp, sq, rq) >= DDP_CACHELINE);

/* Flush after an error ------------------------------------------------------ */

/*
 * Async event for each enum iw_event.  For IW_EVENT_NONE no async event is raised,
 * because iw_cm reports the end of the connection.
 */
static const enum ib_event_type events[] = {
	[IW_EVENT_FATAL]	= IB_EVENT_QP_FATAL,
	[IW_EVENT_ACCESS]	= IB_EVENT_QP_ACCESS_ERR,
	[IW_EVENT_REQUEST]	= IB_EVENT_QP_REQ_ERR,
};

static void rnic_qp_report_error(struct rnic_qp *qp)
{
	u8 event = iw_reason_get_row(qp->why)->event;

	if (qp->error_reported || event == IW_EVENT_NONE)
		return;
	qp->error_reported = true;
	rnic_qp_raise_event(qp, events[event]);
}

/*
 * Check whether a scheduled flush is still necessary.  It is not if the queue pair is being reset
 * or destroyed, which discards the requests, or has been reset since the flush was scheduled.
 */
static bool needs_flush(struct rnic_qp *qp)
{
	/* pairs with the release in __reinit_stream(), qp_reset.c; litmus: publish */
	return !smp_load_acquire(&qp->discarding) && test_bit(0, &qp->rdmap.stream.failed);
}

static void rnic_qp_error_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(work, struct rnic_qp, err_work);

	if (needs_flush(qp)) {
		rnic_rdv_stop(qp);
		ddp_stream_quiesce(&qp->rdmap.stream);
		rnic_qp_set_state(qp, QP_ERROR);
		rnic_qp_report_error(qp);
		if (!rnic_rdv_try_defer_flush(qp)) {
			rnic_sq_flush(qp);
			if (!rnic_qp_must_keep_recvs(qp))
				rnic_rq_flush(qp);
		}
	}
	rnic_qp_put(qp);
}

/* States -------------------------------------------------------------------- */

#define BOTH_RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

static void __set_rights(struct rnic_qp *qp, int access)
{
	WRITE_ONCE(qp->access, access);
	ddp_stream_set_rights(&qp->rdmap.stream, rnic_to_ddp_rights(access));
}

/**
 * rnic_qp_start - enter RTS with the negotiated IRD and ORD
 * @qp: the queue pair
 * @ird: negotiated IRD
 * @ord: negotiated ORD
 *
 * Context: the LLP's worker; may sleep.
 *
 * Return: IW_OK; IW_MPA_LOCAL if memory is short; IW_LOCAL_ABORT if the queue pair has left IDLE
 * already, because it has failed.  After IW_MPA_LOCAL the queue pair is in RTS, so that the LLP can
 * send a Terminate.
 */
enum iw_reason rnic_qp_start(struct rnic_qp *qp, u16 ird, u16 ord)
{
	struct mem_cgroup *old;
	int err;

	/*
	 * charge the owner's control group, because this worker has no control group
	 * that could be charged
	 */
	old = set_active_memcg(qp->owner.memcg);
	err = rdmap_set_depths(&qp->rdmap, ird, ord);
	/* if the QP is connected without rdma_cm, rdv.c has called rnic_rnr_enable() already */
	if (!err && !rnic_qp_peek_rdv(qp))
		err = rnic_rnr_enable(qp, READ_ONCE(qp->dev->policy.rnr_wait));
	set_active_memcg(old);
	trace_rnic_qp_started(qp, ird, ord);
	if (!rnic_qp_set_state(qp, QP_RTS))
		return IW_LOCAL_ABORT;
	return err ? IW_MPA_LOCAL : IW_OK;
}

void rnic_qp_close(struct rnic_qp *qp)
{
	if (!rnic_qp_set_state(qp, QP_CLOSING))
		return;
	rnic_sq_close(qp);
	ddp_stream_close(&qp->rdmap.stream, IW_LOCAL_CLOSE);
}

/*
 * Compute the access rights after a modify that also changes the state.  @access has the
 * present rights, @named the rights in the modify.  Such a modify can only remove rights:
 *
 * * If @named is 0, no right is removed.
 * * If @named is not 0, remote read and remote write are removed unless they are in
 *   @named.
 * * Atomics are then removed unless @named has atomics, or both read and write.
 *
 * Connection managers pass no rights, or read and write, or all three.  So they never
 * change the rights that the consumer has set.
 */
static int narrow_access(int access, int named)
{
	if (!named)
		return access;
	if ((named & BOTH_RIGHTS) == BOTH_RIGHTS)
		named |= IB_ACCESS_REMOTE_ATOMIC;
	return access & named;
}

void rnic_qp_set_rights(struct rnic_qp *qp, int access, bool with_state)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	__set_rights(qp, with_state ? narrow_access(qp->access, access) : access);
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* Creation and destruction -------------------------------------------------- */

static int rnic_qp_check_attr(const struct ib_qp_init_attr *a)
{
	const struct ib_qp_cap *cap = &a->cap;

	if (a->qp_type != IB_QPT_RC || a->create_flags)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > RNIC_MAX_QP_WR ||
	    cap->max_recv_wr > RNIC_MAX_QP_WR ||
	    cap->max_send_sge > RDMAP_SGE_MAX ||
	    cap->max_recv_sge > RDMAP_SGE_MAX ||
	    cap->max_inline_data > RNIC_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static int init_sq(struct rnic_qp *qp, struct ib_qp_cap *cap)
{
	struct rnic_sq *sq = &qp->sq;
	u32 data, stride;
	int err;

	spin_lock_init(&sq->lock);
	data = max_t(u32, cap->max_inline_data,
		     max(cap->max_send_sge, 1U) * sizeof(struct rnic_sw_sge));
	stride = ALIGN(sizeof(struct rnic_sw_sqe) + data, SLOT_ALIGN);
	err = rnic_ring_set_sizes(&sq->ring, max(cap->max_send_wr, 1U), stride);
	sq->max_sge = max(cap->max_send_sge, 1U);
	sq->max_inline = stride - sizeof(struct rnic_sw_sqe);
	cap->max_send_wr = sq->ring.slots;
	cap->max_send_sge = sq->max_sge;
	cap->max_inline_data = sq->max_inline;
	return err;
}

static int init_rq(struct rnic_qp *qp, struct ib_qp_cap *cap)
{
	struct rnic_rq *rq = &qp->rq;
	int err;

	spin_lock_init(&rq->lock);
	mutex_init(&rq->flush_lock);
	if (qp->srq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	}
	if (!cap->max_recv_wr)
		return 0;
	cap->max_recv_sge = max(cap->max_recv_sge, 1U);
	rq->max_sge = cap->max_recv_sge;
	err = rnic_ring_set_sizes(&rq->ring, cap->max_recv_wr,
				  rnic_rqe_compute_stride(rq->max_sge));
	cap->max_recv_wr = rq->ring.slots;
	return err;
}

static int alloc_rings(struct rnic_qp *qp, struct ib_ucontext *uctx, bool packed)
{
	struct rnic_sq *sq = &qp->sq;
	int err = rnic_ring_alloc(&sq->ring, &qp->rq.ring, uctx, packed);

	if (err)
		return err;
	sq->ring.hdr->flags = RNIC_SW_RING_NEED_WAKEUP;
	sq->swqe = kvcalloc(sq->ring.slots, sizeof(*sq->swqe),
			    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return sq->swqe ? 0 : -ENOMEM;
}

/* Round up to SGEs that fill whole cache lines */
static u32 round_up_sges(u32 n)
{
	return ALIGN(n, DDP_CACHELINE / sizeof(struct ddp_sge));
}

/*
 * Allocate one array for the SGEs of the send WR that is being transmitted and for the
 * SGEs of the receive in use.  The two parts share no cache line, because different CPUs
 * may write to them.
 */
static int alloc_sges(struct rnic_qp *qp)
{
	u32 send = round_up_sges(qp->sq.max_sge);
	u32 recv = round_up_sges(qp->srq ? qp->srq->max_sge : qp->rq.max_sge);
	struct ddp_sge *sge;

	sge = kcalloc(send + recv, sizeof(*sge), GFP_KERNEL_ACCOUNT);
	qp->rdmap.wr.sge = sge;
	qp->rdmap.recv_sge = sge + send;
	return sge ? 0 : -ENOMEM;
}

/* Attributes by which a program provides memory for the rings; the driver allocates them itself */
static const u16 qp_bufs[] = {
	UVERBS_ATTR_CREATE_QP_BUF_UMEM, UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM,
	UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM,
};

static int read_create_qp_request(struct rnic_qp *qp, struct ib_udata *udata, bool *packed)
{
	struct rnic_sw_create_qp req;
	int err;

	*packed = false;
	if (!udata)
		return 0;
	if (rnic_has_any_attr(udata, qp_bufs, ARRAY_SIZE(qp_bufs)))
		return -EOPNOTSUPP;
	err = ib_copy_validate_udata_in_cm(udata, req, comp_mask, 0);
	if (err)
		return err;
	if (req.flags & ~RNIC_SW_CREATE_QP_PACK || req.reserved)
		return -EOPNOTSUPP;
	if (req.llp > RNIC_SW_LLP_SCTP)
		return -EINVAL;
	/* if the kernel has no SCTP, fail here rather than later in connect */
	if (req.llp == RNIC_SW_LLP_SCTP && rnic_ensure_sctp_loaded_for_user(qp->dev))
		return -EOPNOTSUPP;
	qp->llp = req.llp;
	*packed = req.flags & RNIC_SW_CREATE_QP_PACK;
	return 0;
}

static int respond_create_qp(const struct rnic_qp *qp, struct ib_udata *udata)
{
	struct rnic_sw_create_qp_resp resp = {
		.rq_offset = qp->sq.ring.bytes,
		.sq_slots = qp->sq.ring.slots,
		.sq_stride = qp->sq.ring.stride,
		.rq_slots = qp->rq.ring.slots,
		.rq_stride = qp->rq.ring.stride,
		.max_inline = qp->sq.max_inline,
	};

	if (!udata)
		return 0;
	resp.ring_key = rnic_ring_get_mmap_offset(&qp->sq.ring);
	resp.ring_bytes = rnic_ring_get_map_len(&qp->sq.ring);
	resp.ring_offset = rnic_ring_get_offset(&qp->sq.ring);
	resp.map_number = qp->sq.ring.map->number;
	resp.doorbell = qp->sq.doorbell->number;
	return ib_respond_udata(udata, resp);
}

static void free_qp_resources(struct rnic_qp *qp)
{
	kfree(qp->rdmap.wr.sge);
	kvfree(qp->sq.swqe);
	rnic_doorbell_free(qp);
	kfree(qp->peer_msg);
	kfree(qp->comp_cntrs);
	rnic_rdv_free(qp);
	rnic_rnr_free(qp);
	rnic_qp_cm_exit(qp);
	rnic_ring_free(&qp->rq.ring);
	rnic_ring_free(&qp->sq.ring);
	rnic_qp_owner_exit(qp);
	rnic_uncharge_object(qp->dev, RNIC_QPS);
}

static int alloc_qp_resources(struct rnic_qp *qp, struct ib_qp_init_attr *attr,
			      struct ib_udata *udata, bool packed)
{
	struct ib_ucontext *uctx = NULL;
	struct rnic_uctx *u = NULL;
	int err;

	if (udata) {
		u = rdma_udata_to_drv_context(udata, struct rnic_uctx, ib);
		uctx = &u->ib;
	}
	err = rnic_qp_cm_init(qp);
	if (!err)
		err = init_sq(qp, &attr->cap);
	if (!err)
		err = init_rq(qp, &attr->cap);
	if (!err)
		err = alloc_rings(qp, uctx, packed);
	if (!err)
		err = alloc_sges(qp);
	if (!err && udata)
		err = rnic_doorbell_create(qp, u);
	return err;
}

static void init_qp(struct rnic_qp *qp, const struct ib_qp_init_attr *attr)
{
	qp->dev = to_rnic_dev(qp->ib.device);
	qp->scq = to_rnic_cq(attr->send_cq);
	qp->rcq = to_rnic_cq(attr->recv_cq);
	qp->srq = attr->srq ? to_rnic_srq(attr->srq) : NULL;
	qp->sq.sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	spin_lock_init(&qp->lock);
	kref_init(&qp->ref);
	INIT_WORK(&qp->err_work, rnic_qp_error_work);
	INIT_WORK(&qp->complete_work, rnic_sq_complete_work);
	rdmap_init(&qp->rdmap, &qp->dev->stags, qp->ib.pd);
	qp->rdmap.stream.dma_ok = !rnic_qp_is_user(qp);
	__set_rights(qp, RNIC_QP_ALL_RIGHTS);
	/*
	 * The SGEs of receives from an SRQ are checked against the SRQ's PD, all other
	 * accesses against the QP's PD: RFC 5042 2.2.4 (SEC-2)
	 */
	if (qp->srq)
		qp->rdmap.stream.recv_pd = qp->srq->ib.pd;
	qp->ird_max = RDMAP_DEPTH_MAX;
	qp->ord_max = RDMAP_DEPTH_MAX;
	qp->counts = qp->dev->default_set.value;
	INIT_LIST_HEAD(&qp->set_entry);
	rnic_qp_owner_init(qp);
}

/**
 * rnic_create_qp - create a queue pair (device operation)
 * @ib: the queue pair, allocated by ib_core
 * @attr: requested attributes; the capacities are set to those of the queue pair
 * @udata: struct rnic_sw_create_qp and its response; NULL for a kernel consumer
 *
 * Return: 0; -EOPNOTSUPP for a type other than RC, for an unknown flag, for rings in memory
 * of the program, or for SCTP if it is not available; or another negative errno.
 */
int rnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata)
{
	struct rnic_qp *qp = to_rnic_qp(ib);
	bool packed;
	int err;

	err = rnic_qp_check_attr(attr);
	if (err)
		return err;
	err = rnic_charge_object(to_rnic_dev(ib->device), RNIC_QPS);
	if (err)
		return err;
	init_qp(qp, attr);
	err = read_create_qp_request(qp, udata, &packed);
	if (!err)
		err = alloc_qp_resources(qp, attr, udata, packed);
	if (!err)
		err = respond_create_qp(qp, udata);
	if (!err) {
		qp->cap = attr->cap;
		/*
		 * publish the QP only when it is complete, because from then on lookups
		 * by number can find it
		 */
		err = rnic_qp_publish(qp);
	}
	if (err) {
		free_qp_resources(qp);
		return err;
	}
	rnic_qp_counters_attach(qp);
	rnic_doorbell_enable(qp);
	return 0;
}

/**
 * rnic_destroy_qp - destroy a queue pair (device operation)
 * @ib: the queue pair
 * @udata: ignored, see rnic_dealloc_pd()
 *
 * Aborts the connection.  Sleeps until the LLP and iw_cm have dropped their references to
 * the queue pair.  If the queue pair belongs to a kernel consumer and the device's interface is
 * being removed, first sleeps until the unregistration of the device is queued, see
 * rnic_netdev_unregister_work().
 *
 * Return: 0.
 */
int rnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	DECLARE_COMPLETION_ONSTACK(released);
	struct rnic_qp *qp = to_rnic_qp(ib);

	if (!rnic_qp_is_user(qp))
		rnic_wait_unregister_queued(qp->dev);
	rnic_doorbell_disable(qp);
	rnic_qp_unpublish(qp);
	/*
	 * make rnic_cq_post_cqe() drop the completions of the flush: they could otherwise
	 * overrun a CQ that other queue pairs use
	 */
	WRITE_ONCE(qp->discarding, true);
	rnic_qp_fail(qp, IW_LOCAL_ABORT);
	rnic_rdv_stop(qp);
	rnic_qp_counters_detach(qp);
	ddp_stream_unbind(&qp->rdmap.stream);
	/* the QP has held a reference until now, so no context has dropped the last one */
	qp->released = &released;
	rnic_qp_put(qp);
	wait_for_completion(&released);
	rnic_qp_release_number(qp);
	rnic_sq_coalesce_stop(qp->sq.doorbell);
	/*
	 * wait for completion handlers that are running: after this function has
	 * returned, the consumer may free data that they use
	 */
	rnic_cq_notify_wait(qp->scq);
	rnic_cq_notify_wait(qp->rcq);
	rnic_cq_drop_qp_cqes(qp->scq, ib);
	rnic_cq_drop_qp_cqes(qp->rcq, ib);
	rdmap_free_queues(&qp->rdmap);
	/*
	 * retire the receive ring first, because the send ring owns the memory of both
	 * rings
	 */
	rnic_ring_retire(&qp->rq.ring, &qp->rq.lock);
	rnic_ring_retire(&qp->sq.ring, &qp->sq.lock);
	free_qp_resources(qp);
	return 0;
}

/* All queue pairs of a device ----------------------------------------------- */

/**
 * rnic_qps_fail - move all queue pairs of a device to the error state
 * @dev: the device
 * @why: the reason
 *
 * Does not wait until the connections have ended.
 *
 * Context: preemptible; may reschedule.
 */
void rnic_qps_fail(struct rnic_dev *dev, enum iw_reason why)
{
	unsigned long qpn = 0;
	struct rnic_qp *qp;

	while ((qp = rnic_qp_find_get_next(dev, &qpn))) {
		rnic_qp_fail(qp, why);
		rnic_qp_put(qp);
		cond_resched();
	}
}

/* Fail a queue pair, and wait until all WRs that were posted before have completed */
static void fail_qp_and_wait_flushed(struct rnic_qp *qp, enum iw_reason why)
{
	/* flush even if rnic_rdv_try_defer_flush() would keep requests posted for a lost peer */
	WRITE_ONCE(qp->error_requested, true);
	rnic_qp_fail(qp, why);
	/*
	 * rnic_qp_fail() schedules no flush if another context has failed the QP before, and that
	 * context may not have scheduled its flush yet; so schedule a flush here
	 */
	rnic_qp_schedule_flush(qp);
	flush_work(&qp->err_work);
	/* do not wait if the worker may have flushed nothing, see needs_flush() */
	if (!READ_ONCE(qp->discarding))
		rnic_sq_wait_flushed(qp);
}

/**
 * rnic_qps_fail_and_flush - fail and flush the queue pairs of kernel consumers, or of programs
 * @dev: the device
 * @user: true for the queue pairs of programs, false for those of kernel consumers
 * @why: the reason for queue pairs that have not failed yet
 *
 * Waits until the flushes have completed all WRs that were posted when the flushes began.
 *
 * Context: process context, may sleep; the caller must not be a work item of rnic_wq,
 * because the function waits for work items of rnic_wq.
 */
void rnic_qps_fail_and_flush(struct rnic_dev *dev, bool user, enum iw_reason why)
{
	unsigned long qpn = 0;
	struct rnic_qp *qp;

	while ((qp = rnic_qp_find_get_next(dev, &qpn))) {
		if (rnic_qp_is_user(qp) == user)
			fail_qp_and_wait_flushed(qp, why);
		rnic_qp_put(qp);
		cond_resched();
	}
}
