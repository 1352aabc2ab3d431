// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * iw_cm on one side, sessions on the other, nothing else.
 *
 * An endpoint stands for one connection.  It is held by the session (until
 * closed() has been told) and, on the passive side, by iw_cm until it accepts
 * or rejects.  Upcalls come from the lower layer's worker, one at a time for a
 * session; each iw_cm event goes out once.
 */
#include <linux/inet.h>
#include <linux/slab.h>
#include <rdma/iw_cm.h>

#include <ddp/session.h>

#include "cm.h"
#include "neg.h"
#include "rnic.h"
#include "stats.h"

static_assert(NEG_RTR_P2P == DDP_RTR_P2P && NEG_RTR_SEND == DDP_RTR_SEND &&
	      NEG_RTR_WRITE == DDP_RTR_WRITE && NEG_RTR_READ == DDP_RTR_READ &&
	      NEG_DEPTH_NONE == DDP_DEPTH_NONE);

enum ep_state {
	EP_CONNECTING,		/* active: no reply told yet */
	EP_REQUESTED,		/* passive: told, no answer yet */
	EP_ACCEPTED,		/* passive: answered, not yet established */
	EP_ESTABLISHED,
	EP_REFUSED,		/* active: refused by us, iw_cm has been told */
};

struct rnic_ep {
	/* fixed after creation */
	struct rnic_dev		*dev;
	struct kref		ref;

	/* the session's upcalls, and iw_cm before the first of them */
	enum ep_state		state;
	struct iw_cm_id		*id;
	struct rnic_qp		*qp;
	struct ddp_session	*ss;	/* a reference */
	struct neg_side		request;
	struct neg_local	me;
	struct neg_result	result;
};

static void free_ep(struct kref *ref)
{
	struct rnic_ep *ep = container_of(ref, struct rnic_ep, ref);
	struct rnic_dev *dev = ep->dev;

	if (ep->ss)
		ddp_session_put(ep->ss);
	kfree(ep);
	rnic_give(dev, RNIC_EPS);
}

static void ep_put(struct rnic_ep *ep)
{
	kref_put(&ep->ref, free_ep);
}

static struct rnic_ep *new_ep(struct rnic_dev *dev)
{
	struct rnic_ep *ep;

	if (rnic_take(dev, RNIC_EPS))
		return NULL;
	/* of who connects; who is called pays for what he accepts */
	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep) {
		rnic_give(dev, RNIC_EPS);
		return NULL;
	}
	ep->dev = dev;
	kref_init(&ep->ref);
	return ep;
}

/* The endpoint takes hold of iw_cm's end and of the queue pair ... */
static void tie(struct rnic_ep *ep, struct iw_cm_id *id, struct rnic_qp *qp)
{
	id->add_ref(id);
	ep->id = id;
	ep->qp = qp;
}

/* ... and lets them go */
static void untie(struct rnic_ep *ep)
{
	struct iw_cm_id *id = ep->id;
	struct rnic_qp *qp = ep->qp;

	ep->id = NULL;
	ep->qp = NULL;
	if (id)
		id->rem_ref(id);
	if (qp)
		rnic_qp_put(qp);
}

static void fill_local(const struct rnic_dev *dev, const struct iw_cm_conn_param *p,
		       struct neg_local *me)
{
	*me = (struct neg_local) {
		.ird = min_t(u32, p->ird, RDMAP_DEPTH_MAX),
		.ord = min_t(u32, p->ord, RDMAP_DEPTH_MAX),
		.max = RDMAP_DEPTH_MAX,
		.rtr = READ_ONCE(dev->policy.mpa_rtr),
		.enhanced = READ_ONCE(dev->policy.mpa_revision) != 1,
	};
	/* programs let the passive side send first: it must be woken for that */
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
	memcpy(o->pd, pd, len);
}

static void fill_side(struct neg_side *side, const struct ddp_offer *o)
{
	side->enhanced = o->enhanced;
	side->ird = o->ird;
	side->ord = o->ord;
	side->rtr = o->rtr;
}

/* Up to iw_cm ------------------------------------------------------------- */

