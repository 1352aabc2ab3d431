/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Tracepoints of associations and their sessions */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iw_sctp_ddp

#if !defined(_SDDP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SDDP_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>

#include "internal.h"

/* Export the enum values for user space tools that decode raw records */
TRACE_DEFINE_ENUM(SDDP_NEW);
TRACE_DEFINE_ENUM(SDDP_CONNECTING);
TRACE_DEFINE_ENUM(SDDP_UP);
TRACE_DEFINE_ENUM(SDDP_ENDED);
TRACE_DEFINE_ENUM(SDDP_STALL_PROBE);
TRACE_DEFINE_ENUM(SDDP_STALL_SHRINK);
TRACE_DEFINE_ENUM(SDDP_STALL_END);
TRACE_DEFINE_ENUM(SDDP_KIND_INITIATE);
TRACE_DEFINE_ENUM(SDDP_KIND_ACCEPT);
TRACE_DEFINE_ENUM(SDDP_KIND_REJECT);
TRACE_DEFINE_ENUM(SDDP_KIND_TERMINATE);

#define show_sddp_phase(phase)				\
	__print_symbolic(phase,				\
		{ SDDP_NEW,		"new" },	\
		{ SDDP_CONNECTING,	"connecting" },	\
		{ SDDP_UP,		"up" },		\
		{ SDDP_ENDED,		"ended" })

#define show_sddp_stall(what)				\
	__print_symbolic(what,				\
		{ SDDP_STALL_PROBE,	"probe" },	\
		{ SDDP_STALL_SHRINK,	"shrink" },	\
		{ SDDP_STALL_END,	"end" })

#define show_sddp_kind(what)				\
	__print_symbolic(what,				\
		{ SDDP_KIND_INITIATE,	"initiate" },	\
		{ SDDP_KIND_ACCEPT,	"accept" },	\
		{ SDDP_KIND_REJECT,	"reject" },	\
		{ SDDP_KIND_TERMINATE,	"terminate" })

TRACE_EVENT(sddp_assoc_phase,
	TP_PROTO(const struct sddp_assoc *a, enum sddp_phase phase),
	TP_ARGS(a, phase),
	TP_STRUCT__entry(
		__field(const void *, a)
		__field(int, phase)
		__field(u32, streams)
		__array(u8, local, sizeof(struct sockaddr_in6))
		__array(u8, remote, sizeof(struct sockaddr_in6))
	),
	TP_fast_assign(
		__entry->a = a;
		__entry->phase = phase;
		__entry->streams = a->limit;
		memcpy(__entry->local, &a->local,
		       sizeof(struct sockaddr_in6));
		memcpy(__entry->remote, &a->remote,
		       sizeof(struct sockaddr_in6));
	),
	TP_printk("assoc=%p %s streams=%u local=%pISpc remote=%pISpc",
		  __entry->a, show_sddp_phase(__entry->phase),
		  __entry->streams, __entry->local, __entry->remote)
);

TRACE_EVENT(sddp_assoc_end,
	TP_PROTO(const struct sddp_assoc *a, enum iw_reason why),
	TP_ARGS(a, why),
	TP_STRUCT__entry(
		__field(const void *, a)
		/* copy the string, because it belongs to another module, which may be unloaded */
		__array(char, why, 32)
	),
	TP_fast_assign(
		__entry->a = a;
		strscpy(__entry->why, iw_reason_get_name(why),
			sizeof(__entry->why));
	),
	TP_printk("assoc=%p why=%s", __entry->a, __entry->why)
);

TRACE_EVENT(sddp_stall,
	TP_PROTO(const struct sddp_assoc *a, enum sddp_stall_do what,
		 u32 acked),
	TP_ARGS(a, what, acked),
	TP_STRUCT__entry(
		__field(const void *, a)
		__field(int, what)
		__field(u32, acked)
	),
	TP_fast_assign(
		__entry->a = a;
		__entry->what = what;
		__entry->acked = acked;
	),
	TP_printk("assoc=%p acked=%u %s", __entry->a, __entry->acked,
		  show_sddp_stall(__entry->what))
);

TRACE_EVENT(sddp_control,
	TP_PROTO(const struct sddp_stream *st, const struct sddp_control *c,
		 bool sent),
	TP_ARGS(st, c, sent),
	TP_STRUCT__entry(
		__field(const void *, a)
		__field(u16, id)
		__field(u16, ssn)
		__field(int, what)
		__field(bool, enhanced)
		__field(bool, sent)
	),
	TP_fast_assign(
		__entry->a = st->a;
		__entry->id = st->id;
		__entry->ssn = c->ssn;
		__entry->what = c->kind;
		__entry->enhanced = c->offer.enhanced;
		__entry->sent = sent;
	),
	TP_printk("assoc=%p stream=%u ssn=%u %s %s%s", __entry->a, __entry->id,
		  __entry->ssn, __entry->sent ? "sent" : "received",
		  __entry->enhanced ? "enhanced " : "",
		  show_sddp_kind(__entry->what))
);

TRACE_EVENT(sddp_acked,
	TP_PROTO(const struct sddp_stream *st),
	TP_ARGS(st),
	TP_STRUCT__entry(
		__field(const void *, a)
		__field(u16, id)
	),
	TP_fast_assign(
		__entry->a = st->a;
		__entry->id = st->id;
	),
	TP_printk("assoc=%p stream=%u", __entry->a, __entry->id)
);

TRACE_EVENT(sddp_early,
	TP_PROTO(const struct sddp_stream *st, u16 ssn, bool placed),
	TP_ARGS(st, ssn, placed),
	TP_STRUCT__entry(
		__field(const void *, a)
		__field(u16, id)
		__field(u16, ssn)
		__field(u16, next)
		__field(bool, placed)
	),
	TP_fast_assign(
		__entry->a = st->a;
		__entry->id = st->id;
		__entry->ssn = ssn;
		__entry->next = st->rx_next;
		__entry->placed = placed;
	),
	TP_printk("assoc=%p stream=%u ssn=%u next=%u %s", __entry->a,
		  __entry->id, __entry->ssn, __entry->next,
		  __entry->placed ? "placed" : "kept")
);

TRACE_EVENT(sddp_session_move,
	TP_PROTO(const struct sddp_stream *st, const struct sddp_assoc *to,
		 u16 id),
	TP_ARGS(st, to, id),
	TP_STRUCT__entry(
		__field(const void *, a)
		__field(const void *, to)
		__field(u16, id)
		__field(u16, to_id)
	),
	TP_fast_assign(
		__entry->a = st->a;
		__entry->to = to;
		__entry->id = st->id;
		__entry->to_id = id;
	),
	TP_printk("assoc=%p stream=%u to assoc=%p stream=%u", __entry->a,
		  __entry->id, __entry->to, __entry->to_id)
);

TRACE_EVENT(sddp_session_end,
	TP_PROTO(const struct sddp_stream *st, enum iw_reason why),
	TP_ARGS(st, why),
	TP_STRUCT__entry(
		__field(const void *, a)
		__field(u16, id)
		__array(char, why, 32)
	),
	TP_fast_assign(
		__entry->a = st->a;
		__entry->id = st->id;
		strscpy(__entry->why, iw_reason_get_name(why),
			sizeof(__entry->why));
	),
	TP_printk("assoc=%p stream=%u why=%s", __entry->a, __entry->id,
		  __entry->why)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
