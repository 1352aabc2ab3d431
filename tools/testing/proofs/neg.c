// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Negotiation of IRD, ORD and RTR (RFC 6581 section 9) with a peer that sends any values,
 * and between two ends of this implementation.
 *
 * Files: rnic_sw/neg.c
 * Checks: unsigned-overflow
 * Bound: 1, there is no loop
 * Mutation: rnic_sw/neg.c s/their_ord > me->max/their_ord >= me->max/
 * Mutation: rnic_sw/neg.c s/theirs == NEG_DEPTH_NONE ? mine : min(mine, theirs)/mine/
 * Mutation: rnic_sw/neg.c s/if (!mine)/if (0)/
 * Mutation: rnic_sw/neg.c s/if (!can_send_rtr_read(rep->ird, r->ord))/if (0)/
 */
#include <ddp/offer.h>

#include "../../../drivers/rnic_sw/neg.h"
#include "proof.h"

#define NONE	0x3fff
#define A	1
#define TYPES	14

static struct negotiation_local any_local_config(void)
{
	struct negotiation_local me;

	me.enhanced = any_bool();
	GIVEN(me.rtr <= (A | TYPES));
	/* the device's maximum depth: 14 bits, of which the value NONE is reserved */
	GIVEN(me.max >= 1 && me.max < NONE);
	return me;
}

/* Decode an arbitrary IRD/ORD word of a peer */
static struct negotiation_side any_negotiation_side(void)
{
	struct ddp_offer o;

	ddp_offer_decode_ird_ord(&o, ANY(u32));
	return (struct negotiation_side){ .enhanced = any_bool(), .ird = o.ird,
				  .ord = o.ord, .rtr = o.rtr };
}

static u16 min_u16(u16 a, u16 b)
{
	return a < b ? a : b;
}

/* Encoding of the IRD/ORD word is the inverse of its decoding */
void prove_word_encoding(void)
{
	u32 word = ANY(u32), again;
	struct ddp_offer o;

	ddp_offer_decode_ird_ord(&o, word);
	again = ddp_offer_encode_ird_ord(&o);
	MUST("MPA2-25: A, IRD and ORD are decoded from their bits of the word",
	     o.ird == (word >> 16 & NONE) &&
	     o.ord == (word & NONE) && !(o.rtr & 1) == !(word >> 31));
	MUST("MPA2-54, MPA2-55: without A the flags B, C and D are ignored",
	     o.rtr & A || !o.rtr);
	MUST("MPA2-25: encoding is the inverse of decoding",
	     again == (word >> 31 ? word : word & 0x3fff3fff));
	MUST("MPA2-54: if A is 0, so are B, C and D",
	     again >> 31 || !(again & ~(u32)0x3fff3fff));
	REACHED("end");
}

void prove_request_building(void)
{
	struct negotiation_local me = any_local_config();
	struct negotiation_side req;

	negotiation_build_request(&me, &req);
	MUST("MPA2-62: the Request is enhanced exactly if the policy is",
	     req.enhanced == me.enhanced);
	if (!req.enhanced)
		return;
	MUST("RDMAP-142: depths are those of the program, limited by the device",
	     req.ird == min_u16(me.ird, me.max) && req.ord == min_u16(me.ord, me.max));
	MUST("MPA2-41, MPA2-42, MPA2-52, MPA2-54: RTR flags are sent only with a type",
	     req.rtr == (me.rtr & A && me.rtr & TYPES ? me.rtr : 0));
	REACHED("enhanced");
}

/* Assert that the RTR flags of a responder's reply are right (RFC 6581 9.2) */
static void check_rtr_flags(const struct negotiation_side *req,
			    const struct negotiation_side *rep,
			    const struct negotiation_result *r)
{
	MUST("MPA2-44, MPA2-53: the responder keeps the initiator's model",
	     (rep->rtr & A) == (req->rtr & A));
	MUST("MPA2-54: if A is 0, so are B, C and D", rep->rtr & A || !rep->rtr);
	MUST("MPA2-43, MPA2-46, MPA2-48: with A the reply has at least one type",
	     !(rep->rtr & A) || rep->rtr & TYPES);
	MUST("MPA2-49: only types that both sides sent are expected",
	     r->rtr == (req->rtr & A ? rep->rtr & req->rtr & TYPES : 0));
	if (r->rtr)
		REACHED("both sides sent a type");
}

static void check_depths(const struct negotiation_local *me,
			 const struct negotiation_side *req,
			 const struct negotiation_side *rep,
			 const struct negotiation_result *r)
{
	u16 ird = min_u16(me->ird, me->max), ord = min_u16(me->ord, me->max);

	MUST("MPA2-27, MPA2-29, MPA2-39: ORD is limited by the peer's IRD",
	     r->ord == (req->ird == NONE ? ord : min_u16(ord, req->ird)));
	MUST("MPA2-28: IRD is at least 1 if an RTR Read may arrive",
	     r->ird == (r->rtr & NEG_RTR_READ && !ird ? 1 : ird));
	MUST("MPA2-37: the reply's IRD is NONE if the peer sent no ORD",
	     rep->ird == (req->ord == NONE ? NONE : r->ird));
	MUST("MPA2-39: the reply's ORD is NONE if the peer sent no IRD",
	     rep->ord == (req->ird == NONE ? NONE : r->ord));
}

