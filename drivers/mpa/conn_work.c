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

#define LOOKS	4	/* checks for events in one run of the worker */
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
	while (left-- && !mpa_conn_look(c) && mpa_conn_has_events(c) &&
	       !(in_line && mpa_line_waits(c->line)))
		;
}

/*
 * Handle the events of a connection, in the worker of its line if @in_line,
 * else in its own. The caller holds a reference. Does nothing if the mutex is
 * held: mpa_conn_unlock() then queues the worker again.
 */
static void mpa_conn_turn(struct mpa_conn *c, bool in_line)
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
 * mpa_line_work - handle the events of connections in start-up, in their order
 * @work: work item of their line
 *
 * Waits neither for a peer, nor for a program, nor for another line.
 */
void mpa_line_work(struct work_struct *work)
{
	struct mpa_line *line = container_of(work, struct mpa_line, work);
	struct mpa_conn *c;
	int n = 0;

	while (n++ < BATCH && (c = mpa_line_take_first(line))) {
		mpa_conn_turn(c, true);
		ddp_session_put(&c->ss);
		cond_resched();
	}
	if (n > BATCH)
		mpa_line_kick(line);
	mpa_line_put(line);
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
