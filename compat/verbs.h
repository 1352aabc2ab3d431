/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Adaptors from struct ib_device_ops of older kernels to the driver's functions,
 * which have the signatures of the newest kernel. If a member of struct
 * ib_device_ops has another signature in this kernel, a macro replaces the name of
 * the driver's function with that of an adaptor. If only some kernels have a member,
 * a macro contains its initializer, and is empty in the other kernels.
 */
#ifndef _COMPAT_VERBS_H
#define _COMPAT_VERBS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "settings.h"

/*
 * Create user-space CQs and kernel CQs in one function: older kernels have only
 * the member create_cq, and pass it driver data only for user-space CQs
 */
#ifdef HAVE_CREATE_USER_CQ
#define COMPAT_CREATE_USER_CQ	.create_user_cq = rnic_create_user_cq,
#else
#define COMPAT_CREATE_USER_CQ
#ifdef HAVE_CREATE_CQ_ATTRS
#define compat_cq_arg		uverbs_attr_bundle
#define compat_cq_attrs(arg)	(arg)
#else
#define compat_cq_arg		ib_udata
#define compat_cq_attrs(arg)	\
	container_of(arg, struct uverbs_attr_bundle, driver_udata)
#endif
static int compat_create_cq(struct ib_cq *cq,
			    const struct ib_cq_init_attr *attr,
			    struct compat_cq_arg *arg)
{
	return arg ? rnic_create_user_cq(cq, attr, compat_cq_attrs(arg)) :
		     rnic_create_cq(cq, attr, NULL);
}

#define rnic_create_cq		compat_create_cq
#endif

#ifdef HAVE_RESIZE_USER_CQ
#define COMPAT_RESIZE_CQ	.resize_user_cq = rnic_resize_user_cq,
#else
static int compat_resize_cq(struct ib_cq *cq, int cqe, struct ib_udata *udata)
{
	if (!udata)
		return -EOPNOTSUPP;
	return cqe < 0 ? -EINVAL : rnic_resize_user_cq(cq, cqe, udata);
}

#define COMPAT_RESIZE_CQ	.resize_cq = compat_resize_cq,
#endif

#ifndef HAVE_REG_MR_DMAH
static struct ib_mr *compat_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
					u64 iova, int access,
					struct ib_udata *udata)
{
	return rnic_reg_user_mr(pd, start, length, iova, access, NULL, udata);
}

#define rnic_reg_user_mr	compat_reg_user_mr
#endif

#ifndef HAVE_REG_DMABUF_DMAH
#ifdef HAVE_REG_DMABUF_ATTRS
#define compat_dmabuf_arg	uverbs_attr_bundle
#define compat_dmabuf_attrs(a)	(a)
#else
#define compat_dmabuf_arg	ib_udata
#define compat_dmabuf_attrs(a)	\
	container_of(a, struct uverbs_attr_bundle, driver_udata)
#endif
static struct ib_mr *compat_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
					       u64 iova, int fd, int access,
					       struct compat_dmabuf_arg *arg)
{
	return rnic_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access,
				       NULL, compat_dmabuf_attrs(arg));
}

#define rnic_reg_user_mr_dmabuf	compat_reg_user_mr_dmabuf
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

/*
 * Pass port number 1 to the driver: in older kernels these operations have no
 * port parameter, and the device has one port
 */
#ifndef HAVE_COUNTER_PORT
static int compat_counter_bind(struct rdma_counter *counter, struct ib_qp *qp)
{
	return rnic_counter_bind(counter, qp, 1);
}

static int compat_counter_unbind(struct ib_qp *qp)
{
	return rnic_counter_unbind(qp, 1);
}

#define rnic_counter_bind	compat_counter_bind
#define rnic_counter_unbind	compat_counter_unbind
#endif

#ifdef HAVE_COUNTER_INIT
#define COMPAT_COUNTER_INIT						\
	.counter_init = rnic_counter_init,				\
	INIT_RDMA_OBJ_SIZE(rdma_counter, rnic_qp_counter, ib),
#else
#define COMPAT_COUNTER_INIT
#endif

