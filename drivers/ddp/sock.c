// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Socket helpers for the lower layers, see ddp/sock.h. */
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
 * Lock classes of the RNIC's sockets. Memory reclaim may write to storage that
 * is reached through these sockets, and then takes their locks. A task that
 * waits for reclaim may hold the lock of an ordinary socket. If all sockets had
 * the same lock class, lockdep would report a deadlock that cannot occur.
 */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
static struct lock_class_key keys[2][2];

static bool is_ipv6_sock(const struct sock *sk)
{
	return sk->sk_family == AF_INET6;
}

/**
 * ddp_sock_init_lock_class - set the lock classes of a new socket
 * @sk: the socket; the caller must be its only user
 */
void ddp_sock_init_lock_class(struct sock *sk)
{
	struct lock_class_key *k = keys[is_ipv6_sock(sk)];

	if (WARN_ON_ONCE(!sock_allow_reclassification(sk)))
		return;
	if (is_ipv6_sock(sk))
		sock_lock_init_class_and_name(sk, "slock-AF_INET6-IWARP", k,
					      "sk_lock-AF_INET6-IWARP", k + 1);
	else
		sock_lock_init_class_and_name(sk, "slock-AF_INET-IWARP", k,
					      "sk_lock-AF_INET-IWARP", k + 1);
}

/**
 * ddp_sock_set_lock_class - set the lock class of an accepted socket
 * @sk: the socket; the caller must be its only user
 *
 * Sets only the class of the part of the socket lock that lock_sock() holds,
 * because only this part is held while memory is allocated. Does not change the
 * class of the spinlock, which the softirq may already be using for packets
 * that arrive.
 */
void ddp_sock_set_lock_class(struct sock *sk)
{
	lockdep_init_map(&sk->sk_lock.dep_map,
			 is_ipv6_sock(sk) ? "sk_lock-AF_INET6-IWARP"
				   : "sk_lock-AF_INET-IWARP",
			 &keys[is_ipv6_sock(sk)][1], 0);
	/*
	 * the lock class is in this module, so keep the module loaded until the
	 * socket is freed
	 */
	compat_sk_owner_set(sk);
}
#else
void ddp_sock_init_lock_class(struct sock *sk)
{
}

void ddp_sock_set_lock_class(struct sock *sk)
{
}
#endif

/**
 * ddp_ifindex_to_vrf - get the VRF of an interface
 * @net: network namespace
 * @ifindex: the interface
 *
 * Return: the ifindex of the VRF that the interface belongs to now, or 0 if it
 * belongs to none.
 */
int ddp_ifindex_to_vrf(struct net *net, int ifindex)
{
	return l3mdev_master_ifindex_by_index(net, ifindex);
}
EXPORT_SYMBOL_GPL(ddp_ifindex_to_vrf);

/**
 * ddp_sock_can_create - check whether the current process could create a socket
 * @protocol: protocol of the socket, such as IPPROTO_SCTP
 *
 * Loads the module of the protocol if necessary, as socket(2) does. Process
 * context.
 *
 * Return: true if the process could create a socket, false otherwise.
 */
bool ddp_sock_can_create(int protocol)
{
	struct socket *sock;

	if (sock_create(PF_INET, SOCK_STREAM, protocol, &sock))
		return false;
	sock_release(sock);
	return true;
}

/*
 * Set the traffic class, except for the two ECN bits, which TCP or SCTP sets.
 * Does what the IPV6_TCLASS socket option does, for which no ip6_sock_set_*()
 * function exists.
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
 * ddp_sock_set_tos - set the type of service of outgoing packets
 * @sk: the socket
 * @tos: type of service or traffic class; its two ECN bits are ignored; 0 to
 *	change nothing
 *
 * Also sets the socket's priority, which queueing disciplines of this host use.
 * An IPv6 socket gets both a traffic class and a type of service, because the
 * address of its peer may be an IPv4-mapped address.
 */
void ddp_sock_set_tos(struct sock *sk, u8 tos)
{
	if (!tos)
		return;
	if (sk->sk_family == AF_INET6)
		set_traffic_class(sk, tos);
	ip_sock_set_tos(sk, tos);
	/*
	 * ip_sock_set_tos() does not set the priority if the type of service is
	 * unchanged. An accepted TCP socket inherits the type of service, but not the
	 * priority.
	 */
	sock_set_priority(sk, rt_tos2priority(tos));
}
EXPORT_SYMBOL_GPL(ddp_sock_set_tos);

