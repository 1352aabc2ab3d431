// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Abort the connects of programs that are exiting.
 *
 * An exiting program closes its rdma_cm ID, and iw_cm then waits, uninterruptibly, until the
 * driver has reported the result of a connect in progress.  Destroying the program's QP would
 * abort the connect, but the kernel may close the ID first and destroy the QP only afterwards.
 * So without this file the program could not exit before the peer has replied or a timeout of the
 * LLP has expired.
 *
 * iw_cm does not notify the driver that it waits, so a work item checks periodically whether the
 * programs that connect are exiting.
 */
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "cm.h"

#define CHECK_INTERVAL	HZ	/* time between two checks, in jiffies */

/*
 * Check whether the program that connects is exiting: its process is being killed or has called
 * exit_group(), or no thread uses its address space any more.  If a child process connects a QP
 * that its parent has created, the child may exit while the parent waits for the result.
 * Therefore return false as long as the address space of the QP's creator is in use.
 */
static bool is_program_exiting(const struct rnic_ep *ep)
{
	const struct mm_struct *owner = ep->qp->owner.mm;
	const struct task_struct *task;
	bool exiting;

	if (owner != ep->connector.mm && atomic_read(&owner->mm_users))
		return false;

	rcu_read_lock();
	task = pid_task(ep->connector.pid, PIDTYPE_TGID);
	exiting = !task || READ_ONCE(task->signal->flags) & SIGNAL_GROUP_EXIT;
	rcu_read_unlock();
	return exiting || !atomic_read(&ep->connector.mm->mm_users);
}

/*
 * Take the first endpoint of the list and move it to the end.  Return: its QP, referenced, if the
 * program is exiting; otherwise NULL.
 */
static struct rnic_qp *rotate_and_get_qp_of_exiting_program(struct rnic_llps *llps)
{
	struct rnic_qp *qp = NULL;
	struct rnic_ep *ep;

	spin_lock(&llps->lock);
	ep = list_first_entry_or_null(&llps->connects, struct rnic_ep, connector.list);
	if (ep) {
		list_move_tail(&ep->connector.list, &llps->connects);
		if (is_program_exiting(ep)) {
			qp = ep->qp;
			kref_get(&qp->ref);
		}
	}
	spin_unlock(&llps->lock);
	return qp;
}

static void rnic_connect_watch_work(struct work_struct *w)
{
	struct rnic_llps *llps = container_of(to_delayed_work(w), struct rnic_llps, watch);
	u32 n = READ_ONCE(llps->n_connects);
	struct rnic_qp *qp;

	for (; n; n--) {
		qp = rotate_and_get_qp_of_exiting_program(llps);
		if (qp) {
			rnic_qp_fail(qp, IW_LOCAL_ABORT);
			rnic_qp_put(qp);
		}
		cond_resched();
	}
	if (READ_ONCE(llps->n_connects))
		schedule_delayed_work(&llps->watch, CHECK_INTERVAL);
}

/**
 * rnic_connect_watch_init - initialize the list of pending connects of a device
 * @llps: LLPs of the device
 */
void rnic_connect_watch_init(struct rnic_llps *llps)
{
	INIT_LIST_HEAD(&llps->connects);
	INIT_DELAYED_WORK(&llps->watch, rnic_connect_watch_work);
}

/**
 * rnic_connect_watch_exit - stop checking whether the programs that connect still exist
 * @llps: LLPs of the device, which must have no connect in progress
 *
 * Context: process, may sleep.
 */
void rnic_connect_watch_exit(struct rnic_llps *llps)
{
	cancel_delayed_work_sync(&llps->watch);
}

/**
 * rnic_ep_watch_program - watch the current program, in order to abort its connect if it exits
 * @ep: endpoint that is about to connect, with its QP set
 *
 * Does nothing if the QP belongs to a kernel consumer. Context: the task that connects.
 */
void rnic_ep_watch_program(struct rnic_ep *ep)
{
	struct rnic_llps *llps = ep->dev->llps;

	if (!rnic_qp_is_user(ep->qp))
		return;
	mmgrab(current->mm);
	ep->connector.mm = current->mm;
	ep->connector.pid = get_pid(task_tgid(current));
	spin_lock(&llps->lock);
	list_add_tail(&ep->connector.list, &llps->connects);
	llps->n_connects++;
	spin_unlock(&llps->lock);
	schedule_delayed_work(&llps->watch, CHECK_INTERVAL);
}

/**
 * rnic_ep_unwatch_program - undo rnic_ep_watch_program() at the end of the connect
 * @ep: any endpoint; ignored if it is not watched
 *
 * Context: process; called by a session upcall, and by the connect and accept operations of
 * iw_cm after a failure.
 */
void rnic_ep_unwatch_program(struct rnic_ep *ep)
{
	struct rnic_llps *llps = ep->dev->llps;

	if (!ep->connector.mm)
		return;
	spin_lock(&llps->lock);
	list_del(&ep->connector.list);
	llps->n_connects--;
	spin_unlock(&llps->lock);
	put_pid(ep->connector.pid);
	mmdrop(ep->connector.mm);
	ep->connector.mm = NULL;
}
