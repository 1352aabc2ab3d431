// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Set up and end connections: the operations that iw_cm calls, and the upcalls that an LLP
 * makes for a session.
 *
 * A worker of the LLP makes the upcalls of a session one after the other.  For each
 * connection the driver reports an iw_cm event of each type at most once.  Exception: if iw_cm
 * has no memory for a CONNECT_REPLY, the driver reports another one, without Private Data.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>

#include <ddp/session.h>

#include "cm.h"
#include "counters.h"
#include "neg.h"
#include "rdv_qp.h"
#include "rnic.h"

static_assert(NEG_RTR_P2P == DDP_RTR_P2P && NEG_RTR_SEND == DDP_RTR_SEND &&
	      NEG_RTR_WRITE == DDP_RTR_WRITE && NEG_RTR_READ == DDP_RTR_READ &&
	      NEG_DEPTH_NONE == DDP_DEPTH_NONE);

static void fill_negotiation_local(const struct rnic_ep *ep, const struct iw_cm_conn_param *p,
				   struct negotiation_local *me)
{
	const struct rnic_dev *dev = ep->dev;

	*me = (struct negotiation_local) {
		.ird = min_t(u32, p->ird, READ_ONCE(ep->qp->ird_max)),
		.ord = min_t(u32, p->ord, READ_ONCE(ep->qp->ord_max)),
		.max = RDMAP_DEPTH_MAX,
		.rtr = READ_ONCE(dev->policy.mpa_rtr),
		.enhanced = READ_ONCE(dev->policy.mpa_revision) != 1,
	};
	/*
	 * The responder must not send before it has received a first message from the
	 * initiator.  If the passive program sends first and the active program sends nothing,
	 * the connection would hang.  Therefore always request the peer-to-peer model, in which
	 * the initiator sends a ready-to-receive message (RFC 6581 9.2).
	 */
	if (me->rtr)
		me->rtr |= NEG_RTR_P2P;
}

