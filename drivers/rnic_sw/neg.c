// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * IRD, ORD and RTR negotiation (RFC 6581 section 9), as pure functions.
 *
 * A depth never exceeds what the program requested, with two exceptions of the
 * RFC.  A Read as ready-to-receive message needs a depth of 1.  The initiator's
 * IRD is raised to the responder's ORD, up to the device's limit.
 */
#include <ddp/pure.h>

#include "neg.h"

/* With A=0 the bits B, C and D are ignored (9.2) */
static u8 rtr_types(u8 rtr)
{
	return rtr & NEG_RTR_P2P ? rtr & NEG_RTR_TYPES : 0;
}

/*
 * Limit our depth by the peer's opposite one, unless the peer does not
 * negotiate it (9.1)
 */
static u16 limit_depth(u16 mine, u16 theirs)
{
	return theirs == NEG_DEPTH_NONE ? mine : min(mine, theirs);
}

/* The depths before negotiation: the program's, up to the device's limit */
static void init_result(const struct neg_local *me, struct neg_result *r)
{
	*r = (struct neg_result){
		.ird = min(me->ird, me->max),
		.ord = min(me->ord, me->max),
	};
}

/**
 * neg_request - build the initiator's side of a Request
 * @me: what the initiator wants and supports
 * @req: filled in
 *
 * For the peer-to-peer model every supported RTR type is announced.  Otherwise
 * all four bits are zero (9.2).
 */
void neg_request(const struct neg_local *me, struct neg_side *req)
{
	u8 types = rtr_types(me->rtr);

	*req = (struct neg_side){ .enhanced = me->enhanced };
	if (!me->enhanced)
		return;
	req->ird = min(me->ird, me->max);
	req->ord = min(me->ord, me->max);
	req->rtr = types ? NEG_RTR_P2P | types : 0;
}

/*
 * RTR types that a responder announces: those that both sides support, or if
 * there is none, its own, at least one (9.2).  A Read needs an IRD of at least
 * 1.  Read is left out if IRD is 0 and the initiator does not negotiate its
 * ORD, because IRD may not be raised then.  A zero-length Write can always be
 * received.
 */
static u8 choose_rtr_types(const struct neg_local *me,
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
 * neg_accept - build the responder's side of a Reply and compute the result
 * @me: what the responder wants and supports
 * @req: the initiator's Request
 * @rep: filled in
 * @r: filled in; @r->why is IW_OK
 *
 * A Request without the enhanced form gets a Reply without it, and the
 * program's own depths apply (section 10).  Otherwise (9.1):
 *
 * * ORD is at most the initiator's IRD.
 * * IRD is what the program requested; an initiator with a larger ORD must
 *   reduce it.  IRD is at least 1 if the initiator may send a Read first.
 * * A depth that the initiator does not negotiate is left unchanged, and is
 *   marked as not negotiated in the Reply.
 *
 * @rep is also valid for a reject.
 */
void neg_accept(const struct neg_local *me, const struct neg_side *req,
		struct neg_side *rep, struct neg_result *r)
{
	u8 types;

	init_result(me, r);
	*rep = (struct neg_side){ .enhanced = req->enhanced };
	if (!req->enhanced)
		return;
	if (req->rtr & NEG_RTR_P2P) {
		types = choose_rtr_types(me, req, r->ird);
		rep->rtr = NEG_RTR_P2P | types;
		r->rtr = types & req->rtr;
	}
	if (r->rtr & NEG_RTR_READ)
		r->ird = max_t(u16, r->ird, 1);
	r->ord = limit_depth(r->ord, req->ird);
	rep->ird = req->ord == NEG_DEPTH_NONE ? NEG_DEPTH_NONE : r->ird;
	rep->ord = req->ird == NEG_DEPTH_NONE ? NEG_DEPTH_NONE : r->ord;
}

/*
 * Raise the initiator's IRD to the responder's ORD.  Fail if that ORD is above
 * the device's limit (9.1).
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

/*
 * A Read as RTR needs an ORD of 1 here, or an IRD at the peer that permits
 * raising it
 */
static bool can_use_read(u16 their_ird, u16 ord)
{
	return ord || (their_ird && their_ird != NEG_DEPTH_NONE);
}

/*
 * Choose one RTR type that both sides support.  Write comes first because it
 * leaves no state at the responder, then Read, then Send, which takes a
 * receive.
 */
static enum iw_reason agree_rtr(u8 req_rtr, const struct neg_side *rep,
				struct neg_result *r)
{
	u8 both = rtr_types(req_rtr) & rtr_types(rep->rtr);

	if (!can_use_read(rep->ird, r->ord))
		both &= ~NEG_RTR_READ;
	if (both & NEG_RTR_WRITE)
		r->rtr = NEG_RTR_WRITE;
	else if (both & NEG_RTR_READ)
		r->rtr = NEG_RTR_READ;
	else if (both & NEG_RTR_SEND)
		r->rtr = NEG_RTR_SEND;
	if (r->rtr == NEG_RTR_READ)
		r->ord = max_t(u16, r->ord, 1);
	if (!r->rtr && (req_rtr | rep->rtr) & NEG_RTR_P2P)
		return IW_MPA_RTR;
	return IW_OK;
}

/**
 * neg_complete - compute the initiator's result from the responder's Reply
 * @me: what the initiator wants and supports
 * @req: the Request that was sent
 * @rep: the responder's accepting Reply
 * @r: filled in
 *
 * Unless both frames have the enhanced form, the program's own depths apply and
 * no RTR is sent.  Otherwise (9.1, 9.2):
 *
 * * ORD is at most the responder's IRD, and IRD at least the responder's ORD.
 *   A depth that the responder does not negotiate leaves ours unchanged.
 * * One of the types that both sides announced is sent as RTR.  If there is
 *   none, or the sides disagree about the peer-to-peer model, @r->why is
 *   IW_MPA_RTR.
 *
 * The depths in @r are valid even on failure: the stream is started to send a
 * Terminate.
 */
void neg_complete(const struct neg_local *me, const struct neg_side *req,
		  const struct neg_side *rep, struct neg_result *r)
{
	init_result(me, r);
	if (!req->enhanced || !rep->enhanced)
		return;
	r->ord = limit_depth(r->ord, rep->ird);
	r->why = agree_ird(me, rep->ord, r);
	if (r->why == IW_OK)
		r->why = agree_rtr(req->rtr, rep, r);
}
