// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Initiates of peers: look up the listener for an Initiate and notify the listener's
 * ULP.
 *
 * An association may outlive the listener that accepted it, and may carry sessions for
 * later listeners. So the listener is looked up for each Initiate, by the local address
 * and port of the association. Listening sockets are in listen.c.
 */
#include "internal.h"

static int sddp_listen_report_initiate(struct ddp_port_listener *l, struct sddp_stream *st,
				       const struct ddp_offer *o)
{
	int err;

	/* RFC 5043 6.4: refuse the Initiate if too many requests are pending */
	if (!ddp_port_try_attach_request(l, &st->conn_req, &st->a->remote))
		return -EBUSY;
	st->ss.user = l->dl.user;
	err = ddp_port_report_request(&st->conn_req, &st->ss, o);
	if (err)
		ddp_port_detach_request(&st->conn_req);
	return err;
}

/**
 * sddp_listen_pass_initiate - pass a peer's Initiate to the ULP
 * @st: the stream
 * @o: the peer's offer
 *
 * Context: worker, with the association's mutex held.
 * Return: 0 if the ULP will accept or reject the session; -ECONNREFUSED if there is no
 * listener; another negative errno if the listener has too many pending requests or the
 * ULP refuses the request.
 */
int sddp_listen_pass_initiate(struct sddp_stream *st, const struct ddp_offer *o)
{
	struct ddp_port_listener *l =
		ddp_port_get_listener_by_addr(&sddp_port_ops, st->a->net, &st->a->local,
					      st->a->vrf);
	int err;

	if (!l)
		return -ECONNREFUSED;
	err = sddp_listen_report_initiate(l, st, o);
	ddp_port_put_listener(l);
	return err;
}

/**
 * sddp_listen_report_refused - report a failed set-up of an association or a session
 * @a: the association
 * @why: the reason
 *
 * The ULP has not been notified of the association or session before. Look up the listener
 * by the association's local address, and call the ULP's refused() upcall, which counts the
 * failure. Do nothing if there is no listener.
 *
 * Context: worker, with the association's mutex held, or before any other context can
 * find the association.
 */
void sddp_listen_report_refused(struct sddp_assoc *a, enum iw_reason why)
{
	struct ddp_port_listener *l =
		ddp_port_get_listener_by_addr(&sddp_port_ops, a->net, &a->local, a->vrf);

	if (!l)
		return;
	ddp_port_report_refused(l, why);
	ddp_port_put_listener(l);
}
