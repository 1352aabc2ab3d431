// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbells: notify the kernel that a program has posted work requests to a ring.
 *
 * The doorbell of a send queue is an ioctl on the doorbell file of the context, or a command of
 * uverbs if the kernel has no such file or cannot allocate one. The doorbell of a receive queue
 * or SRQ is always a command. The ioctl of busy polling uses the same file.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_verbs.h>

#include "rnic_sw.h"

/* Allocate a doorbell file in the kernel. Return: the file descriptor; -1 on failure */
static int alloc_doorbell_file(struct ibv_context *ctx)
{
	DECLARE_COMMAND_BUFFER(cmd, RNIC_SW_OBJECT_DOORBELL, RNIC_SW_METHOD_DOORBELL_ALLOC, 1);
	struct ib_uverbs_attr *handle;

	handle = fill_attr_out_fd(cmd, RNIC_SW_ATTR_DOORBELL_ALLOC_HANDLE, 0);
	if (execute_ioctl(ctx, cmd))
		return -1;
	return read_attr_fd(RNIC_SW_ATTR_DOORBELL_ALLOC_HANDLE, handle);
}

/**
 * rnic_sw_open_doorbell_file - get the doorbell file of a context; allocate it if there is none
 * @ctx: the context
 *
 * Called before the creation of each QP, because a QP that is created before the file has no
 * doorbell in it. A context without QPs needs no file.
 *
 * Return: the file descriptor; -1 if the kernel has no doorbell files, or if the allocation has
 * failed, for example because the program has too many files open. The QP must then use commands.
 */
int rnic_sw_open_doorbell_file(struct rnic_sw_context *ctx)
{
	int fd;

	if (!ctx->has_doorbells)
		return -1;
	pthread_mutex_lock(&ctx->doorbell_lock);
	if (ctx->doorbell_fd < 0)
		ctx->doorbell_fd = alloc_doorbell_file(&ctx->vctx.context);
	fd = ctx->doorbell_fd;
	pthread_mutex_unlock(&ctx->doorbell_lock);
	return fd;
}

void rnic_sw_close_doorbell_file(struct rnic_sw_context *ctx)
{
	if (ctx->doorbell_fd >= 0)
		close(ctx->doorbell_fd);
	ctx->doorbell_fd = -1;
}

/* Doorbell command: a POST_SEND or POST_RECV command of uverbs without work requests */
struct doorbell {
	struct ib_uverbs_cmd_hdr	hdr;
	struct ib_uverbs_post_send	cmd;
};

static_assert(sizeof(struct ib_uverbs_post_send) ==
	      sizeof(struct ib_uverbs_post_recv) &&
	      sizeof(struct ib_uverbs_post_send) ==
	      sizeof(struct ib_uverbs_post_srq_recv) &&
	      offsetof(struct ib_uverbs_post_send, qp_handle) ==
	      offsetof(struct ib_uverbs_post_srq_recv, srq_handle),
	      "the commands have the same fixed part");

/*
 * Ring the doorbell with a write() command. The functions of libibverbs use an
 * ioctl instead, which costs more than all other processing of a small message.
 *
 * Call syscall() because write() is a cancellation point. A thread cancelled
 * there would leave a published request without a doorbell, or would not release
 * the ring lock.
 *
 * Return: 0 or a positive errno.
 */
static int ring_doorbell_by_command(const struct ibv_context *ctx, uint32_t handle,
				    uint32_t command, uint32_t wqe_size)
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
			.qp_handle = handle,
			.wqe_size = wqe_size,
		},
	};

	if (syscall(SYS_write, ctx->cmd_fd, &bell, sizeof(bell)) != sizeof(bell))
		return errno;
	return 0;
}

/*
 * Ring the doorbell of a send queue with an ioctl on the doorbell file. Call syscall() for the
 * same reason as ring_doorbell_by_command(). Return: 0 or a positive errno.
 */
static int ring_doorbell_file(const struct rnic_sw_qp *qp)
{
	if (syscall(SYS_ioctl, qp->doorbell_fd, RNIC_SW_IOCTL_RING_SQ,
		    (unsigned long)qp->doorbell))
		return errno;
	return 0;
}

/*
 * Ring the doorbell of a send queue with a command. The kernel rejects write() with EACCES if
 * the caller's credentials differ from those with which the device was opened: the program may
 * have changed them or inherited the file descriptor. Use the ioctl of libibverbs then, which has
 * no such check. Return: 0 or a positive errno.
 */
static int ring_sq_doorbell_by_command(struct rnic_sw_qp *qp)
{
	struct ibv_send_wr *bad;
	int ret;

	ret = ring_doorbell_by_command(qp->vqp.qp.context, qp->vqp.qp.handle,
				       IB_USER_VERBS_CMD_POST_SEND,
				       sizeof(struct ib_uverbs_send_wr));
	if (ret == EACCES)
		ret = ibv_cmd_post_send(&qp->vqp.qp, NULL, &bad);
	return ret;
}

