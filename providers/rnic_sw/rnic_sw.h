/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* libibverbs provider for rnic_sw, the software iWARP RNIC. */
#ifndef RNIC_SW_H
#define RNIC_SW_H

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <ccan/list.h>
#include <infiniband/driver.h>
#include <infiniband/kern-abi.h>
#include <kernel-abi/rnic_sw-abi.h>
#include <rdma/rnic_sw-abi.h>
#include <util/compiler.h>

#include "ring.h"
#include "rnic_sw_dv.h"

DECLARE_DRV_CMD(rnic_sw_cmd_alloc_ctx, IB_USER_VERBS_CMD_GET_CONTEXT,
		rnic_sw_alloc_ctx, rnic_sw_alloc_ctx_resp);
DECLARE_DRV_CMD(rnic_sw_cmd_create_cq, IB_USER_VERBS_CMD_CREATE_CQ,
		rnic_sw_create_cq, rnic_sw_create_cq_resp);
DECLARE_DRV_CMD(rnic_sw_cmd_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		rnic_sw_resize_cq, rnic_sw_resize_cq_resp);
DECLARE_DRV_CMD(rnic_sw_cmd_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		rnic_sw_create_qp, rnic_sw_create_qp_resp);
DECLARE_DRV_CMD(rnic_sw_cmd_modify_qp, IB_USER_VERBS_EX_CMD_MODIFY_QP,
		rnic_sw_modify_qp, empty);
DECLARE_DRV_CMD(rnic_sw_cmd_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		rnic_sw_create_srq, rnic_sw_create_srq_resp);

/* Context: an open device */
struct rnic_sw_context {
	struct verbs_context	vctx;
	uint32_t		llp;	/* enum rnic_sw_llp set by rnic_sw_dv_set_llp() */
	int			env_llp;	/* enum rnic_sw_llp from RNIC_SW_LLP; -1: invalid */
	bool			can_pack;	/* kernel can put several rings in a mapping */
	bool			takes_dlid;	/* kernel accepts the LID of a peer */
	bool			has_doorbells;	/* kernel has doorbell files */
	bool			may_busy_poll;	/* the device permits polling of its network device */
	int			doorbell_fd;	/* doorbell file; -1: none */
	pthread_mutex_t		doorbell_lock;	/* held to allocate the doorbell file */
	pthread_mutex_t		pages_lock;	/* protects pages and the mappings in it */
	void			*pages;	/* tsearch(3) tree of shared mappings, sorted by number */
	/* QPs that are being destroyed, whose numbers no new QP may get */
	struct list_head	destroying;
	pthread_mutex_t		destroying_lock;	/* not held during commands */
};

/* Thread domain */
struct rnic_sw_td {
	struct ibv_td		ibtd;
	atomic_int		refs;	/* number of parent domains that use this thread domain */
};

/* Protection domain, or parent domain if @domain is set */
struct rnic_sw_pd {
	struct ibv_pd		ibpd;
	/* reference count: 1 for the program, and 1 for each object and parent domain on this PD */
	atomic_int		refs;
	atomic_int		parents;	/* number of parent domains of this domain */
	struct rnic_sw_pd	*domain;	/* protection domain of a parent domain, or NULL */
	struct rnic_sw_td	*td;	/* thread domain of a parent domain, or NULL */
	/* functions of the program that allocate and free memory of queues, or NULL */
	void			*(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size,
					  size_t alignment, uint64_t resource_type);
	void			(*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
					uint64_t resource_type);
	void			*pd_context;	/* argument of @alloc and @free */
};

