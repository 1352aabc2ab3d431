// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Upcalls from lower layers to the ULP, see ddp/session.h.
 *
 * A worker of the LLP makes the upcalls, without a reference to the ULP's
 * module. After the closed upcall the ULP may free its data, and its module
 * may be unloaded, although the code of the upcall may still be running. So
 * each upcall is an SRCU read-side section, and the user's module calls
 * ddp_session_sync_upcalls() before it is unloaded.
 */
#include <linux/export.h>
#include <linux/srcu.h>

#include <ddp/session.h>

DEFINE_STATIC_SRCU(upcalls);

/**
 * ddp_listener_get_policy - get the settings for the session of a new peer
 * @l: listener that the peer has connected to
 * @p: filled in
 */
void ddp_listener_get_policy(struct ddp_listener *l, struct ddp_policy *p)
{
	int reader = srcu_read_lock(&upcalls);

	l->user->policy(l, p);
	srcu_read_unlock(&upcalls, reader);
}

/**
 * ddp_session_report_request - pass a peer's request to the ULP
 * @l: listener that the peer has connected to
 * @ss: the session; the caller must have taken a reference for the ULP
 * @o: IRD, ORD, RTR types and Private Data from the peer
 *
 * Return: 0 if the ULP has taken over the reference, and will accept, reject
 * or stop the session; a negative errno if the ULP has refused the request, so
 * the caller must drop the reference.
 */
int ddp_session_report_request(struct ddp_listener *l, struct ddp_session *ss,
			       const struct ddp_offer *o)
{
	int reader = srcu_read_lock(&upcalls);
	int err = l->user->request(l, ss, o);

	srcu_read_unlock(&upcalls, reader);
	return err;
}

/**
 * ddp_session_report_refused - report a failed connection setup, of which the ULP has no session
 * @l: listener that the peer has connected to
 * @why: reason of the failure
 */
void ddp_session_report_refused(struct ddp_listener *l, enum iw_reason why)
{
	int reader = srcu_read_lock(&upcalls);

	l->user->refused(l, why);
	srcu_read_unlock(&upcalls, reader);
}

/**
 * ddp_session_report_established - report the success of start-up
 * @ss: the session
 * @o: the peer's reply on the active side; NULL on the passive side
 *
 * Return: IW_OK if @o is NULL or the ULP accepts the reply; otherwise the
 * reason why the ULP refuses the reply.
 */
enum iw_reason ddp_session_report_established(struct ddp_session *ss,
					      const struct ddp_offer *o)
{
	int reader = srcu_read_lock(&upcalls);
	enum iw_reason why = ss->user->established(ss, o);

	srcu_read_unlock(&upcalls, reader);
	return why;
}
EXPORT_SYMBOL_GPL(ddp_session_report_established);

/**
 * ddp_session_report_peer_closed - report that the peer will send no more data
 * @ss: the session
 */
void ddp_session_report_peer_closed(struct ddp_session *ss)
{
	int reader = srcu_read_lock(&upcalls);

	ss->user->peer_closed(ss);
	srcu_read_unlock(&upcalls, reader);
}
EXPORT_SYMBOL_GPL(ddp_session_report_peer_closed);

/**
 * ddp_session_report_closed - report the end of a session
 * @ss: the session
 * @why: reason of the end
 * @o: contents of the peer's reject, or NULL if the peer has sent no reject
 */
void ddp_session_report_closed(struct ddp_session *ss, enum iw_reason why,
			       const struct ddp_offer *o)
{
	int reader = srcu_read_lock(&upcalls);

	ss->user->closed(ss, why, o);
	srcu_read_unlock(&upcalls, reader);
}
EXPORT_SYMBOL_GPL(ddp_session_report_closed);

/**
 * ddp_session_sync_upcalls - wait until no upcall runs
 *
 * Called before the ULP's module is unloaded. The ULP must have no
 * sessions or listeners left. Sleeps until all upcalls in progress have
 * returned.
 */
void ddp_session_sync_upcalls(void)
{
	synchronize_srcu(&upcalls);
}
EXPORT_SYMBOL_GPL(ddp_session_sync_upcalls);
