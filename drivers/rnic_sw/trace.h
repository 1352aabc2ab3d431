/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Tracepoints of queue pairs: start, state changes, end, and messages. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rnic_sw

#if !defined(_RNIC_SW_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _RNIC_SW_TRACE_H

#include <linux/tracepoint.h>

#include "rnic.h"

TRACE_EVENT(rnic_qp_started,
	TP_PROTO(const struct rnic_qp *qp, u16 ird, u16 ord),
	TP_ARGS(qp, ird, ord),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u16, ird)
		__field(u16, ord)
		__field(u8, rtr)
	),
	TP_fast_assign(
		__entry->qpn = qp->ib.qp_num;
		__entry->ird = ird;
		__entry->ord = ord;
		__entry->rtr = qp->rdmap.rtr;
	),
	TP_printk("qp=%u ird=%u ord=%u rtr=0x%x", __entry->qpn, __entry->ird,
		  __entry->ord, __entry->rtr)
);

TRACE_EVENT(rnic_qp_state,
	TP_PROTO(const struct rnic_qp *qp, enum qp_state to),
	TP_ARGS(qp, to),
	TP_STRUCT__entry(
		__field(u32, qpn)
		/*
		 * copy the names, because a reader of the raw trace buffer
		 * cannot dereference pointers
		 */
		__array(char, from, 16)
		__array(char, to, 16)
	),
	TP_fast_assign(
		__entry->qpn = qp->ib.qp_num;
		strscpy(__entry->from, qp_state_name(qp->state),
			sizeof(__entry->from));
		strscpy(__entry->to, qp_state_name(to), sizeof(__entry->to));
	),
	TP_printk("qp=%u %s to %s", __entry->qpn, __entry->from, __entry->to)
);

TRACE_EVENT(rnic_qp_ended,
	TP_PROTO(const struct rnic_qp *qp, enum iw_reason why),
	TP_ARGS(qp, why),
	TP_STRUCT__entry(
		__field(u32, qpn)
		/*
		 * copy the name, because tracing rejects a pointer to a string
		 * of another module
		 */
		__array(char, why, 32)
	),
	TP_fast_assign(
		__entry->qpn = qp->ib.qp_num;
		strscpy(__entry->why, iw_reason_get_name(why),
			sizeof(__entry->why));
	),
	TP_printk("qp=%u why=%s", __entry->qpn, __entry->why)
);

TRACE_EVENT(rnic_peer_terminate,
	TP_PROTO(const struct rnic_qp *qp),
	TP_ARGS(qp),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, layer)
		__field(u8, type)
		__field(u8, code)
	),
	TP_fast_assign(
		__entry->qpn = qp->ib.qp_num;
		__entry->layer = qp->rdmap.peer_layer;
		__entry->type = qp->rdmap.peer_type;
		__entry->code = qp->rdmap.peer_code;
	),
	TP_printk("qp=%u layer=%u type=%u code=0x%02x", __entry->qpn,
		  __entry->layer, __entry->type, __entry->code)
);

TRACE_EVENT(rnic_message,
	TP_PROTO(const struct rnic_qp *qp, u8 opcode, bool sent),
	TP_ARGS(qp, opcode, sent),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, opcode)
		__field(bool, sent)
	),
	TP_fast_assign(
		__entry->qpn = qp->ib.qp_num;
		__entry->opcode = opcode;
		__entry->sent = sent;
	),
	TP_printk("qp=%u %s %s", __entry->qpn,
		  __entry->sent ? "sends" : "delivers",
		  __print_symbolic(__entry->opcode,
				   { RDMAP_OP_WRITE,		"write" },
				   { RDMAP_OP_READ_REQ,		"read-request" },
				   { RDMAP_OP_READ_RESP,	"read-response" },
				   { RDMAP_OP_SEND,		"send" },
				   { RDMAP_OP_SEND_INV,		"send-inv" },
				   { RDMAP_OP_SEND_SE,		"send-se" },
				   { RDMAP_OP_SEND_SE_INV,	"send-se-inv" },
				   { RDMAP_OP_TERMINATE,	"terminate" },
				   { RDMAP_OP_IMM,		"immediate" },
				   { RDMAP_OP_IMM_SE,		"immediate-se" },
				   { RDMAP_OP_ATOMIC_REQ,	"atomic-request" },
				   { RDMAP_OP_ATOMIC_RESP,	"atomic-response" }))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
