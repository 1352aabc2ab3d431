// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues (CQs). The driver writes CQEs to a ring, from which a program or a kernel
 * consumer reads them.
 *
 * A program can write any value to the shared indices. Therefore the driver uses its own copy
 * of the producer index, and a wrong consumer index harms only the program that wrote it.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

/*
 * CQEs contain the status values of the verbs, so the ABI must have the same
 * values
 */
static_assert((int)IB_WC_SUCCESS == RNIC_SW_OK);
static_assert((int)IB_WC_LOC_LEN_ERR == RNIC_SW_LOC_LEN_ERR);
static_assert((int)IB_WC_LOC_QP_OP_ERR == RNIC_SW_LOC_QP_OP_ERR);
static_assert((int)IB_WC_LOC_PROT_ERR == RNIC_SW_LOC_PROT_ERR);
static_assert((int)IB_WC_WR_FLUSH_ERR == RNIC_SW_WR_FLUSH_ERR);
static_assert((int)IB_WC_MW_BIND_ERR == RNIC_SW_MW_BIND_ERR);
static_assert((int)IB_WC_REM_ACCESS_ERR == RNIC_SW_REM_ACCESS_ERR);
static_assert((int)IB_WC_REM_OP_ERR == RNIC_SW_REM_OP_ERR);
static_assert((int)IB_WC_RETRY_EXC_ERR == RNIC_SW_RETRY_EXC_ERR);
static_assert((int)IB_WC_RNR_RETRY_EXC_ERR == RNIC_SW_RNR_RETRY_EXC_ERR);

#define CQ_EVENTS	(RNIC_SW_ARM_ANY | RNIC_SW_ARM_SOLICITED)

/**
 * rnic_cq_alloc_ring - allocate a ring for a completion queue
 * @ring: ring to set up
 * @udata: udata of the program, or NULL for a kernel consumer
 * @want: minimum number of entries
 * @packed: true if the ring may share a page with other rings of the program
 *
 * Return: 0; -EINVAL if @want is 0 or more than RNIC_MAX_CQE; or another
 * negative errno.
 */
int rnic_cq_alloc_ring(struct rnic_ring *ring, struct ib_udata *udata, u32 want, bool packed)
{
	struct rnic_uctx *uctx =
		rdma_udata_to_drv_context(udata, struct rnic_uctx, ib);
	int err;

	if (want < 1 || want > RNIC_MAX_CQE)
		return -EINVAL;
	err = rnic_ring_set_sizes(ring, want, sizeof(struct rnic_sw_cqe));
	return err ?: rnic_ring_alloc(ring, NULL, uctx ? &uctx->ib : NULL, packed);
}

static int respond_create_cq(const struct rnic_ring *ring, struct ib_udata *udata)
{
	struct rnic_sw_create_cq_resp resp = {
		.ring_key = rnic_ring_get_mmap_offset(ring),
		.ring_bytes = rnic_ring_get_map_len(ring),
		.slots = ring->slots,
		.stride = ring->stride,
		.map_number = ring->map->number,
		.ring_offset = rnic_ring_get_offset(ring),
	};

	return ib_respond_udata(udata, resp);
}

/*
 * Compute how far the monotonic clock in the current process's time namespace is ahead of the
 * kernel's monotonic clock. Return: the difference in ns, which may be negative
 */
static s64 get_timens_offset_ns(void)
{
	struct timespec64 t = {};

	timens_add_monotonic(&t);
	return timespec64_to_ns(&t);
}

/* Attributes by which a program provides memory for the ring; the driver allocates it itself */
static const u16 cq_bufs[] = {
	UVERBS_ATTR_CREATE_CQ_BUFFER_VA, UVERBS_ATTR_CREATE_CQ_BUFFER_LENGTH,
	UVERBS_ATTR_CREATE_CQ_BUFFER_FD, UVERBS_ATTR_CREATE_CQ_BUFFER_OFFSET,
	UVERBS_ATTR_CREATE_CQ_BUF_UMEM,
};

/* Read the program's driver data and set the fields of @cq that depend on them */
static int read_create_cq_request(struct rnic_cq *cq, const struct ib_cq_init_attr *attr,
				  struct ib_udata *udata, bool *packed)
{
	struct rnic_sw_create_cq req;
	int err = ib_copy_validate_udata_in_cm(udata, req, comp_mask, 0);

	if (err)
		return err;
	if (rnic_has_any_attr(udata, cq_bufs, ARRAY_SIZE(cq_bufs)) ||
	    attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION ||
	    req.flags & ~(RNIC_SW_CREATE_CQ_TIMESTAMP | RNIC_SW_CREATE_CQ_PACK) ||
	    req.reserved)
		return -EOPNOTSUPP;
	cq->timestamps = attr->flags || req.flags & RNIC_SW_CREATE_CQ_TIMESTAMP;
	*packed = req.flags & RNIC_SW_CREATE_CQ_PACK;
	cq->timens_offset = get_timens_offset_ns();
	return 0;
}

