/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_NETDEVICE_H
#define _HOST_UNIT_NETDEVICE_H

#include <linux/err.h>
#include <linux/string.h>
#include <linux/types.h>
#include <net/net_namespace.h>

#define ETH_ALEN		6
#define ARPHRD_INFINIBAND	32
#define NETREG_REGISTERED	1

/* The fields of an interface that the driver uses */
struct net_device {
	int		reg_state;
	int		type;
	int		addr_len;
	const u8	*dev_addr;
	char		name[16];
	int		ifindex;
	bool		has_ip;
	struct net	*net;
	struct net_device *lower;	/* the first interface below, or NULL */
	struct net_device *next_lower;	/* another interface below the same interface, or NULL */
	struct net_device *master;
	bool		is_lag_master;
	struct net_device *vlan_on;	/* the interface below a VLAN, or NULL */
	int		vrf;
};

#define netdev_for_each_lower_dev(netdev, low, iter)	\
	for ((void)(iter), (low) = (netdev)->lower; (low); (low) = (low)->next_lower)
#define netdev_master_upper_dev_get(netdev)	((netdev)->master)
#define netif_is_lag_master(netdev)	((netdev)->is_lag_master)

enum { NETDEV_UP = 1, NETDEV_DOWN, NETDEV_CHANGE, NETDEV_UNREGISTER, NETDEV_CHANGEADDR,
	NETDEV_CHANGEUPPER };

#define rtnl_lock()			do { } while (0)
#define rtnl_unlock()			do { } while (0)
#define __in_dev_get_rtnl(netdev)	((netdev)->has_ip)
#define __in6_dev_get(netdev)		((netdev)->has_ip)
#define dev_net(netdev)			((netdev)->net)
#define compat_warn_same_address(netdev, low, id)	((void)(low))
#define compat_dispatch_gid_change(ib)	((void)(ib))
#define dev_put(netdev)			((void)(netdev))
#define is_zero_ether_addr(mac)		(!memcmp(mac, "\0\0\0\0\0", ETH_ALEN))
#define eth_random_addr(mac)		((void)memset(mac, 2, ETH_ALEN))

static inline void addrconf_addr_eui48_base(u8 *eui, const u8 *mac)
{
	memcpy(eui, mac, 3);
	eui[3] = 0xff;
	eui[4] = 0xfe;
	memcpy(eui + 5, mac + 3, 3);
}

/* Get the interface with this ifindex, or NULL; defined by the test */
struct net_device *dev_get_by_index_rcu(struct net *net, int ifindex);

/* Get the interface after @dev, or the first one if @dev is NULL; defined by the test */
struct net_device *host_get_next_netdev(const struct net_device *dev);
#define for_each_netdev_rcu(net, dev)	\
	for (dev = host_get_next_netdev(NULL); dev; dev = host_get_next_netdev(dev))

#define NOTIFY_DONE	0

struct notifier_block {
	int (*notifier_call)(struct notifier_block *nb, unsigned long event, void *info);
};

/* each test defines these functions */
int register_netdevice_notifier(struct notifier_block *nb);
void unregister_netdevice_notifier(struct notifier_block *nb);
#define netdev_notifier_info_to_dev(info)	((struct net_device *)(info))

/* Addresses of interfaces, and their notifiers; the test defines the functions */
struct in_device { struct net_device *dev; };
struct inet6_dev { struct net_device *dev; };
struct in_ifaddr { struct in_device *ifa_dev; };
struct inet6_ifaddr { struct inet6_dev *idev; };

int register_inetaddr_notifier(struct notifier_block *nb);
int register_inet6addr_notifier(struct notifier_block *nb);
void unregister_inetaddr_notifier(struct notifier_block *nb);
void unregister_inet6addr_notifier(struct notifier_block *nb);

#endif
