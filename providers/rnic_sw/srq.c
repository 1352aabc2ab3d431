// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues: creation, modification, query, destruction, posting.
 */
#include <errno.h>
#include <stdlib.h>

#include "rnic_sw.h"

static int map_srq_ring(struct rnic_sw_srq *srq, struct ibv_context *ctx,
			const struct rnic_sw_create_srq_resp *resp)
{
	const struct rnic_sw_ring_loc at = {
		.key = resp->ring_key,
		.number = resp->map_number,
		.bytes = resp->ring_bytes,
		.offset = resp->ring_offset,
	};
	size_t room;

	srq->q.slots = resp->slots;
	srq->q.stride = resp->stride;
	if (resp->stride < sizeof(struct rnic_sw_rqe))
		return EINVAL;
	room = resp->stride - sizeof(struct rnic_sw_rqe);
	if (room / sizeof(struct rnic_sw_sge) < srq->max_sge)
		return EINVAL;
	return rnic_sw_map_queue(&srq->q, ctx, &at);
}

/*
 * Create an SRQ in the kernel and map its ring. The granted sizes are returned
 * in @attr->attr. Return: 0 or a positive errno.
 */
static int create_srq_in_kernel_and_map_ring(struct rnic_sw_srq *srq, struct ibv_pd *pd,
					     struct ibv_srq_init_attr *attr)
{
	struct rnic_sw_cmd_create_srq_resp resp = {};
	struct rnic_sw_cmd_create_srq cmd = {};
	int ret;

	if (to_ctx(pd->context)->can_pack)
		cmd.drv_payload.flags = RNIC_SW_CREATE_SRQ_PACK;
	ret = ibv_cmd_create_srq(pd, &srq->ibsrq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		return ret;
	srq->max_sge = attr->attr.max_sge;
	ret = map_srq_ring(srq, pd->context, &resp.drv_payload);
	if (ret)
		ibv_cmd_destroy_srq(&srq->ibsrq);
	return ret;
}

static void free_srq(struct rnic_sw_srq *srq)
{
	rnic_sw_fini_queue(&srq->q);
	rnic_sw_free_queue(srq, RNIC_SW_DV_RES_TYPE_SRQ, srq->owner);
}

struct ibv_srq *rnic_sw_create_srq(struct ibv_pd *pd,
				   struct ibv_srq_init_attr *attr)
{
	struct rnic_sw_srq *srq;
	struct ibv_pd *owner;
	int ret;

	srq = rnic_sw_alloc_queue(pd, sizeof(*srq), RNIC_SW_DV_RES_TYPE_SRQ, &owner);
	if (!srq)
		return NULL;
	srq->owner = owner;
	rnic_sw_init_queue(&srq->q, to_pd(pd)->td);
	ret = create_srq_in_kernel_and_map_ring(srq, pd, attr);
	if (ret) {
		free_srq(srq);
		errno = ret;
		return NULL;
	}
	srq->ibsrq.pd = rnic_sw_get_pd(pd);
	return &srq->ibsrq;
}

int rnic_sw_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		       int mask)
{
	struct ibv_modify_srq cmd;

	return ibv_cmd_modify_srq(srq, attr, mask, &cmd, sizeof(cmd));
}

int rnic_sw_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int rnic_sw_destroy_srq(struct ibv_srq *ibsrq)
{
	int old = rnic_sw_disable_cancel();
	int ret = ibv_cmd_destroy_srq(ibsrq);
	struct ibv_pd *pd = ibsrq->pd;

	if (!ret) {
		rnic_sw_wait_posts(&to_srq(ibsrq)->q, false);
		free_srq(to_srq(ibsrq));
		rnic_sw_put_pd(pd);
	}
	rnic_sw_restore_cancel(old);
	return ret;
}

/*
 * Post receives. The kernel reads the ring when a message arrives, and needs a
 * doorbell only if a message already waits for a receive.
 */
int rnic_sw_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr)
{
	struct rnic_sw_srq *srq = to_srq(ibsrq);
	bool wakeup;
	int ret = 0;

	ring_lock(&srq->q);
	for (; wr; wr = wr->next) {
		ret = rnic_sw_queue_recv(&srq->q, srq->max_sge, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	wakeup = rnic_sw_publish_receives(&srq->q);
	ring_unlock(&srq->q);
	if (wakeup)
		rnic_sw_ring_srq_doorbell(srq);
	return ret;
}
