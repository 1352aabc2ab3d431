// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events, mutex and timer of a connection: what makes its worker run.
 *
 * Any context may set an event. The worker itself is in conn_work.c. Each event
 * is handled: either the holder of the mutex sees it, or a worker is queued.
 */
#include "internal.h"

/*
 * Queue the worker: that of the line before Full Operation, the connection's
 * own later. Return: false if the connection is queued already.
 */
static bool queue_conn(struct mpa_conn *c)
{
	switch (READ_ONCE(c->phase)) {
	case MPA_NEW:
	case MPA_CONNECTING:
	case MPA_STARTUP:
		return mpa_connq_add(c);
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
	if (!queue_conn(c))
		ddp_session_put(&c->ss);
}

/**
 * mpa_conn_event - set an event for the worker
 * @c: the connection; the caller holds a reference, is one of the socket's
 *	callbacks, or has found it under RCU: then it may be ending
 * @ev: the event
 *
 * Any context. The context that handles the event sees everything that was
 * written before the call. No worker is queued while @c->holder_polls is set: the
 * holder of the mutex checks for events, at the latest in mpa_conn_unlock().
 */
void mpa_conn_event(struct mpa_conn *c, enum mpa_event ev)
{
	/* an ended connection handles no events */
	if (READ_ONCE(c->phase) == MPA_ENDED)
		return;
	/*
	 * A full barrier on both sides of the bit. What the event reports is
	 * written before, since the event may be handled at once. holder_polls is
	 * read after it: mpa_conn_unlock() clears holder_polls, then reads the
	 * events; litmus: seen-to, seen-to-what
	 */
	test_and_set_bit(ev, &c->events);
	if (!READ_ONCE(c->holder_polls))
		mpa_conn_queue(c);
}

/**
 * mpa_conn_has_events - check whether there are events for the worker
 * @c: the connection
 *
 * Any context.
 *
 * Return: true if the worker would handle an event, false otherwise.
 */
bool mpa_conn_has_events(const struct mpa_conn *c)
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
	WRITE_ONCE(c->holder_polls, true);
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
	WRITE_ONCE(c->holder_polls, false);
	mutex_unlock(&c->mutex);
	/*
	 * Pairs with test_and_set_bit() in mpa_conn_event(): either that
	 * function sees holder_polls clear, or this one sees the event. If a worker
	 * could not take the mutex, this function sees the event that queued
	 * the worker; litmus: seen-to, seen-to-held
	 */
	smp_mb();
	if (mpa_conn_has_events(c))
		mpa_conn_queue(c);
}

/**
 * mpa_conn_arm_timer - let the worker check the deadline
 * @c: the connection; its mutex is held
 * @delay: maximum delay, in jiffies
 *
 * A timer that expires earlier is kept: the worker then sets it again.
 */
void mpa_conn_arm_timer(struct mpa_conn *c, unsigned long delay)
{
	unsigned long when = jiffies + delay;

	lockdep_assert_held(&c->mutex);
	if (c->armed && !time_before(when, c->timer_expires))
		return;
	c->armed = true;
	c->timer_expires = when;
	mod_delayed_work(mpa_wq, &c->timer, delay);
}

/**
 * mpa_conn_set_deadline - set the time limit of the current step
 * @c: the connection; its mutex is held
 * @seconds: from now; 0 for no limit
 */
void mpa_conn_set_deadline(struct mpa_conn *c, unsigned int seconds)
{
	lockdep_assert_held(&c->mutex);
	c->timed = seconds;
	c->deadline = jiffies + seconds * HZ;
	if (seconds) {
		mpa_conn_arm_timer(c, seconds * HZ);
	} else {
		c->armed = false;
		cancel_delayed_work(&c->timer);
	}
}
