/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Lengths of FPDUs and positions of their markers.
 *
 * Each @pos is the distance in bytes from the first byte of Full Operation. It
 * wraps with the TCP sequence number; only @pos mod 512 counts.
 */
#ifndef _MPA_FPDU_H
#define _MPA_FPDU_H

#include <ddp/pure.h>
#include "wire.h"

/* Bytes of a leading marker and the length field */
#define MPA_FPDU_HEAD_MAX	(MPA_MARKER_SIZE + MPA_LEN_SIZE)

/**
 * struct mpa_fpdu - an FPDU, as described by its first bytes
 * @start: position of its first byte in the stream
 * @head: bytes before its ULPDU: leading marker and length field
 * @ulpdu_len: bytes of its ULPDU
 * @wire: total length in bytes, markers included
 */
struct mpa_fpdu {
	u32	start;
	u32	head;
	u32	ulpdu_len;
	u32	wire;
};

u32 mpa_fpdu_pad_len(u32 ulpdu_len);
u32 mpa_fpdu_content_len(u32 ulpdu_len);
u32 mpa_fpdu_wire_len(u32 pos, u32 ulpdu_len, bool markers);
u32 mpa_fpdu_head_len(u32 pos, bool markers);
bool mpa_fpdu_decode(struct mpa_fpdu *f, u32 pos, bool markers, const u8 *p,
		     size_t len);

u32 mpa_marker_count(u32 pos, u32 content);
u32 mpa_marker_dist(u32 pos);
u32 mpa_marker_fpduptr(u32 pos, u32 at);
bool mpa_marker_is_valid(const u8 *p, u32 back);
void mpa_marker_put(u8 *p, u32 back);

u32 mpa_mulpdu(u32 emss, bool markers);

#endif
