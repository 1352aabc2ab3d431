/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* States of a queue pair, and the permitted transitions. */
#ifndef _RNIC_SW_QP_STATE_H
#define _RNIC_SW_QP_STATE_H

#include <ddp/pure.h>

/**
 * enum qp_state - state of a queue pair
 * @QP_IDLE: the QP has no stream yet; the consumer may post receives
 * @QP_RTS: the stream is in RDMA mode (Full Operation)
 * @QP_CLOSING: a graceful close has started, and is not complete yet
 * @QP_TERMINATE: a Terminate is being sent or has been received; no other message is
 *	sent, and no received payload is placed
 * @QP_ERROR: the stream has ended, and posted WRs are flushed
 * @QP_STATE_NR: number of states
 */
enum qp_state {
	QP_IDLE,
	QP_RTS,
	QP_CLOSING,
	QP_TERMINATE,
	QP_ERROR,
	QP_STATE_NR
};

bool qp_state_may_change(enum qp_state from, enum qp_state to);
const char *qp_state_name(enum qp_state state);

#endif
