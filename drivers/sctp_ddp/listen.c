// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening sockets, and the listener that a peer's Initiate is for.
 *
 * An association outlives the listener through which it was made, and carries
 * sessions for later listeners. So the listener is looked up for each Initiate,
 * by the address and port that the peer has connected to.
 */
#include <linux/net.h>
#include <net/ip.h>
#include <net/sock.h>

#include "internal.h"

static int sddp_listen_open(const struct ddp_listen *a, struct socket **sock)
{
	int err = ddp_sock_make(a->net, a->domain, a->local->ss_family,
				IPPROTO_SCTP, sock);

	if (err)
		return err;
	err = sddp_sock_prepare(*sock, a->policy->streams ?: SDDP_STREAMS,
				true);
	if (err)
		return err;
	/* an IPv6 address may still be tentative (duplicate detection) */
	ip_sock_set_freebind((*sock)->sk);
	return sddp_bind(*sock, a->local, a->policy->paths);
}

static void sddp_listen_queue(struct delayed_work *work, unsigned long delay)
{
	queue_delayed_work(sddp_wq, work, delay);
}

static int sddp_listen_accepted(struct ddp_port *p, struct socket *sock)
{
	struct sddp_assoc *a = sddp_assoc_new(sock_net(sock->sk), false,
					      sddp_assoc_work);
	int err;

	if (!a)
		return -ENOMEM;
	sddp_sock_adopt(sock, ddp_port_sock(p));
	a->sock = sock;
	a->from = *ddp_port_addr(p);
	a->domain = ddp_port_domain(p);
	err = sddp_assoc_accepted(a);
	if (err)
		sddp_assoc_put(a);
	return err;
}

const struct ddp_port_ops sddp_port_ops = {
	.type		= &sddp_session_type,
	.open		= sddp_listen_open,
	.queue		= sddp_listen_queue,
	.accepted	= sddp_listen_accepted,
};

static int sddp_listen_ask(struct ddp_port_listener *l, struct sddp_stream *st,
			   const struct ddp_offer *o)
{
	int err;

	/* RFC 5043 6.4: the number of pending requests is limited */
	if (!ddp_port_wait(l, &st->caller, &st->a->remote))
		return -EBUSY;
	st->ss.user = l->dl.user;
	err = ddp_port_request(&st->caller, &st->ss, o);
	if (err)
		ddp_port_leave(&st->caller);
	return err;
}

/**
 * sddp_listen_request - pass a peer's Initiate to the ULP
 * @st: the stream; worker context
 * @o: the peer's offer
 *
 * Return: 0 if the ULP will accept or reject the session; a negative errno if
 * there is no listener or it cannot take the request.
 */
int sddp_listen_request(struct sddp_stream *st, const struct ddp_offer *o)
{
	struct ddp_port_listener *l =
		ddp_port_find(&sddp_port_ops, st->a->net, &st->a->local,
			      st->a->domain);
	int err;

	if (!l)
		return -ECONNREFUSED;
	err = sddp_listen_ask(l, st, o);
	ddp_port_put(l);
	return err;
}

/**
 * sddp_listen_refused - report a start-up that ended before it became a request
 * @a: the association; worker context, or not yet known to others
 * @why: the reason
 *
 * The listener's user counts it. Does nothing if there is no listener.
 */
void sddp_listen_refused(struct sddp_assoc *a, enum iw_reason why)
{
	struct ddp_port_listener *l =
		ddp_port_find(&sddp_port_ops, a->net, &a->local, a->domain);

	if (!l)
		return;
	ddp_port_refused(l, why);
	ddp_port_put(l);
}
