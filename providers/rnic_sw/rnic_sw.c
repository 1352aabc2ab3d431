// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Registration with libibverbs, contexts, and mapping of rings. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE			/* secure_getenv() */
#endif
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rnic_sw.h"

static void free_context(struct ibv_context *ibctx);

static const struct verbs_context_ops context_ops = {
	.advise_mr		= rnic_sw_advise_mr,
#if IBVERBS_PABI_VERSION >= 64
	.alloc_buf		= rnic_sw_alloc_buf,
#endif
	.alloc_mw		= rnic_sw_alloc_mw,
	.alloc_parent_domain	= rnic_sw_alloc_parent_domain,
	.alloc_pd		= rnic_sw_alloc_pd,
	.alloc_td		= rnic_sw_alloc_td,
	.bind_mw		= rnic_sw_bind_mw,
#if IBVERBS_PABI_VERSION >= 65
	.create_comp_cntr	= rnic_sw_create_comp_cntr,
#endif
	.create_cq		= rnic_sw_create_cq,
	.create_cq_ex		= rnic_sw_create_cq_ex,
	.create_qp		= rnic_sw_create_qp,
	.create_qp_ex		= rnic_sw_create_qp_ex,
	.create_srq		= rnic_sw_create_srq,
	.dealloc_mw		= rnic_sw_dealloc_mw,
	.dealloc_pd		= rnic_sw_dealloc_pd,
	.dealloc_td		= rnic_sw_dealloc_td,
	.dereg_mr		= rnic_sw_dereg_mr,
#if IBVERBS_PABI_VERSION >= 65
	.destroy_comp_cntr	= rnic_sw_destroy_comp_cntr,
#endif
	.destroy_cq		= rnic_sw_destroy_cq,
	.destroy_qp		= rnic_sw_destroy_qp,
	.destroy_srq		= rnic_sw_destroy_srq,
#if IBVERBS_PABI_VERSION >= 64
	.free_buf		= rnic_sw_free_buf,
#endif
	.free_context		= free_context,
	.import_mr		= rnic_sw_import_mr,
	.import_pd		= rnic_sw_import_pd,
#if IBVERBS_PABI_VERSION >= 65
	.inc_comp_cntr		= ibv_cmd_inc_comp_cntr,
	.inc_err_comp_cntr	= ibv_cmd_inc_err_comp_cntr,
#endif
	.modify_qp		= rnic_sw_modify_qp,
	.modify_qp_rate_limit	= rnic_sw_modify_qp_rate_limit,
	.modify_srq		= rnic_sw_modify_srq,
	.poll_cq		= rnic_sw_poll_cq,
	.post_recv		= rnic_sw_post_recv,
	.post_send		= rnic_sw_post_send,
	.post_srq_recv		= rnic_sw_post_srq_recv,
#if IBVERBS_PABI_VERSION >= 65
	.qp_attach_comp_cntr	= rnic_sw_qp_attach_comp_cntr,
	.query_comp_cntr_caps	= ibv_cmd_query_comp_cntr_caps,
#endif
	.query_device_ex	= rnic_sw_query_device_ex,
	.query_port		= rnic_sw_query_port,
#if IBVERBS_PABI_VERSION >= 64
	.query_port_speed	= ibv_cmd_query_port_speed,
#endif
	.query_qp		= rnic_sw_query_qp,
	.query_rt_values	= rnic_sw_query_rt_values,
	.query_srq		= rnic_sw_query_srq,
#if IBVERBS_PABI_VERSION >= 65
	.read_comp_cntr		= ibv_cmd_read_comp_cntr,
	.read_err_comp_cntr	= ibv_cmd_read_err_comp_cntr,
#endif
	.reg_dmabuf_mr		= rnic_sw_reg_dmabuf_mr,
	.reg_mr			= rnic_sw_reg_mr,
	.req_notify_cq		= rnic_sw_req_notify_cq,
	.rereg_mr		= rnic_sw_rereg_mr,
	.resize_cq		= rnic_sw_resize_cq,
#if IBVERBS_PABI_VERSION >= 65
	.set_comp_cntr		= ibv_cmd_set_comp_cntr,
	.set_err_comp_cntr	= ibv_cmd_set_err_comp_cntr,
#endif
	.unimport_mr		= rnic_sw_unimport_mr,
	.unimport_pd		= rnic_sw_unimport_pd,
};

