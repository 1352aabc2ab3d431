/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Counters of a device and of single queue pairs, which "rdma statistic show" and
 * "rdma statistic qp" display.
 */
#ifndef _RNIC_SW_COUNTERS_H
#define _RNIC_SW_COUNTERS_H

#include <linux/percpu.h>
#include <ddp/reason.h>

#include "rnic.h"

/* The core's rdma_counter; its values are in the set with the same id in rnic_dev.sets */
struct rnic_qp_counter {
	struct rdma_counter	ib;
};

/* Indices of the counters in a set.  A counter for each enum iw_reason follows them. */
enum rnic_counter {
	RNIC_RX_WRITES,
	RNIC_RX_SENDS,
	RNIC_RX_READ_REQUESTS,
	RNIC_RX_READ_RESPONSES,
	RNIC_RX_TERMINATES,
	RNIC_RX_IMMEDIATES,
	RNIC_RX_ATOMIC_REQUESTS,
	RNIC_RX_ATOMIC_RESPONSES,
	RNIC_RX_EARLY,		/* segments placed out of order (SCTP) */
	RNIC_RX_SEGMENTS,
	RNIC_RX_BYTES,		/* payload bytes */
	RNIC_TX_WRITES,
	RNIC_TX_SENDS,
	RNIC_TX_READ_REQUESTS,
	RNIC_TX_READ_RESPONSES,
	RNIC_TX_TERMINATES,
	RNIC_TX_IMMEDIATES,
	RNIC_TX_ATOMIC_REQUESTS,
	RNIC_TX_ATOMIC_RESPONSES,
	RNIC_TX_SEGMENTS,
	RNIC_TX_BYTES,		/* payload bytes */
	RNIC_TX_RETRANSMITS,	/* TCP segments retransmitted */
	RNIC_TX_COALESCED,	/* coalescing periods, see db_moderation.h */
	/* sessions that rnic_iw_connect() started, and streams that rdv_session.c connected */
	RNIC_CONNECTS,
	RNIC_CONNECTS_SCTP,	/* sessions in RNIC_CONNECTS that use SCTP */
	RNIC_CONNECTS_PLAIN,	/* sessions in RNIC_CONNECTS that fell back to MPA revision 1 */
	RNIC_ACCEPTS,		/* connection requests accepted */
	RNIC_REJECTS,		/* connection requests rejected */
	RNIC_RDV_REFUSED,	/* peers' requests to the rendezvous port that no QP waited for */
	RNIC_ODP_FAULTS,	/* page faults of streams on ODP memory */
	RNIC_ODP_FAULTS_FAILED,	/* failed page faults on ODP memory */
	RNIC_ODP_INVALIDATIONS,	/* MMU notifications that invalidated ODP pages */
	RNIC_ODP_PREFETCHES,	/* ranges in prefetch requests of programs */
	RNIC_DMABUF_WAITS,	/* page faults of streams on dma-bufs */
	RNIC_DMABUF_WAITS_FAILED, /* failed page faults on dma-bufs */
	RNIC_DMABUF_MOVES,	/* moves of mapped dma-bufs by the exporter */
	RNIC_COUNTERS
};

#define RNIC_COUNTERS_ALL	(RNIC_COUNTERS + IW_REASON_NR)

/* Increment counter @c of the device's own set.  Any context. */
static inline void rnic_inc_counter(struct rnic_dev *dev, enum rnic_counter c)
{
	this_cpu_inc(dev->default_set.value[c]);
}

/* Add @n to counter @c of the queue pair's set.  Any context */
static inline void rnic_qp_add_to_counter(struct rnic_qp *qp, int c, u64 n)
{
	rcu_read_lock();
	this_cpu_add(READ_ONCE(qp->counts)[c], n);
	rcu_read_unlock();
}

/*
 * Add @n to counter @c of the queue pair's set.  The caller must have BH off, which protects
 * the set like rcu_read_lock().
 */
static inline void rnic_qp_add_to_counter_bh(struct rnic_qp *qp, int c, u64 n)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_bh_held(), "BH is on");
	this_cpu_add(READ_ONCE(qp->counts)[c], n);
}

static inline void rnic_count_reason(struct rnic_dev *dev, enum iw_reason why)
{
	this_cpu_inc(dev->default_set.value[RNIC_COUNTERS + why]);
}

void rnic_init_counter_names(void);
int rnic_counters_init(struct rnic_dev *dev);
void rnic_counters_exit(struct rnic_dev *dev);
void rnic_qp_counters_attach(struct rnic_qp *qp);
void rnic_qp_counters_detach(struct rnic_qp *qp);
void rnic_qp_count_new_retransmits(struct rnic_qp *qp);
void rnic_qp_reset_retransmits(struct rnic_qp *qp);

struct rdma_hw_stats *rnic_alloc_hw_port_stats(struct ib_device *ib, u32 port);
int rnic_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
		      u32 port, int index);

struct rdma_hw_stats *rnic_alloc_counter_stats(struct rdma_counter *counter);
void rnic_counter_init(struct rdma_counter *counter);
int rnic_counter_bind(struct rdma_counter *counter, struct ib_qp *ib, u32 port);
int rnic_counter_unbind(struct ib_qp *ib, u32 port);
int rnic_counter_dealloc(struct rdma_counter *counter);
int rnic_counter_update(struct rdma_counter *counter);

#endif
