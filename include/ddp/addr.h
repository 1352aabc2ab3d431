/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* IP address helpers for the lower layers. */
#ifndef _DDP_ADDR_H
#define _DDP_ADDR_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/types.h>

struct net;
struct net_device;

/* Get the port number, in network byte order */
static inline __be16 ddp_addr_get_port(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)a)->sin6_port;
	return ((const struct sockaddr_in *)a)->sin_port;
}

static inline void ddp_addr_set_port(struct sockaddr_storage *a, __be16 port)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = port;
	else
		((struct sockaddr_in *)a)->sin_port = port;
}

static inline int ddp_addr_len(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					: sizeof(struct sockaddr_in);
}

bool ddp_addr_is_wildcard(const struct sockaddr_storage *a);

/* Check whether @a is a wildcard or loopback address, on which rdma_cm listens on each device */
bool ddp_addr_is_wildcard_or_loopback(const struct sockaddr_storage *a);
/* Check whether two addresses are equal: family, address, IPv6 scope and port */
bool ddp_addr_equal(const struct sockaddr_storage *a,
		    const struct sockaddr_storage *b);
/* Hash the IPv4 address of a peer, or the first 64 bits of its IPv6 address */
u32 ddp_addr_hash_source(const struct sockaddr_storage *a, u32 seed);
/* Hash an address with its port, scope and network namespace */
u32 ddp_addr_hash(const struct net *net, const struct sockaddr_storage *a,
		  u32 seed);
/* Convert an IPv4-mapped IPv6 address to an IPv4 address; leave other addresses unchanged */
void ddp_addr_unmap_v4(struct sockaddr_storage *a);
/*
 * Store up to @room addresses of an interface in @at, each with port 0. Return:
 * the number of addresses stored.
 */
int ddp_list_iface_addrs(struct net *net, int ifindex, sa_family_t family,
			 struct sockaddr_storage *at, int room);
/*
 * rdma_cm chooses the device of a connection by a local address. Check whether it may choose
 * the device of interface @mine if the address belongs to interface @has.
 */
bool ddp_are_ifaces_related(struct net *net, int mine, const struct net_device *has);
/*
 * Check whether a wildcard listener of the device of interface @mine may serve the addresses
 * of interface @has: ddp_are_ifaces_related() must return true for the two interfaces, and
 * they must be in the same VRF
 */
bool ddp_may_serve_iface(struct net *net, int mine, int has);
/* Get the VRF in which the device of interface @mine binds sockets to the address @local */
int ddp_addr_get_vrf(struct net *net, int mine, const struct sockaddr_storage *local);

#endif
