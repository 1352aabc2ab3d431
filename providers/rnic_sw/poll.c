// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues: polling with ibv_poll_cq() and ibv_start_poll(), and
 * arming.
 */
#include <errno.h>
#include <time.h>

#include <ccan/array_size.h>

#include "rnic_sw.h"

static_assert((int)IBV_WC_SUCCESS == RNIC_SW_OK &&
	      (int)IBV_WC_LOC_LEN_ERR == RNIC_SW_LOC_LEN_ERR &&
	      (int)IBV_WC_LOC_QP_OP_ERR == RNIC_SW_LOC_QP_OP_ERR &&
	      (int)IBV_WC_LOC_PROT_ERR == RNIC_SW_LOC_PROT_ERR &&
	      (int)IBV_WC_WR_FLUSH_ERR == RNIC_SW_WR_FLUSH_ERR &&
	      (int)IBV_WC_MW_BIND_ERR == RNIC_SW_MW_BIND_ERR &&
	      (int)IBV_WC_REM_ACCESS_ERR == RNIC_SW_REM_ACCESS_ERR &&
	      (int)IBV_WC_REM_OP_ERR == RNIC_SW_REM_OP_ERR &&
	      (int)IBV_WC_RETRY_EXC_ERR == RNIC_SW_RETRY_EXC_ERR &&
	      (int)IBV_WC_RNR_RETRY_EXC_ERR == RNIC_SW_RNR_RETRY_EXC_ERR,
	      "the statuses of verbs and of the ABI must have the same values");

static const enum ibv_wc_opcode wc_opcodes[] = {
	[RNIC_SW_OP_WRITE]	= IBV_WC_RDMA_WRITE,
	[RNIC_SW_OP_WRITE_IMM]	= IBV_WC_RDMA_WRITE,
	[RNIC_SW_OP_SEND]	= IBV_WC_SEND,
	[RNIC_SW_OP_SEND_INV]	= IBV_WC_SEND,
	[RNIC_SW_OP_READ]	= IBV_WC_RDMA_READ,
	[RNIC_SW_OP_CMP_SWAP]	= IBV_WC_COMP_SWAP,
	[RNIC_SW_OP_FETCH_ADD]	= IBV_WC_FETCH_ADD,
	[RNIC_SW_OP_LOCAL_INV]	= IBV_WC_LOCAL_INV,
	[RNIC_SW_OP_BIND_MW]	= IBV_WC_BIND_MW,
};

static enum ibv_wc_opcode to_wc_opcode(const struct rnic_sw_cqe *cqe)
{
	if (cqe->opcode == (RNIC_SW_OP_RECV | RNIC_SW_OP_WRITE_IMM))
		return IBV_WC_RECV_RDMA_WITH_IMM;
	if (cqe->opcode & RNIC_SW_OP_RECV)
		return IBV_WC_RECV;
	if (cqe->opcode < ARRAY_SIZE(wc_opcodes))
		return wc_opcodes[cqe->opcode];
	return IBV_WC_DRIVER1;
}

/*
 * Compute the flags of a completion. The completion of a failed work request has
 * neither immediate data nor an STag.
 */
static unsigned int to_wc_flags(const struct rnic_sw_cqe *cqe)
{
	unsigned int flags = 0;

	if (cqe->status != IBV_WC_SUCCESS)
		return 0;
	if (cqe->flags & RNIC_SW_WC_WITH_IMM)
		flags |= IBV_WC_WITH_IMM;
	if (cqe->flags & RNIC_SW_WC_WITH_INV)
		flags |= IBV_WC_WITH_INV;
	return flags;
}

static uint32_t to_vendor_err(const struct rnic_sw_cqe *cqe)
{
	return cqe->status == IBV_WC_SUCCESS ? 0 : cqe->vendor_err;
}

static void fill_wc(struct ibv_wc *wc, const struct rnic_sw_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = to_wc_opcode(cqe);
	wc->vendor_err = to_vendor_err(cqe);
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm_data;	/* or the invalidated STag, which shares the union */
	wc->qp_num = cqe->qp_num;
	wc->src_qp = 0;
	wc->wc_flags = to_wc_flags(cqe);
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = 0;
	wc->dlid_path_bits = 0;
}

/*
 * Return a pointer to the next completion in the ring, or NULL if there is none.
 * The kernel does not reuse the completion's slot before the caller publishes
 * cons.
 */
static inline const struct rnic_sw_cqe *pop_cqe(struct rnic_sw_queue *q)
{
	return ring_is_empty(q) ? NULL : ring_slot(q, q->cons++);
}

/*
 * Count a poll of a CQ, if the library may poll the network device of a QP of this CQ. By default
 * it may not, and many programs poll without a pause. So the check is inline. Return: as
 * rnic_sw_count_busy_poll().
 */
static inline bool count_poll(struct rnic_sw_cq *cq, bool empty)
{
	return atomic_load_explicit(&cq->busy_doorbell, memory_order_relaxed) &&
	       rnic_sw_count_busy_poll(cq, empty);
}

int rnic_sw_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct rnic_sw_queue *q = &to_cq(ibcq)->q;
	const struct rnic_sw_cqe *cqe;
	bool busy_poll;
	uint32_t cons;
	int done;

	ring_lock(q);
	cons = q->cons;
	for (done = 0; done < n; done++) {
		cqe = pop_cqe(q);
		if (!cqe)
			break;
		fill_wc(&wc[done], cqe);
	}
	if (q->cons != cons)
		ring_publish_cons(q);
	busy_poll = count_poll(to_cq(ibcq), !done);
	ring_unlock(q);
	if (busy_poll)
		rnic_sw_busy_poll(to_cq(ibcq));
	return done;
}

