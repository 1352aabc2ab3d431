// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Transitions between the states of a QP: every sequence of transitions ends, and no
 * transition leaves the error state.
 *
 * Files: rnic_sw/qp_state.c
 * Bound: 5, the number of states: no sequence visits a state twice
 * Mutation: rnic_sw/qp_state.c s/TO(QP_TERMINATE) | TO(QP_ERROR),/TO(QP_TERMINATE) | TO(QP_ERROR) | TO(QP_RTS),/
 * Mutation: rnic_sw/qp_state.c s/.QP_IDLE.	= TO(QP_RTS) | TO(QP_ERROR)/[QP_IDLE]	= TO(QP_RTS)/
 */
#include "../../../drivers/rnic_sw/qp_state.h"
#include "proof.h"

static enum qp_state any_state(void)
{
	enum qp_state state;

	GIVEN((u32)state < QP_STATE_NR);
	return state;
}

void prove_allowed_transitions(void)
{
	enum qp_state from = any_state(), to = any_state();
	bool may = qp_state_may_change(from, to);

	MUST("RTS is entered only from idle",
	     !may || to != QP_RTS || from == QP_IDLE);
	MUST("idle is never entered", !may || to != QP_IDLE);
	MUST("terminate is left only for error",
	     !may || from != QP_TERMINATE || to == QP_ERROR);
	MUST("error is never left", !may || from != QP_ERROR);
	MUST("error can be entered from every other state",
	     from == QP_ERROR || qp_state_may_change(from, QP_ERROR));
	MUST("terminate is entered exactly from RTS and closing",
	     qp_state_may_change(from, QP_TERMINATE) ==
	     (from == QP_RTS || from == QP_CLOSING));
	MUST("closing is entered exactly from RTS",
	     qp_state_may_change(from, QP_CLOSING) == (from == QP_RTS));
	MUST("each state has a name", qp_state_name(from)[0]);
	if (may)
		REACHED("an allowed transition");
}

/* No sequence has five transitions, so every sequence ends */
void prove_transitions_end(void)
{
	enum qp_state state = any_state(), next;
	int steps;

	for (steps = 0; steps < QP_STATE_NR; steps++) {
		next = any_state();
		if (!qp_state_may_change(state, next))
			break;
		state = next;
		if (steps == 3)
			REACHED("the longest sequence");
	}
	MUST("a sequence has fewer than five transitions", steps < QP_STATE_NR);
}