/* Create a context in the kernel. Return: 0 or a positive errno */
static int create_kernel_context(struct verbs_context *vctx,
				 struct rnic_sw_cmd_alloc_ctx_resp *resp)
{
	struct rnic_sw_cmd_alloc_ctx cmd = {};

#if IBVERBS_PABI_VERSION > 34
	return ibv_cmd_get_context(vctx, &cmd.ibv_cmd, sizeof(cmd), NULL,
				   &resp->ibv_resp, sizeof(*resp));
#else
	return ibv_cmd_get_context(vctx, &cmd.ibv_cmd, sizeof(cmd),
				   &resp->ibv_resp, sizeof(*resp));
#endif
}

/*
 * Create a context in the kernel, and read the kernel's optional features from
 * the response
 */
static int create_context_and_read_features(struct rnic_sw_context *ctx)
{
	struct rnic_sw_cmd_alloc_ctx_resp resp = {};
	int ret = create_kernel_context(&ctx->vctx, &resp);

	ctx->can_pack = resp.drv_payload.comp_mask & RNIC_SW_CTX_PACKS;
	ctx->takes_dlid = resp.drv_payload.comp_mask & RNIC_SW_CTX_DLID;
	ctx->has_doorbells = resp.drv_payload.comp_mask & RNIC_SW_CTX_DOORBELL;
	ctx->may_busy_poll = resp.drv_payload.comp_mask & RNIC_SW_CTX_BUSY_POLL;
	return ret;
}

/*
 * Query an existing kernel context. This command does not report the kernel's
 * optional features, so the provider uses no optional feature.
 */
static int query_kernel_context(struct rnic_sw_context *ctx)
{
	return ibv_cmd_query_context(&ctx->vctx.context, NULL);
}

/*
 * Read the environment variable RNIC_SW_LLP, but not in set-user-ID programs.
 * Return: enum rnic_sw_llp, RNIC_SW_LLP_DEFAULT if the variable is not set; -1
 * if its value is invalid.
 */
static int read_env_llp(void)
{
	const char *word = secure_getenv("RNIC_SW_LLP");

	if (!word || !*word)
		return RNIC_SW_LLP_DEFAULT;
	if (!strcmp(word, "tcp"))
		return RNIC_SW_LLP_TCP;
	if (!strcmp(word, "sctp"))
		return RNIC_SW_LLP_SCTP;
	return -1;
}

/**
 * rnic_sw_init_context - initialize the provider's part of a context
 * @ctx: the context; the provider's part must be zeroed
 *
 * Reads the environment only here: a later read could race with a thread that
 * changes the environment.
 */
void rnic_sw_init_context(struct rnic_sw_context *ctx)
{
	ctx->env_llp = read_env_llp();
	ctx->doorbell_fd = -1;
	pthread_mutex_init(&ctx->doorbell_lock, NULL);
	pthread_mutex_init(&ctx->pages_lock, NULL);
	pthread_mutex_init(&ctx->destroying_lock, NULL);
	list_head_init(&ctx->destroying);
}

static struct verbs_context *create_context(struct ibv_device *ibdev, int cmd_fd,
					    int (*command)(struct rnic_sw_context *))
{
	struct rnic_sw_context *ctx;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, vctx,
					   RNIC_SW_DRIVER_ID);
	if (!ctx)
		return NULL;
	if (command(ctx)) {
		verbs_uninit_context(&ctx->vctx);
		free(ctx);
		return NULL;
	}
	rnic_sw_init_context(ctx);
	verbs_set_ops(&ctx->vctx, &context_ops);
	return &ctx->vctx;
}

static struct verbs_context *alloc_context(struct ibv_device *ibdev,
					   int cmd_fd, void *private_data)
{
	return create_context(ibdev, cmd_fd, create_context_and_read_features);
}

/* Create a context for another file descriptor of an existing kernel context */
static struct verbs_context *import_context(struct ibv_device *ibdev,
					    int cmd_fd)
{
	return create_context(ibdev, cmd_fd, query_kernel_context);
}

