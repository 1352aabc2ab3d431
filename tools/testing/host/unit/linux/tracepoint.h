/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_TRACEPOINT_H
#define _HOST_UNIT_TRACEPOINT_H

/* Tracing is disabled */
#define TP_PROTO(...)	__VA_ARGS__
#define DECLARE_EVENT_CLASS(...)
#define DEFINE_EVENT(class, name, proto, ...) \
	static inline void trace_##name(proto) { } \
	static inline bool trace_##name##_enabled(void) { return false; }
#define TRACE_DEFINE_ENUM(name)	struct host_no_##name
#define TRACE_EVENT(name, proto, ...) \
	static inline void trace_##name(proto) { }

#endif
