// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Check of WQEs of send and receive queues: any bytes of a WQE are accepted if and only if
 * they are valid according to the ABI.
 *
 * Files: rnic_sw/sqe.c
 * Bound: 1, there is no loop
 * prove_valid_wqe_accepted: Bound 48
 * Mutation: rnic_sw/sqe.c s/opcode < ARRAY_SIZE(used_fields)/opcode <= ARRAY_SIZE(used_fields)/
 * Mutation: rnic_sw/sqe.c s/ || e->flags & ~KNOWN_FLAGS//
 * Mutation: rnic_sw/sqe.c s/return !e->bind.reserved/return true/
 * Mutation: rnic_sw/sqe.c s/ && !e->remote_addr//
 * Mutation: rnic_sw/sqe.c s/? !e->num_sge : !e->inline_len/? !e->inline_len : !e->num_sge/
 * Mutation: rnic_sw/sqe.c s/return !e->reserved;/return true;/
 */
#include "../../../drivers/rnic_sw/sqe.h"
#include "proof.h"

/*
 * Bytes of a WQE that an opcode uses, apart from the first 16: offset of the first byte,
 * and of the end
 */
struct span {
	u8	from, to;
};

static const struct span spans[] = {
	{ 20, 32 },	/* Write: rkey, remote_addr */
	{ 16, 32 },	/* Write with Immediate: also imm_data */
	{ 16, 16 },	/* Send */
	{ },		/* undefined */
	{ 16, 20 },	/* Send with Invalidate */
	{ 20, 32 },	/* Read */
	{ 20, 48 },	/* compare and swap: also compare_add, swap */
	{ 20, 40 },	/* fetch and add */
	{ 16, 20 },	/* local Invalidate */
	{ 16, 44 },	/* bind a window */
};

void prove_sqe_check(void)
{
	struct rnic_sw_sqe *e = (void *)any_bytes(sizeof(*e));
	const u8 *p = (const u8 *)e;
	size_t at = ANY(size_t);
	bool clean = rnic_sqe_is_well_formed(e), data;
	struct span span;

	MUST("SEC-4: only a defined opcode is accepted", !clean ||
	     (p[8] < 10 && p[8] != 3));
	if (p[8] >= 10 || p[8] == 3) {
		REACHED("undefined opcode");
		return;
	}
	span = spans[p[8]];
	MUST("SEC-4: only defined flags are accepted", !clean || p[9] < 0x10);
	GIVEN(at >= 16 && at < sizeof(*e));
	MUST("bytes that the opcode does not use are zero", !clean || !p[at] ||
	     (at >= span.from && at < span.to));
	/* opcodes 8 and 9, local Invalidate and bind, transfer no data */
	data = p[8] < 8;
	MUST("only opcodes with data have SGEs or inline bytes, not both", !clean ||
	     (e->flags & RNIC_SW_SEND_INLINE ? data && !e->num_sge
	      : !e->inline_len && (data || !e->num_sge)));
	if (clean)
		REACHED("accepted");
	if (clean && p[8] == 6 && p[47])
		REACHED("a compare and swap with its last byte");
}

/* Every valid WQE is accepted */
void prove_valid_wqe_accepted(void)
{
	struct rnic_sw_sqe *e = (void *)any_bytes(sizeof(*e));
	const u8 *p = (const u8 *)e;
	struct span span;
	size_t i;

	GIVEN(p[8] < 10 && p[8] != 3 && p[9] < 0x10);
	span = spans[p[8]];
	for (i = 16; i < sizeof(*e); i++)
		GIVEN(!p[i] || (i >= span.from && i < span.to));
	if (e->flags & RNIC_SW_SEND_INLINE)
		GIVEN(p[8] < 8 && !e->num_sge);
	else
		GIVEN(!e->inline_len && (p[8] < 8 || !e->num_sge));
	MUST("SEC-4: every valid WQE is accepted", rnic_sqe_is_well_formed(e));
	REACHED("end");
}

void prove_rqe_check(void)
{
	struct rnic_sw_rqe e;

	MUST("exactly a WQE with reserved bytes set is rejected",
	     rnic_rqe_is_well_formed(&e) == !e.reserved);
	if (rnic_rqe_is_well_formed(&e))
		REACHED("accepted");
}
