/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Properties of the RDMAP opcodes. */
#ifndef _RNIC_SW_RDMAP_OP_H
#define _RNIC_SW_RDMAP_OP_H

#include <ddp/reason.h>
#include <ddp/ulp.h>

#include "rdmap_wire.h"

/**
 * struct rdmap_op_row - properties of one opcode
 * @opcode: RDMAP_OP_*
 * @supported: true if messages with the opcode are accepted
 * @tagged: T bit of messages with the opcode
 * @qn: queue number of untagged messages with the opcode
 * @rights: DDP_* rights that an STag in the message must grant: the STag in the
 *	DDP header of a tagged message, the Data Source STag of a Read Request,
 *	or the STag of an Atomic Request
 * @hdr_len: length of the RDMAP header in bytes; also the minimum length of the
 *	message
 * @invalidates: true if the message carries an Invalidate STag
 * @solicited: true if the message requests a solicited event
 * @name: name of the opcode in tracepoints
 */
struct rdmap_op_row {
	u8		opcode;
	bool		supported;
	bool		tagged;
	u8		qn;
	u8		rights;
	u8		hdr_len;
	bool		invalidates;
	bool		solicited;
	const char	*name;
};

enum iw_reason rdmap_op_check(const struct ddp_hdr *h,
			      const struct rdmap_op_row **row);

#endif
