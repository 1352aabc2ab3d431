// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners, and connections that TCP has accepted but that are not reported to the ULP yet.
 *
 * rdma_cm chooses the device of an incoming connection by the connection's local address. So
 * the connection belongs to the listener of this device, see ddp_port_get_listener(). It is
 * reported to the ULP after a complete Request has arrived. If too many connections of a
 * listener are not reported yet, one of them is reset.
 */
#include <linux/net.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include <ddp/addr.h>

#include "internal.h"

/*
 * Choose the VRF to listen in. If the sysctl tcp_l3mdev_accept is set, a socket on a
 * wildcard address that is not bound to a VRF accepts connections of all VRFs, and no
 * other socket can be bound to its port. All devices then share this socket. Return:
 * ifindex of the VRF; 0 for no VRF, or for a socket that all devices share.
 */
static int mpa_listen_choose_vrf(const struct ddp_listen *a)
{
	if (ddp_addr_is_wildcard(a->local) && inet_sk_bound_dev_eq(a->net, 0, 1, 2))
		return 0;
	return ddp_addr_get_vrf(a->net, a->ifindex, a->local);
}

/* Create the listening socket and bind it to the address and the VRF */
static int mpa_listen_open(const struct ddp_listen *a, struct socket **sock)
{
	int family = a->local->ss_family, err;

	err = ddp_sock_create(a->net, a->vrf, family, IPPROTO_TCP, a->owner, sock);
	if (err)
		return err;
	mpa_sock_set_options(*sock);
	if (family == AF_INET6 && a->v6only)
		ip6_sock_set_v6only((*sock)->sk);
	return ddp_sock_bind(*sock, a->local);
}

/* Queue a work item of the listening port on MPA's workqueue */
static void mpa_listen_queue_work(struct delayed_work *work, unsigned long delay)
{
	queue_delayed_work(mpa_wq, work, delay);
}

/*
 * Create the connection for a socket that TCP has accepted, without setting the
 * connection's socket. Return: the connection, which is added to the listener's
 * backlog; NULL if an allocation failed or the listener refuses the connection.
 */
static struct mpa_conn *new_accepted_conn(struct ddp_port_listener *l,
					  struct socket *sock)
{
	struct sockaddr_storage from = {};
	struct ddp_policy policy;
	struct mpa_conn *c;

	if (!ddp_port_get_policy(l, &policy))
		return NULL;
	c = mpa_conn_new(l->dl.user, NULL, &policy, l);
	if (!c)
		return NULL;
	ddp_sock_get_addrs(sock, NULL, &from);
	if (!mpa_conn_alloc_startup(c, false) &&
	    ddp_port_try_attach_request(l, &c->conn_req, &from))
		return c;
	mpa_conn_abandon(c);
	ddp_session_put(&c->ss);
	return NULL;
}

/*
 * Process a socket that TCP has accepted. Return: 0 if the connection owns the
 * socket now; a negative errno if the caller must reset and release the socket.
 */
static int mpa_listen_set_up_accepted_conn(struct ddp_port *p, struct socket *sock)
{
	const struct sock *sk = sock->sk;
	struct sockaddr_storage called = {};
	struct ddp_port_listener *l;
	struct mpa_conn *c;

	ddp_sock_get_addrs(sock, &called, NULL);
	/*
	 * sk_bound_dev_if of an accepted socket is the ifindex of the VRF, or of
	 * the interface if the local address is a link-local address
	 */
	l = ddp_port_get_listener(p, &called,
				  ddp_ifindex_to_vrf(sock_net(sk), sk->sk_bound_dev_if));
	if (!l)
		return -ECONNREFUSED;
	c = new_accepted_conn(l, sock);
	ddp_port_put_listener(l);
	if (!c)
		return -EBUSY;
	/* take a reference for this function: tear-down may drop that of the callbacks */
	ddp_session_get(&c->ss);
	c->sock = sock;
	mpa_sock_limit_rcvbuf(c);
	mpa_conn_lock(c);
	mpa_conn_enter_first_phase(c);
	mpa_sock_install_callbacks(c);
	/* callbacks do not report a Request that arrived before they were installed */
	if (!mpa_sock_is_established_and_empty(c))
		mpa_conn_set_event(c, MPA_EV_RX);
	mpa_conn_unlock(c);
	ddp_session_put(&c->ss);
	return 0;
}

/*
 * Reset a connection that is not reported yet, because its listener has too many such
 * connections or is being removed. Called with the listener's lock held, so this
 * function must not sleep.
 */
static void mpa_listen_evict(struct ddp_conn_req *conn_req)
{
	mpa_conn_request_close(container_of(conn_req, struct mpa_conn, conn_req),
			       IW_LOCAL_ABORT);
}

static const struct ddp_port_ops port_ops = {
	.type		= &mpa_session_type,
	.open		= mpa_listen_open,
	.queue		= mpa_listen_queue_work,
	.accepted	= mpa_listen_set_up_accepted_conn,
	.evict	= mpa_listen_evict,
};

/**
 * mpa_listen - listen for connection requests
 * @a: address, interface and backlog
 * @user: upcalls to the ULP
 * @ctx: opaque pointer for these upcalls
 *
 * Context: process, may sleep.
 *
 * Return: the listener, or an error pointer if listening has failed.
 */
struct ddp_listener *mpa_listen(const struct ddp_listen *a,
				const struct ddp_session_user *user, void *ctx)
{
	struct ddp_listen args = *a;

	args.vrf = mpa_listen_choose_vrf(a);
	return ddp_port_listen(&port_ops, &args, user, ctx);
}
