/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What each opcode is. */
#ifndef _RNIC_SW_RDMAP_OP_H
#define _RNIC_SW_RDMAP_OP_H

#include <ddp/reason.h>
#include <ddp/ulp.h>

#include "rdmap_wire.h"

/**
 * struct rdmap_op_row - one opcode
 * @opcode: RDMAP_OP_*
 * @served: we accept it
 * @tagged: T bit of its messages
 * @qn: untagged: its queue
 * @rights: DDP_* that the STag it names must give: of a tagged message the
 *	one in its DDP header, of a Read Request the Data Source STag
 * @hdr_len: octets of its RDMAP header, which a message has at least
 * @invalidates: carries an Invalidate STag
 * @solicited: asks for a solicited event
 * @name: for traces
 */
struct rdmap_op_row {
	u8		opcode;
	bool		served;
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
