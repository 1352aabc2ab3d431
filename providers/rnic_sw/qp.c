// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queue pairs: creation, modification, query, destruction. */
#include <errno.h>
#include <stdlib.h>

#include "rnic_sw.h"

static int check_qp_attr(const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_QP_INIT_ATTR_PD |
					      IBV_QP_INIT_ATTR_CREATE_FLAGS |
					      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd)
		return EINVAL;
	if (attr->qp_type != IBV_QPT_RC)
		return EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq)
		return EINVAL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	    attr->send_ops_flags & ~rnic_sw_send_ops)
		return EOPNOTSUPP;
	return 0;
}

/*
 * Choose the lower layer protocol of a new QP. rnic_sw_dv_set_llp() takes
 * precedence over the environment variable RNIC_SW_LLP. With
 * RNIC_SW_LLP_DEFAULT the device's connect setting applies. Return: 0, with
 * @llp set; EINVAL if the variable applies but its value is invalid.
 */
static int choose_llp(const struct rnic_sw_context *ctx, uint32_t *llp)
{
	if (ctx->llp == RNIC_SW_LLP_DEFAULT && ctx->env_llp < 0)
		return EINVAL;
	*llp = ctx->llp;
	if (ctx->llp == RNIC_SW_LLP_DEFAULT)
		*llp = ctx->env_llp;
	return 0;
}

static int map_sq_ring(struct rnic_sw_qp *qp,
		       const struct rnic_sw_create_qp_resp *resp)
{
	const struct rnic_sw_ring_loc at = {
		.key = resp->ring_key,
		.number = resp->map_number,
		.bytes = resp->ring_bytes,
		.offset = resp->ring_offset,
	};
	size_t room;

	qp->sq.slots = resp->sq_slots;
	qp->sq.stride = resp->sq_stride;
	qp->max_inline = resp->max_inline;
	if (resp->sq_stride < sizeof(struct rnic_sw_sqe))
		return EINVAL;
	room = resp->sq_stride - sizeof(struct rnic_sw_sqe);
	if (room < qp->max_inline ||
	    room / sizeof(struct rnic_sw_sge) < qp->max_send_sge)
		return EINVAL;
	return rnic_sw_map_queue(&qp->sq, qp->vqp.qp.context, &at);
}

static int map_rq_ring(struct rnic_sw_qp *qp,
		       const struct rnic_sw_create_qp_resp *resp)
{
	size_t room;

	qp->rq.slots = resp->rq_slots;
	qp->rq.stride = resp->rq_stride;
	if (!resp->rq_slots)
		return 0;
	if (resp->rq_stride < sizeof(struct rnic_sw_rqe))
		return EINVAL;
	room = resp->rq_stride - sizeof(struct rnic_sw_rqe);
	if (room / sizeof(struct rnic_sw_sge) < qp->max_recv_sge)
		return EINVAL;
	return rnic_sw_set_up_ring_in_mapping(&qp->rq, &qp->sq, resp->rq_offset);
}

static int map_qp_rings(struct rnic_sw_qp *qp,
			const struct rnic_sw_create_qp_resp *resp)
{
	int ret = map_sq_ring(qp, resp);

	return ret ? ret : map_rq_ring(qp, resp);
}

/* Check whether a QP with this number is being destroyed */
static bool is_qp_num_being_destroyed(struct rnic_sw_context *ctx,
				      uint32_t qp_num)
{
	const struct rnic_sw_qp *qp;
	bool found = false;

	pthread_mutex_lock(&ctx->destroying_lock);
	list_for_each(&ctx->destroying, qp, destroying)
		found = found || qp->vqp.qp.qp_num == qp_num;
	pthread_mutex_unlock(&ctx->destroying_lock);
	return found;
}

/*
 * Create a QP in the kernel. The granted sizes are returned in @ex->cap and
 * @granted. Return: 0 or a positive errno.
 */
static int issue_create_qp(struct rnic_sw_qp *qp, uint32_t llp,
			   struct ibv_qp_init_attr_ex *ex,
			   struct rnic_sw_create_qp_resp *granted)
{
	struct rnic_sw_cmd_create_qp cmd = { .drv_payload.llp = llp };
	struct rnic_sw_cmd_create_qp_resp resp = {};
	int ret;

