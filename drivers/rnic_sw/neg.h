/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Negotiation of IRD, ORD and the ready-to-receive message (RTR) between initiator and
 * responder (RFC 6581 section 9), for both LLPs.
 *
 * The initiator calls negotiation_build_request() to build its Request, and
 * negotiation_evaluate_reply() to process the Reply.  The responder calls
 * negotiation_build_reply() to process the Request and to build the Reply.
 */
#ifndef _RNIC_SW_NEG_H
#define _RNIC_SW_NEG_H

#include <ddp/reason.h>

#define NEG_DEPTH_NONE	0x3fff	/* IRD or ORD value: not negotiated */

/* Flags of RFC 6581, equal to DDP_RTR_* */
#define NEG_RTR_P2P	0x1	/* flag A: peer-to-peer model */
#define NEG_RTR_SEND	0x2	/* flag B: zero-length Send as RTR */
#define NEG_RTR_WRITE	0x4	/* flag C: zero-length Write as RTR */
#define NEG_RTR_READ	0x8	/* flag D: zero-length Read as RTR */
#define NEG_RTR_TYPES	(NEG_RTR_SEND | NEG_RTR_WRITE | NEG_RTR_READ)

/**
 * struct negotiation_side - values that one side announces on the wire
 * @ird: IRD, or NEG_DEPTH_NONE
 * @ord: ORD, or NEG_DEPTH_NONE
 * @rtr: mask of NEG_RTR_*
 * @enhanced: true if the frame has the enhanced form; if false, the frame carries none of
 *	the other members
 */
struct negotiation_side {
	u16	ird;
	u16	ord;
	u8	rtr;
	bool	enhanced;
};

/**
 * struct negotiation_local - requested values and limits of the local side
 * @ird: IRD that the program requested
 * @ord: ORD that the program requested
 * @max: maximum IRD and ORD of the device, at least 1
 * @rtr: mask of the NEG_RTR_* types that the local side supports; an initiator also sets
 *	NEG_RTR_P2P to request the peer-to-peer model
 * @enhanced: true if the initiator sends its Request in the enhanced form; ignored for a
 *	responder
 */
struct negotiation_local {
	u16	ird;
	u16	ord;
	u16	max;
	u8	rtr;
	bool	enhanced;
};

/**
 * struct negotiation_result - outcome of the negotiation for the local side
 * @ird: local IRD
 * @ord: local ORD
 * @rtr: initiator: the one NEG_RTR_* type to send as first message, or 0 to send no RTR.
 *	Responder: mask of the types that the initiator may send as RTR, or 0.  If
 *	NEG_RTR_SEND is set, the responder must treat a zero-length Send as first message
 *	as the RTR.
 * @why: IW_OK on success; for the initiator IW_MPA_IRD or IW_MPA_RTR on failure.  After a
 *	failure the initiator must send a Terminate with that reason as its only message.
 */
struct negotiation_result {
	u16		ird;
	u16		ord;
	u8		rtr;
	enum iw_reason	why;
};

void negotiation_build_request(const struct negotiation_local *me, struct negotiation_side *req);
void negotiation_build_reply(const struct negotiation_local *me, const struct negotiation_side *req,
			     struct negotiation_side *rep, struct negotiation_result *r);
void negotiation_evaluate_reply(const struct negotiation_local *me,
				const struct negotiation_side *req,
				const struct negotiation_side *rep, struct negotiation_result *r);

#endif
