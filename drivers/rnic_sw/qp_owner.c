// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whose a queue pair is: who may connect it, and who pays for it.
 *
 * A connection manager is told a number, by anybody.  rdma_cm checks nothing:
 * a program says the number of its queue pair itself.  What is connected to a
 * stranger's peer opens its memory to that peer, so:
 *
 * * A program's queue pair is connected by that program: by a process that has
 *   its memory, or one with the same rights (a child, say).
 * * A kernel consumer's is connected by the thread that has just moved it to
 *   RTR, in the kernel, for that is what rdma_cm does in rdma_connect() and
 *   rdma_accept() of a queue pair made by rdma_create_qp(), right before it
 *   calls iw_cm.  No program can do so.  One that was made with
 *   ib_create_qp() and is named by number is refused.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>

#include "rnic.h"

/**
 * rnic_qp_owner_init - it belongs to who makes it
 * @qp: being made
 */
void rnic_qp_owner_init(struct rnic_qp *qp)
{
	if (!rnic_qp_is_user(qp))
		return;
	/* held, so that no other process gets the same address */
	mmgrab(current->mm);
	qp->owner.mm = current->mm;
	qp->owner.cred = get_current_cred();
	qp->owner.memcg = get_mem_cgroup_from_mm(current->mm);
}

/**
 * rnic_qp_owner_exit - it belongs to nobody any more
 * @qp: not findable any more
 */
void rnic_qp_owner_exit(struct rnic_qp *qp)
{
	put_pid(qp->owner.vouched);
	if (!rnic_qp_is_user(qp))
		return;
	mem_cgroup_put(qp->owner.memcg);
	put_cred(qp->owner.cred);
	mmdrop(qp->owner.mm);
}

static bool same_rights(const struct cred *us, const struct cred *maker)
{
	return us->user_ns == maker->user_ns &&
	       uid_eq(us->uid, maker->uid) && uid_eq(us->euid, maker->euid) &&
	       uid_eq(us->suid, maker->suid) &&
	       gid_eq(us->gid, maker->gid) && gid_eq(us->egid, maker->egid) &&
	       gid_eq(us->sgid, maker->sgid) &&
	       cap_issubset(maker->cap_permitted, us->cap_permitted);
}

static struct pid *swap_vouched(struct rnic_qp *qp, struct pid *pid)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	swap(qp->owner.vouched, pid);
	spin_unlock_irqrestore(&qp->lock, flags);
	return pid;
}

/**
 * rnic_qp_vouch - a kernel consumer changes the state of its queue pair
 * @qp: the queue pair
 * @to: to what
 *
 * RTR: the caller is about to connect it.  Anything else: nobody is.
 */
void rnic_qp_vouch(struct rnic_qp *qp, enum ib_qp_state to)
{
	if (!rnic_qp_is_user(qp))
		put_pid(swap_vouched(qp, to == IB_QPS_RTR ?
					 get_pid(task_pid(current)) : NULL));
}

static bool rnic_qp_has_word(struct rnic_qp *qp)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&qp->lock, flags);
	mine = qp->owner.vouched == task_pid(current);
	spin_unlock_irqrestore(&qp->lock, flags);
	return mine;
}

/* The word of this thread; another's stays */
static bool rnic_qp_take_word(struct rnic_qp *qp)
{
	struct pid *me = task_pid(current);
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&qp->lock, flags);
	mine = qp->owner.vouched == me;
	if (mine)
		qp->owner.vouched = NULL;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (mine)
		put_pid(me);
	return mine;
}

/**
 * rnic_qp_is_callers - may the caller speak of a queue pair as its own?
 * @qp: the queue pair
 *
 * A kernel consumer's word stays.  Any context of the caller's.
 *
 * Return: whether it may.
 */
bool rnic_qp_is_callers(struct rnic_qp *qp)
{
	if (!rnic_qp_is_user(qp))
		return rnic_qp_has_word(qp);
	return !(current->flags & PF_KTHREAD) &&
	       (current->mm == qp->owner.mm ||
		same_rights(current_cred(), qp->owner.cred));
}

/**
 * rnic_qp_may_connect - may the caller connect or accept with a queue pair?
 * @qp: the queue pair
 *
 * A kernel consumer's word counts once.
 *
 * Return: whether it may.
 */
bool rnic_qp_may_connect(struct rnic_qp *qp)
{
	return rnic_qp_is_user(qp) ? rnic_qp_is_callers(qp) : rnic_qp_take_word(qp);
}
