/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Tracepoints of MPA connections. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iw_mpa

#if !defined(_MPA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _MPA_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>

#include "internal.h"

/* export the values of enum mpa_phase to programs that decode a recorded trace */
TRACE_DEFINE_ENUM(MPA_NEW);
TRACE_DEFINE_ENUM(MPA_CONNECTING);
TRACE_DEFINE_ENUM(MPA_STARTUP);
TRACE_DEFINE_ENUM(MPA_FULL);
TRACE_DEFINE_ENUM(MPA_ENDED);

#define show_mpa_phase(phase)				\
	__print_symbolic(phase,				\
		{ MPA_NEW,		"new" },		\
		{ MPA_CONNECTING,	"connecting" },	\
		{ MPA_STARTUP,		"startup" },	\
		{ MPA_FULL,		"full" },	\
		{ MPA_ENDED,		"ended" })

TRACE_EVENT(mpa_conn_phase,
	TP_PROTO(const struct mpa_conn *c, enum mpa_phase phase),
	TP_ARGS(c, phase),
	TP_STRUCT__entry(
		__field(const void *, c)
		__field(int, phase)
		__array(u8, local, sizeof(struct sockaddr_in6))
		__array(u8, remote, sizeof(struct sockaddr_in6))
	),
	TP_fast_assign(
		__entry->c = c;
		__entry->phase = phase;
		memcpy(__entry->local, &c->ss.local,
		       sizeof(struct sockaddr_in6));
		memcpy(__entry->remote, &c->ss.remote,
		       sizeof(struct sockaddr_in6));
	),
	TP_printk("conn=%p %s local=%pISpc remote=%pISpc", __entry->c,
		  show_mpa_phase(__entry->phase), __entry->local,
		  __entry->remote)
);

TRACE_EVENT(mpa_conn_end,
	TP_PROTO(const struct mpa_conn *c, enum iw_reason why),
	TP_ARGS(c, why),
	TP_STRUCT__entry(
		__field(const void *, c)
		/* copied, because the string is in another module, which may be unloaded */
		__array(char, why, 32)
	),
	TP_fast_assign(
		__entry->c = c;
		strscpy(__entry->why, iw_reason_get_name(why),
			sizeof(__entry->why));
	),
	TP_printk("conn=%p why=%s", __entry->c, __entry->why)
);

TRACE_EVENT(mpa_startup_agreed,
	TP_PROTO(const struct mpa_conn *c, const struct mpa_startup *su),
	TP_ARGS(c, su),
	TP_STRUCT__entry(
		__field(const void *, c)
		__field(u8, revision)
		__field(bool, enhanced)
		__field(bool, crc)
		__field(bool, tx_markers)
		__field(bool, rx_markers)
	),
	TP_fast_assign(
		__entry->c = c;
		__entry->revision = su->revision;
		__entry->enhanced = su->enhanced;
		__entry->crc = su->crc;
		__entry->tx_markers = su->tx_markers;
		__entry->rx_markers = su->rx_markers;
	),
	TP_printk("conn=%p revision=%u enhanced=%d crc=%d markers-out=%d markers-in=%d",
		  __entry->c, __entry->revision, __entry->enhanced,
		  __entry->crc, __entry->tx_markers, __entry->rx_markers)
);

/* recorded before mpa_startup_retry() is called, because that call overwrites the reason */
TRACE_EVENT(mpa_startup_retry,
	TP_PROTO(const struct mpa_conn *c, const struct mpa_startup *su),
	TP_ARGS(c, su),
	TP_STRUCT__entry(
		__field(const void *, c)
		__field(u8, revision)
		/* copied, because the string is in another module, which may be unloaded */
		__array(char, why, 32)
	),
	TP_fast_assign(
		__entry->c = c;
		__entry->revision = su->repeat ? su->revision : MPA_REV_PLAIN;
		strscpy(__entry->why, iw_reason_get_name(su->why),
			sizeof(__entry->why));
	),
	TP_printk("conn=%p why=%s next-revision=%u", __entry->c, __entry->why,
		  __entry->revision)
);

TRACE_EVENT(mpa_batch_sent,
	TP_PROTO(const struct mpa_conn *c, int taken),
	TP_ARGS(c, taken),
	TP_STRUCT__entry(
		__field(const void *, c)
		__field(u32, len)
		__field(u32, sent)
		__field(int, taken)
	),
	TP_fast_assign(
		__entry->c = c;
		__entry->len = c->out.len;
		__entry->sent = c->out.sent;
		__entry->taken = taken;
	),
	TP_printk("conn=%p bytes=%u sent-before=%u accepted=%d", __entry->c,
		  __entry->len, __entry->sent, __entry->taken)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
