// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Sockets: see ddp/sock.h. */
#include <linux/export.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/l3mdev.h>
#include <net/sock.h>

#include <ddp/addr.h>
#include <ddp/sock.h>

#include "internal.h"

/*
 * What is stored through us may hold our sockets' locks while it waits for
 * memory, and other sockets' users may wait for what is stored.  To lockdep
 * all of the kernel's own sockets would be one.
 */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
static struct lock_class_key keys[2][2];

static bool is_v6(const struct sock *sk)
{
	return sk->sk_family == AF_INET6;
}

static void own_classes(struct sock *sk)
{
	struct lock_class_key *k = keys[is_v6(sk)];

	if (WARN_ON_ONCE(!sock_allow_reclassification(sk)))
		return;
	if (is_v6(sk))
		sock_lock_init_class_and_name(sk, "slock-AF_INET6-IWARP", k,
					      "sk_lock-AF_INET6-IWARP", k + 1);
	else
		sock_lock_init_class_and_name(sk, "slock-AF_INET-IWARP", k,
					      "sk_lock-AF_INET-IWARP", k + 1);
}

/**
 * ddp_sock_adopt - a socket that was accepted
 * @sk: the socket, not yet attached to anything
 *
 * Packets come for it already: its spinlock stays as it is.  The one that is
 * held where memory is waited for is the other.
 */
void ddp_sock_adopt(struct sock *sk)
{
	lockdep_init_map(&sk->sk_lock.dep_map,
			 is_v6(sk) ? "sk_lock-AF_INET6-IWARP"
				   : "sk_lock-AF_INET-IWARP",
			 &keys[is_v6(sk)][1], 0);
	/* the class lives in this module, and TCP may close for long */
	compat_sk_owner_set(sk);
}
#else
static void own_classes(struct sock *sk)
{
}

void ddp_sock_adopt(struct sock *sk)
{
}
#endif
EXPORT_SYMBOL_GPL(ddp_sock_adopt);

/**
 * ddp_sock_domain - in whose tables an interface's addresses and routes are
 * @net: network namespace
 * @ifindex: the interface
 *
 * Return: the index of the VRF that it is in now; 0: in none.
 */
int ddp_sock_domain(struct net *net, int ifindex)
{
	return l3mdev_master_ifindex_by_index(net, ifindex);
}
EXPORT_SYMBOL_GPL(ddp_sock_domain);

/**
 * ddp_sock_make - a new socket that keeps its network namespace
 * @net: the namespace
 * @domain: as ddp_sock_domain() has it: where it has addresses, routes and peers
 * @family: of addresses
 * @protocol: IPPROTO_TCP or the like
 * @sock: set
 *
 * Return: 0; -ENOMEM; -EPROTONOSUPPORT: the kernel has no such protocol, or may
 * not load it; or another error.
 */
int ddp_sock_make(struct net *net, int domain, int family, int protocol,
		  struct socket **sock)
{
	int err = sock_create_kern(net, family, SOCK_STREAM, protocol, sock);

	/* sockets have several words for it */
	if (err == -ENOBUFS || err == -ENFILE)
		return -ENOMEM;
	if (err)
		return err;
	own_classes((*sock)->sk);
	compat_sk_net_refcnt_upgrade((*sock)->sk);
	/* bound to nothing yet, it does not fail */
	if (domain)
		sock_bindtoindex((*sock)->sk, domain, true);
	return 0;
}
EXPORT_SYMBOL_GPL(ddp_sock_make);

/**
 * ddp_sock_possible - could the program that runs make such a socket?
 * @protocol: IPPROTO_TCP or the like
 *
 * Has the protocol's module loaded, as socket(2) does. Process context.
 *
 * Return: whether.
 */
bool ddp_sock_possible(int protocol)
{
	struct socket *sock;

	if (sock_create(PF_INET, SOCK_STREAM, protocol, &sock))
		return false;
	sock_release(sock);
	return true;
}

/*
 * As IPV6_TCLASS does, which ip6_sock_set_*() has nothing for: two of the bits
 * are the protocol's own.
 */
static void set_traffic_class(struct sock *sk, u8 tos)
{
	struct ipv6_pinfo *np;

	lock_sock(sk);
	np = inet6_sk(sk);
	if (np)
		np->tclass = (np->tclass & INET_ECN_MASK) |
			     (tos & ~INET_ECN_MASK);
	release_sock(sk);
}

/**
 * ddp_sock_set_tos - mark what a socket sends
 * @sk: the socket
 * @tos: type of service, or traffic class: its upper six bits count; 0: as it is
 *
 * The priority in the host's own queues follows from it.  An IPv6 socket may
 * have a peer of IPv4.
 */
