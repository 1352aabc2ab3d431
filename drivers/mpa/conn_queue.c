// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ordered queue of connections in start-up, the line.
 *
 * Programs that connect many at once expect the other side to see them in the
 * order in which they were made. So the connections of one process, and those
 * accepted by one listener, share a FIFO queue with one worker, which is in
 * conn_work.c. A connection is queued by its first event, and is queued once.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

/* One line for each process that has connections, and for each listener */
static DEFINE_HASHTABLE(connqs, 12);
static DEFINE_SPINLOCK(connqs_lock);

/* Seeded, so that a user cannot choose processes whose lines share a bucket */
static u32 hash_key(const void *listener, pid_t process)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return jhash_3words(lower_32_bits((unsigned long)listener),
			    upper_32_bits((unsigned long)listener), process, seed);
}

static struct mpa_connq *__find_get(const void *listener, pid_t process)
{
	struct mpa_connq *connq;

	lockdep_assert_held(&connqs_lock);
	hash_for_each_possible(connqs, connq, node, hash_key(listener, process))
		if (connq->listener == listener && connq->process == process) {
			refcount_inc(&connq->ref);
			return connq;
		}
	return NULL;
}

/**
 * mpa_connq_put - drop a reference on a line
 * @connq: the line, or NULL
 *
 * Any context.
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
 * mpa_line_take_first - take the first connection out of a line
 * @connq: the line
 *
 * Context: interrupts on.
 *
 * Return: the connection, with the reference of its entry; NULL if there is
 * none.
 */
struct mpa_conn *mpa_line_take_first(struct mpa_connq *connq)
{
	struct mpa_conn *c;

	spin_lock_irq(&connq->lock);
	c = list_first_entry_or_null(&connq->due, struct mpa_conn, connq_entry);
	if (c)
		list_del_init(&c->connq_entry);
	spin_unlock_irq(&connq->lock);
	return c;
}

/**
 * mpa_line_kick - queue the worker of a line
 * @connq: the line; the caller holds a reference, or the lock of a line that
 *	has a connection queued
 *
 * Any context.
 */
void mpa_line_kick(struct mpa_connq *connq)
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
	INIT_LIST_HEAD(&connq->due);
	INIT_WORK(&connq->work, work);
	return connq;
}

/**
 * mpa_connq_get - find or create the line of a new connection
 * @listener: listener that accepts the connection; NULL if the calling process
 *	connects
 * @work: function of the worker, if the line is created
 *
 * Context: process, may sleep.
 *
 * Return: the line with a reference; NULL if memory is short.
 */
struct mpa_connq *mpa_connq_get(const void *listener, work_func_t work)
{
	pid_t process = listener ? 0 : current->tgid;
	struct mpa_connq *fresh = new_connq(listener, process, work), *connq;

	if (!fresh)
		return NULL;
	spin_lock_irq(&connqs_lock);
	connq = __find_get(listener, process);
	if (!connq) {
		hash_add(connqs, &fresh->node, hash_key(listener, process));
		connq = fresh;
	}
	spin_unlock_irq(&connqs_lock);
	if (connq != fresh)
		kfree(fresh);
	return connq;
}

/**
 * mpa_connq_has_waiting - check whether a connection is queued in a line
 * @connq: the line
 *
 * Any context.
 *
 * Return: true if one is queued, false otherwise. Only a hint, read without the
 * lock.
 */
bool mpa_connq_has_waiting(const struct mpa_connq *connq)
{
	return !list_empty(&connq->due);
}

/**
 * mpa_connq_add - queue a connection in its line, after an event
 * @c: the connection; the caller's reference passes to the line
 *
 * Any context.
 *
 * Return: true if queued; false if the connection was queued already: the
 * reference stays with the caller.
 */
bool mpa_connq_add(struct mpa_conn *c)
{
	struct mpa_connq *connq = c->connq;
	unsigned long flags;
	bool added;

	spin_lock_irqsave(&connq->lock, flags);
	added = list_empty(&c->connq_entry);
	if (added) {
		list_add_tail(&c->connq_entry, &connq->due);
		mpa_line_kick(connq);
	}
	spin_unlock_irqrestore(&connq->lock, flags);
	return added;
}
