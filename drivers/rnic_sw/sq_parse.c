// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Parse the WQEs of a send queue. Each field is copied once, and the copy is
 * checked, because a program may write to a WQE at any time.
 */
#include "rnic.h"
#include "sqe.h"

static enum ib_wc_status parse_sges(const struct rnic_sq *sq,
				    const struct rnic_sw_sqe *e,
				    const struct rnic_sw_sge *slot,
				    struct rdmap_wr *wr)
{
	struct ddp_sge *dst = wr->sge;
	u64 len = 0;
	u16 i;

	if (e->num_sge > sq->max_sge || e->num_sge > RDMAP_SGE_MAX)
		return IB_WC_LOC_QP_OP_ERR;
	for (i = 0; i < e->num_sge; i++) {
		dst[i].addr = READ_ONCE(slot[i].addr);
		dst[i].len = READ_ONCE(slot[i].length);
		dst[i].stag = READ_ONCE(slot[i].lkey);
		len += dst[i].len;
	}
	wr->buf.sge = dst;
	wr->buf.nsge = e->num_sge;
	if (len > RNIC_MAX_MSG)
		return IB_WC_LOC_LEN_ERR;
	wr->buf.len = len;
	return IB_WC_SUCCESS;
}

/*
 * Use the inline data in the WQE as the buffer of the request. The data is not
 * copied here, but only when it is sent. If a program changes the data before
 * it is sent, only the payload changes.
 */
static enum ib_wc_status parse_inline(const struct rnic_sq *sq,
				      const struct rnic_sw_sqe *e, void *slot,
				      struct rdmap_wr *wr)
{
	if (e->inline_len > sq->max_inline)
		return IB_WC_LOC_LEN_ERR;
	wr->buf.flat = slot;
	wr->buf.len = e->inline_len;
	return IB_WC_SUCCESS;
}

static void parse_bind(const struct rnic_sw_sqe *e, struct rdmap_wr *wr)
{
	wr->op = RDMAP_WR_BIND;
	wr->inv = e->bind.lkey;
	wr->rkey = e->bind.rkey;
	wr->raddr = e->bind.addr;
	wr->compare_add = e->bind.length;
	wr->swap = e->bind.access;
}

static enum ib_wc_status parse_op(const struct rnic_qp *qp,
				  const struct rnic_sw_sqe *e,
				  struct rdmap_wr *wr)
{
	switch (e->opcode) {
	case RNIC_SW_OP_WRITE_IMM:
		wr->flags |= RDMAP_WR_IMMEDIATE;
		wr->imm = e->imm_data;
		fallthrough;
	case RNIC_SW_OP_WRITE:
		wr->op = RDMAP_WR_WRITE;
		return IB_WC_SUCCESS;
	case RNIC_SW_OP_SEND_INV:
		wr->flags |= RDMAP_WR_INVALIDATE;
		wr->inv = e->inv_stag;
		fallthrough;
	case RNIC_SW_OP_SEND:
		wr->op = RDMAP_WR_SEND;
		return IB_WC_SUCCESS;
	case RNIC_SW_OP_READ:
		wr->op = RDMAP_WR_READ;
		return IB_WC_SUCCESS;
	case RNIC_SW_OP_CMP_SWAP:
		wr->op = RDMAP_WR_CMP_SWAP;
		return IB_WC_SUCCESS;
	case RNIC_SW_OP_FETCH_ADD:
		wr->op = RDMAP_WR_FETCH_ADD;
		return IB_WC_SUCCESS;
	case RNIC_SW_OP_LOCAL_INV:
		wr->op = RDMAP_WR_LOCAL_INV;
		wr->inv = e->inv_stag;
		return IB_WC_SUCCESS;
	case RNIC_SW_OP_BIND_MW:
		parse_bind(e, wr);
		return IB_WC_SUCCESS;
	case RNIC_OP_READ_INV:
		wr->op = RDMAP_WR_READ;
		wr->flags |= RDMAP_WR_INVALIDATE;
		return rnic_qp_is_user(qp) ? IB_WC_LOC_QP_OP_ERR : IB_WC_SUCCESS;
	case RNIC_OP_REG_MR:
		wr->op = RDMAP_WR_REG;
		return rnic_qp_is_user(qp) ? IB_WC_LOC_QP_OP_ERR : IB_WC_SUCCESS;
	default:
		return IB_WC_LOC_QP_OP_ERR;
	}
}

