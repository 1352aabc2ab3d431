/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the lower layers ask of IP addresses. */
#ifndef _DDP_ADDR_H
#define _DDP_ADDR_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/types.h>

struct net;

/* In network order */
static inline __be16 ddp_addr_port(const struct sockaddr_storage *a)
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

bool ddp_addr_wildcard(const struct sockaddr_storage *a);
/* Family, address, scope and port */
bool ddp_addr_same(const struct sockaddr_storage *a,
		   const struct sockaddr_storage *b);
/* A number for where it is: a host, or an IPv6 network */
u32 ddp_addr_source(const struct sockaddr_storage *a, u32 seed);
/* A number for all that ddp_addr_same() looks at */
u32 ddp_addr_hash(const struct net *net, const struct sockaddr_storage *a,
		  u32 seed);
/* What is mapped into IPv6 is IPv4 again */
void ddp_addr_unmap(struct sockaddr_storage *a);
/* The addresses of an interface, port 0: the first ones; how many */
int ddp_addr_list(struct net *net, int ifindex, sa_family_t family,
		  struct sockaddr_storage *at, int room);
/* Does the interface have the address? */
bool ddp_addr_is_on(struct net *net, int ifindex,
		    const struct sockaddr_storage *a);

#endif