static void free_context(struct ibv_context *ibctx)
{
	struct rnic_sw_context *ctx = to_ctx(ibctx);

	rnic_sw_close_doorbell_file(ctx);
	pthread_mutex_destroy(&ctx->destroying_lock);
	pthread_mutex_destroy(&ctx->pages_lock);
	pthread_mutex_destroy(&ctx->doorbell_lock);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

/*
 * Match devices by driver ID, because the administrator may give a device any
 * name
 */
static const struct verbs_match_ent match_table[] = {
	VERBS_DRIVER_ID(RNIC_SW_DRIVER_ID),
	{},
};

const struct verbs_device_ops rnic_sw_dev_ops = {
	.name			= "rnic_sw",
	.match_min_abi_version	= RNIC_SW_ABI_VERSION,
	.match_max_abi_version	= RNIC_SW_ABI_VERSION,
	.match_table		= match_table,
	.alloc_device		= alloc_device,
	.uninit_device		= uninit_device,
	.alloc_context		= alloc_context,
	.import_context		= import_context,
};

PROVIDER_DRIVER(rnic_sw, rnic_sw_dev_ops);

__thread char rnic_sw_thread_tag;

/* Check whether @bytes are enough for a ring with the slots and stride of @q */
static bool is_valid_ring(const struct rnic_sw_queue *q, size_t bytes)
{
	return q->slots && !(q->slots & (q->slots - 1)) && !(q->stride % 8) &&
	       bytes >= RNIC_SW_RING_HDR &&
	       (bytes - RNIC_SW_RING_HDR) / q->slots >= q->stride;
}

static void set_ring_memory(struct rnic_sw_queue *q, void *mem)
{
	q->hdr = mem;
	q->slot0 = (uint8_t *)mem + RNIC_SW_RING_HDR;
}

static void *map_unshared_ring(struct ibv_context *ctx, const struct rnic_sw_ring_loc *at)
{
	void *mem = mmap(NULL, at->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd,
			 (off_t)at->key);

	return mem == MAP_FAILED ? NULL : mem;
}

/* Check whether the location that the kernel reported can contain the ring of @q */
static bool is_valid_ring_loc(const struct rnic_sw_queue *q, const struct rnic_sw_ring_loc *at)
{
	return at->offset <= at->bytes && !(at->offset % RNIC_SW_RING_HDR) &&
	       (at->number || !at->offset) && is_valid_ring(q, at->bytes - at->offset);
}

/**
 * rnic_sw_map_queue - map the ring of a queue
 * @q: the queue, with slots and stride as the kernel reported them
 * @ctx: the context
 * @at: location of the ring, as the kernel reported it
 *
 * @q is unchanged on failure.
 *
 * Return: 0; or a positive errno, also in errno, if @q and @at do not describe
 * a ring or the ring cannot be mapped.
 */
int rnic_sw_map_queue(struct rnic_sw_queue *q, struct ibv_context *ctx,
		      const struct rnic_sw_ring_loc *at)
{
	struct rnic_sw_page *page = NULL;
	void *mem = NULL;

	if (!is_valid_ring_loc(q, at)) {
		errno = EINVAL;
		return errno;
	}
	if (at->number)
		page = rnic_sw_get_page(to_ctx(ctx), at, &mem);
	else
		mem = map_unshared_ring(ctx, at);
	if (!mem)
		return errno;
	q->page = page;
	q->bytes = at->bytes - at->offset;
	set_ring_memory(q, (uint8_t *)mem + at->offset);
	return 0;
}

/**
 * rnic_sw_set_up_ring_in_mapping - set up the ring of a queue in another queue's mapping
 * @q: the queue, with slots and stride as the kernel reported them; @q->bytes
 *	stays 0, so that only @first unmaps the mapping
 * @first: the queue that owns the mapping; its ring must be mapped
 * @offset: distance from the ring of @first to the ring of @q, in bytes
 *
 * @q is unchanged on failure.
 *
 * Return: 0; EINVAL, also in errno, if @q does not fit into the mapping after
 * the ring of @first.
 */
int rnic_sw_set_up_ring_in_mapping(struct rnic_sw_queue *q,
				   const struct rnic_sw_queue *first, uint32_t offset)
{
	size_t taken = RNIC_SW_RING_HDR + (size_t)first->slots * first->stride;

	if (offset < taken || offset > first->bytes ||
	    offset % RNIC_SW_RING_HDR ||
	    !is_valid_ring(q, first->bytes - offset)) {
		errno = EINVAL;
		return errno;
	}
	set_ring_memory(q, (uint8_t *)first->hdr + offset);
	return 0;
}

void rnic_sw_unmap_queue(struct rnic_sw_queue *q)
{
	if (q->hdr && q->page)
		rnic_sw_put_page(q->page);
	else if (q->hdr && q->bytes)
		munmap(q->hdr, q->bytes);
	q->hdr = NULL;
}

void rnic_sw_init_queue(struct rnic_sw_queue *q, bool unlocked)
{
	pthread_spin_init(&q->lock, PTHREAD_PROCESS_PRIVATE);
	q->unlocked = unlocked;
}

void rnic_sw_fini_queue(struct rnic_sw_queue *q)
{
	rnic_sw_unmap_queue(q);
	pthread_spin_destroy(&q->lock);
}
