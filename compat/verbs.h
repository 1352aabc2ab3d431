/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Adaptors for ib_device_ops whose signatures differ from kernel to kernel.
 * Ours have the narrow one that every kernel can supply.
 */
#ifndef _COMPAT_VERBS_H
#define _COMPAT_VERBS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#ifdef HAVE_CREATE_CQ_ATTRS
static int compat_create_user_cq(struct ib_cq *cq,
				 const struct ib_cq_init_attr *attr,
				 struct uverbs_attr_bundle *attrs)
{
	return rnic_create_user_cq(cq, attr, &attrs->driver_udata);
}
#else
#define compat_create_user_cq	rnic_create_user_cq
#endif

/* Older kernels have one op for a program's and for their own */
#ifdef HAVE_CREATE_USER_CQ
static int compat_create_cq(struct ib_cq *cq,
			    const struct ib_cq_init_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	return rnic_create_cq(cq, attr);
}

#define COMPAT_CREATE_USER_CQ	.create_user_cq = compat_create_user_cq,
#else
#ifdef HAVE_CREATE_CQ_ATTRS
#define compat_cq_arg		uverbs_attr_bundle
#else
#define compat_cq_arg		ib_udata
#endif
static int compat_create_cq(struct ib_cq *cq,
			    const struct ib_cq_init_attr *attr,
			    struct compat_cq_arg *arg)
{
	return arg ? compat_create_user_cq(cq, attr, arg) :
		     rnic_create_cq(cq, attr);
}

#define COMPAT_CREATE_USER_CQ
#endif

#ifdef HAVE_RESIZE_USER_CQ
#define compat_resize_cq	rnic_resize_user_cq
#define COMPAT_RESIZE_CQ	.resize_user_cq
#else
static int compat_resize_cq(struct ib_cq *cq, int cqe, struct ib_udata *udata)
{
	if (!udata)
		return -EOPNOTSUPP;
	return cqe < 0 ? -EINVAL : rnic_resize_user_cq(cq, cqe, udata);
}

#define COMPAT_RESIZE_CQ	.resize_cq
#endif

#ifdef HAVE_REG_MR_DMAH
static struct ib_mr *compat_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
					u64 iova, int access,
					struct ib_dmah *dmah,
					struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return rnic_reg_user_mr(pd, start, length, iova, access, udata);
}
#else
#define compat_reg_user_mr	rnic_reg_user_mr
#endif

#ifdef HAVE_ROBUST_UDATA
#define COMPAT_ROBUST_UDATA	.uverbs_robust_udata = 1,
#else
#define COMPAT_ROBUST_UDATA
#endif

#ifdef HAVE_FILL_RES_SRQ
#define COMPAT_FILL_RES_SRQ	.fill_res_srq_entry = rnic_show_srq,
#else
#define COMPAT_FILL_RES_SRQ
#endif

#ifdef HAVE_COUNTER_PORT
static int compat_counter_bind(struct rdma_counter *counter, struct ib_qp *qp,
			       u32 port)
{
	return rnic_counter_bind(counter, qp);
}

static int compat_counter_unbind(struct ib_qp *qp, u32 port)
{
	return rnic_counter_unbind(qp);
}
#else
#define compat_counter_bind	rnic_counter_bind
#define compat_counter_unbind	rnic_counter_unbind
#endif

/* The driver says how large a counter is; nothing of ours is in it */
#ifdef HAVE_COUNTER_INIT
struct compat_counter {
	struct rdma_counter	core;
};

static void compat_counter_init(struct rdma_counter *counter)
{
}

#define COMPAT_COUNTER_INIT						\
	.counter_init = compat_counter_init,				\
	INIT_RDMA_OBJ_SIZE(rdma_counter, compat_counter, core),
#else
#define COMPAT_COUNTER_INIT
#endif

/* Members of the ops table, to be named in its initializer */
#define COMPAT_VERBS_OPS				\
	COMPAT_ROBUST_UDATA				\
	COMPAT_FILL_RES_SRQ				\
	COMPAT_COUNTER_INIT				\
	.counter_bind_qp = compat_counter_bind,		\
	.counter_unbind_qp = compat_counter_unbind,	\
	.create_cq = compat_create_cq,			\
	COMPAT_CREATE_USER_CQ				\
	COMPAT_RESIZE_CQ = compat_resize_cq,		\
	.reg_user_mr = compat_reg_user_mr

#endif
