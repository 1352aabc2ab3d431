/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Completion counters: a program creates a counter and attaches it to operations of its queue
 * pairs. The counter then counts the completions of these operations, and a program need not poll
 * CQEs to learn how many requests have completed. See comp_cntr.c.
 */
#ifndef _RNIC_SW_COMP_CNTR_H
#define _RNIC_SW_COMP_CNTR_H

#include <linux/atomic.h>

#include "rnic.h"

/* Operations that can be counted: the bit numbers of enum ib_qp_attach_comp_cntr_op */
enum rnic_comp_op {
	RNIC_COMP_SEND,
	RNIC_COMP_RECV,
	RNIC_COMP_READ,
	RNIC_COMP_PEER_READ,
	RNIC_COMP_WRITE,
	RNIC_COMP_PEER_WRITE,
	RNIC_COMP_OPS,
	RNIC_COMP_NONE = RNIC_COMP_OPS	/* operation that is not counted */
};

struct rnic_comp_cntr {
	struct ib_comp_cntr	ib;
	/*
	 * Indexed by enum ib_comp_cntr_entry. The values are not per CPU, because a program can set
	 * a value while operations complete on other CPUs, and several per-CPU values cannot be set
	 * atomically. A shared value costs little: most counters have one writer at a time, because
	 * the requests of a QP complete in order.
	 */
	atomic64_t		value[2];
};

/* Counter of each operation of a QP; NULL if none. An entry is set once and never cleared. */
struct rnic_comp_cntrs {
	struct rnic_comp_cntr	*of[RNIC_COMP_OPS];
};

void __rnic_count_send(struct rnic_qp *qp, const struct rnic_swqe *n);
void __rnic_count_recv(struct rnic_qp *qp, u8 status);

/*
 * Count a completed send WR, signaled or not, before its CQE is written: a program that has
 * polled the CQE then finds the WR counted. Context: any.
 */
static inline void rnic_count_send(struct rnic_qp *qp, const struct rnic_swqe *n)
{
	if (unlikely(READ_ONCE(qp->comp_cntrs)))
		__rnic_count_send(qp, n);
}

/* Count a receive that completes with @status, before its CQE is written. Context: any. */
static inline void rnic_count_recv(struct rnic_qp *qp, u8 status)
{
	if (unlikely(READ_ONCE(qp->comp_cntrs)))
		__rnic_count_recv(qp, status);
}

int rnic_create_comp_cntr(struct ib_comp_cntr *ib, struct uverbs_attr_bundle *attrs);
int rnic_destroy_comp_cntr(struct ib_comp_cntr *ib);
int rnic_modify_comp_cntr(struct ib_comp_cntr *ib, enum ib_comp_cntr_entry entry,
			  enum ib_comp_cntr_modify_op op, u64 value);
int rnic_read_comp_cntr(struct ib_comp_cntr *ib, enum ib_comp_cntr_entry entry, u64 *value);
int rnic_query_comp_cntr_caps(struct ib_device *ib, struct ib_comp_cntr_caps *caps,
			      struct uverbs_attr_bundle *attrs);
int rnic_qp_attach_comp_cntr(struct ib_qp *ib, struct ib_comp_cntr *cntr,
			     struct ib_qp_attach_comp_cntr_attr *attr);

#endif
