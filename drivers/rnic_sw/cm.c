// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections: operations that iw_cm calls, upcalls of sessions, and the state of both.
 *
 * A worker of the lower layer makes the upcalls of a session one at a time.  Each iw_cm
 * event is reported at most once for a connection.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>

#include <ddp/session.h>

#include "cm.h"
#include "counters.h"
#include "neg.h"
#include "rnic.h"

static_assert(NEG_RTR_P2P == DDP_RTR_P2P && NEG_RTR_SEND == DDP_RTR_SEND &&
	      NEG_RTR_WRITE == DDP_RTR_WRITE && NEG_RTR_READ == DDP_RTR_READ &&
	      NEG_DEPTH_NONE == DDP_DEPTH_NONE);

static void fill_local(const struct rnic_ep *ep, const struct iw_cm_conn_param *p,
		       struct neg_local *me)
{
	const struct rnic_dev *dev = ep->dev;

	*me = (struct neg_local) {
		.ird = min_t(u32, p->ird, READ_ONCE(ep->qp->ird_max)),
		.ord = min_t(u32, p->ord, READ_ONCE(ep->qp->ord_max)),
		.max = RDMAP_DEPTH_MAX,
		.rtr = READ_ONCE(dev->policy.mpa_rtr),
		.enhanced = READ_ONCE(dev->policy.mpa_revision) != 1,
	};
	/*
	 * A responder must not send before it has received a frame of the initiator.
	 * The passive program may want to send first, so always request the peer-to-peer
	 * model with its ready-to-receive message (RFC 6581 9.2).
	 */
	if (me->rtr)
		me->rtr |= NEG_RTR_P2P;
}

static void fill_offer(struct ddp_offer *o, const struct neg_side *side,
		       const void *pd, u32 len)
{
	o->enhanced = side->enhanced;
	o->ird = side->ird;
	o->ord = side->ord;
	o->rtr = side->rtr;
	o->pd_len = len;
	if (len)
		memcpy(o->pd, pd, len);
}

static void fill_side(struct neg_side *side, const struct ddp_offer *o)
{
	side->enhanced = o->enhanced;
	side->ird = o->ird;
	side->ord = o->ord;
	side->rtr = o->rtr;
}

/*
 * Check whether the program has rejected a request that it had accepted.  The driver must
 * not report an event for such an ID unless it has already reported ESTABLISHED.
 */
static bool is_rejected(const struct rnic_ep *ep)
{
	return ep->state == EP_ACCEPTED && !READ_ONCE(ep->id->provider_data);
}

/* Session upcalls --------------------------------------------------------- */

static void start_qp(struct rnic_ep *ep)
{
	enum iw_reason why = rnic_qp_start(ep->qp, ep->result.ird,
					   ep->result.ord);

	/* report a local error to the peer in a Terminate (RFC 6581 9.3) */
	if (why == IW_MPA_LOCAL && !ep->result.why)
		ep->result.why = why;
	if (why == IW_LOCAL_ABORT)
		rnic_qp_fail(ep->qp, why);
	else if (ep->result.why)
		rdmap_fail(&ep->qp->rdmap, ep->result.why);
}

static enum iw_reason fail_connect(struct rnic_ep *ep, enum iw_reason why,
				   const struct ddp_offer *o)
{
	ep->qp->rdmap.rtr = 0;
	/* a CONNECT_REPLY with an error must be the last event: report no CLOSE after it */
	ep->state = EP_REFUSED;
	rnic_ep_report_failure(ep, rnic_reason_to_status(why), o);
	return why;
}

static enum iw_reason finish_connect(struct rnic_ep *ep,
				     const struct ddp_offer *o)
{
	struct neg_side reply;
	enum iw_reason why;

	fill_side(&reply, o);
	neg_complete(&ep->me, &ep->request, &reply, &ep->result);
	start_qp(ep);
	why = ep->result.why;
	if (why)
		return fail_connect(ep, why, o);
	ep->qp->rdmap.rtr = ep->result.rtr;
	ep->state = EP_ESTABLISHED;
	if (!rnic_ep_report_event(ep, IW_CM_EVENT_CONNECT_REPLY, 0, o))
		return IW_OK;
	rdmap_fail(&ep->qp->rdmap, IW_MPA_LOCAL);
	return fail_connect(ep, IW_MPA_LOCAL, NULL);
}