struct rnic_sw_cq {
	struct verbs_cq		vcq;
	struct rnic_sw_queue	q;
	pthread_spinlock_t	arm_lock;	/* held to arm the CQ and to replace q.hdr */
	pthread_mutex_t		resize_lock;	/* serializes resizes; see lock_for_resize() */
	struct rnic_sw_cqe	cqe;		/* current completion of start_poll and next_poll */
	atomic_uintptr_t	poller;	/* thread between start_poll and end_poll; 0: none */
	atomic_int		refs;		/* number of SQs and RQs that complete to this CQ */
	/* with busy polling: successive empty polls, for rnic_sw_busy_poll(); protected by q.lock */
	int			empty_polls;
	/*
	 * with busy polling: number in the doorbell file of the QP whose network device is polled
	 * while this CQ is empty; it may be that of a destroyed QP; 0: none
	 */
	atomic_uint		busy_doorbell;
	struct ibv_pd		*parent;	/* parent domain given at creation, or NULL */
	struct ibv_pd		*owner;		/* PD whose alloc() returned this struct, or NULL */
};

struct rnic_sw_srq {
	struct ibv_srq		ibsrq;
	struct rnic_sw_queue	q;
	uint32_t		max_sge;	/* maximum number of SGEs of a receive */
	struct ibv_pd		*owner;		/* PD whose alloc() returned this struct, or NULL */
};

struct rnic_sw_qp {
	struct verbs_qp		vqp;
	struct list_node	destroying;	/* entry in the context's list */
	struct rnic_sw_queue	sq;
	struct rnic_sw_queue	rq;
	uint32_t		max_send_sge;	/* maximum number of SGEs of a send request */
	uint32_t		max_recv_sge;	/* maximum number of SGEs of a receive */
	uint32_t		max_inline;	/* maximum inline data, in bytes */
	uint32_t		doorbell;	/* number in the doorbell file; 0: none */
	int			doorbell_fd;	/* the context's doorbell file; -1: none */
	struct ibv_pd		*owner;		/* PD whose alloc() returned this struct, or NULL */

	atomic_uintptr_t	poster;	/* thread between wr_start and wr_complete; 0: none */

	/* valid between wr_start and wr_complete; protected by sq.lock */
	uint32_t		wr_first;	/* value of sq.prod at wr_start */
	int			wr_error;	/* first error, a positive errno; 0 if none */
	struct rnic_sw_sqe	*wr_sqe;	/* work request being built */
	struct rnic_sw_sqe	wr_spare;	/* buffer for work requests that are discarded */
};

#define RNIC_SW_POST_FLAGS	(IBV_SEND_FENCE | IBV_SEND_SIGNALED |	\
				 IBV_SEND_SOLICITED)

static_assert((int)IBV_SEND_FENCE == RNIC_SW_SEND_FENCE &&
	      (int)IBV_SEND_SIGNALED == RNIC_SW_SEND_SIGNALED &&
	      (int)IBV_SEND_SOLICITED == RNIC_SW_SEND_SOLICITED,
	      "the send flags of verbs and of the ABI must have the same values");
static_assert(sizeof(struct ibv_sge) == sizeof(struct rnic_sw_sge) &&
	      offsetof(struct ibv_sge, length) ==
	      offsetof(struct rnic_sw_sge, length) &&
	      offsetof(struct ibv_sge, lkey) ==
	      offsetof(struct rnic_sw_sge, lkey),
	      "the SGEs of verbs and of the ABI must have the same layout");
static_assert(sizeof(struct rnic_sw_ring) == RNIC_SW_RING_HDR &&
	      sizeof(struct rnic_sw_sqe) == 64 &&
	      offsetof(struct rnic_sw_ring, cons) == 64 &&
	      offsetof(struct rnic_sw_ring, flags) == 68 &&
	      offsetof(struct rnic_sw_sqe, remote_addr) == 24 &&
	      offsetof(struct rnic_sw_sqe, bind.addr) == 24 &&
	      offsetof(struct rnic_sw_sqe, bind.access) == 40 &&
	      offsetof(struct rnic_sw_sqe, reserved) == 48 &&
	      sizeof(struct rnic_sw_rqe) == 16 &&
	      sizeof(struct rnic_sw_cqe) == 32 &&
	      offsetof(struct rnic_sw_cqe, vendor_err) == 20 &&
	      offsetof(struct rnic_sw_cqe, timestamp) == 24,
	      "the memory shared with the kernel must have the layout of the ABI");
