// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Query the network interface of a device: its index, its network namespace, and whether it is
 * being removed.  Also record which task adds the core's clients to a device.  netdev.c creates
 * and unregisters devices.
 *
 * The core stores which interface a device belongs to.  The functions of this file take a
 * reference to the net_device only until they return.
 */
#include <linux/completion.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#include "rnic.h"

/**
 * rnic_get_net - get the network namespace in which a device opens sockets
 * @dev: the device
 *
 * Returns the namespace of the interface.  The RDMA device may be in another namespace: if the
 * core shares devices among all namespaces, every RDMA device is in init_net.
 *
 * Return: the namespace with a reference, which the caller must drop with put_net(); NULL if the
 * interface is being removed or has been removed.
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
 * rnic_get_ifindex - get the index of a device's interface
 * @dev: the device
 *
 * Return: the ifindex, or 0 if the interface has been removed.
 */
int rnic_get_ifindex(struct rnic_dev *dev)
{
	struct net_device *netdev = ib_device_get_netdev(&dev->ib, 1);
	int ifindex = netdev ? netdev->ifindex : 0;

	dev_put(netdev);
	return ifindex;
}

/**
 * rnic_enable_driver - record which task is going to add the core's clients to a device
 * @ib: the device, which is new or has been moved to another network namespace
 *
 * The core calls this device operation before it calls the add() of its clients in the same
 * task.
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
 * rnic_current_is_adding_clients - check whether the current task may be adding the core's clients
 * @dev: the device
 *
 * The core does not report when it has added all clients, so this function still returns true
 * for the recorded task afterwards.  This is harmless: the task creates or moves devices for an
 * administrator, and starts no listeners of its own.
 *
 * Return: true if the current task made the last call of rnic_enable_driver() for this
 * device, false otherwise.
 */
bool rnic_current_is_adding_clients(const struct rnic_dev *dev)
{
	return READ_ONCE(dev->enable_task) == current &&
	       READ_ONCE(dev->enable_start_time) == current->start_time;
}

/**
 * rnic_wait_unregister_queued - wait until the unregistration of a device is queued
 * @dev: the device
 *
 * Returns immediately if the interface is not being removed.  Otherwise waits until the core's
 * unregistration of the device is queued.  Does not wait until the remove() of each consumer has
 * returned, because such a remove() may wait for the caller.  May sleep.
 */
void rnic_wait_unregister_queued(struct rnic_dev *dev)
{
	if (READ_ONCE(dev->removing))
		wait_for_completion(&dev->unregister_queued);
}
