// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Table of reasons: the fields of the Terminate, the headers that the Terminate
 * quotes, and the event for the local consumer. Sources: RFC 5040 section 4.8,
 * figures 9 and 10; RFC 5041 section 7.2; RFC 5044 section 8; RFC 6581 section
 * 8.
 *
 * A Terminate for a Local Catastrophic Error (type 0 of RDMAP and of DDP)
 * quotes no header.
 */
#include <ddp/reason.h>

#define RDMAP		IW_LAYER_RDMAP
#define DDP		IW_LAYER_DDP
#define LLP		IW_LAYER_LLP

/* headers that a Terminate quotes: columns of RFC 5040 figure 10 */
#define NONE		0
#define SEGMENT		(IW_QUOTE_M | IW_QUOTE_D)
#define REQUEST		(IW_QUOTE_M | IW_QUOTE_D | IW_QUOTE_R)

/* events for the consumer: see enum iw_event */
#define END		IW_EVENT_NONE
#define FATAL		IW_EVENT_FATAL
#define ACCESS		IW_EVENT_ACCESS
#define REQUEST_ERR	IW_EVENT_REQUEST

#define ROW(l, t, c, q, e, n, r) \
	{ .layer = l, .type = t, .code = c, .quote = q, .event = e, \
	  .name = n, .rule = r }
#define LOCAL(e, n, r)	ROW(IW_NOT_ON_WIRE, 0, 0, NONE, e, n, r)