#ifdef HAVE_COMP_CNTR
#define COMPAT_COMP_CNTR						\
	.create_comp_cntr = rnic_create_comp_cntr,			\
	.destroy_comp_cntr = rnic_destroy_comp_cntr,			\
	.modify_comp_cntr = rnic_modify_comp_cntr,			\
	.qp_attach_comp_cntr = rnic_qp_attach_comp_cntr,		\
	.query_comp_cntr_caps = rnic_query_comp_cntr_caps,		\
	.read_comp_cntr = rnic_read_comp_cntr,				\
	INIT_RDMA_OBJ_SIZE(ib_comp_cntr, rnic_comp_cntr, ib),
#else
#define COMPAT_COMP_CNTR
#endif

#ifdef HAVE_QUERY_PORT_SPEED
#define COMPAT_QUERY_PORT_SPEED	.query_port_speed = rnic_query_port_speed,
#else
#define COMPAT_QUERY_PORT_SPEED
#endif

/*
 * Fill in GID 1 with the hardware address of the network interface: the connection
 * manager of older kernels searches the GID table for this address. Newer kernels
 * need only GID 0. This change is not visible in any header, so Kbuild.probe tests
 * for fill_res_srq_entry, which was added later.
 */
#ifdef HAVE_FILL_RES_SRQ
#define COMPAT_GIDS	1
#define compat_fill_mac_gid(ib, port, index, gid)
#else
#include <linux/netdevice.h>

#define COMPAT_GIDS	2

static void compat_fill_mac_gid(struct ib_device *ib, u32 port, int index,
				union ib_gid *gid)
{
	struct net_device *netdev;

	if (index != 1)
		return;
	memset(gid, 0, sizeof(*gid));
	netdev = ib_device_get_netdev(ib, port);
	if (!netdev)
		return;
	memcpy(gid, netdev->dev_addr,
	       min_t(size_t, sizeof(*gid), netdev->addr_len));
	dev_put(netdev);
}
#endif

/*
 * When the core reads the GID table of a device, it deletes and adds each entry of its copy of
 * the table, even if the entry has not changed. Until GID 0 is added again, rdma_cm does not
 * find the device, and its function cma_validate_port() may use a NULL pointer as the network
 * interface. The core skips an entry if the port has no interface at that moment. So
 * compat_record_unchanged_gid() records the task that reads an entry which has not changed, and
 * compat_get_netdev(), which the core calls next in the same task, returns no interface.
 * Some kernels without fill_res_srq_entry do not call get_netdev() at that point, so this
 * workaround is used only in kernels with fill_res_srq_entry.
 */
#ifdef HAVE_GID_KEPT
#define compat_record_unchanged_gid(ib, port, index, gid)
#define COMPAT_GET_NETDEV
#else
#ifndef HAVE_FILL_RES_SRQ
#define compat_record_unchanged_gid(ib, port, index, gid)
#define COMPAT_GET_NETDEV
#else
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <rdma/ib_cache.h>

static void compat_record_unchanged_gid(struct ib_device *ib, u32 port, int index,
					const union ib_gid *gid)
{
	struct rnic_dev *dev = to_rnic_dev(ib);
	union ib_gid core;

	if (!rdma_query_gid(ib, port, index, &core) &&
	    !memcmp(&core, gid, sizeof(core)))
		WRITE_ONCE(dev->gids.reader, current);
}

static struct net_device *compat_get_netdev(struct ib_device *ib, u32 port)
{
	struct ib_port_data *pdata = &ib->port_data[port];
	struct rnic_dev *dev = to_rnic_dev(ib);
	struct net_device *netdev;

	if (READ_ONCE(dev->gids.reader) == current) {
		WRITE_ONCE(dev->gids.reader, NULL);
		return NULL;
	}
	spin_lock(&pdata->netdev_lock);
	netdev = rcu_dereference_protected(pdata->netdev, 1);
	dev_hold(netdev);
	spin_unlock(&pdata->netdev_lock);
	return netdev;
}

#define COMPAT_GET_NETDEV	.get_netdev = compat_get_netdev,
#endif
#endif

/*
 * Initializers of the members of struct ib_device_ops that only some kernels have; each
 * initializer ends with a comma
 */
#define COMPAT_VERBS_OPS	\
	COMPAT_COMP_CNTR	\
	COMPAT_CREATE_USER_CQ	\
	COMPAT_FILL_RES_SRQ	\
	COMPAT_GET_NETDEV	\
	COMPAT_PARAMS		\
	COMPAT_QUERY_PORT_SPEED	\
	COMPAT_RESIZE_CQ	\
	COMPAT_ROBUST_UDATA	\
	COMPAT_COUNTER_INIT

#endif