	if (to_ctx(qp->vqp.qp.context)->can_pack)
		cmd.drv_payload.flags = RNIC_SW_CREATE_QP_PACK;
	/*
	 * the command does not accept create_flags, which check_qp_attr() has
	 * found to be 0
	 */
	ex->comp_mask &= ~IBV_QP_INIT_ATTR_CREATE_FLAGS;
	ret = ibv_cmd_create_qp_ex(qp->vqp.qp.context, &qp->vqp, ex,
				   &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				   sizeof(resp));
	*granted = resp.drv_payload;
	return ret;
}

/*
 * Create a QP whose number is not that of a QP being destroyed. If the kernel
 * assigns such a number, destroy the new QP and create another. The new QP need
 * not be on ctx->destroying meanwhile: the program does not know it yet, so it
 * has neither completions nor events. The next QP gets another number, because
 * the kernel assigns consecutive numbers, with a random number from time to time.
 */
static int create_qp_with_unused_number(struct rnic_sw_qp *qp, uint32_t llp,
					struct ibv_qp_init_attr_ex *attr,
					struct rnic_sw_create_qp_resp *granted)
{
	struct rnic_sw_context *ctx = to_ctx(qp->vqp.qp.context);
	struct ibv_qp_init_attr_ex ex;
	int ret;

	do {
		ex = *attr;
		ret = issue_create_qp(qp, llp, &ex, granted);
		if (ret)
			return ret;
		if (!is_qp_num_being_destroyed(ctx, qp->vqp.qp.qp_num)) {
			attr->cap = ex.cap;
			return 0;
		}
		ret = ibv_cmd_destroy_qp(&qp->vqp.qp);
	} while (!ret);
	return ret;
}

static int create_qp_in_kernel_and_map_rings(struct rnic_sw_qp *qp, struct ibv_context *ctx,
					     struct ibv_qp_init_attr_ex *attr)
{
	struct rnic_sw_create_qp_resp granted;
	uint32_t llp;
	int ret;

	ret = choose_llp(to_ctx(ctx), &llp);
	if (ret)
		return ret;
	qp->doorbell_fd = rnic_sw_open_doorbell_file(to_ctx(ctx));
	ret = create_qp_with_unused_number(qp, llp, attr, &granted);
	if (ret)
		return ret;
	qp->max_send_sge = attr->cap.max_send_sge;
	qp->max_recv_sge = attr->cap.max_recv_sge;
	qp->doorbell = qp->doorbell_fd < 0 ? 0 : granted.doorbell;
	ret = map_qp_rings(qp, &granted);
	if (ret) {
		ibv_cmd_destroy_qp(&qp->vqp.qp);
		return ret;
	}
	rnic_sw_set_busy_qp(qp, attr->send_cq, attr->recv_cq);
	attr->cap.max_send_wr = qp->sq.slots;
	attr->cap.max_recv_wr = qp->rq.slots;
	attr->cap.max_inline_data = qp->max_inline;
	return 0;
}

/* Declare that the QP has the extended post functions */
static void set_qp_ex_flag(struct verbs_qp *vqp)
{
	vqp->comp_mask |= VERBS_QP_EX;
#if IBVERBS_PABI_VERSION == 34 && !defined(RNIC_SW_IN_RDMA_CORE)
	/*
	 * comp_mask follows struct ibv_qp_ex, which has grown by wr_flush while
	 * the private ABI version stayed 34. A library without wr_flush, such
	 * as rdma-core 44, reads comp_mask at the offset of wr_flush. So write
	 * comp_mask there too. This is safe because the provider does not
	 * support flush, so the library never calls wr_flush.
	 */
	memcpy(&vqp->qp_ex.wr_flush, &vqp->comp_mask, sizeof(vqp->comp_mask));
#endif
}

