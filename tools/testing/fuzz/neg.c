// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Negotiation of IRD, ORD and RTR (RFC 6581 section 9): between two ends of this
 * implementation, and between one end and a peer that sends any values.
 *
 * Input: the configuration of two ends, then the IRD/ORD word of a Request and
 * that of a Reply.
 */
#include <ddp/offer.h>

#include "../../../drivers/rnic_sw/neg.h"
#include "fuzz.h"

static void read_local_config(struct negotiation_local *me, struct input *in)
{
	u8 flags = read_u8(in);

	*me = (struct negotiation_local) {
		.rtr = flags & 15,
		.enhanced = flags & 16,
		.ird = read_u16(in) & 0x3fff,
		.ord = read_u16(in) & 0x3fff,
		.max = read_u16(in) % NEG_DEPTH_NONE,
	};
	me->max = max_t(u16, me->max, 1);
}

static void read_negotiation_side(struct negotiation_side *s, struct input *in)
{
	struct ddp_offer o = {};

	s->enhanced = read_u8(in) & 1;
	ddp_offer_decode_ird_ord(&o, read_u32(in));
	s->ird = o.ird;
	s->ord = o.ord;
	s->rtr = o.rtr;
}

/* Encode and decode the IRD/ORD word of a side: the values must not change */
static void check_word_round_trip(struct negotiation_side *s)
{
	struct ddp_offer o = { .ird = s->ird, .ord = s->ord, .rtr = s->rtr };
	struct ddp_offer got = {};

	MUST("neg-depth", !(s->ird & ~0x3fff) && !(s->ord & ~0x3fff));
	if (!s->enhanced)
		return;
	ddp_offer_decode_ird_ord(&got, ddp_offer_encode_ird_ord(&o));
	MUST("neg-word", got.ird == s->ird && got.ord == s->ord &&
	     got.rtr == s->rtr);
}

static void check_request(const struct negotiation_local *me,
			  const struct negotiation_side *req)
{
	MUST("neg-request-form", req->enhanced == me->enhanced);
	if (!req->enhanced)
		return;
	MUST("neg-request-depth", req->ird <= me->ird && req->ord <= me->ord &&
	     req->ird <= me->max && req->ord <= me->max);
	MUST("neg-request-rtr", !(req->rtr & ~me->rtr) &&
	     !(req->rtr & NEG_RTR_P2P) == !(req->rtr & NEG_RTR_TYPES));
}

/*
 * Check a responder's reply: no depth exceeds the program's, except that IRD may be 1 for
 * an RTR Read
 */
static void check_responder_result(const struct negotiation_local *me,
				   const struct negotiation_side *req,
				   const struct negotiation_side *rep,
				   const struct negotiation_result *r)
{
	u16 least = r->rtr & NEG_RTR_READ ? 1 : 0;

	MUST("neg-accept-why", r->why == IW_OK);
	MUST("neg-accept-form", rep->enhanced == req->enhanced);
	MUST("neg-accept-max", r->ird <= me->max && r->ord <= me->max);
	MUST("neg-accept-ird", r->ird <= max(me->ird, least));
	MUST("neg-accept-ord", r->ord <= me->ord);
	if (!req->enhanced)
		return;
	MUST("neg-accept-peer", req->ird == NEG_DEPTH_NONE ||
	     r->ord <= req->ird);
	MUST("neg-accept-none", req->ird != NEG_DEPTH_NONE ||
	     r->ord == min(me->ord, me->max));
	MUST("neg-accept-unnamed",
	     (rep->ird == NEG_DEPTH_NONE) == (req->ord == NEG_DEPTH_NONE) &&
	     (rep->ord == NEG_DEPTH_NONE) == (req->ird == NEG_DEPTH_NONE));
	MUST("neg-accept-says", (rep->ird == NEG_DEPTH_NONE ||
				 rep->ird == r->ird) &&
				(rep->ord == NEG_DEPTH_NONE ||
				 rep->ord == r->ord));
	MUST("neg-accept-model", (rep->rtr & NEG_RTR_P2P) ==
	     (req->rtr & NEG_RTR_P2P));
	MUST("neg-accept-rtr", !(r->rtr & ~(req->rtr & rep->rtr)));
	MUST("neg-accept-type", !(rep->rtr & NEG_RTR_P2P) ||
	     rep->rtr & NEG_RTR_TYPES);
}

static void check_initiator_result(const struct negotiation_local *me,
				   const struct negotiation_side *req,
				   const struct negotiation_side *rep,
				   const struct negotiation_result *r)
{
	u16 least = r->rtr == NEG_RTR_READ ? 1 : 0;

	MUST("neg-complete-why", r->why == IW_OK || r->why == IW_MPA_IRD ||
	     r->why == IW_MPA_RTR);
	MUST("neg-complete-max", r->ird <= me->max && r->ord <= me->max);
	MUST("neg-complete-ord", r->ord <= max(me->ord, least));
	if (!req->enhanced || !rep->enhanced) {
		MUST("neg-complete-plain", !r->rtr && r->why == IW_OK);
		return;
	}
	MUST("neg-complete-ird", r->ird <= me->ird || r->ird == rep->ord);
	MUST("neg-complete-enough", r->why == IW_MPA_IRD ||
	     rep->ord == NEG_DEPTH_NONE || r->ird >= rep->ord);
	MUST("neg-complete-peer", rep->ird == NEG_DEPTH_NONE ||
	     r->ord <= max(rep->ird, least));
	MUST("neg-complete-none", rep->ird != NEG_DEPTH_NONE ||
	     r->ord == max_t(u16, min(me->ord, me->max), least));
	MUST("neg-complete-one", !(r->rtr & (r->rtr - 1)) &&
	     !(r->rtr & ~(req->rtr & rep->rtr & NEG_RTR_TYPES)));
	if (r->why == IW_OK)
		MUST("neg-complete-model",
		     !r->rtr == !((req->rtr | rep->rtr) & NEG_RTR_P2P));
}

/*
 * Check the results of two ends of this implementation: neither end may send more
 * requests than the other end can hold
 */
static void check_both_ends_agree(const struct negotiation_local *a,
				  const struct negotiation_result *i,
				  const struct negotiation_result *r)
{
	if (!a->enhanced || i->why)
		return;
	MUST("neg-both-forth", i->ord <= r->ird);
	MUST("neg-both-back", r->ord <= i->ird);
	MUST("neg-both-rtr", !(i->rtr & ~r->rtr));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct negotiation_side req, rep, other_req, other_rep;
	struct negotiation_result ri, rr;
	struct negotiation_local a, b;

	read_local_config(&a, &in);
	read_local_config(&b, &in);
	read_negotiation_side(&other_req, &in);
	read_negotiation_side(&other_rep, &in);

	negotiation_build_request(&a, &req);
	check_request(&a, &req);
	check_word_round_trip(&req);
	negotiation_build_reply(&b, &req, &rep, &rr);
	check_responder_result(&b, &req, &rep, &rr);
	check_word_round_trip(&rep);
	negotiation_evaluate_reply(&a, &req, &rep, &ri);
	check_initiator_result(&a, &req, &rep, &ri);
	check_both_ends_agree(&a, &ri, &rr);

	negotiation_build_reply(&b, &other_req, &rep, &rr);
	check_responder_result(&b, &other_req, &rep, &rr);
	negotiation_evaluate_reply(&a, &req, &other_rep, &ri);
	check_initiator_result(&a, &req, &other_rep, &ri);
	return 0;
}