static void fill_offer(struct ddp_offer *o, const struct negotiation_side *side,
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

static void offer_to_negotiation_side(struct negotiation_side *side, const struct ddp_offer *o)
{
	side->enhanced = o->enhanced;
	side->ird = o->ird;
	side->ord = o->ord;
	side->rtr = o->rtr;
}

/*
 * Check whether the program has rejected @ep after it had accepted @ep, but before the driver
 * has reported ESTABLISHED.  iw_cm then regards the ID as unconnected, so the driver must not
 * report any event for the ID.
 */
static bool is_rejected_after_accept(const struct rnic_ep *ep)
{
	return ep->state == EP_ACCEPTED && !READ_ONCE(ep->id->provider_data);
}

/* Session upcalls --------------------------------------------------------- */

static void start_qp(struct rnic_ep *ep)
{
	enum iw_reason why = rnic_qp_start(ep->qp, ep->result.ird,
					   ep->result.ord);

	if (rnic_ep_pass_peer_msg_to_qp(ep) && !why)
		why = IW_MPA_LOCAL;
	/* report lack of memory to the peer in a Terminate (RFC 6581 9.3), see rdmap_fail() */
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
	/* iw_cm expects no event after a CONNECT_REPLY with an error: suppress the later CLOSE */
	ep->state = EP_REFUSED;
	rnic_ep_report_connect_failure(ep, rnic_reason_to_status(why), o);
	return why;
}

static enum iw_reason finish_connect(struct rnic_ep *ep,
				     const struct ddp_offer *o)
{
	struct negotiation_side reply;

	offer_to_negotiation_side(&reply, o);
	negotiation_evaluate_reply(&ep->me, &ep->request, &reply, &ep->result);
	/* ignore -ENOMEM: start_qp() fails the connection if @ep has not kept the message */
	rnic_ep_save_peer_msg(ep, o, 0);
	start_qp(ep);
	if (ep->result.why)
		return fail_connect(ep, ep->result.why, o);
	if (ep->request.enhanced && !reply.enhanced)
		rnic_inc_counter(ep->dev, RNIC_CONNECTS_PLAIN);
	ep->qp->rdmap.rtr = ep->result.rtr;
	ep->state = EP_ESTABLISHED;
	if (!rnic_ep_report_event(ep, IW_CM_EVENT_CONNECT_REPLY, 0, o))
		return IW_OK;
	rdmap_fail(&ep->qp->rdmap, IW_MPA_LOCAL);
	return fail_connect(ep, IW_MPA_LOCAL, NULL);
}

static enum iw_reason rnic_cm_handle_established(struct ddp_session *ss,
						 const struct ddp_offer *o)
{
	struct rnic_ep *ep = ss->ctx;

	ep->ss = ss;
	rnic_ep_unwatch_program(ep);
	if (o)
		return finish_connect(ep, o);
	ep->qp->rdmap.rtr_expected = ep->result.rtr;
	start_qp(ep);
	if (is_rejected_after_accept(ep))
		return IW_OK;
	ep->state = EP_ESTABLISHED;
	rnic_ep_report_event(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL);
	return IW_OK;
}

static void rnic_cm_handle_peer_closed(struct ddp_session *ss)
{
	struct rnic_ep *ep = ss->ctx;

	if (!is_rejected_after_accept(ep))
		rnic_ep_report_event(ep, IW_CM_EVENT_DISCONNECT, 0, NULL);
	rnic_qp_close(ep->qp);
}

static void report_session_closed(struct rnic_ep *ep, enum iw_reason why,
				  const struct ddp_offer *o)
{
	int status = rnic_reason_to_status(why);

	switch (ep->state) {
	case EP_CONNECTING:
		/* if memory is short, the program gets the event but cannot query the reject */
		if (o && !rnic_ep_save_peer_msg(ep, o, RNIC_SW_CONN_REJECTED))
			rnic_ep_pass_peer_msg_to_qp(ep);
		rnic_ep_report_connect_failure(ep, status, o);
		return;
	case EP_ACCEPTED:
		if (is_rejected_after_accept(ep))
			return;
		/* iw_cm expects CLOSE only after ESTABLISHED */
		rnic_ep_report_event(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL);
		fallthrough;
	case EP_ESTABLISHED:
		rnic_ep_report_event(ep, IW_CM_EVENT_CLOSE, 0, NULL);
		return;
	default:
		return;
	}
}

static void rnic_cm_handle_closed(struct ddp_session *ss, enum iw_reason why,
				  const struct ddp_offer *o)
{
	struct rnic_ep *ep = ss->ctx;

	ep->ss = ss;
	/*
	 * If the request was not accepted, no event must be reported: only drop the reference of
	 * the table of pending requests.  After an accept, rnic_iw_accept() drops that reference.
	 */
	if (ep->state == EP_CONNECTING || ep->state == EP_ESTABLISHED ||
	    ep->state == EP_REFUSED || ss->accepted) {
		report_session_closed(ep, why, o);
		rnic_ep_detach_id_and_qp(ep);
	} else if (rnic_pending_req_remove(ep)) {
		rnic_ep_put(ep);
	}
	rnic_ep_put(ep);
}

static int rnic_cm_handle_request(struct ddp_listener *l, struct ddp_session *ss,
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
	offer_to_negotiation_side(&ep->request, o);
	err = rnic_ep_save_peer_msg(ep, o, 0);
	if (!err)
		err = rnic_pending_req_add(ep->dev, ep, &ep->number);
	if (!err) {
		err = rnic_ep_report_request(ep, listener->id, o);
		if (!err)
			return 0;
		if (rnic_pending_req_remove(ep))
			rnic_ep_put(ep);
	}
	/* after an error the LLP drops its reference, and rnic_ep_free() another: so take one */
	ddp_session_get(ss);
	rnic_ep_put(ep);
	return err;
}

static void rnic_cm_count_refused(struct ddp_listener *l, enum iw_reason why)
{
	struct rnic_listener *listener = l->ctx;

	rnic_count_reason(listener->dev, why);
}

static void rnic_cm_get_policy(struct ddp_listener *l, struct ddp_policy *p)
{
	const struct rnic_listener *listener = l->ctx;

	rnic_fill_llp_policy(listener->dev, p);
}

const struct ddp_session_user rnic_session_user = {
	.policy		= rnic_cm_get_policy,
	.request	= rnic_cm_handle_request,
	.refused	= rnic_cm_count_refused,
	.established	= rnic_cm_handle_established,
	.peer_closed	= rnic_cm_handle_peer_closed,
	.closed		= rnic_cm_handle_closed,
};

/* iw_cm operations -------------------------------------------------------- */

static void count_connect(struct rnic_dev *dev,
			  const struct ddp_session_type *type)
{
	rnic_inc_counter(dev, RNIC_CONNECTS);
	if (type == rnic_get_llp(dev, RNIC_SW_LLP_SCTP))
		rnic_inc_counter(dev, RNIC_CONNECTS_SCTP);
}

static struct ddp_session *connect_session(struct rnic_ep *ep,
					   const struct ddp_offer *o)
{
	struct rnic_dev *dev = ep->dev;
	const struct ddp_session_type *type = rnic_get_llp(dev, ep->qp->llp);
	struct iw_cm_id *id = ep->id;
	struct ddp_sock_owner owner;
	struct ddp_policy policy;
	struct ddp_session *ss;
	struct ddp_connect args = {
		.net = rnic_get_net(dev),
		.ifindex = rnic_get_ifindex(dev),
		.tos = rnic_get_tos(id),
		.local = &id->m_local_addr,
		.remote = &id->m_remote_addr,
		.offer = o,
		.policy = &policy,
		.owner = &owner,
		.stream = &ep->qp->rdmap.stream,
	};

	/* return -ENETDOWN, because SUNRPC retries the connect after this error */
	if (!args.net)
		return ERR_PTR(-ENETDOWN);
	rnic_fill_llp_policy(dev, &policy);
	ddp_sock_owner_init(&owner, args.net);
	if (!rnic_cm_id_is_in_netns(args.net, id))
		ss = ERR_PTR(-ENETUNREACH);
	else if (type)
		ss = type->connect(&args, &rnic_session_user, ep);
	else
		ss = ERR_PTR(-EPROTONOSUPPORT);
	/* do not use @ep from here on: the closed upcall may have freed it already */
	if (!IS_ERR(ss))
		count_connect(dev, type);
	ddp_sock_owner_exit(&owner);
	put_net(args.net);
	return ss;
}

/*
 * Start a session for @ep.  Do not set ep->ss here: the first upcall sets it, because an LLP may
 * make this upcall before its connect operation returns the session.
 */
static int start_session(struct rnic_ep *ep, const struct iw_cm_conn_param *p)
{
	struct ddp_offer *o = kzalloc(sizeof(*o), GFP_KERNEL);
	struct ddp_session *ss;

	if (!o)
		return -ENOMEM;
	fill_negotiation_local(ep, p, &ep->me);
	negotiation_build_request(&ep->me, &ep->request);
	fill_offer(o, &ep->request, p->private_data, p->private_data_len);
	ss = connect_session(ep, o);
	kfree(o);
	return PTR_ERR_OR_ZERO(ss);
}

/* Find a QP that this task may connect with rdma_cm.  Return: the QP with a reference, or NULL. */
static struct rnic_qp *find_qp_and_consume_connect_right(struct rnic_dev *dev, u32 qpn)
{
	struct rnic_qp *qp = rnic_qp_find_get(dev, qpn);

	if (qp && (rnic_qp_peek_rdv(qp) || !rnic_qp_try_consume_connect_right(qp))) {
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
	rnic_ep_attach_id_and_qp(ep, id, qp);
	rnic_ep_watch_program(ep);
	err = start_session(ep, p);
	if (err) {
		rnic_ep_detach_id_and_qp(ep);
		rnic_ep_put(ep);
	}
	return err;
}

/**
 * rnic_iw_connect - connect a QP (iw_cm operation)
 * @id: iw_cm ID with the addresses
 * @p: QP number, Private Data, IRD and ORD
 *
 * May sleep.
 *
 * Return: 0 if the driver will report a CONNECT_REPLY event; a negative errno if the driver
 * reports no event.
 */
int rnic_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *p)
{
	struct rnic_dev *dev = to_rnic_dev(id->device);
	struct rnic_qp *qp;
	int err;

	if (p->private_data_len > DDP_PD_MAX - DDP_WORD_SIZE)
		return -EINVAL;
	qp = find_qp_and_consume_connect_right(dev, p->qpn);
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
	struct negotiation_side reply;
	int err;

	if (!o)
		return -ENOMEM;
	fill_negotiation_local(ep, p, &ep->me);
	negotiation_build_reply(&ep->me, &ep->request, &reply, &ep->result);
	fill_offer(o, &reply, p->private_data, p->private_data_len);
	err = ep->ss->type->accept(ep->ss, &ep->qp->rdmap.stream, o);
	kfree(o);
	return err;
}

/*
 * Accept the request @ep with the QP @qp.
 *
 * Return: 0 if the LLP will make an established or closed upcall; -ECONNRESET if the session
 * has ended already; or another negative errno.
 */
static int accept_request(struct rnic_ep *ep, struct iw_cm_id *id,
			  struct rnic_qp *qp, const struct iw_cm_conn_param *p)
{
	int err;

	rnic_ep_attach_id_and_qp(ep, id, qp);
	ep->state = EP_ACCEPTED;
	err = accept_session(ep, p);
	if (!err) {
		ddp_stream_close_if_failed(&qp->rdmap.stream);
		rnic_inc_counter(ep->dev, RNIC_ACCEPTS);
		return 0;
	}
	ep->state = EP_REQUESTED;
	rnic_ep_detach_id_and_qp(ep);
	return err;
}

static int accept_or_report_peer_gone(struct rnic_ep *ep, struct iw_cm_id *id,
				      struct rnic_qp *qp, const struct iw_cm_conn_param *p)
{
	int err = ep ? accept_request(ep, id, qp, p) : -ECONNRESET;

	if (err != -ECONNRESET)
		return err;
	rnic_qp_fail(qp, IW_PEER_RESET);
	rnic_cm_report_established_and_close(id);
	return 0;
}

/*
 * Check whether the program has accepted the request of a passive ID. provider_data of such an
 * ID is first the number of the pending request. rnic_iw_accept() replaces the number with a
 * pointer to the QP, and a later rnic_iw_reject() sets provider_data to NULL.
 */
static bool is_id_accepted(const struct iw_cm_id *id)
{
	return !xa_is_value(id->provider_data);
}

/*
 * Handle a second accept of the same request.  Return 0 and report no event, because iw_cm
 * can handle neither an error nor another event here.  Before this call iw_cm has overwritten
 * its pointer to the first QP without dropping its reference to that QP, so drop the reference
 * here.
 *
 * If @qpn is not the first QP, abort the first QP's connection.  Otherwise iw_cm would keep a
 * reference to the second QP until that connection ends, and destroying the second QP would
 * wait until then.
 */
static int replace_qp_on_second_accept(struct iw_cm_id *id, u32 qpn)
{
	struct rnic_qp *was = id->provider_data;
	struct rnic_qp *qp = rnic_qp_lookup_noref(to_rnic_dev(id->device), qpn);

	id->provider_data = qp;
	if (qp != was)
		rnic_qp_fail(was, IW_LOCAL_ABORT);
	rnic_qp_cm_put(was);
	return 0;
}

/**
 * rnic_iw_accept - accept a connection request (iw_cm operation)
 * @id: iw_cm ID of the request
 * @p: QP number, Private Data, IRD and ORD
 *
 * May sleep.
 *
 * Return: 0 if the driver reports an ESTABLISHED event, which CLOSE follows if the peer has
 * closed already; 0 also for a second accept, see replace_qp_on_second_accept(); or a negative
 * errno if the driver reports no event.
 */
int rnic_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *p)
{
	struct rnic_dev *dev = to_rnic_dev(id->device);
	struct rnic_qp *qp = NULL;
	struct rnic_ep *ep;
	int err = -EINVAL;

	if (is_id_accepted(id))
		return replace_qp_on_second_accept(id, p->qpn);
	ep = rnic_pending_req_get(dev, xa_to_value(id->provider_data));
	if (p->private_data_len <= DDP_PD_MAX - DDP_WORD_SIZE)
		qp = find_qp_and_consume_connect_right(dev, p->qpn);
	if (qp) {
		/* set provider_data before the accept: is_rejected_after_accept() reads it later */
		id->provider_data = qp;
		err = accept_or_report_peer_gone(ep, id, qp, p);
		rnic_qp_put(qp);
	}
	if (!ep)
		return err;
	/*
	 * iw_cm forgets a request whose accept fails, so reject the request: otherwise the peer
	 * would get no reply.  Leave it in the table, so that device removal can abort its session.
	 */
	if (err)
		rnic_ep_reject(ep, NULL, 0);
	else if (rnic_pending_req_remove(ep))
		rnic_ep_put(ep);
	rnic_ep_put(ep);
	return err;
}

