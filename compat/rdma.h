/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Replacements that let the driver use the interfaces of the newest RDMA core
 * on older kernels. Included before those files of drivers/rnic_sw that need
 * replacements, and by policy.h. This file includes a header only if a
 * replacement needs the header.
 */
#ifndef _COMPAT_RDMA_H
#define _COMPAT_RDMA_H

#ifndef HAVE_UMEM_GET_VA
#include <rdma/ib_umem.h>

static inline struct ib_umem *ib_umem_get_va(struct ib_device *ib,
					     unsigned long addr, size_t size,
					     int access)
{
	return ib_umem_get(ib, addr, size, access);
}
#endif

/*
 * In older kernels get_user_pages_remote() has an additional parameter, which
 * returns the VMAs; pass NULL
 */
#ifdef HAVE_GUP_VMAS
#include <linux/mm.h>

#define get_user_pages_remote(mm, start, n, flags, pages, locked)	\
	get_user_pages_remote(mm, start, n, flags, pages, NULL, locked)
#endif

/* Return the @n-th CPU of a mask, or a number that is not less than nr_cpu_ids */
#ifndef HAVE_CPUMASK_NTH
#include <linux/cpumask.h>

#define cpumask_nth	compat_cpumask_nth
static inline unsigned int compat_cpumask_nth(unsigned int n, const struct cpumask *mask)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask) {
		if (!n--)
			break;
	}
	return cpu;
}
#endif

/* Older kernels keep the flags for kernel consumers among those for programs */
#ifndef HAVE_KERNEL_CAP_FLAGS
#define kernel_cap_flags	device_cap_flags
#define IBK_ALLOW_USER_UNREG	IB_DEVICE_ALLOW_USER_UNREG
#define IBK_LOCAL_DMA_LKEY	IB_DEVICE_LOCAL_DMA_LKEY
#define IBK_ON_DEMAND_PAGING	IB_DEVICE_ON_DEMAND_PAGING
#endif

/* Older kernels have an array of the names of counters instead of their descriptions */
#ifndef HAVE_STAT_DESC
#include <linux/build_bug.h>
#include <rdma/ib_verbs.h>

struct rdma_stat_desc {
	const char	*name;
};

static_assert(sizeof(struct rdma_stat_desc) == sizeof(const char *));

#define rdma_alloc_hw_stats_struct(descs, n, lifespan)			\
	rdma_alloc_hw_stats_struct((const char * const *)(descs), n, lifespan)
#endif

#ifndef HAVE_VIRT_DMA_TO_PTR
#include <linux/types.h>

static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}
#endif

#ifndef HAVE_DEVICE_GET_NETDEV
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

/* Older kernels have this function, but do not export it to modules */
#define ib_device_get_netdev compat_device_get_netdev
static inline struct net_device *compat_device_get_netdev(struct ib_device *ib,
							  u32 port)
{
	struct ib_port_data *pdata = &ib->port_data[port];
	struct net_device *netdev;

	spin_lock(&pdata->netdev_lock);
	netdev = rcu_dereference_protected(pdata->netdev, 1);
	dev_hold(netdev);
	spin_unlock(&pdata->netdev_lock);
	return netdev;
}
#endif

/*
 * Dispatch a port event if the port state has changed since the last event.
 * Keep the state of the last event in port_reported, because the core's cached
 * state is not reliable: the core updates its cache later, in a work item that
 * takes RTNL. If a task sets an interface down and up without releasing RTNL, the
 * cached state is stale at the second event.
 */
#ifndef HAVE_DISPATCH_PORT_STATE
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define ib_dispatch_port_state_event(ib, netdev)			\
	compat_dispatch_port_state_change(ib, netdev, &to_rnic_dev(ib)->port_reported)

static inline void compat_dispatch_port_state_change(struct ib_device *ib,
						     struct net_device *netdev,
						     enum ib_port_state *reported)
{
	struct ib_event event = { .device = ib, .element.port_num = 1 };
	bool up = netif_running(netdev) && netif_carrier_ok(netdev);
	enum ib_port_state was = *reported, now = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;

	if (was == IB_PORT_NOP && ib_get_cached_port_state(ib, 1, &was))
		return;
	*reported = now;
	if (was == now)
		return;
	event.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&event);
}
#endif

