// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Worker, events and timer of a connection.
 *
 * Any context may set an event. Each connection has one worker and one timer;
 * before Full Operation the worker is that of its line. Each queued run of a
 * worker holds a reference. conn.c is the state machine that the worker
 * advances.
 */
#include <linux/sched/mm.h>

#include "internal.h"

#define LOOKS	4	/* checks for events in one run of the worker */

/*
 * Queue the worker: that of the line before Full Operation, the connection's
 * own later. Return: false if the connection is queued already.
 */
static bool queue(struct mpa_conn *c)
{
	switch (READ_ONCE(c->phase)) {
	case MPA_NEW:
	case MPA_CONNECTING:
	case MPA_STARTUP:
		return mpa_line_add(c);
	case MPA_FULL:
	case MPA_ENDED:
		break;
	}
	return queue_work(mpa_wq, &c->work);
}

/* Queue the worker, unless the last reference is gone */
static void mpa_conn_queue(struct mpa_conn *c)
{
	if (!kref_get_unless_zero(&c->ss.ref))
		return;
	if (!queue(c))
		ddp_session_put(&c->ss);
}

/**
 * mpa_conn_event - set an event for the worker
 * @c: the connection; the caller holds a reference, is one of the socket's
 *	callbacks, or has found it under RCU: then it may be ending
 * @ev: the event
 *
 * Any context. The context that handles the event sees everything that was
 * written before the call. No worker is queued while @c->seen_to is set: the
 * holder of the mutex checks for events, at the latest in mpa_conn_unlock().
 */
void mpa_conn_event(struct mpa_conn *c, enum mpa_event ev)
{
	/* an ended connection handles no events */
	if (READ_ONCE(c->phase) == MPA_ENDED)
		return;
	/*
	 * A full barrier on both sides of the bit. What the event reports is
	 * written before, since the event may be handled at once. seen_to is
	 * read after it: mpa_conn_unlock() clears seen_to, then reads the
	 * events; litmus: seen-to, seen-to-what
	 */
	test_and_set_bit(ev, &c->events);
	if (!READ_ONCE(c->seen_to))
		mpa_conn_queue(c);
}

/* Check whether there are events that the worker would handle */
static bool asked(const struct mpa_conn *c)
{
	switch (READ_ONCE(c->phase)) {
	case MPA_NEW:
	case MPA_ENDED:
		return false;
	case MPA_CONNECTING:
	case MPA_STARTUP:
	case MPA_FULL:
		break;
	}
	return READ_ONCE(c->events);
}

/**
 * mpa_conn_lock - acquire the mutex of a connection
 * @c: the connection
 *
 * Sleeps. Until mpa_conn_unlock(), events do not queue the worker.
 */
void mpa_conn_lock(struct mpa_conn *c)
{
	mutex_lock(&c->mutex);
	WRITE_ONCE(c->seen_to, true);
}

/**
 * mpa_conn_unlock - release the mutex, and queue the worker for new events
 * @c: the connection; the caller holds a reference and the mutex
 *
 * A worker that could not take the mutex meanwhile has returned without
 * handling events.
 */
void mpa_conn_unlock(struct mpa_conn *c)
{
	WRITE_ONCE(c->seen_to, false);
	mutex_unlock(&c->mutex);
	/*
	 * Pairs with test_and_set_bit() in mpa_conn_event(): either that
	 * function sees seen_to clear, or this one sees the event. If a worker
	 * could not take the mutex, this function sees the event that queued
	 * the worker; litmus: seen-to, seen-to-held
	 */
	smp_mb();
	if (asked(c))
		mpa_conn_queue(c);
}

static void mpa_conn_timed_out(struct work_struct *work)
{
	struct mpa_conn *c = container_of(to_delayed_work(work),
					  struct mpa_conn, timer);

	mpa_conn_event(c, MPA_EV_TIMEOUT);
}

/**
 * mpa_conn_wake - let the worker check the deadline
 * @c: the connection; its mutex is held
 * @delay: maximum delay, in jiffies
 *
 * A timer that expires earlier is kept: the worker then sets it again.
 */
