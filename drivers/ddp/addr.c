// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* IP address helpers: see ddp/addr.h. */
#include <linux/export.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/netns/hash.h>

#include <ddp/addr.h>

#include "internal.h"

/**
 * ddp_addr_is_wildcard - check whether an address is the wildcard address
 * @a: the address
 *
 * Return: true if @a is 0.0.0.0 or ::, false otherwise.
 */
bool ddp_addr_is_wildcard(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return ipv6_addr_any(&((struct sockaddr_in6 *)a)->sin6_addr);
	return ((struct sockaddr_in *)a)->sin_addr.s_addr == 0;
}
EXPORT_SYMBOL_GPL(ddp_addr_is_wildcard);

/**
 * ddp_addr_is_wildcard_or_loopback - check whether all devices may listen on an address
 * @a: the address
 *
 * If a program listens on a wildcard or loopback address, rdma_cm starts a listener with this
 * address on each device.
 *
 * Return: true if @a is the wildcard or a loopback address, false otherwise.
 */
bool ddp_addr_is_wildcard_or_loopback(const struct sockaddr_storage *a)
{
	if (ddp_addr_is_wildcard(a))
		return true;
	if (a->ss_family == AF_INET6)
		return ipv6_addr_loopback(&((struct sockaddr_in6 *)a)->sin6_addr);
	return ipv4_is_loopback(((struct sockaddr_in *)a)->sin_addr.s_addr);
}
EXPORT_SYMBOL_GPL(ddp_addr_is_wildcard_or_loopback);

/**
 * ddp_addr_equal - compare two addresses, ports included
 * @a: first address
 * @b: second address
 *
 * Return: true if family, address, port and IPv6 scope are equal, false
 * otherwise.
 */
bool ddp_addr_equal(const struct sockaddr_storage *a,
		    const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (void *)a, *b6 = (void *)b;
	const struct sockaddr_in *a4 = (void *)a, *b4 = (void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return a6->sin6_port == b6->sin6_port &&
		       ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) &&
		       a6->sin6_scope_id == b6->sin6_scope_id;
	return a4->sin_port == b4->sin_port &&
	       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}
EXPORT_SYMBOL_GPL(ddp_addr_equal);

/**
 * ddp_addr_hash_source - hash the source of a connection request
 * @a: the peer's address
 * @seed: random number; must be secret, so that a peer cannot choose addresses
 *	with a certain hash
 *
 * Hashes the whole IPv4 address, but only the first 64 bits of an IPv6 address,
 * because a single host can use all addresses of its IPv6 subnet.
 *
 * Return: the hash.
 */
u32 ddp_addr_hash_source(const struct sockaddr_storage *a, u32 seed)
{
	const struct in6_addr *a6 = &((struct sockaddr_in6 *)a)->sin6_addr;
	__be32 a4 = ((struct sockaddr_in *)a)->sin_addr.s_addr;

	if (a->ss_family == AF_INET6)
		return jhash_2words((__force u32)a6->s6_addr32[0],
				    (__force u32)a6->s6_addr32[1], seed);
	return jhash_1word((__force u32)a4, seed);
}
EXPORT_SYMBOL_GPL(ddp_addr_hash_source);

/**
 * ddp_addr_hash - hash an address with its port, scope and network namespace
 * @net: network namespace of the address
 * @a: the address
 * @seed: random number; must be secret, so that a program cannot choose
 *	addresses which fill one hash chain
 *
 * Return: the hash.
 */
u32 ddp_addr_hash(const struct net *net, const struct sockaddr_storage *a,
		  u32 seed)
{
	const struct sockaddr_in6 *a6 = (void *)a;
	const struct sockaddr_in *a4 = (void *)a;

	seed ^= net_hash_mix(net);
	if (a->ss_family == AF_INET6)
		return jhash2((__force u32 *)a6->sin6_addr.s6_addr32, 4,
			      jhash_2words((__force u32)a6->sin6_port,
					   a6->sin6_scope_id, seed));
	return jhash_2words((__force u32)a4->sin_port,
			    (__force u32)a4->sin_addr.s_addr, seed);
}
EXPORT_SYMBOL_GPL(ddp_addr_hash);