/*
 * Handle the reject of a request that has been accepted: abort the connection. Set
 * provider_data to NULL, because is_rejected_after_accept() recognizes a reject by that.
 *
 * iw_cm drops its reference to the QP only when the program destroys the ID, and destroying
 * the QP waits for that reference.  A program that destroys the QP before the ID would wait for
 * ever, so revoke iw_cm's reference here.
 *
 * Return: -EINVAL.
 */
static int abort_accepted_connection(struct iw_cm_id *id)
{
	struct rnic_qp *qp = id->provider_data;

	if (!qp)
		return -EINVAL;
	WRITE_ONCE(id->provider_data, NULL);
	rnic_qp_fail(qp, IW_LOCAL_ABORT);
	rnic_qp_cm_revoke_refs(qp);
	return -EINVAL;
}

/**
 * rnic_iw_reject - reject a connection request (iw_cm operation)
 * @id: iw_cm ID of the request
 * @pd: Private Data for the peer, or NULL
 * @len: length of the Private Data in bytes
 *
 * May sleep.
 *
 * Return: 0 if the request was pending or its session has ended; -EINVAL if the program has
 * accepted the request before, in which case the connection is aborted.
 */
int rnic_iw_reject(struct iw_cm_id *id, const void *pd, u8 len)
{
	struct rnic_dev *dev = to_rnic_dev(id->device);
	struct rnic_ep *ep;

	if (is_id_accepted(id))
		return abort_accepted_connection(id);
	rnic_inc_counter(dev, RNIC_REJECTS);
	ep = rnic_pending_req_get(dev, xa_to_value(id->provider_data));
	if (!ep)
		return 0;
	rnic_ep_reject(ep, pd, len);
	rnic_ep_put(ep);
	return 0;
}