static_assert(sizeof(struct rnic_sw_alloc_ctx_resp) == 16 &&
	      sizeof(struct rnic_sw_create_cq) == 16 &&
	      sizeof(struct rnic_sw_create_cq_resp) == 40 &&
	      offsetof(struct rnic_sw_create_cq_resp, map_number) == 24 &&
	      sizeof(struct rnic_sw_resize_cq) == 16 &&
	      sizeof(struct rnic_sw_resize_cq_resp) == 24 &&
	      sizeof(struct rnic_sw_modify_qp) == 8 &&
	      sizeof(struct rnic_sw_create_srq) == 8 &&
	      sizeof(struct rnic_sw_create_srq_resp) == 40 &&
	      offsetof(struct rnic_sw_create_srq_resp, map_number) == 24 &&
	      sizeof(struct rnic_sw_create_qp) == 16 &&
	      sizeof(struct rnic_sw_create_qp_resp) == 56 &&
	      offsetof(struct rnic_sw_create_qp_resp, map_number) == 40 &&
	      offsetof(struct rnic_sw_create_qp_resp, doorbell) == 52,
	      "the commands must have the layout of the ABI");

static inline struct rnic_sw_context *to_ctx(struct ibv_context *ctx)
{
	return container_of(ctx, struct rnic_sw_context, vctx.context);
}

static inline struct rnic_sw_pd *to_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct rnic_sw_pd, ibpd);
}

static inline struct rnic_sw_td *to_td(struct ibv_td *td)
{
	return container_of(td, struct rnic_sw_td, ibtd);
}

static inline struct rnic_sw_cq *to_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct rnic_sw_cq, vcq.cq);
}

static inline struct rnic_sw_cq *to_cq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct rnic_sw_cq, vcq.cq_ex);
}

static inline struct rnic_sw_srq *to_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct rnic_sw_srq, ibsrq);
}

static inline struct rnic_sw_qp *to_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct rnic_sw_qp, vqp.qp);
}

static inline struct rnic_sw_qp *to_qp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct rnic_sw_qp, vqp.qp_ex);
}

/* Initialize the fields that every send work request has; zero all other fields */
static inline void rnic_sw_begin_sqe(struct rnic_sw_sqe *sqe, uint64_t wr_id,
				     enum rnic_sw_opcode opcode,
				     unsigned int flags)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->wr_id = wr_id;
	sqe->opcode = opcode;
	sqe->flags = flags & RNIC_SW_POST_FLAGS;
}

/*
 * Copy the @n SGEs of a work request to its slot. Most requests have one SGE. The compiler replaces
 * a memcpy() of constant size by two instructions, which cost less than the call.
 */
static inline void rnic_sw_copy_sges(void *to, const struct ibv_sge *sges, size_t n)
{
	if (n == 1)
		memcpy(to, sges, sizeof(*sges));
	else if (n)
		memcpy(to, sges, n * sizeof(*sges));
}

/* Convert a time to nanoseconds, in 64 bits even if time_t is shorter */
static inline uint64_t rnic_sw_to_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/*
 * Disable cancellation of this thread while it destroys an object that has
 * events. libibverbs waits at a cancellation point until the program has
 * acknowledged the events. If the thread were cancelled at that point, the kernel
 * would have destroyed its object, but the provider's object would leak, and a
 * lock of libibverbs would stay locked.
 *
 * Return: the previous state, for rnic_sw_restore_cancel().
 */
static inline int rnic_sw_disable_cancel(void)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	return old;
}

/* Restore the cancellation state @old, which rnic_sw_disable_cancel() returned */
static inline void rnic_sw_restore_cancel(int old)
{
	pthread_setcancelstate(old, &old);
}

extern __thread char rnic_sw_thread_tag;

/* Return a number that identifies this thread; never 0 */
static inline uintptr_t rnic_sw_get_thread_id(void)
{
	return (uintptr_t)&rnic_sw_thread_tag;
}

/*
 * Check whether this thread is between start_poll and end_poll of a CQ, and
 * therefore holds q.lock
 */
static inline bool rnic_sw_is_this_thread_polling(struct rnic_sw_cq *cq)
{
	return cq->poller == rnic_sw_get_thread_id();
}

