/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Marker for instructions.c: a no-op with an operand that no compiler emits, nopl 0x77695243(%rax).
 */
#ifndef MARKER_H
#define MARKER_H

#define MARKER_BYTES	{ 0x0f, 0x1f, 0x80, 0x43, 0x52, 0x69, 0x77 }

/* Execute the marker; do nothing on other architectures than x86-64 */
static inline void execute_marker(void)
{
#ifdef __x86_64__
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80, 0x43, 0x52, 0x69, 0x77");
#endif
}

#endif