/**
 * rnic_sw_ring_sq_doorbell_once - ring the doorbell of a send queue once
 * @qp: the queue pair
 *
 * If the doorbell file does not work, for example because the program has closed all its files,
 * the command may still work.
 *
 * Return: 0; EIO if the device has been removed; or another positive errno.
 */
int rnic_sw_ring_sq_doorbell_once(struct rnic_sw_qp *qp)
{
	int ret;

	rnic_sw_set_busy_qp(qp, qp->vqp.qp.send_cq, qp->vqp.qp.recv_cq);
	if (!qp->doorbell)
		return ring_sq_doorbell_by_command(qp);
	ret = ring_doorbell_file(qp);
	return ret && ret != EIO ? ring_sq_doorbell_by_command(qp) : ret;
}

/**
 * rnic_sw_ring_rq_doorbell_once - ring the doorbell of a receive queue once
 * @qp: the queue pair
 *
 * Use a command, in the same way as ring_sq_doorbell_by_command().
 *
 * Return: 0; EIO if the device has been removed; or another positive errno.
 */
int rnic_sw_ring_rq_doorbell_once(struct rnic_sw_qp *qp)
{
	struct ibv_recv_wr *bad;
	int ret;

	ret = ring_doorbell_by_command(qp->vqp.qp.context, qp->vqp.qp.handle,
				       IB_USER_VERBS_CMD_POST_RECV,
				       sizeof(struct ib_uverbs_recv_wr));
	if (ret == EACCES)
		ret = ibv_cmd_post_recv(&qp->vqp.qp, NULL, &bad);
	return ret;
}

/**
 * rnic_sw_ring_srq_doorbell - ring the doorbell of an SRQ
 * @srq: the SRQ, unlocked
 *
 * Must be called if rnic_sw_publish_receives() has returned true. An error is
 * ignored, because the kernel then finds the receives by itself, after up to
 * 100 ms.
 */
void rnic_sw_ring_srq_doorbell(struct rnic_sw_srq *srq)
{
	struct ibv_recv_wr *bad;
	int ret;

	ret = ring_doorbell_by_command(srq->ibsrq.context, srq->ibsrq.handle,
				       IB_USER_VERBS_CMD_POST_SRQ_RECV,
				       sizeof(struct ib_uverbs_recv_wr));
	if (ret == EACCES)
		ibv_cmd_post_srq_recv(&srq->ibsrq, NULL, &bad);
	atomic_fetch_sub(&srq->q.refs, 1);
}

/* Busy polling ---------------------------------------------------------------- */

/*
 * A program that polls an empty CQ again and again does not sleep, so the packets that it waits for
 * arrive only with an interrupt of the network device, and with the softirq that follows. If the
 * device's setting busy_poll permits it, the provider asks the kernel from time to time to receive
 * what the network device has.
 */

/* Successive empty polls before the first such call; a shorter wait is not worth a system call */
#define FIRST_CALL	256

/* Empty polls from one call to the next */
#define NEXT_CALL	32

/* Empty polls after a failed call: perhaps a QP is connected by then, or the setting has changed */
#define AFTER_FAILURE	65536

/**
 * rnic_sw_set_busy_qp - choose the QP whose network device is polled while a CQ is empty
 * @qp: a QP that was created, or that sends
 * @send_cq: its CQ for sends
 * @recv_cq: its CQ for receives
 */
void rnic_sw_set_busy_qp(const struct rnic_sw_qp *qp, struct ibv_cq *send_cq,
			 struct ibv_cq *recv_cq)
{
	if (!to_ctx(send_cq->context)->may_busy_poll)
		return;
	atomic_store_explicit(&to_cq(send_cq)->busy_doorbell, qp->doorbell,
			      memory_order_relaxed);
	atomic_store_explicit(&to_cq(recv_cq)->busy_doorbell, qp->doorbell,
			      memory_order_relaxed);
}

/**
 * rnic_sw_count_busy_poll - count a poll of a CQ whose network device can be polled
 * @cq: the CQ, locked
 * @empty: true if the CQ had no completion
 *
 * Return: true if the caller must unlock the CQ and then call rnic_sw_busy_poll().
 */
bool rnic_sw_count_busy_poll(struct rnic_sw_cq *cq, bool empty)
{
	if (!empty) {
		cq->empty_polls = 0;
		return false;
	}
	if (++cq->empty_polls < FIRST_CALL)
		return false;
	cq->empty_polls = FIRST_CALL - NEXT_CALL;
	return true;
}

/**
 * rnic_sw_busy_poll - let the kernel receive what the network device has
 * @cq: the CQ, unlocked
 *
 * The number of the doorbell may belong to another QP by now, whose network device is then polled.
 */
void rnic_sw_busy_poll(struct rnic_sw_cq *cq)
{
	const struct rnic_sw_context *ctx = to_ctx(cq->vcq.cq.context);
	unsigned long number = atomic_load_explicit(&cq->busy_doorbell, memory_order_relaxed);

	if (!syscall(SYS_ioctl, ctx->doorbell_fd, RNIC_SW_IOCTL_BUSY_POLL, number))
		return;
	ring_lock(&cq->q);
	cq->empty_polls = FIRST_CALL - AFTER_FAILURE;
	ring_unlock(&cq->q);
}
