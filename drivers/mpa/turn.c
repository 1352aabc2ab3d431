// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whose turn it is to look at a connection, and when.
 *
 * Everybody leaves an event; one worker and one timer per connection.  Before Full
 * Operation that worker is its line's.  Each queued run holds the connection.
 */
#include <linux/sched/mm.h>

#include "internal.h"

#define LOOKS	4	/* of one turn */

/* Into the line that it stands in before Full Operation, or on its own */
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

/* A turn for it, if it is still there */
static void mpa_conn_queue(struct mpa_conn *c)
{
	if (!kref_get_unless_zero(&c->ss.ref))
		return;
	if (!queue(c))
		ddp_session_put(&c->ss);
}

/**
 * mpa_conn_event - have the worker look at something
 * @c: the connection; the caller holds it, is one of its callbacks, or found
 *	it under RCU: then it may be ending
 * @ev: what
 *
 * Any context.  Who looks finds all that was written before.  Nobody is woken for it
 * while somebody has the connection: mpa_conn_unlock() looks.
 */
void mpa_conn_event(struct mpa_conn *c, enum mpa_event ev)
{
	/* nothing more comes of it once it has ended */
	if (READ_ONCE(c->phase) == MPA_ENDED)
		return;
	/*
	 * Behind what it tells of, for who looks may take it at once; before seen_to, for
	 * who clears that looks for it behind; litmus: seen-to, seen-to-what
	 */
	test_and_set_bit(ev, &c->events);
	if (!READ_ONCE(c->seen_to))
		mpa_conn_queue(c);
}

/* Is there something that a turn would look at? */
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
 * mpa_conn_lock - have a connection
 * @c: the connection
 *
 * Sleeps.  Events are seen to: nobody comes for them before mpa_conn_unlock().
 */
void mpa_conn_lock(struct mpa_conn *c)
{
	mutex_lock(&c->mutex);
	WRITE_ONCE(c->seen_to, true);
}

/**
 * mpa_conn_unlock - let others have it
 * @c: the connection, held; its mutex is held, and is not any more
 *
 * Who came for it meanwhile has gone: there is another turn for what was asked then.
 */
void mpa_conn_unlock(struct mpa_conn *c)
{
	WRITE_ONCE(c->seen_to, false);
	mutex_unlock(&c->mutex);
	/*
	 * Pairs with the order in mpa_conn_event(): that finds seen_to clear, or we find its
	 * event.  So do we that of whoever came for it, and failed to get the mutex;
	 * litmus: seen-to, seen-to-held
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
 * mpa_conn_wake - have the worker look at the clock
 * @c: the connection; its mutex is held
 * @delay: jiffies from now, at most
 *
 * A timer that is up sooner stays: who looks then sets it anew.
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
 * mpa_conn_deadline - something has to happen in time
 * @c: the connection; its mutex is held
 * @seconds: from now; 0: no longer
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

/* @grace: and that many seconds */
static bool is_late(const struct mpa_conn *c, unsigned int grace)
{
	return c->timed && time_after_eq(jiffies, c->deadline + grace * HZ);
}

/* @more: has arrived than has been looked at */
static void look_at_clock(struct mpa_conn *c, bool more)
{
	if (is_late(c, more ? MPA_DEADLINE_CLOSE : 0))
		mpa_conn_finish(c, IW_TIMEOUT, NULL);
	else if (c->timed && !more)
		mpa_conn_wake(c, max_t(long, c->deadline - jiffies, 0));
}

/* What has arrived counts before the clock does.  Return: whether that was enough for a turn */
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
	/* whatever came of that: nobody else will */
	if (test_bit(MPA_EV_TX, &events)) {
		mpa_tx_work(c);
		enough = true;
	}
	return enough;
}

/*
 * What comes of a look, here or at a peer on this machine, is looked at next, unless
 * others wait in the line that runs it: then they are first.
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
 * mpa_conn_turn - look at what has happened to a connection
 * @c: the connection, held
 * @in_line: by its line's worker; else by its own
 */
void mpa_conn_turn(struct mpa_conn *c, bool in_line)
{
	unsigned int noio;

	if (!mutex_trylock(&c->mutex))
		return;
	/* memory may be wanted back by what is stored through us */
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
 * mpa_conn_init - what makes it move
 * @c: the connection, new
 */
void mpa_conn_init(struct mpa_conn *c)
{
	mutex_init(&c->mutex);
	/* by who makes it */
	c->seen_to = true;
	spin_lock_init(&c->look_lock);
	INIT_WORK(&c->work, mpa_conn_work);
	INIT_DELAYED_WORK(&c->timer, mpa_conn_timed_out);
	mpa_tx_init(c);
}
