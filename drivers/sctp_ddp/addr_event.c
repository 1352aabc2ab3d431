// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Notifications about addresses and VRFs of interfaces. Each of them schedules updates of
 * the wildcard listeners, see listen_addrs.c.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <net/addrconf.h>

#include "internal.h"

static int sddp_queue_updates_for_dev(const struct net_device *dev)
{
	sddp_laddrs_queue_updates(dev_net(dev), dev, NULL);
	return NOTIFY_DONE;
}

static int sddp_inetaddr_event(struct notifier_block *nb, unsigned long event,
			       void *info)
{
	const struct in_ifaddr *ifa = info;

	return sddp_queue_updates_for_dev(ifa->ifa_dev->dev);
}

/* Handle an IPv6 address notification. Context: may be atomic. */
static int sddp_inet6addr_event(struct notifier_block *nb, unsigned long event,
				void *info)
{
	const struct inet6_ifaddr *ifa = info;

	return sddp_queue_updates_for_dev(ifa->idev->dev);
}

/*
 * Handle the notification that an interface has joined or left a VRF. A wildcard listener uses
 * the addresses of only those interfaces that are in the VRF of its device, so it may have to
 * open or close sockets now.
 */
static int sddp_netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	if (event != NETDEV_CHANGEUPPER)
		return NOTIFY_DONE;
	return sddp_queue_updates_for_dev(netdev_notifier_info_to_dev(info));
}

static struct notifier_block netdev_notifier = { .notifier_call = sddp_netdev_event };
static struct notifier_block notifier4 = { .notifier_call = sddp_inetaddr_event };
static struct notifier_block notifier6 = { .notifier_call = sddp_inet6addr_event };

static int register_addr_notifiers(void)
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
 * sddp_addr_events_init - register for notifications about addresses and interfaces
 *
 * Return: 0 or a negative errno.
 */
int sddp_addr_events_init(void)
{
	int err = register_netdevice_notifier(&netdev_notifier);

	if (err)
		return err;
	err = register_addr_notifiers();
	if (err)
		unregister_netdevice_notifier(&netdev_notifier);
	return err;
}

/**
 * sddp_addr_events_exit - unregister from notifications about addresses and interfaces
 * All listeners must have ended.
 */
void sddp_addr_events_exit(void)
{
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&notifier6);
	unregister_inetaddr_notifier(&notifier4);
	unregister_netdevice_notifier(&netdev_notifier);
}
