// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Post send and receive work requests, the classic way. */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ccan/array_size.h>
#include <rdma/ib_user_verbs.h>

#include "rnic_sw.h"

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

static int check_send(const struct rnic_sw_qp *qp, const struct ibv_send_wr *wr)
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

/* Windows of type 1 are bound by ibv_bind_mw() */
static int check_bind(const struct ibv_send_wr *wr)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (wr->opcode != IBV_WR_BIND_MW)
		return 0;
	return mw && mw->type == IBV_MW_TYPE_2 && !wr->num_sge ? 0 : EINVAL;
}

static void fill_remote(struct rnic_sw_sqe *sqe, const struct ibv_send_wr *wr)
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
		/* an addition has none, whatever a program has left there */
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
 * rnic_sw_fill_bind - what a bind of a memory window says
 * @sqe: the request, begun
 * @rkey: the window's from then on
 * @info: which memory, what for; no region or no octets shut the window
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

static void fill_imm(struct rnic_sw_sqe *sqe, const struct ibv_send_wr *wr)
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

static int copy_inline(const struct rnic_sw_qp *qp, struct rnic_sw_sqe *sqe,
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

static int copy_data(const struct rnic_sw_qp *qp, struct rnic_sw_sqe *sqe,
		     const struct ibv_send_wr *wr)
{
	if (!rnic_sw_has_data(sqe))
		return 0;
	if (wr->send_flags & IBV_SEND_INLINE)
		return copy_inline(qp, sqe, wr);
	sqe->num_sge = wr->num_sge;
	if (wr->num_sge)
		memcpy(sqe + 1, wr->sg_list,
		       wr->num_sge * sizeof(struct rnic_sw_sge));
	return 0;
}

static int queue_send(struct rnic_sw_qp *qp, const struct ibv_send_wr *wr)
{
	struct rnic_sw_queue *q = &qp->sq;
	struct rnic_sw_sqe *sqe;
	int ret;

	ret = check_send(qp, wr);
	if (ret)
		return ret;
	if (ring_full(q))
		return ENOMEM;
	sqe = ring_slot(q, q->prod);
	rnic_sw_begin_sqe(sqe, wr->wr_id, send_ops[wr->opcode].opcode,
			  wr->send_flags);
	fill_remote(sqe, wr);
	fill_imm(sqe, wr);
	ret = copy_data(qp, sqe, wr);
	if (!ret)
		q->prod++;
	return ret;
}

/* The legacy command to post no work request at all: post_send or post_recv */
struct doorbell {
	struct ib_uverbs_cmd_hdr	hdr;
	struct ib_uverbs_post_send	cmd;
};

static_assert(sizeof(struct ib_uverbs_post_send) ==
	      sizeof(struct ib_uverbs_post_recv),
	      "both commands have the same fixed part");

/*
 * Written by hand: the library's functions take the way through an ioctl,
 * which costs more than all else a small message needs.  And not by write(),
 * where a thread that is cancelled ends: with a request published that nobody
 * hears of, or with the ring's lock.
 */
static int ring_doorbell(const struct ibv_qp *qp, uint32_t command,
			 uint32_t wqe_size)
{
	struct ib_uverbs_post_send_resp resp = {};
	struct doorbell bell = {
		.hdr = {
			.command = command,
			.in_words = sizeof(bell) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&resp,
			.qp_handle = qp->handle,
			.wqe_size = wqe_size,
		},
	};

	if (syscall(SYS_write, qp->context->cmd_fd, &bell, sizeof(bell)) !=
	    sizeof(bell))
		return errno;
	return 0;
}

/* Whatever is short may be there the next time; a device that is gone stays so */
static bool worth_another(int ret)
{
	return ret && ret != EIO;
}

/*
 * A write is refused (EACCES) if the credentials are not those with which the
 * device was opened: the program has changed its own, or was given the
 * descriptor.  The ioctl does not mind.
 */
static int try_sq(struct rnic_sw_qp *qp)
{
	struct ibv_send_wr *bad;
	int ret;

	ret = ring_doorbell(&qp->vqp.qp, IB_USER_VERBS_CMD_POST_SEND,
			    sizeof(struct ib_uverbs_send_wr));
	if (ret == EACCES)
		ret = ibv_cmd_post_send(&qp->vqp.qp, NULL, &bad);
	return ret;
}

static int try_rq(struct rnic_sw_qp *qp)
{
	struct ibv_recv_wr *bad;
	int ret;

	ret = ring_doorbell(&qp->vqp.qp, IB_USER_VERBS_CMD_POST_RECV,
			    sizeof(struct ib_uverbs_recv_wr));
	if (ret == EACCES)
		ret = ibv_cmd_post_recv(&qp->vqp.qp, NULL, &bad);
	return ret;
}

/*
 * What is published is posted, whether the kernel hears of it or not (the
 * device may be gone): the next post tries again, before anything else.  With
 * the reference goes the right to look at the queue pair: see rnic_sw_await_posts().
 */
static void kick(struct rnic_sw_qp *qp, struct rnic_sw_queue *q,
		 int (*try)(struct rnic_sw_qp *qp))
{
	int ret = try(qp);

	if (worth_another(ret))
		ret = try(qp);
	q->unheard = ret;
	atomic_fetch_sub(&q->refs, 1);
}

/* As above, with the lock held.  Return: 0, or nothing more is to be posted now */
static int retry(struct rnic_sw_qp *qp, struct rnic_sw_queue *q,
		 int (*try)(struct rnic_sw_qp *qp))
{
	if (q->unheard) {
		atomic_fetch_add(&q->refs, 1);
		kick(qp, q, try);
	}
	return q->unheard;
}

/**
 * rnic_sw_publish - give what is posted to the kernel
 * @q: a queue of a queue pair, locked
 *
 * Return: whether the kernel is to be told, when the lock has been let go of.
 */
bool rnic_sw_publish(struct rnic_sw_queue *q)
{
	bool wakeup = ring_publish_prod(q);

	if (wakeup)
		atomic_fetch_add(&q->refs, 1);
	return wakeup;
}

/**
 * rnic_sw_await_posts - wait until nobody is about to look at a queue any more
 * @q: a queue that nobody posts to from now on
 * @locked: this thread has the lock
 *
 * What was posted may complete before the post returns: its lock is still to be
 * let go of, and its doorbell holds the kernel's queue pair until it has been
 * heard.  Whoever has seen the completion may destroy the queue pair.
 */
void rnic_sw_await_posts(struct rnic_sw_queue *q, bool locked)
{
	if (!locked) {
		ring_lock(q);
		ring_unlock(q);
	}
	while (atomic_load(&q->refs))
		sched_yield();
}

/**
 * rnic_sw_kick_sq - tell the kernel that a send queue has something
 * @qp: the queue pair; rnic_sw_publish() has said so
 */
void rnic_sw_kick_sq(struct rnic_sw_qp *qp)
{
	kick(qp, &qp->sq, try_sq);
}

/**
 * rnic_sw_retry_sq - has the kernel heard of all that was posted?
 * @qp: the queue pair, its send queue locked
 *
 * Return: 0, or a positive errno: nothing more is to be posted now.
 */
int rnic_sw_retry_sq(struct rnic_sw_qp *qp)
{
	return retry(qp, &qp->sq, try_sq);
}

/* Work requests before the bad one are posted, and no others */
static int post_list(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr,
		     int (*check)(const struct ibv_send_wr *wr))
{
	struct rnic_sw_qp *qp = to_qp(ibqp);
	bool wakeup = false;
	uint32_t prod;
	int ret;

	ring_lock(&qp->sq);
	prod = qp->sq.prod;
	ret = rnic_sw_retry_sq(qp);
	for (; wr; wr = wr->next) {
		if (!ret)
			ret = check(wr);
		if (!ret)
			ret = queue_send(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->sq.prod != prod)
		wakeup = rnic_sw_publish(&qp->sq);
	ring_unlock(&qp->sq);

	if (wakeup)
		rnic_sw_kick_sq(qp);
	return ret;
}

int rnic_sw_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr)
{
	return post_list(ibqp, wr, bad_wr, check_bind);
}

static int any_bind(const struct ibv_send_wr *wr)
{
	return 0;
}

/**
 * rnic_sw_post_bind - post the bind of a window of either type
 * @ibqp: the queue pair
 * @wr: a single bind
 * @bad_wr: set to it on error
 *
 * Return: 0, or a positive errno.
 */
int rnic_sw_post_bind(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr)
{
	return post_list(ibqp, wr, bad_wr, any_bind);
}

/**
 * rnic_sw_queue_recv - a receive into the next slot, not yet published
 * @q: a receive queue, shared or not, locked
 * @max_sge: pieces of memory that a slot may name
 * @wr: the work request
 *
 * Return: 0, EINVAL, or ENOMEM if no slot is free.
 */
int rnic_sw_queue_recv(struct rnic_sw_queue *q, uint32_t max_sge,
		       const struct ibv_recv_wr *wr)
{
	struct rnic_sw_rqe *rqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return EINVAL;
	if (ring_full(q))
		return ENOMEM;
	rqe = ring_slot(q, q->prod);
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	rqe->reserved = 0;
	if (wr->num_sge)
		memcpy(rqe + 1, wr->sg_list,
		       wr->num_sge * sizeof(struct rnic_sw_sge));
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
	ret = retry(qp, &qp->rq, try_rq);
	for (; wr; wr = wr->next) {
		if (!ret)
			ret = rnic_sw_queue_recv(&qp->rq, qp->max_recv_sge, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->rq.prod != prod)
		wakeup = rnic_sw_publish(&qp->rq);
	ring_unlock(&qp->rq);

	if (wakeup)
		kick(qp, &qp->rq, try_rq);
	return ret;
}
