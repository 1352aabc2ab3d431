// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Start-up queues: FIFO queues of connections before Full Operation.
 *
 * A program that opens many connections expects the peer to see the connections in
 * the order in which they were opened. So all connections that one process opens
 * share a queue, and all connections that one listener accepts share a queue. An
 * event adds a connection to its queue, unless the connection is queued already.
 * Each queue has one worker, mpa_connq_work() of conn_work.c, which handles the
 * events.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

/* All start-up queues, hashed by listener or process; protected by connqs_lock */
static DEFINE_HASHTABLE(connqs, 12);
static DEFINE_SPINLOCK(connqs_lock);

/*
 * Compute the hash key of a queue. The seed is random: otherwise a user could choose
 * process IDs whose queues fall into the same hash bucket, and so make look-ups slow.
 */
static u32 compute_connq_hash_key(const void *listener, pid_t process)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return jhash_3words(lower_32_bits((unsigned long)listener),
			    upper_32_bits((unsigned long)listener), process, seed);
}

/* Find a queue and take a reference. Return: the queue; NULL if not found. */
static struct mpa_connq *__find_get_connq(const void *listener, pid_t process)
{
	struct mpa_connq *connq;

	lockdep_assert_held(&connqs_lock);
	hash_for_each_possible(connqs, connq, node, compute_connq_hash_key(listener, process))
		if (connq->listener == listener && connq->process == process) {
			refcount_inc(&connq->ref);
			return connq;
		}
	return NULL;
}

/**
 * mpa_connq_put - drop a reference on a start-up queue
 * @connq: the queue; may be NULL
 *
 * Context: any.
 */
void mpa_connq_put(struct mpa_connq *connq)
{
	unsigned long flags;

	if (!connq ||
	    !refcount_dec_and_lock_irqsave(&connq->ref, &connqs_lock, &flags))
		return;
	hash_del(&connq->node);
	spin_unlock_irqrestore(&connqs_lock, flags);
	kfree(connq);
}

/**
 * mpa_connq_pop - remove the first connection from a start-up queue
 * @connq: the queue
 *
 * Context: any with interrupts enabled.
 *
 * Return: the connection with the reference that the queue had, which the caller
 * must drop; NULL if the queue is empty.
 */
struct mpa_conn *mpa_connq_pop(struct mpa_connq *connq)
{
	struct mpa_conn *c;

	spin_lock_irq(&connq->lock);
	c = list_first_entry_or_null(&connq->pending_conns, struct mpa_conn, connq_entry);
	if (c)
		list_del_init(&c->connq_entry);
	spin_unlock_irq(&connq->lock);
	return c;
}

/**
 * mpa_connq_queue_work - queue the worker of a start-up queue
 * @connq: the start-up queue; the caller must hold a reference on it, or on a
 *	connection that uses it
 *
 * Context: any.
 */
void mpa_connq_queue_work(struct mpa_connq *connq)
{
	refcount_inc(&connq->ref);
	if (!queue_work(mpa_wq, &connq->work))
		mpa_connq_put(connq);
}

static struct mpa_connq *new_connq(const void *listener, pid_t process,
				   work_func_t work)
{
	struct mpa_connq *connq = kzalloc(sizeof(*connq), GFP_KERNEL_ACCOUNT);

	if (!connq)
		return NULL;
	connq->listener = listener;
	connq->process = process;
	refcount_set(&connq->ref, 1);
	spin_lock_init(&connq->lock);
	INIT_LIST_HEAD(&connq->pending_conns);
	INIT_WORK(&connq->work, work);
	return connq;
}

/**
 * mpa_connq_get - find or create the start-up queue of a new connection
 * @listener: listener that accepts the connection; NULL if the calling process
 *	connects
 * @work: work function for a queue that is created
 *
 * Context: process, may sleep.
 *
 * Return: the queue with a reference for the caller; NULL if an allocation failed.
 */
struct mpa_connq *mpa_connq_get(const void *listener, work_func_t work)
{
	pid_t process = listener ? 0 : current->tgid;
	struct mpa_connq *fresh = new_connq(listener, process, work), *connq;

	if (!fresh)
		return NULL;
	spin_lock_irq(&connqs_lock);
	connq = __find_get_connq(listener, process);
	if (!connq) {
		hash_add(connqs, &fresh->node, compute_connq_hash_key(listener, process));
		connq = fresh;
	}
	spin_unlock_irq(&connqs_lock);
	if (connq != fresh)
		kfree(fresh);
	return connq;
}

/**
 * mpa_connq_has_pending_conn - check whether a connection is queued in a start-up queue
 * @connq: the queue
 *
 * The result is only a hint, because @connq->lock is not taken.
 *
 * Context: any.
 *
 * Return: true if a connection is queued, false otherwise.
 */
bool mpa_connq_has_pending_conn(const struct mpa_connq *connq)
{
	return !list_empty(&connq->pending_conns);
}

/**
 * mpa_connq_add - add a connection to its start-up queue, and queue the worker
 * @c: the connection; the caller must hold a reference
 *
 * Context: any.
 *
 * Return: true if added; the queue then takes over the caller's reference. False if
 * the connection was queued already; the caller then keeps its reference.
 */
bool mpa_connq_add(struct mpa_conn *c)
{
	struct mpa_connq *connq = c->connq;
	unsigned long flags;
	bool added;

	spin_lock_irqsave(&connq->lock, flags);
	added = list_empty(&c->connq_entry);
	if (added) {
		list_add_tail(&c->connq_entry, &connq->pending_conns);
		mpa_connq_queue_work(connq);
	}
	spin_unlock_irqrestore(&connq->lock, flags);
	return added;
}
