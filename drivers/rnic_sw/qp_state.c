// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of ways between the states of a queue pair.
 *
 * What is not here is not allowed: nothing gets into RTS but from IDLE, nothing
 * out of TERMINATE but to ERROR, and nothing out of ERROR: a queue pair has one
 * stream in its life.
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

static const u8 ways[QP_STATE_NR] = {
	[QP_IDLE]	= TO(QP_RTS) | TO(QP_ERROR),
	[QP_RTS]	= TO(QP_CLOSING) | TO(QP_TERMINATE) | TO(QP_ERROR),
	[QP_CLOSING]	= TO(QP_TERMINATE) | TO(QP_ERROR),
	[QP_TERMINATE]	= TO(QP_ERROR),
};

/**
 * qp_state_may - is there a way from one state to another?
 * @from: where the queue pair is
 * @to: another state
 *
 * Return: whether it may go there.
 */
bool qp_state_may(enum qp_state from, enum qp_state to)
{
	return ways[from] & TO(to);
}

/**
 * qp_state_name - what traces call a state
 * @state: the state
 *
 * Return: its name.
 */
const char *qp_state_name(enum qp_state state)
{
	return names[state];
}
