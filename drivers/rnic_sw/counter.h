/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Counters of single queue pairs, "rdma statistic qp". */
#ifndef _RNIC_SW_COUNTER_H
#define _RNIC_SW_COUNTER_H

#include "rnic.h"

struct rdma_hw_stats;

/* Without driver data: the values are in struct rnic_counts */
struct rnic_qp_counter {
	struct rdma_counter	ib;
};

int rnic_counters_init(struct rnic_dev *dev);
void rnic_counters_exit(struct rnic_dev *dev);
void rnic_counters_fill(struct rnic_dev *dev, struct rdma_hw_stats *stats);
void rnic_qp_counts(struct rnic_qp *qp);
void rnic_qp_counted(struct rnic_qp *qp);

void rnic_counter_init(struct rdma_counter *counter);
int rnic_counter_bind(struct rdma_counter *counter, struct ib_qp *ib, u32 port);
int rnic_counter_unbind(struct ib_qp *ib, u32 port);
int rnic_counter_dealloc(struct rdma_counter *counter);
int rnic_counter_update(struct rdma_counter *counter);

#endif
