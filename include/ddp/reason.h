/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Reasons for which a stream or connection ends. The table in
 * drivers/ddp/reason.c gives each reason its Terminate fields, its async event
 * and its name in counters and traces.
 */
#ifndef _DDP_REASON_H
#define _DDP_REASON_H

#include <ddp/pure.h>

/*
 * Reason for which a stream has ended.
 *
 * The comment of a reason begins with layer/type/code of the Terminate that
 * reports the reason (RFC 5040 4.8). A reason without these numbers is local: no
 * Terminate can express it. After IW_LOCAL_PROT or IW_LOCAL_CQ a Terminate with
 * the fields of IW_RDMAP_CATASTROPHIC may be sent.
 *
 * Programs receive the number as vendor error of a completion, so a number must
 * never be changed or reused. Add a new reason at the end, and to the list in
 * Documentation/counters.rst.
 */
enum iw_reason {
	IW_OK = 0,

	IW_DDP_CATASTROPHIC = 1,	/* 1/0/00 local catastrophic error */
	IW_DDP_SHORT = 2,	/* 1/0/00 segment shorter than its header */

	IW_DDP_T_STAG = 3,	/* 1/1/00 invalid STag, or missing right */
	IW_DDP_T_BOUNDS = 4,	/* 1/1/01 base or bounds violation */
	IW_DDP_T_ASSOC = 5,	/* 1/1/02 STag of another PD or stream */
	IW_DDP_T_WRAP = 6,	/* 1/1/03 range wraps at 2^64 */
	IW_DDP_T_VERSION = 7,	/* 1/1/04 wrong DDP version, tagged segment */

	IW_DDP_U_QN = 8,	/* 1/2/01 invalid queue number */
	IW_DDP_U_NO_BUFFER = 9,	/* 1/2/02 no buffer for this MSN */
	IW_DDP_U_MSN_RANGE = 10,	/* 1/2/03 MSN out of range */
	IW_DDP_U_MO = 11,	/* 1/2/04 wrong message offset */
	IW_DDP_U_TOO_LONG = 12,	/* 1/2/05 message too long for its buffer */
	IW_DDP_U_VERSION = 13,	/* 1/2/06 wrong DDP version, untagged segment */

	IW_MPA_LOST = 14,	/* 2/0/01 connection closed, reset or timed out */
	IW_MPA_CRC = 15,	/* 2/0/02 received CRC does not match */
	IW_MPA_MARKER = 16,	/* 2/0/03 marker does not match ULPDU_Length */
	IW_MPA_STARTUP = 17,	/* 2/0/04 invalid start-up frame */
	IW_MPA_LOCAL = 18,	/* 2/0/05 local catastrophic error */
	IW_MPA_IRD = 19,	/* 2/0/06 insufficient IRD */
	IW_MPA_RTR = 20,	/* 2/0/07 no matching RTR */

	IW_RDMAP_CATASTROPHIC = 21,	/* 0/0/00 local catastrophic error */

	IW_RDMAP_P_STAG = 22,	/* 0/1/00 remote protection: invalid STag */
	IW_RDMAP_P_BOUNDS = 23,	/* 0/1/01 base or bounds violation */
	IW_RDMAP_P_ACCESS = 24,	/* 0/1/02 access rights violation */
	IW_RDMAP_P_ASSOC = 25,	/* 0/1/03 STag of another PD or stream */
	IW_RDMAP_P_WRAP = 26,	/* 0/1/04 range wraps at 2^64 */
	IW_RDMAP_P_INVALIDATE = 27,	/* 0/1/09 invalidation not allowed */
	IW_RDMAP_P_UNSPEC = 28,	/* 0/1/ff unspecified protection error */

	IW_RDMAP_VERSION = 29,	/* 0/2/05 wrong RDMAP version */
	IW_RDMAP_OPCODE = 30,	/* 0/2/06 unexpected opcode */
	IW_RDMAP_STREAM = 31,	/* 0/2/07 fatal for this stream, such as a misaligned atomic */
	IW_RDMAP_GLOBAL = 32,	/* 0/2/08 fatal for the whole RNIC */
	IW_RDMAP_INVALIDATE = 33,	/* 0/2/09 STag cannot be invalidated */
	IW_RDMAP_UNSPEC = 34,	/* 0/2/ff unspecified operation error */