static enum iw_reason rnic_cm_established(struct ddp_session *ss,
					  const struct ddp_offer *o)
{
	struct rnic_ep *ep = ss->ctx;

	ep->ss = ss;
	if (o)
		return finish_connect(ep, o);
	ep->qp->rdmap.rtr_send_expected = ep->result.rtr & NEG_RTR_SEND;
	start_qp(ep);
	if (is_rejected(ep))
		return IW_OK;
	ep->state = EP_ESTABLISHED;
	rnic_ep_report_event(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL);
	return IW_OK;
}

static void rnic_cm_peer_closed(struct ddp_session *ss)
{
	struct rnic_ep *ep = ss->ctx;

	if (!is_rejected(ep))
		rnic_ep_report_event(ep, IW_CM_EVENT_DISCONNECT, 0, NULL);
	rnic_qp_close(ep->qp);
}

static void report_closed(struct rnic_ep *ep, enum iw_reason why,
			  const struct ddp_offer *o)
{
	int status = rnic_reason_to_status(why);

	switch (ep->state) {
	case EP_CONNECTING:
		rnic_ep_report_failure(ep, status, o);
		return;
	case EP_ACCEPTED:
		if (is_rejected(ep))
			return;
		/* iw_cm accepts CLOSE only after ESTABLISHED */
		rnic_ep_report_event(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL);
		fallthrough;
	case EP_ESTABLISHED:
		rnic_ep_report_event(ep, IW_CM_EVENT_CLOSE, 0, NULL);
		return;
	default:
		return;
	}
}

static void rnic_cm_closed(struct ddp_session *ss, enum iw_reason why,
			   const struct ddp_offer *o)
{
	struct rnic_ep *ep = ss->ctx;

	ep->ss = ss;
	/* an accept that has removed a pending request from the table drops that reference */
	if (ep->state == EP_CONNECTING || ep->state == EP_ESTABLISHED ||
	    ep->state == EP_REFUSED || ss->accepted) {
		report_closed(ep, why, o);
		rnic_ep_detach(ep);
	} else if (rnic_pending_remove(ep->dev, ep->number)) {
		rnic_ep_put(ep);
	}
	rnic_ep_put(ep);
}

static int rnic_cm_request(struct ddp_listener *l, struct ddp_session *ss,
			   const struct ddp_offer *o)
{
	struct rnic_listener *listener = l->ctx;
	struct rnic_ep *ep = rnic_ep_new(listener->dev);
	int err;

	if (!ep)
		return -ENOMEM;
	ep->state = EP_REQUESTED;
	ep->ss = ss;
	ss->ctx = ep;
	fill_side(&ep->request, o);
	err = rnic_pending_add(ep->dev, ep, &ep->number);
	if (!err) {
		err = rnic_ep_report_request(ep, listener->id, o);
		if (!err)
			return 0;
		rnic_ep_put(rnic_pending_remove(ep->dev, ep->number));
	}
	/* rnic_ep_free() drops a session reference, but on an error the LLP keeps its own */
	ddp_session_get(ss);
	rnic_ep_put(ep);
	return err;
}

static void rnic_cm_refused(struct ddp_listener *l, enum iw_reason why)
{
	struct rnic_listener *listener = l->ctx;

	rnic_count_reason(listener->dev, why);
}

static void rnic_cm_policy(struct ddp_listener *l, struct ddp_policy *p)
{
	const struct rnic_listener *listener = l->ctx;

	rnic_fill_policy(listener->dev, p);
}

const struct ddp_session_user rnic_session_user = {
	.policy		= rnic_cm_policy,
	.request	= rnic_cm_request,
	.refused	= rnic_cm_refused,
	.established	= rnic_cm_established,
	.peer_closed	= rnic_cm_peer_closed,
	.closed		= rnic_cm_closed,
};

