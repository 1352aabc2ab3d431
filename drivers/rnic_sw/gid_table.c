// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * GIDs and LID of a device.  GID 0 is fixed, see netdev.c; the others are addresses of the
 * interface, for programs that choose a GID.  The LID stands for the first IPv4 address of the
 * interface, for programs that do not use GIDs, see rdv_lid.c.
 *
 * Each change of addresses queues a work item of the device.  The work item updates the device's
 * table (gids.c).  If the core's copy of the table then differs, the work item has the core read
 * the table again, at most once in GIDS_DELAY_MIN.
 *
 * In two cases the work item checks the table again later without a notification.  First, while
 * duplicate address detection is in progress, because the kernel does not notify drivers of its
 * end.  Second, after the core had to read the table again, because the core may have had no memory
 * to do so.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "gid_table.h"
#include "rdv_lid.h"
#include "rnic.h"

static_assert(sizeof(struct gid) == sizeof(union ib_gid));
static_assert(sizeof(struct gid) == sizeof(struct in6_addr));

/* List the IPv4 addresses of an interface, under RCU */
static void add_ipv4_addrs(struct gids_update *u, const struct net_device *netdev)
{
	const struct in_device *in = __in_dev_get_rcu(netdev);
	const struct in_ifaddr *ifa;
	struct gid gid;

	if (!in)
		return;
	in_dev_for_each_ifa_rcu(ifa, in) {
		ipv6_addr_set_v4mapped(ifa->ifa_local, (struct in6_addr *)&gid);
		gids_add_address(u, &gid);
	}
}

/*
 * List the usable IPv6 addresses of an interface, under RCU.  The kernel sorts them by scope,
 * widest first.
 *
 * Return: true if the duplicate address detection of an address has not ended, false otherwise.
 */
static bool add_ipv6_addrs(struct gids_update *u, const struct net_device *netdev)
{
	struct inet6_dev *in = __in6_dev_get(netdev);
	const struct inet6_ifaddr *ifa;
	bool undecided = false;
	struct gid gid;

	if (!in)
		return false;
	read_lock_bh(&in->lock);
	list_for_each_entry(ifa, &in->addr_list, if_list) {
		if (ifa->flags & IFA_F_DADFAILED)
			continue;
		if (ifa->flags & IFA_F_TENTATIVE) {
			undecided = true;
			if (!(ifa->flags & IFA_F_OPTIMISTIC))
				continue;
		}
		memcpy(&gid, &ifa->addr, sizeof(gid));
		gids_add_address(u, &gid);
	}
	read_unlock_bh(&in->lock);
	return undecided;
}

/**
 * rnic_gids_get_first_ipv4 - get the first IPv4 address of an interface
 * @netdev: the interface
 * @addr: the address on return, in host byte order; 0 if there is none
 * @mask: netmask of the address on return, in host byte order; 0 if there is no address
 */
void rnic_gids_get_first_ipv4(const struct net_device *netdev, u32 *addr, u32 *mask)
{
	const struct in_ifaddr *ifa;
	const struct in_device *in;

	*addr = 0;
	*mask = 0;
	rcu_read_lock();
	in = __in_dev_get_rcu(netdev);
	if (in) {
		in_dev_for_each_ifa_rcu(ifa, in) {
			*addr = ntohl(ifa->ifa_local);
			*mask = ntohl(ifa->ifa_mask);
			break;
		}
	}
	rcu_read_unlock();
}

/* Set the LID for the first IPv4 address of the interface.  Return: true if the LID has changed. */
static bool update_lid(struct rnic_gid_table *t, const struct net_device *netdev)
{
	u16 before = t->lid;
	u32 addr, mask;

	rnic_gids_get_first_ipv4(netdev, &addr, &mask);
	WRITE_ONCE(t->lid, rdv_addr_to_lid(addr, mask));
	return t->lid != before;
}

/*
 * Update the table with the current addresses of the interface.  Only one task at a time may call
 * this function: the creator of the device, then the work item.
 *
 * Return: true if the duplicate address detection of an address has not ended, false otherwise.
 */
