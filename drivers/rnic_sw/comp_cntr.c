// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion counters of programs: each has the number of operations that completed with success,
 * and the number of those that completed with an error.
 *
 * A QP that counts neither locks the counter nor takes a reference to it, because the counter
 * cannot disappear. An entry of a QP's table is set by rnic_qp_attach_comp_cntr() and stays until
 * the QP has been destroyed, and ib_core does not destroy a counter that is attached to a QP. A QP
 * that is being destroyed waits until no context can complete a request (rnic_destroy_qp()), and
 * then frees its table.
 */
#include <linux/bits.h>
#include <linux/slab.h>

#include "comp_cntr.h"

#define OPS_ALL		(BIT(RNIC_COMP_OPS) - 1)
#define OPS_PEER	(BIT(RNIC_COMP_PEER_READ) | BIT(RNIC_COMP_PEER_WRITE))

static_assert(BIT(RNIC_COMP_SEND) == IB_QP_ATTACH_COMP_CNTR_OP_SEND);
static_assert(BIT(RNIC_COMP_RECV) == IB_QP_ATTACH_COMP_CNTR_OP_RECV);
static_assert(BIT(RNIC_COMP_READ) == IB_QP_ATTACH_COMP_CNTR_OP_RDMA_READ);
static_assert(BIT(RNIC_COMP_PEER_READ) == IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ);
static_assert(BIT(RNIC_COMP_WRITE) == IB_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE);
static_assert(BIT(RNIC_COMP_PEER_WRITE) == IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE);

static struct rnic_comp_cntr *to_rnic_comp_cntr(struct ib_comp_cntr *ib)
{
	return container_of(ib, struct rnic_comp_cntr, ib);
}

/* Counting ------------------------------------------------------------------ */

/*
 * Add @n to an entry of the counter for @op, if there is one. Count nothing if the QP is being
 * destroyed or reset, because rnic_cq_post_cqe() drops the CQEs then.
 */
static void count_ops(struct rnic_qp *qp, enum rnic_comp_op op, enum ib_comp_cntr_entry entry,
		      u32 n)
{
	/* pairs with the release in rnic_qp_attach_comp_cntr(); litmus: publish */
	const struct rnic_comp_cntrs *cntrs = smp_load_acquire(&qp->comp_cntrs);
	struct rnic_comp_cntr *cntr;

	if (!cntrs || op == RNIC_COMP_NONE || READ_ONCE(qp->discarding))
		return;
	/* pairs with the release in rnic_qp_attach_comp_cntr(); litmus: publish */
	cntr = smp_load_acquire(&cntrs->of[op]);
	if (!cntr)
		return;
	/*
	 * Place the data of an operation before counting the operation. Pairs with the acquire
	 * in rnic_read_comp_cntr(): a program that has read the count finds the data.
	 * litmus: publish
	 */
	smp_mb__before_atomic();
	atomic64_add(n, &cntr->value[entry]);
}

static enum ib_comp_cntr_entry status_to_cntr_entry(u8 status)
{
	return status ? IB_COMP_CNTR_ENTRY_ERR : IB_COMP_CNTR_ENTRY_COMP;
}

/*
 * Get the operation of a WQE. The WQE may be invalid and then have any opcode. Atomics, binds and
 * invalidations are not counted: enum ib_qp_attach_comp_cntr_op has no bits for them.
 */
static enum rnic_comp_op opcode_to_comp_op(u8 opcode)
{
	switch (opcode) {
	case RNIC_SW_OP_SEND:
	case RNIC_SW_OP_SEND_INV:
		return RNIC_COMP_SEND;
	case RNIC_SW_OP_WRITE:
	case RNIC_SW_OP_WRITE_IMM:
		return RNIC_COMP_WRITE;
	case RNIC_SW_OP_READ:
		return RNIC_COMP_READ;
	default:
		return RNIC_COMP_NONE;
	}
}

/**
 * __rnic_count_send - count a completed send WR of a queue pair that has counters
 * @qp: the queue pair
 * @n: the WR; its status selects the entry of the counter
 *
 * Context: any.
 */
void __rnic_count_send(struct rnic_qp *qp, const struct rnic_swqe *n)
{
	count_ops(qp, opcode_to_comp_op(n->opcode), status_to_cntr_entry(n->status), 1);
}

/**
 * __rnic_count_recv - count a completed receive of a queue pair that has counters
 * @qp: the queue pair
 * @status: enum ib_wc_status of the completion; selects the entry of the counter
 *
 * Context: any.
 */
void __rnic_count_recv(struct rnic_qp *qp, u8 status)
{
	count_ops(qp, RNIC_COMP_RECV, status_to_cntr_entry(status), 1);
}

void rdmap_count_peer_ops(struct rdmap *r, u8 opcode, u32 n)
{
	count_ops(rdmap_to_qp(r),
		  opcode == RDMAP_OP_WRITE ? RNIC_COMP_PEER_WRITE : RNIC_COMP_PEER_READ,
		  IB_COMP_CNTR_ENTRY_COMP, n);
}

/* Verbs --------------------------------------------------------------------- */

/**
 * rnic_create_comp_cntr - create a completion counter whose values are 0 (device operation)
 * @ib: the counter, zeroed except for the fields that the core has set
 * @attrs: ignored; the command has no driver data
 *
 * Return: 0; -ENOMEM if the device has the maximum number of counters.
 */