static void free_qp(struct rnic_sw_qp *qp)
{
	rnic_sw_fini_queue(&qp->sq);
	rnic_sw_fini_queue(&qp->rq);
	rnic_sw_free_queue(qp, RNIC_SW_DV_RES_TYPE_QP, qp->owner);
}

/* Take the QP's references to its protection domain and CQs */
static void take_qp_refs(struct rnic_sw_qp *qp,
			 const struct ibv_qp_init_attr_ex *attr)
{
	struct rnic_sw_cq *scq = to_cq(attr->send_cq);
	struct rnic_sw_cq *rcq = to_cq(attr->recv_cq);

	qp->vqp.qp.pd = rnic_sw_get_pd(attr->pd);
	atomic_fetch_add(&scq->refs, 1);
	atomic_fetch_add(&rcq->refs, 1);
}

struct ibv_qp *rnic_sw_create_qp_ex(struct ibv_context *ctx,
				    struct ibv_qp_init_attr_ex *attr)
{
	struct rnic_sw_qp *qp;
	struct ibv_pd *owner;
	bool unlocked;
	int ret;

	ret = check_qp_attr(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	qp = rnic_sw_alloc_queue(attr->pd, sizeof(*qp), RNIC_SW_DV_RES_TYPE_QP, &owner);
	if (!qp)
		return NULL;
	qp->owner = owner;
	unlocked = to_pd(attr->pd)->td;
	qp->vqp.qp.context = ctx;
	rnic_sw_init_queue(&qp->sq, unlocked);
	rnic_sw_init_queue(&qp->rq, unlocked);
	ret = create_qp_in_kernel_and_map_rings(qp, ctx, attr);
	if (ret) {
		free_qp(qp);
		errno = ret;
		return NULL;
	}
	take_qp_refs(qp, attr);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		rnic_sw_set_qp_ex_functions(qp);
		set_qp_ex_flag(&qp->vqp);
	}
	return &qp->vqp.qp;
}

struct ibv_qp *rnic_sw_create_qp(struct ibv_pd *pd,
				 struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	qp = rnic_sw_create_qp_ex(pd->context, &ex);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

/*
 * Get the LID to pass to the kernel as driver data. The kernel's core passes
 * the address vector to an iWARP driver without the LID. Return: the LID; 0 if
 * the command needs no driver data, or if the kernel does not accept them.
 */
static uint16_t get_dlid(struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (!to_ctx(qp->context)->takes_dlid || !(mask & IBV_QP_AV) || attr->ah_attr.is_global)
		return 0;
	return attr->ah_attr.dlid;
}

/*
 * Modify a QP with the extended command, the only one that carries a rate limit
 * or driver data
 */
static int modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct rnic_sw_cmd_modify_qp cmd = {};
	struct ib_uverbs_ex_modify_qp_resp resp;
	uint16_t dlid = get_dlid(qp, attr, mask);

	cmd.drv_payload.dlid = dlid;
	return ibv_cmd_modify_qp_ex(qp, attr, mask, &cmd.ibv_cmd,
				    dlid ? sizeof(cmd) : sizeof(cmd.ibv_cmd), &resp,
				    sizeof(resp));
}

/*
 * Set a QP's rate limit. Reject burst and packet sizes, because the LLP
 * controls them.
 */
int rnic_sw_modify_qp_rate_limit(struct ibv_qp *qp,
				 struct ibv_qp_rate_limit_attr *attr)
{
	struct ibv_qp_attr rate = { .rate_limit = attr->rate_limit };

	if (attr->comp_mask)
		return EINVAL;
	if (attr->max_burst_sz || attr->typical_pkt_sz)
		return EOPNOTSUPP;
	return modify_qp_ex(qp, &rate, IBV_QP_RATE_LIMIT);
}

static void remove_cqes(struct ibv_qp *qp)
{
	struct rnic_sw_cq *scq = to_cq(qp->send_cq);
	struct rnic_sw_cq *rcq = to_cq(qp->recv_cq);

	rnic_sw_remove_cqes(scq, qp->qp_num);
	if (rcq != scq)
		rnic_sw_remove_cqes(rcq, qp->qp_num);
}

