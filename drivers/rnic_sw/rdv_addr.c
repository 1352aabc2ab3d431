// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Find the addresses of an address vector, which contains a GID for each side, or the peer's LID.
 *
 * A GID is an IPv4-mapped or an IPv6 address, or GID 0 of a device, which is derived from the MAC
 * address. GID 0 of this device stands for the first address of its interface. GID 0 of another
 * host stands for the IPv4 address at which the neighbour table (ARP) has this MAC address.
 * Programs exchange their GIDs over a socket, so the table usually contains the other host.
 *
 * Without a GRH the address vector contains the peer's LID, see rdv_lid.c, and the local address is
 * the first one of the interface.
 */
#include <linux/etherdevice.h>
#include <linux/nsproxy.h>
#include <net/arp.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "rdv.h"
#include "rdv_lid.h"

/*
 * Check whether @gid is GID 0 of some device, as netdev.c builds it: the MAC address, two zero
 * bytes, and the two halves of the MAC address again with two bytes between them
 */
static bool is_mac_gid(const union ib_gid *gid)
{
	const u8 *g = gid->raw;

	return !is_zero_ether_addr(g) && !g[6] && !g[7] && !memcmp(g, g + 8, 3) &&
	       !memcmp(g + 3, g + 13, 3);
}

static bool is_own_mac_gid(const struct rnic_dev *dev, const union ib_gid *gid)
{
	return !memcmp(gid->raw, &dev->gids.gid[0], sizeof(gid->raw));
}

/*
 * Convert a GID to an address on the interface @ifindex.  Return: 0; -EINVAL if no host can have
 * the address.
 */
static int gid_to_addr(const union ib_gid *gid, int ifindex, struct sockaddr_storage *a)
{
	struct sockaddr_in6 *a6 = (void *)a;
	int type;

	memset(a, 0, sizeof(*a));
	a6->sin6_family = AF_INET6;
	memcpy(&a6->sin6_addr, gid->raw, sizeof(a6->sin6_addr));
	type = ipv6_addr_type(&a6->sin6_addr);
	if (type == IPV6_ADDR_ANY || type & (IPV6_ADDR_MULTICAST | IPV6_ADDR_LOOPBACK))
		return -EINVAL;
	if (type & IPV6_ADDR_LINKLOCAL)
		a6->sin6_scope_id = ifindex;
	ddp_addr_unmap_v4(a);
	return 0;
}

/* Get the first address of the device's interface.  Return: 0 or -EADDRNOTAVAIL. */
static int get_first_addr(struct net *net, int ifindex, struct sockaddr_storage *a)
{
	if (ddp_list_iface_addrs(net, ifindex, AF_INET, a, 1) ||
	    ddp_list_iface_addrs(net, ifindex, AF_INET6, a, 1))
		return 0;
	return -EADDRNOTAVAIL;
}

struct mac_search {
	const struct net	*net;
	int			ifindex;
	const u8		*mac;
	__be32			addr;	/* smallest address found; 0 if none */
};

static void rnic_rdv_match_neighbour(struct neighbour *n, void *arg)
{
	__be32 addr = *(const __be32 *)n->primary_key;
	struct mac_search *s = arg;
	u8 mac[MAX_ADDR_LEN];

	if (n->dev->ifindex != s->ifindex || !net_eq(dev_net(n->dev), s->net) ||
	    !(READ_ONCE(n->nud_state) & NUD_VALID))
		return;
	neigh_ha_snapshot(mac, n, n->dev);
	if (ether_addr_equal_unaligned(mac, s->mac) && (!s->addr || ntohl(addr) < ntohl(s->addr)))
		s->addr = addr;
}

static void set_sockaddr_ipv4(struct sockaddr_storage *a, u32 addr)
{
	struct sockaddr_in *a4 = (void *)a;

	memset(a, 0, sizeof(*a));
	a4->sin_family = AF_INET;
	a4->sin_addr.s_addr = htonl(addr);
}

/*
 * Find the host with MAC address @mac on the segment of an interface.  If the neighbour table has
 * several addresses of the host, choose the smallest, so that all queue pairs use the same one.
 * Return: 0 or -EHOSTUNREACH.
 */
static int find_neighbour(const struct net *net, int ifindex, const u8 *mac,
			  struct sockaddr_storage *a)
{
	struct mac_search s = { .net = net, .ifindex = ifindex, .mac = mac };

