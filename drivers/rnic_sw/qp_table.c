// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pairs by number.
 *
 * Nobody can tell from his own numbers which others there are, besides that whoever
 * names one to a connection manager is asked whose it is (qp_owner.c).  Those of one
 * protection domain lie side by side all the same: each table by number, this one and
 * the core's, has a node of 600 octets or two for each block of numbers in use.
 *
 * Whoever finds a queue pair gets a count with it, under the table's lock, so that one
 * which is not to be found any more is found and held, or neither.  Its number stays its
 * own as long as anybody counts it: whom a number means does not change for who has held
 * it all the time.
 */
#include <linux/random.h>

#include "rnic.h"

#define QPN_MASK	0xffffffu
#define QPN_MIN		2	/* 0 and 1 mean something to InfiniBand */
#define QPN_BLOCK	64	/* what a node of a table has */
#define QPN_TRIES	64	/* in vain if nearly all of 2^24 are in use */

#define LISTED		XA_MARK_0	/* can be found */

/**
 * rnic_qp_table_init - an empty table
 * @dev: the device
 */
void rnic_qp_table_init(struct rnic_dev *dev)
{
	xa_init_flags(&dev->qps, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
}

/* The next number of a block, or the first of any block.  Two at once may get the same. */
static u32 rnic_qpn_next(struct rnic_pd *pd)
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
 * rnic_qp_publish - give a queue pair a number
 * @qp: complete: from here on it can be found
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_qp_publish(struct rnic_qp *qp)
{
	struct rnic_pd *pd = to_rnic_pd(qp->ib.pd);
	int tries, err = -EBUSY;

	for (tries = 0; tries < QPN_TRIES && err == -EBUSY; tries++) {
		qp->ib.qp_num = rnic_qpn_next(pd);
		if (qp->ib.qp_num < QPN_MIN)
			continue;
		err = rnic_qp_insert(qp->dev, qp->ib.qp_num, qp);
		/* somebody else's block */
		if (err == -EBUSY)
			WRITE_ONCE(pd->qpn_next, 0);
	}
	return err ? -ENOMEM : 0;
}

/**
 * rnic_qp_unpublish - nobody finds a queue pair any more
 * @qp: the queue pair; its maker's count keeps it until then
 */
void rnic_qp_unpublish(struct rnic_qp *qp)
{
	xa_lock_irq(&qp->dev->qps);
	__xa_clear_mark(&qp->dev->qps, qp->ib.qp_num, LISTED);
	xa_unlock_irq(&qp->dev->qps);
}

/**
 * rnic_qp_unnumber - its number may be another's
 * @qp: the queue pair, which nobody counts any more
 */
void rnic_qp_unnumber(struct rnic_qp *qp)
{
	xa_erase_irq(&qp->dev->qps, qp->ib.qp_num);
}

/**
 * rnic_qp_find - a queue pair by number
 * @dev: the device
 * @qpn: the number
 *
 * Any context.
 *
 * Return: the queue pair, counted, or NULL.
 */
struct rnic_qp *rnic_qp_find(struct rnic_dev *dev, u32 qpn)
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
 * rnic_qp_numbered - whose number that is
 * @dev: the device
 * @qpn: the number of a queue pair that somebody counts for the caller; it may be one
 *	that nobody finds any more
 *
 * Return: the queue pair, not counted once more.
 */
struct rnic_qp *rnic_qp_numbered(struct rnic_dev *dev, u32 qpn)
{
	return xa_load(&dev->qps, qpn);
}

/* The next one by number, counted */
static struct rnic_qp *next_qp(struct rnic_dev *dev, unsigned long *qpn)
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

/**
 * rnic_qps_error - all queue pairs of a device move to error
 * @dev: the device
 * @why: the reason
 *
 * Any context that may be preempted.  The connections end by themselves.
 */
void rnic_qps_error(struct rnic_dev *dev, enum iw_reason why)
{
	unsigned long qpn = 0;
	struct rnic_qp *qp;

	while ((qp = next_qp(dev, &qpn))) {
		rnic_qp_error(qp, why);
		rnic_qp_put(qp);
		cond_resched();
	}
}

/**
 * rnic_qps_flush - kernel consumers are told of the end of all that they wait for
 * @dev: the device
 * @why: the reason, where there is none yet
 *
 * Waits for the flush of each queue pair; a program's nobody waits for.  Process
 * context, not from rnic_wq.
 */
void rnic_qps_flush(struct rnic_dev *dev, enum iw_reason why)
{
	unsigned long qpn = 0;
	struct rnic_qp *qp;

	while ((qp = next_qp(dev, &qpn))) {
		if (!rnic_qp_is_user(qp)) {
			rnic_qp_error(qp, why);
			/* whoever failed it first may not have got so far */
			rnic_qp_reflush(qp);
			flush_work(&qp->err_work);
			rnic_sq_flushed(qp);
		}
		rnic_qp_put(qp);
	}
}

static void rnic_qp_release(struct kref *ref)
{
	complete(&container_of(ref, struct rnic_qp, ref)->gone);
}

/**
 * rnic_qp_put - let a queue pair go
 * @qp: the queue pair; who destroys it waits for the last one
 */
void rnic_qp_put(struct rnic_qp *qp)
{
	kref_put(&qp->ref, rnic_qp_release);
}