/* Initialize @cq and allocate its ring. Return: 0 or a negative errno */
static int init_cq(struct rnic_cq *cq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata, bool packed)
{
	struct rnic_dev *dev = to_rnic_dev(cq->ib.device);
	int err;

	if (attr->comp_vector >= dev->ib.num_comp_vectors)
		return -EINVAL;
	rnic_cq_notify_init(cq, attr->comp_vector);
	spin_lock_init(&cq->lock);
	mutex_init(&cq->walk_lock);
	err = rnic_charge_object(dev, RNIC_CQS);
	if (err)
		return err;
	err = rnic_cq_alloc_ring(&cq->ring, udata, attr->cqe, packed);
	if (err)
		rnic_uncharge_object(dev, RNIC_CQS);
	cq->ib.cqe = cq->ring.slots;
	return err;
}

/* Undo init_cq() for a CQ whose creation has failed */
static void exit_cq(struct rnic_cq *cq)
{
	rnic_ring_free(&cq->ring);
	rnic_uncharge_object(to_rnic_dev(cq->ib.device), RNIC_CQS);
}

/**
 * rnic_create_user_cq - create a completion queue for a program (device operation)
 * @ib: the CQ, zeroed except for the fields that the core has set
 * @attr: minimum number of entries, completion vector and flags
 * @attrs: attributes with the driver data: struct rnic_sw_create_cq and its response
 *
 * Return: 0; -EOPNOTSUPP for an unknown flag, or for a ring in memory of the program; or
 * another negative errno.
 */
int rnic_create_user_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = &attrs->driver_udata;
	struct rnic_cq *cq = to_rnic_cq(ib);
	bool packed;
	int err = read_create_cq_request(cq, attr, udata, &packed);

	if (!err)
		err = init_cq(cq, attr, udata, packed);
	if (err)
		return err;
	err = respond_create_cq(&cq->ring, udata);
	if (err)
		exit_cq(cq);
	return err;
}

/**
 * rnic_create_cq - create a completion queue for a kernel consumer (device operation)
 * @ib: the CQ, zeroed except for the fields that the core has set
 * @attr: minimum number of entries and completion vector; must have no flags, because struct
 *	ib_wc has no field for a timestamp
 * @attrs: ignored
 *
 * Return: 0; -EOPNOTSUPP if @attr has flags; or another negative errno.
 */
int rnic_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct rnic_cq *cq = to_rnic_cq(ib);
	int err;

	if (attr->flags)
		return -EOPNOTSUPP;
	err = init_cq(cq, attr, NULL, false);
	if (err)
		return err;
	cq->slot_qp = kvcalloc(cq->ring.slots, sizeof(*cq->slot_qp), GFP_KERNEL);
	if (cq->slot_qp)
		return 0;
	exit_cq(cq);
	return -ENOMEM;
}

/**
 * rnic_destroy_cq - destroy a completion queue (device operation)
 * @ib: the CQ; no queue pair may use it
 * @udata: ignored, see rnic_dealloc_pd()
 *
 * May sleep.
 *
 * Return: 0.
 */
int rnic_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct rnic_cq *cq = to_rnic_cq(ib);

	rnic_cq_notify_wait(cq);
	rnic_cq_notify_exit(cq);
	rnic_ring_retire(&cq->ring, &cq->lock);
	rnic_ring_free(&cq->resize_ring);
	kvfree(cq->slot_qp);
	rnic_uncharge_object(to_rnic_dev(ib->device), RNIC_CQS);
	return 0;
}

static bool is_cq_full(struct rnic_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	return cq->prod - rnic_cq_read_cons(cq) >= cq->ring.slots;
}

static void write_cqe(struct rnic_cq *cq, const struct rnic_sw_cqe *cqe,
		      struct ib_qp *qp)
{
	struct rnic_sw_cqe *slot = rnic_ring_get_cqe(&cq->ring, cq->prod);

	lockdep_assert_held(&cq->lock);
	*slot = *cqe;
	slot->timestamp = cq->timestamps ? ktime_get_ns() + cq->timens_offset : 0;
	if (cq->slot_qp)
		cq->slot_qp[cq->prod & (cq->ring.slots - 1)] = qp;
	WRITE_ONCE(cq->prod, cq->prod + 1);
	/*
	 * Write the CQE before prod. Otherwise a consumer that reads the new prod could read a
	 * slot that has not been written yet. Pairs with the consumer's acquire of prod;
	 * litmus: publish
	 */
	smp_store_release(&cq->ring.hdr->prod, cq->prod);
}

