// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sessions of a rendezvous: connect, accept, and the upcalls of the LLP.
 *
 * A failed attempt to connect must not use up the queue pair's stream, which can be bound only
 * once.  So the active side binds the stream when the peer's Reply has arrived.  The passive side
 * binds the stream when it accepts.
 *
 * The LLP makes the upcalls of a session in a worker, one after the other. No upcall may wait.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "cm.h"
#include "counters.h"
#include "rdv.h"
#include "rdv_time.h"
#include "rnr.h"

/* References ----------------------------------------------------------------------------------- */

/**
 * rdv_get - get the rendezvous of a queue pair with a reference
 * @qp: the queue pair
 *
 * Context: any.
 *
 * Return: the rendezvous; NULL if the queue pair has none.
 */
struct rnic_rdv *rdv_get(const struct rnic_qp *qp)
{
	struct rnic_rdv *rdv;

	rcu_read_lock();
	rdv = rnic_qp_peek_rdv(qp);
	if (rdv && !kref_get_unless_zero(&rdv->ref))
		rdv = NULL;
	rcu_read_unlock();
	return rdv;
}

static void rnic_rdv_release(struct kref *ref)
{
	struct rnic_rdv *rdv = container_of(ref, struct rnic_rdv, ref);

	if (rdv->ss)
		ddp_session_put(rdv->ss);
	ddp_sock_owner_exit(&rdv->owner);
	kfree_rcu(rdv, rcu);
}

/**
 * rdv_put - drop a reference to a rendezvous
 * @rdv: the rendezvous
 */
void rdv_put(struct rnic_rdv *rdv)
{
	kref_put(&rdv->ref, rnic_rdv_release);
}

static void fill_rdv_offer(struct ddp_offer *o, const struct negotiation_side *side,
			   const struct rnic_rdv *rdv)
{
	*o = (struct ddp_offer){
		.enhanced = side->enhanced, .ird = side->ird, .ord = side->ord, .rtr = side->rtr,
		.pd_len = RDV_MSG_LEN,
	};
	rdv_msg_encode(&rdv->msg, o->pd);
}

static struct negotiation_side rdv_offer_to_negotiation_side(const struct ddp_offer *o)
{
	return (struct negotiation_side){
		.enhanced = o->enhanced, .ird = o->ird, .ord = o->ord, .rtr = o->rtr,
	};
}

/*
 * Fill in the IRD, ORD and RTR types to request. The program sets the ORD only in RTS, so before
 * RTS request the maximum.
 */
static void fill_rdv_negotiation_local(struct rnic_rdv *rdv)
{
	const struct rnic_policy *policy = &rdv->qp->dev->policy;

	rdv->me = (struct negotiation_local){
		.ird = READ_ONCE(rdv->qp->ird_max),
		.ord = READ_ONCE(rdv->qp->ord_max),
		.max = RDMAP_DEPTH_MAX,
		.rtr = READ_ONCE(policy->mpa_rtr),
		.enhanced = READ_ONCE(policy->mpa_revision) != 1,
	};
	/* as in cm.c: the responder must not send first, so always request an RTR */
	if (rdv->me.rtr)
		rdv->me.rtr |= NEG_RTR_P2P;
}

/* Active and passive side ------------------------------------------------------------- */

static struct ddp_session *connect_rdv_session(struct rnic_rdv *rdv, const struct ddp_offer *o)
{
	struct rnic_dev *dev = rdv->qp->dev;
	struct ddp_policy policy;
	struct ddp_session *ss;
	struct ddp_connect args = {
		.net = rnic_get_net(dev),
		.ifindex = rnic_get_ifindex(dev),
		.tos = rdv->ah.grh.traffic_class,
		.owner = &rdv->owner,
		.local = &rdv->local,
		.remote = &rdv->remote,
		.offer = o,
		.policy = &policy,
	};

	if (!args.net)
		return ERR_PTR(-ENETDOWN);
	rnic_fill_llp_policy(dev, &policy);
	/*
	 * A reset by the peer mostly means that its QP is not in RTR yet, and not that it supports
	 * only MPA revision 1. So do not fall back to revision 1 after a reset.
	 */
	if (!policy.revision)
		policy.revision = 2;
	ss = rdv->type->connect(&args, &rdv_session_user, rdv);
	put_net(args.net);
	return ss;
}

