// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Set the events of a connection, acquire and release its mutex, and set its timer.
 * The worker that handles the events is in conn_work.c.
 *
 * Any context may set an event. No event is lost: if a context holds the mutex, that
 * context checks for events, at the latest in mpa_conn_unlock(). If no context holds
 * the mutex, setting an event queues the worker.
 */
#include "internal.h"

/*
 * Queue the worker that handles the connection's events: the worker of the start-up
 * queue before Full Operation, the connection's own worker from then on. Return: true
 * if queued, and the worker will drop the caller's reference; false if the connection
 * was queued already, and the caller keeps the reference.
 */
static bool queue_worker_for_phase(struct mpa_conn *c)
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

/* Queue the worker, unless the connection's last reference was already dropped */
static void mpa_conn_queue_worker(struct mpa_conn *c)
{
	if (!kref_get_unless_zero(&c->ss.ref))
		return;
	if (!queue_worker_for_phase(c))
		ddp_session_put(&c->ss);
}

/**
 * mpa_conn_set_event - set an event for the worker
 * @c: the connection; the caller must hold a reference, be a callback of the
 *	socket, or be an RCU reader that has looked up the connection, which may
 *	already be torn down
 * @ev: the event
 *
 * The context that handles the event sees all memory that the caller has written
 * before this call. No worker is queued while @c->holder_polls is set, because the
 * holder of the mutex then checks for events, at the latest in mpa_conn_unlock().
 *
 * Context: any.
 */
void mpa_conn_set_event(struct mpa_conn *c, enum mpa_event ev)
{
	/* no worker handles events of a connection that was torn down */
	if (READ_ONCE(c->phase) == MPA_ENDED)
		return;
	/*
	 * test_and_set_bit() is a full barrier, which orders two things. First, the caller's
	 * writes come before the bit, so the context that handles the event sees these
	 * writes; pairs with xchg() in mpa_conn_poll_once(). Second, the bit is set before
	 * holder_polls is read; pairs with mpa_conn_unlock(), which clears holder_polls
	 * before it reads the events. Without the second order neither function might queue
	 * the worker; litmus: seen-to, seen-to-what
	 */
	test_and_set_bit(ev, &c->events);
	if (!READ_ONCE(c->holder_polls))
		mpa_conn_queue_worker(c);
}

/**
 * mpa_conn_has_events - check whether the worker has events to handle
 * @c: the connection
 *
 * Context: any.
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
 * Until mpa_conn_unlock(), events do not queue the worker.
 *
 * Context: process, may sleep.
 */
void mpa_conn_lock(struct mpa_conn *c)
{
	mutex_lock(&c->mutex);
	WRITE_ONCE(c->holder_polls, true);
}

/**
 * mpa_conn_trylock - acquire the mutex of a connection, if no other context has it
 * @c: the connection
 *
 * Until mpa_conn_unlock(), events do not queue the worker.
 *
 * Context: process, does not sleep.
 *
 * Return: true if acquired, false otherwise.
 */
bool mpa_conn_trylock(struct mpa_conn *c)
{
	if (!mutex_trylock(&c->mutex))
		return false;
	WRITE_ONCE(c->holder_polls, true);
	return true;
}

/**
 * mpa_conn_unlock - release the mutex, and queue the worker if events are set
 * @c: the connection; the caller must hold the mutex, and either a reference or the RCU
 *	read lock
 *
 * A worker that runs while the mutex is held returns without handling the events,
 * so this function must queue the worker again.
 */
void mpa_conn_unlock(struct mpa_conn *c)
{
	WRITE_ONCE(c->holder_polls, false);
	mutex_unlock(&c->mutex);
	/*
	 * Order the clearing of holder_polls and the unlock before the read of the
	 * events. Pairs with test_and_set_bit() in mpa_conn_set_event(): either
	 * mpa_conn_set_event() sees holder_polls clear, or this function sees the event.
	 * This function also sees an event that a worker left unhandled because it
	 * found the mutex held; litmus: seen-to, seen-to-held
	 */
	smp_mb();
	if (mpa_conn_has_events(c))
		mpa_conn_queue_worker(c);
}

/**
 * mpa_conn_arm_timer_if_earlier - arm the deadline timer, or make it expire earlier
 * @c: the connection; the caller must hold its mutex
 * @delay: delay in jiffies after which the timer must expire at the latest
 *
 * A timer that already expires earlier is not changed. When the timer expires, the
 * worker checks the deadline and arms the timer again for it.
 */
void mpa_conn_arm_timer_if_earlier(struct mpa_conn *c, unsigned long delay)
{
	unsigned long when = jiffies + delay;

	lockdep_assert_held(&c->mutex);
	if (c->timer_armed && !time_before(when, c->timer_expires))
		return;
	c->timer_armed = true;
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
	c->has_deadline = seconds;
	c->deadline = jiffies + seconds * HZ;
	if (seconds) {
		mpa_conn_arm_timer_if_earlier(c, seconds * HZ);
	} else {
		c->timer_armed = false;
		cancel_delayed_work(&c->timer);
	}
}
