/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Compute lengths of FPDUs and positions of their markers.
 *
 * A position in the stream (@pos) counts the bytes that one side has sent since the
 * start of Full Operation, markers included. Positions wrap at 2^32, which does no
 * harm, because markers depend only on the position modulo 512.
 */
#ifndef _MPA_FPDU_H
#define _MPA_FPDU_H

#include <ddp/pure.h>
#include "wire.h"

/* Length of a leading marker and the length field, in bytes */
#define MPA_FPDU_HEAD_MAX	(MPA_MARKER_SIZE + MPA_LEN_SIZE)

#define MPA_BATCH	65536	/* approximate maximum length of a batch in bytes */

/**
 * struct mpa_fpdu - position and lengths of an FPDU
 * @start: position of the first byte of the FPDU in the stream
 * @head_len: length of the leading marker, if present, and the length field, in bytes
 * @ulpdu_len: length of the ULPDU, in bytes
 * @wire_len: total length of the FPDU in bytes, markers included
 */
struct mpa_fpdu {
	u32	start;
	u32	head_len;
	u32	ulpdu_len;
	u32	wire_len;
};

u32 mpa_fpdu_pad_len(u32 ulpdu_len);
u32 mpa_fpdu_content_len(u32 ulpdu_len);
u32 mpa_fpdu_wire_len(u32 pos, u32 ulpdu_len, bool markers);
u32 mpa_fpdu_head_len(u32 pos, bool markers);
bool mpa_fpdu_decode(struct mpa_fpdu *f, u32 pos, bool markers, const u8 *p,
		     size_t len);

u32 mpa_count_markers(u32 pos, u32 content);
u32 mpa_compute_marker_distance(u32 pos);
u32 mpa_compute_fpduptr(u32 pos, u32 at);
bool mpa_marker_is_valid(const u8 *p, u32 back);
void mpa_marker_encode(u8 *p, u32 back);

u32 mpa_compute_mulpdu(u32 emss, bool markers);
u32 mpa_compute_batch_limit(u32 emss, u32 tso_max);

#endif