void ddp_sock_set_tos(struct sock *sk, u8 tos)
{
	if (!tos)
		return;
	if (sk->sk_family == AF_INET6)
		set_traffic_class(sk, tos);
	ip_sock_set_tos(sk, tos);
	/* a child has its listener's type of service, and no priority */
	sock_set_priority(sk, rt_tos2priority(tos));
}
EXPORT_SYMBOL_GPL(ddp_sock_set_tos);

/**
 * ddp_sock_bind - give it its own address
 * @sock: the socket
 * @at: the address, with the port; port 0: any
 *
 * Return: 0 or an error.
 */
int ddp_sock_bind(struct socket *sock, const struct sockaddr_storage *at)
{
	struct sockaddr_storage addr = *at;

	return kernel_bind(sock, compat_sockaddr(&addr), ddp_addr_len(&addr));
}
EXPORT_SYMBOL_GPL(ddp_sock_bind);

/**
 * ddp_sock_connect - begin to connect
 * @sock: the socket
 * @to: where to
 *
 * Return: 0, or an error; it may stand already.
 */
int ddp_sock_connect(struct socket *sock, const struct sockaddr_storage *to)
{
	struct sockaddr_storage addr = *to;
	int err;

	err = kernel_connect(sock, compat_sockaddr(&addr), ddp_addr_len(&addr),
			     O_NONBLOCK);
	return err == -EINPROGRESS ? 0 : err;
}
EXPORT_SYMBOL_GPL(ddp_sock_connect);

/**
 * ddp_sock_names - who is connected
 * @sock: the socket
 * @local: set to its own address; or NULL
 * @remote: set to the peer's; or NULL
 *
 * Nobody above knows of IPv4 addresses mapped into IPv6.  The peer's stays when the
 * connection is gone, or has not come about: a reset may be quicker than who asks.
 */
void ddp_sock_names(struct socket *sock, struct sockaddr_storage *local,
		    struct sockaddr_storage *remote)
{
	if (local) {
		sock->ops->getname(sock, (struct sockaddr *)local, 0);
		ddp_addr_unmap(local);
	}
	if (remote) {
		/* 1 is getpeername()'s, which wants it connected */
		sock->ops->getname(sock, (struct sockaddr *)remote, 2);
		ddp_addr_unmap(remote);
	}
}
EXPORT_SYMBOL_GPL(ddp_sock_names);

/**
 * ddp_sock_own - hear of what happens to a socket
 * @sk: the socket
 * @owner: what the callbacks find as its sk_user_data
 * @calls: ours; those that are NULL stay as they are
 * @before: set to those it had
 *
 * What happened before is not told again.
 */
void ddp_sock_own(struct sock *sk, void *owner,
		  const struct ddp_sock_calls *calls,
		  struct ddp_sock_calls *before)
{
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, owner);
	/* there is no call for these: who has a socket sets them, with this lock */
	before->data_ready = sk->sk_data_ready;
	before->state_change = sk->sk_state_change;
	before->write_space = sk->sk_write_space;
	if (calls->data_ready)
		sk->sk_data_ready = calls->data_ready;
	if (calls->state_change)
		sk->sk_state_change = calls->state_change;
	if (calls->write_space)
		sk->sk_write_space = calls->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}
EXPORT_SYMBOL_GPL(ddp_sock_own);

/**
 * ddp_sock_disown - hear no more of it
 * @sk: the socket
 * @before: the callbacks it had
 *
 * When it returns none of ours runs or will run: they look for their owner
 * under sk_callback_lock.
 */
void ddp_sock_disown(struct sock *sk, const struct ddp_sock_calls *before)
{
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = before->data_ready;
	sk->sk_state_change = before->state_change;
	sk->sk_write_space = before->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}
EXPORT_SYMBOL_GPL(ddp_sock_disown);

/**
 * ddp_sock_reason - why a connection is lost, or never came to be
 * @err: the socket's negative errno
 * @otherwise: what it means if it tells nothing in particular
 *
 * Return: the reason.
 */
enum iw_reason ddp_sock_reason(int err, enum iw_reason otherwise)
{
	switch (err) {
	case -ECONNREFUSED:
	case -ENOPROTOOPT:
		return IW_PEER_REFUSED;
	case -ECONNRESET:
	case -EPIPE:
		return IW_PEER_RESET;
	case -ETIMEDOUT:
		return IW_TIMEOUT;
	case -EHOSTUNREACH:
	case -EHOSTDOWN:
	case -ENETUNREACH:
	case -ENONET:
		return IW_UNREACHABLE;
	default:
		return otherwise;
	}
}
EXPORT_SYMBOL_GPL(ddp_sock_reason);