void mpa_conn_wake(struct mpa_conn *c, unsigned long delay)
{
	unsigned long when = jiffies + delay;

	lockdep_assert_held(&c->mutex);
	if (c->armed && !time_before(when, c->wake))
		return;
	c->armed = true;
	c->wake = when;
	mod_delayed_work(mpa_wq, &c->timer, delay);
}

/**
 * mpa_conn_deadline - set the time limit of the current step
 * @c: the connection; its mutex is held
 * @seconds: from now; 0 for no limit
 */
void mpa_conn_deadline(struct mpa_conn *c, unsigned int seconds)
{
	lockdep_assert_held(&c->mutex);
	c->timed = seconds;
	c->deadline = jiffies + seconds * HZ;
	if (seconds) {
		mpa_conn_wake(c, seconds * HZ);
	} else {
		c->armed = false;
		cancel_delayed_work(&c->timer);
	}
}

/* Return: true if the deadline has passed, by @grace seconds */
static bool is_late(const struct mpa_conn *c, unsigned int grace)
{
	return c->timed && time_after_eq(jiffies, c->deadline + grace * HZ);
}

/*
 * End the connection if it is late. @more: received data is left, and what the
 * deadline waits for may be in it: allow some more time.
 */
static void look_at_clock(struct mpa_conn *c, bool more)
{
	if (is_late(c, more ? MPA_DEADLINE_CLOSE : 0))
		mpa_conn_finish(c, IW_TIMEOUT, NULL);
	else if (c->timed && !more)
		mpa_conn_wake(c, max_t(long, c->deadline - jiffies, 0));
}

/*
 * Handle events once, received data before the clock: a worker that was delayed
 * must not end a connection whose reply has arrived. Return: true if that was
 * enough work for one run of the worker.
 */
static bool mpa_conn_look(struct mpa_conn *c)
{
	unsigned long events = xchg(&c->events, 0);	/* litmus: seen-to-what */
	bool enough = false;

	if (test_bit(MPA_EV_TIMEOUT, &events))
		c->armed = false;
	if (c->phase != MPA_ENDED)
		enough = mpa_conn_step(c, events);
	if (c->phase != MPA_ENDED)
		look_at_clock(c, enough);
	/* in every phase: no other context is scheduled to transmit */
	if (test_bit(MPA_EV_TX, &events)) {
		mpa_tx_work(c);
		enough = true;
	}
	return enough;
}

/*
 * Handle events until there are none, but a limited number of times. New ones
 * are often caused by those just handled, here or at a peer on this machine. If
 * a line's worker runs this, other connections in the line come first.
 */
static void mpa_conn_looks(struct mpa_conn *c, bool in_line)
{
	int left = LOOKS;

	WRITE_ONCE(c->seen_to, true);
	while (left-- && !mpa_conn_look(c) && asked(c) &&
	       !(in_line && mpa_line_waits(c->line)))
		;
}

/**
 * mpa_conn_turn - handle the events of a connection
 * @c: the connection; the caller holds a reference
 * @in_line: true if called by the worker of its line, false if by its own
 *	worker
 *
 * Does nothing if the mutex is held: mpa_conn_unlock() then queues the worker
 * again.
 */
void mpa_conn_turn(struct mpa_conn *c, bool in_line)
{
	unsigned int noio;

	if (!mutex_trylock(&c->mutex))
		return;
	/* reclaim may depend on storage that is reached through this device */
	noio = memalloc_noio_save();
	if (c->phase != MPA_NEW)
		mpa_conn_looks(c, in_line);
	memalloc_noio_restore(noio);
	mpa_conn_unlock(c);
}

static void mpa_conn_work(struct work_struct *w)
{
	struct mpa_conn *c = container_of(w, struct mpa_conn, work);

	mpa_conn_turn(c, false);
	ddp_session_put(&c->ss);
}

/**
 * mpa_conn_init - initialize mutex, events, worker and timer
 * @c: the new connection
 */
void mpa_conn_init(struct mpa_conn *c)
{
	mutex_init(&c->mutex);
	/* no worker is queued before the creator calls mpa_conn_unlock() */
	c->seen_to = true;
	spin_lock_init(&c->look_lock);
	INIT_WORK(&c->work, mpa_conn_work);
	INIT_DELAYED_WORK(&c->timer, mpa_conn_timed_out);
	mpa_tx_init(c);
}