/**
 * ddp_addr_unmap_v4 - convert an IPv4-mapped IPv6 address to IPv4
 * @a: any address; left unchanged if it is not IPv4-mapped
 */
void ddp_addr_unmap_v4(struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *a6 = (void *)a;
	struct sockaddr_in a4 = { .sin_family = AF_INET };

	if (a->ss_family != AF_INET6 || !ipv6_addr_v4mapped(&a6->sin6_addr))
		return;
	a4.sin_port = a6->sin6_port;
	a4.sin_addr.s_addr = a6->sin6_addr.s6_addr32[3];
	memset(a, 0, sizeof(*a));
	memcpy(a, &a4, sizeof(a4));
}
EXPORT_SYMBOL_GPL(ddp_addr_unmap_v4);

/*
 * Find the first interface that has the address, and ignore the address's scope, like rdma_cm.
 * rdma_cm refuses a connection request that the device of another interface
 * reports, so this function must not respect the scope either.
 */
static const struct net_device *find_ipv6_dev(struct net *net, const struct in6_addr *addr)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct net_device *dev;

	for_each_netdev_rcu(net, dev)
		if (ipv6_chk_addr(net, addr, dev, 1))
			return dev;
#endif
	return NULL;
}

/**
 * ddp_addr_find_dev - find the interface that has an address
 * @net: network namespace
 * @a: the address
 *
 * Context: the caller must be in an RCU read-side section.
 *
 * Return: the interface that the RDMA core finds by the address, without a reference; NULL if
 * no interface has the address.
 */
const struct net_device *ddp_addr_find_dev(struct net *net, const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return __ip_dev_find(net, ((struct sockaddr_in *)a)->sin_addr.s_addr, false);
	return find_ipv6_dev(net, &((struct sockaddr_in6 *)a)->sin6_addr);
}

/* Check whether @vlan is a VLAN whose lowest interface is @real */
static bool is_vlan_on(const struct net_device *vlan, const struct net_device *real)
{
	return is_vlan_dev(vlan) && vlan_dev_real_dev(vlan) == real;
}

/*
 * Check whether rdma_cm may choose the device of interface @mine for an address of interface
 * @has: the two interfaces must be the same, or one must be a VLAN on the other.
 */
static bool are_ifaces_related(const struct net_device *mine, const struct net_device *has)
{
	return mine == has || is_vlan_on(has, mine) ||
	       compat_also_related(mine, has, is_vlan_on(mine, has));
}

/**
 * ddp_are_ifaces_related - check whether rdma_cm may choose a device for an interface's addresses
 * @net: network namespace
 * @mine: ifindex of the device's interface
 * @has: the interface with the addresses; it may be about to be removed
 *
 * rdma_cm chooses the device of a connection by a local address.
 *
 * Context: any.
 *
 * Return: true if @has is the device's interface, or one of the two interfaces is a VLAN on the
 * other, so that rdma_cm may choose the device for an address of @has; false otherwise.
 */
bool ddp_are_ifaces_related(struct net *net, int mine, const struct net_device *has)
{
	const struct net_device *dev;
	bool yes;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(net, mine);
	yes = dev && are_ifaces_related(dev, has);
	rcu_read_unlock();
	return yes;
}
EXPORT_SYMBOL_GPL(ddp_are_ifaces_related);

/**
 * ddp_may_serve_iface - check whether a device may serve the addresses of an interface
 * @net: network namespace
 * @mine: ifindex of the device's interface
 * @has: ifindex of the interface with the addresses
 *
 * Called for listeners on the wildcard address. A device serves the addresses of its own
 * interface. It may also serve those of a related interface, see ddp_are_ifaces_related(), if
 * both interfaces are in the same VRF.
 *
 * Context: any.
 *
 * Return: true if the device may serve the addresses, false otherwise.
 */
bool ddp_may_serve_iface(struct net *net, int mine, int has)
{
	const struct net_device *dev, *other;
	bool yes;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(net, mine);
	other = dev_get_by_index_rcu(net, has);
	yes = dev && other && are_ifaces_related(dev, other) &&
	      l3mdev_master_ifindex_rcu(dev) == l3mdev_master_ifindex_rcu(other);
	rcu_read_unlock();
	return yes;
}
EXPORT_SYMBOL_GPL(ddp_may_serve_iface);