void prove_reply_building(void)
{
	struct negotiation_local me = any_local_config();
	struct negotiation_side req = any_negotiation_side(), rep;
	struct negotiation_result r;

	negotiation_build_reply(&me, &req, &rep, &r);
	MUST("a responder never fails", r.why == IW_OK);
	MUST("MPA2-60, MPA2-61, MPA2-64, MPA2-65: the reply is enhanced if the Request is",
	     rep.enhanced == req.enhanced);
	MUST("RDMAP-143: IRD and ORD do not exceed the device's maximum",
	     r.ird <= me.max && r.ord <= me.max);
	if (!req.enhanced) {
		MUST("MPA2-63: a plain Request leaves the program's IRD and ORD", !r.rtr &&
		     r.ird == min_u16(me.ird, me.max) &&
		     r.ord == min_u16(me.ord, me.max));
		REACHED("not enhanced");
		return;
	}
	check_rtr_flags(&req, &rep, &r);
	check_depths(&me, &req, &rep, &r);
	REACHED("enhanced");
}

static void check_negotiated_result(const struct negotiation_local *me,
				    const struct negotiation_side *req,
			 const struct negotiation_side *rep, const struct negotiation_result *r)
{
	u16 ird = min_u16(me->ird, me->max), ord = min_u16(me->ord, me->max);
	bool first_read = r->rtr == NEG_RTR_READ;
	bool place = rep->ird == NONE ? ord : rep->ird;

	MUST("MPA2-33, MPA2-34: exactly an ORD above our IRD and the device is an error",
	     (r->why == IW_MPA_IRD) ==
	     (rep->ord != NONE && rep->ord > ird && rep->ord > me->max));
	if (r->why == IW_MPA_IRD)
		return;
	MUST("MPA2-32, MPA2-40: IRD is raised to the peer's ORD", r->ird ==
	     (rep->ord != NONE && rep->ord > ird ? rep->ord : ird));
	MUST("MPA2-32, MPA2-38: ORD is limited by the peer's IRD, at least 1 for an RTR Read",
	     r->ord == max_t(u16, rep->ird == NONE ? ord : min_u16(ord, rep->ird),
			     first_read));
	MUST("MPA2-49: at most one type is chosen, which both sides sent",
	     !(r->rtr & (r->rtr - 1)) &&
	     !(r->rtr & ~(req->rtr & rep->rtr & TYPES)));
	MUST("MPA2-50, MPA2-51: exactly a missing type is an error", (r->why == IW_MPA_RTR) ==
	     (!r->rtr && (req->rtr | rep->rtr) & A));
	MUST("RDMAP-142: an RTR Read is sent only if the peer can hold one",
	     !first_read || place);
	MUST("MPA2-50: a common Send or Write is always used",
	     r->rtr || !(req->rtr & rep->rtr & A) ||
	     !(req->rtr & rep->rtr & (NEG_RTR_SEND | NEG_RTR_WRITE)));
	if (r->why == IW_OK && r->rtr)
		REACHED("an RTR message is chosen");
	if (r->why == IW_MPA_RTR)
		REACHED("no common type");
}

void prove_reply_evaluation(void)
{
	struct negotiation_local me = any_local_config();
	struct negotiation_side req, rep = any_negotiation_side();
	struct negotiation_result r;

	negotiation_build_request(&me, &req);
	negotiation_evaluate_reply(&me, &req, &rep, &r);
	MUST("RDMAP-142: IRD and ORD do not exceed the device's maximum",
	     r.ird <= me.max && r.ord <= me.max);
	if (!req.enhanced || !rep.enhanced) {
		MUST("without negotiation the program's IRD and ORD remain",
		     r.why == IW_OK && !r.rtr &&
		     r.ird == min_u16(me.ird, me.max) &&
		     r.ord == min_u16(me.ord, me.max));
		REACHED("not enhanced");
		return;
	}
	check_negotiated_result(&me, &req, &rep, &r);
	if (r.why == IW_MPA_IRD)
		REACHED("IRD error");
}

/*
 * Two ends of this implementation agree, and neither end sends more requests than the
 * other end can hold
 */
void prove_both_ends_agree(void)
{
	struct negotiation_local a = any_local_config(), b = any_local_config();
	struct negotiation_side req, rep;
	struct negotiation_result i, r;

	negotiation_build_request(&a, &req);
	negotiation_build_reply(&b, &req, &rep, &r);
	negotiation_evaluate_reply(&a, &req, &rep, &i);
	if (!a.enhanced || i.why)
		return;
	MUST("RDMAP-142, RDMAP-143: the initiator's ORD fits the responder's IRD", i.ord <= r.ird);
	MUST("RDMAP-142, RDMAP-143: the responder's ORD fits the initiator's IRD", r.ord <= i.ird);
	MUST("MPA2-49: the responder expects the initiator's RTR message", !(i.rtr & ~r.rtr));
	REACHED("agreed");
}
