// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues (SRQs): many queue pairs dequeue WQEs from one ring, in
 * order.
 *
 * The contents of a WQE are copied when it is dequeued, so its slot can be
 * reused immediately. An SRQ is never flushed. A queue pair that moves to error
 * flushes the receive that it has dequeued, and raises
 * IB_EVENT_QP_LAST_WQE_REACHED (see rq.c).
 */
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"
#include "rnr.h"

#define PROMISE_MAX	(HZ / 10)	/* lifetime, see __rnic_srq_try_promise_recv() */

static int rnic_srq_check_attr(const struct ib_srq_init_attr *a)
{
	if (a->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!a->attr.max_wr || a->attr.max_wr > RNIC_MAX_QP_WR ||
	    a->attr.max_sge > RDMAP_SGE_MAX)
		return -EINVAL;
	return 0;
}

static int read_create_srq_request(struct ib_udata *udata, bool *packed)
{
	const u16 buf = UVERBS_ATTR_CREATE_SRQ_BUF_UMEM;
	struct rnic_sw_create_srq req;
	int err;

	*packed = false;
	if (!udata)
		return 0;
	/* a program cannot provide the memory of the ring, because the driver allocates it */
	if (rnic_has_any_attr(udata, &buf, 1))
		return -EOPNOTSUPP;
	err = ib_copy_validate_udata_in_cm(udata, req, comp_mask, 0);
	if (!err && req.flags & ~RNIC_SW_CREATE_SRQ_PACK)
		err = -EOPNOTSUPP;
	if (!err)
		*packed = req.flags & RNIC_SW_CREATE_SRQ_PACK;
	return err;
}

static int respond_create_srq(const struct rnic_srq *srq, struct ib_udata *udata)
{
	struct rnic_sw_create_srq_resp resp = {
		.slots = srq->ring.slots,
		.stride = srq->ring.stride,
	};

	if (!udata)
		return 0;
	resp.ring_key = rnic_ring_get_mmap_offset(&srq->ring);
	resp.ring_bytes = rnic_ring_get_map_len(&srq->ring);
	resp.ring_offset = rnic_ring_get_offset(&srq->ring);
	resp.map_number = srq->ring.map->number;
	return ib_respond_udata(udata, resp);
}

static void rnic_srq_raise_event(struct rnic_srq *srq, int event)
{
	struct ib_event ev = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
		.event = event,
	};

	if (event && srq->ib.event_handler)
		srq->ib.event_handler(&ev, srq->ib.srq_context);
}

/*
 * Dequeue an event that rnic_modify_srq() has deferred to event_work.
 *
 * Return: the event, or 0 if no event is deferred.
 */
static int rnic_srq_dequeue_event(struct rnic_srq *srq)
{
	unsigned long flags;
	int event = 0;

	spin_lock_irqsave(&srq->lock, flags);
	if (srq->error_pending) {
		srq->error_pending = false;
		event = IB_EVENT_SRQ_ERR;
	} else if (srq->limits_pending) {
		srq->limits_pending--;
		event = IB_EVENT_SRQ_LIMIT_REACHED;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return event;
}

static void rnic_srq_event_work(struct work_struct *work)
{
	struct rnic_srq *srq = container_of(work, struct rnic_srq, event_work);
	int event;

	while ((event = rnic_srq_dequeue_event(srq))) {
		rnic_srq_raise_event(srq, event);
		cond_resched();
	}
}

/**
 * rnic_create_srq - create a shared receive queue (device operation)
 * @ib: the SRQ, allocated by ib_core
 * @attr: requested attributes; max_wr and max_sge are set to the actual sizes.
 *	srq_limit is ignored, because only rnic_modify_srq() arms the limit.
 * @udata: struct rnic_sw_create_srq and its response; NULL for a kernel
 *	consumer
 *
 * Return: 0; -EOPNOTSUPP if the type is not IB_SRQT_BASIC, or for a ring in memory
 * of the program; -EINVAL if a size is out of range; or another negative errno.
 */
int rnic_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata)
{
	struct rnic_uctx *uctx =
		rdma_udata_to_drv_context(udata, struct rnic_uctx, ib);
	struct rnic_srq *srq = to_rnic_srq(ib);
	bool packed;
	int err;

	err = rnic_srq_check_attr(attr);
	if (!err)
		err = read_create_srq_request(udata, &packed);
	if (!err)
		err = rnic_charge_object(to_rnic_dev(ib->device), RNIC_SRQS);
	if (err)
		return err;
	spin_lock_init(&srq->lock);
	INIT_WORK(&srq->event_work, rnic_srq_event_work);
	INIT_LIST_HEAD(&srq->waiters);
	/* assume an old library, which rings no doorbells for SRQs, until the first doorbell */
	srq->rings = !uctx;
	srq->max_sge = max(attr->attr.max_sge, 1U);
	err = rnic_ring_set_sizes(&srq->ring, attr->attr.max_wr,
				  rnic_rqe_compute_stride(srq->max_sge));
	if (!err)
		err = rnic_ring_alloc(&srq->ring, NULL, uctx ? &uctx->ib : NULL, packed);
	if (err)
		goto give;
	attr->attr.max_wr = srq->ring.slots;
	attr->attr.max_sge = srq->max_sge;
	err = respond_create_srq(srq, udata);
	if (!err)
		return 0;
	rnic_ring_free(&srq->ring);
give:
	rnic_uncharge_object(to_rnic_dev(ib->device), RNIC_SRQS);
	return err;
}

