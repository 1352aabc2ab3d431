/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMAP headers in decoded form, functions to encode and decode them, and the
 * arithmetic of Atomic Operations (RFC 7306 section 5).
 */
#ifndef _RNIC_SW_RDMAP_HDR_H
#define _RNIC_SW_RDMAP_HDR_H

#include <ddp/reason.h>

#include "rdmap_wire.h"

/**
 * struct rdmap_rreq - a Read Request header (RFC 5040 section 4.4)
 * @sink_stag: Data Sink STag
 * @sink_to: Data Sink Tagged Offset
 * @len: RDMA Read Message Size
 * @src_stag: Data Source STag
 * @src_to: Data Source Tagged Offset
 */
struct rdmap_rreq {
	u32	sink_stag;
	u64	sink_to;
	u32	len;
	u32	src_stag;
	u64	src_to;
};

/**
 * struct rdmap_atomic - a decoded Atomic Operation Request
 * @code: RDMAP_ATOMIC_FETCH_ADD or RDMAP_ATOMIC_CMP_SWAP
 * @id: Request Identifier, which the response repeats
 * @stag: STag of the remote memory
 * @to: Tagged Offset in the remote memory
 * @data: value to add or to store
 * @mask: FetchAdd: top bit of each field, 0 for one field of 64 bits; CmpSwap:
 *	bits of @data to store
 * @cmp: CmpSwap: value to compare with
 * @cmp_mask: CmpSwap: bits to compare
 */
struct rdmap_atomic {
	u8	code;
	u32	id;
	u32	stag;
	u64	to;
	u64	data;
	u64	mask;
	u64	cmp;
	u64	cmp_mask;
};

/* Build the first byte of RsvdULP for @opcode, with its reserved bits zero */
static inline u8 rdmap_make_ulp8(u8 opcode)
{
	return RDMAP_RV | (opcode & RDMAP_OPCODE_MASK);
}

void rdmap_rreq_decode(struct rdmap_rreq *r, const u8 *p);
void rdmap_rreq_encode(u8 *p, const struct rdmap_rreq *r);
void rdmap_rreq_advance(struct rdmap_rreq *r, u32 bytes);

void rdmap_atomic_encode(u8 *p, const struct rdmap_atomic *a);
enum iw_reason rdmap_atomic_decode(struct rdmap_atomic *a, const u8 *p);
u64 rdmap_compute_atomic_result(const struct rdmap_atomic *a, u64 old);
void rdmap_aresp_encode(u8 *p, u32 id, u64 old);
void rdmap_aresp_decode(const u8 *p, u32 *id, u64 *old);

#endif
