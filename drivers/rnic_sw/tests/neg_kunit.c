// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Exhaustive tests of the IRD, ORD and RTR negotiation (RFC 6581 section 9).
 *
 * The tests combine all flags with IRD and ORD values: small values, the device's limit,
 * values above the limit, and the largest 14-bit values.  Each function that returns a
 * string returns "ok", or a text that names the violated requirement.
 */
#include <kunit/test.h>

#include "../neg.h"

#define LIMIT	128
#define NONE	0x3fff

static const u16 local[] = { 0, 1, 2, 3, LIMIT, LIMIT + 1 };
static const u16 wire[] = { 0, 1, 2, 3, LIMIT, LIMIT + 1, 0x3ffe, NONE };

#define LOCALS	((u32)ARRAY_SIZE(local))
#define WIRES	((u32)ARRAY_SIZE(wire))

/*
 * Remove the lowest digit of @x, which has base @base, and return it.  @x is the number
 * of a combination of values; each of its digits selects one value.
 */
static u32 pop_digit(u32 *x, u32 base)
{
	u32 d = *x % base;

	*x /= base;
	return d;
}

static struct negotiation_local pop_local_config(u32 *x)
{
	return (struct negotiation_local){
		.ird = local[pop_digit(x, LOCALS)], .ord = local[pop_digit(x, LOCALS)],
		.max = LIMIT, .rtr = pop_digit(x, 16), .enhanced = true,
	};
}

static struct negotiation_side pop_side_config(u32 *x)
{
	return (struct negotiation_side){
		.ird = wire[pop_digit(x, WIRES)], .ord = wire[pop_digit(x, WIRES)],
		.rtr = pop_digit(x, 16), .enhanced = true,
	};
}

#define ALL_LOCALS	(LOCALS * LOCALS * 16)
#define ALL_SIDES	(WIRES * WIRES * 16)

static u16 cap_depth(u16 depth)
{
	return min_t(u16, depth, LIMIT);
}

static bool is_single_bit(u8 bits)
{
	return bits && !(bits & (bits - 1));
}

static const char *check_responder_depths(const struct negotiation_local *me,
					  const struct negotiation_side *req,
					  const struct negotiation_side *rep,
					  const struct negotiation_result *r)
{
	bool need = r->rtr & NEG_RTR_READ;
	u16 ord = cap_depth(me->ord), ird = cap_depth(me->ird);

	if (req->ird == NONE && (rep->ord != NONE || r->ord != ord))
		return "MPA2-39";
	if (req->ird != NONE && r->ord != min(ord, req->ird))
		return "MPA2-27 MPA2-29";
	if (req->ird != NONE && rep->ord != r->ord)
		return "Reply's ORD";
	if (req->ord == NONE && (rep->ird != NONE || r->ird != ird))
		return "MPA2-37";
	if (req->ord != NONE && rep->ird != r->ird)
		return "Reply's IRD";
	if (r->ird != max_t(u16, ird, need))
		return "MPA2-28";
	return "ok";
}

static const char *check_responder_flags(const struct negotiation_local *me,
					 const struct negotiation_side *req,
					 const struct negotiation_side *rep,
					 const struct negotiation_result *r)
{
	u8 types = rep->rtr & NEG_RTR_TYPES;
	u8 both = me->rtr & req->rtr & NEG_RTR_TYPES;

	if (r->why != IW_OK)
		return "responder never fails";
	if (!rep->enhanced)
		return "MPA2-60 MPA2-64";
	if ((req->rtr ^ rep->rtr) & NEG_RTR_P2P)
		return "MPA2-44 MPA2-53";
	if (!(req->rtr & NEG_RTR_P2P))
		return rep->rtr | r->rtr ? "MPA2-54 MPA2-55" : "ok";
	if (!types)
		return "MPA2-43 MPA2-48";
	if (types & ~me->rtr && types != NEG_RTR_WRITE)
		return "announced but not supported";
	if (r->rtr != (types & req->rtr))
		return "MPA2-49";
	/* a Read needs an IRD of 1, but RFC 6581 9.1 (MPA2-37) forbids raising the IRD here */
	if (!me->ird && req->ord == NONE)
		both &= ~NEG_RTR_READ;
	return both & ~types ? "MPA2-45 MPA2-46" : "ok";
}

