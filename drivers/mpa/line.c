// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Order of connections in start-up.
 *
 * Programs that connect many at once expect the other side to see them in the
 * order in which they were made. So the connections of one process, and those
 * accepted by one listener, share a FIFO queue, the line, with one worker. A
 * connection is queued by its first event. If its mutex is held when the worker
 * comes to it, mpa_conn_unlock() queues it again. A line waits neither for a
 * peer, nor for a program, nor for another line.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

#define BATCH	16	/* connections handled by one run of the worker */

struct mpa_line {
	/* fixed after creation */
	const void		*listener;	/* NULL: a process connects */
	pid_t			process;	/* its tgid, else 0 */

	/* held by each connection made in the line and by a queued worker */
	refcount_t		ref;
	struct hlist_node	node;		/* entry of lines; lines_lock */

	spinlock_t		lock;		/* leaf lock */
	struct list_head	due;

	struct work_struct	work;
};

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

static struct mpa_conn *first_due(struct mpa_line *line)
{
	struct mpa_conn *c;

	spin_lock_irq(&line->lock);
	c = list_first_entry_or_null(&line->due, struct mpa_conn, turn);
	if (c)
		list_del_init(&c->turn);
	spin_unlock_irq(&line->lock);
	return c;
}

/*
 * Queue the worker. The caller holds a reference, or the lock of a line that
 * has a connection queued.
 */
static void kick(struct mpa_line *line)
{
	refcount_inc(&line->ref);
	if (!queue_work(mpa_wq, &line->work))
		mpa_line_put(line);
}

static void mpa_line_work(struct work_struct *work)
{
	struct mpa_line *line = container_of(work, struct mpa_line, work);
	struct mpa_conn *c;
	int n = 0;

	while (n++ < BATCH && (c = first_due(line))) {
		mpa_conn_turn(c, true);
		ddp_session_put(&c->ss);
		cond_resched();
	}
	if (n > BATCH)
		kick(line);
	mpa_line_put(line);
}

static struct mpa_line *new_line(const void *listener, pid_t process)
{
	struct mpa_line *line = kzalloc(sizeof(*line), GFP_KERNEL_ACCOUNT);

	if (!line)
		return NULL;
	line->listener = listener;
	line->process = process;
	refcount_set(&line->ref, 1);
	spin_lock_init(&line->lock);
	INIT_LIST_HEAD(&line->due);
	INIT_WORK(&line->work, mpa_line_work);
	return line;
}

/**
 * mpa_line_get - find or create the line of a new connection
 * @listener: listener that accepts the connection; NULL if the calling process
 *	connects
 *
 * Context: process, may sleep.
 *
 * Return: the line with a reference; NULL if memory is short.
 */
struct mpa_line *mpa_line_get(const void *listener)
{
	pid_t process = listener ? 0 : current->tgid;
	struct mpa_line *fresh = new_line(listener, process), *line;

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
		kick(line);
	}
	spin_unlock_irqrestore(&line->lock, flags);
	return added;
}
