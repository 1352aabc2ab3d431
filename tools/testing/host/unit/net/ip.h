/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_IP_H
#define _HOST_UNIT_IP_H

#include <fcntl.h>
#include <netinet/in.h>
#include <net/tcp.h>

/*
 * Functions that ddp/sock.c calls. They do nothing or fail, because no test
 * depends on them.
 */
struct net;
struct ipv6_pinfo { u8 tclass; };

static inline struct ipv6_pinfo *inet6_sk(const struct sock *sk)
{
	return NULL;
}

#define compat_sockaddr(a)			((struct sockaddr *)(a))
#define compat_sk_net_refcnt_upgrade(sk)	((void)(sk))
#define sock_create_kern(n, f, t, p, s)		((void)(n), (void)(f), *(s) = NULL, -ENOMEM)
#define sock_create(f, t, p, s)			((void)(f), (void)(p), *(s) = NULL, -ENOMEM)
#define sock_bindtoindex(sk, i, lock)		((void)(sk), (void)(i))
#define sock_release(s)				((void)(s))
#define kernel_bind(s, a, len)			((void)(s), (void)(a), -EINVAL)
#define kernel_connect(s, a, len, how)		((void)(s), (void)(a), -EINVAL)
#define ip_sock_set_tos(sk, tos)		((void)(sk), (void)(tos))
#define rt_tos2priority(tos)			(tos)
#define sock_set_priority(sk, priority)		((void)(sk), (void)(priority))

#endif