/* The event has 8 bits of each depth and of the length of Private Data */
static u8 told(u16 n)
{
	return min_t(u16, n, U8_MAX);
}

/*
 * An event's depths are the peer's as it said them, seen from here: its IRD is
 * what we may have under way (RFC 6581 9.1).  Where it said none, @ird and @ord
 * hold.  Data beyond what the event can count is not handed up (N-22).
 */
static void fill_event(struct iw_cm_event *ev, const struct rnic_ep *ep,
		       const struct ddp_offer *o, u16 ird, u16 ord)
{
	bool says = o && o->enhanced;

	ev->local_addr = ep->ss->local;
	ev->remote_addr = ep->ss->remote;
	ev->ird = told(says ? o->ird : ird);
	ev->ord = told(says ? o->ord : ord);
	if (!o)
		return;
	ev->private_data = (void *)o->pd;
	ev->private_data_len = told(o->pd_len);
}

/* Return: 0, or -ENOMEM: there was none for a copy of the Private Data */
static int send_event(struct rnic_ep *ep, enum iw_cm_event_type type,
		      int status, const struct ddp_offer *o)
{
	struct iw_cm_event ev = { .event = type, .status = status };

	fill_event(&ev, ep, o, ep->result.ord, ep->result.ird);
	return ep->id->event_handler(ep->id, &ev);
}

/* Who waits for the answer gets one, if need be without Private Data */
static void send_refusal(struct rnic_ep *ep, int status,
			 const struct ddp_offer *o)
{
	if (send_event(ep, IW_CM_EVENT_CONNECT_REPLY, status, o))
		send_event(ep, IW_CM_EVENT_CONNECT_REPLY, status, NULL);
}

static int status_of(enum iw_reason why)
{
	switch (why) {
	case IW_PEER_REJECT:
	case IW_PEER_REFUSED:
		return -ECONNREFUSED;
	case IW_UNREACHABLE:
		return -EHOSTUNREACH;
	case IW_TIMEOUT:
		return -ETIMEDOUT;
	default:
		return -ECONNRESET;
	}
}

/* Upcalls of the session -------------------------------------------------- */

static void note_depths(struct rnic_ep *ep)
{
	struct rdmap *r = &ep->qp->rdmap;
	int err = rnic_qp_start(ep->qp, ep->result.ird, ep->result.ord);

	/* told to the peer if we may send by then (RFC 6581 9.3) */
	if (err == -ENOMEM && !ep->result.why)
		ep->result.why = IW_MPA_LOCAL;
	if (err == -ENOTCONN)
		rnic_qp_error(ep->qp, IW_NO_MEMORY);
	else if (ep->result.why)
		rdmap_fail(r, ep->result.why);
}

static enum iw_reason refuse_reply(struct rnic_ep *ep, enum iw_reason why,
				   int status, const struct ddp_offer *o)
{
	ep->qp->rdmap.rtr = 0;
	/* to iw_cm a failed reply is the end: no CLOSE may follow */
	ep->state = EP_REFUSED;
	send_refusal(ep, status, o);
	return why;
}

static enum iw_reason active_established(struct rnic_ep *ep,
					 const struct ddp_offer *o)
{
	struct neg_side reply;
	enum iw_reason why;

	fill_side(&reply, o);
	neg_complete(&ep->me, &ep->request, &reply, &ep->result);
	note_depths(ep);
	why = ep->result.why;
	if (why)
		return refuse_reply(ep, why, -ECONNREFUSED, o);
	ep->qp->rdmap.rtr = ep->result.rtr;
	ep->state = EP_ESTABLISHED;
	if (!send_event(ep, IW_CM_EVENT_CONNECT_REPLY, 0, o))
		return IW_OK;
	rdmap_fail(&ep->qp->rdmap, IW_MPA_LOCAL);
	return refuse_reply(ep, IW_MPA_LOCAL, -ENOMEM, NULL);
}

