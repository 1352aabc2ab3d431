// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues: creation, resizing, destruction. Completion counters.
 */
#include <errno.h>
#include <stdlib.h>

#include "rnic_sw.h"

#define TIMESTAMPS	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |	\
			 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define WC_FLAGS	(IBV_WC_STANDARD_FLAGS | TIMESTAMPS)

static int check_cq_attr(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->wc_flags & ~(uint64_t)WC_FLAGS)
		return EOPNOTSUPP;
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr->parent_domain || !to_pd(attr->parent_domain)->domain))
		return EINVAL;
	if (!attr->cqe || attr->cqe > INT32_MAX)
		return EINVAL;
	return 0;
}

static int map_cq_ring(struct rnic_sw_cq *cq, struct ibv_context *ctx,
		       const struct rnic_sw_create_cq_resp *resp)
{
	const struct rnic_sw_ring_loc at = {
		.key = resp->ring_key,
		.number = resp->map_number,
		.bytes = resp->ring_bytes,
		.offset = resp->ring_offset,
	};

	cq->q.slots = resp->slots;
	cq->q.stride = resp->stride;
	if (resp->stride < sizeof(struct rnic_sw_cqe))
		return EINVAL;
	return rnic_sw_map_queue(&cq->q, ctx, &at);
}

/*
 * Create a CQ in the kernel and map its ring. The create CQ command is also
 * used for extended CQs, with a flag in the driver data if timestamps are
 * requested. Return: 0 or a positive errno.
 */