/*
 * The Reply and the result of a responder obey RFC 6581 for every Request and every local
 * configuration.
 *
 * RFC 6581 9.1: MPA2-27 to MPA2-29, MPA2-36, MPA2-37, MPA2-39.  RFC 6581 9.2: MPA2-43 to
 * MPA2-46, MPA2-48, MPA2-53 to MPA2-55.  RFC 6581 12: MPA2-68.
 */
static void reply_obeys_rfc_for_every_request(struct kunit *test)
{
	struct negotiation_result r;
	struct negotiation_local me;
	struct negotiation_side req, rep;
	u32 i, x;

	for (i = 0; i < ALL_LOCALS * ALL_SIDES; i++) {
		x = i;
		me = pop_local_config(&x);
		req = pop_side_config(&x);
		negotiation_build_reply(&me, &req, &rep, &r);
		KUNIT_ASSERT_STREQ_MSG(test, "ok",
				       check_responder_depths(&me, &req, &rep, &r),
				       "case %u", i);
		KUNIT_ASSERT_STREQ_MSG(test, "ok",
				       check_responder_flags(&me, &req, &rep, &r),
				       "case %u", i);
	}
}

static const char *check_initiator_ord(const struct negotiation_local *me,
				       const struct negotiation_side *rep,
				       const struct negotiation_result *r)
{
	bool need = r->rtr == NEG_RTR_READ;
	u16 ord = cap_depth(me->ord);

	if (r->ord > LIMIT)
		return "MPA2-68";
	if (rep->ird == NONE && r->ord != ord)
		return "MPA2-38";
	if (rep->ird != NONE && r->ord > rep->ird)
		return "MPA2-32, ORD";
	if (rep->ird != NONE && r->ord < min(ord, rep->ird))
		return "ORD reduced without need";
	if (r->ord > max_t(u16, ord, need))
		return "ORD raised without need";
	return need && !r->ord ? "no ORD for the Read" : "ok";
}

static const char *check_initiator_ird(const struct negotiation_local *me,
				       const struct negotiation_side *rep,
				       const struct negotiation_result *r)
{
	bool too_much = rep->ord > LIMIT && rep->ord != NONE;
	u16 ird = cap_depth(me->ird);

	if (too_much ? r->why != IW_MPA_IRD : r->why == IW_MPA_IRD)
		return "MPA2-33 MPA2-34";
	if (rep->ord > LIMIT)
		return r->ird != ird ? "MPA2-40" : "ok";
	return r->ird != max(ird, rep->ord) ? "MPA2-32, IRD" : "ok";
}

/*
 * Compute the RTR types that an initiator can send according to RFC 6581 9.2; a Read also
 * needs an ORD of at least 1
 */
static u8 get_usable_rtr_types(const struct negotiation_local *me,
			       const struct negotiation_side *rep)
{
	u8 both = me->rtr & rep->rtr;

	if (!(both & NEG_RTR_P2P))
		return 0;
	if (!rep->ird || (rep->ird == NONE && !me->ord))
		both &= ~NEG_RTR_READ;
	return both & NEG_RTR_TYPES;
}

static const char *check_initiator_flags(const struct negotiation_local *me,
					 const struct negotiation_side *req,
					 const struct negotiation_side *rep,
					 const struct negotiation_result *r)
{
	bool p2p = (req->rtr | rep->rtr) & NEG_RTR_P2P;
	u8 can = get_usable_rtr_types(me, rep);

	if (r->why != IW_OK && r->rtr)
		return "MPA2-50: no RTR before a Terminate";
	if (r->why == IW_MPA_IRD)
		return "ok";
	if (!p2p)
		return r->why || r->rtr ? "MPA2-52 MPA2-55" : "ok";
	if (!can)
		return r->why != IW_MPA_RTR ? "MPA2-50 MPA2-51" : "ok";
	if (r->why != IW_OK || !is_single_bit(r->rtr) || !(r->rtr & can))
		return "MPA2-49";
	if (can & NEG_RTR_WRITE && r->rtr != NEG_RTR_WRITE)
		return "RTR: a Write is preferred";
	if (r->rtr == NEG_RTR_SEND && can != NEG_RTR_SEND)
		return "RTR: a Send is the last choice";
	return "ok";
}

