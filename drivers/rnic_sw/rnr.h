/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receiver not ready (RNR): let a peer's message wait until the program posts a receive, as
 * InfiniBand does, instead of sending a Terminate.
 */
#ifndef _RNIC_SW_RNR_H
#define _RNIC_SW_RNR_H

#include "rnic.h"

/* Get the state of the queue pair's waits for receives; NULL if no message may wait */
static inline struct rnic_rnr *rnic_qp_peek_rnr(const struct rnic_qp *qp)
{
	/* pairs with the release in rnic_rnr_enable(); litmus: publish */
	return smp_load_acquire(&qp->rnr);
}

int rnic_rnr_enable(struct rnic_qp *qp, u32 ms);
void rnic_rnr_reset(struct rnic_qp *qp);
void rnic_rnr_free(struct rnic_qp *qp);
void rnic_rnr_set_limit(struct rnic_qp *qp, u32 ms);
void rnic_rnr_end_wait_if_posted(struct rnic_qp *qp);
void rnic_rnr_wake_srq_waiters(struct rnic_srq *srq);

/* rq.c, srq.c: functions of the receive queues for rnr.c */
bool rnic_rq_should_end_rnr_wait(struct rnic_qp *qp);
bool rnic_rq_try_set_wakeup(struct rnic_qp *qp);
void rnic_rq_clear_wakeup(struct rnic_qp *qp);
bool rnic_srq_should_end_rnr_wait(struct rnic_srq *srq);
bool __rnic_srq_try_promise_recv(struct rnic_srq *srq);

#endif
