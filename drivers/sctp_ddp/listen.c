// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening, and whom a peer's Initiate is for.
 *
 * An association outlives the listener that it was made through, and carries
 * sessions for those that come later: who is asked is looked up when the
 * Initiate comes, by the address and port that the peer called.
 */
#include <linux/net.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include <ddp/addr.h>

#include "internal.h"

static int open(const struct ddp_listen *a, struct socket **sock)
{
	int family = a->local->ss_family, err;

	err = ddp_sock_make(a->net, family, IPPROTO_SCTP, sock);
	if (err)
		return err;
	sddp_sock_prepare(*sock, a->policy->streams ?: SDDP_STREAMS);
	if (family == AF_INET6 && a->v6only)
		ip6_sock_set_v6only((*sock)->sk);
	return sddp_bind(*sock, a->local, a->policy->paths);
}

static void queue(struct work_struct *work)
{
	queue_work(sddp_wq, work);
}

static int accepted(struct ddp_port *p, struct socket *sock)
{
	struct sddp_assoc *a = sddp_assoc_new(sock_net(sock->sk), false);
	int err;

	if (!a)
		return -ENOMEM;
	a->sock = sock;
	if (!ddp_addr_wildcard(ddp_port_addr(p)))
		a->from = *ddp_port_addr(p);
	err = sddp_assoc_accepted(a);
	if (err)
		sddp_assoc_put(a);
	return err;
}

static const struct ddp_port_ops port_ops = {
	.type		= &sddp_session_type,
	.open		= open,
	.queue		= queue,
	.accepted	= accepted,
};

/**
 * sddp_listen - take requests
 * @a: where, for which interface, how many
 * @user: upcalls
 * @ctx: the user's
 *
 * Return: the listener, or an error pointer.
 */
struct ddp_listener *sddp_listen(const struct ddp_listen *a,
				 const struct ddp_session_user *user,
				 void *ctx)
{
	return ddp_port_listen(&port_ops, a, user, ctx);
}

static int ask(struct ddp_port_listener *l, struct sddp_stream *st,
	       const struct ddp_offer *o)
{
	int err;

	/* RFC 5043 6.4: a finite limit */
	if (!ddp_port_wait(l, &st->caller))
		return -EBUSY;
	st->ss.user = l->dl.user;
	err = ddp_port_request(l, &st->ss, o);
	if (err)
		ddp_port_leave(&st->caller);
	return err;
}

/**
 * sddp_listen_request - a peer's Initiate has come: hand it up
 * @st: the stream; worker
 * @o: what the peer says
 *
 * Return: 0, and the session is the user's to answer; else nobody could be
 * asked.
 */
int sddp_listen_request(struct sddp_stream *st, const struct ddp_offer *o)
{
	struct ddp_port_listener *l =
		ddp_port_find(&port_ops, st->a->net, &st->a->local);
	int err;

	if (!l)
		return -ECONNREFUSED;
	err = ask(l, st, o);
	ddp_port_put(l);
	return err;
}

/**
 * sddp_listen_refused - a peer's session ends before it became a request
 * @a: the association; worker
 * @why: what was wrong
 */
void sddp_listen_refused(struct sddp_assoc *a, enum iw_reason why)
{
	struct ddp_port_listener *l =
		ddp_port_find(&port_ops, a->net, &a->local);

	if (!l)
		return;
	ddp_port_refused(l, why);
	ddp_port_put(l);
}
