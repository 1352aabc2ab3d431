// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * State of a device's interface for the rest of the driver: index, network
 * namespace, and whether it is being removed.  Devices are created, removed and
 * unregistered in netdev.c.
 *
 * The core keeps the association of device and interface; a reference on a
 * net_device is held only within a function.
 */
#include <linux/completion.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#include "rnic.h"

/**
 * rnic_get_net - get the network namespace of a device's sockets
 * @dev: the device
 *
 * It is the namespace of the interface.  The device's own namespace may differ:
 * if the core shares devices among all namespaces, it is init_net.
 *
 * Return: the namespace with a reference, for put_net(); NULL if the interface
 * is removed or being removed.
 */
struct net *rnic_get_net(struct rnic_dev *dev)
{
	struct net_device *netdev = NULL;
	struct net *net;

	if (!READ_ONCE(dev->removing))
		netdev = ib_device_get_netdev(&dev->ib, 1);
	if (!netdev)
		return NULL;
	rcu_read_lock();
	net = maybe_get_net(dev_net(netdev));
	rcu_read_unlock();
	dev_put(netdev);
	return net;
}

/**
 * rnic_ifindex - get the index of a device's interface
 * @dev: the device
 *
 * Return: the ifindex, or 0 if the interface is gone.
 */
int rnic_ifindex(struct rnic_dev *dev)
{
	struct net_device *netdev = ib_device_get_netdev(&dev->ib, 1);
	int ifindex = netdev ? netdev->ifindex : 0;

	dev_put(netdev);
	return ifindex;
}

/**
 * rnic_enable_driver - note the task that adds the core's clients to a device
 * @ib: the device, new or moved to another network namespace
 *
 * The core calls this before it calls its clients' add().
 *
 * Return: 0.
 */
int rnic_enable_driver(struct ib_device *ib)
{
	struct rnic_dev *dev = to_rnic_dev(ib);

	WRITE_ONCE(dev->enable_start_time, current->start_time);
	WRITE_ONCE(dev->enable_task, current);
	return 0;
}

/**
 * rnic_in_client_add - check whether the current task is adding the core's clients
 * @dev: the device
 *
 * The core does not report the end of that, so the result stays true for the
 * task afterwards.  This is harmless: the task belongs to an administrator who
 * creates or moves devices, and has no listeners.
 *
 * Return: true if it is the task that called rnic_enable_driver() last, false
 * if not.
 */
bool rnic_in_client_add(const struct rnic_dev *dev)
{
	return READ_ONCE(dev->enable_task) == current &&
	       READ_ONCE(dev->enable_start_time) == current->start_time;
}

/**
 * rnic_netdev_wait - wait until a device with a lost interface is unregistering
 * @dev: the device; returns at once if its interface is not being removed
 *
 * It waits until unregistration is queued, not until the consumers' remove()
 * has returned: that may itself wait for the caller.
 */
void rnic_netdev_wait(struct rnic_dev *dev)
{
	if (READ_ONCE(dev->removing))
		wait_for_completion(&dev->unregistering);
}
