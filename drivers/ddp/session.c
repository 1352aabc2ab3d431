// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Upcalls to those who use sessions: see ddp/session.h.
 *
 * They run on a worker of the lower layer's, which the user's module does not
 * know.  All that the user has may be gone by the last instructions of closed(),
 * but for the code that runs: it waits for readers of upcalls.
 */
#include <linux/export.h>
#include <linux/srcu.h>

#include <ddp/session.h>

DEFINE_STATIC_SRCU(upcalls);

/**
 * ddp_session_policy - a peer has come
 * @l: to whom
 * @p: filled in: how its session is to be
 */
void ddp_session_policy(struct ddp_listener *l, struct ddp_policy *p)
{
	int reader = srcu_read_lock(&upcalls);

	l->user->policy(l, p);
	srcu_read_unlock(&upcalls, reader);
}

/**
 * ddp_session_request - a peer asks for a session
 * @l: at whom
 * @ss: the session, with a reference for the user
 * @o: what the peer says
 *
 * Return: 0: the user has it and will answer; else it was refused.
 */
int ddp_session_request(struct ddp_listener *l, struct ddp_session *ss,
			const struct ddp_offer *o)
{
	int reader = srcu_read_lock(&upcalls);
	int err = l->user->request(l, ss, o);

	srcu_read_unlock(&upcalls, reader);
	return err;
}

/**
 * ddp_session_refused - a peer's start-up ended before it became a request
 * @l: at whom
 * @why: what was wrong with it
 */
void ddp_session_refused(struct ddp_listener *l, enum iw_reason why)
{
	int reader = srcu_read_lock(&upcalls);

	l->user->refused(l, why);
	srcu_read_unlock(&upcalls, reader);
}

/**
 * ddp_session_established - both sides have agreed
 * @ss: the session
 * @o: active side: the peer's reply
 *
 * Return: IW_OK, or what is wrong with the reply.
 */
enum iw_reason ddp_session_established(struct ddp_session *ss,
				       const struct ddp_offer *o)
{
	int reader = srcu_read_lock(&upcalls);
	enum iw_reason why = ss->user->established(ss, o);

	srcu_read_unlock(&upcalls, reader);
	return why;
}
EXPORT_SYMBOL_GPL(ddp_session_established);

/**
 * ddp_session_peer_closed - the peer will send no more
 * @ss: the session
 */
void ddp_session_peer_closed(struct ddp_session *ss)
{
	int reader = srcu_read_lock(&upcalls);

	ss->user->peer_closed(ss);
	srcu_read_unlock(&upcalls, reader);
}
EXPORT_SYMBOL_GPL(ddp_session_peer_closed);

/**
 * ddp_session_closed - the session is over
 * @ss: the session
 * @why: the reason
 * @o: the peer's reject, or NULL
 */
void ddp_session_closed(struct ddp_session *ss, enum iw_reason why,
			const struct ddp_offer *o)
{
	int reader = srcu_read_lock(&upcalls);

	ss->user->closed(ss, why, o);
	srcu_read_unlock(&upcalls, reader);
}
EXPORT_SYMBOL_GPL(ddp_session_closed);

/**
 * ddp_session_user_gone - a user's module goes
 *
 * It has heard closed of all its sessions and listens no more.  Sleeps until
 * these upcalls have returned.
 */
void ddp_session_user_gone(void)
{
	synchronize_srcu(&upcalls);
}
EXPORT_SYMBOL_GPL(ddp_session_user_gone);