/*
 * Check whether the consumer has armed the CQ for completions such as @cqe, and if so, disarm
 * the CQ, so that the consumer gets one event each time it arms the CQ.
 *
 * Return: true if an event must be generated, false otherwise.
 */
static bool test_and_disarm_cq(struct rnic_cq *cq, const struct rnic_sw_cqe *cqe)
{
	u32 *flags = &cq->ring.hdr->flags;
	u32 want = RNIC_SW_ARM_ANY, was;

	lockdep_assert_held(&cq->lock);
	/*
	 * Write prod before reading the flags. Pairs with the provider's ring_arm(), which sets
	 * the flags before it reads prod. Then either this function sees the flags, or the
	 * consumer sees the completion. Without this order both could miss the other's write,
	 * and the consumer would wait for an event that is never generated.
	 * litmus: arm, arm-once
	 */
	smp_mb();
	if (cqe->status || cqe->flags & RNIC_SW_WC_SOLICITED)
		want = CQ_EVENTS;
	if (likely(!(READ_ONCE(*flags) & want)))
		return false;
	was = xchg(flags, 0);
	if (unlikely(!(was & want)))
		/*
		 * The consumer has changed the flags after READ_ONCE(), and they no longer cover
		 * this completion: restore them, so that the CQ stays armed.
		 */
		cmpxchg(flags, 0, was);
	return was & want;
}

static void report_overrun(struct rnic_cq *cq)
{
	struct ib_event event = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);
}

/**
 * rnic_cq_post_cqe - write a completion, and generate an event if the CQ is armed for it
 * @cq: the completion queue
 * @cqe: the completion; its timestamp is ignored, because rnic_cq_post_cqe() sets it in the ring
 * @qp: queue pair of the completion
 *
 * Does nothing if the queue pair is being destroyed or reset. Any context.
 *
 * Return: true if the completion was written, or @qp is being destroyed or reset; false if the
 * ring was full for this completion or an earlier one, so that the caller must move the queue pair
 * to the error state.
 */
bool rnic_cq_post_cqe(struct rnic_cq *cq, const struct rnic_sw_cqe *cqe,
		      struct ib_qp *qp)
{
	bool full, first = false, event = false;
	unsigned long flags;

	if (unlikely(READ_ONCE(to_rnic_qp(qp)->discarding)))
		return true;
	spin_lock_irqsave(&cq->lock, flags);
	full = cq->overrun || is_cq_full(cq);
	if (full) {
		first = !cq->overrun;
		cq->overrun = true;
	} else {
		write_cqe(cq, cqe, qp);
		event = test_and_disarm_cq(cq, cqe);
	}
	spin_unlock_irqrestore(&cq->lock, flags);

	if (first)
		report_overrun(cq);
	if (event)
		rnic_cq_notify(cq);
	return !full;
}

static enum ib_wc_opcode to_wc_opcode(u8 opcode)
{
	static const u8 sent[] = {
		[RNIC_SW_OP_WRITE]	= IB_WC_RDMA_WRITE,
		[RNIC_SW_OP_WRITE_IMM]	= IB_WC_RDMA_WRITE,
		[RNIC_SW_OP_SEND]	= IB_WC_SEND,
		[RNIC_SW_OP_SEND_INV]	= IB_WC_SEND,
		[RNIC_SW_OP_READ]	= IB_WC_RDMA_READ,
		[RNIC_SW_OP_CMP_SWAP]	= IB_WC_COMP_SWAP,
		[RNIC_SW_OP_FETCH_ADD]	= IB_WC_FETCH_ADD,
		[RNIC_SW_OP_LOCAL_INV]	= IB_WC_LOCAL_INV,
		[RNIC_OP_REG_MR]	= IB_WC_REG_MR,
		[RNIC_OP_READ_INV]	= IB_WC_RDMA_READ,
	};

	if (opcode == (RNIC_SW_OP_RECV | RNIC_SW_OP_WRITE_IMM))
		return IB_WC_RECV_RDMA_WITH_IMM;
	if (opcode & RNIC_SW_OP_RECV)
		return IB_WC_RECV;
	return sent[opcode];
}

static void fill_wc(struct ib_wc *wc, const struct rnic_sw_cqe *cqe,
		    struct ib_qp *qp)
{
	*wc = (struct ib_wc) {
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = to_wc_opcode(cqe->opcode),
		.byte_len = cqe->byte_len,
		.qp = qp,
		.port_num = 1,
	};
	if (cqe->status) {
		wc->vendor_err = cqe->vendor_err;
	} else if (cqe->flags & RNIC_SW_WC_WITH_INV) {
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->inv_stag;
	} else if (cqe->flags & RNIC_SW_WC_WITH_IMM) {
		wc->wc_flags = IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->imm_data;
	}
}

