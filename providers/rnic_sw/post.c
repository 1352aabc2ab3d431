// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Posting of work requests with ibv_post_send() and ibv_post_recv(). */
#include <assert.h>
#include <errno.h>
#include <sched.h>

#include <ccan/array_size.h>

#include "rnic_sw.h"

/*
 * After this many requests without a doorbell, ring the doorbell although the kernel has not asked
 * for it. Each doorbell is a system call, so a much smaller number would cost more. With a larger
 * number, programs that have few requests in progress would wait for the kernel's timer.
 */
#define DOORBELL_INTERVAL	32

static const struct {
	bool	known;
	bool	may_inline;
	uint8_t	opcode;
} send_ops[] = {
	[IBV_WR_RDMA_WRITE]		= { true, true, RNIC_SW_OP_WRITE },
	[IBV_WR_RDMA_WRITE_WITH_IMM]	= { true, true, RNIC_SW_OP_WRITE_IMM },
	[IBV_WR_SEND]			= { true, true, RNIC_SW_OP_SEND },
	[IBV_WR_SEND_WITH_INV]		= { true, true, RNIC_SW_OP_SEND_INV },
	[IBV_WR_RDMA_READ]		= { true, false, RNIC_SW_OP_READ },
	[IBV_WR_ATOMIC_CMP_AND_SWP]	= { true, false, RNIC_SW_OP_CMP_SWAP },
	[IBV_WR_ATOMIC_FETCH_AND_ADD]	= { true, false, RNIC_SW_OP_FETCH_ADD },
	[IBV_WR_LOCAL_INV]		= { true, false, RNIC_SW_OP_LOCAL_INV },
	[IBV_WR_BIND_MW]		= { true, false, RNIC_SW_OP_BIND_MW },
};

/* Check opcode, flags and number of SGEs. Return: 0 or EINVAL */
static int check_send_wr(const struct rnic_sw_qp *qp, const struct ibv_send_wr *wr)
{
	if (wr->opcode >= ARRAY_SIZE(send_ops) ||
	    !send_ops[wr->opcode].known)
		return EINVAL;
	if (wr->send_flags & ~(RNIC_SW_POST_FLAGS | IBV_SEND_INLINE))
		return EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE)
		return send_ops[wr->opcode].may_inline ? 0 : EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->max_send_sge)
		return EINVAL;
	return 0;
}

/*
 * Check a bind request. ibv_post_send() may bind windows of type 2 only;
 * ibv_bind_mw() binds those of type 1. Return: 0 or EINVAL.
 */
static int check_bind_wr(const struct ibv_send_wr *wr)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (wr->opcode != IBV_WR_BIND_MW)
		return 0;
	return mw && mw->type == IBV_MW_TYPE_2 && !wr->num_sge ? 0 : EINVAL;
}

static void fill_remote_fields(struct rnic_sw_sqe *sqe, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		sqe->remote_addr = wr->wr.rdma.remote_addr;
		sqe->rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		sqe->remote_addr = wr->wr.atomic.remote_addr;
		sqe->rkey = wr->wr.atomic.rkey;
		sqe->compare_add = wr->wr.atomic.compare_add;
		/* FETCH_ADD does not use swap, and the kernel requires 0 */
		if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
			sqe->swap = wr->wr.atomic.swap;
		break;
	case IBV_WR_BIND_MW:
		rnic_sw_fill_bind(sqe, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		break;
	default:
		break;
	}
}

/**
 * rnic_sw_fill_bind - fill in the bind part of a send work request
 * @sqe: the work request, initialized by rnic_sw_begin_sqe()
 * @rkey: rkey that the window has after the bind
 * @info: memory and access rights; if it has no MR or length 0, the request
 *	unbinds the window
 */
void rnic_sw_fill_bind(struct rnic_sw_sqe *sqe, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	sqe->bind.rkey = rkey;
	if (info->mr)
		sqe->bind.lkey = info->mr->lkey;
	sqe->bind.addr = info->addr;
	sqe->bind.length = info->mr ? info->length : 0;
	sqe->bind.access = info->mw_access_flags;
}

static void fill_imm_or_inv(struct rnic_sw_sqe *sqe, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		sqe->imm_data = wr->imm_data;
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		sqe->inv_stag = wr->invalidate_rkey;
		break;
	default:
		break;
	}
}

static int copy_inline_data(const struct rnic_sw_qp *qp, struct rnic_sw_sqe *sqe,
			    const struct ibv_send_wr *wr)
{
	uint8_t *to = (uint8_t *)(sqe + 1);
	const struct ibv_sge *sge;
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		sge = &wr->sg_list[i];
		if (sge->length > qp->max_inline - len)
			return EINVAL;
		memcpy(to + len, (const void *)(uintptr_t)sge->addr,
		       sge->length);
		len += sge->length;
	}
	sqe->inline_len = len;
	sqe->flags |= RNIC_SW_SEND_INLINE;
	return 0;
}