/*
 * Check that a Read has at most one SGE, and that the STag of its sink may be
 * sent to the peer. Store that STag in wr->inv. A Read without an SGE is
 * allowed, unless the request invalidates the STag of the sink.
 */
static enum ib_wc_status check_read_and_set_inv(struct rdmap_wr *wr)
{
	if (wr->buf.flat || wr->buf.nsge > 1)
		return IB_WC_LOC_QP_OP_ERR;
	if (!wr->buf.nsge)
		return wr->flags & RDMAP_WR_INVALIDATE ? IB_WC_LOC_QP_OP_ERR :
							 IB_WC_SUCCESS;
	if (wr->buf.len && wr->sge[0].stag == DDP_STAG_DMA)
		return IB_WC_LOC_PROT_ERR;
	wr->inv = wr->sge[0].stag;
	return IB_WC_SUCCESS;
}

/* Check that an atomic has exactly one SGE of 8 bytes, for the old value */
static enum ib_wc_status check_atomic(const struct rdmap_wr *wr)
{
	if (wr->buf.flat || wr->buf.nsge != 1)
		return IB_WC_LOC_QP_OP_ERR;
	return wr->buf.len == RDMAP_ATOMIC_OPERAND ? IB_WC_SUCCESS :
						     IB_WC_LOC_LEN_ERR;
}

/*
 * Check a Read or an atomic. If the ORD is 0, neither can be sent. Other
 * requests are accepted.
 */
static enum ib_wc_status rnic_sq_check_read_or_atomic(const struct rnic_qp *qp,
						      struct rdmap_wr *wr)
{
	if (!rdmap_wr_needs_response(wr))
		return IB_WC_SUCCESS;
	if (!qp->rdmap.orq.size)
		return IB_WC_LOC_QP_OP_ERR;
	return wr->op == RDMAP_WR_READ ? check_read_and_set_inv(wr) : check_atomic(wr);
}

/**
 * rnic_sq_parse_wqe - parse and check a send WQE
 * @qp: the queue pair
 * @e: copy of the fixed part of the WQE
 * @slot: the WQE in the ring, for the SGEs or inline data after the fixed part
 * @wr: set to the request, except for wr->slot, which the caller must set
 *
 * Return: IB_WC_SUCCESS if the WQE is valid; otherwise the status with which
 * the request must complete. The caller must then fail the queue pair.
 */
enum ib_wc_status rnic_sq_parse_wqe(const struct rnic_qp *qp,
				    const struct rnic_sw_sqe *e, void *slot,
				    struct rdmap_wr *wr)
{
	enum ib_wc_status status;

	if (rnic_qp_is_user(qp) && !rnic_sqe_is_well_formed(e))
		return IB_WC_LOC_QP_OP_ERR;
	wr->flags = 0;
	if (e->flags & RNIC_SW_SEND_FENCE)
		wr->flags |= RDMAP_WR_FENCE;
	if (e->flags & RNIC_SW_SEND_SOLICITED)
		wr->flags |= RDMAP_WR_SOLICITED;
	wr->rkey = e->rkey;
	wr->raddr = e->remote_addr;
	wr->compare_add = e->compare_add;
	wr->swap = e->swap;
	memset(&wr->buf, 0, sizeof(wr->buf));

	status = parse_op(qp, e, wr);
	if (status)
		return status;
	slot += sizeof(*e);
	if (e->flags & RNIC_SW_SEND_INLINE)
		status = parse_inline(&qp->sq, e, slot, wr);
	else
		status = parse_sges(&qp->sq, e, slot, wr);
	return status ?: rnic_sq_check_read_or_atomic(qp, wr);
}
