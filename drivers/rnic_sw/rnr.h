/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receiver not ready (RNR): let a peer's message wait until the program posts a receive, as
 * InfiniBand does, instead of sending a Terminate.
 */
#ifndef _RNIC_SW_RNR_H
#define _RNIC_SW_RNR_H

#include <ddp/pure.h>

struct rnic_qp;
struct rnic_rnr;
struct rnic_srq;

struct rnic_rnr *rnic_rnr_new(struct rnic_qp *qp);
void rnic_rnr_free(struct rnic_rnr *rnr);
void rnic_rnr_set_limit(struct rnic_rnr *rnr, u32 ms);
void rnic_rnr_check(struct rnic_rnr *rnr);

/* rq.c, srq.c: what rnr.c needs of the receive queues */
bool rnic_rq_has_recv(struct rnic_qp *qp);
bool rnic_rq_set_wakeup(struct rnic_qp *qp);
void rnic_rq_clear_wakeup(struct rnic_qp *qp);
bool rnic_srq_has_recv(struct rnic_srq *srq);

#endif