static enum iw_reason established(struct ddp_session *ss,
				  const struct ddp_offer *o)
{
	struct rnic_ep *ep = ss->ctx;

	ep->ss = ss;
	if (o)
		return active_established(ep, o);
	ep->qp->rdmap.swallow = ep->result.rtr & NEG_RTR_SEND;
	note_depths(ep);
	ep->state = EP_ESTABLISHED;
	send_event(ep, IW_CM_EVENT_ESTABLISHED, 0, NULL);
	return IW_OK;
}

static void peer_closed(struct ddp_session *ss)
{
	struct rnic_ep *ep = ss->ctx;

	send_event(ep, IW_CM_EVENT_DISCONNECT, 0, NULL);
	rnic_qp_peer_closed(ep->qp);
}

static void tell_closed(struct rnic_ep *ep, enum iw_reason why,
			const struct ddp_offer *o)
{
	int status = status_of(why);

	switch (ep->state) {
	case EP_CONNECTING:
		send_refusal(ep, status, o);
		return;
	case EP_ACCEPTED:
		/* iw_cm has to see it established before it sees it closed */
		send_event(ep, IW_CM_EVENT_ESTABLISHED, status, NULL);
		fallthrough;
	case EP_ESTABLISHED:
		send_event(ep, IW_CM_EVENT_CLOSE, 0, NULL);
		return;
	default:
		return;
	}
}

static void closed(struct ddp_session *ss, enum iw_reason why,
		   const struct ddp_offer *o)
{
	struct rnic_ep *ep = ss->ctx;

	ep->ss = ss;
	/* an accept that comes too late has to clean up itself */
	if (ep->state == EP_CONNECTING || ep->state == EP_ESTABLISHED ||
	    ep->state == EP_REFUSED || ss->accepted) {
		tell_closed(ep, why, o);
		untie(ep);
	}
	ep_put(ep);
}

static int request(struct ddp_listener *l, struct ddp_session *ss,
		   const struct ddp_offer *o)
{
	struct rnic_lep *lep = l->ctx;
	struct iw_cm_event ev = { .event = IW_CM_EVENT_CONNECT_REQUEST };
	struct rnic_ep *ep = new_ep(lep->dev);
	int err;

	if (!ep)
		return -ENOMEM;
	ep->state = EP_REQUESTED;
	ep->ss = ss;
	ss->ctx = ep;
	fill_side(&ep->request, o);
	fill_event(&ev, ep, o, RDMAP_DEPTH_MAX, RDMAP_DEPTH_MAX);
	ev.provider_data = ep;
	/* one reference for the session, one for iw_cm's answer */
	kref_get(&ep->ref);
	err = lep->id->event_handler(lep->id, &ev);
	if (!err)
		return 0;
	/* the session's reference stays with the LLP */
	ep->ss = NULL;
	ep_put(ep);
	ep_put(ep);
	return err;
}

static void refused(struct ddp_listener *l, enum iw_reason why)
{
	struct rnic_lep *lep = l->ctx;

	rnic_count_reason(lep->dev, why);
}

const struct ddp_session_user rnic_session_user = {
	.request	= request,
	.refused	= refused,
	.established	= established,
	.peer_closed	= peer_closed,
	.closed		= closed,
};

/* Down from iw_cm --------------------------------------------------------- */

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
	struct ddp_policy policy;
	struct ddp_session *ss;
	struct ddp_connect args = {
		.net = rnic_net(dev),
		.tos = id->tos_set ? id->tos : 0,
		.local = &id->m_local_addr,
		.remote = &id->m_remote_addr,
		.offer = o,
		.policy = &policy,
		.stream = &ep->qp->rdmap.stream,
	};

	if (!args.net)
		return ERR_PTR(-ENODEV);
	rnic_fill_policy(dev, &policy);
	if (!rnic_serves(args.net, id))
		ss = ERR_PTR(-ENETUNREACH);
	else if (type)
		ss = type->connect(&args, &rnic_session_user, ep);
	else
		ss = ERR_PTR(-EPROTONOSUPPORT);
	/* the endpoint may have gone already */
	if (!IS_ERR(ss))
		count_connect(dev, type);
	put_net(args.net);
	return ss;
}