static int copy_sges_or_inline_data(const struct rnic_sw_qp *qp, struct rnic_sw_sqe *sqe,
				    const struct ibv_send_wr *wr)
{
	if (!rnic_sw_may_have_data(sqe))
		return 0;
	if (wr->send_flags & IBV_SEND_INLINE)
		return copy_inline_data(qp, sqe, wr);
	sqe->num_sge = wr->num_sge;
	rnic_sw_copy_sges(sqe + 1, wr->sg_list, wr->num_sge);
	return 0;
}

static int queue_send_wr(struct rnic_sw_qp *qp, const struct ibv_send_wr *wr)
{
	struct rnic_sw_queue *q = &qp->sq;
	struct rnic_sw_sqe *sqe;
	int ret;

	ret = check_send_wr(qp, wr);
	if (ret)
		return ret;
	if (ring_is_full(q))
		return ENOMEM;
	sqe = ring_slot(q, q->prod);
	rnic_sw_begin_sqe(sqe, wr->wr_id, send_ops[wr->opcode].opcode,
			  wr->send_flags);
	fill_remote_fields(sqe, wr);
	fill_imm_or_inv(sqe, wr);
	ret = copy_sges_or_inline_data(qp, sqe, wr);
	if (!ret)
		q->prod++;
	return ret;
}

/*
 * Check whether the doorbell may succeed if it is rung again. EIO is permanent:
 * the device has been removed. Other errors, such as ENOMEM, may be temporary.
 */
static bool may_retry_doorbell(int ret)
{
	return ret && ret != EIO;
}

/*
 * Ring the doorbell with @ring, and once more after a temporary error. A
 * published request counts as posted even if the doorbell fails. Store the
 * error in q->doorbell_err, so that the next post rings the doorbell again.
 *
 * Drop the reference that the caller has taken in q->refs. After that another
 * thread may free the QP, see rnic_sw_wait_posts().
 */
static inline ALWAYS_INLINE void
ring_doorbell_with_retry(struct rnic_sw_qp *qp, struct rnic_sw_queue *q,
			 int (*ring)(struct rnic_sw_qp *qp))
{
	int ret = ring(qp);

	if (may_retry_doorbell(ret))
		ret = ring(qp);
	/* atomic_fetch_sub() below is a full barrier, so this store needs none of its own */
	atomic_store_explicit(&q->doorbell_err, ret, memory_order_relaxed);
	atomic_fetch_sub(&q->refs, 1);
}

/*
 * Ring the doorbell again if the last doorbell failed. The caller must hold the
 * queue's lock. Return: 0; or a positive errno if the doorbell has failed again,
 * so that the caller must not post.
 */
static int retry_failed_doorbell(struct rnic_sw_qp *qp, struct rnic_sw_queue *q,
				 int (*ring)(struct rnic_sw_qp *qp))
{
	if (q->doorbell_err) {
		atomic_fetch_add(&q->refs, 1);
		ring_doorbell_with_retry(qp, q, ring);
	}
	return q->doorbell_err;
}

static void begin_doorbell(struct rnic_sw_queue *q)
{
	q->rung = q->prod;
	atomic_fetch_add(&q->refs, 1);
}

/**
 * rnic_sw_publish_receives - make posted receives visible to the kernel
 * @q: RQ of a QP or the queue of an SRQ, locked
 *
 * Return: true if the caller must unlock the queue and then ring the doorbell:
 * this function has then taken a reference in @q->refs, which ringing the
 * doorbell drops; false if the kernel needs no doorbell.
 */
bool rnic_sw_publish_receives(struct rnic_sw_queue *q)
{
	bool wakeup = ring_publish_prod(q);

	if (wakeup)
		begin_doorbell(q);
	return wakeup;
}

/**
 * rnic_sw_publish_sends - make posted send requests visible to the kernel
 * @q: SQ of a QP, locked
 *
 * The kernel needs no doorbell while it coalesces posts. The function
 * nevertheless returns true for every DOORBELL_INTERVAL-th request, so that a
 * program that goes on posting does not wait for the kernel's timer.
 *
 * Return: as rnic_sw_publish_receives().
 */
bool rnic_sw_publish_sends(struct rnic_sw_queue *q)
{
	bool wakeup = ring_publish_prod(q) || q->prod - q->rung >= DOORBELL_INTERVAL;

	if (wakeup)
		begin_doorbell(q);
	return wakeup;
}