/* The device ---------------------------------------------------------------------- */

/**
 * rnic_cm_init - set up connection management of a new device
 * @dev: the device
 *
 * Return: 0; -EPROTONOSUPPORT if no module provides MPA (the LLP over TCP); or -ENOMEM.  The
 * caller must call rnic_cm_exit() later, also after an error.
 */
int rnic_cm_init(struct rnic_dev *dev)
{
	rnic_pending_reqs_init(dev);
	return rnic_llps_init(dev);
}

/**
 * rnic_cm_exit - release the connection management of a device
 * @dev: the device, not registered or no longer registered
 *
 * Aborts the sessions of all requests in the table of pending requests, because iw_cm can no
 * longer accept or reject the requests.  The table also has rejected requests whose session has
 * not ended yet.  Then waits until the last endpoint of the device is freed.  May sleep.
 */
void rnic_cm_exit(struct rnic_dev *dev)
{
	if (!dev->llps)
		return;
	rnic_pending_reqs_abort(dev);
	rnic_wait_objects_freed(dev, RNIC_EPS);
	rnic_llps_exit(dev);
}

/**
 * rnic_cm_wait_upcalls - wait until no session upcall is running
 *
 * Called before the module is unloaded.  The caller must have removed all devices, so no new
 * upcall starts.  But a worker of an LLP may still be running code of this module, in the closed
 * upcall of the last session.
 */
void rnic_cm_wait_upcalls(void)
{
	ddp_session_sync_upcalls();
}