/*
 * Read up to RING_IDX_STEPS ring entries under the lock, and append their completions to @wc.
 * @got is the number of completions in @wc and is increased; stop when it reaches @n.
 *
 * Return: the number of ring entries read, including entries without a completion.
 */
static int poll_cqe_batch(struct rnic_cq *cq, int n, struct ib_wc *wc, int *got)
{
	struct rnic_sw_ring *hdr;
	unsigned long flags;
	int steps = 0;
	u32 cons;

	spin_lock_irqsave(&cq->lock, flags);
	hdr = cq->ring.hdr;
	cons = hdr->cons;
	for (; *got < n && cons != cq->prod && steps < RING_IDX_STEPS; steps++) {
		u32 idx = cons++;
		struct ib_qp *qp = cq->slot_qp[idx & (cq->ring.slots - 1)];

		/* skip an entry whose completion rnic_cq_drop_qp_cqes() has dropped */
		if (qp)
			fill_wc(&wc[(*got)++], rnic_ring_get_cqe(&cq->ring, idx), qp);
	}
	WRITE_ONCE(hdr->cons, cons);
	spin_unlock_irqrestore(&cq->lock, flags);
	return steps;
}

/**
 * rnic_poll_cq - poll the completion queue of a kernel consumer (device operation)
 * @ib: the CQ
 * @n: maximum number of completions to return
 * @wc: filled in with the completions
 *
 * Any context.
 *
 * Return: the number of completions in @wc.
 */
int rnic_poll_cq(struct ib_cq *ib, int n, struct ib_wc *wc)
{
	struct rnic_cq *cq = to_rnic_cq(ib);
	int steps, got = 0;

	do {
		steps = poll_cqe_batch(cq, n, wc, &got);
	} while (steps == RING_IDX_STEPS && got < n);
	return got;
}

/*
 * Drop the completions of @qp from up to RING_IDX_STEPS ring entries, beginning with index @idx
 * and ending before index @end. Skip entries that the consumer has polled meanwhile.
 *
 * Return: the index of the first entry that was not examined.
 */
static u32 drop_some_cqes(struct rnic_cq *cq, const struct ib_qp *qp, u32 idx,
			  u32 end)
{
	unsigned long flags;
	u32 cons, steps;

	spin_lock_irqsave(&cq->lock, flags);
	cons = cq->ring.hdr->cons;
	if (ring_idx_is_before(idx, cons))
		idx = cons;
	for (steps = 0; steps < RING_IDX_STEPS && ring_idx_is_before(idx, end);
	     steps++, idx++) {
		struct ib_qp **owner =
			&cq->slot_qp[idx & (cq->ring.slots - 1)];

		if (*owner == qp)
			*owner = NULL;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return idx;
}

/**
 * rnic_cq_drop_qp_cqes - drop the unpolled completions of a queue pair
 * @cq: the CQ
 * @qp: the queue pair; the caller must ensure that it gets no further completions
 *
 * Does nothing if @cq belongs to a program, because there the provider library drops the
 * completions. May sleep.
 */
void rnic_cq_drop_qp_cqes(struct rnic_cq *cq, const struct ib_qp *qp)
{
	u32 idx, end;

	if (rnic_cq_is_user(cq))
		return;
	mutex_lock(&cq->walk_lock);
	idx = READ_ONCE(cq->ring.hdr->cons);
	end = READ_ONCE(cq->prod);
	while (ring_idx_is_before(idx, end)) {
		idx = drop_some_cqes(cq, qp, idx, end);
		cond_resched();
	}
	mutex_unlock(&cq->walk_lock);
}

/**
 * rnic_req_notify_cq - arm the completion queue of a kernel consumer (device operation)
 * @ib: the CQ
 * @how: which completions generate an event, and whether the return value reports unpolled
 *	completions (IB_CQ_REPORT_MISSED_EVENTS)
 *
 * Any context.
 *
 * Return: 1 if @how has IB_CQ_REPORT_MISSED_EVENTS and the CQ has unpolled completions, for
 * which no event will be generated; 0 otherwise.
 */
int rnic_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags how)
{
	struct rnic_cq *cq = to_rnic_cq(ib);
	bool solicited = (how & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct rnic_sw_ring *hdr;
	unsigned long flags;
	int missed;

	spin_lock_irqsave(&cq->lock, flags);
	hdr = cq->ring.hdr;
	hdr->flags |= solicited ? RNIC_SW_ARM_SOLICITED : RNIC_SW_ARM_ANY;
	missed = how & IB_CQ_REPORT_MISSED_EVENTS && hdr->cons != cq->prod;
	spin_unlock_irqrestore(&cq->lock, flags);
	return missed;
}
