// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Workers of connections: handle events, check the deadline, transmit.
 *
 * conn_event.c sets the events and queues the workers; conn.c is the state
 * machine that they advance. In start-up a connection has the worker of its
 * line, later its own. Each queued run of a worker holds a reference, and one
 * worker at a time handles the events of a connection.
 */
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "internal.h"

#define MAX_POLLS	4	/* checks for events in one run of the worker */
#define BATCH	16	/* connections handled by one run of the worker of a line */

static void mpa_conn_timed_out(struct work_struct *work)
{
	struct mpa_conn *c = container_of(to_delayed_work(work),
					  struct mpa_conn, timer);

	mpa_conn_event(c, MPA_EV_TIMEOUT);
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
static void check_deadline(struct mpa_conn *c, bool more)
{
	if (is_late(c, more ? MPA_DEADLINE_CLOSE : 0))
		mpa_conn_finish(c, IW_TIMEOUT, NULL);
	else if (c->timed && !more)
		mpa_conn_arm_timer(c, max_t(long, c->deadline - jiffies, 0));
}

/*
 * Handle events once, received data before the clock: a worker that was delayed
 * must not end a connection whose reply has arrived. Return: true if that was
 * enough work for one run of the worker.
 */
static bool mpa_conn_poll_once(struct mpa_conn *c)
{
	unsigned long events = xchg(&c->events, 0);	/* litmus: seen-to-what */
	bool enough = false;

	if (test_bit(MPA_EV_TIMEOUT, &events))
		c->armed = false;
	if (c->phase != MPA_ENDED)
		enough = mpa_conn_step(c, events);
	if (c->phase != MPA_ENDED)
		check_deadline(c, enough);
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
static void mpa_conn_poll(struct mpa_conn *c, bool in_connq)
{
	int left = MAX_POLLS;

	WRITE_ONCE(c->holder_polls, true);
	while (left-- && !mpa_conn_poll_once(c) && mpa_conn_has_events(c) &&
	       !(in_connq && mpa_connq_has_waiting(c->connq)))
		;
}

/*
 * Handle the events of a connection, in the worker of its line if @in_connq,
 * else in its own. The caller holds a reference. Does nothing if the mutex is
 * held: mpa_conn_unlock() then queues the worker again.
 */
static void mpa_conn_run(struct mpa_conn *c, bool in_connq)
{
	unsigned int noio;

	if (!mutex_trylock(&c->mutex))
		return;
	/* reclaim may depend on storage that is reached through this device */
	noio = memalloc_noio_save();
	if (c->phase != MPA_NEW)
		mpa_conn_poll(c, in_connq);
	memalloc_noio_restore(noio);
	mpa_conn_unlock(c);
}

static void mpa_conn_work(struct work_struct *w)
{
	struct mpa_conn *c = container_of(w, struct mpa_conn, work);

	mpa_conn_run(c, false);
	ddp_session_put(&c->ss);
}

/**
 * mpa_connq_work - handle the events of connections in start-up, in their order
 * @work: work item of their line
 *
 * Waits neither for a peer, nor for a program, nor for another line.
 */
void mpa_connq_work(struct work_struct *work)
{
	struct mpa_connq *connq = container_of(work, struct mpa_connq, work);
	struct mpa_conn *c;
	int n = 0;

	while (n++ < BATCH && (c = mpa_line_take_first(connq))) {
		mpa_conn_run(c, true);
		ddp_session_put(&c->ss);
		cond_resched();
	}
	if (n > BATCH)
		mpa_line_kick(connq);
	mpa_connq_put(connq);
}

/**
 * mpa_conn_init - initialize mutex, events, worker and timer
 * @c: the new connection
 */
void mpa_conn_init(struct mpa_conn *c)
{
	mutex_init(&c->mutex);
	/* no worker is queued before the creator calls mpa_conn_unlock() */
	c->holder_polls = true;
	spin_lock_init(&c->query_lock);
	INIT_WORK(&c->work, mpa_conn_work);
	INIT_DELAYED_WORK(&c->timer, mpa_conn_timed_out);
	mpa_tx_init(c);
}
