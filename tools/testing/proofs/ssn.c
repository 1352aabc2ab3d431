// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP-SSNs: which chunk is next in order, and when all chunks of an ended session have
 * been received.
 *
 * Files: sctp_ddp/ssn.c
 * Bound: 1, there is no loop
 * Mutation: sctp_ddp/ssn.c s/ahead < SDDP_IN_FLIGHT_MAX/ahead < SDDP_IN_FLIGHT_MAX - 1/
 * Mutation: sctp_ddp/ssn.c s/t->n -= ssn + 1/t->n -= ssn/
 * Mutation: sctp_ddp/ssn.c s/t->last \&\& !t->n/!t->n/
 */
#include "../../../drivers/sctp_ddp/ssn.h"
#include "proof.h"

void prove_ssn_order(void)
{
	u16 next = ANY(u16), ssn = ANY(u16);
	u16 far = (u16)(ssn - next);
	enum sddp_ssn_order turn = sddp_ssn_compare(next, ssn);

	MUST("SCTPDDP-27: only the expected SSN is the next one", (turn == SDDP_SSN_NEXT) == !far);
	MUST("SCTPDDP-69: an SSN less than 32767 ahead is early",
	     (turn == SDDP_SSN_EARLY) == (far && far < 32767));
	MUST("SCTPDDP-69: an SSN 32767 ahead is too far", (turn == SDDP_SSN_FAR) == (far == 32767));
	MUST("SCTPDDP-71: any other SSN was received before",
	     (turn == SDDP_SSN_DUP) == (far >= 32768));
	if (turn == SDDP_SSN_EARLY && ssn < next)
		REACHED("early, wrapped");
}

/*
 * When the Terminate is received, the session is complete if the number of received chunks
 * is the one that the Terminate's DDP-SSN gives
 */
void prove_tally_completion(void)
{
	struct sddp_tally t = { .n = ANY(u16), .last = false };
	u16 ssn = ANY(u16), before = t.n;

	MUST("SCTPDDP-46: a session without a Terminate is not complete", !sddp_tally_is_complete(&t));
	sddp_tally_increment(&t);
	sddp_tally_set_last(&t, ssn);
	MUST("SCTPDDP-46: complete if and only if all chunks before the Terminate arrived",
	     sddp_tally_is_complete(&t) == (before == ssn));
	if (sddp_tally_is_complete(&t) && ssn == 65535)
		REACHED("complete, SSN about to wrap");
}

/* Chunks received after the Terminate count, and the missing one completes the session */
void prove_chunks_after_terminate_count(void)
{
	struct sddp_tally t = { .n = ANY(u16), .last = true };
	u16 before = t.n;

	sddp_tally_increment(&t);
	MUST("the chunk is counted", t.n == (u16)(before + 1));
	sddp_tally_set_last(&t, ANY(u16));
	MUST("a second Terminate changes nothing", t.n == (u16)(before + 1));
	MUST("complete if and only if the last missing chunk has arrived",
	     sddp_tally_is_complete(&t) == (before == 65535));
	if (sddp_tally_is_complete(&t))
		REACHED("complete");
}
