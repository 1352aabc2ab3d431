/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* RDMAP headers in decoded form, and functions to encode and decode them. */
#ifndef _RNIC_SW_RDMAP_HDR_H
#define _RNIC_SW_RDMAP_HDR_H

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

/* First byte of RsvdULP; its reserved bits are zero */
static inline u8 rdmap_ulp8(u8 opcode)
{
	return RDMAP_RV | (opcode & RDMAP_OPCODE_MASK);
}

void rdmap_rreq_decode(struct rdmap_rreq *r, const u8 *p);
void rdmap_rreq_encode(u8 *p, const struct rdmap_rreq *r);
void rdmap_rreq_advance(struct rdmap_rreq *r, u32 octets);

#endif
