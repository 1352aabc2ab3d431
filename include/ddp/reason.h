/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Every way to be wrong, once.  Code, Terminate fields, counter and trace
 * all come from the table in drivers/ddp/reason.c.
 */
#ifndef _DDP_REASON_H
#define _DDP_REASON_H

#include <ddp/pure.h>

/*
 * Why a stream cannot go on.
 *
 * The comment is what a Terminate carries (layer/type/code, RFC 5040 4.8);
 * a reason without one is local and never goes on the wire.
 *
 * Programs see the number as vendor error: it never changes, and none is used
 * again.  A new reason goes to the end, and into the list of numbers in
 * Documentation/counters.rst.
 */
enum iw_reason {
	IW_OK = 0,

	IW_DDP_CATASTROPHIC = 1,	/* 1/0/00 local failure while placing */
	IW_DDP_SHORT = 2,	/* 1/0/00 segment shorter than its header */

	IW_DDP_T_STAG = 3,	/* 1/1/00 invalid, or right missing (N-3) */
	IW_DDP_T_BOUNDS = 4,	/* 1/1/01 base or bounds */
	IW_DDP_T_ASSOC = 5,	/* 1/1/02 STag of another PD or stream */
	IW_DDP_T_WRAP = 6,	/* 1/1/03 TO wraps */
	IW_DDP_T_VERSION = 7,	/* 1/1/04 DV, tagged */

	IW_DDP_U_QN = 8,	/* 1/2/01 no such queue */
	IW_DDP_U_NO_BUFFER = 9,	/* 1/2/02 no buffer for this MSN */
	IW_DDP_U_MSN_RANGE = 10,	/* 1/2/03 MSN out of range */
	IW_DDP_U_MO = 11,	/* 1/2/04 message offset */
	IW_DDP_U_TOO_LONG = 12,	/* 1/2/05 message too long for its buffer */
	IW_DDP_U_VERSION = 13,	/* 1/2/06 DV, untagged */

	IW_MPA_LOST = 14,	/* 2/0/01 connection closed, reset or timed out */
	IW_MPA_CRC = 15,	/* 2/0/02 received CRC does not match */
	IW_MPA_MARKER = 16,	/* 2/0/03 marker and length disagree */
	IW_MPA_STARTUP = 17,	/* 2/0/04 bad start-up frame */
	IW_MPA_LOCAL = 18,	/* 2/0/05 local catastrophic */
	IW_MPA_IRD = 19,	/* 2/0/06 insufficient IRD */
	IW_MPA_RTR = 20,	/* 2/0/07 no matching RTR */

	IW_RDMAP_CATASTROPHIC = 21,	/* 0/0/00 local catastrophic */

	IW_RDMAP_P_STAG = 22,	/* 0/1/00 remote protection: invalid STag */
	IW_RDMAP_P_BOUNDS = 23,	/* 0/1/01 base or bounds */
	IW_RDMAP_P_ACCESS = 24,	/* 0/1/02 access rights */
	IW_RDMAP_P_ASSOC = 25,	/* 0/1/03 STag not of this stream */
	IW_RDMAP_P_WRAP = 26,	/* 0/1/04 TO wraps */
	IW_RDMAP_P_INVALIDATE = 27,	/* 0/1/09 STag cannot be invalidated (not ours) */
	IW_RDMAP_P_UNSPEC = 28,	/* 0/1/ff */

	IW_RDMAP_VERSION = 29,	/* 0/2/05 RV */
	IW_RDMAP_OPCODE = 30,	/* 0/2/06 unexpected opcode */
	IW_RDMAP_STREAM = 31,	/* 0/2/07 this stream: misaligned atomic */
	IW_RDMAP_GLOBAL = 32,	/* 0/2/08 catastrophic, global */
	IW_RDMAP_INVALIDATE = 33,	/* 0/2/09 STag cannot be invalidated */
	IW_RDMAP_UNSPEC = 34,	/* 0/2/ff */