/* Find the interface of a local address as rdma_bind_addr() does */
static const struct net_device *find_local_dev(struct net *net, const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *a6 = (void *)a;

	if (a->ss_family == AF_INET6 && ipv6_addr_type(&a6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		return dev_get_by_index_rcu(net, a6->sin6_scope_id);
	return ddp_addr_find_dev(net, a);
}

/**
 * ddp_addr_get_vrf - get the VRF of the sockets that a device binds to an address
 * @net: network namespace
 * @mine: ifindex of the device's interface
 * @local: the address, which may be a wildcard address
 *
 * rdma_cm may give a device an address of another interface, see ddp_are_ifaces_related(). That
 * interface can be in another VRF, and the address exists in that VRF only.
 *
 * Return: ifindex of the VRF of the interface that has the address. If @local is a wildcard
 * address, or its interface is not related to @mine, ifindex of the VRF of @mine. 0 if the
 * interface belongs to no VRF.
 */
int ddp_addr_get_vrf(struct net *net, int mine, const struct sockaddr_storage *local)
{
	const struct net_device *dev, *has;
	int vrf = 0;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(net, mine);
	has = find_local_dev(net, local);
	if (dev)
		vrf = l3mdev_master_ifindex_rcu(has && are_ifaces_related(dev, has) ? has : dev);
	rcu_read_unlock();
	return vrf;
}
EXPORT_SYMBOL_GPL(ddp_addr_get_vrf);

static void *init_addr(struct sockaddr_storage *at, sa_family_t family)
{
	*at = (struct sockaddr_storage){ .ss_family = family };
	return at;
}

static int list_ipv4_addrs(struct net_device *dev, struct sockaddr_storage *at,
			   int room)
{
	const struct in_device *in = __in_dev_get_rcu(dev);
	const struct in_ifaddr *ifa;
	struct sockaddr_in *a;
	int n = 0;

	if (!in)
		return 0;
	in_dev_for_each_ifa_rcu(ifa, in) {
		if (n == room)
			break;
		a = init_addr(&at[n++], AF_INET);
		a->sin_addr.s_addr = ifa->ifa_local;
	}
	return n;
}

#if IS_ENABLED(CONFIG_IPV6)
/* List IPv6 addresses in the order of the kernel's list: by scope, widest first */
static int list_ipv6_addrs(struct net_device *dev, struct sockaddr_storage *at,
			   int room)
{
	struct inet6_dev *in = __in6_dev_get(dev);
	const struct inet6_ifaddr *ifa;
	struct sockaddr_in6 *a;
	int n = 0;

	if (!in)
		return 0;
	read_lock_bh(&in->lock);
	list_for_each_entry(ifa, &in->addr_list, if_list) {
		if (ifa->flags & IFA_F_DADFAILED)
			continue;
		if (n == room)
			break;
		a = init_addr(&at[n++], AF_INET6);
		a->sin6_addr = ifa->addr;
		if (ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL)
			a->sin6_scope_id = dev->ifindex;
	}
	read_unlock_bh(&in->lock);
	return n;
}
#else
static int list_ipv6_addrs(struct net_device *dev, struct sockaddr_storage *at,
			   int room)
{
	return 0;
}
#endif

/**
 * ddp_list_iface_addrs - list the addresses of an interface
 * @net: network namespace
 * @ifindex: the interface
 * @family: address family
 * @at: array to fill; each port is 0, and IPv6 addresses are sorted by scope,
 *	widest first, without those that failed duplicate address detection
 * @room: number of elements of @at; further addresses are not listed
 *
 * Return: number of addresses stored.
 */
int ddp_list_iface_addrs(struct net *net, int ifindex, sa_family_t family,
			 struct sockaddr_storage *at, int room)
{
	struct net_device *dev;
	int n = 0;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(net, ifindex);
	if (dev)
		n = family == AF_INET6 ? list_ipv6_addrs(dev, at, room)
				       : list_ipv4_addrs(dev, at, room);
	rcu_read_unlock();
	return n;
}
EXPORT_SYMBOL_GPL(ddp_list_iface_addrs);
