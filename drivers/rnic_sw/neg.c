// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Compute the outcome of the IRD, ORD and RTR negotiation (RFC 6581 section 9).  All
 * functions are pure.
 *
 * The negotiated IRD and ORD never exceed the values that the local program requested,
 * with two exceptions, which the RFC specifies:
 *
 * * If the RTR message is a Read, the initiator raises its ORD to at least 1.  If the RTR
 *   message may be a Read, the responder raises its IRD to at least 1.
 * * The initiator raises its IRD to the responder's ORD, up to the device's limit.
 */
#include <ddp/pure.h>

#include "neg.h"

/*
 * Get the RTR types (flags B, C and D) of @rtr, or 0 if flag A (peer-to-peer model) is
 * clear (RFC 6581 9.2)
 */
static u8 get_rtr_types(u8 rtr)
{
	return rtr & NEG_RTR_P2P ? rtr & NEG_RTR_TYPES : 0;
}

/*
 * Limit the local ORD @mine to the peer's IRD @theirs.  If the peer does not negotiate
 * its IRD, the local ORD does not change (RFC 6581 9.1).
 */
static u16 limit_ord(u16 mine, u16 theirs)
{
	return theirs == NEG_DEPTH_NONE ? mine : min(mine, theirs);
}

/* Set IRD and ORD to the values that the program requested, up to the device's limit */
static void init_negotiation_result(const struct negotiation_local *me,
				    struct negotiation_result *r)
{
	*r = (struct negotiation_result){
		.ird = min(me->ird, me->max),
		.ord = min(me->ord, me->max),
	};
}

/**
 * negotiation_build_request - build the initiator's Request
 * @me: requested values and limits of the initiator
 * @req: the Request, filled in
 *
 * If @me requests the peer-to-peer model, the Request announces every RTR type that the
 * initiator supports.  Otherwise all four flags are 0 (RFC 6581 9.2).
 */
void negotiation_build_request(const struct negotiation_local *me, struct negotiation_side *req)
{
	u8 types = get_rtr_types(me->rtr);

	*req = (struct negotiation_side){ .enhanced = me->enhanced };
	if (!me->enhanced)
		return;
	req->ird = min(me->ird, me->max);
	req->ord = min(me->ord, me->max);
	req->rtr = types ? NEG_RTR_P2P | types : 0;
}

/*
 * Choose the RTR types that a responder announces: the types that both sides support, or
 * all types of the responder if the sides have none in common (RFC 6581 9.2).
 *
 * A Read as RTR needs an IRD of at least 1.  If @ird is 0 and the initiator does not
 * negotiate its ORD, the responder must not raise its IRD, so exclude the Read.  The
 * result is never empty: if no other type is left, it is the zero-length Write, which
 * needs no resources at the responder.
 */
static u8 choose_rtr_types_to_announce(const struct negotiation_local *me,
				       const struct negotiation_side *req, u16 ird)
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
 * negotiation_build_reply - build the responder's Reply and compute the responder's result
 * @me: requested values and limits of the responder
 * @req: the initiator's Request
 * @rep: the Reply, filled in
 * @r: the result, filled in; @r->why is IW_OK
 *
 * The Reply has the enhanced form if the Request has it.  If not, IRD and ORD are those
 * that the responder's program requested (RFC 6581 section 10).  With the enhanced form
 * (RFC 6581 9.1):
 *
 * * ORD is at most the initiator's IRD.
 * * IRD is the value that the responder's program requested, raised to 1 if the initiator
 *   may send a Read as RTR.  An initiator with a larger ORD must reduce its ORD.
 * * If the initiator does not negotiate its IRD, the responder does not change its own
 *   ORD, and the Reply has NEG_DEPTH_NONE as ORD.  If the initiator does not negotiate
 *   its ORD, the same holds for the responder's IRD.
 */
void negotiation_build_reply(const struct negotiation_local *me, const struct negotiation_side *req,
			     struct negotiation_side *rep, struct negotiation_result *r)
{
	u8 types;

