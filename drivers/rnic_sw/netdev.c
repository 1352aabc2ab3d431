// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Devices come and go: "rdma link add", and what happens to the interface.
 *
 * The core keeps the tie between device and interface; nothing here holds a
 * net_device.  That a link goes down touches no connection: TCP knows better.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/rdma_netlink.h>

#include "rnic.h"

#define DRIVER_ID	((enum rdma_driver_id)RNIC_SW_DRIVER_ID)

/* One at a time, or one interface could get two devices */
static DEFINE_MUTEX(newlink_mutex);

/* Waits for rnic_wq, whose rescuer must not wait for itself: not the same */
static struct workqueue_struct *lost_wq;

/*
 * Behind lose_interface(), with its count of the device.  A consumer that has heard
 * of the end, and lets go of its queue pairs, may forget the device with them, and
 * not be told that it goes: NVMe then calls for ten minutes.  So it waits.
 */
static void rnic_netdev_lost(struct work_struct *work)
{
	struct rnic_dev *dev = container_of(work, struct rnic_dev, lost_work);

	rnic_qps_flush(dev, IW_UNREACHABLE);
	ib_unregister_device_queued(&dev->ib);
	complete_all(&dev->leaves);
	ib_device_put(&dev->ib);
}

/**
 * rnic_netdev_wait - until the device's end has been asked for, if its interface goes
 * @dev: the device
 *
 * Not until each consumer has been told of that: one whose remove() waits for who
 * calls here would never be.
 */
void rnic_netdev_wait(struct rnic_dev *dev)
{
	if (READ_ONCE(dev->going))
		wait_for_completion(&dev->leaves);
}

/* Registered, and with a side that IP uses.  IPoIB: its GIDs are not ours. */
static bool __is_suitable(struct net_device *netdev)
{
	return netdev->reg_state == NETREG_REGISTERED &&
	       netdev->type != ARPHRD_INFINIBAND &&
	       (__in_dev_get_rtnl(netdev) || __in6_dev_get(netdev));
}

/* Where a suitable interface is: its namespace, held; NULL if it is not suitable */
static struct net *suitable_net(struct net_device *netdev)
{
	struct net *net = NULL;

	rtnl_lock();
	if (__is_suitable(netdev))
		net = maybe_get_net(dev_net(netdev));
	rtnl_unlock();
	return net;
}

/* Still, and nowhere else? */
static bool is_suitable_in(struct net_device *netdev, const struct net *net)
{
	bool yes;

	rtnl_lock();
	yes = __is_suitable(netdev) && net_eq(dev_net(netdev), net);
	rtnl_unlock();
	return yes;
}

/*
 * GUID and GID 0 from the link address, or out of thin air; fixed from here on
 * whatever happens to the interface.
 */
static void set_identity(struct rnic_dev *dev, const struct net_device *netdev)
{
	u8 mac[ETH_ALEN] __aligned(2) = {};
	u8 *gid = (u8 *)dev->gid_half;

	if (netdev->addr_len >= ETH_ALEN)
		memcpy(mac, netdev->dev_addr, ETH_ALEN);
	if (is_zero_ether_addr(mac))
		eth_random_addr(mac);
	addrconf_addr_eui48_base((u8 *)&dev->ib.node_guid, mac);
	memcpy(gid, mac, ETH_ALEN);
	dev->gid_half[1] = dev->ib.node_guid;
}

static struct rnic_dev *create(struct net_device *netdev, struct net *net)
{
	struct rnic_dev *dev = ib_alloc_device_with_net(rnic_dev, ib, net);
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	err = rnic_device_init(dev);
	if (!err)
		err = rnic_cm_init(dev);
	if (!err)
		err = ib_device_set_netdev(&dev->ib, netdev, 1);
	if (err) {
		ib_dealloc_device(&dev->ib);
		return ERR_PTR(err);
	}
	INIT_WORK(&dev->lost_work, rnic_netdev_lost);
	init_completion(&dev->leaves);
	set_identity(dev, netdev);
	strscpy(dev->ib.iw_ifname, netdev->name, sizeof(dev->ib.iw_ifname));
	strscpy(dev->ib.node_desc, "rnic_sw", sizeof(dev->ib.node_desc));
	return dev;
}

/**
 * rnic_net - where a device's sockets live
 * @dev: the device
 *
 * Not the device's own namespace: where the core shares devices among all, that
 * is the first one.
 *
 * Return: the network namespace of its interface, held; NULL if it is gone, or
 * about to be.
 */
struct net *rnic_net(struct rnic_dev *dev)
{
	struct net_device *netdev = NULL;
	struct net *net;