static void replace_rdv_session(struct rnic_rdv *rdv, struct ddp_session *ss)
{
	struct ddp_session *old;

	spin_lock_bh(&rdv->lock);
	old = rdv->ss;
	rdv->ss = ss;
	spin_unlock_bh(&rdv->lock);
	if (old)
		ddp_session_put(old);
}

/**
 * rdv_connect - start one attempt to connect
 * @rdv: the rendezvous, in state RDV_CONNECTING
 *
 * Context: the work item; may sleep, but does not wait for the peer.
 *
 * Return: 0 if the LLP will make the established or the closed upcall; a negative errno if it makes
 * none.
 */
int rdv_connect(struct rnic_rdv *rdv)
{
	struct ddp_offer *o = kmalloc(sizeof(*o), GFP_KERNEL);
	struct ddp_session *ss;

	if (!o)
		return -ENOMEM;
	fill_rdv_negotiation_local(rdv);
	negotiation_build_request(&rdv->me, &rdv->request);
	spin_lock_bh(&rdv->lock);
	fill_rdv_offer(o, &rdv->request, rdv);
	spin_unlock_bh(&rdv->lock);
	/* the session's reference, which the closed upcall drops */
	kref_get(&rdv->qp->ref);
	ss = connect_rdv_session(rdv, o);
	kfree(o);
	if (IS_ERR(ss)) {
		rnic_qp_put(rdv->qp);
		return PTR_ERR(ss);
	}
	replace_rdv_session(rdv, ss);
	return 0;
}

/*
 * Choose the session to accept, and fill in the Reply.  The session may have ended since the work
 * item was queued, and another Request may have arrived.
 *
 * @o: filled in; may be NULL
 *
 * Return: the session with a new reference; NULL if none waits to be accepted.
 */
static struct ddp_session *__claim_session_to_accept(struct rnic_rdv *rdv, struct ddp_offer *o)
{
	struct negotiation_side reply;

	lockdep_assert_held(&rdv->lock);
	if (rdv->state != RDV_REQUESTED || rdv->accepted)
		return NULL;
	rdv->accepted = true;
	ddp_session_get(rdv->ss);
	if (o) {
		fill_rdv_negotiation_local(rdv);
		negotiation_build_reply(&rdv->me, &rdv->request, &reply, &rdv->result);
		fill_rdv_offer(o, &reply, rdv);
	}
	return rdv->ss;
}

/**
 * rdv_accept - accept the peer's Request
 * @rdv: the rendezvous of a passive side
 *
 * Context: the work item; may sleep, but does not wait for the peer.
 *
 * Accepts a session only once, because a failed second accept would abort the session.
 *
 * Return: 0 if the LLP will make the established or the closed upcall; -ECANCELED if no session
 * waits to be accepted; another negative errno if the session has failed, and the LLP makes the
 * closed upcall.
 */
int rdv_accept(struct rnic_rdv *rdv)
{
	struct ddp_offer *o = kmalloc(sizeof(*o), GFP_KERNEL);
	struct ddp_session *ss;
	int err = -ENOMEM;

	spin_lock_bh(&rdv->lock);
	ss = __claim_session_to_accept(rdv, o);
	spin_unlock_bh(&rdv->lock);
	if (!ss) {
		kfree(o);
		return -ECANCELED;
	}
	/* until now the socket has belonged to the device */
	rdv->type->set_owner(ss, &rdv->owner);
	if (o)
		err = rdv->type->accept(ss, &rdv->qp->rdmap.stream, o);
	if (err) {
		rdv->type->stop(ss, true);
	} else {
		ddp_stream_close_if_failed(&rdv->qp->rdmap.stream);
		rnic_inc_counter(rdv->qp->dev, RNIC_ACCEPTS);
	}
	ddp_session_put(ss);
	kfree(o);
	return err;
}

/* Upcalls -------------------------------------------------------------------------------- */

