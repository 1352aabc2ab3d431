// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queries about a device's interface: its index, its network namespace, and whether
 * it is being removed.  netdev.c creates and unregisters devices.
 *
 * The core keeps the association of device and interface.  The functions of this file
 * drop their references to a net_device before they return.
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
 * Returns the namespace of the interface, which may differ from that of the RDMA
 * device: if the core shares devices among all namespaces, every device is in
 * init_net.
 *
 * Return: the namespace, which the caller must release with put_net(); NULL if the
 * interface has been removed or is being removed.
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
 * Return: the ifindex, or 0 if the interface has been removed.
 */
int rnic_ifindex(struct rnic_dev *dev)
{
	struct net_device *netdev = ib_device_get_netdev(&dev->ib, 1);
	int ifindex = netdev ? netdev->ifindex : 0;

	dev_put(netdev);
	return ifindex;
}

/**
 * rnic_enable_driver - record the task that adds the core's clients to a device
 * @ib: the device, new or moved to another network namespace
 *
 * The core calls this function before it calls the add() of its clients.
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
 * The core does not report when it has added all clients, so the function continues to
 * return true for that task.  This is harmless, because such a task creates or moves
 * devices for an administrator and has no listeners.
 *
 * Return: true if the current task made the last call of rnic_enable_driver() for this
 * device, false otherwise.
 */
bool rnic_in_client_add(const struct rnic_dev *dev)
{
	return READ_ONCE(dev->enable_task) == current &&
	       READ_ONCE(dev->enable_start_time) == current->start_time;
}

/**
 * rnic_netdev_wait - wait for unregistration, if the interface is being removed
 * @dev: the device
 *
 * Sleeps until the unregistration of the device is queued.  Does not wait until the
 * remove() of the consumers has returned, because remove() may wait for the caller.
 */
void rnic_netdev_wait(struct rnic_dev *dev)
{
	if (READ_ONCE(dev->removing))
		wait_for_completion(&dev->unregistering);
}