	/* local: no Terminate of ours leaves */
	IW_PEER_TERMINATE = 35,	/* the peer sent a Terminate */
	IW_SCTP_ADAPTATION = 36,	/* the peer's association is not for DDP */
	IW_SCTP_CONTROL = 37,	/* malformed session control chunk */
	IW_SCTP_SEQUENCE = 38,	/* no legal sequence has this chunk here */
	IW_SCTP_SSN = 39,	/* DDP-SSN out of the window, or twice */
	IW_PEER_CLOSED = 40,	/* graceful end by the peer */
	IW_PEER_RESET = 41,	/* reset by the peer */
	IW_PEER_REJECT = 42,	/* the peer's ULP said no */
	IW_PEER_REFUSED = 43,	/* nobody listens there */
	IW_UNREACHABLE = 44,	/* no route, no answer */
	IW_TIMEOUT = 45,	/* start-up took too long */
	IW_LOCAL_CLOSE = 46,	/* graceful end by the ULP */
	IW_LOCAL_ABORT = 47,	/* abortive end by the ULP */
	IW_LOCAL_PROT = 48,	/* a work request named memory it may not use */
	IW_LOCAL_CQ = 49,	/* completion queue overrun */
	IW_NO_MEMORY = 50,	/* allocation failed */
	IW_UNREADABLE = 51,	/* what arrived is where no CPU can read it */
	IW_SCTP_ADDRESSES = 52,	/* the peer's association has too many */

	IW_REASON_NR
};

/*
 * No reason, and nothing ends by it: memory has to come first.  Between DDP, who
 * asks it and who is asked for segments; it is never told.
 */
#define IW_NOT_NOW	((enum iw_reason)(IW_REASON_NR + 1))

/* DDP tagged, DDP untagged and Read Request headers */
#define IW_DDP_HDR_MAX		18
#define IW_DDP_T_HDR_LEN	14
#define IW_RDMA_HDR_MAX		28

/**
 * struct iw_fault - what went wrong and with which segment
 * @why: the reason
 * @seg_len: length of the whole DDP segment in octets (ULPDU_Length, N-6);
 *	0: the fault is not in a segment received
 * @ddp_len: octets valid in @ddp (0, 14 or 18)
 * @rdma_len: octets valid in @rdma (0 or 28)
 * @ddp: DDP header of the offending segment as it came
 * @rdma: Read Request header as it came, for faults in serving it
 *
 * Everything a Terminate quotes (RFC 5040 4.8).
 */
struct iw_fault {
	enum iw_reason	why;
	u16		seg_len;
	u8		ddp_len;
	u8		rdma_len;
	u8		ddp[IW_DDP_HDR_MAX];
	u8		rdma[IW_RDMA_HDR_MAX];
};

#define IW_QUOTE_M	0x80	/* DDP segment length */
#define IW_QUOTE_D	0x40	/* DDP header */
#define IW_QUOTE_R	0x20	/* RDMAP (Read Request) header */

/* Layers, and an error type of DDP's: RFC 5040 4.8 */
#define IW_LAYER_RDMAP	0
#define IW_LAYER_DDP	1
#define IW_LAYER_LLP	2
#define IW_NOT_ON_WIRE	0xff	/* layer of a local reason */
#define IW_DDP_TAGGED	1

/**
 * enum iw_event - what a stream's consumer hears, besides that it ended
 * @IW_EVENT_NONE: nothing: an ordinary end
 * @IW_EVENT_FATAL: the stream failed
 * @IW_EVENT_ACCESS: the peer may not do what it tried
 * @IW_EVENT_REQUEST: the peer found fault with what was sent
 */
enum iw_event {
	IW_EVENT_NONE,
	IW_EVENT_FATAL,
	IW_EVENT_ACCESS,
	IW_EVENT_REQUEST,
};

/**
 * struct iw_reason_row - one row of the table
 * @layer: Terminate layer, or IW_NOT_ON_WIRE
 * @type: Terminate error type
 * @code: Terminate error code
 * @quote: which headers a Terminate carries if they are known, IW_QUOTE_*
 * @event: what the consumer hears, enum iw_event
 * @name: for counters and traces, like "ddp-tagged-bounds"
 * @rule: the RFC section that demands it
 */
struct iw_reason_row {
	u8		layer;
	u8		type;
	u8		code;
	u8		quote;
	u8		event;
	const char	*name;
	const char	*rule;
};

const struct iw_reason_row *iw_reason_row(enum iw_reason why);
const char *iw_reason_name(enum iw_reason why);

#endif
