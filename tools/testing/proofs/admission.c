// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory limits of a peer over SCTP, the choice of the unaccepted association to evict, and
 * the retry delay.
 *
 * Files: sctp_ddp/admission.c
 * Checks: unsigned-overflow
 * Bound: 1, there is no loop
 * Mutation: sctp_ddp/admission.c s/all < SDDP_EARLY_ALL ? SDDP_EARLY_ALL - all : 0/SDDP_EARLY_ALL - all/
 * Mutation: sctp_ddp/admission.c s/cost <= most \&\& kept <= most - cost/kept + cost <= most/
 * Mutation: sctp_ddp/admission.c s/left \/ 2/left/
 * Mutation: sctp_ddp/admission.c s/most > SDDP_EARLY_ASSOC/most > 2 * SDDP_EARLY_ASSOC/
 * Mutation: sctp_ddp/admission.c s/c->peer >= SDDP_UNACCEPTED_PEER/c->peer > SDDP_UNACCEPTED_PEER/
 * Mutation: sctp_ddp/admission.c s/c->net >= SDDP_UNACCEPTED_NET/c->net > SDDP_UNACCEPTED_NET/
 * Mutation: sctp_ddp/admission.c s/before > DELAY_MAX \/ 2/before > DELAY_MAX/
 */
#include "../../../drivers/sctp_ddp/admission.h"
#include "proof.h"

#define MIB	((u64)1 << 20)
#define KIB	((u64)1 << 10)

static u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

/*
 * The limits must hold for a chunk of any size, and for any amounts of memory that an
 * association (@kept) and all associations (@all) already use. 64-bit sums do not wrap,
 * because @all is the sum of 32-bit amounts over less than 2^32 associations.
 */
void prove_early_chunk_limits(void)
{
	u32 kept = ANY(u32), cost = ANY(u32);
	u64 all = ANY(u64), sum = (u64)kept + cost;
	bool may = sddp_may_keep_early_chunk(kept, all, cost);

	MUST("an association may keep at most 8 MiB", !may || sum <= 8 * MIB);
	MUST("an association may always keep 64 KiB", sum > 64 * KIB || may);
	MUST("above 64 KiB: half of what others leave of 64 MiB, at most 8 MiB", sum <= 64 * KIB ||
	     may == (all < 64 * MIB &&
		     sum <= min_u64((64 * MIB - all) / 2, 8 * MIB)));
	/*
	 * The next assertion limits the sum over all associations, except for the 64 KiB that
	 * each association may always keep
	 */
	MUST("SEC-24: all associations keep at most 64 MiB above their 64 KiB",
	     !may || sum <= 64 * KIB ||
	     all + cost <= 64 * MIB);
	if (may && sum > 64 * KIB)
		REACHED("more than 64 KiB");
	if (!may && sum <= 8 * MIB)
		REACHED("refused because the others keep too much");
	if (may && all >= 64 * MIB)
		REACHED("at most 64 KiB although the others keep 64 MiB");
}

/*
 * When one more unaccepted association is admitted, the limits hold after the eviction. @c
 * has the number of associations with the same peer and listening address, with the same
 * listening address, and in the same namespace; each set contains the previous one.
 */
void prove_evicted_assoc(void)
{
	struct sddp_unaccepted c;
	enum sddp_evict_group from;
	u32 gone;

	GIVEN(c.peer <= c.laddr && c.laddr <= c.net);
	GIVEN(c.peer <= 64 && c.laddr <= 256 && c.net <= 1024);
	from = sddp_choose_evict_group(&c);
	MUST("SEC-25: the chosen group has an association to evict", from == SDDP_EVICT_NONE ||
	     (from == SDDP_EVICT_PEER ? c.peer :
	      from == SDDP_EVICT_LADDR ? c.laddr : c.net));
	MUST("another group is chosen only if the peer is below its limit",
	     from == SDDP_EVICT_NONE || from == SDDP_EVICT_PEER || c.peer < 64);
	/*
	 * the evicted association belongs to the set that it is chosen from and to all
	 * larger sets
	 */
	gone = from != SDDP_EVICT_NONE;
	MUST("SEC-24, SEC-25: the limits hold after eviction and admission",
	     c.net + 1 - gone <= 1024 &&
	     c.laddr + 1 - (from == SDDP_EVICT_PEER || from == SDDP_EVICT_LADDR) <= 256 &&
	     c.peer + 1 - (from == SDDP_EVICT_PEER) <= 64);
	MUST("nothing is evicted while all groups are below their limits",
	     from == SDDP_EVICT_NONE ||
	     c.peer == 64 || c.laddr == 256 || c.net == 1024);
	if (from == SDDP_EVICT_PEER && c.net == 1024)
		REACHED("an association of the peer, with the namespace full");
	if (from == SDDP_EVICT_NET)
		REACHED("any association of the namespace");
	if (from == SDDP_EVICT_NONE)
		REACHED("nothing to evict");
}

/* The retry delay is never 0 and is bounded, however often memory is short */
void prove_retry_delay_is_bounded(void)
{
	u32 before = ANY(u32), delay = sddp_compute_retry_delay(before);

	MUST("the delay is 10 ms to 1 s", delay >= 10 && delay <= 1000);
	MUST("the delay is not shorter than the previous one", delay >= before || before > 1000);
	MUST("the delay is twice the previous one, at most 1 s",
	     before < 10 || delay == min_u64(2 * (u64)before, 1000));
	if (delay == 1000 && before < 1000)
		REACHED("the maximum delay");
}
