// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Post to a send queue: write the requests of a kernel consumer to the ring, as
 * WQEs in the same format that programs use, and handle the doorbells of
 * programs.
 */
#include "doorbell.h"
#include "rnic.h"

static void encode_atomic(const struct ib_atomic_wr *wr, struct rnic_sw_sqe *e)
{
	e->remote_addr = wr->remote_addr;
	e->rkey = wr->rkey;
	e->compare_add = wr->compare_add;
	e->swap = wr->swap;
}

/*
 * Encode a fast registration. Copy address and length of the MR now, because
 * the consumer may call ib_map_mr_sg() for the MR again before the registration
 * is executed.
 */
static void encode_fastreg(const struct ib_reg_wr *wr, struct rnic_sw_sqe *e)
{
	e->opcode = RNIC_OP_REG_MR;
	e->remote_addr = wr->mr->iova;
	e->rkey = wr->key;
	e->compare_add = wr->mr->length;
	e->swap = wr->access;
}

static int encode_op(const struct ib_send_wr *wr, struct rnic_sw_sqe *e)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
		e->opcode = RNIC_SW_OP_WRITE;
		break;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		e->opcode = RNIC_SW_OP_WRITE_IMM;
		e->imm_data = wr->ex.imm_data;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		e->opcode = RNIC_SW_OP_CMP_SWAP;
		encode_atomic(atomic_wr(wr), e);
		return 0;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		e->opcode = RNIC_SW_OP_FETCH_ADD;
		encode_atomic(atomic_wr(wr), e);
		return 0;
	case IB_WR_SEND:
		e->opcode = RNIC_SW_OP_SEND;
		return 0;
	case IB_WR_SEND_WITH_INV:
		e->opcode = RNIC_SW_OP_SEND_INV;
		e->inv_stag = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_RDMA_READ:
		e->opcode = RNIC_SW_OP_READ;
		break;
	case IB_WR_RDMA_READ_WITH_INV:
		e->opcode = RNIC_OP_READ_INV;
		break;
	case IB_WR_LOCAL_INV:
		e->opcode = RNIC_SW_OP_LOCAL_INV;
		e->inv_stag = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_REG_MR:
		encode_fastreg(reg_wr(wr), e);
		return 0;
	default:
		return -EINVAL;
	}
	e->remote_addr = rdma_wr(wr)->remote_addr;
	e->rkey = rdma_wr(wr)->rkey;
	return 0;
}

static u8 encode_flags(int ib)
{
	u8 flags = 0;

	if (ib & IB_SEND_FENCE)
		flags |= RNIC_SW_SEND_FENCE;
	if (ib & IB_SEND_SIGNALED)
		flags |= RNIC_SW_SEND_SIGNALED;
	if (ib & IB_SEND_SOLICITED)
		flags |= RNIC_SW_SEND_SOLICITED;
	if (ib & IB_SEND_INLINE)
		flags |= RNIC_SW_SEND_INLINE;
	return flags;
}

static int encode_inline(const struct rnic_sq *sq, const struct ib_send_wr *wr,
			 struct rnic_sw_sqe *e, void *slot)
{
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > sq->max_inline - e->inline_len)
			return -EINVAL;
		memcpy(slot + e->inline_len, (void *)(uintptr_t)sge->addr,
		       sge->length);
		e->inline_len += sge->length;
	}
	return 0;
}

static int encode_sges(const struct rnic_sq *sq, const struct ib_send_wr *wr,
		       struct rnic_sw_sqe *e, struct rnic_sw_sge *slot)
{
	int i;

	if (wr->num_sge > sq->max_sge)
		return -EINVAL;
	e->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		slot[i].addr = wr->sg_list[i].addr;
		slot[i].length = wr->sg_list[i].length;
		slot[i].lkey = wr->sg_list[i].lkey;
	}
	return 0;
}

static int __post_send_wr(struct rnic_qp *qp, const struct ib_send_wr *wr)
{
	struct rnic_sq *sq = &qp->sq;
	u32 prod = sq->ring.hdr->prod;
	struct rnic_sw_sqe e = { .wr_id = wr->wr_id };
	void *slot = rnic_ring_get_slot(&sq->ring, prod);
	int err;

	if (prod - sq->tail >= sq->ring.slots)
		return -ENOMEM;
	e.flags = encode_flags(wr->send_flags);
	err = encode_op(wr, &e);
	if (err)
		return err;
	if (wr->send_flags & IB_SEND_INLINE)
		err = encode_inline(sq, wr, &e, slot + sizeof(e));
	else
		err = encode_sges(sq, wr, &e, slot + sizeof(e));
	if (err)
		return err;
	if (wr->opcode == IB_WR_REG_MR)
		rnic_sq_get_swqe(sq, prod)->reg_mr = reg_wr(wr)->mr;
	memcpy(slot, &e, sizeof(e));
	rnic_ring_set_prod(&sq->ring, prod + 1);
	return 0;
}

/*
 * Handle a post after the stream has ended.  qp->err_work decides when the flush begins, see
 * rnic_rdv_try_defer_flush().  After that, a program's posts are flushed immediately.
 */
static void flush_post_after_end(struct rnic_qp *qp)
{
	/*
	 * A reset in progress consumes the WQE, or leaves the WQE to the next stream.  The reset
	 * also waits until each scheduled flush has dropped its reference to the QP, so do not
	 * schedule another flush here.
	 */
	if (READ_ONCE(qp->discarding))
		return;
	if (rnic_qp_is_user(qp) && READ_ONCE(qp->sq.flushing))
		rnic_sq_flush_again(qp);
	else
		rnic_qp_schedule_flush(qp);
}

static int rnic_sq_post_kernel_wrs(struct rnic_qp *qp, const struct ib_send_wr *wr,
				   const struct ib_send_wr **bad)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->sq.lock, flags);
	for (; wr; wr = wr->next) {
		err = __post_send_wr(qp, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	if (READ_ONCE(qp->sq.ended))
		flush_post_after_end(qp);
	else
		ddp_kick(&qp->rdmap.stream);
	return err;
}

/**
 * rnic_qp_handle_doorbell - handle a doorbell of a program
 * @qp: queue pair of the program, which cannot be destroyed during the call
 *
 * Context: process, no lock held; may sleep.
 */
void rnic_qp_handle_doorbell(struct rnic_qp *qp)
{
	if (READ_ONCE(qp->sq.ended))
		flush_post_after_end(qp);
	else
		rnic_sq_transmit_or_coalesce(qp);
}

/**
 * rnic_post_send - post send work requests (device operation)
 * @ib: the queue pair
 * @wr: list of requests of a kernel consumer. A program writes its requests to
 *	the ring itself, and passes NULL to ring the doorbell.
 * @bad: set to the first request that was not posted
 *
 * Return: 0 or a negative errno.
 */
int rnic_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad)
{
	struct rnic_qp *qp = to_rnic_qp(ib);

	if (!rnic_qp_is_user(qp))
		return rnic_sq_post_kernel_wrs(qp, wr, bad);
	if (wr) {
		*bad = wr;
		return -EINVAL;
	}
	rnic_qp_handle_doorbell(qp);
	return 0;
}
