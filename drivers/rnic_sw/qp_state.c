// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of ways between the states of a queue pair.
 *
 * What is not here is not allowed: nothing gets into RTS but from IDLE, and
 * nothing out of TERMINATE but to ERROR.  A queue pair in error may be used
 * again once its stream is gone and its queues are flushed.
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

static const struct qp_edge edges[QP_STATE_NR][QP_STATE_NR] = {
	[QP_IDLE] = {
		[QP_IDLE]	= { true },
		[QP_RTS]	= { true },
		[QP_ERROR]	= { true, QP_DO_FLUSH },
	},
	[QP_RTS] = {
		[QP_RTS]	= { true },
		[QP_CLOSING]	= { true, QP_DO_CLOSE },
		[QP_TERMINATE]	= { true },
		[QP_ERROR]	= { true, QP_DO_ABORT | QP_DO_FLUSH },
	},
	/* The graceful end has come, or will not */
	[QP_CLOSING] = {
		[QP_IDLE]	= { true, QP_DO_FLUSH },
		[QP_CLOSING]	= { true },
		[QP_TERMINATE]	= { true },
		[QP_ERROR]	= { true, QP_DO_ABORT | QP_DO_FLUSH },
	},
	/* Gracefully, so that the Terminate gets through (RFC 5040 6.2.1) */
	[QP_TERMINATE] = {
		[QP_TERMINATE]	= { true },
		[QP_ERROR]	= { true, QP_DO_CLOSE | QP_DO_FLUSH },
	},
	[QP_ERROR] = {
		[QP_IDLE]	= { true },
		[QP_ERROR]	= { true },
	},
};

/**
 * qp_edge - the way from one state to another
 * @from: where the queue pair is
 * @to: where it is to go; may be the same
 *
 * Return: the way, never NULL; if it is not legal the state must not change.
 */
const struct qp_edge *qp_edge(enum qp_state from, enum qp_state to)
{
	return &edges[from][to];
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
