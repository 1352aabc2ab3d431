/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Lengths of FPDUs and where markers fall in them.
 *
 * @pos throughout is the octet's distance from the first octet of Full
 * Operation.  It wraps with the TCP sequence number; only @pos mod 512 counts.
 */
#ifndef _MPA_FPDU_H
#define _MPA_FPDU_H

#include <ddp/pure.h>
#include "wire.h"

u32 mpa_fpdu_pad(u32 ulpdu_len);
u32 mpa_fpdu_content(u32 ulpdu_len);
u32 mpa_fpdu_wire_len(u32 pos, u32 ulpdu_len, bool markers);
int mpa_fpdu_peek(u32 pos, bool markers, const u8 *p, size_t len);

u32 mpa_markers_in(u32 pos, u32 content);
u32 mpa_to_marker(u32 pos);
u32 mpa_marker_back(u32 pos, u32 at);
bool mpa_marker_ok(const u8 *p, u32 back);
void mpa_marker_put(u8 *p, u32 back);

u32 mpa_mulpdu(u32 emss, bool markers);

#endif