	neigh_for_each(&arp_tbl, rnic_rdv_match_neighbour, &s);
	if (!s.addr)
		return -EHOSTUNREACH;
	set_sockaddr_ipv4(a, ntohl(s.addr));
	return 0;
}

/*
 * Find the addresses if the LID @dlid identifies the peer.  Return: 0; -EINVAL if @dlid stands for
 * no address; -ENODEV if the interface is being removed.
 */
static int resolve_lid(struct rnic_dev *dev, u16 dlid, struct sockaddr_storage *local,
		       struct sockaddr_storage *remote)
{
	struct net_device *netdev = ib_device_get_netdev(&dev->ib, 1);
	u32 addr, mask, peer;

	if (!netdev)
		return -ENODEV;
	rnic_gids_get_first_ipv4(netdev, &addr, &mask);
	dev_put(netdev);
	peer = rdv_lid_to_addr(dlid, addr, mask);
	if (!peer)
		return -EINVAL;
	set_sockaddr_ipv4(local, addr);
	set_sockaddr_ipv4(remote, peer);
	return 0;
}

static int resolve_gid(struct rnic_dev *dev, struct net *net, const union ib_gid *gid,
		       struct sockaddr_storage *a)
{
	int ifindex = rnic_get_ifindex(dev);

	if (is_own_mac_gid(dev, gid))
		return get_first_addr(net, ifindex, a);
	return is_mac_gid(gid) ? find_neighbour(net, ifindex, gid->raw, a) :
				 gid_to_addr(gid, ifindex, a);
}

static int resolve_gids(struct rnic_dev *dev, struct net *net, const struct rdma_ah_attr *ah,
			struct sockaddr_storage *local, struct sockaddr_storage *remote)
{
	int err = resolve_gid(dev, net, &ah->grh.sgid_attr->gid, local);

	if (!err)
		err = resolve_gid(dev, net, &ah->grh.dgid, remote);
	return err ?: local->ss_family == remote->ss_family ? 0 : -EINVAL;
}

/*
 * Check whether the current task may open sockets in the network namespace of a device.  The RDMA
 * core may show a device to programs of all namespaces.
 */
static bool current_may_use_net(const struct net *net)
{
	return net_eq(current->nsproxy->net_ns, net);
}

/**
 * rdv_resolve_addrs - find the addresses of an address vector
 * @dev: the device
 * @ah: the address vector: with a GRH and a valid sgid_attr, or without a GRH and with a LID
 * @local: filled in with this side's address, port 0
 * @remote: filled in with the peer's address, port 0
 *
 * Context: the task that modifies the queue pair; may sleep.
 *
 * Return: 0; -EINVAL if @ah has neither a GRH nor a LID that stands for an address, or if the GIDs
 * are not addresses of the same family; -EHOSTUNREACH if the peer's GID is GID 0 of a host that is
 * not in the neighbour table; -EADDRNOTAVAIL if the device's interface has no address; -ENODEV if
 * the interface is being removed; -ENETUNREACH if the device is in another network namespace than
 * the current task.
 */
int rdv_resolve_addrs(struct rnic_dev *dev, const struct rdma_ah_attr *ah,
		      struct sockaddr_storage *local, struct sockaddr_storage *remote)
{
	bool grh = rdma_ah_get_ah_flags(ah) & IB_AH_GRH;
	struct net *net;
	int err;

	if (grh && !ah->grh.sgid_attr)
		return -EINVAL;
	net = rnic_get_net(dev);
	if (!net)
		return -ENODEV;
	if (!current_may_use_net(net))
		err = -ENETUNREACH;
	else
		err = grh ? resolve_gids(dev, net, ah, local, remote) :
			    resolve_lid(dev, rdma_ah_get_dlid(ah), local, remote);
	put_net(net);
	return err;
}

/**
 * rdv_addr_is_same_host - compare two addresses without their ports
 * @a: first address
 * @b: second address
 *
 * Return: true if family, address and IPv6 scope are equal; false otherwise.
 */
bool rdv_addr_is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	struct sockaddr_storage c = *b;

	ddp_addr_set_port(&c, ddp_addr_get_port(a));
	return ddp_addr_equal(a, &c);
}