/* Record the contents of the peer's message */
static void __record_peer_msg(struct rnic_rdv *rdv, const struct rdv_msg *peer)
{
	lockdep_assert_held(&rdv->lock);
	rdv->has_peer = true;
	rdv->peer_rq_psn = peer->rq_psn;
	rdv->peer_in_rts = peer->has_sq_psn;
	rdv->peer_rnr_retry = peer->rnr_retry;
	__rdv_update_rnr_limit(rdv);
}

/*
 * Claim the queue pair for the peer's Request.  On success the rendezvous takes over the caller's
 * reference to the session, and the session takes over the caller's reference to the queue pair.
 */
static bool try_claim_qp_for_request(struct rnic_rdv *rdv, struct ddp_session *ss,
				     const struct ddp_offer *o, const struct rdv_msg *peer)
{
	struct ddp_session *old = NULL;
	bool ok;

	spin_lock_bh(&rdv->lock);
	ok = rdv->state == RDV_WAITING && !rdv->active && rdv->type == ss->type &&
	     rdv_msg_matches(peer, &rdv->msg) &&
	     rdv_addr_is_same_host(&rdv->remote, &ss->remote) &&
	     rdv_addr_is_same_host(&rdv->local, &ss->local);
	if (ok) {
		old = rdv->ss;
		rdv->ss = ss;
		ss->ctx = rdv;
		rdv->state = RDV_REQUESTED;
		rdv->accepted = false;
		rdv->request = rdv_offer_to_negotiation_side(o);
		__record_peer_msg(rdv, peer);
		__rdv_queue_work(rdv, 0);
	}
	spin_unlock_bh(&rdv->lock);
	if (old)
		ddp_session_put(old);
	return ok;
}

/*
 * Handle a peer's Request.  All failures look the same to the peer, so that it learns nothing about
 * queue pairs.  A peer whose queue pair enters RTR first is refused, too, and tries again.
 */
static int rnic_rdv_handle_request(struct ddp_listener *l, struct ddp_session *ss,
				   const struct ddp_offer *o)
{
	struct rnic_dev *dev = rdv_port_get_dev(l);
	struct rnic_qp *qp = NULL;
	struct rnic_rdv *rdv;
	struct rdv_msg peer;
	bool claimed;

	if (rdv_msg_decode(&peer, o->pd, o->pd_len))
		qp = rnic_qp_find_get(dev, peer.dest_qpn);
	if (qp) {
		rdv = rdv_get(qp);
		claimed = rdv && try_claim_qp_for_request(rdv, ss, o, &peer);
		if (rdv)
			rdv_put(rdv);
		if (claimed)
			return 0;
		rnic_qp_put(qp);
	}
	rnic_inc_counter(dev, RNIC_RDV_REFUSED);
	return -ECONNREFUSED;
}

/* Limit the rate of the bound stream if the program has already set a limit */
static void apply_rate_limit(struct rnic_rdv *rdv)
{
	u64 rate;

	spin_lock_bh(&rdv->lock);
	rate = rdv->rate;
	spin_unlock_bh(&rdv->lock);
	if (rate)
		ddp_stream_set_tx_rate(&rdv->qp->rdmap.stream, rate);
}

/* Start the bound stream, even if the queue pair has failed meanwhile */
static void start_stream(struct rnic_rdv *rdv)
{
	struct rnic_qp *qp = rdv->qp;
	enum iw_reason why = rnic_qp_start(qp, rdv->result.ird, rdv->result.ord);

	apply_rate_limit(rdv);
	if (why == IW_MPA_LOCAL && !rdv->result.why)
		rdv->result.why = why;
	if (why == IW_LOCAL_ABORT)
		rnic_qp_fail(qp, why);
	else if (rdv->result.why)
		rdmap_fail(&qp->rdmap, rdv->result.why);
}

/* Check the message in the peer's Reply, and claim the queue pair for the session */
static bool try_claim_qp_for_reply(struct rnic_rdv *rdv, const struct ddp_offer *o)
{
	struct rdv_msg peer;
	bool ok;

	if (!rdv_msg_decode(&peer, o->pd, o->pd_len))
		return false;
	spin_lock_bh(&rdv->lock);
	ok = rdv->state == RDV_CONNECTING && rdv_msg_matches(&peer, &rdv->msg);
	if (ok) {
		rdv->state = RDV_CONNECTED;
		__record_peer_msg(rdv, &peer);
	}
	spin_unlock_bh(&rdv->lock);
	return ok;
}

