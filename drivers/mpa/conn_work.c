// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Workers of connections: handle events, check the deadline, transmit.
 *
 * conn_event.c sets the events and queues the workers. The workers advance the
 * state machine in conn.c. Until Full Operation the worker of the start-up queue
 * handles the events of a connection, later the connection's own worker. A queued
 * worker holds a reference. The mutex ensures that one worker at a time handles
 * the events of a connection.
 */
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "internal.h"

#define MAX_POLLS	4	/* maximum checks for events each time a worker has the mutex */
#define BATCH	16	/* maximum number of connections in a call of mpa_connq_work() */

static void mpa_conn_timed_out(struct work_struct *work)
{
	struct mpa_conn *c = container_of(to_delayed_work(work),
					  struct mpa_conn, timer);

	mpa_conn_event(c, MPA_EV_TIMEOUT);
}

/* Check whether the deadline passed at least @grace seconds ago */
static bool deadline_passed(const struct mpa_conn *c, unsigned int grace)
{
	return c->timed && time_after_eq(jiffies, c->deadline + grace * HZ);
}

/*
 * End the connection if its deadline has passed. @more: true if the socket has more
 * received data. The peer's action for which the deadline waits may be in this
 * data, so allow MPA_DEADLINE_CLOSE more seconds.
 */
static void check_deadline(struct mpa_conn *c, bool more)
{
	if (deadline_passed(c, more ? MPA_DEADLINE_CLOSE : 0))
		mpa_conn_finish(c, IW_TIMEOUT, NULL);
	else if (c->timed && !more)
		mpa_conn_arm_timer(c, max_t(long, c->deadline - jiffies, 0));
}

/*
 * Handle the events that are set. Data is received before the deadline is
 * checked, so that a delayed worker does not end a connection whose Reply has
 * arrived in time. Return: true if the worker should now let other work run; false
 * if the worker may check for events again.
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
	/* also after the end: this event is the only scheduled runner, see tx.c */
	if (test_bit(MPA_EV_TX, &events)) {
		mpa_tx_work(c);
		enough = true;
	}
	return enough;
}

/*
 * Handle events until no event is set, at most MAX_POLLS times. Handling an event
 * often causes new events, also at a peer on this machine. @in_connq: called by
 * the worker of a start-up queue, so stop if another connection is queued there.
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
 * Handle the events of a connection. @in_connq: true in the worker of the start-up
 * queue, false in the connection's own worker. The caller must hold a reference.
 * If the mutex is held, do nothing, because mpa_conn_unlock() queues the worker
 * again.
 */
static void mpa_conn_run(struct mpa_conn *c, bool in_connq)
{
	unsigned int noio;

	if (!mutex_trylock(&c->mutex))
		return;
	/* avoid deadlock: reclaim may need storage that is reached through this device */
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
 * mpa_connq_work - handle the events of connections in start-up, in FIFO order
 * @work: work item of a start-up queue
 *
 * Waits neither for a peer, nor for a program, nor for another start-up queue.
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