static int create_cq_in_kernel_and_map_ring(struct rnic_sw_cq *cq, struct ibv_context *ctx,
					    const struct ibv_cq_init_attr_ex *attr)
{
	struct rnic_sw_cmd_create_cq_resp resp = {};
	struct rnic_sw_cmd_create_cq cmd = {};
	int ret;

	if (attr->wc_flags & TIMESTAMPS)
		cmd.drv_payload.flags = RNIC_SW_CREATE_CQ_TIMESTAMP;
	if (to_ctx(ctx)->can_pack)
		cmd.drv_payload.flags |= RNIC_SW_CREATE_CQ_PACK;
	ret = ibv_cmd_create_cq(ctx, attr->cqe, attr->channel,
				attr->comp_vector, &cq->vcq.cq, &cmd.ibv_cmd,
				sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;
	ret = map_cq_ring(cq, ctx, &resp.drv_payload);
	if (ret)
		ibv_cmd_destroy_cq(&cq->vcq.cq);
	return ret;
}

static void free_cq(struct rnic_sw_cq *cq)
{
	rnic_sw_fini_queue(&cq->q);
	pthread_mutex_destroy(&cq->resize_lock);
	pthread_spin_destroy(&cq->arm_lock);
	rnic_sw_free_queue(cq, RNIC_SW_DV_RES_TYPE_CQ, cq->owner);
}

static struct rnic_sw_cq *create_cq(struct ibv_context *ctx,
				    const struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_pd *parent = NULL, *owner;
	struct rnic_sw_cq *cq;
	int ret;

	ret = check_cq_attr(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		parent = attr->parent_domain;
	cq = rnic_sw_alloc_queue(parent, sizeof(*cq), RNIC_SW_DV_RES_TYPE_CQ, &owner);
	if (!cq)
		return NULL;
	cq->owner = owner;
	/*
	 * Use the lock even if the program uses the CQ in one thread only:
	 * another thread may destroy a QP, and then removes completions from
	 * the CQ
	 */
	rnic_sw_init_queue(&cq->q, false);
	pthread_spin_init(&cq->arm_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&cq->resize_lock, NULL);
	ret = create_cq_in_kernel_and_map_ring(cq, ctx, attr);
	if (ret) {
		free_cq(cq);
		errno = ret;
		return NULL;
	}
	if (parent)
		cq->parent = rnic_sw_get_pd(parent);
	return cq;
}

struct ibv_cq *rnic_sw_create_cq(struct ibv_context *ctx, int cqe,
				 struct ibv_comp_channel *channel, int vector)
{
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = vector,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct rnic_sw_cq *cq = create_cq(ctx, &attr);

	return cq ? &cq->vcq.cq : NULL;
}

struct ibv_cq_ex *rnic_sw_create_cq_ex(struct ibv_context *ctx,
				       struct ibv_cq_init_attr_ex *attr)
{
	struct rnic_sw_cq *cq = create_cq(ctx, attr);

	if (!cq)
		return NULL;
	rnic_sw_set_cq_ex_functions(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

/*
 * Create a new ring with the first of the two resize commands, and map the new
 * ring. The kernel uses the old ring until the second command.
 */
static int create_and_map_resize_ring(struct rnic_sw_cq *cq, int cqe, struct rnic_sw_queue *q,
				      uint64_t *key)
{
	struct rnic_sw_cmd_resize_cq_resp resp = {};
	struct rnic_sw_cmd_resize_cq cmd = {};
	struct rnic_sw_ring_loc at = {};
	int ret;

	ret = ibv_cmd_resize_cq(&cq->vcq.cq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;
	at.key = resp.drv_payload.ring_key;
	at.bytes = resp.drv_payload.ring_bytes;
	*key = at.key;
	q->slots = resp.drv_payload.slots;
	q->stride = resp.drv_payload.stride;
	if (q->stride < sizeof(struct rnic_sw_cqe))
		return EINVAL;
	return rnic_sw_map_queue(q, cq->vcq.cq.context, &at);
}

/* Switch the kernel to the new ring, with the second of the two resize commands */
static int switch_kernel_to_new_ring(struct rnic_sw_cq *cq, int cqe, uint64_t key)
{
	struct rnic_sw_cmd_resize_cq_resp resp = {};
	struct rnic_sw_cmd_resize_cq cmd = {
		.drv_payload = {
			.flags = RNIC_SW_RESIZE_CQ_SWITCH,
			.ring_key = key,
		},
	};

	return ibv_cmd_resize_cq(&cq->vcq.cq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				 &resp.ibv_resp, sizeof(resp));
}

/*
 * Install the new ring @q and return the old ring in @q. @armed: arm flags of
 * the old ring
 */
static void exchange_rings(struct rnic_sw_cq *cq, struct rnic_sw_queue *q, uint32_t armed)
{
	struct rnic_sw_queue old = cq->q;

	ring_arm(q, armed);
	cq->q.hdr = q->hdr;
	cq->q.slot0 = q->slot0;
	cq->q.page = q->page;
	cq->q.bytes = q->bytes;
	cq->q.slots = q->slots;
	cq->q.stride = q->stride;
	ring_publish_cons(&cq->q);
	*q = old;
}

/*
 * Switch to the new ring @q. Other threads that poll or arm the CQ spin while
 * the kernel moves the completions that are not yet polled. The provider must
 * not report an empty CQ to them instead: a program that has armed the CQ would
 * then wait, and might not get another event.
 *
 * The flags of the old ring may contain an arm request that the new ring lacks.
 * Copy the flags to the new ring; this causes at most one additional event.
 * Read the flags of the old ring before the switch, because after the switch the
 * kernel may give the memory of the old ring to another queue.
 *
 * If this thread is between start_poll and end_poll, it already holds q.lock.
 * The read functions use a copy of the current completion, so the old ring can
 * be unmapped.
 */
static int switch_to_new_ring(struct rnic_sw_cq *cq, int cqe, uint64_t key,
			      struct rnic_sw_queue *q)
{
	bool polls = rnic_sw_is_this_thread_polling(cq);
	uint32_t armed;
	int ret;

	if (!polls)
		ring_lock(&cq->q);
	pthread_spin_lock(&cq->arm_lock);
	/*
	 * arm_lock keeps other threads from arming the CQ until the rings
	 * are exchanged; litmus: arm
	 */
	armed = __atomic_load_n(&cq->q.hdr->flags, __ATOMIC_RELAXED);
	ret = switch_kernel_to_new_ring(cq, cqe, key);
	if (!ret)
		exchange_rings(cq, q, armed);
	pthread_spin_unlock(&cq->arm_lock);
	if (!polls)
		ring_unlock(&cq->q);
	return ret;
}

/*
 * Replace the ring of a CQ; on failure the CQ keeps the old ring. Creating, mapping or
 * unmapping a ring may take long, so do not hold q.lock and arm_lock meanwhile: other
 * threads must be able to poll and arm the CQ.
 */
static int replace_cq_ring(struct rnic_sw_cq *cq, int cqe)
{
	struct rnic_sw_queue q = {};
	uint64_t key;
	int ret;

	ret = create_and_map_resize_ring(cq, cqe, &q, &key);
	if (!ret)
		ret = switch_to_new_ring(cq, cqe, key, &q);
	/* q is now the old ring, or still the new ring if the resize failed */
	rnic_sw_unmap_queue(&q);
	return ret;
}

/*
 * Take resize_lock. If this thread is between start_poll and end_poll, it holds
 * q.lock, and must not wait for resize_lock: the thread that holds resize_lock
 * may be waiting for q.lock. Return: 0; EBUSY if another thread holds
 * resize_lock and this thread must not wait.
 */
static int lock_for_resize(struct rnic_sw_cq *cq)
{
	if (rnic_sw_is_this_thread_polling(cq))
		return pthread_mutex_trylock(&cq->resize_lock);
	return pthread_mutex_lock(&cq->resize_lock);
}

int rnic_sw_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct rnic_sw_cq *cq = to_cq(ibcq);
	int ret;

	if (cqe <= 0)
		return EINVAL;
	ret = lock_for_resize(cq);
	if (ret)
		return ret;
	ret = replace_cq_ring(cq, cqe);
	pthread_mutex_unlock(&cq->resize_lock);
	return ret;
}

/*
 * Destroy a CQ. Fail with EBUSY while it has references: the kernel may have
 * destroyed a QP whose completions the provider has not yet removed from the
 * CQ.
 */
static int destroy_cq(struct rnic_sw_cq *cq)
{
	struct ibv_pd *parent = cq->parent;
	int ret;

	if (atomic_load(&cq->refs))
		return EBUSY;
	ret = ibv_cmd_destroy_cq(&cq->vcq.cq);
	if (ret)
		return ret;
	free_cq(cq);
	if (parent)
		rnic_sw_put_pd(parent);
	return 0;
}

int rnic_sw_destroy_cq(struct ibv_cq *ibcq)
{
	int old = rnic_sw_disable_cancel();
	int ret = destroy_cq(to_cq(ibcq));

	rnic_sw_restore_cancel(old);
	return ret;
}

#if IBVERBS_PABI_VERSION >= 65
#define COMP_CNTR_OPS	(IBV_QP_ATTACH_COMP_CNTR_OP_SEND |		\
			 IBV_QP_ATTACH_COMP_CNTR_OP_RECV |		\
			 IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ |		\
			 IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ |	\
			 IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE |	\
			 IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE)

/* Create a completion counter. The kernel counts operations, not bytes. */
struct ibv_comp_cntr *
rnic_sw_create_comp_cntr(struct ibv_context *ctx, struct ibv_comp_cntr_init_attr *attr)
{
	struct ibv_comp_cntr *cntr;
	int ret;

	if (attr->comp_mask || attr->flags || attr->type != IBV_COMP_CNTR_TYPE_WRS) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return NULL;
	ret = ibv_cmd_create_comp_cntr(ctx, cntr, NULL);
	if (ret) {
		free(cntr);
		errno = ret;
		return NULL;
	}
	return cntr;
}

int rnic_sw_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	int ret = ibv_cmd_destroy_comp_cntr(cntr);

	if (!ret)
		free(cntr);
	return ret;
}

/*
 * Count the completions of operations of a QP. Refuse unknown operations here,
 * because the library's command does not pass them to the kernel.
 */
int rnic_sw_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
				struct ibv_qp_attach_comp_cntr_attr *attr)
{
	if (attr->comp_mask || !check_comp_mask(attr->op_mask, COMP_CNTR_OPS))
		return EOPNOTSUPP;
	return ibv_cmd_qp_attach_comp_cntr(qp, cntr, attr);
}
#endif
