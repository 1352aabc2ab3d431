// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Check that a work request of a program uses only fields that the driver
 * supports.
 *
 * Fields that an opcode does not use must be zero, because a later version of
 * the driver may give them a meaning. The check makes a program that sets such a
 * field by accident fail now. Otherwise such programs would work until that
 * later version.
 */
#include "sqe.h"

#define KNOWN_FLAGS	(RNIC_SW_SEND_FENCE | RNIC_SW_SEND_SIGNALED |	\
			 RNIC_SW_SEND_SOLICITED | RNIC_SW_SEND_INLINE)

/*
 * Groups of fields of struct rnic_sw_sqe; used_fields[] has the groups that
 * each opcode uses
 */
#define DATA	0x01	/* SGEs or inline data */
#define TAG	0x02	/* imm_data or inv_stag */
#define REMOTE	0x04	/* rkey and remote_addr */
#define ADD	0x08	/* compare_add */
#define SWAP	0x10	/* swap */
#define BIND	0x20	/* bind, which overlaps TAG, REMOTE, ADD and SWAP */

static const u8 used_fields[] = {
	[RNIC_SW_OP_WRITE]	= DATA | REMOTE,
	[RNIC_SW_OP_WRITE_IMM]	= DATA | REMOTE | TAG,
	[RNIC_SW_OP_SEND]	= DATA,
	[RNIC_SW_OP_SEND_INV]	= DATA | TAG,
	[RNIC_SW_OP_READ]	= DATA | REMOTE,
	[RNIC_SW_OP_CMP_SWAP]	= DATA | REMOTE | ADD | SWAP,
	[RNIC_SW_OP_FETCH_ADD]	= DATA | REMOTE | ADD,
	[RNIC_SW_OP_LOCAL_INV]	= TAG,
	[RNIC_SW_OP_BIND_MW]	= BIND,
};

static bool are_data_fields_consistent(const struct rnic_sw_sqe *e, bool data)
{
	if (!data)
		return !e->num_sge && !e->inline_len &&
		       !(e->flags & RNIC_SW_SEND_INLINE);
	return e->flags & RNIC_SW_SEND_INLINE ? !e->num_sge : !e->inline_len;
}

static bool are_unused_fields_zero(const struct rnic_sw_sqe *e, u8 used)
{
	if (used & BIND)
		return !e->bind.reserved;
	return (used & TAG || !e->inv_stag) &&
	       (used & REMOTE || (!e->rkey && !e->remote_addr)) &&
	       (used & ADD || !e->compare_add) && (used & SWAP || !e->swap);
}

/**
 * rnic_sqe_is_well_formed - check whether a send request uses only supported fields
 * @e: copy of the fixed part of the WQE
 *
 * Return: true if programs may use the opcode, no unknown flag is set, and all
 * fields that the opcode does not use are zero; false otherwise.
 */
bool rnic_sqe_is_well_formed(const struct rnic_sw_sqe *e)
{
	u8 used = e->opcode < ARRAY_SIZE(used_fields) ? used_fields[e->opcode] : 0;

	if (!used || e->flags & ~KNOWN_FLAGS || e->reserved[0] ||
	    e->reserved[1])
		return false;
	return are_data_fields_consistent(e, used & DATA) && are_unused_fields_zero(e, used);
}

/**
 * rnic_rqe_is_well_formed - check whether the reserved field of a receive request is
 * zero
 * @e: copy of the fixed part of the WQE
 *
 * Return: true if the reserved field is zero, false otherwise.
 */
bool rnic_rqe_is_well_formed(const struct rnic_sw_rqe *e)
{
	return !e->reserved;
}