static bool update_gid_table(struct rnic_gid_table *t, const struct net_device *netdev)
{
	struct gids_update u;
	bool undecided;

	gids_begin_update(&u, t->gid, t->first);
	rcu_read_lock();
	add_ipv4_addrs(&u, netdev);
	undecided = add_ipv6_addrs(&u, netdev);
	rcu_read_unlock();
	spin_lock_bh(&t->lock);
	gids_finish_update(&u);
	spin_unlock_bh(&t->lock);
	return undecided;
}

/* Check whether entry @i of the core's copy is equal to entry @i of the device's table */
static bool is_core_entry_current(struct rnic_dev *dev, int i)
{
	union ib_gid core, own;

	if (rdma_query_gid(&dev->ib, 1, i, &core))
		core = (union ib_gid){};
	rnic_gids_get_entry(dev, i, &own);
	return !memcmp(&core, &own, sizeof(own));
}

/* Check whether the core's copy equals the device's table: GID 0 and all address entries */
static bool is_core_table_current(struct rnic_dev *dev)
{
	int i;

	for (i = dev->gids.first; i < GIDS_MAX; i++)
		if (!is_core_entry_current(dev, i))
			return false;
	return is_core_entry_current(dev, 0);
}

/*
 * Report that the GID table or the LID has changed.  The core reads the GID table again, in a work
 * item.
 */
static void report_gid_or_lid_change(struct ib_device *ib, enum ib_event_type what)
{
	struct ib_event event = {
		.device = ib,
		.element.port_num = 1,
		.event = what,
	};

	ib_dispatch_event(&event);
}

/*
 * Update the tables of the device and of the core.
 *
 * Return: true if the tables must be checked again without a notification, false otherwise.
 */
static bool update_dev_and_core_gids(struct rnic_dev *dev)
{
	struct net_device *netdev = ib_device_get_netdev(&dev->ib, 1);
	bool undecided, lid_changed;

	if (!netdev)
		return false;
	undecided = update_gid_table(&dev->gids, netdev);
	lid_changed = update_lid(&dev->gids, netdev);
	dev_put(netdev);
	if (lid_changed)
		report_gid_or_lid_change(&dev->ib, IB_EVENT_LID_CHANGE);
	if (is_core_table_current(dev))
		return undecided;
	report_gid_or_lid_change(&dev->ib, IB_EVENT_GID_CHANGE);
	return true;
}

/*
 * Work function of rnic_gid_table.work.  The device reference makes the unregistration of the
 * device wait, so that the core does not get an event of an unregistered device.
 */
static void rnic_gids_update_work(struct work_struct *work)
{
	struct rnic_dev *dev = container_of(to_delayed_work(work), struct rnic_dev, gids.work);
	struct rnic_gid_table *t = &dev->gids;

	if (!ib_device_try_get(&dev->ib))
		return;
	spin_lock_bh(&t->lock);
	if (t->check_requested)
		t->delay = GIDS_DELAY_MIN;
	t->check_requested = false;
	spin_unlock_bh(&t->lock);
	if (!READ_ONCE(dev->removing) && update_dev_and_core_gids(dev)) {
		t->delay = gids_compute_next_delay(t->delay);
		if (t->delay)
			queue_delayed_work(rnic_wq, &t->work, msecs_to_jiffies(t->delay));
	}
	ib_device_put(&dev->ib);
}

/**
 * rnic_gids_init - initialize the GIDs of a device
 * @dev: the device
 * @first: index of the first entry for addresses
 */
void rnic_gids_init(struct rnic_dev *dev, u32 first)
{
	spin_lock_init(&dev->gids.lock);
	INIT_DELAYED_WORK(&dev->gids.work, rnic_gids_update_work);
	dev->gids.first = first;
}

/**
 * rnic_gids_exit - cancel the work item of a device's GIDs
 * @dev: the device, which has been unregistered or was never registered
 *
 * Context: may sleep.
 */
void rnic_gids_exit(struct rnic_dev *dev)
{
	cancel_delayed_work_sync(&dev->gids.work);
}

