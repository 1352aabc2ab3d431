// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening sockets: options, addresses, and set-up of the associations that peers
 * create.
 *
 * The listener for a peer's Initiate is looked up in request.c, not here, because an
 * association may outlive the listener that accepted it.
 */
#include <linux/net.h>
#include <net/ip.h>
#include <net/sock.h>

#include "internal.h"

static int sddp_listen_open(const struct ddp_listen *a, struct socket **sock)
{
	int err = ddp_sock_create(a->net, a->vrf, a->local->ss_family,
				  IPPROTO_SCTP, a->owner, sock);

	if (err)
		return err;
	err = sddp_sock_set_options(*sock, a->policy->streams ?: SDDP_STREAMS,
				    true);
	if (err)
		return err;
	/*
	 * allow binding to an IPv6 address that is still tentative during duplicate
	 * address detection
	 */
	ip_sock_set_freebind((*sock)->sk);
	return sddp_bind(*sock, a->local, a->policy->paths);
}

static void sddp_listen_queue_work(struct delayed_work *work, unsigned long delay)
{
	queue_delayed_work(sddp_wq, work, delay);
}

static int sddp_listen_set_up_accepted_assoc(struct ddp_port *p, struct socket *sock)
{
	struct sddp_assoc *a = sddp_assoc_new(sock_net(sock->sk), NULL,
					      sddp_assoc_work);
	int err;

	if (!a)
		return -ENOMEM;
	sddp_sock_copy_cookie_key(sock, ddp_port_get_sock(p));
	a->sock = sock;
	a->from = *ddp_port_get_addr(p);
	a->vrf = ddp_port_get_vrf(p);
	err = sddp_assoc_set_up_passive(a);
	if (err)
		sddp_assoc_put(a);
	return err;
}

const struct ddp_port_ops sddp_port_ops = {
	.type		= &sddp_session_type,
	.open		= sddp_listen_open,
	.queue		= sddp_listen_queue_work,
	.accepted	= sddp_listen_set_up_accepted_assoc,
};
