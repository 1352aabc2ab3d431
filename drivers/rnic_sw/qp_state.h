/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The states of a queue pair and the ways between them. */
#ifndef _RNIC_SW_QP_STATE_H
#define _RNIC_SW_QP_STATE_H

#include <ddp/pure.h>

/**
 * enum qp_state - where a queue pair is
 * @QP_IDLE: has no stream; receives may be posted
 * @QP_RTS: has a stream, in RDMA mode
 * @QP_CLOSING: we began a graceful end, which has not come yet
 * @QP_TERMINATE: a Terminate is on its way, from us or to us: nothing else
 *	is sent or placed
 * @QP_ERROR: over; whatever is posted completes flushed
 * @QP_STATE_NR: how many there are
 */
enum qp_state {
	QP_IDLE,
	QP_RTS,
	QP_CLOSING,
	QP_TERMINATE,
	QP_ERROR,
	QP_STATE_NR
};

bool qp_state_may(enum qp_state from, enum qp_state to);
const char *qp_state_name(enum qp_state state);

#endif
