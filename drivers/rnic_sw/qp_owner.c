// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ownership of queue pairs: which task may connect one, and which control group
 * is charged for it.
 *
 * Programs name the queue pair to be connected by number, and rdma_cm does not
 * check the number.  A program that connected another program's queue pair
 * would open that program's memory to a peer of its own choice.  So:
 *
 * * A program's queue pair may be connected by a process with the same mm, or
 *   with the same credentials (a child, for example).
 * * A kernel consumer's queue pair may be connected, in the kernel, by the
 *   thread that has just moved it to RTR.  rdma_connect() and rdma_accept() do
 *   that right before they call iw_cm, for a queue pair made by
 *   rdma_create_qp().  No program can.  A queue pair made by ib_create_qp() and
 *   named by number is refused.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>

#include "rnic.h"

/**
 * rnic_qp_owner_init - make the current process the owner
 * @qp: queue pair being created; nothing is done for a kernel consumer's
 */
void rnic_qp_owner_init(struct rnic_qp *qp)
{
	if (!rnic_qp_is_user(qp))
		return;
	/* referenced, so that no other process gets an mm at the same address */
	mmgrab(current->mm);
	qp->owner.mm = current->mm;
	qp->owner.cred = get_current_cred();
	qp->owner.memcg = get_mem_cgroup_from_mm(current->mm);
}

/**
 * rnic_qp_owner_exit - drop the references on the owner
 * @qp: queue pair being freed, no longer in the table
 */
void rnic_qp_owner_exit(struct rnic_qp *qp)
{
	put_pid(qp->owner.authorized);
	if (!rnic_qp_is_user(qp))
		return;
	mem_cgroup_put(qp->owner.memcg);
	put_cred(qp->owner.cred);
	mmdrop(qp->owner.mm);
}

static bool has_same_rights(const struct cred *us, const struct cred *maker)
{
	return us->user_ns == maker->user_ns &&
	       uid_eq(us->uid, maker->uid) && uid_eq(us->euid, maker->euid) &&
	       uid_eq(us->suid, maker->suid) &&
	       gid_eq(us->gid, maker->gid) && gid_eq(us->egid, maker->egid) &&
	       gid_eq(us->sgid, maker->sgid) &&
	       cap_issubset(maker->cap_permitted, us->cap_permitted);
}

static struct pid *swap_authorized(struct rnic_qp *qp, struct pid *pid)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	swap(qp->owner.authorized, pid);
	spin_unlock_irqrestore(&qp->lock, flags);
	return pid;
}

/**
 * rnic_qp_authorize - authorize the current thread, or revoke an authorization
 * @qp: the queue pair; nothing is done for a program's
 * @to: state that the consumer moves it to
 *
 * Moving to RTR authorizes the current thread to connect the queue pair once.
 * Any other state revokes the authorization of every thread.
 */
void rnic_qp_authorize(struct rnic_qp *qp, enum ib_qp_state to)
{
	if (!rnic_qp_is_user(qp))
		put_pid(swap_authorized(qp, to == IB_QPS_RTR ?
					 get_pid(task_pid(current)) : NULL));
}

static bool rnic_qp_is_authorized(struct rnic_qp *qp)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&qp->lock, flags);
	mine = qp->owner.authorized == task_pid(current);
	spin_unlock_irqrestore(&qp->lock, flags);
	return mine;
}

/* Consume the authorization if it is the current thread's */
static bool rnic_qp_consume_auth(struct rnic_qp *qp)
{
	struct pid *me = task_pid(current);
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&qp->lock, flags);
	mine = qp->owner.authorized == me;
	if (mine)
		qp->owner.authorized = NULL;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (mine)
		put_pid(me);
	return mine;
}

/**
 * rnic_qp_is_callers - check whether the current task owns a queue pair
 * @qp: the queue pair
 *
 * Does not consume the authorization of a kernel consumer's thread.
 *
 * Context: the task that named the queue pair; locks may be held.
 *
 * Return: true if the queue pair is the current task's, false if not.
 */
bool rnic_qp_is_callers(struct rnic_qp *qp)
{
	if (!rnic_qp_is_user(qp))
		return rnic_qp_is_authorized(qp);
	return !(current->flags & PF_KTHREAD) &&
	       (current->mm == qp->owner.mm ||
		has_same_rights(current_cred(), qp->owner.cred));
}

/**
 * rnic_qp_may_connect - check whether the current task may connect a queue pair
 * @qp: the queue pair, named in a connect or accept
 *
 * Consumes the authorization of a kernel consumer's thread.
 *
 * Return: true if it may be connected, false if not.
 */
bool rnic_qp_may_connect(struct rnic_qp *qp)
{
	return rnic_qp_is_user(qp) ? rnic_qp_is_callers(qp) : rnic_qp_consume_auth(qp);
}