/*
 * The result of an initiator obeys RFC 6581 for every Reply and every local
 * configuration.
 *
 * RFC 6581 9.1: MPA2-32 to MPA2-34, MPA2-36, MPA2-38, MPA2-40.  RFC 6581 9.2: MPA2-49 to
 * MPA2-51, MPA2-55.
 */
static void result_obeys_rfc_for_every_reply(struct kunit *test)
{
	struct negotiation_result r;
	struct negotiation_local me;
	struct negotiation_side req, rep;
	u32 i, x;

	for (i = 0; i < ALL_LOCALS * ALL_SIDES; i++) {
		x = i;
		me = pop_local_config(&x);
		rep = pop_side_config(&x);
		negotiation_build_request(&me, &req);
		negotiation_evaluate_reply(&me, &req, &rep, &r);
		KUNIT_ASSERT_STREQ_MSG(test, "ok",
				       check_initiator_ord(&me, &rep, &r),
				       "case %u", i);
		KUNIT_ASSERT_STREQ_MSG(test, "ok",
				       check_initiator_ird(&me, &rep, &r),
				       "case %u", i);
		KUNIT_ASSERT_STREQ_MSG(test, "ok",
				       check_initiator_flags(&me, &req, &rep, &r),
				       "case %u", i);
	}
}

static const char *check_request_fields(const struct negotiation_local *me,
					const struct negotiation_side *req)
{
	u8 types = me->rtr & NEG_RTR_P2P ? me->rtr & NEG_RTR_TYPES : 0;

	if (req->enhanced != me->enhanced)
		return "MPA2-62";
	if (!me->enhanced)
		return req->ird | req->ord | req->rtr ? "MPA2-62" : "ok";
	if (req->ird != cap_depth(me->ird) || req->ord != cap_depth(me->ord))
		return "IRD or ORD of the Request";
	if ((req->rtr & NEG_RTR_TYPES) != types)
		return "MPA2-42 MPA2-54";
	if (!(req->rtr & NEG_RTR_P2P) != !types)
		return "MPA2-41 MPA2-52";
	return "ok";
}

/*
 * If the Request of an initiator has the enhanced form, it announces the initiator's
 * configuration.  If not, its IRD, ORD and flags are 0.
 *
 * RFC 6581 9.2: MPA2-41, MPA2-42, MPA2-52, MPA2-54.  RFC 6581 10: MPA2-62.
 */
static void own_request_announces_config(struct kunit *test)
{
	struct negotiation_local me;
	struct negotiation_side req;
	u32 i, x;

	for (i = 0; i < 2 * ALL_LOCALS; i++) {
		x = i / 2;
		me = pop_local_config(&x);
		me.enhanced = i % 2;
		negotiation_build_request(&me, &req);
		KUNIT_ASSERT_STREQ_MSG(test, "ok", check_request_fields(&me, &req),
				       "case %u", i);
	}
}

/*
 * Let an initiator and a responder of this driver negotiate, and check that their results
 * match (RFC 6581 9.1)
 */
static const char *negotiate_and_check_results(const struct negotiation_local *a,
					       const struct negotiation_local *b)
{
	struct negotiation_side req, rep;
	struct negotiation_result ra, rb;

	negotiation_build_request(a, &req);
	negotiation_build_reply(b, &req, &rep, &rb);
	negotiation_evaluate_reply(a, &req, &rep, &ra);
	if (ra.why != IW_OK && ra.why != IW_MPA_RTR)
		return "unexpected reason of a failure";
	if (ra.ord > rb.ird)
		return "initiator ORD over responder IRD";
	if (rb.ord > ra.ird)
		return "responder ORD over initiator IRD";
	if (ra.ird != cap_depth(a->ird))
		return "IRD of the initiator changed";
	if (ra.why != IW_OK)
		return req.rtr & b->rtr & NEG_RTR_TYPES ?
		       "a common RTR type was not found" : "ok";
	if (ra.rtr & ~rb.rtr || !ra.rtr != !req.rtr)
		return "the responder does not expect this RTR";
	return "ok";
}

