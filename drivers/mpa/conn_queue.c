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
static DEFINE_HASHTABLE(lines, 12);
static DEFINE_SPINLOCK(lines_lock);

/* Seeded, so that a user cannot choose processes whose lines share a bucket */
static u32 key_of(const void *listener, pid_t process)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return jhash_3words(lower_32_bits((unsigned long)listener),
			    upper_32_bits((unsigned long)listener), process, seed);
}

static struct mpa_line *__find(const void *listener, pid_t process)
{
	struct mpa_line *line;

	lockdep_assert_held(&lines_lock);
	hash_for_each_possible(lines, line, node, key_of(listener, process))
		if (line->listener == listener && line->process == process) {
			refcount_inc(&line->ref);
			return line;
		}
	return NULL;
}

/**
 * mpa_line_put - drop a reference on a line
 * @line: the line, or NULL
 *
 * Any context.
 */
void mpa_line_put(struct mpa_line *line)
{
	unsigned long flags;

	if (!line ||
	    !refcount_dec_and_lock_irqsave(&line->ref, &lines_lock, &flags))
		return;
	hash_del(&line->node);
	spin_unlock_irqrestore(&lines_lock, flags);
	kfree(line);
}

/**
 * mpa_line_take_first - take the first connection out of a line
 * @line: the line
 *
 * Context: interrupts on.
 *
 * Return: the connection, with the reference of its entry; NULL if there is
 * none.
 */
struct mpa_conn *mpa_line_take_first(struct mpa_line *line)
{
	struct mpa_conn *c;

	spin_lock_irq(&line->lock);
	c = list_first_entry_or_null(&line->due, struct mpa_conn, turn);
	if (c)
		list_del_init(&c->turn);
	spin_unlock_irq(&line->lock);
	return c;
}

/**
 * mpa_line_kick - queue the worker of a line
 * @line: the line; the caller holds a reference, or the lock of a line that
 *	has a connection queued
 *
 * Any context.
 */
void mpa_line_kick(struct mpa_line *line)
{
	refcount_inc(&line->ref);
	if (!queue_work(mpa_wq, &line->work))
		mpa_line_put(line);
}

static struct mpa_line *new_line(const void *listener, pid_t process,
				 work_func_t work)
{
	struct mpa_line *line = kzalloc(sizeof(*line), GFP_KERNEL_ACCOUNT);

	if (!line)
		return NULL;
	line->listener = listener;
	line->process = process;
	refcount_set(&line->ref, 1);
	spin_lock_init(&line->lock);
	INIT_LIST_HEAD(&line->due);
	INIT_WORK(&line->work, work);
	return line;
}

/**
 * mpa_line_get - find or create the line of a new connection
 * @listener: listener that accepts the connection; NULL if the calling process
 *	connects
 * @work: function of the worker, if the line is created
 *
 * Context: process, may sleep.
 *
 * Return: the line with a reference; NULL if memory is short.
 */
struct mpa_line *mpa_line_get(const void *listener, work_func_t work)
{
	pid_t process = listener ? 0 : current->tgid;
	struct mpa_line *fresh = new_line(listener, process, work), *line;

	if (!fresh)
		return NULL;
	spin_lock_irq(&lines_lock);
	line = __find(listener, process);
	if (!line) {
		hash_add(lines, &fresh->node, key_of(listener, process));
		line = fresh;
	}
	spin_unlock_irq(&lines_lock);
	if (line != fresh)
		kfree(fresh);
	return line;
}

/**
 * mpa_line_waits - check whether a connection is queued in a line
 * @line: the line
 *
 * Any context.
 *
 * Return: true if one is queued, false otherwise. Only a hint, read without the
 * lock.
 */
bool mpa_line_waits(const struct mpa_line *line)
{
	return !list_empty(&line->due);
}

/**
 * mpa_line_add - queue a connection in its line, after an event
 * @c: the connection; the caller's reference passes to the line
 *
 * Any context.
 *
 * Return: true if queued; false if the connection was queued already: the
 * reference stays with the caller.
 */
bool mpa_line_add(struct mpa_conn *c)
{
	struct mpa_line *line = c->line;
	unsigned long flags;
	bool added;

	spin_lock_irqsave(&line->lock, flags);
	added = list_empty(&c->turn);
	if (added) {
		list_add_tail(&c->turn, &line->due);
		mpa_line_kick(line);
	}
	spin_unlock_irqrestore(&line->lock, flags);
	return added;
}
