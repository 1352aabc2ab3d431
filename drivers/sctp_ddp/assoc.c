// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Lifetime of an association: its references and timers, and the scheduling of its
 * worker, which is in assoc_work.c.
 *
 * Sessions that this side begins to the same destination share an association if
 * may_share_assoc() allows it and the association has free streams. The side that created
 * the association assigns the stream numbers. The worker releases the socket when the
 * association ends, even if references to the association are left. So dropping the last
 * reference never releases a socket, and is allowed in any context.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>

#include "internal.h"

static atomic_t assoc_count = ATOMIC_INIT(0);	/* number of associations not yet freed */

/**
 * sddp_assoc_get - take a reference
 * @a: the association
 */
void sddp_assoc_get(struct sddp_assoc *a)
{
	kref_get(&a->ref);
}

static void sddp_assoc_release(struct kref *ref)
{
	struct sddp_assoc *a = container_of(ref, struct sddp_assoc, ref);

	xa_destroy(&a->streams);
	kvfree(a->out);
	if (a->active || a->claimed)
		ddp_sock_owner_exit(&a->owner);
	put_net_track(a->net, &a->net_tracker);
	kfree_rcu(a, rcu);
	if (atomic_dec_and_test(&assoc_count))
		wake_up_var(&assoc_count);
}

/**
 * sddp_assoc_put - drop a reference
 * @a: the association
 *
 * Context: any. Does not sleep, because this function never releases the socket.
 */
void sddp_assoc_put(struct sddp_assoc *a)
{
	kref_put(&a->ref, sddp_assoc_release);
}

/*
 * Make @owner the owner of the socket. If a session of another owner uses the socket, too, make
 * the task that listens the owner again.
 */
static void __claim_sock(struct sddp_assoc *a, const struct ddp_sock_owner *owner)
{
	struct ddp_sock_owner now;

	lockdep_assert_held(&a->mutex);
	ddp_sock_owner_init_from_sock(&now, a->sock);
	if (!a->claimed) {
		ddp_sock_owner_copy(&a->owner, &now);
		a->claimed = true;
		ddp_sock_set_owner(a->sock, owner);
	} else if (!ddp_sock_owner_equal(&now, owner)) {
		ddp_sock_set_owner(a->sock, &a->owner);
	}
	ddp_sock_owner_exit(&now);
}

/**
 * sddp_assoc_set_owner - make a task that accepts a session the owner of the socket
 * @a: the association, which the peer has created
 * @owner: the task that accepts; privileged must be false, as it is in an owner that is read
 *	from a socket: otherwise the two would never be equal
 *
 * If the sessions have different owners, the task that listens remains the owner.
 *
 * Context: process; may sleep.
 */
void sddp_assoc_set_owner(struct sddp_assoc *a, const struct ddp_sock_owner *owner)
{
	mutex_lock(&a->mutex);
	if (a->sock)
		__claim_sock(a, owner);
	mutex_unlock(&a->mutex);
}

/**
 * sddp_assoc_kick - schedule the worker
 * @a: the association; nothing is done if its last reference has been dropped
 *
 * Context: any. The caller must hold a reference, be in an RCU read-side critical
 * section, or be a callback of the association's socket.
 */
void sddp_assoc_kick(struct sddp_assoc *a)
{
	if (!kref_get_unless_zero(&a->ref))
		return;
	if (!queue_work(sddp_wq, &a->work))
		sddp_assoc_put(a);
}

static void sddp_assoc_idle_work(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(to_delayed_work(w),
					    struct sddp_assoc, idle);

	WRITE_ONCE(a->idle_due, true);
	sddp_assoc_kick(a);
}

static void sddp_assoc_stall_work(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(to_delayed_work(w),
					    struct sddp_assoc, stall_timer);

	WRITE_ONCE(a->stall_due, true);
	sddp_assoc_kick(a);
}

static void sddp_assoc_retry_work(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(to_delayed_work(w),
					    struct sddp_assoc, retry);

	WRITE_ONCE(a->sndbuf_full, false);
	WRITE_ONCE(a->unsent_full, false);
	sddp_assoc_kick(a);
}

/**
 * sddp_assoc_new - allocate an association without a socket
 * @net: network namespace
 * @owner: owner of the socket, that is, the task that connects; copied; NULL if the peer has
 *	created the association
 * @work: the worker, sddp_assoc_work()
 *
 * Return: the association with one reference, which belongs to the socket callbacks
 * until the association ends; NULL if memory is short.
 */
struct sddp_assoc *sddp_assoc_new(struct net *net, const struct ddp_sock_owner *owner,
				  work_func_t work)
{
	struct sddp_assoc *a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);

	if (!a)
		return NULL;
	a->active = owner;
	if (owner)
		ddp_sock_owner_copy(&a->owner, owner);
	a->idle_until = jiffies + (owner ? SDDP_IDLE_ACTIVE : SDDP_IDLE_UNACCEPTED) * HZ;
	a->net = get_net_track(net, &a->net_tracker, GFP_KERNEL);
	kref_init(&a->ref);
	mutex_init(&a->mutex);
	spin_lock_init(&a->lock);
	INIT_LIST_HEAD(&a->list);
	INIT_HLIST_NODE(&a->dest_node);
	INIT_LIST_HEAD(&a->ready);
	INIT_LIST_HEAD(&a->control_queue);
	INIT_LIST_HEAD(&a->segment_queue);
	INIT_LIST_HEAD(&a->unacked);
	INIT_LIST_HEAD(&a->late);
	INIT_LIST_HEAD(&a->unaccepted);
	xa_init_flags(&a->streams, XA_FLAGS_ALLOC);
	INIT_WORK(&a->work, work);
	INIT_DELAYED_WORK(&a->idle, sddp_assoc_idle_work);
	INIT_DELAYED_WORK(&a->stall_timer, sddp_assoc_stall_work);
	INIT_DELAYED_WORK(&a->retry, sddp_assoc_retry_work);
	atomic_inc(&assoc_count);
	return a;
}

/**
 * sddp_assoc_wait_all_freed - wait until all associations are freed
 * The caller must ensure that no new association can be created.
 *
 * Context: sleeps.
 */
void sddp_assoc_wait_all_freed(void)
{
	wait_var_event(&assoc_count, !atomic_read(&assoc_count));
}