/*
 * Modify a QP. If the kernel has reset the QP, remove its completions from the CQs.
 * The indices of its rings stay valid, because the kernel has consumed all
 * requests.
 */
int rnic_sw_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd;
	int ret;

	if (mask & IBV_QP_RATE_LIMIT || get_dlid(qp, attr, mask))
		ret = modify_qp_ex(qp, attr, mask);
	else
		ret = ibv_cmd_modify_qp(qp, attr, mask, &cmd, sizeof(cmd));
	if (!ret && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		remove_cqes(qp);
	return ret;
}

int rnic_sw_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(qp, attr, mask, init, &cmd, sizeof(cmd));
}

/*
 * Check whether this thread is between wr_start() and wr_complete() of the QP.
 * A program may destroy the QP there, with its send queue locked.
 */
static bool is_this_thread_posting(struct rnic_sw_qp *qp)
{
	return qp->poster == rnic_sw_get_thread_id();
}

static void wait_for_posts(struct rnic_sw_qp *qp)
{
	rnic_sw_wait_posts(&qp->sq, is_this_thread_posting(qp));
	rnic_sw_wait_posts(&qp->rq, false);
}

/* Add a QP to the list of QPs being destroyed */
static void add_to_destroying_list(struct rnic_sw_context *ctx,
				   struct rnic_sw_qp *qp)
{
	pthread_mutex_lock(&ctx->destroying_lock);
	list_add_tail(&ctx->destroying, &qp->destroying);
	pthread_mutex_unlock(&ctx->destroying_lock);
}

/* Remove a QP from the list of QPs being destroyed */
static void remove_from_destroying_list(struct rnic_sw_context *ctx,
					struct rnic_sw_qp *qp)
{
	pthread_mutex_lock(&ctx->destroying_lock);
	list_del(&qp->destroying);
	pthread_mutex_unlock(&ctx->destroying_lock);
}

/*
 * Remove the QP's completions from its CQs, and drop its references to the CQs.
 *
 * Two threads deadlock here if each is between start_poll() and end_poll() of a
 * CQ and destroys a QP that also uses the other thread's CQ. Programs must
 * avoid that.
 */
static void remove_cqes_and_put_cqs(struct ibv_qp *ibqp)
{
	struct rnic_sw_cq *scq = to_cq(ibqp->send_cq);
	struct rnic_sw_cq *rcq = to_cq(ibqp->recv_cq);

	remove_cqes(ibqp);
	/*
	 * after these references are dropped, another thread may destroy the
	 * CQs
	 */
	atomic_fetch_sub(&scq->refs, 1);
	atomic_fetch_sub(&rcq->refs, 1);
}

/*
 * Destroy a QP. As soon as the command has destroyed it, the kernel may reuse
 * the QP's number. So keep the QP on ctx->destroying from before the command
 * until its completions have been removed: no new QP gets the number meanwhile.
 *
 * Do not hold destroying_lock across the command and the removal. The command
 * waits until the program has acknowledged all events of the QP. The removal
 * waits for threads between start_poll and end_poll, which may first create and
 * destroy other QPs.
 */
static int destroy_qp(struct ibv_qp *ibqp)
{
	struct rnic_sw_context *ctx = to_ctx(ibqp->context);
	struct rnic_sw_qp *qp = to_qp(ibqp);
	struct ibv_pd *pd = ibqp->pd;
	int ret;

	wait_for_posts(qp);
	add_to_destroying_list(ctx, qp);
	ret = ibv_cmd_destroy_qp(ibqp);
	if (!ret)
		remove_cqes_and_put_cqs(ibqp);
	remove_from_destroying_list(ctx, qp);
	if (ret)
		return ret;
	if (is_this_thread_posting(qp))
		ring_unlock(&qp->sq);
	free_qp(qp);
	rnic_sw_put_pd(pd);
	return 0;
}

int rnic_sw_destroy_qp(struct ibv_qp *ibqp)
{
	int old = rnic_sw_disable_cancel();
	int ret = destroy_qp(ibqp);

	rnic_sw_restore_cancel(old);
	return ret;
}
