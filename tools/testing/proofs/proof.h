/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Common part of the proofs. CBMC reads the proofs, no compiler compiles them. CBMC checks
 * a proof for every value of each uninitialized variable and of each ANY().
 */
#ifndef PROOF_H
#define PROOF_H

#include <stdlib.h>

#include <ddp/pure.h>

/*
 * Assert that @cond holds for every input. @rule begins with requirement IDs of
 * tools/testing/conformance/requirements.tsv, or describes an internal
 * contract.
 */
#define MUST(rule, cond)	__CPROVER_assert(cond, rule)

/* Assume @cond, a precondition that the function's caller must ensure */
#define GIVEN(cond)		__CPROVER_assume(cond)

/*
 * Mark a point that some input must reach. The assertion claims that no input does, and
 * scripts/prove expects it to fail: if it held, the GIVEN()s of the proof would exclude
 * all inputs.
 */
#define REACHED(where)		__CPROVER_assert(0, "reached: " where)

#define ANY(type)		({ type _any; _any; })

static inline bool any_bool(void)
{
	return ANY(u8) & 1;
}

/* Allocate @len arbitrary bytes; CBMC reports an access beyond them */
static inline u8 *any_bytes(size_t len)
{
	u8 *p = malloc(len);

	GIVEN(p);
	return p;
}

/* Decode @n bytes, 0 to 4 or 8, in network byte order, independently of the driver */
static inline u64 decode_big_endian(const u8 *p, unsigned int n)
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
