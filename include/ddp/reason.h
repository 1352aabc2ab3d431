/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Reasons for which a stream or connection ends. Each is defined once: the
 * table in drivers/ddp/reason.c has its Terminate fields, counter and trace
 * name.
 */
#ifndef _DDP_REASON_H
#define _DDP_REASON_H

#include <ddp/pure.h>

/*
 * Why a stream cannot continue.
 *
 * A comment that begins with layer/type/code says what a Terminate carries
 * (RFC 5040 4.8). The reasons without it are local. If a Terminate is sent for
 * IW_LOCAL_PROT or IW_LOCAL_CQ, it carries IW_RDMAP_CATASTROPHIC.
 *
 * Programs see the number as vendor error. So a number never changes and is
 * never reused. A new reason is added at the end, and to the list in
 * Documentation/counters.rst.
 */
enum iw_reason {
	IW_OK = 0,

	IW_DDP_CATASTROPHIC = 1,	/* 1/0/00 local failure while placing */
	IW_DDP_SHORT = 2,	/* 1/0/00 segment shorter than its header */

	IW_DDP_T_STAG = 3,	/* 1/1/00 invalid STag, or no right (N-3) */
	IW_DDP_T_BOUNDS = 4,	/* 1/1/01 base or bounds */
	IW_DDP_T_ASSOC = 5,	/* 1/1/02 STag of another PD or stream */
	IW_DDP_T_WRAP = 6,	/* 1/1/03 TO wraps */
	IW_DDP_T_VERSION = 7,	/* 1/1/04 DDP version, tagged */

	IW_DDP_U_QN = 8,	/* 1/2/01 no such queue */
	IW_DDP_U_NO_BUFFER = 9,	/* 1/2/02 no buffer for this MSN */
	IW_DDP_U_MSN_RANGE = 10,	/* 1/2/03 MSN out of range */
	IW_DDP_U_MO = 11,	/* 1/2/04 wrong message offset */
	IW_DDP_U_TOO_LONG = 12,	/* 1/2/05 message too long for its buffer */
	IW_DDP_U_VERSION = 13,	/* 1/2/06 DDP version, untagged */

	IW_MPA_LOST = 14,	/* 2/0/01 connection closed, reset, timed out */
	IW_MPA_CRC = 15,	/* 2/0/02 received CRC does not match */
	IW_MPA_MARKER = 16,	/* 2/0/03 marker and length disagree */
	IW_MPA_STARTUP = 17,	/* 2/0/04 invalid start-up frame */
	IW_MPA_LOCAL = 18,	/* 2/0/05 local catastrophic error */
	IW_MPA_IRD = 19,	/* 2/0/06 insufficient IRD */
	IW_MPA_RTR = 20,	/* 2/0/07 no matching RTR */

	IW_RDMAP_CATASTROPHIC = 21,	/* 0/0/00 local catastrophic error */

	IW_RDMAP_P_STAG = 22,	/* 0/1/00 remote protection: invalid STag */
	IW_RDMAP_P_BOUNDS = 23,	/* 0/1/01 base or bounds */
	IW_RDMAP_P_ACCESS = 24,	/* 0/1/02 access rights */
	IW_RDMAP_P_ASSOC = 25,	/* 0/1/03 STag not of this stream */
	IW_RDMAP_P_WRAP = 26,	/* 0/1/04 TO wraps */
	IW_RDMAP_P_INVALIDATE = 27,	/* 0/1/09 invalidation not allowed */
	IW_RDMAP_P_UNSPEC = 28,	/* 0/1/ff unspecified */

	IW_RDMAP_VERSION = 29,	/* 0/2/05 RDMAP version */
	IW_RDMAP_OPCODE = 30,	/* 0/2/06 unexpected opcode */
	IW_RDMAP_STREAM = 31,	/* 0/2/07 this stream: misaligned atomic */
	IW_RDMAP_GLOBAL = 32,	/* 0/2/08 catastrophic, global */
	IW_RDMAP_INVALIDATE = 33,	/* 0/2/09 STag cannot be invalidated */
	IW_RDMAP_UNSPEC = 34,	/* 0/2/ff unspecified */