	init_negotiation_result(me, r);
	*rep = (struct negotiation_side){ .enhanced = req->enhanced };
	if (!req->enhanced)
		return;
	if (req->rtr & NEG_RTR_P2P) {
		types = choose_rtr_types_to_announce(me, req, r->ird);
		rep->rtr = NEG_RTR_P2P | types;
		r->rtr = types & req->rtr;
	}
	if (r->rtr & NEG_RTR_READ)
		r->ird = max_t(u16, r->ird, 1);
	r->ord = limit_ord(r->ord, req->ird);
	rep->ird = req->ord == NEG_DEPTH_NONE ? NEG_DEPTH_NONE : r->ird;
	rep->ord = req->ird == NEG_DEPTH_NONE ? NEG_DEPTH_NONE : r->ord;
}

/*
 * Raise the initiator's IRD to the responder's ORD, if that ORD is larger (RFC 6581 9.1).
 *
 * Return: IW_OK, or IW_MPA_IRD if the responder's ORD exceeds the device's limit.
 */
static enum iw_reason raise_ird(const struct negotiation_local *me, u16 their_ord,
				struct negotiation_result *r)
{
	if (their_ord == NEG_DEPTH_NONE || their_ord <= r->ird)
		return IW_OK;
	if (their_ord > me->max)
		return IW_MPA_IRD;
	r->ird = their_ord;
	return IW_OK;
}

/*
 * Check whether the initiator can send a Read as RTR, which needs an ORD of at least 1.
 * The initiator may raise an ORD of 0 to 1 if the responder has announced an IRD of at
 * least 1.
 */
static bool can_send_rtr_read(u16 their_ird, u16 ord)
{
	return ord || (their_ird && their_ird != NEG_DEPTH_NONE);
}

/*
 * Choose one RTR type that both sides support.  Prefer a Write, because it leaves no
 * state at the responder; then a Read; and a Send last, because it can consume a receive
 * at the responder.
 *
 * Return: IW_OK; IW_MPA_RTR if a side uses the peer-to-peer model, but the initiator can
 * send no common type.
 */
static enum iw_reason choose_rtr_to_send(u8 req_rtr, const struct negotiation_side *rep,
					 struct negotiation_result *r)
{
	u8 both = get_rtr_types(req_rtr) & get_rtr_types(rep->rtr);

	if (!can_send_rtr_read(rep->ird, r->ord))
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
 * negotiation_evaluate_reply - compute the initiator's result from the responder's Reply
 * @me: requested values and limits of the initiator
 * @req: the Request that was sent
 * @rep: the responder's Reply, which accepts the Request
 * @r: the result, filled in
 *
 * If one of the frames does not have the enhanced form, IRD and ORD are those that the
 * initiator's program requested, and no RTR is sent.  If both have it (RFC 6581 9.1,
 * 9.2):
 *
 * * ORD is at most the responder's IRD, and at least 1 if the RTR is a Read.  If the
 *   responder does not negotiate its IRD, the initiator's ORD does not change.
 * * IRD is at least the responder's ORD; @r->why is IW_MPA_IRD if this ORD exceeds the
 *   device's limit.  If the responder does not negotiate its ORD, the initiator's IRD does
 *   not change.
 * * The RTR is one of the types that both sides announced.  @r->why is IW_MPA_RTR if
 *   the initiator can send none of these, or if only one side uses the peer-to-peer model.
 *
 * IRD and ORD in @r are valid even on failure, because the initiator must then start the
 * stream in order to send a Terminate.
 */
void negotiation_evaluate_reply(const struct negotiation_local *me,
				const struct negotiation_side *req,
				const struct negotiation_side *rep, struct negotiation_result *r)
{
	init_negotiation_result(me, r);
	if (!req->enhanced || !rep->enhanced)
		return;
	r->ord = limit_ord(r->ord, rep->ird);
	r->why = raise_ird(me, rep->ord, r);
	if (r->why == IW_OK)
		r->why = choose_rtr_to_send(req->rtr, rep, r);
}