	if (!READ_ONCE(dev->going))
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
 * rnic_ifindex - the device's interface
 * @dev: the device
 *
 * Return: its index, 0 if it is gone.
 */
int rnic_ifindex(struct rnic_dev *dev)
{
	struct net_device *netdev = ib_device_get_netdev(&dev->ib, 1);
	int ifindex = netdev ? netdev->ifindex : 0;

	dev_put(netdev);
	return ifindex;
}

/**
 * rnic_enable_driver - the core is about to tell its clients of a device
 * @ib: the device, new, or in another network namespace
 *
 * Return: 0.
 */
int rnic_enable_driver(struct ib_device *ib)
{
	struct rnic_dev *dev = to_rnic_dev(ib);

	WRITE_ONCE(dev->enabler_began, current->start_time);
	WRITE_ONCE(dev->enabler, current);
	return 0;
}

/**
 * rnic_enables - is a device's client told of it just now?
 * @dev: the device
 *
 * No one says when all have been told.  An administrator's program makes a device, or
 * moves it, and has no listeners.
 *
 * Return: whether the calling task tells.
 */
bool rnic_enables(const struct rnic_dev *dev)
{
	return READ_ONCE(dev->enabler) == current &&
	       READ_ONCE(dev->enabler_began) == current->start_time;
}

/*
 * An interface that went meanwhile, if only to another namespace, has not told a
 * device it did not have.
 */
static int undo_if_gone(struct net_device *netdev, const struct net *net)
{
	struct ib_device *ib;

	if (is_suitable_in(netdev, net))
		return 0;
	ib = ib_device_get_by_netdev(netdev, DRIVER_ID);
	if (ib)
		ib_unregister_device_and_put(ib);
	return -ENODEV;
}

static int rnic_netdev_add(const char *name, struct net_device *netdev,
			   struct net *net)
{
	struct ib_device *ib = ib_device_get_by_netdev(netdev, DRIVER_ID);
	struct rnic_dev *dev;
	int err;

	lockdep_assert_held(&newlink_mutex);
	if (ib) {
		ib_device_put(ib);
		return -EEXIST;
	}
	dev = create(netdev, net);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ib_mark_name_assigned_by_user(&dev->ib);
	err = ib_register_device(&dev->ib, name, NULL);
	if (err) {
		ib_dealloc_device(&dev->ib);
		return err;
	}
	return undo_if_gone(netdev, net);
}

static int rnic_newlink(const char *name, struct net_device *netdev)
{
	struct net *net = suitable_net(netdev);
	int err;

	if (!net)
		return -EINVAL;
	mutex_lock(&newlink_mutex);
	err = rnic_netdev_add(name, netdev, net);
	mutex_unlock(&newlink_mutex);
	put_net(net);
	return err;
}

static struct rdma_link_ops link_ops = {
	.type = "rnic_sw",
	.newlink = rnic_newlink,
};

static void report_new_address(struct ib_device *ib)
{
	struct ib_event event = {
		.device = ib,
		.element.port_num = 1,
		.event = IB_EVENT_GID_CHANGE,
	};

	ib_dispatch_event(&event);
}

/*
 * The interface goes: to nowhere, or to another namespace.  What a consumer asks
 * its peer for, before it lets its queue pairs go, may never come.  So it hears of
 * the end first, all at once; the device goes when all has been flushed.  Not here:
 * who calls holds RTNL.
 */
static void lose_interface(struct ib_device *ib)
{
	struct rnic_dev *dev = to_rnic_dev(ib);

	WRITE_ONCE(dev->going, true);
	rnic_qps_error(dev, IW_UNREACHABLE);
	rnic_asked_stop(dev);
	if (ib_device_try_get(ib) && !queue_work(lost_wq, &dev->lost_work))
		ib_device_put(ib);
}

static int rnic_notice(struct notifier_block *nb, unsigned long event,
		       void *info)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(info);
	struct ib_device *ib = ib_device_get_by_netdev(netdev, DRIVER_ID);

	if (!ib)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UNREGISTER:
		lose_interface(ib);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		/*
		 * Newer cores do so, too, but not for bonds and their ports, and
		 * for one device of an interface only; a state is told once
		 */
		ib_dispatch_port_state_event(ib, netdev);
		break;
	case NETDEV_CHANGEADDR:
		report_new_address(ib);
		break;
	}
	ib_device_put(ib);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = rnic_notice,
};

/**
 * rnic_netdev_init - from here on devices can be made
 *
 * Return: 0 or a negative errno.
 */
int rnic_netdev_init(void)
{
	int err;

	lost_wq = alloc_workqueue("rnic_sw_lost", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!lost_wq)
		return -ENOMEM;
	err = register_netdevice_notifier(&notifier);
	if (err)
		destroy_workqueue(lost_wq);
	else
		rdma_link_register(&link_ops);
	return err;
}

/**
 * rnic_netdev_exit - all devices go, and no new ones can be made
 *
 * Consumers take their leave over connections that stand, as when one device is
 * deleted.  A notifier that goes is told of each interface that it goes, and
 * would have them end first.
 */
void rnic_netdev_exit(void)
{
	rdma_link_unregister(&link_ops);
	ib_unregister_driver(DRIVER_ID);
	unregister_netdevice_notifier(&notifier);
	/* the devices are gone: what is left has put its count */
	destroy_workqueue(lost_wq);
}
