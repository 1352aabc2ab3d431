// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests of peers: finding the listener that an Initiate is for, and
 * notifying its user.
 *
 * An association outlives the listener through which it was made, and carries
 * sessions for later listeners. So the listener is looked up for each Initiate,
 * by the address and port that the peer has connected to. Sockets are in
 * listen.c.
 */
#include "internal.h"

static int sddp_listen_pass(struct ddp_port_listener *l, struct sddp_stream *st,
			    const struct ddp_offer *o)
{
	int err;

	/* RFC 5043 6.4: the number of pending requests is limited */
	if (!ddp_port_attach(l, &st->conn_req, &st->a->remote))
		return -EBUSY;
	st->ss.user = l->dl.user;
	err = ddp_port_request(&st->conn_req, &st->ss, o);
	if (err)
		ddp_port_detach(&st->conn_req);
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
		ddp_port_find_listener(&sddp_port_ops, st->a->net, &st->a->local,
				       st->a->vrf);
	int err;

	if (!l)
		return -ECONNREFUSED;
	err = sddp_listen_pass(l, st, o);
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
		ddp_port_find_listener(&sddp_port_ops, a->net, &a->local, a->vrf);

	if (!l)
		return;
	ddp_port_refused(l, why);
	ddp_port_put(l);
}
