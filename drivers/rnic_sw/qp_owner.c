// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ownership of queue pairs: check which task may connect a queue pair, and remember the
 * control group that is charged for it.
 *
 * When a program connects, it specifies a queue pair by its number, and rdma_cm does not check
 * this number.  Without the check in this file, a program could connect another program's
 * queue pair to a peer of its choice.  That peer could then access the other program's
 * memory.
 *
 * * A program's queue pair may be connected by a process that has the same mm, or that has
 *   the same IDs and at least the same capabilities in the same PID namespace, for example
 *   a child process.  The PID namespace is compared because containers may share the host's
 *   network and user namespaces, and the processes of all these containers may run as root.
 * * A kernel consumer's queue pair may be connected only by the thread that has just moved it to
 *   RTR with ib_modify_qp(), which no program can do. rdma_connect() and rdma_accept() call
 *   ib_modify_qp() before they call iw_cm, if the queue pair was created with rdma_create_qp().
 *   A consumer that uses ib_create_qp() must call ib_modify_qp() itself.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>

#include "rnic.h"

/**
 * rnic_qp_owner_init - make the current process the owner of its new queue pair
 * @qp: queue pair being created; a kernel consumer's queue pair gets no owner
 */
void rnic_qp_owner_init(struct rnic_qp *qp)
{
	if (!rnic_qp_is_user(qp))
		return;
	/*
	 * take a reference: if the mm_struct were freed, that of another process could
	 * get the same address, and the other process would pass the check
	 */
	mmgrab(current->mm);
	qp->owner.mm = current->mm;
	qp->owner.cred = get_current_cred();
	qp->owner.pid_ns = get_pid_ns(task_active_pid_ns(current));
	qp->owner.memcg = get_mem_cgroup_from_mm(current->mm);
}

/**
 * rnic_qp_owner_exit - drop the references to the owner of a queue pair
 * @qp: queue pair being freed; lookups by number must no longer find it
 */
void rnic_qp_owner_exit(struct rnic_qp *qp)
{
	if (!rnic_qp_is_user(qp)) {
		put_pid(qp->owner.authorized);
		return;
	}
	mem_cgroup_put(qp->owner.memcg);
	put_pid_ns(qp->owner.pid_ns);
	put_cred(qp->owner.cred);
	mmdrop(qp->owner.mm);
}

static bool cred_matches_owner(const struct cred *us, const struct cred *maker)
{
	return us->user_ns == maker->user_ns &&
	       uid_eq(us->uid, maker->uid) && uid_eq(us->euid, maker->euid) &&
	       uid_eq(us->suid, maker->suid) &&
	       gid_eq(us->gid, maker->gid) && gid_eq(us->egid, maker->egid) &&
	       gid_eq(us->sgid, maker->sgid) &&
	       cap_issubset(maker->cap_permitted, us->cap_permitted);
}

static struct pid *swap_authorized_thread(struct rnic_qp *qp, struct pid *pid)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	swap(qp->owner.authorized, pid);
	spin_unlock_irqrestore(&qp->lock, flags);
	return pid;
}

/**
 * rnic_qp_grant_or_revoke_authorization - authorize the current thread, or revoke an authorization
 * @qp: the queue pair; nothing is done if the queue pair belongs to a program
 * @to: state to which the kernel consumer is moving the queue pair
 *
 * If @to is RTR, authorizes the current thread to connect the queue pair once.  If @to is
 * another state, revokes the authorization of any thread.
 */
void rnic_qp_grant_or_revoke_authorization(struct rnic_qp *qp, enum ib_qp_state to)
{
	if (!rnic_qp_is_user(qp))
		put_pid(swap_authorized_thread(qp, to == IB_QPS_RTR ?
					 get_pid(task_pid(current)) : NULL));
}

static bool is_current_thread_authorized(struct rnic_qp *qp)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&qp->lock, flags);
	mine = qp->owner.authorized == task_pid(current);
	spin_unlock_irqrestore(&qp->lock, flags);
	return mine;
}

/*
 * Revoke the authorization if it is that of the current thread.  Return: true if it was,
 * false if not
 */
static bool try_consume_authorization(struct rnic_qp *qp)
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
 * rnic_current_may_connect_qp - check whether the current task may connect a queue pair
 * @qp: the queue pair
 *
 * Does not consume the authorization that rnic_qp_grant_or_revoke_authorization() gave.
 *
 * Context: the task that passed the number of the queue pair; the caller may hold locks.
 *
 * Return: true if the current task owns a program's queue pair, or is authorized to
 * connect a kernel consumer's queue pair; false otherwise.
 */
bool rnic_current_may_connect_qp(struct rnic_qp *qp)
{
	if (!rnic_qp_is_user(qp))
		return is_current_thread_authorized(qp);
	if (current->flags & PF_KTHREAD)
		return false;
	return current->mm == qp->owner.mm ||
	       (task_active_pid_ns(current) == qp->owner.pid_ns &&
		cred_matches_owner(current_cred(), qp->owner.cred));
}

/**
 * rnic_qp_try_consume_connect_right - check and consume the right to connect a queue pair
 * @qp: queue pair whose number was passed in a connect or accept
 *
 * If the queue pair belongs to a kernel consumer, consumes the authorization that
 * rnic_qp_grant_or_revoke_authorization() gave, so a second call returns false.
 *
 * Return: true if the current task may connect the queue pair, false if not.
 */
bool rnic_qp_try_consume_connect_right(struct rnic_qp *qp)
{
	return rnic_qp_is_user(qp) ?
	       rnic_current_may_connect_qp(qp) : try_consume_authorization(qp);
}