/**
 * rnic_sw_wait_posts - wait for concurrent posts to a queue to finish
 * @q: the queue
 * @locked: true if this thread holds the queue's lock
 *
 * Called before the provider frees a QP or SRQ. A request may complete before
 * its post returns, and another thread that polls the completion may then
 * destroy the QP or SRQ. At that time the posting thread may still have to
 * release the lock and to ring the doorbell. The wait ends, because a program
 * must not begin a post while it destroys the QP or SRQ.
 */
void rnic_sw_wait_posts(struct rnic_sw_queue *q, bool locked)
{
	if (!locked) {
		ring_lock(q);
		ring_unlock(q);
	}
	while (atomic_load(&q->refs))
		sched_yield();
}

/**
 * rnic_sw_ring_sq_doorbell - ring the doorbell of a send queue
 * @qp: the queue pair, its send queue unlocked
 *
 * Must be called if rnic_sw_publish_sends() has returned true.
 */
void rnic_sw_ring_sq_doorbell(struct rnic_sw_qp *qp)
{
	ring_doorbell_with_retry(qp, &qp->sq, rnic_sw_ring_sq_doorbell_once);
}

/**
 * rnic_sw_retry_sq_doorbell - ring the doorbell of a send queue again if the last one failed
 * @qp: the queue pair, its send queue locked
 *
 * Return: 0; or a positive errno if the doorbell has failed again, so that the
 * caller must not post.
 */
int rnic_sw_retry_sq_doorbell(struct rnic_sw_qp *qp)
{
	return retry_failed_doorbell(qp, &qp->sq, rnic_sw_ring_sq_doorbell_once);
}

/*
 * Post a list of send requests that pass @check. On error the requests before
 * *bad_wr are posted; *bad_wr and those after it are not. Return: 0 or a
 * positive errno.
 */
static inline ALWAYS_INLINE int
post_send_list(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
	       int (*check)(const struct ibv_send_wr *wr))
{
	struct rnic_sw_qp *qp = to_qp(ibqp);
	bool wakeup = false;
	uint32_t prod;
	int ret;

	ring_lock(&qp->sq);
	prod = qp->sq.prod;
	ret = rnic_sw_retry_sq_doorbell(qp);
	for (; wr; wr = wr->next) {
		if (!ret)
			ret = check(wr);
		if (!ret)
			ret = queue_send_wr(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->sq.prod != prod)
		wakeup = rnic_sw_publish_sends(&qp->sq);
	ring_unlock(&qp->sq);

	if (wakeup)
		rnic_sw_ring_sq_doorbell(qp);
	return ret;
}

int rnic_sw_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr)
{
	return post_send_list(ibqp, wr, bad_wr, check_bind_wr);
}

static int accept_any_wr(const struct ibv_send_wr *wr)
{
	return 0;
}

/**
 * rnic_sw_post_bind - post the bind of a type 1 or type 2 window
 * @ibqp: the queue pair
 * @wr: one bind request
 * @bad_wr: set to @wr on error
 *
 * Return: 0, or a positive errno.
 */
int rnic_sw_post_bind(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr)
{
	return post_send_list(ibqp, wr, bad_wr, accept_any_wr);
}

/**
 * rnic_sw_queue_recv - write a receive into the next slot without publishing it
 * @q: a receive queue or SRQ, locked
 * @max_sge: maximum number of SGEs in a slot
 * @wr: the work request
 *
 * Return: 0 on success; EINVAL if the number of SGEs is out of range; ENOMEM if
 * no slot is free.
 */
int rnic_sw_queue_recv(struct rnic_sw_queue *q, uint32_t max_sge,
		       const struct ibv_recv_wr *wr)
{
	struct rnic_sw_rqe *rqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return EINVAL;
	if (ring_is_full(q))
		return ENOMEM;
	rqe = ring_slot(q, q->prod);
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	rqe->reserved = 0;
	rnic_sw_copy_sges(rqe + 1, wr->sg_list, wr->num_sge);
	q->prod++;
	return 0;
}

int rnic_sw_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct rnic_sw_qp *qp = to_qp(ibqp);
	bool wakeup = false;
	uint32_t prod;
	int ret;

	ring_lock(&qp->rq);
	prod = qp->rq.prod;
	ret = retry_failed_doorbell(qp, &qp->rq, rnic_sw_ring_rq_doorbell_once);
	for (; wr; wr = wr->next) {
		if (!ret)
			ret = rnic_sw_queue_recv(&qp->rq, qp->max_recv_sge, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->rq.prod != prod)
		wakeup = rnic_sw_publish_receives(&qp->rq);
	ring_unlock(&qp->rq);

	if (wakeup)
		ring_doorbell_with_retry(qp, &qp->rq, rnic_sw_ring_rq_doorbell_once);
	return ret;
}
