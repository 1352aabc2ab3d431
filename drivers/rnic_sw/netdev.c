// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Create devices for "rdma link add", unregister devices, and handle events of their
 * network interfaces. interface.c has the queries about a device's interface.
 *
 * ib_core associates the device with its interface, so this file holds no reference to a
 * net_device.  An interface that goes down does not end connections, because TCP and SCTP
 * decide when a connection times out.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/rdma_netlink.h>

#include "rnic.h"

#define DRIVER_ID	((enum rdma_driver_id)RNIC_SW_DRIVER_ID)

/*
 * Serializes rnic_newlink(), so that two concurrent calls cannot create two devices on
 * one interface
 */
static DEFINE_MUTEX(newlink_mutex);

/*
 * Workqueue of rnic_dev.unregister_work.  That work item flushes work items of rnic_wq,
 * so it needs a workqueue with a separate rescuer: otherwise it could wait for ever when
 * memory is short.
 */
static struct workqueue_struct *unregister_wq;

/*
 * Work function of rnic_dev.unregister_work, queued by begin_device_removal(): flush the queue
 * pairs of kernel consumers, then have ib_core unregister the device asynchronously.
 * Drops the device reference that begin_device_removal() took.
 *
 * The order matters.  Kernel consumers get their flush errors before ib_core calls their
 * remove().  A consumer that destroys its last queue pair after such an error may drop
 * its state of the device, so that its remove() then does nothing: NVMe, for example, would
 * try to reconnect for ten minutes.  So rnic_destroy_qp() waits until @unregister_queued is
 * completed.
 */
static void rnic_netdev_unregister_work(struct work_struct *work)
{
	struct rnic_dev *dev = container_of(work, struct rnic_dev, unregister_work);

	rnic_qps_fail_and_flush(dev, false, IW_UNREACHABLE);
	ib_unregister_device_queued(&dev->ib);
	complete_all(&dev->unregister_queued);
	ib_device_put(&dev->ib);
}

/*
 * Check whether a device can be created on the interface: the interface must be
 * registered and have IPv4 or IPv6.  Exclude IPoIB, because ib_core manages the GIDs of
 * an IPoIB interface for InfiniBand.
 */
static bool __is_netdev_suitable(struct net_device *netdev)
{
	return netdev->reg_state == NETREG_REGISTERED &&
	       netdev->type != ARPHRD_INFINIBAND &&
	       (__in_dev_get_rtnl(netdev) || __in6_dev_get(netdev));
}

/*
 * Get a reference to the interface's network namespace; NULL if the interface is not
 * suitable
 */
static struct net *get_net_if_suitable(struct net_device *netdev)
{
	struct net *net = NULL;

	rtnl_lock();
	if (__is_netdev_suitable(netdev))
		net = maybe_get_net(dev_net(netdev));
	rtnl_unlock();
	return net;
}

/* Check whether the interface is still suitable and still in @net */
static bool is_netdev_suitable_in_net(struct net_device *netdev, const struct net *net)
{
	bool yes;

	rtnl_lock();
	yes = __is_netdev_suitable(netdev) && net_eq(dev_net(netdev), net);
	rtnl_unlock();
	return yes;
}

/*
 * Make the GUID of an interface differ from that of another interface with the same MAC address,
 * because librdmacm finds devices by their GUID. Bytes 3 and 4 are ff:fe in every GUID that is
 * derived from a MAC address only: replace them with a hash of the interface's name and network
 * namespace. In the initial network namespace the GUID is the same after a reboot, unless the
 * interface gets another name.
 */
static void make_guid_unique(u8 *guid, const struct net_device *netdev)
{
	u32 hash = jhash(netdev->name, strlen(netdev->name), dev_net(netdev)->net_cookie);

	guid[3] = hash >> 8;
	guid[4] = hash;
	if (guid[3] == 0xff && guid[4] == 0xfe)
		guid[4] = 0;
}

static bool have_same_mac(const struct net_device *a, const struct net_device *b)
{
	return a->addr_len && a->addr_len == b->addr_len &&
	       !memcmp(a->dev_addr, b->dev_addr, a->addr_len);
}