/* iw_cm operations -------------------------------------------------------- */

static void count_connect(struct rnic_dev *dev,
			  const struct ddp_session_type *type)
{
	rnic_count(dev, RNIC_CONNECTS);
	if (type == rnic_llp(dev, RNIC_SW_LLP_SCTP))
		rnic_count(dev, RNIC_CONNECTS_SCTP);
}

static struct ddp_session *connect_session(struct rnic_ep *ep,
					   const struct ddp_offer *o)
{
	struct rnic_dev *dev = ep->dev;
	const struct ddp_session_type *type = rnic_llp(dev, ep->qp->llp);
	struct iw_cm_id *id = ep->id;
	struct ddp_sock_owner owner;
	struct ddp_policy policy;
	struct ddp_session *ss;
	struct ddp_connect args = {
		.net = rnic_get_net(dev),
		.ifindex = rnic_ifindex(dev),
		.tos = rnic_tos(id),
		.local = &id->m_local_addr,
		.remote = &id->m_remote_addr,
		.offer = o,
		.policy = &policy,
		.owner = &owner,
		.stream = &ep->qp->rdmap.stream,
	};

	/* SUNRPC retries a connect that fails with -ENETDOWN */
	if (!args.net)
		return ERR_PTR(-ENETDOWN);
	rnic_fill_policy(dev, &policy);
	ddp_sock_owner_init(&owner, args.net);
	if (!rnic_same_netns(args.net, id))
		ss = ERR_PTR(-ENETUNREACH);
	else if (type)
		ss = type->connect(&args, &rnic_session_user, ep);
	else
		ss = ERR_PTR(-EPROTONOSUPPORT);
	/* the session may have ended and freed @ep, so do not use @ep from here on */
	if (!IS_ERR(ss))
		count_connect(dev, type);
	ddp_sock_owner_exit(&owner);
	put_net(args.net);
	return ss;
}

/*
 * Start a session for @ep.  The first upcall sets ep->ss, because the upcall may precede
 * the return of the LLP's connect().
 */
static int start_session(struct rnic_ep *ep, const struct iw_cm_conn_param *p)
{
	struct ddp_offer *o = kzalloc(sizeof(*o), GFP_KERNEL);
	struct ddp_session *ss;

	if (!o)
		return -ENOMEM;
	fill_local(ep, p, &ep->me);
	neg_request(&ep->me, &ep->request);
	fill_offer(o, &ep->request, p->private_data, p->private_data_len);
	ss = connect_session(ep, o);
	kfree(o);
	return PTR_ERR_OR_ZERO(ss);
}

/* Look up a QP that the caller may connect.  Return: the QP, referenced, or NULL. */
static struct rnic_qp *find_callers_qp(struct rnic_dev *dev, u32 qpn)
{
	struct rnic_qp *qp = rnic_qp_find(dev, qpn);

	if (qp && !rnic_qp_may_connect(qp)) {
		rnic_qp_put(qp);
		qp = NULL;
	}
	return qp;
}

static int connect_qp(struct rnic_dev *dev, struct iw_cm_id *id,
		      struct rnic_qp *qp, const struct iw_cm_conn_param *p)
{
	struct rnic_ep *ep = rnic_ep_new(dev);
	int err;

	if (!ep)
		return -ENOMEM;
	ep->state = EP_CONNECTING;
	rnic_ep_attach(ep, id, qp);
	err = start_session(ep, p);
	if (err) {
		rnic_ep_detach(ep);
		rnic_ep_put(ep);
	}
	return err;
}

/**
 * rnic_iw_connect - iw_cm operation: connect a QP
 * @id: the ID
 * @p: QP number, Private Data, IRD and ORD
 *
 * May sleep.
 *
 * Return: 0 if a CONNECT_REPLY event will follow, or a negative errno if no event will.
 */