void rnic_sw_init_context(struct rnic_sw_context *ctx);

/* Check whether the opcode of a work request permits data: SGEs or inline data */
static inline bool rnic_sw_may_have_data(const struct rnic_sw_sqe *sqe)
{
	return sqe->opcode != RNIC_SW_OP_LOCAL_INV &&
	       sqe->opcode != RNIC_SW_OP_BIND_MW;
}

/* Location of a ring, as reported by the kernel when it creates the ring */
struct rnic_sw_ring_loc {
	uint64_t	key;		/* mmap offset of the whole mapping */
	uint64_t	number;		/* id of the mapping if other rings can share it, or 0 */
	uint32_t	bytes;		/* length of the whole mapping, in bytes */
	uint32_t	offset;		/* offset of the ring in the mapping, in bytes */
};

/* page.c */
struct rnic_sw_page *rnic_sw_get_page(struct rnic_sw_context *ctx,
				      const struct rnic_sw_ring_loc *at, void **mem);
void rnic_sw_put_page(struct rnic_sw_page *page);

/* rnic_sw.c: map rings that the kernel has created; set errno on failure */
int rnic_sw_map_queue(struct rnic_sw_queue *q, struct ibv_context *ctx,
		      const struct rnic_sw_ring_loc *at);
int rnic_sw_set_up_ring_in_mapping(struct rnic_sw_queue *q,
				   const struct rnic_sw_queue *first, uint32_t offset);
void rnic_sw_unmap_queue(struct rnic_sw_queue *q);
void rnic_sw_init_queue(struct rnic_sw_queue *q, bool unlocked);
void rnic_sw_fini_queue(struct rnic_sw_queue *q);

/* verbs.c */
int rnic_sw_query_device_ex(struct ibv_context *ctx,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t attr_size);
int rnic_sw_query_port(struct ibv_context *ctx, uint8_t port,
		       struct ibv_port_attr *attr);
int rnic_sw_query_rt_values(struct ibv_context *ctx,
			    struct ibv_values_ex *values);
struct ibv_pd *rnic_sw_alloc_pd(struct ibv_context *ctx);
struct ibv_pd *
rnic_sw_alloc_parent_domain(struct ibv_context *ctx,
			    struct ibv_parent_domain_init_attr *attr);
int rnic_sw_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_pd *rnic_sw_get_pd(struct ibv_pd *ibpd);
void rnic_sw_put_pd(struct ibv_pd *ibpd);
struct ibv_pd *rnic_sw_import_pd(struct ibv_context *ctx, uint32_t handle);
void rnic_sw_unimport_pd(struct ibv_pd *ibpd);
struct ibv_td *rnic_sw_alloc_td(struct ibv_context *ctx,
				struct ibv_td_init_attr *attr);
int rnic_sw_dealloc_td(struct ibv_td *ibtd);
struct ibv_mr *rnic_sw_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			      uint64_t iova, int access);
int rnic_sw_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		     void *addr, size_t length, int access);
struct ibv_mr *rnic_sw_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				     size_t length, uint64_t iova, int fd,
				     int access);
int rnic_sw_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		      uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge);
int rnic_sw_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *rnic_sw_import_mr(struct ibv_pd *pd, uint32_t handle);
void rnic_sw_unimport_mr(struct ibv_mr *mr);

/* memory.c */
void *rnic_sw_alloc_queue(struct ibv_pd *ibpd, size_t size,
			  enum rnic_sw_dv_res_type type, struct ibv_pd **owner);
void rnic_sw_free_queue(void *mem, enum rnic_sw_dv_res_type type, struct ibv_pd *owner);
#if IBVERBS_PABI_VERSION >= 64
void *rnic_sw_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **ibbuf);
void rnic_sw_free_buf(struct ibv_buf *buf);
#endif

/* cq.c */
struct ibv_cq *rnic_sw_create_cq(struct ibv_context *ctx, int cqe,
				 struct ibv_comp_channel *channel, int vector);
