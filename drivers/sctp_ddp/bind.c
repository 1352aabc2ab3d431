// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Binding of a socket to one address (RFC 5043 7.2), and to one address of each further
 * interface that the device's setting "paths" lists. SCTP sends and receives on the further
 * interfaces if the path over the first interface fails.
 */
#include <linux/cred.h>
#include <linux/net.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include <ddp/addr.h>

#include "internal.h"

static bool is_link_local(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 &&
	       ipv6_addr_type(&((struct sockaddr_in6 *)a)->sin6_addr) &
	       IPV6_ADDR_LINKLOCAL;
}

/*
 * Get the first address of an interface. Return: true if @addr has been set; false if
 * the interface has no address of the family, or its first address is link-local.
 */
static bool get_path_addr(struct net *net, int ifindex, sa_family_t family,
			  struct sockaddr_storage *addr)
{
	return ddp_list_iface_addrs(net, ifindex, family, addr, 1) &&
	       !is_link_local(addr);
}

/*
 * Add an address of a further interface to a bound socket, with the socket's port. If
 * the interface has no suitable address, or the port is in use on it, skip the
 * interface, because one path is enough. Return: 0; -ENOMEM if memory is short, in which
 * case SCTP has released the port and all addresses of the socket.
 */
static int bind_path_addr(struct socket *sock, sa_family_t family, int ifindex)
{
	struct sockaddr_storage addr;
	int err;

	if (!get_path_addr(sock_net(sock->sk), ifindex, family, &addr))
		return 0;
	err = sock_bind_add(sock->sk, compat_sockaddr(&addr), ddp_addr_len(&addr));
	return err == -ENOMEM ? err : 0;
}

/**
 * sddp_bind - bind a socket to an address and to addresses of further interfaces
 * @sock: the socket
 * @at: the first address, with the port for all addresses
 * @paths: array of DDP_PATHS_MAX indexes of further interfaces; 0 after the last index
 *
 * If @at is link-local, do not use the further interfaces.
 *
 * Return: 0; a negative errno if @at is not available or memory is short. After an error
 * the caller must not use the socket any further.
 */
int sddp_bind(struct socket *sock, const struct sockaddr_storage *at,
	      const int *paths)
{
	int err = ddp_sock_bind(sock, at), i;

	if (err || is_link_local(at))
		return err;
	for (i = 0; !err && i < DDP_PATHS_MAX && paths[i]; i++)
		err = bind_path_addr(sock, at->ss_family, paths[i]);
	return err;
}

/**
 * sddp_bind_as_owner - bind a socket with the credentials of its owner
 * @owner: the task that connects or listens; the bind fails if this task has no permission
 *	to use the port
 * @sock: the socket
 * @at: see sddp_bind()
 * @paths: see sddp_bind()
 *
 * Return: see sddp_bind(); -EACCES if the owner may not bind to the port.
 */
int sddp_bind_as_owner(const struct ddp_sock_owner *owner, struct socket *sock,
		       const struct sockaddr_storage *at, const int *paths)
{
	const struct cred *mine = override_creds(owner->cred);
	int err = sddp_bind(sock, at, paths);

	revert_creds(mine);
	return err;
}