static const struct iw_reason_row rows[IW_REASON_NR] = {
[IW_OK] = LOCAL(END, "ok", "none"),

[IW_DDP_CATASTROPHIC] =
	ROW(DDP, 0, 0x00, NONE, FATAL, "ddp-catastrophic", "RFC 5041 7.2"),
[IW_DDP_SHORT] =
	ROW(DDP, 0, 0x00, NONE, FATAL, "ddp-short", "RFC 5041 4.4"),

[IW_DDP_T_STAG] =
	ROW(DDP, 1, 0x00, SEGMENT, ACCESS, "ddp-tagged-stag",
	    "RFC 5041 7.1 T1"),
[IW_DDP_T_BOUNDS] =
	ROW(DDP, 1, 0x01, SEGMENT, ACCESS, "ddp-tagged-bounds",
	    "RFC 5041 7.1 T3"),
[IW_DDP_T_ASSOC] =
	ROW(DDP, 1, 0x02, SEGMENT, ACCESS, "ddp-tagged-assoc", "RFC 5041 8.2"),
[IW_DDP_T_WRAP] =
	ROW(DDP, 1, 0x03, SEGMENT, ACCESS, "ddp-tagged-wrap",
	    "RFC 5041 7.1 T5"),
[IW_DDP_T_VERSION] =
	ROW(DDP, 1, 0x04, SEGMENT, FATAL, "ddp-tagged-version", "RFC 5041 4.1"),

[IW_DDP_U_QN] =
	ROW(DDP, 2, 0x01, SEGMENT, FATAL, "ddp-untagged-qn", "RFC 5041 7.1 U1"),
[IW_DDP_U_NO_BUFFER] =
	ROW(DDP, 2, 0x02, SEGMENT, FATAL, "ddp-untagged-no-buffer",
	    "RFC 5041 7.1 U2"),
[IW_DDP_U_MSN_RANGE] =
	ROW(DDP, 2, 0x03, SEGMENT, FATAL, "ddp-untagged-msn-range",
	    "RFC 5041 7.1 U5"),
[IW_DDP_U_MO] =
	ROW(DDP, 2, 0x04, SEGMENT, FATAL, "ddp-untagged-mo", "RFC 5041 7.1 U3"),
[IW_DDP_U_TOO_LONG] =
	ROW(DDP, 2, 0x05, SEGMENT, FATAL, "ddp-untagged-too-long",
	    "RFC 5041 7.1 U4"),
[IW_DDP_U_VERSION] =
	ROW(DDP, 2, 0x06, SEGMENT, FATAL, "ddp-untagged-version",
	    "RFC 5041 4.1"),

[IW_MPA_LOST] =
	ROW(LLP, 0, 0x01, NONE, FATAL, "mpa-lost", "RFC 5044 8 (1)"),
[IW_MPA_CRC] =
	ROW(LLP, 0, 0x02, NONE, FATAL, "mpa-crc", "RFC 5044 8 (2)"),
[IW_MPA_MARKER] =
	ROW(LLP, 0, 0x03, NONE, FATAL, "mpa-marker", "RFC 5044 8 (3)"),
[IW_MPA_STARTUP] =
	ROW(LLP, 0, 0x04, NONE, FATAL, "mpa-startup", "RFC 5044 8 (4)"),
[IW_MPA_LOCAL] =
	ROW(LLP, 0, 0x05, NONE, FATAL, "mpa-local", "RFC 6581 8"),
[IW_MPA_IRD] =
	ROW(LLP, 0, 0x06, NONE, FATAL, "mpa-ird", "RFC 6581 8"),
[IW_MPA_RTR] =
	ROW(LLP, 0, 0x07, NONE, FATAL, "mpa-rtr", "RFC 6581 8"),

[IW_RDMAP_CATASTROPHIC] =
	ROW(RDMAP, 0, 0x00, NONE, FATAL, "rdmap-catastrophic", "RFC 5040 4.8"),

[IW_RDMAP_P_STAG] =
	ROW(RDMAP, 1, 0x00, REQUEST, ACCESS, "rdmap-stag", "RFC 5040 7.2 R4"),
[IW_RDMAP_P_BOUNDS] =
	ROW(RDMAP, 1, 0x01, REQUEST, ACCESS, "rdmap-bounds", "RFC 5040 7.2 R4"),
[IW_RDMAP_P_ACCESS] =
	ROW(RDMAP, 1, 0x02, REQUEST, ACCESS, "rdmap-access", "RFC 5040 4.8"),
[IW_RDMAP_P_ASSOC] =
	ROW(RDMAP, 1, 0x03, REQUEST, ACCESS, "rdmap-assoc", "RFC 5040 7.2 R4"),
[IW_RDMAP_P_WRAP] =
	ROW(RDMAP, 1, 0x04, REQUEST, ACCESS, "rdmap-wrap", "RFC 5040 7.2 R4"),
[IW_RDMAP_P_INVALIDATE] =
	ROW(RDMAP, 1, 0x09, SEGMENT, ACCESS, "rdmap-invalidate-assoc",
	    "RFC 5040 7.2 (5)"),
[IW_RDMAP_P_UNSPEC] =
	ROW(RDMAP, 1, 0xff, REQUEST, ACCESS, "rdmap-protection",
	    "RFC 5040 4.8"),

[IW_RDMAP_VERSION] =
	ROW(RDMAP, 2, 0x05, SEGMENT, FATAL, "rdmap-version",
	    "RFC 5040 7.2 (3)"),
[IW_RDMAP_OPCODE] =
	ROW(RDMAP, 2, 0x06, SEGMENT, FATAL, "rdmap-opcode", "RFC 5040 7.2 (2)"),
[IW_RDMAP_STREAM] =
	ROW(RDMAP, 2, 0x07, SEGMENT, FATAL, "rdmap-stream", "RFC 7306 8.2"),
[IW_RDMAP_GLOBAL] =
	ROW(RDMAP, 2, 0x08, SEGMENT, FATAL, "rdmap-global", "RFC 5040 4.8"),
[IW_RDMAP_INVALIDATE] =
	ROW(RDMAP, 2, 0x09, SEGMENT, FATAL, "rdmap-invalidate",
	    "RFC 5040 7.2 (4)"),
[IW_RDMAP_UNSPEC] =
	ROW(RDMAP, 2, 0xff, SEGMENT, FATAL, "rdmap-operation", "RFC 5040 4.8"),

[IW_PEER_TERMINATE] = LOCAL(REQUEST_ERR, "peer-terminate", "RFC 5040 5.4"),
[IW_SCTP_ADAPTATION] = LOCAL(FATAL, "sctp-adaptation", "RFC 5043 11.1"),
[IW_SCTP_CONTROL] = LOCAL(FATAL, "sctp-control", "RFC 5043 5.2.3"),
[IW_SCTP_SEQUENCE] = LOCAL(FATAL, "sctp-sequence", "RFC 5043 6.1"),
[IW_SCTP_SSN] = LOCAL(FATAL, "sctp-ssn", "RFC 5043 10"),
[IW_PEER_CLOSED] = LOCAL(END, "peer-closed", "RFC 5041 6.2.1"),
[IW_PEER_RESET] = LOCAL(END, "peer-reset", "RFC 5041 6.2.2"),
[IW_PEER_REJECT] = LOCAL(END, "peer-reject", "RFC 5044 7.1.2"),
[IW_PEER_REFUSED] = LOCAL(END, "peer-refused", "RFC 5044 7.1"),
[IW_UNREACHABLE] = LOCAL(END, "unreachable", "RFC 5044 7.1"),
[IW_TIMEOUT] = LOCAL(END, "timeout", "RFC 5044 7.1.2"),
[IW_LOCAL_CLOSE] = LOCAL(END, "local-close", "RFC 5041 6.2.1"),
[IW_LOCAL_ABORT] = LOCAL(END, "local-abort", "RFC 5041 6.2.2"),
[IW_LOCAL_PROT] = LOCAL(FATAL, "local-protection", "RFC 5041 8.3"),
[IW_LOCAL_CQ] = LOCAL(FATAL, "local-cq-overrun", "RFC 5042 6.4.6"),
[IW_NO_MEMORY] = LOCAL(END, "no-memory", "none"),
[IW_UNREADABLE] = LOCAL(FATAL, "unreadable", "none"),
[IW_SCTP_ADDRESSES] = LOCAL(FATAL, "sctp-addresses", "RFC 5043 7.2"),
[IW_RETRY_EXCEEDED] = LOCAL(END, "retry-exceeded", "none"),
};

/**
 * iw_reason_get_row - get the properties of a reason
 * @why: the reason
 *
 * Return: the row of @why, or the row of IW_RDMAP_UNSPEC if @why is not a valid
 * reason; never NULL.
 */
const struct iw_reason_row *iw_reason_get_row(enum iw_reason why)
{
	if ((u32)why >= IW_REASON_NR)
		why = IW_RDMAP_UNSPEC;
	return &rows[why];
}

/**
 * iw_reason_get_name - get the name of a reason for counters and traces
 * @why: the reason
 *
 * Return: the name of @why, or that of IW_RDMAP_UNSPEC if @why is not a valid
 * reason.
 */
const char *iw_reason_get_name(enum iw_reason why)
{
	return iw_reason_get_row(why)->name;
}
