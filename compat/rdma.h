/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The RDMA core as the newest kernel has it; included in front of those files
 * of drivers/rnic_sw that need it.  Headers are included only where something is missing.
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

/* It is there, but not exported */
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

/* Raise a port event if the state has changed since the last one */
#ifndef HAVE_DISPATCH_PORT_STATE
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

static inline void ib_dispatch_port_state_event(struct ib_device *ib,
						struct net_device *netdev)
{
	struct ib_event event = { .device = ib, .element.port_num = 1 };
	bool up = netif_running(netdev) && netif_carrier_ok(netdev);
	enum ib_port_state was, now = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;

	if (ib_get_cached_port_state(ib, 1, &was) || was == now)
		return;
	event.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&event);
}
#endif

/* Without it a device is made in the first network namespace, and moved */
#ifndef HAVE_ALLOC_DEVICE_WITH_NET
#define ib_alloc_device_with_net(drv_struct, member, net) ({		\
	struct drv_struct *__dev = ib_alloc_device(drv_struct, member);	\
									\
	if (__dev)							\
		write_pnet(&__dev->member.coredev.rdma_net, net);	\
	__dev;								\
})
#endif

#ifndef HAVE_NAME_ASSIGNED_BY_USER
#define ib_mark_name_assigned_by_user(ib)	((void)(ib))
#endif

#endif