/**
 * ddp_sock_bind - bind a socket to a local address
 * @sock: the socket
 * @at: address and port; port 0 for any port
 *
 * Return: 0 on success, a negative errno otherwise.
 */
int ddp_sock_bind(struct socket *sock, const struct sockaddr_storage *at)
{
	struct sockaddr_storage addr = *at;

	return kernel_bind(sock, compat_sockaddr(&addr), ddp_addr_len(&addr));
}
EXPORT_SYMBOL_GPL(ddp_sock_bind);

/**
 * ddp_sock_connect - start to connect a socket to a peer
 * @sock: the socket
 * @to: the peer's address and port
 *
 * Return: 0 if the connection is being set up or is established; a negative
 * errno otherwise.
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
 * ddp_sock_get_addrs - get the addresses of a connection
 * @sock: the socket
 * @local: set to the local address; may be NULL
 * @remote: set to the peer's address; may be NULL
 *
 * Converts IPv4-mapped IPv6 addresses to IPv4. Sets @remote even if the
 * connection was never established or has been lost, because a reset may arrive
 * before this call.
 */
void ddp_sock_get_addrs(struct socket *sock, struct sockaddr_storage *local,
			struct sockaddr_storage *remote)
{
	if (local) {
		sock->ops->getname(sock, (struct sockaddr *)local, 0);
		ddp_addr_unmap_v4(local);
	}
	if (remote) {
		/* pass 2, because 1 (as for getpeername()) fails if the socket is not connected */
		sock->ops->getname(sock, (struct sockaddr *)remote, 2);
		ddp_addr_unmap_v4(remote);
	}
}
EXPORT_SYMBOL_GPL(ddp_sock_get_addrs);

/**
 * ddp_sock_set_callbacks - set the callbacks of a socket
 * @sk: the socket
 * @owner: value of sk_user_data that the callbacks use
 * @calls: new callbacks; a NULL member leaves that callback unchanged
 * @orig_callbacks: set to the previous callbacks
 *
 * The new callbacks are not called for events that occurred before this call,
 * so the caller must check the state of the socket afterwards.
 */
void ddp_sock_set_callbacks(struct sock *sk, void *owner,
			    const struct ddp_sock_callbacks *calls,
			    struct ddp_sock_callbacks *orig_callbacks)
{
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, owner);
	/*
	 * the kernel has no function to set the callbacks: assign them under
	 * sk_callback_lock
	 */
	orig_callbacks->data_ready = sk->sk_data_ready;
	orig_callbacks->state_change = sk->sk_state_change;
	orig_callbacks->write_space = sk->sk_write_space;
	if (calls->data_ready)
		sk->sk_data_ready = calls->data_ready;
	if (calls->state_change)
		sk->sk_state_change = calls->state_change;
	if (calls->write_space)
		sk->sk_write_space = calls->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}
EXPORT_SYMBOL_GPL(ddp_sock_set_callbacks);

/**
 * ddp_sock_restore_callbacks - restore the callbacks of a socket
 * @sk: the socket
 * @orig_callbacks: callbacks from ddp_sock_set_callbacks()
 *
 * Clears sk_user_data. The callbacks given to ddp_sock_set_callbacks() must read
 * sk_user_data under sk_callback_lock, or the caller must hold a lock that is
 * held during each callback: then no callback uses the owner after this
 * function has returned.
 */
void ddp_sock_restore_callbacks(struct sock *sk, const struct ddp_sock_callbacks *orig_callbacks)
{
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = orig_callbacks->data_ready;
	sk->sk_state_change = orig_callbacks->state_change;
	sk->sk_write_space = orig_callbacks->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}
EXPORT_SYMBOL_GPL(ddp_sock_restore_callbacks);

/**
 * ddp_sock_err_to_reason - convert an errno of a socket to a reason
 * @err: negative errno
 * @otherwise: reason to return for an errno that this function does not know
 *
 * Return: IW_PEER_REFUSED, IW_PEER_RESET, IW_TIMEOUT or IW_UNREACHABLE if @err
 * has this meaning; @otherwise for any other errno.
 */
enum iw_reason ddp_sock_err_to_reason(int err, enum iw_reason otherwise)
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
EXPORT_SYMBOL_GPL(ddp_sock_err_to_reason);
