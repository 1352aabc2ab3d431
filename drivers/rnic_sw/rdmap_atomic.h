/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Atomic Operations: headers and arithmetic (RFC 7306 section 5). */
#ifndef _RNIC_SW_RDMAP_ATOMIC_H
#define _RNIC_SW_RDMAP_ATOMIC_H

#include <ddp/reason.h>

#include "rdmap_wire.h"

/**
 * struct rdmap_atomic - a decoded Atomic Operation Request
 * @code: RDMAP_ATOMIC_FETCH_ADD or RDMAP_ATOMIC_CMP_SWAP
 * @id: Request Identifier, which the response repeats
 * @stag: STag of the remote memory
 * @to: Tagged Offset in the remote memory
 * @data: value to add or to store
 * @mask: FetchAdd: top bits of the fields, 0 for one field of 64 bits; CmpSwap:
 *	bits to store
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

void rdmap_atomic_encode(u8 *p, const struct rdmap_atomic *a);
enum iw_reason rdmap_atomic_decode(struct rdmap_atomic *a, const u8 *p);
u64 rdmap_atomic_result(const struct rdmap_atomic *a, u64 old);
void rdmap_aresp_encode(u8 *p, u32 id, u64 old);
void rdmap_aresp_decode(const u8 *p, u32 *id, u64 *old);

#endif
