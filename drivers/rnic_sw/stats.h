/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Counters of a device, as "rdma statistic show" has them. */
#ifndef _RNIC_SW_STATS_H
#define _RNIC_SW_STATS_H

#include <linux/percpu.h>
#include <ddp/reason.h>

#include "rnic.h"

struct rdma_counter;

/* Behind these comes one counter for each enum iw_reason: ends of streams */
enum rnic_counter {
	RNIC_RX_WRITES,
	RNIC_RX_SENDS,
	RNIC_RX_READ_REQUESTS,
	RNIC_RX_READ_RESPONSES,
	RNIC_RX_TERMINATES,
	RNIC_RX_IMMEDIATES,
	RNIC_RX_ATOMIC_REQUESTS,
	RNIC_RX_ATOMIC_RESPONSES,
	RNIC_RX_EARLY,		/* segments placed before their turn */
	RNIC_RX_SEGMENTS,
	RNIC_RX_OCTETS,		/* of payload */
	RNIC_TX_WRITES,
	RNIC_TX_SENDS,
	RNIC_TX_READ_REQUESTS,
	RNIC_TX_READ_RESPONSES,
	RNIC_TX_TERMINATES,
	RNIC_TX_IMMEDIATES,
	RNIC_TX_ATOMIC_REQUESTS,
	RNIC_TX_ATOMIC_RESPONSES,
	RNIC_TX_SEGMENTS,
	RNIC_TX_OCTETS,
	RNIC_TX_RETRANSMITS,	/* of TCP's segments */
	RNIC_TX_GATHERS,	/* doorbells that waited for more posts */
	RNIC_CONNECTS,		/* sessions begun */
	RNIC_CONNECTS_SCTP,	/* ... over SCTP */
	RNIC_ACCEPTS,
	RNIC_REJECTS,
	RNIC_ODP_FAULTS,	/* a stream waited for memory */
	RNIC_ODP_FAULTS_FAILED,	/* ... in vain */
	RNIC_ODP_INVALIDATIONS,	/* pages were taken away */
	RNIC_ODP_PREFETCHES,
	RNIC_DMABUF_WAITS,	/* a stream waited for a shared buffer */
	RNIC_DMABUF_WAITS_FAILED, /* ... in vain */
	RNIC_DMABUF_MOVES,	/* one that was mapped was moved */
	RNIC_COUNTERS
};

#define RNIC_COUNTERS_ALL	(RNIC_COUNTERS + IW_REASON_NR)

/* Any context */
static inline void rnic_count(struct rnic_dev *dev, enum rnic_counter c)
{
	this_cpu_inc(dev->all.value[c]);
}

/* A queue pair's, in the set that it counts in; any context */
static inline void rnic_qp_count(struct rnic_qp *qp, int c, u64 n)
{
	rcu_read_lock();
	this_cpu_add(READ_ONCE(qp->counts)[c], n);
	rcu_read_unlock();
}

/* The same with BH off: a reader of RCU's without more ado */
static inline void rnic_qp_count_bh(struct rnic_qp *qp, int c, u64 n)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_bh_held(), "BH is on");
	this_cpu_add(READ_ONCE(qp->counts)[c], n);
}

static inline void rnic_count_reason(struct rnic_dev *dev, enum iw_reason why)
{
	this_cpu_inc(dev->all.value[RNIC_COUNTERS + why]);
}

void rnic_stats_init(void);
void rnic_stats_fill(const u64 __percpu *value, struct rdma_hw_stats *stats);
struct rdma_hw_stats *rnic_alloc_counter_stats(struct rdma_counter *counter);
struct rdma_hw_stats *rnic_alloc_hw_port_stats(struct ib_device *ib, u32 port);
int rnic_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
		      u32 port, int index);

#endif
