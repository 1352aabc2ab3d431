// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Table of queue pairs by number.
 *
 * Each PD takes the numbers of its queue pairs from random blocks, so that a program cannot
 * guess another program's numbers from its own numbers.  In addition, qp_owner.c checks
 * which task may connect a queue pair.
 *
 * Within a block the numbers are consecutive, and a PD uses up a block before it takes
 * the next one.  This saves memory, because each block in use needs one or two xarray
 * nodes of about 600 bytes in each xarray of queue pairs: the one of this file and those
 * of the core.
 *
 * All lookups but rnic_qp_lookup_noref() take a reference under the table's lock.  So
 * either the lookup fails, or the queue pair stays allocated for the caller.  A number is
 * reused only after the last reference to its queue pair is dropped.  So a holder of a
 * reference never finds another queue pair under the same number.
 */
#include <linux/random.h>

#include "rnic.h"

#define QPN_MASK	0xffffffu
#define QPN_MIN		2	/* InfiniBand reserves 0 and 1 */
#define QPN_BLOCK	64	/* numbers in a block, as many as an xarray node has entries */
/*
 * Numbers to try before creation of a QP fails.  Each failed try leads to another random
 * block.  The limit on the number of QPs (RNIC_QPS) ensures that at most one block in four has
 * its first number in use.  So the tries practically always find a free number.
 */
#define QPN_TRIES	64

#define LISTED		XA_MARK_0	/* mark of queue pairs that lookups can find */

/**
 * rnic_qp_table_init - initialize an empty table
 * @dev: the device
 */
void rnic_qp_table_init(struct rnic_dev *dev)
{
	xa_init_flags(&dev->qps, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
}

/*
 * Choose the next number of the PD's block or, after the last one, the first number of a
 * random block.  Concurrent callers may get the same number; rnic_qp_insert() then
 * succeeds for only one of them.
 */
static u32 rnic_qpn_choose(struct rnic_pd *pd)
{
	u32 qpn = READ_ONCE(pd->qpn_next);

	if (qpn % QPN_BLOCK == 0)
		qpn = get_random_u32() & QPN_MASK & -QPN_BLOCK;
	WRITE_ONCE(pd->qpn_next, qpn + 1);
	return qpn;
}

static int rnic_qp_insert(struct rnic_dev *dev, u32 qpn, struct rnic_qp *qp)
{
	int err;

	xa_lock_irq(&dev->qps);
	err = __xa_insert(&dev->qps, qpn, qp, GFP_KERNEL);
	if (!err)
		__xa_set_mark(&dev->qps, qpn, LISTED);
	xa_unlock_irq(&dev->qps);
	return err;
}

/**
 * rnic_qp_publish - assign a number to a queue pair and insert it into the table
 * @qp: the queue pair; must be completely initialized, because lookups can find it before
 *	this function returns
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_qp_publish(struct rnic_qp *qp)
{
	struct rnic_pd *pd = to_rnic_pd(qp->ib.pd);
	int tries, err = -EBUSY;

	for (tries = 0; tries < QPN_TRIES && err == -EBUSY; tries++) {
		qp->ib.qp_num = rnic_qpn_choose(pd);
		if (qp->ib.qp_num < QPN_MIN)
			continue;
		err = rnic_qp_insert(qp->dev, qp->ib.qp_num, qp);
		/* the number is in use, so try another block */
		if (err == -EBUSY)
			WRITE_ONCE(pd->qpn_next, 0);
	}
	return err ? -ENOMEM : 0;
}

/**
 * rnic_qp_unpublish - hide a queue pair from lookups
 * @qp: the queue pair; the caller must hold the initial reference
 *
 * The number stays reserved until rnic_qp_release_number() is called.
 */
void rnic_qp_unpublish(struct rnic_qp *qp)
{
	xa_lock_irq(&qp->dev->qps);
	__xa_clear_mark(&qp->dev->qps, qp->ib.qp_num, LISTED);
	xa_unlock_irq(&qp->dev->qps);
}

/**
 * rnic_qp_republish - let lookups find a queue pair again
 * @qp: the queue pair, after rnic_qp_unpublish()
 */
void rnic_qp_republish(struct rnic_qp *qp)
{
	xa_lock_irq(&qp->dev->qps);
	__xa_set_mark(&qp->dev->qps, qp->ib.qp_num, LISTED);
	xa_unlock_irq(&qp->dev->qps);
}

/**
 * rnic_qp_release_number - release the number of a queue pair
 * @qp: the queue pair; all references to it must have been dropped
 */
void rnic_qp_release_number(struct rnic_qp *qp)
{
	xa_erase_irq(&qp->dev->qps, qp->ib.qp_num);
}

/**
 * rnic_qp_find_get - look up a queue pair by number
 * @dev: the device
 * @qpn: queue pair number
 *
 * Context: any.
 *
 * Return: the queue pair with a reference taken; NULL if no queue pair has the number, or
 * if it is hidden from lookups.
 */
struct rnic_qp *rnic_qp_find_get(struct rnic_dev *dev, u32 qpn)
{
	struct rnic_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_get_mark(&dev->qps, qpn, LISTED) ? xa_load(&dev->qps, qpn) : NULL;
	if (qp)
		kref_get(&qp->ref);
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

/**
 * rnic_qp_lookup_noref - get the queue pair that has a number, even if hidden from lookups
 * @dev: the device
 * @qpn: number of a queue pair, to which a reference must be held
 *
 * Takes no reference.
 *
 * Return: the queue pair.
 */
struct rnic_qp *rnic_qp_lookup_noref(struct rnic_dev *dev, u32 qpn)
{
	return xa_load(&dev->qps, qpn);
}

/**
 * rnic_qp_find_get_next - look up the queue pair with the next higher number
 * @dev: the device
 * @qpn: in: number after which to search, 0 for the first search; out: number found
 *
 * Skips queue pairs that are hidden from lookups.
 *
 * Context: any.
 *
 * Return: the queue pair with a reference taken; NULL if there is none with a higher number.
 */
struct rnic_qp *rnic_qp_find_get_next(struct rnic_dev *dev, unsigned long *qpn)
{
	struct rnic_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_find_after(&dev->qps, qpn, ULONG_MAX, LISTED);
	if (qp)
		kref_get(&qp->ref);
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

static void rnic_qp_release(struct kref *ref)
{
	complete(container_of(ref, struct rnic_qp, ref)->released);
}

/**
 * rnic_qp_put - drop a reference to a queue pair
 * @qp: the queue pair; rnic_destroy_qp() waits until the last reference is dropped
 */
void rnic_qp_put(struct rnic_qp *qp)
{
	kref_put(&qp->ref, rnic_qp_release);
}
