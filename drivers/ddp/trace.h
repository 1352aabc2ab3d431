/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Tracepoints of DDP segments and streams. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iw_ddp

#if !defined(_DDP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DDP_TRACE_H

#include <linux/tracepoint.h>

#include <ddp/ulp.h>

DECLARE_EVENT_CLASS(ddp_segment,
	TP_PROTO(const struct ddp_stream *s, const struct ddp_hdr *h, u32 len),
	TP_ARGS(s, h, len),
	TP_STRUCT__entry(
		__field(const void *, s)
		__field(bool, tagged)
		__field(bool, last)
		__field(u8, ulp8)
		__field(u32, id)
		__field(u64, at)
		__field(u32, msn)
		__field(u32, len)
	),
	TP_fast_assign(
		__entry->s = s;
		__entry->tagged = h->tagged;
		__entry->last = h->last;
		__entry->ulp8 = h->ulp8;
		__entry->id = h->tagged ? h->stag : h->qn;
		__entry->at = h->tagged ? h->to : h->mo;
		__entry->msn = h->tagged ? 0 : h->msn;
		__entry->len = len;
	),
	TP_printk("stream=%p %s=0x%x msn=%u %s=0x%llx payload=%u rsvdulp=0x%02x%s",
		  __entry->s, __entry->tagged ? "stag" : "qn", __entry->id,
		  __entry->msn, __entry->tagged ? "to" : "mo", __entry->at,
		  __entry->len, __entry->ulp8, __entry->last ? " last" : "")
);

DEFINE_EVENT(ddp_segment, ddp_segment_received,
	TP_PROTO(const struct ddp_stream *s, const struct ddp_hdr *h, u32 len),
	TP_ARGS(s, h, len)
);

DEFINE_EVENT(ddp_segment, ddp_segment_early,
	TP_PROTO(const struct ddp_stream *s, const struct ddp_hdr *h, u32 len),
	TP_ARGS(s, h, len)
);

DEFINE_EVENT(ddp_segment, ddp_segment_pulled,
	TP_PROTO(const struct ddp_stream *s, const struct ddp_hdr *h, u32 len),
	TP_ARGS(s, h, len)
);

TRACE_EVENT(ddp_stream_failed,
	TP_PROTO(const struct ddp_stream *s, const struct iw_failure *f),
	TP_ARGS(s, f),
	TP_STRUCT__entry(
		__field(const void *, s)
		/* copy the strings, because readers of the trace cannot follow pointers */
		__array(char, why, 32)
		__array(char, rule, 32)
		__field(u16, seg_len)
	),
	TP_fast_assign(
		__entry->s = s;
		strscpy(__entry->why, iw_reason_get_row(f->why)->name,
			sizeof(__entry->why));
		strscpy(__entry->rule, iw_reason_get_row(f->why)->rule,
			sizeof(__entry->rule));
		__entry->seg_len = f->seg_len;
	),
	TP_printk("stream=%p why=%s (%s) segment=%u", __entry->s, __entry->why,
		  __entry->rule, __entry->seg_len)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