/**
 * rnic_destroy_srq - destroy a shared receive queue (device operation)
 * @ib: the SRQ; the caller must ensure that no queue pair uses it
 * @udata: ignored, because the core may pass the udata of a failed creation
 *
 * May sleep.
 *
 * Return: 0.
 */
int rnic_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	struct rnic_srq *srq = to_rnic_srq(ib);

	cancel_work_sync(&srq->event_work);
	rnic_ring_retire(&srq->ring, &srq->lock);
	rnic_uncharge_object(to_rnic_dev(ib->device), RNIC_SRQS);
	return 0;
}

/*
 * Get the number of WQEs that are posted and not dequeued. If the producer
 * index is invalid, or was invalid in an earlier call, return 0, so that no
 * further WQE is dequeued.
 */
static u32 __rnic_srq_count_posted(struct rnic_srq *srq)
{
	u32 n;

	if (srq->prod_invalid)
		return 0;
	n = rnic_ring_count_posted(&srq->ring, srq->head, srq->head);
	srq->prod_invalid = n == RING_IDX_INVALID;
	return srq->prod_invalid ? 0 : n;
}

/* Check whether a message must not wait: a WQE is posted, or the producer index is invalid */
static bool __srq_should_end_rnr_wait(struct rnic_srq *srq)
{
	return __rnic_srq_count_posted(srq) || srq->prod_invalid;
}

/**
 * rnic_srq_should_end_rnr_wait - check whether a WQE is posted and not dequeued
 * @srq: the queue
 *
 * Context: any.
 *
 * Return: true if a WQE is posted, or if a message must not wait for a WQE, because the producer
 * index is invalid; false otherwise.
 */
bool rnic_srq_should_end_rnr_wait(struct rnic_srq *srq)
{
	unsigned long flags;
	bool has;

	spin_lock_irqsave(&srq->lock, flags);
	has = __srq_should_end_rnr_wait(srq);
	spin_unlock_irqrestore(&srq->lock, flags);
	return has;
}

/**
 * __rnic_srq_try_promise_recv - promise a WQE to a message that waits
 * @srq: the queue, with srq->lock held
 *
 * Each dequeue fulfils one promise, whichever stream dequeues.  A stream that fails after it got a
 * promise does not dequeue, so promises expire.
 *
 * Return: true if a WQE is posted that was not promised to another message, or if no message must
 * wait, because the producer index is invalid; false otherwise.
 */
bool __rnic_srq_try_promise_recv(struct rnic_srq *srq)
{
	lockdep_assert_held(&srq->lock);
	if (time_after(jiffies, srq->promised_at + PROMISE_MAX))
		srq->promised = 0;
	if (!srq->prod_invalid && __rnic_srq_count_posted(srq) <= srq->promised)
		return srq->prod_invalid;
	srq->promised++;
	srq->promised_at = jiffies;
	return true;
}

/*
 * Get the event to raise if @posted WQEs are posted: SRQ_ERR if the producer
 * index is invalid, or SRQ_LIMIT if fewer WQEs are posted than the limit.
 * Record that the event is raised, so that it is raised only once.
 *
 * Return: the event, or 0 if no event must be raised.
 */
static int __claim_srq_event(struct rnic_srq *srq, u32 posted)
{
	if (srq->prod_invalid) {
		if (srq->error_reported)
			return 0;
		srq->error_reported = true;
		return IB_EVENT_SRQ_ERR;
	}
	/*
	 * ib_core queues events until the program reads them. So raise at most
	 * one limit event for each dequeued WQE, to bound the queue.
	 */
	if (posted >= srq->limit || srq->limit_reported)
		return 0;
	WRITE_ONCE(srq->limit, 0);
	srq->limit_reported = true;
	return IB_EVENT_SRQ_LIMIT_REACHED;
}

/*
 * Defer @event to event_work. Return: true if @event was deferred, false if it
 * is 0
 */
static bool __defer_srq_event(struct rnic_srq *srq, int event)
{
	if (event == IB_EVENT_SRQ_ERR)
		srq->error_pending = true;
	else if (event)
		srq->limits_pending++;
	return event;
}