int rnic_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *p)
{
	struct rnic_dev *dev = to_rnic_dev(id->device);
	struct rnic_qp *qp;
	int err;

	if (p->private_data_len > DDP_PD_MAX - DDP_WORD_SIZE)
		return -EINVAL;
	qp = find_callers_qp(dev, p->qpn);
	if (!qp)
		return -EINVAL;
	err = connect_qp(dev, id, qp, p);
	if (!err)
		ddp_stream_close_if_failed(&qp->rdmap.stream);
	rnic_qp_put(qp);
	return err;
}

static int accept_session(struct rnic_ep *ep, const struct iw_cm_conn_param *p)
{
	struct ddp_offer *o = kzalloc(sizeof(*o), GFP_KERNEL);
	struct neg_side reply;
	int err;

	if (!o)
		return -ENOMEM;
	fill_local(ep, p, &ep->me);
	neg_accept(&ep->me, &ep->request, &reply, &ep->result);
	fill_offer(o, &reply, p->private_data, p->private_data_len);
	err = ep->ss->type->accept(ep->ss, &ep->qp->rdmap.stream, o);
	kfree(o);
	return err;
}

/*
 * Accept the request @ep.
 *
 * Return: 0 if an upcall follows; -ECONNRESET if the session has ended; or another negative
 * errno.
 */
static int accept_ep(struct rnic_ep *ep, struct iw_cm_id *id,
		     struct rnic_qp *qp, const struct iw_cm_conn_param *p)
{
	int err;

	rnic_ep_attach(ep, id, qp);
	ep->state = EP_ACCEPTED;
	err = accept_session(ep, p);
	if (!err) {
		ddp_stream_close_if_failed(&qp->rdmap.stream);
		rnic_count(ep->dev, RNIC_ACCEPTS);
		return 0;
	}
	ep->state = EP_REQUESTED;
	rnic_ep_detach(ep);
	return err;
}

static int accept_qp(struct rnic_ep *ep, struct iw_cm_id *id,
		     struct rnic_qp *qp, const struct iw_cm_conn_param *p)
{
	int err = ep ? accept_ep(ep, id, qp, p) : -ECONNRESET;

	if (err != -ECONNRESET)
		return err;
	rnic_qp_fail(qp, IW_PEER_RESET);
	rnic_cm_report_peer_gone(id);
	return 0;
}

/*
 * Check whether a passive ID has been accepted.  Its provider_data is the number of the
 * pending request, after an accept the QP, and after a later reject NULL.
 */
static bool is_accepted(const struct iw_cm_id *id)
{
	return !xa_is_value(id->provider_data);
}

/*
 * Handle an accept of a request that is accepted already.  Report neither an error nor an
 * event, because iw_cm expects neither.  iw_cm has replaced its pointer to the first QP,
 * so release its reference to the first QP here.
 *
 * If @qpn is another QP, end the first QP's connection.  Otherwise iw_cm would keep the
 * other QP referenced as long as that connection lasts, and destroying that QP would wait.
 */
static int accept_again(struct iw_cm_id *id, u32 qpn)
{
	struct rnic_qp *was = id->provider_data;
	struct rnic_qp *qp = rnic_qp_by_number(to_rnic_dev(id->device), qpn);

	id->provider_data = qp;
	if (qp != was)
		rnic_qp_fail(was, IW_LOCAL_ABORT);
	rnic_qp_cm_put(was);
	return 0;
}

/**
 * rnic_iw_accept - iw_cm operation: accept a connection request
 * @id: the ID
 * @p: QP number, Private Data, IRD and ORD
 *
 * May sleep.
 *
 * Return: 0 if an ESTABLISHED event will follow, and then CLOSE if the peer has closed
 * already; or a negative errno if no event will follow.
 */