struct ibv_cq_ex *rnic_sw_create_cq_ex(struct ibv_context *ctx,
				       struct ibv_cq_init_attr_ex *attr);
int rnic_sw_resize_cq(struct ibv_cq *ibcq, int cqe);
int rnic_sw_destroy_cq(struct ibv_cq *ibcq);
#if IBVERBS_PABI_VERSION >= 65
struct ibv_comp_cntr *
rnic_sw_create_comp_cntr(struct ibv_context *ctx, struct ibv_comp_cntr_init_attr *attr);
int rnic_sw_destroy_comp_cntr(struct ibv_comp_cntr *cntr);
int rnic_sw_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
				struct ibv_qp_attach_comp_cntr_attr *attr);
#endif

/* poll.c */
int rnic_sw_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc);
int rnic_sw_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void rnic_sw_set_cq_ex_functions(struct rnic_sw_cq *cq, uint64_t wc_flags);
void rnic_sw_remove_cqes(struct rnic_sw_cq *cq, uint32_t qp_num);

/* qp.c */
struct ibv_qp *rnic_sw_create_qp(struct ibv_pd *pd,
				 struct ibv_qp_init_attr *attr);
struct ibv_qp *rnic_sw_create_qp_ex(struct ibv_context *ctx,
				    struct ibv_qp_init_attr_ex *attr);
int rnic_sw_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int rnic_sw_modify_qp_rate_limit(struct ibv_qp *qp,
				 struct ibv_qp_rate_limit_attr *attr);
int rnic_sw_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init);
int rnic_sw_destroy_qp(struct ibv_qp *ibqp);

/* post.c */
int rnic_sw_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr);
int rnic_sw_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);
bool rnic_sw_publish_sends(struct rnic_sw_queue *q);
bool rnic_sw_publish_receives(struct rnic_sw_queue *q);
void rnic_sw_wait_posts(struct rnic_sw_queue *q, bool locked);
void rnic_sw_ring_sq_doorbell(struct rnic_sw_qp *qp);
int rnic_sw_retry_sq_doorbell(struct rnic_sw_qp *qp);
int rnic_sw_queue_recv(struct rnic_sw_queue *q, uint32_t max_sge,
		       const struct ibv_recv_wr *wr);

int rnic_sw_post_bind(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr);
void rnic_sw_fill_bind(struct rnic_sw_sqe *sqe, uint32_t rkey,
		       const struct ibv_mw_bind_info *info);

/* mw.c */
struct ibv_mw *rnic_sw_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int rnic_sw_dealloc_mw(struct ibv_mw *mw);
int rnic_sw_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		    struct ibv_mw_bind *bind);

/* srq.c */
struct ibv_srq *rnic_sw_create_srq(struct ibv_pd *pd,
				   struct ibv_srq_init_attr *attr);
int rnic_sw_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		       int mask);
int rnic_sw_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int rnic_sw_destroy_srq(struct ibv_srq *ibsrq);
int rnic_sw_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad_wr);

/* rnic_sw.c */
extern const struct verbs_device_ops rnic_sw_dev_ops;

/* doorbell.c */
int rnic_sw_open_doorbell_file(struct rnic_sw_context *ctx);
void rnic_sw_close_doorbell_file(struct rnic_sw_context *ctx);
int rnic_sw_ring_sq_doorbell_once(struct rnic_sw_qp *qp);
void rnic_sw_set_busy_qp(const struct rnic_sw_qp *qp, struct ibv_cq *send_cq,
			 struct ibv_cq *recv_cq);
bool rnic_sw_count_busy_poll(struct rnic_sw_cq *cq, bool empty);
void rnic_sw_busy_poll(struct rnic_sw_cq *cq);
int rnic_sw_ring_rq_doorbell_once(struct rnic_sw_qp *qp);
void rnic_sw_ring_srq_doorbell(struct rnic_sw_srq *srq);

/* wr.c */
extern const uint64_t rnic_sw_send_ops;	/* supported IBV_QP_EX_WITH_* operations */
void rnic_sw_set_qp_ex_functions(struct rnic_sw_qp *qp);

#endif