/*
 * Allocate a device in a network namespace: allocate it in init_net, then set
 * its namespace. Do not set it if devices are visible in all namespaces,
 * because the core then requires the device in init_net.
 */
#ifndef HAVE_ALLOC_DEVICE_WITH_NET
#define ib_alloc_device_with_net(drv_struct, member, net) ({		\
	struct drv_struct *__dev = ib_alloc_device(drv_struct, member);	\
									\
	if (__dev && !rdma_dev_access_netns(&__dev->member, net))	\
		write_pnet(&__dev->member.coredev.rdma_net, net);	\
	__dev;								\
})
#endif

/*
 * Copy a command's driver data from user space and check them, and copy the
 * driver's response to user space. The comment on struct ib_udata in the newest
 * kernel's <rdma/ib_verbs.h> documents the rules for driver data and responses.
 */
#ifndef HAVE_UDATA_IN
#include <linux/stddef.h>
#include <rdma/ib_verbs.h>

static inline int compat_copy_udata_in(struct ib_udata *udata, void *req, size_t len,
				       size_t least)
{
	size_t n = min(udata->inlen, len);

	if (udata->inlen < least)
		return -EINVAL;
	memset(req + n, 0, len - n);
	if (ib_copy_from_udata(req, udata, n))
		return -EFAULT;
	if (udata->inlen > len &&
	    !ib_is_udata_cleared(udata, len, udata->inlen - len))
		return -EOPNOTSUPP;
	return 0;
}

#define ib_copy_validate_udata_in_cm(udata, req, end_member, valid_cm) ({ \
	int __err = compat_copy_udata_in(udata, &(req), sizeof(req),		\
					 offsetofend(typeof(req), end_member)); \
									\
	if (!__err && (req).comp_mask & ~(valid_cm))			\
		__err = -EOPNOTSUPP;					\
	__err;								\
})
#endif

#ifndef HAVE_UDATA_OUT
#include <rdma/ib_verbs.h>

static inline int compat_copy_udata_out(struct ib_udata *udata, const void *resp,
					size_t len)
{
	size_t n = min(udata->outlen, len);

	if (copy_to_user(udata->outbuf, resp, n) ||
	    clear_user(udata->outbuf + n, udata->outlen - n))
		return -EFAULT;
	return 0;
}

#define ib_respond_udata(udata, resp) \
	compat_copy_udata_out(udata, &(resp), sizeof(resp))
#endif

#ifndef HAVE_UDATA_NONE
#include <rdma/ib_verbs.h>

static inline int ib_respond_empty_udata(struct ib_udata *udata)
{
	if (!udata)
		return 0;
	return clear_user(udata->outbuf, udata->outlen) ? -EFAULT : 0;
}

