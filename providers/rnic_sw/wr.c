// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting of send work requests with ibv_wr_*(). The send queue is locked from
 * wr_start to wr_complete or wr_abort. wr_complete publishes all requests
 * posted since wr_start, or none if there was an error.
 */
#include <errno.h>

#include "rnic_sw.h"

const uint64_t rnic_sw_send_ops =
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND |
	IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_LOCAL_INV |
	IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_BIND_MW;

/*
 * Record the first error. From now on requests are written to the spare WQE and
 * discarded.
 */
static void record_error(struct rnic_sw_qp *qp, int error)
{
	if (!qp->wr_error)
		qp->wr_error = error;
	qp->wr_sqe = &qp->wr_spare;
}

/*
 * Check whether the program is writing the current request to the spare WQE,
 * which is never posted
 */
static bool is_wr_discarded(const struct rnic_sw_qp *qp)
{
	return qp->wr_sqe == &qp->wr_spare;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct rnic_sw_qp *qp = to_qp_ex(ex);

	ring_lock(&qp->sq);
	qp->poster = rnic_sw_get_thread_id();
	qp->wr_first = qp->sq.prod;
	qp->wr_error = rnic_sw_retry_sq_doorbell(qp);
	qp->wr_sqe = &qp->wr_spare;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct rnic_sw_qp *qp = to_qp_ex(ex);
	int ret = qp->wr_error;
	bool wakeup = false;

	qp->poster = 0;
	if (ret)
		qp->sq.prod = qp->wr_first;
	else if (qp->sq.prod != qp->wr_first)
		wakeup = rnic_sw_publish_sends(&qp->sq);
	ring_unlock(&qp->sq);
	if (wakeup)
		rnic_sw_ring_sq_doorbell(qp);
	return ret;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct rnic_sw_qp *qp = to_qp_ex(ex);

	qp->poster = 0;
	qp->sq.prod = qp->wr_first;
	ring_unlock(&qp->sq);
}

/*
 * Begin a request. Return: a slot of the ring, or the spare WQE after an error
 */
static struct rnic_sw_sqe *begin_wr(struct rnic_sw_qp *qp,
				    enum rnic_sw_opcode opcode)
{
	const struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	if (ex->wr_flags & ~(RNIC_SW_POST_FLAGS | IBV_SEND_INLINE))
		record_error(qp, EINVAL);
	if (!qp->wr_error && ring_is_full(&qp->sq))
		record_error(qp, ENOMEM);
	if (!qp->wr_error)
		qp->wr_sqe = ring_slot(&qp->sq, qp->sq.prod++);
	rnic_sw_begin_sqe(qp->wr_sqe, ex->wr_id, opcode, ex->wr_flags);
	return qp->wr_sqe;
}

static struct rnic_sw_sqe *begin_remote_wr(struct ibv_qp_ex *ex,
					   enum rnic_sw_opcode opcode,
					   uint32_t rkey, uint64_t remote_addr)
{
	struct rnic_sw_sqe *sqe = begin_wr(to_qp_ex(ex), opcode);

	sqe->rkey = rkey;
	sqe->remote_addr = remote_addr;
	return sqe;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey,
			  uint64_t remote_addr)
{
	begin_remote_wr(ex, RNIC_SW_OP_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm)
{
	begin_remote_wr(ex, RNIC_SW_OP_WRITE_IMM, rkey, remote_addr)->imm_data =
		imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey,
			 uint64_t remote_addr)
{
	begin_remote_wr(ex, RNIC_SW_OP_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	struct rnic_sw_sqe *sqe;

	sqe = begin_remote_wr(ex, RNIC_SW_OP_CMP_SWAP, rkey, remote_addr);
	sqe->compare_add = compare;
	sqe->swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	begin_remote_wr(ex, RNIC_SW_OP_FETCH_ADD, rkey, remote_addr)->compare_add =
		add;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin_wr(to_qp_ex(ex), RNIC_SW_OP_SEND);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	begin_wr(to_qp_ex(ex), RNIC_SW_OP_SEND_INV)->inv_stag = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	begin_wr(to_qp_ex(ex), RNIC_SW_OP_LOCAL_INV)->inv_stag = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct rnic_sw_qp *qp = to_qp_ex(ex);

	if (mw->type != IBV_MW_TYPE_2)
		record_error(qp, EINVAL);
	rnic_sw_fill_bind(begin_wr(qp, RNIC_SW_OP_BIND_MW), rkey, info);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct rnic_sw_qp *qp = to_qp_ex(ex);

	if (num_sge > qp->max_send_sge || !rnic_sw_may_have_data(qp->wr_sqe))
		record_error(qp, EINVAL);
	if (is_wr_discarded(qp))
		return;
	qp->wr_sqe->num_sge = num_sge;
	rnic_sw_copy_sges(qp->wr_sqe + 1, sg_list, num_sge);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	const struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	wr_set_sge_list(ex, 1, &sge);
}

/*
 * Check whether a request can have inline data: Writes and Sends can, others
 * cannot
 */
static bool may_have_inline_data(const struct rnic_sw_sqe *sqe)
{
	return sqe->opcode <= RNIC_SW_OP_SEND_INV;
}

static void append_inline_data(struct rnic_sw_qp *qp, const void *addr,
			       size_t length)
{
	struct rnic_sw_sqe *sqe = qp->wr_sqe;

	if (is_wr_discarded(qp))
		return;
	if (!may_have_inline_data(sqe) || length > qp->max_inline - sqe->inline_len) {
		record_error(qp, EINVAL);
		return;
	}
	memcpy((uint8_t *)(sqe + 1) + sqe->inline_len, addr, length);
	sqe->inline_len += length;
	sqe->flags |= RNIC_SW_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	append_inline_data(to_qp_ex(ex), addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	size_t i;

	for (i = 0; i < num_buf; i++)
		append_inline_data(to_qp_ex(ex), buf_list[i].addr,
				   buf_list[i].length);
}

/*
 * Set the extended post functions. qp.c rejects a QP if it requests other
 * operations.
 */
void rnic_sw_set_qp_ex_functions(struct rnic_sw_qp *qp)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}
