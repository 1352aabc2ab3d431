/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Socket helpers that do not depend on the protocol, for the lower layers. */
#ifndef _DDP_SOCK_H
#define _DDP_SOCK_H

#include <linux/errno.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <ddp/reason.h>

struct ddp_sock_owner;
struct net;
struct sock;
struct socket;

/**
 * struct ddp_sock_callbacks - callbacks of a socket
 * @data_ready: handle the arrival of data, or (TCP) of a connection to accept
 * @state_change: handle a change of the connection state, or (SCTP) the arrival
 *	of a connection to accept
 * @write_space: handle newly free space in the send buffer
 */
struct ddp_sock_callbacks {
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
};

/* Check whether @err is a temporary lack of space or memory, so that a retry may succeed */
static inline bool ddp_sock_is_transient_error(int err)
{
	return err == -EAGAIN || err == -ENOMEM || err == -ENOBUFS;
}

int ddp_ifindex_to_vrf(struct net *net, int ifindex);

/* sock_owner.c */
void ddp_sock_owner_init_from_sock(struct ddp_sock_owner *o, const struct socket *sock);
int ddp_sock_create(struct net *net, int vrf, int family, int protocol,
		    const struct ddp_sock_owner *owner, struct socket **sock);
void ddp_sock_set_owner(struct socket *sock, const struct ddp_sock_owner *owner);
void ddp_sock_release(struct socket *sock);

/* sock.c */
void ddp_sock_set_tos(struct sock *sk, u8 tos);
int ddp_sock_bind(struct socket *sock, const struct sockaddr_storage *at);
int ddp_sock_connect(struct socket *sock, const struct sockaddr_storage *to);
void ddp_sock_get_addrs(struct socket *sock, struct sockaddr_storage *local,
			struct sockaddr_storage *remote);
void ddp_sock_set_callbacks(struct sock *sk, void *owner,
			    const struct ddp_sock_callbacks *calls,
			    struct ddp_sock_callbacks *orig_callbacks);
void ddp_sock_restore_callbacks(struct sock *sk, const struct ddp_sock_callbacks *orig_callbacks);
enum iw_reason ddp_sock_err_to_reason(int err, enum iw_reason otherwise);

#endif
