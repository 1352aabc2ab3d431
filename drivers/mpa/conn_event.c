// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events, mutex and timer of a connection, which schedule its worker. The worker
 * is in conn_work.c.
 *
 * Any context may set an event. No event is lost: either the holder of the mutex
 * finds the event, or the worker is queued.
 */
#include "internal.h"

/*
 * Queue the worker: until Full Operation the worker of the start-up queue, from
 * Full Operation on the connection's own worker. Return: true if queued, so the
 * caller's reference passes to the queue; false if queued already.
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

/* Queue the worker with a reference, unless the last reference is dropped */
static void mpa_conn_queue(struct mpa_conn *c)
{
	if (!kref_get_unless_zero(&c->ss.ref))
		return;
	if (!queue_conn(c))
		ddp_session_put(&c->ss);
}

/**
 * mpa_conn_event - set an event for the worker
 * @c: the connection; the caller must hold a reference, be a callback of the
 *	socket, or have found the connection under RCU, where it may be ending
 * @ev: the event
 *
 * Any context. The context that handles the event sees all memory that was
 * written before this call. No worker is queued while @c->holder_polls is set,
 * because the holder of the mutex checks for events, at the latest in
 * mpa_conn_unlock().
 */
void mpa_conn_event(struct mpa_conn *c, enum mpa_event ev)
{
	/* an ended connection handles no events */
	if (READ_ONCE(c->phase) == MPA_ENDED)
		return;
	/*
	 * A full barrier before and after the bit is set. The caller's writes
	 * come before the bit, so that the context that handles the event sees
	 * them; pairs with xchg() in mpa_conn_poll_once(). holder_polls is read
	 * after the bit is set. Pairs with mpa_conn_unlock(), which clears
	 * holder_polls and then reads the events. Otherwise both could miss the
	 * event; litmus: seen-to, seen-to-what
	 */
	test_and_set_bit(ev, &c->events);
	if (!READ_ONCE(c->holder_polls))
		mpa_conn_queue(c);
}

/**
 * mpa_conn_has_events - check whether the worker has events to handle
 * @c: the connection
 *
 * Any context.
 *
 * Return: true if an event is set and the phase is neither MPA_NEW nor
 * MPA_ENDED, false otherwise.
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
 * mpa_conn_unlock - release the mutex, and queue the worker if events are set
 * @c: the connection; the caller must hold a reference and the mutex
 *
 * If a worker could not take the mutex, that worker has returned without handling
 * the events.
 */
void mpa_conn_unlock(struct mpa_conn *c)
{
	WRITE_ONCE(c->holder_polls, false);
	mutex_unlock(&c->mutex);
	/*
	 * holder_polls is cleared and the mutex is released before the events are
	 * read. Pairs with test_and_set_bit() in mpa_conn_event(): either that
	 * function sees holder_polls clear, or this function sees the event. If a
	 * worker could not take the mutex, this function sees the event for which
	 * the worker was queued; litmus: seen-to, seen-to-held
	 */
	smp_mb();
	if (mpa_conn_has_events(c))
		mpa_conn_queue(c);
}

/**
 * mpa_conn_arm_timer - set the timer after which the worker checks the deadline
 * @c: the connection; the caller must hold its mutex
 * @delay: maximum delay, in jiffies
 *
 * If the timer already expires earlier, it is not changed. The worker then sets
 * the timer again for the deadline.
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
 * mpa_conn_set_deadline - set or remove the time limit of the current step
 * @c: the connection; the caller must hold its mutex
 * @seconds: time limit in seconds from now; 0 for no limit
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