/* The endpoint learns its session from the first upcall: that may be quicker */
static int start_session(struct rnic_ep *ep, const struct iw_cm_conn_param *p)
{
	struct ddp_offer *o = kzalloc(sizeof(*o), GFP_KERNEL);
	struct ddp_session *ss;

	if (!o)
		return -ENOMEM;
	fill_local(ep->dev, p, &ep->me);
	neg_request(&ep->me, &ep->request);
	fill_offer(o, &ep->request, p->private_data, p->private_data_len);
	ss = connect_session(ep, o);
	kfree(o);
	return PTR_ERR_OR_ZERO(ss);
}

/* To who may not have it a number means as little as one that nobody has */
static struct rnic_qp *callers_qp(struct rnic_dev *dev, u32 qpn)
{
	struct rnic_qp *qp = rnic_qp_find(dev, qpn);

	if (qp && !rnic_qp_may_connect(qp)) {
		rnic_qp_put(qp);
		qp = NULL;
	}
	return qp;
}

/**
 * rnic_iw_connect - iw_cm: connect a queue pair
 * @id: iw_cm's end
 * @p: queue pair number, Private Data, depths
 *
 * Return: 0, and a CONNECT_REPLY will come; or an error.
 */
int rnic_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *p)
{
	struct rnic_dev *dev = to_rnic_dev(id->device);
	struct rnic_qp *qp;
	struct rnic_ep *ep;
	int err;

	if (p->private_data_len > DDP_PD_MAX - DDP_WORD_SIZE)
		return -EINVAL;
	qp = callers_qp(dev, p->qpn);
	if (!qp)
		return -EINVAL;
	ep = new_ep(dev);
	if (!ep) {
		rnic_qp_put(qp);
		return -ENOMEM;
	}
	ep->state = EP_CONNECTING;
	id->provider_data = ep;
	tie(ep, id, qp);
	err = start_session(ep, p);
	if (err) {
		untie(ep);
		ep_put(ep);
		return err;
	}
	return 0;
}

static int accept_session(struct rnic_ep *ep, const struct iw_cm_conn_param *p)
{
	struct ddp_offer *o = kzalloc(sizeof(*o), GFP_KERNEL);
	struct neg_side reply;
	int err;

	if (!o)
		return -ENOMEM;
	fill_local(ep->dev, p, &ep->me);
	neg_accept(&ep->me, &ep->request, &reply, &ep->result);
	fill_offer(o, &reply, p->private_data, p->private_data_len);
	err = ep->ss->type->accept(ep->ss, &ep->qp->rdmap.stream, o);
	kfree(o);
	return err;
}

/**
 * rnic_iw_accept - iw_cm: accept a request
 * @id: iw_cm's end
 * @p: queue pair number, Private Data, depths
 *
 * Return: 0, and an ESTABLISHED will come; or an error, and nothing will.
 */
int rnic_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *p)
{
	struct rnic_ep *ep = id->provider_data;
	struct rnic_dev *dev = ep->dev;
	struct rnic_qp *qp;
	int err = -EINVAL;

	if (p->private_data_len > DDP_PD_MAX - DDP_WORD_SIZE)
		goto reject;
	qp = callers_qp(dev, p->qpn);
	if (!qp)
		goto reject;
	tie(ep, id, qp);
	ep->state = EP_ACCEPTED;
	err = accept_session(ep, p);
	if (err)
		goto undo;
	rnic_count(dev, RNIC_ACCEPTS);
	ep_put(ep);
	return 0;
undo:
	ep->state = EP_REQUESTED;
	untie(ep);
reject:
	ep->ss->type->stop(ep->ss, true);
	ep_put(ep);
	return err;
}

/**
 * rnic_iw_reject - iw_cm: say no to a request
 * @id: iw_cm's end
 * @pd: Private Data
 * @len: its length in octets
 *
 * Return: 0.
 */
int rnic_iw_reject(struct iw_cm_id *id, const void *pd, u8 len)
{
	struct rnic_ep *ep = id->provider_data;
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
		ep->ss->type->stop(ep->ss, true);
	rnic_count(ep->dev, RNIC_REJECTS);
	ep_put(ep);
	return 0;
}