/**
 * rnic_gids_fill - set the GID table and the LID of a new device
 * @dev: the device, which belongs to the interface but is not registered yet
 * @netdev: the interface
 *
 * The core reads the table when the device is registered.  The caller must then call
 * rnic_gids_request_netdev_check(), because notifications do not find a device that is not
 * registered.
 */
void rnic_gids_fill(struct rnic_dev *dev, const struct net_device *netdev)
{
	update_gid_table(&dev->gids, netdev);
	update_lid(&dev->gids, netdev);
}

/**
 * rnic_gids_get_lid - get the LID of a device's port
 * @dev: the device
 *
 * Return: the LID that stands for the first IPv4 address of the interface; 0 if there is none.
 */
u16 rnic_gids_get_lid(const struct rnic_dev *dev)
{
	return READ_ONCE(dev->gids.lid);
}

/**
 * rnic_gids_get_entry - get an entry of the GID table
 * @dev: the device
 * @index: index of the entry, less than GIDS_MAX
 * @gid: the GID on return; zero if the entry is empty
 *
 * Context: BH on.
 */
void rnic_gids_get_entry(struct rnic_dev *dev, u32 index, union ib_gid *gid)
{
	spin_lock_bh(&dev->gids.lock);
	memcpy(gid, &dev->gids.gid[index], sizeof(*gid));
	spin_unlock_bh(&dev->gids.lock);
}

/**
 * rnic_gids_request_check - check the GID table of a device soon
 * @dev: the device; the caller holds a reference to it, from ib_device_try_get()
 *
 * Requests within GIDS_DELAY_MIN cause one check.
 *
 * Context: any, except hardirq.
 */
void rnic_gids_request_check(struct rnic_dev *dev)
{
	struct rnic_gid_table *t = &dev->gids;

	spin_lock_bh(&t->lock);
	/* a later request must not postpone the check */
	if (!t->check_requested)
		mod_delayed_work(rnic_wq, &t->work, msecs_to_jiffies(GIDS_DELAY_MIN));
	t->check_requested = true;
	spin_unlock_bh(&t->lock);
}

/**
 * rnic_gids_request_netdev_check - check the GID table of an interface's device soon
 * @netdev: the interface; does nothing if it has no registered device
 *
 * Context: any, except hardirq.
 */
void rnic_gids_request_netdev_check(struct net_device *netdev)
{
	struct ib_device *ib =
		ib_device_get_by_netdev(netdev, (enum rdma_driver_id)RNIC_SW_DRIVER_ID);

	if (!ib)
		return;
	rnic_gids_request_check(to_rnic_dev(ib));
	ib_device_put(ib);
}

static int rnic_inetaddr_event(struct notifier_block *nb, unsigned long event, void *info)
{
	const struct in_ifaddr *ifa = info;

	rnic_gids_request_netdev_check(ifa->ifa_dev->dev);
	return NOTIFY_DONE;
}

/* Handle an IPv6 address notification.  Context: may be atomic. */
static int rnic_inet6addr_event(struct notifier_block *nb, unsigned long event, void *info)
{
	const struct inet6_ifaddr *ifa = info;

	rnic_gids_request_netdev_check(ifa->idev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block notifier4 = { .notifier_call = rnic_inetaddr_event };
static struct notifier_block notifier6 = { .notifier_call = rnic_inet6addr_event };

/**
 * rnic_gid_events_init - register for notifications about addresses
 *
 * Return: 0 or a negative errno.
 */
int rnic_gid_events_init(void)
{
	int err = register_inetaddr_notifier(&notifier4);

	if (err || !IS_ENABLED(CONFIG_IPV6))
		return err;
	err = register_inet6addr_notifier(&notifier6);
	if (err)
		unregister_inetaddr_notifier(&notifier4);
	return err;
}

/**
 * rnic_gid_events_exit - unregister from notifications about addresses
 */
void rnic_gid_events_exit(void)
{
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&notifier6);
	unregister_inetaddr_notifier(&notifier4);
}
