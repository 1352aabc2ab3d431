// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The receive queue: slots taken in order, one message each. */
#include "rnic.h"

/* Posted and not taken; more than there are slots: nonsense */
static u32 __posted(const struct rnic_rq *rq)
{
	return rnic_ring_prod(&rq->ring) - rq->head;
}

/* Read the slot at the head, once, into @r's receive buffer */
static bool __read_slot(struct rnic_rq *rq, struct rdmap *r)
{
	const struct rnic_sw_rqe *slot = rnic_ring_slot(&rq->ring, rq->head);
	const struct rnic_sw_sge *sge = (void *)(slot + 1);
	u32 i, n = READ_ONCE(slot->num_sge);
	u64 len = 0;

	rq->wr_id = READ_ONCE(slot->wr_id);
	if (n > rq->max_sge || n > RDMAP_SGE_MAX)
		return false;
	for (i = 0; i < n; i++) {
		r->recv_sge[i].addr = READ_ONCE(sge[i].addr);
		r->recv_sge[i].len = READ_ONCE(sge[i].length);
		r->recv_sge[i].stag = READ_ONCE(sge[i].lkey);
		len += r->recv_sge[i].len;
	}
	r->recv_buf = (struct ddp_buf) {
		.sge = r->recv_sge,
		.nsge = n,
		.len = min_t(u64, len, RNIC_MAX_MSG),
	};
	return true;
}

bool rdmap_rq_take(struct rdmap *r)
{
	struct rnic_rq *rq = &rdmap_to_qp(r)->rq;
	unsigned long flags;
	bool ok = false;
	u32 n;

	if (!rq->ring.slots)
		return false;
	spin_lock_irqsave(&rq->lock, flags);
	n = rq->flushing ? 0 : __posted(rq);
	if (n && n <= rq->ring.slots)
		ok = __read_slot(rq, r);
	if (ok)
		rq->head++;
	spin_unlock_irqrestore(&rq->lock, flags);
	return ok;
}

void rdmap_rq_done(struct rdmap *r, const struct rdmap_recv *rc)
{
	struct rnic_qp *qp = rdmap_to_qp(r);
	struct rnic_rq *rq = &qp->rq;
	struct rnic_sw_cqe cqe = {
		.wr_id = rq->wr_id,
		.qp_num = qp->ib.qp_num,
		.byte_len = rc->len,
		.opcode = RNIC_SW_WC_RECV | RNIC_SW_OP_SEND,
		.imm = rc->inv,
	};

	if (rc->immediate) {
		cqe.opcode = RNIC_SW_WC_RECV | RNIC_SW_OP_WRITE_IMM;
		cqe.imm = (__force u32)rc->imm;
		cqe.flags |= RNIC_SW_WC_WITH_IMM;
	}
	if (rc->invalidated)
		cqe.flags |= RNIC_SW_WC_WITH_INV;
	if (rc->solicited)
		cqe.flags |= RNIC_SW_WC_SOLICITED;
	rq->tail++;
	rnic_ring_consumed(&rq->ring, rq->tail);
	if (!rnic_cq_push(qp->rcq, &cqe, &qp->ib))
		rnic_qp_error(qp, IW_LOCAL_CQ);
}

/* Why the receive that a message was using ends: it may be its own fault */
static u8 taken_status(const struct rnic_qp *qp)
{
	switch (qp->why) {
	case IW_DDP_U_TOO_LONG:
		return IB_WC_LOC_LEN_ERR;
	case IW_RDMAP_CATASTROPHIC:	/* memory that may not be written */
		return IB_WC_LOC_PROT_ERR;
	default:
		return IB_WC_WR_FLUSH_ERR;
	}
}

/* The next slot to flush: its wr_id; false if there is none */
static bool __flush_one(struct rnic_rq *rq, u64 *wr_id)
{
	const struct rnic_sw_rqe *slot;

	if (rq->tail == rq->head) {
		u32 n = __posted(rq);

		if (!n || n > rq->ring.slots)
			return false;
		rq->head++;
	}
	slot = rnic_ring_slot(&rq->ring, rq->tail++);
	*wr_id = READ_ONCE(slot->wr_id);
	rnic_ring_consumed(&rq->ring, rq->tail);
	return true;
}

/**
 * rnic_rq_flush - complete all that is posted, with an error
 * @qp: a queue pair in error, its stream settled
 *
 * Process context.  Later posts have to wake us, to be flushed in turn.
 */
void rnic_rq_flush(struct rnic_qp *qp)
{
	struct rnic_sw_cqe cqe = {
		.qp_num = qp->ib.qp_num,
		.opcode = RNIC_SW_WC_RECV | RNIC_SW_OP_SEND,
		.imm = qp->why,
	};
	struct rnic_rq *rq = &qp->rq;
	unsigned long flags;
	bool any;

	if (!rq->ring.slots)
		return;
	mutex_lock(&rq->flush_lock);
	spin_lock_irqsave(&rq->lock, flags);
	rq->flushing = true;
	WRITE_ONCE(rq->ring.hdr->flags, RNIC_SW_RING_NEED_WAKEUP);
	/* pairs with the barrier between prod and flags of who posts */
	smp_mb();
	spin_unlock_irqrestore(&rq->lock, flags);
	do {
		spin_lock_irqsave(&rq->lock, flags);
		cqe.status = rq->tail == rq->head ? IB_WC_WR_FLUSH_ERR :
						    taken_status(qp);
		any = __flush_one(rq, &cqe.wr_id);
		spin_unlock_irqrestore(&rq->lock, flags);
		/* an overrun has been told by the queue itself: go on */
		if (any)
			rnic_cq_push(qp->rcq, &cqe, &qp->ib);
	} while (any);
	mutex_unlock(&rq->flush_lock);
}

static int __post_one(struct rnic_rq *rq, const struct ib_recv_wr *wr)
{
	u32 prod = rq->ring.hdr->prod;
	struct rnic_sw_rqe *slot;
	struct rnic_sw_sge *sge;
	int i;

	if (!rq->ring.slots || prod - rq->tail >= rq->ring.slots)
		return -ENOMEM;
	if (wr->num_sge > rq->max_sge)
		return -EINVAL;
	slot = rnic_ring_slot(&rq->ring, prod);
	sge = (struct rnic_sw_sge *)(slot + 1);
	slot->wr_id = wr->wr_id;
	slot->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		sge[i].addr = wr->sg_list[i].addr;
		sge[i].length = wr->sg_list[i].length;
		sge[i].lkey = wr->sg_list[i].lkey;
	}
	rnic_ring_produced(&rq->ring, prod + 1);
	return 0;
}

static int post_kernel(struct rnic_qp *qp, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->rq.lock, flags);
	for (; wr; wr = wr->next) {
		err = __post_one(&qp->rq, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	if (READ_ONCE(qp->rq.flushing))
		rnic_qp_reflush(qp);
	return err;
}

/**
 * rnic_post_recv - verbs: post receive work requests
 * @ib: the queue pair
 * @wr: list of them; a program's are in its ring already, and it comes here
 *	only when the queue pair is in error
 * @bad: the first that was not posted
 *
 * Return: 0 or an error.
 */
int rnic_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad)
{
	struct rnic_qp *qp = to_rnic_qp(ib);

	if (!qp->user)
		return post_kernel(qp, wr, bad);
	if (wr) {
		*bad = wr;
		return -EINVAL;
	}
	if (READ_ONCE(qp->rq.flushing))
		rnic_rq_flush(qp);
	return 0;
}