static void initiator_and_responder_agree(struct kunit *test)
{
	struct negotiation_local a, b;
	u32 i, x;

	for (i = 0; i < ALL_LOCALS * ALL_LOCALS; i++) {
		x = i;
		a = pop_local_config(&x);
		b = pop_local_config(&x);
		KUNIT_ASSERT_STREQ_MSG(test, "ok", negotiate_and_check_results(&a, &b),
				       "case %u", i);
	}
}

/*
 * If the peer does not use the enhanced form, neither does the local side, and IRD and
 * ORD are those that the local program requested.
 *
 * RFC 6581 10: MPA2-61, MPA2-65
 */
static void plain_peer_gets_plain_form(struct kunit *test)
{
	const struct negotiation_local me = {
		.ird = 5, .ord = 200, .max = LIMIT, .rtr = 0xf, .enhanced = true,
	};
	const struct negotiation_side plain = { .ird = 1, .ord = 1, .rtr = 0xf };
	struct negotiation_result r;
	struct negotiation_side side;

	negotiation_build_reply(&me, &plain, &side, &r);
	KUNIT_EXPECT_FALSE(test, side.enhanced);
	KUNIT_EXPECT_EQ(test, 0, side.ird | side.ord | side.rtr);
	KUNIT_EXPECT_EQ(test, 5, (int)r.ird);
	KUNIT_EXPECT_EQ(test, LIMIT, (int)r.ord);
	KUNIT_EXPECT_EQ(test, 0, (int)r.rtr);

	negotiation_build_request(&me, &side);
	negotiation_evaluate_reply(&me, &side, &plain, &r);
	KUNIT_EXPECT_EQ(test, IW_OK, r.why);
	KUNIT_EXPECT_EQ(test, 5, (int)r.ird);
	KUNIT_EXPECT_EQ(test, LIMIT, (int)r.ord);
	KUNIT_EXPECT_EQ(test, 0, (int)r.rtr);
}

/*
 * If an initiator with ORD 0 sends a Read as RTR, its ORD and the responder's IRD must
 * become 1, as in the RFC's example.
 *
 * RFC 6581 9.1: MPA2-28
 */
static void rtr_read_raises_depths_to_one(struct kunit *test)
{
	const struct negotiation_local a = {
		.max = LIMIT, .rtr = NEG_RTR_P2P | NEG_RTR_READ, .enhanced = true,
	};
	const struct negotiation_local b = { .max = LIMIT, .rtr = NEG_RTR_TYPES };
	struct negotiation_result ra, rb;
	struct negotiation_side req, rep;

	negotiation_build_request(&a, &req);
	negotiation_build_reply(&b, &req, &rep, &rb);
	negotiation_evaluate_reply(&a, &req, &rep, &ra);
	KUNIT_EXPECT_EQ(test, 1, (int)rep.ird);
	KUNIT_EXPECT_EQ(test, 1, (int)rb.ird);
	KUNIT_EXPECT_EQ(test, NEG_RTR_READ, (int)rb.rtr);
	KUNIT_EXPECT_EQ(test, IW_OK, ra.why);
	KUNIT_EXPECT_EQ(test, NEG_RTR_READ, (int)ra.rtr);
	KUNIT_EXPECT_EQ(test, 1, (int)ra.ord);
}

static struct kunit_case neg_cases[] = {
	KUNIT_CASE(reply_obeys_rfc_for_every_request),
	KUNIT_CASE(result_obeys_rfc_for_every_reply),
	KUNIT_CASE(own_request_announces_config),
	KUNIT_CASE(initiator_and_responder_agree),
	KUNIT_CASE(plain_peer_gets_plain_form),
	KUNIT_CASE(rtr_read_raises_depths_to_one),
	{}
};

static struct kunit_suite neg_suite = {
	.name = "rnic_sw_neg",
	.test_cases = neg_cases,
};

kunit_test_suite(neg_suite);