/*
 * Make the GUID unique if another interface below @upper has the same MAC address.  Also warn if
 * rdma_cm cannot tell devices on the two interfaces apart.
 */
static void ensure_guid_unique_among_lowers(u8 *guid, struct net_device *netdev,
					    struct net_device *upper)
{
	struct net_device *lower;
	struct list_head *iter;

	netdev_for_each_lower_dev(upper, lower, iter) {
		if (lower == netdev || !have_same_mac(lower, netdev))
			continue;
		make_guid_unique(guid, netdev);
		compat_warn_same_address(netdev, lower, DRIVER_ID);
	}
}

/*
 * Make the GUID unique if the interface shares its MAC address with another one.  VLANs, ipvlans,
 * bonds and bridges share it with an interface below them, and the ports of a bond or team share
 * it with each other.
 */
static void ensure_guid_unique(u8 *guid, struct net_device *netdev)
{
	struct net_device *master;

	rtnl_lock();
	ensure_guid_unique_among_lowers(guid, netdev, netdev);
	master = netdev_master_upper_dev_get(netdev);
	if (master && netif_is_lag_master(master))
		ensure_guid_unique_among_lowers(guid, netdev, master);
	rtnl_unlock();
}

/*
 * Derive the node GUID and GID 0 from the interface's MAC address, or from a random
 * address if the interface has none.  GUID and GID stay the same if the MAC address
 * changes later.
 */
static void set_guid_and_gid(struct rnic_dev *dev, struct net_device *netdev)
{
	u8 mac[ETH_ALEN] __aligned(2) = {};
	struct gid *gid = &dev->gids.gid[0];

	if (netdev->addr_len >= ETH_ALEN)
		memcpy(mac, netdev->dev_addr, ETH_ALEN);
	if (is_zero_ether_addr(mac))
		eth_random_addr(mac);
	addrconf_addr_eui48_base((u8 *)&dev->ib.node_guid, mac);
	ensure_guid_unique((u8 *)&dev->ib.node_guid, netdev);
	memcpy(gid, mac, ETH_ALEN);
	gid->half[1] = dev->ib.node_guid;
}

static struct rnic_dev *create_device(struct net_device *netdev, struct net *net)
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
	INIT_WORK(&dev->unregister_work, rnic_netdev_unregister_work);
	init_completion(&dev->unregister_queued);
	set_guid_and_gid(dev, netdev);
	rnic_gids_fill(dev, netdev);
	strscpy(dev->ib.iw_ifname, netdev->name, sizeof(dev->ib.iw_ifname));
	strscpy(dev->ib.node_desc, "rnic_sw", sizeof(dev->ib.node_desc));
	return dev;
}

/*
 * Unregister a new device if its interface is no longer suitable or has left @net.  That
 * may have happened before the device was registered; rnic_netdev_event() then found no
 * device to unregister.
 *
 * Return: 0, or -ENODEV if the device has been unregistered.
 */
static int unregister_device_if_unsuitable(struct net_device *netdev, const struct net *net)
{
	struct ib_device *ib;

	if (is_netdev_suitable_in_net(netdev, net))
		return 0;
	ib = ib_device_get_by_netdev(netdev, DRIVER_ID);
	if (ib)
		ib_unregister_device_and_put(ib);
	return -ENODEV;
}

static int rnic_device_add(const char *name, struct net_device *netdev,
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
	dev = create_device(netdev, net);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ib_mark_name_assigned_by_user(&dev->ib);
	err = ib_register_device(&dev->ib, name, NULL);
	if (err) {
		ib_dealloc_device(&dev->ib);
		return err;
	}
	rnic_gids_request_netdev_check(netdev);
	return unregister_device_if_unsuitable(netdev, net);
}

static int rnic_newlink(const char *name, struct net_device *netdev)
{
	struct net *net = get_net_if_suitable(netdev);
	int err;

	if (!net)
		return -EINVAL;
	mutex_lock(&newlink_mutex);
	err = rnic_device_add(name, netdev, net);
	mutex_unlock(&newlink_mutex);
	put_net(net);
	return err;
}

static struct rdma_link_ops link_ops = {
	.type = "rnic_sw",
	.newlink = rnic_newlink,
};