int rnic_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *p)
{
	struct rnic_dev *dev = to_rnic_dev(id->device);
	struct rnic_qp *qp = NULL;
	struct rnic_ep *ep;
	int err = -EINVAL;

	if (is_accepted(id))
		return accept_again(id, p->qpn);
	ep = rnic_pending_remove(dev, xa_to_value(id->provider_data));
	if (p->private_data_len <= DDP_PD_MAX - DDP_WORD_SIZE)
		qp = find_callers_qp(dev, p->qpn);
	if (qp) {
		/* set this before the accept, because is_rejected() checks it in upcalls */
		id->provider_data = qp;
		err = accept_qp(ep, id, qp, p);
		rnic_qp_put(qp);
	}
	if (!ep)
		return err;
	if (err)
		rnic_ep_abort(ep);
	rnic_ep_put(ep);
	return err;
}

/*
 * End the connection of an accepted request that iw_cm rejects.  Report no further event
 * for it, because iw_cm now regards the ID as unconnected.
 *
 * iw_cm releases the QP only when the program destroys the ID.  Revoke iw_cm's reference,
 * so that the program can destroy the QP first.
 *
 * Return: -EINVAL.
 */
static int reject_accepted(struct iw_cm_id *id)
{
	struct rnic_qp *qp = id->provider_data;

	if (!qp)
		return -EINVAL;
	WRITE_ONCE(id->provider_data, NULL);
	rnic_qp_fail(qp, IW_LOCAL_ABORT);
	rnic_qp_cm_revoke(qp);
	return -EINVAL;
}

/* Reject @ep; if that fails, abort the session, so that the peer gets a reset */
static void reject_ep(struct rnic_ep *ep, const void *pd, u8 len)
{
	struct neg_side none = { .ird = NEG_DEPTH_NONE, .ord = NEG_DEPTH_NONE };
	struct ddp_offer *o = kzalloc(sizeof(*o), GFP_KERNEL);
	int err = -ENOMEM;

	none.enhanced = ep->request.enhanced;
	if (o) {
		fill_offer(o, &none, pd, len);
		err = ep->ss->type->reject(ep->ss, o);
		kfree(o);
	}
	if (err)
		rnic_ep_abort(ep);
}

/**
 * rnic_iw_reject - iw_cm operation: reject a connection request
 * @id: the ID
 * @pd: Private Data for the peer, or NULL
 * @len: bytes of Private Data
 *
 * May sleep.
 *
 * Return: 0 if the request was pending or its session has ended; -EINVAL if the request
 * had been accepted, and its connection is then being ended.
 */
int rnic_iw_reject(struct iw_cm_id *id, const void *pd, u8 len)
{
	struct rnic_dev *dev = to_rnic_dev(id->device);
	struct rnic_ep *ep;

	if (is_accepted(id))
		return reject_accepted(id);
	rnic_count(dev, RNIC_REJECTS);
	ep = rnic_pending_get(dev, xa_to_value(id->provider_data));
	if (!ep)
		return 0;
	reject_ep(ep, pd, len);
	rnic_ep_put(ep);
	return 0;
}

/* The device ---------------------------------------------------------------------- */

/**
 * rnic_cm_init - set up connection management of a new device
 * @dev: the device
 *
 * Return: 0; -EPROTONOSUPPORT if the kernel has no TCP session type; or -ENOMEM.  The
 * caller must call rnic_cm_exit() later, also after an error.
 */
int rnic_cm_init(struct rnic_dev *dev)
{
	rnic_pending_init(dev);
	return rnic_llps_init(dev);
}

/**
 * rnic_cm_exit - end connection management of a device
 * @dev: the device, unregistered
 *
 * Aborts the sessions of all requests that were not accepted, because iw_cm no longer
 * accepts or rejects them.  This includes rejected requests whose peer has not received
 * the reject yet.  Then sleeps until the last endpoint is freed.
 */
void rnic_cm_exit(struct rnic_dev *dev)
{
	if (!dev->llps)
		return;
	rnic_pending_abort(dev);
	rnic_wait_none_used(dev, RNIC_EPS);
	rnic_llps_exit(dev);
}

/**
 * rnic_cm_wait_upcalls - wait until no session upcall runs in this module
 *
 * The caller must have removed all devices.  The upcall that ended the last session may
 * still be executing code of this module, so it must return before the module is unloaded.
 */
void rnic_cm_wait_upcalls(void)
{
	ddp_session_sync_upcalls();
}
