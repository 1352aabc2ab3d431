/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What two ends agree on before they start: read depths and the
 * ready-to-receive message (RFC 6581 section 9), over either LLP.
 *
 * Initiator: neg_request() says what to send, neg_complete() takes the Reply.
 * Responder: neg_accept() takes the Request and says what to reply.
 */
#ifndef _RNIC_SW_NEG_H
#define _RNIC_SW_NEG_H

#include <ddp/reason.h>

#define NEG_DEPTH_NONE	0x3fff	/* depth is not negotiated */

/* The same bits as DDP_RTR_* */
#define NEG_RTR_P2P	0x1	/* A: peer-to-peer model */
#define NEG_RTR_SEND	0x2	/* B: zero-length Send */
#define NEG_RTR_WRITE	0x4	/* C: zero-length Write */
#define NEG_RTR_READ	0x8	/* D: zero-length Read */
#define NEG_RTR_TYPES	(NEG_RTR_SEND | NEG_RTR_WRITE | NEG_RTR_READ)

/**
 * struct neg_side - what one side says on the wire
 * @ird: inbound read depth, or NEG_DEPTH_NONE
 * @ord: outbound read depth, or NEG_DEPTH_NONE
 * @rtr: NEG_RTR_*
 * @enhanced: it says so at all: the other three count
 */
struct neg_side {
	u16	ird;
	u16	ord;
	u8	rtr;
	bool	enhanced;
};

/**
 * struct neg_local - what this side wants and can
 * @ird: inbound depth that the program asked for
 * @ord: outbound depth that the program asked for
 * @max: the most the device can do, either way; at least 1
 * @rtr: NEG_RTR_* it supports; NEG_RTR_P2P: initiator: it wants that model
 * @enhanced: initiator: ask in the enhanced form
 */
struct neg_local {
	u16	ird;
	u16	ord;
	u16	max;
	u8	rtr;
	bool	enhanced;
};

/**
 * struct neg_result - what was agreed
 * @ird: our inbound depth
 * @ord: our outbound depth
 * @rtr: initiator: the one NEG_RTR_* type to send first, or 0; responder: the
 *	types that may come first (NEG_RTR_SEND among them: if the first
 *	message is a Send, it is that), or 0
 * @why: IW_OK; initiator: IW_MPA_IRD or IW_MPA_RTR, what the Terminate says
 *	that it must send instead of anything else
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
