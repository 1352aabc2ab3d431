// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The window of DDP-SSNs: in any state, one step. Of the 32768 bits one is
 * watched, of any DDP-SSN: what a step does to it, it does to each.
 *
 * Files: sctp_ddp/ssn.c
 * Options: --arrays-uf-always --no-array-field-sensitivity
 * Bound: 1, there is no loop
 * Mutation: sctp_ddp/ssn.c s/ahead < SDDP_IN_FLIGHT_MAX/ahead < SDDP_IN_FLIGHT_MAX - 1/
 * Mutation: sctp_ddp/ssn.c s/return 1U << ssn % 32/return 1U << ssn % 16/
 * Mutation: sctp_ddp/ssn.c s/&= ~bit_of(w->next)/\&= ~bit_of(w->next) << 1/
 */
#include "../../../drivers/sctp_ddp/ssn.h"
#include "proof.h"

static bool is_noted(const struct sddp_ssn *w, u16 ssn)
{
	u32 bit = ssn % 32768;

	return w->early[bit / 32] >> bit % 32 & 1;
}

static u16 ahead(const struct sddp_ssn *w, u16 ssn)
{
	return (u16)(ssn - w->next);
}

void prove_init(void)
{
	static struct sddp_ssn w;
	u16 ssn = ANY(u16);

	w.early[ssn % 1024] = ANY(u32);
	sddp_ssn_init(&w);
	MUST("SCTPDDP-26: the first is zero", !w.next && !is_noted(&w, ssn));
	REACHED("end");
}

void prove_push(void)
{
	struct sddp_ssn w;
	u16 ssn = ANY(u16), other = ANY(u16), next = w.next;
	u16 far = ahead(&w, ssn);
	bool was = is_noted(&w, ssn), others = is_noted(&w, other);
	enum sddp_turn turn = sddp_ssn_push(&w, ssn);

	MUST("SCTPDDP-27: now", (turn == SDDP_NOW) == !far);
	MUST("SCTPDDP-67, SCTPDDP-69, SCTPDDP-71: early or twice, within 32767",
	     (turn == SDDP_EARLY) == (far && far < 32767 && !was));
	MUST("SCTPDDP-69: too far", (turn == SDDP_FAR) == (far == 32767));
	MUST("nothing else moves", w.next == next);
	if (other % 32768 != ssn % 32768)
		MUST("SCTPDDP-70: no other is noted", is_noted(&w, other) == others);
	MUST("SCTPDDP-70: noted only if early",
	     is_noted(&w, ssn) == (was || turn == SDDP_EARLY));
	MUST("no two in flight share a bit", other == ssn ||
	     ahead(&w, other) >= 32768 || far >= 32768 ||
	     other % 32768 != ssn % 32768);
	if (turn == SDDP_EARLY && ssn < next)
		REACHED("early, wrapped");
	if (turn == SDDP_DUP && was)
		REACHED("twice");
}

/* Same, asked without a note */
void prove_turn(void)
{
	struct sddp_ssn w, before;
	u16 ssn = ANY(u16), other = ANY(u16);
	enum sddp_turn turn;

	before.next = w.next;
	turn = sddp_ssn_turn(&w, ssn);
	MUST("SCTPDDP-70: asking changes nothing", w.next == before.next);
	MUST("push says the same", sddp_ssn_push(&w, ssn) == turn);
	REACHED("end");
}

void prove_advance(void)
{
	struct sddp_ssn w;
	u16 next = w.next, other = ANY(u16), here;
	bool was, others = is_noted(&w, other), more;

	here = (u16)(next + 1);
	was = is_noted(&w, here);
	more = sddp_ssn_advance(&w);
	MUST("SCTPDDP-23, SCTPDDP-27: one further, no gap", w.next == here);
	MUST("SCTPDDP-27: whether it is here", more == was);
	MUST("its note is used up", !is_noted(&w, here));
	if (other % 32768 != here % 32768)
		MUST("no other's is", is_noted(&w, other) == others);
	if (!here && more)
		REACHED("wrapped");
}
