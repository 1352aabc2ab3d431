// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Permitted state transitions of a queue pair.
 *
 * A queue pair has only one stream until it is reset, so RTS can only follow IDLE, and no state can
 * follow ERROR.  Only ERROR can follow TERMINATE.  qp_reset.c returns to IDLE without this table,
 * because no other context uses the queue pair then.
 */
#include <ddp/pure.h>

#include "qp_state.h"

static const char * const names[QP_STATE_NR] = {
	[QP_IDLE]	= "idle",
	[QP_RTS]	= "rts",
	[QP_CLOSING]	= "closing",
	[QP_TERMINATE]	= "terminate",
	[QP_ERROR]	= "error",
};

#define TO(state)	(1u << (state))

static const u8 transitions[QP_STATE_NR] = {
	[QP_IDLE]	= TO(QP_RTS) | TO(QP_ERROR),
	[QP_RTS]	= TO(QP_CLOSING) | TO(QP_TERMINATE) | TO(QP_ERROR),
	[QP_CLOSING]	= TO(QP_TERMINATE) | TO(QP_ERROR),
	[QP_TERMINATE]	= TO(QP_ERROR),
};

/**
 * qp_state_may_change - check whether a state transition is permitted
 * @from: current state
 * @to: new state
 *
 * Return: true if the transition is permitted; false if it is not, for example because
 * @from equals @to.
 */
bool qp_state_may_change(enum qp_state from, enum qp_state to)
{
	return transitions[from] & TO(to);
}

/**
 * qp_state_name - get the name of a state, for traces and queries
 * @state: the state
 *
 * Return: the name, a static string.
 */
const char *qp_state_name(enum qp_state state)
{
	return names[state];
}