int rnic_create_comp_cntr(struct ib_comp_cntr *ib, struct uverbs_attr_bundle *attrs)
{
	return rnic_charge_object(to_rnic_dev(ib->device), RNIC_COMP_CNTRS);
}

/**
 * rnic_destroy_comp_cntr - destroy a completion counter (device operation)
 * @ib: the counter; the core has checked that no queue pair counts in it
 *
 * Return: 0.
 */
int rnic_destroy_comp_cntr(struct ib_comp_cntr *ib)
{
	rnic_uncharge_object(to_rnic_dev(ib->device), RNIC_COMP_CNTRS);
	return 0;
}

/* @entry comes from the program, and the core does not check it */
static atomic64_t *find_cntr_value(struct ib_comp_cntr *ib, enum ib_comp_cntr_entry entry)
{
	switch (entry) {
	case IB_COMP_CNTR_ENTRY_COMP:
	case IB_COMP_CNTR_ENTRY_ERR:
		return &to_rnic_comp_cntr(ib)->value[entry];
	default:
		return NULL;
	}
}

/**
 * rnic_modify_comp_cntr - set or increase an entry of a completion counter (device operation)
 * @ib: the counter
 * @entry: which entry
 * @op: whether to set the entry to @value, or to add @value to it; a sum above 2^64 - 1 wraps
 * @value: the value
 *
 * Operations may complete on other CPUs meanwhile. Each of them is counted either before the
 * change or after it.
 *
 * Return: 0; -EINVAL if @entry or @op is unknown.
 */
int rnic_modify_comp_cntr(struct ib_comp_cntr *ib, enum ib_comp_cntr_entry entry,
			  enum ib_comp_cntr_modify_op op, u64 value)
{
	atomic64_t *v = find_cntr_value(ib, entry);

	if (!v)
		return -EINVAL;
	switch (op) {
	case IB_COMP_CNTR_MODIFY_OP_SET:
		atomic64_set(v, value);
		return 0;
	case IB_COMP_CNTR_MODIFY_OP_INC:
		atomic64_add(value, v);
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * rnic_read_comp_cntr - read an entry of a completion counter (device operation)
 * @ib: the counter
 * @entry: which entry
 * @value: set to the value
 *
 * Return: 0; -EINVAL if @entry is unknown.
 */
int rnic_read_comp_cntr(struct ib_comp_cntr *ib, enum ib_comp_cntr_entry entry, u64 *value)
{
	const atomic64_t *v = find_cntr_value(ib, entry);

	if (!v)
		return -EINVAL;
	/* read the count before the program reads the data, see count_ops(); litmus: publish */
	*value = atomic64_read_acquire(v);
	return 0;
}

/**
 * rnic_query_comp_cntr_caps - query the limits of completion counters (device operation)
 * @ib: the device
 * @caps: filled in
 * @attrs: ignored; NULL if the core calls this function for its own use
 *
 * Return: 0.
 */
int rnic_query_comp_cntr_caps(struct ib_device *ib, struct ib_comp_cntr_caps *caps,
			      struct uverbs_attr_bundle *attrs)
{
	*caps = (struct ib_comp_cntr_caps) {
		.max_value = U64_MAX,
		.max_counters = rnic_get_limit(RNIC_COMP_CNTRS),
		.supported_qp_attach_ops = OPS_ALL,
	};
	return 0;
}

/* Get the table of @qp, and allocate it before the first attach. Return: NULL if memory is short */
static struct rnic_comp_cntrs *get_or_alloc_cntr_table(struct rnic_qp *qp)
{
	struct rnic_comp_cntrs *cntrs = qp->comp_cntrs;

	if (cntrs)
		return cntrs;
	cntrs = kzalloc(sizeof(*cntrs), GFP_KERNEL_ACCOUNT);
	/*
	 * write the table before the pointer; pairs with the acquire in count_ops();
	 * litmus: publish
	 */
	smp_store_release(&qp->comp_cntrs, cntrs);
	return cntrs;
}

/**
 * rnic_qp_attach_comp_cntr - count the completions of operations in a counter (device operation)
 * @ib: the queue pair, in any state; the core calls this function for one counter at a time, and
 *	refuses an operation that has a counter already
 * @cntr: the counter, of the same program
 * @attr: mask of enum ib_qp_attach_comp_cntr_op
 *
 * Operations are counted when they complete, also those that were posted before. There is no
 * detach: the counter remains attached until the queue pair has been destroyed.
 *
 * Return: 0; -EOPNOTSUPP if the mask has an unknown operation; -ENOMEM.
 */
int rnic_qp_attach_comp_cntr(struct ib_qp *ib, struct ib_comp_cntr *cntr,
			     struct ib_qp_attach_comp_cntr_attr *attr)
{
	struct rnic_qp *qp = to_rnic_qp(ib);
	struct rnic_comp_cntrs *cntrs;
	int op;

	if (attr->op_mask & ~OPS_ALL)
		return -EOPNOTSUPP;
	cntrs = get_or_alloc_cntr_table(qp);
	if (!cntrs)
		return -ENOMEM;
	for (op = 0; op < RNIC_COMP_OPS; op++)
		if (attr->op_mask & BIT(op))
			/* pairs with the acquire in count_ops(); litmus: publish */
			smp_store_release(&cntrs->of[op], to_rnic_comp_cntr(cntr));
	if (attr->op_mask & OPS_PEER)
		WRITE_ONCE(qp->rdmap.peer_ops_counted, true);
	return 0;
}