/**
 * rnic_modify_srq - arm the limit of a shared receive queue (device operation)
 * @ib: the SRQ
 * @attr: new attributes
 * @mask: attributes to change; only IB_SRQ_LIMIT is supported
 * @udata: must be empty
 *
 * If fewer WQEs are posted than the new limit, event_work raises the limit
 * event soon. This function does not call the event handler itself,
 * because the caller may hold locks that the handler takes. If no WQE has been
 * dequeued since the last limit event, the next event is raised only after the
 * next WQE has been dequeued.
 *
 * Return: 0; -EOPNOTSUPP if @mask has another attribute; -EINVAL if the limit
 * exceeds the size of the queue; or another negative errno.
 */
int rnic_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rnic_srq *srq = to_rnic_srq(ib);
	int err = ib_no_udata_io(udata);
	unsigned long flags;
	bool event;

	if (err)
		return err;
	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->ring.slots)
		return -EINVAL;
	spin_lock_irqsave(&srq->lock, flags);
	WRITE_ONCE(srq->limit, attr->srq_limit);
	event = __defer_srq_event(srq, __claim_srq_event(srq, __rnic_srq_count_posted(srq)));
	spin_unlock_irqrestore(&srq->lock, flags);
	if (event)
		queue_work(rnic_wq, &srq->event_work);
	return 0;
}

/**
 * rnic_query_srq - query the attributes of a shared receive queue (device operation)
 * @ib: the SRQ
 * @attr: set to sizes and limit of the queue
 *
 * Return: 0.
 */
int rnic_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct rnic_srq *srq = to_rnic_srq(ib);

	*attr = (struct ib_srq_attr) {
		.max_wr = srq->ring.slots,
		.max_sge = srq->max_sge,
		.srq_limit = READ_ONCE(srq->limit),
	};
	return 0;
}

/*
 * Dequeue the oldest WQE. The caller must hold srq->lock. Return: as
 * rnic_srq_dequeue()
 */
static enum iw_reason __dequeue_srq_wqe(struct rnic_srq *srq, struct rdmap *r, u64 *wr_id,
					bool *bad)
{
	if (!__rnic_srq_count_posted(srq))
		return srq->prod_invalid ? IW_LOCAL_PROT : IW_DDP_U_NO_BUFFER;
	*bad = !rnic_rqe_read(rnic_ring_get_slot(&srq->ring, srq->head),
			      srq->max_sge, r, wr_id);
	rnic_ring_set_cons(&srq->ring, ++srq->head);
	srq->limit_reported = false;
	if (srq->promised)
		srq->promised--;
	return IW_OK;
}

/**
 * rnic_srq_dequeue - dequeue the oldest WQE for a message to a queue pair
 * @srq: the queue
 * @r: RDMAP state of the queue pair, whose recv_buf is set to the buffer
 * @wr_id: set to the wr_id of the WQE; unchanged if no WQE is dequeued
 * @bad: set to true if the WQE is invalid, to false if it is valid; unchanged
 *	if no WQE is dequeued
 *
 * Context: any.
 *
 * Return: IW_OK if a WQE was dequeued; IW_DDP_U_NO_BUFFER if no WQE is posted;
 * IW_LOCAL_PROT if the program has written an invalid producer index.
 */
enum iw_reason rnic_srq_dequeue(struct rnic_srq *srq, struct rdmap *r, u64 *wr_id,
				bool *bad)
{
	unsigned long flags;
	enum iw_reason why;
	int event = 0;

	spin_lock_irqsave(&srq->lock, flags);
	why = __dequeue_srq_wqe(srq, r, wr_id, bad);
	if (why != IW_DDP_U_NO_BUFFER)
		event = __claim_srq_event(srq, __rnic_srq_count_posted(srq));
	spin_unlock_irqrestore(&srq->lock, flags);
	rnic_srq_raise_event(srq, event);
	return why;
}

/**
 * rnic_post_srq_recv - post receive work requests to a shared receive queue (device operation)
 * @ib: the SRQ
 * @wr: list of requests of a kernel consumer. A program writes its requests to
 *	the ring itself, and passes NULL if NEED_WAKEUP is set.
 * @bad: on error, set to the first request that was not posted
 *
 * Lets messages continue that wait for the receives.
 *
 * Return: 0 or a negative errno.
 */
int rnic_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct rnic_srq *srq = to_rnic_srq(ib);
	unsigned long flags;
	int err = srq->ib.uobject && wr ? -EINVAL : 0;
	bool waited;

	*bad = wr;
	spin_lock_irqsave(&srq->lock, flags);
	if (srq->ib.uobject)
		srq->rings = true;
	for (; wr && !err; wr = wr->next) {
		*bad = wr;
		err = rnic_rqe_post(&srq->ring, srq->head, srq->max_sge, wr);
	}
	waited = !list_empty(&srq->waiters);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (waited)
		rnic_rnr_wake_srq_waiters(srq);
	return err;
}