static inline int ib_no_udata_io(struct ib_udata *udata)
{
	if (udata && udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EOPNOTSUPP;
	return ib_respond_empty_udata(udata);
}
#endif

/*
 * Completion counters: older kernels do not have them, so no operation of comp_cntr.c is called
 * there
 */
#ifndef HAVE_COMP_CNTR
#include <rdma/ib_verbs.h>

enum ib_comp_cntr_entry {
	IB_COMP_CNTR_ENTRY_COMP,
	IB_COMP_CNTR_ENTRY_ERR,
};

enum ib_comp_cntr_modify_op {
	IB_COMP_CNTR_MODIFY_OP_SET,
	IB_COMP_CNTR_MODIFY_OP_INC,
};

enum ib_qp_attach_comp_cntr_op {
	IB_QP_ATTACH_COMP_CNTR_OP_SEND = 1 << 0,
	IB_QP_ATTACH_COMP_CNTR_OP_RECV = 1 << 1,
	IB_QP_ATTACH_COMP_CNTR_OP_RDMA_READ = 1 << 2,
	IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ = 1 << 3,
	IB_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE = 1 << 4,
	IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE = 1 << 5,
};

struct ib_comp_cntr_caps {
	u64	max_value;
	u32	max_counters;
	u32	supported_qp_attach_ops;
};

struct ib_comp_cntr {
	struct ib_device	*device;
};

struct ib_qp_attach_comp_cntr_attr {
	u32	op_mask;
};
#endif

/*
 * Attributes by which a program provides the memory of a ring. Older kernels refuse a command
 * that requires an attribute that they do not know, so uverbs_attr_is_valid() is never true for
 * these numbers there.
 */
#ifndef HAVE_CQ_BUFFER
#define UVERBS_ATTR_CREATE_CQ_BUFFER_VA		8
#define UVERBS_ATTR_CREATE_CQ_BUFFER_LENGTH	9
#define UVERBS_ATTR_CREATE_CQ_BUFFER_FD		10
#define UVERBS_ATTR_CREATE_CQ_BUFFER_OFFSET	11
#endif

#ifndef HAVE_BUF_UMEM
#define UVERBS_ATTR_CREATE_CQ_BUF_UMEM		12
#define UVERBS_ATTR_CREATE_QP_BUF_UMEM		15
#define UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM	16
#define UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM	17
#endif

#ifndef HAVE_SRQ_BUF_UMEM
#define UVERBS_ATTR_CREATE_SRQ_BUF_UMEM		14
#endif

/*
 * Return the network namespace of an iw_cm_id, or NULL if it is unknown. Only to
 * be called while iw_cm connects the iw_cm_id or starts to listen on it.
 *
 * No kernel has the member iw_cm_id.net yet. The only user of iw_cm is rdma_cm,
 * which sets the context of the iw_cm_id to its struct rdma_id_private. The first
 * member of that struct is a struct rdma_cm_id. To confirm that the context is an
 * rdma_cm_id, compare its device and address with those of the iw_cm_id.
 */
#ifdef HAVE_IW_CM_NET
#define compat_iw_cm_get_net(id)	((id)->net)
#else
#include <linux/string.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

static inline struct net *compat_iw_cm_get_net(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cm = id->context;

	if (!cm || cm->device != id->device ||
	    memcmp(&cm->route.addr.src_addr, &id->local_addr,
		   sizeof(struct sockaddr_in)))
		return NULL;
	return cm->route.addr.dev_addr.net;
}
#endif

/*
 * Named setting of a device; settings.h creates a sysfs file for each setting
 */
#ifndef HAVE_DEVICE_PARAMS
#include <linux/netlink.h>
#include <linux/types.h>

struct ib_device;

struct ib_device_param {
	const char	*name;
	void		(*show)(struct ib_device *ib,
				const struct ib_device_param *param,
				char *text, size_t size);
	int		(*set)(struct ib_device *ib,
			       const struct ib_device_param *param,
			       const char *text,
			       struct netlink_ext_ack *extack);
	const void	*arg;
};
#endif

#ifndef HAVE_NAME_ASSIGNED_BY_USER
#define ib_mark_name_assigned_by_user(ib)	((void)(ib))
#endif

/*
 * To find the device of an interface, rdma_cm of older kernels compares only MAC addresses. For the
 * probe of these kernels see COMPAT_GIDS in compat/verbs.h.
 *
 * compat_dispatch_gid_change() makes the core read the GID table after the MAC address of the
 * interface has changed. compat_warn_same_address() warns if @other has a device: its MAC address
 * is that of @netdev, so rdma_cm cannot distinguish the devices of the two interfaces.
 */
#ifdef HAVE_FILL_RES_SRQ
#define compat_dispatch_gid_change(ib)			((void)(ib))
#define compat_warn_same_address(netdev, other, id)	((void)(other))
#else
#include <rdma/ib_verbs.h>

static inline void compat_dispatch_gid_change(struct ib_device *ib)
{
	struct ib_event event = {
		.device = ib,
		.element.port_num = 1,
		.event = IB_EVENT_GID_CHANGE,
	};

	ib_dispatch_event(&event);
}

#define compat_warn_same_address(netdev, other, id) do {		\
	struct ib_device *__ib = ib_device_get_by_netdev(other, id);	\
									\
	if (__ib) {							\
		netdev_warn(netdev,					\
			    "rdma_cm cannot tell this device from that of %s: same MAC address\n", \
			    netdev_name(other));			\
		ib_device_put(__ib);					\
	}								\
} while (0)
#endif

#endif