/*
 * Bind and start the stream of the active side.  The passive side must not send before it has
 * received a first message.  So send a Write of length 0 even if no RTR has been negotiated.
 */
static enum iw_reason finish_rdv_connect(struct rnic_rdv *rdv, struct ddp_session *ss,
					 const struct ddp_offer *o)
{
	struct rnic_qp *qp = rdv->qp;
	struct negotiation_side reply = rdv_offer_to_negotiation_side(o);

	if (!try_claim_qp_for_reply(rdv, o) || rdv->type->bind(ss, &qp->rdmap.stream))
		return IW_LOCAL_ABORT;
	rnic_inc_counter(qp->dev, RNIC_CONNECTS);
	if (rdv->type == rnic_get_llp(qp->dev, RNIC_SW_LLP_SCTP))
		rnic_inc_counter(qp->dev, RNIC_CONNECTS_SCTP);
	negotiation_evaluate_reply(&rdv->me, &rdv->request, &reply, &rdv->result);
	start_stream(rdv);
	ddp_stream_close_if_failed(&qp->rdmap.stream);
	if (!rdv->result.why)
		qp->rdmap.rtr = rdv->result.rtr ?: NEG_RTR_WRITE;
	return rdv->result.why;
}

static enum iw_reason rnic_rdv_handle_established(struct ddp_session *ss, const struct ddp_offer *o)
{
	struct rnic_rdv *rdv = ss->ctx;

	if (o)
		return finish_rdv_connect(rdv, ss, o);
	spin_lock_bh(&rdv->lock);
	if (rdv->state == RDV_REQUESTED)
		rdv->state = RDV_CONNECTED;
	spin_unlock_bh(&rdv->lock);
	rdv->qp->rdmap.rtr_expected = rdv->result.rtr;
	start_stream(rdv);
	return IW_OK;
}

/*
 * Close the stream once all posted requests are sent, without notifying the program, see
 * rnic_qp_must_keep_recvs(). Later requests fail when the stream has ended.
 */
static void rnic_rdv_handle_peer_closed(struct ddp_session *ss)
{
	struct rnic_rdv *rdv = ss->ctx;

	rnic_sq_close(rdv->qp);
	rdv->type->stop(ss, false);
}

/*
 * Handle the end of a session. If the stream was not bound, the queue pair is still in QP_IDLE, and
 * the next attempt begins after a pause.
 */
static void rnic_rdv_handle_closed(struct ddp_session *ss, enum iw_reason why,
				   const struct ddp_offer *o)
{
	struct rnic_rdv *rdv = ss->ctx;
	struct rnic_qp *qp = rdv->qp;

	spin_lock_bh(&rdv->lock);
	if ((rdv->state == RDV_CONNECTING || rdv->state == RDV_REQUESTED) &&
	    READ_ONCE(qp->state) == QP_IDLE) {
		rdv->state = RDV_WAITING;
		rdv->has_peer = false;
		rdv->pause_ms = rdv_compute_pause_ms(rdv->pause_ms);
		rdv->next_try = jiffies + msecs_to_jiffies(rdv->pause_ms);
		__rdv_queue_work(rdv, rdv->active ? rdv->pause_ms : 0);
	}
	spin_unlock_bh(&rdv->lock);
	rnic_qp_put(qp);
}

static void rnic_rdv_count_refused(struct ddp_listener *l, enum iw_reason why)
{
	rnic_count_reason(rdv_port_get_dev(l), why);
}

static void rnic_rdv_get_policy(struct ddp_listener *l, struct ddp_policy *p)
{
	rnic_fill_llp_policy(rdv_port_get_dev(l), p);
}

const struct ddp_session_user rdv_session_user = {
	.policy		= rnic_rdv_get_policy,
	.request	= rnic_rdv_handle_request,
	.refused	= rnic_rdv_count_refused,
	.established	= rnic_rdv_handle_established,
	.peer_closed	= rnic_rdv_handle_peer_closed,
	.closed		= rnic_rdv_handle_closed,
};