	/* local reasons: they have no Terminate code of their own */
	IW_PEER_TERMINATE = 35,	/* the peer sent a Terminate */
	IW_SCTP_ADAPTATION = 36,	/* association is not for DDP */
	IW_SCTP_CONTROL = 37,	/* malformed session control chunk */
	IW_SCTP_SEQUENCE = 38,	/* chunk not allowed in this state */
	IW_SCTP_SSN = 39,	/* DDP-SSN outside window, or repeated */
	IW_PEER_CLOSED = 40,	/* graceful end by the peer */
	IW_PEER_RESET = 41,	/* reset by the peer */
	IW_PEER_REJECT = 42,	/* rejected by the peer's ULP */
	IW_PEER_REFUSED = 43,	/* no listener at that address */
	IW_UNREACHABLE = 44,	/* unreachable, or the interface is gone */
	IW_TIMEOUT = 45,	/* a timeout expired */
	IW_LOCAL_CLOSE = 46,	/* graceful end by the ULP */
	IW_LOCAL_ABORT = 47,	/* abortive end by the ULP */
	IW_LOCAL_PROT = 48,	/* no access to memory of a work request */
	IW_LOCAL_CQ = 49,	/* completion queue overrun */
	IW_NO_MEMORY = 50,	/* allocation failed */
	IW_UNREADABLE = 51,	/* received data cannot be read by a CPU */
	IW_SCTP_ADDRESSES = 52,	/* association has too many addresses */

	IW_REASON_NR
};

/*
 * Not a reason: a page fault must be resolved before the operation can proceed,
 * like -EAGAIN. Returned between DDP, the ULP and the LLP; never the reason of
 * an end.
 */
#define IW_AGAIN	((enum iw_reason)(IW_REASON_NR + 1))

/* Header lengths in bytes: longest DDP, tagged DDP, RDMAP Read Request */
#define IW_DDP_HDR_MAX		18
#define IW_DDP_T_HDR_LEN	14
#define IW_RDMA_HDR_MAX		28

/**
 * struct iw_fault - description of a failure, and of the segment that caused it
 * @why: the reason
 * @seg_len: length of the whole DDP segment in bytes (ULPDU_Length, N-6); 0 if
 *	the failure is not in a received segment
 * @ddp_len: number of valid bytes in @ddp (0, 14 or 18)
 * @rdma_len: number of valid bytes in @rdma (0 or 28)
 * @ddp: DDP header of the segment, as received
 * @rdma: Read Request header as received, for a failure in serving it
 *
 * Holds everything that a Terminate quotes (RFC 5040 4.8).
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

/* Layers, and an error type of DDP: RFC 5040 4.8 */
#define IW_LAYER_RDMAP	0
#define IW_LAYER_DDP	1
#define IW_LAYER_LLP	2
#define IW_NOT_ON_WIRE	0xff	/* layer of a local reason */
#define IW_DDP_TAGGED	1

/**
 * enum iw_event - event for the consumer of a stream, besides the end itself
 * @IW_EVENT_NONE: no event: the end is an ordinary one
 * @IW_EVENT_FATAL: the stream failed
 * @IW_EVENT_ACCESS: the peer tried what it may not do
 * @IW_EVENT_REQUEST: the peer reported an error in what was sent
 */
enum iw_event {
	IW_EVENT_NONE,
	IW_EVENT_FATAL,
	IW_EVENT_ACCESS,
	IW_EVENT_REQUEST,
};

/**
 * struct iw_reason_row - properties of a reason
 * @layer: layer in a Terminate, or IW_NOT_ON_WIRE
 * @type: error type in a Terminate
 * @code: error code in a Terminate
 * @quote: IW_QUOTE_*: headers that a Terminate quotes if they are known
 * @event: event for the consumer, enum iw_event
 * @name: name for counters and traces, like "ddp-tagged-bounds"
 * @rule: RFC section that requires it
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
