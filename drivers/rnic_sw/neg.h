/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Negotiation of IRD, ORD and the ready-to-receive message (RTR) between two
 * ends (RFC 6581 section 9), for both LLPs.
 *
 * The initiator calls neg_request() for its Request and neg_complete() with the
 * Reply.  The responder calls neg_accept() with the Request to build the Reply.
 */
#ifndef _RNIC_SW_NEG_H
#define _RNIC_SW_NEG_H

#include <ddp/reason.h>

#define NEG_DEPTH_NONE	0x3fff	/* this depth is not negotiated */

/* Equal to DDP_RTR_* */
#define NEG_RTR_P2P	0x1	/* A: peer-to-peer model */
#define NEG_RTR_SEND	0x2	/* B: zero-length Send */
#define NEG_RTR_WRITE	0x4	/* C: zero-length Write */
#define NEG_RTR_READ	0x8	/* D: zero-length Read */
#define NEG_RTR_TYPES	(NEG_RTR_SEND | NEG_RTR_WRITE | NEG_RTR_READ)

/**
 * struct neg_side - what one side announces on the wire
 * @ird: IRD, or NEG_DEPTH_NONE
 * @ord: ORD, or NEG_DEPTH_NONE
 * @rtr: NEG_RTR_*
 * @enhanced: the enhanced form is used; otherwise the other members are
 *	meaningless
 */
struct neg_side {
	u16	ird;
	u16	ord;
	u8	rtr;
	bool	enhanced;
};

/**
 * struct neg_local - what the local side wants and supports
 * @ird: IRD that the program requested
 * @ord: ORD that the program requested
 * @max: limit of the device for both depths, at least 1
 * @rtr: NEG_RTR_* types supported; NEG_RTR_P2P (initiator only): use the
 *	peer-to-peer model
 * @enhanced: initiator only: send the enhanced form
 */
struct neg_local {
	u16	ird;
	u16	ord;
	u16	max;
	u8	rtr;
	bool	enhanced;
};

/**
 * struct neg_result - the outcome for the local side
 * @ird: our IRD
 * @ord: our ORD
 * @rtr: initiator: the single NEG_RTR_* type to send first, or 0.  Responder:
 *	the types that may arrive first, or 0.  With NEG_RTR_SEND a zero-length
 *	Send that arrives first is the RTR.
 * @why: IW_OK.  Initiator only: IW_MPA_IRD or IW_MPA_RTR, the reason of the
 *	Terminate that must be sent instead of any other message.
 */
struct neg_result {
	u16		ird;
	u16		ord;
	u8		rtr;
	enum iw_reason	why;
};

void neg_request(const struct neg_local *me, struct neg_side *req);
void neg_accept(const struct neg_local *me, const struct neg_side *req,
		struct neg_side *rep, struct neg_result *r);
void neg_complete(const struct neg_local *me, const struct neg_side *req,
		  const struct neg_side *rep, struct neg_result *r);

#endif