	/* local reasons, which a Terminate cannot express */
	IW_PEER_TERMINATE = 35,	/* the peer sent a Terminate */
	IW_SCTP_ADAPTATION = 36,	/* association without DDP's adaptation indication */
	IW_SCTP_CONTROL = 37,	/* malformed session control chunk */
	IW_SCTP_SEQUENCE = 38,	/* chunk not allowed in this state */
	IW_SCTP_SSN = 39,	/* DDP-SSN outside the window, or repeated */
	IW_PEER_CLOSED = 40,	/* graceful end by the peer */
	IW_PEER_RESET = 41,	/* connection reset by the peer */
	IW_PEER_REJECT = 42,	/* connection rejected by the peer's ULP */
	IW_PEER_REFUSED = 43,	/* nothing listens on the peer's address and port */
	IW_UNREACHABLE = 44,	/* peer unreachable, or interface removed */
	IW_TIMEOUT = 45,	/* a timeout expired */
	IW_LOCAL_CLOSE = 46,	/* graceful end by the ULP */
	IW_LOCAL_ABORT = 47,	/* abortive end by the ULP */
	IW_LOCAL_PROT = 48,	/* work request names memory that it may not access */
	IW_LOCAL_CQ = 49,	/* completion queue overrun */
	IW_NO_MEMORY = 50,	/* allocation failed */
	IW_UNREADABLE = 51,	/* the CPU cannot read the received data */
	IW_SCTP_ADDRESSES = 52,	/* association has too many addresses */
	IW_RETRY_EXCEEDED = 53,	/* not connected within the timeout and retry count of the QP */

	IW_REASON_NR
};

/*
 * Return value with the meaning of -EAGAIN: a page fault must be resolved before
 * the operation can proceed. Used by DDP, the ULP and the LLP. A stream never
 * ends for this reason.
 */
#define IW_AGAIN	((enum iw_reason)(IW_REASON_NR + 1))

/*
 * Header lengths in bytes: longest DDP header (untagged), tagged DDP header,
 * Read Request header
 */
#define IW_DDP_HDR_MAX		18
#define IW_DDP_T_HDR_LEN	14
#define IW_RDMA_HDR_MAX		28

/**
 * struct iw_failure - failure of a stream, and the headers that a Terminate quotes
 * @why: reason of the failure
 * @seg_len: length in bytes of the DDP segment that caused the failure
 *	(ULPDU_Length, RFC 5040 4.8); 0 if no received segment caused it
 * @ddp_len: number of valid bytes in @ddp (0, 14 or 18)
 * @rdma_len: number of valid bytes in @rdma (0 or 28)
 * @ddp: DDP header of the segment, as received
 * @rdma: Read Request header as received, if the failure occurred while a Read
 *	Request was served
 */
struct iw_failure {
	enum iw_reason	why;
	u16		seg_len;
	u8		ddp_len;
	u8		rdma_len;
	u8		ddp[IW_DDP_HDR_MAX];
	u8		rdma[IW_RDMA_HDR_MAX];
};

/* Fields that a Terminate quotes, as bits of its HdrCt field (RFC 5040 4.8) */
#define IW_QUOTE_M	0x80	/* DDP segment length */
#define IW_QUOTE_D	0x40	/* DDP header */
#define IW_QUOTE_R	0x20	/* RDMAP (Read Request) header */

/*
 * Values of the layer field of a Terminate, and the error type that DDP uses
 * for tagged segments (RFC 5040 4.8)
 */
#define IW_LAYER_RDMAP	0
#define IW_LAYER_DDP	1
#define IW_LAYER_LLP	2
#define IW_NOT_ON_WIRE	0xff	/* layer of a local reason */
#define IW_DDP_TAGGED	1

/**
 * enum iw_event - async event for the consumer when a stream ends
 * @IW_EVENT_NONE: no async event; only the connection manager reports the end
 * @IW_EVENT_FATAL: fatal error of the stream
 * @IW_EVENT_ACCESS: the peer has attempted an access that is not allowed
 * @IW_EVENT_REQUEST: the peer has reported an error with a Terminate
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
 * @quote: IW_QUOTE_* flags of the headers that a Terminate quotes, if struct
 *	iw_failure has them
 * @event: async event for the consumer, enum iw_event
 * @name: name for counters and traces, like "ddp-tagged-bounds"
 * @rule: RFC section that defines the reason, or "none"
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

const struct iw_reason_row *iw_reason_get_row(enum iw_reason why);
const char *iw_reason_get_name(enum iw_reason why);

#endif
