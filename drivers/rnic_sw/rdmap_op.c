// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Table of the RDMAP opcodes (RFC 5040 figure 4, RFC 7306 figure 1). */
#include <ddp/pure.h>

#include "rdmap_op.h"

static const struct rdmap_op_row rows[RDMAP_OP_NR] = {
	[RDMAP_OP_WRITE] = {
		.opcode = RDMAP_OP_WRITE,
		.supported = true, .tagged = true, .rights = DDP_REMOTE_WRITE,
		.name = "write",
	},
	[RDMAP_OP_READ_REQ] = {
		.opcode = RDMAP_OP_READ_REQ,
		.supported = true, .qn = RDMAP_QN_READ_REQ,
		.rights = DDP_REMOTE_READ, .hdr_len = RDMAP_RREQ_LEN,
		.name = "read-request",
	},
	/*
	 * the local side has chosen the sink STag, so the STag needs no remote
	 * right
	 */
	[RDMAP_OP_READ_RESP] = {
		.opcode = RDMAP_OP_READ_RESP,
		.supported = true, .tagged = true, .rights = DDP_LOCAL_WRITE,
		.name = "read-response",
	},
	[RDMAP_OP_SEND] = {
		.opcode = RDMAP_OP_SEND,
		.supported = true, .qn = RDMAP_QN_SEND,
		.name = "send",
	},
	[RDMAP_OP_SEND_INV] = {
		.opcode = RDMAP_OP_SEND_INV,
		.supported = true, .qn = RDMAP_QN_SEND, .invalidates = true,
		.name = "send-inv",
	},
	[RDMAP_OP_SEND_SE] = {
		.opcode = RDMAP_OP_SEND_SE,
		.supported = true, .qn = RDMAP_QN_SEND, .solicited = true,
		.name = "send-se",
	},
	[RDMAP_OP_SEND_SE_INV] = {
		.opcode = RDMAP_OP_SEND_SE_INV,
		.supported = true, .qn = RDMAP_QN_SEND, .invalidates = true,
		.solicited = true,
		.name = "send-se-inv",
	},
	[RDMAP_OP_TERMINATE] = {
		.opcode = RDMAP_OP_TERMINATE,
		.supported = true, .qn = RDMAP_QN_TERMINATE,
		.hdr_len = RDMAP_TERM_LEN,
		.name = "terminate",
	},
	[RDMAP_OP_IMM] = {
		.opcode = RDMAP_OP_IMM,
		.supported = true, .qn = RDMAP_QN_SEND, .hdr_len = RDMAP_IMM_LEN,
		.name = "immediate",
	},
	[RDMAP_OP_IMM_SE] = {
		.opcode = RDMAP_OP_IMM_SE,
		.supported = true, .qn = RDMAP_QN_SEND, .hdr_len = RDMAP_IMM_LEN,
		.solicited = true,
		.name = "immediate-se",
	},
	[RDMAP_OP_ATOMIC_REQ] = {
		.opcode = RDMAP_OP_ATOMIC_REQ,
		.supported = true, .qn = RDMAP_QN_READ_REQ,
		.rights = DDP_REMOTE_ATOMIC, .hdr_len = RDMAP_AREQ_LEN,
		.name = "atomic-request",
	},
	[RDMAP_OP_ATOMIC_RESP] = {
		.opcode = RDMAP_OP_ATOMIC_RESP,
		.supported = true, .qn = RDMAP_QN_ATOMIC_RESP,
		.hdr_len = RDMAP_ARESP_LEN,
		.name = "atomic-response",
	},
};

static bool row_permits_hdr(const struct rdmap_op_row *row, const struct ddp_hdr *h)
{
	if (!row->supported || row->tagged != h->tagged)
		return false;
	return row->tagged || row->qn == h->qn;
}

/**
 * rdmap_op_check - check the RDMAP version and opcode of a segment
 * @h: DDP header of the segment
 * @row: set to the row of the opcode if the check succeeds
 *
 * Checks the version first, because it determines the meaning of the opcode.
 * RV 00b is refused, because RDMAC mode is never negotiated. Reserved bits are
 * ignored (RFC 5040 7.2 (2) and (3), RFC 7306 1.1).
 *
 * Return: IW_OK; IW_RDMAP_VERSION if RV is not 01b; IW_RDMAP_OPCODE if the
 * opcode is unknown or unsupported, or has the wrong T bit or queue number.
 */
enum iw_reason rdmap_op_check(const struct ddp_hdr *h,
			      const struct rdmap_op_row **row)
{
	u8 opcode = h->ulp8 & RDMAP_OPCODE_MASK;

	if ((h->ulp8 & RDMAP_RV_MASK) != RDMAP_RV)
		return IW_RDMAP_VERSION;
	if (opcode >= RDMAP_OP_NR || !row_permits_hdr(&rows[opcode], h))
		return IW_RDMAP_OPCODE;
	*row = &rows[opcode];
	return IW_OK;
}
