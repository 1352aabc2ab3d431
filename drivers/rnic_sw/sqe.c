// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a slot has beside what its opcode uses is zero: a later kernel may give
 * it a meaning, and then no program says it by accident.
 */
#include "sqe.h"

#define KNOWN_FLAGS	(RNIC_SW_SEND_FENCE | RNIC_SW_SEND_SIGNALED |	\
			 RNIC_SW_SEND_SOLICITED | RNIC_SW_SEND_INLINE)

/* What an opcode uses */
#define DATA	0x01	/* SGEs or, in their place, inline data */
#define TAG	0x02	/* imm_data or inv_stag */
#define REMOTE	0x04	/* rkey and remote_addr */
#define ADD	0x08
#define SWAP	0x10
#define BIND	0x20	/* bind, in place of the four above */

static const u8 uses[] = {
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

static bool data_clean(const struct rnic_sw_sqe *e, bool data)
{
	if (!data)
		return !e->num_sge && !e->inline_len &&
		       !(e->flags & RNIC_SW_SEND_INLINE);
	return e->flags & RNIC_SW_SEND_INLINE ? !e->num_sge : !e->inline_len;
}

static bool rest_clean(const struct rnic_sw_sqe *e, u8 used)
{
	if (used & BIND)
		return !e->bind.reserved;
	return (used & TAG || !e->inv_stag) &&
	       (used & REMOTE || (!e->rkey && !e->remote_addr)) &&
	       (used & ADD || !e->compare_add) && (used & SWAP || !e->swap);
}

/**
 * sqe_clean - does a send request say nothing that this kernel does not know?
 * @e: copy of the slot's fixed part
 *
 * Return: whether its opcode is known to programs, its flags are, and all that
 * the opcode does not use is zero.
 */
bool sqe_clean(const struct rnic_sw_sqe *e)
{
	u8 used = e->opcode < ARRAY_SIZE(uses) ? uses[e->opcode] : 0;

	if (!used || e->flags & ~KNOWN_FLAGS || e->reserved[0] ||
	    e->reserved[1])
		return false;
	return data_clean(e, used & DATA) && rest_clean(e, used);
}

/**
 * rqe_clean - the same of a receive request
 * @e: copy of the slot's fixed part
 *
 * Return: whether what is reserved is zero.
 */
bool rqe_clean(const struct rnic_sw_rqe *e)
{
	return !e->reserved;
}