/*
 * Arm a CQ. Take arm_lock instead of q.lock, because a program may arm the CQ
 * between start_poll and end_poll, when its thread already holds q.lock.
 */
int rnic_sw_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct rnic_sw_cq *cq = to_cq(ibcq);

	pthread_spin_lock(&cq->arm_lock);
	ring_arm(&cq->q, solicited_only ? RNIC_SW_ARM_SOLICITED :
					  RNIC_SW_ARM_ANY);
	pthread_spin_unlock(&cq->arm_lock);
	return 0;
}

/*
 * Remove the completions of one QP. Move the other completions towards prod, in
 * order, and advance cons by the number of removed completions. The kernel
 * writes only to slots from prod on, so it does not access the completions that
 * move.
 */
static void remove_cqes(struct rnic_sw_queue *q, uint32_t qp_num)
{
	const struct rnic_sw_cqe *cqe;
	uint32_t from, to;

	ring_read_prod(q);
	for (from = to = q->prod; from != q->cons;) {
		cqe = ring_slot(q, --from);
		if (cqe->qp_num == qp_num)
			continue;
		if (--to != from)
			memcpy(ring_slot(q, to), cqe, q->stride);
	}
	q->cons = to;
}

/**
 * rnic_sw_remove_cqes - remove the completions of a QP from a CQ
 * @cq: the completion queue
 * @qp_num: number of a QP that the kernel has destroyed or reset
 *
 * A thread between start_poll and end_poll, which already holds q.lock, may
 * call this.
 */
void rnic_sw_remove_cqes(struct rnic_sw_cq *cq, uint32_t qp_num)
{
	bool polls = rnic_sw_is_this_thread_polling(cq);

	if (!polls)
		ring_lock(&cq->q);
	remove_cqes(&cq->q, qp_num);
	ring_publish_cons(&cq->q);
	if (!polls)
		ring_unlock(&cq->q);
}

/*
 * Copy the next completion, and release its slot immediately. Do not defer the
 * release to the next call: before that call the program may post work requests,
 * for whose completions the kernel needs free slots. Return: 0; ENOENT if the CQ
 * is empty.
 */
static int next_poll(struct ibv_cq_ex *ibcq)
{
	struct rnic_sw_cq *cq = to_cq_ex(ibcq);
	const struct rnic_sw_cqe *cqe;

	cqe = pop_cqe(&cq->q);
	if (!cqe)
		return ENOENT;
	cq->cqe = *cqe;
	ring_publish_cons(&cq->q);
	ibcq->wr_id = cq->cqe.wr_id;
	ibcq->status = (enum ibv_wc_status)cq->cqe.status;
	return 0;
}

static void end_poll(struct ibv_cq_ex *ibcq)
{
	struct rnic_sw_cq *cq = to_cq_ex(ibcq);

	cq->poller = 0;
	ring_unlock(&cq->q);
}

/*
 * Lock the CQ and get its first completion. Unlock the CQ again on error,
 * because the program calls end_poll() only after success.
 */
static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct rnic_sw_cq *cq = to_cq_ex(ibcq);
	bool busy_poll;
	int ret;

	if (attr->comp_mask)
		return EINVAL;
	ring_lock(&cq->q);
	cq->poller = rnic_sw_get_thread_id();
	ret = next_poll(ibcq);
	busy_poll = count_poll(cq, ret);
	if (ret)
		end_poll(ibcq);
	if (busy_poll)
		rnic_sw_busy_poll(cq);
	return ret;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibcq)
{
	return to_wc_opcode(&to_cq_ex(ibcq)->cqe);
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_vendor_err(&to_cq_ex(ibcq)->cqe);
}

static uint32_t read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_cq_ex(ibcq)->cqe.byte_len;
}

/* Read the immediate data, or the invalidated STag for ibv_wc_read_invalidated_rkey() */
static __be32 read_imm_data(struct ibv_cq_ex *ibcq)
{
	return to_cq_ex(ibcq)->cqe.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_cq_ex(ibcq)->cqe.qp_num;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return to_wc_flags(&to_cq_ex(ibcq)->cqe);
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return to_cq_ex(ibcq)->cqe.timestamp;
}

static uint64_t get_clock_ns(clockid_t clock)
{
	struct timespec now = {};

	clock_gettime(clock, &now);
	return rnic_sw_to_ns(&now);
}

/*
 * Read the timestamp in CLOCK_REALTIME. The kernel's timestamps are
 * CLOCK_MONOTONIC, so add the difference between the two clocks.
 */
static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ibcq)
{
	return read_completion_ts(ibcq) + get_clock_ns(CLOCK_REALTIME) -
	       get_clock_ns(CLOCK_MONOTONIC);
}

static uint32_t read_zero_u32(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t read_zero_u8(struct ibv_cq_ex *ibcq)
{
	return 0;
}

/*
 * Set the functions of an extended CQ, as requested by @flags. LID, service
 * level and source QP number read as 0, because iWARP does not have them.
 */
void rnic_sw_set_cq_ex_functions(struct rnic_sw_cq *cq, uint64_t flags)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if (flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_zero_u32;
	if (flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_zero_u32;
	if (flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_zero_u8;
	if (flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_zero_u8;
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}
