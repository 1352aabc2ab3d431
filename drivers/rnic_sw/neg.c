// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The rules of RFC 6581 section 9.
 *
 * No depth ever grows beyond what the program asked for, with two exceptions
 * that the RFC makes: a place for a Read that serves as the ready-to-receive
 * message, and an initiator's inbound depth, which has to hold what the
 * responder announces, as far as the device can.
 */
#include <ddp/pure.h>

#include "neg.h"

/* A=0 says that B, C and D mean nothing (9.2) */
static u8 types_of(u8 rtr)
{
	return rtr & NEG_RTR_P2P ? rtr & NEG_RTR_TYPES : 0;
}

/* The depth that the peer's opposite depth leaves of ours (9.1) */
static u16 limit(u16 mine, u16 theirs)
{
	return theirs == NEG_DEPTH_NONE ? mine : min(mine, theirs);
}

/* What we have before anything is negotiated */
static void start(const struct neg_local *me, struct neg_result *r)
{
	*r = (struct neg_result){
		.ird = min(me->ird, me->max),
		.ord = min(me->ord, me->max),
	};
}

/**
 * neg_request - what an initiator says in its Request
 * @me: what it wants and can
 * @req: filled in
 *
 * The model bit comes with every type we support, and with none at all if it
 * is not set (9.2).
 */
void neg_request(const struct neg_local *me, struct neg_side *req)
{
	u8 types = types_of(me->rtr);

	*req = (struct neg_side){ .enhanced = me->enhanced };
	if (!me->enhanced)
		return;
	req->ird = min(me->ird, me->max);
	req->ord = min(me->ord, me->max);
	req->rtr = types ? NEG_RTR_P2P | types : 0;
}

/*
 * The types a responder announces: those that both can; if there are none, its
 * own, of which it must have one (9.2).  A Read needs a place in the inbound
 * queue; where there is none, and the initiator forbids to make one, Read is
 * not among them.  An empty Write can always be received.
 */
static u8 types_to_announce(const struct neg_local *me,
			    const struct neg_side *req, u16 ird)
{
	u8 mine = me->rtr & NEG_RTR_TYPES;
	u8 both;

	if (!ird && req->ord == NEG_DEPTH_NONE)
		mine &= ~NEG_RTR_READ;
	if (!mine)
		mine = NEG_RTR_WRITE;
	both = mine & req->rtr;
	return both ? both : mine;
}

/**
 * neg_accept - what a responder says in its Reply, and what then holds
 * @me: what it wants and can
 * @req: the initiator's Request
 * @rep: filled in
 * @r: filled in; @r->why is IW_OK
 *
 * A plain Request gets a plain Reply, and the program's own depths hold
 * (section 10).  Otherwise (9.1):
 *
 * * ORD is at most the initiator's IRD.
 * * IRD is what the program asked for; an initiator whose ORD is larger has to
 *   come down.  It is 1 at least if the initiator may send us a Read first.
 * * A depth that the initiator does not negotiate stays as it is, and the
 *   Reply does not name it.
 *
 * The same @rep serves to refuse a Request.
 */
void neg_accept(const struct neg_local *me, const struct neg_side *req,
		struct neg_side *rep, struct neg_result *r)
{
	u8 types;

	start(me, r);
	*rep = (struct neg_side){ .enhanced = req->enhanced };
	if (!req->enhanced)
		return;
	if (req->rtr & NEG_RTR_P2P) {
		types = types_to_announce(me, req, r->ird);
		rep->rtr = NEG_RTR_P2P | types;
		r->rtr = types & req->rtr;
	}
	if (r->rtr & NEG_RTR_READ)
		r->ird = max_t(u16, r->ird, 1);
	r->ord = limit(r->ord, req->ird);
	rep->ird = req->ord == NEG_DEPTH_NONE ? NEG_DEPTH_NONE : r->ird;
	rep->ord = req->ird == NEG_DEPTH_NONE ? NEG_DEPTH_NONE : r->ord;
}

/*
 * An initiator's inbound depth holds the responder's outbound one at least; a
 * responder that announces more than we can hold ends it here (9.1).
 */
static enum iw_reason agree_ird(const struct neg_local *me, u16 their_ord,
				struct neg_result *r)
{
	if (their_ord == NEG_DEPTH_NONE || their_ord <= r->ird)
		return IW_OK;
	if (their_ord > me->max)
		return IW_MPA_IRD;
	r->ird = their_ord;
	return IW_OK;
}

/* Can we send a Read first?  It needs a place at either end. */
static bool read_fits(u16 their_ird, u16 ord)
{
	return ord || (their_ird && their_ird != NEG_DEPTH_NONE);
}

/*
 * Which of the types that both can comes first: one that leaves no trace at
 * the responder before one that takes a place in a queue of its.
 */
static enum iw_reason agree_rtr(u8 asked, const struct neg_side *rep,
				struct neg_result *r)
{
	u8 both = types_of(asked) & types_of(rep->rtr);

	if (!read_fits(rep->ird, r->ord))
		both &= ~NEG_RTR_READ;
	if (both & NEG_RTR_WRITE)
		r->rtr = NEG_RTR_WRITE;
	else if (both & NEG_RTR_READ)
		r->rtr = NEG_RTR_READ;
	else if (both & NEG_RTR_SEND)
		r->rtr = NEG_RTR_SEND;
	if (r->rtr == NEG_RTR_READ)
		r->ord = max_t(u16, r->ord, 1);
	if (!r->rtr && (asked | rep->rtr) & NEG_RTR_P2P)
		return IW_MPA_RTR;
	return IW_OK;
}

/**
 * neg_complete - what holds after the responder's Reply
 * @me: what the initiator wants and can
 * @req: what it said in its Request
 * @rep: what the responder said in an accepting Reply
 * @r: filled in
 *
 * Nothing was negotiated unless both spoke of it: the program's own depths
 * hold then, and no message is due first.  Otherwise (9.1, 9.2):
 *
 * * ORD is at most the responder's IRD, and IRD at least its ORD; a depth that
 *   it does not negotiate leaves ours as it is.
 * * One of the types that both announced is sent first.  If there is none, or
 *   the two sides do not agree on the model, @r->why is IW_MPA_RTR.
 *
 * The depths are good in any case: a Terminate needs a started stream.
 */
void neg_complete(const struct neg_local *me, const struct neg_side *req,
		  const struct neg_side *rep, struct neg_result *r)
{
	start(me, r);
	if (!req->enhanced || !rep->enhanced)
		return;
	r->ord = limit(r->ord, rep->ird);
	r->why = agree_ird(me, rep->ord, r);
	if (r->why == IW_OK)
		r->why = agree_rtr(req->rtr, rep, r);
}
