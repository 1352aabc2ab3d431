/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Build and parse the Terminate message (RFC 5040 section 4.8). */
#ifndef _RNIC_SW_RDMAP_TERM_H
#define _RNIC_SW_RDMAP_TERM_H

#include <ddp/reason.h>

#include "rdmap_wire.h"

/* Maximum length of a Terminate message from rdmap_term_build(), in bytes */
#define RDMAP_TERM_BUILD_MAX	(RDMAP_TERM_LEN + RDMAP_TERM_SEG_LEN + \
				 IW_DDP_HDR_MAX + IW_RDMA_HDR_MAX)

/**
 * struct rdmap_term - a parsed Terminate message
 * @layer: layer that found the error, IW_LAYER_*
 * @type: error type within the layer
 * @code: error code within the type
 * @quote: M, D and R bits of the message, IW_QUOTE_*
 * @seg_len: DDP Segment Length in bytes if @quote has the M or D bit, else 0
 * @ddp_len: number of valid bytes in @ddp: 14 or 18 if @quote has the D bit,
 *	else 0
 * @rdma_len: number of valid bytes in @rdma: 28 if @quote has the R bit, else 0
 * @ddp: DDP header of the local segment that the peer rejects
 * @rdma: Read Request header of the local request that the peer rejects
 */
struct rdmap_term {
	u8	layer;
	u8	type;
	u8	code;
	u8	quote;
	u16	seg_len;
	u8	ddp_len;
	u8	rdma_len;
	u8	ddp[IW_DDP_HDR_MAX];
	u8	rdma[IW_RDMA_HDR_MAX];
};

size_t rdmap_term_build(u8 *out, const struct iw_failure *f);
enum iw_reason rdmap_term_parse(struct rdmap_term *t, const u8 *p, size_t len);

#endif
