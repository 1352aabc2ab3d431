/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Encoding and decoding of DDP headers. */
#ifndef _DDP_HDR_H
#define _DDP_HDR_H

#include <ddp/pure.h>
#include <ddp/reason.h>
#include <ddp/ulp.h>
#include "wire.h"

static_assert(DDP_U_HDR_LEN == IW_DDP_HDR_MAX);

/**
 * ddp_hdr_len - get the encoded length of a header
 * @h: the header; only @h->tagged is used
 *
 * Return: DDP_T_HDR_LEN or DDP_U_HDR_LEN, in bytes.
 */
static inline u32 ddp_hdr_len(const struct ddp_hdr *h)
{
	return h->tagged ? DDP_T_HDR_LEN : DDP_U_HDR_LEN;
}

enum iw_reason ddp_hdr_decode(struct ddp_hdr *h, const u8 *p, size_t len);
size_t ddp_hdr_encode(u8 *p, const struct ddp_hdr *h);
void ddp_hdr_encode_like(u8 *p, const u8 *like, const struct ddp_hdr *h);

#endif