/*
 * Begin to remove a device whose interface is being removed or moved to another network
 * namespace.  Fail all queue pairs first.  Otherwise kernel consumers would send requests
 * to their peers in remove(), and would wait for responses that cannot arrive.
 *
 * The caller holds RTNL, so do not wait for consumers here: leave the flushes and the
 * unregistration to unregister_work.
 */
static void begin_device_removal(struct ib_device *ib)
{
	struct rnic_dev *dev = to_rnic_dev(ib);

	WRITE_ONCE(dev->removing, true);
	rnic_qps_fail(dev, IW_UNREACHABLE);
	rnic_pending_reqs_abort(dev);
	if (ib_device_try_get(ib) && !queue_work(unregister_wq, &dev->unregister_work))
		ib_device_put(ib);
}

static int rnic_netdev_event(struct notifier_block *nb, unsigned long event,
			     void *info)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(info);
	struct ib_device *ib = ib_device_get_by_netdev(netdev, DRIVER_ID);

	if (!ib)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UNREGISTER:
		begin_device_removal(ib);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		/*
		 * ib_core has a notifier for port state as well.  But that notifier
		 * ignores bonds and their ports, and dispatches the event for only one
		 * device of an interface. ib_core dispatches no event if the state has
		 * not changed, so no event is duplicated.
		 */
		ib_dispatch_port_state_event(ib, netdev);
		/*
		 * A link that comes up can start IPv6 duplicate address detection.  The kernel
		 * does not report its end, so check the GIDs until it has ended.
		 */
		rnic_gids_request_check(to_rnic_dev(ib));
		break;
	case NETDEV_CHANGEADDR:
		compat_dispatch_gid_change(ib);
		break;
	}
	ib_device_put(ib);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = rnic_netdev_event,
};

/*
 * Client of the RDMA core, which flushes the queue pairs of programs when a device is removed.  The
 * core removes a device from its clients in the reverse order of their registration.  This module
 * calls functions of ib_uverbs, so ib_uverbs has registered its client earlier.  Therefore
 * rnic_client_remove() runs before ib_uverbs destroys the queue pairs of programs.  Without this
 * flush a program would wait in vain for completions, because a queue pair that is being destroyed
 * writes none.
 */
static int rnic_client_add(struct ib_device *ib)
{
	return ib->ops.driver_id == DRIVER_ID ? 0 : -EOPNOTSUPP;
}

static void rnic_client_remove(struct ib_device *ib, void *data)
{
	rnic_qps_fail_and_flush(to_rnic_dev(ib), true, IW_LOCAL_ABORT);
}

static struct ib_client client = {
	.name	= "rnic_sw",
	.add	= rnic_client_add,
	.remove	= rnic_client_remove,
};

/**
 * rnic_netdev_init - register the netdev notifier and the link type of "rdma link add"
 *
 * Return: 0 or a negative errno.
 */
int rnic_netdev_init(void)
{
	int err;

	unregister_wq = alloc_workqueue("rnic_sw_unregister", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!unregister_wq)
		return -ENOMEM;
	err = ib_register_client(&client);
	if (err)
		goto no_client;
	err = register_netdevice_notifier(&notifier);
	if (err)
		goto no_notifier;
	rdma_link_register(&link_ops);
	return 0;
no_notifier:
	ib_unregister_client(&client);
no_client:
	destroy_workqueue(unregister_wq);
	return err;
}

/**
 * rnic_netdev_exit - forbid new devices and unregister all existing ones
 *
 * Unregisters the devices first and the notifier last, because unregistering the notifier
 * delivers NETDEV_UNREGISTER for each interface, which fails all queue pairs.  In this
 * order kernel consumers can still use their connections in remove(), as for "rdma link
 * del".
 */
void rnic_netdev_exit(void)
{
	rdma_link_unregister(&link_ops);
	ib_unregister_driver(DRIVER_ID);
	unregister_netdevice_notifier(&notifier);
	ib_unregister_client(&client);
	/* wait for unregister_work items that still run; their devices are unregistered already */
	destroy_workqueue(unregister_wq);
}
