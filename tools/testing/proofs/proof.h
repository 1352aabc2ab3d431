/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the proofs share. They are read by CBMC, not compiled: a variable that
 * is not set has every value at once, and so has what ANY() gives.
 */
#ifndef PROOF_H
#define PROOF_H

#include <stdlib.h>

#include <ddp/pure.h>

/*
 * Holds for every input. @rule begins with the requirements, by their IDs in
 * tools/testing/conformance/requirements.tsv, or with the contract of ours.
 */
#define MUST(rule, cond)	__CPROVER_assert(cond, rule)

/* The caller's side of the contract */
#define GIVEN(cond)		__CPROVER_assume(cond)

/*
 * Some input gets here: a proof that assumes too much, so that nothing is left
 * to hold for, is found out.  scripts/prove wants this to fail.
 */
#define REACHED(where)		__CPROVER_assert(0, "reached: " where)

#define ANY(type)		({ type _any; _any; })

static inline bool any_bool(void)
{
	return ANY(u8) & 1;
}

/* Any octets, of exactly that length: no more may be touched */
static inline u8 *any_octets(size_t len)
{
	u8 *p = malloc(len);

	GIVEN(p);
	return p;
}

/* A number of @n octets as the RFCs write it, most significant octet first */
static inline u64 octets(const u8 *p, unsigned int n)
{
	u64 v = 0;

	if (n > 0)
		v = p[0];
	if (n > 1)
		v = v << 8 | p[1];
	if (n > 2)
		v = v << 8 | p[2];
	if (n > 3)
		v = v << 8 | p[3];
	if (n > 4)
		v = v << 32 | (u64)p[4] << 24 | (u64)p[5] << 16 |
		    (u64)p[6] << 8 | p[7];
	return v;
}

#endif
